// x86.hpp: vectors of 256 and of 512 bits as far as one source serves both, and no more than such sources need. A
// source is included once per target, where V is one of these. Zips, packs and shuffles stay within 128 bits.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::simd {

inline std::int32_t load_dword(const void* from) noexcept {
  std::int32_t value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

namespace avx2 {

#define DMLREF_OPERATION DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE static

struct Vector {
  using Bits = __m256i;
  using Floats = __m256;
  using Doubles = __m256d;                    ///< of half the lanes
  static constexpr std::ptrdiff_t lanes = 8;  ///< of 32 bits
  static constexpr int registers = 16;

  DMLREF_OPERATION Bits load(const void* from) noexcept {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  }
  DMLREF_OPERATION void store(void* to, Bits v) noexcept { _mm256_storeu_si256(static_cast<__m256i*>(to), v); }
  DMLREF_OPERATION Floats load_floats(const float* from) noexcept { return _mm256_loadu_ps(from); }
  DMLREF_OPERATION Bits broadcast(const void* dword) noexcept { return _mm256_set1_epi32(load_dword(dword)); }
  DMLREF_OPERATION Bits all(std::int32_t x) noexcept { return _mm256_set1_epi32(x); }
  DMLREF_OPERATION Bits all_bytes(std::uint8_t x) noexcept { return _mm256_set1_epi8(static_cast<char>(x)); }
  DMLREF_OPERATION Floats all(float x) noexcept { return _mm256_set1_ps(x); }

  DMLREF_OPERATION Bits bits(Floats x) noexcept { return _mm256_castps_si256(x); }
  DMLREF_OPERATION Floats as_floats(Bits x) noexcept { return _mm256_castsi256_ps(x); }
  DMLREF_OPERATION Floats converted(Bits integers) noexcept { return _mm256_cvtepi32_ps(integers); }
  DMLREF_OPERATION Bits converted(Floats x) noexcept { return _mm256_cvtps_epi32(x); }

  DMLREF_OPERATION Floats sum(Floats a, Floats b) noexcept { return _mm256_add_ps(a, b); }
  DMLREF_OPERATION Floats difference(Floats a, Floats b) noexcept { return _mm256_sub_ps(a, b); }
  DMLREF_OPERATION Floats product(Floats a, Floats b) noexcept { return _mm256_mul_ps(a, b); }
  DMLREF_OPERATION Floats fma(Floats a, Floats b, Floats c) noexcept { return _mm256_fmadd_ps(a, b, c); }
  DMLREF_OPERATION Floats minimum(Floats a, Floats b) noexcept { return _mm256_min_ps(a, b); }  ///< b if either is NaN
  DMLREF_OPERATION Floats maximum(Floats a, Floats b) noexcept { return _mm256_max_ps(a, b); }  ///< the same
  DMLREF_OPERATION Floats magnitude(Floats x) noexcept {
    return _mm256_and_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(0x7FFFFFFF)));
  }
  DMLREF_OPERATION unsigned beyond(Floats x, Floats limit) noexcept {  ///< a bit for each lane
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(x, limit, _CMP_NLE_UQ)));
  }
  DMLREF_OPERATION Doubles load_doubles(const double* from) noexcept { return _mm256_loadu_pd(from); }
  DMLREF_OPERATION Doubles all(double x) noexcept { return _mm256_set1_pd(x); }
  /// The same of each 128 bits of 32-bit lanes: two doubles here, one for the lower half of them, one for the upper.
  DMLREF_OPERATION Doubles of_parts(const double* parts) noexcept { return _mm256_broadcast_sd(parts); }
  static constexpr int parts_of_doubles = 1;  ///< of 128 bits of 32-bit lanes
  DMLREF_OPERATION Doubles lower_as_doubles(Bits integers) noexcept {
    return _mm256_cvtepi32_pd(_mm256_castsi256_si128(integers));
  }
  DMLREF_OPERATION Doubles upper_as_doubles(Bits integers) noexcept {
    return _mm256_cvtepi32_pd(_mm256_extracti128_si256(integers, 1));
  }
  DMLREF_OPERATION Doubles sum(Doubles a, Doubles b) noexcept { return _mm256_add_pd(a, b); }
  DMLREF_OPERATION Doubles product(Doubles a, Doubles b) noexcept { return _mm256_mul_pd(a, b); }
  DMLREF_OPERATION Doubles fma(Doubles a, Doubles b, Doubles c) noexcept { return _mm256_fmadd_pd(a, b, c); }
  DMLREF_OPERATION Doubles minimum(Doubles a, Doubles b) noexcept { return _mm256_min_pd(a, b); }
  DMLREF_OPERATION Doubles maximum(Doubles a, Doubles b) noexcept { return _mm256_max_pd(a, b); }
  DMLREF_OPERATION Bits converted(Doubles lower, Doubles upper) noexcept {
    return _mm256_setr_m128i(_mm256_cvtpd_epi32(lower), _mm256_cvtpd_epi32(upper));
  }
  /// The upper 32 bits of each.
  DMLREF_OPERATION Bits upper_halves_of_doubles(Doubles lower, Doubles upper) noexcept {
    const __m256 halves = _mm256_shuffle_ps(_mm256_castpd_ps(lower), _mm256_castpd_ps(upper), 0xDD);
    return _mm256_permute4x64_epi64(_mm256_castps_si256(halves), 0xD8);
  }

  DMLREF_OPERATION Bits sum(Bits a, Bits b) noexcept { return _mm256_add_epi32(a, b); }
  DMLREF_OPERATION Bits upper_halves(Bits x) noexcept { return _mm256_srai_epi32(x, 16); }  ///< with their sign
  DMLREF_OPERATION Bits to_upper_halves(Bits x) noexcept { return _mm256_slli_epi32(x, 16); }
  DMLREF_OPERATION Bits signs(Bits x) noexcept { return _mm256_srai_epi32(x, 31); }  ///< -1 or 0
  DMLREF_OPERATION Bits lowest_bits(Bits x) noexcept { return _mm256_and_si256(x, _mm256_set1_epi32(1)); }
  DMLREF_OPERATION Bits difference(Bits a, Bits b) noexcept { return _mm256_sub_epi32(a, b); }
  DMLREF_OPERATION Bits xor_(Bits a, Bits b) noexcept { return _mm256_xor_si256(a, b); }  ///< exclusive or
  DMLREF_OPERATION Bits min_words(Bits a, Bits b) noexcept { return _mm256_min_epu16(a, b); }
  /// sums + the two products of words in each lane.
  DMLREF_OPERATION Bits plus_word_products(Bits sums, Bits a, Bits b) noexcept {
    return _mm256_add_epi32(sums, _mm256_madd_epi16(a, b));
  }

  DMLREF_OPERATION Bits zip_low_bytes(Bits a, Bits b) noexcept { return _mm256_unpacklo_epi8(a, b); }
  DMLREF_OPERATION Bits zip_high_bytes(Bits a, Bits b) noexcept { return _mm256_unpackhi_epi8(a, b); }
  DMLREF_OPERATION Bits zip_low_words(Bits a, Bits b) noexcept { return _mm256_unpacklo_epi16(a, b); }
  DMLREF_OPERATION Bits zip_high_words(Bits a, Bits b) noexcept { return _mm256_unpackhi_epi16(a, b); }
  DMLREF_OPERATION Bits zip_low_dwords(Bits a, Bits b) noexcept { return _mm256_unpacklo_epi32(a, b); }
  DMLREF_OPERATION Bits zip_high_dwords(Bits a, Bits b) noexcept { return _mm256_unpackhi_epi32(a, b); }
  DMLREF_OPERATION Bits zip_low_qwords(Bits a, Bits b) noexcept { return _mm256_unpacklo_epi64(a, b); }
  DMLREF_OPERATION Bits zip_high_qwords(Bits a, Bits b) noexcept { return _mm256_unpackhi_epi64(a, b); }
  DMLREF_OPERATION Bits pack_dwords(Bits a, Bits b) noexcept { return _mm256_packs_epi32(a, b); }
  DMLREF_OPERATION Bits pack_words(Bits a, Bits b) noexcept { return _mm256_packs_epi16(a, b); }
  DMLREF_OPERATION Bits shuffle(Bits x, __m128i pattern) noexcept {
    return _mm256_shuffle_epi8(x, _mm256_broadcastsi128_si256(pattern));
  }
  /// The first 32 bits of each 128, then the second ones, ….
  DMLREF_OPERATION Bits transpose_lanes(Bits x) noexcept {
    return _mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  }
  /// The first 128 bits of all vectors, one after the other, then the second ones, ….
  DMLREF_OPERATION void transpose_parts(Bits (&v)[4]) noexcept {
    const Bits second = _mm256_permute2x128_si256(v[2], v[3], 0x20),
               third = _mm256_permute2x128_si256(v[0], v[1], 0x31);
    v[0] = _mm256_permute2x128_si256(v[0], v[1], 0x20);
    v[3] = _mm256_permute2x128_si256(v[2], v[3], 0x31);
    v[1] = second;
    v[2] = third;
  }
  /// Nothing, but g++ then keeps an accumulator in one register: it would copy and even store it in the loop for the
  /// sake of what comes after.
  DMLREF_OPERATION void pin(Bits& sums) noexcept { __asm__("" : "+x"(sums)); }
};

