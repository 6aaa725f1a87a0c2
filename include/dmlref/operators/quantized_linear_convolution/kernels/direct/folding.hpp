// folding.hpp: what is computed for sixteen output channels at once when constants are folded: weights less their zero
// points, their sums, and numbers for rounding. With vectors of the compiler's, which every target has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "dmlref/config.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

inline constexpr std::ptrdiff_t most_slots = 260;
inline constexpr std::ptrdiff_t fold_lanes = 16;

/// Sixteen output channels' part of the constants.
struct FoldedChannels {
  float filter_scale[fold_lanes];
  double factor[fold_lanes], offset[fold_lanes];  // as Requantizer's
  double bound[fold_lanes];                       // of any sum, its offset included
  std::int32_t bias[fold_lanes], sum[fold_lanes];
  float scale[fold_lanes], shift[fold_lanes];  // as SumConstants, of integers
  std::uint32_t near_tie[fold_lanes];
  std::int16_t zero_point[fold_lanes];                   // as far as bytes are flipped
  std::int16_t highest[fold_lanes], lowest[fold_lanes];  // of a channel's weights and 0
  /// Byte weights: 0 where no weight needs a shift or a high part; else the units where one does, as LaneWeights::wide.
  std::uint32_t wide[fold_lanes];
  std::int32_t window_shift[fold_lanes];
  int replicated[fold_lanes];  // the tap of units of three that their padding lane repeats
  alignas(64) std::int16_t weights[most_slots][fold_lanes];  // less zero points, by slot
  /// The same as they are multiplied: four bytes or two words of each channel, units one after the other, then their
  /// high parts.
  alignas(64) std::uint32_t packed[most_slots / 2][fold_lanes];
};

/// Where the filter has a slot's weight: byte `byte` of 16 from `base`, counted from its output channel's first.
struct SlotSource {
  std::ptrdiff_t slot = 0, base = 0, byte = 0;
};
using SlotSources = std::vector<SlotSource>;  // by base

struct FilterBytes {
  const std::uint8_t* first = nullptr;    // of the first channel
  std::ptrdiff_t step = 0, readable = 0;  // from channel to channel, and to the filter's end
  std::ptrdiff_t count = 0;               // of channels
  std::uint8_t flip = 0;                  // of each
  std::uint8_t fill = 0;                  // what padding has, of pixels
};

/// What the scales of all channels share.
struct Scales {
  double most = 0;          // of a sum without the bias
  double input_scale = 1;   // with the sign that factors have
  bool usual = true;        // scales are: factors are their products; if not, they are given
  double output_scale = 1;  // positive
  float middle = 0;         // the zero point and one half, in units of 2^-16
};

// No vector is wider than AVX2's: compilers take others apart.
using SixteenBytes = std::uint8_t __attribute__((vector_size(16)));
using EightBytes = std::uint8_t __attribute__((vector_size(8)));
using EightWords = std::int16_t __attribute__((vector_size(16)));
using EightDwords = std::uint32_t __attribute__((vector_size(32)));

/// Byte i of sixteen rows becomes row i: four times rows i and i + 8 are interleaved.
DMLREF_ALWAYS_INLINE void transpose(SixteenBytes (&rows)[16]) noexcept {
  for (int stage = 0; stage < 4; ++stage) {
    SixteenBytes next[16];
    DMLREF_UNROLL
    for (int i = 0; i < 8; ++i) {
      const SixteenBytes a = rows[i], b = rows[i + 8];
      next[2 * i] = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      next[2 * i + 1] = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    }
    std::memcpy(rows, next, sizeof rows);
  }
}

/// Weights less their zero points, and what sums start from, modulo 2^32: the bias less `fill` times each weight. Slots
/// without a source are 0. Returns whether all fit eight bits.
DMLREF_ALWAYS_INLINE bool take_weights(const FilterBytes& filter, const SlotSources& sources,
                                       FoldedChannels& f) noexcept {
  EightWords offset[2], highest[2]{}, lowest[2]{};
  EightDwords total[2]{};
  std::memcpy(offset, f.zero_point, sizeof offset);
  SixteenBytes rows[16];
  std::ptrdiff_t base = -1;
  for (const SlotSource& source : sources) {
    if (source.base != base) {
      base = source.base;
      for (std::ptrdiff_t c = 0; c < fold_lanes; ++c) {
        const std::ptrdiff_t at = (c < filter.count ? c : filter.count - 1) * filter.step + base;
        const std::ptrdiff_t bytes = filter.readable - at < 16 ? filter.readable - at : 16;
        rows[c] = SixteenBytes{};
        if (__builtin_expect(bytes == 16, 1)) {
          std::memcpy(&rows[c], filter.first + at, 16);
        } else if (bytes > 0) {
          std::memcpy(&rows[c], filter.first + at, static_cast<std::size_t>(bytes));
        }
      }
      transpose(rows);
    }
    DMLREF_UNROLL
    for (int half = 0; half < 2; ++half) {
      EightBytes bytes;
      std::memcpy(&bytes, reinterpret_cast<const std::uint8_t*>(&rows[source.byte]) + 8 * half, sizeof bytes);
      const EightWords d = (__builtin_convertvector(bytes, EightWords) ^ filter.flip) - offset[half];
      std::memcpy(f.weights[source.slot] + 8 * half, &d, sizeof d);
      total[half] += __builtin_convertvector(d, EightDwords);
      highest[half] = d > highest[half] ? d : highest[half];
      lowest[half] = d < lowest[half] ? d : lowest[half];
    }
  }
  bool all_fit = true;
  for (int half = 0; half < 2; ++half) {
    EightDwords sum;
    std::memcpy(&sum, f.bias + 8 * half, sizeof sum);
    sum -= total[half] * filter.fill;
    std::memcpy(f.sum + 8 * half, &sum, sizeof sum);
    const EightWords wide = (highest[half] > 127) | (lowest[half] < -128);
    std::uint64_t any[2];
    std::memcpy(any, &wide, sizeof any);
    all_fit = all_fit && (any[0] | any[1]) == 0;
  }
  std::memcpy(f.highest, highest, sizeof highest);
  std::memcpy(f.lowest, lowest, sizeof lowest);
  return all_fit;
}

