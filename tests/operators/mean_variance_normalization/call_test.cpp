// call_test.cpp: normalization on random views against its descriptor on packed copies, bit by
// bit.
#include "dmlref/mean_variance_normalization.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "support/normalization_case.hpp"
#include "support/placed_view.hpp"
#include "support/seed.hpp"
#include "support/thread_executor.hpp"

namespace {

using namespace dmlref;
using namespace dmlref_test;

/// What a desc says, as options of a call.
MeanVarianceNormalizationOptions options_of(const MeanVarianceNormalization1Desc& desc) {
  return {.normalize_variance = desc.normalize_variance};
}
MeanVarianceNormalization2Options options_of(const MeanVarianceNormalization2Desc& desc) {
  return {.use_mean = desc.use_mean, .use_variance = desc.use_variance};
}
template <class... Arguments>
Report call(const MeanVarianceNormalizationOptions& options, const RunOptions& run_options, Arguments&&... views) {
  return mean_variance_normalization(views..., options, run_options);
}
template <class... Arguments>
Report call(const MeanVarianceNormalization2Options& options, const RunOptions& run_options, Arguments&&... views) {
  return mean_variance_normalization2(views..., options, run_options);
}
template <class... Arguments>
auto describe_call(const MeanVarianceNormalizationOptions& options, Arguments&&... views) {
  return describe_mean_variance_normalization(views..., options);
}
template <class... Arguments>
auto describe_call(const MeanVarianceNormalization2Options& options, Arguments&&... views) {
  return describe_mean_variance_normalization2(views..., options);
}

template <class T, class Desc = MeanVarianceNormalization1Desc>
void check(Random& random, int elements) {
  const auto regime = static_cast<Regime>(pick(random, 0, static_cast<int>(Regime::count) - 1));
  NormalizationCase<T> c = random_case<T>(random, regime, elements);
  if constexpr (std::is_same_v<Desc, MeanVarianceNormalization2Desc>) c.parameters.center = any_center(random);
  SCOPED_TRACE(c.describe());
  Desc desc = c.template desc<Desc>();
  const auto placed = [&](TensorDesc& tensor, const std::vector<T>& data, Strided kind) {
    tensor = TensorDesc(tensor.data_type, tensor.sizes);
    return PlacedView<T>(random, tensor.sizes, kind, [&](std::size_t i) { return data[i % data.size()]; });
  };
  const auto optional = [&](std::optional<TensorDesc>& tensor, const std::vector<T>& data) {
    return tensor ? std::optional(placed(*tensor, data, Strided::broadcast)) : std::nullopt;
  };
  const PlacedView<T> input = placed(desc.input, c.input_data, Strided::broadcast);
  const auto scale = optional(desc.scale, c.scale_data);
  const auto bias = optional(desc.bias, c.bias_data);
  const PlacedView<T> output = placed(desc.output, c.input_data, Strided::own_addresses);

  const auto bytes = [](const std::optional<PlacedView<T>>& view) {
    return view ? view->packed() : std::vector<std::byte>();
  };
  const auto in = input.packed(), scales = bytes(scale), biases = bytes(bias);
  auto out = output.packed();
  const InputBuffer inputs[] = {in, scales, biases};
  const OutputBuffer outputs[] = {out};
  Report report = run(desc, latest_feature_level, inputs, outputs);
  ASSERT_TRUE(report) << report.to_string();
  const auto expected = output.with(out);

  auto options = options_of(desc);
  for (const std::uint32_t axis : desc.axes) options.axes.push_back(axis);
  options.epsilon = desc.epsilon;
  options.fused_activation = desc.fused_activation;
  ThreadExecutor threads(3);
  RunOptions run_options;
  if (pick(random, 0, 3) == 0) run_options.executor = &threads;
  const auto view = [](const std::optional<PlacedView<T>>& v) { return v ? std::optional(v->view()) : std::nullopt; };
  report = call(options, run_options, input.view(), view(scale), view(bias), output.view());
  ASSERT_TRUE(report) << report.to_string();
  const auto memory = output.bytes();
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), memory.begin(), memory.end()))
      << "input" << input.describe() << ", output" << output.describe() << (scale ? ", scale" + scale->describe() : "")
      << (bias ? ", bias" + bias->describe() : "");

  const auto described = describe_call(options, input.view(), view(scale), view(bias), output.view());
  const auto mirrored = [](const std::optional<PlacedView<T>>& v) { return v && v->mirrored(); };
  EXPECT_EQ(static_cast<bool>(described),
            !input.mirrored() && !output.mirrored() && !mirrored(scale) && !mirrored(bias));
  if (described) {
    EXPECT_TRUE(validate(described.value(), latest_feature_level));
  }
}

