// call.hpp: MATRIX_MULTIPLY_INTEGER and QUANTIZED_LINEAR_MATRIX_MULTIPLY: a desc or a call on views as a plan's
// problem.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/matrix_multiply_integer/desc.hpp"
#include "dmlref/operators/matrix_multiply_integer/problem.hpp"
#include "dmlref/operators/matrix_multiply_integer/reference.hpp"
#include "dmlref/operators/matrix_multiply_integer/schema.hpp"
#include "dmlref/run/one_operator.hpp"
#include "dmlref/run/plan.hpp"
#include "dmlref/run/views.hpp"
#include "dmlref/view/bind.hpp"
#include "dmlref/view/tensor_view.hpp"

#if DMLREF_HAS_KERNELS
#include "dmlref/operators/matrix_multiply_integer/plan.hpp"
#endif

DMLREF_BEGIN
namespace detail {

inline std::shared_ptr<const Plan> plan_of(const fast::matrix_multiply::IntegerProblem& problem, Isa isa) {
#if defined(DMLREF_SEPARATE)
  std::shared_ptr<const Plan> plan;
  DMLREF_SEAM(plan_matrix_multiply_integer)(problem, isa, plan);
  return plan;
#else
  return matrix_multiply_plan(problem, isa);
#endif
}
inline std::shared_ptr<const Plan> plan_of(const fast::matrix_multiply::QuantizedProblem& problem, Isa isa) {
#if defined(DMLREF_SEPARATE)
  std::shared_ptr<const Plan> plan;
  DMLREF_SEAM(plan_quantized_linear_matrix_multiply)(problem, isa, plan);
  return plan;
#else
  return matrix_multiply_plan(problem, isa);
#endif
}

inline fast::matrix_multiply::Operand product_operand(const TensorDesc& tensor) {
  return {seen(tensor).layout, true, tensor.data_type == DataType::int8, tensor.owned_by_dml};
}
inline fast::matrix_multiply::Operand product_operand(const std::optional<TensorDesc>& tensor) {
  return tensor ? product_operand(*tensor) : fast::matrix_multiply::Operand{};
}
inline fast::matrix_multiply::Operand product_operand(const ViewArgument& view) {
  return {view.layout(), view.present(), view.type() == DataType::int8};
}

// A valid descriptor as the plans see it.
inline fast::matrix_multiply::IntegerProblem product_problem(const MatrixMultiplyIntegerDesc& desc) {
  return {{product_operand(desc.a), product_operand(desc.a_zero_point), product_operand(desc.b),
           product_operand(desc.b_zero_point)},
          product_operand(desc.output)};
}
inline fast::matrix_multiply::QuantizedProblem product_problem(const QuantizedLinearMatrixMultiplyDesc& desc) {
  return {{product_operand(desc.a), product_operand(desc.a_scale), product_operand(desc.a_zero_point),
           product_operand(desc.b), product_operand(desc.b_scale), product_operand(desc.b_zero_point),
           product_operand(desc.output_scale), product_operand(desc.output_zero_point)},
          product_operand(desc.output)};
}

template <>
inline PlannedOperator plan(const MatrixMultiplyIntegerDesc& desc, Isa isa, const Tuning&) {
  return planned(desc, plan_of(product_problem(desc), isa));
}
template <>
inline PlannedOperator plan(const QuantizedLinearMatrixMultiplyDesc& desc, Isa isa, const Tuning&) {
  return planned(desc, plan_of(product_problem(desc), isa));
}

/// The facts refer to `views`.
template <class Desc>
rules::Facts<Desc> check_product(Report& report, Views<Desc>& views) {
  rules::Facts<Desc> facts;
  views.read(report, facts);
  rules::apply_rules(report, latest_feature_level, facts);
  return facts;
}

template <class Desc>
DescribeResult<Desc> described_product(Views<Desc> views) {
  Report report;
  auto facts = check_product(report, views);
  return described(std::move(report), facts);
}

template <class Problem, class Desc>
Report product_views(Views<Desc> views, const RunOptions& options) {
  Report report;
  check_product(report, views);
  const ChosenIsa chosen = check_run(report, views.inputs, views.output, options);
  if (!report) return report;
  Problem problem;
  Bindings bindings;
  for (std::size_t i = 0; i < views.inputs.size(); ++i) {
    problem.inputs[i] = product_operand(views.inputs[i]);
    bindings.inputs[i] = views.inputs[i].data();
  }
  problem.output = product_operand(views.output);
  bindings.outputs[0] = const_cast<std::byte*>(views.output.data());
  const auto plan = plan_permitted(chosen, report, [&](Isa of) { return plan_of(problem, of); });
  if (!report) return report;
  return run_plan(*plan, bindings, options);
}

template <class A, class B>
Views<MatrixMultiplyIntegerDesc> product_views_of(const MatrixMultiplyIntegerTensors<A, B>& t) {
  constexpr DataType a = data_type_of<A>, b = data_type_of<B>;
  return {{{{t.a, a}, {t.a_zero_point, a}, {t.b, b}, {t.b_zero_point, b}}}, {t.output, DataType::int32}};
}
template <class A, class B, class Out>
Views<QuantizedLinearMatrixMultiplyDesc> product_views_of(const QuantizedLinearMatrixMultiplyTensors<A, B, Out>& t) {
  constexpr DataType a = data_type_of<A>, b = data_type_of<B>, out = data_type_of<Out>, f32 = DataType::float32;
  return {{{{t.a, a},
            {t.a_scale, f32},
            {t.a_zero_point, a},
            {t.b, b},
            {t.b_scale, f32},
            {t.b_zero_point, b},
            {t.output_scale, f32},
            {t.output_zero_point, out}}},
          {t.output, out}};
}

}  // namespace detail

