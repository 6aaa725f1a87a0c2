// call.hpp: CONVOLUTION_INTEGER: a desc or a call on views as a plan's problem.
#pragma once

#include <memory>
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
  const auto operand = [](const auto& tensor) { return convolution_operand(tensor); };
  const fast::convolution_integer::Problem problem{
      {operand(desc.input), operand(desc.input_zero_point), operand(desc.filter), operand(desc.filter_zero_point)},
      operand(desc.output),
      convolution_geometry(desc)};
  return planned(desc, plan_of(problem, isa, tuning));
}

using ConvolutionIntegerViews = Views<ConvolutionIntegerDesc>;

inline Report convolution_views(ConvolutionIntegerViews views, const ConvolutionIntegerOptions& options,
                                const RunOptions& run_options) {
  return run_convolution<fast::convolution_integer::Problem>(
      std::move(views), options, run_options,
      [](const fast::convolution_integer::Problem& problem, Isa isa) { return plan_of(problem, isa, this_cpu()); });
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