TEST(NormalizationOnViews, AnyStridesGiveTheDescriptorsBits) {
  Random random(test_seed());
  for (int i = 0; i < rounds(200) && !HasFailure(); ++i) {
    check<float>(random, pick(random, 1, 3000));
    check<half>(random, pick(random, 1, 3000));
    check<float, MeanVarianceNormalization2Desc>(random, pick(random, 1, 3000));
    check<half, MeanVarianceNormalization2Desc>(random, pick(random, 1, 3000));
  }
}

TEST(NormalizationOnViews, LargeTensorsOnThreads) {
  Random random(test_seed());
  for (int i = 0; i < rounds(4) && !HasFailure(); ++i) {
    check<float>(random, 100000);
    check<half>(random, 100000);
    check<float, MeanVarianceNormalization2Desc>(random, 100000);
    check<half, MeanVarianceNormalization2Desc>(random, 100000);
  }
}

/// The desc of MVN2 runs as the reference says, with both instruction sets' plans and any number of threads.
template <class T>
void expect_reference(Random& random, int elements) {
  const auto regime = static_cast<Regime>(pick(random, 0, static_cast<int>(Regime::count) - 1));
  NormalizationCase<T> c = random_case<T>(random, regime, elements);
  c.parameters.center = any_center(random);
  SCOPED_TRACE(c.describe());
  const std::vector<T> expected = c.reference_output();
  auto desc = c.template desc<MeanVarianceNormalization2Desc>();
  const auto bytes = [](auto& values) { return std::as_writable_bytes(std::span(values)); };
  const auto padded = [](std::vector<T> values) {
    values.resize((values.size() * sizeof(T) + 3) / 4 * 4 / sizeof(T));
    return values;
  };
  auto in = padded(c.input_data), scale = padded(c.scale_data), bias = padded(c.bias_data);
  if (pick(random, 0, 2) == 0) desc.input.owned_by_dml = true;
  if (desc.scale && pick(random, 0, 1) == 0) desc.scale->owned_by_dml = true;
  for (const std::size_t threads : {1u, 3u, 8u}) {
    ThreadExecutor executor(threads);
    auto out = padded(std::vector<T>(expected.size(), static_cast<T>(42.0f)));
    const InputBuffer inputs[] = {bytes(in), bytes(scale), bytes(bias)};
    const OutputBuffer outputs[] = {bytes(out)};
    const Report report = run(desc, latest_feature_level, inputs, outputs, {.executor = &executor});
    ASSERT_TRUE(report) << report.to_string();
    out.resize(expected.size());
    EXPECT_EQ(bits_of(out), bits_of(expected)) << threads;
  }
}

TEST(Normalization2, HasTheReferencesBitsOnAnyNumberOfThreads) {
  Random random(test_seed());
  for (int i = 0; i < rounds(100) && !HasFailure(); ++i) {
    expect_reference<float>(random, pick(random, 1, 3000));
    expect_reference<half>(random, pick(random, 1, 3000));
  }
}

