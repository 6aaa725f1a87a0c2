// slice.hpp: SLICE and SLICE1: what a desc asks for, as a plan's problem.
#pragma once

#include <memory>

#include "dmlref/config.hpp"
#include "dmlref/desc/slice.hpp"
#include "dmlref/fast/slice/problem.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/op/plan.hpp"
#include "dmlref/op/seam.hpp"
#include "dmlref/reference/slice.hpp"
#include "dmlref/view/bind.hpp"

#if DMLREF_HAS_KERNELS
#include "dmlref/op/slice.hpp"
#endif

DMLREF_BEGIN
namespace detail {

inline std::shared_ptr<const Plan> plan_of(const fast::SliceProblem& problem, Isa isa, const Tuning& tuning) {
#if defined(DMLREF_SEPARATE)
  std::shared_ptr<const Plan> plan;
  DMLREF_SEAM(plan_slice)(problem, isa, tuning, plan);
  return plan;
#else
  return slice_plan(problem, isa, tuning);
#endif
}

template <class Desc>
PlannedOperator planned_slice(const Desc& desc, const Layout& window, Isa isa, const Tuning& tuning) {
  const fast::SliceProblem problem{window, layout_of(desc.output), size_of(desc.input.data_type),
                                   desc.input.total_size_in_bytes};
  return {{slot("InputTensor", desc.input)}, slot("OutputTensor", desc.output), plan_of(problem, isa, tuning)};
}

template <>
inline PlannedOperator plan(const SliceDesc& desc, Isa isa, const Tuning& tuning) {
  const Layout window = reference::slice_layout(layout_of(desc.input), Shape::from<std::uint32_t>(desc.output.sizes),
                                                desc.offsets, desc.strides);
  return planned_slice(desc, window, isa, tuning);
}

template <>
inline PlannedOperator plan(const Slice1Desc& desc, Isa isa, const Tuning& tuning) {
  const Layout window = reference::slice1_layout(layout_of(desc.input), Shape::from<std::uint32_t>(desc.output.sizes),
                                                 desc.window_offsets, desc.window_sizes, desc.window_strides);
  return planned_slice(desc, window, isa, tuning);
}

}  // namespace detail
DMLREF_END
