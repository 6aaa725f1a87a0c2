// constants.hpp: the precomputed constants of a direct convolution in the lanes of its kernels: weights less their zero
// points, what sums start from, how they are rounded.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/constants.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/layout.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/weights.hpp"
#include "dmlref/view/narrow.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

/// What of a weight fits eight bits.
constexpr std::int16_t low_part(std::int32_t d) noexcept {
  return dmlref::detail::narrow<std::int16_t>(d > 127 ? 127 : d < -128 ? -128 : d);
}

/// Moves high parts of channel `c`'s weights to padding lanes, as far as these go. A K-group of two taps has one for
/// each; K-groups of three share one: it takes those of the place that has most.
inline void replicate_taps(const PackedTaps& taps, SixteenChannels& f, Index c) noexcept {
  const auto of_three = [&](Index group) { return static_cast<bool>(taps.real[static_cast<std::size_t>(group + 2)]); };
  const auto move = [&](Index from, Index to) {
    const std::int16_t whole = f.weights[from][c];
    f.weights[from][c] = low_part(whole);
    f.weights[to][c] = dmlref::detail::narrow<std::int16_t>(whole - low_part(whole));  // weights: -255 … 255
  };
  Index counts[3]{};
  for (Index group = 0; group < taps.count(); group += 4) {
    for (Index tap = 0; tap < (of_three(group) ? 3 : 2); ++tap) {
      const std::int16_t d = f.weights[group + tap][c];
      if (of_three(group)) counts[tap] += d != low_part(d);
      if (!of_three(group)) move(group + tap, group + tap + 2);
    }
  }
  if (counts[0] + counts[1] + counts[2] == 0) return;
  const int max = counts[0] > counts[1] ? (counts[0] > counts[2] ? 0 : 2) : (counts[1] > counts[2] ? 1 : 2);
  for (Index group = 0; group < taps.count(); group += 4) {
    if (of_three(group)) move(group + max, group + 3);
  }
  f.replicated[c] = max;
}

/// K-groups with a weight of channel `c` that does not fit eight bits, as LaneWeights::high_parts.
inline std::uint32_t groups_with_high_parts(const PackedTaps& taps, const SixteenChannels& f, Index c) noexcept {
  std::uint32_t groups = 0;
  for (Index tap = 0; tap < taps.count(); ++tap) {
    const std::int16_t d = f.weights[tap][c];
    if (d != low_part(d)) groups |= std::uint32_t{1} << (tap / taps.group % 32);
  }
  return groups;
}

/// What a channel needs whose byte weights do not all fit.
inline void precompute_nine_bits(const PackedTaps& taps, SixteenChannels& f, Index c) noexcept {
  const auto each_weight = [&](const auto& change) {
    for (Index tap = 0; tap < taps.count(); ++tap) {
      f.weights[tap][c] = dmlref::detail::narrow<std::int16_t>(change(f.weights[tap][c]));  // by 127 at most
    }
  };
  if (f.highest[c] > 127) {  // negated: then 128 fits, and what does not is below
    f.factor[c] = -f.factor[c];
    f.offset[c] = -f.offset[c];
    f.fixed_scale[c] = f.fixed_scale[c] == 0 ? 0 : -f.fixed_scale[c];
    f.sum[c] = static_cast<std::int32_t>(0u - static_cast<std::uint32_t>(f.sum[c]));
    f.lowest[c] = dmlref::detail::narrow<std::int16_t>(-f.highest[c]);  // a weight
    each_weight([](std::int32_t d) { return -d; });
  }
  if (f.lowest[c] >= -128) return;
  if (taps.format == WeightFormat::shifted) {
    const std::int32_t shift = f.lowest[c] + 128;
    f.window_shift[c] = shift;
    f.high_parts[c] = 1;
    f.sum[c] = static_cast<std::int32_t>(static_cast<std::uint32_t>(f.sum[c]) +
                                         static_cast<std::uint32_t>(shift * window_middle));
    each_weight([&](std::int32_t d) { return d - shift; });
    return;
  }
  if (taps.format == WeightFormat::replicated_taps) replicate_taps(taps, f, c);
  f.high_parts[c] = groups_with_high_parts(taps, f, c);
}

/// Sixteen channels at once, and how each of them is rounded.
class Precomputation {
 public:
  Precomputation(const Layer& layer, const PackedTaps& taps, const std::byte* const* inputs, PrecomputeTime time)
      : layer_(layer), taps_(taps), inputs_(inputs), time_(time), scales_(inputs, layer.g, layer.tensors) {
    const std::int32_t in = zero_point_of(layer.tensors.input_zero_point, inputs[input_zero_point_tensor], 0);
    header_.input_flip = layer.g.input_signed ? 0x80 : 0;
    header_.fill = static_cast<std::uint8_t>(static_cast<std::uint8_t>(in) ^ header_.input_flip);
    header_.to = scales_.to;
    header_.output_scale = scales_.divisor;
    header_.stores_sums = layer.g.results == Results::sums;
  }

  const ConstantsHeader& header() const noexcept { return header_; }

