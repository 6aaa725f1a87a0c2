// call.hpp: ELEMENT_WISE_QUANTIZE_LINEAR and ELEMENT_WISE_DEQUANTIZE_LINEAR: a desc or a call on views as a problem.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/desc/half.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/element_wise_quantize_linear/desc.hpp"
#include "dmlref/operators/element_wise_quantize_linear/problem.hpp"
#include "dmlref/operators/element_wise_quantize_linear/schema.hpp"
#include "dmlref/run/one_operator.hpp"
#include "dmlref/run/plan.hpp"
#include "dmlref/run/views.hpp"
#include "dmlref/view/bind.hpp"
#include "dmlref/view/tensor_view.hpp"

#if DMLREF_HAS_KERNELS
#include "dmlref/operators/element_wise_quantize_linear/plan.hpp"
#endif

DMLREF_BEGIN
namespace detail {

inline std::shared_ptr<const Plan> plan_of(const fast::quantize_linear::Problem& problem, Isa isa) {
#if defined(DMLREF_SEPARATE)
  std::shared_ptr<const Plan> plan;
  DMLREF_SEAM(plan_element_wise_quantize_linear)(problem, isa, plan);
  return plan;
#else
  return element_wise_quantize_linear_plan(problem, isa);
#endif
}

template <class Desc>
inline constexpr auto quantize_linear_direction =
    std::is_same_v<Desc, ElementWiseQuantizeLinearDesc> ? fast::quantize_linear::Direction::quantize
                                                        : fast::quantize_linear::Direction::dequantize;

template <class Desc>
PlannedOperator planned_quantize_linear(const Desc& desc, Isa isa) {
  const fast::quantize_linear::Problem problem{
      quantize_linear_direction<Desc>,
      seen(desc.input).layout,
      seen(desc.scale).layout,
      desc.zero_point ? std::optional<Layout>(seen(*desc.zero_point).layout) : std::nullopt,
      layout_of(desc.output),
      desc.input.data_type,
      desc.scale.data_type,
      desc.output.data_type};
  return planned(desc, plan_of(problem, isa));
}

template <>
inline PlannedOperator plan(const ElementWiseQuantizeLinearDesc& desc, Isa isa, const Tuning&) {
  return planned_quantize_linear(desc, isa);
}
template <>
inline PlannedOperator plan(const ElementWiseDequantizeLinearDesc& desc, Isa isa, const Tuning&) {
  return planned_quantize_linear(desc, isa);
}

template <class Desc>
rules::Facts<Desc> check_arguments(Report& report, Views<Desc>& views) {
  rules::Facts<Desc> facts;
  views.read(report, facts);
  rules::apply_rules(report, latest_feature_level, facts);
  return facts;
}

template <class Desc>
DescribeResult<Desc> described_quantize_linear(Views<Desc> views) {
  Report report;
  auto facts = check_arguments(report, views);
  return described(std::move(report), facts);
}

template <class Desc>
Report quantize_linear_views(Views<Desc> views, const RunOptions& options) {
  Report report;
  check_arguments(report, views);
  const Isa isa = check_run(report, views.inputs, views.output, options).isa;
  if (!report) return report;
  const ViewArgument &input = views.inputs[0], &scale = views.inputs[1], &zero_point = views.inputs[2];
  const fast::quantize_linear::Problem problem{
      quantize_linear_direction<Desc>,
      input.layout(),
      scale.layout(),
      zero_point.present() ? std::optional<Layout>(zero_point.layout()) : std::nullopt,
      views.output.layout(),
      input.type(),
      scale.type(),
      views.output.type()};
  Bindings bindings;
  for (std::size_t i = 0; i < views.inputs.size(); ++i) bindings.inputs[i] = views.inputs[i].data();
  bindings.outputs[0] = const_cast<std::byte*>(views.output.data());
  return run_plan(*plan_of(problem, isa), bindings, options);
}

template <class T, class... Types>
concept OneOf = (std::is_same_v<std::remove_const_t<T>, Types> || ...);

/// What a call of `element_wise_quantize_linear` reads and writes: the scale has the input's type, or float where that
/// is std::int32_t.
template <class In, class Scale, class Out>
concept QuantizeLinearElements =
    OneOf<In, float, half, std::int32_t> && OneOf<Out, std::int8_t, std::uint8_t> && !std::is_const_v<Out> &&
    OneOf<Scale, std::conditional_t<OneOf<In, std::int32_t>, float, std::remove_const_t<In>>>;
/// The same of `element_wise_dequantize_linear`.
template <class In, class Out>
concept DequantizeLinearElements =
    OneOf<In, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t> &&
    OneOf<Out, float, half> && !std::is_const_v<Out>;

template <class Desc, class In, class Scale, class ZeroPoint, class Out>
Views<Desc> quantize_linear_views_of(const TensorView<In>& input, const TensorView<Scale>& scale,
                                     const std::optional<TensorView<ZeroPoint>>& zero_point,
                                     const TensorView<Out>& output) {
  return {{{{input, data_type_of<std::remove_const_t<In>>},
            {scale, data_type_of<std::remove_const_t<Scale>>},
            {zero_point, data_type_of<std::remove_const_t<ZeroPoint>>}}},
          {output, data_type_of<Out>}};
}

}  // namespace detail

