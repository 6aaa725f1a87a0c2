// call.hpp: QUANTIZED_LINEAR_CONVOLUTION: a desc or a call on views as a plan's problem.
#pragma once

#include <memory>
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

#if DMLREF_HAS_KERNELS
#include "dmlref/operators/quantized_linear_convolution/plan.hpp"
#endif

DMLREF_BEGIN

/// The older name.
using ConvolutionOptions [[deprecated("QuantizedLinearConvolutionOptions; goes in 0.5")]] =
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
  const auto operand = [](const auto& tensor) { return convolution_operand(tensor); };
  return {{operand(desc.input), operand(desc.input_scale), operand(desc.input_zero_point), operand(desc.filter),
           operand(desc.filter_scale), operand(desc.filter_zero_point), operand(desc.bias), operand(desc.output_scale),
           operand(desc.output_zero_point)},
          operand(desc.output),
          convolution_geometry(desc)};
}

template <>
inline PlannedOperator plan(const QuantizedLinearConvolutionDesc& desc, Isa isa, const Tuning& tuning) {
  return planned(desc, plan_of(qlc_problem(desc), isa, tuning));
}

using ConvolutionViews = Views<QuantizedLinearConvolutionDesc>;

inline Report convolution_views(ConvolutionViews views, const QuantizedLinearConvolutionOptions& options,
                                const RunOptions& run_options) {
  return run_convolution<fast::qlc::Problem>(
      std::move(views), options, run_options,
      [](const fast::qlc::Problem& problem, Isa isa) { return plan_of(problem, isa, this_cpu()); });
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
    "describe_quantized_linear_convolution; goes in 0.5")]] [[nodiscard]] DescribeResult<QuantizedLinearConvolutionDesc>
describe(const QuantizedLinearConvolutionTensors<In, Filter, Out>& tensors,
         const QuantizedLinearConvolutionOptions& options) {
  return describe_quantized_linear_convolution(tensors, options);
}

DMLREF_END
