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
#include "dmlref/operators/quantized_linear_convolution/kernels/buffers.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/channels.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"
#include "dmlref/requantize/requantizer.hpp"
#include "dmlref/requantize/rounded_sums.hpp"

DMLREF_BEGIN
namespace fast::qlc {

/// Where it is in the persistent memory, if kept, or in the temporary one.
struct FoldedPlaces {
  bool kept_filter = false, kept_tables = false;
  Index filter = 0;
  Index bounds = 0, scale = 0, fixed_scale = 0, band = 0, factor = 0, bias_apart = 0, channel_bound = 0,
        in_registers = 0;
  Index offset = 0, zero = 0, wide_offset = 0;

  FoldedPlaces() = default;
  explicit FoldedPlaces(const Problem& problem)
      : kept_filter(problem.inputs[filter_tensor].owned), kept_tables(constants_owned(problem)) {}

  /// For so many channels, `offsets` of each. Returns the memory that the tables are in.
  ScratchLayout& place(ScratchLayout& persistent, ScratchLayout& temporary, Index filter_bytes, Index channels,
                       Index offsets) noexcept {
    filter = (kept_filter ? persistent : temporary).take(filter_bytes);
    ScratchLayout& tables = kept_tables ? persistent : temporary;
    bounds = tables.take(sizeof(ChannelBounds));
    scale = tables.take(4 * channels);
    fixed_scale = tables.take(4 * channels);
    band = tables.take(4 * channels);
    factor = tables.take(8 * channels);
    bias_apart = tables.take(8 * channels);
    channel_bound = tables.take(8 * channels);
    in_registers = tables.take(channels);
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

inline ChannelTables tables_at(const FoldedPlaces& at, std::byte* memory) noexcept {
  ChannelTables t;
  t.scale = reinterpret_cast<float*>(memory + at.scale);
  t.fixed_scale = reinterpret_cast<float*>(memory + at.fixed_scale);
  t.band = reinterpret_cast<float*>(memory + at.band);
  t.factor = reinterpret_cast<double*>(memory + at.factor);
  t.offset = reinterpret_cast<double*>(memory + at.bias_apart);
  t.bound = reinterpret_cast<double*>(memory + at.channel_bound);
  t.in_registers = reinterpret_cast<bool*>(memory + at.in_registers);
  t.zero = reinterpret_cast<std::int32_t*>(memory + at.zero);
  t.bias = reinterpret_cast<std::int32_t*>(memory + at.offset);
  return t;
}

/// All tables but the values of the offsets, the first of which hold the bias.
inline ChannelBounds fold_tables(const std::byte* const* inputs, const Geometry& g, const ChannelTensors& tensors,
                                 const FoldedPlaces& at, Index packed_channels, std::byte* memory) noexcept {
  const ChannelBounds bounds = fold_channels(inputs, g, tensors, packed_channels, tables_at(at, memory));
  std::memcpy(memory + at.bounds, &bounds, sizeof bounds);
  return bounds;
}

/// Bounds of channels by their own weights: magnitude(c) is the sum of |w| of packed channel c, whose zero point is
/// that of the tables. That takes as long as packing, so it is for constants that DML owns. The biases are those of the
/// tables, before offsets take their place.
template <class Magnitude>
void refine_bounds(const std::byte* const* inputs, const Geometry& g, const FoldedPlaces& at,
                   const ChannelBounds& bounds, Index channels, std::byte* memory, Magnitude magnitude) noexcept {
  const ChannelTables t = tables_at(at, memory);
  const auto size = [](double value) { return value < 0 ? -value : value; };
  for (Index c = 0; c < channels; ++c) {
    const double weights = magnitude(c) + size(static_cast<double>(t.zero[c])) * static_cast<double>(g.depth());
    const double bound = bounds.input_reach * weights + size(static_cast<double>(t.bias[c])) + size(t.offset[c]);
    if (bound < t.bound[c]) t.bound[c] = bound;
    choose_rounding(t, c, load<float>(inputs[output_scale_tensor], 0));
  }
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

/// Whether constants are folded once, or anew at each execute: then there is no time to look at the sums next to ties.
enum class FoldingTime { initialize, execute };

/// The tables of channels whose sums one multiply-add rounds: scales, 0 where it does not, and shifts. Of `together`
/// neighbouring packed channels of a group, 64 at most, all are rounded so or none is; and all stay in registers, or
/// none does. What sums begin with, `offsets` tables of them `pitch` apart, is moved accordingly.
inline void fold_rounded_sums(const Requantizer& to, const ChannelTables& t, Index groups, Index together, SumsBegin as,
                              FoldingTime time, float* scale, float* shift, std::uint32_t* offset, Index offsets,
                              Index pitch) noexcept {
  const double divisor = to.divisor();
  const std::int32_t zero_point = to.packed().zero_point;
  // Of a channel of which nothing comes, whatever the sum.
  const RoundedSums nothing{rounding_magic_bits, 0x1p-60f, rounding_magic + static_cast<float>(zero_point)};
  const auto rounded_of = [&](Index c) {
    if (!t.in_registers[c]) return RoundedSums{};
    if (t.scale[c] == 0) return as == SumsBegin::as_integers || t.bound[c] < 0x1p22 ? nothing : RoundedSums{};
    return time == FoldingTime::initialize ? rounded_sums(t.factor[c], divisor, zero_point, 0, t.bound[c], as)
                                           : exact_sums(t.factor[c], divisor, zero_point, 0, t.bound[c], as);
  };
  for (Index first = 0; first < groups * to.packed_channels;) {
    const Index end = (first / to.packed_channels + 1) * to.packed_channels;
    const Index last = smaller(first + together, end);
    std::int32_t begin[64];
    bool all = true;
    for (Index c = first; all && c < last; ++c) {
      const RoundedSums rounded = rounded_of(c);
      scale[c] = rounded.scale;
      shift[c] = rounded.shift;
      begin[c - first] = rounded.sum;
      all = rounded.sum != 0;
    }
    for (Index c = first; all && c < last; ++c) {
      for (Index i = 0; i < offsets; ++i) offset[i * pitch + c] += wrap(begin[c - first]);
    }
    for (Index c = first; !all && c < last; ++c) scale[c] = 0;
    first = last;
  }
}

/// Of `together` neighbouring packed channels of a group all stay in registers, or none does.
inline void agree_on_registers(const ChannelTables& t, Index groups, Index packed, Index together) noexcept {
  for (Index first = 0; first < groups * packed;) {
    const Index last = smaller(first + together, (first / packed + 1) * packed);
    bool all = true;
    for (Index c = first; c < last; ++c) all = all && t.in_registers[c];
    for (Index c = first; c < last; ++c) t.in_registers[c] = all;
    first = last;
  }
}

/// Exact scales that no multiply-add rounds may have ties everywhere: the clamped mode has none of these.
inline void release_exact_scales(const ChannelTables& t, Index channels, const float* rounded_scale) noexcept {
  for (Index c = 0; c < channels; ++c) {
    const bool rounded = rounded_scale != nullptr && rounded_scale[c] != 0;
    if (t.band[c] == exact_band && t.scale[c] != 0 && !rounded) t.in_registers[c] = false;
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
  to.requantizer.band = reinterpret_cast<const float*>(memory + at.band);
  to.requantizer.factor = reinterpret_cast<const double*>(memory + at.factor);
  to.requantizer.offset = reinterpret_cast<const double*>(memory + at.bias_apart);
  to.requantizer.in_registers = reinterpret_cast<const bool*>(memory + at.in_registers);
  to.requantizer.packed_channels = packed_channels;
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
