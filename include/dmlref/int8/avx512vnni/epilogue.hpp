// epilogue.hpp: 64 sums to 64 bytes in registers.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/int8/portable.hpp"
#include "dmlref/requantize/avx512.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <cstring>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::avx512vnni {

// Dword 4 * i + j takes the place of dword 4 * j + i.
DMLREF_TARGET_AVX512VNNI inline __m512i transposed_order() noexcept {
  return _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
}

/// Requantizes 64 sums: in fixed point. Its constants are hidden from the optimizers, as those of ShuffledHalves are.
class Epilogue {
 public:
  static constexpr std::ptrdiff_t rows_alike = 1;  // as Kernels'

  struct Result {
    __m512i bytes;
    bool near_tie;  // of some sum: exact fallback
  };
  /// Which units of 64 sums have near ties.
  class NearTies {
   public:
    DMLREF_ALWAYS_INLINE void add(std::size_t unit, bool near_tie) noexcept {
      units_ |= std::uint32_t{near_tie} << unit;
    }
    DMLREF_ALWAYS_INLINE std::uint32_t units(const Epilogue&) const noexcept { return units_; }

   private:
    std::uint32_t units_ = 0;
  };
  /// How many of a row's bytes to write.
  struct Used {
    explicit Used(std::ptrdiff_t bytes) noexcept : mask(~std::uint64_t{0} >> (64 - bytes)) {}
    std::uint64_t mask;
  };

  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE explicit Epilogue(const Requantizer& to) noexcept
      : shift_(_mm512_set1_ps(to.fixed_shift())),
        flip_(_mm512_set1_epi8(static_cast<char>(to.packed().flip))),
        band_(_mm512_set1_epi16(static_cast<short>(fixed_band))),
        quads_(_mm512_broadcast_i32x4(_mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15))),
        order_(transposed_order()),
        to_(to) {
    __asm__(""
            : DMLREF_IN_ZMM(band_), DMLREF_IN_ZMM(flip_), DMLREF_IN_ZMM(quads_), DMLREF_IN_ZMM(order_),
              DMLREF_IN_MASK(even_words_));
  }

  /// Four vectors of sums, floats or integers, of one channel that a multiply-add rounds; no tie is near.
  template <SumsBegin S>
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i of_rounded(__m512i sum0, __m512i sum1, __m512i sum2,
                                                                   __m512i sum3,
                                                                   std::ptrdiff_t channel) const noexcept {
    const __m512 scale = _mm512_set1_ps(to_.rounded_scale[channel]), shift = _mm512_set1_ps(to_.rounded_shift[channel]);
    const auto rounded = [&](__m512i sum) __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
      return requantize::avx512::by_multiply_add<S>(sum, scale, shift);
    };
    return in_order(
        requantize::avx512::pack_low(rounded(sum0), rounded(sum1), rounded(sum2), rounded(sum3), flip_, halves_));
  }

  /// Four vectors of sums of a channel with that scale; near ties are not rounded exactly.
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE Result of_scale(__m512i sum0, __m512i sum1, __m512i sum2, __m512i sum3,
                                                                __m512 scale) const noexcept {
    return finish(fixed(sum0, scale), fixed(sum1, scale), fixed(sum2, scale), fixed(sum3, scale));
  }

  /// Four vectors of sums of one channel. Rounds: with one multiply-add.
  template <bool Rounds>
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE Result of_row(const __m512i (&sums)[4],
                                                              std::ptrdiff_t channel) const noexcept {
    if constexpr (Rounds) {
      return {of_rounded<SumsBegin::as_floats>(sums[0], sums[1], sums[2], sums[3], channel), false};
    } else {
      return of_scale(sums[0], sums[1], sums[2], sums[3], _mm512_set1_ps(to_.fixed_scale[channel]));
    }
  }

  /// What turns the sums of 16 * V channels into results. Rounds: with one multiply-add.
  template <int V>
  struct Channels {
    __m512 scale[static_cast<std::size_t>(V)], shift[static_cast<std::size_t>(V)];
  };
  template <int V, bool Rounds>
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE Channels<V> channels(std::ptrdiff_t first) const noexcept {
    Channels<V> c;
    DMLREF_UNROLL
    for (int v = 0; v < V; ++v) {
      c.scale[v] = _mm512_loadu_ps((Rounds ? to_.rounded_scale : to_.fixed_scale) + first + 16 * v);
      c.shift[v] = Rounds ? _mm512_loadu_ps(to_.rounded_shift + first + 16 * v) : shift_;
    }
    return c;
  }

  /// Sums of these channels, the first one of vector `first`, pixel after pixel. Of those that are rounded, S says what
  /// they are.
  template <int V, bool Rounds, SumsBegin S>
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE Result of_pixels(const __m512i (&sums)[4], const Channels<V>& c,
                                                                 std::size_t first = 0) const noexcept {
    __m512i q[4];
    DMLREF_UNROLL
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t v = (first + i) % V;
      q[i] =
          Rounds ? requantize::avx512::by_multiply_add<S>(sums[i], c.scale[v], c.shift[v]) : fixed(sums[i], c.scale[v]);
    }
    if constexpr (!Rounds) return finish(q[0], q[1], q[2], q[3]);
    return {in_order(requantize::avx512::pack_low(q[0], q[1], q[2], q[3], flip_, halves_)), false};
  }

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

 private:
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i fixed(__m512i sums, __m512 scale) const noexcept {
    return requantize::avx512::in_fixed_point(sums, scale, shift_);
  }
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE Result finish(__m512i v0, __m512i v1, __m512i v2,
                                                              __m512i v3) const noexcept {
    return {in_order(requantize::avx512::pack_high(v0, v1, v2, v3, flip_, halves_)),
            requantize::avx512::near_tie(v0, v1, v2, v3, band_, even_words_)};
  }

  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i in_order(__m512i bytes) const noexcept {
    return _mm512_permutexvar_epi32(order_, _mm512_shuffle_epi8(bytes, quads_));
  }

  __m512 shift_;
  __m512i flip_;
  __m512i band_;
  __m512i quads_;  // from alternating bytes to four of each vector
  __m512i order_;
  requantize::avx512::ShuffledHalves halves_;
  __mmask32 even_words_ = 0x55555555;
  const Requantizer& to_;
};

}  // namespace fast::qlc::avx512vnni
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
