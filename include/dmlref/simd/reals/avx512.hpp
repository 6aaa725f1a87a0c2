// avx512.hpp: vectors of float and of double with 512 bits.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "dmlref/desc/half.hpp"

#include "dmlref/isa/avx512_begin.hpp"

#define DMLREF_VECTOR_TARGET DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE

DMLREF_BEGIN
namespace fast::simd::avx512 {

struct Doubles {
  using Real = double;
  static constexpr std::size_t lanes = 8;
  __m512d v;
  DMLREF_VECTOR_TARGET static Doubles of(double x) noexcept { return {_mm512_set1_pd(x)}; }
  DMLREF_VECTOR_TARGET static Doubles load(const double* from) noexcept { return {_mm512_loadu_pd(from)}; }
  DMLREF_VECTOR_TARGET static Doubles from_floats(const std::byte* from) noexcept {
    return {_mm512_cvtps_pd(_mm256_loadu_ps(reinterpret_cast<const float*>(from)))};
  }
};
struct Floats {
  using Real = float;
  static constexpr std::size_t lanes = 16;
  __m512 v;
  DMLREF_VECTOR_TARGET static Floats of(float x) noexcept { return {_mm512_set1_ps(x)}; }
  DMLREF_VECTOR_TARGET static Floats load(const float* from) noexcept { return {_mm512_loadu_ps(from)}; }
};

DMLREF_VECTOR_TARGET Doubles sum(Doubles a, Doubles b) noexcept { return {_mm512_add_pd(a.v, b.v)}; }
DMLREF_VECTOR_TARGET Doubles difference(Doubles a, Doubles b) noexcept { return {_mm512_sub_pd(a.v, b.v)}; }
DMLREF_VECTOR_TARGET Doubles product(Doubles a, Doubles b) noexcept { return {_mm512_mul_pd(a.v, b.v)}; }
DMLREF_VECTOR_TARGET Doubles quotient(Doubles a, Doubles b) noexcept { return {_mm512_div_pd(a.v, b.v)}; }
DMLREF_VECTOR_TARGET Doubles fma(Doubles a, Doubles b, Doubles c) noexcept { return {_mm512_fmadd_pd(a.v, b.v, c.v)}; }
DMLREF_VECTOR_TARGET Doubles less_product(Doubles c, Doubles a, Doubles b) noexcept {
  return {_mm512_fnmadd_pd(a.v, b.v, c.v)};
}
DMLREF_VECTOR_TARGET Doubles not_above(Doubles x, Doubles limit) noexcept { return {_mm512_min_pd(limit.v, x.v)}; }
DMLREF_VECTOR_TARGET Doubles not_below(Doubles x, Doubles limit) noexcept { return {_mm512_max_pd(limit.v, x.v)}; }
DMLREF_VECTOR_TARGET Doubles magnitude(Doubles x) noexcept { return {_mm512_abs_pd(x.v)}; }
DMLREF_VECTOR_TARGET Doubles negated(Doubles x) noexcept { return {_mm512_xor_pd(_mm512_set1_pd(-0.0), x.v)}; }
DMLREF_VECTOR_TARGET Doubles with_sign(Doubles size, Doubles sign) noexcept {
  const __m512i bits = _mm512_ternarylogic_epi64(_mm512_castpd_si512(_mm512_set1_pd(-0.0)), _mm512_castpd_si512(sign.v),
                                                 _mm512_castpd_si512(size.v), 0xCA);
  return {_mm512_castsi512_pd(bits)};
}
DMLREF_VECTOR_TARGET Doubles power_of_2(Doubles shifted) noexcept {
  return {_mm512_castsi512_pd(_mm512_slli_epi64(_mm512_castpd_si512(shifted.v), 52))};
}
DMLREF_VECTOR_TARGET __mmask8 less(Doubles a, Doubles b) noexcept { return _mm512_cmp_pd_mask(a.v, b.v, _CMP_LT_OQ); }
DMLREF_VECTOR_TARGET __mmask8 at_most(Doubles a, Doubles b) noexcept {
  return _mm512_cmp_pd_mask(a.v, b.v, _CMP_LE_OQ);
}
DMLREF_VECTOR_TARGET __mmask8 not_at_most(Doubles a, Doubles b) noexcept {
  return _mm512_cmp_pd_mask(a.v, b.v, _CMP_NLE_UQ);
}
DMLREF_VECTOR_TARGET Doubles choose(__mmask8 mask, Doubles yes, Doubles no) noexcept {
  return {_mm512_mask_blend_pd(mask, no.v, yes.v)};
}
DMLREF_VECTOR_TARGET Floats sum(Floats a, Floats b) noexcept { return {_mm512_add_ps(a.v, b.v)}; }
DMLREF_VECTOR_TARGET Floats difference(Floats a, Floats b) noexcept { return {_mm512_sub_ps(a.v, b.v)}; }
DMLREF_VECTOR_TARGET Floats product(Floats a, Floats b) noexcept { return {_mm512_mul_ps(a.v, b.v)}; }
DMLREF_VECTOR_TARGET Floats quotient(Floats a, Floats b) noexcept { return {_mm512_div_ps(a.v, b.v)}; }
DMLREF_VECTOR_TARGET Floats fma(Floats a, Floats b, Floats c) noexcept { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
DMLREF_VECTOR_TARGET Floats less_product(Floats c, Floats a, Floats b) noexcept {
  return {_mm512_fnmadd_ps(a.v, b.v, c.v)};
}
DMLREF_VECTOR_TARGET Floats not_above(Floats x, Floats limit) noexcept { return {_mm512_min_ps(limit.v, x.v)}; }
DMLREF_VECTOR_TARGET Floats not_below(Floats x, Floats limit) noexcept { return {_mm512_max_ps(limit.v, x.v)}; }
DMLREF_VECTOR_TARGET Floats magnitude(Floats x) noexcept { return {_mm512_abs_ps(x.v)}; }
DMLREF_VECTOR_TARGET Floats negated(Floats x) noexcept { return {_mm512_xor_ps(_mm512_set1_ps(-0.0f), x.v)}; }
DMLREF_VECTOR_TARGET Floats with_sign(Floats size, Floats sign) noexcept {
  const __m512i bits = _mm512_ternarylogic_epi32(_mm512_castps_si512(_mm512_set1_ps(-0.0f)),
                                                 _mm512_castps_si512(sign.v), _mm512_castps_si512(size.v), 0xCA);
  return {_mm512_castsi512_ps(bits)};
}
DMLREF_VECTOR_TARGET Floats power_of_2(Floats shifted) noexcept {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(shifted.v), 23))};
}
DMLREF_VECTOR_TARGET __mmask16 less(Floats a, Floats b) noexcept { return _mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ); }
DMLREF_VECTOR_TARGET __mmask16 at_most(Floats a, Floats b) noexcept { return _mm512_cmp_ps_mask(a.v, b.v, _CMP_LE_OQ); }
DMLREF_VECTOR_TARGET __mmask16 not_at_most(Floats a, Floats b) noexcept {
  return _mm512_cmp_ps_mask(a.v, b.v, _CMP_NLE_UQ);
}
DMLREF_VECTOR_TARGET __mmask16 not_at_least(Floats a, Floats b) noexcept {
  return _mm512_cmp_ps_mask(a.v, b.v, _CMP_NGE_UQ);
}
DMLREF_VECTOR_TARGET Floats choose(__mmask16 mask, Floats yes, Floats no) noexcept {
  return {_mm512_mask_blend_ps(mask, no.v, yes.v)};
}
template <class Mask>
DMLREF_VECTOR_TARGET Mask or_(Mask a, Mask b) noexcept {
  return static_cast<Mask>(a | b);
}
template <class Mask>
DMLREF_VECTOR_TARGET bool any(Mask mask) noexcept {
  return mask != 0;
}
DMLREF_VECTOR_TARGET void store_rounded(std::byte* to, Doubles x) noexcept {
  _mm256_storeu_ps(reinterpret_cast<float*>(to), _mm512_cvtpd_ps(x.v));
}
DMLREF_VECTOR_TARGET void store_rounded(std::byte* to, Floats x) noexcept {
  // (The plain form is a macro at -O0, whose own conversion warns where the includer has -Wsign-conversion.)
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_maskz_cvtps_ph(0xFFFF, x.v, _MM_FROUND_TO_NEAREST_INT));
}

