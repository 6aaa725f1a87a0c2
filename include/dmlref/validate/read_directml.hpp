// read_directml.hpp: Microsoft's structs as our values; what cannot be read is a violation.
#pragma once

#include <optional>

#include "dmlref/config.hpp"
#include "dmlref/validate/validate.hpp"

DMLREF_BEGIN

/// All rules that `desc` breaks at `level`: null pointers and unknown types included, never a crash.
inline Report validate(const DML_OPERATOR_DESC& desc, DML_FEATURE_LEVEL level) {
  static_cast<void>(desc);
  static_cast<void>(level);
  return {};
}

namespace detail {
/// The descriptor as a value. Only for one that validate() accepts at some level; else empty.
inline std::optional<OperatorDesc> read_directml(const DML_OPERATOR_DESC& desc) {
  static_cast<void>(desc);
  return std::nullopt;
}
}  // namespace detail

DMLREF_END
