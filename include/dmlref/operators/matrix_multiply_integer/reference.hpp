// reference.hpp: MATRIX_MULTIPLY_INTEGER, and QUANTIZED_LINEAR_MATRIX_MULTIPLY: dequantize, multiply, quantize, with
// one rounding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "dmlref/config.hpp"
#include "dmlref/config/floating_point.hpp"
#include "dmlref/reference/parameters.hpp"
#include "dmlref/reference/quantize.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN

/// The tensors of MATRIX_MULTIPLY_INTEGER, as the document names them, of 2, 3 or 4 dimensions: a {…, M, K},
/// b {…, K, N}, output {…, M, N}. a_zero_point has one element, or one per row: {…, M, 1} or {M}; b_zero_point one, or
/// one per column: {…, 1, N} or {N}; each in 1 to 4 dimensions. `View` is TensorView or ByteTensorView.
template <class A, class B, template <class...> class View = TensorView>
struct MatrixMultiplyIntegerTensors {
  View<const A> a;
  std::optional<View<const A>> a_zero_point;  ///< absent: 0, as the other
  View<const B> b;
  std::optional<View<const B>> b_zero_point;
  View<std::int32_t> output;
};

/// The tensors of QUANTIZED_LINEAR_MATRIX_MULTIPLY, as the document names them, of 2, 3 or 4 dimensions: a {…, M, K},
/// b {…, K, N}, output {…, M, N}. Scales and zero points of a and output have one element, or one per row: {…, M, 1};
/// those of b one, or one per column: {…, 1, N} or {N}; all six in one number of dimensions, 1 to 4.
template <class A, class B, class Out, template <class...> class View = TensorView>
struct QuantizedLinearMatrixMultiplyTensors {
  View<const A> a;
  View<const float> a_scale;
  std::optional<View<const A>> a_zero_point;  ///< absent: 0, as the others
  View<const B> b;
  View<const float> b_scale;
  std::optional<View<const B>> b_zero_point;
  View<const float> output_scale;
  std::optional<View<const Out>> output_zero_point;
  View<Out> output;
};

