// Transpose, Identity, Reshape: other shapes and strides of the same memory. Constant: a tensor of the file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

#include "onnx/operators.hpp"

namespace dmlref::tool::onnx {
namespace {

/// 0 keeps the input's extent (unless `allow_zero`), one -1 takes what is left.
Shape reshaped(const Context& node, const Shape& from, const std::vector<std::int64_t>& wanted, bool allow_zero) {
  const std::uint64_t count = element_count(from);
  const auto refuse = [&](const char* why) {
    node.fail(
        fmt::format("shape is [{}] for an input of [{}], {}", fmt::join(wanted, ", "), fmt::join(from, ", "), why));
  };
  if (wanted.size() > max_rank)
    node.fail(fmt::format("shape has {} extents, expected at most {}", wanted.size(), max_rank));
  Shape shape;
  std::optional<std::size_t> open;
  std::uint64_t known = 1;
  for (std::size_t d = 0; d < wanted.size(); ++d) {
    std::uint64_t extent = 1;
    if (wanted[d] == -1) {
      if (open) refuse("expected one -1 at most");
      open = d;
    } else if (wanted[d] == 0 && !allow_zero) {
      if (d >= from.size()) refuse("expected 0 only where the input has a dimension");
      extent = from[d];
    } else if (wanted[d] < 0) {
      refuse("expected extents from 0, or -1");
    } else {
      extent = static_cast<std::uint64_t>(wanted[d]);
    }
    if (extent != 0 && known > (std::uint64_t{1} << 60) / extent) refuse("expected as many elements as the input has");
    known *= extent;
    shape.push_back(extent);
  }
  if (open) {
    if (known == 0 || count % known != 0) refuse("expected extents that divide the input's elements");
    shape[*open] = count / known;
    known = count;
  }
  if (known != count) refuse("expected as many elements as the input has");
  return shape;
}

template <class T>
Tensor list(std::int32_t type, const std::vector<T>& values, bool scalar) {
  Tensor tensor;
  tensor.type = type;
  if (!scalar) tensor.shape = {values.size()};
  tensor.data.resize(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return tensor;
}

}  // namespace

void lower_identity(Context& node) { node.define_view(0, node.input(0, "input")); }

void lower_transpose(Context& node) {
  Value value = node.input(0, "data");
  const std::size_t rank = value.shape.size();
  std::vector<std::int64_t> order;
  if (const auto perm = node.integers("perm")) {
    order = *perm;
  } else {
    for (std::size_t d = rank; d-- > 0;) order.push_back(static_cast<std::int64_t>(d));
  }
  std::vector<bool> seen(rank);
  const Value from = value;
  for (std::size_t d = 0; d < order.size(); ++d) {
    const auto source = static_cast<std::size_t>(order[d]);
    if (order.size() != rank || order[d] < 0 || source >= rank || seen[source]) {
      node.fail_attribute("perm", fmt::format("is [{}], expected an order of {} axes", fmt::join(order, ", "), rank));
    }
    seen[source] = true;
    value.shape[d] = from.shape[source];
    value.strides[d] = from.strides[source];
  }
  if (order.size() != rank) node.fail_attribute("perm", fmt::format("is empty, expected an order of {} axes", rank));
  if (!value.packed()) {
    // A constant's bytes no longer lie in the order of the shape.
    value.resource = node.operand(from).resource;
    value.constant = nullptr;
  }
  node.define_view(0, value);
}

void lower_reshape(Context& node) {
  const Value input = node.input(0, "data");
  std::vector<std::int64_t> wanted;
  if (node.opset() >= 5) {
    wanted = node.integers_of_input(1, "shape");
  } else if (const auto attribute = node.integers("shape")) {
    wanted = *attribute;
  } else {
    node.fail_attribute("shape", "is missing, expected a list of integers");
  }
  const bool allow_zero = node.opset() >= 14 && node.integer("allowzero", 0) != 0;
  const Shape shape = reshaped(node, input.shape, wanted, allow_zero);
  Value value = node.packed(input);
  value.shape = shape;
  value.strides = packed_strides(shape);
  node.define_view(0, value);
}

void lower_constant(Context& node) {
  using Type = std::int32_t;
  constexpr Type real = 1;
  constexpr Type integer = 7;
  if (const Tensor* tensor = node.tensor("value")) return node.define_constant(0, *tensor);
  if (node.has_attribute("value_int")) {
    return node.define_constant(0, list<std::int64_t>(integer, {node.integer("value_int", 0)}, true));
  }
  if (node.has_attribute("value_float")) {
    return node.define_constant(0, list<float>(real, {node.real("value_float", 0)}, true));
  }
  if (const auto values = node.integers("value_ints")) return node.define_constant(0, list(integer, *values, false));
  if (const auto values = node.reals("value_floats")) return node.define_constant(0, list(real, *values, false));
  node.fail("has none of the attributes value, value_int, value_ints, value_float, value_floats");
}

}  // namespace dmlref::tool::onnx
