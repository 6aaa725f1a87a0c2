// block.hpp: a tiled convolution, one block of output pixels at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/blocks.hpp"
#include "dmlref/fast/quantized_linear_convolution/geometry.hpp"
#include "dmlref/fast/quantized_linear_convolution/pixels.hpp"
#include "dmlref/fast/quantized_linear_convolution/requantize/requantizer.hpp"
#include "dmlref/fast/quantized_linear_convolution/staging.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/constants.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/kernels.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/plan.hpp"

DMLREF_BEGIN
namespace fast::qlc::tiled {

/// A block of output pixels: staged, then multiplied with ranges of output channels.
class Block {
 public:
  /// Block `index` of the grid, in the memory of one task.
  Block(const Plan& plan, const Run& run, const BlockGrid& grid, std::uint8_t* slot, Index index) noexcept
      : p_(plan),
        run_(run),
        slot_(slot),
        sums_(reinterpret_cast<std::int32_t*>(slot + plan.slot.sums)),
        bytes_(slot + plan.slot.bytes),
        pixel_sums_(reinterpret_cast<std::int32_t*>(slot + plan.slot.pixel_sums)),
        pixel_offset_(reinterpret_cast<std::int32_t*>(slot + plan.slot.pixel_offset)) {
    const GroupBlock block = grid.block(p_.g, index);
    place_ = block.place;
    group_ = block.group;
    image_ = block.image;
    input_ = run_.input + image_ * p_.g.in.n + group_ * p_.g.in_channels * p_.g.in.c;
    activations_ = p_.block.direct
                       ? input_ + place_.y * p_.g.stride_y * p_.g.in.y + place_.x * p_.g.stride_x * p_.g.in.x
                       : slot_ + p_.slot.staged;
  }

  /// The input as the tiles read it, and its sums; of the task's memory, hence once for all ranges of channels.
  void stage() noexcept {
    if (run_.paired) {
      stage_paired();
    } else if (!p_.block.direct) {
      qlc::stage(p_.g, p_.block, p_.kernels, input_, place_, run_.input_zero_point, run_.input_flip,
                 slot_ + p_.slot.scratch, slot_ + p_.slot.staged);
    }
    sum_pixels();
    if (run_.channel_factor != nullptr && !run_.wide && p_.g.depth() > deepest_short_sum) halve_sums();
  }

  /// Blocks [first, last) of output channels.
  void run(Index first, Index last) noexcept {
    if (run_.wide) {
      run_wide(first, last);
    } else if (p_.pixels_in_lanes) {
      run_pixel_tiles(first, last);
    } else {
      run_channel_tiles(first, last);
    }
  }

 private:
  // What all blocks of channels share.
  TileArgs tile_args() const noexcept {
    TileArgs t{};
    t.offsets = p_.offsets.data();
    t.count = 1;
    t.steps = p_.filter.steps;
    t.run = p_.block.order.run_of_steps(p_.g.stride_x);
    t.pixel_step = p_.block.pixel_step;
    t.plane_step = p_.g.taps() == 1 ? p_.block.plane_step : 0;
    t.weight_step = 4 * p_.filter.lanes;
    t.weight_block = p_.filter.block_bytes();
    const bool complete = !run_.wide && !terms_follow();  // when a tile ends
    if (p_.kernels.fuses && run_.requantizer.bounded && complete) t.requantizer = &run_.requantizer;
    return t;
  }

  // To channel `c` of a block. In place: a copy right after it was written piece by piece waits for the pieces.
  void move_to(Index block, Index c, TileArgs& t) const noexcept {
    t.weights = run_.filter + (group_ * p_.filter.blocks + block) * p_.filter.block_bytes() + 4 * c;
    t.first_channel = (group_ * p_.filter.blocks + block) * p_.filter.lanes + c;
    t.channel_offset = run_.channel_offset + t.first_channel;
    if (run_.channel_factor != nullptr) t.channel_factor = run_.channel_factor + t.first_channel;
  }