#undef DMLREF_OPERATION

}  // namespace avx2

namespace avx512 {

#define DMLREF_OPERATION DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static

/// As avx2::Vector.
struct Vector {
  using Bits = __m512i;
  using Floats = __m512;
  using Doubles = __m512d;
  static constexpr std::ptrdiff_t lanes = 16;
  static constexpr int registers = 32;

  DMLREF_OPERATION Bits load(const void* from) noexcept { return _mm512_loadu_si512(from); }
  DMLREF_OPERATION void store(void* to, Bits v) noexcept { _mm512_storeu_si512(to, v); }
  DMLREF_OPERATION Floats load_floats(const float* from) noexcept { return _mm512_loadu_ps(from); }
  DMLREF_OPERATION Bits broadcast(const void* dword) noexcept { return _mm512_set1_epi32(load_dword(dword)); }
  DMLREF_OPERATION Bits all(std::int32_t x) noexcept { return _mm512_set1_epi32(x); }
  DMLREF_OPERATION Bits all_bytes(std::uint8_t x) noexcept { return _mm512_set1_epi8(static_cast<char>(x)); }
  DMLREF_OPERATION Floats all(float x) noexcept { return _mm512_set1_ps(x); }

  DMLREF_OPERATION Bits bits(Floats x) noexcept { return _mm512_castps_si512(x); }
  DMLREF_OPERATION Floats as_floats(Bits x) noexcept { return _mm512_castsi512_ps(x); }
  DMLREF_OPERATION Floats converted(Bits integers) noexcept { return _mm512_cvtepi32_ps(integers); }
  DMLREF_OPERATION Bits converted(Floats x) noexcept { return _mm512_cvtps_epi32(x); }

