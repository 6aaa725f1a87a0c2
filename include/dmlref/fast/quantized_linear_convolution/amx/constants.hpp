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

/// How sums become bytes.
enum class Rounding {
  fixed_point,  // stage 1 of requantize.hpp in fixed point
  clamped,      // stage 1 with the product clamped
  wide          // 64 bits, one by one
};

/// What one execute knows.
struct Run : Folded {
  const std::int32_t* start = nullptr;  // what sums start from: 16 for each channel if planar, else 1
  Rounding rounding = Rounding::fixed_point;
};

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
    const std::int64_t weights = load<std::int32_t>(packed + p.filter_sums_at(), c) + depth * zero[c];
    wide_offset[c] = bias[c] - input_zero_point * weights;
    offset[c] = bounds.wide ? 0 : wrap(wide_offset[c]);  // wide: of products alone
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

/// What an execute knows of them.
inline void bind_constants(const Plan& p, const Buffers& b, const std::byte* packed, const std::byte* memory,
                           Run& run) noexcept {
  bind_tables(b, p.g, p.tensors, p.folded_at, packed, memory, p.packed_channels(), false, run);
  run.rounding = run.wide ? Rounding::wide : run.requantizer.bounded ? Rounding::fixed_point : Rounding::clamped;
  run.start = reinterpret_cast<const std::int32_t*>(memory + (p.layout.planar() ? p.start_at : p.folded_at.offset));
}

}  // namespace fast::qlc::amx
DMLREF_END
#endif
