// rules.hpp: the rules of MATRIX_MULTIPLY_INTEGER and QUANTIZED_LINEAR_MATRIX_MULTIPLY.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "dmlref/config.hpp"
#include "dmlref/operators/matrix_multiply_integer/desc.hpp"
#include "dmlref/operators/matrix_multiply_integer/schema.hpp"
#include "dmlref/validate/tensor.hpp"

DMLREF_BEGIN
namespace rules {

/// The size of the dimension that stands `d` before the last one; 0 where there is none to compare with.
inline std::uint32_t size_before_last(const TensorFacts& tensor, std::size_t d) {
  return d < tensor.sizes.size() ? tensor.sizes[tensor.sizes.size() - 1 - d] : 0;
}

/// Each a dimension counted from the last one. A size of 0 is reported already, or not known.
inline void check_product_size(Report& report, RuleId rule, const TensorFacts& tensor, std::size_t d,
                               const TensorFacts& other, std::size_t other_d) {
  const std::uint32_t size = size_before_last(tensor, d), expected = size_before_last(other, other_d);
  if (size == 0 || expected == 0 || size == expected) return;
  report.add(rule, size_field(tensor, tensor.sizes.size() - 1 - d),
             {"is ", size, ", expected ", expected, " as ", size_field(other, other.sizes.size() - 1 - other_d)});
}

/// A {…, M, K} by B {…, K, N} is the output {…, M, N}, the same number of times.
inline void check_products(Report& report, const TensorFacts& a, const TensorFacts& b, const TensorFacts& output) {
  const bool b_fits = b.sizes.size() == a.sizes.size(), output_fits = output.sizes.size() == a.sizes.size();
  for (const auto* tensor : {&b, &output}) {
    if (tensor->sizes.size() != a.sizes.size()) continue;
    for (std::size_t d = a.sizes.size(); d-- > 2;) {
      check_product_size(report, RuleId::matrix_multiply_batch, *tensor, d, a, d);
    }
  }
  if (b_fits) check_product_size(report, RuleId::matrix_multiply_inner_size, b, 1, a, 0);
  if (output_fits) check_product_size(report, RuleId::matrix_multiply_output_size, output, 1, a, 1);
  if (output.sizes.size() == b.sizes.size()) {
    check_product_size(report, RuleId::matrix_multiply_output_size, output, 0, b, 0);
  }
}

/// One value, or as many as `of` has elements in dimension `d`, counted from the last one. They stand in dimension
/// `place`, counted so too; none where there is no place.
inline void check_values_along(Report& report, RuleId rule, const TensorFacts& tensor, std::optional<std::size_t> place,
                               const TensorFacts& of, std::size_t d) {
  const std::uint32_t count = size_before_last(of, d);
  for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
    const std::uint32_t size = tensor.size(i);
    const bool here = place && tensor.sizes.size() - 1 - i == *place;
    if (size <= 1 || (here && (count == 0 || size == count))) continue;
    report.add(rule, size_field(tensor, i),
               {"is ", size, ", expected 1",
                here ? text_of({", or ", count, " as ", size_field(of, of.sizes.size() - 1 - d)}) : ""});
  }
}

/// What a tensor with values per row has in its only dimension: the rows, or the columns, of which it has one.
enum class OneDimension { is_rows, is_columns };

inline void check_row_values(Report& report, const TensorFacts& tensor, const TensorFacts& of, OneDimension one) {
  std::optional<std::size_t> place;
  if (tensor.sizes.size() > 1) place = 1;
  if (tensor.sizes.size() == 1 && one == OneDimension::is_rows) place = 0;
  check_values_along(report, RuleId::matrix_multiply_row_values, tensor, place, of, 1);
}
inline void check_column_values(Report& report, const TensorFacts& tensor, const TensorFacts& of) {
  check_values_along(report, RuleId::matrix_multiply_column_values, tensor, 0, of, 0);
}

/// Leaves out the sizes of tensors whose number of dimensions no level takes.
template <class Desc>
void keep_known_ranks(Facts<Desc>& facts) {
  for_each_tensor(facts, [](TensorFacts& tensor) {
    if (!has_known_rank(tensor)) tensor.sizes = {};
  });
}

inline void check_facts(Report& report, FeatureLevel level, Facts<MatrixMultiplyIntegerDesc> facts) {
  using Desc = MatrixMultiplyIntegerDesc;
  const TensorFacts& a = fact<&Desc::a>(facts);
  const TensorFacts& a_zero_point = fact<&Desc::a_zero_point>(facts);
  const TensorFacts& b = fact<&Desc::b>(facts);
  const TensorFacts& b_zero_point = fact<&Desc::b_zero_point>(facts);
  const TensorFacts& output = fact<&Desc::output>(facts);
  check_tensor(report, level, Direction::input, a);
  check_tensor(report, level, Direction::input, a_zero_point, &a);
  check_tensor(report, level, Direction::input, b, nullptr, &a);
  check_tensor(report, level, Direction::input, b_zero_point, &b);
  check_tensor(report, level, Direction::output, output, nullptr, &a);
  keep_known_ranks(facts);
  check_products(report, a, b, output);
  check_row_values(report, a_zero_point, a, OneDimension::is_rows);
  check_column_values(report, b_zero_point, b);
}

inline void check_facts(Report& report, FeatureLevel level, Facts<QuantizedLinearMatrixMultiplyDesc> facts) {
  using Desc = QuantizedLinearMatrixMultiplyDesc;
  const TensorFacts& a = fact<&Desc::a>(facts);
  const TensorFacts& a_scale = fact<&Desc::a_scale>(facts);
  const TensorFacts& a_zero_point = fact<&Desc::a_zero_point>(facts);
  const TensorFacts& b = fact<&Desc::b>(facts);
  const TensorFacts& b_scale = fact<&Desc::b_scale>(facts);
  const TensorFacts& b_zero_point = fact<&Desc::b_zero_point>(facts);
  const TensorFacts& output_scale = fact<&Desc::output_scale>(facts);
  const TensorFacts& output_zero_point = fact<&Desc::output_zero_point>(facts);
  const TensorFacts& output = fact<&Desc::output>(facts);
  check_tensor(report, level, Direction::input, a);
  check_tensor(report, level, Direction::input, a_scale);
  check_tensor(report, level, Direction::input, a_zero_point, &a, &a_scale);
  check_tensor(report, level, Direction::input, b, nullptr, &a);
  check_tensor(report, level, Direction::input, b_scale, nullptr, &a_scale);
  check_tensor(report, level, Direction::input, b_zero_point, &b, &a_scale);
  check_tensor(report, level, Direction::input, output_scale, nullptr, &a_scale);
  check_tensor(report, level, Direction::input, output_zero_point, &output, &a_scale);
  check_tensor(report, level, Direction::output, output, nullptr, &a);
  keep_known_ranks(facts);
  check_products(report, a, b, output);
  check_row_values(report, a_scale, a, OneDimension::is_columns);
  check_row_values(report, a_zero_point, a, OneDimension::is_columns);
  check_column_values(report, b_scale, b);
  check_column_values(report, b_zero_point, b);
  check_row_values(report, output_scale, output, OneDimension::is_columns);
  check_row_values(report, output_zero_point, output, OneDimension::is_columns);
}

}  // namespace rules
DMLREF_END
