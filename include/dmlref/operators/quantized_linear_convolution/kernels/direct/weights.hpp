// weights.hpp: weights of sixteen output channels at once: less their zero points, their sums, and how they are packed.
// With vectors of the compiler's, which every target has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/constants.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

inline constexpr std::ptrdiff_t max_taps = 260;

/// The constants of sixteen output channels, weights among them.
struct SixteenChannels : ChannelConstants {
  std::int32_t sum[channels_at_once];   // what sums start from
  float fixed_shift[channels_at_once];  // as SumConstants, of integers; so is the fixed scale
  std::uint32_t tie_tolerance[channels_at_once];
  std::int16_t highest[channels_at_once], lowest[channels_at_once];  // of a channel's weights and 0
  /// Byte weights: 0 where no weight needs a shift or a high part; else the K-groups where one does, as
  /// LaneWeights::high_parts.
  std::uint32_t high_parts[channels_at_once];
  std::int32_t window_shift[channels_at_once];
  int replicated[channels_at_once];  // the tap of K-groups of three that their padding lane replicates
  alignas(64) std::int16_t weights[max_taps][channels_at_once];  // less zero points, by tap
  /// The same as they are multiplied: four bytes or two words of each channel, one after the other, then their high
  /// parts.
  alignas(64) std::uint32_t packed[max_taps / 2][channels_at_once];
};

/// Where the filter has tap `tap` of the packed ones: byte `byte` of 16 from `base`, counted from its output channel's
/// first.
struct TapSource {
  std::ptrdiff_t tap = 0, base = 0, byte = 0;
};
using TapSources = std::vector<TapSource>;  // by base

struct FilterBytes {
  const std::uint8_t* first = nullptr;    // of the first channel
  std::ptrdiff_t step = 0, readable = 0;  // from channel to channel, and to the filter's end
  std::ptrdiff_t count = 0;               // of channels
  std::uint8_t flip = 0;                  // of each
  std::uint8_t fill = 0;                  // what padding has, of pixels
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

/// Weights less their zero points, and what sums start from, modulo 2^32: the bias less `fill` times each weight. Taps
/// without a source are 0. Returns whether all fit eight bits.
DMLREF_ALWAYS_INLINE bool take_weights(const FilterBytes& filter, const TapSources& sources,
                                       SixteenChannels& f) noexcept {
  EightWords offset[2], highest[2]{}, lowest[2]{};
  EightDwords total[2]{};
  std::memcpy(offset, f.zero_point, sizeof offset);
  SixteenBytes rows[16];
  std::ptrdiff_t base = -1;
  for (const TapSource& source : sources) {
    if (source.base != base) {
      base = source.base;
      for (std::ptrdiff_t c = 0; c < channels_at_once; ++c) {
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
      std::memcpy(f.weights[source.tap] + 8 * half, &d, sizeof d);
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
    const EightWords outside = (highest[half] > 127) | (lowest[half] < -128);
    std::uint64_t any[2];
    std::memcpy(any, &outside, sizeof any);
    all_fit = all_fit && (any[0] | any[1]) == 0;
  }
  std::memcpy(f.highest, highest, sizeof highest);
  std::memcpy(f.lowest, lowest, sizeof lowest);
  return all_fit;
}

/// How weights are packed: bytes or words, and whether high parts of bytes follow, which are 0 where all weights fit.
struct Packing {
  std::ptrdiff_t count = 0;
  bool bytes = false, high_parts = false, all_fit = true;
};
DMLREF_ALWAYS_INLINE void pack_sixteen(const Packing& t, SixteenChannels& f) noexcept {
  const std::uint32_t bits = t.bytes ? 8 : 16, mask = t.bytes ? 0xFF : 0xFFFF;
  const std::ptrdiff_t together = t.bytes ? 4 : 2, high_at = t.count / together;  // in 32 bits
  for (std::ptrdiff_t first = 0; first < t.count; first += together) {
    for (std::ptrdiff_t lanes = 0; lanes < channels_at_once; lanes += 8) {
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

/// How sums of integers are rounded (SumConstants). A bias that they lack is part of the shift: then sums have 24 bits
/// and are exact as floats; instead the shift is not.
DMLREF_ALWAYS_INLINE void precompute_fixed_point(const ChannelScales& scales, std::ptrdiff_t at,
                                                 SixteenChannels& f) noexcept {
  using Doubles = double __attribute__((vector_size(32)));
  using Floats = float __attribute__((vector_size(16)));
  using Dwords = std::int32_t __attribute__((vector_size(16)));
  Floats fixed_scale;
  Doubles offset, bound;
  std::memcpy(&fixed_scale, f.fixed_scale + at, sizeof fixed_scale);
  std::memcpy(&offset, f.offset + at, sizeof offset);
  std::memcpy(&bound, f.bound + at, sizeof bound);
  const Doubles by = __builtin_convertvector(fixed_scale, Doubles), size = by < 0 ? -by : by;
  const Floats fixed_shift =
      __builtin_convertvector(static_cast<double>(fixed_shift_of(scales.to)) + offset * by, Floats);
  const Dwords too_large = __builtin_convertvector(!(bound * size < 65536 * fixed_point_limit), Dwords);  // -1 where so
  const Dwords tie_tolerance = static_cast<std::int32_t>(fixed_tie_tolerance) | (too_large & 0xFFFF);
  std::memcpy(f.fixed_shift + at, &fixed_shift, sizeof fixed_shift);
  std::memcpy(f.tie_tolerance + at, &tie_tolerance, sizeof tie_tolerance);
}

/// Whether all weights fit eight bits. What those need that do not comes before packing.
DMLREF_ALWAYS_INLINE bool precompute_all(const ChannelScales& scales, const FilterBytes& filter,
                                         const TapSources& sources, SixteenChannels& f) noexcept {
  precompute_sixteen<Vectors32>(scales, f);
  for (std::ptrdiff_t at = 0; at < channels_at_once; at += 4) precompute_fixed_point(scales, at, f);
  return take_weights(filter, sources, f);
}

/// For whatever target the unit is compiled for, and for AVX2.
inline bool precompute_any(const ChannelScales& scales, const FilterBytes& filter, const TapSources& sources,
                           SixteenChannels& f) noexcept {
  return precompute_all(scales, filter, sources, f);
}
inline void pack_any(const Packing& t, SixteenChannels& f) noexcept { pack_sixteen(t, f); }

#if DMLREF_HAS_AVX2
namespace avx2 {
DMLREF_TARGET_AVX2 inline bool precompute(const ChannelScales& scales, const FilterBytes& filter,
                                          const TapSources& sources, SixteenChannels& f) noexcept {
  return precompute_all(scales, filter, sources, f);
}
DMLREF_TARGET_AVX2 inline void pack(const Packing& t, SixteenChannels& f) noexcept { pack_sixteen(t, f); }
}  // namespace avx2
#endif

}  // namespace fast::qlc::direct
DMLREF_END
