// constants.hpp: what depends on a convolution's data but not on its pixels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/amx/filter.hpp"
#include "dmlref/fast/quantized_linear_convolution/amx/plan.hpp"
#include "dmlref/fast/quantized_linear_convolution/buffers.hpp"
#include "dmlref/fast/quantized_linear_convolution/folded.hpp"

#if DMLREF_ARCH_X86_64

DMLREF_BEGIN
namespace fast::qlc::amx {

/// What one execute knows.
struct Run : Folded {
  const std::int32_t* start = nullptr;          // what sums start from: 16 for each channel if planar, else 1
  const std::int32_t* halved_factor = nullptr;  // of minus_filter_zero_point; null: terms are not halved
  Rounding rounding = Rounding::fixed_point;
};

/// Which channels one multiply-add rounds, and their tables: with pixels in lanes each is by itself, else all of a
/// strip are, or none.
inline void fold_rounded_sums(const Plan& p, const ChannelBounds& bounds, const std::byte* const* inputs,
                              std::byte* memory) noexcept {
  auto* scale = reinterpret_cast<float*>(memory + p.rounded_scale_at);
  auto* shift = reinterpret_cast<float*>(memory + p.rounded_shift_at);
  std::memset(scale, 0, static_cast<std::size_t>(4 * (p.g.groups * p.packed_channels() + 64)));
  if (!bounds.bounded || bounds.wide) return;
  Requantizer to = bind_requantizer(inputs, p.g, p.tensors);
  to.packed_channels = p.packed_channels();
  qlc::fold_rounded_sums(to, p.g.groups, p.layout.planar() ? 1 : p.strip_channels(), bounds.largest_sum,
                         SumsBegin::as_integers, reinterpret_cast<const float*>(memory + p.folded_at.fixed_scale),
                         scale, shift, reinterpret_cast<std::uint32_t*>(memory + p.folded_at.offset));
}

/// The tables in `memory`, of constants and the packed filter.
inline void fold_constants(const Plan& p, const std::byte* const* inputs, const std::byte* packed,
                           std::byte* memory) noexcept {
  const ChannelBounds bounds = fold_tables(inputs, p.g, p.tensors, p.folded_at, p.packed_channels(), memory);
  auto* bias = reinterpret_cast<std::int32_t*>(memory + p.folded_at.offset);  // which the offsets start from
  auto* offset = reinterpret_cast<std::uint32_t*>(bias);                      // modulo 2^32
  auto* wide_offset = reinterpret_cast<std::int64_t*>(memory + p.folded_at.wide_offset);
  const auto* zero = reinterpret_cast<const std::int32_t*>(memory + p.folded_at.zero);
  const std::int64_t input_zero_point = shifted_zero_point(inputs, p.g, p.tensors, false);
  const std::int64_t depth = p.g.depth();
  const Index channels = p.g.groups * p.packed_channels();
  for (Index c = 0; c < channels; ++c) {
    const std::int64_t products = load<std::int32_t>(packed + p.filter_sums_at(), c);
    wide_offset[c] = bias[c] - input_zero_point * (products + depth * zero[c]);
    if (p.signed_pixels()) wide_offset[c] += 128 * products;  // as if they were flipped
    offset[c] = bounds.wide ? 0 : wrap(wide_offset[c]);       // wide: of products alone
  }
  if (p.rounds()) fold_rounded_sums(p, bounds, inputs, memory);
  if (p.halved_terms()) {
    auto* factor = reinterpret_cast<std::int32_t*>(memory + p.factor_at);
    for (Index c = 0; c < channels + 64; ++c) factor[c] = halves_of_factor(zero[c]);
  }
  if (!p.layout.planar()) return;
  auto* start = reinterpret_cast<std::int32_t*>(memory + p.start_at);
  for (Index c = 0; c < channels; ++c, start += tile_side) {
    for (Index i = 0; i < tile_side; i += 2) {  // pairs: without vectors half as many stores
      const std::uint64_t pair = std::uint64_t{offset[c]} << 32 | offset[c];
      std::memcpy(start + i, &pair, sizeof pair);
    }
  }
}

inline void fold_owned_constants(const Plan& p, const std::byte* const* inputs, const std::byte* packed,
                                 std::byte* memory) noexcept {
  fold_constants(p, inputs, packed, memory);
}

/// What an execute knows of them.
inline void bind_constants(const Plan& p, const Buffers& b, const std::byte* packed, const std::byte* memory,
                           Run& run) noexcept {
  bind_tables(b, p.g, p.tensors, p.folded_at, packed, memory, p.packed_channels(), false, run);
  if (p.signed_pixels()) run.input_flip = 0;
  run.rounding = run.wide ? Rounding::exact : run.requantizer.bounded ? Rounding::fixed_point : Rounding::clamped;
  if (p.rounds()) {
    run.requantizer.rounded_scale = reinterpret_cast<const float*>(memory + p.rounded_scale_at);
    run.requantizer.rounded_shift = reinterpret_cast<const float*>(memory + p.rounded_shift_at);
  }
  if (p.halved_terms() && !run.wide) {
    run.halved_factor = reinterpret_cast<const std::int32_t*>(memory + p.factor_at);
  }
  run.start = reinterpret_cast<const std::int32_t*>(memory + (p.layout.planar() ? p.start_at : p.folded_at.offset));
}

}  // namespace fast::qlc::amx
DMLREF_END
#endif
