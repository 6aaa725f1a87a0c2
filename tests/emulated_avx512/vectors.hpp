// vectors.hpp: AVX-512 F, BW, DQ, VL, VNNI, VBMI and VBMI2, and AVX-VNNI, on AVX2 (docs/testing.md): those intrinsics
// that the library uses. A vector is two of AVX2; where those have no such operation, a loop over an array does what
// Intel's manual says.
#pragma once
#pragma GCC system_header

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "names.hpp"

struct alignas(64) emulated_m512i {
  __m256i half[2];
};
struct alignas(64) emulated_m512 {
  __m256 half[2];
};
struct alignas(64) emulated_m512d {
  __m256d half[2];
};
#define __m512i emulated_m512i
#define __m512 emulated_m512
#define __m512d emulated_m512d

// Of few instructions, and what is better called.
#define EMULATED __attribute__((target("avx2,fma,f16c"), always_inline)) inline
#define EMULATED_CALL __attribute__((target("avx2,fma,f16c"))) inline

namespace emulated {

template <class T, class V>
using Lanes = std::array<T, sizeof(V) / sizeof(T)>;
template <class T, class V>
EMULATED Lanes<T, V> lanes(const V& v) {
  Lanes<T, V> result;
  std::memcpy(&result, &v, sizeof(v));
  return result;
}
template <class V, class T>
EMULATED void set(V& v, const Lanes<T, V>& values) {
  std::memcpy(&v, &values, sizeof(v));
}

// Of memory that a real CPU would refuse.
template <std::size_t Bytes, class T>
EMULATED const T* aligned(const void* p) {
  if (reinterpret_cast<std::uintptr_t>(p) % Bytes != 0) __builtin_trap();
  return static_cast<const T*>(p);
}

// Masks as vectors whose lanes are all ones or zeros.
EMULATED __m256i bytes_of(std::uint32_t mask) {
  const __m256i spread = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1,  //
                                          2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
  const __m256i bit = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201u));
  const __m256i all = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(mask)), spread);
  return _mm256_cmpeq_epi8(_mm256_and_si256(all, bit), bit);
}
EMULATED __m256i words_of(unsigned mask) {
  const __m256i bit = _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, -32768);
  return _mm256_cmpeq_epi16(_mm256_and_si256(_mm256_set1_epi16(static_cast<short>(mask)), bit), bit);
}
EMULATED __m256i ints_of(unsigned mask) {
  const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(static_cast<int>(mask)), bit), bit);
}
EMULATED __m256d doubles_of(unsigned mask) {
  const __m256i bit = _mm256_setr_epi64x(1, 2, 4, 8);
  return _mm256_castsi256_pd(_mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(mask), bit), bit));
}

// And back.
EMULATED unsigned mask_of_ints(__m256i lanes) {
  return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(lanes)));
}

// Elements of T: none that the mask leaves out is touched.
template <class T, class V, class Mask>
EMULATED_CALL V masked_load(V result, Mask mask, const void* from) {
  auto* const to = reinterpret_cast<char*>(&result);
  for (std::uint64_t rest = mask; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(rest)) * sizeof(T);
    std::memcpy(to + i, static_cast<const char*>(from) + i, sizeof(T));
  }
  return result;
}
template <class T, class V, class Mask>
EMULATED_CALL void masked_store(void* to, Mask mask, const V& v) {
  const auto* const from = reinterpret_cast<const char*>(&v);
  for (std::uint64_t rest = mask; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(rest)) * sizeof(T);
    std::memcpy(static_cast<char*>(to) + i, from + i, sizeof(T));
  }
}

template <class T, class V>
EMULATED_CALL V permuted(const V& index, const V& from) {
  auto result = lanes<T>(index);
  const auto source = lanes<T>(from);
  for (T& lane : result) lane = source[lane % source.size()];
  V v;
  set<V, T>(v, result);
  return v;
}
template <class T>
EMULATED_CALL __m512i permuted_of_two(const __m512i& a, const __m512i& index, const __m512i& b) {
  auto result = lanes<T>(index);
  const auto first = lanes<T>(a), second = lanes<T>(b);
  constexpr std::size_t n = 64 / sizeof(T);
  for (T& lane : result) {
    const std::size_t i = lane % (2 * n);
    lane = i < n ? first[i] : second[i - n];
  }
  __m512i v;
  set<__m512i, T>(v, result);
  return v;
}
// The lanes of the mask, one after the other.
template <class T>
EMULATED_CALL __m512i compressed(std::uint64_t mask, const __m512i& from) {
  const auto source = lanes<T>(from);
  Lanes<T, __m512i> result{};
  std::size_t used = 0;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (((mask >> i) & 1) != 0) result[used++] = source[i];
  }
  __m512i v;
  set<__m512i, T>(v, result);
  return v;
}

// VRANGEPS and VRANGEPD of one element.
template <class T, class Bits>
inline T range(T a, T b, unsigned imm) {
  constexpr Bits sign = Bits{1} << (8 * sizeof(T) - 1);
  constexpr Bits quiet = Bits{1} << (sizeof(T) == 4 ? 22 : 51);
  const auto x = std::bit_cast<Bits>(a), y = std::bit_cast<Bits>(b);
  if (std::isnan(a) && (x & quiet) == 0) return std::bit_cast<T>(x | quiet);
  if (std::isnan(b) && (y & quiet) == 0) return std::bit_cast<T>(y | quiet);
  const unsigned compare = imm & 3u, sign_select = (imm >> 2) & 3u;
  const bool greater = (compare & 1u) != 0, magnitudes = compare > 1;
  Bits result;
  if (std::isnan(b)) {
    result = x;
  } else if (std::isnan(a)) {
    result = y;
  } else if ((x ^ y) == sign && (magnitudes || a == 0)) {
    result = greater ? x & ~sign : x | sign;
  } else {
    const bool in_order = magnitudes ? std::fabs(a) <= std::fabs(b) : a <= b;
    result = in_order != greater ? x : y;
  }
  switch (sign_select) {
    case 0: result = (x & sign) | (result & ~sign); break;
    case 1: break;
    case 2: result &= ~sign; break;
    default: result |= sign;
  }
  return std::bit_cast<T>(result);
}
template <class T, class Bits, class V>
EMULATED_CALL V ranges(const V& a, const V& b, unsigned imm) {
  auto x = lanes<T>(a);
  const auto y = lanes<T>(b);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = range<T, Bits>(x[i], y[i], imm);
  V v;
  set<V, T>(v, x);
  return v;
}

// Products of unsigned and signed bytes, four to a sum that wraps around.
EMULATED __m256i dpbusd(__m256i sum, __m256i a, __m256i b) {
  const __m256i low = _mm256_set1_epi16(0xFF);
  const __m256i even = _mm256_madd_epi16(_mm256_and_si256(a, low), _mm256_srai_epi16(_mm256_slli_epi16(b, 8), 8));
  const __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(a, 8), _mm256_srai_epi16(b, 8));
  return _mm256_add_epi32(sum, _mm256_add_epi32(even, odd));
}
EMULATED __m256i dpwssd(__m256i sum, __m256i a, __m256i b) { return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b)); }

