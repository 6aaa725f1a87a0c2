// call.hpp: MVN, MVN1 and MVN2: a desc or a call on views as a plan's problem.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/desc/activation.hpp"
#include "dmlref/desc/half.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/mean_variance_normalization/desc.hpp"
#include "dmlref/operators/mean_variance_normalization/problem.hpp"
#include "dmlref/operators/mean_variance_normalization/schema.hpp"
#include "dmlref/run/one_operator.hpp"
#include "dmlref/run/plan.hpp"
#include "dmlref/run/views.hpp"
#include "dmlref/view/bind.hpp"
#include "dmlref/view/narrow.hpp"
#include "dmlref/view/tensor_view.hpp"

#if DMLREF_HAS_KERNELS
#include "dmlref/operators/mean_variance_normalization/plan.hpp"
#endif

DMLREF_BEGIN

/// What a call of `mean_variance_normalization` computes, as DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC has it.
struct MeanVarianceNormalizationOptions {
  IndexList axes = {};             ///< of one mean and variance, each below the rank, none twice. Empty: of one element
  bool normalize_variance = true;  ///< false: only the mean is subtracted
  float epsilon = 1e-5f;           ///< added to the variance
  std::optional<Activation> fused_activation = std::nullopt;  ///< applied before the one rounding of the result
  /// Deprecated: fused_activation, in whose absence it counts; goes in 0.5. (Marked so, g++ warns of every braced
  /// list.)
  std::optional<Activation> activation = std::nullopt;
};

/// What a call of `mean_variance_normalization2` computes, as DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC has it.
struct MeanVarianceNormalization2Options {
  IndexList axes = {};       ///< of the statistics, each below the rank, none twice. Empty: of one element
  bool use_mean = true;      ///< false: the mean is not subtracted, and the variance is about 0
  bool use_variance = true;  ///< false: no division, and no epsilon
  float epsilon = 1e-5f;     ///< added to the variance
  std::optional<Activation> fused_activation = std::nullopt;  ///< applied before the one rounding of the result
};

namespace detail {

/// By its new name or the old one.
inline std::optional<Activation> activation_of(const MeanVarianceNormalizationOptions& options) noexcept {
  return options.fused_activation ? options.fused_activation : options.activation;
}
inline std::optional<Activation> activation_of(const MeanVarianceNormalization2Options& options) noexcept {
  return options.fused_activation;
}

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
    return tensor ? std::optional<Layout>(seen(*tensor).layout) : std::nullopt;
  };
  const fast::normalization::Problem problem{seen(desc.input).layout,
                                             layout(desc.scale),
                                             layout(desc.bias),
                                             layout_of(desc.output),
                                             axes,
                                             reference::NormalizationParameters::of(desc),
                                             desc.input.data_type == DataType::float16};
  return planned(desc, plan_of(problem, isa, tuning));
}

template <>
inline PlannedOperator plan(const MeanVarianceNormalizationDesc& desc, Isa isa, const Tuning& tuning) {
  return planned_normalization(desc, reference::cross_channel_axes(desc.cross_channel), isa, tuning);
}

template <>
inline PlannedOperator plan(const MeanVarianceNormalization1Desc& desc, Isa isa, const Tuning& tuning) {
  return planned_normalization(desc, reference::axis_set(desc.axes), isa, tuning);
}

template <>
inline PlannedOperator plan(const MeanVarianceNormalization2Desc& desc, Isa isa, const Tuning& tuning) {
  return planned_normalization(desc, reference::axis_set(desc.axes), isa, tuning);
}

inline void read_statistics(Report& report, const MeanVarianceNormalizationOptions& options,
                            rules::Facts<MeanVarianceNormalization1Desc>& facts) {
  using Desc = MeanVarianceNormalization1Desc;
  rules::read_member(report, options.normalize_variance, rules::fact<&Desc::normalize_variance>(facts));
}
inline void read_statistics(Report& report, const MeanVarianceNormalization2Options& options,
                            rules::Facts<MeanVarianceNormalization2Desc>& facts) {
  using Desc = MeanVarianceNormalization2Desc;
  rules::read_member(report, options.use_mean, rules::fact<&Desc::use_mean>(facts));
  rules::read_member(report, options.use_variance, rules::fact<&Desc::use_variance>(facts));
}

template <class Desc, class Options>
rules::Facts<Desc> check_normalization_arguments(Report& report, Views<Desc>& views, const Options& options,
                                                 NumberArgument& axes) {
  using namespace rules;
  Facts<Desc> facts;
  views.read(report, facts);
  axes.read(report, options.axes.begin(), options.axes.size(), fact<&Desc::axes>(facts));
  // Also where a number in it cannot be read.
  count_fact<&Desc::axes>(facts).value = narrow<std::uint32_t>(Index(options.axes.size()));
  read_statistics(report, options, facts);
  read_member(report, options.epsilon, fact<&Desc::epsilon>(facts));
  read_member(report, activation_of(options), fact<&Desc::fused_activation>(facts));
  apply_rules(report, latest_feature_level, facts);
  return facts;
}

template <class Desc, class Options>
DescribeResult<Desc> described_normalization(Views<Desc> views, const Options& options) {
  Report report;
  NumberArgument axes;
  auto facts = check_normalization_arguments(report, views, options, axes);
  return described(std::move(report), facts);
}

