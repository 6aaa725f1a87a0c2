// MatMulInteger: MATRIX_MULTIPLY_INTEGER. QLinearMatMul: QUANTIZED_LINEAR_MATRIX_MULTIPLY.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "onnx/operators.hpp"

namespace dmlref::tool::onnx {
namespace {

/// Two factors as DirectML has them: of one rank, 2 to 4, the same sizes but for the last two. ONNX's broadcast is a
/// stride of 0.
struct Factors {
  Value a, b;
  Shape output;           // of the products, with as many dimensions
  Shape declared_output;  // as ONNX declares it: without the dimension that a factor of one dimension lacks

  std::uint64_t rows() const { return a.shape[a.shape.size() - 2]; }
  std::uint64_t columns() const { return b.shape.back(); }
  std::size_t rank() const { return a.shape.size(); }
};

void insert_dimension(Value& value, std::size_t d) {
  value.shape.insert(value.shape.begin() + static_cast<std::ptrdiff_t>(d), 1);
  value.strides.insert(value.strides.begin() + static_cast<std::ptrdiff_t>(d), 0);
}

/// Makes one of two neighbouring dimensions, of which the first is `d`, where one stride leads through both.
bool can_merge(const Value& value, std::size_t d) {
  return value.shape[d] == 1 || value.shape[d + 1] == 1 ||
         value.strides[d] == value.strides[d + 1] * value.shape[d + 1];
}
void merge(Value& value, std::size_t d) {
  if (value.shape[d + 1] == 1) value.strides[d + 1] = value.strides[d];
  value.shape[d + 1] *= value.shape[d];
  value.shape.erase(value.shape.begin() + static_cast<std::ptrdiff_t>(d));
  value.strides.erase(value.strides.begin() + static_cast<std::ptrdiff_t>(d));
}

Factors read_factors(Context& node, const Value& given_a, const Value& given_b) {
  Factors f{given_a, given_b, {}, {}};
  const auto refuse = [&](std::string_view expected) {
    node.fail(fmt::format("has factors [{}] and [{}], expected {}", fmt::join(given_a.shape, ", "),
                          fmt::join(given_b.shape, ", "), expected));
  };
  const bool is_row = f.a.shape.size() == 1, is_column = f.b.shape.size() == 1;
  if (f.a.shape.empty() || f.b.shape.empty()) refuse("at least one dimension each");
  if (is_row) insert_dimension(f.a, 0);
  if (is_column) insert_dimension(f.b, 1);
  if (f.a.shape.back() != f.b.shape[f.b.shape.size() - 2]) refuse("as many columns of A as B has rows");
  while (f.a.shape.size() < f.b.shape.size()) insert_dimension(f.a, 0);
  while (f.b.shape.size() < f.a.shape.size()) insert_dimension(f.b, 0);
  for (std::size_t d = 0; d + 2 < f.rank(); ++d) {
    if (f.a.shape[d] != f.b.shape[d] && f.a.shape[d] != 1 && f.b.shape[d] != 1) {
      refuse("leading dimensions that broadcast");
    }
    const std::uint64_t extent = f.a.shape[d] == 1 ? f.b.shape[d] : f.a.shape[d];
    for (Value* value : {&f.a, &f.b}) {
      if (value->shape[d] == extent) continue;
      value->shape[d] = extent;
      value->strides[d] = 0;
    }
    f.declared_output.push_back(extent);
  }
  if (!is_row) f.declared_output.push_back(f.rows());
  if (!is_column) f.declared_output.push_back(f.columns());
  for (std::size_t d = 0; f.rank() > 4 && d + 3 < f.rank();) {
    if (!can_merge(f.a, d) || !can_merge(f.b, d)) {
      ++d;
      continue;
    }
    merge(f.a, d);
    merge(f.b, d);
  }
  if (f.rank() > 4) refuse("at most two leading dimensions that are no neighbours in memory");
  f.output = f.a.shape;
  f.output.back() = f.columns();
  return f;
}

enum class Along { rows, columns };

/// One element, or one per row or column; in as many dimensions as the factors.
Operand parameter(Context& node, const Value& value, const Factors& factors, Along direction, std::string_view what) {
  node.expect_numbers(value, what);
  const std::uint64_t count = element_count(value.shape);
  const bool rows = direction == Along::rows;
  const std::uint64_t values = rows ? factors.rows() : factors.columns();
  // One dimension is rows or columns; of more, all others are 1.
  const std::size_t rank = value.shape.size();
  const std::size_t place = rank < 2 ? 0 : rank - (rows ? 2 : 1);
  if (count != 1 && (count != values || value.shape[place] != values)) {
    node.fail(fmt::format("{} is [{}], expected one element{}", what, fmt::join(value.shape, ", "),
                          values > 1 ? fmt::format(" or {}, one per {}", values, rows ? "row" : "column") : ""));
  }
  Shape shape(factors.rank(), 1);
  shape[factors.rank() - (rows ? 2 : 1)] = count;
  return node.operand(value, shape);
}

/// Fills the desc and binds its tensors.
template <class Desc>
class Product {
 public:
  Product(Context& node, const Value& a, const Value& b) : node_(node) {
    node.expect_eight_bits(a, "a");
    node.expect_eight_bits(b, "b");
    factors_ = read_factors(node, a, b);
    // Their files have the shapes that ONNX gives them.
    factors_.a.resource = node.operand(a).resource;
    factors_.b.resource = node.operand(b).resource;
    bind("ATensor", node.operand(factors_.a), desc_.a);
    bind("BTensor", node.operand(factors_.b), desc_.b);
  }

