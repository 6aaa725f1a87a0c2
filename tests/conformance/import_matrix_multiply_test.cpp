// MatMulInteger and QLinearMatMul against plain loops with ONNX's broadcast.
#include <cmath>
#include <random>

#include "conformance/onnx_model.hpp"

namespace dmlref::test {
namespace {

class ImportMatrixMultiply : public ImportTest {};

template <class T>
::onnx::TensorProto eight(const Extents& dims, const std::vector<int>& values) {
  std::vector<T> narrow;
  for (const int value : values) narrow.push_back(static_cast<T>(value));
  return tensor(std::is_signed_v<T> ? Type::INT8 : Type::UINT8, dims, narrow);
}

::onnx::TensorProto int32(const Extents& dims, const std::vector<int>& values) {
  return tensor(Type::INT32, dims, std::vector<std::int32_t>(values.begin(), values.end()));
}

std::vector<int> random_ints(std::mt19937& random, std::int64_t count, int least) {
  std::vector<int> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(least + static_cast<int>(random() % 256));
  return values;
}

/// Factors of any shapes that broadcast; zero points: one, or one per row and per column.
struct MatMul {
  Extents a, b;
  std::vector<int> a_values, b_values;
  std::vector<int> a_zeros{0}, b_zeros{0};
  Extents y;

  MatMul(std::mt19937& random, Extents a_shape, Extents b_shape)
      : a(std::move(a_shape)),
        b(std::move(b_shape)),
        a_values(random_ints(random, count_of(a), 0)),
        b_values(random_ints(random, count_of(b), -128)) {}

