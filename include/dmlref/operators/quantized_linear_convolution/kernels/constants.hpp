// constants.hpp: the constants of a convolution, precomputed before it sees a pixel: of each output channel the scale,
// how far its sums reach, how they are rounded, the zero point and the bias; and where strategies of blocks keep them
// beside the packed filter. The layout of weights is each strategy's own.
//
// Where DML owns all the constants this is done once, at initialize, and kept in the persistent memory; else at each
// execute, in the temporary one: then it has to take a few nanoseconds for a channel, and sixteen are computed at once.
// A filter that DML owns is packed at initialize in either case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/buffers.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"
#include "dmlref/requantize/multiply_add_rounding.hpp"
#include "dmlref/requantize/requantizer.hpp"
#include "dmlref/view/narrow.hpp"

DMLREF_BEGIN
namespace fast::qlc {

/// When constants are precomputed: once, or at each execute. Then there is no time to search for what rounds the sums
/// next to ties.
enum class PrecomputeTime { initialize, execute };

/// What the constants of all channels share.
struct ChannelScales {
  float input_scale = 1, output_scale = 1;  // as given
  PackedOutput to;
  double divisor = 1;              // of factors: positive
  double factor_scale = 1;         // what filter scales are multiplied with
  bool usual = true;               // both scales are
  std::int32_t input_reach = 0;    // how far an input may be from its zero point
  double products_per_weight = 0;  // what a sum of products may reach for each unit of weights
  bool splits_bias = true;         // off a sum that would exceed 32 bits with it

  /// Of sums that are stored all scales are 1.
  ChannelScales(const std::byte* const* inputs, const Geometry& g, const ChannelTensors& tensors) noexcept
      : input_scale(g.results == Results::sums ? 1 : load<float>(inputs[input_scale_tensor], 0)),
        output_scale(g.results == Results::sums ? 1 : load<float>(inputs[output_scale_tensor], 0)),
        to(packed_output(inputs, g, tensors)),
        divisor(Requantizer::divisor_of(output_scale)),
        factor_scale(signed_input_scale(input_scale, output_scale, to.negated)),
        usual(is_usual(input_scale) && is_usual(output_scale)),
        input_reach(reach_of_byte(zero_point_of(tensors.input_zero_point, inputs[input_zero_point_tensor], 0) +
                                  (g.input_signed ? 128 : 0))),
        products_per_weight(static_cast<double>(g.depth()) * input_reach) {}