  Desc& desc() noexcept { return desc_; }

  template <class Member>
  void rows(std::string_view name, const Value& value, std::string_view what, Member& member) {
    bind(name, parameter(node_, value, factors_, Along::rows, what), member);
  }
  template <class Member>
  void columns(std::string_view name, const Value& value, std::string_view what, Member& member) {
    bind(name, parameter(node_, value, factors_, Along::columns, what), member);
  }
  void finish(const ElementType& type, DataType stored) {
    Value output = node_.new_output(0, type, stored, factors_.declared_output);
    bind("OutputTensor", node_.operand(output, factors_.output), desc_.output);
    output.dispatched = node_.dispatch(desc_, bindings_);
    node_.define(0, output);
  }

 private:
  template <class Member>
  void bind(std::string_view name, const Operand& operand, Member& member) {
    member = operand.desc;
    bindings_.emplace_back(name, operand.resource);
  }

  Context& node_;
  Factors factors_;
  Desc desc_;
  std::vector<Binding> bindings_;
};

}  // namespace

void lower_mat_mul_integer(Context& node) {
  Product<MatrixMultiplyIntegerDesc> product(node, node.input(0, "A"), node.input(1, "B"));
  MatrixMultiplyIntegerDesc& desc = product.desc();
  if (const auto zero = node.optional_input(2)) {
    product.rows("AZeroPointTensor", *zero, "a_zero_point", desc.a_zero_point);
  }
  if (const auto zero = node.optional_input(3)) {
    product.columns("BZeroPointTensor", *zero, "b_zero_point", desc.b_zero_point);
  }
  const ElementType& int32 = *find_element_type(6);
  product.finish(int32, int32.stored);
}

void lower_qlinear_mat_mul(Context& node) {
  Product<QuantizedLinearMatrixMultiplyDesc> product(node, node.input(0, "a"), node.input(3, "b"));
  QuantizedLinearMatrixMultiplyDesc& desc = product.desc();
  const Value y_zero = node.input(7, "y_zero_point");
  product.rows("AScaleTensor", node.input(1, "a_scale"), "a_scale", desc.a_scale);
  product.rows("AZeroPointTensor", node.input(2, "a_zero_point"), "a_zero_point", desc.a_zero_point);
  product.columns("BScaleTensor", node.input(4, "b_scale"), "b_scale", desc.b_scale);
  product.columns("BZeroPointTensor", node.input(5, "b_zero_point"), "b_zero_point", desc.b_zero_point);
  product.rows("OutputScaleTensor", node.input(6, "y_scale"), "y_scale", desc.output_scale);
  product.rows("OutputZeroPointTensor", y_zero, "y_zero_point", desc.output_zero_point);
  product.finish(*y_zero.type, y_zero.stored);
}

}  // namespace dmlref::tool::onnx
