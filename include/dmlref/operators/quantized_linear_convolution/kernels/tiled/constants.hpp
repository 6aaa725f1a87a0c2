// constants.hpp: what depends on a tiled convolution's data but not on its pixels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/buffers.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/constants.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/filter.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/plan.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/zero_points.hpp"

DMLREF_BEGIN
namespace fast::qlc::tiled {

/// What one execute knows.
struct Run : Constants {
  const std::int32_t* channel_offset = nullptr;
  ZeroPointTerm term = ZeroPointTerm::none;      // that tiles add
  const std::int32_t* channel_factor = nullptr;  // of a product
  bool tiles_round = false;                      // those channels that stay in registers

  /// Whether a product of zero points is left to add_outer.
  bool term_follows() const noexcept { return pixel_terms && term == ZeroPointTerm::none; }
};

/// Blocks [first, last) of the filter, of all groups', as the tiles read it.
inline void pack_filter(const Plan& p, const std::byte* filter, std::byte* to, Index first, Index last) noexcept {
  qlc::pack_filter(p.g, p.block.order, p.kernels, p.filter, p.depth.elements.data(),
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

/// The sum of |w| of a packed channel, as it is packed.
inline double magnitude_of(const Plan& p, const std::byte* packed, Index channel) noexcept {
  const Index lanes = p.filter.lanes, elements = p.kernels.group;
  const std::byte* from = packed + channel / lanes * p.filter.block_bytes() + 4 * (channel % lanes);
  double sum = 0;
  for (Index step = 0; step < p.filter.steps; ++step, from += 4 * lanes) {
    for (Index e = 0; e < elements; ++e) {
      const std::int32_t w = elements == 4 ? load<std::int8_t>(from, e) : load<std::int16_t>(from, e);
      sum += w < 0 ? -w : w;
    }
  }
  return sum;
}

/// Which channels stay in registers, which ones a multiply-add rounds, and their tables. With channels in lanes a block
/// of them is of one kind, or two, as tiles take them, where sums next to ties are looked at: that is worthwhile only
/// where a sum is of few products.
inline void choose_roundings(const Plan& p, const ChannelBounds& bounds, const std::byte* const* inputs,
                             PrecomputeTime time, std::byte* memory) noexcept {
  const ChannelTables t = tables_at(p.constants_at, memory);
  const Index channels = p.filter.channels(), together = p.pixels_in_lanes() ? p.kernels.rows_alike : p.kernels.lanes;
  agree_on_registers(t, p.filter.groups, channels, together);
  const float* rounded = nullptr;
  if (p.rounds_by_multiply_add()) {
    auto* scale = reinterpret_cast<float*>(memory + p.rounded_scale_at);
    auto* shift = reinterpret_cast<float*>(memory + p.rounded_shift_at);
    std::memset(scale, 0, static_cast<std::size_t>(4 * p.offset_pitch()));
    if (bounds.needs_int64) return;
    Requantizer to = bind_requantizer(inputs, p.g, p.tensors);
    to.packed_channels = channels;
    const bool searches = time == PrecomputeTime::initialize && p.row_ranges.size() == 1 &&
                          (p.pixels_in_lanes() || p.kernels.searches_channels);
    qlc::precompute_multiply_add(to, t, p.filter.groups, searches && !p.pixels_in_lanes() ? 2 * together : together,
                                 SumsBegin::as_floats, searches ? PrecomputeTime::initialize : PrecomputeTime::execute,
                                 scale, shift, reinterpret_cast<std::uint32_t*>(memory + p.constants_at.offset),
                                 static_cast<Index>(p.row_ranges.size()), p.offset_pitch());
    rounded = scale;
  }
  release_exact_scales(t, p.filter.groups * channels, rounded);
  agree_on_registers(t, p.filter.groups, channels, together);
}

/// The tables in `memory`, of constants and the packed filter, `bounds` and what precompute_tables left there.
inline void precompute_constants(const Plan& p, const ChannelBounds& bounds, const std::byte* const* inputs,
                                 const std::byte* packed, PrecomputeTime time, std::byte* memory) noexcept {
  auto* bias = reinterpret_cast<std::int32_t*>(memory + p.constants_at.offset);  // which the offsets start from
  auto* int64_offset = reinterpret_cast<std::int64_t*>(memory + p.constants_at.int64_offset);  // of bytes only
  const auto* zero = reinterpret_cast<const std::int32_t*>(memory + p.constants_at.zero);
  const std::int64_t minus_input_zero_point = -shifted_zero_point(inputs, p.g, p.tensors, p.kernels.signed_activations);
  const std::int64_t depth = p.g.depth();
  const Index channels = p.g.groups * p.filter.channels();
  for (Index at = 0; bounds.needs_int64 && at < channels; ++at) {
    std::int64_t weights = depth * zero[at];
    for (Index ky = 0; ky < p.g.kernel_h; ++ky) {
      weights += load<std::int32_t>(packed + p.filter.sums_at() + ky * p.filter.row_sums_bytes(), at);
    }
    int64_offset[at] = bias[at] + minus_input_zero_point * weights;
  }
  auto* offset = reinterpret_cast<std::uint32_t*>(bias);  // modulo 2^32
  for (Index at = 0; at < channels; ++at) offset[at] += wrap(minus_input_zero_point) * wrap(depth) * wrap(zero[at]);
  add_weight_sums(p, packed, wrap(minus_input_zero_point), offset);
  if (p.g.results == Results::bytes) choose_roundings(p, bounds, inputs, time, memory);
  if (!p.splits_terms() || !bounds.pixel_terms) return;
  auto* factor = reinterpret_cast<std::int32_t*>(memory + p.factor_at);
  for (Index at = 0; at < channels + 64; ++at) factor[at] = split16_factor(zero[at]);
}

inline void precompute_constants(const Plan& p, const std::byte* const* inputs, const std::byte* packed,
                                 std::byte* memory) noexcept {
  const ChannelBounds bounds = precompute_tables(inputs, p.g, p.tensors, p.constants_at, p.filter.channels(), memory);
  precompute_constants(p, bounds, inputs, packed, PrecomputeTime::execute, memory);
}

/// The same once and for all, of a packed filter that DML owns with them: weights may take in their zero points.
inline void precompute_owned_constants(const Plan& p, const std::byte* const* inputs, std::byte* packed,
                                       std::byte* memory) noexcept {
  ChannelBounds bounds = precompute_tables(inputs, p.g, p.tensors, p.constants_at, p.filter.channels(), memory);
  auto* zero = reinterpret_cast<std::int32_t*>(memory + p.constants_at.zero);
  if (bounds.pixel_terms && !bounds.needs_int64 && take_in_zero_points(p, zero, packed)) {
    bounds.pixel_terms = false;
    std::memcpy(memory + p.constants_at.bounds, &bounds, sizeof bounds);
  }
  if (p.g.results == Results::bytes) {
    refine_bounds(inputs, p.g, p.constants_at, bounds, p.filter.groups * p.filter.channels(), memory,
                  [&](Index c) { return magnitude_of(p, packed, c); });
  }
  precompute_constants(p, bounds, inputs, packed, PrecomputeTime::initialize, memory);
}

/// What an execute knows of them.
inline void bind_constants(const Plan& p, const Buffers& b, const std::byte* packed, const std::byte* memory,
                           Run& run) noexcept {
  bind_tables(b, p.g, p.tensors, p.constants_at, packed, memory, p.filter.channels(), p.kernels.signed_activations,
              run);
  run.channel_offset = reinterpret_cast<const std::int32_t*>(memory + p.constants_at.offset);
  if (p.splits_terms() && run.pixel_terms && !run.needs_int64) {
    run.term = ZeroPointTerm::product;
    run.channel_factor = reinterpret_cast<const std::int32_t*>(memory + p.factor_at);
  }
  run.tiles_round = p.kernels.requantize && !run.needs_int64 && !run.term_follows();
  if (!p.rounds_by_multiply_add()) return;
  run.requantizer.rounded_scale = reinterpret_cast<const float*>(memory + p.rounded_scale_at);
  run.requantizer.rounded_shift = reinterpret_cast<const float*>(memory + p.rounded_shift_at);
}

}  // namespace fast::qlc::tiled
DMLREF_END
