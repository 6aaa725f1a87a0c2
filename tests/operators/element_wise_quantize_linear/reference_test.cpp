// reference_test.cpp: the references of both operators against exact rationals.
#include "dmlref/operators/element_wise_quantize_linear/reference.hpp"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "support/exact_quantize_linear.hpp"
#include "support/exhaustive.hpp"
#include "support/quantize_linear_values.hpp"
#include "support/seed.hpp"

namespace {

using namespace dmlref;
using namespace dmlref_test;

/// A finite number as a fraction.
mpq_class exact(double x) { return mpq_class(x); }

template <class In, class Scale, class Out>
void expect_quantize(std::mt19937_64& random, ValueKind kind, ValueKind scale_kind) {
  const In x = data_value<In>(kind, random);
  const Scale scale = scale_value<Scale>(scale_kind, random);
  const Out z = random_bits<Out>(random);
  const auto dividend = static_cast<double>(x), divisor = static_cast<double>(scale);
  const int got = reference::quantize(x, scale, z);
  ASSERT_EQ(got, exact_quantized<Out>(dividend, divisor, z)) << dividend << " / " << divisor;
}

TEST(QuantizeLinearReference, IsTheExactQuotientRoundedOnce) {
  std::mt19937_64 random(test_seed());
  for (int i = 0; i < rounds(200000) && !HasFatalFailure(); ++i) {
    const ValueKind kind = value_kind(random), scale_kind = value_kind(random);
    expect_quantize<float, float, std::uint8_t>(random, kind, scale_kind);
    expect_quantize<float, float, std::int8_t>(random, kind, scale_kind);
    expect_quantize<half, half, std::int8_t>(random, kind, scale_kind);
    expect_quantize<std::int32_t, float, std::uint8_t>(random, kind, scale_kind);
  }
}

/// The value of a finite Out; of an infinite one that of the next number if there were one.
double value_of(float x) {
  return std::isinf(x) ? std::copysign(0x1p128, static_cast<double>(x)) : static_cast<double>(x);
}
double value_of(half x) {
  const auto value = static_cast<double>(x);
  return std::isinf(value) ? std::copysign(65536.0, value) : value;
}
float neighbor(float x, double toward) { return std::nextafter(x, static_cast<float>(toward)); }
half neighbor(half x, double toward) {
  const bool up = toward > static_cast<double>(x);
  const int place = (x.bits & 0x8000) != 0 ? -(x.bits & 0x7FFF) : x.bits;
  const int next = up ? place + 1 : place - 1;
  return half::from_bits(static_cast<std::uint16_t>(next < 0 ? 0x8000 | -next : next));
}
bool is_even(float x) { return (std::bit_cast<std::uint32_t>(x) & 1) == 0; }
bool is_even(half x) { return (x.bits & 1) == 0; }

template <class In, class Out>
void expect_dequantize(In q, In z, Out scale) {
  const Out got = reference::dequantize(q, z, scale);
  const auto factor = static_cast<double>(scale);
  const std::int64_t difference = std::int64_t{q} - std::int64_t{z};
  const auto result = static_cast<double>(got);
  if (factor != factor || (std::isinf(factor) && difference == 0)) {
    const bool is_the_nan = [&] {
      if constexpr (std::is_same_v<Out, half>)
        return got.bits == 0x7E00;
      else
        return std::bit_cast<std::uint32_t>(got) == 0x7FC00000;
    }();
    ASSERT_TRUE(is_the_nan);
    return;
  }
  ASSERT_EQ(std::signbit(result), (difference < 0) != std::signbit(factor)) << difference << " * " << factor;
  if (std::isinf(factor)) {
    ASSERT_TRUE(std::isinf(result));
    return;
  }
  const mpq_class product = mpq_class(mpz_class(static_cast<long>(difference))) * exact(factor);
  const mpq_class error = abs(product - exact(value_of(got)));
  for (const double toward : {-1e300, 1e300}) {
    if (std::isinf(result) && (toward < 0) == (result < 0)) continue;
    const mpq_class other = abs(product - exact(value_of(neighbor(got, toward))));
    ASSERT_TRUE(error < other || (error == other && is_even(got))) << difference << " * " << factor << ": " << result;
  }
}

template <class In, class Out>
void expect_dequantize(std::mt19937_64& random) {
  const ValueKind kind = value_kind(random);
  expect_dequantize<In, Out>(data_value<In>(kind, random), data_value<In>(kind, random),
                             scale_value<Out>(value_kind(random), random));
}

TEST(DequantizeLinearReference, IsTheExactProductRoundedOnce) {
  std::mt19937_64 random(test_seed());
  for (int i = 0; i < rounds(100000) && !HasFatalFailure(); ++i) {
    expect_dequantize<std::int32_t, float>(random);
    expect_dequantize<std::uint32_t, float>(random);
    expect_dequantize<std::int16_t, float>(random);
    expect_dequantize<std::uint8_t, float>(random);
    expect_dequantize<std::int32_t, half>(random);
    expect_dequantize<std::uint16_t, half>(random);
    expect_dequantize<std::int8_t, half>(random);
  }
}

// Products next to ties of float: differences of 33 bits whose product with an odd scale ends in 10…0 or its neighbors.
TEST(DequantizeLinearReference, NearTies) {
  std::mt19937_64 random(test_seed());
  for (int i = 0; i < rounds(100000) && !HasFatalFailure(); ++i) {
    const auto scale = static_cast<float>(random() % (1u << 24) | 1u);
    const std::uint64_t tie = ((random() % (1u << 23) | (1u << 23)) << 32 | std::uint64_t{1} << 31);
    const auto q = static_cast<std::uint32_t>(tie / static_cast<std::uint64_t>(scale));
    expect_dequantize<std::uint32_t, float>(q, 0, scale);
    expect_dequantize<std::uint32_t, float>(q + 1, 0, scale);
  }
}

/// Scales of every exponent that `Real` has, powers of two and others, and what is no ordinary number.
template <class Real>
std::vector<Real> scale_grid(std::mt19937_64& random) {
  std::vector<Real> grid;
  for (const float odd : {0.0f, -0.0f, std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN(), 0.1f, -0.3f, 65504.0f}) {
    grid.push_back(static_cast<Real>(odd));
  }
  constexpr bool is_half = std::is_same_v<Real, half>;
  for (int e = is_half ? -24 : -149; e < (is_half ? 16 : 128); ++e) {
    grid.push_back(static_cast<Real>(std::ldexp(1.0f, e)));
    grid.push_back(static_cast<Real>(std::ldexp(std::uniform_real_distribution<float>(1, 2)(random), e)));
  }
  return grid;
}

TEST(QuantizeLinearReference, EveryHalfOverAGridOfScales) {
  std::mt19937_64 random(test_seed());
  const std::vector<half> grid = scale_grid<half>(random);
  for (std::size_t g = 0; g < grid.size() && !HasFatalFailure(); ++g) {
    if (!tried(g, 3)) continue;
    const auto divisor = static_cast<double>(grid[g]);
    const auto z = random_bits<std::uint8_t>(random);
    const auto signed_z = random_bits<std::int8_t>(random);
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      const half x = half::from_bits(static_cast<std::uint16_t>(bits));
      const auto dividend = static_cast<double>(x);
      ASSERT_EQ(int{reference::quantize(x, grid[g], z)}, exact_quantized<std::uint8_t>(dividend, divisor, z))
          << dividend << " / " << divisor;
      ASSERT_EQ(int{reference::quantize(x, grid[g], signed_z)},
                exact_quantized<std::int8_t>(dividend, divisor, signed_z))
          << dividend << " / " << divisor;
    }
  }
}

