// native_test.cpp: the one rule that only a native descriptor can break, for each of its arrays: one entry per
// dimension.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dmlref/validate.hpp"

namespace {

using namespace dmlref;

constexpr auto f32 = DataType::float32;
constexpr auto u8 = DataType::uint8;

SliceDesc slice() { return {{f32, {4, 4}}, {f32, {2, 2}}, {0, 0}, {2, 2}, {1, 1}}; }
Slice1Desc slice1() { return {{f32, {4, 4}}, {f32, {2, 2}}, {0, 0}, {2, 2}, {1, 1}}; }
QuantizedLinearConvolutionDesc convolution() {
  QuantizedLinearConvolutionDesc desc;
  desc.input = {u8, {1, 1, 3, 3}};
  desc.filter = {u8, {1, 1, 1, 1}};
  desc.input_scale = desc.filter_scale = desc.output_scale = {f32, {1, 1}};
  desc.input_zero_point = desc.filter_zero_point = desc.output_zero_point = TensorDesc(u8, {1, 1});
  desc.bias = TensorDesc(DataType::int32, {1, 1, 1, 1});
  desc.output = {u8, {1, 1, 3, 3}};
  desc.strides = desc.dilations = {1, 1};
  desc.start_padding = desc.end_padding = {0, 0};
  return desc;
}
template <class Desc>
Desc normalization() {
  Desc desc;
  desc.input = desc.output = {f32, {2, 3, 4, 5}};
  desc.scale = desc.bias = TensorDesc(f32, {1, 3, 1, 1});
  if constexpr (requires { desc.axes; }) desc.axes = {1};
  return desc;
}

void expect_report(const OperatorDesc& desc, const std::string& expected) {
  EXPECT_EQ(validate(desc, latest_feature_level).to_string(), expected);
}

/// "Offsets has 3 entries, expected 2, one per dimension [array_length]".
std::string wrong_length(const std::string& field, std::size_t has, std::size_t expected) {
  return field + " has " + std::to_string(has) + " entries, expected " + std::to_string(expected) +
         ", one per dimension [array_length]";
}

/// Each array with one entry less, and one more.
template <class Desc, class Array>
void expect_length(const Desc& valid, const std::string& field, Array Desc::*array) {
  const std::size_t right = (valid.*array).size();
  for (const std::size_t wrong : {std::size_t{0}, right - 1, right + 1}) {
    Desc desc = valid;
    (desc.*array).resize(wrong, 1);
    expect_report(desc, wrong_length(field, wrong, right));
  }
}

/// A tensor's strides.
template <class Desc, class Tensor>
void expect_strides_length(const Desc& valid, const std::string& tensor, Tensor Desc::*member) {
  const auto tensor_of = [&](Desc& desc) -> TensorDesc& {
    if constexpr (std::is_same_v<Tensor, TensorDesc>) {
      return desc.*member;
    } else {
      return (desc.*member).value();
    }
  };
  Desc desc = valid;
  const std::size_t right = tensor_of(desc).sizes.size();
  for (const std::size_t wrong : {std::size_t{0}, right - 1, right + 1}) {
    tensor_of(desc).strides = Dimensions(wrong, 1);
    expect_report(desc, wrong_length(tensor + ".Strides", wrong, right));
  }
  tensor_of(desc).strides = Dimensions(right, 0);
  if (tensor != "OutputTensor") expect_report(desc, "ok");
}

TEST(NativeArrays, OfSlice) {
  expect_report(slice(), "ok");
  expect_length(slice(), "Offsets", &SliceDesc::offsets);
  expect_length(slice(), "Sizes", &SliceDesc::sizes);
  expect_length(slice(), "Strides", &SliceDesc::strides);
  expect_strides_length(slice(), "InputTensor", &SliceDesc::input);
  expect_strides_length(slice(), "OutputTensor", &SliceDesc::output);
}

TEST(NativeArrays, OfSlice1) {
  expect_report(slice1(), "ok");
  expect_length(slice1(), "InputWindowOffsets", &Slice1Desc::window_offsets);
  expect_length(slice1(), "InputWindowSizes", &Slice1Desc::window_sizes);
  expect_length(slice1(), "InputWindowStrides", &Slice1Desc::window_strides);
  expect_strides_length(slice1(), "InputTensor", &Slice1Desc::input);
  expect_strides_length(slice1(), "OutputTensor", &Slice1Desc::output);
}

TEST(NativeArrays, OfConvolution) {
  using Desc = QuantizedLinearConvolutionDesc;
  const Desc valid = convolution();
  expect_report(valid, "ok");
  expect_length(valid, "Strides", &Desc::strides);
  expect_length(valid, "Dilations", &Desc::dilations);
  expect_length(valid, "StartPadding", &Desc::start_padding);
  expect_length(valid, "EndPadding", &Desc::end_padding);
  expect_strides_length(valid, "InputTensor", &Desc::input);
  expect_strides_length(valid, "InputScaleTensor", &Desc::input_scale);
  expect_strides_length(valid, "InputZeroPointTensor", &Desc::input_zero_point);
  expect_strides_length(valid, "FilterTensor", &Desc::filter);
  expect_strides_length(valid, "FilterScaleTensor", &Desc::filter_scale);
  expect_strides_length(valid, "FilterZeroPointTensor", &Desc::filter_zero_point);
  expect_strides_length(valid, "BiasTensor", &Desc::bias);
  expect_strides_length(valid, "OutputScaleTensor", &Desc::output_scale);
  expect_strides_length(valid, "OutputZeroPointTensor", &Desc::output_zero_point);
  expect_strides_length(valid, "OutputTensor", &Desc::output);
}

template <class Desc>
void expect_strides_of_normalization() {
  const Desc valid = normalization<Desc>();
  expect_report(valid, "ok");
  expect_strides_length(valid, "InputTensor", &Desc::input);
  expect_strides_length(valid, "ScaleTensor", &Desc::scale);
  expect_strides_length(valid, "BiasTensor", &Desc::bias);
  expect_strides_length(valid, "OutputTensor", &Desc::output);
}
TEST(NativeArrays, OfNormalization) { expect_strides_of_normalization<MeanVarianceNormalizationDesc>(); }
TEST(NativeArrays, OfNormalization1) { expect_strides_of_normalization<MeanVarianceNormalization1Desc>(); }
TEST(NativeArrays, OfNormalization2) { expect_strides_of_normalization<MeanVarianceNormalization2Desc>(); }

// What of a native descriptor else reaches the rules: who owns a tensor, its bytes, alignment and activation.
TEST(NativeTensors, HaveOwnersBytesAndAlignments) {
  SliceDesc desc = slice();
  desc.input.owned_by_dml = true;
  expect_report(desc, "ok");
  desc.output.owned_by_dml = true;
  expect_report(desc,
                "OutputTensor.Flags is 1, expected no OWNED_BY_DML: only inputs are owned by DML "
                "[tensor_owned_by_dml]");
  desc = slice();
  desc.input.total_size_in_bytes = 63;
  desc.output.guaranteed_base_offset_alignment = 2;
  expect_report(desc,
                "InputTensor.TotalTensorSizeInBytes is 63, expected at least 64, which Sizes, Strides and "
                "DataType imply [tensor_total_size]\n"
                "OutputTensor.GuaranteedBaseOffsetAlignment is 2, expected 0 or a power of two of at least 4, "
                "the element's size [tensor_alignment]");
  desc = slice();
  desc.input.sizes = {};
  expect_report(desc, "InputTensor.DimensionCount is 0, expected 1 to 8 [tensor_dimension_count]");
  auto quantized = convolution();  // tensors that may be absent are validated where they are not
  quantized.bias = TensorDesc(f32, {1, 1, 1, 1});
  quantized.input_zero_point = TensorDesc(DataType::int8, {1, 2});
  expect_report(quantized,
                "InputZeroPointTensor.DataType is INT8, expected UINT8 as InputTensor.DataType "
                "[tensor_data_type_match]\n"
                "BiasTensor.DataType is FLOAT32, expected INT32 [tensor_data_type]\n"
                "InputZeroPointTensor.Sizes[1] is 2, expected 1: one value for the whole tensor "
                "[convolution_single_value]");
  auto normal = normalization<MeanVarianceNormalization1Desc>();
  normal.fused_activation = Activation{ActivationType::softplus, {0.5f}};
  EXPECT_EQ(validate(OperatorDesc(normal), feature_level(0x6300)).to_string(),
            "FusedActivation.Steepness is 0.5, expected at least 1 [activation_steepness] (accepted from feature level "
            "6_4)");
  expect_report(normal, "ok");
}

// Some rules end with a level; the others have none, which is 0.
TEST(RuleTable, SaysWhichRulesALevelLifts) {
  for (const RuleInfo& rule : rule_table) {
    const std::uint32_t expected = rule.id == RuleId::normalization_channel_broadcast ? 0x4000
                                   : rule.id == RuleId::normalization_scale_with_bias ? 0x5200
                                   : rule.id == RuleId::element_wise_zero_point       ? 0x6200
                                   : rule.id == RuleId::activation_steepness          ? 0x6400
                                                                                      : 0;
    EXPECT_EQ(rule.lifted_from, expected) << rule.name;
    EXPECT_EQ(lifted_from(rule.id), expected) << rule.name;
  }
}

// Values of enumerations that are none: compared without a shift by 32 or more.
static_assert(support::eleven.contains(DataType::int64));
static_assert(!support::eleven.contains(static_cast<DataType>(12)));
static_assert(!support::eleven.contains(static_cast<DataType>(32)));
static_assert(!support::eleven.contains(static_cast<DataType>(0xFFFFFFFF)));

}  // namespace
