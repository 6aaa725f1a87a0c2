// operator_type.hpp: which operator, and what is said of each.
#pragma once

#include <cstdint>
#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/desc/feature_level.hpp"

DMLREF_BEGIN

/// A value of DML_OPERATOR_TYPE; those of our operators stand in their schemas.
enum class OperatorType : std::uint32_t {};

/// One row per operator: its name and the level that introduced it.
struct OperatorInfo {
  OperatorType type;        ///< which operator
  std::string_view name;    ///< DirectML's, without DML_OPERATOR_
  FeatureLevel introduced;  ///< the lowest level that has it
};

DMLREF_END