// Unsigned a <= b.
EMULATED __m256i at_most_epu32(__m256i a, __m256i b) { return _mm256_cmpeq_epi32(_mm256_min_epu32(a, b), a); }
EMULATED __m256i at_most_epu16(__m256i a, __m256i b) { return _mm256_cmpeq_epi16(_mm256_min_epu16(a, b), a); }

}  // namespace emulated

// By halves, as AVX2 has it.
#define EMULATED_1(type, name, half_name) \
  EMULATED type name(type a) { return {{half_name(a.half[0]), half_name(a.half[1])}}; }
#define EMULATED_2(type, name, half_name) \
  EMULATED type name(type a, type b) { return {{half_name(a.half[0], b.half[0]), half_name(a.half[1], b.half[1])}}; }
#define EMULATED_3(type, name, half_name)                                                              \
  EMULATED type name(type a, type b, type c) {                                                         \
    return {{half_name(a.half[0], b.half[0], c.half[0]), half_name(a.half[1], b.half[1], c.half[1])}}; \
  }
EMULATED_2(__m512i, _mm512_add_epi8, _mm256_add_epi8)
EMULATED_2(__m512i, _mm512_add_epi16, _mm256_add_epi16)
EMULATED_2(__m512i, _mm512_add_epi32, _mm256_add_epi32)
EMULATED_2(__m512i, _mm512_add_epi64, _mm256_add_epi64)
EMULATED_2(__m512i, _mm512_sub_epi8, _mm256_sub_epi8)
EMULATED_2(__m512i, _mm512_sub_epi16, _mm256_sub_epi16)
EMULATED_2(__m512i, _mm512_sub_epi32, _mm256_sub_epi32)
EMULATED_2(__m512i, _mm512_and_si512, _mm256_and_si256)
EMULATED_2(__m512i, _mm512_andnot_si512, _mm256_andnot_si256)
EMULATED_2(__m512i, _mm512_or_si512, _mm256_or_si256)
EMULATED_2(__m512i, _mm512_xor_si512, _mm256_xor_si256)
EMULATED_2(__m512i, _mm512_madd_epi16, _mm256_madd_epi16)
EMULATED_2(__m512i, _mm512_maddubs_epi16, _mm256_maddubs_epi16)
EMULATED_2(__m512i, _mm512_min_epu16, _mm256_min_epu16)
EMULATED_2(__m512i, _mm512_max_epu16, _mm256_max_epu16)
EMULATED_2(__m512i, _mm512_min_epi32, _mm256_min_epi32)
EMULATED_2(__m512i, _mm512_max_epi32, _mm256_max_epi32)
EMULATED_2(__m512i, _mm512_mullo_epi16, _mm256_mullo_epi16)
EMULATED_2(__m512i, _mm512_mullo_epi32, _mm256_mullo_epi32)
EMULATED_2(__m512i, _mm512_packs_epi16, _mm256_packs_epi16)
EMULATED_2(__m512i, _mm512_packs_epi32, _mm256_packs_epi32)
EMULATED_2(__m512i, _mm512_packus_epi16, _mm256_packus_epi16)
EMULATED_2(__m512i, _mm512_packus_epi32, _mm256_packus_epi32)
EMULATED_2(__m512i, _mm512_shuffle_epi8, _mm256_shuffle_epi8)
EMULATED_2(__m512i, _mm512_unpackhi_epi8, _mm256_unpackhi_epi8)
EMULATED_2(__m512i, _mm512_unpackhi_epi16, _mm256_unpackhi_epi16)
EMULATED_2(__m512i, _mm512_unpackhi_epi32, _mm256_unpackhi_epi32)
EMULATED_2(__m512i, _mm512_unpackhi_epi64, _mm256_unpackhi_epi64)
EMULATED_2(__m512i, _mm512_unpacklo_epi8, _mm256_unpacklo_epi8)
EMULATED_2(__m512i, _mm512_unpacklo_epi16, _mm256_unpacklo_epi16)
EMULATED_2(__m512i, _mm512_unpacklo_epi32, _mm256_unpacklo_epi32)
EMULATED_2(__m512i, _mm512_unpacklo_epi64, _mm256_unpacklo_epi64)
EMULATED_3(__m512i, _mm512_dpbusd_epi32, emulated::dpbusd)
EMULATED_3(__m512i, _mm512_dpwssd_epi32, emulated::dpwssd)
EMULATED_2(__m512, _mm512_add_ps, _mm256_add_ps)
EMULATED_2(__m512, _mm512_sub_ps, _mm256_sub_ps)
EMULATED_2(__m512, _mm512_mul_ps, _mm256_mul_ps)
EMULATED_2(__m512, _mm512_div_ps, _mm256_div_ps)
EMULATED_2(__m512, _mm512_min_ps, _mm256_min_ps)
EMULATED_2(__m512, _mm512_max_ps, _mm256_max_ps)
EMULATED_2(__m512, _mm512_and_ps, _mm256_and_ps)
EMULATED_2(__m512, _mm512_or_ps, _mm256_or_ps)
EMULATED_2(__m512, _mm512_xor_ps, _mm256_xor_ps)
EMULATED_3(__m512, _mm512_fmadd_ps, _mm256_fmadd_ps)
EMULATED_3(__m512, _mm512_fmsub_ps, _mm256_fmsub_ps)
EMULATED_3(__m512, _mm512_fnmadd_ps, _mm256_fnmadd_ps)
EMULATED_2(__m512d, _mm512_add_pd, _mm256_add_pd)
EMULATED_2(__m512d, _mm512_sub_pd, _mm256_sub_pd)
EMULATED_2(__m512d, _mm512_mul_pd, _mm256_mul_pd)
EMULATED_2(__m512d, _mm512_div_pd, _mm256_div_pd)
EMULATED_2(__m512d, _mm512_min_pd, _mm256_min_pd)
EMULATED_2(__m512d, _mm512_max_pd, _mm256_max_pd)
EMULATED_2(__m512d, _mm512_and_pd, _mm256_and_pd)
EMULATED_2(__m512d, _mm512_or_pd, _mm256_or_pd)
EMULATED_2(__m512d, _mm512_xor_pd, _mm256_xor_pd)
EMULATED_3(__m512d, _mm512_fmadd_pd, _mm256_fmadd_pd)
EMULATED_3(__m512d, _mm512_fmsub_pd, _mm256_fmsub_pd)
EMULATED_3(__m512d, _mm512_fnmadd_pd, _mm256_fnmadd_pd)
EMULATED_1(__m512, _mm512_sqrt_ps, _mm256_sqrt_ps)
EMULATED_1(__m512d, _mm512_sqrt_pd, _mm256_sqrt_pd)
#undef EMULATED_1
#undef EMULATED_2
#undef EMULATED_3

