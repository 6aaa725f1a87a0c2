// seam.hpp: how a separate program asks for the rules of its operators: by a function whose name carries no code tag.
//
// Facts have one layout under all flags; a Report has not, so that violations come back one by one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/desc/feature_level.hpp"
#include "dmlref/desc/operator_type.hpp"
#include "dmlref/validate/report.hpp"

#if defined(DMLREF_SEPARATE)

DMLREF_BEGIN
namespace rules {

/// A violation whose texts end with the call.
struct FoundViolation {
  RuleId rule;
  ViolationKind kind;
  std::string_view field;
  std::string_view message;
  std::optional<FeatureLevel> available_from;
};

extern "C" {
/// Applies the rules of an operator to `facts`, the Facts of its desc, and hands `report` and each violation to `add`.
void DMLREF_SEAM(check_facts)(OperatorType type, FeatureLevel level, const void* facts, void* report,
                              void (*add)(void* report, const FoundViolation& violation));
}

inline void add_found(void* report, const FoundViolation& found) {
  static_cast<Report*>(report)->add(
      {found.rule, found.kind, std::string(found.field), std::string(found.message), found.available_from});
}

}  // namespace rules
DMLREF_END

#endif