  // The most blocks of `vectors` from packed channel `first` on whose sums are rounded in one way.
  Index alike(Index first, Index vectors) const noexcept {
    const auto rounds = [&](Index block) { return run_.requantizer.rounds(first + block * p_.kernels.lanes); };
    Index blocks = 1;
    while (blocks < vectors && rounds(blocks) == rounds(0)) ++blocks;
    return blocks == vectors ? vectors : 1;
  }

  // The steps that output row `y` of the block needs. `weights` and `channel_offset` are those of all steps.
  void choose_rows(Index y, const std::uint8_t* weights, const std::int32_t* channel_offset,
                   TileArgs& t) const noexcept {
    const std::size_t range = p_.range_of_row[static_cast<std::size_t>(place_.y + y)];
    const KernelRows& rows = p_.row_ranges[range];
    const Index first = rows.first * p_.row_steps;
    t.steps = (rows.last - rows.first) * p_.row_steps;
    t.offsets = p_.offsets.data() + first;
    t.weights = weights + first * t.weight_step;
    t.channel_offset = channel_offset + static_cast<Index>(range) * p_.offset_pitch();
  }

  // Whether filter zero points that differ by channel are left to add_outer.
  bool terms_follow() const noexcept { return !run_.uniform && run_.channel_factor == nullptr; }

  // Tiles that do not fuse want an offset per pixel even where all are 0.
  bool needs_offset(const TileArgs& t) const noexcept {
    return t.requantizer == nullptr || (run_.pixel_terms && run_.uniform);
  }

  // The channel of ones for `count` neighbouring pixels.
  void sum_line(const std::int32_t* offsets, Index steps, Index weight_step, const std::uint8_t* activations,
                Index count, std::int32_t* sums) const noexcept {
    static constexpr std::int32_t zero[64] = {};
    TileArgs t{};
    t.offsets = offsets;
    t.count = 1;
    t.steps = steps;
    t.pixel_step = 4;
    t.weights = run_.filter + p_.filter.ones_at();
    t.weight_step = weight_step;
    t.channel_offset = zero;
    t.pixel_offset = p_.kernels.fuses ? nullptr : zero;
    for (Index x = 0; x < count;) {
      const Index vectors = pixel_vectors(count - x);
      const Index width = vectors * p_.kernels.lanes;
      if (p_.kernels.fuses && count - x >= width) t.count = (count - x) / width;
      t.activations = activations + 4 * x;
      t.sums = sums + x;
      p_.kernels.pixel_tiles.fit(vectors, 1).run(t);
      x += t.count * width;
      t.count = 1;
    }
  }

  // The step at which a tap's first plane lies.
  Index step_of(Index tap) const noexcept { return tap / p_.g.kernel_w * p_.row_steps + tap % p_.g.kernel_w; }

  // The most vectors that a tile has, or as many as are left.
  Index pixel_vectors(Index pixels) const noexcept {
    Index vectors = 1;
    for (Index v = 2; v <= 4 && vectors * p_.kernels.lanes < pixels; ++v) {
      if (p_.kernels.pixel_tiles.max_rows(v) > 0) vectors = v;
    }
    return vectors;
  }

  // Channels side by side: each input pixel's sum is computed once for all windows that it lies in.
  void sum_pixel_runs() const noexcept {
    const Index channels = p_.g.in_channels;
    const Index columns = place_.columns;
    if (p_.g.taps() == 1) {
      for (Index y = 0; y < place_.rows; ++y) {
        p_.kernels.sum_runs(activations_ + y * p_.block.out_row_step, channels, p_.block.pixel_step, columns,
                            pixel_sums_ + y * p_.pixel_pitch);
      }
      return;
    }
    const Index in_rows = (place_.rows - 1) * p_.g.stride_y + (p_.g.kernel_h - 1) * p_.g.dilation_y + 1;
    const Index in_columns = (columns - 1) * p_.g.stride_x + (p_.g.kernel_w - 1) * p_.g.dilation_x + 1;
    const Index pitch = p_.position_pitch();
    auto* positions = reinterpret_cast<std::int32_t*>(slot_ + p_.slot.positions);
    for (Index r = 0; r < in_rows; ++r) {
      if (!row_is_read(p_.g, r)) continue;
      p_.kernels.sum_runs(activations_ + r * p_.block.row_step, channels, p_.block.column_step, in_columns,
                          positions + r * pitch);
    }
    // Down the columns in place: row y * stride_y is the first one that row y of the output reads, and later ones do
    // not read it.
    for (Index y = 0; y < place_.rows && p_.g.kernel_h > 1; ++y) {
      std::int32_t* const row = positions + y * p_.g.stride_y * pitch;
      p_.kernels.sum_windows(row, p_.g.kernel_h, p_.g.dilation_y * pitch, 1, in_columns, row);
    }
    for (Index y = 0; y < place_.rows; ++y) {
      p_.kernels.sum_windows(positions + y * p_.g.stride_y * pitch, p_.g.kernel_w, p_.g.dilation_x, p_.g.stride_x,
                             columns, pixel_sums_ + y * p_.pixel_pitch);
    }
  }