EMULATED __m512 _mm512_abs_ps(__m512 a) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {{_mm256_andnot_ps(sign, a.half[0]), _mm256_andnot_ps(sign, a.half[1])}};
}
EMULATED __m512d _mm512_abs_pd(__m512d a) {
  const __m256d sign = _mm256_set1_pd(-0.0);
  return {{_mm256_andnot_pd(sign, a.half[0]), _mm256_andnot_pd(sign, a.half[1])}};
}

// The same bits as another type. What a wider vector has besides is undefined: ones here.
EMULATED __m512i _mm512_castps_si512(__m512 a) {
  return {{_mm256_castps_si256(a.half[0]), _mm256_castps_si256(a.half[1])}};
}
EMULATED __m512i _mm512_castpd_si512(__m512d a) {
  return {{_mm256_castpd_si256(a.half[0]), _mm256_castpd_si256(a.half[1])}};
}
EMULATED __m512 _mm512_castsi512_ps(__m512i a) {
  return {{_mm256_castsi256_ps(a.half[0]), _mm256_castsi256_ps(a.half[1])}};
}
EMULATED __m512d _mm512_castsi512_pd(__m512i a) {
  return {{_mm256_castsi256_pd(a.half[0]), _mm256_castsi256_pd(a.half[1])}};
}
EMULATED __m512 _mm512_castpd_ps(__m512d a) { return {{_mm256_castpd_ps(a.half[0]), _mm256_castpd_ps(a.half[1])}}; }
EMULATED __m512d _mm512_castps_pd(__m512 a) { return {{_mm256_castps_pd(a.half[0]), _mm256_castps_pd(a.half[1])}}; }
EMULATED __m256i _mm512_castsi512_si256(__m512i a) { return a.half[0]; }
EMULATED __m128i _mm512_castsi512_si128(__m512i a) { return _mm256_castsi256_si128(a.half[0]); }
EMULATED __m256 _mm512_castps512_ps256(__m512 a) { return a.half[0]; }
EMULATED __m128 _mm512_castps512_ps128(__m512 a) { return _mm256_castps256_ps128(a.half[0]); }
EMULATED __m256d _mm512_castpd512_pd256(__m512d a) { return a.half[0]; }
EMULATED __m512i _mm512_castsi256_si512(__m256i a) { return {{a, _mm256_set1_epi32(-1)}}; }
EMULATED __m512i _mm512_castsi128_si512(__m128i a) {
  return {{_mm256_inserti128_si256(_mm256_set1_epi32(-1), a, 0), _mm256_set1_epi32(-1)}};
}
EMULATED __m512d _mm512_castpd256_pd512(__m256d a) { return {{a, _mm256_castsi256_pd(_mm256_set1_epi32(-1))}}; }
EMULATED __m512 _mm512_castps256_ps512(__m256 a) { return {{a, _mm256_castsi256_ps(_mm256_set1_epi32(-1))}}; }
EMULATED __m512i _mm512_zextsi256_si512(__m256i a) { return {{a, _mm256_setzero_si256()}}; }
EMULATED double _mm512_cvtsd_f64(__m512d a) { return _mm256_cvtsd_f64(a.half[0]); }
EMULATED float _mm512_cvtss_f32(__m512 a) { return _mm256_cvtss_f32(a.half[0]); }

// Values.
EMULATED __m512i _mm512_setzero_si512() { return {{_mm256_setzero_si256(), _mm256_setzero_si256()}}; }
EMULATED __m512 _mm512_setzero_ps() { return {{_mm256_setzero_ps(), _mm256_setzero_ps()}}; }
EMULATED __m512d _mm512_setzero_pd() { return {{_mm256_setzero_pd(), _mm256_setzero_pd()}}; }
EMULATED __m512i _mm512_set1_epi8(char a) { return {{_mm256_set1_epi8(a), _mm256_set1_epi8(a)}}; }
EMULATED __m512i _mm512_set1_epi16(short a) { return {{_mm256_set1_epi16(a), _mm256_set1_epi16(a)}}; }
EMULATED __m512i _mm512_set1_epi32(int a) { return {{_mm256_set1_epi32(a), _mm256_set1_epi32(a)}}; }
EMULATED __m512i _mm512_set1_epi64(long long a) { return {{_mm256_set1_epi64x(a), _mm256_set1_epi64x(a)}}; }
EMULATED __m512 _mm512_set1_ps(float a) { return {{_mm256_set1_ps(a), _mm256_set1_ps(a)}}; }
EMULATED __m512d _mm512_set1_pd(double a) { return {{_mm256_set1_pd(a), _mm256_set1_pd(a)}}; }
EMULATED __m512i _mm512_set4_epi32(int d, int c, int b, int a) {
  return {{_mm256_setr_epi32(a, b, c, d, a, b, c, d), _mm256_setr_epi32(a, b, c, d, a, b, c, d)}};
}
EMULATED __m512i _mm512_setr_epi32(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k, int l,
                                   int m, int n, int o, int p) {
  return {{_mm256_setr_epi32(a, b, c, d, e, f, g, h), _mm256_setr_epi32(i, j, k, l, m, n, o, p)}};
}
EMULATED __m512i _mm512_set_epi32(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k, int l,
                                  int m, int n, int o, int p) {
  return {{_mm256_set_epi32(i, j, k, l, m, n, o, p), _mm256_set_epi32(a, b, c, d, e, f, g, h)}};
}
EMULATED __m512i _mm512_setr_epi64(long long a, long long b, long long c, long long d, long long e, long long f,
                                   long long g, long long h) {
  return {{_mm256_setr_epi64x(a, b, c, d), _mm256_setr_epi64x(e, f, g, h)}};
}
EMULATED __m512i _mm512_set_epi64(long long a, long long b, long long c, long long d, long long e, long long f,
                                  long long g, long long h) {
  return {{_mm256_set_epi64x(e, f, g, h), _mm256_set_epi64x(a, b, c, d)}};
}
template <class... T>
EMULATED __m512i _mm512_set_epi16(T... last_first) {
  static_assert(sizeof...(T) == 32);
  const short values[] = {static_cast<short>(last_first)...};
  emulated::Lanes<short, __m512i> lanes;
  for (std::size_t i = 0; i < 32; ++i) lanes[i] = values[31 - i];
  __m512i v;
  emulated::set<__m512i, short>(v, lanes);
  return v;
}
EMULATED __m512i _mm512_broadcast_i32x4(__m128i a) {
  return {{_mm256_broadcastsi128_si256(a), _mm256_broadcastsi128_si256(a)}};
}

