// call_test.cpp: both operators on random views of all types against the reference, bit by bit; their descs run, too.
#include "dmlref/element_wise_quantize_linear.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "dmlref/operators/element_wise_quantize_linear/reference.hpp"
#include "dmlref/print.hpp"
#include "support/placed_view.hpp"
#include "support/quantize_linear_values.hpp"
#include "support/seed.hpp"
#include "support/thread_executor.hpp"

namespace {

using namespace dmlref;
using namespace dmlref_test;

Dimensions random_sizes(std::mt19937_64& random, std::uint64_t elements) {
  Dimensions sizes(random() % 8 + 1, 1);
  for (std::uint64_t left = elements; left > 1; left /= 2) sizes[random() % sizes.size()] *= 2;
  for (std::uint32_t& size : sizes) size = static_cast<std::uint32_t>(random() % size + 1);
  return sizes;
}

/// Parameters are one for all elements, or have a stride of 0 in some dimensions, or none.
template <class T, class Value>
PlacedView<T> random_parameter(std::mt19937_64& random, const Dimensions& sizes, Value value) {
  return PlacedView<T>(random, sizes, Strided::broadcast, value);
}
template <class T>
TensorView<T> repeated(std::mt19937_64& random, const TensorView<T>& view) {
  if (random() % 2 == 0) return view;
  Strides strides = view.strides();
  const std::uint64_t keeps = random() % 4 == 0 ? random() : 0;  // all repeat, or some dimensions
  for (std::size_t d = 0; d < strides.size(); ++d) {
    if ((keeps >> d & 1) == 0) strides[d] = 0;
  }
  return TensorView<T>(view.data(), view.shape(), strides);
}

template <class In, class Scale, class Zero, class Out, class Reference, class Call, class Describe>
void check(std::mt19937_64& random, std::uint64_t elements, Reference reference, Call call, Describe describe) {
  const Dimensions sizes = random_sizes(random, elements);
  const ValueKind kind = value_kind(random), scale_kind = value_kind(random);
  const PlacedView<In> input(random, sizes, Strided::broadcast,
                             [&](std::size_t) { return data_value<In>(kind, random); });
  const auto scale_space =
      random_parameter<Scale>(random, sizes, [&](std::size_t) { return scale_value<Scale>(scale_kind, random); });
  const auto zero_space =
      random_parameter<Zero>(random, sizes, [&](std::size_t) { return data_value<Zero>(kind, random); });
  const PlacedView<Out> output(random, sizes, Strided::own_addresses,
                               [&](std::size_t) { return random_bits<Out>(random); });
  const TensorView<const Scale> scale = repeated(random, scale_space.view());
  std::optional<TensorView<const Zero>> zero_point;
  if (random() % 4 != 0) zero_point = repeated(random, zero_space.view());
  std::vector<Out> results(static_cast<std::size_t>(output.view().size()));
  reference(input.view(), scale, zero_point, TensorView<Out>(results.data(), output.view().shape()));
  std::vector<std::byte> packed(results.size() * sizeof(Out));
  std::memcpy(packed.data(), results.data(), packed.size());
  const std::vector<std::byte> expected = output.with(packed);

  ThreadExecutor threads(3);
  RunOptions options;
  if (elements > 10000) options.executor = &threads;
  const Report report = call(input.view(), scale, zero_point, output.view(), options);
  ASSERT_TRUE(report) << report.to_string();
  const auto got = output.bytes();
  for (Index i = 0; i < output.view().size(); ++i) {
    const Coordinates at = unravel(i, output.view().shape());
    const Out result = output.view().load(at);
    ASSERT_EQ(std::memcmp(&result, &results[static_cast<std::size_t>(i)], sizeof(Out)), 0)
        << data_type_of<In> << " to " << data_type_of<Out> << ", input" << input.describe() << ", output"
        << output.describe() << ", element " << i << ": " << static_cast<double>(input.view().load(at)) << " by "
        << static_cast<double>(scale.load(at)) << " is " << static_cast<double>(result) << ", expected "
        << static_cast<double>(results[static_cast<std::size_t>(i)]) << ", zero point "
        << (zero_point ? static_cast<double>(zero_point->load(at)) : 0);
  }
  ASSERT_TRUE(std::equal(expected.begin(), expected.end(), got.begin(), got.end())) << "bytes outside of elements";

  const auto described = describe(input.view(), scale, zero_point, output.view());
  const auto mirrored = [](const auto& view) {
    for (std::size_t d = 0; d < view.rank(); ++d) {
      if (view.strides()[d] < 0 && view.shape()[d] > 1) return true;
    }
    return false;
  };
  const bool has_desc =
      !input.mirrored() && !output.mirrored() && !mirrored(scale) && !(zero_point && mirrored(*zero_point));
  ASSERT_EQ(static_cast<bool>(described), has_desc) << described.report().to_string();
  if (!described) return;
  EXPECT_EQ(described.value().zero_point.has_value(), zero_point.has_value());
  EXPECT_TRUE(validate(described.value(), latest_feature_level));
}

template <class In, class Scale, class Out>
void check_quantize(std::mt19937_64& random, std::uint64_t elements) {
  check<In, Scale, Out, Out>(
      random, elements, [](const auto&... views) { reference::element_wise_quantize_linear(views...); },
      [](const auto&... arguments) { return element_wise_quantize_linear(arguments...); },
      [](const auto&... views) { return describe_element_wise_quantize_linear(views...); });
}
template <class In, class Out>
void check_dequantize(std::mt19937_64& random, std::uint64_t elements) {
  check<In, Out, In, Out>(
      random, elements, [](const auto&... views) { reference::element_wise_dequantize_linear(views...); },
      [](const auto&... arguments) { return element_wise_dequantize_linear(arguments...); },
      [](const auto&... views) { return describe_element_wise_dequantize_linear(views...); });
}
void check_all(std::mt19937_64& random, std::uint64_t elements) {
  check_quantize<float, float, std::int8_t>(random, elements);
  check_quantize<float, float, std::uint8_t>(random, elements);
  check_quantize<half, half, std::int8_t>(random, elements);
  check_quantize<half, half, std::uint8_t>(random, elements);
  check_quantize<std::int32_t, float, std::int8_t>(random, elements);
  check_quantize<std::int32_t, float, std::uint8_t>(random, elements);
  check_dequantize<std::int8_t, float>(random, elements);
  check_dequantize<std::uint8_t, float>(random, elements);
  check_dequantize<std::int16_t, float>(random, elements);
  check_dequantize<std::uint16_t, float>(random, elements);
  check_dequantize<std::int32_t, float>(random, elements);
  check_dequantize<std::uint32_t, float>(random, elements);
  check_dequantize<std::int8_t, half>(random, elements);
  check_dequantize<std::uint8_t, half>(random, elements);
  check_dequantize<std::int16_t, half>(random, elements);
  check_dequantize<std::uint16_t, half>(random, elements);
  check_dequantize<std::int32_t, half>(random, elements);
  check_dequantize<std::uint32_t, half>(random, elements);
}

TEST(QuantizeLinearOnViews, AnyStridesGiveTheReferencesBits) {
  std::mt19937_64 random(test_seed());
  for (int i = 0; i < rounds(100) && !HasFatalFailure(); ++i) check_all(random, 3000);
}

TEST(QuantizeLinearOnViews, ThreadsGiveTheReferencesBits) {
  std::mt19937_64 random(test_seed());
  for (int i = 0; i < rounds(4) && !HasFatalFailure(); ++i) check_all(random, 400000);
}

// Typed calls name the operators' own fields.
TEST(QuantizeLinearOnViews, RefusesOtherSizes) {
  const float x[] = {1, 2, 3};
  const std::uint8_t z[] = {1, 2, 3};
  std::uint8_t q[] = {7, 7, 7};
  const TensorView input(x, Shape{3});
  const auto first_field = [](const Report& report) {
    return report.ok() ? std::string("ok") : report.violations()[0].field;
  };
  EXPECT_EQ(
      first_field(element_wise_quantize_linear(input, TensorView(x, Shape{1}), std::nullopt, TensorView(q, Shape{3}))),
      "ScaleTensor.Sizes[0]");
  EXPECT_EQ(first_field(element_wise_quantize_linear(input, input, TensorView(z, Shape{1}), TensorView(q, Shape{3}))),
            "ZeroPointTensor.Sizes[0]");
  EXPECT_EQ(first_field(element_wise_quantize_linear(input, input, std::nullopt, TensorView(q, Shape{2}))),
            "OutputTensor.Sizes[0]");
  float y[3];
  EXPECT_EQ(first_field(element_wise_dequantize_linear(TensorView(z, Shape{3}), TensorView(x, Shape{3, 1}),
                                                       std::nullopt, TensorView(y, Shape{3}))),
            "ScaleTensor.DimensionCount");
  EXPECT_EQ(q[0], 7);
}

}  // namespace
