// plans.hpp: from a valid descriptor of any operator to its plan: where every kernel enters a program.
#pragma once

#include <variant>

#include "dmlref/call/mean_variance_normalization.hpp"
#include "dmlref/call/quantized_linear_convolution.hpp"
#include "dmlref/call/slice.hpp"
#include "dmlref/config.hpp"
#include "dmlref/desc/operator_desc.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/op/plan.hpp"

DMLREF_BEGIN
namespace detail {

template <>
inline PlannedOperator plan(const OperatorDesc& desc, Isa isa, const Tuning& tuning) {
  return std::visit([&](const auto& d) { return plan(d, isa, tuning); }, desc);
}

}  // namespace detail
DMLREF_END
