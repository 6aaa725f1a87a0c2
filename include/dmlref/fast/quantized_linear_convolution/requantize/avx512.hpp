// avx512.hpp: the modes of requantizer.hpp on 16 lanes, for every kernel of AVX-512 and of AMX. Where constants come
// from, and the order of bytes, is the callers' affair.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/requantize/requantizer.hpp"
#include "dmlref/fast/quantized_linear_convolution/requantize/rounded_sums.hpp"
#include "dmlref/fast/quantized_linear_convolution/requantize/scalar.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::requantize::avx512 {

/// fixed_point: integer sums to results in high halves; low halves tell how near a tie is.
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i in_fixed_point(__m512i sums, __m512 scale,
                                                                     __m512 shift) noexcept {
  return _mm512_cvtps_epi32(_mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), scale, shift));
}

/// multiply_add: sums to results in low halves.
template <SumsBegin S>
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i by_multiply_add(__m512i sums, __m512 scale,
                                                                      __m512 shift) noexcept {
  const __m512 sum = S == SumsBegin::as_integers ? _mm512_cvtepi32_ps(sums) : _mm512_castsi512_ps(sums);
  return _mm512_castps_si512(_mm512_fmadd_ps(sum, scale, shift));
}

DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i least_words(__m512i v0, __m512i v1, __m512i v2,
                                                                  __m512i v3) noexcept {
  return _mm512_min_epu16(_mm512_min_epu16(v0, v1), _mm512_min_epu16(v2, v3));
}

/// Whether a low half among four vectors in fixed point is at most its lane's `band`.
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE bool near_tie(__m512i v0, __m512i v1, __m512i v2, __m512i v3,
                                                            __m512i band) noexcept {
  constexpr std::uint32_t low_halves = 0x55555555;
  return (_cvtmask32_u32(_mm512_cmple_epu16_mask(least_words(v0, v1, v2, v3), band)) & low_halves) != 0;
}

/// The same where a register has a bit for each low half: one operation less with the comparison's result.
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE bool near_tie(__m512i v0, __m512i v1, __m512i v2, __m512i v3,
                                                            __m512i band, __mmask32 low_halves) noexcept {
  return _mm512_mask_cmple_epu16_mask(low_halves, least_words(v0, v1, v2, v3), band) != 0;
}

/// A bit for each lane in fixed point that is near a tie.
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE unsigned lanes_near_ties(__m512i fixed) noexcept {
  const __m512i fraction = _mm512_and_si512(fixed, _mm512_set1_epi32(0xFFFF));
  return _mm512_cmple_epu32_mask(fraction, _mm512_set1_epi32(fixed_band));
}

/// Two vectors' halves as words, those of the first in even places, by one shuffle. Its constants take registers, which
/// tiles have when their products are done. They are hidden from the optimizers: one makes them anew for every 64 sums,
/// another knows a longer way.
class ShuffledHalves {
 public:
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE ShuffledHalves() noexcept
      : high_(_mm512_broadcast_i32x4(_mm_setr_epi8(2, 3, 2, 3, 6, 7, 6, 7, 10, 11, 10, 11, 14, 15, 14, 15))),
        low_(_mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 0, 1, 4, 5, 4, 5, 8, 9, 8, 9, 12, 13, 12, 13))) {
    __asm__("" : DMLREF_IN_ZMM(high_), DMLREF_IN_ZMM(low_), DMLREF_IN_MASK(low_bytes_), DMLREF_IN_MASK(high_bytes_));
  }
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i high(__m512i even, __m512i odd) const noexcept {
    return _mm512_mask_shuffle_epi8(odd, low_bytes_, even, high_);
  }
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i low(__m512i even, __m512i odd) const noexcept {
    return _mm512_mask_shuffle_epi8(even, high_bytes_, odd, low_);
  }

 private:
  __m512i high_, low_;                         // that half of a dword in both
  __mmask64 low_bytes_ = 0x3333333333333333;   // of the lower half
  __mmask64 high_bytes_ = 0xCCCCCCCCCCCCCCCC;  // of the upper half
};

