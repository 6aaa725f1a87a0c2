// staging.hpp: the input under a block of tiles as pixels of sixteen-bit channels, unsigned, with its zero point in the
// padding.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/winograd/plan.hpp"
#include "dmlref/view/narrow.hpp"

DMLREF_BEGIN
namespace fast::qlc::winograd {

/// What is staged: `rows` x `columns` pixels from (y, x) of the input on, which may lie in the padding, in steps of the
/// dilation.
struct StagedPlace {
  Index y, x, rows, columns;
};

/// `count` pixels of one row. Channels that fill up the last block meet weights of 0, whatever they hold.
inline void stage_row(const Plan& p, const std::uint8_t* from, Index count, std::uint8_t flip,
                      std::int16_t* to) noexcept {
  const Geometry& g = p.g;
  const Index step = g.dilation_x * g.in.x, channels = p.tiling.channels;
  auto* const bytes = reinterpret_cast<std::uint8_t*>(to);
  if (g.in.c == 1 && step == channels && g.in_channels == channels) {
    p.kernels.shared->convert(from, count * channels, flip, bytes);
  } else if (g.in.c == 1) {
    for (Index i = 0; i < count; ++i) {
      p.kernels.shared->convert(from + i * step, g.in_channels, flip, bytes + 2 * i * channels);
    }
  } else if (step == 1 && g.in_channels >= block) {
    p.kernels.shared->gather_pixels({from, g.in.c, g.in_channels, count, flip, bytes, 2 * channels});
  } else {
    for (Index c = 0; c < g.in_channels; ++c) {
      for (Index i = 0; i < count; ++i) {
        to[i * channels + c] = dmlref::detail::narrow<std::int16_t>(from[c * g.in.c + i * step] ^ flip);
      }
    }
  }
}

inline void stage(const Plan& p, const Constants& run, const std::uint8_t* input, const StagedPlace& place,
                  std::int16_t* staged) noexcept {
  const Geometry& g = p.g;
  const Index channels = p.tiling.channels;
  const auto clamped = [&](Index column) { return column < 0 ? 0 : smaller(column, place.columns); };
  // Columns [begin, end) lie inside the image.
  const Index begin = place.x < 0 ? clamped(ceil_div(-place.x, g.dilation_x)) : 0;
  const Index end = place.x >= g.width ? 0 : clamped(ceil_div(g.width - place.x, g.dilation_x));
  const auto zero = dmlref::detail::narrow<std::int16_t>(run.shifted_zero_point);  // 0 … 255
  for (Index r = 0; r < place.rows; ++r, staged += place.columns * channels) {
    const Index y = place.y + r * g.dilation_y;
    if (y < 0 || y >= g.height || begin >= end) {
      std::fill_n(staged, place.columns * channels, zero);
      continue;
    }
    std::fill_n(staged, begin * channels, zero);
    stage_row(p, input + y * g.in.y + (place.x + begin * g.dilation_x) * g.in.x, end - begin, run.input_flip,
              staged + begin * channels);
    std::fill_n(staged + end * channels, (place.columns - end) * channels, zero);
  }
}

}  // namespace fast::qlc::winograd
DMLREF_END
