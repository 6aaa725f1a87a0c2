// channels.hpp: what a convolution knows per output channel before it sees a pixel: scale, zero point, bias, and how
// large all sums can become.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/buffers.hpp"
#include "dmlref/fast/quantized_linear_convolution/geometry.hpp"
#include "dmlref/fast/quantized_linear_convolution/requantize/requantizer.hpp"

DMLREF_BEGIN
namespace fast::qlc {

/// What holds for every channel.
struct ChannelBounds {
  std::int32_t first_zero = 0;  ///< the first channel's, as fold_channels writes it
  bool uniform = true;          ///< … and every other channel's
  bool wide = false;            ///< sums may exceed 32 bits, or some scale is not finite
  bool bounded = false;         ///< as Requantizer's
  double largest_sum = 0;       ///< no magnitude exceeds it

  /// Whether some filter zero point, shifted, is not 0.
  bool pixel_terms() const noexcept { return !uniform || first_zero != 0; }
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

/// Writes scales (Requantizer's), zero points (minus those of the filter as signed bytes) and biases: `packed` of each
/// group, then 64; 0 for the channels that are padding.
inline ChannelBounds fold_channels(const std::byte* const* inputs, const Geometry& g, const ChannelTensors& tensors,
                                   Index packed, float* scale, std::int32_t* zero, std::int32_t* bias) noexcept {
  const std::byte* zeros = inputs[filter_zero_point_tensor];
  const double ratio = static_cast<double>(load<float>(inputs[input_scale_tensor], 0)) /
                       static_cast<double>(load<float>(inputs[output_scale_tensor], 0));
  const std::uint8_t flip = g.filter_signed ? 0x80 : 0;  // flipped, a signed byte is its value plus 128
  const std::int32_t absent = g.filter_signed ? 0 : 128;
  const std::int32_t first_zero = absent - zero_point_of(tensors.filter_zero_point, zeros, 0);
  std::uint32_t largest_scale_bits = 0;  // of the magnitude: floats order as their bits do
  std::uint32_t largest_bias = 0;
  std::int32_t lowest_zero = first_zero, highest_zero = first_zero;

  const auto fill = [&](Index first, Index last) {
    for (Index c = first; c < last; ++c) scale[c] = 0;
    for (Index c = first; c < last; ++c) zero[c] = bias[c] = 0;
  };
  for (Index group = 0; group < g.groups; ++group) {
    const Index channel = group * g.out_channels;
    each_channel<float>(tensors.filter_scale, inputs[filter_scale_tensor], channel, g.out_channels,
                        [&](Index c, float value) {
                          scale[c] = static_cast<float>(ratio * static_cast<double>(value));
                          const std::uint32_t bits = std::bit_cast<std::uint32_t>(scale[c]) & 0x7FFFFFFFu;
                          largest_scale_bits = bits > largest_scale_bits ? bits : largest_scale_bits;
                        });
    if (tensors.filter_zero_point.step == 0) {
      for (Index c = 0; c < g.out_channels; ++c) zero[c] = first_zero;
    } else {
      each_channel<std::uint8_t>(tensors.filter_zero_point, zeros, channel, g.out_channels,
                                 [&](Index c, std::uint8_t value) {
                                   zero[c] = 128 - (value ^ flip);
                                   lowest_zero = zero[c] < lowest_zero ? zero[c] : lowest_zero;
                                   highest_zero = zero[c] > highest_zero ? zero[c] : highest_zero;
                                 });
    }
    if (tensors.bias.present) {
      each_channel<std::int32_t>(tensors.bias, inputs[bias_tensor], channel, g.out_channels,
                                 [&](Index c, std::int32_t value) {
                                   bias[c] = value;
                                   const auto bits = static_cast<std::uint32_t>(value);
                                   const std::uint32_t magnitude = value < 0 ? 0u - bits : bits;
                                   largest_bias = magnitude > largest_bias ? magnitude : largest_bias;
                                 });
    } else {
      for (Index c = 0; c < g.out_channels; ++c) bias[c] = 0;
    }
    fill(g.out_channels, packed);
    scale += packed, zero += packed, bias += packed;
  }
  fill(0, 64);

  const auto reach = [](std::int32_t zero_point) {  // how far a byte may be from a zero point, both from 0
    return zero_point > 127 ? zero_point : 255 - zero_point;
  };
  const std::int32_t lowest_input = g.input_signed ? -128 : 0;
  const std::int32_t input_reach =
      reach(zero_point_of(tensors.input_zero_point, inputs[input_zero_point_tensor], 0) - lowest_input);
  const std::int32_t low_reach = reach(128 - lowest_zero), high_reach = reach(128 - highest_zero);
  const std::int32_t filter_reach = low_reach > high_reach ? low_reach : high_reach;
  const double largest_sum =
      static_cast<double>(g.depth()) * (input_reach * filter_reach) + static_cast<double>(largest_bias);
  const double largest_scale = static_cast<double>(std::bit_cast<float>(largest_scale_bits));

  ChannelBounds bounds;
  bounds.largest_sum = largest_sum;
  bounds.first_zero = first_zero;
  bounds.uniform = lowest_zero == highest_zero;
  bounds.bounded = largest_sum * largest_scale < 32000.0;
  bounds.wide = largest_sum >= 0x1p31 || largest_scale_bits >= 0x7F800000u;
  return bounds;
}

}  // namespace fast::qlc
DMLREF_END
