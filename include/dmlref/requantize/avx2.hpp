// avx2.hpp: the modes of requantizer.hpp on 8 lanes, for every kernel with 256-bit registers.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/requantize/multiply_add_rounding.hpp"
#include "dmlref/requantize/requantizer.hpp"
#include "dmlref/requantize/scalar.hpp"
#include "dmlref/simd/x86.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <cstring>

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

/// Whether the low half of a lane of `minimum`, the minimum words of vectors in fixed point, is at most its
/// `tie_tolerance`.
DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE bool has_near_tie(__m256i minimum, __m256i tie_tolerance) noexcept {
  const __m256i ties = _mm256_cmpeq_epi16(_mm256_min_epu16(minimum, tie_tolerance), minimum);
  constexpr int low_halves = 0x33333333;
  return (_mm256_movemask_epi8(ties) & low_halves) != 0;
}

/// A bit for each lane in fixed point that is near a tie.
DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE unsigned lanes_near_ties(__m256i fixed) noexcept {
  const __m256i fraction = _mm256_and_si256(fixed, _mm256_set1_epi32(0xFFFF));
  const __m256i beyond = _mm256_cmpgt_epi32(fraction, _mm256_set1_epi32(static_cast<int>(fixed_tie_tolerance)));
  return ~static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(beyond))) & 0xFFu;
}

#define DMLREF_QLC_TARGET DMLREF_TARGET_AVX2
#include "dmlref/requantize/vectors-inl.hpp"

#include "dmlref/requantize/lane_epilogue-inl.hpp"

/// What is packed, in the order of the sums.
class PackedOrder {
 public:
  DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE explicit PackedOrder(std::uint8_t flip) noexcept
      : flip_(V::all_bytes(flip)) {}
  DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE __m256i high(const __m256i (&fixed)[4]) const noexcept {
    return in_order(pack_high(fixed));
  }
  DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE __m256i low(const __m256i (&rounded)[4]) const noexcept {
    return in_order(pack_low(rounded));
  }

 private:
  DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE __m256i in_order(__m256i packed) const noexcept {
    return V::transpose_lanes(V::shuffle(V::xor_(packed, flip_), fours_of_vectors()));
  }
  __m256i flip_;
};

/// The nearest words to ties of a unit, in low halves; a tile's are compared at once.
class TieTest {
 public:
  using Result = __m256i;
  DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE TieTest() noexcept
      : tie_tolerance_(V::all(static_cast<int>(fixed_tie_tolerance))) {}
  DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE static __m256i none() noexcept { return _mm256_setzero_si256(); }
  DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE static __m256i of(const __m256i (&fixed)[4]) noexcept {
    return nearest_words(fixed);
  }
  DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE bool holds(__m256i nearest) const noexcept {
    return has_near_tie(nearest, tie_tolerance_);
  }

 private:
  __m256i tie_tolerance_;
};
/// Which units have near ties: all, or none.
class NearTies {
 public:
  DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE NearTies() noexcept : nearest_(V::all(-1)) {}
  DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE void add(std::size_t, __m256i nearest) noexcept {
    nearest_ = V::min_words(nearest_, nearest);
  }
  template <class Epilogue>
  DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE std::uint32_t units(const Epilogue& epilogue) const noexcept {
    return epilogue.tie_test().holds(nearest_) ? ~std::uint32_t{0} : 0;
  }

 private:
  __m256i nearest_;
};

/// Stores of a tile's bytes.
struct TileStores {
  using NearTies = avx2::NearTies;
  /// How many of a row's bytes to write.
  struct Used {
    explicit Used(std::ptrdiff_t count) noexcept : bytes(count) {}
    std::ptrdiff_t bytes;
  };
  template <int Part>
  DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE static void store_half(std::uint8_t* to, __m256i bytes) noexcept {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_extracti128_si256(bytes, Part));
  }
  template <int Part>
  DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE static void store_quarter(std::uint8_t* to, __m256i bytes) noexcept {
    const __m128i half = _mm256_extracti128_si256(bytes, Part / 2);
    if constexpr (Part % 2 == 0) {
      _mm_storel_epi64(reinterpret_cast<__m128i*>(to), half);
    } else {
      _mm_storeh_pi(reinterpret_cast<__m64*>(to), _mm_castsi128_ps(half));
    }
  }
  template <int N>
  DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE static void store_row(std::uint8_t* to, __m256i bytes, Used used) noexcept {
    if (__builtin_expect(used.bytes != 8 * N, 0)) {
      std::uint8_t all[32];
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(all), bytes);
      std::memcpy(to, all, static_cast<std::size_t>(used.bytes));
    } else if constexpr (N == 1) {
      store_quarter<0>(to, bytes);
    } else {
      store_half<0>(to, bytes);
      if constexpr (N == 3) store_quarter<2>(to + 16, bytes);
    }
  }
};

#include "dmlref/requantize/tile_epilogue-inl.hpp"
#undef DMLREF_QLC_TARGET

}  // namespace fast::qlc::requantize::avx2
DMLREF_END
#endif