TEST(Normalization2, WithTheMeanIsNormalization1) {
  Random random(test_seed());
  for (int i = 0; i < rounds(50) && !HasFailure(); ++i) {
    auto c = random_case<float>(random, Regime::mean_100, 500);
    c.input = c.output = Layout(c.input.shape);
    c.input_data.resize(static_cast<std::size_t>(element_count(c.input.shape)), 1.5f);
    std::vector<float> one(c.input_data.size()), two(one);
    const auto axes = c.desc().axes;
    IndexList list;
    for (const std::uint32_t axis : axes) list.push_back(axis);
    const bool use_variance = pick(random, 0, 1) == 0;
    const TensorView input(c.input_data.data(), c.input.shape);
    EXPECT_TRUE(mean_variance_normalization(input, std::nullopt, std::nullopt, TensorView(one.data(), c.input.shape),
                                            {.axes = list, .normalize_variance = use_variance}));
    EXPECT_TRUE(mean_variance_normalization2(input, std::nullopt, std::nullopt, TensorView(two.data(), c.input.shape),
                                             {.axes = list, .use_variance = use_variance}));
    EXPECT_EQ(bits_of(one), bits_of(two)) << c.describe();
  }
}

TEST(Normalization2, RmsNormalizationInOneCall) {
  const float rows[] = {3, 3, 5, 5, -1, -7, 5, -5};
  const float scale[] = {1, 2, 3, 4};
  float result[8];
  const Report report =
      mean_variance_normalization2(TensorView(rows, Shape{2, 4}), TensorView(scale, Shape{1, 4}), std::nullopt,
                                   TensorView(result, Shape{2, 4}), {.axes = {1}, .use_mean = false, .epsilon = 8.0f});
  ASSERT_TRUE(report) << report.to_string();
  const float expected[] = {0.6f, 1.2f, 3, 4};  // by the root of 17 + 8
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(result[i], expected[i]);
  EXPECT_FALSE(mean_variance_normalization2(TensorView(rows, Shape{2, 4}), std::nullopt, std::nullopt,
                                            TensorView(result, Shape{2, 4}), {.axes = {2}, .use_mean = false}));
}

TEST(NormalizationOnViews, LayerNormalizationInOneCall) {
  const float rows[] = {-3, 5, -5, 3, 1, 1, 1, 1};
  float result[8];
  const float scale[] = {10, 10, 10, 10};
  EXPECT_TRUE(mean_variance_normalization(TensorView(rows, Shape{2, 4}), TensorView(scale, Shape{1, 4}), std::nullopt,
                                          TensorView(result, Shape{2, 4}), {.axes = {1}, .epsilon = 8.0f}));
  EXPECT_EQ(result[0], -6);
  EXPECT_EQ(result[1], 10);
  EXPECT_EQ(result[7], 0);
}

TEST(NormalizationOnViews, OfNoAxesEachElementIsItsOwnGroup) {
  const float input[] = {1, 2, 3, 4, 5, 6};
  float result[6] = {-1, -1, -1, -1, -1, -1};
  const float bias[] = {0.5f, -0.25f, 8};
  const Report report =
      mean_variance_normalization(TensorView(input, Shape{2, 3}), std::nullopt, TensorView(bias, Shape{1, 3}),
                                  TensorView(result, Shape{2, 3}), {.axes = {}});
  ASSERT_TRUE(report) << report.to_string();
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(result[i], bias[i % 3]);
}