  // Staging has summed the blocks of 64 pixels; the rest of each line is left.
  void sum_paired() const noexcept {
    if (!run_.pixel_terms) return;
    const Index whole = place_.columns / 64 * 64;
    const Index rest = place_.columns - whole;
    for (Index y = 0; y < place_.rows && rest > 0; ++y) {
      const Index at = y * p_.pixel_pitch + whole;
      sum_line(p_.offsets.data(), p_.filter.steps, 4, activations_ + y * p_.block.out_row_step + 4 * whole, rest,
               pixel_sums_ + at);
      if (!run_.uniform) continue;
      std::memset(pixel_offset_ + at, 0, static_cast<std::size_t>(4 * round_up(rest, p_.kernels.lanes)));
      p_.kernels.add_outer(pixel_offset_ + at, 0, 1, round_up(rest, p_.kernels.lanes), &run_.uniform_zero_point,
                           pixel_sums_ + at);
    }
  }

  // A block of a 1x1 convolution, and the sums over its channels: as offsets where all share a zero point.
  void stage_paired() const noexcept {
    const Index whole = place_.columns / 64 * 64;
    std::int32_t* const sums = run_.uniform ? pixel_offset_ : pixel_sums_;
    const std::int32_t factor = run_.uniform ? run_.uniform_zero_point : 1;
    for (Index y = 0; y < place_.rows; ++y) {
      const std::uint8_t* from = input_ + (place_.y + y) * p_.g.in.y + place_.x;
      std::uint8_t* to = slot_ + p_.slot.staged + y * p_.block.row_step;
      p_.kernels.interleave_pairs({from, p_.g.in.c, p_.g.in_channels, whole, run_.input_flip, to, p_.block.plane_step,
                                   run_.pixel_terms ? sums + y * p_.pixel_pitch : nullptr, factor});
      if (whole == place_.columns) continue;
      from += whole;
      to += 4 * whole;
      for (Index c = 0; c < p_.g.in_channels; c += 4, to += p_.block.plane_step) {
        const std::uint8_t* rows[4];
        for (Index e = 0; e < 4; ++e) rows[e] = from + (c + e < p_.g.in_channels ? c + e : c) * p_.g.in.c;
        p_.kernels.interleave(rows, place_.columns - whole, run_.input_flip, to);
      }
    }
  }

  // As the tiles read them.
  void halve_sums() const noexcept {
    for (Index y = 0; y < place_.rows; ++y) {
      p_.kernels.halve_sums(pixel_sums_ + y * p_.pixel_pitch, place_.columns);
    }
  }