  /// Output channels `first`, `first` + `step`, ….
  void compute(Index first, Index step, Index count) noexcept {
    const Geometry& g = layer_.g;
    take_channels(inputs_, layer_.tensors, g.filter_signed, scales_, first, step, count, f);
    FilterBytes filter;
    filter.first = reinterpret_cast<const std::uint8_t*>(inputs_[filter_tensor]) + first * g.filter.n;
    filter.step = step * g.filter.n;
    filter.readable = taps_.filter_bytes - first * g.filter.n;
    filter.count = count;
    filter.flip = g.filter_signed ? 0x80 : 0;
    filter.fill = header_.fill;
    if (static_cast<Index>(taps_.sources.size()) != taps_.count()) {
      std::memset(f.weights, 0, sizeof f.weights[0] * static_cast<std::size_t>(taps_.count()));
    }
    const bool all_fit = layer_.kernels.precompute(scales_, filter, taps_.sources, f);
    for (Index c = 0; c < channels_at_once; ++c) {
      f.high_parts[c] = 0;
      f.window_shift[c] = 0;
      f.replicated[c] = 2;
      if (taps_.bytes() && !all_fit) precompute_nine_bits(taps_, f, c);
    }
    if (taps_.group > 1) layer_.kernels.pack({taps_.count(), taps_.bytes(), taps_.has_high_parts(), all_fit}, f);
  }

  SumConstants integers(Index c) const noexcept {
    return {f.sum[c], f.fixed_scale[c], f.fixed_shift[c], f.tie_tolerance[c]};
  }
  /// Of sums that are floats, if there are: the sum is 0 where there are none.
  SumConstants floats(Index c) const noexcept {
    if (!layer_.kernels.multiply_add_rounding || layer_.g.results == Results::sums) return {};
    const MultiplyAddRounding r = find_multiply_add_rounding(time_, f.factor[c], scales_.divisor, scales_.to.zero_point,
                                                             f.sum[c], f.bound[c], SumsBegin::as_floats);
    return {r.sum, r.scale, r.shift, 0};
  }

  /// Weights of `Channels` neighbouring channels go to `to`, and what belongs to the next K-group, or pair of words,
  /// `step` bytes further on. Of each channel that is 32 bits, or a word where a K-group has one tap.
  template <std::size_t Channels>
  void copy_weights(Index channel, std::byte* to, Index step) const noexcept {
    const bool words = taps_.group == 1;
    const Index bytes = words ? 2 : 4, count = taps_.channel_bytes() / bytes;
    const auto* from =
        words ? reinterpret_cast<const std::byte*>(f.weights) : reinterpret_cast<const std::byte*>(f.packed);
    from += channel * bytes;
    for (Index i = 0; i < count; ++i, from += channels_at_once * bytes, to += step) {
      if (words) {
        std::memcpy(to, from, 2 * Channels);
      } else {
        std::memcpy(to, from, 4 * Channels);
      }
    }
  }
  Index weight_bytes() const noexcept { return taps_.group == 1 ? 2 : 4; }

  SixteenChannels f;

 private:
  const Layer& layer_;
  const PackedTaps& taps_;
  const std::byte* const* inputs_;
  PrecomputeTime time_;
  ChannelScales scales_;
  ConstantsHeader header_;
};

/// Channels of kernels with pixels in lanes.
inline void precompute_constants(const Layer& layer, const PixelLanes& lanes, const std::byte* const* inputs,
                                 PrecomputeTime time, std::byte* to) noexcept {
  Precomputation p(layer, lanes.taps, inputs, time);
  const Index channels = layer.g.all_out_channels();
  for (Index first = 0; first < channels; first += channels_at_once) {
    const Index count = smaller(channels_at_once, channels - first);
    p.compute(first, 1, count);
    for (Index c = 0; c < count; ++c) {
      std::byte* const at = to + lanes.at(first + c);
      new (at) ChannelData{p.f.factor[c], p.f.offset[c], p.integers(c), p.floats(c), p.f.high_parts[c]};
      p.copy_weights<1>(c, at + sizeof(ChannelData), p.weight_bytes());
    }
  }
  std::memcpy(to, &p.header(), sizeof(ConstantsHeader));
}

/// The constants of a channel block for one output of each channel, as they are written.
class LanesWriter {
 public:
  LanesWriter(const Layer& layer, const ChannelLanes& lanes, const ChannelBlock& channels, std::byte* data) noexcept
      : lanes_(lanes), channels_(channels), block_(layer.kernels.block), at_(channels.period * block_), data_(data) {
    if (channels.pitch == channels.count) return;
    std::memset(data, 0, static_cast<std::size_t>(channels.data_bytes));  // of padding
  }

