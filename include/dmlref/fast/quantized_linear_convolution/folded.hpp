// folded.hpp: what an execute makes of its tensors before it sees a pixel.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/buffers.hpp"
#include "dmlref/fast/quantized_linear_convolution/channels.hpp"
#include "dmlref/fast/quantized_linear_convolution/geometry.hpp"
#include "dmlref/fast/quantized_linear_convolution/pieces.hpp"
#include "dmlref/fast/quantized_linear_convolution/requantize.hpp"

DMLREF_BEGIN
namespace fast::qlc {

/// Where it is in the temporary memory; the filter only if it is bound at execute.
struct FoldedPlaces {
  Index filter = 0, scale = 0, fixed_scale = 0, offset = 0, zero = 0, wide_offset = 0;

  FoldedPlaces() = default;
  /// For so many channels; `offsets` of each.
  FoldedPlaces(Pieces& memory, Index filter_bytes, Index channels, Index offsets) noexcept
      : filter(memory.take(filter_bytes)),
        scale(memory.take(4 * channels)),
        fixed_scale(memory.take(4 * channels)),
        offset(memory.take(4 * channels * offsets)),
        zero(memory.take(4 * channels)),
        wide_offset(memory.take(8 * channels)) {}
};

/// Where the data is and what was computed from zero points, scales and bias.
struct Folded {
  const std::uint8_t* input = nullptr;
  std::uint8_t* output = nullptr;
  const std::uint8_t* filter = nullptr;                   // packed
  const std::int32_t* minus_filter_zero_point = nullptr;  // of the filter as signed bytes
  const std::int64_t* wide_offset = nullptr;
  Requantizer requantizer;
  std::uint8_t input_zero_point = 0;  // the byte that padding holds, unshifted
  std::uint8_t input_flip = 0;
  std::int32_t shifted_zero_point = 0;  // of the input as the kernels read it
  std::int32_t uniform_zero_point = 0;  // minus the filter zero point where all channels share it
  bool pixel_terms = false;             // some filter zero point, shifted, is not 0
  bool uniform = true;
  bool wide = false;  // sums may exceed 32 bits
};

/// All of it but the values of the wide offsets. Kernels read unsigned or signed activations: flipping the top bit
/// shifts by 128. The offsets' first ones hold the bias.
inline void fold(const Buffers& b, const Geometry& g, const ChannelTensors& tensors, const FoldedPlaces& at,
                 const std::byte* packed_filter, Index packed_channels, bool signed_activations, Folded& to) noexcept {
  auto* scale = reinterpret_cast<float*>(b.temporary + at.scale);
  auto* fixed_scale = reinterpret_cast<float*>(b.temporary + at.fixed_scale);
  auto* bias = reinterpret_cast<std::int32_t*>(b.temporary + at.offset);
  auto* zero = reinterpret_cast<std::int32_t*>(b.temporary + at.zero);

  const std::int32_t zero_point = zero_point_of(tensors.input_zero_point, b.inputs[input_zero_point_tensor], 0);
  const std::int32_t shift = g.input_signed == signed_activations ? 0 : signed_activations ? -128 : 128;
  to.input_zero_point = static_cast<std::uint8_t>(zero_point);
  to.input_flip = shift == 0 ? 0 : 0x80;
  to.shifted_zero_point = zero_point + shift;

  to.requantizer = bind_requantizer(b, g, tensors);
  const ChannelBounds bounds = fold_channels(b, g, tensors, packed_channels, to.requantizer, scale, zero, bias);
  for (Index c = 0; c < g.groups * packed_channels + 64; ++c) fixed_scale[c] = 65536.0f * scale[c];
  to.requantizer.fixed_scale = fixed_scale;
  to.uniform_zero_point = bounds.first_zero;
  to.uniform = bounds.uniform;
  to.pixel_terms = bounds.pixel_terms();
  to.wide = bounds.wide;

  to.input = reinterpret_cast<const std::uint8_t*>(b.inputs[input_tensor]);
  to.output = reinterpret_cast<std::uint8_t*>(b.output);
  to.filter = reinterpret_cast<const std::uint8_t*>(packed_filter);
  to.minus_filter_zero_point = zero;
  to.wide_offset = reinterpret_cast<const std::int64_t*>(b.temporary + at.wide_offset);
}

}  // namespace fast::qlc
DMLREF_END
