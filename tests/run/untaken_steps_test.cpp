// untaken_steps_test.cpp: strides, dilations and padding at the limits of their types, in descriptors that are accepted
// because no element ever steps along them. Under -fsanitize=undefined every product of two of them is seen.
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "dmlref/run/run.hpp"

namespace {

using namespace dmlref;

constexpr std::uint32_t largest = 0xFFFFFFFF;

template <class T>
InputBuffer bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

/// Runs `desc` under every instruction set of this CPU.
template <class T>
void expect_output(const OperatorDesc& desc, std::vector<InputBuffer> inputs, const std::vector<T>& expected) {
  for (const IsaName& row : isa_table) {
    if (!supported(row.isa)) continue;
    SCOPED_TRACE(row.name);
    CompileOptions options;
    options.isa = row.isa;
    const CompileResult compiled = compile(desc, latest_feature_level, options);
    ASSERT_TRUE(compiled) << compiled.report().to_string();
    const auto needs = compiled.value().binding_properties();
    ASSERT_EQ(needs.persistent_bytes, 0u);
    const AlignedBuffer temporary(needs.temporary_bytes);
    std::vector<T> output(expected.size());
    const OutputBuffer out = std::as_writable_bytes(std::span(output));
    const Report report = compiled.value().execute(inputs, {&out, 1}, {}, temporary.span());
    ASSERT_TRUE(report) << report.to_string();
    EXPECT_EQ(output, expected);
  }
}

TEST(UntakenSteps, Slice) {
  const std::vector<double> input{1, 2, 3, 4};
  const TensorDesc in(DataType::float64, {1, 4, 1}, Dimensions{largest, 1, largest});
  const TensorDesc out(DataType::float64, {1, 2, 1}, Dimensions{largest, 1, largest});
  expect_output<double>(SliceDesc{in, out, {0, 1, 0}, {1, 2, 1}, {largest, 2, largest}}, {bytes_of(input)}, {2, 4});
  expect_output<double>(Slice1Desc{in, out, {0, 0, 0}, {1, 4, 1}, {INT32_MIN, -2, INT32_MAX}}, {bytes_of(input)},
                        {4, 2});
}

TEST(UntakenSteps, MeanVarianceNormalization) {
  const std::vector<float> input{1, 3, 1, 3}, one{2}, none;
  const Dimensions strides{largest, largest, 1, largest};
  MeanVarianceNormalization1Desc desc;
  desc.input = desc.output = TensorDesc(DataType::float32, {1, 1, 4, 1}, strides);
  desc.scale = TensorDesc(DataType::float32, {1, 1, 1, 1}, Dimensions(4, largest));
  desc.bias = desc.scale;
  desc.axes = {1, 2, 3};
  desc.epsilon = 0;
  expect_output<float>(desc, {bytes_of(input), bytes_of(one), bytes_of(one)}, {0, 4, 0, 4});
  MeanVarianceNormalization2Desc without_mean;
  without_mean.input = without_mean.output = desc.input;
  without_mean.scale = without_mean.bias = desc.scale;
  without_mean.axes = {1, 2, 3};
  without_mean.use_mean = false;
  without_mean.epsilon = 11;  // and a mean square of 5
  expect_output<float>(without_mean, {bytes_of(input), bytes_of(one), bytes_of(one)}, {2.5f, 3.5f, 2.5f, 3.5f});
}

TEST(UntakenSteps, MatrixProducts) {
  const std::vector<std::uint8_t> a{7, 0, 0, 0}, b{5, 0, 0, 0}, zero_point{2, 0, 0, 0};
  const std::vector<float> scale{1};
  const TensorDesc byte(DataType::uint8, {1, 1, 1, 1}, Dimensions(4, largest));
  const TensorDesc real(DataType::float32, {1, 1, 1, 1}, Dimensions(4, largest));
  const TensorDesc sum(DataType::int32, {1, 1, 1, 1}, Dimensions(4, largest));
  const MatrixMultiplyIntegerDesc integer{byte, byte, byte, byte, sum};
  expect_output<std::int32_t>(integer, {bytes_of(a), bytes_of(zero_point), bytes_of(b), bytes_of(zero_point)}, {15});
  const QuantizedLinearMatrixMultiplyDesc quantized{byte, real, byte, byte, real, byte, real, byte, byte};
  expect_output<std::uint8_t>(quantized,
                              {bytes_of(a), bytes_of(scale), bytes_of(zero_point), bytes_of(b), bytes_of(scale),
                               bytes_of(zero_point), bytes_of(scale), bytes_of(zero_point)},
                              {17, 0, 0, 0});
}

TEST(UntakenSteps, QuantizationByElements) {
  const Dimensions sizes{1, 4, 1}, strides{largest, 1, largest}, repeated{largest, 0, largest};
  const std::vector<float> x{-1, 1, 3, 1000}, scale{2};
  const std::vector<std::uint8_t> q{5, 6, 8, 255}, zero_point{6, 0, 0, 0};
  const TensorDesc real(DataType::float32, sizes, strides), byte(DataType::uint8, sizes, strides);
  const TensorDesc by(DataType::float32, sizes, repeated), zero(DataType::uint8, sizes, repeated);
  expect_output<std::uint8_t>(ElementWiseQuantizeLinearDesc{real, by, zero, byte},
                              {bytes_of(x), bytes_of(scale), bytes_of(zero_point)}, {6, 6, 8, 255});
  expect_output<float>(ElementWiseDequantizeLinearDesc{byte, by, zero, real},
                       {bytes_of(q), bytes_of(scale), bytes_of(zero_point)}, {-2, 0, 4, 498});
}

TEST(UntakenSteps, ConvolutionInteger) {
  const std::vector<std::uint8_t> x{7, 0, 0, 0}, w{5, 0, 0, 0}, zero_point{2, 0, 0, 0};
  const TensorDesc byte(DataType::uint8, {1, 1, 1, 1}, Dimensions(4, largest));
  const TensorDesc sum(DataType::int32, {1, 1, 1, 1}, Dimensions(4, largest));
  const ConvolutionIntegerDesc desc{byte,   byte,  byte, byte, sum, {largest, largest}, {largest, largest},
                                    {0, 0}, {0, 0}};
  expect_output<std::int32_t>(desc, {bytes_of(x), bytes_of(zero_point), bytes_of(w), bytes_of(zero_point)}, {15});
}

class UntakenStepsOfConvolution : public testing::Test {
 protected:
  /// One input element of 5, a filter of `kernel` by `kernel`, one output element.
  QuantizedLinearConvolutionDesc desc(std::uint32_t kernel) {
    QuantizedLinearConvolutionDesc d;
    const Dimensions strides(4, largest);
    d.input = d.output = TensorDesc(DataType::uint8, {1, 1, 1, 1}, strides);
    d.filter = kernel == 1 ? TensorDesc(DataType::int8, {1, 1, 1, 1}, strides)
                           : TensorDesc(DataType::int8, {1, 1, kernel, kernel});
    d.input_scale = d.filter_scale = d.output_scale = TensorDesc(DataType::float32, {1}, Dimensions{largest});
    d.strides = d.dilations = {largest, largest};
    d.start_padding = d.end_padding = {0, 0};
    return d;
  }
  void expect_one_output(const QuantizedLinearConvolutionDesc& d, std::uint8_t expected) {
    expect_output<std::uint8_t>(
        d, {bytes_of(input), bytes_of(scale), {}, bytes_of(filter), bytes_of(scale), {}, {}, bytes_of(scale), {}},
        {expected, 0, 0, 0});
  }

  const std::vector<std::uint8_t> input{5, 0, 0, 0};
  const std::vector<std::int8_t> filter{1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0};
  const std::vector<float> scale{1};
};

TEST_F(UntakenStepsOfConvolution, OneTap) { expect_one_output(desc(1), 5); }

// The last tap meets the input; the others lie in the padding.
TEST_F(UntakenStepsOfConvolution, FourTaps) {
  QuantizedLinearConvolutionDesc d = desc(2);
  d.start_padding = {largest, largest};
  expect_one_output(d, 20);
}

TEST_F(UntakenStepsOfConvolution, NineTapsOfEveryReach) {
  for (const std::uint32_t dilation : {1u << 10, 1u << 15, 1u << 20, 1u << 31}) {
    QuantizedLinearConvolutionDesc d = desc(3);
    d.dilations = {dilation, dilation};
    d.start_padding = d.end_padding = {dilation, dilation};
    expect_one_output(d, 25);
  }
}

TEST_F(UntakenStepsOfConvolution, OnlyPadding) {
  QuantizedLinearConvolutionDesc d = desc(1);
  d.start_padding = {largest - 1, largest - 1};
  expect_one_output(d, 0);
}

}  // namespace
