// layout.hpp: how weights and constants of a direct convolution lie: the order in which kernels multiply a filter's
// taps, and the lanes that channels take. kernels.hpp has the order of lanes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/buffers.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/kernels.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/weights.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

/// A weight's place in the filter.
struct Tap {
  Index channel, y, x;
  bool real = true;  // if not, it is a padding lane of its K-group
};

/// How weights less their zero points, which have nine bits, are multiplied.
enum class WeightFormat {
  words,            ///< of 16 bits
  high_parts,       ///< bytes, and what exceeds them as products of their own
  replicated_taps,  ///< the same, but padding lanes replicate taps for high parts as far as they go
  shifted           ///< bytes: a channel's are shifted into range, and its windows' sums added that many times
};

/// Orders taps by their places in the filter: those of 16 bytes share a base.
inline void share_bases(TapSources& sources) {
  std::sort(sources.begin(), sources.end(), [](const auto& a, const auto& b) { return a.base < b.base; });
  Index base = 0;
  for (TapSource& source : sources) {
    if (source.base >= base + 16) base = source.base;
    source.byte = source.base - base;
    source.base = base;
  }
}

/// The order of an output channel's weights: `groups` K-groups of `group` taps.
struct PackedTaps {
  Index groups = 0, group = 1;
  WeightFormat format = WeightFormat::words;
  TapSources sources;      // of the taps that are real
  std::vector<bool> real;  // of each tap: no padding lane
  Index filter_bytes = 0;

  /// tap_of(i): the weight that comes i-th.
  template <class TapOf>
  PackedTaps(const Geometry& g, Index k_groups, Index taps_of_group, WeightFormat weight_format, const TapOf& tap_of)
      : groups(k_groups),
        group(taps_of_group),
        format(weight_format),
        filter_bytes((g.all_out_channels() - 1) * g.filter.n + (g.in_channels - 1) * g.filter.c +
                     (g.kernel_h - 1) * g.filter.y + (g.kernel_w - 1) * g.filter.x + 1) {
    for (Index i = 0; i < count(); ++i) {
      const Tap at = tap_of(i);
      real.push_back(at.real);
      if (at.real) sources.push_back({i, at.channel * g.filter.c + at.y * g.filter.y + at.x * g.filter.x, 0});
    }
    share_bases(sources);
  }

  Index count() const noexcept { return groups * group; }
  bool bytes() const noexcept { return format != WeightFormat::words; }
  bool has_high_parts() const noexcept {
    return format == WeightFormat::high_parts || format == WeightFormat::replicated_taps;
  }
  /// Bytes of a channel's weights, high parts included.
  Index channel_bytes() const noexcept { return count() * (bytes() && !has_high_parts() ? 1 : 2); }
};

/// What every strategy knows.
struct Layer {
  Geometry g;
  const Kernels& kernels;
  ChannelTensors tensors;
  Tuning::Convolution::PlaneCosts plane_costs;

  Layer(const Problem& problem, const Kernels& kernels_to_use, const Tuning::Convolution& tuning)
      : g(geometry_of(problem)), kernels(kernels_to_use), tensors(problem), plane_costs(tuning.plane_costs) {}
};

/// Taps of staged kernels: `count` of them, tap_of(i) the i-th. Words of four bytes are in the order 0, 2, 1, 3: even
/// and odd bytes are multiplied apart.
template <class TapOf>
PackedTaps staged_taps(const Layer& layer, Index count, WeightFormat of_bytes, const TapOf& tap_of) {
  const Kernels& k = layer.kernels;
  const bool words = k.weight_bytes == 2;
  return {layer.g, ceil_div(count, k.group), k.group, words ? WeightFormat::words : of_bytes,
          [&](Index i) { return tap_of(words && k.group == 4 ? i / 4 * 4 + i % 2 * 2 + i / 2 % 2 : i); }};
}

/// Taps of planes in place: K-groups of a kernel row, or pairs of words in the order of the filter.
inline PackedTaps plane_taps(const Layer& layer) {
  const Geometry& g = layer.g;
  if (planes_in_words(layer.kernels.weight_bytes, g.kernel_w, g.stride_x) && layer.kernels.pairs_in_place) {
    return {g, ceil_div(g.taps(), 2), 2, WeightFormat::words, [&](Index i) {
              return Tap{0, i / g.kernel_w, i % g.kernel_w, i < g.taps()};
            }};
  }
  const Index row_groups = ceil_div(g.kernel_w, 4);
  return {g, g.kernel_h * row_groups, 4, WeightFormat::high_parts, [&](Index i) {
            const Index x = i % (4 * row_groups);
            return Tap{0, i / (4 * row_groups), x, x < g.kernel_w};
          }};
}

/// Taps of columns in place: three taps of a kernel column, then what is left of it; or pairs of words: rows 0 and 1 of
/// each column; row 2 of columns 0 and 1, of column 2.
inline PackedTaps column_taps(const Layer& layer) {
  const Geometry& g = layer.g;
  if (layer.kernels.pairs_in_place) {
    return {g, 5, 2, WeightFormat::words, [](Index i) {
              return i < 6 ? Tap{0, i % 2, i / 2} : Tap{0, 2, i < 8 ? i - 6 : 2, i != 8};
            }};
  }
  const Index column_groups = ceil_div(g.kernel_h, 3);
  return {g, g.kernel_w * column_groups, 4, WeightFormat::replicated_taps, [&](Index i) {
            const Index y = i / 4 % column_groups * 3 + i % 4;
            return Tap{0, y, i / 4 / column_groups, i % 4 < 3 && y < g.kernel_h};
          }};
}

