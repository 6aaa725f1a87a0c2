// problem.hpp: what a plan of CONVOLUTION_INTEGER is made of: how every tensor lies in memory, and the window's way
// over the input.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/quantized_linear_convolution/problem.hpp"
#include "dmlref/operators/quantized_linear_convolution/reference.hpp"

DMLREF_BEGIN
namespace fast::convolution_integer {

/// The inputs in the order of the document.
enum Input : std::size_t { input_tensor, input_zero_point_tensor, filter_tensor, filter_zero_point_tensor };
inline constexpr std::size_t input_count = 4;

using qlc::Operand;

struct Problem {
  std::array<Operand, input_count> inputs;
  Operand output;
  reference::ConvolutionGeometry geometry;
};

/// The same inputs as QUANTIZED_LINEAR_CONVOLUTION counts them.
inline constexpr std::array<qlc::Input, input_count> quantized_inputs = {
    qlc::input_tensor, qlc::input_zero_point_tensor, qlc::filter_tensor, qlc::filter_zero_point_tensor};

/// The problem as that operator's plans see it: without scales, its sums stored.
inline qlc::Problem quantized_problem(const Problem& problem) noexcept {
  qlc::Problem quantized;
  for (std::size_t i = 0; i < input_count; ++i) quantized.inputs[quantized_inputs[i]] = problem.inputs[i];
  quantized.output = problem.output;
  quantized.geometry = problem.geometry;
  quantized.results = qlc::Results::sums;
  return quantized;
}

}  // namespace fast::convolution_integer

#if defined(DMLREF_SEPARATE)
namespace detail {
class Plan;

/// How a separate program asks for a plan.
extern "C" void DMLREF_SEAM(plan_convolution_integer)(const fast::convolution_integer::Problem& problem, Isa isa,
                                                      const Tuning& tuning, std::shared_ptr<const Plan>& plan);
}  // namespace detail
#endif

DMLREF_END
