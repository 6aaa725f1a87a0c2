// folding.hpp: what is done for each channel when constants are folded: weights less their zero points, their sum, and
// numbers for rounding. Instruction sets have it as `fold` and `fold_numbers` of their kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"

#if DMLREF_HAS_AVX2
#include <immintrin.h>
#endif

DMLREF_BEGIN
namespace fast::qlc::direct {

inline constexpr std::ptrdiff_t most_slots = 1040;  // a multiple of 16
inline constexpr std::ptrdiff_t fold_lanes = 16;

/// Some output channels' part of the constants.
struct FoldedChannels {
  float filter_scale[fold_lanes];
  double factor[fold_lanes], bound[fold_lanes];  // bound: of any sum
  std::int32_t bias[fold_lanes], sum[fold_lanes];
  float scale[fold_lanes], shift[fold_lanes];  // as SumConstants, of integers
  std::uint32_t near_tie[fold_lanes];
  std::int16_t offset[fold_lanes];                       // zero points, as far as bytes are flipped
  std::int32_t highest[fold_lanes], lowest[fold_lanes];  // of a channel's weights and 0
  /// Byte weights: 0 where no weight needs a shift or two parts; else the units where one does, as LaneArgs::wide.
  std::uint32_t wide[fold_lanes];
  std::int32_t window_shift[fold_lanes];
  int spare[fold_lanes];  // the tap of units of three that their spare slot repeats
  bool fits;              // whether sums have 32 bits
  bool bytes;             // whether weights have eight; if not, `highest` and `lowest` are set
  std::ptrdiff_t pitch;   // of `weights`: slots, rounded up to 16
  alignas(32) std::int16_t weights[fold_lanes * most_slots];

  /// Weights less zero points, by slot. Behind them, up to a multiple of 16, is 0.
  std::int16_t* d(std::ptrdiff_t c) noexcept { return weights + c * pitch; }
  const std::int16_t* d(std::ptrdiff_t c) const noexcept { return weights + c * pitch; }
};

/// Where 16 slots' weights are, from the channel's first: in 32 bytes from `base`.
struct SlotRun {
  std::ptrdiff_t base = 0;
  std::uint8_t low[16], high[16];  // of the first 16 of them, of the others; 0x80: none
  bool two = false;                // whether some are among the others
};

struct FoldArgs {
  const std::uint8_t* filter = nullptr;          // of the first channel
  std::ptrdiff_t step = 0, readable = 0;         // bytes from channel to channel, and to the filter's end
  std::ptrdiff_t count = 0;                      // of channels
  const std::ptrdiff_t* slot_weights = nullptr;  // of each slot, from the channel's first; below 0: none
  std::ptrdiff_t slots = 0;
  const SlotRun* runs = nullptr;    // the same of each 16 slots; null where there are no such
  std::uint8_t flip = 0, fill = 0;  // of weights; what padding has, of pixels
  double most = 0;                  // of a sum without the bias
  double input_scale = 1;           // with the output scale's sign
  bool usual = true;                // scales are: factors are their products; if not, they are given
  double output_scale = 1;
  float middle = 0;  // the zero point and one half, in units of 2^-16
};

inline void set_sum(const FoldArgs& t, std::ptrdiff_t c, std::int32_t total, FoldedChannels& f) noexcept {
  f.sum[c] =
      static_cast<std::int32_t>(static_cast<std::uint32_t>(f.bias[c]) - t.fill * static_cast<std::uint32_t>(total));
}

/// The ends of what a channel's weights are, for weights of bytes where some do not fit.
inline void find_ends(std::ptrdiff_t slots, FoldedChannels& f) noexcept {
  for (std::ptrdiff_t c = 0; c < fold_lanes; ++c) {
    std::int32_t highest = 0, lowest = 0;
    for (std::ptrdiff_t slot = 0; slot < slots; ++slot) {
      const std::int32_t d = f.d(c)[slot];
      highest = d > highest ? d : highest;
      lowest = d < lowest ? d : lowest;
    }
    f.highest[c] = highest;
    f.lowest[c] = lowest;
  }
}

/// Weights less their zero points, and what sums start from, modulo 2^32.
inline void fold_any(const FoldArgs& t, FoldedChannels& f) noexcept {
  for (std::ptrdiff_t c = 0; c < fold_lanes; ++c) {
    const std::uint8_t* const row = t.filter + (c < t.count ? c : t.count - 1) * t.step;
    std::int16_t* const to = f.d(c);
    std::int32_t total = 0;
    for (std::ptrdiff_t slot = 0; slot < t.slots; ++slot) {
      const std::ptrdiff_t from = t.slot_weights[slot];
      const std::int32_t d = from < 0 ? 0 : (row[from] ^ t.flip) - f.offset[c];
      to[slot] = static_cast<std::int16_t>(d);
      total += d;
    }
    for (std::ptrdiff_t slot = t.slots; slot < f.pitch; ++slot) to[slot] = 0;
    set_sum(t, c, total, f);
  }
  find_ends(t.slots, f);
  f.bytes = true;
  for (std::ptrdiff_t c = 0; c < fold_lanes; ++c) f.bytes = f.bytes && f.highest[c] <= 127 && f.lowest[c] >= -128;
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
  if (t.usual) {
    Floats filter_scale;
    std::memcpy(&filter_scale, f.filter_scale + c, sizeof filter_scale);
    factor = t.input_scale * __builtin_convertvector(filter_scale, Doubles);
    std::memcpy(f.factor + c, &factor, sizeof factor);
  } else {
    std::memcpy(&factor, f.factor + c, sizeof factor);
  }
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
  const Words wide = __builtin_convertvector(!(bound < 0x1p31), Words);
  f.fits = f.fits && (wide[0] | wide[1] | wide[2] | wide[3]) == 0;
  std::memcpy(f.bound + c, &bound, sizeof bound);
  std::memcpy(f.scale + c, &scale, sizeof scale);
  std::memcpy(f.shift + c, &shift, sizeof shift);
  std::memcpy(f.near_tie + c, &near_tie, sizeof near_tie);
}

inline void fold_numbers(const FoldArgs& t, FoldedChannels& f) noexcept {
  f.fits = true;
  for (std::ptrdiff_t c = 0; c < fold_lanes; c += 4) fold_four_numbers(t, c, f);
}

#if DMLREF_HAS_AVX2

namespace avx2 {

DMLREF_TARGET_AVX2 inline void fold_numbers(const FoldArgs& t, FoldedChannels& f) noexcept {
  f.fits = true;
  for (std::ptrdiff_t c = 0; c < fold_lanes; c += 4) fold_four_numbers(t, c, f);
}

/// 16 of the bytes at `at`, as far as they may be read.
DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE __m128i load_weights(const FoldArgs& t, std::ptrdiff_t at) noexcept {
  if (__builtin_expect(at + 16 <= t.readable, 1)) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(t.filter + at));
  }
  __m128i bytes = _mm_setzero_si128();
  if (at < t.readable) std::memcpy(&bytes, t.filter + at, static_cast<std::size_t>(t.readable - at));
  return bytes;
}

