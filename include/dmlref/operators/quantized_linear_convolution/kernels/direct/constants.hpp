// constants.hpp: what of a direct convolution depends on constants alone: weights less their zero points in the
// kernels' order, what sums start from, how they are rounded.
//
// Where constants are bound, this is part of each execute, so it has to take a few nanoseconds for a channel. Sixteen
// output channels are folded at once; what is done for each of them is in folding.hpp.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/folding.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/plan.hpp"
#include "dmlref/requantize/channel_scales.hpp"
#include "dmlref/view/narrow.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

/// What of a weight fits eight bits.
constexpr std::int16_t low_part(std::int32_t d) noexcept {
  return dmlref::detail::narrow<std::int16_t>(d > 127 ? 127 : d < -128 ? -128 : d);
}

/// Moves high parts of channel `c`'s weights to padding lanes, as far as these go. A unit of two taps has one for each;
/// units of three share one: it takes those of the place that has most.
inline void replicate_taps(const FilterSlots& packed_taps, FoldedChannels& f, Index c) noexcept {
  const auto three = [&](Index slot) {
    return static_cast<bool>(packed_taps.real[static_cast<std::size_t>(slot + 2)]);
  };
  const auto move = [&](Index from, Index to) {
    const std::int16_t whole = f.weights[from][c];
    f.weights[from][c] = low_part(whole);
    f.weights[to][c] = dmlref::detail::narrow<std::int16_t>(whole - low_part(whole));  // weights: -255 … 255
  };
  Index counts[3]{};
  for (Index slot = 0; slot < packed_taps.count(); slot += 4) {
    for (Index tap = 0; tap < (three(slot) ? 3 : 2); ++tap) {
      const std::int16_t d = f.weights[slot + tap][c];
      if (three(slot)) counts[tap] += d != low_part(d);
      if (!three(slot)) move(slot + tap, slot + tap + 2);
    }
  }
  if (counts[0] + counts[1] + counts[2] == 0) return;
  const int most = counts[0] > counts[1] ? (counts[0] > counts[2] ? 0 : 2) : (counts[1] > counts[2] ? 1 : 2);
  for (Index slot = 0; slot < packed_taps.count(); slot += 4) {
    if (three(slot)) move(slot + most, slot + 3);
  }
  f.replicated[c] = most;
}

/// Units with a weight of channel `c` that does not fit eight bits, as LaneWeights::wide.
inline std::uint32_t wide_units(const FilterSlots& packed_taps, const FoldedChannels& f, Index c) noexcept {
  std::uint32_t wide = 0;
  for (Index slot = 0; slot < packed_taps.count(); ++slot) {
    const std::int16_t d = f.weights[slot][c];
    if (d != low_part(d)) wide |= std::uint32_t{1} << (slot / packed_taps.group % 32);
  }
  return wide;
}

/// One tensor's values for channels `first`, `first` + `step`, …; beyond `count`, the last one's.
template <class T>
void load_lanes(const ChannelTensor& tensor, const std::byte* data, Index first, Index step, Index count,
                T* to) noexcept {
  const Index by = step * tensor.step;
  if (count == fold_lanes && by == 1) {  // a copy in one piece can be read in one
    std::memcpy(to, data + first * tensor.step * static_cast<Index>(sizeof(T)), sizeof(T) * fold_lanes);
    return;
  }
  for (Index lane = 0; lane < fold_lanes; ++lane) {
    to[lane] = load<T>(data, first * tensor.step + smaller(lane, count - 1) * by);
  }
}

/// What filter scales are multiplied with.
inline double factor_scale(const FoldedHeader& h) noexcept {
  return signed_input_scale(h.input_scale, h.given_output_scale, h.to.negated);
}

