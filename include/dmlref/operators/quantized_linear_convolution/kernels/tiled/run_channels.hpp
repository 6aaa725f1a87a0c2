// run_channels.hpp: a block of output pixels times ranges of output channels, channels in lanes.
#pragma once

#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/rows.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/view.hpp"

DMLREF_BEGIN
namespace fast::qlc::tiled {

/// The number of vectors that keeps most accumulators busy, the smaller one where that is the same. Three do not leave
/// one alone, nor do they divide the sums that are requantized at a time where the tiles do not do it.
inline Index channel_vectors(const Tiles& tiles, Index blocks, Index columns, bool requantized) noexcept {
  Index best = 1, best_tiles = ceil_div(columns, tiles.max_rows(1));
  for (const Index vectors : {Index{2}, Index{3}, Index{4}}) {
    const Index rows = tiles.max_rows(vectors);
    if (vectors > blocks || rows == 0 || (vectors == 3 && (blocks == 4 || !requantized))) continue;
    const Index count = ceil_div(columns, rows);
    if (vectors * best_tiles > best * count) {
      best = vectors;
      best_tiles = count;
    }
  }
  return best;
}

/// All of `vectors` blocks from packed channel `first` on, or one where their sums are rounded in different ways.
inline Index rounded_alike(const BlockView& v, Index first, Index vectors) noexcept {
  const Requantizer& to = v.run.requantizer;
  const auto differ = [&](Index a, Index b) {
    return to.in_registers[a] != to.in_registers[b] || to.rounds(a) != to.rounds(b);
  };
  for (Index block = 1; block < vectors; ++block) {
    if (differ(first, first + block * v.p.filter.lanes)) return 1;
  }
  return vectors;
}

/// Writes bytes[pixel][channel] of the whole block, `channels` from `first` on as far as there are.
inline void write_channels(const BlockView& v, Index first, Index channels) noexcept {
  const Steps& out_step = v.p.g.out;
  const Index pitch = channels, columns = v.place.columns;
  const Index count = smaller(v.p.g.out_channels - first, channels);
  const std::uint8_t* bytes = v.bytes();
  std::uint8_t* const out = v.output_at(first, 0);
  const bool joined = out_step.x == 1 && out_step.c != 1 && out_step.y == columns;
  const Index lines = joined ? 1 : v.place.rows, line = joined ? v.place.rows * columns : columns;
  for (Index y = 0; y < lines; ++y, bytes += line * pitch) {
    write_pixels(v.p.kernels.transpose, bytes, pitch, line, count, out + y * out_step.y, out_step.c, out_step.x);
  }
}

/// Blocks [first, last) of output channels.
inline void run_channels(const BlockView& v, Index first_block, Index last_block) noexcept {
  const Kernels& kernels = v.p.kernels;
  const Index lanes = kernels.lanes, columns = v.place.columns;
  for (Index block = first_block, vectors = 0; block < last_block; block += vectors) {
    const Index packed = v.packed_channel(block, 0), channel = block * lanes;
    const bool requantized = v.in_registers(packed);  // as the others of its block
    vectors =
        rounded_alike(v, packed, channel_vectors(kernels.channel_tiles, last_block - block, columns, requantized));
    const Index width = vectors * lanes;
    const bool in_place = requantized && v.p.g.out.c == 1 && channel + width <= v.p.g.out_channels;
    const Index pitch = in_place ? v.p.g.out.x : width, line_bytes = in_place ? v.p.g.out.y : columns * pitch;
    // Of `lines` rows, from column `x` on; returns where the next tiles begin.
    const auto run = [&](Index x, Index y, Index lines) {
      const auto [tile, equal] = kernels.channel_tiles.share(vectors, columns - x, x);
      x = smaller(x, columns - tile.rows);
      const Index max_tiles = requantized          ? columns
                              : kernels.requantize ? v.p.channel_sums() / (tile.rows * width)
                                                   : 1;  // tiles at a time
      const Index count = smaller(max_tiles, equal), pixels = count * tile.rows;
      std::uint8_t* const bytes = (in_place ? v.output_at(channel, y) : v.bytes() + y * line_bytes) + x * pitch;
      tile.run({v.operands(block, 0, y, x),
                v.offsets(packed, y, x),
                requantized ? TileOutput::bytes : TileOutput::sums,
                {v.sums(), width},
                {v.run.requantizer, packed, bytes, pitch, width},
                count,
                {lines, v.p.block.out_row_step, v.p.pixel_pitch, line_bytes}});
      if (!requantized) {
        if (v.run.term_follows()) {
          kernels.add_outer(v.sums(), width, pixels, width, v.pixel_sums(y) + x,
                            v.run.minus_filter_zero_point + packed);
        }
        kernels.quantize(v.sums(), ceil_div(pixels * width, 64), v.run.requantizer, packed, width, bytes);
      }
      return x + pixels;
    };
    if (requantized) run_lines(v, run);
    // Row by row: blocks of 64 sums may end beyond a row, whose next one follows.
    for (Index y = 0; y < v.place.rows && !requantized; ++y) {
      for (Index x = 0; x < columns;) x = run(x, y, 1);
    }
    if (!in_place) write_channels(v, channel, width);
  }
}

}  // namespace fast::qlc::tiled
DMLREF_END
