// validate.hpp: may we, at this level: every rule for every operator.
//
// A program that validates the desc of one operator holds that operator's rules alone.
#pragma once

#include <variant>

#include "dmlref/config.hpp"
#include "dmlref/desc/operator_desc.hpp"
#include "dmlref/operators/list.hpp"
#include "dmlref/validate/one_operator.hpp"
#include "dmlref/validate/report.hpp"
#include "dmlref/validate/seam.hpp"

DMLREF_BEGIN

/// All rules that `desc` breaks at `level`; a value that is no level breaks one too. Touches no tensor memory.
[[nodiscard]] inline Report validate(const OperatorDesc& desc, FeatureLevel level) {
  return std::visit([&](const auto& d) { return validate(d, level); }, desc);
}

#if defined(DMLREF_IMPLEMENTATION)
namespace rules {
extern "C" {
void DMLREF_SEAM(check_facts)(OperatorType type, FeatureLevel level, const void* facts, void* report,
                              void (*add)(void* report, const FoundViolation& violation)) {
  schema::Operators::visit(type, [&]<class Desc>() {
    Report found;
    check_facts(found, level, *static_cast<const Facts<Desc>*>(facts));
    for (const Violation& v : found.violations()) {
      add(report, {v.rule, v.kind, v.field, v.message, v.available_from});
    }
  });
}
}
}  // namespace rules
#endif

DMLREF_END
