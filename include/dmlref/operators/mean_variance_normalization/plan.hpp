// plan.hpp: MVN, MVN1 and MVN2: from a problem to the plan of a strategy. A strategy per file: rows, summation blocks
// of rows, and columns where groups lie side by side.
//
// A group is summed one summation block after the other (docs/kernels/normalization.md); a summation block that lies
// contiguously in memory is read where it is, any other is first gathered into a row. The order of summation is the
// reference's, so are the results, to the bit.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>

#include "dmlref/config.hpp"
#include "dmlref/config/floating_point.hpp"
#include "dmlref/desc/half.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/columns.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/geometry.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/kernels.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/rows/blocked_rows.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/rows/whole_rows.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/targets.hpp"
#include "dmlref/operators/mean_variance_normalization/problem.hpp"
#include "dmlref/operators/mean_variance_normalization/reference_plan.hpp"
#include "dmlref/run/plan.hpp"

DMLREF_BEGIN
namespace detail {

/// Whether the activation of a number is a number.
inline bool is_regular(const Activation& activation) noexcept {
  const float alpha = activation.parameters[0];
  if (!std::isfinite(alpha) || !std::isfinite(activation.parameters[1])) return false;
  // 0 times a logarithm that may be infinite (Beta * x beyond float16's type of computation), or a division by 0.
  const bool is_odd_at_0 =
      activation.type == ActivationType::celu || activation.type == ActivationType::parametric_softplus;
  return !is_odd_at_0 || alpha != 0.0f;
}

/// A plan for elements of T (float or half).
template <class T>
std::shared_ptr<const Plan> normalization_plan_of(const fast::normalization::Problem& problem,
                                                  const fast::normalization::TargetKernels& kernels,
                                                  const Tuning::Normalization& tuning) {
  using namespace fast::normalization;
  const reference::NormalizationParameters& parameters = problem.parameters;
  if (!parameters.uses_statistics() || !is_regular(parameters.activation)) {
    return std::make_shared<ReferenceNormalizationPlan<T>>(problem);
  }
  const Geometry geometry = Geometry::of(problem.input, problem.output, problem.scale, problem.bias, problem.axes);
  if (geometry.columns) return std::make_shared<ColumnGroups<T>>(geometry, parameters, kernels, tuning);
  if (summation_block_count(static_cast<std::uint64_t>(geometry.reduced.count())) == 1) {
    return std::make_shared<WholeRows<T>>(geometry, parameters, kernels, tuning);
  }
  return std::make_shared<BlockedRows<T>>(geometry, parameters, kernels, tuning);
}
inline std::shared_ptr<const Plan> normalization_plan(const fast::normalization::Problem& problem, Isa isa,
                                                      const Tuning& tuning) {
  return in_default_environment([&] {
    const fast::normalization::TargetKernels kernels = fast::normalization::kernels_of(isa);
    return problem.is_half ? normalization_plan_of<half>(problem, kernels, tuning.normalization)
                           : normalization_plan_of<float>(problem, kernels, tuning.normalization);
  });
}

#if defined(DMLREF_IMPLEMENTATION)
extern "C" {
void DMLREF_SEAM(plan_mean_variance_normalization)(const fast::normalization::Problem& problem, Isa isa,
                                                   const Tuning& tuning, std::shared_ptr<const Plan>& plan) {
  plan = normalization_plan(problem, isa, tuning);
}
}
#endif

}  // namespace detail
DMLREF_END