#include "dmlref/simd/reals/pairs-inl.hpp"

DMLREF_VECTOR_TARGET Floats lesser_magnitude(Floats a, Floats b) noexcept {
  return {_mm512_range_ps(a.v, b.v, 0b1010)};
}
DMLREF_VECTOR_TARGET Doubles lesser_magnitude(Doubles a, Doubles b) noexcept {
  return {_mm512_range_pd(a.v, b.v, 0b1010)};
}
DMLREF_VECTOR_TARGET unsigned bits(__mmask16 mask) noexcept { return mask; }
DMLREF_VECTOR_TARGET Floats rounded(Vectors<Doubles> x) noexcept {
  return {_mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(x.first.v)), _mm512_cvtpd_ps(x.second.v), 1)};
}
DMLREF_VECTOR_TARGET Vectors<Doubles> widened(Floats x) noexcept {
  return {{_mm512_cvtps_pd(_mm512_castps512_ps256(x.v))}, {_mm512_cvtps_pd(_mm512_extractf32x8_ps(x.v, 1))}};
}

/// The sum of the lanes, by halves; the least lane.
DMLREF_VECTOR_TARGET double sum_of_lanes(Doubles x) noexcept {
  const __m256d four = _mm256_add_pd(_mm512_castpd512_pd256(x.v), _mm512_extractf64x4_pd(x.v, 1));
  const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}