// Every difference of two bytes: all inputs by all zero points.
TEST(DequantizeLinearReference, EveryByteTimesAGridOfScales) {
  std::mt19937_64 random(test_seed());
  const auto expect = [&](const auto& grid) {
    for (const auto scale : grid) {
      for (int difference = -255; difference <= 255; ++difference) {
        const auto low = static_cast<std::uint8_t>(random() % static_cast<unsigned>(256 - std::abs(difference)));
        const auto high = static_cast<std::uint8_t>(low + std::abs(difference));
        const std::uint8_t q = difference < 0 ? low : high, z = difference < 0 ? high : low;
        const auto got = reference::dequantize(q, z, scale);
        const auto expected = exact_dequantized(difference, scale);
        ASSERT_EQ(std::memcmp(&got, &expected, sizeof got), 0)
            << difference << " * " << static_cast<double>(scale) << ": " << static_cast<double>(got);
        const auto shifted =
            reference::dequantize(static_cast<std::int8_t>(q - 128), static_cast<std::int8_t>(z - 128), scale);
        ASSERT_EQ(std::memcmp(&shifted, &expected, sizeof got), 0) << difference;
      }
    }
  };
  expect(scale_grid<half>(random));
  if (!HasFatalFailure()) expect(scale_grid<float>(random));
}

}  // namespace
