// plan.hpp: SLICE and SLICE1: from a problem to a plan, a copy between two layouts that is run in tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/slice/kernels/planner.hpp"
#include "dmlref/operators/slice/kernels/scalar.hpp"
#include "dmlref/operators/slice/kernels/strategy.hpp"
#include "dmlref/operators/slice/kernels/walk.hpp"
#include "dmlref/operators/slice/problem.hpp"
#include "dmlref/run/plan.hpp"
#if DMLREF_HAS_AVX2
#include "dmlref/operators/slice/kernels/avx2.hpp"
#endif
#if DMLREF_HAS_AVX512VNNI
#include "dmlref/operators/slice/kernels/avx512.hpp"
#endif
#if DMLREF_HAS_NEON
#include "dmlref/operators/slice/kernels/neon.hpp"
#endif

DMLREF_BEGIN
namespace fast {

/// Which slice kernels an instruction set has.
inline SliceKernels slice_kernels(Isa isa, const Tuning::Slice& tuning) noexcept {
  static_cast<void>(tuning);  // has a choice between kernels on x86-64 alone
  SliceKernels kernels{.copy = &scalar::copy_rows,
                       .fill = &scalar::fill_rows,
                       .steps = &scalar::step_rows,
                       .panels = &scalar::transpose_panels};
  if (isa == Isa::scalar) return kernels;
#if DMLREF_HAS_AVX2
  kernels.copy = &avx2::copy_rows;
  kernels.shuffle = &avx2::shuffle_rows;
  kernels.lines = {.reverse = &avx2::line_rows<avx2::Reversal>, .every_second = &avx2::every_second_rows};
  kernels.panels = &avx2::transpose_panels;
#if DMLREF_HAS_AVX512VNNI
  const bool has_512 = isa == Isa::avx512vnni || isa == Isa::amx_int8;
  if (has_512 && tuning.byte_permutations && supports_byte_permutations()) kernels.permute = &avx512::permute_rows;
#endif
#elif DMLREF_HAS_NEON
  kernels.copy = &neon::copy_rows;
  kernels.shuffle = &neon::shuffle_rows;
  kernels.panels = &neon::transpose_panels;
#endif
  return kernels;
}

}  // namespace fast
namespace detail {

class SlicePlan final : public PlanOf<SlicePlan> {
 public:
  static constexpr bool computes = false;

  SlicePlan(const fast::SliceProblem& problem, Isa isa, const Tuning& tuning)
      : SlicePlan(problem, fast::slice_kernels(isa, tuning.slice), fast::SliceThresholds(isa, tuning.slice)) {}

  SlicePlan(const fast::SliceProblem& problem, const fast::SliceKernels& kernels,
            const fast::SliceThresholds& thresholds)
      : SlicePlan(fast::SlicePlanner(problem, kernels, thresholds), problem.readable_bytes, thresholds.task_bytes) {}

  /// `walks`: together all of the output, each byte once, of any strategies. `readable_bytes`: from the input's address
  /// on. Of the output only what the walks write is.
  SlicePlan(std::vector<fast::RowWalk> walks, std::uint64_t readable_bytes, std::uint64_t max_tasks)
      : readable_bytes_(static_cast<std::size_t>(readable_bytes)), max_tasks_(max_tasks), walks_(std::move(walks)) {}

  std::string_view strategy_name() const noexcept { return walks_.front().strategy().name; }
  const std::vector<fast::RowWalk>& walks() const noexcept { return walks_; }

  void execute(const Bindings& bindings, Executor& executor) const {
    const std::byte* in = bindings.inputs[0];
    std::byte* out = bindings.outputs[0];
    const std::size_t concurrency = max_tasks_ <= 1 ? 1 : concurrency_of(executor);
    if (concurrency <= 1) return run(in, out);
    const std::size_t tasks = max_tasks_ < concurrency ? static_cast<std::size_t>(max_tasks_) : concurrency;
    parallel_for(executor, tasks, [&](std::size_t task) { run(in, out, task, tasks); });
  }

  /// Task `task` of `tasks`: a part of the output's rows, disjoint from those of the other tasks.
  void run(const std::byte* in, std::byte* out, std::size_t task = 0, std::size_t tasks = 1) const noexcept {
    for (const fast::RowWalk& walk : walks_) {
      const fast::Stores stores = walk.stores(tasks);
      if (tasks == 1) {  // divisions would be a tenth of the shortest calls
        walk.run(stores, in, out, readable_bytes_, 0, walk.rows());
      } else {
        const std::uint64_t rows = walk.rows();  // times tasks that is beyond 32 bits
        walk.run(stores, in, out, readable_bytes_, static_cast<std::size_t>(rows * task / tasks),
                 static_cast<std::size_t>(rows * (task + 1) / tasks));
      }
      if (stores != fast::Stores::cached) fast::store_fence();
    }
  }

 private:
  SlicePlan(fast::SlicePlanner planner, std::uint64_t readable_bytes, std::uint64_t task_bytes)
      : readable_bytes_(static_cast<std::size_t>(readable_bytes)),
        max_tasks_(planner.larger_bytes() / task_bytes),
        walks_(std::move(planner).walks()) {}

  std::size_t readable_bytes_;
  std::uint64_t max_tasks_;
  std::vector<fast::RowWalk> walks_;
};

#if defined(DMLREF_IMPLEMENTATION)
extern "C" {
void DMLREF_SEAM(plan_slice)(const fast::SliceProblem& problem, Isa isa, const Tuning& tuning,
                             std::shared_ptr<const Plan>& plan) {
  plan = std::make_shared<SlicePlan>(problem, isa, tuning);
}
}
#endif

}  // namespace detail
DMLREF_END