// Loads and stores.
EMULATED __m512i _mm512_loadu_si512(const void* p) {
  const auto* const from = static_cast<const __m256i*>(p);
  return {{_mm256_loadu_si256(from), _mm256_loadu_si256(from + 1)}};
}
EMULATED __m512 _mm512_loadu_ps(const void* p) {
  const auto* const from = static_cast<const float*>(p);
  return {{_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)}};
}
EMULATED __m512d _mm512_loadu_pd(const void* p) {
  const auto* const from = static_cast<const double*>(p);
  return {{_mm256_loadu_pd(from), _mm256_loadu_pd(from + 4)}};
}
EMULATED __m512i _mm512_load_si512(const void* p) { return _mm512_loadu_si512(emulated::aligned<64, char>(p)); }
EMULATED __m512 _mm512_load_ps(const void* p) { return _mm512_loadu_ps(emulated::aligned<64, char>(p)); }
EMULATED __m512d _mm512_load_pd(const void* p) { return _mm512_loadu_pd(emulated::aligned<64, char>(p)); }
EMULATED void _mm512_storeu_si512(void* p, __m512i a) {
  auto* const to = static_cast<__m256i*>(p);
  _mm256_storeu_si256(to, a.half[0]);
  _mm256_storeu_si256(to + 1, a.half[1]);
}
EMULATED void _mm512_storeu_ps(void* p, __m512 a) { _mm512_storeu_si512(p, _mm512_castps_si512(a)); }
EMULATED void _mm512_storeu_pd(void* p, __m512d a) { _mm512_storeu_si512(p, _mm512_castpd_si512(a)); }
EMULATED void _mm512_store_si512(void* p, __m512i a) {
  static_cast<void>(emulated::aligned<64, char>(p));
  _mm512_storeu_si512(p, a);
}
EMULATED void _mm512_store_ps(void* p, __m512 a) { _mm512_store_si512(p, _mm512_castps_si512(a)); }
EMULATED void _mm512_store_pd(void* p, __m512d a) { _mm512_store_si512(p, _mm512_castpd_si512(a)); }
EMULATED void _mm512_stream_si512(void* p, __m512i a) { _mm512_store_si512(p, a); }
EMULATED void _mm512_stream_ps(void* p, __m512 a) { _mm512_store_ps(p, a); }

EMULATED __m512i _mm512_mask_loadu_epi8(__m512i other, __mmask64 mask, const void* p) {
  if (mask == ~__mmask64{}) return _mm512_loadu_si512(p);
  return emulated::masked_load<std::uint8_t>(other, mask, p);
}
EMULATED __m512i _mm512_mask_loadu_epi32(__m512i other, __mmask16 mask, const void* p) {
  return emulated::masked_load<std::uint32_t>(other, mask, p);
}
EMULATED __m512i _mm512_maskz_loadu_epi8(__mmask64 mask, const void* p) {
  return _mm512_mask_loadu_epi8(_mm512_setzero_si512(), mask, p);
}
EMULATED __m512i _mm512_maskz_loadu_epi32(__mmask16 mask, const void* p) {
  return _mm512_mask_loadu_epi32(_mm512_setzero_si512(), mask, p);
}
EMULATED __m512 _mm512_maskz_loadu_ps(__mmask16 mask, const void* p) {
  return emulated::masked_load<float>(_mm512_setzero_ps(), mask, p);
}
EMULATED __m512d _mm512_maskz_loadu_pd(__mmask8 mask, const void* p) {
  return emulated::masked_load<double>(_mm512_setzero_pd(), mask, p);
}
EMULATED __m256i _mm256_mask_loadu_epi8(__m256i other, __mmask32 mask, const void* p) {
  return emulated::masked_load<std::uint8_t>(other, mask, p);
}
EMULATED __m256i _mm256_maskz_loadu_epi8(__mmask32 mask, const void* p) {
  return emulated::masked_load<std::uint8_t>(_mm256_setzero_si256(), mask, p);
}
EMULATED __m256i _mm256_maskz_loadu_epi16(__mmask16 mask, const void* p) {
  return emulated::masked_load<std::uint16_t>(_mm256_setzero_si256(), mask, p);
}
EMULATED __m128i _mm_mask_loadu_epi8(__m128i other, __mmask16 mask, const void* p) {
  return emulated::masked_load<std::uint8_t>(other, mask, p);
}
EMULATED __m128i _mm_maskz_loadu_epi8(__mmask16 mask, const void* p) {
  return emulated::masked_load<std::uint8_t>(_mm_setzero_si128(), mask, p);
}
EMULATED void _mm512_mask_storeu_epi8(void* p, __mmask64 mask, __m512i a) {
  emulated::masked_store<std::uint8_t>(p, mask, a);
}
EMULATED void _mm512_mask_storeu_epi16(void* p, __mmask32 mask, __m512i a) {
  emulated::masked_store<std::uint16_t>(p, mask, a);
}
EMULATED void _mm512_mask_storeu_epi32(void* p, __mmask16 mask, __m512i a) {
  emulated::masked_store<std::uint32_t>(p, mask, a);
}
EMULATED void _mm512_mask_storeu_ps(void* p, __mmask16 mask, __m512 a) { emulated::masked_store<float>(p, mask, a); }
EMULATED void _mm512_mask_storeu_pd(void* p, __mmask8 mask, __m512d a) { emulated::masked_store<double>(p, mask, a); }
EMULATED void _mm256_mask_storeu_epi8(void* p, __mmask32 mask, __m256i a) {
  emulated::masked_store<std::uint8_t>(p, mask, a);
}
EMULATED void _mm_mask_storeu_epi8(void* p, __mmask16 mask, __m128i a) {
  emulated::masked_store<std::uint8_t>(p, mask, a);
}

// Parts.
EMULATED __m256i _mm512_extracti64x4_epi64(__m512i a, int part) { return a.half[part & 1]; }
EMULATED __m256d _mm512_extractf64x4_pd(__m512d a, int part) { return a.half[part & 1]; }
EMULATED __m256 _mm512_extractf32x8_ps(__m512 a, int part) { return a.half[part & 1]; }
EMULATED __m128i _mm512_extracti32x4_epi32(__m512i a, int part) {
  const __m256i half = a.half[(part >> 1) & 1];
  return (part & 1) != 0 ? _mm256_extracti128_si256(half, 1) : _mm256_castsi256_si128(half);
}
EMULATED __m128 _mm512_extractf32x4_ps(__m512 a, int part) {
  return _mm_castsi128_ps(_mm512_extracti32x4_epi32(_mm512_castps_si512(a), part));
}
EMULATED __m512i _mm512_inserti64x4(__m512i a, __m256i b, int part) {
  a.half[part & 1] = b;
  return a;
}
EMULATED __m512d _mm512_insertf64x4(__m512d a, __m256d b, int part) {
  a.half[part & 1] = b;
  return a;
}
EMULATED __m512 _mm512_insertf32x8(__m512 a, __m256 b, int part) {
  a.half[part & 1] = b;
  return a;
}
EMULATED __m512i _mm512_inserti32x4(__m512i a, __m128i b, int part) {
  __m256i& half = a.half[(part >> 1) & 1];
  half = (part & 1) != 0 ? _mm256_inserti128_si256(half, b, 1) : _mm256_inserti128_si256(half, b, 0);
  return a;
}