/// What tensors have for channels `first`, `first` + `step`, …; beyond `count`, what the last one has. Returns whether
/// all scales are usual.
inline bool load_channels(const Layer& layer, const std::byte* const* inputs, const FoldedHeader& h, Index first,
                          Index step, Index count, FoldedChannels& f) noexcept {
  const ChannelTensors& tensors = layer.tensors;
  load_lanes(tensors.filter_scale, inputs[filter_scale_tensor], first, step, count, f.filter_scale);
  if (tensors.bias.present) {
    load_lanes(tensors.bias, inputs[bias_tensor], first, step, count, f.bias);
  } else {
    std::memset(f.bias, 0, sizeof f.bias);
  }
  // A byte xor 0x80 is its signed value plus 128; and so is an offset.
  std::uint8_t offset[fold_lanes];
  if (tensors.filter_zero_point.present) {
    load_lanes(tensors.filter_zero_point, inputs[filter_zero_point_tensor], first, step, count, offset);
  } else {
    std::memset(offset, 0, sizeof offset);
  }
  const std::uint8_t flip = layer.g.filter_signed ? 0x80 : 0;
  for (Index lane = 0; lane < fold_lanes; ++lane) {
    f.zero_point[lane] = dmlref::detail::narrow<std::int16_t>(offset[lane] ^ flip);  // a byte
  }
  const bool usual = is_usual(h.input_scale) && is_usual(h.given_output_scale);
  bool all = usual;
  for (Index lane = 0; lane < fold_lanes; ++lane) all = is_usual(f.filter_scale[lane]) && all;
  if (all) return true;
  for (Index lane = 0; lane < fold_lanes; ++lane) {
    const float scale = f.filter_scale[lane];
    const double odd = odd_factor(h.input_scale, scale, h.given_output_scale);
    f.factor[lane] = usual && is_usual(scale) ? factor_scale(h) * static_cast<double>(scale)
                     : h.to.negated           ? -odd
                                              : odd;
  }
  return false;
}

/// What a channel needs whose byte weights do not all fit.
inline void fold_wide_channel(const FilterSlots& packed_taps, FoldedChannels& f, Index c) noexcept {
  const auto each_weight = [&](const auto& change) {
    for (Index slot = 0; slot < packed_taps.count(); ++slot) {
      f.weights[slot][c] = dmlref::detail::narrow<std::int16_t>(change(f.weights[slot][c]));  // by 127 at most
    }
  };
  if (f.highest[c] > 127) {  // negated: then 128 fits, and what does not is below
    f.factor[c] = -f.factor[c];
    f.offset[c] = -f.offset[c];
    f.scale[c] = f.scale[c] == 0 ? 0 : -f.scale[c];
    f.sum[c] = static_cast<std::int32_t>(0u - static_cast<std::uint32_t>(f.sum[c]));
    f.lowest[c] = dmlref::detail::narrow<std::int16_t>(-f.highest[c]);  // a weight
    each_weight([](std::int32_t d) { return -d; });
  }
  if (f.lowest[c] >= -128) return;
  if (packed_taps.ninth_bit == NinthBit::shifted) {
    const std::int32_t shift = f.lowest[c] + 128;
    f.window_shift[c] = shift;
    f.wide[c] = 1;
    f.sum[c] = static_cast<std::int32_t>(static_cast<std::uint32_t>(f.sum[c]) +
                                         static_cast<std::uint32_t>(shift * window_middle));
    each_weight([&](std::int32_t d) { return d - shift; });
    return;
  }
  if (packed_taps.ninth_bit == NinthBit::replicated) replicate_taps(packed_taps, f, c);
  f.wide[c] = wide_units(packed_taps, f, c);
}

