// problem.hpp: what a plan of CONVOLUTION_INTEGER is made of: how every tensor lies in memory, and the window's way
// over the input.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/reference.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN
namespace fast::convolution_integer {

/// The inputs in the order of the document.
enum Input : std::size_t { input_tensor, input_zero_point_tensor, filter_tensor, filter_zero_point_tensor };

/// One tensor.
struct Operand {
  Layout layout;
  bool present = false;
  bool is_signed = false;  ///< of bytes: int8
};

struct Problem {
  std::array<Operand, 4> inputs;
  Operand output;
  reference::ConvolutionGeometry geometry;
};

}  // namespace fast::convolution_integer

#if defined(DMLREF_SEPARATE)
namespace detail {
class Plan;

/// How a separate program asks for a plan.
extern "C" void DMLREF_SEAM(plan_convolution_integer)(const fast::convolution_integer::Problem& problem,
                                                      std::shared_ptr<const Plan>& plan);
}  // namespace detail
#endif

DMLREF_END
