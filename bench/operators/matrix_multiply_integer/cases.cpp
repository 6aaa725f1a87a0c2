#include "operators/matrix_multiply_integer/cases.hpp"

#include <algorithm>
#include <cmath>

#include "support/exact.hpp"

namespace bench {
namespace {

std::int16_t centered(std::uint8_t byte, bool is_signed, std::int32_t zero_point) {
  const std::int32_t value = is_signed ? static_cast<std::int8_t>(byte) : static_cast<std::int32_t>(byte);
  return static_cast<std::int16_t>(value - zero_point);
}

std::vector<std::int32_t> sums_of(const MatrixMultiplyProblem& p) {
  const std::size_t m = p.shape.m, k = p.shape.k, n = p.shape.n;
  std::vector<std::int32_t> sums(p.shape.products * m * n, 0);
  std::vector<std::int16_t> b(k * n);
  for (std::size_t product = 0; product < p.shape.products; ++product) {
    for (std::size_t i = 0; i < b.size(); ++i) {
      b[i] = centered(p.b[product * k * n + i], p.type.b_signed, p.b_zero_point);
    }
    for (std::size_t row = 0; row < m; ++row) {
      std::int32_t* const to = sums.data() + (product * m + row) * n;
      for (std::size_t i = 0; i < k; ++i) {
        const std::int32_t a = centered(p.a[(product * m + row) * k + i], p.type.a_signed, p.a_zero_point);
        const std::int16_t* const from = b.data() + i * n;
        for (std::size_t column = 0; column < n; ++column) to[column] += a * from[column];
      }
    }
  }
  return sums;
}

}  // namespace

double MatrixMultiplyProblem::ratio(std::size_t m, std::size_t n) const {
  return double{a_scale[a_scale.size() == 1 ? 0 : m]} * double{b_scale[b_scale.size() == 1 ? 0 : n]} /
         double{output_scale};
}

Outcome MatrixMultiplyProblem::compare(std::span<const std::byte> output) const {
  if (!type.quantized) return compare_exactly(sums, output);
  if (!type.a_signed) return compare_exactly(expected, output);
  return compare_exactly(std::vector<std::int8_t>(expected.begin(), expected.end()), output);
}

MatrixMultiplyProblem make_problem(const MatrixProduct& shape, const MatrixProductType& type) {
  MatrixMultiplyProblem p;
  p.shape = shape;
  p.type = type;
  Random random(20261127);
  p.a.resize(std::size_t{shape.products} * shape.m * shape.k);
  p.b.resize(std::size_t{shape.products} * shape.k * shape.n);
  for (std::uint8_t& x : p.a) x = static_cast<std::uint8_t>(random.next());
  for (std::uint8_t& x : p.b) x = static_cast<std::uint8_t>(random.next());
  p.a_zero_point = type.a_signed ? -5 : 123;
  if (type.has_b_zero_point) p.b_zero_point = type.b_signed ? 7 : 131;
  p.output_zero_point = type.a_signed ? 3 : 129;
  p.a_scale.resize(type.row_scales ? shape.m : 1);
  p.b_scale.resize(type.column_scales ? shape.n : 1);
  for (float& s : p.a_scale) s = static_cast<float>(0.01 + 0.01 * random.uniform());
  for (float& s : p.b_scale) s = static_cast<float>(0.002 + 0.002 * random.uniform());
  // Uniform bytes have a standard deviation of 74: the outputs get one of 45 around the zero point.
  p.output_scale = static_cast<float>(0.015 * 0.003 * 74.0 * 74.0 * std::sqrt(shape.k) / 45.0);
  p.sums = sums_of(p);
  if (!type.quantized) return p;
  p.expected.resize(p.count());
  const long low = type.a_signed ? -128 : 0;
  for (std::size_t i = 0; i < p.count(); ++i) {
    const std::size_t row = i / shape.n % shape.m, column = i % shape.n;
    const long double scales = static_cast<long double>(p.a_scale[type.row_scales ? row : 0]) *
                               static_cast<long double>(p.b_scale[type.column_scales ? column : 0]);
    const long double value = static_cast<long double>(p.sums[i]) * scales / static_cast<long double>(p.output_scale);
    const long rounded = std::lrint(std::clamp(value, -1000.0L, 1000.0L)) + p.output_zero_point;
    p.expected[i] = static_cast<std::uint8_t>(std::clamp(rounded, low, low + 255));
  }
  return p;
}

}  // namespace bench
