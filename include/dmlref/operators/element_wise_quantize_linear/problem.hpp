// problem.hpp: what a quantization or dequantization by elements is to do, as its plan sees it.
#pragma once

#include <memory>
#include <optional>

#include "dmlref/config.hpp"
#include "dmlref/desc/data_type.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN
namespace fast::quantize_linear {

/// From reals to integers, or back.
enum class Direction { quantize, dequantize };

/// Where the four tensors lie, all of one shape, from their elements (0, …, 0) on, and the types of their elements.
struct Problem {
  Direction direction = Direction::quantize;
  Layout input;
  Layout scale;
  std::optional<Layout> zero_point;  ///< of the integers' type; absent: 0
  Layout output;
  DataType input_type = DataType::unknown;
  DataType scale_type = DataType::unknown;
  DataType output_type = DataType::unknown;
};

}  // namespace fast::quantize_linear

#if defined(DMLREF_SEPARATE)
namespace detail {
class Plan;

/// How a separate program asks for a plan.
extern "C" void DMLREF_SEAM(plan_element_wise_quantize_linear)(const fast::quantize_linear::Problem& problem, Isa isa,
                                                               std::shared_ptr<const Plan>& plan);
}  // namespace detail
#endif

DMLREF_END
