// feature_level.hpp: the fifteen feature levels in order, and their names.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/desc/directml_types.hpp"

DMLREF_BEGIN

/// DirectML's own enumeration: each level contains the ones before it.
using FeatureLevel = DML_FEATURE_LEVEL;

/// The level whose number is `value`. (An older <DirectML.h> does not name the newest levels, but from target 0x4000 on
/// its enumeration holds them.)
constexpr FeatureLevel feature_level(std::uint32_t value) noexcept { return static_cast<FeatureLevel>(value); }

/// A level and its name.
struct FeatureLevelName {
  FeatureLevel level;     ///< of the fifteen
  std::string_view name;  ///< as on the command line: "6_4"
};

/// All levels, lowest first.
inline constexpr auto feature_levels = std::to_array<FeatureLevelName>({
    {feature_level(0x1000), "1_0"},
    {feature_level(0x2000), "2_0"},
    {feature_level(0x2100), "2_1"},
    {feature_level(0x3000), "3_0"},
    {feature_level(0x3100), "3_1"},
    {feature_level(0x4000), "4_0"},
    {feature_level(0x4100), "4_1"},
    {feature_level(0x5000), "5_0"},
    {feature_level(0x5100), "5_1"},
    {feature_level(0x5200), "5_2"},
    {feature_level(0x6000), "6_0"},
    {feature_level(0x6100), "6_1"},
    {feature_level(0x6200), "6_2"},
    {feature_level(0x6300), "6_3"},
    {feature_level(0x6400), "6_4"},
});

/// The newest level, 6_4.
inline constexpr FeatureLevel latest_feature_level = feature_levels.back().level;

/// "6_4" for DML_FEATURE_LEVEL_6_4; "unknown" for a value that is no level.
constexpr std::string_view to_string(FeatureLevel level) noexcept {
  for (const FeatureLevelName& row : feature_levels) {
    if (row.level == level) return row.name;
  }
  return "unknown";
}

/// The level named "6_4" (or "DML_FEATURE_LEVEL_6_4"); empty where there is none.
constexpr std::optional<FeatureLevel> feature_level_from_name(std::string_view name) noexcept {
  constexpr std::string_view prefix = "DML_FEATURE_LEVEL_";
  if (name.substr(0, prefix.size()) == prefix) name.remove_prefix(prefix.size());
  for (const FeatureLevelName& row : feature_levels) {
    if (row.name == name) return row.level;
  }
  return std::nullopt;
}

DMLREF_END
