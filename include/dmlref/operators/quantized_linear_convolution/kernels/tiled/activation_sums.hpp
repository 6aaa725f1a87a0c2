// activation_sums.hpp: sums of the activations under each window, for filter zero points.
#pragma once

#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/int8/portable.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/rows.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/view.hpp"

DMLREF_BEGIN
namespace fast::qlc::tiled {

/// The most vectors that a pixel tile has, or as many as are left.
inline Index pixel_vectors(const Kernels& kernels, Index pixels) noexcept {
  Index vectors = 1;
  for (Index v = 2; v <= 4 && vectors * kernels.lanes < pixels; ++v) {
    if (kernels.pixel_tiles.max_rows(v) > 0) vectors = v;
  }
  return vectors;
}

/// Of `count` neighbouring pixels: a pixel tile meets a channel of ones.
inline void sum_line(const BlockView& v, const std::int32_t* offsets, Index steps, Index weight_step,
                     const std::uint8_t* activations, Index count, std::int32_t* sums) noexcept {
  static constexpr std::int32_t zero[1] = {};
  const Kernels& kernels = v.p.kernels;
  const std::uint8_t* ones = v.run.filter + v.p.filter.ones_at();
  for (Index x = 0; x < count;) {
    const Index vectors = pixel_vectors(kernels, count - x), width = vectors * kernels.lanes;
    const Index tiles = kernels.requantize && count - x >= width ? (count - x) / width : 1;
    kernels.pixel_tiles.fit(vectors, 1)
        .run({{activations + 4 * x, offsets, steps, 4, ones, weight_step, 0},
              {zero, ZeroPointTerm::none, nullptr, sums + x},
              TileOutput::sums,
              {sums + x, 0},
              {v.run.requantizer, 0, v.bytes(), 0, width},
              tiles});
    x += tiles * width;
  }
}

/// Channels side by side: each input pixel's sum is computed once for all windows that it lies in.
inline void sum_pixels(const BlockView& v) noexcept {
  const Plan& p = v.p;
  const Index channels = p.g.in_channels, columns = v.place.columns;
  if (p.g.taps() == 1) {
    for (Index y = 0; y < v.place.rows; ++y) {
      p.kernels.sum_runs(v.activations_of(y), channels, p.block.pixel_step, columns, v.pixel_sums(y));
    }
    return;
  }
  const StagedBlock& b = p.block;
  const Index in_rows = b.in_rows_of(p.g, v.place.rows), in_columns = b.in_columns_of(p.g, columns);
  const Index pitch = p.position_pitch();
  for (Index r = 0; r < in_rows; ++r) {
    if (!b.reads_row(p.g, r, v.place.rows)) continue;
    p.kernels.sum_runs(v.activations + r * b.row_step, channels, b.column_step, in_columns, v.positions() + r * pitch);
  }
  // Down the columns in place: row y * step_y is the first one that row y of the output reads, and later ones do not
  // read it.
  for (Index y = 0; y < v.place.rows; ++y) {
    std::int32_t* const row = v.positions() + y * b.step_y * pitch;
    if (p.g.kernel_h > 1) p.kernels.sum_windows(row, p.g.kernel_h, b.tap_y * pitch, 1, in_columns, row);
    p.kernels.sum_windows(row, p.g.kernel_w, b.tap_x, b.step_x, columns, v.pixel_sums(y));
  }
}

/// Planes: every position's sum over the channels, then the window's over positions.
inline void sum_planes(const BlockView& v) noexcept {
  const Plan& p = v.p;
  const DepthOrder& order = p.block.order;
  sum_line(v, p.plane_offsets.data(), order.channel_groups(), 4 * p.g.kernel_w, v.activations, p.block.plane_step / 4,
           v.positions());
  for (Index y = 0; y < v.place.rows; ++y) {
    std::int32_t* const sums = v.pixel_sums(y);
    for (Index tap = 0; tap < p.g.taps(); ++tap) {
      const Index step = tap / p.g.kernel_w * p.row_steps + tap % p.g.kernel_w;  // of the tap's first plane
      const std::int32_t* from =
          v.positions() + (y * p.block.out_row_step + p.depth.offsets[static_cast<std::size_t>(step)]) / 4;
      for (Index x = 0; x < v.place.columns; ++x) {
        sums[x] = tap == 0 ? from[x] : portable::wrapping_sum(sums[x], from[x]);
      }
    }
  }
}

/// As the tiles read them.
inline void sum_activations(const BlockView& v) noexcept {
  const Plan& p = v.p;
  const Staging staging = p.block.order.staging;
  if (staging == Staging::pixels) {
    sum_pixels(v);
  } else if (staging == Staging::planes && p.block.order.folded == 1 && p.g.taps() > 1) {
    sum_planes(v);
  } else {
    for (Index y = 0; y < v.place.rows; ++y) {
      sum_line(v, p.depth.offsets.data(), p.filter.steps, 4, v.activations_of(y), v.place.columns, v.pixel_sums(y));
    }
  }
  if (v.run.term == ZeroPointTerm::none || p.g.depth() <= deepest_unsplit_sum) return;
  for (Index y = 0; y < v.place.rows; ++y) {
    std::int32_t* const sums = v.pixel_sums(y);
    for (Index x = 0; x < v.place.columns; ++x) sums[x] = split16(sums[x]);
  }
}

}  // namespace fast::qlc::tiled
DMLREF_END
