// layout.hpp: how the input of a block of output pixels is laid out for AMX's tiles, and the order of K that follows.
//
// A tile register holds 16 rows of 64 bytes. One operand has 16 rows of 64 neighbouring values of K, the other, for 16
// columns, 16 rows of 4 values of K for each. Both are loaded with a distance between rows, so that the activations may
// be either, and K may go on wherever that distance leads:
//
// planes   channels far apart (NCHW): a pixel is a column. A line is 4 values of K (channels; windows: neighbouring
//          columns of one channel) of 16 output pixels, 64 bytes; each kernel column has lines of its own, shifted:
//            16 pixels of a row | input row | kernel column | 4 channels | pixel | channel
//          so that all lines of a kernel row, or of all kernel rows, follow each other. Where rows of pixels are short
//          (`linear`), lines have the pixels of all rows, and tiles go on over the ends of rows:
//            kernel column | 4 channels | input row | pixel | channel
// pixels   channels side by side (NHWC): a pixel is a row of 64 bytes of
//            input row | column | channel
#pragma once

#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/staging.hpp"

DMLREF_BEGIN
namespace fast::qlc::amx {

inline constexpr Index tile_side = 16;   // rows of a tile, and 32-bit columns
inline constexpr Index tile_depth = 64;  // values of K in a tile
inline constexpr Index tile_bytes = 1024;

/// 64 values of K at the same distance from each pixel, not all of them padding.
struct Chunk {
  Index offset;  // bytes from the pixel's first value
  Index ky, kx;  // where its segment begins in the kernel
  Index first;   // its first byte in the segment
  Index done;    // so many bytes of it belong to the chunk before
};

/// The staged block; distances in bytes.
struct StagedBlock {
  Staging staging = Staging::planes;
  bool linear = true;
  bool direct = false;          // pixels: the input is read in place
  Index rows = 0, columns = 0;  // output pixels of a block, at most
  Index width = 0;              // positions from an output row to the next one's
  Index lines = 0;              // planes, windows: of a staged row
  Index row_skip = 1;           // from a staged input row to the next one: others are not read
  Index column_skip = 1;
  Index step_y = 1, step_x = 1;  // staged rows and columns from an output pixel to the next one
  Index phases = 1;              // staged rows r, r + phases, … follow each other
  Index phase_rows = 0;
  Index column_step = 0;   // pixels: from a staged column to the next one
  Index pixel_step = 0;    // from an output pixel to the next one
  Index tile_step = 0;     // between the rows of a tile of activations
  Index out_row_step = 0;  // from an output row to the next one
  Index strip_step = 0;    // planes, not linear: from 16 columns to the next 16
  Index row_step = 0, phase_step = 0;
  Index bytes = 0;
  std::vector<Chunk> chunks;