  /// How far a byte may be from a zero point, both from 0.
  static constexpr std::int32_t reach_of_byte(std::int32_t zero_point) noexcept {
    return zero_point > 127 ? zero_point : 255 - zero_point;
  }
};

inline constexpr Index channels_at_once = 16;

/// The constants of sixteen output channels that do not depend on their weights. Beyond the last one they are its own.
struct ChannelConstants {
  float filter_scale[channels_at_once];
  std::int16_t zero_point[channels_at_once];                  // of the filter as bytes from 0 to 255
  std::int32_t reach[channels_at_once];                       // how far a weight may be from it
  std::int32_t bias[channels_at_once];                        // less what the offset has
  double factor[channels_at_once], offset[channels_at_once];  // as Requantizer's
  double bound[channels_at_once];                             // no sum's magnitude exceeds it, the offset included
  float scale[channels_at_once];                              // the factor divided by the output scale
  float fixed_scale[channels_at_once];                        // times 2^16
  bool usual;                                                 // filter scales are; if not, the factors are given
};

/// One tensor's values for channels `first`, `first` + `step`, …; beyond `count`, the last one's.
template <class T>
void load_channels(const ChannelTensor& tensor, const std::byte* data, Index first, Index step, Index count,
                   T* to) noexcept {
  const Index by = step * tensor.step;
  if (count == channels_at_once && by == 1) {  // what is copied at once can be read at once
    std::memcpy(to, data + first * tensor.step * static_cast<Index>(sizeof(T)), sizeof(T) * channels_at_once);
    return;
  }
  for (Index c = 0; c < channels_at_once; ++c) to[c] = load<T>(data, first * tensor.step + smaller(c, count - 1) * by);
}

/// Scales, zero points and biases of channels `first`, `first` + `step`, …, `count` of them, as they are given.
inline void take_channels(const std::byte* const* inputs, const ChannelTensors& tensors, bool filter_signed,
                          const ChannelScales& scales, Index first, Index step, Index count,
                          ChannelConstants& c) noexcept {
  if (tensors.filter_scale.present) {
    load_channels(tensors.filter_scale, inputs[filter_scale_tensor], first, step, count, c.filter_scale);
  } else {
    for (float& scale : c.filter_scale) scale = 1;
  }
  if (tensors.bias.present) {
    load_channels(tensors.bias, inputs[bias_tensor], first, step, count, c.bias);
  } else {
    std::memset(c.bias, 0, sizeof c.bias);
  }
  std::uint8_t zero_point[channels_at_once] = {};
  if (tensors.filter_zero_point.present) {
    load_channels(tensors.filter_zero_point, inputs[filter_zero_point_tensor], first, step, count, zero_point);
  }
  const std::uint8_t flip = filter_signed ? 0x80 : 0;  // flipped, a signed byte is its value plus 128
  for (Index i = 0; i < channels_at_once; ++i) {
    c.zero_point[i] = dmlref::detail::narrow<std::int16_t>(zero_point[i] ^ flip);  // a byte
    c.reach[i] = ChannelScales::reach_of_byte(c.zero_point[i]);
  }
  bool usual = scales.usual;
  for (Index i = 0; i < channels_at_once; ++i) usual = is_usual(c.filter_scale[i]) && usual;
  c.usual = usual;
  for (Index i = 0; i < channels_at_once && !usual; ++i) {
    const float scale = c.filter_scale[i];
    c.factor[i] = scales.factor_scale * static_cast<double>(scale);
    if (scales.usual && is_usual(scale)) continue;
    const double odd = odd_factor(scales.input_scale, scale, scales.output_scale);
    c.factor[i] = scales.to.negated ? -odd : odd;
  }
}

/// What follows from what was taken, for a vector of channels.
template <class V>
DMLREF_ALWAYS_INLINE void precompute_vector(const ChannelScales& scales, Index at, ChannelConstants& c) noexcept {
  using Doubles = typename V::Doubles;
  using Floats = typename V::Floats;
  using Dwords = typename V::Dwords;
  Doubles factor;
  if (c.usual) {
    Floats filter_scale;
    std::memcpy(&filter_scale, c.filter_scale + at, sizeof filter_scale);
    factor = scales.factor_scale * __builtin_convertvector(filter_scale, Doubles);
    std::memcpy(c.factor + at, &factor, sizeof factor);
  } else {
    std::memcpy(&factor, c.factor + at, sizeof factor);
  }
  Dwords bias, reach;
  std::memcpy(&bias, c.bias + at, sizeof bias);
  std::memcpy(&reach, c.reach + at, sizeof reach);
  const Floats scale = float_scales<V>(factor / scales.divisor), fixed_scale = scale * 65536.0f;
  const Doubles given = __builtin_convertvector(bias, Doubles);
  const Doubles bound =
      scales.products_per_weight * __builtin_convertvector(reach, Doubles) + (given < 0 ? -given : given);
  const Doubles offset{};
  std::memcpy(c.offset + at, &offset, sizeof offset);
  std::memcpy(c.bound + at, &bound, sizeof bound);
  std::memcpy(c.scale + at, &scale, sizeof scale);
  std::memcpy(c.fixed_scale + at, &fixed_scale, sizeof fixed_scale);
}

/// Leaves out biases with which sums would exceed 32 bits.
inline void split_biases(ChannelConstants& c) noexcept {
  for (Index i = 0; i < channels_at_once; ++i) {
    if (c.bound[i] < 0x1p31) continue;
    c.offset[i] = static_cast<double>(c.bias[i]);
    c.bias[i] = 0;
  }
}

template <class V>
DMLREF_ALWAYS_INLINE void precompute_sixteen(const ChannelScales& scales, ChannelConstants& c) noexcept {
  for (Index at = 0; at < channels_at_once; at += V::count) precompute_vector<V>(scales, at, c);
  bool large = false;
  for (Index i = 0; i < channels_at_once; ++i) large = c.bound[i] >= 0x1p31 || large;
  if (__builtin_expect(large && scales.splits_bias, 0)) split_biases(c);
}

/// How one multiply-add rounds the sums of a channel, if it may.
inline MultiplyAddRounding find_multiply_add_rounding(PrecomputeTime time, double factor, double divisor,
                                                      std::int32_t zero_point, std::int32_t sum, double bound,
                                                      SumsBegin as) noexcept {
  return time == PrecomputeTime::initialize ? multiply_add_rounding(factor, divisor, zero_point, sum, bound, as)
                                            : exact_sums(factor, divisor, zero_point, sum, bound, as);
}

/// What holds for every channel.
struct ChannelBounds {
  bool pixel_terms = false;      ///< some filter zero point, of signed bytes, is not 0
  bool needs_int64 = false;      ///< sums of products may exceed 32 bits
  std::int32_t input_reach = 0;  ///< as ChannelScales'
};

/// The tables of channels: `packed` of each group, then 64; 0 for the channels that are padding.
struct ChannelTables {
  float *scale = nullptr, *fixed_scale = nullptr, *tie_tolerance = nullptr;  // as Requantizer's
  double *factor = nullptr, *offset = nullptr;                               // the same
  double* bound = nullptr;                                                   // no sum's magnitude exceeds it
  bool* in_registers = nullptr;                                              // as Requantizer's
  std::int32_t *zero = nullptr, *bias = nullptr;  // zero: minus the zero points of the filter as signed bytes