  // Sum of a' over the kernel's window for each pixel, where a filter zero point wants it.
  void sum_pixels() const noexcept {
    if (run_.paired) return sum_paired();
    const Index used = place_.rows * p_.pixel_pitch;
    std::memset(pixel_offset_, 0, static_cast<std::size_t>(4 * used));
    if (!run_.pixel_terms) return;
    if (p_.block.order.staging == Staging::pixels) {
      sum_pixel_runs();
    } else {
      // Kernels of several taps: first every position's sum over the channels, then the window's over positions.
      const Index taps = p_.block.order.staging == Staging::planes ? p_.g.taps() : 1;
      if (taps == 1) {
        for (Index y = 0; y < place_.rows; ++y) {
          sum_line(p_.offsets.data(), p_.filter.steps, 4, activations_ + y * p_.block.out_row_step, place_.columns,
                   pixel_sums_ + y * p_.pixel_pitch);
        }
      } else {
        auto* positions = reinterpret_cast<std::int32_t*>(slot_ + p_.slot.positions);
        sum_line(p_.plane_offsets.data(), p_.block.order.channel_groups(), 4 * p_.g.kernel_w, activations_,
                 p_.block.plane_step / 4, positions);
        for (Index y = 0; y < place_.rows; ++y) {
          std::int32_t* sums = pixel_sums_ + y * p_.pixel_pitch;
          for (Index tap = 0; tap < taps; ++tap) {
            const std::int32_t* from =
                positions + (y * p_.block.out_row_step + p_.offsets[static_cast<std::size_t>(step_of(tap))]) / 4;
            for (Index x = 0; x < place_.columns; ++x) sums[x] = tap == 0 ? from[x] : sums[x] + from[x];
          }
        }
      }
    }
    if (!run_.uniform) return;
    for (Index y = 0; y < place_.rows; ++y) {
      p_.kernels.add_outer(pixel_offset_ + y * p_.pixel_pitch, 0, 1, round_up(place_.columns, p_.kernels.lanes),
                           &run_.uniform_zero_point, pixel_sums_ + y * p_.pixel_pitch);
    }
  }

  // The number of vectors that keeps most accumulators busy, the smaller one where that is the same. Three do not leave
  // one alone, nor do they divide the sums that are requantized at a time where the tiles do not do it (`fused`).
  Index channel_vectors(Index blocks, Index columns, bool fused) const noexcept {
    Index best = 1;
    Index best_tiles = ceil_div(columns, p_.kernels.channel_tiles.max_rows(1));
    for (const Index vectors : {Index{2}, Index{3}, Index{4}}) {
      const Index rows = p_.kernels.channel_tiles.max_rows(vectors);
      if (vectors > blocks || rows == 0 || (vectors == 3 && (blocks == 4 || !fused))) continue;
      const Index tiles = ceil_div(columns, rows);
      if (vectors * best_tiles > best * tiles) {
        best = vectors;
        best_tiles = tiles;
      }
    }
    return best;
  }

  void run_channel_tiles(Index first_block, Index last_block) noexcept {
    const Index lanes = p_.kernels.lanes;
    TileArgs t = tile_args();
    const bool fused = t.requantizer != nullptr;
    for (Index block = first_block; block < last_block;) {
      move_to(block, 0, t);
      const Index first = t.first_channel;
      const Index vectors = alike(first, channel_vectors(last_block - block, place_.columns, fused));
      const Index width = vectors * lanes;
      t.sums = sums_;
      t.sums_pitch = width;
      const bool offset_used = needs_offset(t);
      const bool straight = fused && p_.g.out.c == 1 && block * lanes + width <= p_.g.out_channels;
      t.out_pitch = straight ? p_.g.out.x : width;
      std::uint8_t* bytes = bytes_;
      const std::uint8_t* const weights = t.weights;
      const std::int32_t* const channel_offset = t.channel_offset;
      for (Index y = 0; y < place_.rows; ++y) {
        choose_rows(y, weights, channel_offset, t);
        for (Index x = 0; x < place_.columns;) {
          const Tile& tile = p_.kernels.channel_tiles.fit(vectors, place_.columns - x);
          t.count = fused ? (place_.columns - x) / tile.rows : 1;
          t.activations = activations_ + y * p_.block.out_row_step + x * p_.block.pixel_step;
          if (offset_used) t.pixel_offset = pixel_offset_ + y * p_.pixel_pitch + x;
          t.pixel_sums = pixel_sums_ + y * p_.pixel_pitch + x;
          t.out = straight ? output_at(block * lanes, y) + x * p_.g.out.x : bytes;
          tile.run(t);
          if (!fused) {
            if (terms_follow()) {
              p_.kernels.add_outer(sums_, width, tile.rows, width, t.pixel_sums, run_.minus_filter_zero_point + first);
            }
            p_.kernels.quantize(sums_, ceil_div(tile.rows * width, 64), run_.requantizer, first, width, bytes);
          }
          bytes += t.count * tile.rows * width;
          x += t.count * tile.rows;
        }
      }
      if (!straight) write(bytes_, width, block * lanes, width);
      block += vectors;
    }
  }