// Shifts by immediates.
#define EMULATED_SHIFT(name, half_name)                                    \
  EMULATED __m512i name(__m512i a, unsigned count) {                       \
    const __m128i by = _mm_cvtsi32_si128(static_cast<int>(count & 0xFFu)); \
    return {{half_name(a.half[0], by), half_name(a.half[1], by)}};         \
  }
EMULATED_SHIFT(_mm512_slli_epi16, _mm256_sll_epi16)
EMULATED_SHIFT(_mm512_slli_epi32, _mm256_sll_epi32)
EMULATED_SHIFT(_mm512_slli_epi64, _mm256_sll_epi64)
EMULATED_SHIFT(_mm512_srli_epi16, _mm256_srl_epi16)
EMULATED_SHIFT(_mm512_srli_epi32, _mm256_srl_epi32)
EMULATED_SHIFT(_mm512_srli_epi64, _mm256_srl_epi64)
EMULATED_SHIFT(_mm512_srai_epi16, _mm256_sra_epi16)
EMULATED_SHIFT(_mm512_srai_epi32, _mm256_sra_epi32)
#undef EMULATED_SHIFT

// Lanes elsewhere.
EMULATED __m512i _mm512_shuffle_epi32(__m512i a, int imm) {
  const __m256i order =
      _mm256_broadcastsi128_si256(_mm_setr_epi32(imm & 3, (imm >> 2) & 3, (imm >> 4) & 3, (imm >> 6) & 3));
  const __m512 floats = _mm512_castsi512_ps(a);
  return _mm512_castps_si512(
      {{_mm256_permutevar_ps(floats.half[0], order), _mm256_permutevar_ps(floats.half[1], order)}});
}
EMULATED_CALL __m512 _mm512_shuffle_ps(__m512 a, __m512 b, unsigned imm) {
  const auto x = emulated::lanes<float>(a), y = emulated::lanes<float>(b);
  emulated::Lanes<float, __m512> result;
  for (std::size_t i = 0; i < 16; ++i) {
    const std::size_t from = (i & ~std::size_t{3}) + ((imm >> (2 * (i & 3))) & 3);
    result[i] = (i & 2) == 0 ? x[from] : y[from];
  }
  __m512 v;
  emulated::set<__m512, float>(v, result);
  return v;
}
EMULATED_CALL __m512d _mm512_permute_pd(__m512d a, unsigned imm) {
  const auto x = emulated::lanes<double>(a);
  emulated::Lanes<double, __m512d> result;
  for (std::size_t i = 0; i < 8; ++i) result[i] = x[(i & ~std::size_t{1}) + ((imm >> i) & 1)];
  __m512d v;
  emulated::set<__m512d, double>(v, result);
  return v;
}
EMULATED_CALL __m512d _mm512_permutex_pd(__m512d a, unsigned imm) {
  const auto x = emulated::lanes<double>(a);
  emulated::Lanes<double, __m512d> result;
  for (std::size_t i = 0; i < 8; ++i) result[i] = x[(i & ~std::size_t{3}) + ((imm >> (2 * (i & 3))) & 3)];
  __m512d v;
  emulated::set<__m512d, double>(v, result);
  return v;
}
EMULATED __m512i _mm512_permutex_epi64(__m512i a, unsigned imm) {
  return _mm512_castpd_si512(_mm512_permutex_pd(_mm512_castsi512_pd(a), imm));
}
EMULATED __m512i _mm512_shuffle_i32x4(__m512i a, __m512i b, int imm) {
  const __m128i w = _mm512_extracti32x4_epi32(a, imm & 3), x = _mm512_extracti32x4_epi32(a, (imm >> 2) & 3);
  const __m128i y = _mm512_extracti32x4_epi32(b, (imm >> 4) & 3), z = _mm512_extracti32x4_epi32(b, (imm >> 6) & 3);
  return {{_mm256_setr_m128i(w, x), _mm256_setr_m128i(y, z)}};
}
EMULATED __m512i _mm512_shuffle_i64x2(__m512i a, __m512i b, int imm) { return _mm512_shuffle_i32x4(a, b, imm); }
EMULATED __m512d _mm512_shuffle_f64x2(__m512d a, __m512d b, int imm) {
  return _mm512_castsi512_pd(_mm512_shuffle_i32x4(_mm512_castpd_si512(a), _mm512_castpd_si512(b), imm));
}
EMULATED __m512 _mm512_shuffle_f32x4(__m512 a, __m512 b, int imm) {
  return _mm512_castsi512_ps(_mm512_shuffle_i32x4(_mm512_castps_si512(a), _mm512_castps_si512(b), imm));
}
EMULATED __m512i _mm512_permutexvar_epi8(__m512i index, __m512i a) {
  return emulated::permuted<std::uint8_t>(index, a);
}
EMULATED __m512i _mm512_permutexvar_epi16(__m512i index, __m512i a) {
  return emulated::permuted<std::uint16_t>(index, a);
}
EMULATED __m512i _mm512_permutexvar_epi32(__m512i index, __m512i a) {
  return emulated::permuted<std::uint32_t>(index, a);
}
EMULATED __m512i _mm512_permutexvar_epi64(__m512i index, __m512i a) {
  return emulated::permuted<std::uint64_t>(index, a);
}
EMULATED __m256i _mm256_permutexvar_epi8(__m256i index, __m256i a) {
  return emulated::permuted<std::uint8_t>(index, a);
}
EMULATED __m512i _mm512_permutex2var_epi8(__m512i a, __m512i index, __m512i b) {
  return emulated::permuted_of_two<std::uint8_t>(a, index, b);
}
EMULATED __m512i _mm512_permutex2var_epi16(__m512i a, __m512i index, __m512i b) {
  return emulated::permuted_of_two<std::uint16_t>(a, index, b);
}
EMULATED __m512i _mm512_permutex2var_epi32(__m512i a, __m512i index, __m512i b) {
  return emulated::permuted_of_two<std::uint32_t>(a, index, b);
}
EMULATED __m512i _mm512_permutex2var_epi64(__m512i a, __m512i index, __m512i b) {
  return emulated::permuted_of_two<std::uint64_t>(a, index, b);
}
EMULATED_CALL __m512i _mm512_maskz_compress_epi8(__mmask64 mask, __m512i a) {
  return emulated::compressed<std::uint8_t>(mask, a);
}
EMULATED_CALL __m512i _mm512_maskz_compress_epi32(__mmask16 mask, __m512i a) {
  return emulated::compressed<std::uint32_t>(mask, a);
}

