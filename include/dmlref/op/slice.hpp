// slice.hpp: SLICE and SLICE1: from a valid descriptor to a plan.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/desc/slice.hpp"
#include "dmlref/fast/slice.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/op/plan.hpp"
#include "dmlref/op/seam.hpp"
#include "dmlref/reference/slice.hpp"
#include "dmlref/view/bind.hpp"

DMLREF_BEGIN
namespace detail {

class SlicePlan final : public PlanOf<SlicePlan> {
 public:
  SlicePlan(const TensorDesc& input, const Layout& window, const Layout& output, Isa isa, const Tuning& tuning)
      : slice_(window, output, size_of(input.data_type), input.total_size_in_bytes, isa, tuning) {}

  std::string_view strategy_name() const noexcept { return slice_.strategy_name(); }
  void execute(const Bindings& bindings, Executor& executor) const noexcept {
    const std::byte* in = bindings.inputs[0];
    std::byte* out = bindings.output;
    const std::size_t tasks = slice_.tasks(executor.concurrency());
    if (tasks == 1) return slice_.run(in, out);
    parallel_for(executor, tasks, [&](std::size_t task) { slice_.run(in, out, task, tasks); });
  }

 private:
  fast::Slice slice_;
};

#if DMLREF_HAS_KERNELS

inline PlannedOperator make_plan(const SliceDesc& desc, Isa isa, const Tuning& tuning) {
  const Layout output = layout_of(desc.output);
  const Layout window = reference::slice_layout(layout_of(desc.input), output.shape, desc.offsets, desc.strides);
  return {{slot("InputTensor", desc.input)},
          slot("OutputTensor", desc.output),
          std::make_shared<SlicePlan>(desc.input, window, output, isa, tuning)};
}

inline PlannedOperator make_plan(const Slice1Desc& desc, Isa isa, const Tuning& tuning) {
  const Layout output = layout_of(desc.output);
  const Layout window = reference::slice1_layout(layout_of(desc.input), output.shape, desc.window_offsets,
                                                 desc.window_sizes, desc.window_strides);
  return {{slot("InputTensor", desc.input)},
          slot("OutputTensor", desc.output),
          std::make_shared<SlicePlan>(desc.input, window, output, isa, tuning)};
}

#if defined(DMLREF_IMPLEMENTATION)
extern "C" {
void DMLREF_SEAM(plan_slice)(const SliceDesc& desc, Isa isa, const Tuning& tuning, PlannedOperator& planned) {
  planned = make_plan(desc, isa, tuning);
}
void DMLREF_SEAM(plan_slice1)(const Slice1Desc& desc, Isa isa, const Tuning& tuning, PlannedOperator& planned) {
  planned = make_plan(desc, isa, tuning);
}
}
#endif

#endif

}  // namespace detail
DMLREF_END
