// plans.hpp: from a valid descriptor of any operator to its plan: where every kernel enters a program.
#pragma once

#include <variant>

#include "dmlref/config.hpp"
#include "dmlref/desc/operator_desc.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/calls.hpp"
#include "dmlref/run/plan.hpp"

DMLREF_BEGIN
namespace detail {

template <>
inline PlannedOperator plan(const OperatorDesc& desc, Isa isa, const Tuning& tuning) {
  return std::visit([&](const auto& d) { return plan(d, isa, tuning); }, desc);
}

}  // namespace detail
DMLREF_END
