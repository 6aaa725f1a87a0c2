// epilogue.hpp: 32 sums to 32 bytes in registers, for every set with 256-bit registers.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/requantize/avx2.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <cstring>

DMLREF_BEGIN
namespace fast::qlc::avx2 {

/// Requantizes 32 sums: in fixed point. What avx512vnni::Epilogue is to 64.
class Epilogue {
 public:
  static constexpr std::ptrdiff_t rows_alike = 4;  // as Kernels'

  struct Result {
    __m256i bytes;
    __m256i near_tie;  // the nearest ones, in low halves
  };
  /// Whether some unit has near ties: looked at once for a tile.
  class NearTies {
   public:
    DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE NearTies() noexcept : nearest_(_mm256_set1_epi32(-1)) {}
    DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE void add(std::size_t, __m256i near_tie) noexcept {
      nearest_ = _mm256_min_epu16(nearest_, near_tie);
    }
    DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE std::uint32_t units(const Epilogue& epilogue) const noexcept {
      return requantize::avx2::near_tie(nearest_, epilogue.band_) ? ~std::uint32_t{0} : 0;
    }

   private:
    __m256i nearest_;
  };
  struct Used {
    explicit Used(std::ptrdiff_t count) noexcept : bytes(count) {}
    std::ptrdiff_t bytes;
  };
  template <int N>
  struct Channels {
    __m256 scale[static_cast<std::size_t>(N)], shift[static_cast<std::size_t>(N)];
  };

  DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE explicit Epilogue(const Requantizer& to) noexcept
      : shift_(_mm256_set1_ps(to.fixed_shift())),
        flip_(_mm256_set1_epi8(static_cast<char>(to.packed().flip))),
        band_(_mm256_set1_epi32(static_cast<int>(fixed_band))),
        to_(to) {}

  /// Rounds: with one multiply-add.
  template <int N, bool Rounds>
  DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE Channels<N> channels(std::ptrdiff_t first) const noexcept {
    Channels<N> c;
    DMLREF_UNROLL
    for (int v = 0; v < N; ++v) {
      c.scale[v] = _mm256_loadu_ps((Rounds ? to_.rounded_scale : to_.fixed_scale) + first + 8 * v);
      c.shift[v] = Rounds ? _mm256_loadu_ps(to_.rounded_shift + first + 8 * v) : shift_;
    }
    return c;
  }
  template <int N, bool Rounds, SumsBegin S>
  DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE Result of_pixels(const __m256i (&sums)[4], const Channels<N>& c,
                                                           std::size_t first) const noexcept {
    __m256i q[4];
    DMLREF_UNROLL
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t v = (first + i) % N;
      q[i] = Rounds ? requantize::avx2::by_multiply_add<S>(sums[i], c.scale[v], c.shift[v])
                    : requantize::avx2::in_fixed_point(sums[i], c.scale[v], shift_);
    }
    if constexpr (!Rounds) return finish(q);
    return {in_order(requantize::avx2::pack_low(q)), _mm256_setzero_si256()};
  }
  template <bool Rounds>
  DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE Result of_row(const __m256i (&sums)[4],
                                                        std::ptrdiff_t channel) const noexcept {
    const __m256 scale = _mm256_set1_ps((Rounds ? to_.rounded_scale : to_.fixed_scale)[channel]);
    const __m256 shift = Rounds ? _mm256_set1_ps(to_.rounded_shift[channel]) : shift_;
    __m256i q[4];
    DMLREF_UNROLL
    for (int i = 0; i < 4; ++i) {
      q[i] = Rounds ? requantize::avx2::by_multiply_add(sums[i], scale, shift)
                    : requantize::avx2::in_fixed_point(sums[i], scale, shift);
    }
    if constexpr (!Rounds) return finish(q);
    return {in_order(requantize::avx2::pack_low(q)), _mm256_setzero_si256()};
  }

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

 private:
  DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE Result finish(const __m256i (&fixed)[4]) const noexcept {
    const __m256i least = _mm256_min_epu16(_mm256_min_epu16(fixed[0], fixed[1]), _mm256_min_epu16(fixed[2], fixed[3]));
    return {in_order(requantize::avx2::pack_high(fixed)), least};
  }
  DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE __m256i in_order(__m256i packed) const noexcept {
    const __m128i quads = _mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15);
    return requantize::avx2::V::across(requantize::avx2::V::shuffle(_mm256_xor_si256(packed, flip_), quads));
  }

  __m256 shift_;
  __m256i flip_;
  __m256i band_;
  const Requantizer& to_;
};

}  // namespace fast::qlc::avx2
DMLREF_END
#endif
