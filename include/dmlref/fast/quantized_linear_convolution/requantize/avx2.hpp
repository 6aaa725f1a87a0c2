// avx2.hpp: the modes of requantizer.hpp on 8 lanes, for every kernel with 256-bit registers. Where constants come
// from, and the order of bytes, is the callers' affair.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/requantize/requantizer.hpp"
#include "dmlref/fast/quantized_linear_convolution/requantize/scalar.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

DMLREF_BEGIN
namespace fast::qlc::requantize::avx2 {

/// fixed_point: integer sums to results in high halves; low halves tell how near a tie is.
DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE __m256i in_fixed_point(__m256i sums, __m256 scale, __m256 shift) noexcept {
  return _mm256_cvtps_epi32(_mm256_fmadd_ps(_mm256_cvtepi32_ps(sums), scale, shift));
}

/// multiply_add: sums that are floats to results in low halves.
DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE __m256i by_multiply_add(__m256i sums, __m256 scale, __m256 shift) noexcept {
  return _mm256_castps_si256(_mm256_fmadd_ps(_mm256_castsi256_ps(sums), scale, shift));
}

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
  const __m256i near = _mm256_cmpeq_epi16(_mm256_min_epu16(least, band), least);
  constexpr int low_halves = 0x33333333;
  return (_mm256_movemask_epi8(near) & low_halves) != 0;
}

/// A bit for each lane in fixed point that is near a tie.
DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE unsigned lanes_near_ties(__m256i fixed) noexcept {
  const __m256i fraction = _mm256_and_si256(fixed, _mm256_set1_epi32(0xFFFF));
  const __m256i beyond = _mm256_cmpgt_epi32(fraction, _mm256_set1_epi32(static_cast<int>(fixed_band)));
  return ~static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(beyond))) & 0xFFu;
}

/// The words of four vectors' results, of which those in doubt, whose low half is at most their `band`, are exact.
template <Factors F>
[[gnu::noinline]] DMLREF_TARGET_AVX2 inline __m256i settle(const __m256i* sums, const __m256i* fixed,
                                                           const __m256i& band, const double* factor,
                                                           const ExactRounding& exact) noexcept {
  alignas(32) std::int32_t lanes[32], results[32];
  alignas(32) std::uint16_t limits[16];
  const auto at = [](void* memory) { return static_cast<__m256i*>(memory); };
  _mm256_store_si256(at(limits), band);
  for (int v = 0; v < 4; ++v) {
    _mm256_store_si256(at(lanes + 8 * v), _mm256_loadu_si256(sums + v));
    _mm256_store_si256(at(results + 8 * v), _mm256_loadu_si256(fixed + v));
  }
  round_near_ties(lanes, results, 32, limits, 8, F, factor, exact);
  const __m256i first = join_high_halves(_mm256_load_si256(at(results)), _mm256_load_si256(at(results + 8)));
  const __m256i second = join_high_halves(_mm256_load_si256(at(results + 16)), _mm256_load_si256(at(results + 24)));
  return _mm256_packs_epi16(first, second);
}

/// As scalar::clamped.
DMLREF_TARGET_AVX2 inline void clamped(const std::int32_t* sums, std::ptrdiff_t blocks, const Requantizer& to,
                                       std::ptrdiff_t first, std::ptrdiff_t period, std::uint8_t* out) noexcept {
  __m256 scale[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    scale[v] = period == 1 ? _mm256_set1_ps(to.scale[first]) : _mm256_loadu_ps(to.scale + first + 8 * v % period);
  }
  const __m256 magic = _mm256_set1_ps(rounding_magic);
  const __m256 band = _mm256_set1_ps(clamped_band);
  const __m256 high = _mm256_set1_ps(float_clamp);
  const __m256 low = _mm256_set1_ps(-float_clamp);
  const __m256 magnitude = _mm256_castsi256_ps(_mm256_set1_epi32(0x7FFFFFFF));
  const __m256i shift = _mm256_set1_epi32(rounding_magic_bits - to.packed_zero_point());
  const __m256i flip = _mm256_set1_epi8(static_cast<char>(to.packed_flip()));
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  for (std::ptrdiff_t b = 0; b < 2 * blocks; ++b, sums += 32, out += 32) {
    __m256 residual[4];
    __m256i q[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      const __m256 sum = _mm256_cvtepi32_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums + 8 * v)));
      const __m256 product = _mm256_max_ps(_mm256_min_ps(_mm256_mul_ps(sum, scale[v]), high), low);
      const __m256 rounded = _mm256_add_ps(product, magic);
      residual[v] = _mm256_and_ps(_mm256_sub_ps(product, _mm256_sub_ps(rounded, magic)), magnitude);
      q[v] = _mm256_sub_epi32(_mm256_castps_si256(rounded), shift);
    }
    const __m256 worst =
        _mm256_max_ps(_mm256_max_ps(residual[0], residual[1]), _mm256_max_ps(residual[2], residual[3]));
    const __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(q[0], q[1]), _mm256_packs_epi32(q[2], q[3]));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out),
                        _mm256_xor_si256(_mm256_permutevar8x32_epi32(bytes, order), flip));
    if (__builtin_expect(_mm256_movemask_ps(_mm256_cmp_ps(worst, band, _CMP_NLE_UQ)) != 0, 0)) {
      std::uint64_t lanes = 0;
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) {
        const int mask = _mm256_movemask_ps(_mm256_cmp_ps(residual[v], band, _CMP_NLE_UQ));
        lanes |= std::uint64_t{static_cast<unsigned>(mask)} << (8 * v);
      }
      to.refine(lanes, sums, first, period, out);
    }
  }
}

}  // namespace fast::qlc::requantize::avx2
DMLREF_END
#endif
