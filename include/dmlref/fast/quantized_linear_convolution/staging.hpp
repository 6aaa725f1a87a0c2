// staging.hpp: how the activations of a block of output pixels are laid out for the tiles, and the order of K that
// follows.
//
// planes   channels far apart (NCHW): `group` channels are interleaved, so that one load brings their values at
//          neighbouring pixels:          plane of channels | input row | column phase | column | channel in group
//          With a horizontal stride s the columns are dealt into s phases: a tap's pixels are neighbours again.
// windows  1 to 3 channels: the group is made of horizontal neighbours instead:
//                                        channel | input row | window position | column in group
// pixels   channels side by side (NHWC): input row | column | channel; the taps of one kernel row are one run of bytes.
//          Where the input needs neither padding nor conversion it is read in place (`direct`).
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/blocks.hpp"
#include "dmlref/fast/quantized_linear_convolution/geometry.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/kernels.hpp"

DMLREF_BEGIN
namespace fast::qlc {

enum class Staging { planes, windows, pixels };

/// The order in which K is walked: step by step, `group` elements each.
struct DepthOrder {
  Staging staging;
  Index group, channels, kernel_h, kernel_w;
  bool joined;  // pixels: the columns of a kernel row follow each other without a gap (no dilation)

  /// Pixels whose distance would be a multiple of 1024 bytes meet in few sets of the L1 cache: staged with gaps.
  bool apart() const noexcept { return staging == Staging::pixels && group == 2 && !joined && channels % 512 == 0; }
  Index channel_groups() const noexcept { return ceil_div(channels, group); }
  Index column_groups() const noexcept { return ceil_div(kernel_w, group); }
  Index run() const noexcept { return ceil_div(joined ? kernel_w * channels : channels, group); }
  Index steps() const noexcept {
    switch (staging) {
      case Staging::planes: return channel_groups() * kernel_h * kernel_w;
      case Staging::windows: return channels * kernel_h * column_groups();
      case Staging::pixels: return kernel_h * (joined ? 1 : kernel_w) * run();
    }
    return 0;
  }

  /// How many steps' groups follow each other without a gap, or 0.
  Index run_of_steps(Index stride_x) const noexcept {
    if (staging == Staging::windows) return stride_x == group ? column_groups() : 0;
    return staging == Staging::pixels ? run() : 0;
  }

