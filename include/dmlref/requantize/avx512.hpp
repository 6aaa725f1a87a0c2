// avx512.hpp: the modes of requantizer.hpp on 16 lanes, for every kernel of AVX-512 and of AMX.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/requantize/requantizer.hpp"
#include "dmlref/requantize/rounded_sums.hpp"
#include "dmlref/requantize/scalar.hpp"
#include "dmlref/simd/x86.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::requantize::avx512 {

using V = simd::avx512::Vector;

/// The high halves of 32-bit lanes as words, interleaved: even[0], odd[0], even[1], …. One instruction more than
/// ShuffledHalves and no constant in a vector register: the direct kernels keep weights and sums there all the time,
/// and shuffle for their products already.
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i join_high_halves(__m512i even, __m512i odd) noexcept {
  return _mm512_mask_mov_epi16(_mm512_srli_epi32(even, 16), 0xAAAAAAAA, odd);
}
/// The same of low halves.
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i join_low_halves(__m512i even, __m512i odd) noexcept {
  return _mm512_mask_mov_epi16(even, 0xAAAAAAAA, _mm512_slli_epi32(odd, 16));
}

/// Whether the low half of a lane of `least`, the least words of vectors in fixed point, is at most its `band`.
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE bool near_tie(__m512i least, __m512i band) noexcept {
  constexpr std::uint32_t low_halves = 0x55555555;
  return (_cvtmask32_u32(_mm512_cmple_epu16_mask(least, band)) & low_halves) != 0;
}

/// The same of four vectors where a register has a bit for each low half: one operation less with the comparison's
/// result.
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE bool near_tie(__m512i v0, __m512i v1, __m512i v2, __m512i v3,
                                                            __m512i band, __mmask32 low_halves) noexcept {
  const __m512i least = V::least_words(V::least_words(v0, v1), V::least_words(v2, v3));
  return _mm512_mask_cmple_epu16_mask(low_halves, least, band) != 0;
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

/// The high halves of four vectors as bytes; within 128 bits they come in the order 0 of v0, 0 of v1, 1 of v0, …, 0 of
/// v2, 0 of v3, ….
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i pack_high(__m512i v0, __m512i v1, __m512i v2, __m512i v3,
                                                                __m512i flip, const ShuffledHalves& halves) noexcept {
  const __m512i first = halves.high(v0, v1), second = halves.high(v2, v3);
  return _mm512_xor_si512(_mm512_packs_epi16(first, second), flip);
}

/// The same of low halves.
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i pack_low(__m512i v0, __m512i v1, __m512i v2, __m512i v3,
                                                               __m512i flip, const ShuffledHalves& halves) noexcept {
  const __m512i first = halves.low(v0, v1), second = halves.low(v2, v3);
  return _mm512_xor_si512(_mm512_packs_epi16(first, second), flip);
}

#define DMLREF_QLC_TARGET DMLREF_TARGET_AVX512VNNI
#include "dmlref/requantize/vectors.hpp"
#undef DMLREF_QLC_TARGET

}  // namespace fast::qlc::requantize::avx512
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
