// run_sums.hpp: a block of output pixels times ranges of output channels, whose sums are stored as INT32, modulo 2^32.
//
// Whole vectors go from the registers to the output, where the lanes' elements are neighbours there and no term is left
// to add. All other sums pass through the task's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/activation_sums.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/run_channels.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/view.hpp"

DMLREF_BEGIN
namespace fast::qlc::tiled {

/// Where sums of a tile go in the output: row r, lane l lies r * row_step + l * lane_step elements from `at`, which
/// need not be aligned.
struct StoredSums {
  std::uint8_t* at;
  Index row_step, lane_step;
};

/// Four sums of four rows, side by side in each lane.
inline void transpose_sums(const std::int32_t* from, Index pitch, std::uint8_t* to, Index step) noexcept {
  using Four = std::int32_t __attribute__((vector_size(16)));
  Four row[4];
  for (Index r = 0; r < 4; ++r) std::memcpy(&row[r], from + r * pitch, sizeof row[r]);
  const Four low01 = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5);
  const Four low23 = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5);
  const Four high01 = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7);
  const Four high23 = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
  const Four lane[4] = {
      __builtin_shufflevector(low01, low23, 0, 1, 4, 5), __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
      __builtin_shufflevector(high01, high23, 0, 1, 4, 5), __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
  for (Index l = 0; l < 4; ++l) std::memcpy(to + 4 * l * step, &lane[l], sizeof lane[l]);
}

/// rows x lanes sums, whose rows are `pitch` apart.
inline void store_sums(const std::int32_t* sums, Index pitch, Index rows, Index lanes, const StoredSums& to) noexcept {
  const auto store = [&](Index r, Index l) {
    std::memcpy(to.at + 4 * (r * to.row_step + l * to.lane_step), sums + r * pitch + l, 4);
  };
  Index first = 0;
  if (to.row_step == 1) {
    for (; first + 4 <= rows; first += 4) {
      Index l = 0;
      for (; l + 4 <= lanes; l += 4) {
        transpose_sums(sums + first * pitch + l, pitch, to.at + 4 * (first + l * to.lane_step), to.lane_step);
      }
      for (; l < lanes; ++l) {
        for (Index r = first; r < first + 4; ++r) store(r, l);
      }
    }
  }
  for (Index r = first; r < rows; ++r) {
    if (to.lane_step == 1) {
      std::memcpy(to.at + 4 * r * to.row_step, sums + r * pitch, static_cast<std::size_t>(4 * lanes));
    } else {
      for (Index l = 0; l < lanes; ++l) store(r, l);
    }
  }
}

/// Whether tiles may write to an output whose lanes are `lane_step` apart.
inline bool stores_from_tiles(const BlockView& v, Index lane_step) noexcept {
  return lane_step == 1 && !v.run.term_follows() &&
         reinterpret_cast<std::uintptr_t>(v.run.output) % alignof(std::int32_t) == 0;
}

/// Pixels in lanes.
inline void run_sums_of_pixels(const BlockView& v, Index first_block, Index last_block) noexcept {
  const Kernels& kernels = v.p.kernels;
  const Steps& out_step = v.p.g.out;
  const Index lanes = kernels.lanes, columns = v.place.columns, pitch = v.p.pixel_pitch;
  const Index max_vectors = pixel_vectors(kernels, 4 * lanes), max_pixels = max_vectors * lanes;
  const bool from_tiles = stores_from_tiles(v, out_step.x);
  for (Index block = first_block; block < last_block; ++block) {
    const Index channels = smaller(v.p.g.out_channels - block * lanes, lanes);
    for (Index c = 0, rows = 0; c < channels; c += rows) {
      const Index packed = v.packed_channel(block, c);
      rows = kernels.pixel_tiles.fit(max_vectors, channels - c).rows;
      for (Index y = 0; y < v.place.rows; ++y) {
        std::uint8_t* const out = v.run.output + 4 * v.output_index(block * lanes + c, y);
        Index stored = 0;  // columns that tiles have stored
        for (Index x = 0; x < columns;) {
          const Index left = columns - x, vectors = pixel_vectors(kernels, left), width = vectors * lanes;
          const bool whole = from_tiles && left >= width;
          const Index count = kernels.requantize && left >= max_pixels ? left / max_pixels : 1;
          kernels.pixel_tiles.fit(vectors, rows)
              .run({v.operands(block, c, y, x),
                    v.offsets(packed, y, x),
                    TileOutput::sums,
                    whole ? TileSums{reinterpret_cast<std::int32_t*>(out) + x, out_step.c}
                          : TileSums{v.sums() + x, pitch},
                    {v.run.requantizer, packed, nullptr, 0, width},
                    count});
          x += count * width;
          if (whole) stored = x;
        }
        if (stored >= columns) continue;
        if (v.run.term_follows()) {
          kernels.add_outer(v.sums(), pitch, rows, round_up(columns, lanes), v.run.minus_filter_zero_point + packed,
                            v.pixel_sums(y));
        }
        store_sums(v.sums() + stored, pitch, rows, columns - stored,
                   {out + 4 * stored * out_step.x, out_step.c, out_step.x});
      }
    }
  }
}

/// Channels in lanes.
inline void run_sums_of_channels(const BlockView& v, Index first_block, Index last_block) noexcept {
  const Kernels& kernels = v.p.kernels;
  const Steps& out_step = v.p.g.out;
  const Index lanes = kernels.lanes, columns = v.place.columns;
  for (Index block = first_block, vectors = 0; block < last_block; block += vectors) {
    const Index packed = v.packed_channel(block, 0), channel = block * lanes;
    vectors = channel_vectors(kernels.channel_tiles, last_block - block, columns, true);
    const Index width = vectors * lanes, channels = smaller(v.p.g.out_channels - channel, width);
    const bool from_tiles = channels == width && stores_from_tiles(v, out_step.c);
    for (Index y = 0; y < v.place.rows; ++y) {
      std::uint8_t* const row = v.run.output + 4 * v.output_index(channel, y);
      for (Index x = 0; x < columns;) {
        std::uint8_t* const out = row + 4 * x * out_step.x;
        const Tile& tile = kernels.channel_tiles.fit(vectors, columns - x);
        const Index max_tiles = !kernels.requantize ? 1  // tiles at a time
                                : from_tiles        ? columns
                                                    : v.p.channel_sums() / (tile.rows * width);
        const Index count = smaller(max_tiles, (columns - x) / tile.rows), pixels = count * tile.rows;
        tile.run({v.operands(block, 0, y, x),
                  v.offsets(packed, y, x),
                  TileOutput::sums,
                  from_tiles ? TileSums{reinterpret_cast<std::int32_t*>(out), out_step.x} : TileSums{v.sums(), width},
                  {v.run.requantizer, packed, nullptr, 0, width},
                  count});
        if (!from_tiles) {
          if (v.run.term_follows()) {
            kernels.add_outer(v.sums(), width, pixels, width, v.pixel_sums(y) + x,
                              v.run.minus_filter_zero_point + packed);
          }
          store_sums(v.sums(), width, pixels, channels, {out, out_step.x, out_step.c});
        }
        x += pixels;
      }
    }
  }
}

/// Blocks [first, last) of output channels.
inline void run_sums(const BlockView& v, Index first, Index last) noexcept {
  if (v.p.pixels_in_lanes()) return run_sums_of_pixels(v, first, last);
  run_sums_of_channels(v, first, last);
}

}  // namespace fast::qlc::tiled
DMLREF_END