TEST(NormalizationOnViews, EpsilonOfAnyValueIsAddedAsItIs) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  // Mean 2.5, variance 1.25; nine elements make whole vectors of their groups, too.
  const float epsilons[] = {infinity, -infinity, nan, -nan, -1.0f, -1.25f, -2.0f};
  for (const Index groups : {1, 9, 64}) {
    std::vector<float> input;
    for (Index g = 0; g < groups; ++g) input.insert(input.end(), {1, 2, 3, 4});
    std::vector<float> result(input.size());
    const float bias[] = {0.5f};
    const auto run_with = [&](float epsilon, bool normalize_variance) {
      const Report report =
          mean_variance_normalization(TensorView(input.data(), Shape{groups, 4}), std::nullopt,
                                      TensorView(bias, Shape{1, 1}), TensorView(result.data(), Shape{groups, 4}),
                                      {.axes = {1}, .normalize_variance = normalize_variance, .epsilon = epsilon});
      EXPECT_TRUE(report) << report.to_string();
    };
    for (const float epsilon : epsilons) {
      SCOPED_TRACE(epsilon);
      run_with(epsilon, true);
      for (std::size_t i = 0; i < result.size(); ++i) {
        if (epsilon == infinity) {
          EXPECT_EQ(result[i], 0.5f) << i;
        } else if (epsilon == -1.0f) {  // the root is a half
          EXPECT_EQ(result[i], (input[i] - 2.5f) * 2 + 0.5f) << i;
        } else if (epsilon == -1.25f) {  // a division by 0
          EXPECT_FALSE(std::isfinite(result[i])) << i;
        } else {
          EXPECT_EQ(std::bit_cast<std::uint32_t>(result[i]), 0x7FC00000u) << i;
        }
      }
      run_with(epsilon, false);
      for (std::size_t i = 0; i < result.size(); ++i) EXPECT_EQ(result[i], input[i] - 2.0f) << i;
    }
  }
}

/// Negative values whose rounding is -0 are clamped to +0, and so is -0 itself: whatever a kernel rounds first.
template <class T>
void expect_positive_zeros(const Activation& activation, float least_scale) {
  for (const Index rows : {1, 3, 40}) {
    for (const Index columns : {2, 7, 16, 33, 1100}) {
      std::vector<T> input, result(static_cast<std::size_t>(rows * columns));
      for (std::size_t i = 0; i < result.size(); ++i) input.push_back(static_cast<T>(static_cast<float>(i % 7) - 3.0f));
      std::vector<T> scale(result.size(), static_cast<T>(least_scale));
      for (const bool each : {false, true}) {
        for (const int axis : {0, 1}) {
          SCOPED_TRACE(testing::Message() << rows << " x " << columns << ", axis " << axis << ", each " << each);
          const Shape shape{rows, columns};
          const Report report = mean_variance_normalization(
              TensorView(input.data(), shape), TensorView(scale.data(), each ? shape : Shape{1, 1}), std::nullopt,
              TensorView(result.data(), shape),
              {.axes = {axis}, .normalize_variance = false, .fused_activation = activation});
          ASSERT_TRUE(report) << report.to_string();
          for (const T value : result) {
            const auto real = static_cast<float>(value);
            ASSERT_FALSE(std::signbit(real)) << real;
            ASSERT_LT(real, 1e-6f);
          }
        }
      }
    }
  }
}
TEST(NormalizationOnViews, ClampedZerosArePositive) {
  constexpr float least = std::numeric_limits<float>::denorm_min();
  expect_positive_zeros<float>({ActivationType::relu, {}}, least);
  expect_positive_zeros<float>({ActivationType::hard_sigmoid, {0.25f, -0.0f}}, least);
  expect_positive_zeros<half>({ActivationType::relu, {}}, 0x1p-24f);
  expect_positive_zeros<half>({ActivationType::hard_sigmoid, {0x1p-30f, -0.0f}}, 0x1p-24f);
  expect_positive_zeros<float>({ActivationType::relu, {}}, -0.0f);
}

TEST(NormalizationOnViews, ZeroTimesAnInfiniteLogarithmIsTheOneNaN) {
  const Activation activation{ActivationType::parametric_softplus, {-0.0f, 1e38f}};
  std::vector<half> input, result(64);
  for (int i = 0; i < 64; ++i) input.push_back(half(static_cast<float>(i % 4)));
  for (const Index columns : {2, 4, 32}) {
    const Shape shape{64 / columns, columns};
    const Report report =
        mean_variance_normalization(TensorView(input.data(), shape), std::nullopt, std::nullopt,
                                    TensorView(result.data(), shape), {.axes = {1}, .fused_activation = activation});
    ASSERT_TRUE(report) << report.to_string();
    for (const half value : result) {
      const bool is_nan = static_cast<float>(value) != static_cast<float>(value);
      EXPECT_EQ(value.bits, is_nan ? 0x7E00 : 0x8000) << columns;
    }
  }
}

}  // namespace
