// reference_plan.hpp: a normalization by the reference, its groups split among tasks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/operators/mean_variance_normalization/problem.hpp"
#include "dmlref/operators/mean_variance_normalization/reference.hpp"
#include "dmlref/run/executor.hpp"
#include "dmlref/run/plan.hpp"
#include "dmlref/view/bind.hpp"

DMLREF_BEGIN
namespace detail {

/// The reference on float or half: without statistics, and for parameters with which an activation makes NaN of
/// numbers.
template <class T>
class ReferenceNormalizationPlan final : public PlanOf<ReferenceNormalizationPlan<T>> {
 public:
  explicit ReferenceNormalizationPlan(const fast::normalization::Problem& problem) noexcept
      : problem_(problem), groups_(reference::group_count(problem.input.shape, problem.axes, problem.parameters)) {}

  std::string_view strategy_name() const noexcept { return "reference"; }
  void execute(const Bindings& bindings, Executor& executor) const {
    const std::uint64_t tasks = std::min<std::uint64_t>(groups_, concurrency_of(executor));
    const auto normalize = [&](std::uint64_t task) {
      using View = ByteTensorView<const T>;
      const auto optional_view = [&](std::size_t i, const std::optional<Layout>& layout) {
        return layout ? std::optional<View>(bind<const T>(bindings.inputs[i], *layout)) : std::nullopt;
      };
      reference::normalize_groups(bind<const T>(bindings.inputs[0], problem_.input), optional_view(1, problem_.scale),
                                  optional_view(2, problem_.bias), bind<T>(bindings.outputs[0], problem_.output),
                                  problem_.axes, problem_.parameters, groups_ * task / tasks,
                                  groups_ * (task + 1) / tasks);
    };
    if (tasks == 1) return normalize(0);
    parallel_for(executor, static_cast<std::size_t>(tasks), normalize);
  }

 private:
  fast::normalization::Problem problem_;
  std::uint64_t groups_;
};

}  // namespace detail
DMLREF_END
