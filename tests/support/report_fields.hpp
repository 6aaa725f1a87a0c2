// report_fields.hpp: the fields that a report names.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dmlref/validate/report.hpp"

namespace dmlref_test {

/// In order, e.g. {"InputTensor"}. Each violation is one that no level lifts, and its message begins with its field.
inline std::vector<std::string> fields(const dmlref::Report& report) {
  std::vector<std::string> names;
  for (const dmlref::Violation& violation : report.violations()) {
    names.push_back(violation.field);
    EXPECT_EQ(violation.kind, dmlref::ViolationKind::invalid);
    EXPECT_FALSE(violation.available_from);
    EXPECT_EQ(violation.message.rfind(violation.field + ' ', 0), 0u) << violation.message;
  }
  return names;
}

}  // namespace dmlref_test
