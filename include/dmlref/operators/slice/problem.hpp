// problem.hpp: what a slice is to do, as its plan sees it: a copy between two layouts of one shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN
namespace fast {

/// Offsets of layouts count from a tensor's base pointer, the lowest address that may be read or written.
struct SliceProblem {
  Layout from;  ///< of the input, as the window walks over it
  Layout to;
  std::size_t element_size = 0;      ///< bytes: 1, 2, 4 or 8
  std::uint64_t readable_bytes = 0;  ///< from the input's base pointer on
};

}  // namespace fast

#if defined(DMLREF_SEPARATE)
namespace detail {
class Plan;

/// How a separate program asks for a plan.
extern "C" void DMLREF_SEAM(plan_slice)(const fast::SliceProblem& problem, Isa isa, const Tuning& tuning,
                                        std::shared_ptr<const Plan>& plan);
}  // namespace detail
#endif

DMLREF_END
