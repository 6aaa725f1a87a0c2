// kernels_test.cpp: the kernels of both operators against the reference: every float16, every byte, the ends of blocks.
#include "dmlref/element_wise_quantize_linear.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "dmlref/operators/element_wise_quantize_linear/reference.hpp"
#include "dmlref/print.hpp"
#include "support/all_halves.hpp"
#include "support/exhaustive.hpp"
#include "support/quantize_linear_values.hpp"
#include "support/seed.hpp"

namespace {

using namespace dmlref;
using namespace dmlref_test;

Index size_of(const auto& values) { return static_cast<Index>(values.size()); }

template <class T>
TensorView<const T> view_of(const std::vector<T>& values) {
  return TensorView<const T>(values.data(), Shape{size_of(values)});
}
/// One value for `count` elements.
template <class T>
TensorView<const T> repeated(const T& value, Index count) {
  return TensorView<const T>(&value, Shape{count}, Strides{0});
}

template <class In, class Scale, class Out>
void expect_quantized(const std::vector<In>& x, const TensorView<const Scale>& scale,
                      const TensorView<const Out>& zero_point) {
  std::vector<Out> got(x.size()), expected(x.size());
  const Shape shape{size_of(x)};
  reference::element_wise_quantize_linear(view_of(x), scale, std::optional(zero_point),
                                          TensorView<Out>(expected.data(), shape));
  const Report report = element_wise_quantize_linear(view_of(x), scale, zero_point, TensorView<Out>(got.data(), shape));
  ASSERT_TRUE(report) << report.to_string();
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(int{got[i]}, int{expected[i]}) << "element " << i << ", scale " << static_cast<double>(scale.load({0}));
  }
}
template <class In, class Out>
void expect_dequantized(const std::vector<In>& q, const TensorView<const Out>& scale,
                        const TensorView<const In>& zero_point) {
  std::vector<Out> got(q.size()), expected(q.size());
  const Shape shape{size_of(q)};
  reference::element_wise_dequantize_linear(view_of(q), scale, std::optional(zero_point),
                                            TensorView<Out>(expected.data(), shape));
  const Report report =
      element_wise_dequantize_linear(view_of(q), scale, zero_point, TensorView<Out>(got.data(), shape));
  ASSERT_TRUE(report) << report.to_string();
  for (std::size_t i = 0; i < q.size(); ++i) {
    ASSERT_EQ(std::memcmp(&got[i], &expected[i], sizeof(Out)), 0)
        << "element " << i << ": " << static_cast<double>(got[i]) << ", expected " << static_cast<double>(expected[i]);
  }
}

/// From the least subnormal to the greatest number, of both signs, and what is no number.
std::vector<float> scales() {
  std::vector<float> all{0.0f,
                         -0.0f,
                         std::numeric_limits<float>::infinity(),
                         -std::numeric_limits<float>::infinity(),
                         std::numeric_limits<float>::quiet_NaN(),
                         (std::numeric_limits<float>::max)(),
                         -1.0f,
                         -0.3f};
  std::mt19937_64 random(test_seed());
  for (int e = -149; e < 128; ++e) {
    if (!tried(static_cast<std::size_t>(e + 149), 5) && (e < -12 || e > 12)) continue;
    all.push_back(std::ldexp(1.0f, e));
    all.push_back(std::ldexp(std::uniform_real_distribution<float>(1, 2)(random), e));
  }
  return all;
}

TEST(QuantizeLinear, EveryHalf) {
  const std::vector<half> x = all_halves();
  std::mt19937_64 random(test_seed());
  for (const float given : scales()) {
    const half scale(given);
    const auto zero_point = static_cast<std::uint8_t>(random());
    expect_quantized<half, half, std::uint8_t>(x, repeated(scale, size_of(x)), repeated(zero_point, size_of(x)));
    const auto signed_zero_point = static_cast<std::int8_t>(random());
    expect_quantized<half, half, std::int8_t>(x, repeated(scale, size_of(x)), repeated(signed_zero_point, size_of(x)));
    if (HasFatalFailure()) return;
  }
}

// Every multiple of a half of the scale is a tie, and so are its neighbors nearly.
TEST(QuantizeLinear, TiesAndTheirNeighbors) {
  for (const float scale : scales()) {
    std::vector<float> x;
    for (int k = -520; k <= 520; ++k) {
      const float tie = static_cast<float>(0.5 * k * static_cast<double>(scale));
      const float infinity = std::numeric_limits<float>::infinity();
      for (const float value : {std::nextafter(tie, -infinity), tie, std::nextafter(tie, infinity)}) x.push_back(value);
    }
    const std::uint8_t zero_point = 100;
    const std::int8_t signed_zero_point = -3;
    expect_quantized<float, float, std::uint8_t>(x, repeated(scale, size_of(x)), repeated(zero_point, size_of(x)));
    const std::vector<float> each(x.size(), scale);
    expect_quantized<float, float, std::int8_t>(x, view_of(each), repeated(signed_zero_point, size_of(x)));
    if (HasFatalFailure()) return;
  }
}