/// How integers are rounded (SumConstants). In units of 2^-16 a value that does not saturate, up to 2^24 of them, is
/// off by one for the scale's 24 bits, by as much again where a sum may have more than 24 bits, and by 3/4 for the
/// arithmetic. A bias with which sums would exceed 32 bits is left out of them and is part of the shift, which is off
/// by one then.
DMLREF_ALWAYS_INLINE void fold_four_numbers(const Scales& t, std::ptrdiff_t c, FoldedChannels& f) noexcept {
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
  const Words wide = __builtin_convertvector(!(bound < 0x1p31), Words);
  Floats shift = t.middle + 2.0f - __builtin_convertvector(large, Floats);
  const Words near_tie = (3 - large - large) | (hopeless & 0xFFFF);
  Doubles offset{};
  if (__builtin_expect((wide[0] | wide[1] | wide[2] | wide[3]) != 0, 0)) {
    offset = __builtin_convertvector(bias & wide, Doubles);
    const Words kept = bias & ~wide;
    std::memcpy(f.bias + c, &kept, sizeof kept);
    shift = __builtin_convertvector(__builtin_convertvector(shift, Doubles) + offset * clamped * 65536.0, Floats);
  }
  std::memcpy(f.offset + c, &offset, sizeof offset);
  std::memcpy(f.bound + c, &bound, sizeof bound);
  std::memcpy(f.scale + c, &scale, sizeof scale);
  std::memcpy(f.shift + c, &shift, sizeof shift);
  std::memcpy(f.near_tie + c, &near_tie, sizeof near_tie);
}

/// How weights are packed: bytes or words, and whether high parts of bytes follow, which are 0 where all weights fit.
struct Packing {
  std::ptrdiff_t count = 0;
  bool bytes = false, high_parts = false, all_fit = true;
};
DMLREF_ALWAYS_INLINE void pack_sixteen(const Packing& t, FoldedChannels& f) noexcept {
  const std::uint32_t bits = t.bytes ? 8 : 16, mask = t.bytes ? 0xFF : 0xFFFF;
  const std::ptrdiff_t together = t.bytes ? 4 : 2, high_at = t.count / together;  // slots of 32 bits
  for (std::ptrdiff_t first = 0; first < t.count; first += together) {
    for (std::ptrdiff_t lanes = 0; lanes < fold_lanes; lanes += 8) {
      EightDwords low{}, high{};
      for (std::ptrdiff_t i = together; i-- > 0;) {
        EightWords d;
        std::memcpy(&d, f.weights[first + i] + lanes, sizeof d);
        if (t.high_parts && !t.all_fit) {
          EightWords kept = d > 127 ? EightWords{} + 127 : d;
          kept = kept < -128 ? EightWords{} - 128 : kept;
          high = high << bits | (__builtin_convertvector(d - kept, EightDwords) & mask);
          d = kept;
        }
        low = low << bits | (__builtin_convertvector(d, EightDwords) & mask);
      }
      std::memcpy(f.packed[first / together] + lanes, &low, sizeof low);
      if (t.high_parts) std::memcpy(f.packed[high_at + first / together] + lanes, &high, sizeof high);
    }
  }
}

/// Numbers and weights; returns whether all weights fit eight bits. What those need that do not comes before packing.
DMLREF_ALWAYS_INLINE bool fold_sixteen(const Scales& scales, const FilterBytes& filter, const SlotSources& sources,
                                       FoldedChannels& f) noexcept {
  for (std::ptrdiff_t c = 0; c < fold_lanes; c += 4) fold_four_numbers(scales, c, f);
  return take_weights(filter, sources, f);
}

inline bool fold_any(const Scales& scales, const FilterBytes& filter, const SlotSources& sources,
                     FoldedChannels& f) noexcept {
  return fold_sixteen(scales, filter, sources, f);
}
inline void pack_any(const Packing& t, FoldedChannels& f) noexcept { pack_sixteen(t, f); }

#if DMLREF_HAS_AVX2
namespace avx2 {
DMLREF_TARGET_AVX2 inline bool fold(const Scales& scales, const FilterBytes& filter, const SlotSources& sources,
                                    FoldedChannels& f) noexcept {
  return fold_sixteen(scales, filter, sources, f);
}
DMLREF_TARGET_AVX2 inline void pack(const Packing& t, FoldedChannels& f) noexcept { pack_sixteen(t, f); }
}  // namespace avx2
#endif

}  // namespace fast::qlc::direct
DMLREF_END
