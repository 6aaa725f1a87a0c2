// staging.hpp: how the activations of a block of output pixels are laid out for the tiles, and the order of K that
// follows.
//
// planes   channels far apart (NCHW): `group` channels are interleaved, so that one load brings their values at
//          neighbouring pixels:          plane of channels | input row | column phase | column | channel in group
//          With a horizontal stride s the columns are de-interleaved into s phases: a tap's pixels are neighbours
//          again. Where few channels do not fill their groups, s neighbouring columns are one of s times as many
//          channels (`folded`, space to depth).
// windows  1 to 3 channels: the group is made of horizontal neighbours instead:
//                                        channel | input row | window position | column in group
// pixels   channels side by side (NHWC): input row | column | channel; the taps of one kernel row are one run of bytes.
//          Where the input needs neither padding nor conversion it is read in place (`direct`).
//
// Where a block's windows leave out most of the rows that they reach over, or columns, as taps or pixels are far apart,
// each kernel row has the rows that it reads, and no others (`rows_by_tap`), each kernel column its columns.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/blocks.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/rows.hpp"
#include "dmlref/view/narrow.hpp"

DMLREF_BEGIN
namespace fast::qlc {

enum class Staging { planes, windows, pixels };

/// The order in which K is walked: step by step, `group` elements each.
struct DepthOrder {
  Staging staging;
  Index group, channels, kernel_h, kernel_w;
  bool joined;       // pixels: the columns of a kernel row follow each other without a gap (no dilation)
  Index folded = 1;  // planes: so many neighbouring columns are one; the stride, where more than 1

  /// Pixels whose distance would be a multiple of 1024 bytes meet in few sets of the L1 cache: staged with gaps.
  bool apart() const noexcept { return staging == Staging::pixels && group == 2 && !joined && channels % 512 == 0; }
  Index channel_groups() const noexcept { return ceil_div(folded * channels, group); }
  Index column_groups() const noexcept { return ceil_div(kernel_w, group); }
  Index run() const noexcept { return ceil_div(joined ? kernel_w * channels : channels, group); }
  Index steps() const noexcept {
    switch (staging) {
      case Staging::planes:
        return kernel_h * (kernel_w / folded * channel_groups() + ceil_div(kernel_w % folded * channels, group));
      case Staging::windows: return channels * kernel_h * column_groups();
      case Staging::pixels: return kernel_h * (joined ? 1 : kernel_w) * run();
    }
    return 0;
  }

  /// Steps of one row of the kernel; rows follow each other, so that those in the padding can be left out.
  Index row_steps() const noexcept { return steps() / kernel_h; }
};

/// The staged block of `rows` x `columns` output pixels; distances in bytes.
struct StagedBlock {
  DepthOrder order;
  Index rows = 0, columns = 0;  // output pixels, at most
  bool rows_by_tap = false, columns_by_tap = false;
  Index in_rows = 0, in_columns = 0;  // staged rows and columns under them, not all of which need be read
  Index step_y = 1, step_x = 1;       // of these, from an output pixel to the next one
  Index tap_y = 1, tap_x = 1;         // and from a tap to the next one
  Index phases = 1;                   // planes: column phases
  Index phase_columns = 0;            // planes and windows: groups in a row (of one phase)
  Index pixel_step = 0, row_step = 0, plane_step = 0;
  Index column_step = 0;   // pixels: from an input column to the next one's
  Index out_row_step = 0;  // from an output row to the next one's
  Index bytes = 0;         // 0 where the input is read in place
  Index row_bytes = 0;     // scratch while staging: an input row with its padding, as groups
  bool direct = false;

