// blocks.hpp: the blocks of output pixels into which a convolution is cut, and the plan that runs them in tasks.
//
//   initialize   pack filter, precompute constants        of what DML owns
//   execute      pack filter, precompute constants        of the rest
//                for each unit: stage its block, multiply it with a range of output channels
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/buffers.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/constants.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"
#include "dmlref/operators/quantized_linear_convolution/problem.hpp"
#include "dmlref/run/executor.hpp"
#include "dmlref/run/plan.hpp"
#include "dmlref/run/tasks.hpp"

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

/// Into how many ranges of panels of output channels a plan's blocks are cut, at the price of staging a block several
/// times.
template <class Plan>
Index channel_ranges(const Plan& plan, Index blocks, Index tasks) noexcept {
  Index count = 1;
  while (tasks > 1 && blocks * count < Plan::units_per_task * tasks &&
         plan.channel_panels() / (2 * count) >= Plan::min_panels) {
    count *= 2;
  }
  return count;
}

/// The tasks that have memory of their own: as many as there are work items, where these are fewer than threads.
template <class Plan>
Index tasks_with_scratch(const Plan& plan) noexcept {
  const Index tasks = max_tasks_here(), blocks = plan.grid_for(tasks).blocks(plan.g);
  return smaller(tasks, blocks * channel_ranges(plan, blocks, tasks));
}

/// What is packed and precomputed of so many channels, whoever owns it, but for tables that some plans add.
inline std::uint64_t packed_constants_bytes(Index filter_bytes, Index channels) noexcept {
  ConstantOffsets places;
  ScratchLayout persistent, temporary;
  places.place(persistent, temporary, filter_bytes, channels, 1);
  return static_cast<std::uint64_t>(persistent.size() + temporary.size());
}

/// A plan that runs blocks. Immutable once made. `Concrete` says which blocks there are for so many tasks (`grid_for`),
/// how many panels its output channels are cut into and how few of them a unit may have (`channel_panels`,
/// `min_panels`, `units_per_task`), and lays out its memory; pack_filter (of blocks of output channels),
/// precompute_constants, precompute_owned_constants (which may change the packed filter) and bind_constants, beside it,
/// make a `Run` of the constants. A `Block` is staged, and multiplied with ranges of panels.
template <class Concrete, class Block, class Run>
class BlockedPlan : public dmlref::detail::PlanOf<Concrete> {
  using Bindings = dmlref::detail::Bindings;

 public:
  explicit BlockedPlan(const Problem& problem, const Geometry& geometry)
      : g(geometry), tensors(problem), constants_at(problem), origins_(problem) {}

  BindingProperties properties() const noexcept {
    return {static_cast<std::uint64_t>(scratch_at + task_count * scratch_bytes),
            static_cast<std::uint64_t>(persistent_bytes)};
  }
  bool keeps_owned(std::size_t index) const noexcept { return index != filter_tensor; }
  /// Packs and precomputes what DML owns.
  void initialize(const Bindings& owned, std::byte* persistent) const noexcept {
    const Inputs inputs = origins_.inputs(owned.inputs);
    std::byte* const packed = persistent + constants_at.filter;
    if (constants_at.kept_filter) pack_filter(self(), inputs[filter_tensor], packed, 0, filter_blocks());
    if (constants_at.kept_tables) precompute_owned_constants(self(), inputs.data(), packed, persistent);
  }
  void execute(const Bindings& bindings, Executor& executor) const {
    const Inputs inputs = origins_.inputs(bindings.inputs);
    const Buffers buffers{inputs.data(), origins_.output(bindings.outputs[0]), bindings.persistent, bindings.temporary};
    const std::size_t concurrency = dmlref::detail::concurrency_of(executor);
    if (!constants_at.kept_filter) pack(buffers, executor, concurrency);
    const Work work(*this, buffers, tasks_for(concurrency, task_count));
    if (work.tasks > 1) return share_out(work, executor);
    dmlref::detail::parallel_for(executor, 1, [&](std::size_t) {
      Task task(work, 0);
      for (Index unit = 0; unit < work.units; ++unit) task.run(unit);
    });
  }