/// Output channels `first`, `first` + `step`, ….
inline void fold_channels(const Layer& layer, const std::byte* const* inputs, Index first, Index step, Index count,
                          FoldedHeader& h, FoldedChannels& f) noexcept {
  const FilterSlots& packed_taps = layer.packed_taps;
  const Geometry& g = layer.g;
  Scales scales;
  scales.usual = load_channels(layer, inputs, h, first, step, count, f);
  scales.input_scale = factor_scale(h);
  scales.most = static_cast<double>(g.depth()) * 65025.0;
  scales.output_scale = h.output_scale;
  scales.middle = 65536.0f * (static_cast<float>(h.to.zero_point) + 0.5f);
  FilterBytes filter;
  filter.first = reinterpret_cast<const std::uint8_t*>(inputs[filter_tensor]) + first * g.filter.n;
  filter.step = step * g.filter.n;
  filter.readable = packed_taps.filter_bytes - first * g.filter.n;
  filter.count = count;
  filter.flip = g.filter_signed ? 0x80 : 0;
  filter.fill = h.fill;
  if (static_cast<Index>(packed_taps.sources.size()) != packed_taps.count()) {
    std::memset(f.weights, 0, sizeof f.weights[0] * static_cast<std::size_t>(packed_taps.count()));
  }
  const bool all_fit = layer.kernels->fold(scales, filter, packed_taps.sources, f);
  for (Index c = 0; c < fold_lanes; ++c) {
    f.wide[c] = 0;
    f.window_shift[c] = 0;
    f.replicated[c] = 2;
    if (packed_taps.bytes() && !all_fit) fold_wide_channel(packed_taps, f, c);
  }
  if (packed_taps.group > 1)
    layer.kernels->pack({packed_taps.count(), packed_taps.bytes(), packed_taps.high_parts(), all_fit}, f);
}

/// Whether constants are folded once, or anew at each execute.
enum class Search { no, yes };

/// Channels' weights for one piece, the same for all kernels: 32 bits of each channel, or the words themselves where
/// taps do not meet.
struct Pieces {
  explicit Pieces(const FilterSlots& packed_taps, const FoldedChannels& f)
      : bytes(packed_taps.group > 1 ? 4 : 2),
        count(packed_taps.channel_bytes() / bytes),
        data(packed_taps.group > 1 ? reinterpret_cast<const std::byte*>(f.packed)
                                   : reinterpret_cast<const std::byte*>(f.weights)) {}
  /// Of `Channels` neighbouring channels.
  template <std::size_t Channels>
  void copy(Index piece, Index channel, std::byte* to) const noexcept {
    const std::byte* const from = data + (piece * fold_lanes + channel) * bytes;
    if (bytes == 4) {
      std::memcpy(to, from, 4 * Channels);
    } else {
      std::memcpy(to, from, 2 * Channels);
    }
  }
  Index bytes, count;
  const std::byte* data;
};

/// Sums of channel `c` that are floats, if there are. A search takes microseconds, so it is not for each execute.
inline RoundedSums floats_of(const FoldedHeader& h, const FoldedChannels& f, Index c, Search search) noexcept {
  const auto find = search == Search::yes ? &rounded_sums : &exact_sums;
  return find(f.factor[c], h.output_scale, h.to.zero_point, f.sum[c], f.bound[c], SumsBegin::as_floats);
}

/// Channels of kernels with pixels in lanes.
inline void fold_pixels(const Layer& layer, const PixelLanes& lanes, const std::byte* const* inputs, Index first,
                        FoldedHeader& h, Search search, std::byte* to) noexcept {
  FoldedChannels f;
  const Index count = smaller(fold_lanes, layer.g.all_out_channels() - first);
  fold_channels(layer, inputs, first, 1, count, h, f);
  const Pieces pieces(layer.packed_taps, f);
  for (Index c = 0; c < count; ++c) {
    std::byte* const at = to + lanes.at(first + c);
    RoundedSums floats;
    if (layer.kernels->rounded_sums) floats = floats_of(h, f, c, search);
    new (at) ChannelData{f.factor[c],
                         f.offset[c],
                         {f.sum[c], f.scale[c], f.shift[c], f.near_tie[c]},
                         {floats.sum, floats.scale, floats.shift, 0},
                         f.wide[c]};
    for (Index piece = 0; piece < pieces.count; ++piece) {
      pieces.copy<1>(piece, c, at + sizeof(ChannelData) + piece * pieces.bytes);
    }
  }
}

