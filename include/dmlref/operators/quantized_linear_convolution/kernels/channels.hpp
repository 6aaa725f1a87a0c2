// channels.hpp: what a convolution knows per output channel before it sees a pixel: scale, zero point, bias, and how
// large all sums can become.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/buffers.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"
#include "dmlref/requantize/channel_scales.hpp"
#include "dmlref/requantize/requantizer.hpp"

DMLREF_BEGIN
namespace fast::qlc {

/// What holds for every channel.
struct ChannelBounds {
  std::int32_t first_zero = 0;   ///< the first channel's, as fold_channels writes it
  bool uniform = true;           ///< … and every other channel's
  bool wide = false;             ///< sums of products may exceed 32 bits
  std::int32_t input_reach = 0;  ///< how far an input may be from its zero point

  /// Whether some filter zero point, shifted, is not 0.
  bool pixel_terms() const noexcept { return !uniform || first_zero != 0; }
};

/// The tables of channels: `packed` of each group, then 64; 0 for the channels that are padding.
struct ChannelTables {
  float *scale = nullptr, *fixed_scale = nullptr, *band = nullptr;  // as Requantizer's
  double *factor = nullptr, *offset = nullptr;                      // the same
  double* bound = nullptr;                                          // no sum's magnitude exceeds it
  bool* in_registers = nullptr;                                     // as Requantizer's
  std::int32_t *zero = nullptr, *bias = nullptr;  // zero: minus the zero points of the filter as signed bytes
};

/// Calls store(c, value) for `count` values of one per channel, the first of them that of channel `first`.
template <class T, class Store>
void each_channel(const ChannelTensor& tensor, const std::byte* data, Index first, Index count, Store store) noexcept {
  const std::byte* from = data + first * tensor.step * static_cast<Index>(sizeof(T));
  if (tensor.step == 1) {  // a loop of its own, for vectors
    for (Index c = 0; c < count; ++c) store(c, load<T>(from, c));
  } else {
    for (Index c = 0; c < count; ++c) store(c, load<T>(from, c * tensor.step));
  }
}

/// What a channel's rounding depends on its bound for.
inline void choose_rounding(const ChannelTables& t, Index c, float output_scale) noexcept {
  const float scale = t.scale[c];
  const double size = static_cast<double>(scale < 0 ? -scale : scale);
  const bool whole = t.offset[c] == 0;
  t.in_registers[c] = whole && t.bound[c] * size < 32000.0;
  t.band[c] = whole ? clamped_band : doubles_band;
  if (whole && static_cast<double>(scale) * Requantizer::divisor_of(output_scale) == t.factor[c]) {
    t.band[c] = products_are_exact(scale, t.bound[c]) ? exact_band : clamped_band;
  }
}

/// Scales, zero points and biases, as they are.
inline ChannelBounds take_channels(const std::byte* const* inputs, const Geometry& g, const ChannelTensors& tensors,
                                   Index packed, ChannelTables t) noexcept {
  const std::byte* zeros = inputs[filter_zero_point_tensor];
  const std::uint8_t flip = g.filter_signed ? 0x80 : 0;  // flipped, a signed byte is its value plus 128
  const std::int32_t absent = g.filter_signed ? 0 : 128;
  const std::int32_t first_zero = absent - zero_point_of(tensors.filter_zero_point, zeros, 0);
  std::int32_t lowest_zero = first_zero, highest_zero = first_zero;

  const auto fill = [&](Index first, Index last) {
    for (Index c = first; c < last; ++c) t.scale[c] = 0;
    for (Index c = first; c < last; ++c) t.zero[c] = t.bias[c] = 0;
  };
  for (Index group = 0; group < g.groups; ++group) {
    const Index channel = group * g.out_channels;
    each_channel<float>(tensors.filter_scale, inputs[filter_scale_tensor], channel, g.out_channels,
                        [&](Index c, float value) { t.scale[c] = value; });
    if (tensors.filter_zero_point.step == 0) {
      for (Index c = 0; c < g.out_channels; ++c) t.zero[c] = first_zero;
    } else {
      each_channel<std::uint8_t>(tensors.filter_zero_point, zeros, channel, g.out_channels,
                                 [&](Index c, std::uint8_t value) {
                                   t.zero[c] = 128 - (value ^ flip);
                                   lowest_zero = t.zero[c] < lowest_zero ? t.zero[c] : lowest_zero;
                                   highest_zero = t.zero[c] > highest_zero ? t.zero[c] : highest_zero;
                                 });
    }
    if (tensors.bias.present) {
      each_channel<std::int32_t>(tensors.bias, inputs[bias_tensor], channel, g.out_channels,
                                 [&](Index c, std::int32_t value) { t.bias[c] = value; });
    } else {
      for (Index c = 0; c < g.out_channels; ++c) t.bias[c] = 0;
    }
    fill(g.out_channels, packed);
    t.scale += packed, t.zero += packed, t.bias += packed;
  }
  fill(0, 64);

  const auto reach = [](std::int32_t zero_point) {  // how far a byte may be from a zero point, both from 0
    return zero_point > 127 ? zero_point : 255 - zero_point;
  };
  const std::int32_t lowest_input = g.input_signed ? -128 : 0;
  const std::int32_t low_reach = reach(128 - lowest_zero), high_reach = reach(128 - highest_zero);
  const std::int32_t filter_reach = low_reach > high_reach ? low_reach : high_reach;

  ChannelBounds bounds;
  bounds.first_zero = first_zero;
  bounds.uniform = lowest_zero == highest_zero;
  bounds.input_reach =
      reach(zero_point_of(tensors.input_zero_point, inputs[input_zero_point_tensor], 0) - lowest_input);
  bounds.wide = static_cast<double>(g.depth()) * (bounds.input_reach * filter_reach) >= 0x1p31;
  return bounds;
}

/// Writes the tables.
inline ChannelBounds fold_channels(const std::byte* const* inputs, const Geometry& g, const ChannelTensors& tensors,
                                   Index packed, const ChannelTables& t) noexcept {
  const ChannelBounds bounds = take_channels(inputs, g, tensors, packed, t);
  const Index channels = g.groups * packed + 64;
  fold_scales(load<float>(inputs[input_scale_tensor], 0), load<float>(inputs[output_scale_tensor], 0),
              packed_output(inputs, g, tensors).negated, channels, t.scale, t.factor);
  const double products = static_cast<double>(g.depth()) * bounds.input_reach;
  for (Index c = 0; c < channels; ++c) {
    t.fixed_scale[c] = 65536.0f * t.scale[c];
    const double bias = static_cast<double>(t.bias[c]);
    const std::int32_t above = 128 - t.zero[c], below = 127 + t.zero[c];  // of a signed byte from the zero point
    t.bound[c] = products * (above > below ? above : below) + (bias < 0 ? -bias : bias);
    t.offset[c] = 0;
  }
  for (Index group = 0; group < g.groups; ++group) {
    for (Index c = group * packed + g.out_channels; c < (group + 1) * packed; ++c) t.bound[c] = 0;  // padding
  }
  for (Index c = 0; c < channels && !bounds.wide; ++c) {  // sums that exceed 32 bits with their bias begin without it
    if (t.bound[c] < 0x1p31) continue;
    t.offset[c] = static_cast<double>(t.bias[c]);
    t.bias[c] = 0;
  }
  for (Index c = 0; c < channels; ++c) choose_rounding(t, c, load<float>(inputs[output_scale_tensor], 0));
  return bounds;
}

}  // namespace fast::qlc
DMLREF_END
