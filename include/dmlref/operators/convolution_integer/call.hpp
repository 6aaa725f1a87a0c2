// call.hpp: CONVOLUTION_INTEGER: a desc or a call on views as a plan's problem.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/convolution_integer/desc.hpp"
#include "dmlref/operators/convolution_integer/problem.hpp"
#include "dmlref/operators/convolution_integer/reference.hpp"
#include "dmlref/operators/convolution_integer/schema.hpp"
#include "dmlref/operators/quantized_linear_convolution/arguments.hpp"
#include "dmlref/run/one_operator.hpp"
#include "dmlref/run/plan.hpp"
#include "dmlref/run/views.hpp"
#include "dmlref/view/bind.hpp"
#include "dmlref/view/tensor_view.hpp"

#if DMLREF_HAS_KERNELS
#include "dmlref/operators/convolution_integer/plan.hpp"
#endif

DMLREF_BEGIN

/// How a call of `convolution_integer` moves its window.
using ConvolutionIntegerOptions = QuantizedLinearConvolutionOptions;

namespace detail {

inline std::shared_ptr<const Plan> plan_of(const fast::convolution_integer::Problem& problem, Isa isa,
                                           const Tuning& tuning) {
#if defined(DMLREF_SEPARATE)
  std::shared_ptr<const Plan> plan;
  DMLREF_SEAM(plan_convolution_integer)(problem, isa, tuning, plan);
  return plan;
#else
  return convolution_integer_plan(problem, isa, tuning);
#endif
}

template <>
inline PlannedOperator plan(const ConvolutionIntegerDesc& desc, Isa isa, const Tuning& tuning) {
  using Operand = fast::convolution_integer::Operand;
  const auto operand = [](const TensorDesc& tensor) {
    const SeenTensor as = seen(tensor);
    return Operand{as.layout, true, tensor.data_type == DataType::int8, tensor.owned_by_dml, as.readable_bytes};
  };
  const auto optional = [&](const std::optional<TensorDesc>& tensor) { return tensor ? operand(*tensor) : Operand{}; };
  const fast::convolution_integer::Problem problem{
      {operand(desc.input), optional(desc.input_zero_point), operand(desc.filter), optional(desc.filter_zero_point)},
      operand(desc.output),
      {Strides::from<std::uint32_t>(desc.strides), Strides::from<std::uint32_t>(desc.dilations),
       Shape::from<std::uint32_t>(desc.start_padding), static_cast<Index>(desc.group_count)}};
  return planned(desc, plan_of(problem, isa, tuning));
}

using ConvolutionIntegerViews = Views<ConvolutionIntegerDesc>;

inline DescribeResult<ConvolutionIntegerDesc> described_convolution(ConvolutionIntegerViews views,
                                                                    const ConvolutionIntegerOptions& options) {
  Report report;
  ConvolutionArguments<ConvolutionIntegerDesc> arguments(report, views, options);
  return described(std::move(report), arguments.facts);
}

inline Report convolution_views(ConvolutionIntegerViews views, const ConvolutionIntegerOptions& options,
                                const RunOptions& run_options) {
  Report report;
  const ConvolutionArguments<ConvolutionIntegerDesc> arguments(report, views, options);
  const ChosenIsa chosen = check_run(report, views.inputs, views.output, run_options);
  if (!report) return report;
  const auto operand = [](const ViewArgument& view) {
    if (!view.present()) return fast::convolution_integer::Operand{};
    return fast::convolution_integer::Operand{view.layout_in_range(), true, view.type() == DataType::int8, false,
                                              view.range().size()};
  };
  fast::convolution_integer::Problem problem;
  Bindings bindings;
  for (std::size_t i = 0; i < views.inputs.size(); ++i) {
    problem.inputs[i] = operand(views.inputs[i]);
    bindings.inputs[i] = views.inputs[i].range().data();
  }
  problem.output = operand(views.output);
  problem.geometry = arguments.geometry(options);
  bindings.outputs[0] = const_cast<std::byte*>(views.output.range().data());
  const auto plan = plan_permitted(chosen, report, [&](Isa of) { return plan_of(problem, of, this_cpu()); });
  if (!report) return report;
  return run_plan(*plan, bindings, run_options);
}

template <class In, class Filter>
ConvolutionIntegerViews convolution_views_of(const ConvolutionIntegerTensors<In, Filter>& t) {
  constexpr DataType in = data_type_of<In>, filter = data_type_of<Filter>;
  return {{{{t.input, in}, {t.input_zero_point, in}, {t.filter, filter}, {t.filter_zero_point, filter}}},
          {t.output, DataType::int32}};
}

}  // namespace detail

/// CONVOLUTION_INTEGER on views of std::int8_t or std::uint8_t, of any strides and of the shapes that
/// ConvolutionIntegerTensors lists; no two elements of the output at one address, its bytes apart from the inputs'. The
/// sums are exact modulo 2^32. Nothing is written where the Report is not ok: it names wrong ranks, extents, options,
/// overlapping memory and null data by the document's names.
template <detail::QuantizedElement In, detail::QuantizedElement Filter>
[[nodiscard]] Report convolution_integer(const ConvolutionIntegerTensors<In, Filter>& tensors,
                                         const ConvolutionIntegerOptions& options = {},
                                         const RunOptions& run_options = {}) {
  return detail::convolution_views(detail::convolution_views_of(tensors), options, run_options);
}

/// The desc of such a call, to be compiled once and executed often. Its buffers begin at the views' data.
template <detail::QuantizedElement In, detail::QuantizedElement Filter>
[[nodiscard]] DescribeResult<ConvolutionIntegerDesc> describe_convolution_integer(
    const ConvolutionIntegerTensors<In, Filter>& tensors, const ConvolutionIntegerOptions& options = {}) {
  return detail::described_convolution(detail::convolution_views_of(tensors), options);
}

DMLREF_END
