// plan.hpp: what the strategies of the direct convolution share: the layer, the order in which kernels multiply a
// filter's weights, and how channels in lanes are cut.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/buffers.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/kernels.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

template <class T>
T read(const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// A weight's place in the filter.
struct Tap {
  Index channel, y, x;
  bool real = true;  // if not, the slot is padding
};

/// What becomes of a weight less its zero point where eight bits do not hold it.
enum class NinthBit {
  fits,        ///< weights have 16 bits
  high_part,   ///< it is cut in two, the high part is a product of its own
  replicated,  ///< the same, but padding lanes take high parts as far as they go
  shifted      ///< all of a channel are shifted into range, and the window's sum is added that many times
};

/// The order of an output channel's weights: units of `group` slots.
struct FilterSlots {
  Index units = 0, group = 1;
  NinthBit ninth_bit = NinthBit::fits;
  SlotSources sources;     // of the slots that are real
  std::vector<bool> real;  // of each slot: not padding
  Index filter_bytes = 0;

  FilterSlots() = default;
  /// tap(slot): what it holds.
  template <class TapOf>
  FilterSlots(const Geometry& g, Index units_, Index group_, NinthBit ninth_bit_, const TapOf& tap)
      : units(units_),
        group(group_),
        ninth_bit(ninth_bit_),
        filter_bytes((g.all_out_channels() - 1) * g.filter.n + (g.in_channels - 1) * g.filter.c +
                     (g.kernel_h - 1) * g.filter.y + (g.kernel_w - 1) * g.filter.x + 1) {
    for (Index slot = 0; slot < count(); ++slot) {
      const Tap at = tap(slot);
      real.push_back(at.real);
      if (at.real) sources.push_back({slot, at.channel * g.filter.c + at.y * g.filter.y + at.x * g.filter.x, 0});
    }
    std::sort(sources.begin(), sources.end(), [](const auto& a, const auto& b) { return a.base < b.base; });
    Index base = 0;
    for (SlotSource& source : sources) {
      if (source.base >= base + 16) base = source.base;
      source.byte = source.base - base;
      source.base = base;
    }
  }

  Index count() const noexcept { return units * group; }
  bool bytes() const noexcept { return ninth_bit != NinthBit::fits; }
  bool high_parts() const noexcept { return ninth_bit == NinthBit::high_part || ninth_bit == NinthBit::replicated; }
  /// Bytes of a channel's weights, high parts included.
  Index channel_bytes() const noexcept { return count() * (bytes() && !high_parts() ? 1 : 2); }
};

/// What every strategy knows; immutable once made.
struct Layer {
  Geometry g;
  const Kernels* kernels = nullptr;
  ChannelTensors tensors;
  FilterSlots packed_taps;

  Layer(const Problem& problem, const Kernels& kernels_to_use)
      : g(geometry_of(problem)), kernels(&kernels_to_use), tensors(problem) {}

  NinthBit ninth_bit(NinthBit of_bytes) const noexcept {
    return kernels->weight_bytes == 1 ? of_bytes : NinthBit::fits;
  }
  /// Where staged kernels multiply slot `slot`: words of four taps are in the order 0, 2, 1, 3.
  Index staged_slot(Index slot) const noexcept {
    if (kernels->weight_bytes == 1 || kernels->group == 1) return slot;
    return slot / 4 * 4 + slot % 2 * 2 + slot / 2 % 2;
  }
};

/// Units of work are numbered by images, parts of the channels, bands of rows.
struct Work {
  Index band, part, image;
  Work(Index unit, Index bands, Index parts) noexcept
      : band(unit % bands), part(unit / bands % parts), image(unit / bands / parts) {}
};

/// A chunk's pitch at most: 192 channels, or 128 with padding up to sixteens.
inline constexpr Index most_chunk_channels = 192;

/// Channels in lanes: a chunk of them, and where its constants lie in the folded ones.
struct Chunk {
  Index first = 0, count = 1;
  Index pitch = 1;   // lanes from pixel to pixel, padding included
  Index period = 1;  // blocks of lanes after which channels repeat
  Index data_at = 0, data_bytes = 0;
};

/// Of a chunk with that many lanes in a period, where each constant's lanes begin.
struct ChunkPlaces {
  explicit ChunkPlaces(Index lanes) noexcept
      : scale(sum + 4 * lanes),
        shift(scale + 4 * lanes),
        factor(shift + 4 * lanes),
        offset(factor + 8 * lanes),
        window_shift(offset + 8 * lanes),
        weights(window_shift + 4 * lanes) {}
  Index sum = 64, scale, shift, factor, offset, window_shift, weights;
};

/// What the folded constants begin with.
struct FoldedHeader {
  double output_scale = 1;
  float input_scale = 1, given_output_scale = 1;
  PackedOutput to;
  std::uint8_t fill = 0, input_flip = 0;
};
inline constexpr Index folded_header_bytes = 64;
static_assert(sizeof(FoldedHeader) <= folded_header_bytes);

/// All channels in lanes.
struct ChannelLanes {
  std::vector<Chunk> chunks;
  Index group_channels = 1;   // channels of a group that lie in lanes
  Index outputs = 1;          // how often the lanes are run, each time for other output channels
  std::vector<Index> places;  // of a block's lanes, in the order of the accumulators
  Index folded_bytes = 0;

  /// Once chunks, outputs and the layer's slots are known.
  void place(const Layer& layer) {
    const Index block = layer.kernels->block;
    folded_bytes = folded_header_bytes;
    for (Chunk& chunk : chunks) {
      const Index lanes = chunk.period * block;
      chunk.data_at = folded_bytes;
      chunk.data_bytes = round_up(ChunkPlaces(lanes).weights + layer.packed_taps.channel_bytes() * lanes, 64);
      folded_bytes += chunk.data_bytes * outputs;
    }
    for (Index lane = 0; lane < block; ++lane) {
      places.push_back(group_channels > 1 ? lane % 4 * (block / 4) + lane / 4 : place_of_lane(lane, block));
    }
  }
};

/// What the constants of a chunk begin with.
struct FoldedChunk {
  std::uint32_t near_tie = 0, wide = 0, floats = 0;  // as Rounding, LaneWeights
  std::uint64_t replicated[2]{};                     // as LaneWeights
};

inline requantize::ExactRounding exact_rounding(const FoldedHeader& h) noexcept { return {{}, h.output_scale, h.to}; }

/// The constants of a chunk's lanes for output `m` of each channel.
inline void bind_lanes(const Layer& layer, const Chunk& chunk, Index m, const std::byte* folded, LaneWeights& weights,
                       Rounding& rounding) noexcept {
  const std::byte* const data = folded + chunk.data_at + m * chunk.data_bytes;
  const FoldedChunk head = read<FoldedChunk>(data);
  const ChunkPlaces at(chunk.period * layer.kernels->block);
  weights.data = data + at.weights;
  weights.step = layer.packed_taps.channel_bytes() * layer.kernels->block;
  weights.wide = head.wide;
  weights.replicated[0] = head.replicated[0];
  weights.replicated[1] = head.replicated[1];
  weights.window_shift = reinterpret_cast<const std::int32_t*>(data + at.window_shift);
  static_cast<requantize::ExactRounding&>(rounding) = exact_rounding(read<FoldedHeader>(folded));
  rounding.sum = reinterpret_cast<const std::int32_t*>(data + at.sum);
  rounding.scale = reinterpret_cast<const float*>(data + at.scale);
  rounding.shift = reinterpret_cast<const float*>(data + at.shift);
  rounding.factor = reinterpret_cast<const double*>(data + at.factor);
  rounding.offset = reinterpret_cast<const double*>(data + at.offset);
  rounding.near_tie = head.near_tie;
  rounding.floats = head.floats;
}

/// Pixels in lanes: where the constants of output channels lie.
struct PixelLanes {
  Index channel_bytes = 0, folded_bytes = 0;

  explicit PixelLanes(const Layer& layer)
      : channel_bytes(round_up(static_cast<Index>(sizeof(ChannelData)) + layer.packed_taps.channel_bytes(), 8)),
        // Kernels read 16 bytes at a time.
        folded_bytes(folded_header_bytes + channel_bytes * layer.g.all_out_channels() + 16) {}
  Index at(Index channel) const noexcept { return folded_header_bytes + channel * channel_bytes; }
};

}  // namespace fast::qlc::direct
DMLREF_END
