// constants.hpp: the filter as AMX's tiles read it, and what depends on a convolution's data but not on its pixels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/amx/plan.hpp"
#include "dmlref/fast/quantized_linear_convolution/buffers.hpp"
#include "dmlref/fast/quantized_linear_convolution/channels.hpp"
#include "dmlref/fast/quantized_linear_convolution/requantize.hpp"

DMLREF_BEGIN
namespace fast::qlc::amx {

/// How sums become bytes.
enum class Rounding {
  fixed_point,  // stage 1 of requantize.hpp in fixed point
  clamped,      // stage 1 with the product clamped
  wide          // 64 bits, one by one
};

/// What one execute knows: where the data is and what was computed from zero points, scales and bias.
struct Run {
  const std::uint8_t* input = nullptr;
  std::uint8_t* output = nullptr;
  const std::uint8_t* filter = nullptr;                   // packed
  const std::int32_t* start = nullptr;                    // what sums start from: 16 for each channel if planar, else 1
  const std::int32_t* minus_filter_zero_point = nullptr;  // of the filter as signed bytes
  const std::int64_t* wide_offset = nullptr;
  Requantizer requantizer;
  Rounding rounding = Rounding::fixed_point;
  std::uint8_t input_zero_point = 0;  // the byte that padding holds, unshifted
  std::uint8_t input_flip = 0;
  std::int32_t uniform_zero_point = 0;  // minus the filter zero point where all channels share it
  bool pixel_terms = false;             // some filter zero point, shifted, is not 0
  bool uniform = true;
};

/// Tile after tile, as signed bytes, each of 64 values of K of 16 channels: rows are channels where pixels are columns,
/// else groups of four values. Then the channels' sums.
inline void pack_filter(const Plan& p, const std::byte* filter, std::byte* to) noexcept {
  const auto* from = reinterpret_cast<const std::uint8_t*>(filter);
  auto* tile = reinterpret_cast<std::uint8_t*>(to);
  const std::uint8_t flip = p.g.filter_signed ? 0 : 0x80;
  const Index blocks = p.filter_blocks();
  std::byte* const all_sums = to + p.filter_sums_at();
  for (Index block = 0; block < p.g.groups * blocks; ++block) {
    const Index first = block % blocks * tile_side;
    std::int32_t sums[tile_side] = {};
    for (Index chunk = 0; chunk < p.chunks(); ++chunk, tile += tile_bytes) {
      const Index* elements = p.elements.data() + chunk * tile_depth;
      for (Index c = 0; c < tile_side; ++c) {
        const bool there = first + c < p.g.out_channels;
        const std::uint8_t* channel =
            from + (block / blocks * p.g.out_channels + (there ? first + c : 0)) * p.g.filter.n;
        std::int32_t sum = 0;
        for (Index i = 0; i < tile_depth; ++i) {
          const bool filling = !there || elements[i] < 0;
          const auto byte = static_cast<std::uint8_t>(filling ? 0 : channel[elements[i]] ^ flip);
          sum += static_cast<std::int8_t>(byte);
          tile[p.layout.planar() ? c * tile_depth + i : i / 4 * tile_depth + 4 * c + i % 4] = byte;
        }
        sums[c] += sum;
      }
    }
    std::memcpy(all_sums + 4 * block * tile_side, sums, sizeof sums);
  }
}

/// Once per execute, before the units run.
inline void prepare(const Plan& p, const Buffers& b, Run& run) noexcept {
  std::byte* memory = b.temporary;
  if (!p.filter_owned) pack_filter(p, b.inputs[filter_tensor], memory + p.filter_at);
  const std::byte* packed = p.filter_owned ? b.persistent : memory + p.filter_at;
  auto* scale = reinterpret_cast<float*>(memory + p.scale_at);
  auto* bias = reinterpret_cast<std::int32_t*>(memory + p.offset_at);  // which the offsets start from
  auto* zero = reinterpret_cast<std::int32_t*>(memory + p.zero_at);
  auto* wide_offset = reinterpret_cast<std::int64_t*>(memory + p.wide_at);

  // Tiles multiply unsigned activations by signed weights; flipping the top bit shifts by 128.
  const std::int32_t za = zero_point_of(p.tensors.input_zero_point, b.inputs[input_zero_point_tensor], 0);
  run.input_zero_point = static_cast<std::uint8_t>(za);
  run.input_flip = p.g.input_signed ? 0x80 : 0;
  const std::int64_t za_shifted = za + (p.g.input_signed ? 128 : 0);

  Requantizer& to = run.requantizer;
  to = bind_requantizer(b, p.g, p.tensors);
  const ChannelBounds bounds = fold_channels(b, p.g, p.tensors, p.packed_channels(), to, scale, zero, bias);
  run.uniform_zero_point = bounds.first_zero;
  run.uniform = bounds.uniform;
  run.pixel_terms = bounds.pixel_terms();
  run.rounding = bounds.wide ? Rounding::wide : to.bounded ? Rounding::fixed_point : Rounding::clamped;

  const std::int64_t depth = p.g.depth();
  const Index channels = p.g.groups * p.packed_channels();
  auto* offset = reinterpret_cast<std::uint32_t*>(bias);  // modulo 2^32
  for (Index c = 0; c < channels; ++c) {
    const std::int64_t weights = load<std::int32_t>(packed + p.filter_sums_at(), c) + depth * zero[c];
    wide_offset[c] = bias[c] - za_shifted * weights;
    offset[c] = bounds.wide ? 0 : wrap(wide_offset[c]);  // wide: of products alone
  }
  run.start = bias;
  if (p.layout.planar()) {
    auto* start = reinterpret_cast<std::int32_t*>(memory + p.start_at);
    run.start = start;
    for (Index c = 0; c < channels; ++c, start += tile_side) {
      for (Index i = 0; i < tile_side; i += 2) {  // pairs: without vectors half as many stores
        const std::uint64_t pair = std::uint64_t{offset[c]} << 32 | offset[c];
        std::memcpy(start + i, &pair, sizeof pair);
      }
    }
  }
  auto* fixed_scale = reinterpret_cast<float*>(memory + p.fixed_scale_at);
  for (Index c = 0; c < channels + 64; ++c) fixed_scale[c] = 65536.0f * scale[c];
  to.fixed_scale = fixed_scale;

  run.input = reinterpret_cast<const std::uint8_t*>(b.inputs[input_tensor]);
  run.output = reinterpret_cast<std::uint8_t*>(b.output);
  run.filter = reinterpret_cast<const std::uint8_t*>(packed);
  run.minus_filter_zero_point = zero;
  run.wide_offset = wide_offset;
}

}  // namespace fast::qlc::amx
DMLREF_END