// The same of integers that a float does not hold.
TEST(QuantizeLinear, TiesOfWideIntegers) {
  std::mt19937_64 random(test_seed());
  for (int e = 0; e < 24 && !HasFatalFailure(); ++e) {
    const float scale = std::ldexp(std::uniform_real_distribution<float>(1, 2)(random), e);
    std::vector<std::int32_t> x;
    for (int k = -260; k <= 260; ++k) {
      const double tie = std::floor((k + 0.5) * static_cast<double>(scale));
      for (int beside = -1; beside < 3; ++beside) {
        if (std::abs(tie) < 0x1p31 - 4) x.push_back(static_cast<std::int32_t>(tie) + beside);
      }
    }
    expect_quantized<std::int32_t, float, std::int8_t>(x, repeated(scale, size_of(x)),
                                                       repeated(std::int8_t{5}, size_of(x)));
  }
}

// Products of 28 bits, which a float would bring to a tie of float16.
TEST(DequantizeLinear, EveryWord) {
  std::mt19937_64 random(test_seed());
  std::vector<std::uint16_t> q(65536);
  for (std::size_t i = 0; i < q.size(); ++i) q[i] = static_cast<std::uint16_t>(i);
  const std::vector<std::int16_t> signed_q(q.begin(), q.end());
  const std::vector<std::int32_t> wide_q(q.begin(), q.end());
  const Index n = size_of(q);
  for (int round = 0; round < rounds(12) && !HasFatalFailure(); ++round) {
    const half scale(
        std::ldexp(std::uniform_real_distribution<float>(1, 2)(random), static_cast<int>(random() % 30) - 24));
    const auto zero_point = random_bits<std::uint16_t>(random);
    expect_dequantized<std::uint16_t, half>(q, repeated(scale, n), repeated(zero_point, n));
    expect_dequantized<std::int16_t, half>(signed_q, repeated(scale, n),
                                           repeated(static_cast<std::int16_t>(zero_point), n));
    expect_dequantized<std::int32_t, half>(wide_q, repeated(scale, n), repeated(std::int32_t{zero_point}, n));
    expect_dequantized<std::uint16_t, float>(q, repeated(static_cast<float>(scale), n), repeated(zero_point, n));
  }
}

TEST(DequantizeLinear, EveryByteAndZeroPoint) {
  const std::vector<float> all_scales = scales();
  std::vector<std::uint8_t> q(256);
  std::vector<std::int8_t> signed_q(256);
  for (std::size_t i = 0; i < 256; ++i) {
    q[i] = static_cast<std::uint8_t>(i);
    signed_q[i] = static_cast<std::int8_t>(i);
  }
  for (std::size_t z = 0; z < 256; ++z) {
    if (!tried(z, 15)) continue;
    for (const float scale : all_scales) {
      const half narrow(scale);
      expect_dequantized<std::uint8_t, float>(q, repeated(scale, 256), repeated(q[z], 256));
      expect_dequantized<std::int8_t, float>(signed_q, repeated(scale, 256), repeated(signed_q[z], 256));
      expect_dequantized<std::uint8_t, half>(q, repeated(narrow, 256), repeated(q[z], 256));
      if (HasFatalFailure()) return;
    }
  }
}

// Products that a double would bring to a tie of float.
TEST(DequantizeLinear, NearTiesOfWideProducts) {
  std::mt19937_64 random(test_seed());
  int twice_rounded = 0;
  for (int i = 0; i < 100 && !HasFatalFailure(); ++i) {
    const auto scale = static_cast<std::uint32_t>(random() % (1u << 23) | (1u << 23) | 1u);
    std::vector<std::uint32_t> q(100);
    for (std::uint32_t& value : q) value = nearly_tied_factor(scale, random);
    const auto factor = static_cast<float>(scale);
    expect_dequantized<std::uint32_t, float>(q, repeated(factor, size_of(q)), repeated(std::uint32_t{0}, size_of(q)));
    for (const std::uint32_t value : q) {
      const float through_double = static_cast<float>(double{factor} * value);
      if (through_double != reference::dequantize(value, std::uint32_t{0}, factor)) ++twice_rounded;
    }
  }
  EXPECT_GT(twice_rounded, 100);
}

template <class T>
std::vector<T> many(std::size_t count, std::mt19937_64& random) {
  std::vector<T> values(count);
  for (T& value : values) value = random_bits<T>(random);
  return values;
}

// Rows of every length around vectors and blocks; scales and zero points of each element.
TEST(QuantizeLinear, EveryLength) {
  std::mt19937_64 random(test_seed());
  for (std::size_t count = 1; count < 1100; count += count < 80 || (count > 500 && count < 530) ? 1 : 61) {
    const Index n = static_cast<Index>(count);
    const auto x = many<float>(count, random), scale = many<float>(count, random);
    const auto z = many<std::uint8_t>(count, random);
    expect_quantized<float, float, std::uint8_t>(x, view_of(scale), view_of(z));
    expect_quantized<float, float, std::uint8_t>(x, repeated(1.5f, n), view_of(z));
    std::vector<float> ordinary_scale(count);
    for (float& s : ordinary_scale) s = scale_value<float>(ValueKind::ordinary, random);
    expect_quantized<float, float, std::uint8_t>(x, view_of(ordinary_scale), view_of(z));
    expect_dequantized<std::uint8_t, float>(many<std::uint8_t>(count, random), view_of(ordinary_scale), view_of(z));
    expect_dequantized<std::uint8_t, float>(many<std::uint8_t>(count, random), view_of(scale), view_of(z));
    expect_dequantized<std::int16_t, float>(many<std::int16_t>(count, random), view_of(scale),
                                            view_of(many<std::int16_t>(count, random)));
    expect_dequantized<std::uint32_t, float>(many<std::uint32_t>(count, random), view_of(scale),
                                             view_of(many<std::uint32_t>(count, random)));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