  /// `count` channels from number `from` of the sixteen.
  template <class Count>
  DMLREF_ALWAYS_INLINE void store(const ChannelConstants& c, Index from, Index to, Count count) const noexcept {
    const auto copy = [&](auto* table, const auto* values) __attribute__((always_inline)) {
      std::memcpy(table + to, values + from, sizeof(*table) * static_cast<std::size_t>(count));
    };
    copy(scale, c.scale);
    copy(fixed_scale, c.fixed_scale);
    copy(factor, c.factor);
    copy(offset, c.offset);
    copy(bound, c.bound);
    copy(bias, c.bias);
    for (Index i = 0; i < count; ++i) zero[to + i] = 128 - c.zero_point[from + i];
  }
  void clear(Index first, Index count) const noexcept {
    if (count == 0) return;
    ChannelConstants none;
    std::memset(&none, 0, sizeof none);
    for (std::int16_t& zero_point : none.zero_point) zero_point = 128;
    for (; count > 0; first += channels_at_once, count -= channels_at_once) {
      store(none, 0, first, smaller(count, channels_at_once));
    }
  }
};

/// What a channel's rounding depends on its bound for.
inline void choose_rounding(const ChannelTables& t, Index c, double divisor) noexcept {
  const float scale = t.scale[c];
  const double size = static_cast<double>(scale < 0 ? -scale : scale);
  const bool whole = t.offset[c] == 0;
  t.in_registers[c] = whole && t.bound[c] * size < fixed_point_limit;
  t.tie_tolerance[c] = whole ? clamped_tie_tolerance : doubles_tie_tolerance;
  if (whole && static_cast<double>(scale) * divisor == t.factor[c]) {
    t.tie_tolerance[c] = products_are_exact(scale, t.bound[c]) ? exact_tie_tolerance : clamped_tie_tolerance;
  }
}

/// The bounds of all channels by their zero points.
inline ChannelBounds bounds_of(const std::byte* const* inputs, const Geometry& g, const ChannelTensors& tensors,
                               const ChannelScales& scales) noexcept {
  const ChannelTensor& tensor = tensors.filter_zero_point;
  const std::uint8_t flip = g.filter_signed ? 0x80 : 0;
  const Index count = tensor.present && tensor.step != 0 ? g.all_out_channels() : 1;
  std::uint8_t lowest = 255, highest = 0;
  for (Index c = 0; c < count; ++c) {
    const std::uint8_t given =
        tensor.present ? load<std::uint8_t>(inputs[filter_zero_point_tensor], c * tensor.step) : std::uint8_t{0};
    const auto zero_point = static_cast<std::uint8_t>(given ^ flip);
    lowest = zero_point < lowest ? zero_point : lowest;
    highest = zero_point > highest ? zero_point : highest;
  }
  const std::int32_t low = ChannelScales::reach_of_byte(lowest), high = ChannelScales::reach_of_byte(highest);
  ChannelBounds bounds;
  bounds.pixel_terms = lowest != 128 || highest != 128;
  bounds.input_reach = scales.input_reach;
  bounds.needs_int64 = scales.products_per_weight * (low > high ? low : high) >= 0x1p31;
  return bounds;
}

/// Writes the tables of `packed` channels per group.
inline ChannelBounds precompute_channels(const std::byte* const* inputs, const Geometry& g,
                                         const ChannelTensors& tensors, Index packed, const ChannelTables& t) noexcept {
  ChannelScales scales(inputs, g, tensors);
  const ChannelBounds bounds = bounds_of(inputs, g, tensors, scales);
  scales.splits_bias = !bounds.needs_int64;
  Index to = 0, inside = 0;  // where the next channel's are, and its number in its group
  for (Index first = 0; first < g.all_out_channels(); first += channels_at_once) {
    const Index count = smaller(channels_at_once, g.all_out_channels() - first);
    ChannelConstants c;
    take_channels(inputs, tensors, g.filter_signed, scales, first, 1, count, c);
    precompute_sixteen<Vectors16>(scales, c);
    for (Index i = 0; i < count;) {
      const Index run = smaller(count - i, g.out_channels - inside);
      run == channels_at_once ? t.store(c, 0, to, std::integral_constant<Index, channels_at_once>())
                              : t.store(c, i, to, run);
      i += run;
      inside += run;
      to += run;
      if (inside < g.out_channels) continue;
      t.clear(to, packed - g.out_channels);
      to += packed - g.out_channels;
      inside = 0;
    }
  }
  t.clear(to, 64);
  for (Index c = 0; c < g.groups * packed + 64; ++c) choose_rounding(t, c, scales.divisor);
  return bounds;
}

/// Where the packed filter and the tables are in the persistent memory, if kept, or in the temporary one.
struct ConstantOffsets {
  Results results = Results::bytes;
  bool kept_filter = false, kept_tables = false;
  Index filter = 0;
  Index bounds = 0;
  Index scale = 0, fixed_scale = 0, factor = 0, bias_apart = 0, channel_bound = 0, zero = 0, offset = 0;
  Index tie_tolerance = 0, in_registers = 0, int64_offset = 0;

