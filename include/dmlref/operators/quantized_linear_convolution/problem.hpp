// problem.hpp: what a convolution is to do, as its plans see it: how every tensor lies in memory, and the
// window's way over the input.
//
// A tensor's base pointer is the lowest address that may be read. Its layout's offset leads from there to element
// (0, …, 0), which lies further on where strides are negative.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/quantized_linear_convolution/reference.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN
namespace fast::qlc {

/// The inputs in the order of the document.
enum Input : std::size_t {
  input_tensor,
  input_scale_tensor,
  input_zero_point_tensor,
  filter_tensor,
  filter_scale_tensor,
  filter_zero_point_tensor,
  bias_tensor,
  output_scale_tensor,
  output_zero_point_tensor
};
inline constexpr std::size_t input_count = 9;

/// Bytes of an element: scales are float32, the bias is int32, all others are bytes.
constexpr Index element_bytes(std::size_t input) noexcept {
  const bool words = input == input_scale_tensor || input == filter_scale_tensor || input == bias_tensor ||
                     input == output_scale_tensor;
  return words ? 4 : 1;
}

/// One tensor.
struct Operand {
  Layout layout;
  bool present = false;
  bool is_signed = false;            ///< of bytes: int8
  bool owned = false;                ///< by DML: it is there at initialize, and never changes
  std::uint64_t readable_bytes = 0;  ///< from the base pointer on
};

/// What becomes of the sums: they are quantized, or stored modulo 2^32, as CONVOLUTION_INTEGER does, which has neither
/// scales nor a bias.
enum class Results { bytes, sums };

struct Problem {
  std::array<Operand, input_count> inputs;
  Operand output;
  reference::ConvolutionGeometry geometry;
  Results results = Results::bytes;

  /// Bytes of an element of the output.
  Index output_element_bytes() const noexcept { return results == Results::sums ? 4 : 1; }
};

/// Pointers to the inputs, null where one is absent or not given.
using Inputs = std::array<const std::byte*, input_count>;

/// From base pointers to elements (0, …, 0).
class Origins {
 public:
  explicit Origins(const Problem& problem) noexcept
      : output_(problem.output.layout.offset * problem.output_element_bytes()) {
    for (std::size_t i = 0; i < input_count; ++i) {
      inputs_[i] = problem.inputs[i].layout.offset * element_bytes(i);
    }
  }
  Inputs inputs(const Inputs& base) const noexcept {
    Inputs first = base;
    for (std::size_t i = 0; i < input_count; ++i) {
      if (first[i] != nullptr) first[i] += inputs_[i];
    }
    return first;
  }
  std::byte* output(std::byte* base) const noexcept { return base + output_; }

 private:
  std::array<Index, input_count> inputs_{};
  Index output_ = 0;
};

}  // namespace fast::qlc

#if defined(DMLREF_SEPARATE)
namespace detail {
class Plan;

/// How a separate program asks for a plan.
extern "C" void DMLREF_SEAM(plan_quantized_linear_convolution)(const fast::qlc::Problem& problem, Isa isa,
                                                               const Tuning& tuning, std::shared_ptr<const Plan>& plan);
}  // namespace detail
#endif

DMLREF_END
