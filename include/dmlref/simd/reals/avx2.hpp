// avx2.hpp: vectors of float and of double with AVX2, FMA and F16C; masks are vectors.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "dmlref/desc/half.hpp"

#define DMLREF_VECTOR_TARGET DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE

DMLREF_BEGIN
namespace fast::simd::avx2 {

struct Doubles {
  using Real = double;
  static constexpr std::size_t lanes = 4;
  __m256d v;
  DMLREF_VECTOR_TARGET static Doubles of(double x) noexcept { return {_mm256_set1_pd(x)}; }
  DMLREF_VECTOR_TARGET static Doubles load(const double* from) noexcept { return {_mm256_loadu_pd(from)}; }
  DMLREF_VECTOR_TARGET static Doubles from_floats(const std::byte* from) noexcept {
    return {_mm256_cvtps_pd(_mm_loadu_ps(reinterpret_cast<const float*>(from)))};
  }
};
struct Floats {
  using Real = float;
  static constexpr std::size_t lanes = 8;
  __m256 v;
  DMLREF_VECTOR_TARGET static Floats of(float x) noexcept { return {_mm256_set1_ps(x)}; }
  DMLREF_VECTOR_TARGET static Floats load(const float* from) noexcept { return {_mm256_loadu_ps(from)}; }
};

DMLREF_VECTOR_TARGET Doubles sum(Doubles a, Doubles b) noexcept { return {_mm256_add_pd(a.v, b.v)}; }
DMLREF_VECTOR_TARGET Doubles difference(Doubles a, Doubles b) noexcept { return {_mm256_sub_pd(a.v, b.v)}; }
DMLREF_VECTOR_TARGET Doubles product(Doubles a, Doubles b) noexcept { return {_mm256_mul_pd(a.v, b.v)}; }
DMLREF_VECTOR_TARGET Doubles quotient(Doubles a, Doubles b) noexcept { return {_mm256_div_pd(a.v, b.v)}; }
DMLREF_VECTOR_TARGET Doubles fma(Doubles a, Doubles b, Doubles c) noexcept { return {_mm256_fmadd_pd(a.v, b.v, c.v)}; }
DMLREF_VECTOR_TARGET Doubles less_product(Doubles c, Doubles a, Doubles b) noexcept {
  return {_mm256_fnmadd_pd(a.v, b.v, c.v)};
}
DMLREF_VECTOR_TARGET Doubles not_above(Doubles x, Doubles limit) noexcept { return {_mm256_min_pd(limit.v, x.v)}; }
DMLREF_VECTOR_TARGET Doubles not_below(Doubles x, Doubles limit) noexcept { return {_mm256_max_pd(limit.v, x.v)}; }
DMLREF_VECTOR_TARGET Doubles magnitude(Doubles x) noexcept {
  return {_mm256_andnot_pd(_mm256_set1_pd(double{-0.0}), x.v)};
}
DMLREF_VECTOR_TARGET Doubles negated(Doubles x) noexcept { return {_mm256_xor_pd(_mm256_set1_pd(-0.0), x.v)}; }
DMLREF_VECTOR_TARGET Doubles with_sign(Doubles size, Doubles sign) noexcept {
  return {_mm256_or_pd(_mm256_and_pd(_mm256_set1_pd(-0.0), sign.v), size.v)};
}
DMLREF_VECTOR_TARGET Doubles power_of_2(Doubles shifted) noexcept {
  return {_mm256_castsi256_pd(_mm256_slli_epi64(_mm256_castpd_si256(shifted.v), 52))};
}
DMLREF_VECTOR_TARGET Doubles less(Doubles a, Doubles b) noexcept { return {_mm256_cmp_pd(a.v, b.v, _CMP_LT_OQ)}; }
DMLREF_VECTOR_TARGET Doubles at_most(Doubles a, Doubles b) noexcept { return {_mm256_cmp_pd(a.v, b.v, _CMP_LE_OQ)}; }
DMLREF_VECTOR_TARGET Doubles not_at_most(Doubles a, Doubles b) noexcept {
  return {_mm256_cmp_pd(a.v, b.v, _CMP_NLE_UQ)};
}
DMLREF_VECTOR_TARGET Doubles or_(Doubles a, Doubles b) noexcept { return {_mm256_or_pd(a.v, b.v)}; }
DMLREF_VECTOR_TARGET bool any(Doubles mask) noexcept { return _mm256_movemask_pd(mask.v) != 0; }
DMLREF_VECTOR_TARGET Doubles choose(Doubles mask, Doubles yes, Doubles no) noexcept {
  return {_mm256_blendv_pd(no.v, yes.v, mask.v)};
}
DMLREF_VECTOR_TARGET Floats sum(Floats a, Floats b) noexcept { return {_mm256_add_ps(a.v, b.v)}; }
DMLREF_VECTOR_TARGET Floats difference(Floats a, Floats b) noexcept { return {_mm256_sub_ps(a.v, b.v)}; }
DMLREF_VECTOR_TARGET Floats product(Floats a, Floats b) noexcept { return {_mm256_mul_ps(a.v, b.v)}; }
DMLREF_VECTOR_TARGET Floats quotient(Floats a, Floats b) noexcept { return {_mm256_div_ps(a.v, b.v)}; }
DMLREF_VECTOR_TARGET Floats fma(Floats a, Floats b, Floats c) noexcept { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
DMLREF_VECTOR_TARGET Floats less_product(Floats c, Floats a, Floats b) noexcept {
  return {_mm256_fnmadd_ps(a.v, b.v, c.v)};
}
DMLREF_VECTOR_TARGET Floats not_above(Floats x, Floats limit) noexcept { return {_mm256_min_ps(limit.v, x.v)}; }
DMLREF_VECTOR_TARGET Floats not_below(Floats x, Floats limit) noexcept { return {_mm256_max_ps(limit.v, x.v)}; }
DMLREF_VECTOR_TARGET Floats magnitude(Floats x) noexcept { return {_mm256_andnot_ps(_mm256_set1_ps(-0.0f), x.v)}; }
DMLREF_VECTOR_TARGET Floats negated(Floats x) noexcept { return {_mm256_xor_ps(_mm256_set1_ps(-0.0f), x.v)}; }
DMLREF_VECTOR_TARGET Floats with_sign(Floats size, Floats sign) noexcept {
  return {_mm256_or_ps(_mm256_and_ps(_mm256_set1_ps(-0.0f), sign.v), size.v)};
}
DMLREF_VECTOR_TARGET Floats power_of_2(Floats shifted) noexcept {
  return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(shifted.v), 23))};
}
DMLREF_VECTOR_TARGET Floats less(Floats a, Floats b) noexcept { return {_mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ)}; }
DMLREF_VECTOR_TARGET Floats at_most(Floats a, Floats b) noexcept { return {_mm256_cmp_ps(a.v, b.v, _CMP_LE_OQ)}; }
DMLREF_VECTOR_TARGET Floats not_at_most(Floats a, Floats b) noexcept { return {_mm256_cmp_ps(a.v, b.v, _CMP_NLE_UQ)}; }
DMLREF_VECTOR_TARGET Floats not_at_least(Floats a, Floats b) noexcept { return {_mm256_cmp_ps(a.v, b.v, _CMP_NGE_UQ)}; }
DMLREF_VECTOR_TARGET Floats or_(Floats a, Floats b) noexcept { return {_mm256_or_ps(a.v, b.v)}; }
DMLREF_VECTOR_TARGET bool any(Floats mask) noexcept { return _mm256_movemask_ps(mask.v) != 0; }
DMLREF_VECTOR_TARGET Floats choose(Floats mask, Floats yes, Floats no) noexcept {
  return {_mm256_blendv_ps(no.v, yes.v, mask.v)};
}
DMLREF_VECTOR_TARGET void store_rounded(std::byte* to, Doubles x) noexcept {
  _mm_storeu_ps(reinterpret_cast<float*>(to), _mm256_cvtpd_ps(x.v));
}
DMLREF_VECTOR_TARGET void store_rounded(std::byte* to, Floats x) noexcept {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_cvtps_ph(x.v, _MM_FROUND_TO_NEAREST_INT));
}

