// half_test.cpp: FLOAT16 storage: exact widening, correctly rounded narrowing.
#include "dmlref/desc/half.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace {

using dmlref::half;

static_assert(static_cast<float>(half(1.0f)) == 1.0f);
static_assert(half(65519.0).bits == 0x7BFF && half(65520.0).bits == 0x7C00);

TEST(Half, EveryValueSurvivesWideningAndNarrowing) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const half h = half::from_bits(static_cast<std::uint16_t>(bits));
    const auto f = static_cast<float>(h);
    if (std::isnan(f)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(half(f))));
      continue;
    }
    EXPECT_EQ(half(f).bits, h.bits) << bits;
  }
}

TEST(Half, NarrowingPicksTheNearestAndTheEvenOne) {
  // Every midpoint between neighbours goes to the even one, and its neighbours in double to their own side.
  for (std::uint32_t bits = 0; bits < 0x7BFF; ++bits) {
    const auto low = static_cast<double>(half::from_bits(static_cast<std::uint16_t>(bits)));
    const auto high = static_cast<double>(half::from_bits(static_cast<std::uint16_t>(bits + 1)));
    const double middle = (low + high) / 2;
    EXPECT_EQ(half(middle).bits, bits % 2 == 0 ? bits : bits + 1);
    EXPECT_EQ(half(std::nextafter(middle, 0.0)).bits, bits);
    EXPECT_EQ(half(std::nextafter(middle, 1e6)).bits, bits + 1);
  }
}

TEST(Half, TheEndsOfTheRange) {
  EXPECT_EQ(half(std::numeric_limits<double>::infinity()).bits, 0x7C00);
  EXPECT_EQ(half(-std::numeric_limits<float>::infinity()).bits, 0xFC00);
  EXPECT_EQ(half(1e300).bits, 0x7C00);
  EXPECT_EQ(half(-0.0).bits, 0x8000);
  EXPECT_EQ(half(std::numeric_limits<double>::denorm_min()).bits, 0);
  EXPECT_TRUE(std::isnan(static_cast<float>(half(std::numeric_limits<double>::quiet_NaN()))));
}

}  // namespace
