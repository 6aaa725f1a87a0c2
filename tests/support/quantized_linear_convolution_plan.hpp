// quantized_linear_convolution_plan.hpp: a plan's result as a test's expectation.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "support/quantized_linear_convolution_run.hpp"

namespace dmlref::test {

/// Adds a failure where `got` is not what the reference makes of the case.
inline void compare(const QlcCase& test, const std::vector<std::byte>& got, const std::string& what) {
  const std::string differs = difference(test, got);
  if (!differs.empty()) ADD_FAILURE() << what << ": " << differs;
}

}  // namespace dmlref::test
