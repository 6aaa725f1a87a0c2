// ties_test.cpp: rounding around ties in every way of convolving. Biases put the accumulators of each
// channel around a tie of its own; one input channel moves them through every value of a window of 256.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "support/convolution_forms.hpp"
#include "support/exact_quotient.hpp"
#include "support/seed.hpp"

namespace {

using namespace dmlref_test;
using Random = std::mt19937_64;

// ---- shapes, one or more for each way of convolving ----

constexpr Form forms[] = {
    {"PointwiseNhwc", true, 1, 32, 64},
    {"PointwiseNchw", false, 1, 32, 64},
    {"PointwiseOfFewOutputsNhwc", true, 1, 20, 6},
    {"PointwiseOfFewOutputsNchw", false, 1, 20, 6},
    {"PointwiseStrided", true, 1, 24, 40, 1, 2},
    {"ShallowNhwc", true, 1, 8, 48},
    {"ShallowNchw", false, 1, 3, 33},
    {"DeepNhwc", true, 1, 600, 24},
    {"DeepNchw", false, 1, 600, 24},
    {"ThreeByThreeNhwc", true, 1, 32, 48, 3, 1, 1},
    {"ThreeByThreeNchw", false, 1, 32, 48, 3, 1, 1},
    {"ThreeByThreeStrided", false, 1, 32, 32, 3, 2},
    {"FirstLayer", false, 1, 3, 32, 7, 2},
    {"FiveByFive", true, 1, 16, 16, 5},
    {"DepthwiseNhwc", true, 40, 1, 1, 3, 1, 1},
    {"DepthwiseNchw", false, 40, 1, 1, 3, 1, 1},
    {"DepthwiseStridedNhwc", true, 40, 1, 1, 3, 2},
    {"DepthwiseStridedNchw", false, 40, 1, 1, 3, 2},
    {"DepthwiseFiveByFiveNhwc", true, 24, 1, 1, 5},
    {"DepthwiseFiveByFiveNchw", false, 24, 1, 1, 5},
    {"TwoOutputsOfEach", true, 20, 1, 2, 3},
    {"GroupsOfFourNhwc", true, 10, 4, 4, 3, 1, 1},
    {"GroupsOfFourNchw", false, 10, 4, 4, 3, 1, 1},
    {"GroupsOfSixteen", true, 3, 16, 16, 3, 1, 1},
};

// ---- scales ----

/// Quotients: ties at every second, every fourth ... accumulator; none but near ties; larger than 1.
std::vector<float> quotients() {
  std::vector<float> all{0.5f, 1.5f, 2.5f, 10.5f, 300.5f, 4095.5f, 0x1p20f, 1.0f, 1.0f / 3.0f, 0.1f};
  for (int n = 1; n <= 30; ++n) {
    for (const float near : {1.0f, 1.0f + 0x1p-23f, 1.0f - 0x1p-24f, 1.0f / 3.0f, 0.7f}) {
      all.push_back(std::ldexp(near, -n));
    }
  }
  return all;
}

/// input * filter_factor / output is 1 or near it.
struct Scales {
  const char* name;
  float input, filter_factor, output;
  bool signs = false;  // every other filter scale negative
};
constexpr Scales all_scales[] = {
    {"plain", 1.0f, 1.0f, 1.0f},
    {"a hair above", 1.0f + 0x1p-23f, 1.0f, 1.0f},
    {"a hair below", 1.0f - 0x1p-23f, 1.0f, 1.0f},
    {"thirds", 1.0f / 3.0f, 3.0f, 1.0f},
    {"divided", 0.02f, 7.0f, 0.13f},
    {"subnormal products", 0x1p-100f, 0x1p-40f, 0x1p-140f},
    {"huge products", 0x1p100f, 0x1p26f, 0x1p126f},
    {"subnormal input scale", 0x1.8p-140f, 1.0f, 0x1.8p-140f},
    {"negative", -1.0f, 1.0f, 1.0f, true},
    {"negative output scale", 1.0f, 1.0f, -3.0f, true},
};

// ---- cases ----

struct Rounding {
  const Scales& scales;
  std::vector<float> filter_scale;  // of each channel
  bool per_channel, owned;
  int zero_point;
};

void expect_exact(const SteppingConvolution& c, const Rounding& r, Random& random) {
  const int lowest = lowest_of(c.out_type), highest = lowest + 255;
  std::vector<ExactQuotient> quotient;
  FormRounding rounding{r.scales.input, r.scales.output, r.filter_scale, r.zero_point, {}, r.owned};
  if (!r.per_channel) rounding.filter_scale.resize(1);
  for (std::uint32_t channel = 0; channel < c.out_all; ++channel) {
    quotient.emplace_back(r.scales.input, r.filter_scale[channel], r.scales.output);
    const int tie = lowest - r.zero_point - 1 + static_cast<int>(random() % 257);
    rounding.bias.push_back(static_cast<std::int32_t>(quotient.back().accumulator_at(tie) - c.middle[channel]));
  }
  std::string failure;
  const std::vector<std::byte> output = run_form(c, rounding, failure);
  ASSERT_EQ(failure, "");

  for (std::uint32_t channel = 0; channel < c.out_all; ++channel) {
    // Within the window each value occurs once or twice.
    constexpr int unknown = 1000;
    const std::int64_t bias = rounding.bias[channel];
    const std::int64_t first = c.middle[channel] + bias - 256;
    std::vector<int> known(512, unknown);
    for (std::uint32_t pixel = 0; pixel < out_pixels; ++pixel) {
      const std::int64_t accumulator = c.sums[channel * out_pixels + pixel] + bias;
      const std::int64_t place = accumulator - first;
      int here = unknown;
      int& expected = place >= 0 && place < 512 ? known[static_cast<std::size_t>(place)] : here;
      if (expected == unknown) expected = quotient[channel].quantized(accumulator, r.zero_point, lowest, highest);
      const auto got = value_of(c.out_type, output[c.at_output(channel, pixel)]);
      ASSERT_EQ(got, expected) << r.scales.name << ", " << (r.per_channel ? "per channel" : "per tensor")
                               << (r.owned ? ", owned" : "") << ", channel " << channel << ", pixel " << pixel
                               << ", accumulator " << accumulator << ", filter scale " << r.filter_scale[channel]
                               << ", zero point " << r.zero_point;
    }
  }
}

class RequantizationTies : public testing::TestWithParam<Form> {};

TEST_P(RequantizationTies, AreExact) {
  Random random(dmlref_test::test_seed(20211));
  const std::vector<float> all = quotients();
  std::size_t next = random() % all.size();
  unsigned number = 0;
  // (Half of the types with sanitizers, which take many times as long.)
  constexpr unsigned all_types[] = {0, 7, 2, 5};
  for (const unsigned types : std::span(all_types).first(dmlref_test::sanitized ? 2 : 4)) {
    const SteppingConvolution c(GetParam(), types, random);
    for (const Scales& scales : all_scales) {
      for (const bool per_channel : {true, false}) {
        Rounding r{scales, {}, per_channel, number % 2 != 0, 0};
        const int zero_points[] = {0, 255, 128, 7};
        r.zero_point = lowest_of(c.out_type) + zero_points[number / 2 % 4];
        ++number;
        for (std::uint32_t channel = 0; channel < c.out_all; ++channel) {
          const float scale = scales.filter_factor * all[next % all.size()];
          r.filter_scale.push_back(scales.signs && next % 2 != 0 ? -scale : scale);
          if (per_channel) ++next;
        }
        next += 7;
        ASSERT_NO_FATAL_FAILURE(expect_exact(c, r, random));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, RequantizationTies, testing::ValuesIn(forms),
                         [](const auto& form) { return std::string(form.param.name); });

}  // namespace
