// bad_views_test.cpp: calls on views that are refused: by which rule, of which field, and nothing written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "dmlref/dmlref.hpp"
#include "support/report_fields.hpp"

namespace {

using namespace dmlref;
using dmlref_test::fields;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr Index huge = (std::numeric_limits<Index>::max)();
constexpr Index lowest = (std::numeric_limits<Index>::min)();

class BadSlices : public testing::Test {
 protected:
  ~BadSlices() override {
    for (const float value : result) EXPECT_EQ(value, -1) << "written although refused";
  }
  TensorView<const float> input{data, Shape{2, 3}};
  TensorView<float> output{result, Shape{2, 3}};
  const float data[6] = {1, 2, 3, 4, 5, 6};
  float result[6] = {-1, -1, -1, -1, -1, -1};
};

TEST_F(BadSlices, ListsOfAnotherLength) {
  EXPECT_THAT(fields(slice(input, output, {0}, {1, 1, 1})), ElementsAre("Offsets", "Strides"));
  EXPECT_THAT(fields(slice1(input, output, {}, {2, 3}, {1, 1})), ElementsAre("InputWindowOffsets"));
}

TEST_F(BadSlices, RanksAndExtents) {
  EXPECT_THAT(fields(slice(input, TensorView(result, Shape{6}), {0, 0}, {1, 1})),
              ElementsAre("OutputTensor.DimensionCount"));
  EXPECT_THAT(fields(slice(TensorView(data, Shape{}), TensorView(result, Shape{}), {}, {})),
              ElementsAre("InputTensor.DimensionCount", "OutputTensor.DimensionCount"));
  const auto nine = Shape::filled(9, 1);
  EXPECT_THAT(fields(slice(TensorView(data, nine), TensorView(result, nine), {}, {})),
              ElementsAre("InputTensor.DimensionCount", "OutputTensor.DimensionCount"));
  EXPECT_THAT(fields(slice(input, TensorView(result, Shape{2, 0}), {0, 0}, {1, 1})),
              ElementsAre("OutputTensor.Sizes[1]"));
  EXPECT_THAT(fields(slice(TensorView(data, Shape{-2, 3}), output, {0, 0}, {1, 1})),
              ElementsAre("InputTensor.Sizes[0]"));
  EXPECT_THAT(fields(slice(TensorView(data, Shape{2, 5'000'000'000}), output, {0, 0}, {1, 1})),
              ElementsAre("InputTensor.Sizes[1]"));
  EXPECT_THAT(fields(slice(TensorView(data, Shape{lowest, huge}), output, {0, 0}, {1, 1})),
              ElementsAre("InputTensor.Sizes[0]", "InputTensor.Sizes[1]"));
}

TEST_F(BadSlices, MoreElementsThanADescriptorHas) {
  const Shape shape{100'000, 100'000};
  EXPECT_THAT(fields(slice(TensorView(data, shape, Strides{0, 0}), output, {0, 0}, {1, 1})),
              ElementsAre("InputTensor.Sizes"));
  EXPECT_THAT(
      fields(slice(TensorView(data, Shape{2, 3}, Strides{3'000'000'000, 2'000'000'000}), output, {0, 0}, {1, 1})),
      ElementsAre("InputTensor.Strides"));
  EXPECT_THAT(fields(slice(TensorView(data, Shape{2, 3}, Strides{huge, lowest}), output, {0, 0}, {1, 1})),
              ElementsAre("InputTensor.Strides[0]", "InputTensor.Strides[1]"));
}

TEST_F(BadSlices, WindowsBeyondTheInput) {
  EXPECT_THAT(fields(slice(input, output, {0, 1}, {1, 1})), ElementsAre("Offsets[1]"));
  EXPECT_THAT(fields(slice1(input, output, {0, 1}, {2, 3}, {1, 1})), ElementsAre("InputWindowOffsets[1]"));
  EXPECT_THAT(fields(slice1(input, output, {0, 0}, {2, 3}, {0, 1})), ElementsAre("InputWindowStrides[0]"));
  EXPECT_THAT(fields(slice1(input, output, {0, 0}, {2, 0}, {1, 1})), ElementsAre("InputWindowSizes[1]"));
  EXPECT_THAT(fields(slice1(input, output, {0, 0}, {2, 3}, {1, -2})), ElementsAre("OutputTensor.Sizes[1]"));
}

TEST_F(BadSlices, NullData) {
  const TensorView<const float> none(nullptr, Shape{2, 3});
  EXPECT_THAT(fields(slice(none, output, {0, 0}, {1, 1})), ElementsAre("InputTensor"));
  EXPECT_THAT(fields(slice1(input, TensorView<float>(nullptr, Shape{2, 3}), {0, 0}, {2, 3}, {1, 1})),
              ElementsAre("OutputTensor"));
  EXPECT_THAT(fields(slice(TensorView<const float>(), TensorView<float>(), {0}, {1})),  // they have no elements
              ElementsAre("InputTensor.Sizes[0]", "OutputTensor.Sizes[0]"));
}

TEST_F(BadSlices, ElementsOfTheOutputAtOneAddress) {
  EXPECT_THAT(fields(slice(input, TensorView(result, Shape{2, 3}, Strides{0, 1}), {0, 0}, {1, 1})),
              ElementsAre("OutputTensor.Strides[0]"));
  const Report report = slice(input, TensorView(result + 4, Shape{2, 3}, Strides{2, -2}), {0, 0}, {1, 1});
  EXPECT_THAT(fields(report), ElementsAre("OutputTensor.Strides[0]"));
  EXPECT_THAT(fields(slice(input, TensorView(result + 4, Shape{2, 3}, Strides{1, -1}), {0, 0}, {1, 1})),
              testing::SizeIs(1));
  EXPECT_THAT(slice(input, TensorView(result + 5, Shape{2, 3}, Strides{-1, -1}), {0, 0}, {1, 1}).to_string(),
              HasSubstr("is -1 which makes"));
}

TEST_F(BadSlices, OutputsThatOverlapTheInput) {
  float memory[12] = {};
  const TensorView<float> whole(memory, Shape{2, 3});
  const TensorView<float> later(memory + 5, Shape{2, 3});
  EXPECT_THAT(fields(slice(whole, later, {0, 0}, {1, 1})), ElementsAre("OutputTensor"));
  EXPECT_THAT(fields(slice(whole, whole, {0, 0}, {1, 1})), ElementsAre("OutputTensor"));
  // From the seventh element back to the second: its lowest address counts, not its first.
  EXPECT_THAT(fields(slice(whole, TensorView(memory + 6, Shape{2, 3}, Strides{-3, -1}), {0, 0}, {1, 1})),
              ElementsAre("OutputTensor"));
  EXPECT_TRUE(slice(whole, TensorView(memory + 11, Shape{2, 3}, Strides{-3, -1}), {0, 0}, {1, 1}));
  EXPECT_TRUE(slice(whole, TensorView(memory + 6, Shape{2, 3}), {0, 0}, {1, 1}));
}

TEST_F(BadSlices, OptionsThatThisCpuDoesNotHave) {
  EXPECT_THAT(fields(slice(input, output, {0, 0}, {1, 1}, {static_cast<Isa>(77)})), ElementsAre("RunOptions.isa"));
  for (const IsaName& row : isa_table) {
    if (supported(row.isa)) continue;
    EXPECT_THAT(fields(slice1(input, output, {0, 0}, {2, 3}, {1, 1}, {row.isa})), ElementsAre("RunOptions.isa"));
  }
}

TEST_F(BadSlices, DescriptionsSayWhatADescriptorLacks) {
  const auto mirrored = describe_slice(input.flip(1), output, {0, 0}, {1, 1});
  EXPECT_THAT(fields(mirrored.report()), ElementsAre("InputTensor.Strides[1]"));
  const auto wrong = describe_slice1(input, output, {0, 0}, {2, 3}, {0, 1});
  EXPECT_THAT(fields(wrong.report()), ElementsAre("InputWindowStrides[0]"));
}

// A stride along an extent of 1 is never stepped: it may be anything.
TEST(UntakenStepsOfViews, AreIgnored) {
  const float data[2] = {1, 2};
  float result[2] = {};
  EXPECT_TRUE(slice1(TensorView(data, Shape{1, 2}, Strides{huge, 1}),
                     TensorView(result, Shape{1, 2}, Strides{lowest, 1}), {0, 0}, {1, 2}, {1, -1}));
  EXPECT_EQ(result[0], 2);
  EXPECT_TRUE(mean_variance_normalization(TensorView(data, Shape{1, 2}, Strides{huge, 1}), std::nullopt, std::nullopt,
                                          TensorView(result, Shape{1, 2}, Strides{lowest, 1}), {.axes = {1}}));
}

class BadNormalizations : public testing::Test {
 protected:
  ~BadNormalizations() override {
    for (const float value : result) EXPECT_EQ(value, -1) << "written although refused";
  }
  Report run(const MeanVarianceNormalizationOptions& options) {
    return mean_variance_normalization(input, std::nullopt, std::nullopt, output, options);
  }
  const float data[6] = {1, 2, 3, 4, 5, 6};
  float result[6] = {-1, -1, -1, -1, -1, -1};
  TensorView<const float> input{data, Shape{2, 3}};
  TensorView<float> output{result, Shape{2, 3}};
};

TEST_F(BadNormalizations, Axes) {
  EXPECT_THAT(fields(run({.axes = {2}})), ElementsAre("Axes[0]"));
  EXPECT_THAT(fields(run({.axes = {0, -1}})), ElementsAre("Axes[1]"));
  EXPECT_THAT(fields(run({.axes = {1, 1}})), ElementsAre("Axes[1]"));
  EXPECT_THAT(fields(run({.axes = {huge}})), ElementsAre("Axes[0]"));
  EXPECT_THAT(fields(run({.axes = IndexList::filled(9, 0)})), ElementsAre("AxisCount"));
}

TEST_F(BadNormalizations, ScaleBiasAndOutput) {
  const MeanVarianceNormalizationOptions options{.axes = {1}};
  const TensorView<const float> rank_1(data, Shape{3}), wide(data, Shape{1, 2}), none(nullptr, Shape{1, 3});
  EXPECT_THAT(fields(mean_variance_normalization(input, rank_1, std::nullopt, output, options)),
              ElementsAre("ScaleTensor.DimensionCount"));
  EXPECT_THAT(fields(mean_variance_normalization(input, std::nullopt, wide, output, options)),
              ElementsAre("BiasTensor.Sizes[1]"));
  EXPECT_THAT(fields(mean_variance_normalization(input, none, none, output, options)),
              ElementsAre("ScaleTensor", "BiasTensor"));
  EXPECT_THAT(
      fields(mean_variance_normalization(input, std::nullopt, std::nullopt, TensorView(result, Shape{3, 2}), options)),
      ElementsAre("OutputTensor.Sizes[0]", "OutputTensor.Sizes[1]"));
  EXPECT_THAT(fields(mean_variance_normalization(output, std::nullopt, std::nullopt, output, options)),
              ElementsAre("OutputTensor"));
  EXPECT_THAT(
      fields(mean_variance_normalization(input, TensorView(result, Shape{1, 3}), std::nullopt, output, options)),
      ElementsAre("OutputTensor"));
}

TEST_F(BadNormalizations, Activations) {
  EXPECT_THAT(fields(run({.axes = {1}, .fused_activation = Activation{static_cast<ActivationType>(48), {}}})),
              ElementsAre("FusedActivation.Type"));
}

class BadConvolutions : public testing::Test {
 protected:
  ~BadConvolutions() override {
    for (const std::uint8_t value : result) EXPECT_EQ(value, 77) << "written although refused";
  }
  const std::uint8_t data[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const std::int8_t weights[4] = {1, 1, 1, 1};
  const float scale[1] = {1};
  std::uint8_t result[4] = {77, 77, 77, 77};
  QuantizedLinearConvolutionTensors<std::uint8_t, std::int8_t, std::uint8_t> tensors{
      TensorView(data, Shape{1, 1, 3, 3}),
      TensorView(scale, Shape{1}),
      std::nullopt,
      TensorView(weights, Shape{1, 1, 2, 2}),
      TensorView(scale, Shape{1}),
      std::nullopt,
      std::nullopt,
      TensorView(scale, Shape{1}),
      std::nullopt,
      TensorView(result, Shape{1, 1, 2, 2})};
};

TEST_F(BadConvolutions, Options) {
  const auto refused = [&](const QuantizedLinearConvolutionOptions& options) {
    return fields(quantized_linear_convolution(tensors, options));
  };
  EXPECT_THAT(refused({.strides = {1}}), ElementsAre("Strides"));
  EXPECT_THAT(refused({.strides = {0, 1}}), ElementsAre("Strides[0]"));
  EXPECT_THAT(refused({.dilations = {1, -1}}), ElementsAre("Dilations[1]"));
  EXPECT_THAT(refused({.dilations = IndexList::filled(9, 1)}), ElementsAre("Dilations"));
  EXPECT_THAT(refused({.start_padding = {1, 0}}), ElementsAre("OutputTensor.Sizes[2]"));
  EXPECT_THAT(refused({.end_padding = {0, huge}}), ElementsAre("EndPadding[1]"));
  EXPECT_THAT(refused({.dilations = {3, 1}}), ElementsAre("FilterTensor.Sizes[2]"));
  EXPECT_THAT(refused({.group_count = 0}), ElementsAre("GroupCount"));
  EXPECT_THAT(refused({.group_count = -1}), ElementsAre("GroupCount"));
  EXPECT_THAT(refused({.group_count = 5'000'000'000}), ElementsAre("GroupCount"));
  EXPECT_THAT(refused({.group_count = 2}), ElementsAre("GroupCount", "GroupCount"));
}

TEST_F(BadConvolutions, Tensors) {
  const auto refused = [&] { return fields(quantized_linear_convolution(tensors, {})); };
  const auto sound = tensors;
  tensors.input = TensorView(data, Shape{3, 3});
  EXPECT_THAT(refused(), testing::Contains("InputTensor.DimensionCount"));
  tensors = sound;
  tensors.filter = TensorView(weights, Shape{1, 2, 2});
  EXPECT_THAT(refused(), ElementsAre("FilterTensor.DimensionCount"));
  tensors = sound;
  tensors.filter_scale = TensorView(scale, Shape{2}, Strides{0});
  EXPECT_THAT(refused(), ElementsAre("FilterScaleTensor.Sizes[0]"));
  tensors = sound;
  tensors.input_zero_point = TensorView<const std::uint8_t>(nullptr, Shape{1});
  tensors.output_scale = TensorView<const float>(nullptr, Shape{1});
  EXPECT_THAT(refused(), ElementsAre("InputZeroPointTensor", "OutputScaleTensor"));
  tensors = sound;
  tensors.output_zero_point = TensorView<const std::uint8_t>(result + 3, Shape{1});
  EXPECT_THAT(refused(), ElementsAre("OutputTensor"));
  tensors = sound;
  tensors.output = TensorView(result, Shape{1, 1, 2, 2}, Strides{0, 0, 0, 1});
  EXPECT_THAT(refused(), ElementsAre("OutputTensor.Strides[2]"));
  EXPECT_THAT(fields(describe_quantized_linear_convolution(tensors, {}).report()),
              ElementsAre("OutputTensor.Strides[2]"));
}

}  // namespace
