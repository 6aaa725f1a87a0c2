// quantized_linear_convolution.hpp: QUANTIZED_LINEAR_CONVOLUTION: what a desc asks for, as a plan's problem.
#pragma once

#include <memory>
#include <optional>

#include "dmlref/config.hpp"
#include "dmlref/desc/quantized_linear_convolution.hpp"
#include "dmlref/fast/quantized_linear_convolution/problem.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/op/plan.hpp"
#include "dmlref/op/seam.hpp"
#include "dmlref/view/bind.hpp"

#if DMLREF_HAS_KERNELS
#include "dmlref/op/quantized_linear_convolution.hpp"
#endif

DMLREF_BEGIN
namespace detail {

inline std::shared_ptr<const Plan> plan_of(const fast::qlc::Problem& problem, Isa isa, const Tuning& tuning) {
#if defined(DMLREF_SEPARATE)
  std::shared_ptr<const Plan> plan;
  DMLREF_SEAM(plan_quantized_linear_convolution)(problem, isa, tuning, plan);
  return plan;
#else
  static_cast<void>(tuning);
  return qlc_plan(problem, isa);
#endif
}

/// A valid descriptor as the plans see it.
inline fast::qlc::Problem qlc_problem(const QuantizedLinearConvolutionDesc& desc) {
  const auto operand = [](const TensorDesc& tensor) {
    return fast::qlc::Operand{layout_of(tensor), true, tensor.data_type == DataType::int8, tensor.owned_by_dml,
                              tensor.total_size_in_bytes};
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
  return {{slot("InputTensor", desc.input), slot("InputScaleTensor", desc.input_scale),
           slot("InputZeroPointTensor", desc.input_zero_point), slot("FilterTensor", desc.filter),
           slot("FilterScaleTensor", desc.filter_scale), slot("FilterZeroPointTensor", desc.filter_zero_point),
           slot("BiasTensor", desc.bias), slot("OutputScaleTensor", desc.output_scale),
           slot("OutputZeroPointTensor", desc.output_zero_point)},
          slot("OutputTensor", desc.output),
          plan_of(qlc_problem(desc), isa, tuning)};
}

}  // namespace detail
DMLREF_END
