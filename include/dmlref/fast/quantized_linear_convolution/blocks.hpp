// blocks.hpp: the blocks of output pixels into which a convolution is cut, and the units of work that they make.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/geometry.hpp"

DMLREF_BEGIN
namespace fast::qlc {

/// One output block and the input under it.
struct BlockPlace {
  Index y, x;           // first output pixel
  Index rows, columns;  // output pixels here
};

/// A block of one group's channels of one image.
struct GroupBlock {
  BlockPlace place;
  Index image, group;
};

/// Blocks of one size, but for those at the ends.
struct BlockGrid {
  Index rows = 0, columns = 0;  // output pixels of a block
  Index down = 0, across = 0;   // blocks of a plane

  BlockGrid() = default;
  BlockGrid(const Geometry& g, Index block_rows, Index block_columns) noexcept
      : rows(block_rows),
        columns(block_columns),
        down(ceil_div(g.out_height, block_rows)),
        across(ceil_div(g.out_width, block_columns)) {}

  Index blocks(const Geometry& g) const noexcept { return g.batch * g.groups * down * across; }
  GroupBlock block(const Geometry& g, Index index) const noexcept {
    const auto smaller = [](Index a, Index b) { return a < b ? a : b; };
    const Index x = index % across * columns;
    const Index y = index / across % down * rows;
    const Index plane = index / across / down;
    return {
        {y, x, smaller(rows, g.out_height - y), smaller(columns, g.out_width - x)}, plane / g.groups, plane % g.groups};
  }
};

/// Into how many ranges the strips of output channels are cut for so many tasks: several where blocks are few, at the
/// price of staging a block several times; each of `least` strips or more.
inline Index channel_ranges(Index blocks, Index strips, Index least, Index tasks) noexcept {
  Index ranges = 1;
  while (tasks > 1 && blocks * ranges < 4 * tasks && strips / (2 * ranges) >= least) ranges *= 2;
  return ranges;
}

/// Unit `unit` of the plan's `units(tasks)` in the memory of task `task`. `staged` is the task's own, -1 before its
/// first unit: the block that its memory holds.
template <class Block, class Plan, class Run>
void run_unit(const Plan& plan, const Run& run, std::byte* temporary, Index tasks, Index task, Index unit,
              Index& staged) noexcept {
  const BlockGrid grid = plan.grid_for(tasks);
  const Index ranges = plan.ranges(tasks);
  const Index range = unit % ranges;
  std::byte* const slot = temporary + plan.slots_at + task * plan.slot.size;
  const Block block(plan, run, grid, reinterpret_cast<std::uint8_t*>(slot), unit / ranges);
  if (staged != unit / ranges) block.stage();
  block.run(plan.strips() * range / ranges, plan.strips() * (range + 1) / ranges);
  staged = unit / ranges;
}

}  // namespace fast::qlc
DMLREF_END
