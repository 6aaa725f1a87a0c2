// strategies.hpp: SLICE and SLICE1 as a copy between two layouts, planned once and run in tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/slice/kernels/kernels.hpp"
#include "dmlref/operators/slice/kernels/planner.hpp"
#include "dmlref/operators/slice/kernels/walk.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN
namespace fast {

/// A slice made ready: from the view of the input that the operator reads (see operators/slice/reference.hpp) to the
/// output.
class Slice {
 public:
  /// `in_bytes`: how many bytes from the input's address on may be read. Of the output only what the walks write is.
  Slice(CopyPlan plan, std::uint64_t in_bytes, std::uint64_t task_bytes)
      : plan_(std::move(plan)), in_bytes_(static_cast<std::size_t>(in_bytes)), task_bytes_(task_bytes) {}

  /// Layouts of one shape, strides of either sign; offsets count from the addresses that `run` is given.
  Slice(const Layout& from, const Layout& to, std::size_t element_size, std::uint64_t in_bytes,
        const SliceKernels& kernels, const SliceThresholds& thresholds)
      : Slice(Planner(from, to, element_size, in_bytes, kernels, thresholds).plan(), in_bytes, thresholds.task_bytes) {}

  Slice(const Layout& from, const Layout& to, std::size_t element_size, std::uint64_t in_bytes, Isa isa,
        const Tuning& row)
      : Slice(from, to, element_size, in_bytes, slice_kernels(isa, row.slice), SliceThresholds(isa, row.slice)) {}

  std::string_view strategy_name() const noexcept { return plan_.walks.front().strategy().name; }

  /// How many tasks are worth while for an executor of that concurrency.
  std::size_t tasks(std::size_t concurrency) const noexcept {
    const std::uint64_t most = plan_.larger_bytes / task_bytes_;
    if (concurrency <= 1 || most <= 1) return 1;
    return most < concurrency ? static_cast<std::size_t>(most) : concurrency;
  }

  /// Task `task` of `tasks`: a part of the output's rows, disjoint from those of the other tasks.
  void run(const std::byte* in, std::byte* out, std::size_t task = 0, std::size_t tasks = 1) const noexcept {
    for (const RowWalk& walk : plan_.walks) {
      const Stores stores = walk.stores(tasks);
      if (tasks == 1) {  // divisions would be a tenth of the shortest calls
        walk.run(stores, in, out, in_bytes_, 0, walk.rows());
      } else {
        const std::uint64_t rows = walk.rows();  // times tasks that is beyond 32 bits
        walk.run(stores, in, out, in_bytes_, static_cast<std::size_t>(rows * task / tasks),
                 static_cast<std::size_t>(rows * (task + 1) / tasks));
      }
      if (stores == Stores::non_temporal) scalar::store_fence();
    }
  }

  const std::vector<RowWalk>& walks() const noexcept { return plan_.walks; }

 private:
  CopyPlan plan_;
  std::size_t in_bytes_;
  std::uint64_t task_bytes_;
};

}  // namespace fast
DMLREF_END
