// constants.hpp: what depends on a tiled convolution's data but not on its pixels.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/buffers.hpp"
#include "dmlref/fast/quantized_linear_convolution/filter.hpp"
#include "dmlref/fast/quantized_linear_convolution/requantize.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/plan.hpp"

DMLREF_BEGIN
namespace fast::qlc::tiled {

/// What one execute knows: where the data is and what was computed from zero points, scales and bias.
struct Run {
  const std::uint8_t* input = nullptr;
  std::uint8_t* output = nullptr;
  const std::uint8_t* filter = nullptr;  // packed
  const float* scale = nullptr;
  const std::int32_t* channel_offset = nullptr;
  const std::int32_t* minus_filter_zero_point = nullptr;  // shifted
  const std::int64_t* wide_offset = nullptr;
  Requantizer requantizer;
  std::uint8_t input_zero_point = 0;  // the byte that padding holds, unshifted
  std::uint8_t input_flip = 0;
  std::int32_t uniform_zero_point = 0;  // minus the shifted filter zero point where all channels share it
  bool pixel_terms = false;             // some filter zero point, shifted, is not 0
  bool uniform = true;
  bool wide = false;
  bool paired = false;  // blocks of 64 pixels are staged in the order of Kernels::interleave_pairs
};

/// The filter as the tiles read it.
inline void pack(const Plan& p, const std::byte* filter, std::byte* to) noexcept {
  pack_filter(p.g, p.block.order, p.kernels, p.filter, p.elements.data(), reinterpret_cast<const std::uint8_t*>(filter),
              reinterpret_cast<std::uint8_t*>(to));
}

/// What padding would add is the same on every side: a kernel row that lies in it is left out of the sums and of the
/// offset. One offset per channel for each set of rows that remains.
inline void add_weight_sums(const Plan& p, const std::byte* packed, std::uint32_t minus_zero_point,
                            std::uint32_t* offset) noexcept {
  const Index channels = p.offset_pitch();
  for (Index r = static_cast<Index>(p.row_ranges.size()) - 1; r >= 0; --r) {  // the first one is what all start from
    const KernelRows& rows = p.row_ranges[static_cast<std::size_t>(r)];
    std::uint32_t* const to = offset + r * channels;
    if (r > 0) std::memcpy(to, offset, static_cast<std::size_t>(4 * channels));
    for (Index ky = rows.first; ky < rows.last; ++ky) {
      const std::byte* sums = packed + p.filter.sums_at() + ky * p.filter.row_sums_bytes();
      for (Index at = 0; at < p.g.groups * p.filter.channels(); ++at) {
        to[at] += minus_zero_point * load<std::uint32_t>(sums, at);
      }
    }
  }
}

/// Once per execute, before the units run.
inline void prepare(const Plan& p, const Buffers& b, Run& run) noexcept {
  std::byte* memory = b.temporary;
  if (!p.filter_owned) pack(p, b.inputs[filter_tensor], memory + p.filter_at);
  const std::byte* packed = p.filter_owned ? b.persistent : memory + p.filter_at;
  auto* scale = reinterpret_cast<float*>(memory + p.scale_at);
  auto* offset = reinterpret_cast<std::uint32_t*>(memory + p.offset_at);  // modulo 2^32
  auto* zero = reinterpret_cast<std::int32_t*>(memory + p.zero_point_at);
  auto* wide_offset = reinterpret_cast<std::int64_t*>(memory + p.wide_offset_at);

  // Activations: the kernels read unsigned or signed bytes; flipping the top bit shifts by 128.
  const std::int32_t za = zero_point_of(p.input_zero_point, b.inputs[input_zero_point_tensor], 0);
  run.input_zero_point = static_cast<std::uint8_t>(za);
  run.input_flip = p.g.input_signed == p.kernels.signed_activations ? 0 : 0x80;
  const std::int64_t za_shifted = za + (run.input_flip == 0 ? 0 : p.kernels.signed_activations ? -128 : 128);
  const std::int32_t filter_shift = p.g.filter_signed ? 0 : -128;

  Requantizer& to = run.requantizer;
  to = bind_requantizer(b, p.g, p.filter_scale, p.output_zero_point);
  to.scale = scale;
  to.packed_channels = p.filter.channels();

  const std::int64_t depth = p.g.depth();
  const double ratio = static_cast<double>(to.input_scale) / static_cast<double>(to.output_scale);
  const std::byte* zeros = b.inputs[filter_zero_point_tensor];
  const std::byte* biases = b.inputs[bias_tensor];
  const std::int32_t first_zero = -(zero_point_of(p.filter_zero_point, zeros, 0) + filter_shift);
  std::uint32_t differs = 0;
  std::uint32_t largest_scale_bits = 0;  // of the magnitude: floats order as their bits do
  std::uint32_t largest_bias = 0;
  const auto reach_of = [](std::int32_t minus_zero_point) {  // of |w' - zw'|
    return minus_zero_point > 0 ? 127 + minus_zero_point : 128 - minus_zero_point;
  };
  std::int32_t filter_reach = reach_of(first_zero);
  for (Index group = 0; group < p.g.groups; ++group) {
    const Index at = group * p.filter.channels();
    const Index channel = group * p.g.out_channels;
    for (Index c = 0; c < p.filter.channels(); ++c) {
      const bool filling = c >= p.g.out_channels;
      zero[at + c] = filling ? 0 : first_zero;
      scale[at + c] = filling ? 0 : static_cast<float>(ratio * static_cast<double>(to.filter_scale_of(channel)));
    }
    if (p.filter_zero_point.step != 0) {
      for (Index c = 0; c < p.g.out_channels; ++c) {
        zero[at + c] = -(zero_point_of(p.filter_zero_point, zeros, channel + c) + filter_shift);
        differs |= static_cast<std::uint32_t>(zero[at + c] ^ first_zero);
        const std::int32_t reach = reach_of(zero[at + c]);
        filter_reach = reach > filter_reach ? reach : filter_reach;
      }
    }
    if (p.filter_scale.step == 1) {
      const std::byte* scales = to.filter_scale + 4 * channel;
      for (Index c = 0; c < p.g.out_channels; ++c) {
        scale[at + c] = static_cast<float>(ratio * static_cast<double>(load<float>(scales, c)));
      }
    } else if (p.filter_scale.step != 0) {
      for (Index c = 0; c < p.g.out_channels; ++c) {
        scale[at + c] = static_cast<float>(ratio * static_cast<double>(to.filter_scale_of(channel + c)));
      }
    }
    for (Index c = 0; c < p.g.out_channels; ++c) {
      const std::uint32_t bits = std::bit_cast<std::uint32_t>(scale[at + c]) & 0x7FFFFFFFu;
      largest_scale_bits = bits > largest_scale_bits ? bits : largest_scale_bits;
    }
    for (Index c = 0; c < p.filter.channels(); ++c) {
      offset[at + c] = wrap(-za_shifted) * wrap(depth) * wrap(zero[at + c]);
    }
    if (p.bias.present) {
      const std::byte* bias = biases + 4 * channel * p.bias.step;
      for (Index c = 0; c < p.g.out_channels; ++c) {
        const auto value = load<std::uint32_t>(bias, c * p.bias.step);
        const std::uint32_t magnitude = value > 0x80000000u ? 0u - value : value;
        largest_bias = magnitude > largest_bias ? magnitude : largest_bias;
        offset[at + c] += value;
      }
    }
  }
  for (Index at = p.g.groups * p.filter.channels(), end = at + 64; at < end; ++at) {
    scale[at] = 0;
    offset[at] = 0;
    zero[at] = 0;
  }
  add_weight_sums(p, packed, wrap(-za_shifted), offset);
  run.uniform = differs == 0;
  run.pixel_terms = !run.uniform || first_zero != 0;
  const double largest_scale = static_cast<double>(std::bit_cast<float>(largest_scale_bits));
  const double worst_sum = static_cast<double>(depth) * 65025.0 + static_cast<double>(largest_bias);
  run.uniform_zero_point = first_zero;
  run.wide = worst_sum >= 0x1p31 || largest_scale_bits >= 0x7F800000u;
  // Closer than the bound above, as the zero points are known: most layers of any depth are within it.
  const std::int32_t lowest = p.g.input_signed ? -128 : 0;
  const std::int32_t input_reach = za - lowest > 127 ? za - lowest : 255 - (za - lowest);
  const double largest_sum =
      static_cast<double>(depth) * (input_reach * filter_reach) + static_cast<double>(largest_bias);
  to.bounded = largest_sum * largest_scale < 32000.0;
  auto* fixed_scale = reinterpret_cast<float*>(memory + p.fixed_scale_at);
  for (Index at = 0, end = p.g.groups * p.filter.channels() + 64; at < end; ++at)
    fixed_scale[at] = 65536.0f * scale[at];
  to.fixed_scale = fixed_scale;
  run.paired = p.pairs && to.bounded && !run.wide;
  if (run.wide) {
    for (Index at = 0; at < p.g.groups * p.filter.channels(); ++at) {
      const Index channel = to.channel_of(at);
      const std::int64_t bias = p.bias.present ? load<std::int32_t>(biases, channel * p.bias.step) : 0;
      wide_offset[at] = bias - za_shifted * (load<std::int32_t>(packed + p.filter.sums_at(), at) + depth * zero[at]);
      for (Index ky = 1; ky < p.g.kernel_h; ++ky) {
        const std::byte* sums = packed + p.filter.sums_at() + ky * p.filter.row_sums_bytes();
        wide_offset[at] -= za_shifted * load<std::int32_t>(sums, at);
      }
    }
  }

  run.input = reinterpret_cast<const std::uint8_t*>(b.inputs[input_tensor]);
  run.output = reinterpret_cast<std::uint8_t*>(b.output);
  run.filter = reinterpret_cast<const std::uint8_t*>(packed);
  run.scale = scale;
  run.channel_offset = reinterpret_cast<const std::int32_t*>(offset);
  run.minus_filter_zero_point = zero;
  run.wide_offset = wide_offset;
}

}  // namespace fast::qlc::tiled
DMLREF_END