  struct Element {
    Index channel, y, x;
  };
  /// Steps of one row of the kernel; rows follow each other, so that those in the padding can be left out.
  Index row_steps() const noexcept { return steps() / kernel_h; }
  /// What lies at element e of a step; false for filling.
  bool locate(Index step, Index e, Element& at) const noexcept {
    if (staging == Staging::planes) {
      at = {step % row_steps() / kernel_w * group + e, step / row_steps(), step % kernel_w};
      return at.channel < channels;
    }
    if (staging == Staging::windows) {
      at = {step % row_steps() / column_groups(), step / row_steps(), step % column_groups() * group + e};
      return at.x < kernel_w;
    }
    const Index tap = step / run();
    const Index element = step % run() * group + e;
    if (joined) {
      at = {element % channels, tap, element / channels};
      return at.x < kernel_w;
    }
    at = {element, tap / kernel_w, tap % kernel_w};
    return at.channel < channels;
  }
};

/// The staged block of `rows` x `columns` output pixels; distances in bytes.
struct StagedBlock {
  DepthOrder order;
  Index rows = 0, columns = 0;        // output pixels, at most
  Index in_rows = 0, in_columns = 0;  // input rows and columns under them
  Index phases = 1;                   // planes: column phases
  Index phase_columns = 0;            // planes and windows: groups in a row (of one phase)
  Index pixel_step = 0, row_step = 0, plane_step = 0;
  Index column_step = 0;   // pixels: from an input column to the next one's
  Index out_row_step = 0;  // from an output row to the next one's
  Index bytes = 0;         // 0 where the input is read in place
  Index row_bytes = 0;     // scratch while staging: an input row with its padding, as groups
  bool direct = false;
};

inline StagedBlock make_staged_block(const Geometry& g, const DepthOrder& order, Index rows, Index columns,
                                     bool direct) noexcept {
  StagedBlock b;
  b.order = order;
  b.rows = rows;
  b.columns = columns;
  b.direct = direct;
  b.in_rows = (rows - 1) * g.stride_y + (g.kernel_h - 1) * g.dilation_y + 1;
  b.in_columns = (columns - 1) * g.stride_x + (g.kernel_w - 1) * g.dilation_x + 1;
  const Index slack = 512;  // tiles load whole vectors
  const Index element = 4 / order.group;
  if (order.staging == Staging::pixels) {
    if (direct) {
      b.column_step = g.in.x;
      b.row_step = g.in.y;
    } else {
      b.column_step = g.in_channels * element;
      if (order.apart()) b.column_step += 64;
      b.row_step = b.column_step * b.in_columns;
      if (order.group == 2) b.row_step = round_up(b.row_step, 4);  // groups that do not straddle lines
      b.bytes = b.in_rows * b.row_step + slack;
    }
    b.pixel_step = b.column_step * g.stride_x;
  } else if (order.staging == Staging::windows) {
    b.pixel_step = 4;
    b.phase_columns = columns + (order.column_groups() - 1) * order.group / g.stride_x;
    b.row_step = 4 * b.phase_columns;
    b.plane_step = b.row_step * b.in_rows;
    b.bytes = b.plane_step * order.channels + slack;
    b.row_bytes = round_up((b.phase_columns - 1) * g.stride_x + order.group + 64, 64);
  } else {
    b.pixel_step = 4;
    b.phases = g.kernel_w == 1 ? 1 : g.stride_x < b.in_columns ? g.stride_x : b.in_columns;
    b.phase_columns = columns + (g.kernel_w - 1) * g.dilation_x / g.stride_x;
    if (order.group == 2) b.phase_columns = round_up(b.phase_columns, 8);  // vectors that do not straddle lines
    b.row_step = 4 * b.phases * b.phase_columns;
    b.plane_step = b.row_step * b.in_rows;
    b.bytes = b.plane_step * order.channel_groups() + slack;
    b.row_bytes = 4 * round_up(g.stride_x * b.phase_columns + 64, 64) + 256;
  }
  b.out_row_step = g.stride_y * b.row_step;
  return b;
}

/// Byte offset of every step's group from the first one's, for the pixel at the block's corner.
inline std::vector<std::int32_t> step_offsets(const Geometry& g, const StagedBlock& b) {
  std::vector<std::int32_t> offsets;
  const DepthOrder& order = b.order;
  const Index steps = order.steps();
  offsets.reserve(static_cast<std::size_t>(steps));
  for (Index step = 0; step < steps; ++step) {
    Index offset = 0;
    if (order.staging == Staging::planes) {
      const Index column = step % g.kernel_w * g.dilation_x;
      offset = step % order.row_steps() / g.kernel_w * b.plane_step +
               step / order.row_steps() * g.dilation_y * b.row_step +
               4 * (column % g.stride_x * b.phase_columns + column / g.stride_x);
    } else if (order.staging == Staging::windows) {
      offset = step % order.row_steps() / order.column_groups() * b.plane_step +
               step / order.row_steps() * g.dilation_y * b.row_step +
               4 * (step % order.column_groups() * order.group / g.stride_x);
    } else {
      const Index tap = step / order.run();
      const Index y = order.joined ? tap : tap / g.kernel_w;
      const Index x = order.joined ? 0 : tap % g.kernel_w;
      offset = y * g.dilation_y * b.row_step + x * g.dilation_x * b.column_step + 4 * (step % order.run());
    }
    offsets.push_back(static_cast<std::int32_t>(offset));
  }
  return offsets;
}

/// Copies `count` values of an input row from column `first` on, `step` columns apart, to dst; zero_point outside.
inline void gather_row(const std::uint8_t* row, Index width, Index column_step, Index first, Index step, Index count,
                       std::uint8_t zero_point, std::uint8_t* dst) noexcept {
  Index i = 0;
  if (first < 0) {
    const Index before = ceil_div(-first, step);
    for (; i < count && i < before; ++i) dst[i] = zero_point;
  }
  const Index end = first >= width ? 0 : (width - first + step - 1) / step;  // columns at or past `width` begin here
  const Index inside = end < count ? end : count;
  if (step * column_step == 1 && inside > i) {
    std::memcpy(dst + i, row + (first + i), static_cast<std::size_t>(inside - i));
    i = inside;
  } else {
    const Index stride = step * column_step;
    const std::uint8_t* at = row + (first + i * step) * column_step;
    for (; i < inside; ++i, at += stride) dst[i] = *at;
  }
  if (i < count) std::memset(dst + i, zero_point, static_cast<std::size_t>(count - i));
}

/// One input row of all channels; `width` is 0 for a row of padding.
inline void stage_planes(const Geometry& g, const StagedBlock& b, const Kernels& kernels, const std::uint8_t* row,
                         Index width, Index first_column, std::uint8_t zero_point, std::uint8_t flip,
                         std::uint8_t* scratch, std::uint8_t* to) noexcept {
  const Index group = b.order.group;
  if (width == 0 || g.in.x == 1) {
    // Straight from the input; what lies outside is filled with groups of zero points. A stride deals the groups out.
    const Index columns = g.stride_x * b.phase_columns;
    const auto clamped = [&](Index column) { return column < 0 ? 0 : column > columns ? columns : column; };
    const Index begin = width == 0 ? columns : clamped(-first_column);
    const Index end = width == 0 ? columns : clamped(width - first_column);
    const std::uint32_t shifted = static_cast<std::uint8_t>(zero_point ^ flip);
    const std::uint32_t filling = shifted * (group == 4 ? 0x01010101u : 0x00010001u);
    const auto fill = [&](std::uint8_t* at) { std::memcpy(at, &filling, 4); };
    for (Index c = 0; c < g.in_channels; c += group, to += b.plane_step) {
      std::uint8_t* groups = g.stride_x == 1 ? to : scratch;
      for (Index i = 0; i < begin; ++i) fill(groups + 4 * i);
      if (begin < end) {
        const std::uint8_t* rows[4];
        for (Index e = 0; e < 4; ++e) {
          rows[e] = row + (c + e < g.in_channels ? c + e : c) * g.in.c + (first_column + begin);
        }
        kernels.interleave(rows, end - begin, flip, groups + 4 * begin);
      }
      for (Index i = begin < end ? end : begin; i < columns; ++i) fill(groups + 4 * i);
      if (g.stride_x == 1) continue;
      for (Index phase = 0; phase < b.phases; ++phase) {
        kernels.deal(scratch + 4 * phase, g.stride_x, b.phase_columns, to + 4 * phase * b.phase_columns);
      }
    }
    return;
  }
  const Index pitch = (b.row_bytes - 256) / 4;
  for (Index c = 0; c < g.in_channels; c += group, to += b.plane_step) {
    const std::uint8_t* rows[4] = {scratch, scratch, scratch, scratch};
    for (Index e = 0; e < group && c + e < g.in_channels; ++e) {
      rows[e] = scratch + e * pitch;
      for (Index phase = 0; phase < b.phases; ++phase) {
        gather_row(row + (c + e) * g.in.c, width, g.in.x, first_column + phase, g.stride_x, b.phase_columns, zero_point,
                   scratch + e * pitch + phase * b.phase_columns);
      }
    }
    kernels.interleave(rows, b.phases * b.phase_columns, flip, to);
  }
}

/// Whether some output row reads input row `r` of a block: a stride beyond the kernel's reach leaves rows out.
inline bool row_is_read(const Geometry& g, Index r) noexcept {
  bool read = g.stride_y == 1;
  for (Index ky = 0; ky < g.kernel_h && !read; ++ky) {
    const Index from = r - ky * g.dilation_y;
    read = from >= 0 && from % g.stride_y == 0;
  }
  return read;
}

/// Stages the block at `place`. `input` is the image's group of channels, `scratch` holds row_bytes.
inline void stage(const Geometry& g, const StagedBlock& b, const Kernels& kernels, const std::uint8_t* input,
                  const BlockPlace& place, std::uint8_t zero_point, std::uint8_t flip, std::uint8_t* scratch,
                  std::uint8_t* staged) noexcept {
  const Index first_row = place.y * g.stride_y - g.pad_y;
  const Index first_column = place.x * g.stride_x - g.pad_x;
  const Index in_rows = (place.rows - 1) * g.stride_y + (g.kernel_h - 1) * g.dilation_y + 1;
  const Index group = b.order.group;
  for (Index r = 0; r < in_rows; ++r) {
    if (!row_is_read(g, r)) continue;
    const Index y = first_row + r;
    const bool outside = y < 0 || y >= g.height;
    const Index width = outside ? 0 : g.width;
    const std::uint8_t* row = input + (outside ? 0 : y) * g.in.y;
    if (b.order.staging == Staging::planes) {
      stage_planes(g, b, kernels, row, width, first_column, zero_point, flip, scratch, staged + r * b.row_step);
    } else if (b.order.staging == Staging::windows) {
      const Index count = (b.phase_columns - 1) * g.stride_x + group;
      for (Index c = 0; c < g.in_channels; ++c) {
        gather_row(row + c * g.in.c, width, g.in.x, first_column, 1, count, zero_point, scratch);
        kernels.windows(scratch, b.phase_columns, g.stride_x, flip, staged + c * b.plane_step + r * b.row_step);
      }
    } else {
      const Index in_columns = (place.columns - 1) * g.stride_x + (g.kernel_w - 1) * g.dilation_x + 1;
      const Index channels = g.in_channels;
      const Index element = 4 / group;
      const Index step = b.column_step;
      std::uint8_t* to = staged + r * b.row_step;
      const std::uint32_t shifted = static_cast<std::uint8_t>(zero_point ^ flip);
      const auto fill = [&](Index from, Index until) {
        const std::uint32_t filling = shifted * (element == 1 ? 0x01010101u : 0x00010001u);
        Index i = from * step;
        for (; i + 4 <= until * step; i += 4) std::memcpy(to + i, &filling, 4);
        if (i < until * step) std::memcpy(to + i, &filling, static_cast<std::size_t>(until * step - i));
      };
      const auto clamped = [&](Index column) { return column < 0 ? 0 : column > in_columns ? in_columns : column; };
      const Index begin = clamped(-first_column);
      const Index end = outside                                   ? begin
                        : clamped(g.width - first_column) < begin ? begin
                                                                  : clamped(g.width - first_column);
      fill(0, begin);
      if (end > begin && g.in.c != 1) {
        kernels.gather_pixels(
            {row + (first_column + begin), g.in.c, channels, end - begin, flip, to + begin * step, step});
      } else if (end > begin && g.in.x == channels && step == channels * element) {
        kernels.convert(row + (first_column + begin) * channels, (end - begin) * channels, flip, to + begin * step);
      } else {
        for (Index x = begin; x < end; ++x) {
          kernels.convert(row + (first_column + x) * g.in.x, channels, flip, to + x * step);
        }
      }
      fill(end, in_columns);
    }
  }
}

}  // namespace fast::qlc
DMLREF_END
