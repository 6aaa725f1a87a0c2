// reference_test.cpp: integer matrix products against exact integers, quantized ones against exact rationals: every
// output is the exact real value rounded once.
#include "dmlref/operators/matrix_multiply_integer/reference.hpp"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "dmlref/matrix_multiply_integer.hpp"
#include "support/matrix_multiply_case.hpp"
#include "support/reference_run.hpp"
#include "support/seed.hpp"

namespace {

using namespace dmlref;
using namespace dmlref::test;

using Byte = std::uint8_t;

// ---- the examples, in constant expressions ----

// ONNX's of QLinearMatMul.
static_assert([] {
  const Byte a[] = {208, 236, 0, 238, 3, 214, 255, 29};
  const Byte b[] = {152, 51, 244, 60, 26, 255, 0, 127, 246, 127, 254, 247};
  const float a_scale = 0.0066f, b_scale = 0.00705f, output_scale = 0.0107f;
  const Byte a_zero_point = 113, b_zero_point = 114, output_zero_point = 118;
  Byte out[6] = {};
  const Shape one{1};
  reference::quantized_linear_matrix_multiply(
      QuantizedLinearMatrixMultiplyTensors<Byte, Byte, Byte>{{a, Shape{2, 4}},
                                                             {&a_scale, one},
                                                             TensorView(&a_zero_point, one),
                                                             {b, Shape{4, 3}},
                                                             {&b_scale, one},
                                                             TensorView(&b_zero_point, one),
                                                             {&output_scale, one},
                                                             TensorView(&output_zero_point, one),
                                                             {out, Shape{2, 3}}});
  const Byte expected[] = {168, 115, 255, 1, 66, 151};
  return std::equal(out, out + 6, expected);
}());

// A scale and zero points per row, in a third dimension, against columns: {2, 1} by {1, 2}.
static_assert([] {
  const std::int8_t a[] = {3, -5}, b[] = {7, 2};
  const float a_scale[] = {1.0f, 0.5f}, b_scale[] = {1.0f, 3.0f}, output_scale[] = {2.0f, 1.0f};
  const std::int8_t a_zero_point[] = {1, -1}, b_zero_point[] = {0, 4};
  const Byte output_zero_point[] = {100, 10};
  Byte out[4] = {};
  const Shape rows{1, 2, 1}, columns{1, 1, 2};
  reference::quantized_linear_matrix_multiply(
      QuantizedLinearMatrixMultiplyTensors<std::int8_t, std::int8_t, Byte>{{a, Shape{2, 1}},
                                                                           {a_scale, rows},
                                                                           TensorView(a_zero_point, rows),
                                                                           {b, Shape{1, 2}},
                                                                           {b_scale, columns},
                                                                           TensorView(b_zero_point, columns),
                                                                           {output_scale, rows},
                                                                           TensorView(output_zero_point, rows),
                                                                           {out, Shape{2, 2}}});
  // 2 * 7 / 2 = 7; 2 * -2 * 3 / 2 = -6; -4 * 7 * 0.5 = -14; -4 * -2 * 0.5 * 3 = 12.
  const Byte expected[] = {107, 94, 0, 22};
  return std::equal(out, out + 4, expected);
}());

template <class Desc>
std::vector<std::byte> reference_output(const OperatorCase<Desc>& c) {
  const Report report = validate(c.desc, latest_feature_level);
  EXPECT_TRUE(report) << report.to_string();
  const std::vector<InputBuffer> inputs(c.inputs.begin(), c.inputs.end());
  std::vector<std::byte> output = c.output;
  dmlref_test::run_reference(c.desc, inputs, output);
  return output;
}

TEST(ReferenceMatrixMultiplyInteger, EqualsExactSums) {
  Random random(dmlref_test::test_seed());
  for (int i = 0; i < dmlref_test::rounds(1500) && !HasFailure(); ++i) {
    const ProductShape shape = random_product_shape(random);
    const auto layout = chance(random, 30) ? ProductLayout::packed : ProductLayout::any;
    const auto c = ProductMaker(random, shape, layout).integer();
    EXPECT_EQ(reference_output(c), expected_output(c)) << describe(shape);
  }
}

/// clamp(round half even(V) + zero point), V as IEEE 754 has it with unlimited precision and range.
std::int64_t quantized(std::int64_t sum, float a, float b, float out, std::int64_t zero_point, std::int64_t lowest) {
  const auto is_usual = [](float x) { return std::isfinite(x) && x != 0; };
  mpz_class rounded = 0;
  if (is_usual(a) && is_usual(b) && is_usual(out)) {
    const mpq_class value = mpq_class(mpz_class(static_cast<long>(sum))) * mpq_class(a) * mpq_class(b) / mpq_class(out);
    const mpq_class shifted = value + mpq_class(1, 2);
    mpz_fdiv_q(rounded.get_mpz_t(), shifted.get_num_mpz_t(), shifted.get_den_mpz_t());
    if (shifted.get_den() == 1 && mpz_odd_p(rounded.get_mpz_t())) --rounded;  // a tie
  } else {
    // A usual number counts by its sign alone: what is left is 0, infinite, or NaN.
    const auto sign = [&](float x) { return is_usual(x) ? std::copysign(1.0, x) : static_cast<double>(x); };
    const double value = static_cast<double>((sum > 0) - (sum < 0)) * sign(a) * sign(b) / sign(out);
    if (std::isinf(value)) rounded = value > 0 ? 1000 : -1000;
  }
  const mpz_class moved = rounded + mpz_class(static_cast<long>(zero_point));
  if (moved < lowest) return lowest;
  if (moved > lowest + 255) return lowest + 255;
  return moved.get_si();
}

/// What QUANTIZED_LINEAR_MATRIX_MULTIPLY must make of the case's output; counts outputs that are not clamped.
std::vector<std::byte> expected_output(const OperatorCase<QuantizedLinearMatrixMultiplyDesc>& c, std::size_t& inside) {
  std::vector<std::byte> output = c.output;
  const auto float_at = [](const std::vector<std::byte>& bytes, std::size_t place) {
    float value;
    std::memcpy(&value, bytes.data() + place * sizeof(value), sizeof(value));
    return value;
  };
  const auto& desc = c.desc;
  const std::int64_t lowest = desc.output.data_type == DataType::int8 ? -128 : 0;
  for (const ProductElement& e : product_elements(c, c.inputs[0], c.inputs[2], c.inputs[3], c.inputs[5])) {
    const auto& zero_points = desc.output_zero_point;
    const std::int64_t zero_point =
        zero_points ? byte_at(*zero_points, c.inputs[7], place_of_row(*zero_points, e.row)) : 0;
    const std::int64_t value =
        quantized(e.sum, float_at(c.inputs[1], place_of_row(desc.a_scale, e.row)),
                  float_at(c.inputs[4], place_of_column(desc.b_scale, e.column)),
                  float_at(c.inputs[6], place_of_row(desc.output_scale, e.row)), zero_point, lowest);
    inside += value != lowest && value != lowest + 255;
    output[e.place] = static_cast<std::byte>(value & 0xFF);
  }
  return output;
}

TEST(ReferenceQuantizedLinearMatrixMultiply, EqualsExactRationals) {
  Random random(dmlref_test::test_seed());
  std::size_t inside = 0, all = 0;
  for (int i = 0; i < dmlref_test::rounds(1500) && !HasFailure(); ++i) {
    const ProductShape shape = random_product_shape(random);
    const auto layout = chance(random, 30) ? ProductLayout::packed : ProductLayout::any;
    const auto c = ProductMaker(random, shape, layout).quantized();
    EXPECT_EQ(reference_output(c), expected_output(c, inside)) << describe(shape);
    all += static_cast<std::size_t>(shape.batch) * shape.channel * shape.m * shape.n;
  }
  std::printf("%zu outputs, %zu of them not clamped\n", all, inside);
  EXPECT_GT(inside, all / 6);
}

// 34000 * 255 * 255 = 2210850000 is beyond INT32.
TEST(ReferenceMatrixMultiplyInteger, WrapsModulo2To32) {
  const std::vector<Byte> a(34000, 255), b(34000, 255);
  std::int32_t sum = 0;
  reference::matrix_multiply_integer(MatrixMultiplyIntegerTensors<Byte, Byte>{
      {a.data(), Shape{1, 34000}}, std::nullopt, {b.data(), Shape{34000, 1}}, std::nullopt, {&sum, Shape{1, 1}}});
  EXPECT_EQ(sum, -2084117296);
}

TEST(ReferenceQuantizedLinearMatrixMultiply, SumsBeyondInt32) {
  const std::vector<Byte> a(34000, 255), b(34000, 255);
  const float one = 1.0f, out_scale = 1e7f;
  Byte out = 0;
  reference::quantized_linear_matrix_multiply(
      QuantizedLinearMatrixMultiplyTensors<Byte, Byte, Byte>{{a.data(), Shape{1, 34000}},
                                                             {&one, Shape{1}},
                                                             std::nullopt,
                                                             {b.data(), Shape{34000, 1}},
                                                             {&one, Shape{1}},
                                                             std::nullopt,
                                                             {&out_scale, Shape{1}},
                                                             std::nullopt,
                                                             {&out, Shape{1, 1}}});
  EXPECT_EQ(out, 221);
}

}  // namespace
