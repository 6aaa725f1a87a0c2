// call_test.cpp: integer convolutions on random views against their descriptors on packed copies, bit by bit; owned
// tensors; what calls refuse.
#include "dmlref/convolution_integer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "support/convolution_integer_case.hpp"
#include "support/placed_view.hpp"
#include "support/report_fields.hpp"
#include "support/seed.hpp"
#include "support/thread_executor.hpp"

namespace {

using namespace dmlref;
using namespace dmlref::test;
using dmlref_test::input_view;
using dmlref_test::placed;
using dmlref_test::Strided;

ConvolutionIntegerOptions options_of(const ConvolutionIntegerDesc& desc) {
  return {IndexList::from<std::uint32_t>(desc.strides), IndexList::from<std::uint32_t>(desc.dilations),
          IndexList::from<std::uint32_t>(desc.start_padding), IndexList::from<std::uint32_t>(desc.end_padding),
          desc.group_count};
}

template <class In, class Filter>
void check(Random& random, IntegerConvolutionCase c) {
  ConvolutionIntegerDesc& desc = c.desc;
  const auto input = placed<In>(random, desc.input, c.inputs[0]);
  const auto input_zero_point = placed<In>(random, desc.input_zero_point, c.inputs[1]);
  const auto filter = placed<Filter>(random, desc.filter, c.inputs[2]);
  const auto filter_zero_point = placed<Filter>(random, desc.filter_zero_point, c.inputs[3]);
  const auto output = placed<std::int32_t>(random, desc.output, c.output, Strided::own_addresses);
  Report report = run_case(c, c.output);
  ASSERT_TRUE(report) << report.to_string();
  const auto expected = output.with(c.output);

  const ConvolutionIntegerTensors<In, Filter> tensors{input.view(), input_view(input_zero_point), filter.view(),
                                                      input_view(filter_zero_point), output.view()};
  const ConvolutionIntegerOptions options = options_of(desc);
  dmlref_test::ThreadExecutor threads(3);
  RunOptions run_options;
  if (chance(random, 30)) run_options.executor = &threads;
  report = convolution_integer(tensors, options, run_options);
  ASSERT_TRUE(report) << report.to_string();
  const auto memory = output.bytes();
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), memory.begin(), memory.end()));

  const auto described = describe_convolution_integer(tensors, options);
  if (described) {
    EXPECT_TRUE(validate(described.value(), latest_feature_level));
    EXPECT_EQ(described.value().filter.sizes, desc.filter.sizes);
    EXPECT_EQ(described.value().end_padding, desc.end_padding);
    EXPECT_EQ(described.value().group_count, desc.group_count);
  } else {
    for (const Violation& violation : described.report().violations()) {
      EXPECT_EQ(violation.rule, RuleId::stride_negative) << violation.message;
    }
  }
}

template <class In>
void check_filters(Random& random, const IntegerConvolutionCase& c) {
  if (c.desc.filter.data_type == DataType::int8) return check<In, std::int8_t>(random, c);
  check<In, std::uint8_t>(random, c);
}

TEST(ConvolutionIntegerOnViews, AnyStridesGiveTheDescriptorsBits) {
  Random random(dmlref_test::test_seed());
  for (int i = 0; i < dmlref_test::rounds(300) && !HasFailure(); ++i) {
    const QlcShape shape = random_integer_shape(random);
    SCOPED_TRACE(describe(shape));
    const auto c = make_integer_case(random, shape, QlcData::random, QlcLayout::packed);
    if (c.desc.input.data_type == DataType::int8) {
      check_filters<std::int8_t>(random, c);
    } else {
      check_filters<std::uint8_t>(random, c);
    }
  }
}

TEST(ConvolutionInteger, OwnedTensorsAndThreadsGiveTheSameBits) {
  Random random(dmlref_test::test_seed());
  for (int i = 0; i < dmlref_test::rounds(150) && !HasFailure(); ++i) {
    const QlcShape shape = random_integer_shape(random);
    IntegerConvolutionCase c = make_integer_case(random, shape, QlcData::random, QlcLayout::any);
    std::vector<std::byte> expected = c.output, output = c.output;
    Report report = run_case(c, expected);
    ASSERT_TRUE(report) << report.to_string();
    for (TensorDesc* tensor : {&c.desc.input, &c.desc.filter}) tensor->owned_by_dml = chance(random, 50);
    for (auto* tensor : {&c.desc.input_zero_point, &c.desc.filter_zero_point}) {
      if (*tensor) (*tensor)->owned_by_dml = chance(random, 50);
    }
    dmlref_test::ThreadExecutor threads(4);
    RunOptions options;
    options.executor = &threads;
    report = run_case(c, output, options);
    ASSERT_TRUE(report) << report.to_string();
    EXPECT_EQ(output, expected) << describe(shape);
  }
}

TEST(ConvolutionInteger, NamesWhatACallBreaks) {
  using Byte = std::uint8_t;
  const Byte in[9] = {}, weights[8] = {};
  std::int32_t out[4] = {7, 7, 7, 7};
  const std::optional<TensorView<const Byte>> none;
  const TensorView<const Byte> input(in, Shape{1, 1, 3, 3}), filter(weights, Shape{1, 1, 2, 2});
  const TensorView<std::int32_t> output(out, Shape{1, 1, 2, 2});
  using Names = std::vector<std::string>;
  const auto fields = [](const ConvolutionIntegerTensors<Byte, Byte>& tensors,
                         const ConvolutionIntegerOptions& options = {}) {
    return dmlref_test::fields(convolution_integer(tensors, options));
  };
  EXPECT_EQ(fields({input, none, filter, none, output}, {.strides = {1}}), Names{"Strides"});
  EXPECT_EQ(fields({input, none, filter, none, output}, {.dilations = {3, 1}}), Names{"FilterTensor.Sizes[2]"});
  EXPECT_EQ(fields({input, none, filter, none, output}, {.end_padding = {0, 1}}), Names{"OutputTensor.Sizes[3]"});
  EXPECT_EQ(fields({input, none, filter, none, output}, {.group_count = -1}), Names{"GroupCount"});
  EXPECT_EQ(fields({input, TensorView(weights, Shape{1}), filter, TensorView(weights, Shape{1, 1}), output}),
            Names{"FilterZeroPointTensor.DimensionCount"});
  const auto* inside = reinterpret_cast<const Byte*>(out) + 5;
  EXPECT_EQ(fields({{inside, Shape{1, 1, 3, 3}}, none, filter, none, output}), Names{"OutputTensor"});
  EXPECT_TRUE(std::all_of(out, out + 4, [](std::int32_t value) { return value == 7; }));
}

}  // namespace