#include "dmlref/simd/reals/pairs-inl.hpp"

DMLREF_VECTOR_TARGET Floats lesser_magnitude(Floats a, Floats b) noexcept { return not_above(magnitude(b), a); }
DMLREF_VECTOR_TARGET Doubles lesser_magnitude(Doubles a, Doubles b) noexcept { return not_above(magnitude(b), a); }
DMLREF_VECTOR_TARGET unsigned bits(Doubles mask) noexcept { return static_cast<unsigned>(_mm256_movemask_pd(mask.v)); }
DMLREF_VECTOR_TARGET unsigned bits(Floats mask) noexcept { return static_cast<unsigned>(_mm256_movemask_ps(mask.v)); }
DMLREF_VECTOR_TARGET Floats rounded(Vectors<Doubles> x) noexcept {
  return {_mm256_set_m128(_mm256_cvtpd_ps(x.second.v), _mm256_cvtpd_ps(x.first.v))};
}
DMLREF_VECTOR_TARGET Vectors<Doubles> widened(Floats x) noexcept {
  return {{_mm256_cvtps_pd(_mm256_castps256_ps128(x.v))}, {_mm256_cvtps_pd(_mm256_extractf128_ps(x.v, 1))}};
}

/// The sum of the lanes, by halves; the least lane.
DMLREF_VECTOR_TARGET double sum_of_lanes(Doubles x) noexcept {
  const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(x.v), _mm256_extractf128_pd(x.v, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}
DMLREF_VECTOR_TARGET float min_lane(Floats x) noexcept {
  __m128 four = _mm_min_ps(_mm256_castps256_ps128(x.v), _mm256_extractf128_ps(x.v, 1));
  four = _mm_min_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_min_ss(four, _mm_shuffle_ps(four, four, 1)));
}
/// Nothing, but compilers then do not know the number.
DMLREF_VECTOR_TARGET void pin(Doubles& x) noexcept { __asm__("" : "+x"(x.v)); }
DMLREF_VECTOR_TARGET void pin(Floats& x) noexcept { __asm__("" : "+x"(x.v)); }