  /// `Count` channels from `c` of the sixteen, the block's channels from `inside`, to all lanes that hold them. Lanes
  /// of several channels are neighbours in the order of the accumulators.
  template <std::size_t Count>
  void store(const Precomputation& p, Index c, Index inside) const noexcept {
    std::int32_t low_half[Count];
    for (std::size_t i = 0; i < Count; ++i) low_half[i] = p.f.window_shift[c + static_cast<Index>(i)] & 0xFFFF;
    const int block_bits = std::countr_zero(static_cast<std::size_t>(block_));
    for (Index lane = inside; lane < channels_.period * block_; lane += channels_.pitch) {
      const Index first = lane >> block_bits << block_bits;  // of the block of lanes
      const Index place = lanes_.places[static_cast<std::size_t>(lane - first)], at = first + place;
      std::memcpy(data_ + at_.sum + 4 * at, p.f.sum + c, 4 * Count);
      std::memcpy(data_ + at_.scale + 4 * at, p.f.fixed_scale + c, 4 * Count);
      std::memcpy(data_ + at_.shift + 4 * at, p.f.fixed_shift + c, 4 * Count);
      std::memcpy(data_ + at_.factor + 8 * at, p.f.factor + c, 8 * Count);
      std::memcpy(data_ + at_.offset + 8 * at, p.f.offset + c, 8 * Count);
      std::memcpy(data_ + at_.window_shift + 4 * at, low_half, 4 * Count);
      p.copy_weights<Count>(c, data_ + at_.weights + first * lanes_.taps.channel_bytes() + p.weight_bytes() * place,
                            p.weight_bytes() * block_);
    }
  }

  /// Makes floats of the sums of those blocks of lanes all of whose channels have such; returns a bit for each.
  std::uint32_t use_floats(const SumConstants* floats) const noexcept {
    std::uint32_t used = 0;
    for (Index first = 0; first < channels_.period * block_; first += block_) {
      bool all = true;
      for (Index lane = first; lane < first + block_; ++lane) {
        const Index c = lane % channels_.pitch;
        all = all && (c >= channels_.count || floats[c].sum != 0);
      }
      if (!all) continue;
      used |= std::uint32_t{1} << first / block_;
      for (Index lane = first; lane < first + block_; ++lane) {
        const SumConstants& s = floats[lane % channels_.pitch];
        const Index at = 4 * (first + lanes_.places[static_cast<std::size_t>(lane - first)]);
        std::memcpy(data_ + at_.sum + at, &s.sum, 4);
        std::memcpy(data_ + at_.scale + at, &s.scale, 4);
        std::memcpy(data_ + at_.shift + at, &s.shift, 4);
      }
    }
    return used;
  }

 private:
  const ChannelLanes& lanes_;
  const ChannelBlock& channels_;
  Index block_;
  LaneOffsets at_;
  std::byte* data_;
};

/// K-groups of two channels: those of the second group have their weights in the upper half of each 32 bits, and
/// padding in the lower.
inline void move_to_upper_halves(const PackedTaps& taps, SixteenChannels& f) noexcept {
  for (Index i = 0; i < taps.channel_bytes() / 4; ++i) {
    for (Index c = 0; c < channels_at_once; ++c) {
      if (c % 4 >= 2) f.packed[i][c] = std::rotl(f.packed[i][c], 16);
    }
  }
}

/// A channel block's constants for output `m` of each channel.
inline void precompute_block(const Layer& layer, const ChannelLanes& lanes, const ChannelBlock& channels, Index m,
                             Precomputation& p, std::byte* to) noexcept {
  std::byte* const data = to + channels.data_at + m * channels.data_bytes;
  const LanesWriter writer(layer, lanes, channels, data);
  BlockHeader header;
  SumConstants floats[max_block_channels];
  const bool fours = lanes.group_channels == 1 && channels.pitch % 4 == 0;
  for (Index first = 0; first < channels.count; first += channels_at_once) {
    const Index count = smaller(channels_at_once, channels.count - first);
    p.compute((channels.first + first) * lanes.outputs + m, lanes.outputs, count);
    if (lanes.group_channels == 2) move_to_upper_halves(lanes.taps, p.f);
    for (Index c = 0; c < count; ++c) {
      const Index inside = first + c;
      header.high_parts |= p.f.high_parts[c];
      header.tie_tolerance = p.f.tie_tolerance[c] > header.tie_tolerance ? p.f.tie_tolerance[c] : header.tie_tolerance;
      floats[inside] = p.floats(c);
      for (Index lane = inside; p.f.replicated[c] != 2 && lane < layer.kernels.block; lane += channels.pitch) {
        header.replicated[p.f.replicated[c]] |= std::uint64_t{1} << lane;
      }
      if (!fours || c / 4 * 4 + 4 > count) {
        writer.store<1>(p, c, inside);
      } else if (c % 4 == 0) {
        writer.store<4>(p, c, inside);
      }
    }
  }
  if (layer.kernels.multiply_add_rounding) header.floats = writer.use_floats(floats);
  std::memcpy(data, &header, sizeof header);
}

/// Channels in lanes.
inline void precompute_constants(const Layer& layer, const ChannelLanes& lanes, const std::byte* const* inputs,
                                 PrecomputeTime time, std::byte* to) noexcept {
  Precomputation p(layer, lanes.taps, inputs, time);
  for (const ChannelBlock& channels : lanes.blocks) {
    for (Index m = 0; m < lanes.outputs; ++m) precompute_block(layer, lanes, channels, m, p, to);
  }
  std::memcpy(to, &p.header(), sizeof(ConstantsHeader));
}

}  // namespace fast::qlc::direct
DMLREF_END
