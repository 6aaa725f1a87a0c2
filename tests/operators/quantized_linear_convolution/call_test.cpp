// call_test.cpp: convolution on random views against its descriptor on packed copies, bit by
// bit.
#include "dmlref/quantized_linear_convolution.hpp"

#include <gtest/gtest.h>

#include "support/placed_view.hpp"
#include "support/quantized_linear_convolution_case.hpp"
#include "support/seed.hpp"
#include "support/thread_executor.hpp"

namespace {

using namespace dmlref;
using namespace dmlref::test;
using dmlref_test::input_view;
using dmlref_test::placed;
using dmlref_test::Strided;

QlcShape random_shape(Random& random) {
  while (true) {
    QlcShape s;
    s.flat = chance(random, 15);
    s.batch = pick(random, 1, 2);
    s.groups = chance(random, 30) ? pick(random, 2, 5) : 1;
    const bool depthwise = chance(random, 25);
    if (depthwise) s.groups = pick(random, 4, 40);
    s.in_channels = depthwise ? 1 : pick(random, 1, chance(random, 30) ? 40 : 12);
    s.out_channels = depthwise ? 1 : pick(random, 1, chance(random, 30) ? 40 : 12);
    for (std::size_t d = s.flat ? 1 : 0; d < 2; ++d) {
      s.in[d] = pick(random, 1, 17);
      s.kernel[d] = chance(random, 40) ? 3 : pick(random, 1, 5);
      s.stride[d] = chance(random, 70) ? 1 : pick(random, 2, 3);
      s.dilation[d] = chance(random, 80) ? 1 : 2;
      s.start[d] = pick(random, 0, 2);
      s.end[d] = pick(random, 0, 2);
    }
    if (s.fits()) return s;
  }
}

template <class In, class Filter, class Out>
void check(Random& random, QlcCase c, const std::string& what) {
  SCOPED_TRACE(what);
  QuantizedLinearConvolutionDesc& desc = c.desc;
  const auto input = placed<In>(random, desc.input, c.inputs[0]);
  const auto input_scale = placed<float>(random, desc.input_scale, c.inputs[1]);
  const auto input_zero_point = placed<In>(random, desc.input_zero_point, c.inputs[2]);
  const auto filter = placed<Filter>(random, desc.filter, c.inputs[3]);
  const auto filter_scale = placed<float>(random, desc.filter_scale, c.inputs[4]);
  const auto filter_zero_point = placed<Filter>(random, desc.filter_zero_point, c.inputs[5]);
  const auto bias = placed<std::int32_t>(random, desc.bias, c.inputs[6]);
  const auto output_scale = placed<float>(random, desc.output_scale, c.inputs[7]);
  const auto output_zero_point = placed<Out>(random, desc.output_zero_point, c.inputs[8]);
  const auto output = placed<Out>(random, desc.output, c.output, Strided::own_addresses);

  const std::vector<InputBuffer> inputs(c.inputs.begin(), c.inputs.end());
  const OutputBuffer outputs[] = {c.output};
  Report report = run(desc, latest_feature_level, inputs, outputs);
  ASSERT_TRUE(report) << report.to_string();
  const auto expected = output.with(c.output);

  const QuantizedLinearConvolutionTensors<In, Filter, Out> tensors{
      input.view(),     input_scale.view(),  input_view(input_zero_point),
      filter.view(),    filter_scale.view(), input_view(filter_zero_point),
      input_view(bias), output_scale.view(), input_view(output_zero_point),
      output.view()};
  QuantizedLinearConvolutionOptions options{IndexList::from<std::uint32_t>(desc.strides),
                                            IndexList::from<std::uint32_t>(desc.dilations),
                                            IndexList::from<std::uint32_t>(desc.start_padding),
                                            IndexList::from<std::uint32_t>(desc.end_padding), desc.group_count};
  const auto all = [](const Dimensions& values, std::uint32_t usual) {
    return std::all_of(values.begin(), values.end(), [&](std::uint32_t v) { return v == usual; });
  };
  if (all(desc.strides, 1)) options.strides = {};
  if (all(desc.dilations, 1)) options.dilations = {};
  if (all(desc.start_padding, 0)) options.start_padding = {};
  dmlref_test::ThreadExecutor threads(3);
  RunOptions run_options;
  if (chance(random, 30)) run_options.executor = &threads;
  report = quantized_linear_convolution(tensors, options, run_options);
  ASSERT_TRUE(report) << report.to_string();
  const auto memory = output.bytes();
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), memory.begin(), memory.end()))
      << "input" << input.describe() << ", filter" << filter.describe() << ", output" << output.describe();

  const auto described = describe_quantized_linear_convolution(tensors, options);
  if (described) {
    EXPECT_TRUE(validate(described.value(), latest_feature_level));
    EXPECT_EQ(described.value().strides, desc.strides);
    EXPECT_EQ(described.value().end_padding, desc.end_padding);
  } else {
    for (const Violation& violation : described.report().violations()) {
      EXPECT_EQ(violation.rule, RuleId::stride_negative) << violation.message;
    }
  }
}

template <class In, class Filter>
void check_outputs(Random& random, const QlcCase& c, const std::string& what) {
  if (c.desc.output.data_type == DataType::int8) return check<In, Filter, std::int8_t>(random, c, what);
  check<In, Filter, std::uint8_t>(random, c, what);
}
template <class In>
void check_filters(Random& random, const QlcCase& c, const std::string& what) {
  if (c.desc.filter.data_type == DataType::int8) return check_outputs<In, std::int8_t>(random, c, what);
  check_outputs<In, std::uint8_t>(random, c, what);
}

TEST(ConvolutionOnViews, AnyStridesGiveTheDescriptorsBits) {
  Random random(dmlref_test::test_seed());
  for (int i = 0; i < dmlref_test::rounds(400) && !HasFailure(); ++i) {
    const QlcShape shape = random_shape(random);
    const QlcCase c = make_qlc_case(random, shape, static_cast<QlcData>(pick(random, 0, 5)), QlcLayout::packed);
    if (c.desc.input.data_type == DataType::int8) {
      check_filters<std::int8_t>(random, c, describe(shape));
    } else {
      check_filters<std::uint8_t>(random, c, describe(shape));
    }
  }
}

}  // namespace
