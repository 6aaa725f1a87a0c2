// constants.hpp: what depends on a tiled convolution's data but not on its pixels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/buffers.hpp"
#include "dmlref/fast/quantized_linear_convolution/channels.hpp"
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
  auto* bias = reinterpret_cast<std::int32_t*>(memory + p.offset_at);  // which the offsets start from
  auto* zero = reinterpret_cast<std::int32_t*>(memory + p.zero_point_at);
  auto* wide_offset = reinterpret_cast<std::int64_t*>(memory + p.wide_offset_at);

  // Activations: the kernels read unsigned or signed bytes; flipping the top bit shifts by 128.
  const std::int32_t za = zero_point_of(p.tensors.input_zero_point, b.inputs[input_zero_point_tensor], 0);
  run.input_zero_point = static_cast<std::uint8_t>(za);
  run.input_flip = p.g.input_signed == p.kernels.signed_activations ? 0 : 0x80;
  const std::int64_t za_shifted = za + (run.input_flip == 0 ? 0 : p.kernels.signed_activations ? -128 : 128);

  Requantizer& to = run.requantizer;
  to = bind_requantizer(b, p.g, p.tensors);
  const ChannelBounds bounds = fold_channels(b, p.g, p.tensors, p.filter.channels(), to, scale, zero, bias);
  run.uniform_zero_point = bounds.first_zero;
  run.uniform = bounds.uniform;
  run.pixel_terms = bounds.pixel_terms();
  run.wide = bounds.wide;

  const std::int64_t depth = p.g.depth();
  const Index channels = p.g.groups * p.filter.channels();
  for (Index at = 0; run.wide && at < channels; ++at) {
    std::int64_t weights = depth * zero[at];
    for (Index ky = 0; ky < p.g.kernel_h; ++ky) {
      weights += load<std::int32_t>(packed + p.filter.sums_at() + ky * p.filter.row_sums_bytes(), at);
    }
    wide_offset[at] = bias[at] - za_shifted * weights;
  }
  auto* offset = reinterpret_cast<std::uint32_t*>(bias);  // modulo 2^32
  for (Index at = 0; at < channels; ++at) offset[at] += wrap(-za_shifted) * wrap(depth) * wrap(zero[at]);
  add_weight_sums(p, packed, wrap(-za_shifted), offset);

  auto* fixed_scale = reinterpret_cast<float*>(memory + p.fixed_scale_at);
  for (Index at = 0; at < channels + 64; ++at) fixed_scale[at] = 65536.0f * scale[at];
  to.fixed_scale = fixed_scale;
  run.paired = p.pairs && to.bounded && !run.wide;

  run.input = reinterpret_cast<const std::uint8_t*>(b.inputs[input_tensor]);
  run.output = reinterpret_cast<std::uint8_t*>(b.output);
  run.filter = reinterpret_cast<const std::uint8_t*>(packed);
  run.scale = scale;
  run.channel_offset = bias;
  run.minus_filter_zero_point = zero;
  run.wide_offset = wide_offset;
}

}  // namespace fast::qlc::tiled
DMLREF_END
