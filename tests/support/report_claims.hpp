// report_claims.hpp: what a Report of `validate` promises: well-formed violations, true words about higher levels, one
// answer for Microsoft's structs and for our values.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dmlref/desc/operator_desc.hpp"
#include "dmlref/validate/read_directml.hpp"

namespace dmlref_test {

inline const dmlref::Violation* find(const dmlref::Report& report, const dmlref::Violation& wanted) {
  for (const dmlref::Violation& violation : report.violations()) {
    if (violation.rule == wanted.rule && violation.field == wanted.field) return &violation;
  }
  return nullptr;
}

/// The first promise that the report of `desc` at `level` breaks; empty: none.
inline std::string broken_claim(const DML_OPERATOR_DESC& desc, dmlref::FeatureLevel level) {
  using dmlref::ViolationKind;
  const dmlref::Report report = dmlref::validate(desc, level);
  std::vector<std::pair<dmlref::FeatureLevel, dmlref::Report>> higher_reports;
  for (const auto& [higher, name] : dmlref::feature_levels) {
    if (higher > level) higher_reports.emplace_back(higher, dmlref::validate(desc, higher));
  }
  for (const dmlref::Violation& violation : report.violations()) {
    const auto fault = [&](const std::string& what) { return what + ": " + violation.message; };
    if (violation.field.empty()) return fault("no field");
    if (!violation.message.starts_with(violation.field)) return fault("the message does not begin with the field");
    if (violation.message.find("expected") == std::string::npos) return fault("the message expects nothing");
    if ((violation.kind == ViolationKind::unsupported_at_level) != violation.available_from.has_value()) {
      return fault("kind and available_from disagree");
    }
    if (find(report, violation) != &violation) return fault("reported twice");
    for (const auto& [higher, above] : higher_reports) {
      const bool lifted = violation.available_from && higher >= *violation.available_from;
      if (lifted != (find(above, violation) == nullptr)) {
        return fault("available_from is wrong of " + std::string(dmlref::to_string(higher)));
      }
    }
  }
  return {};
}

/// Where Microsoft's structs and our values get different reports at `level`; empty: nowhere. Only a desc that is
/// valid at the latest level is read as a value.
inline std::string native_difference(const DML_OPERATOR_DESC& desc, dmlref::FeatureLevel level) {
  const std::optional<dmlref::OperatorDesc> value = dmlref::detail::read_directml(desc);
  if (dmlref::validate(desc, dmlref::latest_feature_level).ok() != value.has_value()) {
    return "read_directml reads what is refused, or refuses what is valid";
  }
  if (!value) return {};
  const dmlref::Report report = dmlref::validate(desc, level);
  const dmlref::Report native = dmlref::validate(*value, level);
  for (const dmlref::Violation& violation : native.violations()) {
    const dmlref::Violation* found = find(report, violation);
    if (found == nullptr || found->message != violation.message || found->available_from != violation.available_from) {
      return "only of the value: " + violation.message;
    }
  }
  for (const dmlref::Violation& violation : report.violations()) {
    if (violation.field == "DimensionCount") continue;  // a native desc has none
    if (find(native, violation) == nullptr) return "not of the value: " + violation.message;
  }
  return {};
}

}  // namespace dmlref_test
