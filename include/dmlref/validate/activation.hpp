// activation.hpp: the rules of a fused activation.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/config/floating_point.hpp"
#include "dmlref/desc/activation.hpp"
#include "dmlref/desc/operator_names.hpp"
#include "dmlref/schema/facts.hpp"
#include "dmlref/validate/report.hpp"

DMLREF_BEGIN
namespace rules {

inline std::string activation_text(ActivationType type) {
  const auto value = static_cast<std::uint32_t>(type);
  const std::string_view name = directml_operator_name(value);
  return name.empty() ? text_of({value}) : std::string(name);
}

inline void check_activation_type(Report& report, FeatureLevel level, ActivationType type) {
  const ActivationInfo* info = find_activation(type);
  if (info == nullptr) {
    std::string known;
    for (const ActivationInfo& row : activation_table) known += (known.empty() ? "" : ", ") + std::string(row.name);
    report.add(RuleId::activation_type, "FusedActivation.Type",
               {"is ", activation_text(type), ", which a normalization does not fuse, expected one of ", known});
  } else if (static_cast<std::uint32_t>(level) < info->introduced) {
    const auto from = feature_level(info->introduced);
    report.add(RuleId::activation_level, "FusedActivation.Type",
               {"is ", activation_text(type), ", expected an activation of feature level ", to_string(level)}, from);
  }
}

inline void check_activation_tensor(Report& report, bool present, const char* field) {
  if (!present) return;
  report.add(RuleId::activation_tensor_null, field,
             {"is not null, expected null: a fused activation takes its tensors from the operator"});
}

/// The shortest text that reads back as `value`.
inline std::string float_text(float value) {
  std::array<char, 32> text{};
  const auto result = std::to_chars(text.data(), text.data() + text.size(), value);
  return std::string(text.data(), result.ptr);
}

/// SOFTPLUS below 6_4: Steepness is not below 1. No other parameter is restricted, and NaN is not below 1.
inline void check_steepness(Report& report, FeatureLevel level, const ActivationFacts& facts) {
  constexpr FeatureLevel free_from = feature_level(lifted_from(RuleId::activation_steepness));
  if (facts.type != ActivationType::softplus || level >= free_from) return;
  detail::in_default_environment([&] {
    if (!(facts.parameters[0] < 1.0f)) return;
    report.add(RuleId::activation_steepness, "FusedActivation.Steepness",
               {"is ", float_text(facts.parameters[0]), ", expected at least 1"}, free_from);
  });
}

inline void check_facts(Report& report, FeatureLevel level, const std::optional<ActivationFacts>& facts) {
  if (!facts) return;
  check_activation_type(report, level, facts->type);
  if (!facts->readable) return;
  check_activation_tensor(report, facts->input_present, "FusedActivation.InputTensor");
  check_activation_tensor(report, facts->output_present, "FusedActivation.OutputTensor");
  check_steepness(report, level, *facts);
}

}  // namespace rules
DMLREF_END
