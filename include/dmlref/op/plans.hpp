// plans.hpp: from a valid descriptor of any operator to its plan: where every kernel enters a program.
#pragma once

#include <variant>

#include "dmlref/config.hpp"
#include "dmlref/desc/operator_desc.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/op/plan.hpp"

#if DMLREF_HAS_KERNELS
#include "dmlref/op/mean_variance_normalization.hpp"
#include "dmlref/op/quantized_linear_convolution.hpp"
#include "dmlref/op/slice.hpp"
#else
#include "dmlref/op/seam.hpp"
#endif

DMLREF_BEGIN
namespace detail {

#if !defined(DMLREF_SEPARATE)
template <class Desc>
PlannedOperator plan(const Desc& desc, Isa isa, const Tuning& tuning) {
  return make_plan(desc, isa, tuning);
}
#endif

inline PlannedOperator plan(const OperatorDesc& desc, Isa isa, const Tuning& tuning) {
  return std::visit([&](const auto& d) { return plan(d, isa, tuning); }, desc);
}

}  // namespace detail
DMLREF_END
