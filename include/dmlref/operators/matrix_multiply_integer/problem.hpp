// problem.hpp: what plans of integer matrix products are made of: how every tensor lies in memory.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/operators/quantized_linear_convolution/problem.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN
namespace fast::matrix_multiply {

using qlc::Operand;

/// The inputs of MATRIX_MULTIPLY_INTEGER, in the order of the document.
enum IntegerInput : std::size_t { integer_a, integer_a_zero_point, integer_b, integer_b_zero_point };

struct IntegerProblem {
  static constexpr std::size_t a = integer_a, a_zero_point = integer_a_zero_point, b = integer_b,
                               b_zero_point = integer_b_zero_point;
  static constexpr Index element_bytes(std::size_t) noexcept { return 1; }  ///< of inputs
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
  static constexpr std::size_t a = quantized_a, a_zero_point = quantized_a_zero_point, b = quantized_b,
                               b_zero_point = quantized_b_zero_point;
  static constexpr Index element_bytes(std::size_t input) noexcept {
    return input == quantized_a_scale || input == quantized_b_scale || input == quantized_output_scale ? 4 : 1;
  }
  std::array<Operand, 8> inputs;
  Operand output;
};

}  // namespace fast::matrix_multiply

#if defined(DMLREF_SEPARATE)
namespace detail {
class Plan;

// How a separate program asks for plans.
extern "C" {
void DMLREF_SEAM(plan_matrix_multiply_integer)(const fast::matrix_multiply::IntegerProblem& problem, Isa isa,
                                               std::shared_ptr<const Plan>& plan);
void DMLREF_SEAM(plan_quantized_linear_matrix_multiply)(const fast::matrix_multiply::QuantizedProblem& problem, Isa isa,
                                                        std::shared_ptr<const Plan>& plan);
}
}  // namespace detail
#endif

DMLREF_END
