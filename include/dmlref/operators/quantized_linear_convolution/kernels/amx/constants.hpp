// constants.hpp: what depends on a convolution's data but not on its pixels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/amx/filter.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/amx/plan.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/buffers.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/constants.hpp"

#if DMLREF_ARCH_X86_64

DMLREF_BEGIN
namespace fast::qlc::amx {

/// The zero-point compensation of a sum, an activation row sum times a factor of the channel: absent, two products of
/// 16 bits (int8/kernels.hpp), or one product of 32 bits.
enum class Compensation { none, split16, product };

/// What one execute knows.
struct Run : Constants {
  const std::int32_t* start = nullptr;  // what sums start from: 16 for each channel if planar, else 1
  Compensation compensation = Compensation::none;
  const std::int32_t* factors = nullptr;  // of channels, or halves of these
};

/// The sum of |w| of a packed channel, as it is packed.
inline double magnitude_of(const Plan& p, const std::byte* packed, Index channel) noexcept {
  const std::byte* tile = packed + channel / tile_side * p.filter_block_bytes();
  const bool rows = p.planar();  // rows of a tile are channels, else groups of four values
  const Index lane = channel % tile_side;
  double sum = 0;
  for (Index block = 0; block < p.k_block_count(); ++block, tile += tile_bytes) {
    for (Index k = 0; k < tile_depth; ++k) {
      const std::int32_t w =
          load<std::int8_t>(tile, rows ? lane * tile_depth + k : k / 4 * tile_depth + 4 * lane + k % 4);
      sum += w < 0 ? -w : w;
    }
  }
  return sum;
}

/// Which channels stay in registers, which ones a multiply-add rounds, and their tables. All of a panel stay in
/// registers, or none does. With pixels in lanes each is rounded by itself, else all of a panel are, or none.
inline void choose_roundings(const Plan& p, const ChannelBounds& bounds, const std::byte* const* inputs,
                             PrecomputeTime time, std::byte* memory) noexcept {
  const ChannelTables t = tables_at(p.constants_at, memory);
  if (!p.rounds()) release_exact_scales(t, p.g.groups * p.packed_channels(), nullptr);
  agree_on_registers(t, p.g.groups, p.packed_channels(), p.panel_channels());
  if (!p.rounds()) return;
  auto* scale = reinterpret_cast<float*>(memory + p.rounded_scale_at);
  auto* shift = reinterpret_cast<float*>(memory + p.rounded_shift_at);
  std::memset(scale, 0, static_cast<std::size_t>(4 * (p.g.groups * p.packed_channels() + 64)));
  if (bounds.needs_int64) return;
  Requantizer to = bind_requantizer(inputs, p.g, p.tensors);
  to.packed_channels = p.packed_channels();
  qlc::precompute_multiply_add(to, t, p.g.groups, p.planar() ? 1 : p.panel_channels(), SumsBegin::as_integers, time,
                               scale, shift, reinterpret_cast<std::uint32_t*>(memory + p.constants_at.offset), 1, 0);
}

/// The tables in `memory`, of constants and the packed filter.
inline void precompute_constants(const Plan& p, const std::byte* const* inputs, const std::byte* packed,
                                 PrecomputeTime time, std::byte* memory) noexcept {
  const ChannelBounds bounds = precompute_tables(inputs, p.g, p.tensors, p.constants_at, p.packed_channels(), memory);
  const Index channels = p.g.groups * p.packed_channels();
  const bool to_bytes = p.g.results == Results::bytes;
  if (time == PrecomputeTime::initialize && to_bytes) {
    refine_bounds(inputs, p.g, p.constants_at, bounds, channels, memory,
                  [&](Index c) { return magnitude_of(p, packed, c); });
  }
  precompute_offsets(inputs, p.g, p.tensors, p.constants_at, bounds, packed + p.filter_sums_at(), channels,
                     p.signed_pixels() ? 128 : 0, memory);
  if (to_bytes) choose_roundings(p, bounds, inputs, time, memory);
  if (p.splits_terms()) {
    const auto* zero = reinterpret_cast<const std::int32_t*>(memory + p.constants_at.zero);
    auto* factor = reinterpret_cast<std::int32_t*>(memory + p.factor_at);
    for (Index c = 0; c < channels + 64; ++c) factor[c] = split16_factor(zero[c]);
  }
  if (!p.planar()) return;
  const auto* offset = reinterpret_cast<const std::int32_t*>(memory + p.constants_at.offset);
  auto* start = reinterpret_cast<std::int32_t*>(memory + p.start_at);
  for (Index c = 0; c < channels; ++c) std::fill_n(start + c * tile_side, tile_side, offset[c]);
}

inline void precompute_constants(const Plan& p, const std::byte* const* inputs, const std::byte* packed,
                                 std::byte* memory) noexcept {
  precompute_constants(p, inputs, packed, PrecomputeTime::execute, memory);
}

inline void precompute_owned_constants(const Plan& p, const std::byte* const* inputs, const std::byte* packed,
                                       std::byte* memory) noexcept {
  precompute_constants(p, inputs, packed, PrecomputeTime::initialize, memory);
}

/// What an execute knows of them.
inline void bind_constants(const Plan& p, const Buffers& b, const std::byte* packed, const std::byte* memory,
                           Run& run) noexcept {
  bind_tables(b, p.g, p.tensors, p.constants_at, packed, memory, p.packed_channels(), false, run);
  if (p.signed_pixels()) run.input_flip = 0;
  if (p.rounds()) {
    run.requantizer.rounded_scale = reinterpret_cast<const float*>(memory + p.rounded_scale_at);
    run.requantizer.rounded_shift = reinterpret_cast<const float*>(memory + p.rounded_shift_at);
  }
  const bool halves = p.splits_terms() && !run.needs_int64;
  if (run.pixel_terms) run.compensation = halves ? Compensation::split16 : Compensation::product;
  run.factors = halves ? reinterpret_cast<const std::int32_t*>(memory + p.factor_at) : run.minus_filter_zero_point;
  run.start = reinterpret_cast<const std::int32_t*>(memory + (p.planar() ? p.start_at : p.constants_at.offset));
}

}  // namespace fast::qlc::amx
DMLREF_END
#endif
