// constants.hpp: what depends on a tiled convolution's data but not on its pixels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/buffers.hpp"
#include "dmlref/fast/quantized_linear_convolution/filter.hpp"
#include "dmlref/fast/quantized_linear_convolution/float_sums.hpp"
#include "dmlref/fast/quantized_linear_convolution/folded.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/plan.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/zero_points.hpp"

DMLREF_BEGIN
namespace fast::qlc::tiled {

/// What one execute knows.
struct Run : Folded {
  const std::int32_t* channel_offset = nullptr;
  const std::int32_t* channel_factor = nullptr;  // of halves; unset where the plan does not halve terms
  Requantizer float_requantizer;                 // for sums that are floats; unbound where they are not
  const std::int32_t* float_offset = nullptr;    // of these
  const std::int32_t* second_begin = nullptr;    // unset where no weight has a second part
  const SecondPart* second_parts = nullptr;
  bool paired = false;    // blocks of 64 pixels are read in the order of Kernels::interleave_pairs
  bool in_place = false;  // by tiles, from where they are
};

/// Blocks [first, last) of the filter, of all groups', as the tiles read it.
inline void pack_filter(const Plan& p, const std::byte* filter, std::byte* to, Index first, Index last) noexcept {
  qlc::pack_filter(p.g, p.block.order, p.kernels, p.filter, p.elements.data(),
                   reinterpret_cast<const std::uint8_t*>(filter), reinterpret_cast<std::uint8_t*>(to), first, last);
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

/// The tables of sums that are floats.
struct FloatTables {
  float* shift;
  std::int32_t *base, *offset;
  float* rounded_scale;     // null unless channels or blocks are rounded
  std::int32_t* exception;  // null unless blocks are

  FloatTables(const Plan& p, std::byte* memory) noexcept
      : shift(reinterpret_cast<float*>(memory + p.float_shift_at)),
        base(reinterpret_cast<std::int32_t*>(memory + p.float_base_at)),
        offset(reinterpret_cast<std::int32_t*>(memory + p.float_offset_at)),
        rounded_scale(p.rounds_channels() || p.rounds_blocks() ? reinterpret_cast<float*>(memory + p.rounded_scale_at)
                                                               : nullptr),
        exception(p.rounds_blocks() ? reinterpret_cast<std::int32_t*>(memory + p.exception_at) : nullptr) {}

  void set(Index channel, const FloatSums& floats, std::int32_t integer_offset) const noexcept {
    shift[channel] = floats.shift;
    base[channel] = floats.sum;
    offset[channel] = static_cast<std::int32_t>(wrap(floats.sum) + wrap(integer_offset));
  }
};

/// Channel by channel; false where one has no such sum.
inline bool fold_float_channels(const Plan& p, const Requantizer& to, double bound, const float* fixed_scale,
                                const std::int32_t* offset, const FloatTables& tables) noexcept {
  const auto fixed_shift = static_cast<std::int32_t>(to.fixed_shift());
  for (Index at = 0; at < p.offset_pitch(); ++at) {
    const float size = fixed_scale[at] < 0 ? -fixed_scale[at] : fixed_scale[at];
    FloatSums floats;
    if (tables.rounded_scale != nullptr) {
      const RoundedSums rounded = size == 0 ? RoundedSums{} : rounded_sums_of(to, at, bound, Exceptions::none);
      tables.rounded_scale[at] = rounded.scale;
      floats = {rounded.sum, rounded.shift};
    }
    const bool suits = size == 0 || (size >= (std::numeric_limits<float>::min)() && size < 0x1p16f);
    if (floats.sum == 0 && suits) floats = float_sums(fixed_scale[at], fixed_shift, 0, bound);
    if (floats.sum == 0) return false;
    tables.set(at, floats, offset[at]);
  }
  return true;
}

/// Blocks of channels, all of which are to be rounded: the base of the first one is 0 where some cannot.
inline bool fold_rounded_blocks(const Plan& p, const Requantizer& to, double bound, const float* fixed_scale,
                                const std::int32_t* offset, const FloatTables& tables) noexcept {
  const Exceptions exceptions = p.kernels.compares_exceptions ? Exceptions::one : Exceptions::none;
  const RoundedSums nothing = rounded_sums_of_nothing(to);
  bool found = false;
  for (Index block = 0; block < p.offset_pitch(); block += p.kernels.lanes) {
    bool all = true;
    for (Index at = block; at < block + p.kernels.lanes; ++at) {
      const RoundedSums rounded = fixed_scale[at] == 0 ? nothing : rounded_sums_of(to, at, bound, exceptions);
      tables.rounded_scale[at] = rounded.scale;
      tables.exception[at] = rounded.exception;
      tables.set(at, {rounded.sum, rounded.shift}, offset[at]);
      all = all && rounded.sum != 0;
    }
    if (!all) tables.base[block] = 0;
    found = found || all;
  }
  return found;
}

/// Which sums can be floats, and their tables.
inline void fold_float_sums(const Plan& p, const ChannelBounds& bounds, const std::byte* const* inputs,
                            std::byte* memory) noexcept {
  const auto* scale = reinterpret_cast<const float*>(memory + p.folded_at.fixed_scale);
  const auto* offset = reinterpret_cast<const std::int32_t*>(memory + p.folded_at.offset);
  const FloatTables tables(p, memory);
  bool found = false;
  if (bounds.bounded && bounds.largest_sum < 0x1p22) {
    Requantizer to = bind_requantizer(inputs, p.g, p.tensors);
    to.packed_channels = p.filter.channels();
    const auto fold = p.rounds_blocks() ? fold_rounded_blocks : fold_float_channels;
    found = fold(p, to, bounds.largest_sum, scale, offset, tables);
  }
  *reinterpret_cast<std::int32_t*>(memory + p.floats_found_at) = found ? 1 : 0;
}

/// The tables in `memory`, of constants and the packed filter, `bounds` and what fold_tables left there.
inline void fold_constants(const Plan& p, const ChannelBounds& bounds, const std::byte* const* inputs,
                           const std::byte* packed, std::byte* memory) noexcept {
  auto* bias = reinterpret_cast<std::int32_t*>(memory + p.folded_at.offset);  // which the offsets start from
  auto* wide_offset = reinterpret_cast<std::int64_t*>(memory + p.folded_at.wide_offset);
  const auto* zero = reinterpret_cast<const std::int32_t*>(memory + p.folded_at.zero);
  const std::int64_t minus_input_zero_point = -shifted_zero_point(inputs, p.g, p.tensors, p.kernels.signed_activations);
  const std::int64_t depth = p.g.depth();
  const Index channels = p.g.groups * p.filter.channels();
  for (Index at = 0; bounds.wide && at < channels; ++at) {
    std::int64_t weights = depth * zero[at];
    for (Index ky = 0; ky < p.g.kernel_h; ++ky) {
      weights += load<std::int32_t>(packed + p.filter.sums_at() + ky * p.filter.row_sums_bytes(), at);
    }
    wide_offset[at] = bias[at] + minus_input_zero_point * weights;
  }
  auto* offset = reinterpret_cast<std::uint32_t*>(bias);  // modulo 2^32
  for (Index at = 0; at < channels; ++at) offset[at] += wrap(minus_input_zero_point) * wrap(depth) * wrap(zero[at]);
  add_weight_sums(p, packed, wrap(minus_input_zero_point), offset);
  if (p.float_sums()) fold_float_sums(p, bounds, inputs, memory);
  if (!p.halved_terms() || bounds.uniform) return;
  auto* factor = reinterpret_cast<std::int32_t*>(memory + p.factor_at);
  for (Index at = 0; at < channels + 64; ++at) factor[at] = halves_of_factor(zero[at]);
}

inline void fold_constants(const Plan& p, const std::byte* const* inputs, const std::byte* packed,
                           std::byte* memory) noexcept {
  const ChannelBounds bounds = fold_tables(inputs, p.g, p.tensors, p.folded_at, p.filter.channels(), memory);
  fold_constants(p, bounds, inputs, packed, memory);
}

/// The same once and for all, of a packed filter that DML owns with them: weights may take in their zero points.
inline void fold_owned_constants(const Plan& p, const std::byte* const* inputs, std::byte* packed,
                                 std::byte* memory) noexcept {
  ChannelBounds bounds = fold_tables(inputs, p.g, p.tensors, p.folded_at, p.filter.channels(), memory);
  if (p.second_parts()) {
    std::memset(memory + p.second_begin_at, 0, static_cast<std::size_t>(4 * (p.offset_pitch() + 1)));
  }
  auto* zero = reinterpret_cast<std::int32_t*>(memory + p.folded_at.zero);
  if (bounds.pixel_terms() && !bounds.wide && take_in_zero_points(p, bounds.uniform, zero, packed, memory)) {
    bounds.first_zero = 0;
    bounds.uniform = true;
    std::memcpy(memory + p.folded_at.bounds, &bounds, sizeof bounds);
  }
  fold_constants(p, bounds, inputs, packed, memory);
}

/// What an execute knows of them.
inline void bind_constants(const Plan& p, const Buffers& b, const std::byte* packed, const std::byte* memory,
                           Run& run) noexcept {
  bind_tables(b, p.g, p.tensors, p.folded_at, packed, memory, p.filter.channels(), p.kernels.signed_activations, run);
  run.paired = p.pairs && run.requantizer.bounded && !run.wide;
  run.channel_offset = reinterpret_cast<const std::int32_t*>(memory + p.folded_at.offset);
  if (p.halved_terms() && !run.uniform) {
    run.channel_factor = reinterpret_cast<const std::int32_t*>(memory + p.factor_at);
  }
  if (p.second_parts()) {
    const auto* begin = reinterpret_cast<const std::int32_t*>(memory + p.second_begin_at);
    if (begin[p.filter.groups * p.filter.channels()] > 0) run.second_begin = begin;
    run.second_parts = reinterpret_cast<const SecondPart*>(memory + p.second_parts_at);
  }
  const bool halves = run.channel_factor != nullptr && p.g.depth() > deepest_short_sum;
  run.in_place = run.paired && p.planes_in_place && !halves;
  if (!p.float_sums() || load<std::int32_t>(memory + p.floats_found_at, 0) == 0) return;
  run.float_requantizer = run.requantizer;
  run.float_requantizer.float_shift = reinterpret_cast<const float*>(memory + p.float_shift_at);
  run.float_requantizer.float_base = reinterpret_cast<const std::int32_t*>(memory + p.float_base_at);
  if (p.rounds_channels() || p.rounds_blocks()) {
    run.float_requantizer.rounded_scale = reinterpret_cast<const float*>(memory + p.rounded_scale_at);
  }
  if (p.rounds_blocks()) {
    run.float_requantizer.exception = reinterpret_cast<const std::int32_t*>(memory + p.exception_at);
  }
  run.float_offset = reinterpret_cast<const std::int32_t*>(memory + p.float_offset_at);
}

}  // namespace fast::qlc::tiled
DMLREF_END
