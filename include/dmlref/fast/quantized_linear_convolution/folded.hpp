// folded.hpp: what becomes of a convolution's constants before it sees a pixel: the packed filter, and tables per
// channel of scales, zero points and offsets.
//
// Where DML owns all the constants this is done once, at initialize, and kept in the persistent memory; else at each
// execute, in the temporary one. A filter that DML owns is packed at initialize in either case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/buffers.hpp"
#include "dmlref/fast/quantized_linear_convolution/channels.hpp"
#include "dmlref/fast/quantized_linear_convolution/geometry.hpp"
#include "dmlref/fast/quantized_linear_convolution/pieces.hpp"
#include "dmlref/fast/quantized_linear_convolution/requantize/requantizer.hpp"
#include "dmlref/fast/quantized_linear_convolution/requantize/rounded_sums.hpp"

DMLREF_BEGIN
namespace fast::qlc {

/// Where it is in the persistent memory, if kept, or in the temporary one.
struct FoldedPlaces {
  bool kept_filter = false, kept_tables = false;
  Index filter = 0;
  Index bounds = 0, scale = 0, fixed_scale = 0, offset = 0, zero = 0, wide_offset = 0;

  FoldedPlaces() = default;
  explicit FoldedPlaces(const Problem& problem)
      : kept_filter(problem.inputs[filter_tensor].owned), kept_tables(constants_owned(problem)) {}

