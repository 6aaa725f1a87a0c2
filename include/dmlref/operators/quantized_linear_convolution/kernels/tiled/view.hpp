// view.hpp: a block of output pixels at work: where its operands and its results lie.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/blocks.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/constants.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/plan.hpp"

DMLREF_BEGIN
namespace fast::qlc::tiled {

struct BlockView {
  /// In the memory of one task.
  BlockView(const Plan& plan, const Run& execute, const GroupBlock& block, std::uint8_t* task_memory) noexcept
      : p(plan), run(execute), place(block.place), image(block.image), group(block.group), memory(task_memory) {
    input = run.input + image * p.g.in.n + group * p.g.in_channels * p.g.in.c;
    activations =
        p.block.direct ? input + place.y * p.g.stride_y * p.g.in.y + place.x * p.g.stride_x * p.g.in.x : staged();
  }

  std::uint8_t* scratch() const noexcept { return memory + p.scratch.scratch; }
  std::uint8_t* staged() const noexcept { return memory + p.scratch.staged; }
  std::int32_t* sums() const noexcept { return reinterpret_cast<std::int32_t*>(memory + p.scratch.sums); }
  std::uint8_t* bytes() const noexcept { return memory + p.scratch.bytes; }
  std::int32_t* positions() const noexcept { return reinterpret_cast<std::int32_t*>(memory + p.scratch.positions); }
  std::int64_t* int64_sums() const noexcept { return reinterpret_cast<std::int64_t*>(memory + p.scratch.int64_sums); }
  /// Sums of the activations under the windows of output row `y`.
  std::int32_t* pixel_sums(Index y) const noexcept {
    return reinterpret_cast<std::int32_t*>(memory + p.scratch.pixel_sums) + y * p.pixel_pitch;
  }

  /// What the tiles read of output row `y` (of the block).
  const std::uint8_t* activations_of(Index y) const noexcept { return activations + y * p.block.out_row_step; }
  Index output_index(Index channel, Index y) const noexcept {
    return image * p.g.out.n + (group * p.g.out_channels + channel) * p.g.out.c + (place.y + y) * p.g.out.y +
           place.x * p.g.out.x;
  }
  std::uint8_t* output_at(Index channel, Index y) const noexcept { return run.output + output_index(channel, y); }
  /// Of channel `c` of a filter block.
  Index packed_channel(Index block, Index c) const noexcept {
    return (group * p.filter.blocks + block) * p.filter.lanes + c;
  }
  /// Of filter block `block` from channel `c` on.
  const std::uint8_t* weights(Index block, Index c) const noexcept {
    return run.filter + (group * p.filter.blocks + block) * p.filter.block_bytes() + 4 * c;
  }

  /// Whether tiles round the sums of a packed channel, which they hold in registers.
  bool in_registers(Index packed) const noexcept { return run.tiles_round && run.requantizer.in_registers[packed]; }

  /// The rows that need the same steps as output row `y`.
  const RowsAlike& alike_at(Index y) const noexcept {
    const RowsAlike* rows = p.alike.data();
    while (rows->end <= place.y + y) ++rows;
    return *rows;
  }
  /// A tile from pixel `x` of output row `y` and channel `c` of filter block `block` on: only the steps that the row
  /// needs.
  TileOperands operands(Index block, Index c, Index y, Index x) const noexcept {
    const KernelRows rows = p.row_ranges[alike_at(y).range];
    const Index first = rows.first * p.row_steps, weight_step = 4 * p.filter.lanes;
    return {activations_of(y) + x * p.block.pixel_step,
            p.depth.offsets.data() + first,
            (rows.last - rows.first) * p.row_steps,
            p.block.pixel_step,
            weights(block, c) + first * weight_step,
            weight_step,
            p.filter.block_bytes()};
  }
  TileOffsets offsets(Index packed, Index y, Index x) const noexcept {
    const std::int32_t* channel =
        run.channel_offset + static_cast<Index>(alike_at(y).range) * p.offset_pitch() + packed;
    return {channel, run.term, run.term == ZeroPointTerm::product ? run.channel_factor + packed : nullptr,
            pixel_sums(y) + x};
  }

  const Plan& p;
  const Run& run;
  BlockPlace place;
  Index image, group;
  std::uint8_t* memory;
  const std::uint8_t* input;        // of the image's group
  const std::uint8_t* activations;  // the block's first pixel
};

/// Calls run(x, y, lines), which returns where the next tiles begin, for the rows of a block, as many at a time as need
/// the same steps.
template <class RunTiles>
void run_lines(const BlockView& v, const RunTiles& run) noexcept {
  for (Index x = 0, next = 0; x < v.place.columns; x = next) {
    for (Index y = 0, lines = 0; y < v.place.rows; y += lines) {
      lines = smaller(v.alike_at(y).end - v.place.y, v.place.rows) - y;
      next = run(x, y, lines);
    }
  }
}

}  // namespace fast::qlc::tiled
DMLREF_END