/// Elements of T, float or half, from memory.
template <class T>
DMLREF_VECTOR_TARGET Floats floats_from(const std::byte* from) noexcept {
  if constexpr (std::is_same_v<T, half>) {
    return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)))};
  } else {
    return {_mm256_loadu_ps(reinterpret_cast<const float*>(from))};
  }
}
template <class T>
DMLREF_VECTOR_TARGET Vectors<Doubles> doubles_from(const std::byte* from) noexcept {  // (cheaper than from registers)
  if constexpr (std::is_same_v<T, half>) {
    return {{_mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))))},
            {_mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + 8))))}};
  } else {
    return Vectors<Doubles>::from_floats(from);
  }
}
DMLREF_VECTOR_TARGET void store(std::byte* to, Floats x) noexcept {
  _mm256_storeu_ps(reinterpret_cast<float*>(to), x.v);
}
DMLREF_VECTOR_TARGET void store(std::byte* to, Doubles x) noexcept {
  _mm256_storeu_pd(reinterpret_cast<double*>(to), x.v);
}
/// Integers from memory, as floats: those of 32 bits are rounded. And as doubles: of 32 bits.
template <class T>
DMLREF_VECTOR_TARGET Floats floats_of_integers(const std::byte* from) noexcept {
  if constexpr (sizeof(T) == 1) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    return {_mm256_cvtepi32_ps(std::is_signed_v<T> ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes))};
  } else if constexpr (sizeof(T) == 2) {
    const __m128i words = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return {_mm256_cvtepi32_ps(std::is_signed_v<T> ? _mm256_cvtepi16_epi32(words) : _mm256_cvtepu16_epi32(words))};
  } else {
    const __m256i integers = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    if constexpr (std::is_signed_v<T>) return {_mm256_cvtepi32_ps(integers)};
    const __m256 upper = _mm256_cvtepi32_ps(_mm256_srli_epi32(integers, 16));
    const __m256 lower = _mm256_cvtepi32_ps(_mm256_and_si256(integers, _mm256_set1_epi32(0xFFFF)));
    return {_mm256_fmadd_ps(upper, _mm256_set1_ps(0x1p16f), lower)};
  }
}
template <class T>
DMLREF_VECTOR_TARGET Vectors<Doubles> doubles_of_integers(const std::byte* from) noexcept {
  const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 16));
  if constexpr (std::is_signed_v<T>) return {{_mm256_cvtepi32_pd(a)}, {_mm256_cvtepi32_pd(b)}};
  const __m128i sign = _mm_set1_epi32((std::numeric_limits<std::int32_t>::min)());
  const __m256d bias = _mm256_set1_pd(0x1p31);
  return {{_mm256_add_pd(_mm256_cvtepi32_pd(_mm_xor_si128(a, sign)), bias)},
          {_mm256_add_pd(_mm256_cvtepi32_pd(_mm_xor_si128(b, sign)), bias)}};
}
/// x, which is `excess` more than what it was rounded from, rounded to odd instead: toward 0, and the last bit is set.
DMLREF_VECTOR_TARGET Floats rounded_to_odd(Floats x, Floats excess) noexcept {
  const __m256 inexact = _mm256_cmp_ps(excess.v, _mm256_setzero_ps(), _CMP_NEQ_OQ);
  const __m256i down =
      _mm256_castps_si256(_mm256_blendv_ps(inexact, _mm256_setzero_ps(), _mm256_xor_ps(x.v, excess.v)));
  const __m256i one = _mm256_srli_epi32(_mm256_castps_si256(inexact), 31);
  return {_mm256_castsi256_ps(_mm256_or_si256(_mm256_add_epi32(_mm256_castps_si256(x.v), down), one))};
}
DMLREF_VECTOR_TARGET Doubles rounded_to_odd(Doubles x, Doubles excess) noexcept {
  const __m256d inexact = _mm256_cmp_pd(excess.v, _mm256_setzero_pd(), _CMP_NEQ_OQ);
  const __m256i down =
      _mm256_castpd_si256(_mm256_blendv_pd(inexact, _mm256_setzero_pd(), _mm256_xor_pd(x.v, excess.v)));
  const __m256i one = _mm256_srli_epi64(_mm256_castpd_si256(inexact), 63);
  return {_mm256_castsi256_pd(_mm256_or_si256(_mm256_add_epi64(_mm256_castpd_si256(x.v), down), one))};
}
/// Integers of 32 bits; or bytes.
struct Integers {
  __m256i v;
  DMLREF_VECTOR_TARGET static Integers of_bytes(std::uint8_t x) noexcept {
    return {_mm256_set1_epi8(static_cast<char>(x))};
  }
};
/// The nearest ones; of NaN, and below them, one whose lower 16 bits are 0; above them one that saturates, or such one.
DMLREF_VECTOR_TARGET Integers nearest_integers(Floats x) noexcept { return {_mm256_cvtps_epi32(x.v)}; }
DMLREF_VECTOR_TARGET Integers min_words(Integers a, Integers b) noexcept { return {_mm256_min_epu16(a.v, b.v)}; }
/// Whether the lower 16 bits of any are below 8.
DMLREF_VECTOR_TARGET bool any_lower_word_below_8(Integers x) noexcept {
  const __m256i others = _mm256_and_si256(x.v, _mm256_set1_epi32(0xFFF8));
  return _mm256_movemask_epi8(_mm256_cmpeq_epi32(others, _mm256_setzero_si256())) != 0;
}
/// The upper 16 bits of each, saturated to bytes without sign.
DMLREF_VECTOR_TARGET Integers upper_words_as_bytes(Integers a, Integers b, Integers c, Integers d) noexcept {
  const __m256i ab = _mm256_packs_epi32(_mm256_srai_epi32(a.v, 16), _mm256_srai_epi32(b.v, 16));
  const __m256i cd = _mm256_packs_epi32(_mm256_srai_epi32(c.v, 16), _mm256_srai_epi32(d.v, 16));
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  return {_mm256_permutevar8x32_epi32(_mm256_packus_epi16(ab, cd), order)};
}
DMLREF_VECTOR_TARGET Integers xor_(Integers a, Integers b) noexcept { return {_mm256_xor_si256(a.v, b.v)}; }
DMLREF_VECTOR_TARGET void store(std::byte* to, Integers x) noexcept {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), x.v);
}
DMLREF_VECTOR_TARGET void stream(std::byte* to, Integers x) noexcept {
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), x.v);
}
/// Floats that are integers of 8 bits, signed or not, to memory.
DMLREF_VECTOR_TARGET void store_bytes(std::byte* to, Floats x) noexcept {
  const __m256i lowest = _mm256_set_epi32(-1, -1, -1, 0x0C080400, -1, -1, -1, 0x0C080400);
  const __m256i four = _mm256_shuffle_epi8(_mm256_cvtps_epi32(x.v), lowest);
  const __m128i eight = _mm_unpacklo_epi32(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), eight);
}
/// By non-temporal stores, to a multiple of what is stored.
DMLREF_VECTOR_TARGET void stream(std::byte* to, Floats x) noexcept {
  _mm256_stream_ps(reinterpret_cast<float*>(to), x.v);
}
DMLREF_VECTOR_TARGET void stream_rounded(std::byte* to, Floats x) noexcept {
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), _mm256_cvtps_ph(x.v, _MM_FROUND_TO_NEAREST_INT));
}
/// The first elements of a vector; the others are 0, or stay as they are.
struct First {
  std::size_t count;
  __m256i mask;
  DMLREF_VECTOR_TARGET explicit First(std::size_t n) noexcept
      : count(n),
        mask(_mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))) {}
};
template <class T>
DMLREF_VECTOR_TARGET Floats floats_from(const std::byte* from, First first) noexcept {
  if constexpr (std::is_same_v<T, half>) {
    alignas(16) std::byte space[16]{};
    std::memcpy(space, from, first.count * sizeof(half));
    return floats_from<half>(space);
  } else {
    return {_mm256_maskload_ps(reinterpret_cast<const float*>(from), first.mask)};
  }
}
DMLREF_VECTOR_TARGET void store(std::byte* to, Floats x, First first) noexcept {
  _mm256_maskstore_ps(reinterpret_cast<float*>(to), first.mask, x.v);
}

}  // namespace fast::simd::avx2
DMLREF_END

#undef DMLREF_VECTOR_TARGET

#endif  // DMLREF_ARCH_X86_64
