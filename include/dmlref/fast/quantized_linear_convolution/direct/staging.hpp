// staging.hpp: rows of a direct convolution's input to a task's memory, and its lines of lanes to the output.
#pragma once

#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/interleave.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/plan.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

/// Rows whose columns are apart in memory: pixel by pixel.
inline void stage_elements(const Plan& plan, const Chunk& chunk, const BandPhase& phase, const StageArgs& t,
                           Index column_step) noexcept {
  for (Index p = 0; p < t.planes; ++p) {
    std::uint8_t* to = t.dst + p * t.dst_plane_step;
    std::uint8_t* const end = to + t.plane_bytes;
    std::memset(to, t.fill, static_cast<std::size_t>(t.before));
    to += t.before;
    for (Index r = 0; r < t.rows; ++r, to += t.pitch) {
      const std::uint8_t* src = t.src + p * t.plane_step + r * t.row_step;
      if (plan.by_channels) {  // a pixel's channels are a row of their own
        StageArgs pixels = t;
        pixels.src = src;
        pixels.planes = 1;
        pixels.rows = phase.columns;
        pixels.row_step = column_step;
        pixels.width = chunk.count;
        pixels.pitch = chunk.pitch;
        pixels.before = 0;
        pixels.dst = to;
        pixels.plane_bytes = larger(t.pitch, t.width + 64);
        plan.kernels.stage(pixels);
      } else {
        for (Index x = 0; x < t.width; ++x) to[x] = static_cast<std::uint8_t>(src[x * column_step] ^ t.flip);
        std::memset(to + t.width, t.fill, static_cast<std::size_t>(t.pitch - t.width));
      }
    }
    std::memset(to, t.fill, static_cast<std::size_t>(end - to));
  }
}

/// All phases of `planes` channels (or of a chunk of channels) of the input under `band`.
inline void stage(const Plan& plan, const Chunk& chunk, const Band& band, const FoldedHeader& h,
                  const std::uint8_t* input, Index planes, std::uint8_t* to) noexcept {
  StageArgs t;
  t.row_step = plan.g.stride_y * plan.g.in.y;
  t.plane_step = plan.g.in.c;
  t.pitch = plan.staged_columns / plan.deal * chunk.pitch;
  t.plane_bytes = chunk.plane_bytes;
  t.fill = h.fill;
  t.flip = h.input_flip;
  t.dst_plane_step = plan.phases() * chunk.plane_bytes;
  const Index column_step = plan.deal * plan.g.in.x;
  const bool run_of_bytes = column_step == chunk.count && chunk.pitch == chunk.count;
  t.dst = to;
  for (const BandPhase& phase : band.phases) {
    t.src = input + phase.source;
    t.planes = planes;
    t.rows = phase.rows;
    t.before = phase.columns_before * chunk.pitch + phase.rows_before * t.pitch;
    t.width = phase.columns * chunk.pitch;
    if (run_of_bytes || phase.rows == 0) {
      plan.kernels.stage(t);
    } else if (!plan.by_channels && column_step == 2) {
      plan.kernels.stage_even(t);
    } else {
      stage_elements(plan, chunk, phase, t, column_step);
    }
    t.dst += chunk.plane_bytes;
  }
  std::memset(to + planes * t.dst_plane_step, h.fill, slack);
}

inline void unstage_pixels(const Plan& plan, const Band& band, const std::uint8_t* lines, Index planes,
                           std::uint8_t* out) noexcept {
  if (plan.g.out.x == 1) {
    UnstageArgs t;
    t.src = lines;
    t.row_step = plan.lane_pitch;
    t.plane_step = plan.line_bytes;
    t.planes = planes;
    t.rows = band.rows;
    t.width = band.columns;
    t.dst = out;
    t.dst_row_step = plan.g.out.y;
    t.dst_plane_step = plan.g.out.c;
    plan.kernels.unstage(t);
    return;
  }
  for (Index p = 0; p < planes; ++p) {
    for (Index y = 0; y < band.rows; ++y) {
      for (Index x = 0; x < band.columns; ++x) {
        out[p * plan.g.out.c + y * plan.g.out.y + x * plan.g.out.x] =
            lines[p * plan.line_bytes + y * plan.lane_pitch + x];
      }
    }
  }
}

/// Several lines, one per output of a group, whose channels are neighbours in memory.
inline void unstage_interleaved(const Plan& plan, const Chunk& chunk, const Band& band, const std::uint8_t* lines,
                                Index line_bytes, std::uint8_t* out) noexcept {
  const bool run_of_bytes = plan.g.out.x == chunk.count * plan.lane_outputs && chunk.pitch == chunk.count;
  for (Index y = 0; y < band.rows; ++y) {
    const std::uint8_t* row = lines + y * plan.lane_pitch * chunk.pitch;
    std::uint8_t* to = out + y * plan.g.out.y;
    if (run_of_bytes) {
      interleave(row, line_bytes, plan.lane_outputs, band.columns * chunk.count, to);
      continue;
    }
    for (Index x = 0; x < band.columns; ++x) {
      interleave(row + x * chunk.pitch, line_bytes, plan.lane_outputs, chunk.count, to + x * plan.g.out.x);
    }
  }
}

inline void unstage_channels(const Plan& plan, const Chunk& chunk, const Band& band, const std::uint8_t* line,
                             std::uint8_t* out) noexcept {
  const Index channel_step = plan.lane_outputs * plan.g.out.c;
  const Index row = plan.lane_pitch * chunk.pitch;
  UnstageArgs t;
  t.src = line;
  t.dst = out;
  if (channel_step == 1 && plan.g.out.x == chunk.count && chunk.pitch == chunk.count) {
    t.row_step = row;
    t.rows = band.rows;
    t.width = band.columns * chunk.count;
    t.dst_row_step = plan.g.out.y;
    plan.kernels.unstage(t);
    return;
  }
  for (Index y = 0; y < band.rows; ++y) {
    if (channel_step == 1) {
      t.src = line + y * row;
      t.row_step = chunk.pitch;
      t.rows = band.columns;
      t.width = chunk.count;
      t.dst = out + y * plan.g.out.y;
      t.dst_row_step = plan.g.out.x;
      plan.kernels.unstage(t);
      continue;
    }
    for (Index x = 0; x < band.columns; ++x) {
      for (Index c = 0; c < chunk.count; ++c) {
        out[y * plan.g.out.y + x * plan.g.out.x + c * channel_step] = line[y * row + x * chunk.pitch + c];
      }
    }
  }
}

}  // namespace fast::qlc::direct
DMLREF_END
