// feature_level.hpp: the fifteen feature levels in order, and their names.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "dmlref/config.hpp"

DMLREF_BEGIN

// Every level, lowest first: LEVEL(name, DirectML's number).
#define DMLREF_FEATURE_LEVELS(LEVEL) \
  LEVEL(1_0, 0x1000)                 \
  LEVEL(2_0, 0x2000)                 \
  LEVEL(2_1, 0x2100)                 \
  LEVEL(3_0, 0x3000)                 \
  LEVEL(3_1, 0x3100)                 \
  LEVEL(4_0, 0x4000)                 \
  LEVEL(4_1, 0x4100)                 \
  LEVEL(5_0, 0x5000)                 \
  LEVEL(5_1, 0x5100)                 \
  LEVEL(5_2, 0x5200)                 \
  LEVEL(6_0, 0x6000)                 \
  LEVEL(6_1, 0x6100)                 \
  LEVEL(6_2, 0x6200)                 \
  LEVEL(6_3, 0x6300)                 \
  LEVEL(6_4, 0x6400)

/// What a device offers: each level contains the ones before it. The numbers are those of DML_FEATURE_LEVEL, which
/// directml.hpp brings.
enum class FeatureLevel : std::uint32_t {
#define DMLREF_FEATURE_LEVEL(name, number) level_##name = number,
  DMLREF_FEATURE_LEVELS(DMLREF_FEATURE_LEVEL)
#undef DMLREF_FEATURE_LEVEL
};

/// The level whose number is `value`; of another value no level, which `validate` reports.
constexpr FeatureLevel feature_level(std::uint32_t value) noexcept { return static_cast<FeatureLevel>(value); }

/// A level and its name.
struct FeatureLevelName {
  FeatureLevel level;     ///< of the fifteen
  std::string_view name;  ///< as on the command line: "6_4"
};

/// All levels, lowest first.
inline constexpr auto feature_levels = std::to_array<FeatureLevelName>({
#define DMLREF_FEATURE_LEVEL(name, number) {FeatureLevel::level_##name, #name},
    DMLREF_FEATURE_LEVELS(DMLREF_FEATURE_LEVEL)
#undef DMLREF_FEATURE_LEVEL
});
#undef DMLREF_FEATURE_LEVELS

/// The newest level, 6_4.
inline constexpr FeatureLevel latest_feature_level = feature_levels.back().level;

/// "6_4" for FeatureLevel::level_6_4; "unknown" for a value that is no level.
constexpr std::string_view to_string(FeatureLevel level) noexcept {
  for (const FeatureLevelName& row : feature_levels) {
    if (row.level == level) return row.name;
  }
  return "unknown";
}

/// The level named "6_4" (or "DML_FEATURE_LEVEL_6_4"); empty where there is none.
[[nodiscard]] constexpr std::optional<FeatureLevel> feature_level_from_name(std::string_view name) noexcept {
  constexpr std::string_view prefix = "DML_FEATURE_LEVEL_";
  if (name.substr(0, prefix.size()) == prefix) name.remove_prefix(prefix.size());
  for (const FeatureLevelName& row : feature_levels) {
    if (row.name == name) return row.level;
  }
  return std::nullopt;
}

DMLREF_END