  void run_pixel_tiles(Index first_block, Index last_block) noexcept {
    const Index lanes = p_.kernels.lanes;
    const Index most_vectors = pixel_vectors(4 * lanes);
    const Index most = most_vectors * lanes;
    TileArgs t = tile_args();
    const bool fused = t.requantizer != nullptr;
    const bool offset_used = needs_offset(t);
    const bool straight = fused && p_.g.out.x == 1;
    t.sums_pitch = p_.pixel_pitch;
    t.out_pitch = straight ? p_.g.out.c : p_.pixel_pitch;
    for (Index block = first_block; block < last_block; ++block) {
      const Index here = p_.g.out_channels - block * lanes < lanes ? p_.g.out_channels - block * lanes : lanes;
      for (Index c = 0, rows = 0; c < here; c += rows) {
        rows = p_.kernels.pixel_tiles.fit(most_vectors, here - c).rows;
        move_to(block, c, t);
        const Index first = t.first_channel;
        const std::uint8_t* const weights = t.weights;
        const std::int32_t* const channel_offset = t.channel_offset;
        for (Index y = 0; y < place_.rows; ++y) {
          choose_rows(y, weights, channel_offset, t);
          std::uint8_t* out = straight ? output_at(block * lanes + c, y) : bytes_;
          for (Index x = 0; x < place_.columns;) {
            const Index left = place_.columns - x;
            const Index vectors = pixel_vectors(left);
            t.paired = run_.paired && left >= 64;
            t.activations = activations_ + y * p_.block.out_row_step + x * p_.block.pixel_step;
            if (offset_used) t.pixel_offset = pixel_offset_ + y * p_.pixel_pitch + x;
            t.pixel_sums = pixel_sums_ + y * p_.pixel_pitch + x;
            t.sums = sums_ + x;
            t.out = out + x;
            t.out_lanes = left < vectors * lanes ? left : vectors * lanes;
            if (fused && left >= most) {
              t.count = left / most;
              t.out_lanes = most;
            }
            p_.kernels.pixel_tiles.fit(vectors, rows).run(t);
            x += t.count * vectors * lanes;
            t.count = 1;
          }
          if (!fused) {
            if (terms_follow()) {
              p_.kernels.add_outer(sums_, p_.pixel_pitch, rows, round_up(place_.columns, lanes),
                                   run_.minus_filter_zero_point + first, pixel_sums_ + y * p_.pixel_pitch);
            }
            write_lines(y, block * lanes + c, first, rows);
          } else if (!straight) {
            std::uint8_t* to = output_at(block * lanes + c, y);
            for (Index x = 0; x < place_.columns; ++x) {
              for (Index r = 0; r < rows; ++r) to[x * p_.g.out.x + r * p_.g.out.c] = bytes_[r * p_.pixel_pitch + x];
            }
          }
        }
      }
    }
  }

  // Requantizes lines of pixels, one per channel.
  void write_lines(Index y, Index channel, Index first, Index channels) const noexcept {
    const Index columns = place_.columns;
    std::uint8_t* out = output_at(channel, y);
    for (Index c = 0; c < channels; ++c, out += p_.g.out.c) {
      const std::int32_t* sums = sums_ + c * p_.pixel_pitch;
      const Index whole = p_.g.out.x == 1 ? columns / 64 : 0;
      if (whole > 0) p_.kernels.quantize(sums, whole, run_.requantizer, first + c, 1, out);
      const Index rest = columns - 64 * whole;
      if (rest == 0) continue;
      p_.kernels.quantize(sums + 64 * whole, ceil_div(rest, 64), run_.requantizer, first + c, 1, bytes_);
      if (p_.g.out.x == 1) {
        std::memcpy(out + 64 * whole, bytes_, static_cast<std::size_t>(rest));
      } else {
        for (Index x = 0; x < rest; ++x) out[x * p_.g.out.x] = bytes_[x];
      }
    }
  }

