// operator_type.hpp: which operator, and what is said of each.
#pragma once

#include <cstdint>
#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/desc/feature_level.hpp"

DMLREF_BEGIN

/// Our operators; the values are those of DML_OPERATOR_TYPE.
enum class OperatorType : std::uint32_t {
  slice = 60,
  mean_variance_normalization = 73,
  slice1 = 111,
  mean_variance_normalization1 = 115,
  quantized_linear_convolution = 120,
};

/// One row per operator: its name and the level that introduced it.
struct OperatorInfo {
  OperatorType type;        ///< which operator
  std::string_view name;    ///< DirectML's, without DML_OPERATOR_
  FeatureLevel introduced;  ///< the lowest level that has it
};

DMLREF_END
