// validate.hpp: may we, at this level: every rule for every operator.
//
// read() turns a descriptor into facts, reporting what cannot be read; check() judges the facts.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "dmlref/config.hpp"
#include "dmlref/desc/operator_desc.hpp"
#include "dmlref/validate/mean_variance_normalization.hpp"
#include "dmlref/validate/quantized_linear_convolution.hpp"
#include "dmlref/validate/report.hpp"
#include "dmlref/validate/slice.hpp"
#include "dmlref/validate/support_table.hpp"

DMLREF_BEGIN
namespace rules {

/// The level to judge by: a value that is no level is reported, and only what no level accepts is said further.
inline FeatureLevel check_feature_level(Report& report, FeatureLevel level) {
  for (const FeatureLevelName& row : feature_levels) {
    if (row.level == level) return level;
  }
  report.add(RuleId::feature_level, "FeatureLevel",
             "is " + std::to_string(static_cast<std::uint32_t>(level)) +
                 ", expected a DML_FEATURE_LEVEL from 1_0 (4096) to 6_4 (25600)");
  return latest_feature_level;
}

/// An operator above the level is reported once; its other rules are those of its first level.
inline FeatureLevel check_operator_level(Report& report, OperatorType op, FeatureLevel level) {
  const OperatorInfo* info = find_operator(op);
  if (info == nullptr || info->introduced <= level) return level;
  report.add(
      RuleId::operator_level, "Type",
      "is " + std::string(info->name) + ", expected an operator of feature level " + std::string(to_string(level)),
      info->introduced);
  return info->introduced;
}

inline constexpr OperatorType type_of(const SliceDesc&) noexcept { return slice; }
inline constexpr OperatorType type_of(const Slice1Desc&) noexcept { return slice1; }
inline constexpr OperatorType type_of(const QuantizedLinearConvolutionDesc&) noexcept { return qlc; }
inline constexpr OperatorType type_of(const MeanVarianceNormalizationDesc&) noexcept { return mvn; }
inline constexpr OperatorType type_of(const MeanVarianceNormalization1Desc&) noexcept { return mvn1; }

/// All rules that the desc of one operator breaks at `level`: a program of one operator holds its rules alone.
template <class Desc>
Report validate_one(const Desc& desc, FeatureLevel level) {
  Report report;
  level = check_operator_level(report, type_of(desc), check_feature_level(report, level));
  auto facts = read(report, desc);
  check(report, level, std::move(facts));
  return report;
}

}  // namespace rules

/// All rules that `desc` breaks at `level`. Touches no tensor memory.
inline Report validate(const OperatorDesc& desc, FeatureLevel level) {
  return std::visit([&](const auto& d) { return rules::validate_one(d, level); }, desc);
}

DMLREF_END