  /// Staged rows under so many output rows.
  Index in_rows_of(const Geometry& g, Index out_rows) const noexcept {
    return (out_rows - 1) * step_y + (g.kernel_h - 1) * tap_y + 1;
  }
  Index in_columns_of(const Geometry& g, Index out_columns) const noexcept {
    return (out_columns - 1) * step_x + (g.kernel_w - 1) * tap_x + 1;
  }
  /// Whether one of `out_rows` output rows reads staged row `r`.
  bool reads_row(const Geometry& g, Index r, Index out_rows) const noexcept {
    return rows_by_tap ? r % tap_y < out_rows : row_is_read(g, r);
  }
};

inline StagedBlock make_staged_block(const Geometry& g, const DepthOrder& order, Index rows, Index columns,
                                     bool direct) noexcept {
  StagedBlock b;
  b.order = order;
  b.rows = rows;
  b.columns = columns;
  b.direct = direct;
  const auto mostly_unread = [](Index pixels, Index stride, Index taps, Index dilation) {
    return (pixels - 1) * stride + (taps - 1) * dilation + 1 > 2 * taps * pixels;
  };
  b.rows_by_tap = !direct && mostly_unread(rows, g.stride_y, g.kernel_h, g.dilation_y);
  b.step_y = b.rows_by_tap ? 1 : g.stride_y;
  b.tap_y = b.rows_by_tap ? rows : g.dilation_y;
  b.columns_by_tap = !direct && order.staging != Staging::windows && (g.kernel_w == 1 || !order.joined) &&
                     mostly_unread(columns, g.stride_x, g.kernel_w, g.dilation_x);
  b.step_x = b.columns_by_tap ? 1 : g.stride_x;
  b.tap_x = b.columns_by_tap ? columns : g.dilation_x;
  b.in_rows = b.in_rows_of(g, rows);
  b.in_columns = b.in_columns_of(g, columns);
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
      if (b.columns_by_tap) b.row_bytes = round_up(g.in_channels + 64, 64);  // a pixel
    }
    b.pixel_step = b.column_step * b.step_x;
  } else if (order.staging == Staging::windows) {
    b.pixel_step = 4;
    b.phase_columns = columns + (order.column_groups() - 1) * order.group / g.stride_x;
    b.row_step = 4 * b.phase_columns;
    b.plane_step = b.row_step * b.in_rows;
    b.bytes = b.plane_step * order.channels + slack;
    b.row_bytes = round_up((b.phase_columns - 1) * g.stride_x + order.group + 64, 64);
  } else {
    b.pixel_step = 4;
    b.phases = g.kernel_w == 1 || order.folded > 1 ? 1 : smaller(b.step_x, b.in_columns);
    b.phase_columns = columns + (g.kernel_w - 1) * b.tap_x / b.step_x;
    if (order.group == 2) b.phase_columns = round_up(b.phase_columns, 8);  // vectors that do not straddle lines
    b.row_step = 4 * b.phases * b.phase_columns;
    b.plane_step = b.row_step * b.in_rows;
    b.bytes = b.plane_step * order.channel_groups() + slack;
    b.row_bytes = 4 * round_up(b.step_x * b.phase_columns + 64, 64) + 256;
  }
  b.out_row_step = b.step_y * b.row_step;
  return b;
}

/// Stands for padding in place of an element's offset, which may be below 0.
inline constexpr Index no_element = (std::numeric_limits<Index>::min)();

/// The steps of K in their order.
struct DepthTables {
  std::vector<std::int32_t> offsets;  // bytes from the first step's group to each one's, in a staged block
  std::vector<Index> elements;  // where the `group` elements of each step lie in a channel's filter, or no_element
};

inline DepthTables depth_tables(const Geometry& g, const StagedBlock& b) {
  const DepthOrder& order = b.order;
  DepthTables tables;
  tables.offsets.reserve(static_cast<std::size_t>(order.steps()));
  tables.elements.reserve(static_cast<std::size_t>(order.steps() * order.group));
  const auto weight = [&](bool there, Index c, Index y, Index x) {
    return there ? c * g.filter.c + y * g.filter.y + x * g.filter.x : no_element;
  };
  const auto add = [&](Index offset, auto element) {
    // Within a staged block (Plan::usable), or within the reach of what is read in place (is_read_in_place).
    tables.offsets.push_back(dmlref::detail::narrow<std::int32_t>(offset));
    for (Index e = 0; e < order.group; ++e) tables.elements.push_back(element(e));
  };
  for (Index y = 0; y < g.kernel_h; ++y) {
    const Index row = y * b.tap_y * b.row_step;
    if (order.staging == Staging::planes) {
      const Index channels = g.in_channels;
      for (Index c = 0; c < order.folded * channels; c += order.group) {
        for (Index x = 0; x + c / channels < g.kernel_w; x += order.folded) {
          const Index column = x * b.tap_x;
          const Index place = column % b.step_x * b.phase_columns + column / b.step_x;
          add(row + c / order.group * b.plane_step + 4 * place, [&](Index e) {
            const Index of = (c + e) / channels;  // the column, of those that are folded
            return weight(of < order.folded && x + of < g.kernel_w, (c + e) % channels, y, x + of);
          });
        }
      }
    } else if (order.staging == Staging::windows) {
      for (Index c = 0; c < g.in_channels; ++c) {
        for (Index x = 0; x < g.kernel_w; x += order.group) {
          add(row + c * b.plane_step + 4 * (x / g.stride_x),
              [&](Index e) { return weight(x + e < g.kernel_w, c, y, x + e); });
        }
      }
    } else {
      const Index run = order.joined ? g.kernel_w * g.in_channels : g.in_channels;  // elements
      for (Index x = 0; x < g.kernel_w; x += order.joined ? g.kernel_w : 1) {
        for (Index i = 0; i < run; i += order.group) {
          add(row + x * b.tap_x * b.column_step + i * 4 / order.group,
              [&](Index e) { return weight(i + e < run, (i + e) % g.in_channels, y, x + (i + e) / g.in_channels); });
        }
      }
    }
  }
  return tables;
}

