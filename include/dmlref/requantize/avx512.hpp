// avx512.hpp: the modes of requantizer.hpp on 16 lanes, for every kernel of AVX-512 and of AMX.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/requantize/multiply_add_rounding.hpp"
#include "dmlref/requantize/requantizer.hpp"
#include "dmlref/requantize/scalar.hpp"
#include "dmlref/simd/x86.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::requantize::avx512 {

using V = simd::avx512::Vector;

/// Shuffles of bytes that put the high, or the low, half of each 32-bit lane into both.
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i high_to_both() noexcept {
  return _mm512_broadcast_i32x4(_mm_setr_epi8(2, 3, 2, 3, 6, 7, 6, 7, 10, 11, 10, 11, 14, 15, 14, 15));
}
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i low_to_both() noexcept {
  return _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 0, 1, 4, 5, 4, 5, 8, 9, 8, 9, 12, 13, 12, 13));
}
/// The bytes of the lower, or of the upper, half of each 32-bit lane.
inline constexpr __mmask64 bytes_of_low = 0x3333333333333333, bytes_of_high = 0xCCCCCCCCCCCCCCCC;

/// The high halves of 32-bit lanes as words, interleaved: even[0], odd[0], even[1], ….
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i join_high_halves(__m512i even, __m512i odd) noexcept {
  return _mm512_mask_shuffle_epi8(odd, bytes_of_low, even, high_to_both());
}
/// The same of low halves.
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i join_low_halves(__m512i even, __m512i odd) noexcept {
  return _mm512_mask_shuffle_epi8(even, bytes_of_high, odd, low_to_both());
}

/// Whether the low half of a lane of `minimum`, the minimum words of vectors in fixed point, is at most its
/// `tie_tolerance`.
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE bool has_near_tie(__m512i minimum, __m512i tie_tolerance) noexcept {
  constexpr std::uint32_t low_halves = 0x55555555;
  return (_cvtmask32_u32(_mm512_cmple_epu16_mask(minimum, tie_tolerance)) & low_halves) != 0;
}

/// A bit for each lane in fixed point that is near a tie.
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE unsigned lanes_near_ties(__m512i fixed) noexcept {
  const __m512i fraction = _mm512_and_si512(fixed, _mm512_set1_epi32(0xFFFF));
  return _mm512_cmple_epu32_mask(fraction, _mm512_set1_epi32(fixed_tie_tolerance));
}

#define DMLREF_QLC_TARGET DMLREF_TARGET_AVX512VNNI
#include "dmlref/requantize/vectors-inl.hpp"

#include "dmlref/requantize/lane_epilogue-inl.hpp"

/// join_high_halves and join_low_halves with constants that stay in registers, which tiles have when their products are
/// done. They are hidden from the optimizers: one makes them anew for every 64 sums, another knows a longer way.
class ShuffledHalves {
 public:
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE ShuffledHalves() noexcept : high_(high_to_both()), low_(low_to_both()) {
    __asm__("" : DMLREF_IN_ZMM(high_), DMLREF_IN_ZMM(low_), DMLREF_IN_MASK(low_bytes_), DMLREF_IN_MASK(high_bytes_));
  }
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i high(__m512i even, __m512i odd) const noexcept {
    return _mm512_mask_shuffle_epi8(odd, low_bytes_, even, high_);
  }
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i low(__m512i even, __m512i odd) const noexcept {
    return _mm512_mask_shuffle_epi8(even, high_bytes_, odd, low_);
  }

 private:
  __m512i high_, low_;
  __mmask64 low_bytes_ = bytes_of_low, high_bytes_ = bytes_of_high;
};

/// What is packed, in the order of the sums. The constants are hidden as those are.
class PackedOrder {
 public:
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE explicit PackedOrder(std::uint8_t flip) noexcept
      : flip_(V::all_bytes(flip)), fours_(_mm512_broadcast_i32x4(fours_of_vectors())), across_(V::transposed_order()) {
    __asm__("" : DMLREF_IN_ZMM(flip_), DMLREF_IN_ZMM(fours_), DMLREF_IN_ZMM(across_));
  }
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i high(const __m512i (&fixed)[4]) const noexcept {
    return in_order(halves_.high(fixed[0], fixed[1]), halves_.high(fixed[2], fixed[3]));
  }
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i low(const __m512i (&rounded)[4]) const noexcept {
    return in_order(halves_.low(rounded[0], rounded[1]), halves_.low(rounded[2], rounded[3]));
  }

 private:
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i in_order(__m512i first, __m512i second) const noexcept {
    const __m512i bytes = V::xor_(V::pack_words(first, second), flip_);
    return _mm512_permutexvar_epi32(across_, _mm512_shuffle_epi8(bytes, fours_));
  }
  __m512i flip_, fours_, across_;
  ShuffledHalves halves_;
};

/// Whether a unit has near ties. A register has a bit for each low half: one operation less with the comparison's
/// result.
class TieTest {
 public:
  using Result = bool;
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE TieTest() noexcept
      : tie_tolerance_(_mm512_set1_epi16(static_cast<short>(fixed_tie_tolerance))) {
    __asm__("" : DMLREF_IN_ZMM(tie_tolerance_), DMLREF_IN_MASK(low_halves_));
  }
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static bool none() noexcept { return false; }
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE bool of(const __m512i (&fixed)[4]) const noexcept {
    return _mm512_mask_cmple_epu16_mask(low_halves_, nearest_words(fixed), tie_tolerance_) != 0;
  }

 private:
  __m512i tie_tolerance_;
  __mmask32 low_halves_ = 0x55555555;
};
/// Which units have near ties.
class NearTies {
 public:
  DMLREF_ALWAYS_INLINE void add(std::size_t unit, bool has_near_tie) noexcept {
    units_ |= std::uint32_t{has_near_tie} << unit;
  }
  template <class Epilogue>
  DMLREF_ALWAYS_INLINE std::uint32_t units(const Epilogue&) const noexcept {
    return units_;
  }

 private:
  std::uint32_t units_ = 0;
};

/// Stores of a tile's bytes.
struct TileStores {
  using NearTies = avx512::NearTies;
  /// How many of a row's bytes to write.
  struct Used {
    explicit Used(std::ptrdiff_t bytes) noexcept : mask(~std::uint64_t{0} >> (64 - bytes)) {}
    std::uint64_t mask;
  };
  template <int Part>
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static void store_half(std::uint8_t* to, __m512i bytes) noexcept {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_extracti64x4_epi64(bytes, Part));
  }
  template <int Part>
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static void store_quarter(std::uint8_t* to, __m512i bytes) noexcept {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_extracti32x4_epi32(bytes, Part));
  }
  /// A row of N vectors' pixels.
  template <int N>
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static void store_row(std::uint8_t* to, __m512i bytes,
                                                                      Used used) noexcept {
    _mm512_mask_storeu_epi8(to, used.mask, bytes);
  }
};

#include "dmlref/requantize/tile_epilogue-inl.hpp"
#undef DMLREF_QLC_TARGET

}  // namespace fast::qlc::requantize::avx512
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