namespace reference {

using dmlref::MatrixMultiplyIntegerTensors;
using dmlref::QuantizedLinearMatrixMultiplyTensors;

/// Neighbouring elements of one row of the output.
struct RowSegment {
  Index product = 0;  ///< the row's product, counted in row-major order
  Index row = 0;
  Index first = 0;  ///< columns [first, last)
  Index last = 0;
};

namespace detail {

/// Element (row 0, column 0) of product `product`, counted in row-major order over all dimensions but the last two.
constexpr Index first_of_product(const Layout& layout, Index product) noexcept {
  Index at = layout.offset;
  for (std::size_t d = layout.rank() - 2; d-- > 0;) {
    at += product % layout.shape[d] * layout.strides[d];
    product /= layout.shape[d];
  }
  return at;
}
constexpr Index step_of_rows(const Layout& layout) noexcept { return layout.strides[layout.rank() - 2]; }
constexpr Index step_of_columns(const Layout& layout) noexcept { return layout.strides[layout.rank() - 1]; }

/// How many products there are.
constexpr Index product_count(const Shape& shape) noexcept {
  Index count = 1;
  for (std::size_t d = 0; d + 2 < shape.size(); ++d) count *= shape[d];
  return count;
}

/// Calls `store(index, column, sum)` for each element of a segment: where it lies, and the exact sum of
/// (A[row, k] - its zero point) * (B[k, column] - its zero point) over k.
template <class Tensors, class Store>
constexpr void for_each_sum(const Tensors& tensors, const RowSegment& segment, const Store& store) noexcept {
  const Layout& a = tensors.a.layout();
  const Layout& b = tensors.b.layout();
  const Layout& output = tensors.output.layout();
  const Index depth = a.shape[a.rank() - 1];
  const Index a_step = step_of_columns(a), b_step = step_of_rows(b);
  const Index a_first = first_of_product(a, segment.product) + segment.row * step_of_rows(a);
  const Index b_first = first_of_product(b, segment.product);
  const Index output_first = first_of_product(output, segment.product) + segment.row * step_of_rows(output);
  const int a_zero_point = load_channel(tensors.a_zero_point, segment.row);
  for (Index column = segment.first; column < segment.last; ++column) {
    const int b_zero_point = load_channel(tensors.b_zero_point, column);
    const Index b_column = b_first + column * step_of_columns(b);
    // There are fewer than 2^32 of them, and each difference is at most 255: |sum| < 2^48.
    std::int64_t sum = 0;
    for (Index k = 0; k < depth; ++k) {
      sum += (tensors.a.access().load(a_first + k * a_step) - a_zero_point) *
             (tensors.b.access().load(b_column + k * b_step) - b_zero_point);
    }
    store(output_first + column * step_of_columns(output), column, sum);
  }
}

template <class Tensors, class Multiply>
constexpr void for_each_row(const Tensors& tensors, const Multiply& multiply) noexcept {
  const Shape& shape = tensors.output.shape();
  const Index rows = shape[shape.size() - 2], columns = shape[shape.size() - 1];
  for (Index product = 0; product < product_count(shape); ++product) {
    for (Index row = 0; row < rows; ++row) multiply(RowSegment{product, row, 0, columns});
  }
}

}  // namespace detail

/// A segment of the output: sums modulo 2^32.
template <class A, class B, template <class...> class View>
constexpr void matrix_multiply_integer(const MatrixMultiplyIntegerTensors<A, B, View>& tensors,
                                       const RowSegment& segment) noexcept {
  detail::for_each_sum(tensors, segment, [&](Index index, Index, std::int64_t sum) {
    tensors.output.access().store(index, static_cast<std::int32_t>(static_cast<std::uint32_t>(sum)));
  });
}

/// DML_OPERATOR_MATRIX_MULTIPLY_INTEGER on views of any strides.
template <class A, class B, template <class...> class View>
constexpr void matrix_multiply_integer(const MatrixMultiplyIntegerTensors<A, B, View>& tensors) noexcept {
  detail::for_each_row(tensors, [&](const RowSegment& row) { matrix_multiply_integer(tensors, row); });
}

/// A segment of the output. The caller's floating-point environment does not matter.
template <class A, class B, class Out, template <class...> class View>
constexpr void quantized_linear_matrix_multiply(const QuantizedLinearMatrixMultiplyTensors<A, B, Out, View>& tensors,
                                                const RowSegment& segment) noexcept {
  dmlref::detail::in_default_environment([&] {
    const float a_scale = detail::load_channel(tensors.a_scale, segment.row);
    const float output_scale = detail::load_channel(tensors.output_scale, segment.row);
    const Out output_zero_point = detail::load_channel(tensors.output_zero_point, segment.row);
    detail::for_each_sum(tensors, segment, [&](Index index, Index column, std::int64_t sum) {
      const RequantizeScale scale(a_scale, detail::load_channel(tensors.b_scale, column), output_scale);
      tensors.output.access().store(index, requantize<Out>(sum, scale, output_zero_point));
    });
  });
}

/// DML_OPERATOR_QUANTIZED_LINEAR_MATRIX_MULTIPLY on views of any strides.
template <class A, class B, class Out, template <class...> class View>
constexpr void quantized_linear_matrix_multiply(
    const QuantizedLinearMatrixMultiplyTensors<A, B, Out, View>& tensors) noexcept {
  detail::for_each_row(tensors, [&](const RowSegment& row) { quantized_linear_matrix_multiply(tensors, row); });
}

// ONNX's example of MatMulInteger: one zero point, and one per row.
static_assert([] {
  const std::uint8_t a[] = {11, 7, 3, 10, 6, 2, 9, 5, 1, 8, 4, 0};
  const std::uint8_t b[] = {1, 4, 2, 5, 3, 6};
  const std::uint8_t one[] = {12}, rows[] = {12, 0, 1, 2};
  std::int32_t out[8] = {}, out_rows[8] = {};
  const auto multiply = [&](const std::uint8_t* zero_points, Index count, std::int32_t* to) {
    matrix_multiply_integer(MatrixMultiplyIntegerTensors<std::uint8_t, std::uint8_t>{
        {a, Shape{4, 3}}, TensorView(zero_points, Shape{count}), {b, Shape{3, 2}}, std::nullopt, {to, Shape{4, 2}}});
  };
  multiply(one, 1, out);
  multiply(rows, 4, out_rows);
  const std::int32_t expected[] = {-38, -83, -44, -98, -50, -113, -56, -128};
  const std::int32_t expected_rows[] = {-38, -83, 28, 82, 16, 52, 4, 22};
  for (int i = 0; i < 8; ++i) {
    if (out[i] != expected[i] || out_rows[i] != expected_rows[i]) return false;
  }
  return true;
}());

}  // namespace reference
DMLREF_END