  DMLREF_OPERATION Floats sum(Floats a, Floats b) noexcept { return _mm512_add_ps(a, b); }
  DMLREF_OPERATION Floats difference(Floats a, Floats b) noexcept { return _mm512_sub_ps(a, b); }
  DMLREF_OPERATION Floats product(Floats a, Floats b) noexcept { return _mm512_mul_ps(a, b); }
  DMLREF_OPERATION Floats fma(Floats a, Floats b, Floats c) noexcept { return _mm512_fmadd_ps(a, b, c); }
  DMLREF_OPERATION Floats minimum(Floats a, Floats b) noexcept { return _mm512_min_ps(a, b); }
  DMLREF_OPERATION Floats maximum(Floats a, Floats b) noexcept { return _mm512_max_ps(a, b); }
  DMLREF_OPERATION Floats magnitude(Floats x) noexcept { return _mm512_abs_ps(x); }
  DMLREF_OPERATION unsigned beyond(Floats x, Floats limit) noexcept {
    return _mm512_cmp_ps_mask(x, limit, _CMP_NLE_UQ);
  }
  DMLREF_OPERATION Doubles load_doubles(const double* from) noexcept { return _mm512_loadu_pd(from); }
  DMLREF_OPERATION Doubles all(double x) noexcept { return _mm512_set1_pd(x); }
  static constexpr int parts_of_doubles = 2;
  DMLREF_OPERATION Doubles of_parts(const double* parts) noexcept {
    return _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_broadcast_sd(parts)), _mm256_broadcast_sd(parts + 1), 1);
  }
  DMLREF_OPERATION Doubles lower_as_doubles(Bits integers) noexcept {
    return _mm512_cvtepi32_pd(_mm512_castsi512_si256(integers));
  }
  DMLREF_OPERATION Doubles upper_as_doubles(Bits integers) noexcept {
    return _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(integers, 1));
  }
  DMLREF_OPERATION Doubles sum(Doubles a, Doubles b) noexcept { return _mm512_add_pd(a, b); }
  DMLREF_OPERATION Doubles product(Doubles a, Doubles b) noexcept { return _mm512_mul_pd(a, b); }
  DMLREF_OPERATION Doubles fma(Doubles a, Doubles b, Doubles c) noexcept { return _mm512_fmadd_pd(a, b, c); }
  DMLREF_OPERATION Doubles minimum(Doubles a, Doubles b) noexcept { return _mm512_min_pd(a, b); }
  DMLREF_OPERATION Doubles maximum(Doubles a, Doubles b) noexcept { return _mm512_max_pd(a, b); }
  DMLREF_OPERATION Bits converted(Doubles lower, Doubles upper) noexcept {
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtpd_epi32(lower)), _mm512_cvtpd_epi32(upper), 1);
  }
  DMLREF_OPERATION Bits upper_halves_of_doubles(Doubles lower, Doubles upper) noexcept {
    const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    return _mm512_permutex2var_epi32(_mm512_castpd_si512(lower), odd, _mm512_castpd_si512(upper));
  }

  DMLREF_OPERATION Bits sum(Bits a, Bits b) noexcept { return _mm512_add_epi32(a, b); }
  DMLREF_OPERATION Bits upper_halves(Bits x) noexcept { return _mm512_srai_epi32(x, 16); }
  DMLREF_OPERATION Bits to_upper_halves(Bits x) noexcept { return _mm512_slli_epi32(x, 16); }
  DMLREF_OPERATION Bits signs(Bits x) noexcept { return _mm512_srai_epi32(x, 31); }
  DMLREF_OPERATION Bits lowest_bits(Bits x) noexcept { return _mm512_and_si512(x, _mm512_set1_epi32(1)); }
  DMLREF_OPERATION Bits difference(Bits a, Bits b) noexcept { return _mm512_sub_epi32(a, b); }
  DMLREF_OPERATION Bits xor_(Bits a, Bits b) noexcept { return _mm512_xor_si512(a, b); }
  DMLREF_OPERATION Bits min_words(Bits a, Bits b) noexcept { return _mm512_min_epu16(a, b); }
  DMLREF_OPERATION Bits plus_word_products(Bits sums, Bits a, Bits b) noexcept {
    return _mm512_dpwssd_epi32(sums, a, b);
  }

  DMLREF_OPERATION Bits zip_low_bytes(Bits a, Bits b) noexcept { return _mm512_unpacklo_epi8(a, b); }
  DMLREF_OPERATION Bits zip_high_bytes(Bits a, Bits b) noexcept { return _mm512_unpackhi_epi8(a, b); }
  DMLREF_OPERATION Bits zip_low_words(Bits a, Bits b) noexcept { return _mm512_unpacklo_epi16(a, b); }
  DMLREF_OPERATION Bits zip_high_words(Bits a, Bits b) noexcept { return _mm512_unpackhi_epi16(a, b); }
  DMLREF_OPERATION Bits zip_low_dwords(Bits a, Bits b) noexcept { return _mm512_unpacklo_epi32(a, b); }
  DMLREF_OPERATION Bits zip_high_dwords(Bits a, Bits b) noexcept { return _mm512_unpackhi_epi32(a, b); }
  DMLREF_OPERATION Bits zip_low_qwords(Bits a, Bits b) noexcept { return _mm512_unpacklo_epi64(a, b); }
  DMLREF_OPERATION Bits zip_high_qwords(Bits a, Bits b) noexcept { return _mm512_unpackhi_epi64(a, b); }
  DMLREF_OPERATION Bits pack_dwords(Bits a, Bits b) noexcept { return _mm512_packs_epi32(a, b); }
  DMLREF_OPERATION Bits pack_words(Bits a, Bits b) noexcept { return _mm512_packs_epi16(a, b); }
  DMLREF_OPERATION Bits shuffle(Bits x, __m128i pattern) noexcept {
    return _mm512_shuffle_epi8(x, _mm512_broadcast_i32x4(pattern));
  }
  DMLREF_OPERATION Bits transposed_order() noexcept {
    return _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  }
  DMLREF_OPERATION Bits transpose_lanes(Bits x) noexcept { return _mm512_permutexvar_epi32(transposed_order(), x); }
  DMLREF_OPERATION void transpose_parts(Bits (&v)[4]) noexcept {
    const Bits a = _mm512_shuffle_i32x4(v[0], v[1], 0x44), b = _mm512_shuffle_i32x4(v[2], v[3], 0x44);
    const Bits c = _mm512_shuffle_i32x4(v[0], v[1], 0xEE), d = _mm512_shuffle_i32x4(v[2], v[3], 0xEE);
    v[0] = _mm512_shuffle_i32x4(a, b, 0x88);
    v[1] = _mm512_shuffle_i32x4(a, b, 0xDD);
    v[2] = _mm512_shuffle_i32x4(c, d, 0x88);
    v[3] = _mm512_shuffle_i32x4(c, d, 0xDD);
  }
  DMLREF_OPERATION void pin(Bits& sums) noexcept { __asm__("" : DMLREF_IN_ZMM(sums)); }
};

#undef DMLREF_OPERATION

}  // namespace avx512

}  // namespace fast::simd
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
