// problem.hpp: what plans of integer matrix products are made of: how every tensor lies in memory.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "dmlref/config.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN
namespace fast::matrix_multiply {

/// One tensor.
struct Operand {
  Layout layout;
  bool present = false;
  bool is_signed = false;  ///< of bytes: int8
};

/// The inputs of MATRIX_MULTIPLY_INTEGER, in the order of the document.
enum IntegerInput : std::size_t { integer_a, integer_a_zero_point, integer_b, integer_b_zero_point };

struct IntegerProblem {
  std::array<Operand, 4> inputs;
  Operand output;
};

/// The inputs of QUANTIZED_LINEAR_MATRIX_MULTIPLY, in the order of the document.
enum QuantizedInput : std::size_t {
  quantized_a,
  quantized_a_scale,
  quantized_a_zero_point,
  quantized_b,
  quantized_b_scale,
  quantized_b_zero_point,
  quantized_output_scale,
  quantized_output_zero_point
};

struct QuantizedProblem {
  std::array<Operand, 8> inputs;
  Operand output;
};

}  // namespace fast::matrix_multiply

#if defined(DMLREF_SEPARATE)
namespace detail {
class Plan;

// How a separate program asks for plans.
extern "C" {
void DMLREF_SEAM(plan_matrix_multiply_integer)(const fast::matrix_multiply::IntegerProblem& problem,
                                               std::shared_ptr<const Plan>& plan);
void DMLREF_SEAM(plan_quantized_linear_matrix_multiply)(const fast::matrix_multiply::QuantizedProblem& problem,
                                                        std::shared_ptr<const Plan>& plan);
}
}  // namespace detail
#endif

DMLREF_END
