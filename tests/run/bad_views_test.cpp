// bad_views_test.cpp: calls on views that are refused: by which rule, of which field, and nothing written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
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

/// Every tensor of a call made hostile alone, one way after the other: it is named, and nothing is written.
template <class Tensors, class Call>
class HostileTensors {
 public:
  HostileTensors(const Tensors& sound, const Call& call) : sound_(sound), call_(call), before_(bytes()) {}

  template <class View>
  void expect_named(const std::string& name, View Tensors::*member) {
    SCOPED_TRACE(name);
    const auto view = one(sound_.*member);
    using V = std::remove_const_t<decltype(view)>;
    const auto refused = [&](const V& hostile) {
      Tensors tensors = sound_;
      tensors.*member = hostile;
      const std::vector<std::string> names = fields(call_(tensors));
      EXPECT_EQ(before_, bytes()) << "written although refused";
      return names;
    };
    EXPECT_THAT(refused(V(nullptr, view.shape())), ElementsAre(name));
    for (const Index extent : {Index{0}, Index{-1}, lowest, Index{5'000'000'000}, huge}) {
      Shape shape = view.shape();
      shape[0] = extent;
      EXPECT_THAT(refused(V(view.data(), shape)), testing::Contains(name + ".Sizes[0]")) << extent;
    }
    EXPECT_THAT(refused(V(view.data(), Shape{})), testing::Contains(name + ".DimensionCount"));
    EXPECT_THAT(refused(V(view.data(), Shape::filled(9, 1))), testing::Contains(name + ".DimensionCount"));
    if (view.size() > 1) {
      for (const Index stride : {huge, lowest, Index{5'000'000'000}}) {
        EXPECT_THAT(refused(V(view.data(), view.shape(), Strides::filled(view.rank(), stride))),
                    testing::Contains(testing::StartsWith(name + ".Strides")))
            << stride;
      }
    }
    if constexpr (std::is_const_v<std::remove_pointer_t<decltype(view.data())>>) {
      using Output = typename decltype(sound_.output)::value_type;
      Tensors tensors = sound_;
      auto* memory = const_cast<std::remove_const_t<std::remove_pointer_t<decltype(view.data())>>*>(view.data());
      tensors.output = TensorView<Output>(reinterpret_cast<Output*>(memory), sound_.output.shape());
      EXPECT_THAT(fields(call_(tensors)), ElementsAre("OutputTensor")) << "overlaps";
    } else {
      EXPECT_THAT(refused(V(view.data(), view.shape(), Strides::filled(view.rank(), 0))),
                  testing::Contains(testing::StartsWith(name + ".Strides")));
    }
  }
  /// Of the sound tensors at last.
  void expect_sound() {
    EXPECT_THAT(fields(call_(sound_)), testing::IsEmpty());
    EXPECT_NE(before_, bytes());
  }

 private:
  template <class View>
  static View one(const View& view) {
    return view;
  }
  template <class View>
  static View one(const std::optional<View>& view) {
    return *view;
  }
  std::vector<std::byte> bytes() const {
    const auto all = std::as_bytes(std::span(sound_.output.data(), static_cast<std::size_t>(sound_.output.size())));
    return {all.begin(), all.end()};
  }

  Tensors sound_;
  Call call_;
  std::vector<std::byte> before_;
};

/// The memory of what follows: different numbers, aligned for every type.
struct HostileMemory {
  alignas(64) std::uint8_t bytes[10][64];
  HostileMemory() {
    for (std::size_t part = 0; part < 10; ++part) {
      for (std::size_t i = 0; i < 64; ++i) bytes[part][i] = static_cast<std::uint8_t>(60 + 3 * part + i % 7);
    }
  }
  template <class T>
  TensorView<T> view(std::size_t part, const Shape& shape) {
    return {reinterpret_cast<T*>(bytes[part]), shape};
  }
};

TEST(HostileTensorsOf, IntegerConvolutions) {
  HostileMemory m;
  using Tensors = ConvolutionIntegerTensors<std::uint8_t, std::int8_t>;
  const Tensors sound{m.view<const std::uint8_t>(0, {1, 2, 3, 3}), m.view<const std::uint8_t>(1, {1, 1}),
                      m.view<const std::int8_t>(2, {3, 2, 2, 2}), m.view<const std::int8_t>(3, {1, 3}),
                      m.view<std::int32_t>(4, {1, 3, 2, 2})};
  HostileTensors hostile(sound, [](const Tensors& tensors) { return convolution_integer(tensors); });
  hostile.expect_named("InputTensor", &Tensors::input);
  hostile.expect_named("InputZeroPointTensor", &Tensors::input_zero_point);
  hostile.expect_named("FilterTensor", &Tensors::filter);
  hostile.expect_named("FilterZeroPointTensor", &Tensors::filter_zero_point);
  hostile.expect_named("OutputTensor", &Tensors::output);
  hostile.expect_sound();
}

TEST(HostileTensorsOf, IntegerProducts) {
  HostileMemory m;
  using Tensors = MatrixMultiplyIntegerTensors<std::uint8_t, std::int8_t>;
  const Tensors sound{m.view<const std::uint8_t>(0, {2, 4, 3}), m.view<const std::uint8_t>(1, {4}),
                      m.view<const std::int8_t>(2, {2, 3, 2}), m.view<const std::int8_t>(3, {1, 2}),
                      m.view<std::int32_t>(4, {2, 4, 2})};
  HostileTensors hostile(sound, [](const Tensors& tensors) { return matrix_multiply_integer(tensors); });
  hostile.expect_named("ATensor", &Tensors::a);
  hostile.expect_named("AZeroPointTensor", &Tensors::a_zero_point);
  hostile.expect_named("BTensor", &Tensors::b);
  hostile.expect_named("BZeroPointTensor", &Tensors::b_zero_point);
  hostile.expect_named("OutputTensor", &Tensors::output);
  hostile.expect_sound();
}

TEST(HostileTensorsOf, QuantizedProducts) {
  HostileMemory m;
  using Byte = std::uint8_t;
  using Tensors = QuantizedLinearMatrixMultiplyTensors<Byte, Byte, std::int8_t>;
  const Tensors sound{
      m.view<const Byte>(0, {4, 3}),  m.view<const float>(1, {4, 1}),       m.view<const Byte>(2, {1, 1}),
      m.view<const Byte>(3, {3, 2}),  m.view<const float>(4, {1, 2}),       m.view<const Byte>(5, {1, 2}),
      m.view<const float>(6, {1, 1}), m.view<const std::int8_t>(7, {4, 1}), m.view<std::int8_t>(8, {4, 2})};
  HostileTensors hostile(sound, [](const Tensors& tensors) { return quantized_linear_matrix_multiply(tensors); });
  hostile.expect_named("ATensor", &Tensors::a);
  hostile.expect_named("AScaleTensor", &Tensors::a_scale);
  hostile.expect_named("AZeroPointTensor", &Tensors::a_zero_point);
  hostile.expect_named("BTensor", &Tensors::b);
  hostile.expect_named("BScaleTensor", &Tensors::b_scale);
  hostile.expect_named("BZeroPointTensor", &Tensors::b_zero_point);
  hostile.expect_named("OutputScaleTensor", &Tensors::output_scale);
  hostile.expect_named("OutputZeroPointTensor", &Tensors::output_zero_point);
  hostile.expect_named("OutputTensor", &Tensors::output);
  hostile.expect_sound();
}

template <class In, class Scale, class Zero, class Out>
struct ElementWiseTensors {
  TensorView<const In> input;
  TensorView<const Scale> scale;
  std::optional<TensorView<const Zero>> zero_point;
  TensorView<Out> output;
};

TEST(HostileTensorsOf, QuantizationByElements) {
  HostileMemory m;
  const Shape shape{2, 5};
  const auto expect = [&]<class Tensors>(const Tensors& sound, const auto& call) {
    HostileTensors hostile(sound, call);
    hostile.expect_named("InputTensor", &Tensors::input);
    hostile.expect_named("ScaleTensor", &Tensors::scale);
    hostile.expect_named("ZeroPointTensor", &Tensors::zero_point);
    hostile.expect_named("OutputTensor", &Tensors::output);
    hostile.expect_sound();
  };
  expect(ElementWiseTensors<float, float, std::int8_t, std::int8_t>{m.view<const float>(0, shape),
                                                                    m.view<const float>(1, shape),
                                                                    m.view<const std::int8_t>(2, shape),
                                                                    m.view<std::int8_t>(3, shape)},
         [](const auto& t) { return element_wise_quantize_linear(t.input, t.scale, t.zero_point, t.output); });
  expect(ElementWiseTensors<std::int16_t, half, std::int16_t, half>{m.view<const std::int16_t>(4, shape),
                                                                    m.view<const half>(5, shape),
                                                                    m.view<const std::int16_t>(6, shape),
                                                                    m.view<half>(7, shape)},
         [](const auto& t) { return element_wise_dequantize_linear(t.input, t.scale, t.zero_point, t.output); });
}

struct NormalizedTensors {
  TensorView<const float> input;
  std::optional<TensorView<const float>> scale, bias;
  TensorView<float> output;
};

TEST(HostileTensorsOf, NormalizationsWithoutTheMean) {
  HostileMemory m;
  const Shape shape{2, 5};
  HostileTensors hostile(NormalizedTensors{m.view<const float>(0, shape), m.view<const float>(1, shape),
                                           m.view<const float>(2, {2, 1}), m.view<float>(3, shape)},
                         [](const NormalizedTensors& t) {
                           return mean_variance_normalization2(t.input, t.scale, t.bias, t.output,
                                                               {.axes = {1}, .use_mean = false});
                         });
  hostile.expect_named("InputTensor", &NormalizedTensors::input);
  hostile.expect_named("ScaleTensor", &NormalizedTensors::scale);
  hostile.expect_named("BiasTensor", &NormalizedTensors::bias);
  hostile.expect_named("OutputTensor", &NormalizedTensors::output);
  hostile.expect_sound();
}

}  // namespace