  /// Sets y; the sums in row-major order.
  std::vector<int> sums() {
    Extents left = a, right = b;
    if (left.size() == 1) left.insert(left.begin(), 1);
    if (right.size() == 1) right.push_back(1);
    const std::int64_t rows = left[left.size() - 2], depth = left.back(), columns = right.back();
    Extents leading;
    const std::size_t count = (std::max)(left.size(), right.size()) - 2;
    const auto extent = [&](const Extents& shape, std::size_t d) -> std::int64_t {
      const std::size_t missing = count + 2 - shape.size();
      return d < missing ? 1 : shape[d - missing];
    };
    for (std::size_t d = 0; d < count; ++d) leading.push_back((std::max)(extent(left, d), extent(right, d)));
    std::vector<int> result;
    for (std::int64_t p = 0; p < count_of(leading); ++p) {
      std::int64_t in_a = 0, in_b = 0, rest = p, of_a = 1, of_b = 1;
      for (std::size_t d = count; d-- > 0; rest /= leading[d]) {
        if (extent(left, d) > 1) in_a += rest % leading[d] * of_a;
        if (extent(right, d) > 1) in_b += rest % leading[d] * of_b;
        of_a *= extent(left, d);
        of_b *= extent(right, d);
      }
      for (std::int64_t m = 0; m < rows; ++m) {
        for (std::int64_t n = 0; n < columns; ++n) {
          int sum = 0;
          const int za = a_zeros[a_zeros.size() == 1 ? 0 : static_cast<std::size_t>(m)];
          const int zb = b_zeros[b_zeros.size() == 1 ? 0 : static_cast<std::size_t>(n)];
          for (std::int64_t k = 0; k < depth; ++k) {
            sum += (a_values[static_cast<std::size_t>((in_a * rows + m) * depth + k)] - za) *
                   (b_values[static_cast<std::size_t>((in_b * depth + k) * columns + n)] - zb);
          }
          result.push_back(sum);
        }
      }
    }
    y = leading;
    if (a.size() > 1) y.push_back(rows);
    if (b.size() > 1) y.push_back(columns);
    return result;
  }
};

OnnxModel mat_mul_integer(const MatMul& c, const Extents& a_zeros, const Extents& b_zeros) {
  OnnxModel model(10);
  model.input("a", Type::UINT8, c.a)
      .output("y", Type::INT32, c.y)
      .initializer("b", eight<std::int8_t>(c.b, c.b_values));
  model.initializer("az", eight<std::uint8_t>(a_zeros, c.a_zeros))
      .initializer("bz", eight<std::int8_t>(b_zeros, c.b_zeros));
  model.node("MatMulInteger", {"a", "b", "az", "bz"}, {"y"});
  return model;
}

TEST_F(ImportMatrixMultiply, BroadcastsAsOnnxSays) {
  const struct {
    Extents a, b;
  } rows[] = {{{3, 4}, {4, 5}},
              {{2, 3, 4}, {4, 5}},
              {{3, 4}, {2, 4, 5}},
              {{2, 1, 3, 4}, {5, 4, 2}},
              {{1, 3, 4}, {2, 3, 4, 2}},
              {{4}, {4, 5}},
              {{3, 4}, {4}},
              {{4}, {4}},
              {{4}, {2, 3, 4, 5}},
              {{2, 2, 3, 1, 4}, {2, 2, 3, 4, 2}},
              {{2, 3, 2, 1, 3, 4}, {2, 4, 2}}};
  std::mt19937 random(1);
  for (const auto& row : rows) {
    MatMul c(random, row.a, row.b);
    c.a_zeros = {131};
    c.b_zeros = {-7};
    const std::vector<int> y = c.sums();
    SCOPED_TRACE(testing::PrintToString(row.a) + testing::PrintToString(row.b));
    expect_output(mat_mul_integer(c, {}, {1}), {eight<std::uint8_t>(c.a, c.a_values)}, int32(c.y, y));
    EXPECT_NE(imported_.out.find("operators: 1,"), std::string::npos) << imported_;
  }
}

TEST_F(ImportMatrixMultiply, TakesZeroPointsPerRowAndColumn) {
  std::mt19937 random(2);
  MatMul c(random, {2, 3, 4}, {2, 4, 5});
  c.a_zeros = {0, 128, 255};
  c.b_zeros = {0, -128, 127, 1, -1};
  const std::vector<int> y = c.sums();
  const struct { Extents a, b; } rows[] = {{{3}, {5}}, {{3, 1}, {1, 5}}, {{1, 3, 1}, {1, 1, 5}}};
  for (const auto& row : rows) {
    expect_output(mat_mul_integer(c, row.a, row.b), {eight<std::uint8_t>(c.a, c.a_values)}, int32(c.y, y));
  }
}

TEST_F(ImportMatrixMultiply, ReadsATransposedFactorInPlace) {
  std::mt19937 random(3);
  MatMul c(random, {3, 4}, {4, 5});
  const std::vector<int> y = c.sums();
  std::vector<int> transposed;
  for (std::size_t k = 0; k < 4; ++k) {
    for (std::size_t m = 0; m < 3; ++m) transposed.push_back(c.a_values[m * 4 + k]);
  }
  OnnxModel model(13);
  model.input("t", Type::UINT8, {4, 3})
      .output("y", Type::INT32, c.y)
      .initializer("b", eight<std::int8_t>(c.b, c.b_values));
  model.node("Transpose", {"t"}, {"a"}).node("MatMulInteger", {"a", "b"}, {"y"});
  expect_output(model, {eight<std::uint8_t>({4, 3}, transposed)}, int32(c.y, y));
  EXPECT_NE(imported_.out.find("operators: 1,"), std::string::npos) << imported_;
}

TEST_F(ImportMatrixMultiply, QuantizesPerRowAndColumn) {
  std::mt19937 random(4);
  MatMul c(random, {2, 3, 8}, {8, 5});
  c.a_zeros = {100, 128, 140};
  c.b_zeros = {3};
  const std::vector<int> sums = c.sums();
  // Powers of two: every product is exact.
  const std::vector<float> a_scales{0.5f, 1.0f, 0.25f}, b_scales{1.0f, 0.5f, 2.0f, 0.25f, 1.0f},
      y_scales{512, 1024, 256};
  const std::vector<int> y_zeros{128, 7, 250};
  std::vector<int> y;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::size_t n = i % 5, m = i / 5 % 3;
    const double value = std::nearbyint(static_cast<double>(sums[i]) * static_cast<double>(a_scales[m]) *
                                        static_cast<double>(b_scales[n]) / static_cast<double>(y_scales[m]));
    y.push_back(static_cast<int>(std::clamp<double>(value + y_zeros[m], 0, 255)));
  }
  OnnxModel model(13);
  model.input("a", Type::UINT8, c.a)
      .output("y", Type::UINT8, c.y)
      .initializer("b", eight<std::int8_t>(c.b, c.b_values));
  model.initializer("as", floats({3}, a_scales)).initializer("az", eight<std::uint8_t>({3}, c.a_zeros));
  model.initializer("bs", floats({5}, b_scales)).initializer("bz", eight<std::int8_t>({}, c.b_zeros));
  model.initializer("ys", floats({3}, y_scales)).initializer("yz", eight<std::uint8_t>({3}, y_zeros));
  model.node("QLinearMatMul", {"a", "as", "az", "b", "bs", "bz", "ys", "yz"}, {"y"});
  expect_output(model, {eight<std::uint8_t>(c.a, c.a_values)}, eight<std::uint8_t>(c.y, y));
}

TEST_F(ImportMatrixMultiply, RefusesWhatItCannotSay) {
  std::mt19937 random(5);
  const auto expect = [&](const Extents& a, const Extents& b, const Extents& a_zeros,
                          const std::vector<std::string>& why) {
    MatMul c(random, a, b);
    c.a_zeros.assign(static_cast<std::size_t>(count_of(a_zeros)), 1);
    c.y = {1};
    expect_refused(mat_mul_integer(c, a_zeros, {}), why, any_faults);
  };
  const std::string node = "node 0 (MatMulInteger): ";
  expect({3, 4}, {5, 4}, {}, {node + "has factors [3, 4] and [5, 4], expected as many columns of A as B has rows"});
  expect({2, 3, 4}, {3, 4, 5}, {}, {node + "has factors", "expected leading dimensions that broadcast"});
  expect({}, {4}, {}, {node + "has factors [] and [4], expected at least one dimension each"});
  expect({3, 4}, {4, 5}, {4}, {node + "a_zero_point is [4], expected one element or 3, one per row"});
  expect({3, 4}, {4, 5}, {1, 3}, {node + "a_zero_point is [1, 3], expected one element or 3"});
  expect({2, 3, 4}, {4, 5}, {2, 3, 1}, {node + "a_zero_point is [2, 3, 1], expected one element or 3"});
  expect({2, 1, 2, 3, 4}, {3, 1, 4, 5}, {}, {node + "has factors", "expected at most two leading dimensions"});
  OnnxModel model(10);
  model.input("a", Type::FLOAT, {2, 2}).output("y", Type::INT32, {2, 2});
  model.node("MatMulInteger", {"a", "a"}, {"y"});
  expect_refused(model, {node + "a is FLOAT, expected UINT8 or INT8"});
}

}  // namespace
}  // namespace dmlref::test
