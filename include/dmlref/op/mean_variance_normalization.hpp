// mean_variance_normalization.hpp: MVN and MVN1: from a valid descriptor to a plan.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/desc/mean_variance_normalization.hpp"
#include "dmlref/fast/mean_variance_normalization.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/op/plan.hpp"
#include "dmlref/op/seam.hpp"
#include "dmlref/reference/mean_variance_normalization.hpp"
#include "dmlref/view/bind.hpp"

DMLREF_BEGIN
namespace detail {

/// Where the four tensors lie and what is done with them.
struct NormalizationTask {
  Layout input;
  std::optional<Layout> scale;
  std::optional<Layout> bias;
  Layout output;
  reference::AxisSet axes = 0;
  reference::NormalizationParameters parameters;
};

/// Normalization of float or half.
template <class T>
class NormalizationPlan final : public PlanOf<NormalizationPlan<T>> {
 public:
  NormalizationPlan(const NormalizationTask& task, Isa isa, const Tuning& tuning) noexcept
      : normalization_(fast::normalization::Geometry::of(task.input, task.output, task.scale, task.bias, task.axes),
                       task.parameters, isa, tuning) {}

  std::string_view strategy_name() const noexcept { return normalization_.strategy_name(); }
  BindingProperties properties() const noexcept { return {normalization_.temporary_bytes(), 0}; }

  void execute(const Bindings& bindings, Executor& executor) const noexcept {
    normalization_.execute(
        {bindings.inputs[0], bindings.inputs[1], bindings.inputs[2], bindings.output, bindings.temporary},
        executor.concurrency(),
        [&executor](std::size_t count, const auto& body) { parallel_for(executor, count, body); });
  }

 private:
  fast::normalization::Normalization<T> normalization_;
};

/// The reference on float or half: for parameters with which an activation makes NaN of numbers.
template <class T>
class ReferenceNormalizationPlan final : public PlanOf<ReferenceNormalizationPlan<T>> {
 public:
  explicit ReferenceNormalizationPlan(const NormalizationTask& task) noexcept : task_(task) {}

  std::string_view strategy_name() const noexcept { return "reference"; }
  void execute(const Bindings& bindings, Executor&) const noexcept {
    using View = ByteTensorView<const T>;
    const auto optional_view = [&](std::size_t i, const std::optional<Layout>& layout) {
      return layout ? std::optional<View>(bind<const T>(bindings.inputs[i], *layout)) : std::nullopt;
    };
    reference::mean_variance_normalization(bind<const T>(bindings.inputs[0], task_.input),
                                           optional_view(1, task_.scale), optional_view(2, task_.bias),
                                           bind<T>(bindings.output, task_.output), task_.axes, task_.parameters);
  }

 private:
  NormalizationTask task_;
};

/// Whether the activation of a number is a number.
inline bool is_regular(const Activation& activation) noexcept {
  const bool finite = std::isfinite(activation.parameters[0]) && std::isfinite(activation.parameters[1]);
  return finite && !(activation.type == ActivationType::celu && activation.parameters[0] == 0.0f);
}

template <class T>
std::shared_ptr<const Plan> make_normalization_plan(const NormalizationTask& task, Isa isa, const Tuning& tuning) {
  if (!is_regular(task.parameters.activation)) return std::make_shared<ReferenceNormalizationPlan<T>>(task);
  return std::make_shared<NormalizationPlan<T>>(task, isa, tuning);
}

template <class Desc>
PlannedOperator normalization_plan(const Desc& desc, reference::AxisSet axes, Isa isa, const Tuning& tuning) {
  const auto optional_layout = [](const std::optional<TensorDesc>& tensor) {
    return tensor ? std::optional<Layout>(layout_of(*tensor)) : std::nullopt;
  };
  NormalizationTask task;
  task.input = layout_of(desc.input);
  task.scale = optional_layout(desc.scale);
  task.bias = optional_layout(desc.bias);
  task.output = layout_of(desc.output);
  task.axes = axes;
  task.parameters = {desc.normalize_variance, desc.epsilon, desc.fused_activation.value_or(Activation{})};

  PlannedOperator planned;
  planned.inputs = {slot("InputTensor", desc.input), slot("ScaleTensor", desc.scale), slot("BiasTensor", desc.bias)};
  planned.output = slot("OutputTensor", desc.output);
  planned.plan = desc.input.data_type == DataType::float16 ? make_normalization_plan<half>(task, isa, tuning)
                                                           : make_normalization_plan<float>(task, isa, tuning);
  return planned;
}

#if DMLREF_HAS_KERNELS

inline PlannedOperator make_plan(const MeanVarianceNormalizationDesc& desc, Isa isa, const Tuning& tuning) {
  return normalization_plan(desc, reference::cross_channel_axes(desc.cross_channel), isa, tuning);
}

inline PlannedOperator make_plan(const MeanVarianceNormalization1Desc& desc, Isa isa, const Tuning& tuning) {
  return normalization_plan(desc, reference::axis_set(desc.axes), isa, tuning);
}

#if defined(DMLREF_IMPLEMENTATION)
extern "C" {
void DMLREF_SEAM(plan_mean_variance_normalization)(const MeanVarianceNormalizationDesc& desc, Isa isa,
                                                   const Tuning& tuning, PlannedOperator& planned) {
  planned = make_plan(desc, isa, tuning);
}
void DMLREF_SEAM(plan_mean_variance_normalization1)(const MeanVarianceNormalization1Desc& desc, Isa isa,
                                                    const Tuning& tuning, PlannedOperator& planned) {
  planned = make_plan(desc, isa, tuning);
}
}
#endif

#endif

}  // namespace detail
DMLREF_END
