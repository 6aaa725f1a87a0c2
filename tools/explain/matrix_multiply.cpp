#include "explain/operators.hpp"
#include "explain/tensor_elements.hpp"

namespace dmlref::tool {
namespace {

/// The value of a row or a column of a tensor with one element, or with one for each.
std::optional<std::int64_t> integer_of(const std::optional<TensorElements>& tensor, Index index) {
  return tensor ? std::optional<std::int64_t>(tensor->integer(tensor->channel(index))) : std::nullopt;
}
float real_of(const TensorElements& tensor, Index index) { return tensor.real(tensor.channel(index)); }

/// Terms and sum; zero points are there already.
void add_terms(ProductExplanation& how, const TensorElements& a, const TensorElements& b, const Coordinates& at,
               std::size_t most) {
  const std::size_t row = at.size() - 2, column = at.size() - 1;
  const Index depth = a.shape()[column];
  how.term_count = static_cast<std::uint64_t>(depth);
  Coordinates in_a = at, in_b = at;
  for (Index k = 0; k < depth; ++k) {
    in_a[column] = in_b[row] = k;
    const std::int64_t x = a.integer(in_a), y = b.integer(in_b);
    const std::int64_t product = (x - how.a_zero_point.value_or(0)) * (y - how.b_zero_point.value_or(0));
    how.sum += product;
    if (how.terms.size() < most) {
      how.terms.push_back({Position(in_a.begin(), in_a.end()), x, Position(in_b.begin(), in_b.end()), y, product});
    }
  }
}

}  // namespace

Explanation explain(const MatrixMultiplyIntegerDesc& desc, std::span<const InputBuffer> inputs, const Coordinates& at,
                    std::size_t most) {
  const Index row = at[at.size() - 2], column = at[at.size() - 1];
  ProductExplanation how;
  how.is_integer = true;
  how.a_zero_point = integer_of(optional_elements(desc.a_zero_point, inputs[1]), row);
  how.b_zero_point = integer_of(optional_elements(desc.b_zero_point, inputs[3]), column);
  add_terms(how, TensorElements(desc.a, inputs[0]), TensorElements(desc.b, inputs[2]), at, most);
  return {"MATRIX_MULTIPLY_INTEGER", "INT32", modulo_value(at, how.sum), std::move(how)};
}

Explanation explain(const QuantizedLinearMatrixMultiplyDesc& desc, std::span<const InputBuffer> inputs,
                    const Coordinates& at, std::size_t most) {
  const Index row = at[at.size() - 2], column = at[at.size() - 1];
  ProductExplanation how;
  how.a_zero_point = integer_of(optional_elements(desc.a_zero_point, inputs[2]), row);
  how.b_zero_point = integer_of(optional_elements(desc.b_zero_point, inputs[5]), column);
  how.output_zero_point = integer_of(optional_elements(desc.output_zero_point, inputs[7]), row);
  how.a_scale = real_of(TensorElements(desc.a_scale, inputs[1]), row);
  how.b_scale = real_of(TensorElements(desc.b_scale, inputs[4]), column);
  how.output_scale = real_of(TensorElements(desc.output_scale, inputs[6]), row);
  add_terms(how, TensorElements(desc.a, inputs[0]), TensorElements(desc.b, inputs[3]), at, most);
  how.quotient = exact_quotient(how.sum, how.a_scale, how.b_scale, how.output_scale);
  const DataType type = desc.output.data_type;
  ElementValue output =
      quantized_value(type, at, how.quotient.rounded + how.output_zero_point.value_or(0), how.saturated);
  return {"QUANTIZED_LINEAR_MATRIX_MULTIPLY", std::string(to_string(type)), std::move(output), std::move(how)};
}

}  // namespace dmlref::tool