/// Makes floats of the sums of those blocks of a chunk all of whose channels have such; returns a bit for each.
inline std::uint32_t use_floats(const ChannelLanes& lanes, const Chunk& chunk, Index block, const RoundedSums* rounded,
                                std::byte* data) noexcept {
  const ChunkPlaces places(chunk.period * block);
  std::uint32_t floats = 0;
  for (Index b = 0; b < chunk.period; ++b) {
    bool all = true;
    for (Index lane = b * block; lane < (b + 1) * block; ++lane) {
      const Index c = lane % chunk.pitch;
      all = all && (c >= chunk.count || rounded[c].sum != 0);
    }
    if (!all) continue;
    floats |= std::uint32_t{1} << b;
    for (Index lane = b * block; lane < (b + 1) * block; ++lane) {
      const RoundedSums& r = rounded[lane % chunk.pitch];
      const Index at = 4 * (b * block + lanes.places[static_cast<std::size_t>(lane % block)]);
      std::memcpy(data + places.sum + at, &r.sum, 4);
      std::memcpy(data + places.scale + at, &r.scale, 4);
      std::memcpy(data + places.shift + at, &r.shift, 4);
    }
  }
  return floats;
}

/// Quads of two groups: the second one's weights take the upper half of each 32 bits, and what padding has the lower.
inline void spread_over_quads(const FilterSlots& packed_taps, FoldedChannels& f) noexcept {
  for (Index piece = 0; piece < packed_taps.channel_bytes() / 4; ++piece) {
    for (Index c = 0; c < fold_lanes; ++c) {
      if (c % 4 >= 2) f.packed[piece][c] = std::rotl(f.packed[piece][c], 16);
    }
  }
}

/// The constants of `Count` channels from `c` of `f`, the chunk's channels from `in_chunk`, to all lanes that hold
/// them. Lanes of several channels are neighbours in the order of the accumulators.
template <std::size_t Count>
void store_lanes(const Layer& layer, const ChannelLanes& lanes, const Chunk& chunk, const FoldedChannels& f, Index c,
                 Index in_chunk, std::byte* data) noexcept {
  const Index block = layer.kernels->block;
  const int block_bits = std::countr_zero(static_cast<std::size_t>(block));
  const ChunkPlaces places(chunk.period * block);
  const Pieces pieces(layer.packed_taps, f);
  std::int32_t low_half[Count];
  for (std::size_t i = 0; i < Count; ++i) low_half[i] = f.window_shift[c + static_cast<Index>(i)] & 0xFFFF;
  for (Index lane = in_chunk; lane < chunk.period * block; lane += chunk.pitch) {
    const Index first = lane >> block_bits << block_bits;  // of the block
    const Index place = lanes.places[static_cast<std::size_t>(lane - first)];
    const Index at = first + place;
    std::memcpy(data + places.sum + 4 * at, f.sum + c, 4 * Count);
    std::memcpy(data + places.scale + 4 * at, f.scale + c, 4 * Count);
    std::memcpy(data + places.shift + 4 * at, f.shift + c, 4 * Count);
    std::memcpy(data + places.factor + 8 * at, f.factor + c, 8 * Count);
    std::memcpy(data + places.offset + 8 * at, f.offset + c, 8 * Count);
    std::memcpy(data + places.window_shift + 4 * at, low_half, 4 * Count);
    std::byte* to = data + places.weights + first * layer.packed_taps.channel_bytes() + pieces.bytes * place;
    for (Index piece = 0; piece < pieces.count; ++piece, to += pieces.bytes * block) {
      pieces.copy<Count>(piece, c, to);
    }
  }
}

