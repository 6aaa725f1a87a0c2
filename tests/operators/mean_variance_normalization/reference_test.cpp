// The reference normalization within one unit in the last place of 512-bit arithmetic.
#include "dmlref/operators/mean_variance_normalization/reference.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cstdlib>

#include "support/normalization_case.hpp"
#include "support/normalization_oracle.hpp"
#include "support/seed.hpp"

namespace {

using namespace dmlref;
using namespace dmlref_test;
using dmlref::reference::Center;
namespace reference = dmlref::reference;

std::uint64_t seed() {
  static const std::uint64_t once = test_seed(5);
  return once;
}

/// The largest error of the reference in ulp; walks groups by comparing coordinates, not as the reference does.
template <class T>
double worst_error(const NormalizationCase<T>& c) {
  const std::vector<T> result = c.reference_output();
  const auto input = c.view(c.input_data, c.input);
  const auto scale = c.scale_view();
  const auto bias = c.bias_view();
  const Index count = element_count(c.input.shape);
  std::map<std::vector<Index>, std::vector<Index>> groups;
  for (Index i = 0; i < count; ++i) {
    const Coordinates at = unravel(i, c.input.shape);
    std::vector<Index> kept;
    for (std::size_t d = 0; d < at.size(); ++d) kept.push_back(((c.axes >> d) & 1u) != 0 ? 0 : at[d]);
    groups[kept].push_back(i);
  }
  double worst = 0;
  for (const auto& [kept, members] : groups) {
    std::vector<double> values;
    for (const Index i : members)
      values.push_back(static_cast<double>(static_cast<float>(input.load(unravel(i, c.input.shape)))));
    const WideGroup group(values, c.parameters.normalize_variance, c.parameters.epsilon,
                          c.parameters.center == Center::mean);
    for (std::size_t m = 0; m < members.size(); ++m) {
      Coordinates at = unravel(members[m], c.input.shape);
      const auto parameter = [&](const auto& view, double absent) {
        if (!view) return absent;
        Coordinates within = at;
        for (std::size_t d = 0; d < within.size(); ++d) {
          if (view->extent(d) == 1) within[d] = 0;
        }
        return static_cast<double>(static_cast<float>(view->load(within)));
      };
      const Wide exact = group.result(values[m], parameter(scale, 1), parameter(bias, 0), c.parameters.activation);
      const double error = error_in_ulp(result[static_cast<std::size_t>(c.output(at))], exact);
      if (error > worst) worst = error;
    }
  }
  return worst;
}

TEST(NormalizationReference, PublishedVectors) {
  auto c = plain_case<float>({1, 1, 2, 2}, 0b1100);
  c.input_data = {1, 2, 3, 4};
  const std::vector<float> expected{-1.3416354200f, -0.4472118067f, 0.4472118067f, 1.3416354200f};
  EXPECT_EQ(c.reference_output(), expected);
  auto d = plain_case<float>({8}, 1);
  d.input_data = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<float> eight = d.reference_output();
  const double values[] = {1.5275238, 1.0910884, 0.6546530, 0.2182177};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(eight[i], -values[i], 1e-7);
    EXPECT_NEAR(eight[7 - i], values[i], 1e-7);
  }
}

TEST(NormalizationReference, MeanOnlyLeavesEpsilonOut) {
  auto c = plain_case<float>({4}, 1);
  c.input_data = {1, 2, 3, 6};
  c.parameters.normalize_variance = false;
  c.parameters.epsilon = 100;
  EXPECT_EQ(c.reference_output(), (std::vector<float>{-2, -1, 0, 3}));
}

