// QuantizeLinear and DequantizeLinear: ELEMENT_WISE_QUANTIZE_LINEAR and ELEMENT_WISE_DEQUANTIZE_LINEAR. DirectML's
// scale and zero point have the input's sizes; what ONNX has once, per axis or per block is repeated by strides of 0.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

#include "onnx/operators.hpp"

namespace dmlref::tool::onnx {
namespace {

/// How the data are cut for scale and zero point.
struct Blocks {
  std::size_t axis = 0;
  std::uint64_t size = 0;  ///< elements of a block along the axis; 0: scale and zero point are one or per axis
  Shape data;              ///< the data's shape, where there are blocks with their axis as blocks and elements
};

Blocks read_blocks(Context& node, const Value& x) {
  Blocks blocks;
  blocks.data = x.shape.empty() ? Shape{1} : x.shape;
  const std::int64_t axis = node.integer("axis", 1);
  const std::int64_t size = node.integer("block_size", 0);
  if (size < 0) node.fail_attribute("block_size", fmt::format("is {}, expected 0 or more", size));
  blocks.size = static_cast<std::uint64_t>(size);
  // (The default axis need not exist where nothing is per axis.)
  const auto rank = static_cast<std::int64_t>(blocks.data.size());
  if (axis >= -rank && axis < rank)
    blocks.axis = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  else if (node.has_attribute("axis"))
    static_cast<void>(node.axis(axis, blocks.data.size(), "axis"));
  if (blocks.size == 0) return blocks;
  const std::uint64_t extent = blocks.data[blocks.axis];
  if (extent % blocks.size != 0) {
    node.fail_attribute("block_size", fmt::format("is {}, expected a divisor of the {} elements of axis {}",
                                                  blocks.size, extent, blocks.axis));
  }
  blocks.data[blocks.axis] = extent / blocks.size;
  blocks.data.insert(blocks.data.begin() + static_cast<std::ptrdiff_t>(blocks.axis) + 1, blocks.size);
  if (blocks.data.size() > max_rank) {
    node.fail(fmt::format("has blocks along axis {} of rank {}, expected at most {} dimensions", blocks.axis,
                          x.shape.size(), max_rank - 1));
  }
  return blocks;
}

/// A scale or zero point with the data's sizes, whose strides repeat it.
Operand repeated(Context& node, const Value& value, const Value& x, const Blocks& blocks, std::string_view what) {
  node.expect_numbers(value, what);
  const std::uint64_t count = element_count(value.shape);
  Operand operand = node.operand(value, {count});
  Dimensions strides(blocks.data.size(), 0);
  if (blocks.size != 0) {
    Shape expected = x.shape;
    expected[blocks.axis] /= blocks.size;
    if (value.shape != expected) {
      node.fail(fmt::format("{} is [{}], expected [{}]: one for each block", what, fmt::join(value.shape, ", "),
                            fmt::join(expected, ", ")));
    }
    const Dimensions steps = node.dimensions(packed_strides(value.shape));
    for (std::size_t d = 0; d < steps.size(); ++d) strides[d <= blocks.axis ? d : d + 1] = steps[d];
  } else if (count != 1) {
    const std::uint64_t extent = blocks.data[blocks.axis];
    if (value.shape.size() != 1 || count != extent) {
      node.fail(fmt::format("{} is [{}], expected one element or {}, one for each place of axis {}", what,
                            fmt::join(value.shape, ", "), extent, blocks.axis));
    }
    strides[blocks.axis] = 1;
  }
  operand.desc = TensorDesc(value.stored, node.dimensions(blocks.data), std::move(strides));
  return operand;
}

/// An attribute that names a type must name this one, or none.
void expect_type(Context& node, const char* attribute, const ElementType& type) {
  const std::int64_t given = node.integer(attribute, 0);
  if (given != 0 && find_element_type(static_cast<std::int32_t>(given)) != &type) {
    node.fail_attribute(attribute, fmt::format("is {}, expected 0 or that of {}", given, type.name));
  }
}

template <class Desc>
void lower(Context& node, const Value& x, const Value& scale, const std::optional<Value>& zero_point,
           std::string_view prefix, const ElementType& type, DataType stored) {
  node.expect_numbers(x, "x");
  const Blocks blocks = read_blocks(node, x);
  Desc desc;
  const Operand input = x.shape == blocks.data ? node.operand(x) : node.operand(x, blocks.data);
  const Operand by = repeated(node, scale, x, blocks, fmt::format("{}_scale", prefix));
  std::vector<Binding> bindings{{"InputTensor", input.resource}, {"ScaleTensor", by.resource}};
  desc.input = input.desc;
  desc.scale = by.desc;
  if (zero_point) {
    const Operand zero = repeated(node, *zero_point, x, blocks, fmt::format("{}_zero_point", prefix));
    desc.zero_point = zero.desc;
    bindings.emplace_back("ZeroPointTensor", zero.resource);
  }
  Value output = node.new_output(0, type, stored, x.shape);
  const Operand to = node.operand(output, blocks.data);
  desc.output = to.desc;
  bindings.emplace_back("OutputTensor", to.resource);
  output.dispatched = node.dispatch(desc, std::move(bindings));
  node.define(0, output);
}

}  // namespace

void lower_quantize_linear(Context& node) {
  const Value x = node.input(0, "x"), scale = node.input(1, "y_scale");
  const std::optional<Value> zero_point = node.optional_input(2);
  static_cast<void>(node.integer("saturate", 1));  // of 8-bit floats alone
  expect_type(node, "precision", *scale.type);
  const ElementType* type = zero_point ? zero_point->type : find_element_type(2);  // UINT8
  if (zero_point) {
    expect_type(node, "output_dtype", *type);
  } else if (const std::int64_t given = node.integer("output_dtype", 0); given != 0) {
    type = find_element_type(static_cast<std::int32_t>(given));
    if (type == nullptr || !type->arithmetic) {
      const std::string name = given < 1 || given > 64 ? "" : " (" + type_name(static_cast<std::int32_t>(given)) + ")";
      node.fail_attribute("output_dtype", fmt::format("is {}{}, expected a type of DirectML's numbers", given, name));
    }
  }
  lower<ElementWiseQuantizeLinearDesc>(node, x, scale, zero_point, "y", *type,
                                       zero_point ? zero_point->stored : type->stored);
}

void lower_dequantize_linear(Context& node) {
  const Value x = node.input(0, "x"), scale = node.input(1, "x_scale");
  expect_type(node, "output_dtype", *scale.type);
  lower<ElementWiseDequantizeLinearDesc>(node, x, scale, node.optional_input(2), "x", *scale.type, scale.stored);
}

}  // namespace dmlref::tool::onnx
