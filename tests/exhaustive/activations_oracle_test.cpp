// activations_oracle_test.cpp: every finite float16 through every fused activation of the reference, against 512 bits
// (MPFR): off by the one rounding, half a unit in the last place, and by a 64th for what precedes it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "support/all_halves.hpp"
#include "support/exhaustive.hpp"
#include "support/normalization_oracle.hpp"

namespace {

using namespace dmlref;
using namespace dmlref_test;

class ActivationOfHalves : public testing::TestWithParam<ActivationInfo> {};

TEST_P(ActivationOfHalves, IsWithinTheStatedBound) {
  for (const Activation& activation : activations_of_halves()) {
    if (activation.type != GetParam().type) continue;
    const auto c = case_of_halves(ways_of_halves()[0], activation);
    const std::vector<half> result = c.reference_output();
    double worst = 0;
    std::size_t tried = 0, misrounded = 0;
    for (std::size_t i = 0; i < result.size(); ++i) {
      if (!dmlref_test::tried(i / 2, 1)) continue;
      const double x = static_cast<float>(c.input_data[i]);
      const double error = error_in_ulp(result[i], wide_activation(activation, x));
      ASSERT_LE(error, 0.5 + 0x1p-6) << GetParam().name << ' ' << activation.parameters[0] << ' '
                                     << activation.parameters[1] << " of " << x << " is "
                                     << static_cast<float>(result[i]);
      worst = std::max(worst, error);
      misrounded += error > 0.5;
      ++tried;
    }
    std::printf("parameters %g %g: %zu values, error at most %.5f ulp, %zu not rounded to the nearest\n",
                static_cast<double>(activation.parameters[0]), static_cast<double>(activation.parameters[1]), tried,
                worst, misrounded);
    if (!exhaustive()) break;  // its defaults
  }
}

INSTANTIATE_TEST_SUITE_P(Activations, ActivationOfHalves, testing::ValuesIn(activation_table),
                         [](const auto& it) { return std::string(it.param.name); });

}  // namespace