TEST(NormalizationReference, OfNoAxesEachElementIsItsOwnGroup) {
  auto c = plain_case<float>({2, 2}, 0);
  c.input_data = {1, -2, 3e38f, std::numeric_limits<float>::quiet_NaN()};
  c.scale = c.bias = Layout({1, 2});
  c.scale_data = {5, -5};
  c.bias_data = {0.5f, -7};
  for (const bool normalize_variance : {true, false}) {
    c.parameters.normalize_variance = normalize_variance;
    const auto y = c.reference_output();
    EXPECT_EQ(y[0], 0.5f);
    EXPECT_EQ(y[1], -7);
    EXPECT_EQ(y[2], 0.5f);
    EXPECT_TRUE(std::isnan(y[3]));
  }
  c.parameters.normalize_variance = true;
  c.parameters.epsilon = 0;  // 0 / 0
  EXPECT_TRUE(std::isnan(c.reference_output()[0]));
}

TEST(NormalizationReference, ConstantsGiveZeroAndWithoutEpsilonNaN) {
  for (const float value : {0.1f, 1234.0f, 3e38f, 1e-45f}) {
    auto c = plain_case<float>({3, 700}, 0b10);
    std::fill(c.input_data.begin(), c.input_data.end(), value);
    for (const float y : c.reference_output()) EXPECT_EQ(y, 0.0f) << value;
    c.parameters.epsilon = 0;  // 0 / 0
    for (const float y : c.reference_output()) EXPECT_EQ(std::bit_cast<std::uint32_t>(y), 0x7FC00000u) << value;
  }
}

TEST(NormalizationReference, NanAndInfinityReachTheirGroupAlone) {
  auto c = plain_case<float>({3, 5}, 0b10);
  for (std::size_t i = 0; i < 15; ++i) c.input_data[i] = static_cast<float>(i * i);
  c.input_data[2] = std::numeric_limits<float>::quiet_NaN();
  c.input_data[7] = std::numeric_limits<float>::infinity();
  const auto y = c.reference_output();
  for (std::size_t i = 0; i < 10; ++i) EXPECT_TRUE(std::isnan(y[i]));
  for (std::size_t i = 10; i < 15; ++i) EXPECT_FALSE(std::isnan(y[i]));
  c.parameters.normalize_variance = false;
  const auto z = c.reference_output();
  EXPECT_EQ(z[5], -std::numeric_limits<float>::infinity());  // x - infinity
  EXPECT_TRUE(std::isnan(z[7]));                             // infinity - infinity
}

// Without the mean.

/// The results of `values` as one group.
std::vector<float> without_mean(const std::vector<float>& values, bool use_variance, float epsilon,
                                std::optional<float> scale = {}, float bias = 0) {
  auto c = plain_case<float>({static_cast<Index>(values.size())}, 1);
  c.input_data = values;
  c.parameters = {use_variance, epsilon, {}, Center::zero};
  if (scale) {
    c.scale = c.bias = Layout({1});
    c.scale_data = {*scale};
    c.bias_data = {bias};
  }
  return c.reference_output();
}

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr std::uint32_t one_nan = 0x7FC00000u;