  bool planar() const noexcept { return staging != Staging::pixels; }
  Index row_at(Index row) const noexcept { return row % phases * phase_step + row / phases * row_step; }
  /// Staged rows under so many output rows.
  Index in_rows(const Geometry& g, Index out_rows) const noexcept {
    return (out_rows - 1) * step_y + (g.kernel_h - 1) * g.dilation_y + 1;
  }
  /// Staged columns under so many output columns.
  Index in_columns(const Geometry& g, Index out_columns) const noexcept {
    return (out_columns - 1) * step_x + (g.kernel_w - 1) * g.dilation_x + 1;
  }
  Index column_groups(const Geometry& g) const noexcept { return ceil_div(g.kernel_w, 4); }
  Index channel_groups(const Geometry& g) const noexcept { return ceil_div(g.in_channels, 4); }
  /// Tiles of pixels in a block of `r` x `c` output pixels.
  Index tiles(Index r, Index c) const noexcept {
    return linear ? ceil_div((r - 1) * width + c, tile_side) : r * ceil_div(c, tile_side);
  }
};

/// What value of K lies `byte` bytes into a chunk; false for padding.
struct Element {
  Index channel, y, x;
};
inline bool locate(const Geometry& g, const StagedBlock& l, const Chunk& chunk, Index byte, Element& at) noexcept {
  if (byte < chunk.done) return false;
  const Index here = chunk.first + byte;
  if (!l.planar()) {
    at = {here % l.column_step, chunk.ky, chunk.kx + here / l.column_step};
    return at.channel < g.in_channels && at.x < (g.dilation_x == 1 ? g.kernel_w : chunk.kx + 1);
  }
  const Index line = here / 4 % l.lines;
  at.y = chunk.ky + here / 4 / l.lines;
  if (l.staging == Staging::windows) {
    at.channel = line / l.column_groups(g);
    at.x = line % l.column_groups(g) * 4 + here % 4;
  } else {
    at.channel = line % l.channel_groups(g) * 4 + here % 4;
    at.x = line / l.channel_groups(g);
  }
  // A segment of planes is one row of the kernel, or all of them.
  const bool joined = !l.linear && g.dilation_y == 1;
  return at.channel < g.in_channels && at.x < g.kernel_w && (joined ? at.y < g.kernel_h : at.y == chunk.ky);
}

namespace detail {

// Chunks of a segment of `bytes`. The last one ends with the segment, where that is possible: what lies behind may be
// nobody's.
inline void add_chunks(StagedBlock& l, Index ky, Index kx, Index offset, Index bytes) {
  const Index step = l.planar() ? l.tile_step / 4 : 1;  // bytes of memory for one of the segment
  for (Index first = 0; first < bytes; first += tile_depth) {
    const Index back =
        bytes >= tile_depth && first + tile_depth > bytes && (l.planar() || l.direct) ? first + tile_depth - bytes : 0;
    l.chunks.push_back({offset + (first - back) * step, ky, kx, first - back, back});
  }
}

inline void add_all_chunks(const Geometry& g, StagedBlock& l) {
  if (l.planar() && !l.linear && g.dilation_y == 1) return add_chunks(l, 0, 0, 0, 4 * l.lines * g.kernel_h);
  for (Index ky = 0; ky < g.kernel_h; ++ky) {
    const Index row = l.row_at(ky * g.dilation_y);
    if (l.planar()) {
      add_chunks(l, ky, 0, row, 4 * l.lines);
    } else if (g.dilation_x == 1) {
      add_chunks(l, ky, 0, row, g.kernel_w * l.column_step);
    } else {
      for (Index kx = 0; kx < g.kernel_w; ++kx) {
        add_chunks(l, ky, kx, row + kx * g.dilation_x * l.column_step, g.in_channels);
      }
    }
  }
  // Where pixels are kept apart, what lies between two need not be multiplied.
  std::erase_if(l.chunks, [&](const Chunk& chunk) {
    Element e{};
    for (Index byte = 0; byte < tile_depth; ++byte) {
      if (locate(g, l, chunk, byte, e)) return false;
    }
    return true;
  });
}

// Lines an odd number of cache lines apart meet in no set of the cache.
constexpr Index odd_lines(Index bytes) noexcept { return round_up(bytes, 64) | 64; }

}  // namespace detail

/// Planes or windows, for blocks of `rows` x `columns` output pixels.
inline StagedBlock planar_layout(const Geometry& g, bool windows, bool linear, Index width, Index rows, Index columns) {
  StagedBlock l;
  l.staging = windows ? Staging::windows : Staging::planes;
  l.linear = linear;
  l.rows = rows;
  l.columns = columns;
  l.row_skip = g.kernel_h == 1 ? g.stride_y : 1;
  l.step_y = g.stride_y / l.row_skip;
  l.step_x = g.stride_x;
  l.lines = windows ? g.in_channels * l.column_groups(g) : g.kernel_w * l.channel_groups(g);
  l.pixel_step = 4;
  const Index in_rows = l.in_rows(g, rows);
  const Index padding_lines = l.lines < tile_side ? tile_side - l.lines : 0;  // that a single chunk reads besides
  if (linear) {
    l.width = width;
    l.phases = l.step_y;
    l.phase_rows = ceil_div(in_rows, l.phases);
    l.row_step = l.out_row_step = 4 * width;
    l.phase_step = l.row_step * l.phase_rows;
    l.tile_step = detail::odd_lines(l.phases * l.phase_step + 64);
    l.bytes = l.tile_step * (l.lines + padding_lines) + 128;
  } else {
    l.width = round_up(columns, tile_side);
    l.phase_rows = in_rows;
    l.tile_step = 4 * tile_side;
    l.row_step = l.lines * l.tile_step;
    l.out_row_step = l.step_y * l.row_step;
    l.strip_step = detail::odd_lines(l.row_step * in_rows);
    l.bytes = l.strip_step * (l.width / tile_side) + l.tile_step * padding_lines + 128;
  }
  detail::add_all_chunks(g, l);
  return l;
}

inline StagedBlock pixel_layout(const Geometry& g, bool direct, Index rows, Index columns) {
  StagedBlock l;
  l.staging = Staging::pixels;
  l.direct = direct;
  l.rows = rows;
  l.columns = columns;
  l.row_skip = g.kernel_h == 1 ? g.stride_y : 1;
  l.column_skip = g.kernel_w == 1 ? g.stride_x : 1;
  l.step_y = g.stride_y / l.row_skip;
  l.step_x = g.stride_x / l.column_skip;
  const Index in_columns = l.in_columns(g, columns);
  l.column_step = direct ? g.in.x : g.in_channels;
  if (!direct && g.in_channels % 512 == 0) l.column_step += 64;  // or 16 pixels would meet in few sets of the cache
  l.pixel_step = l.tile_step = l.step_x * l.column_step;
  l.width = ceil_div(in_columns, l.step_x);
  l.row_step = l.out_row_step = l.width * l.pixel_step;
  l.phases = l.step_y;
  l.phase_rows = ceil_div(l.in_rows(g, rows), l.phases);
  l.phase_step = l.row_step * l.phase_rows;
  l.bytes = l.phases * l.phase_step + tile_side * l.pixel_step + 128;
  detail::add_all_chunks(g, l);
  return l;
}

}  // namespace fast::qlc::amx
DMLREF_END