/// ELEMENT_WISE_QUANTIZE_LINEAR on views of one shape: output = clamp(round_half_even(input / scale) + zero_point),
/// rounded once. The input is float, half or std::int32_t, the scale as the input (float where that is std::int32_t),
/// the output std::int8_t or std::uint8_t, and so is the zero point; std::nullopt: 0. A stride of 0 repeats a scale or
/// zero point. Ranks 1 to 8, any strides of views; no two elements of the output at one address, its bytes apart from
/// the inputs'. Nothing is written where the Report is not ok.
template <class In, class Scale, class Out>
requires detail::QuantizeLinearElements<In, Scale, Out>
[[nodiscard]] Report element_wise_quantize_linear(const TensorView<In>& input, const TensorView<Scale>& scale,
                                                  const OptionalInputView<Out>& zero_point,
                                                  const TensorView<Out>& output, const RunOptions& options = {}) {
  using Desc = ElementWiseQuantizeLinearDesc;
  return detail::quantize_linear_views(detail::quantize_linear_views_of<Desc>(input, scale, zero_point, output),
                                       options);
}

/// ELEMENT_WISE_DEQUANTIZE_LINEAR on views of one shape: output = (input - zero_point) * scale, rounded once. The input
/// is an integer of 8, 16 or 32 bits, and so is the zero point; std::nullopt: 0. The output is float or half, and so is
/// the scale. All else as in `element_wise_quantize_linear`.
template <class In, class Out>
requires detail::DequantizeLinearElements<In, Out>
[[nodiscard]] Report element_wise_dequantize_linear(const TensorView<In>& input, const InputView<Out>& scale,
                                                    const OptionalInputView<std::remove_const_t<In>>& zero_point,
                                                    const TensorView<Out>& output, const RunOptions& options = {}) {
  using Desc = ElementWiseDequantizeLinearDesc;
  return detail::quantize_linear_views(detail::quantize_linear_views_of<Desc>(input, scale, zero_point, output),
                                       options);
}

/// The desc of a call of `element_wise_quantize_linear`, to be compiled once and executed often. Its buffers begin at
/// the views' data.
template <class In, class Scale, class Out>
requires detail::QuantizeLinearElements<In, Scale, Out>
[[nodiscard]] DescribeResult<ElementWiseQuantizeLinearDesc> describe_element_wise_quantize_linear(
    const TensorView<In>& input, const TensorView<Scale>& scale, const OptionalInputView<Out>& zero_point,
    const TensorView<Out>& output) {
  return detail::described_quantize_linear(
      detail::quantize_linear_views_of<ElementWiseQuantizeLinearDesc>(input, scale, zero_point, output));
}
/// The same for `element_wise_dequantize_linear`.
template <class In, class Out>
requires detail::DequantizeLinearElements<In, Out>
[[nodiscard]] DescribeResult<ElementWiseDequantizeLinearDesc> describe_element_wise_dequantize_linear(
    const TensorView<In>& input, const InputView<Out>& scale,
    const OptionalInputView<std::remove_const_t<In>>& zero_point, const TensorView<Out>& output) {
  return detail::described_quantize_linear(
      detail::quantize_linear_views_of<ElementWiseDequantizeLinearDesc>(input, scale, zero_point, output));
}

DMLREF_END
