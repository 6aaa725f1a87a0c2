// values_test.cpp: Microsoft's descriptors as values of ours: every member comes over, absent tensors stay absent, and
// what no level accepts has no value.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <variant>

#include "dmlref/validate/read_directml.hpp"
#include "validate/request.hpp"

namespace {

using namespace dmlref;
using request::Request;

/// A tensor's members, to compare and to print.
std::string text_of(const TensorDesc& tensor) {
  std::string text = std::to_string(static_cast<int>(tensor.data_type)) + " sizes";
  for (const std::uint32_t size : tensor.sizes) text += ' ' + std::to_string(size);
  if (tensor.strides) text += " strides";
  for (const std::uint32_t stride : tensor.strides.value_or(Dimensions{})) text += ' ' + std::to_string(stride);
  text += " bytes " + std::to_string(tensor.total_size_in_bytes);
  text += " alignment " + std::to_string(tensor.guaranteed_base_offset_alignment);
  return text + (tensor.owned_by_dml ? " owned" : "");
}
std::string text_of(const std::optional<TensorDesc>& tensor) { return tensor ? text_of(*tensor) : "absent"; }

std::string expected(const Request& r, const std::string& name) {
  const auto found = r.tensors.find(name);
  if (found == r.tensors.end()) return "absent";
  const request::Tensor& from = found->second;
  TensorDesc tensor(static_cast<DataType>(from.data_type), from.sizes, from.strides);
  tensor.total_size_in_bytes = from.total_size.value_or(tensor.total_size_in_bytes);
  tensor.guaranteed_base_offset_alignment = from.alignment;
  tensor.owned_by_dml = from.flags == 1;
  return text_of(tensor);
}

/// The value of a request; its alternative is checked by std::get.
template <class Desc>
Desc value_of(const Request& r) {
  const request::Linked linked(r);
  return std::get<Desc>(detail::read_directml(linked.desc()).value());
}

/// Every tensor has strides, bytes, an alignment and an owner of its own.
Request distinct(Request r) {
  UINT number = 0;
  for (auto& [name, tensor] : r.tensors) {
    const bool output = name == "OutputTensor";
    tensor.flags = number % 2 != 0 && !output ? 1 : 0;
    tensor.alignment = 8u << number;
    Dimensions strides(tensor.sizes.size());
    UINT step = 1;
    for (std::size_t d = strides.size(); d-- > 0; step *= tensor.sizes[d] + number) strides[d] = step;
    if (number % 3 != 0) tensor.strides = strides;
    tensor.total_size = 4096 + number++;
  }
  return r;
}

TEST(ValuesOfDirectml, Slice) {
  const Request r = distinct(request::slice());
  const auto desc = value_of<SliceDesc>(r);
  EXPECT_EQ(text_of(desc.input), expected(r, "InputTensor"));
  EXPECT_EQ(text_of(desc.output), expected(r, "OutputTensor"));
  EXPECT_EQ(desc.offsets, r.arrays.at("Offsets"));
  EXPECT_EQ(desc.sizes, r.arrays.at("Sizes"));
  EXPECT_EQ(desc.strides, r.arrays.at("Strides"));
}

TEST(ValuesOfDirectml, Slice1) {
  const Request r = distinct(request::slice1());
  const auto desc = value_of<Slice1Desc>(r);
  EXPECT_EQ(text_of(desc.input), expected(r, "InputTensor"));
  EXPECT_EQ(text_of(desc.output), expected(r, "OutputTensor"));
  EXPECT_EQ(desc.window_offsets, r.arrays.at("InputWindowOffsets"));
  EXPECT_EQ(desc.window_sizes, r.arrays.at("InputWindowSizes"));
  EXPECT_EQ(desc.window_strides, (std::vector<std::int32_t>{1, 1, -2, 2}));
}

/// The arrays and the number that both convolutions have.
template <class Desc>
void expect_window(const Desc& desc, const Request& r) {
  EXPECT_EQ(desc.strides, r.arrays.at("Strides"));
  EXPECT_EQ(desc.dilations, r.arrays.at("Dilations"));
  EXPECT_EQ(desc.start_padding, r.arrays.at("StartPadding"));
  EXPECT_EQ(desc.end_padding, r.arrays.at("EndPadding"));
  EXPECT_EQ(desc.group_count, r.numbers.at("GroupCount"));
}

void expect_convolution(const Request& r) {
  const auto desc = value_of<QuantizedLinearConvolutionDesc>(r);
  EXPECT_EQ(text_of(desc.input), expected(r, "InputTensor"));
  EXPECT_EQ(text_of(desc.input_scale), expected(r, "InputScaleTensor"));
  EXPECT_EQ(text_of(desc.input_zero_point), expected(r, "InputZeroPointTensor"));
  EXPECT_EQ(text_of(desc.filter), expected(r, "FilterTensor"));
  EXPECT_EQ(text_of(desc.filter_scale), expected(r, "FilterScaleTensor"));
  EXPECT_EQ(text_of(desc.filter_zero_point), expected(r, "FilterZeroPointTensor"));
  EXPECT_EQ(text_of(desc.bias), expected(r, "BiasTensor"));
  EXPECT_EQ(text_of(desc.output_scale), expected(r, "OutputScaleTensor"));
  EXPECT_EQ(text_of(desc.output_zero_point), expected(r, "OutputZeroPointTensor"));
  EXPECT_EQ(text_of(desc.output), expected(r, "OutputTensor"));
  expect_window(desc, r);
}

TEST(ValuesOfDirectml, Convolution) {
  expect_convolution(distinct(request::convolution()));
  Request flat = request::convolution_1d();
  for (const char* array : {"Strides", "Dilations", "StartPadding", "EndPadding"}) flat.arrays[array].resize(1);
  expect_convolution(distinct(flat));
  for (const char* absent : {"InputZeroPointTensor", "FilterZeroPointTensor", "BiasTensor", "OutputZeroPointTensor"}) {
    Request r = request::convolution();
    r.tensors.erase(absent);
    expect_convolution(r);
  }
}

template <class Desc>
Desc expect_normalization(const Request& r) {
  const auto desc = value_of<Desc>(r);
  EXPECT_EQ(text_of(desc.input), expected(r, "InputTensor"));
  EXPECT_EQ(text_of(desc.scale), expected(r, "ScaleTensor"));
  EXPECT_EQ(text_of(desc.bias), expected(r, "BiasTensor"));
  EXPECT_EQ(text_of(desc.output), expected(r, "OutputTensor"));
  if constexpr (requires { desc.use_mean; }) {
    EXPECT_EQ(desc.use_mean, r.numbers.at("UseMean") != 0);
    EXPECT_EQ(desc.use_variance, r.numbers.at("UseVariance") != 0);
  } else {
    EXPECT_EQ(desc.normalize_variance, r.numbers.at("NormalizeVariance") != 0);
  }
  EXPECT_EQ(request::bits(desc.epsilon), r.numbers.at("Epsilon"));
  EXPECT_EQ(desc.fused_activation.has_value(), r.activation.has_value());
  if (desc.fused_activation && r.activation) {
    EXPECT_EQ(static_cast<std::uint32_t>(desc.fused_activation->type), r.activation->type);
    const ActivationInfo& info = *find_activation(desc.fused_activation->type);
    for (std::size_t i = 0; i < 2; ++i) {
      const float there = info.parameter_names[i].empty() ? 0.0f : r.activation->parameters[i];
      EXPECT_EQ(desc.fused_activation->parameters[i], there) << info.name;
    }
  }
  return desc;
}

/// Booleans of any number, tensors that may be absent, every activation with its parameters.
template <class Check>
void for_each_normalization(Request r, Check check) {
  check(distinct(r));
  for (const char* absent : {"ScaleTensor", "BiasTensor"}) {
    Request without = r;
    without.tensors.erase(absent);
    check(without);
  }
  for (const BOOL value : {0, 1, 2, -1}) {
    r.numbers["CrossChannel"] = static_cast<UINT>(value);
    r.numbers["NormalizeVariance"] = static_cast<UINT>(value == 0 ? 1 : value == 1 ? 0 : value);
    r.numbers["UseMean"] = r.numbers["CrossChannel"];
    r.numbers["UseVariance"] = r.numbers["NormalizeVariance"];
    r.numbers["Epsilon"] = request::bits(0.25f + static_cast<float>(value));
    check(r);
  }
  for (const ActivationInfo& info : activation_table) {
    check(request::fused(r, static_cast<std::uint32_t>(info.type), 1.25f, 2.5f));
  }
}

TEST(ValuesOfDirectml, Normalization) {
  for_each_normalization(request::normalization(), [](const Request& r) {
    const auto desc = expect_normalization<MeanVarianceNormalizationDesc>(r);
    EXPECT_EQ(desc.cross_channel, r.numbers.at("CrossChannel") != 0);
  });
}

TEST(ValuesOfDirectml, Normalization1) {
  for_each_normalization(request::normalization1(), [](const Request& r) {
    const auto desc = expect_normalization<MeanVarianceNormalization1Desc>(r);
    EXPECT_EQ(desc.axes, r.arrays.at("Axes"));
  });
}

TEST(ValuesOfDirectml, Normalization2) {
  for_each_normalization(request::normalization2(), [](const Request& r) {
    const auto desc = expect_normalization<MeanVarianceNormalization2Desc>(r);
    EXPECT_EQ(desc.axes, r.arrays.at("Axes"));
  });
}

TEST(ValuesOfDirectml, ConvolutionInteger) {
  for (const char* absent : {"", "InputZeroPointTensor", "FilterZeroPointTensor"}) {
    Request r = distinct(request::convolution_integer());
    r.tensors.erase(absent);
    const auto desc = value_of<ConvolutionIntegerDesc>(r);
    EXPECT_EQ(text_of(desc.input), expected(r, "InputTensor"));
    EXPECT_EQ(text_of(desc.input_zero_point), expected(r, "InputZeroPointTensor"));
    EXPECT_EQ(text_of(desc.filter), expected(r, "FilterTensor"));
    EXPECT_EQ(text_of(desc.filter_zero_point), expected(r, "FilterZeroPointTensor"));
    EXPECT_EQ(text_of(desc.output), expected(r, "OutputTensor"));
    expect_window(desc, r);
  }
}

void expect_product(const Request& r) {
  const auto desc = value_of<MatrixMultiplyIntegerDesc>(r);
  EXPECT_EQ(text_of(desc.a), expected(r, "ATensor"));
  EXPECT_EQ(text_of(desc.a_zero_point), expected(r, "AZeroPointTensor"));
  EXPECT_EQ(text_of(desc.b), expected(r, "BTensor"));
  EXPECT_EQ(text_of(desc.b_zero_point), expected(r, "BZeroPointTensor"));
  EXPECT_EQ(text_of(desc.output), expected(r, "OutputTensor"));
}

void expect_quantized_product(const Request& r) {
  const auto desc = value_of<QuantizedLinearMatrixMultiplyDesc>(r);
  EXPECT_EQ(text_of(desc.a), expected(r, "ATensor"));
  EXPECT_EQ(text_of(desc.a_scale), expected(r, "AScaleTensor"));
  EXPECT_EQ(text_of(desc.a_zero_point), expected(r, "AZeroPointTensor"));
  EXPECT_EQ(text_of(desc.b), expected(r, "BTensor"));
  EXPECT_EQ(text_of(desc.b_scale), expected(r, "BScaleTensor"));
  EXPECT_EQ(text_of(desc.b_zero_point), expected(r, "BZeroPointTensor"));
  EXPECT_EQ(text_of(desc.output_scale), expected(r, "OutputScaleTensor"));
  EXPECT_EQ(text_of(desc.output_zero_point), expected(r, "OutputZeroPointTensor"));
  EXPECT_EQ(text_of(desc.output), expected(r, "OutputTensor"));
}

TEST(ValuesOfDirectml, MatrixProducts) {
  expect_product(distinct(request::matrix_multiply()));
  expect_product(distinct(request::matrix_multiply_2d()));
  expect_quantized_product(distinct(request::quantized_matrix_multiply()));
  expect_quantized_product(distinct(request::quantized_matrix_multiply_3d()));
  for (const char* absent : {"AZeroPointTensor", "BZeroPointTensor", "OutputZeroPointTensor"}) {
    Request r = request::matrix_multiply(), q = request::quantized_matrix_multiply();
    r.tensors.erase(absent);
    q.tensors.erase(absent);
    expect_product(r);
    expect_quantized_product(q);
  }
}

TEST(ValuesOfDirectml, AreReadableWhereTypeAndDescSayWhichTheyAre) {
  const auto readable = [](const Request& r) { return rules::is_readable(request::Linked(r).desc()); };
  for (Request r : {request::slice(), request::slice1(), request::convolution(), request::normalization(),
                    request::normalization1(), request::normalization2(), request::convolution_integer(),
                    request::matrix_multiply(), request::quantized_matrix_multiply(), request::quantize_linear(),
                    request::dequantize_linear()}) {
    EXPECT_TRUE(readable(r));
    r.desc_is_null = true;
    EXPECT_FALSE(readable(r));
    r.desc_is_null = false;
    r.type = 148;
    EXPECT_FALSE(readable(r));
  }
}

TEST(ValuesOfDirectml, ExistForWhatSomeLevelAcceptsOnly) {
  const auto has_value = [](const Request& r) {
    const request::Linked linked(r);
    return detail::read_directml(linked.desc()).has_value();
  };
  EXPECT_TRUE(has_value(request::convolution_1d()));
  Request r = request::slice();
  r.type = 148;
  EXPECT_FALSE(has_value(r));
  r = request::slice();
  r.desc_is_null = true;
  EXPECT_FALSE(has_value(r));
  r = request::slice1();
  r.arrays["InputWindowStrides"][0] = 0;
  EXPECT_FALSE(has_value(r));
}

}  // namespace
