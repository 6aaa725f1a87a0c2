// blocks.hpp: the blocks of output pixels into which a convolution is cut, and the units of work that they make.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/buffers.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/constants.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tasks.hpp"

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
    const Index x = index % across * columns;
    const Index y = index / across % down * rows;
    const Index plane = index / across / down;
    return {
        {y, x, smaller(rows, g.out_height - y), smaller(columns, g.out_width - x)}, plane / g.groups, plane % g.groups};
  }
};

/// A convolution of blocks. Immutable once made. Its plan says which blocks there are for so many tasks (`grid_for`),
/// how many strips its output channels are cut into and how few of them a unit may have, and what memory that takes;
/// pack_filter (of blocks of output channels), precompute_constants, precompute_owned_constants (which may change the
/// packed filter) and bind_constants, beside it, what becomes of the constants; a Block is staged, and multiplied with
/// ranges of strips.
template <class Plan, class Block, class RunOfOne>
class BlockedConvolution {
 public:
  using Run = RunOfOne;
  static constexpr Index most_tasks = qlc::most_tasks;
  static constexpr bool uses_tiles = false;  ///< of AMX

  explicit BlockedConvolution(Plan plan) : plan_(std::move(plan)) {}

  std::uint64_t temporary_bytes() const noexcept { return plan_.temporary_bytes(); }
  /// What is packed and folded of tensors that DML owns.
  std::uint64_t persistent_bytes() const noexcept { return plan_.persistent_bytes(); }
  /// What is packed and folded of all groups, whoever owns it.
  std::uint64_t constants_bytes() const noexcept {
    return plan_.persistent_bytes() + static_cast<std::uint64_t>(plan_.slots_at);
  }

  /// Packs and folds what DML owns; `inputs` as in Buffers, null where it does not.
  void initialize(const std::byte* const* inputs, std::byte* persistent) const noexcept {
    const ConstantOffsets& at = plan_.constants_at;
    if (at.kept_filter) pack_filter(plan_, inputs[filter_tensor], persistent + at.filter, 0, filter_blocks());
    if (at.kept_tables) precompute_owned_constants(plan_, inputs, persistent + at.filter, persistent);
  }
  /// In how many parts, each on any thread, an execute of that concurrency packs the filter; 0: DML owns it.
  Index packing_parts(std::size_t concurrency) const noexcept {
    constexpr Index least = Index{64} << 10;  // bytes, which take about as long as waking a thread
    if (plan_.constants_at.kept_filter) return 0;
    return tasks_for(concurrency, smaller(filter_blocks(), ceil_div(plan_.filter_bytes(), least)));
  }
  void pack_part(const Buffers& b, Index part, Index parts) const noexcept {
    pack_filter(plan_, b.inputs[filter_tensor], b.temporary + plan_.constants_at.filter, filter_blocks() * part / parts,
                filter_blocks() * (part + 1) / parts);
  }
  /// What depends on data but not on pixels. Once per execute, after packing and before the units run.
  void prepare(const Buffers& b, Run& run) const noexcept {
    const ConstantOffsets& at = plan_.constants_at;
    const std::byte* packed = (at.kept_filter ? b.persistent : b.temporary) + at.filter;
    if (!at.kept_tables) precompute_constants(plan_, b.inputs, packed, b.temporary);
    bind_constants(plan_, b, packed, at.kept_tables ? b.persistent : b.temporary, run);
  }

  /// How many tasks may run at once; each has memory of its own.
  Index tasks(std::size_t concurrency) const noexcept { return tasks_for(concurrency, plan_.task_slots); }
  /// The pieces of the work for so many tasks: blocks of pixels and, where those are few, ranges of output channels.
  Index units(Index tasks) const noexcept {
    const auto grid = plan_.grid_for(tasks);
    const Index blocks = grid.blocks(plan_.g);
    return blocks * channel_ranges(plan_, blocks, tasks);
  }

  /// Unit `unit` of `units(tasks)` in the memory of task `task`. `staged` is the task's own, -1 before its first unit:
  /// the block that its memory holds.
  void run(const Run& run, const Buffers& buffers, Index tasks, Index task, Index unit, Index& staged) const noexcept {
    const auto grid = plan_.grid_for(tasks);
    const Index count = channel_ranges(plan_, grid.blocks(plan_.g), tasks);
    const Index range = unit % count;
    std::byte* const slot = buffers.temporary + plan_.slots_at + task * plan_.slot.size;
    Block block(plan_, run, grid, reinterpret_cast<std::uint8_t*>(slot), unit / count);
    if (staged != unit / count) block.stage();
    block.run(plan_.strips() * range / count, plan_.strips() * (range + 1) / count);
    staged = unit / count;
  }

 protected:
  Plan plan_;

 private:
  Index filter_blocks() const noexcept { return plan_.g.groups * plan_.filter_blocks(); }
};

}  // namespace fast::qlc
DMLREF_END
