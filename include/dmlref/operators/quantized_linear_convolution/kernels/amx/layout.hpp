// layout.hpp: how the input of a block of output pixels is laid out for AMX's tiles, and the order of K that follows.
//
// A tile register holds 16 rows of 64 bytes. One operand has 16 rows of 64 neighbouring values of K, the other, for 16
// columns, 16 rows of 4 values of K for each. Both are loaded with a distance between rows, so that the activations may
// be either, and K may go on wherever that distance leads. There are three layouts:
//
// PanelPlanes    NCHW: a pixel is a column. A line is 4 values of K, a K-group, of 16 output pixels: 64 bytes. Each
//                kernel column has lines of its own, shifted:
//                  16 pixels of a row | input row | kernel column | 4 channels | pixel | channel
//                so that all lines of a kernel row, or of all kernel rows, follow each other. Of few channels a K-group
//                is 4 neighbouring columns of one channel instead.
// JoinedPlanes   NCHW, where rows of pixels are short: lines have the pixels of all rows, and tiles go on over the ends
//                of rows:
//                  kernel column | 4 channels | input row | pixel | channel
// PixelRows      NHWC: a pixel is a row of 64 bytes of
//                  input row | column | channel
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/int8/amx/products.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"

DMLREF_BEGIN
namespace fast::qlc::amx {

/// Values of K at one distance from each pixel, one after the other: of a row of the kernel, or of all.
struct Segment {
  Index ky, kx;  // where it begins in the kernel
  Index offset;  // bytes from the pixel's first value
  Index bytes;
};

/// 64 values of a segment, not all of them padding.
struct KBlock {
  Index offset;  // bytes from the pixel's first value
  Index ky, kx;  // as the segment's
  Index first;   // its first byte in the segment
  Index done;    // so many bytes of it belong to the block before
};

/// A value of K.
struct Element {
  Index channel, y, x;
};

/// Lines an odd number of cache lines apart meet in no set of the cache.
constexpr Index odd_lines(Index bytes) noexcept { return round_up(bytes, 64) | 64; }

/// The staged rows of a block, in any layout; distances in bytes.
struct StagedRows {
  Index rows, columns;                    // output pixels of a block, at most
  Index row_skip;                         // input rows from a staged row to the next one: others are not read
  Index step_y, step_x;                   // staged rows and columns from an output pixel to the next one
  Index phases = 1, phase_rows = 0;       // staged rows r, r + phases, … follow each other
  Index row_step = 0, phase_step = 0;     // from a staged row to the next one of its phase, to the next phase
  Index out_row_step = 0, tile_step = 0;  // from an output row to the next one; between the rows of a tile
  Index bytes = 0;

  StagedRows(const Geometry& g, Index block_rows, Index block_columns, Index column_skip) noexcept
      : rows(block_rows),
        columns(block_columns),
        row_skip(g.kernel_h == 1 ? g.stride_y : 1),
        step_y(g.stride_y / row_skip),
        step_x(g.stride_x / column_skip) {}

  /// Rows of one phase for each of a stride, the output rows' distance.
  void set_phases(const Geometry& g, Index row) noexcept {
    phases = step_y;
    phase_rows = ceil_div(in_rows(g, rows), phases);
    row_step = out_row_step = row;
    phase_step = row * phase_rows;
  }
  Index row_at(Index row) const noexcept { return row % phases * phase_step + row / phases * row_step; }
  /// Staged rows under so many output rows.
  Index in_rows(const Geometry& g, Index out_rows) const noexcept {
    return (out_rows - 1) * step_y + (g.kernel_h - 1) * g.dilation_y + 1;
  }
  /// Staged columns under so many output columns.
  Index in_columns(const Geometry& g, Index out_columns) const noexcept {
    return (out_columns - 1) * step_x + (g.kernel_w - 1) * g.dilation_x + 1;
  }
  /// Whether most rows or columns lie between those that are multiplied: tiles have them staged, too.
  bool mostly_unread(const Geometry& g) const noexcept {
    return in_rows(g, rows) > 4 * g.kernel_h * rows || in_columns(g, columns) > 4 * g.kernel_w * columns;
  }
};

/// Lines of K-groups.
struct PlaneLines : StagedRows {
  static constexpr bool planar = true, last_block_overlaps = true;

  Index lines;       // of a staged row
  Index panel_step;  // from 16 columns to the next 16