  ConstantOffsets() = default;
  explicit ConstantOffsets(const Problem& problem)
      : results(problem.results),
        kept_filter(problem.inputs[filter_tensor].owned),
        kept_tables(constants_owned(problem)) {}

  /// For so many channels, `offsets` of each. Returns the memory that the tables are in.
  ScratchLayout& place(ScratchLayout& persistent, ScratchLayout& temporary, Index filter_bytes, Index channels,
                       Index offsets) noexcept {
    filter = (kept_filter ? persistent : temporary).take(filter_bytes);
    ScratchLayout& tables = kept_tables ? persistent : temporary;
    bounds = tables.take(sizeof(ChannelBounds));
    if (results == Results::sums) {
      zero = tables.take(4 * channels);
      offset = tables.take(4 * channels * offsets);
      return tables;
    }
    scale = tables.take(4 * channels);
    fixed_scale = tables.take(4 * channels);
    factor = tables.take(8 * channels);
    bias_apart = tables.take(8 * channels);
    channel_bound = tables.take(8 * channels);
    zero = tables.take(4 * channels);
    offset = tables.take(4 * channels * offsets);
    tie_tolerance = tables.take(4 * channels);
    in_registers = tables.take(channels);
    int64_offset = tables.take(8 * channels);
    return tables;
  }
};

/// Where the data is and what was computed from zero points, scales and bias.
struct Constants {
  const std::uint8_t* input = nullptr;
  std::uint8_t* output = nullptr;
  const std::uint8_t* filter = nullptr;                   // packed
  const std::int32_t* minus_filter_zero_point = nullptr;  // of the filter as signed bytes
  const std::int64_t* int64_offset = nullptr;
  Requantizer requantizer;
  std::uint8_t input_zero_point = 0;  // the byte that padding holds, unshifted
  std::uint8_t input_flip = 0;
  std::int32_t shifted_zero_point = 0;            // of the input as the kernels read it
  bool pixel_terms = false, needs_int64 = false;  // as ChannelBounds
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

inline ChannelTables tables_at(const ConstantOffsets& at, std::byte* memory) noexcept {
  ChannelTables t;
  t.scale = reinterpret_cast<float*>(memory + at.scale);
  t.fixed_scale = reinterpret_cast<float*>(memory + at.fixed_scale);
  t.tie_tolerance = reinterpret_cast<float*>(memory + at.tie_tolerance);
  t.factor = reinterpret_cast<double*>(memory + at.factor);
  t.offset = reinterpret_cast<double*>(memory + at.bias_apart);
  t.bound = reinterpret_cast<double*>(memory + at.channel_bound);
  t.in_registers = reinterpret_cast<bool*>(memory + at.in_registers);
  t.zero = reinterpret_cast<std::int32_t*>(memory + at.zero);
  t.bias = reinterpret_cast<std::int32_t*>(memory + at.offset);
  return t;
}

/// The tables of sums that are stored, `packed` channels per group: minus the filter's zero points, and offsets that
/// begin with 0. No sum needs more than 32 bits.
inline ChannelBounds precompute_zero_points(const std::byte* const* inputs, const Geometry& g,
                                            const ChannelTensors& tensors, const ConstantOffsets& at, Index packed,
                                            std::byte* memory) noexcept {
  ChannelBounds bounds;
  const Index channels = g.groups * packed + 64;
  std::memset(memory + at.offset, 0, static_cast<std::size_t>(4 * channels));
  auto* zero = reinterpret_cast<std::int32_t*>(memory + at.zero);
  std::memset(zero, 0, static_cast<std::size_t>(4 * channels));
  const std::int32_t shift = g.filter_signed ? 0 : 128;  // of unsigned weights, which become signed
  for (Index group = 0; group < g.groups; ++group) {
    for (Index c = 0; c < g.out_channels; ++c) {
      const std::int32_t minus = shift - zero_point_of(tensors.filter_zero_point, inputs[filter_zero_point_tensor],
                                                       group * g.out_channels + c);
      zero[group * packed + c] = minus;
      bounds.pixel_terms = bounds.pixel_terms || minus != 0;
    }
  }
  return bounds;
}

/// All tables but the values of the offsets, the first of which hold the bias.
inline ChannelBounds precompute_tables(const std::byte* const* inputs, const Geometry& g, const ChannelTensors& tensors,
                                       const ConstantOffsets& at, Index packed_channels, std::byte* memory) noexcept {
  const ChannelBounds bounds = at.results == Results::sums
                                   ? precompute_zero_points(inputs, g, tensors, at, packed_channels, memory)
                                   : precompute_channels(inputs, g, tensors, packed_channels, tables_at(at, memory));
  std::memcpy(memory + at.bounds, &bounds, sizeof bounds);
  return bounds;
}

/// Bounds of channels by their own weights: magnitude(c) is the sum of |w| of packed channel c, whose zero point is
/// that of the tables. That takes as long as packing, so it is for constants that DML owns. The biases are those of the
/// tables, before offsets take their place.
template <class Magnitude>
void refine_bounds(const std::byte* const* inputs, const Geometry& g, const ConstantOffsets& at,
                   const ChannelBounds& bounds, Index channels, std::byte* memory, Magnitude magnitude) noexcept {
  const ChannelTables t = tables_at(at, memory);
  const double divisor = Requantizer::divisor_of(load<float>(inputs[output_scale_tensor], 0));
  const auto size = [](double value) { return value < 0 ? -value : value; };
  for (Index c = 0; c < channels; ++c) {
    const double weights = magnitude(c) + size(static_cast<double>(t.zero[c])) * static_cast<double>(g.depth());
    const double bound = bounds.input_reach * weights + size(static_cast<double>(t.bias[c])) + size(t.offset[c]);
    if (bound < t.bound[c]) t.bound[c] = bound;
    choose_rounding(t, c, divisor);
  }
}

/// The values of the offsets where K counts every tap of the filter, because padding holds the zero point; `sums`: of
/// each packed channel's weights. Offsets are modulo 2^32, or 0 where sums need 64 bits, which have their own unless
/// they are stored. Kernels read activations that are `shift` less than bind_tables says.
inline void precompute_offsets(const std::byte* const* inputs, const Geometry& g, const ChannelTensors& tensors,
                               const ConstantOffsets& at, const ChannelBounds& bounds, const std::byte* sums,
                               Index channels, std::int32_t shift, std::byte* memory) noexcept {
  auto* offset = reinterpret_cast<std::int32_t*>(memory + at.offset);  // the bias, to begin with
  auto* int64_offset = reinterpret_cast<std::int64_t*>(memory + at.int64_offset);
  const auto* zero = reinterpret_cast<const std::int32_t*>(memory + at.zero);
  const std::int64_t zero_point = shifted_zero_point(inputs, g, tensors, false);
  for (Index c = 0; c < channels; ++c) {
    const std::int64_t weights = load<std::int32_t>(sums, c);
    const std::int64_t whole = offset[c] - (zero_point - shift) * weights - zero_point * g.depth() * zero[c];
    if (g.results == Results::bytes) int64_offset[c] = whole;
    offset[c] = bounds.needs_int64 ? 0 : static_cast<std::int32_t>(wrap(whole));
  }
}

/// The tables of channels whose sums one multiply-add rounds: scales, 0 where it does not, and shifts. Of `together`
/// neighbouring packed channels of a group, 64 at most, all are rounded so or none is; and all stay in registers, or
/// none does. What sums begin with, `offsets` tables of them `pitch` apart, is moved accordingly.
inline void precompute_multiply_add(const Requantizer& to, const ChannelTables& t, Index groups, Index together,
                                    SumsBegin as, PrecomputeTime time, float* scale, float* shift,
                                    std::uint32_t* offset, Index offsets, Index pitch) noexcept {
  const double divisor = to.divisor();
  const std::int32_t zero_point = to.packed().zero_point;
  // Of a channel whose products stay below 1/2: nothing comes of it, whatever the sum.
  const MultiplyAddRounding nothing{rounding_magic_bits, 0x1p-60f, rounding_magic + static_cast<float>(zero_point)};
  const auto rounded_of = [&](Index c) {
    if (!t.in_registers[c]) return MultiplyAddRounding{};
    const double reach = t.bound[c] * (t.scale[c] < 0 ? -t.scale[c] : t.scale[c]);
    if (reach < 0.49) return as == SumsBegin::as_integers || t.bound[c] < 0x1p22 ? nothing : MultiplyAddRounding{};
    return find_multiply_add_rounding(time, t.factor[c], divisor, zero_point, 0, t.bound[c], as);
  };
  for (Index first = 0; first < groups * to.packed_channels;) {
    const Index end = (first / to.packed_channels + 1) * to.packed_channels;
    const Index last = smaller(first + together, end);
    std::int32_t begin[64];
    bool all = true;
    for (Index c = first; all && c < last; ++c) {
      const MultiplyAddRounding rounded = rounded_of(c);
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
    if (t.tie_tolerance[c] == exact_tie_tolerance && t.scale[c] != 0 && !rounded) t.in_registers[c] = false;
  }
}

/// What an execute knows of precomputed tables.
inline void bind_tables(const Buffers& b, const Geometry& g, const ChannelTensors& tensors, const ConstantOffsets& at,
                        const std::byte* packed_filter, const std::byte* memory, Index packed_channels,
                        bool signed_activations, Constants& to) noexcept {
  const auto bounds = load<ChannelBounds>(memory + at.bounds, 0);
  to.input_flip = flips_input(g, signed_activations) ? 0x80 : 0;
  to.shifted_zero_point = shifted_zero_point(b.inputs, g, tensors, signed_activations);
  to.input_zero_point = static_cast<std::uint8_t>(to.shifted_zero_point ^ to.input_flip);

  to.pixel_terms = bounds.pixel_terms;
  to.needs_int64 = bounds.needs_int64;
  to.input = reinterpret_cast<const std::uint8_t*>(b.inputs[input_tensor]);
  to.output = reinterpret_cast<std::uint8_t*>(b.output);
  to.filter = reinterpret_cast<const std::uint8_t*>(packed_filter);
  to.minus_filter_zero_point = reinterpret_cast<const std::int32_t*>(memory + at.zero);
  if (at.results == Results::sums) return;

  to.requantizer = bind_requantizer(b.inputs, g, tensors);
  to.requantizer.scale = reinterpret_cast<const float*>(memory + at.scale);
  to.requantizer.fixed_scale = reinterpret_cast<const float*>(memory + at.fixed_scale);
  to.requantizer.tie_tolerance = reinterpret_cast<const float*>(memory + at.tie_tolerance);
  to.requantizer.factor = reinterpret_cast<const double*>(memory + at.factor);
  to.requantizer.offset = reinterpret_cast<const double*>(memory + at.bias_apart);
  to.requantizer.in_registers = reinterpret_cast<const bool*>(memory + at.in_registers);
  to.requantizer.packed_channels = packed_channels;
  to.int64_offset = reinterpret_cast<const std::int64_t*>(memory + at.int64_offset);
}

}  // namespace fast::qlc
DMLREF_END