  /// For so many channels, `offsets` of each. Returns the memory that the tables are in.
  Pieces& place(Pieces& persistent, Pieces& temporary, Index filter_bytes, Index channels, Index offsets) noexcept {
    filter = (kept_filter ? persistent : temporary).take(filter_bytes);
    Pieces& tables = kept_tables ? persistent : temporary;
    bounds = tables.take(sizeof(ChannelBounds));
    scale = tables.take(4 * channels);
    fixed_scale = tables.take(4 * channels);
    offset = tables.take(4 * channels * offsets);
    zero = tables.take(4 * channels);
    wide_offset = tables.take(8 * channels);
    return tables;
  }
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
  bool pixel_terms = false;             // some filter zero point, shifted, is not 0
  bool wide = false;                    // sums may exceed 32 bits
};

/// Kernels read unsigned or signed activations: whether the input has to be flipped (its top bits), and what becomes of
/// its zero point.
constexpr bool flips_input(const Geometry& g, bool signed_activations) noexcept {
  return g.input_signed != signed_activations;
}
inline std::int32_t shifted_zero_point(const std::byte* const* inputs, const Geometry& g, const ChannelTensors& tensors,
                                       bool signed_activations) noexcept {
  const std::int32_t shift = !flips_input(g, signed_activations) ? 0 : signed_activations ? -128 : 128;
  return zero_point_of(tensors.input_zero_point, inputs[input_zero_point_tensor], 0) + shift;
}

/// All tables but the values of the offsets, the first of which hold the bias.
inline ChannelBounds fold_tables(const std::byte* const* inputs, const Geometry& g, const ChannelTensors& tensors,
                                 const FoldedPlaces& at, Index packed_channels, std::byte* memory) noexcept {
  auto* scale = reinterpret_cast<float*>(memory + at.scale);
  auto* fixed_scale = reinterpret_cast<float*>(memory + at.fixed_scale);
  auto* bias = reinterpret_cast<std::int32_t*>(memory + at.offset);
  auto* zero = reinterpret_cast<std::int32_t*>(memory + at.zero);
  const ChannelBounds bounds = fold_channels(inputs, g, tensors, packed_channels, scale, zero, bias);
  for (Index c = 0; c < g.groups * packed_channels + 64; ++c) fixed_scale[c] = 65536.0f * scale[c];
  std::memcpy(memory + at.bounds, &bounds, sizeof bounds);
  return bounds;
}

/// The values of the offsets where K counts every tap of the filter, because padding holds the zero point; `sums`: of
/// each packed channel's weights. Offsets are modulo 2^32, or 0 where sums are wide. Kernels read activations that are
/// `shift` less than bind_tables says.
inline void fold_offsets(const std::byte* const* inputs, const Geometry& g, const ChannelTensors& tensors,
                         const FoldedPlaces& at, const ChannelBounds& bounds, const std::byte* sums, Index channels,
                         std::int32_t shift, std::byte* memory) noexcept {
  auto* offset = reinterpret_cast<std::int32_t*>(memory + at.offset);  // the bias, to begin with
  auto* wide_offset = reinterpret_cast<std::int64_t*>(memory + at.wide_offset);
  const auto* zero = reinterpret_cast<const std::int32_t*>(memory + at.zero);
  const std::int64_t zero_point = shifted_zero_point(inputs, g, tensors, false);
  for (Index c = 0; c < channels; ++c) {
    const std::int64_t weights = load<std::int32_t>(sums, c);
    wide_offset[c] = offset[c] - (zero_point - shift) * weights - zero_point * g.depth() * zero[c];
    offset[c] = bounds.wide ? 0 : static_cast<std::int32_t>(wrap(wide_offset[c]));
  }
}

/// Of a packed channel whose sums are at most `bound`.
inline RoundedSums rounded_sums_of(const Requantizer& to, Index channel, double bound, SumsBegin as) noexcept {
  const float filter_scale = to.filter_scale_of(to.channel_of(channel));
  if (!is_usual(to.input_scale) || !is_usual(filter_scale) || !is_usual(to.output_scale)) return {};
  const double factor = static_cast<double>(to.input_scale) * static_cast<double>(filter_scale);
  const auto output_scale = static_cast<double>(to.output_scale);
  return output_scale < 0 ? rounded_sums(-factor, -output_scale, to.packed_zero_point(), 0, bound, as)
                          : rounded_sums(factor, output_scale, to.packed_zero_point(), 0, bound, as);
}

/// Of a channel of which nothing comes, whatever the sum.
inline RoundedSums rounded_sums_of_nothing(const Requantizer& to) noexcept {
  return {rounding_magic_bits, 0x1p-60f, rounding_magic + static_cast<float>(to.packed_zero_point())};
}

/// The tables of channels whose sums one multiply-add rounds: scales, 0 where it does not, and shifts. Of `together`
/// neighbouring packed channels of a group, 64 at most, all are rounded so or none is. `offset`, which sums begin with,
/// is moved accordingly.
inline void fold_rounded_sums(const Requantizer& to, Index groups, Index together, double bound, SumsBegin as,
                              const float* fixed_scale, float* scale, float* shift, std::uint32_t* offset) noexcept {
  const RoundedSums nothing = rounded_sums_of_nothing(to);
  for (Index group = 0; group < groups; ++group) {
    const Index end = (group + 1) * to.packed_channels;
    for (Index first = end - to.packed_channels; first < end; first += together) {
      const Index last = smaller(first + together, end);
      std::int32_t begin[64];
      bool all = true;
      for (Index c = first; all && c < last; ++c) {
        const RoundedSums rounded = fixed_scale[c] == 0 ? nothing : rounded_sums_of(to, c, bound, as);
        scale[c] = rounded.scale;
        shift[c] = rounded.shift;
        begin[c - first] = rounded.sum;
        all = rounded.sum != 0;
      }
      for (Index c = first; all && c < last; ++c) offset[c] += wrap(begin[c - first]);
      for (Index c = first; !all && c < last; ++c) scale[c] = 0;
    }
  }
}

/// What an execute knows of tables that are folded.
inline void bind_tables(const Buffers& b, const Geometry& g, const ChannelTensors& tensors, const FoldedPlaces& at,
                        const std::byte* packed_filter, const std::byte* memory, Index packed_channels,
                        bool signed_activations, Folded& to) noexcept {
  const auto bounds = load<ChannelBounds>(memory + at.bounds, 0);
  to.input_flip = flips_input(g, signed_activations) ? 0x80 : 0;
  to.shifted_zero_point = shifted_zero_point(b.inputs, g, tensors, signed_activations);
  to.input_zero_point = static_cast<std::uint8_t>(to.shifted_zero_point ^ to.input_flip);

  to.requantizer = bind_requantizer(b.inputs, g, tensors);
  to.requantizer.scale = reinterpret_cast<const float*>(memory + at.scale);
  to.requantizer.fixed_scale = reinterpret_cast<const float*>(memory + at.fixed_scale);
  to.requantizer.packed_channels = packed_channels;
  to.requantizer.bounded = bounds.bounded;
  to.pixel_terms = bounds.pixel_terms();
  to.wide = bounds.wide;

  to.input = reinterpret_cast<const std::uint8_t*>(b.inputs[input_tensor]);
  to.output = reinterpret_cast<std::uint8_t*>(b.output);
  to.filter = reinterpret_cast<const std::uint8_t*>(packed_filter);
  to.minus_filter_zero_point = reinterpret_cast<const std::int32_t*>(memory + at.zero);
  to.wide_offset = reinterpret_cast<const std::int64_t*>(memory + at.wide_offset);
}

}  // namespace fast::qlc
DMLREF_END