  /// What depends on data but not on pixels; the filter is packed.
  void prepare(const Buffers& b, Run& run) const noexcept {
    const std::byte* packed = (constants_at.kept_filter ? b.persistent : b.temporary) + constants_at.filter;
    if (!constants_at.kept_tables) precompute_constants(self(), b.inputs, packed, b.temporary);
    bind_constants(self(), b, packed, constants_at.kept_tables ? b.persistent : b.temporary, run);
  }

  Geometry g;
  ChannelTensors tensors;
  ConstantOffsets constants_at;
  Index persistent_bytes = 0;
  Index scratch_at = 0, scratch_bytes = 0;  ///< of the tasks, in the temporary memory; of one task
  Index task_count = 1;                     ///< how many tasks have scratch

 protected:
  ~BlockedPlan() = default;

 private:
  /// What the tasks of one execute share.
  struct Work {
    Work(const BlockedPlan& plan_, const Buffers& buffers, Index task_count_) noexcept
        : plan(plan_.self()),
          tasks(task_count_),
          grid(plan.grid_for(tasks)),
          ranges(channel_ranges(plan, grid.blocks(plan.g), tasks)),
          units(grid.blocks(plan.g) * ranges),
          scratch(reinterpret_cast<std::uint8_t*>(buffers.temporary + plan.scratch_at)) {
      plan_.prepare(buffers, run);
    }
    const Concrete& plan;
    Index tasks;
    decltype(std::declval<const Concrete&>().grid_for(0)) grid;
    Index ranges, units;  // ranges of output channels for each block
    std::uint8_t* scratch;
    Run run;
  };
  /// One of them, and the block that its scratch holds.
  struct Task {
    Task(const Work& of, Index index) noexcept : work(of), scratch(of.scratch + index * of.plan.scratch_bytes) {}
    void run(Index unit) noexcept {
      const Index index = unit / work.ranges, range = unit % work.ranges, panels = work.plan.channel_panels();
      Block block(work.plan, work.run, work.grid, scratch, index);
      if (staged != index) block.stage();
      block.run(panels * range / work.ranges, panels * (range + 1) / work.ranges);
      staged = index;
    }
    const Work& work;
    std::uint8_t* scratch;
    Index staged = -1;
  };

  const Concrete& self() const noexcept { return static_cast<const Concrete&>(*this); }
  Index filter_blocks() const noexcept { return g.groups * self().filter_blocks(); }

  /// All tasks pack a share of the filter, if that takes longer than waking a thread.
  void pack(const Buffers& buffers, Executor& executor, std::size_t concurrency) const {
    constexpr Index min_bytes = Index{64} << 10;  // bytes
    const Index parts = tasks_for(concurrency, smaller(filter_blocks(), ceil_div(self().filter_bytes(), min_bytes)));
    const auto pack_part = [&](std::size_t part) {
      const auto p = static_cast<Index>(part);
      pack_filter(self(), buffers.inputs[filter_tensor], buffers.temporary + constants_at.filter,
                  filter_blocks() * p / parts, filter_blocks() * (p + 1) / parts);
    };
    if (parts == 1) return pack_part(0);
    dmlref::detail::parallel_for(executor, static_cast<std::size_t>(parts), pack_part);
  }

  /// Each task has a share of neighbouring units (neighbouring blocks write to neighbouring lines, which two cores had
  /// better not do at once) and helps the others when it is done.
  static void share_out(const Work& work, Executor& executor) {
    struct alignas(64) Counter {
      std::atomic<Index> next{0};
    };
    std::array<Counter, max_tasks> counters;
    const auto share = [&](Index task) { return work.units * task / work.tasks; };
    for (Index task = 0; task < work.tasks; ++task) counters[static_cast<std::size_t>(task)].next = share(task);
    dmlref::detail::parallel_for(executor, static_cast<std::size_t>(work.tasks), [&](std::size_t index) {
      const auto first = static_cast<Index>(index);
      Task task(work, first);
      for (Index other = first; other < first + work.tasks; ++other) {
        const Index owner = other % work.tasks;
        std::atomic<Index>& next = counters[static_cast<std::size_t>(owner)].next;
        for (Index unit = next.fetch_add(1); unit < share(owner + 1); unit = next.fetch_add(1)) task.run(unit);
      }
    });
  }

  Origins origins_;
};

}  // namespace fast::qlc
DMLREF_END
