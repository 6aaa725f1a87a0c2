// staging.hpp: the input under a block of tiles as pixels of sixteen-bit channels, less the zero point.
#pragma once

#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/staging.hpp"
#include "dmlref/fast/quantized_linear_convolution/winograd/plan.hpp"

DMLREF_BEGIN
namespace fast::qlc::winograd {

/// Pixels that staging may write past the last one.
inline constexpr Index staged_slack = 8;

struct StagingArgs {
  const std::uint8_t* input;  ///< of the image
  const std::uint8_t* end;    ///< of what may be read of the whole tensor
  Index y, x;                 ///< in the input, of the first staged pixel; may lie in the padding
  Index rows, columns;
  std::uint8_t flip;
  std::int32_t zero;
  std::uint8_t* scratch;  ///< 16 * columns bytes
  std::int16_t* staged;
};

/// `count` pixels of one row, from column `x` of the input on.
inline void stage_row(const Geometry& g, const Kernels& kernels, const StagingArgs& a, const std::uint8_t* row, Index x,
                      Index count, Index channels, std::int16_t* to) noexcept {
  const Index step = g.dilation_x * g.in.x;
  const std::uint8_t* from = row + x * g.in.x;
  if (g.in.c == 1) {
    if (step == channels && g.in_channels == channels) {
      return kernels.stage_pixels(from, count * channels, a.flip, a.zero, to);
    }
    for (Index i = 0; i < count; ++i) {
      kernels.stage_pixels(from + i * step, g.in_channels, a.flip, a.zero, to + i * channels);
      for (Index c = g.in_channels; c < channels; ++c) to[i * channels + c] = 0;
    }
    return;
  }
  for (Index c = 0; c < channels; c += block) {
    const std::uint8_t* rows[block];
    const Index here = g.in_channels - c < block ? g.in_channels - c : block;
    Index pixels = count;
    for (Index e = 0; e < block; ++e) {
      rows[e] = from + (c + (e < here ? e : 0)) * g.in.c;
      if (step == 1) continue;
      std::uint8_t* gathered = a.scratch + e * a.columns;
      for (Index i = 0; i < count && e < here; ++i) gathered[i] = rows[e][i * step];
      rows[e] = gathered;
    }
    if (step == 1 && count < staged_slack) {  // short rows end in a whole vector where there is something to read
      bool inside = true;
      for (Index e = 0; e < block; ++e) inside = inside && a.end - rows[e] >= staged_slack;
      if (inside) pixels = staged_slack;
    }
    kernels.stage_planes(rows, pixels, a.flip, a.zero, to + c, channels);
    for (Index i = 0; i < count && here < block; ++i) {
      for (Index e = here; e < block; ++e) to[i * channels + c + e] = 0;
    }
  }
}

inline void stage(const Geometry& g, const Kernels& kernels, Index channels, const StagingArgs& a) noexcept {
  const auto clamped = [&](Index column) { return column < 0 ? 0 : column > a.columns ? a.columns : column; };
  // Columns [begin, end) lie inside the image.
  const Index begin = a.x < 0 ? clamped(ceil_div(-a.x, g.dilation_x)) : 0;
  const Index end = a.x >= g.width ? 0 : clamped(ceil_div(g.width - a.x, g.dilation_x));
  const Index pitch = a.columns * channels;
  for (Index r = 0; r < a.rows; ++r) {
    std::int16_t* to = a.staged + r * pitch;
    const Index y = a.y + r * g.dilation_y;
    const auto clear = [&](Index from, Index until) {
      std::memset(to + from * channels, 0, static_cast<std::size_t>(2 * (until - from) * channels));
    };
    if (y < 0 || y >= g.height || begin >= end) {
      clear(0, a.columns);
      continue;
    }
    clear(0, begin);
    stage_row(g, kernels, a, a.input + y * g.in.y, a.x + begin * g.dilation_x, end - begin, channels,
              to + begin * channels);
    clear(end, a.columns);
  }
}

}  // namespace fast::qlc::winograd
DMLREF_END
