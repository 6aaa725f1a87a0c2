// call_test.cpp: matrix products on random views against their descriptors on packed copies, bit by bit; owned tensors;
// what calls refuse.
#include "dmlref/matrix_multiply_integer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "support/matrix_multiply_case.hpp"
#include "support/placed_view.hpp"
#include "support/report_fields.hpp"
#include "support/seed.hpp"
#include "support/thread_executor.hpp"

namespace {

using namespace dmlref;
using namespace dmlref::test;
using dmlref_test::input_view;
using dmlref_test::placed;
using dmlref_test::PlacedView;
using dmlref_test::Strided;

/// `call(options)` writes to `output` what the descriptor makes of packed copies; `described` is that descriptor.
template <class Desc, class T, class Call>
void expect_same(Random& random, OperatorCase<Desc>& c, const PlacedView<T>& output,
                 const DescribeResult<Desc>& described, const Call& call) {
  Report report = run_case(c, c.output);
  ASSERT_TRUE(report) << report.to_string();
  const auto expected = output.with(c.output);
  dmlref_test::ThreadExecutor threads(3);
  RunOptions options;
  if (chance(random, 30)) options.executor = &threads;
  report = call(options);
  ASSERT_TRUE(report) << report.to_string();
  const auto memory = output.bytes();
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), memory.begin(), memory.end()));
  if (described) {
    EXPECT_TRUE(validate(described.value(), latest_feature_level));
    EXPECT_EQ(described.value().a.sizes, c.desc.a.sizes);
    EXPECT_EQ(described.value().b_zero_point.has_value(), c.desc.b_zero_point.has_value());
    EXPECT_EQ(described.value().output.sizes, c.desc.output.sizes);
    return;
  }
  for (const Violation& violation : described.report().violations()) {
    EXPECT_EQ(violation.rule, RuleId::stride_negative) << violation.message;
  }
}

template <class A, class B>
void check(Random& random, OperatorCase<MatrixMultiplyIntegerDesc> c) {
  auto& desc = c.desc;
  const auto a = placed<A>(random, desc.a, c.inputs[0]);
  const auto a_zero_point = placed<A>(random, desc.a_zero_point, c.inputs[1]);
  const auto b = placed<B>(random, desc.b, c.inputs[2]);
  const auto b_zero_point = placed<B>(random, desc.b_zero_point, c.inputs[3]);
  const auto output = placed<std::int32_t>(random, desc.output, c.output, Strided::own_addresses);
  const MatrixMultiplyIntegerTensors<A, B> tensors{a.view(), input_view(a_zero_point), b.view(),
                                                   input_view(b_zero_point), output.view()};
  expect_same(random, c, output, describe_matrix_multiply_integer(tensors),
              [&](const RunOptions& options) { return matrix_multiply_integer(tensors, options); });
}

template <class A, class B, class Out>
void check(Random& random, OperatorCase<QuantizedLinearMatrixMultiplyDesc> c) {
  auto& desc = c.desc;
  const auto a = placed<A>(random, desc.a, c.inputs[0]);
  const auto a_scale = placed<float>(random, desc.a_scale, c.inputs[1]);
  const auto a_zero_point = placed<A>(random, desc.a_zero_point, c.inputs[2]);
  const auto b = placed<B>(random, desc.b, c.inputs[3]);
  const auto b_scale = placed<float>(random, desc.b_scale, c.inputs[4]);
  const auto b_zero_point = placed<B>(random, desc.b_zero_point, c.inputs[5]);
  const auto output_scale = placed<float>(random, desc.output_scale, c.inputs[6]);
  const auto output_zero_point = placed<Out>(random, desc.output_zero_point, c.inputs[7]);
  const auto output = placed<Out>(random, desc.output, c.output, Strided::own_addresses);
  const QuantizedLinearMatrixMultiplyTensors<A, B, Out> tensors{
      a.view(),       a_scale.view(),           input_view(a_zero_point), b.view(),
      b_scale.view(), input_view(b_zero_point), output_scale.view(),      input_view(output_zero_point),
      output.view()};
  expect_same(random, c, output, describe_quantized_linear_matrix_multiply(tensors),
              [&](const RunOptions& options) { return quantized_linear_matrix_multiply(tensors, options); });
}

template <class F>
void with_sign(const TensorDesc& tensor, const F& f) {
  if (tensor.data_type == DataType::int8) return f(std::int8_t{});
  f(std::uint8_t{});
}

TEST(MatrixMultiplyIntegerOnViews, AnyStridesGiveTheDescriptorsBits) {
  Random random(dmlref_test::test_seed());
  for (int i = 0; i < dmlref_test::rounds(300) && !HasFailure(); ++i) {
    const ProductShape shape = random_product_shape(random);
    SCOPED_TRACE(describe(shape));
    const auto c = ProductMaker(random, shape, ProductLayout::packed).integer();
    with_sign(c.desc.a, [&]<class A>(A) { with_sign(c.desc.b, [&]<class B>(B) { check<A, B>(random, c); }); });
  }
}

