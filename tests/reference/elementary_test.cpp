// The elementary functions against MPFR, and what an activation does with every kind of argument.
#include "dmlref/reference/elementary.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "dmlref/reference/activation.hpp"
#include "support/normalization_oracle.hpp"
#include "support/seed.hpp"

namespace {

using dmlref::Activation;
using dmlref::ActivationType;
using dmlref_test::Wide;
constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan_value = std::numeric_limits<double>::quiet_NaN();

double relative_error(double value, const Wide& exact) {
  if (exact.is_zero()) return value == 0 ? 0 : infinity;
  return (abs(Wide(value) - exact) / abs(exact)).to_double();
}

/// The largest relative error over arguments of type Real in [from, to], many of them near 0.
template <class Real, class F, class G>
double worst_relative_error(double from, double to, F&& ours, G&& exact) {
  constexpr std::uint64_t seed = 20240817;
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> anywhere(from, to);
  std::uniform_real_distribution<double> exponent(-60, 0);
  double worst = 0;
  for (int i = 0; i < dmlref_test::rounds(20000); ++i) {
    double x = anywhere(random);
    if (i % 2 == 1) x *= std::exp2(exponent(random));  // near 0 as well
    if (x < from || x > to) continue;
    const auto argument = static_cast<Real>(x);
    worst = std::max(worst, relative_error(ours(argument), exact(Wide(static_cast<double>(argument)))));
  }
  ::testing::Test::RecordProperty("seed", std::to_string(seed));
  return worst;
}

/// In double for results of float32, in float for results of float16.
template <class T>
class ElementaryIn : public testing::Test {
 public:
  static constexpr bool is_double = std::is_same_v<T, double>;
  static constexpr double bound = is_double ? 0x1p-29 : 0x1p-18;
  static constexpr double limit = is_double ? 700 : 80;
};
using Reals = testing::Types<double, float>;
TYPED_TEST_SUITE(ElementaryIn, Reals);

TYPED_TEST(ElementaryIn, ExponentialIsAccurate) {
  EXPECT_LT((worst_relative_error<TypeParam>(-this->limit, 0, dmlref::reference::exponential<TypeParam>,
                                             [](const Wide& x) { return exp(x); })),
            this->bound);
}

TYPED_TEST(ElementaryIn, ExponentialMinusOneIsAccurateNearZeroToo) {
  EXPECT_LT(
      (worst_relative_error<TypeParam>(-this->limit, this->limit, dmlref::reference::exponential_minus_1<TypeParam>,
                                       [](const Wide& x) { return expm1(x); })),
      this->bound);
}

TYPED_TEST(ElementaryIn, LogarithmIsAccurate) {
  EXPECT_LT((worst_relative_error<TypeParam>(0, 1, dmlref::reference::logarithm_of_1_plus<TypeParam>,
                                             [](const Wide& x) { return log1p(x); })),
            this->bound);
}

TYPED_TEST(ElementaryIn, ErrorFunctionIsAccurateInItsTail) {
  EXPECT_LT((worst_relative_error<TypeParam>(0, dmlref::reference::Elementary<TypeParam>::erfc_limit,
                                             dmlref::reference::complementary_error_function<TypeParam>,
                                             [](const Wide& x) { return erfc(x); })),
            this->bound);
}

TYPED_TEST(ElementaryIn, TangentIsAccurate) {
  EXPECT_LT((worst_relative_error<TypeParam>(-30, 30, dmlref::reference::hyperbolic_tangent<TypeParam>,
                                             [](const Wide& x) { return hyperbolic_tangent(x); })),
            this->bound);
}

std::vector<Activation> many_activations() {
  std::vector<Activation> all;
  for (const dmlref::ActivationInfo& info : dmlref::activation_table) {
    all.push_back(dmlref::default_activation(info.type));
    if (info.parameter_names[0].empty()) continue;
    for (const float a : {0.25f, 3.0f, -1.5f}) {
      for (const float b : {0.75f, -2.0f, 1.0f}) {
        if (info.type == ActivationType::shrink && b < 0)
          continue;  // both branches hold: the order decides, tested below
        all.push_back({info.type, {a, b}});
        if (info.parameter_names[1].empty()) break;
      }
    }
  }
  return all;
}

TEST(Activation, IsWithin2ToTheMinus28OfItsFormula) {
  constexpr std::uint64_t seed = 77;
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> exponent(-40, 6);
  std::vector<double> arguments{0.0, 1.0, -1.0, 0.5, -0.5};
  for (int i = 0; i < 3000; ++i) arguments.push_back((i % 2 == 0 ? 1 : -1) * std::exp2(exponent(random)));
  for (const Activation& activation : many_activations()) {
    const auto* info = dmlref::find_activation(activation.type);
    double worst = 0;
    double at = 0;
    for (const double x : arguments) {
      const Wide exact = dmlref_test::wide_activation(activation, Wide(x));
      if (!exact.is_zero() && exact.exponent() < -160) continue;  // far below the least float
      // A sum that cancels is the caller's: measured against the larger of the result and a last place of the terms.
      const double value = dmlref::reference::activate(activation, x);
      const double scale = std::fabs(x) * 1e-3;
      double error = relative_error(value, exact);
      if (activation.type == ActivationType::linear || activation.type == ActivationType::hard_sigmoid ||
          activation.type == ActivationType::shrink || activation.type == ActivationType::celu) {
        error = std::min(error, std::fabs((Wide(value) - exact).to_double()) / (1e-3 + scale));
      }
      if (error > worst) worst = error, at = x;
    }
    EXPECT_LT(worst, 0x1p-28) << info->name << " " << activation.parameters[0] << " " << activation.parameters[1]
                              << " at " << at << " seed " << seed;
  }
}

TEST(Activation, NanPassesThrough) {
  for (const Activation& activation : many_activations()) {
    EXPECT_TRUE(std::isnan(dmlref::reference::activate(activation, nan_value)))
        << dmlref::find_activation(activation.type)->name;
  }
}

TEST(Activation, InfinityGivesTheLimit) {
  const auto at = [](ActivationType type, double x) {
    return dmlref::reference::activate(dmlref::default_activation(type), x);
  };
  using enum ActivationType;
  for (const ActivationType type : {elu, identity, leaky_relu, linear, parametric_softplus, relu, scaled_elu, softplus,
                                    thresholded_relu, shrink, celu, gelu}) {
    EXPECT_EQ(at(type, infinity), infinity) << dmlref::find_activation(type)->name;
  }
  for (const ActivationType type : {hard_sigmoid, scaled_tanh, sigmoid, softsign, ActivationType::tanh}) {
    EXPECT_EQ(at(type, infinity), 1) << dmlref::find_activation(type)->name;
  }
  for (const ActivationType type : {identity, leaky_relu, linear, shrink}) EXPECT_EQ(at(type, -infinity), -infinity);
  for (const ActivationType type : {hard_sigmoid, relu, thresholded_relu}) EXPECT_EQ(at(type, -infinity), 0);
  for (const ActivationType type : {parametric_softplus, sigmoid, softplus, gelu}) {
    EXPECT_EQ(static_cast<float>(at(type, -infinity)), 0.0f) << dmlref::find_activation(type)->name;
  }
  for (const ActivationType type : {elu, celu, scaled_tanh, softsign, ActivationType::tanh}) {
    EXPECT_EQ(at(type, -infinity), -1) << dmlref::find_activation(type)->name;
  }
}

TEST(Activation, BoundariesAreAsTheFormulasSay) {
  using dmlref::reference::activate;
  EXPECT_EQ(activate({ActivationType::thresholded_relu, {1.0f}}, 1.0), 0.0);  // strictly above Alpha
  EXPECT_EQ(activate({ActivationType::thresholded_relu, {-1.0f}}, -0.5), -0.5);
  EXPECT_EQ(activate({ActivationType::shrink, {0.25f, 0.5f}}, 0.5), 0.0);  // strictly above Threshold
  EXPECT_EQ(activate({ActivationType::shrink, {0.25f, 0.5f}}, -0.5), 0.0);
  EXPECT_EQ(activate({ActivationType::shrink, {0.25f, 0.5f}}, 0.75), 0.5);
  EXPECT_EQ(activate({ActivationType::shrink, {0.25f, -0.5f}}, 0.0), -0.25);  // above comes first
  EXPECT_EQ(activate({ActivationType::elu, {5.0f}}, 0.0), 0.0);
  EXPECT_EQ(activate({ActivationType::leaky_relu, {5.0f}}, 0.0), 0.0);
  EXPECT_EQ(activate({ActivationType::scaled_elu, {5.0f, 2.0f}}, 0.0), 0.0);
  EXPECT_EQ(activate({ActivationType::hard_sigmoid, {1.0f, 0.0f}}, 1.0), 1.0);
  EXPECT_EQ(activate({ActivationType::relu, {}}, -3.0), 0.0);
}

}  // namespace