/// MATRIX_MULTIPLY_INTEGER on views of std::int8_t or std::uint8_t, of any strides and of the shapes that
/// MatrixMultiplyIntegerTensors lists; no two elements of the output at one address, its bytes apart from the inputs'.
/// The sums are exact modulo 2^32. Nothing is written where the Report is not ok: it names wrong ranks, extents,
/// overlapping memory and null data by the document's names.
template <detail::QuantizedElement A, detail::QuantizedElement B>
[[nodiscard]] Report matrix_multiply_integer(const MatrixMultiplyIntegerTensors<A, B>& tensors,
                                             const RunOptions& options = {}) {
  return detail::product_views<fast::matrix_multiply::IntegerProblem>(detail::product_views_of(tensors), options);
}

/// The desc of such a call, to be compiled once and executed often. Its buffers begin at the views' data.
template <detail::QuantizedElement A, detail::QuantizedElement B>
[[nodiscard]] DescribeResult<MatrixMultiplyIntegerDesc> describe_matrix_multiply_integer(
    const MatrixMultiplyIntegerTensors<A, B>& tensors) {
  return detail::described_product(detail::product_views_of(tensors));
}

/// QUANTIZED_LINEAR_MATRIX_MULTIPLY on views of std::int8_t or std::uint8_t, of any strides and of the shapes that
/// QuantizedLinearMatrixMultiplyTensors lists; no two elements of the output at one address, its bytes apart from the
/// inputs'. Outputs are rounded once. Nothing is written where the Report is not ok: it names wrong ranks, extents,
/// overlapping memory and null data by the document's names.
template <detail::QuantizedElement A, detail::QuantizedElement B, detail::QuantizedElement Out>
[[nodiscard]] Report quantized_linear_matrix_multiply(const QuantizedLinearMatrixMultiplyTensors<A, B, Out>& tensors,
                                                      const RunOptions& options = {}) {
  return detail::product_views<fast::matrix_multiply::QuantizedProblem>(detail::product_views_of(tensors), options);
}

/// The desc of such a call, to be compiled once and executed often. Its buffers begin at the views' data.
template <detail::QuantizedElement A, detail::QuantizedElement B, detail::QuantizedElement Out>
[[nodiscard]] DescribeResult<QuantizedLinearMatrixMultiplyDesc> describe_quantized_linear_matrix_multiply(
    const QuantizedLinearMatrixMultiplyTensors<A, B, Out>& tensors) {
  return detail::described_product(detail::product_views_of(tensors));
}

DMLREF_END