TEST(QuantizedLinearMatrixMultiplyOnViews, AnyStridesGiveTheDescriptorsBits) {
  Random random(dmlref_test::test_seed());
  for (int i = 0; i < dmlref_test::rounds(300) && !HasFailure(); ++i) {
    const ProductShape shape = random_product_shape(random);
    SCOPED_TRACE(describe(shape));
    const auto c = ProductMaker(random, shape, ProductLayout::packed).quantized();
    with_sign(c.desc.a, [&]<class A>(A) {
      with_sign(c.desc.b,
                [&]<class B>(B) { with_sign(c.desc.output, [&]<class Out>(Out) { check<A, B, Out>(random, c); }); });
    });
  }
}

/// The same descriptor with some inputs that DML owns, and with threads.
template <class Desc, class Inputs>
void expect_owned_same(Random& random, OperatorCase<Desc> c, const Inputs& inputs) {
  std::vector<std::byte> expected = c.output, output = c.output;
  Report report = run_case(c, expected);
  ASSERT_TRUE(report) << report.to_string();
  for (TensorDesc* tensor : inputs(c.desc)) {
    if (tensor != nullptr) tensor->owned_by_dml = chance(random, 50);
  }
  dmlref_test::ThreadExecutor threads(4);
  RunOptions options;
  options.executor = &threads;
  report = run_case(c, output, options);
  ASSERT_TRUE(report) << report.to_string();
  EXPECT_EQ(output, expected);
}

TensorDesc* pointer(std::optional<TensorDesc>& tensor) { return tensor ? &*tensor : nullptr; }

TEST(MatrixProducts, OwnedTensorsAndThreadsGiveTheSameBits) {
  Random random(dmlref_test::test_seed());
  for (int i = 0; i < dmlref_test::rounds(150) && !HasFailure(); ++i) {
    const ProductShape shape = random_product_shape(random);
    SCOPED_TRACE(describe(shape));
    ProductMaker maker(random, shape, ProductLayout::any);
    expect_owned_same(random, maker.integer(), [](MatrixMultiplyIntegerDesc& d) {
      return std::array{&d.a, pointer(d.a_zero_point), &d.b, pointer(d.b_zero_point)};
    });
    expect_owned_same(random, maker.quantized(), [](QuantizedLinearMatrixMultiplyDesc& d) {
      return std::array{&d.a,
                        &d.a_scale,
                        pointer(d.a_zero_point),
                        &d.b,
                        &d.b_scale,
                        pointer(d.b_zero_point),
                        &d.output_scale,
                        pointer(d.output_zero_point)};
    });
  }
}

TEST(MatrixProducts, NamesWhatACallBreaks) {
  using Byte = std::uint8_t;
  Byte a[6] = {}, b[8] = {};
  const Byte zero_points[3] = {};
  std::int32_t out[8] = {7, 7, 7, 7, 7, 7, 7, 7};
  const auto fields = [&](const MatrixMultiplyIntegerTensors<Byte, Byte>& tensors) {
    return dmlref_test::fields(matrix_multiply_integer(tensors));
  };
  using Names = std::vector<std::string>;
  const std::optional<TensorView<const Byte>> none;
  EXPECT_EQ(fields({{a, Shape{2, 3}}, none, {b, Shape{2, 4}}, none, {out, Shape{2, 4}}}), Names{"BTensor.Sizes[0]"});
  EXPECT_EQ(fields({{a, Shape{3, 2}}, none, {b, Shape{2, 4}}, none, {out, Shape{2, 4}}}),
            Names{"OutputTensor.Sizes[0]"});
  EXPECT_EQ(
      fields({{a, Shape{3, 2}}, TensorView(zero_points, Shape{1, 3}), {b, Shape{2, 2}}, none, {out, Shape{3, 2}}}),
      Names{"AZeroPointTensor.Sizes[1]"});
  EXPECT_EQ(fields({{a, Shape{6}}, none, {b, Shape{6, 1}}, none, {out, Shape{1, 1}}}), Names{"ATensor.DimensionCount"});
  EXPECT_EQ(fields({{nullptr, Shape{2, 2}}, none, {b, Shape{2, 2}}, none, {out, Shape{2, 2}}}), Names{"ATensor"});
  const auto* inside = reinterpret_cast<const Byte*>(out) + 5;
  EXPECT_EQ(fields({{inside, Shape{2, 2}}, none, {b, Shape{2, 2}}, none, {out, Shape{2, 2}}}), Names{"OutputTensor"});
  EXPECT_TRUE(std::all_of(out, out + 8, [](std::int32_t value) { return value == 7; }));
}

}  // namespace
