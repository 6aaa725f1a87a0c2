// mean_variance_normalization.hpp: MVN and MVN1: what a desc asks for, as a plan's problem.
#pragma once

#include <memory>
#include <optional>

#include "dmlref/config.hpp"
#include "dmlref/desc/mean_variance_normalization.hpp"
#include "dmlref/fast/mean_variance_normalization/problem.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/op/plan.hpp"
#include "dmlref/op/seam.hpp"
#include "dmlref/view/bind.hpp"

#if DMLREF_HAS_KERNELS
#include "dmlref/op/mean_variance_normalization.hpp"
#endif

DMLREF_BEGIN
namespace detail {

inline std::shared_ptr<const Plan> plan_of(const fast::normalization::Problem& problem, Isa isa, const Tuning& tuning) {
#if defined(DMLREF_SEPARATE)
  std::shared_ptr<const Plan> plan;
  DMLREF_SEAM(plan_mean_variance_normalization)(problem, isa, tuning, plan);
  return plan;
#else
  return normalization_plan(problem, isa, tuning);
#endif
}

template <class Desc>
PlannedOperator planned_normalization(const Desc& desc, reference::AxisSet axes, Isa isa, const Tuning& tuning) {
  const auto layout = [](const std::optional<TensorDesc>& tensor) {
    return tensor ? std::optional<Layout>(layout_of(*tensor)) : std::nullopt;
  };
  const fast::normalization::Problem problem{
      layout_of(desc.input),
      layout(desc.scale),
      layout(desc.bias),
      layout_of(desc.output),
      axes,
      {desc.normalize_variance, desc.epsilon, desc.fused_activation.value_or(Activation{})},
      desc.input.data_type == DataType::float16};
  return {{slot("InputTensor", desc.input), slot("ScaleTensor", desc.scale), slot("BiasTensor", desc.bias)},
          slot("OutputTensor", desc.output),
          plan_of(problem, isa, tuning)};
}

template <>
inline PlannedOperator plan(const MeanVarianceNormalizationDesc& desc, Isa isa, const Tuning& tuning) {
  return planned_normalization(desc, reference::cross_channel_axes(desc.cross_channel), isa, tuning);
}

template <>
inline PlannedOperator plan(const MeanVarianceNormalization1Desc& desc, Isa isa, const Tuning& tuning) {
  return planned_normalization(desc, reference::axis_set(desc.axes), isa, tuning);
}

}  // namespace detail
DMLREF_END