/// The same by a shift and a blend: one instruction more and no constant in a vector register. The direct kernels keep
/// weights and sums there all the time, and shuffle for their products already.
struct BlendedHalves {
  static constexpr __mmask32 odd_words = 0xAAAAAAAA;
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i high(__m512i even, __m512i odd) const noexcept {
    return _mm512_mask_mov_epi16(_mm512_srli_epi32(even, 16), odd_words, odd);
  }
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i low(__m512i even, __m512i odd) const noexcept {
    return _mm512_mask_mov_epi16(even, odd_words, _mm512_slli_epi32(odd, 16));
  }
};

/// The high halves of four vectors as bytes; within 128 bits they come in the order 0 of v0, 0 of v1, 1 of v0, …, 0 of
/// v2, 0 of v3, …. Halves: ShuffledHalves or BlendedHalves.
template <class Halves>
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i pack_high(__m512i v0, __m512i v1, __m512i v2, __m512i v3,
                                                                __m512i flip, const Halves& halves) noexcept {
  const __m512i first = halves.high(v0, v1), second = halves.high(v2, v3);
  return _mm512_xor_si512(_mm512_packs_epi16(first, second), flip);
}

/// The same of low halves.
template <class Halves>
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i pack_low(__m512i v0, __m512i v1, __m512i v2, __m512i v3,
                                                               __m512i flip, const Halves& halves) noexcept {
  const __m512i first = halves.low(v0, v1), second = halves.low(v2, v3);
  return _mm512_xor_si512(_mm512_packs_epi16(first, second), flip);
}

/// Exactly, those lanes in fixed point whose low half is at most their `band`.
template <Factors F>
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE void settle(const __m512i (&sums)[4], __m512i (&fixed)[4], __m512i band,
                                                          const double* factor, const ExactRounding& exact) noexcept {
  alignas(64) std::int32_t lanes[64], results[64];
  alignas(64) std::uint16_t limits[32];
  _mm512_store_si512(limits, band);
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    _mm512_store_si512(lanes + 16 * v, sums[v]);
    _mm512_store_si512(results + 16 * v, fixed[v]);
  }
  round_near_ties(lanes, results, 64, limits, 16, F, factor, exact);
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) fixed[v] = _mm512_load_si512(results + 16 * v);
}

/// As scalar::clamped.
DMLREF_TARGET_AVX512VNNI inline void clamped(const std::int32_t* sums, std::ptrdiff_t blocks, const Requantizer& to,
                                             std::ptrdiff_t first, std::ptrdiff_t period, std::uint8_t* out) noexcept {
  __m512 scale[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    scale[v] = period == 1 ? _mm512_set1_ps(to.scale[first]) : _mm512_loadu_ps(to.scale + first + 16 * v % period);
  }
  const __m512 magic = _mm512_set1_ps(rounding_magic);
  const __m512 band = _mm512_set1_ps(clamped_band);
  const __m512 high = _mm512_set1_ps(float_clamp);
  const __m512 low = _mm512_set1_ps(-float_clamp);
  const __m512i shift = _mm512_set1_epi32(rounding_magic_bits - to.packed_zero_point());
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(to.packed_flip()));
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  for (std::ptrdiff_t b = 0; b < blocks; ++b, sums += 64, out += 64) {
    __m512i q[4];
    std::uint64_t lanes = 0;
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      const __m512 sum = _mm512_cvtepi32_ps(_mm512_loadu_si512(sums + 16 * v));
      const __m512 product = _mm512_max_ps(_mm512_min_ps(_mm512_mul_ps(sum, scale[v]), high), low);
      const __m512 rounded = _mm512_add_ps(product, magic);
      const __m512 residual = _mm512_abs_ps(_mm512_sub_ps(product, _mm512_sub_ps(rounded, magic)));
      lanes |= std::uint64_t{_mm512_cmp_ps_mask(residual, band, _CMP_NLE_UQ)} << (16 * v);
      q[v] = _mm512_sub_epi32(_mm512_castps_si512(rounded), shift);
    }
    const __m512i bytes = _mm512_packs_epi16(_mm512_packs_epi32(q[0], q[1]), _mm512_packs_epi32(q[2], q[3]));
    _mm512_storeu_si512(out, _mm512_xor_si512(_mm512_permutexvar_epi32(order, bytes), flip));
    if (__builtin_expect(lanes != 0, 0)) to.refine(lanes, sums, first, period, out);
  }
}

}  // namespace fast::qlc::requantize::avx512
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
