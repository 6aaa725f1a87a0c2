// level.hpp: the rules of the feature level itself, and of an operator that it does not have.
#pragma once

#include <cstdint>
#include <string>

#include "dmlref/config.hpp"
#include "dmlref/desc/feature_level.hpp"
#include "dmlref/desc/operator_type.hpp"
#include "dmlref/validate/report.hpp"

DMLREF_BEGIN
namespace rules {

/// The level to validate at: a value that is no level is reported, and only what no level accepts is said further.
inline FeatureLevel check_feature_level(Report& report, FeatureLevel level) {
  for (const FeatureLevelName& row : feature_levels) {
    if (row.level == level) return level;
  }
  const auto number = [](FeatureLevel of) { return static_cast<std::uint32_t>(of); };
  constexpr const FeatureLevelName &least = feature_levels.front(), &most = feature_levels.back();
  report.add(RuleId::feature_level, "FeatureLevel",
             {"is ", number(level), ", expected a DML_FEATURE_LEVEL from ", least.name, " (", number(least.level),
              ") to ", most.name, " (", number(most.level), ")"});
  return latest_feature_level;
}

/// An operator above the level is reported once; its other rules are those of its first level.
inline FeatureLevel check_operator_level(Report& report, const OperatorInfo& info, FeatureLevel level) {
  if (info.introduced <= level) return level;
  report.add(RuleId::operator_level, "Type",
             {"is ", info.name, ", expected an operator of feature level ", to_string(level)}, info.introduced);
  return info.introduced;
}

/// The level to check the rest of an operator's rules at.
inline FeatureLevel check_level(Report& report, const OperatorInfo& info, FeatureLevel level) {
  return check_operator_level(report, info, check_feature_level(report, level));
}

}  // namespace rules
DMLREF_END