  PlaneLines(const Geometry& g, Index block_rows, Index block_columns, Index line_count) noexcept
      : StagedRows(g, block_rows, block_columns, 1), lines(line_count), panel_step(4 * tile_side) {}

  static Index channel_groups(const Geometry& g) noexcept { return ceil_div(g.in_channels, 4); }
  static Index column_groups(const Geometry& g) noexcept { return ceil_div(g.kernel_w, 4); }
  /// Bytes of memory for one of a segment.
  Index k_step() const noexcept { return tile_step / 4; }
  /// Lines that a single K-block reads besides.
  Index padding_lines() const noexcept { return lines < tile_side ? tile_side - lines : 0; }

 protected:
  /// The element of a line that is a kernel column's four channels.
  static Element of_channels(const Geometry& g, Index line, Index y, Index byte) noexcept {
    return {line % channel_groups(g) * 4 + byte % 4, y, line / channel_groups(g)};
  }
  static bool exists(const Geometry& g, const Element& e) noexcept {
    return e.channel < g.in_channels && e.x < g.kernel_w;
  }
};

struct JoinedPlanes : PlaneLines {
  Index width;  // positions from an output row to the next one's

  JoinedPlanes(const Geometry& g, Index pitch, Index block_rows, Index block_columns) noexcept
      : PlaneLines(g, block_rows, block_columns, g.kernel_w * channel_groups(g)), width(pitch) {
    set_phases(g, 4 * width);
    tile_step = odd_lines(phases * phase_step + 64);
    bytes = tile_step * (lines + padding_lines()) + 128;
  }
  /// Tiles of pixels in a block of `r` x `c` output pixels.
  Index tiles(Index r, Index c) const noexcept { return ceil_div((r - 1) * width + c, tile_side); }
  /// Positions whose sums those over windows are made of.
  Index summed_positions(const Geometry&) const noexcept { return phases * phase_rows * width; }

  template <class Visit>
  void each_segment(const Geometry& g, Visit visit) const {
    for (Index ky = 0; ky < g.kernel_h; ++ky) visit(Segment{ky, 0, row_at(ky * g.dilation_y), 4 * lines});
  }
  std::optional<Element> element(const Geometry& g, const KBlock& block, Index byte) const noexcept {
    const Index line = (block.first + byte) / 4;
    const Element e = of_channels(g, line, block.ky, block.first + byte);
    return line < lines && exists(g, e) ? std::optional(e) : std::nullopt;
  }
};

struct PanelPlanes : PlaneLines {
  enum class KGroup { channels, columns };
  KGroup group;

  PanelPlanes(const Geometry& g, KGroup k_group, Index block_rows, Index block_columns) noexcept
      : PlaneLines(g, block_rows, block_columns,
                   k_group == KGroup::columns ? g.in_channels * column_groups(g) : g.kernel_w * channel_groups(g)),
        group(k_group) {
    const Index staged = in_rows(g, rows);
    phase_rows = staged;
    tile_step = 4 * tile_side;
    row_step = lines * tile_step;
    out_row_step = step_y * row_step;
    panel_step = odd_lines(row_step * staged);
    bytes = panel_step * ceil_div(columns, tile_side) + tile_step * padding_lines() + 128;
  }
  Index tiles(Index r, Index c) const noexcept { return r * ceil_div(c, tile_side); }
  Index summed_positions(const Geometry&) const noexcept { return phase_rows * round_up(columns, tile_side); }

  /// All kernel rows follow each other unless they are dilated.
  template <class Visit>
  void each_segment(const Geometry& g, Visit visit) const {
    if (g.dilation_y == 1) return visit(Segment{0, 0, 0, 4 * lines * g.kernel_h});
    for (Index ky = 0; ky < g.kernel_h; ++ky) visit(Segment{ky, 0, row_at(ky * g.dilation_y), 4 * lines});
  }
  std::optional<Element> element(const Geometry& g, const KBlock& block, Index byte) const noexcept {
    const Index here = block.first + byte, line = here / 4 % lines, y = here / 4 / lines;
    Element e = of_channels(g, line, block.ky + y, here);
    if (group == KGroup::columns) e = {line / column_groups(g), e.y, line % column_groups(g) * 4 + here % 4};
    return y < (g.dilation_y == 1 ? g.kernel_h : 1) && exists(g, e) ? std::optional(e) : std::nullopt;
  }
};

struct PixelRows : StagedRows {
  static constexpr bool planar = false;