DMLREF_VECTOR_TARGET float min_lane(Floats x) noexcept {
  const __m256 eight = _mm256_min_ps(_mm512_castps512_ps256(x.v), _mm512_extractf32x8_ps(x.v, 1));
  __m128 four = _mm_min_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  four = _mm_min_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_min_ss(four, _mm_shuffle_ps(four, four, 1)));
}
/// Nothing, but compilers then do not know the number.
DMLREF_VECTOR_TARGET void pin(Doubles& x) noexcept { __asm__("" : DMLREF_IN_ZMM(x.v)); }
DMLREF_VECTOR_TARGET void pin(Floats& x) noexcept { __asm__("" : DMLREF_IN_ZMM(x.v)); }

/// Elements of T, float or half, from memory.
template <class T>
DMLREF_VECTOR_TARGET Floats floats_from(const std::byte* from) noexcept {
  if constexpr (std::is_same_v<T, half>) {
    return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)))};
  } else {
    return {_mm512_loadu_ps(from)};
  }
}
template <class T>
DMLREF_VECTOR_TARGET Vectors<Doubles> doubles_from(const std::byte* from) noexcept {  // (cheaper than from registers)
  if constexpr (std::is_same_v<T, half>) {
    return {{_mm512_cvtps_pd(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))))},
            {_mm512_cvtps_pd(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 16))))}};
  } else {
    return Vectors<Doubles>::from_floats(from);
  }
}
DMLREF_VECTOR_TARGET void store(std::byte* to, Floats x) noexcept { _mm512_storeu_ps(to, x.v); }
DMLREF_VECTOR_TARGET void store(std::byte* to, Doubles x) noexcept { _mm512_storeu_pd(to, x.v); }
/// Integers from memory, as floats: those of 32 bits are rounded. And as doubles: of 32 bits.
template <class T>
DMLREF_VECTOR_TARGET Floats floats_of_integers(const std::byte* from) noexcept {
  if constexpr (sizeof(T) == 1) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return {_mm512_cvtepi32_ps(std::is_signed_v<T> ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes))};
  } else if constexpr (sizeof(T) == 2) {
    const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return {_mm512_cvtepi32_ps(std::is_signed_v<T> ? _mm512_cvtepi16_epi32(words) : _mm512_cvtepu16_epi32(words))};
  } else {
    const __m512i integers = _mm512_loadu_si512(from);
    return {std::is_signed_v<T> ? _mm512_cvtepi32_ps(integers) : _mm512_cvtepu32_ps(integers)};
  }
}
template <class T>
DMLREF_VECTOR_TARGET Vectors<Doubles> doubles_of_integers(const std::byte* from) noexcept {
  const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 32));
  if constexpr (std::is_signed_v<T>) return {{_mm512_cvtepi32_pd(a)}, {_mm512_cvtepi32_pd(b)}};
  return {{_mm512_cvtepu32_pd(a)}, {_mm512_cvtepu32_pd(b)}};
}
/// x, which is `excess` more than what it was rounded from, rounded to odd instead: toward 0, and the last bit is set.
DMLREF_VECTOR_TARGET Floats rounded_to_odd(Floats x, Floats excess) noexcept {
  const __m512i bits = _mm512_castps_si512(x.v), one = _mm512_set1_epi32(1);
  const __mmask16 inexact = _mm512_cmp_ps_mask(excess.v, _mm512_setzero_ps(), _CMP_NEQ_OQ);
  const __mmask16 opposite = _mm512_movepi32_mask(_mm512_xor_si512(bits, _mm512_castps_si512(excess.v)));
  const __m512i toward_0 = _mm512_mask_sub_epi32(bits, static_cast<__mmask16>(inexact & ~opposite), bits, one);
  return {_mm512_castsi512_ps(_mm512_mask_or_epi32(bits, inexact, toward_0, one))};
}
DMLREF_VECTOR_TARGET Doubles rounded_to_odd(Doubles x, Doubles excess) noexcept {
  const __m512i bits = _mm512_castpd_si512(x.v), one = _mm512_set1_epi64(1);
  const __mmask8 inexact = _mm512_cmp_pd_mask(excess.v, _mm512_setzero_pd(), _CMP_NEQ_OQ);
  const __mmask8 opposite = _mm512_movepi64_mask(_mm512_xor_si512(bits, _mm512_castpd_si512(excess.v)));
  const __m512i toward_0 = _mm512_mask_sub_epi64(bits, static_cast<__mmask8>(inexact & ~opposite), bits, one);
  return {_mm512_castsi512_pd(_mm512_mask_or_epi64(bits, inexact, toward_0, one))};
}
/// Integers of 32 bits; or bytes.
struct Integers {
  __m512i v;
  DMLREF_VECTOR_TARGET static Integers of_bytes(std::uint8_t x) noexcept {
    return {_mm512_set1_epi8(static_cast<char>(x))};
  }
};
/// The nearest ones; of NaN, and below them, one whose lower 16 bits are 0; above them one that saturates, or such one.
DMLREF_VECTOR_TARGET Integers nearest_integers(Floats x) noexcept { return {_mm512_cvtps_epi32(x.v)}; }
DMLREF_VECTOR_TARGET Integers min_words(Integers a, Integers b) noexcept { return {_mm512_min_epu16(a.v, b.v)}; }
/// Whether the lower 16 bits of any are below 8.
DMLREF_VECTOR_TARGET bool any_lower_word_below_8(Integers x) noexcept {
  return _mm512_testn_epi32_mask(x.v, _mm512_set1_epi32(0xFFF8)) != 0;
}
/// The upper 16 bits of each, saturated to bytes without sign.
DMLREF_VECTOR_TARGET Integers upper_words_as_bytes(Integers a, Integers b, Integers c, Integers d) noexcept {
  const __m512i ab = _mm512_packs_epi32(_mm512_srai_epi32(a.v, 16), _mm512_srai_epi32(b.v, 16));
  const __m512i cd = _mm512_packs_epi32(_mm512_srai_epi32(c.v, 16), _mm512_srai_epi32(d.v, 16));
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return {_mm512_permutexvar_epi32(order, _mm512_packus_epi16(ab, cd))};
}
DMLREF_VECTOR_TARGET Integers xor_(Integers a, Integers b) noexcept { return {_mm512_xor_si512(a.v, b.v)}; }
DMLREF_VECTOR_TARGET void store(std::byte* to, Integers x) noexcept { _mm512_storeu_si512(to, x.v); }
DMLREF_VECTOR_TARGET void stream(std::byte* to, Integers x) noexcept {
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), x.v);
}
/// Floats that are integers of 8 bits, signed or not, to memory.
DMLREF_VECTOR_TARGET void store_bytes(std::byte* to, Floats x) noexcept {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(x.v)));
}
/// By non-temporal stores, to a multiple of what is stored.
DMLREF_VECTOR_TARGET void stream(std::byte* to, Floats x) noexcept {
  _mm512_stream_ps(reinterpret_cast<float*>(to), x.v);
}
DMLREF_VECTOR_TARGET void stream_rounded(std::byte* to, Floats x) noexcept {
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), _mm512_maskz_cvtps_ph(0xFFFF, x.v, _MM_FROUND_TO_NEAREST_INT));
}
/// The first elements of a vector; the others are 0, or stay as they are.
struct First {
  std::size_t count;
  __mmask16 mask;
  DMLREF_VECTOR_TARGET explicit First(std::size_t n) noexcept : count(n), mask(static_cast<__mmask16>((1u << n) - 1)) {}
};
template <class T>
DMLREF_VECTOR_TARGET Floats floats_from(const std::byte* from, First first) noexcept {
  if constexpr (std::is_same_v<T, half>) {
    return {_mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first.mask, from))};
  } else {
    return {_mm512_maskz_loadu_ps(first.mask, from)};
  }
}
DMLREF_VECTOR_TARGET void store(std::byte* to, Floats x, First first) noexcept {
  _mm512_mask_storeu_ps(to, first.mask, x.v);
}

}  // namespace fast::simd::avx512
DMLREF_END

#undef DMLREF_VECTOR_TARGET

#include "dmlref/isa/avx512_end.hpp"

#endif  // DMLREF_ARCH_X86_64