template <class Desc, class Options>
Report normalization_views(Views<Desc> views, const Options& options, const RunOptions& run_options) {
  Report report;
  NumberArgument axes;
  check_normalization_arguments(report, views, options, axes);
  const Isa isa = check_run(report, views.inputs, views.output, run_options).isa;
  if (!report) return report;
  const auto layout = [](const ViewArgument& view) {
    return view.present() ? std::optional<Layout>(view.layout()) : std::nullopt;
  };
  fast::normalization::Problem problem{views.inputs[0].layout(),
                                       layout(views.inputs[1]),
                                       layout(views.inputs[2]),
                                       views.output.layout(),
                                       0,
                                       reference::NormalizationParameters::of(options),
                                       views.output.type() == DataType::float16};
  problem.parameters.activation = activation_of(options).value_or(Activation{});
  for (const Index axis : options.axes) problem.axes |= reference::AxisSet{1} << axis;
  Bindings bindings;
  for (std::size_t i = 0; i < views.inputs.size(); ++i) bindings.inputs[i] = views.inputs[i].data();
  bindings.outputs[0] = const_cast<std::byte*>(views.output.data());
  return run_plan(*plan_of(problem, isa, this_cpu()), bindings, run_options);
}

/// What is normalized on views.
template <class T>
concept NormalizationElement = std::is_same_v<T, float> || std::is_same_v<T, half>;

template <class Desc, NormalizationElement T>
Views<Desc> normalization_views_of(const InputView<T>& input, const OptionalInputView<T>& scale,
                                   const OptionalInputView<T>& bias, const TensorView<T>& output) {
  constexpr DataType type = data_type_of<T>;
  return {{{{input, type}, {scale, type}, {bias, type}}}, {output, type}};
}

}  // namespace detail

/// MEAN_VARIANCE_NORMALIZATION1 on views of float or half, ranks 1 to 8, any strides; scale and bias have the input's
/// rank, and its extents or 1. No two elements of the output at one address, its bytes apart from the inputs'. Nothing
/// is written where the Report is not ok: it names wrong ranks, extents, axes, overlapping memory and null data by the
/// document's names.
template <class T>
requires detail::NormalizationElement<T>
[[nodiscard]] Report mean_variance_normalization(const InputView<T>& input, const OptionalInputView<T>& scale,
                                                 const OptionalInputView<T>& bias, const TensorView<T>& output,
                                                 const MeanVarianceNormalizationOptions& options,
                                                 const RunOptions& run_options = {}) {
  using Desc = MeanVarianceNormalization1Desc;
  return detail::normalization_views(detail::normalization_views_of<Desc, T>(input, scale, bias, output), options,
                                     run_options);
}

/// The desc of such a call, to be compiled once and executed often. Its buffers begin at the views' data.
template <class T>
requires detail::NormalizationElement<T>
[[nodiscard]] DescribeResult<MeanVarianceNormalization1Desc> describe_mean_variance_normalization(
    const InputView<T>& input, const OptionalInputView<T>& scale, const OptionalInputView<T>& bias,
    const TensorView<T>& output, const MeanVarianceNormalizationOptions& options) {
  using Desc = MeanVarianceNormalization1Desc;
  return detail::described_normalization(detail::normalization_views_of<Desc, T>(input, scale, bias, output), options);
}

/// MEAN_VARIANCE_NORMALIZATION2 on views of float or half, ranks 1 to 8, any strides; scale and bias have the input's
/// rank, and its extents or 1. Without `use_mean` it is RMS normalization. Output and Report are as of
/// `mean_variance_normalization`.
template <class T>
requires detail::NormalizationElement<T>
[[nodiscard]] Report mean_variance_normalization2(const InputView<T>& input, const OptionalInputView<T>& scale,
                                                  const OptionalInputView<T>& bias, const TensorView<T>& output,
                                                  const MeanVarianceNormalization2Options& options,
                                                  const RunOptions& run_options = {}) {
  using Desc = MeanVarianceNormalization2Desc;
  return detail::normalization_views(detail::normalization_views_of<Desc, T>(input, scale, bias, output), options,
                                     run_options);
}

/// The desc of such a call, to be compiled once and executed often. Its buffers begin at the views' data.
template <class T>
requires detail::NormalizationElement<T>
[[nodiscard]] DescribeResult<MeanVarianceNormalization2Desc> describe_mean_variance_normalization2(
    const InputView<T>& input, const OptionalInputView<T>& scale, const OptionalInputView<T>& bias,
    const TensorView<T>& output, const MeanVarianceNormalization2Options& options) {
  using Desc = MeanVarianceNormalization2Desc;
  return detail::described_normalization(detail::normalization_views_of<Desc, T>(input, scale, bias, output), options);
}

/// The older name of describe_mean_variance_normalization.
template <class T>
requires detail::NormalizationElement<T>
[[deprecated(
    "describe_mean_variance_normalization; goes in 0.5")]] [[nodiscard]] DescribeResult<MeanVarianceNormalization1Desc>
describe(const InputView<T>& input, const OptionalInputView<T>& scale, const OptionalInputView<T>& bias,
         const TensorView<T>& output, const MeanVarianceNormalizationOptions& options) {
  return describe_mean_variance_normalization<T>(input, scale, bias, output, options);
}

DMLREF_END