/// What all rows of a block share.
struct StagingArgs {
  const Geometry& g;
  const StagedBlock& block;
  const Kernels& kernels;
  std::uint8_t zero_point, flip;
  std::uint8_t* scratch;  // row_bytes

  /// A group of padding.
  std::uint32_t padding() const noexcept {
    const std::uint32_t shifted = static_cast<std::uint8_t>(zero_point ^ flip);
    return shifted * (block.order.group == 4 ? 0x01010101u : 0x00010001u);
  }
};

/// An input row of all channels, from column `first` on, which may be below 0.
struct InputRow {
  const std::uint8_t* at;
  Index width;  // 0: padding
  Index first;

  /// Columns [begin, end) of `count` are inside.
  Index begin(Index count) const noexcept { return width == 0 ? count : clamped(-first, count); }
  Index end(Index count) const noexcept {
    const Index end = width == 0 ? count : clamped(width - first, count);
    return end < begin(count) ? begin(count) : end;
  }

 private:
  static Index clamped(Index column, Index count) noexcept { return column < 0 ? 0 : column > count ? count : column; }
};

/// `count` groups that are `stride` groups apart.
inline void take_phase(const std::uint8_t* from, Index stride, Index count, std::uint8_t* to) noexcept {
  using Groups = std::uint32_t __attribute__((vector_size(16)));
  Index i = 0;
  for (; stride == 2 && i + 4 <= count; i += 4) {
    Groups low, high;
    std::memcpy(&low, from + 8 * i, sizeof low);
    std::memcpy(&high, from + 8 * i + 16, sizeof high);
    low = __builtin_shufflevector(low, high, 0, 2, 4, 6);
    std::memcpy(to + 4 * i, &low, sizeof low);
  }
  for (; i < count; ++i) std::memcpy(to + 4 * i, from + 4 * stride * i, 4);
}

/// Planes of neighbouring bytes: straight from the input. A stride de-interleaves the groups.
inline void interleave_planes(const StagingArgs& a, const InputRow& row, std::uint8_t* to) noexcept {
  const Geometry& g = a.g;
  const StagedBlock& b = a.block;
  const Index columns = g.stride_x * b.phase_columns, begin = row.begin(columns), end = row.end(columns);
  const std::uint32_t padding = a.padding();
  for (Index c = 0; c < g.in_channels; c += b.order.group, to += b.plane_step) {
    std::uint8_t* groups = g.stride_x == 1 ? to : a.scratch;
    for (Index i = 0; i < begin; ++i) std::memcpy(groups + 4 * i, &padding, 4);
    if (begin < end) {
      const std::uint8_t* rows[4];
      for (Index e = 0; e < 4; ++e) {
        rows[e] = row.at + (c + e < g.in_channels ? c + e : c) * g.in.c + (row.first + begin);
      }
      a.kernels.interleave(rows, end - begin, a.flip, groups + 4 * begin);
    }
    for (Index i = end; i < columns; ++i) std::memcpy(groups + 4 * i, &padding, 4);
    for (Index phase = 0; phase < b.phases && g.stride_x != 1; ++phase) {
      take_phase(a.scratch + 4 * phase, g.stride_x, b.phase_columns, to + 4 * phase * b.phase_columns);
    }
  }
}

/// Planes whose columns are apart, or folded: value by value, of one column phase after the other, or of one tap.
inline void gather_planes(const StagingArgs& a, const InputRow& row, std::uint8_t* to) noexcept {
  const Geometry& g = a.g;
  const StagedBlock& b = a.block;
  const Index pitch = (b.row_bytes - 256) / 4;
  const Index parts = b.columns_by_tap ? g.kernel_w : b.phases, apart = b.columns_by_tap ? g.dilation_x : 1;
  const Index count = b.columns_by_tap ? b.columns : b.phase_columns;
  Index c = 0;
  for (Index folded = 0; folded < b.order.folded; to += b.plane_step) {
    const std::uint8_t* rows[4] = {a.scratch, a.scratch, a.scratch, a.scratch};
    for (Index e = 0; e < b.order.group && folded < b.order.folded; ++e) {
      rows[e] = a.scratch + e * pitch;
      for (Index part = 0; part < parts; ++part) {
        gather_row(row.at + c * g.in.c, row.width, g.in.x, row.first + folded + part * apart, g.stride_x, count,
                   a.zero_point, a.scratch + e * pitch + part * count);
      }
      if (++c < g.in_channels) continue;
      c = 0;
      ++folded;
    }
    a.kernels.interleave(rows, parts * count, a.flip, to);
  }
}

