// reference_test.cpp: integer convolutions against sums that are collected the other way round.
#include "dmlref/operators/convolution_integer/reference.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "dmlref/convolution_integer.hpp"
#include "support/convolution_integer_case.hpp"
#include "support/reference_run.hpp"
#include "support/seed.hpp"

namespace {

using namespace dmlref;
using namespace dmlref::test;

using Byte = std::uint8_t;

// ONNX's example without padding.
static_assert([] {
  const Byte input[] = {2, 3, 4, 5, 6, 7, 8, 9, 10}, zero_point = 1, filter[] = {1, 1, 1, 1};
  std::int32_t output[4] = {};
  reference::convolution_integer(ConvolutionIntegerTensors<Byte, Byte>{{input, Shape{1, 1, 3, 3}},
                                                                       TensorView(&zero_point, Shape{1}),
                                                                       {filter, Shape{1, 1, 2, 2}},
                                                                       std::nullopt,
                                                                       {output, Shape{1, 1, 2, 2}}},
                                 {{1, 1}, {1, 1}, {0, 0}, 1});
  return output[0] == 12 && output[1] == 16 && output[2] == 24 && output[3] == 28;
}());

TEST(ReferenceConvolutionInteger, EqualsExactSums) {
  Random random(dmlref_test::test_seed());
  constexpr QlcData all[] = {QlcData::random, QlcData::extremes, QlcData::all_highest, QlcData::all_lowest};
  constexpr QlcLayout layouts[] = {QlcLayout::packed, QlcLayout::channels_last, QlcLayout::any};
  for (std::size_t i = 0; i < static_cast<std::size_t>(dmlref_test::rounds(1500)) && !HasFailure(); ++i) {
    const QlcShape shape = random_integer_shape(random);
    const IntegerConvolutionCase c = make_integer_case(random, shape, all[i % 4], layouts[i % 3]);
    const Report report = validate(c.desc, latest_feature_level);
    ASSERT_TRUE(report) << report.to_string();
    const std::vector<InputBuffer> inputs(c.inputs.begin(), c.inputs.end());
    std::vector<std::byte> output = c.output;
    dmlref_test::run_reference(c.desc, inputs, output);
    EXPECT_EQ(output, expected_output(c)) << describe(shape);
  }
}

// 34000 * 255 * 255 = 2210850000 is beyond INT32.
TEST(ReferenceConvolutionInteger, WrapsModulo2To32) {
  const std::vector<Byte> input(34000, 255), filter(34000, 255);
  std::int32_t sum = 0;
  reference::convolution_integer(ConvolutionIntegerTensors<Byte, Byte>{{input.data(), Shape{1, 34000, 1}},
                                                                       std::nullopt,
                                                                       {filter.data(), Shape{1, 34000, 1}},
                                                                       std::nullopt,
                                                                       {&sum, Shape{1, 1, 1}}},
                                 {{1}, {1}, {0}, 1});
  EXPECT_EQ(sum, -2084117296);
}

}  // namespace
