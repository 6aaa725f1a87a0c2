// plan.hpp: MATRIX_MULTIPLY_INTEGER and QUANTIZED_LINEAR_MATRIX_MULTIPLY: from a problem to a plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/int8/select.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/operators/matrix_multiply_integer/kernels/tiled.hpp"
#include "dmlref/operators/matrix_multiply_integer/problem.hpp"
#include "dmlref/operators/matrix_multiply_integer/reference.hpp"
#include "dmlref/operators/quantized_linear_convolution/unsigned_bytes.hpp"
#include "dmlref/run/plan.hpp"
#include "dmlref/view/tensor_view.hpp"
#if DMLREF_HAS_AMX_INT8
#include "dmlref/int8/amx.hpp"
#endif

DMLREF_BEGIN
namespace detail {

/// A product's output in tasks: neighbouring columns of one row.
template <class Multiply>
void multiply_segments(Executor& executor, const Shape& output, const Multiply& multiply) {
  constexpr Index columns_per_task = 256;
  const Index rows = output[output.size() - 2], columns = output[output.size() - 1];
  const Index segments = (columns + columns_per_task - 1) / columns_per_task;
  const Index tasks = reference::detail::product_count(output) * rows * segments;  // at most 2^32 - 1 elements
  parallel_for(executor, static_cast<std::size_t>(tasks), [&](std::size_t index) {
    const auto task = static_cast<Index>(index);
    const Index row = task / segments, first = task % segments * columns_per_task;
    const Index last = first + columns_per_task < columns ? first + columns_per_task : columns;
    multiply(reference::RowSegment{row / rows, row % rows, first, last});
  });
}

/// MATRIX_MULTIPLY_INTEGER by the reference.
class MatrixMultiplyIntegerPlan final : public PlanOf<MatrixMultiplyIntegerPlan> {
 public:
  static constexpr bool computes = false;

  explicit MatrixMultiplyIntegerPlan(const fast::matrix_multiply::IntegerProblem& problem) : problem_(problem) {}

  std::string_view strategy_name() const noexcept { return "reference"; }
  void execute(const Bindings& bindings, Executor& executor) const {
    using namespace fast::matrix_multiply;
    using Byte = std::uint8_t;
    const auto& in = problem_.inputs;
    const MatrixMultiplyIntegerTensors<Byte, Byte, UnsignedView> tensors{
        unsigned_bytes(bindings.inputs[integer_a], in[integer_a]),
        unsigned_zero_point(bindings.inputs[integer_a_zero_point], in[integer_a_zero_point], in[integer_a]),
        unsigned_bytes(bindings.inputs[integer_b], in[integer_b]),
        unsigned_zero_point(bindings.inputs[integer_b_zero_point], in[integer_b_zero_point], in[integer_b]),
        bind<std::int32_t>(bindings.outputs[0], problem_.output.layout)};
    multiply_segments(executor, problem_.output.layout.shape,
                      [&](const auto& segment) { reference::matrix_multiply_integer(tensors, segment); });
  }

  fast::matrix_multiply::IntegerProblem problem_;
};

/// QUANTIZED_LINEAR_MATRIX_MULTIPLY by the reference.
class QuantizedLinearMatrixMultiplyPlan final : public PlanOf<QuantizedLinearMatrixMultiplyPlan> {
 public:
  explicit QuantizedLinearMatrixMultiplyPlan(const fast::matrix_multiply::QuantizedProblem& problem)
      : problem_(problem) {}

  std::string_view strategy_name() const noexcept { return "reference"; }
  void execute(const Bindings& bindings, Executor& executor) const {
    using namespace fast::matrix_multiply;
    using Byte = std::uint8_t;
    const auto& in = problem_.inputs;
    const auto scale = [&](QuantizedInput which) {
      return bind<const float>(bindings.inputs[which], in[which].layout);
    };
    const auto zero_point = [&](QuantizedInput which, const Operand& of) {
      return unsigned_zero_point(bindings.inputs[which], in[which], of);
    };
    const QuantizedLinearMatrixMultiplyTensors<Byte, Byte, Byte, UnsignedView> tensors{
        unsigned_bytes(bindings.inputs[quantized_a], in[quantized_a]),
        scale(quantized_a_scale),
        zero_point(quantized_a_zero_point, in[quantized_a]),
        unsigned_bytes(bindings.inputs[quantized_b], in[quantized_b]),
        scale(quantized_b_scale),
        zero_point(quantized_b_zero_point, in[quantized_b]),
        scale(quantized_output_scale),
        zero_point(quantized_output_zero_point, problem_.output),
        unsigned_bytes(bindings.outputs[0], problem_.output)};
    multiply_segments(executor, problem_.output.layout.shape,
                      [&](const auto& segment) { reference::quantized_linear_matrix_multiply(tensors, segment); });
  }

  fast::matrix_multiply::QuantizedProblem problem_;
};

inline std::shared_ptr<const Plan> reference_product_plan(const fast::matrix_multiply::IntegerProblem& problem) {
  return std::make_shared<MatrixMultiplyIntegerPlan>(problem);
}
inline std::shared_ptr<const Plan> reference_product_plan(const fast::matrix_multiply::QuantizedProblem& problem) {
  return std::make_shared<QuantizedLinearMatrixMultiplyPlan>(problem);
}

/// AMX's tiles are for 16 rows at least, and take 64 values of K at a time.
template <class Problem>
const fast::qlc::Kernels& product_kernels([[maybe_unused]] const Problem& problem, Isa isa) noexcept {
#if DMLREF_HAS_AMX_INT8
  const Shape& a = problem.inputs[Problem::a].layout.shape;
  if (isa == Isa::amx_int8 && a[a.size() - 2] >= 16 && a[a.size() - 1] > 32) {
    return problem.inputs[Problem::a].is_signed ? fast::qlc::amx::signed_kernels : fast::qlc::amx::kernels;
  }
#endif
  return fast::qlc::tile_kernels_of(isa);
}

/// The fastest way that there is.
template <class Problem>
std::shared_ptr<const Plan> matrix_multiply_plan(const Problem& problem, Isa isa) {
  using Tiled = fast::matrix_multiply::TiledPlan<Problem>;
  if (!Tiled::suits(problem)) return reference_product_plan(problem);
  return std::make_shared<Tiled>(problem, product_kernels(problem, isa));
}

#if defined(DMLREF_IMPLEMENTATION)
extern "C" {
void DMLREF_SEAM(plan_matrix_multiply_integer)(const fast::matrix_multiply::IntegerProblem& problem, Isa isa,
                                               std::shared_ptr<const Plan>& plan) {
  plan = matrix_multiply_plan(problem, isa);
}
void DMLREF_SEAM(plan_quantized_linear_matrix_multiply)(const fast::matrix_multiply::QuantizedProblem& problem, Isa isa,
                                                        std::shared_ptr<const Plan>& plan) {
  plan = matrix_multiply_plan(problem, isa);
}
}
#endif

}  // namespace detail
DMLREF_END
