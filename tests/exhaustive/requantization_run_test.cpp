// requantization_run_test.cpp: every accumulator within 2^16 of a tie through the public API, in every way of
// convolving: 512 output channels step through 256 accumulators each, and their biases lay these end to end.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "support/convolution_forms.hpp"
#include "support/exact_quotient.hpp"
#include "support/exhaustive.hpp"
#include "support/seed.hpp"

namespace {

using namespace dmlref_test;

constexpr std::uint32_t channels = 512;  // of 256 accumulators: 2^16 on either side
constexpr Form forms[] = {
    {"PointwiseNhwc", true, 1, 32, channels},
    {"PointwiseNchw", false, 1, 32, channels},
    {"ShallowNchw", false, 1, 3, channels},
    {"ThreeByThreeNhwc", true, 1, 16, channels, 3},
    {"ThreeByThreeNchw", false, 1, 16, channels, 3},
    {"ThreeByThreeStrided", false, 1, 8, channels, 3, 2},
    {"DepthwiseNhwc", true, channels, 1, 1, 3},
    {"DepthwiseNchw", false, channels, 1, 1, 3},
    {"DepthwiseStridedNhwc", true, channels, 1, 1, 3, 2},
    {"DepthwiseStridedNchw", false, channels, 1, 1, 3, 2},
    {"GroupsOfFourNhwc", true, channels / 4, 4, 4, 3},
    {"GroupsOfFourNchw", false, channels / 4, 4, 4, 3},
};

struct Scales {
  float input, filter, output;
};

/// Ties at every accumulator, every second, fourth … one; none but near ties; negative and subnormal scales.
std::vector<Scales> all_scales() {
  std::vector<Scales> all;
  for (int n = 0; n <= 22; ++n) {
    for (const float near : {1.0f, 1.0f + 0x1p-23f, 1.0f / 3.0f}) all.push_back({1.0f, std::ldexp(near, -n), 1.0f});
    all.push_back({0.02f, std::ldexp(7.0f, -n), 0.13f});
    all.push_back({-1.0f, std::ldexp(0.7f, -n), 3.0f});
    all.push_back({0x1p-100f, std::ldexp(1.0f - 0x1p-24f, -n - 20), 0x1p-120f});
  }
  return all;
}

void expect_exact(const SteppingConvolution& c, const Scales& scales, std::mt19937_64& random) {
  const int lowest = lowest_of(c.out_type);
  const int zero_point = lowest + static_cast<int>(random() % 256);
  const int tie = lowest - zero_point + static_cast<int>(random() % 255);
  const ExactQuotient quotient(scales.input, scales.filter, scales.output);
  const ExactSteps steps(quotient, zero_point, lowest);
  const std::int64_t first = quotient.accumulator_at(tie) - 128 * std::int64_t{channels};

  FormRounding rounding{scales.input, scales.output, {scales.filter}, zero_point, {}, random() % 2 != 0};
  if (random() % 2 != 0) rounding.filter_scale.resize(channels, scales.filter);
  for (std::uint32_t channel = 0; channel < channels; ++channel) {  // 256 from first + 256 * channel on
    const std::int64_t middle = first + 256 * std::int64_t{channel} + (c.weight[channel] > 0 ? 128 : 127);
    rounding.bias.push_back(static_cast<std::int32_t>(middle - c.middle[channel]));
  }
  std::string failure;
  const std::vector<std::byte> output = run_form(c, rounding, failure);
  ASSERT_EQ(failure, "");

  std::vector<std::uint8_t> expected(256 * channels);
  steps.quantize(first, expected.size(), expected.data());
  std::vector<bool> seen(expected.size());
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    for (std::uint32_t pixel = 0; pixel < out_pixels; ++pixel) {
      const std::int64_t sum = c.sums[std::size_t{channel} * out_pixels + pixel] + rounding.bias[channel];
      const auto place = static_cast<std::size_t>(sum - first);
      ASSERT_LT(place, expected.size());
      seen[place] = true;
      const std::byte got = output[c.at_output(channel, pixel)];
      ASSERT_EQ(static_cast<int>(got), int{expected[place]})
          << "accumulator " << sum << ", scale " << scales.input << " * " << scales.filter << " / " << scales.output
          << ", zero point " << zero_point << ", channel " << channel << ", pixel " << pixel;
    }
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), false), 0);
}

class RequantizationRun : public testing::TestWithParam<Form> {};

TEST_P(RequantizationRun, OfEveryAccumulatorNearATieIsExact) {
  std::mt19937_64 random(test_seed(20251));
  const std::vector<Scales> all = all_scales();
  std::size_t number = 0;
  for (const unsigned types : {0u, 7u, 2u, 5u}) {
    if (types > 0 && types != 7 && !exhaustive()) continue;
    const SteppingConvolution c(GetParam(), types, random);
    for (const Scales& scales : all) {
      if (!tried(number++, 43)) continue;
      ASSERT_NO_FATAL_FAILURE(expect_exact(c, scales, random));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, RequantizationRun, testing::ValuesIn(forms),
                         [](const auto& form) { return std::string(form.param.name); });

}  // namespace