TEST(NormalizationWithoutMean, DividesByTheRootOfTheMeanSquare) {
  const auto y = without_mean({3, 4}, true, 0);  // by the root of 12.5
  EXPECT_EQ(y, (std::vector<float>{0.848528137f, 1.131370849f}));
  EXPECT_EQ(without_mean({3, 4}, true, 3.5f), (std::vector<float>{0.75f, 1}));
  EXPECT_EQ(without_mean({5, 5, 5}, true, 0), (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(without_mean({-3e38f, -3e38f}, true, 0), (std::vector<float>{-1, -1}));
  EXPECT_EQ(without_mean({1e-45f, 1e-45f}, true, 0), (std::vector<float>{1, 1}));
  for (const float x : without_mean({0, 0}, true, 0)) EXPECT_EQ(std::bit_cast<std::uint32_t>(x), one_nan);
  EXPECT_EQ(without_mean({0, 0}, true, 1e-45f), (std::vector<float>{0, 0}));
}

TEST(NormalizationWithoutMean, LeavesScaleAndBiasWithoutTheVarianceToo) {
  EXPECT_EQ(without_mean({3, 4}, false, 100, 2, 1), (std::vector<float>{7, 9}));
  EXPECT_EQ(without_mean({3, infinity, -infinity}, false, 100, 2, 1), (std::vector<float>{7, infinity, -infinity}));
  const auto y = without_mean({3, nan, 4}, false, 100, 2, 1);  // a NaN is alone
  EXPECT_EQ(y[0], 7);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(y[1]), one_nan);
  EXPECT_EQ(y[2], 9);
}

TEST(NormalizationWithoutMean, OfNoAxesDividesByTheElementItself) {
  auto c = plain_case<float>({2, 2}, 0);
  c.input_data = {3, -4, 3e38f, nan};
  c.parameters = {true, 16, {}, Center::zero};
  const auto y = c.reference_output();
  EXPECT_EQ(y[0], 0.6f);
  EXPECT_EQ(y[1], -0.70710678f);
  EXPECT_EQ(y[2], 1);
  EXPECT_TRUE(std::isnan(y[3]));
}

TEST(NormalizationWithoutMean, InfinityMakesTheRootInfinite) {
  for (const std::size_t n : {2u, 17u, 1024u, 3000u}) {
    for (const float other : {1.0f, -infinity}) {  // infinities whose sum is NaN, too
      std::vector<float> x(n, -2.0f);
      x[n - 2] = infinity;
      if (n > 2) x[1] = other;
      const auto y = without_mean(x, true, 1e-5f, -3.0f, 0.25f);
      for (std::size_t i = 0; i < n; ++i) {
        if (std::isinf(x[i])) {
          EXPECT_EQ(std::bit_cast<std::uint32_t>(y[i]), one_nan) << n << ' ' << i;
        } else {
          EXPECT_EQ(y[i], 0.25f) << n << ' ' << i;
        }
      }
      x.back() = nan;
      for (const float v : without_mean(x, true, 1e-5f)) EXPECT_EQ(std::bit_cast<std::uint32_t>(v), one_nan) << n;
    }
  }
}

TEST(NormalizationWithoutMean, AddsAnyEpsilonAsItIs) {
  EXPECT_EQ(without_mean({3, 4}, true, infinity, 2, 1), (std::vector<float>{1, 1}));
  EXPECT_EQ(without_mean({3, -4}, true, -12.5f, 2, 1), (std::vector<float>{infinity, -infinity}));  // by 0
  EXPECT_EQ(without_mean({3, 4}, true, -12.25f), (std::vector<float>{6, 8}));
  for (const float epsilon : {-13.0f, -infinity, nan}) {
    for (const float x : without_mean({3, 4}, true, epsilon)) EXPECT_EQ(std::bit_cast<std::uint32_t>(x), one_nan);
  }
}

TEST(NormalizationWithoutMean, QuotientsThatAreExactCancelToZeroAndEqualThresholds) {
  for (const float x : {5.0f, 0.1f, 3e30f, -7e-40f}) {
    const float one = x < 0 ? -1.0f : 1.0f;
    EXPECT_EQ(without_mean({x, x, x}, true, 0, 0.3f, -0.3f * one), (std::vector<float>{0, 0, 0})) << x;
    auto c = plain_case<float>({3}, 1);
    c.input_data = {x, x, x};
    c.parameters = {true, 0, {ActivationType::thresholded_relu, {one, 0}}, Center::zero};
    EXPECT_EQ(c.reference_output(), (std::vector<float>{0, 0, 0})) << x;
    c.bias = Layout({1});
    c.bias_data = {0x1p-24f};
    const float above = static_cast<float>(one + 0x1p-24);
    EXPECT_EQ(c.reference_output(), (std::vector<float>{above, above, above})) << x;
  }
  // A quotient that is small beside its bias counts.
  auto c = plain_case<float>({2}, 1);
  c.input_data = {1e-20f, 1e10f};
  c.bias = Layout({1});
  c.bias_data = {0.5f};
  c.parameters = {true, 0, {ActivationType::thresholded_relu, {0.5f, 0}}, Center::zero};
  EXPECT_EQ(c.reference_output()[0], 0.5f);
}

TEST(NormalizationWithoutMean, GroupsCanBeComputedApart) {
  Random random(seed());
  for (int round = 0; round < dmlref_test::rounds(20); ++round) {
    auto c = random_case<float>(random, static_cast<Regime>(pick(random, 0, 12)), 2000);
    c.parameters.center = any_center(random);
    const auto whole = c.reference_output();
    std::vector<float> parts(whole.size(), 42.0f);
    const TensorView<float> output(DirectAccess<float>{parts.data()}, c.output);
    const std::uint64_t groups = reference::group_count(c.input.shape, c.axes, c.parameters);
    for (std::uint64_t first = 0; first < groups;) {
      const std::uint64_t end = std::min<std::uint64_t>(groups, first + 1 + groups / 3);
      reference::normalize_groups(c.view(c.input_data, c.input), c.scale_view(), c.bias_view(), output, c.axes,
                                  c.parameters, first, end);
      first = end;
    }
    EXPECT_EQ(bits_of(parts), bits_of(whole)) << c.describe() << " seed " << seed();
  }
}

/// Worst errors are those with the mean and without it.
template <class T>
class NormalizationUlp : public testing::Test {
 protected:
  static void expect_within_one(NormalizationCase<T> c, const std::string& what) {
    for (const bool use_mean : {true, false}) {
      c.parameters.center = use_mean ? Center::mean : Center::zero;
      EXPECT_LE(worst_error(c), 1.0) << what << (use_mean ? "" : " without mean") << " seed " << seed();
    }
  }
};
using Types = testing::Types<float, half>;
TYPED_TEST_SUITE(NormalizationUlp, Types);

TYPED_TEST(NormalizationUlp, EveryRegimeInRowsOfEveryLength) {
  Random random(seed());
  for (int r = 0; r < static_cast<int>(Regime::count); ++r) {
    for (const Index n : {2, 3, 7, 16, 49, 768, 1024, 1025, 3000, 9000}) {
      auto c = plain_case<TypeParam>({n > 2000 ? 1 : 3, n}, 0b10);
      fill(c.input_data, static_cast<Regime>(r), random);
      this->expect_within_one(c, name_of(static_cast<Regime>(r)) + (" n " + std::to_string(n)));
      c.scale = c.bias = Layout({1, n});
      c.scale_data.resize(static_cast<std::size_t>(n));
      c.bias_data.resize(static_cast<std::size_t>(n));
      fill(c.scale_data, Regime::mean_0, random);
      fill(c.bias_data, Regime::mean_0, random);
      this->expect_within_one(c, name_of(static_cast<Regime>(r)) + (" scaled, n " + std::to_string(n)));
    }
  }
}

TYPED_TEST(NormalizationUlp, RandomShapesAxesStridesScalesBiasesActivations) {
  Random random(seed());
  int cases = 0;
  for (int round = 0; round < dmlref_test::rounds(60); ++round) {
    for (int r = 0; r < static_cast<int>(Regime::count); ++r) {
      const auto c = random_case<TypeParam>(random, static_cast<Regime>(r), pick(random, 0, 9) == 0 ? 4000 : 300);
      this->expect_within_one(c, name_of(static_cast<Regime>(r)) + (": " + c.describe()));
      if (this->HasFailure()) return;
      ++cases;
    }
  }
  std::printf("%d cases, seed %llu\n", cases, static_cast<unsigned long long>(seed()));
}

TYPED_TEST(NormalizationUlp, EveryActivationInEveryRegime) {
  Random random(seed());
  for (const ActivationInfo& info : activation_table) {
    for (const Regime regime : {Regime::mean_0, Regime::mean_1e6_deviation_01, Regime::outlier, Regime::constant}) {
      auto c = plain_case<TypeParam>({2, 900}, 0b10);
      fill(c.input_data, regime, random);
      c.parameters.activation = default_activation(info.type);
      this->expect_within_one(c, std::string(info.name) + ' ' + name_of(regime));
      c.parameters.activation.parameters = {1.25f, 0.75f};
      this->expect_within_one(c, std::string(info.name) + " 1.25 0.75 " + name_of(regime));
    }
  }
}

// The bias is the rounded negative of what it is added to: what is left is the rounding error, all of whose digits
// count.
TYPED_TEST(NormalizationUlp, BiasThatCancels) {
  Random random(seed());
  for (const Index signed_n : {5, 64, 700, 2500, -5, -64, -700, -2500}) {
    const Index n = signed_n < 0 ? -signed_n : signed_n;
    auto c = plain_case<TypeParam>({2, n}, 0b10);
    c.parameters.center = signed_n > 0 ? Center::mean : Center::zero;
    fill(c.input_data, Regime::mean_100, random);
    const auto y = c.reference_output();
    c.bias = Layout({2, n});
    for (const TypeParam v : y) c.bias_data.push_back(static_cast<TypeParam>(-static_cast<float>(v)));
    EXPECT_LE(worst_error(c), 1.0) << n << " seed " << seed();
    c.bias.reset();
    // and an activation that does the same
    c.parameters.activation = {ActivationType::linear, {1.0f, -static_cast<float>(y[1])}};
    EXPECT_LE(worst_error(c), 1.0) << n << " seed " << seed();
    c.parameters.activation = {ActivationType::shrink, {static_cast<float>(y[1]), 0.0f}};
    EXPECT_LE(worst_error(c), 1.0) << n << " seed " << seed();
    c.parameters.activation = {ActivationType::thresholded_relu, {static_cast<float>(y[1]), 0.0f}};
    EXPECT_LE(worst_error(c), 1.0) << n << " seed " << seed();
  }
}

TEST(NormalizationReference, SameBitsForEveryLayoutOfTheSameTensor) {
  Random random(seed());
  for (int round = 0; round < dmlref_test::rounds(40); ++round) {
    auto c = random_case<float>(random, static_cast<Regime>(pick(random, 0, 10)), 3000);
    const Layout strided = c.input;
    const auto one = c.reference_output();
    NormalizationCase<float> packed = c;
    packed.input = Layout(c.input.shape);
    packed.input_data.clear();
    const auto view = c.view(c.input_data, strided);
    for (Index i = 0; i < element_count(c.input.shape); ++i) {
      packed.input_data.push_back(view.load(unravel(i, c.input.shape)));
    }
    EXPECT_EQ(bits_of(packed.reference_output()), bits_of(one)) << c.describe() << " seed " << seed();
  }
}

TYPED_TEST(NormalizationUlp, HostileDataWithoutMean) {
  Random random(seed());
  for (int round = 0; round < dmlref_test::rounds(100) && !this->HasFailure(); ++round) {
    auto c = random_case<TypeParam>(random, Regime::mean_0, 600);
    c.parameters.center = Center::zero;
    make_hostile(c, random);
    EXPECT_LE(worst_error(c), 1.0) << c.describe() << " seed " << seed();
  }
}

// Layer normalization once more, as Eigen writes it.
TEST(NormalizationReference, AgreesWithEigen) {
  Random random(seed());
  auto c = plain_case<float>({16, 300}, 0b10);
  fill(c.input_data, Regime::mean_100, random);
  const auto ours = c.reference_output();
  using Matrix = Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::ArrayXXd x = Eigen::Map<const Matrix>(c.input_data.data(), 16, 300).cast<double>();
  const Eigen::ArrayXXd d = x.colwise() - x.rowwise().mean();
  const Eigen::ArrayXXd y = d.colwise() / (d.square().rowwise().mean() + static_cast<double>(1e-5f)).sqrt();
  EXPECT_LT((y - Eigen::Map<const Matrix>(ours.data(), 16, 300).cast<double>()).abs().maxCoeff(), 5e-7);
  c.parameters.center = Center::zero;
  const auto rms = c.reference_output();
  const Eigen::ArrayXXd z = x.colwise() / (x.square().rowwise().mean() + static_cast<double>(1e-5f)).sqrt();
  EXPECT_LT((z - Eigen::Map<const Matrix>(rms.data(), 16, 300).cast<double>()).abs().maxCoeff(), 5e-7);
}

}  // namespace
