#include "onnx/lowering.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "io/npy.hpp"
#include "onnx/operators.hpp"
#include "support/failure.hpp"
#include "support/memory.hpp"

namespace dmlref::tool::onnx {
namespace {

// The last opset whose operators were read; a later one may give another meaning to a name. 24 and 25 only add types to
// Constant, Identity, Reshape and Transpose, and leave the others as they are.
constexpr std::int64_t newest_opset = 25;

/// A shape with at least one dimension, as DxDispatch's files have.
Shape file_shape(Shape shape) {
  if (shape.empty()) shape.push_back(1);
  return shape;
}

}  // namespace

Program Lowering::run() {
  if (graph_.opset < 1 || graph_.opset > newest_opset) {
    throw Failure(graph_.file + ": opset_import",
                  fmt::format("is {}, expected an opset from 1 to {}", graph_.opset, newest_opset));
  }
  Faults faults;
  for (const Node& node : graph_.nodes) {
    for (const std::string& name : node.inputs) ++uses_[name];
  }
  for (const GraphValue& output : graph_.outputs) ++uses_[output.name];
  add_values();
  for (const Node& node : graph_.nodes) {
    if (depends_on_failed(node)) continue;
    try {
      lower(node);
    } catch (const Failure& failure) {
      faults.add(failure);
      failed_.insert(node.outputs.begin(), node.outputs.end());
    }
  }
  for (std::size_t i = 0; i < graph_.outputs.size(); ++i) faults.collect([&] { add_output(i); });
  faults.raise();
  if (program_.outputs.empty()) throw Failure(graph_.file, "has no output that is computed");
  return std::move(program_);
}

bool Lowering::depends_on_failed(const Node& node) {
  const bool depends = std::any_of(node.inputs.begin(), node.inputs.end(),
                                   [&](const std::string& name) { return !name.empty() && failed_.contains(name); });
  if (depends) failed_.insert(node.outputs.begin(), node.outputs.end());
  return depends;
}

void Lowering::reserve(const std::string& place, std::uint64_t bytes, std::string_view what) {
  try {
    memory_.add(bytes, what);
  } catch (const FileError& error) {
    throw Failure(fmt::format("{}: {}", graph_.file, place), error.what());
  }
}

void Lowering::lower(const Node& node) {
  // A value, a desc and its text, each with up to 32 sizes and strides.
  constexpr std::uint64_t node_cost = 8192;
  reserve(node.label, node_cost, "its operator");
  Context context(*this, node);
  const std::string type = node.domain + (node.domain.empty() ? "" : ".") + node.type;
  const Operator* row = find_operator(type);
  if (row == nullptr) context.fail(fmt::format("is {}, expected one of {}", type, operator_names()));
  if (graph_.opset < row->since) {
    context.fail(fmt::format("is {} of opset {}, expected {} or newer", node.type, graph_.opset, row->since));
  }
  if (node.outputs.empty() || node.outputs[0].empty()) context.fail("has no output, expected one");
  row->lower(context);
  context.expect_no_other_attributes();
}

Value Lowering::constant_value(const std::string& name, const Tensor& tensor) const {
  Value value;
  value.name = name;
  value.type = find_element_type(tensor.type);
  value.shape = tensor.shape;
  value.strides = packed_strides(tensor.shape);
  if (value.type == nullptr) {
    value.problem = fmt::format("is {}, expected an element type of DirectML", type_name(tensor.type));
  } else {
    value.stored = value.type->stored;
    value.constant = &tensor;
  }
  return value;
}

Value Lowering::input_value(const GraphValue& input, std::size_t index) const {
  const std::string stem = fmt::format("input_{}", index);
  if (index < sources_.inputs.size() && sources_.inputs[index]) {
    Value value = constant_value(input.name, *sources_.inputs[index]);
    value.file_stem = stem;
    value.constant_source = fmt::format("{}/{}.pb", sources_.folder, stem);
    return value;
  }
  Value value;
  value.name = input.name;
  value.file_stem = stem;
  value.type = input.is_tensor ? find_element_type(input.type) : nullptr;
  if (value.type == nullptr) {
    value.problem = input.is_tensor ? fmt::format("is {}, expected an element type of DirectML", type_name(input.type))
                                    : "is no tensor";
    return value;
  }
  value.stored = value.type->stored;
  if (!input.shape) {
    value.problem = "has no shape, expected a declared one or --data";
    return value;
  }
  std::uint64_t count = 1;
  for (const Dimension& dimension : *input.shape) {
    const std::uint64_t extent = dimension.extent.value_or(1);
    if (!dimension.extent) {
      value.problem = fmt::format("has an extent \"{}\", expected a number or --data", dimension.symbol);
    } else if (extent != 0 && count > (std::uint64_t{1} << 60) / extent) {
      value.problem = "has a shape that no memory holds";
    } else {
      count *= extent;
    }
    value.shape.push_back(extent);
  }
  value.strides = packed_strides(value.shape);
  return value;
}

void Lowering::add_values() {
  for (const auto& [name, tensor] : graph_.initializers) values_.emplace(name, constant_value(name, tensor));
  for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
    const std::string& name = graph_.inputs[i].name;
    const bool given = i < sources_.inputs.size() && sources_.inputs[i];
    // An input with an initializer has it as its default.
    if (given || !values_.contains(name)) values_.insert_or_assign(name, input_value(graph_.inputs[i], i));
  }
}

