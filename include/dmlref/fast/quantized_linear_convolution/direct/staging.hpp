// staging.hpp: rows of a direct convolution's input to a task's memory, and its lines of lanes to the output.
#pragma once

#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/plan.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/rows.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

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
      stage_rows(t, copy_row);
    } else if (!plan.by_channels && column_step == 2) {
      stage_rows(t, copy_every_second);
    } else {  // columns that are apart in memory, of a byte each or of a chunk's channels
      stage_rows(t, [&](const std::uint8_t* src, Index, std::uint8_t flip, std::uint8_t* dst) {
        for (Index x = 0; x < phase.columns; ++x, src += column_step, dst += chunk.pitch) {
          copy_row(src, chunk.count, flip, dst);
          if (chunk.count == chunk.pitch) continue;
          std::memset(dst + chunk.count, t.fill, static_cast<std::size_t>(chunk.pitch - chunk.count));
        }
      });
    }
    t.dst += chunk.plane_bytes;
  }
  std::memset(to + planes * t.dst_plane_step, h.fill, slack);
}

inline void unstage_pixels(const Plan& plan, const Band& band, const std::uint8_t* lines, Index planes,
                           std::uint8_t* out) noexcept {
  UnstageArgs t;
  t.src = lines;
  t.row_step = plan.lane_pitch;
  t.plane_step = plan.line_bytes;
  t.planes = planes;
  t.rows = band.rows;
  t.width = band.columns;
  t.dst = out;
  t.dst_step = plan.g.out.x;
  t.dst_row_step = plan.g.out.y;
  t.dst_plane_step = plan.g.out.c;
  unstage_rows(t);
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
  UnstageArgs t;
  t.src = line;
  t.plane_step = plan.lane_pitch * chunk.pitch;
  t.planes = band.rows;
  t.dst = out;
  t.dst_step = plan.lane_outputs * plan.g.out.c;
  t.dst_plane_step = plan.g.out.y;
  if (t.dst_step == 1 && plan.g.out.x == chunk.count && chunk.pitch == chunk.count) {
    t.rows = 1;
    t.width = band.columns * chunk.count;
  } else {
    t.row_step = chunk.pitch;
    t.rows = band.columns;
    t.width = chunk.count;
    t.dst_row_step = plan.g.out.x;
  }
  unstage_rows(t);
}

}  // namespace fast::qlc::direct
DMLREF_END