// Under masks: `b` where the mask has ones.
EMULATED __m512i _mm512_mask_blend_epi8(__mmask64 mask, __m512i a, __m512i b) {
  return {{_mm256_blendv_epi8(a.half[0], b.half[0], emulated::bytes_of(static_cast<std::uint32_t>(mask))),
           _mm256_blendv_epi8(a.half[1], b.half[1], emulated::bytes_of(static_cast<std::uint32_t>(mask >> 32)))}};
}
EMULATED __m512i _mm512_mask_blend_epi16(__mmask32 mask, __m512i a, __m512i b) {
  return {{_mm256_blendv_epi8(a.half[0], b.half[0], emulated::words_of(mask & 0xFFFFu)),
           _mm256_blendv_epi8(a.half[1], b.half[1], emulated::words_of(mask >> 16))}};
}
EMULATED __m512i _mm512_mask_blend_epi32(__mmask16 mask, __m512i a, __m512i b) {
  return {{_mm256_blendv_epi8(a.half[0], b.half[0], emulated::ints_of(mask & 0xFFu)),
           _mm256_blendv_epi8(a.half[1], b.half[1], emulated::ints_of(mask >> 8u))}};
}
EMULATED __m512 _mm512_mask_blend_ps(__mmask16 mask, __m512 a, __m512 b) {
  return _mm512_castsi512_ps(_mm512_mask_blend_epi32(mask, _mm512_castps_si512(a), _mm512_castps_si512(b)));
}
EMULATED __m512d _mm512_mask_blend_pd(__mmask8 mask, __m512d a, __m512d b) {
  return {{_mm256_blendv_pd(a.half[0], b.half[0], emulated::doubles_of(mask & 0xFu)),
           _mm256_blendv_pd(a.half[1], b.half[1], emulated::doubles_of(mask >> 4u))}};
}
EMULATED __m512i _mm512_mask_mov_epi8(__m512i other, __mmask64 mask, __m512i a) {
  return _mm512_mask_blend_epi8(mask, other, a);
}
EMULATED __m512i _mm512_mask_mov_epi16(__m512i other, __mmask32 mask, __m512i a) {
  return _mm512_mask_blend_epi16(mask, other, a);
}
EMULATED __m512i _mm512_mask_mov_epi32(__m512i other, __mmask16 mask, __m512i a) {
  return _mm512_mask_blend_epi32(mask, other, a);
}
EMULATED __m512 _mm512_mask_mov_ps(__m512 other, __mmask16 mask, __m512 a) {
  return _mm512_mask_blend_ps(mask, other, a);
}
EMULATED __m512d _mm512_mask_mov_pd(__m512d other, __mmask8 mask, __m512d a) {
  return _mm512_mask_blend_pd(mask, other, a);
}
EMULATED __m512i _mm512_maskz_mov_epi8(__mmask64 mask, __m512i a) {
  return _mm512_mask_blend_epi8(mask, _mm512_setzero_si512(), a);
}
EMULATED __m512i _mm512_maskz_set1_epi8(__mmask64 mask, char a) {
  return _mm512_maskz_mov_epi8(mask, _mm512_set1_epi8(a));
}
EMULATED __m512i _mm512_mask_add_epi32(__m512i other, __mmask16 mask, __m512i a, __m512i b) {
  return _mm512_mask_blend_epi32(mask, other, _mm512_add_epi32(a, b));
}
EMULATED __m512i _mm512_mask_sub_epi32(__m512i other, __mmask16 mask, __m512i a, __m512i b) {
  return _mm512_mask_blend_epi32(mask, other, _mm512_sub_epi32(a, b));
}
EMULATED __m512i _mm512_mask_or_epi32(__m512i other, __mmask16 mask, __m512i a, __m512i b) {
  return _mm512_mask_blend_epi32(mask, other, _mm512_or_si512(a, b));
}
namespace emulated {
EMULATED __m512i blend_epi64(__mmask8 mask, __m512i a, __m512i b) {
  return _mm512_castpd_si512(_mm512_mask_blend_pd(mask, _mm512_castsi512_pd(a), _mm512_castsi512_pd(b)));
}
}  // namespace emulated
EMULATED __m512i _mm512_mask_sub_epi64(__m512i other, __mmask8 mask, __m512i a, __m512i b) {
  const __m512i difference{{_mm256_sub_epi64(a.half[0], b.half[0]), _mm256_sub_epi64(a.half[1], b.half[1])}};
  return emulated::blend_epi64(mask, other, difference);
}
EMULATED __m512i _mm512_mask_or_epi64(__m512i other, __mmask8 mask, __m512i a, __m512i b) {
  return emulated::blend_epi64(mask, other, _mm512_or_si512(a, b));
}
EMULATED __m512 _mm512_mask_mul_ps(__m512 other, __mmask16 mask, __m512 a, __m512 b) {
  return _mm512_mask_blend_ps(mask, other, _mm512_mul_ps(a, b));
}
EMULATED __m512d _mm512_mask_mul_pd(__m512d other, __mmask8 mask, __m512d a, __m512d b) {
  return _mm512_mask_blend_pd(mask, other, _mm512_mul_pd(a, b));
}
EMULATED __m512i _mm512_mask_shuffle_epi8(__m512i other, __mmask64 mask, __m512i a, __m512i order) {
  return _mm512_mask_blend_epi8(mask, other, _mm512_shuffle_epi8(a, order));
}
EMULATED __m512i _mm512_mask_permutexvar_epi8(__m512i other, __mmask64 mask, __m512i index, __m512i a) {
  return _mm512_mask_blend_epi8(mask, other, _mm512_permutexvar_epi8(index, a));
}

