// plan.hpp: SLICE and SLICE1: from a problem to a plan.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/slice/problem.hpp"
#include "dmlref/operators/slice/strategies.hpp"
#include "dmlref/run/plan.hpp"

DMLREF_BEGIN
namespace detail {

class SlicePlan final : public PlanOf<SlicePlan> {
 public:
  static constexpr bool computes = false;

  SlicePlan(const fast::SliceProblem& problem, Isa isa, const Tuning& tuning)
      : slice_(problem.from, problem.to, problem.element_size, problem.readable_bytes, isa, tuning) {}

  std::string_view strategy_name() const noexcept { return slice_.strategy_name(); }
  void execute(const Bindings& bindings, Executor& executor) const {
    const std::byte* in = bindings.inputs[0];
    std::byte* out = bindings.outputs[0];
    const std::size_t tasks = slice_.tasks(concurrency_of(executor));
    if (tasks == 1) return slice_.run(in, out);
    parallel_for(executor, tasks, [&](std::size_t task) { slice_.run(in, out, task, tasks); });
  }

 private:
  fast::Slice slice_;
};

inline std::shared_ptr<const Plan> slice_plan(const fast::SliceProblem& problem, Isa isa, const Tuning& tuning) {
  return std::make_shared<SlicePlan>(problem, isa, tuning);
}

#if defined(DMLREF_IMPLEMENTATION)
extern "C" {
void DMLREF_SEAM(plan_slice)(const fast::SliceProblem& problem, Isa isa, const Tuning& tuning,
                             std::shared_ptr<const Plan>& plan) {
  plan = slice_plan(problem, isa, tuning);
}
}
#endif

}  // namespace detail
DMLREF_END
