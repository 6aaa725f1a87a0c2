// run_pixels.hpp: a block of output pixels times ranges of output channels, pixels in lanes.
#pragma once

#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/activation_sums.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/view.hpp"

DMLREF_BEGIN
namespace fast::qlc::tiled {

/// Requantizes the sums of row `y`, a line per channel.
inline void quantize_lines(const BlockView& v, Index y, Index channel, Index packed, Index channels) noexcept {
  const Kernels& kernels = v.p.kernels;
  const Steps& out_step = v.p.g.out;
  const Index columns = v.place.columns, whole = out_step.x == 1 ? columns / 64 : 0, rest = columns - 64 * whole;
  if (v.run.term_follows()) {
    kernels.add_outer(v.sums(), v.p.pixel_pitch, channels, round_up(columns, kernels.lanes),
                      v.run.minus_filter_zero_point + packed, v.pixel_sums(y));
  }
  for (Index c = 0; c < channels; ++c) {
    std::uint8_t* const out = v.output_at(channel + c, y);
    const std::int32_t* const sums = v.sums() + c * v.p.pixel_pitch;
    if (whole > 0) kernels.quantize(sums, whole, v.run.requantizer, packed + c, 1, out);
    if (rest == 0) continue;
    kernels.quantize(sums + 64 * whole, ceil_div(rest, 64), v.run.requantizer, packed + c, 1, v.bytes());
    if (out_step.x == 1) {
      std::memcpy(out + 64 * whole, v.bytes(), static_cast<std::size_t>(rest));
    } else {
      for (Index x = 0; x < rest; ++x) out[x * out_step.x] = v.bytes()[x];
    }
  }
}

/// How many channels from packed channel `first` on, `limit` at most, stay in registers as that one does, or not.
inline Index alike(const BlockView& v, Index first, Index limit) noexcept {
  Index count = 1;
  while (count < limit && v.in_registers(first + count) == v.in_registers(first)) ++count;
  return count;
}

/// The rows of the next tile where `left` channels are: as many as fit, or half of what two tiles share, as tiles of
/// few rows wait for their sums.
inline Index rows_of_next(const Tiles& tiles, Index vectors, Index left) noexcept {
  const Index fitting = tiles.fit(vectors, left).rows, half = left / 2;
  return left > fitting && left == 2 * half && tiles.fit(vectors, half).rows == half ? half : fitting;
}

/// Blocks [first, last) of output channels.
inline void run_pixels(const BlockView& v, Index first_block, Index last_block) noexcept {
  const Kernels& kernels = v.p.kernels;
  const Steps& out_step = v.p.g.out;
  const Index lanes = kernels.lanes, columns = v.place.columns;
  const Index max_vectors = pixel_vectors(kernels, 4 * lanes), max_pixels = max_vectors * lanes;
  const Index max_tiles = larger(1, columns / max_pixels);  // a row begins with them
  for (Index block = first_block; block < last_block; ++block) {
    const Index channels = smaller(v.p.g.out_channels - block * lanes, lanes);
    for (Index c = 0, rows = 0; c < channels; c += rows) {
      const Index packed = v.packed_channel(block, c), channel = block * lanes + c;
      const bool requantized = v.in_registers(packed);
      rows = rows_of_next(kernels.pixel_tiles, max_vectors, alike(v, packed, channels - c));
      const bool in_place = requantized && out_step.x == 1;
      const Index pitch = in_place ? out_step.c : v.p.pixel_pitch;
      // Of `lines` rows, from column `x` on; returns where the next tiles begin.
      const auto run = [&](Index x, Index y, Index lines) {
        const Index left = columns - x, vectors = pixel_vectors(kernels, left), width = vectors * lanes;
        const Index count = requantized && x == 0 ? max_tiles : 1;
        std::uint8_t* const bytes = (in_place ? v.output_at(channel, y) : v.bytes()) + x;
        kernels.pixel_tiles.fit(vectors, rows)
            .run({v.operands(block, c, y, x),
                  v.offsets(packed, y, x),
                  requantized ? TileOutput::bytes : TileOutput::sums,
                  {v.sums() + x, v.p.pixel_pitch},
                  {v.run.requantizer, packed, bytes, pitch, smaller(left, width)},
                  count,
                  {lines, v.p.block.out_row_step, v.p.pixel_pitch, out_step.y}});
        return x + count * width;
      };
      if (in_place) {
        run_lines(v, run);
        continue;
      }
      for (Index y = 0; y < v.place.rows; ++y) {
        std::uint8_t* const out = v.output_at(channel, y);
        for (Index x = 0; x < columns;) x = run(x, y, 1);
        if (!requantized) {
          quantize_lines(v, y, channel, packed, rows);
        } else {
          for (Index x = 0; x < columns; ++x) {
            for (Index r = 0; r < rows; ++r) out[x * out_step.x + r * out_step.c] = v.bytes()[r * pitch + x];
          }
        }
      }
    }
  }
}

}  // namespace fast::qlc::tiled
DMLREF_END