// Comparisons.
EMULATED __mmask16 _mm512_cmpeq_epi32_mask(__m512i a, __m512i b) {
  return static_cast<__mmask16>(emulated::mask_of_ints(_mm256_cmpeq_epi32(a.half[0], b.half[0])) |
                                emulated::mask_of_ints(_mm256_cmpeq_epi32(a.half[1], b.half[1])) << 8);
}
EMULATED __mmask16 _mm512_mask_cmpneq_epi32_mask(__mmask16 mask, __m512i a, __m512i b) {
  return static_cast<__mmask16>(mask & ~_mm512_cmpeq_epi32_mask(a, b));
}
EMULATED __mmask16 _mm512_cmple_epu32_mask(__m512i a, __m512i b) {
  return static_cast<__mmask16>(emulated::mask_of_ints(emulated::at_most_epu32(a.half[0], b.half[0])) |
                                emulated::mask_of_ints(emulated::at_most_epu32(a.half[1], b.half[1])) << 8);
}
EMULATED __mmask8 _mm256_cmple_epu32_mask(__m256i a, __m256i b) {
  return static_cast<__mmask8>(emulated::mask_of_ints(emulated::at_most_epu32(a, b)));
}
EMULATED __mmask32 _mm512_cmple_epu16_mask(__m512i a, __m512i b) {
  const auto low =
      _mm256_packs_epi16(emulated::at_most_epu16(a.half[0], b.half[0]), emulated::at_most_epu16(a.half[1], b.half[1]));
  return static_cast<__mmask32>(_mm256_movemask_epi8(_mm256_permute4x64_epi64(low, 0b11'01'10'00)));
}
EMULATED __mmask32 _mm512_mask_cmple_epu16_mask(__mmask32 mask, __m512i a, __m512i b) {
  return mask & _mm512_cmple_epu16_mask(a, b);
}
EMULATED __mmask16 _mm512_test_epi32_mask(__m512i a, __m512i b) {
  return static_cast<__mmask16>(~_mm512_cmpeq_epi32_mask(_mm512_and_si512(a, b), _mm512_setzero_si512()));
}
EMULATED __mmask16 _mm512_testn_epi32_mask(__m512i a, __m512i b) {
  return _mm512_cmpeq_epi32_mask(_mm512_and_si512(a, b), _mm512_setzero_si512());
}

// Those predicates that the library uses; of others nothing is known.
#define EMULATED_PREDICATES(compare, movemask)          \
  switch (imm) {                                        \
    EMULATED_PREDICATE(_CMP_EQ_OQ, compare, movemask)   \
    EMULATED_PREDICATE(_CMP_LT_OQ, compare, movemask)   \
    EMULATED_PREDICATE(_CMP_LE_OQ, compare, movemask)   \
    EMULATED_PREDICATE(_CMP_GT_OQ, compare, movemask)   \
    EMULATED_PREDICATE(_CMP_GE_OQ, compare, movemask)   \
    EMULATED_PREDICATE(_CMP_NEQ_OQ, compare, movemask)  \
    EMULATED_PREDICATE(_CMP_NEQ_UQ, compare, movemask)  \
    EMULATED_PREDICATE(_CMP_NLT_UQ, compare, movemask)  \
    EMULATED_PREDICATE(_CMP_NLE_UQ, compare, movemask)  \
    EMULATED_PREDICATE(_CMP_NGT_UQ, compare, movemask)  \
    EMULATED_PREDICATE(_CMP_NGE_UQ, compare, movemask)  \
    EMULATED_PREDICATE(_CMP_UNORD_Q, compare, movemask) \
    EMULATED_PREDICATE(_CMP_ORD_Q, compare, movemask)   \
    default: __builtin_trap();                          \
  }
#define EMULATED_PREDICATE(predicate, compare, movemask) \
  case predicate: return static_cast<unsigned>(movemask(compare(a, b, predicate)));
namespace emulated {
EMULATED unsigned compare(__m256 a, __m256 b, int imm){EMULATED_PREDICATES(_mm256_cmp_ps, _mm256_movemask_ps)} EMULATED
    unsigned compare(__m256d a, __m256d b, int imm) {
  EMULATED_PREDICATES(_mm256_cmp_pd, _mm256_movemask_pd)
}
}  // namespace emulated
#undef EMULATED_PREDICATES
#undef EMULATED_PREDICATE
EMULATED __mmask16 _mm512_cmp_ps_mask(__m512 a, __m512 b, int imm) {
  return static_cast<__mmask16>(emulated::compare(a.half[0], b.half[0], imm) |
                                emulated::compare(a.half[1], b.half[1], imm) << 8);
}
EMULATED __mmask8 _mm512_cmp_pd_mask(__m512d a, __m512d b, int imm) {
  return static_cast<__mmask8>(emulated::compare(a.half[0], b.half[0], imm) |
                               emulated::compare(a.half[1], b.half[1], imm) << 4);
}
EMULATED __mmask16 _mm512_movepi32_mask(__m512i a) {
  return static_cast<__mmask16>(emulated::mask_of_ints(a.half[0]) | emulated::mask_of_ints(a.half[1]) << 8);
}
EMULATED __mmask8 _mm512_movepi64_mask(__m512i a) {
  return static_cast<__mmask8>(_mm256_movemask_pd(_mm256_castsi256_pd(a.half[0])) |
                               _mm256_movemask_pd(_mm256_castsi256_pd(a.half[1])) << 4);
}
EMULATED unsigned _cvtmask32_u32(__mmask32 mask) { return mask; }

// Numbers of another type.
EMULATED __m512 _mm512_cvtepi32_ps(__m512i a) {
  return {{_mm256_cvtepi32_ps(a.half[0]), _mm256_cvtepi32_ps(a.half[1])}};
}
EMULATED_CALL __m512 _mm512_cvtepu32_ps(__m512i a) {
  const auto integers = emulated::lanes<std::uint32_t>(a);
  __m512 result;
  emulated::Lanes<float, __m512> floats;
  for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = static_cast<float>(integers[i]);
  emulated::set<__m512, float>(result, floats);
  return result;
}
EMULATED_CALL __m512d _mm512_cvtepu32_pd(__m256i a) {
  const auto integers = emulated::lanes<std::uint32_t>(a);
  __m512d result;
  emulated::Lanes<double, __m512d> doubles;
  for (std::size_t i = 0; i < doubles.size(); ++i) doubles[i] = integers[i];
  emulated::set<__m512d, double>(result, doubles);
  return result;
}
EMULATED __m512i _mm512_cvtps_epi32(__m512 a) {
  return {{_mm256_cvtps_epi32(a.half[0]), _mm256_cvtps_epi32(a.half[1])}};
}
EMULATED __m512i _mm512_cvtepi8_epi32(__m128i a) {
  return {{_mm256_cvtepi8_epi32(a), _mm256_cvtepi8_epi32(_mm_unpackhi_epi64(a, a))}};
}
EMULATED __m512i _mm512_cvtepu8_epi32(__m128i a) {
  return {{_mm256_cvtepu8_epi32(a), _mm256_cvtepu8_epi32(_mm_unpackhi_epi64(a, a))}};
}
EMULATED __m512i _mm512_cvtepi16_epi32(__m256i a) {
  return {{_mm256_cvtepi16_epi32(_mm256_castsi256_si128(a)), _mm256_cvtepi16_epi32(_mm256_extracti128_si256(a, 1))}};
}
EMULATED __m512i _mm512_cvtepu16_epi32(__m256i a) {
  return {{_mm256_cvtepu16_epi32(_mm256_castsi256_si128(a)), _mm256_cvtepu16_epi32(_mm256_extracti128_si256(a, 1))}};
}
EMULATED __m512d _mm512_cvtepi32_pd(__m256i a) {
  return {{_mm256_cvtepi32_pd(_mm256_castsi256_si128(a)), _mm256_cvtepi32_pd(_mm256_extracti128_si256(a, 1))}};
}
EMULATED __m256i _mm512_cvtpd_epi32(__m512d a) {
  return _mm256_setr_m128i(_mm256_cvtpd_epi32(a.half[0]), _mm256_cvtpd_epi32(a.half[1]));
}
EMULATED __m512d _mm512_cvtps_pd(__m256 a) {
  return {{_mm256_cvtps_pd(_mm256_castps256_ps128(a)), _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1))}};
}
EMULATED __m256 _mm512_cvtpd_ps(__m512d a) {
  return _mm256_setr_m128(_mm256_cvtpd_ps(a.half[0]), _mm256_cvtpd_ps(a.half[1]));
}
EMULATED __m512 _mm512_cvtph_ps(__m256i a) {
  return {{_mm256_cvtph_ps(_mm256_castsi256_si128(a)), _mm256_cvtph_ps(_mm256_extracti128_si256(a, 1))}};
}
EMULATED __m256i _mm512_maskz_cvtps_ph(__mmask16 mask, __m512 a, int imm) {
  if ((imm & ~_MM_FROUND_NO_EXC) != _MM_FROUND_TO_NEAREST_INT) __builtin_trap();
  const __m256i all = _mm256_setr_m128i(_mm256_cvtps_ph(a.half[0], _MM_FROUND_TO_NEAREST_INT),
                                        _mm256_cvtps_ph(a.half[1], _MM_FROUND_TO_NEAREST_INT));
  return _mm256_and_si256(all, emulated::words_of(mask));
}
EMULATED __m256i _mm512_cvtps_ph(__m512 a, int imm) { return _mm512_maskz_cvtps_ph(0xFFFF, a, imm); }
template <class To, class From, class V>
EMULATED_CALL V emulated_truncated(__m512i a) {
  const auto wide = emulated::lanes<From>(a);
  emulated::Lanes<To, V> narrow;
  for (std::size_t i = 0; i < wide.size(); ++i) narrow[i] = static_cast<To>(wide[i]);
  V v;
  emulated::set<V, To>(v, narrow);
  return v;
}
EMULATED __m256i _mm512_cvtepi16_epi8(__m512i a) { return emulated_truncated<std::uint8_t, std::uint16_t, __m256i>(a); }
EMULATED __m256i _mm512_cvtepi32_epi16(__m512i a) {
  return emulated_truncated<std::uint16_t, std::uint32_t, __m256i>(a);
}
EMULATED __m128i _mm512_cvtepi32_epi8(__m512i a) { return emulated_truncated<std::uint8_t, std::uint32_t, __m128i>(a); }
EMULATED __m256i _mm512_cvtepi64_epi32(__m512i a) {
  return emulated_truncated<std::uint32_t, std::uint64_t, __m256i>(a);
}

// The rest.
EMULATED __m512d _mm512_roundscale_pd(__m512d a, int imm) {
  switch (imm & ~_MM_FROUND_NO_EXC) {  // to integers only
    case _MM_FROUND_TO_NEAREST_INT:
      return {{_mm256_round_pd(a.half[0], _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
               _mm256_round_pd(a.half[1], _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}};
    case _MM_FROUND_TO_NEG_INF: return {{_mm256_floor_pd(a.half[0]), _mm256_floor_pd(a.half[1])}};
    case _MM_FROUND_TO_POS_INF: return {{_mm256_ceil_pd(a.half[0]), _mm256_ceil_pd(a.half[1])}};
    default: __builtin_trap();
  }
}
EMULATED __m512 _mm512_range_ps(__m512 a, __m512 b, unsigned imm) {
  return emulated::ranges<float, std::uint32_t>(a, b, imm);
}
EMULATED __m512 _mm512_mask_range_ps(__m512 other, __mmask16 mask, __m512 a, __m512 b, unsigned imm) {
  return _mm512_mask_blend_ps(mask, other, _mm512_range_ps(a, b, imm));
}
EMULATED __m256 _mm256_range_ps(__m256 a, __m256 b, unsigned imm) {
  return emulated::ranges<float, std::uint32_t>(a, b, imm);
}
EMULATED __m512d _mm512_range_pd(__m512d a, __m512d b, unsigned imm) {
  return emulated::ranges<double, std::uint64_t>(a, b, imm);
}
/// Right to 2^-15 or so, as it is defined to 2^-14; CPUs have other bits.
EMULATED_CALL __m512d _mm512_rcp14_pd(__m512d a) {
  auto x = emulated::lanes<double>(a);
  for (double& lane : x) {
    const auto bits = std::bit_cast<std::uint64_t>(1 / lane);
    if (!std::isnan(lane))
      lane = std::bit_cast<double>((bits + (std::uint64_t{1} << 37)) & ~((std::uint64_t{1} << 38) - 1));
  }
  __m512d v;
  emulated::set<__m512d, double>(v, x);
  return v;
}
EMULATED_CALL int _mm512_reduce_add_epi32(__m512i a) {
  std::uint32_t sum = 0;
  for (const std::uint32_t lane : emulated::lanes<std::uint32_t>(a)) sum += lane;
  return static_cast<int>(sum);
}
EMULATED __m512i _mm512_ternarylogic_epi64(__m512i a, __m512i b, __m512i c, int imm) {
  const __m512i ones = _mm512_set1_epi32(-1);
  __m512i result = _mm512_setzero_si512();
  for (int row = 0; row < 8; ++row) {  // of the truth table
    if (((imm >> row) & 1) == 0) continue;
    const __m512i x = (row & 4) != 0 ? a : _mm512_xor_si512(a, ones);
    const __m512i y = (row & 2) != 0 ? b : _mm512_xor_si512(b, ones);
    const __m512i z = (row & 1) != 0 ? c : _mm512_xor_si512(c, ones);
    result = _mm512_or_si512(result, _mm512_and_si512(x, _mm512_and_si512(y, z)));
  }
  return result;
}
EMULATED __m512i _mm512_ternarylogic_epi32(__m512i a, __m512i b, __m512i c, int imm) {
  return _mm512_ternarylogic_epi64(a, b, c, imm);
}

// 256-bit products: of AVX-512 VNNI and VL, and AVX-VNNI.
EMULATED __m256i _mm256_dpbusd_epi32(__m256i sum, __m256i a, __m256i b) { return emulated::dpbusd(sum, a, b); }
EMULATED __m256i _mm256_dpwssd_epi32(__m256i sum, __m256i a, __m256i b) { return emulated::dpwssd(sum, a, b); }
EMULATED __m256i _mm256_dpbusd_avx_epi32(__m256i sum, __m256i a, __m256i b) { return emulated::dpbusd(sum, a, b); }
EMULATED __m256i _mm256_dpwssd_avx_epi32(__m256i sum, __m256i a, __m256i b) { return emulated::dpwssd(sum, a, b); }
