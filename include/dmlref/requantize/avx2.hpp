// avx2.hpp: the modes of requantizer.hpp on 8 lanes, for every kernel with 256-bit registers.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/requantize/requantizer.hpp"
#include "dmlref/requantize/rounded_sums.hpp"
#include "dmlref/requantize/scalar.hpp"
#include "dmlref/simd/x86.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

DMLREF_BEGIN
namespace fast::qlc::requantize::avx2 {

using V = simd::avx2::Vector;

/// The high halves of 32-bit lanes as words, interleaved: even[0], odd[0], even[1], ….
DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE __m256i join_high_halves(__m256i even, __m256i odd) noexcept {
  return _mm256_blend_epi16(_mm256_srli_epi32(even, 16), odd, 0xAA);
}
/// The same of low halves.
DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE __m256i join_low_halves(__m256i even, __m256i odd) noexcept {
  return _mm256_blend_epi16(even, _mm256_slli_epi32(odd, 16), 0xAA);
}

/// Whether the low half of a lane of `least`, the least words of vectors in fixed point, is at most its `band`.
DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE bool near_tie(__m256i least, __m256i band) noexcept {
  const __m256i ties = _mm256_cmpeq_epi16(_mm256_min_epu16(least, band), least);
  constexpr int low_halves = 0x33333333;
  return (_mm256_movemask_epi8(ties) & low_halves) != 0;
}

/// A bit for each lane in fixed point that is near a tie.
DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE unsigned lanes_near_ties(__m256i fixed) noexcept {
  const __m256i fraction = _mm256_and_si256(fixed, _mm256_set1_epi32(0xFFFF));
  const __m256i beyond = _mm256_cmpgt_epi32(fraction, _mm256_set1_epi32(static_cast<int>(fixed_band)));
  return ~static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(beyond))) & 0xFFu;
}

#define DMLREF_QLC_TARGET DMLREF_TARGET_AVX2
#include "dmlref/requantize/vectors.hpp"
#undef DMLREF_QLC_TARGET

}  // namespace fast::qlc::requantize::avx2
DMLREF_END
#endif