/// A channel block's pitch at most: 192 channels, or 128 with padding up to sixteens.
inline constexpr Index max_block_channels = 192;

/// Channels in lanes: a block of them, and where its constants lie among the precomputed ones.
struct ChannelBlock {
  Index first = 0, count = 1;
  Index pitch = 1;   // lanes from pixel to pixel, padding included
  Index period = 1;  // blocks of lanes after which channels repeat
  Index data_at = 0, data_bytes = 0;
};

/// Where each of the constants of a channel block with that many lanes in a period begins.
struct LaneOffsets {
  explicit LaneOffsets(Index lanes) noexcept
      : scale(sum + 4 * lanes),
        shift(scale + 4 * lanes),
        factor(shift + 4 * lanes),
        offset(factor + 8 * lanes),
        window_shift(offset + 8 * lanes),
        weights(window_shift + 4 * lanes) {}
  Index sum = 64, scale, shift, factor, offset, window_shift, weights;
};

/// What the precomputed constants begin with.
struct ConstantsHeader {
  double output_scale = 1;  // positive
  PackedOutput to;
  std::uint8_t fill = 0, input_flip = 0;
  bool stores_sums = false;
};
inline constexpr Index constants_header_bytes = 64;
static_assert(sizeof(ConstantsHeader) <= constants_header_bytes);

/// All channels in lanes.
struct ChannelLanes {
  PackedTaps taps;
  std::vector<ChannelBlock> blocks;
  Index group_channels;       // channels of a group that lie in lanes
  Index outputs;              // how often the lanes are run, each time for other output channels
  std::vector<Index> places;  // of a block's lanes, in the order of the accumulators
  Index constants_bytes = constants_header_bytes;

  ChannelLanes(const Layer& layer, PackedTaps packed_taps, std::vector<ChannelBlock> channel_blocks,
               Index channels_of_group, Index outputs_of_channel)
      : taps(std::move(packed_taps)),
        blocks(std::move(channel_blocks)),
        group_channels(channels_of_group),
        outputs(outputs_of_channel) {
    const Index block = layer.kernels.block;
    for (ChannelBlock& channels : blocks) {
      const Index lanes = channels.period * block;
      channels.data_at = constants_bytes;
      channels.data_bytes = round_up(LaneOffsets(lanes).weights + taps.channel_bytes() * lanes, 64);
      constants_bytes += channels.data_bytes * outputs;
    }
    for (Index lane = 0; lane < block; ++lane) {
      places.push_back(group_channels > 1 ? place_of_quad_lane(lane, block) : place_of_lane(lane, block));
    }
  }
};

/// What the constants of a channel block begin with.
struct BlockHeader {
  std::uint32_t tie_tolerance = 0, high_parts = 0, floats = 0;  // as Rounding, LaneWeights
  std::uint64_t replicated[2]{};                                // as LaneWeights
};

inline requantize::ExactRounding exact_rounding(const ConstantsHeader& h) noexcept {
  return {{}, h.output_scale, h.to, h.stores_sums};
}

/// The constants of a block's lanes for output `m` of each channel.
inline void bind_lanes(const Layer& layer, const ChannelLanes& lanes, const ChannelBlock& block, Index m,
                       const std::byte* constants, LaneWeights& weights, LaneRounding& rounding) noexcept {
  const std::byte* const data = constants + block.data_at + m * block.data_bytes;
  const auto header = load<BlockHeader>(data, 0);
  const LaneOffsets at(block.period * layer.kernels.block);
  weights.data = data + at.weights;
  weights.step = lanes.taps.channel_bytes() * layer.kernels.block;
  weights.high_parts = header.high_parts;
  weights.replicated[0] = header.replicated[0];
  weights.replicated[1] = header.replicated[1];
  weights.window_shift = reinterpret_cast<const std::int32_t*>(data + at.window_shift);
  static_cast<requantize::ExactRounding&>(rounding) = exact_rounding(load<ConstantsHeader>(constants, 0));
  rounding.sum = reinterpret_cast<const std::int32_t*>(data + at.sum);
  rounding.scale = reinterpret_cast<const float*>(data + at.scale);
  rounding.shift = reinterpret_cast<const float*>(data + at.shift);
  rounding.factor = reinterpret_cast<const double*>(data + at.factor);
  rounding.offset = reinterpret_cast<const double*>(data + at.offset);
  rounding.tie_tolerance = header.tie_tolerance;
  rounding.floats = header.floats;
}

/// Pixels in lanes: where the constants of output channels lie.
struct PixelLanes {
  PackedTaps taps;
  Index channel_bytes, constants_bytes;

  PixelLanes(const Layer& layer, PackedTaps packed_taps)
      : taps(std::move(packed_taps)),
        channel_bytes(round_up(static_cast<Index>(sizeof(ChannelData)) + taps.channel_bytes(), 8)),
        // Kernels read 16 bytes at a time.
        constants_bytes(constants_header_bytes + channel_bytes * layer.g.all_out_channels() + 16) {}
  Index at(Index channel) const noexcept { return constants_header_bytes + channel * channel_bytes; }
};

}  // namespace fast::qlc::direct
DMLREF_END