/// Sixteen slots at a time, by byte shuffles.
DMLREF_TARGET_AVX2 inline void fold(const FoldArgs& t, FoldedChannels& f) noexcept {
  if (t.runs == nullptr) return fold_any(t, f);
  const __m128i flips = _mm_set1_epi8(static_cast<char>(t.flip));
  __m256i highest = _mm256_setzero_si256(), lowest = highest;
  for (std::ptrdiff_t c = 0; c < fold_lanes; c += 4) {
    __m256i sums[4];
    for (std::ptrdiff_t i = 0; i < 4; ++i) {
      const std::ptrdiff_t channel = (c + i < t.count ? c + i : t.count - 1) * t.step;
      const __m256i offset = _mm256_set1_epi16(f.offset[c + i]);
      std::int16_t* const to = f.d(c + i);
      sums[i] = _mm256_setzero_si256();
      const SlotRun* run = t.runs;
      for (std::ptrdiff_t slot = 0; slot < t.slots; slot += 16, ++run) {
        const std::ptrdiff_t at = channel + run->base;
        __m128i pattern = _mm_loadu_si128(reinterpret_cast<const __m128i*>(run->low));
        __m128i bytes = _mm_shuffle_epi8(_mm_xor_si128(load_weights(t, at), flips), pattern);
        if (run->two) {
          const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(run->high));
          bytes = _mm_or_si128(bytes, _mm_shuffle_epi8(_mm_xor_si128(load_weights(t, at + 16), flips), high));
          pattern = _mm_and_si128(pattern, high);
        }
        const __m256i none = _mm256_cvtepi8_epi16(pattern);  // negative there
        const __m256i d =
            _mm256_andnot_si256(_mm256_srai_epi16(none, 15), _mm256_sub_epi16(_mm256_cvtepu8_epi16(bytes), offset));
        sums[i] = _mm256_add_epi32(sums[i], _mm256_madd_epi16(d, _mm256_set1_epi16(1)));
        highest = _mm256_max_epi16(highest, d);
        lowest = _mm256_min_epi16(lowest, d);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + slot), d);
      }
    }
    const __m256i halves = _mm256_hadd_epi32(_mm256_hadd_epi32(sums[0], sums[1]), _mm256_hadd_epi32(sums[2], sums[3]));
    const __m128i total = _mm_add_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
    const __m128i bias = _mm_loadu_si128(reinterpret_cast<const __m128i*>(f.bias + c));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(f.sum + c),
                     _mm_sub_epi32(bias, _mm_mullo_epi32(total, _mm_set1_epi32(t.fill))));
  }
  const __m256i wide = _mm256_or_si256(_mm256_cmpgt_epi16(highest, _mm256_set1_epi16(127)),
                                       _mm256_cmpgt_epi16(_mm256_set1_epi16(-128), lowest));
  f.bytes = _mm256_testz_si256(wide, wide) != 0;
  if (!f.bytes) find_ends(t.slots, f);
}

}  // namespace avx2

#endif

}  // namespace fast::qlc::direct
DMLREF_END