std::string Lowering::unique_name(std::string_view wanted) {
  constexpr std::size_t longest = 80;
  std::string name(wanted.substr(0, longest));
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && std::string_view("_.:/-").find(c) == std::string_view::npos) c = '_';
  }
  if (name.empty()) name = "_";
  if (names_.insert(name).second) return name;
  // No number is tried twice: of many equal names each takes one or two steps.
  for (int& number = last_numbers_.try_emplace(name, 1).first->second;;) {
    std::string unique = fmt::format("{}_{}", name, ++number);
    if (names_.insert(unique).second) return unique;
  }
}

std::string Lowering::add_resource(std::string_view wanted, DataType type, const Shape& shape, std::string file_stem,
                                   std::span<const std::byte> bytes) {
  ProgramResource resource;
  resource.name = unique_name(wanted);
  resource.type = type;
  resource.count = element_count(shape);
  if (!file_stem.empty()) {
    if (file_stem == "constant") file_stem = fmt::format("constant_{}", constants_++);
    resource.source = file_stem + ".npy";
    reserve(resource.source, bytes.size(), "its bytes");
    program_.files.push_back({resource.source, write_npy(type, file_shape(shape), bytes)});
  }
  program_.resources.push_back(resource);
  return resource.name;
}

std::string Lowering::resource_of(const Value& value) {
  if (!value.resource.empty()) return value.resource;
  Value& known = values_.find(value.name)->second;
  if (!known.resource.empty()) return known.resource;
  const std::string stem = value.file_stem.empty() ? "constant" : value.file_stem;
  if (value.constant != nullptr) {
    known.resource = add_resource(value.name, value.stored, value.shape, stem, value.constant->data);
  } else {
    const std::uint64_t bytes = element_count(value.shape) * size_of(value.stored);
    reserve(fmt::format("input \"{}\"", value.name), bytes, "zeros");
    known.resource = add_resource(value.name, value.stored, value.shape, stem,
                                  std::vector<std::byte>(static_cast<std::size_t>(bytes)));
  }
  return known.resource;
}

void Lowering::add_output(std::size_t i) {
  const std::string& name = graph_.outputs[i].name;
  if (not_computed_.contains(name) || failed_.contains(name)) {
    outputs_.emplace_back();
    return;
  }
  // The copy is a node of no file.
  Node node;
  node.label = fmt::format("output {} (\"{}\")", i, name);
  node.inputs = {name};
  const Context context(*this, node);
  Value value = context.input(0, "a value");
  const auto& declared = graph_.outputs[i].shape;
  bool same = !declared || declared->size() == value.shape.size();
  for (std::size_t d = 0; same && declared && d < value.shape.size(); ++d) {
    same = !(*declared)[d].extent || (*declared)[d].extent == value.shape[d];
  }
  if (!same || (graph_.outputs[i].is_tensor && graph_.outputs[i].type != value.type->code)) {
    context.fail(fmt::format("is declared otherwise than its nodes give it: {} [{}]", value.type->name,
                             fmt::join(value.shape, ", ")));
  }
  if (!value.packed() || !value.dispatched) value = context.copy(value);
  program_.outputs.push_back({value.resource, fmt::format("output_{}.npy", i), file_shape(value.shape)});
  outputs_.push_back(std::move(value));
}

}  // namespace dmlref::tool::onnx
