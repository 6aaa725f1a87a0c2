// problem.hpp: what a normalization is to do, as its plan sees it.
#pragma once

#include <memory>
#include <optional>

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/mean_variance_normalization/parameters.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN
namespace fast::normalization {

/// Where the four tensors lie, from their elements (0, …, 0) on, and what is done with them. Scale and bias have the
/// input's rank, with 1 where they repeat.
struct Problem {
  Layout input;
  std::optional<Layout> scale;
  std::optional<Layout> bias;
  Layout output;
  reference::AxisSet axes = 0;
  reference::NormalizationParameters parameters;
  bool is_half = false;  ///< the elements of all tensors: half, or float
};

}  // namespace fast::normalization

#if defined(DMLREF_SEPARATE)
namespace detail {
class Plan;

/// How a separate program asks for a plan.
extern "C" void DMLREF_SEAM(plan_mean_variance_normalization)(const fast::normalization::Problem& problem, Isa isa,
                                                              const Tuning& tuning, std::shared_ptr<const Plan>& plan);
}  // namespace detail
#endif

DMLREF_END