  // Writes bytes[pixel][channel] of the whole block.
  void write(const std::uint8_t* bytes, Index pitch, Index channel, Index channels) const noexcept {
    const Index count = p_.g.out_channels - channel < channels ? p_.g.out_channels - channel : channels;
    const Index columns = place_.columns;
    std::uint8_t* out = output_at(channel, 0);
    if (p_.g.out.x == 1 && p_.g.out.c != 1) {
      const bool joined = p_.g.out.y == columns;
      const Index lines = joined ? 1 : place_.rows;
      const Index line = joined ? place_.rows * columns : columns;
      for (Index y = 0; y < lines; ++y) {
        p_.kernels.transpose(bytes + y * line * pitch, pitch, line, count, out + y * p_.g.out.y, p_.g.out.c);
      }
      return;
    }
    for (Index y = 0; y < place_.rows; ++y, bytes += columns * pitch, out += p_.g.out.y) {
      if (p_.g.out.c == 1) {
        copy_pixels(bytes, pitch, out, p_.g.out.x, columns, count);
        continue;
      }
      for (Index x = 0; x < columns; ++x) {
        for (Index c = 0; c < count; ++c) out[x * p_.g.out.x + c * p_.g.out.c] = bytes[x * pitch + c];
      }
    }
  }

  std::uint8_t* output_at(Index channel, Index y) const noexcept {
    return run_.output + image_ * p_.g.out.n + (group_ * p_.g.out_channels + channel) * p_.g.out.c +
           (place_.y + y) * p_.g.out.y + place_.x * p_.g.out.x;
  }

  // K in pieces whose 32-bit sums cannot overflow; everything else in 64 bits, pixel by pixel.
  void run_wide(Index first_block, Index last_block) const noexcept {
    const Index lanes = p_.kernels.lanes;
    const Index piece = 65536 / p_.kernels.group;
    auto* wide = reinterpret_cast<std::int64_t*>(slot_ + p_.slot.wide);
    TileArgs t = tile_args();
    t.run = 0;  // pieces end anywhere
    t.sums = sums_;
    t.sums_pitch = lanes;
    for (Index block = first_block; block < last_block; ++block) {
      const Index count = p_.g.out_channels - block * lanes < lanes ? p_.g.out_channels - block * lanes : lanes;
      move_to(block, 0, t);
      const Index first = t.first_channel;
      const std::uint8_t* weights = t.weights;
      const std::int32_t zero[64] = {};
      t.channel_factor = nullptr;
      t.channel_offset = zero;
      t.pixel_offset = zero;
      for (Index y = 0; y < place_.rows; ++y) {
        for (Index x = 0; x < place_.columns; ++x) {
          t.activations = activations_ + y * p_.block.out_row_step + x * p_.block.pixel_step;
          for (Index l = 0; l < lanes; ++l) wide[l] = run_.wide_offset[first + l];
          for (Index step = 0; step < p_.filter.steps; step += piece) {
            t.steps = p_.filter.steps - step < piece ? p_.filter.steps - step : piece;
            t.offsets = p_.offsets.data() + step;
            t.weights = weights + step * t.weight_step;
            p_.kernels.channel_tiles.fit(1, 1).run(t);
            for (Index l = 0; l < lanes; ++l) wide[l] += sums_[l];
          }
          for (Index l = 0; l < count; ++l) {
            if (run_.pixel_terms) {
              wide[l] += std::int64_t{run_.minus_filter_zero_point[first + l]} * pixel_sums_[y * p_.pixel_pitch + x];
            }
            output_at(block * lanes + l, y)[x * p_.g.out.x] = run_.requantizer.exact(wide[l], first + l);
          }
        }
      }
    }
  }

  const Plan& p_;
  const Run& run_;
  std::uint8_t* slot_;
  BlockPlace place_{};
  Index image_ = 0, group_ = 0;
  const std::uint8_t* input_ = nullptr;        // of the image's group
  const std::uint8_t* activations_ = nullptr;  // the block's first pixel
  std::int32_t* sums_;
  std::uint8_t* bytes_;
  std::int32_t* pixel_sums_;
  std::int32_t* pixel_offset_;
};

}  // namespace fast::qlc::tiled
DMLREF_END
