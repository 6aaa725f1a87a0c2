// folding.hpp: what is done for each channel when constants are folded: weights less their zero points, their sum, and
// numbers for rounding. Instruction sets have it as `fold` and `fold_numbers` of their kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>
#endif

DMLREF_BEGIN
namespace fast::qlc::direct {

inline constexpr std::ptrdiff_t most_slots = 1040;  // a multiple of 16
inline constexpr std::ptrdiff_t fold_lanes = 16;

/// Some output channels' part of the constants.
struct FoldedChannels {
  double factor[fold_lanes], bound[fold_lanes];  // bound: of any sum
  std::int32_t bias[fold_lanes], sum[fold_lanes];
  float scale[fold_lanes], shift[fold_lanes];  // as SumConstants, of integers
  std::uint32_t near_tie[fold_lanes];
  std::int16_t offset[fold_lanes];                       // zero points, as far as bytes are flipped
  std::int32_t highest[fold_lanes], lowest[fold_lanes];  // of a channel's weights and 0
  /// Byte weights: 0 where no weight needs a shift or two parts; else the units where one does, as LaneArgs::wide.
  std::uint32_t wide[fold_lanes];
  std::int32_t window_shift[fold_lanes];
  int spare[fold_lanes];                               // the tap of units of three that their spare slot repeats
  alignas(32) std::int16_t d[fold_lanes][most_slots];  // weights less zero points, by slot
};

struct FoldArgs {
  const std::uint8_t* filter = nullptr;          // of the first channel
  std::ptrdiff_t step = 0, readable = 0;         // bytes from channel to channel, and to the filter's end
  std::ptrdiff_t count = 0;                      // of channels
  const std::ptrdiff_t* slot_weights = nullptr;  // of each slot, from the channel's first; below 0: none
  std::ptrdiff_t slots = 0;
  const std::uint8_t* pattern = nullptr;  // the same of 16 slots, 0x80: none; null where these are not enough
  std::uint8_t flip = 0, fill = 0;        // of weights; what padding has, of pixels
  double most = 0;                        // of a sum without the bias
  double output_scale = 1;
  float middle = 0;  // the zero point and one half, in units of 2^-16
};

inline void set_sum(const FoldArgs& t, std::ptrdiff_t c, std::int32_t total, FoldedChannels& f) noexcept {
  f.sum[c] =
      static_cast<std::int32_t>(static_cast<std::uint32_t>(f.bias[c]) - t.fill * static_cast<std::uint32_t>(total));
}

/// Weights less their zero points, and what sums start from, modulo 2^32.
inline void fold_any(const FoldArgs& t, FoldedChannels& f) noexcept {
  for (std::ptrdiff_t c = 0; c < fold_lanes; ++c) {
    const std::uint8_t* const row = t.filter + (c < t.count ? c : t.count - 1) * t.step;
    std::int32_t total = 0, highest = 0, lowest = 0;
    for (std::ptrdiff_t slot = 0; slot < t.slots; ++slot) {
      const std::ptrdiff_t from = t.slot_weights[slot];
      const std::int32_t d = from < 0 ? 0 : (row[from] ^ t.flip) - f.offset[c];
      f.d[c][slot] = static_cast<std::int16_t>(d);
      total += d;
      highest = d > highest ? d : highest;
      lowest = d < lowest ? d : lowest;
    }
    f.highest[c] = highest;
    f.lowest[c] = lowest;
    set_sum(t, c, total, f);
  }
}

/// How integers are rounded (SumConstants). In units of 2^-16 a value that does not saturate, up to 2^24 of them, is
/// off by one for the scale's 24 bits, by as much again where a sum may have more than 24 bits, and by 3/4 for the
/// arithmetic. With vectors of the compiler's, which every target has.
[[gnu::always_inline]] inline void fold_four_numbers(const FoldArgs& t, std::ptrdiff_t c, FoldedChannels& f) noexcept {
  using Doubles = double __attribute__((vector_size(32)));
  using Floats = float __attribute__((vector_size(16)));
  using Words = std::int32_t __attribute__((vector_size(16)));
  Doubles factor;
  Words bias;
  std::memcpy(&factor, f.factor + c, sizeof factor);
  std::memcpy(&bias, f.bias + c, sizeof bias);
  const Doubles ratio = factor / t.output_scale;
  const Doubles size = ratio < 0 ? -ratio : ratio;
  const Doubles given = __builtin_convertvector(bias, Doubles);
  const Doubles bound = t.most + (given < 0 ? -given : given);
  // Beyond 2^40 every sum but 0 saturates, below 2^-40 every sum rounds to 0: float need not follow.
  const Doubles zero{};
  Doubles clamped = ratio > 0x1p40 ? zero + 0x1p40 : ratio;
  clamped = clamped < -0x1p40 ? zero - 0x1p40 : clamped;
  clamped = size < 0x1p-40 ? zero : clamped;
  const Floats scale = __builtin_convertvector(clamped, Floats) * 65536.0f;
  const Words large = __builtin_convertvector(bound >= 0x1p24, Words);               // -1 where so
  const Words hopeless = __builtin_convertvector(!(bound * size < 32000.0), Words);  // the same
  const Floats shift = t.middle + 2.0f - __builtin_convertvector(large, Floats);
  const Words near_tie = (3 - large - large) | (hopeless & 0xFFFF);
  std::memcpy(f.bound + c, &bound, sizeof bound);
  std::memcpy(f.scale + c, &scale, sizeof scale);
  std::memcpy(f.shift + c, &shift, sizeof shift);
  std::memcpy(f.near_tie + c, &near_tie, sizeof near_tie);
}

inline void fold_numbers(const FoldArgs& t, FoldedChannels& f) noexcept {
  for (std::ptrdiff_t c = 0; c < fold_lanes; c += 4) fold_four_numbers(t, c, f);
}

#if DMLREF_ARCH_X86_64

namespace avx2 {

DMLREF_TARGET_AVX2 inline void fold_numbers(const FoldArgs& t, FoldedChannels& f) noexcept {
  for (std::ptrdiff_t c = 0; c < fold_lanes; c += 4) fold_four_numbers(t, c, f);
}

/// Up to sixteen slots by one byte shuffle.
DMLREF_TARGET_AVX2 inline void fold(const FoldArgs& t, FoldedChannels& f) noexcept {
  if (t.pattern == nullptr) return fold_any(t, f);
  const __m128i pattern = _mm_loadu_si128(reinterpret_cast<const __m128i*>(t.pattern));
  const __m128i flips = _mm_set1_epi8(static_cast<char>(t.flip));
  const __m256i real = _mm256_cvtepi8_epi16(_mm_cmpgt_epi8(pattern, _mm_set1_epi8(-1)));
  for (std::ptrdiff_t c = 0; c < fold_lanes; ++c) {
    const std::ptrdiff_t at = (c < t.count ? c : t.count - 1) * t.step;
    __m128i bytes = _mm_setzero_si128();
    if (at + 16 <= t.readable) {
      bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(t.filter + at));
    } else {
      std::memcpy(&bytes, t.filter + at, static_cast<std::size_t>(t.readable - at));
    }
    const __m256i weights = _mm256_cvtepu8_epi16(_mm_shuffle_epi8(_mm_xor_si128(bytes, flips), pattern));
    const __m256i d = _mm256_and_si256(_mm256_sub_epi16(weights, _mm256_set1_epi16(f.offset[c])), real);
    const __m256i pairs = _mm256_madd_epi16(d, _mm256_set1_epi16(1));
    __m128i sums = _mm_add_epi32(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
    sums = _mm_add_epi32(sums, _mm_shuffle_epi32(sums, 0x4E));
    sums = _mm_add_epi32(sums, _mm_shuffle_epi32(sums, 0xB1));
    set_sum(t, c, _mm_cvtsi128_si32(sums), f);
    const __m128i low = _mm256_castsi256_si128(d), high = _mm256_extracti128_si256(d, 1);
    _mm_store_si128(reinterpret_cast<__m128i*>(f.d[c]), low);
    _mm_store_si128(reinterpret_cast<__m128i*>(f.d[c] + 8), high);
    const __m128i most = _mm_set1_epi16(255);
    f.highest[c] = 255 - _mm_extract_epi16(_mm_minpos_epu16(_mm_sub_epi16(most, _mm_max_epi16(low, high))), 0);
    f.lowest[c] = _mm_extract_epi16(_mm_minpos_epu16(_mm_add_epi16(most, _mm_min_epi16(low, high))), 0) - 255;
  }
}

}  // namespace avx2

#endif

}  // namespace fast::qlc::direct
DMLREF_END