  bool in_place;             // the input is read where it is
  bool last_block_overlaps;  // memory behind a segment may not belong to the tensor
  Index column_skip;         // input columns from a staged one to the next one
  Index column_step;         // from a staged column to the next one
  Index width;               // output pixels from an output row to the next one's

  PixelRows(const Geometry& g, bool reads_in_place, Index block_rows, Index block_columns) noexcept
      : StagedRows(g, block_rows, block_columns, g.kernel_w == 1 ? g.stride_x : 1),
        in_place(reads_in_place),
        last_block_overlaps(reads_in_place),
        column_skip(g.kernel_w == 1 ? g.stride_x : 1),
        column_step(in_place ? g.in.x : g.in_channels) {
    if (!in_place && g.in_channels % 512 == 0) column_step += 64;  // or 16 pixels would meet in few sets of the cache
    tile_step = step_x * column_step;
    width = ceil_div(in_columns(g, columns), step_x);
    set_phases(g, width * tile_step);
    bytes = phases * phase_step + tile_side * tile_step + 128;
  }
  Index tiles(Index r, Index c) const noexcept { return ceil_div((r - 1) * width + c, tile_side); }
  static Index k_step() noexcept { return 1; }
  /// From the sums over a row's windows to the next row's.
  Index sums_pitch() const noexcept { return round_up(columns, 16); }
  Index summed_positions(const Geometry& g) const noexcept {
    return sums_pitch() * in_rows(g, rows) + in_columns(g, columns);
  }

  /// Columns of a kernel row follow each other unless they are dilated.
  template <class Visit>
  void each_segment(const Geometry& g, Visit visit) const {
    for (Index ky = 0; ky < g.kernel_h; ++ky) {
      const Index row = row_at(ky * g.dilation_y);
      if (g.dilation_x == 1) {
        visit(Segment{ky, 0, row, g.kernel_w * column_step});
      } else {
        for (Index kx = 0; kx < g.kernel_w; ++kx) {
          visit(Segment{ky, kx, row + kx * g.dilation_x * column_step, g.in_channels});
        }
      }
    }
  }
  std::optional<Element> element(const Geometry& g, const KBlock& block, Index byte) const noexcept {
    const Index here = block.first + byte;
    const Element e{here % column_step, block.ky, block.kx + here / column_step};
    const bool exists = e.channel < g.in_channels && e.x < (g.dilation_x == 1 ? g.kernel_w : block.kx + 1);
    return exists ? std::optional(e) : std::nullopt;
  }
};

using Layout = std::variant<JoinedPlanes, PanelPlanes, PixelRows>;

inline const StagedRows& staged_rows(const Layout& layout) noexcept {
  return std::visit([](const auto& l) -> const StagedRows& { return l; }, layout);
}
inline bool is_planar(const Layout& layout) noexcept { return !std::holds_alternative<PixelRows>(layout); }

/// What value of K lies `byte` bytes into a block; empty for padding, and for what the block before has.
template <class L>
std::optional<Element> locate(const Geometry& g, const L& layout, const KBlock& block, Index byte) noexcept {
  return byte < block.done ? std::nullopt : layout.element(g, block, byte);
}

/// All blocks, blocks of padding too. A segment's last one ends with it, where that is possible.
template <class L, class Visit>
void each_k_block(const Geometry& g, const L& layout, Visit visit) {
  layout.each_segment(g, [&](const Segment& s) {
    for (Index first = 0; first < s.bytes; first += tile_depth) {
      const bool overlaps = layout.last_block_overlaps && s.bytes >= tile_depth && first + tile_depth > s.bytes;
      const Index back = overlaps ? first + tile_depth - s.bytes : 0;
      visit(KBlock{s.offset + (first - back) * layout.k_step(), s.ky, s.kx, first - back, back});
    }
  });
}

/// Where pixels are kept apart, what lies between two need not be multiplied.
template <class L>
std::vector<KBlock> k_blocks_of(const Geometry& g, const L& layout) {
  std::vector<KBlock> blocks;
  each_k_block(g, layout, [&](const KBlock& block) {
    for (Index byte = 0; byte < tile_depth; ++byte) {
      if (locate(g, layout, block, byte)) return blocks.push_back(block);
    }
  });
  return blocks;
}

}  // namespace fast::qlc::amx
DMLREF_END
