// call.hpp: QUANTIZED_LINEAR_CONVOLUTION: a desc or a call on views as a plan's problem.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/quantized_linear_convolution/arguments.hpp"
#include "dmlref/operators/quantized_linear_convolution/desc.hpp"
#include "dmlref/operators/quantized_linear_convolution/problem.hpp"
#include "dmlref/operators/quantized_linear_convolution/reference.hpp"
#include "dmlref/operators/quantized_linear_convolution/schema.hpp"
#include "dmlref/run/one_operator.hpp"
#include "dmlref/run/plan.hpp"
#include "dmlref/run/views.hpp"
#include "dmlref/view/bind.hpp"
#include "dmlref/view/narrow.hpp"
#include "dmlref/view/tensor_view.hpp"

#if DMLREF_HAS_KERNELS
#include "dmlref/operators/quantized_linear_convolution/plan.hpp"
#endif

DMLREF_BEGIN

/// The older name.
using ConvolutionOptions [[deprecated("QuantizedLinearConvolutionOptions; goes in 0.4")]] =
    QuantizedLinearConvolutionOptions;

namespace detail {

inline std::shared_ptr<const Plan> plan_of(const fast::qlc::Problem& problem, Isa isa, const Tuning& tuning) {
#if defined(DMLREF_SEPARATE)
  std::shared_ptr<const Plan> plan;
  DMLREF_SEAM(plan_quantized_linear_convolution)(problem, isa, tuning, plan);
  return plan;
#else
  return qlc_plan(problem, isa, tuning);
#endif
}

/// A valid descriptor as the plans see it.
inline fast::qlc::Problem qlc_problem(const QuantizedLinearConvolutionDesc& desc) {
  const auto operand = [](const TensorDesc& tensor) {
    const SeenTensor as = seen(tensor);
    return fast::qlc::Operand{as.layout, true, tensor.data_type == DataType::int8, tensor.owned_by_dml,
                              as.readable_bytes};
  };
  const auto optional = [&](const std::optional<TensorDesc>& tensor) {
    return tensor ? operand(*tensor) : fast::qlc::Operand{};
  };
  return {{operand(desc.input), operand(desc.input_scale), optional(desc.input_zero_point), operand(desc.filter),
           operand(desc.filter_scale), optional(desc.filter_zero_point), optional(desc.bias),
           operand(desc.output_scale), optional(desc.output_zero_point)},
          operand(desc.output),
          {Strides::from<std::uint32_t>(desc.strides), Strides::from<std::uint32_t>(desc.dilations),
           Shape::from<std::uint32_t>(desc.start_padding), static_cast<Index>(desc.group_count)}};
}

template <>
inline PlannedOperator plan(const QuantizedLinearConvolutionDesc& desc, Isa isa, const Tuning& tuning) {
  return planned(desc, plan_of(qlc_problem(desc), isa, tuning));
}

using ConvolutionViews = Views<QuantizedLinearConvolutionDesc>;

inline DescribeResult<QuantizedLinearConvolutionDesc> described_convolution(
    ConvolutionViews views, const QuantizedLinearConvolutionOptions& options) {
  Report report;
  ConvolutionArguments<QuantizedLinearConvolutionDesc> arguments(report, views, options);
  return described(std::move(report), arguments.facts);
}

inline Report convolution_views(ConvolutionViews views, const QuantizedLinearConvolutionOptions& options,
                                const RunOptions& run_options) {
  Report report;
  const ConvolutionArguments<QuantizedLinearConvolutionDesc> arguments(report, views, options);
  const ChosenIsa chosen = check_run(report, views.inputs, views.output, run_options);
  if (!report) return report;
  const auto operand = [](const ViewArgument& view) {
    if (!view.present()) return fast::qlc::Operand{};
    return fast::qlc::Operand{view.layout_in_range(), true, view.type() == DataType::int8, false, view.range().size()};
  };
  fast::qlc::Problem problem;
  Bindings bindings;
  for (std::size_t i = 0; i < views.inputs.size(); ++i) {
    problem.inputs[i] = operand(views.inputs[i]);
    bindings.inputs[i] = views.inputs[i].range().data();
  }
  problem.output = operand(views.output);
  bindings.outputs[0] = const_cast<std::byte*>(views.output.range().data());
  problem.geometry = arguments.geometry(options);
  const auto plan = plan_permitted(chosen, report, [&](Isa of) { return plan_of(problem, of, this_cpu()); });
  if (!report) return report;
  return run_plan(*plan, bindings, run_options);
}

template <class In, class Filter, class Out>
ConvolutionViews convolution_views_of(const QuantizedLinearConvolutionTensors<In, Filter, Out>& t) {
  constexpr DataType in = data_type_of<In>, filter = data_type_of<Filter>, out = data_type_of<Out>;
  constexpr DataType f32 = DataType::float32;
  return {{{{t.input, in},
            {t.input_scale, f32},
            {t.input_zero_point, in},
            {t.filter, filter},
            {t.filter_scale, f32},
            {t.filter_zero_point, filter},
            {t.bias, DataType::int32},
            {t.output_scale, f32},
            {t.output_zero_point, out}}},
          {t.output, out}};
}

}  // namespace detail

/// QUANTIZED_LINEAR_CONVOLUTION on views of std::int8_t or std::uint8_t, of any strides and of the shapes that
/// QuantizedLinearConvolutionTensors lists; no two elements of the output at one address, its bytes apart from the
/// inputs'. Nothing is written where the Report is not ok: it names wrong ranks, extents, options, overlapping memory
/// and null data by the document's names. Each call packs the filter: who calls often
/// compiles what `describe_quantized_linear_convolution` gives.
template <detail::QuantizedElement In, detail::QuantizedElement Filter, detail::QuantizedElement Out>
[[nodiscard]] Report quantized_linear_convolution(const QuantizedLinearConvolutionTensors<In, Filter, Out>& tensors,
                                                  const QuantizedLinearConvolutionOptions& options = {},
                                                  const RunOptions& run_options = {}) {
  return detail::convolution_views(detail::convolution_views_of(tensors), options, run_options);
}

/// The desc of such a call, to be compiled once and executed often. Its buffers begin at the views' data.
template <detail::QuantizedElement In, detail::QuantizedElement Filter, detail::QuantizedElement Out>
[[nodiscard]] DescribeResult<QuantizedLinearConvolutionDesc> describe_quantized_linear_convolution(
    const QuantizedLinearConvolutionTensors<In, Filter, Out>& tensors,
    const QuantizedLinearConvolutionOptions& options = {}) {
  return detail::described_convolution(detail::convolution_views_of(tensors), options);
}
/// The older name of describe_quantized_linear_convolution.
template <detail::QuantizedElement In, detail::QuantizedElement Filter, detail::QuantizedElement Out>
[[deprecated(
    "describe_quantized_linear_convolution; goes in 0.4")]] [[nodiscard]] DescribeResult<QuantizedLinearConvolutionDesc>
describe(const QuantizedLinearConvolutionTensors<In, Filter, Out>& tensors,
         const QuantizedLinearConvolutionOptions& options) {
  return describe_quantized_linear_convolution(tensors, options);
}

DMLREF_END