/// A chunk's constants for output `m` of each channel.
inline void fold_chunk(const Layer& layer, const ChannelLanes& lanes, const std::byte* const* inputs,
                       const Chunk& chunk, Index m, FoldedHeader& h, Search search, std::byte* to) noexcept {
  std::byte* const data = to + chunk.data_at + m * chunk.data_bytes;
  FoldedChunk head;
  FoldedChannels f;
  RoundedSums rounded[most_chunk_channels];
  const bool rounds = layer.kernels->rounded_sums;
  const bool fours = lanes.group_channels == 1 && chunk.pitch % 4 == 0;
  if (chunk.pitch != chunk.count) std::memset(data, 0, static_cast<std::size_t>(chunk.data_bytes));  // of padding
  for (Index first = 0; first < chunk.count; first += fold_lanes) {
    const Index count = smaller(fold_lanes, chunk.count - first);
    fold_channels(layer, inputs, (chunk.first + first) * lanes.outputs + m, lanes.outputs, count, h, f);
    if (lanes.group_channels == 2) spread_over_quads(layer.packed_taps, f);
    for (Index c = 0; c < count; ++c) {
      const Index in_chunk = first + c;
      head.wide |= f.wide[c];
      head.near_tie = f.near_tie[c] > head.near_tie ? f.near_tie[c] : head.near_tie;
      if (rounds) rounded[in_chunk] = floats_of(h, f, c, search);
      for (Index lane = in_chunk; f.replicated[c] != 2 && lane < layer.kernels->block; lane += chunk.pitch) {
        head.replicated[f.replicated[c]] |= std::uint64_t{1} << lane;
      }
      if (!fours || c / 4 * 4 + 4 > count) {
        store_lanes<1>(layer, lanes, chunk, f, c, in_chunk, data);
      } else if (c % 4 == 0) {
        store_lanes<4>(layer, lanes, chunk, f, c, in_chunk, data);
      }
    }
  }
  if (rounds) head.floats = use_floats(lanes, chunk, layer.kernels->block, rounded, data);
  std::memcpy(data, &head, sizeof head);
}

inline FoldedHeader make_header(const Layer& layer, const std::byte* const* inputs) noexcept {
  FoldedHeader h;
  const ChannelTensors& tensors = layer.tensors;
  const std::int32_t in = zero_point_of(tensors.input_zero_point, inputs[input_zero_point_tensor], 0);
  h.input_flip = layer.g.input_signed ? 0x80 : 0;
  h.fill = static_cast<std::uint8_t>(static_cast<std::uint8_t>(in) ^ h.input_flip);
  h.to = packed_output(inputs, layer.g, tensors);
  h.input_scale = load<float>(inputs[input_scale_tensor], 0);
  h.given_output_scale = load<float>(inputs[output_scale_tensor], 0);
  h.output_scale = Requantizer::divisor_of(h.given_output_scale);
  return h;
}

/// Folds the constants into lanes.folded_bytes bytes.
inline void fold(const Layer& layer, const ChannelLanes& lanes, const std::byte* const* inputs, Search search,
                 std::byte* to) noexcept {
  FoldedHeader h = make_header(layer, inputs);
  for (const Chunk& chunk : lanes.chunks) {
    for (Index m = 0; m < lanes.outputs; ++m) fold_chunk(layer, lanes, inputs, chunk, m, h, search, to);
  }
  std::memcpy(to, &h, sizeof h);
}

inline void fold(const Layer& layer, const PixelLanes& lanes, const std::byte* const* inputs, Search search,
                 std::byte* to) noexcept {
  FoldedHeader h = make_header(layer, inputs);
  for (Index c = 0; c < layer.g.all_out_channels(); c += fold_lanes) {
    fold_pixels(layer, lanes, inputs, c, h, search, to);
  }
  std::memcpy(to, &h, sizeof h);
}

}  // namespace fast::qlc::direct
DMLREF_END