inline void stage_windows(const StagingArgs& a, const InputRow& row, std::uint8_t* to) noexcept {
  const Geometry& g = a.g;
  const StagedBlock& b = a.block;
  const Index count = (b.phase_columns - 1) * g.stride_x + b.order.group;
  for (Index c = 0; c < g.in_channels; ++c, to += b.plane_step) {
    gather_row(row.at + c * g.in.c, row.width, g.in.x, row.first, 1, count, a.zero_point, a.scratch);
    a.kernels.windows(a.scratch, b.phase_columns, g.stride_x, a.flip, to);
  }
}

inline void stage_pixels(const StagingArgs& a, const InputRow& row, Index columns, std::uint8_t* to) noexcept {
  const Geometry& g = a.g;
  const Index channels = g.in_channels, step = a.block.column_step;
  const Index begin = row.begin(columns), end = row.end(columns);
  const std::uint32_t padding = a.padding();
  const auto pad = [&](Index from, Index until) {
    Index i = from * step;
    for (; i + 4 <= until * step; i += 4) std::memcpy(to + i, &padding, 4);
    if (i < until * step) std::memcpy(to + i, &padding, static_cast<std::size_t>(until * step - i));
  };
  pad(0, begin);
  if (begin < end) {
    const std::uint8_t* from = row.at + (row.first + begin) * g.in.x;
    std::uint8_t* inside = to + begin * step;
    if (g.in.c != 1) {
      a.kernels.gather_pixels({from, g.in.c, channels, end - begin, a.flip, inside, step});
    } else if (g.in.x == channels && step == channels * 4 / a.block.order.group) {
      a.kernels.convert(from, (end - begin) * channels, a.flip, inside);
    } else {
      for (Index x = 0; x < end - begin; ++x) {
        a.kernels.convert(from + x * g.in.x, channels, a.flip, inside + x * step);
      }
    }
  }
  pad(end, columns);
}

/// Those that each tap reads, pixel by pixel.
inline void stage_pixels_by_tap(const StagingArgs& a, const InputRow& row, Index columns, std::uint8_t* to) noexcept {
  const Geometry& g = a.g;
  const Index channels = g.in_channels;
  for (Index kx = 0; kx < g.kernel_w; ++kx) {
    std::uint8_t* at = to + kx * a.block.tap_x * a.block.column_step;
    for (Index i = 0; i < columns; ++i, at += a.block.column_step) {
      const Index x = row.first + kx * g.dilation_x + i * g.stride_x;
      const std::uint8_t* from = a.scratch;
      if (x < 0 || x >= row.width) {
        std::memset(a.scratch, a.zero_point, static_cast<std::size_t>(channels));
      } else if (g.in.c == 1) {
        from = row.at + x * g.in.x;
      } else {
        for (Index c = 0; c < channels; ++c) a.scratch[c] = row.at[c * g.in.c + x * g.in.x];
      }
      a.kernels.convert(from, channels, a.flip, at);
    }
  }
}

/// Stages the block at `place`. `input` is the image's group of channels.
inline void stage(const StagingArgs& a, const std::uint8_t* input, const BlockPlace& place,
                  std::uint8_t* staged) noexcept {
  const Geometry& g = a.g;
  const StagedBlock& b = a.block;
  const Index first_row = place.y * g.stride_y - g.pad_y;
  const Index rows = b.in_rows_of(g, place.rows), columns = b.in_columns_of(g, place.columns);
  for (Index r = 0; r < rows; ++r) {
    if (!b.reads_row(g, r, place.rows)) continue;
    const Index y = first_row + (b.rows_by_tap ? r / b.tap_y * g.dilation_y + r % b.tap_y * g.stride_y : r);
    const bool outside = y < 0 || y >= g.height;
    const InputRow row{input + (outside ? 0 : y) * g.in.y, outside ? 0 : g.width, place.x * g.stride_x - g.pad_x};
    std::uint8_t* const to = staged + r * b.row_step;
    switch (b.order.staging) {
      case Staging::planes:
        if (!b.columns_by_tap && b.order.folded == 1 && (outside || g.in.x == 1)) {
          interleave_planes(a, row, to);
        } else {
          gather_planes(a, row, to);
        }
        break;
      case Staging::windows: stage_windows(a, row, to); break;
      case Staging::pixels:
        if (b.columns_by_tap) {
          stage_pixels_by_tap(a, row, place.columns, to);
        } else {
          stage_pixels(a, row, columns, to);
        }
        break;
    }
  }
}

}  // namespace fast::qlc
DMLREF_END
