#include "onnx/context.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "dmlref/validate/validate.hpp"
#include "onnx/lowering.hpp"
#include "support/failure.hpp"

namespace dmlref::tool::onnx {

bool Value::packed() const noexcept {
  std::uint64_t expected = 1;
  for (std::size_t d = shape.size(); d-- > 0; expected *= shape[d]) {
    if (shape[d] != 1 && strides[d] != expected) return false;
  }
  return true;
}

Shape packed_strides(const Shape& shape) {
  Shape strides(shape.size());
  std::uint64_t step = 1;
  for (std::size_t d = shape.size(); d-- > 0; step *= shape[d]) strides[d] = step;
  return strides;
}

std::int64_t Context::opset() const { return lowering_.graph_.opset; }

void Context::fail(const std::string& what) const { throw Failure(lowering_.graph_.file + ": " + node_.label, what); }
void Context::fail_attribute(std::string_view name, const std::string& what) const {
  fail(fmt::format("attribute {}: {}", name, what));
}
void Context::note(const std::string& what) const {
  lowering_.notes_.push_back(fmt::format("{}: {}", node_.label, what));
}

bool Context::has_input(std::size_t index) const { return index < node_.inputs.size() && !node_.inputs[index].empty(); }

Value Context::input(std::size_t index, std::string_view what) const {
  if (!has_input(index)) fail(fmt::format("lacks input {} ({})", index, what));
  const std::string& name = node_.inputs[index];
  if (const auto other = lowering_.not_computed_.find(name); other != lowering_.not_computed_.end()) {
    fail(fmt::format("takes \"{}\", which is an output of {} that is not computed", name, other->second));
  }
  const auto found = lowering_.values_.find(name);
  if (found == lowering_.values_.end()) fail(fmt::format("takes \"{}\", which nothing gives", name));
  if (!found->second.problem.empty()) fail(fmt::format("takes \"{}\", which {}", name, found->second.problem));
  return found->second;
}

std::optional<Value> Context::optional_input(std::size_t index) const {
  if (!has_input(index)) return std::nullopt;
  return input(index, "");
}

const Tensor* Context::constant(const Value& value, std::string_view what) const {
  if (value.constant == nullptr || value.constant_source.empty()) return value.constant;
  std::string text = fmt::format("{}: {} is fixed to what {} has", node_.label, what, value.constant_source);
  if (lowering_.constants_noted_.insert(text).second) lowering_.notes_.push_back(std::move(text));
  return value.constant;
}

std::vector<std::int64_t> Context::integers_of_input(std::size_t index, std::string_view what) const {
  const Value value = input(index, what);
  const Tensor* tensor = constant(value, what);
  if (tensor == nullptr) {
    fail(fmt::format("{} (\"{}\") is known only when the model runs, expected an initializer, a Constant or --data",
                     what, value.name));
  }
  const bool wide = value.stored == DataType::int64;
  if ((!wide && value.stored != DataType::int32) || value.shape.size() > 1) {
    fail(fmt::format("{} is {} [{}], expected a list of INT32 or INT64", what, value.type->name,
                     fmt::join(value.shape, ", ")));
  }
  std::vector<std::int64_t> values(static_cast<std::size_t>(element_count(value.shape)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (wide) {
      std::memcpy(&values[i], tensor->data.data() + i * 8, 8);
    } else {
      std::int32_t narrow = 0;
      std::memcpy(&narrow, tensor->data.data() + i * 4, 4);
      values[i] = narrow;
    }
  }
  return values;
}

void Context::expect_numbers(const Value& value, std::string_view what) const {
  if (value.type->arithmetic) return;
  fail(fmt::format("{} is {}, expected a type of DirectML's numbers", what, value.type->name));
}

void Context::expect_eight_bits(const Value& value, std::string_view what) const {
  if (value.type->arithmetic && (value.stored == DataType::uint8 || value.stored == DataType::int8)) return;
  fail(fmt::format("{} is {}, expected UINT8 or INT8", what, value.type->name));
}

const Attribute* Context::attribute(std::string_view name, Attribute::Kind kind) {
  asked_.emplace(name);
  for (const Attribute& attribute : node_.attributes) {
    if (attribute.name != name) continue;
    if (attribute.kind != kind) fail_attribute(name, "is of another type than ONNX gives it");
    return &attribute;
  }
  return nullptr;
}

bool Context::has_attribute(std::string_view name) {
  return std::any_of(node_.attributes.begin(), node_.attributes.end(),
                     [&](const Attribute& attribute) { return attribute.name == name; });
}
std::int64_t Context::integer(std::string_view name, std::int64_t otherwise) {
  const Attribute* found = attribute(name, Attribute::Kind::integer);
  return found != nullptr ? found->integer : otherwise;
}
float Context::real(std::string_view name, float otherwise) {
  const Attribute* found = attribute(name, Attribute::Kind::real);
  return found != nullptr ? found->real : otherwise;
}
std::string Context::text(std::string_view name, std::string_view otherwise) {
  const Attribute* found = attribute(name, Attribute::Kind::text);
  return found != nullptr ? found->text : std::string(otherwise);
}
std::optional<std::vector<std::int64_t>> Context::integers(std::string_view name) {
  const Attribute* found = attribute(name, Attribute::Kind::integers);
  if (found == nullptr) return std::nullopt;
  return found->integers;
}
std::optional<std::vector<float>> Context::reals(std::string_view name) {
  const Attribute* found = attribute(name, Attribute::Kind::reals);
  if (found == nullptr) return std::nullopt;
  return found->reals;
}
const Tensor* Context::tensor(std::string_view name) {
  const Attribute* found = attribute(name, Attribute::Kind::tensor);
  return found != nullptr ? &found->tensor : nullptr;
}
void Context::expect_no_other_attributes() const {
  for (const Attribute& attribute : node_.attributes) {
    if (!asked_.contains(attribute.name)) {
      fail_attribute(attribute.name, fmt::format("is not known of {} in opset {}", node_.type, opset()));
    }
  }
}

std::int64_t Context::axis(std::int64_t axis, std::size_t rank, std::string_view what) const {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count) {
    fail(fmt::format("{} is {}, expected {} to {} for rank {}", what, axis, -count, count - 1, rank));
  }
  return axis < 0 ? axis + count : axis;
}

Dimensions Context::dimensions(const Shape& shape) const {
  Dimensions sizes;
  for (const std::uint64_t extent : shape) {
    if (extent > (std::numeric_limits<std::uint32_t>::max)()) {
      fail(fmt::format("has a tensor of shape [{}], expected extents and strides of 32 bits", fmt::join(shape, ", ")));
    }
    sizes.push_back(static_cast<std::uint32_t>(extent));
  }
  if (sizes.empty()) sizes.push_back(1);  // DirectML has no scalars
  return sizes;
}

Operand Context::operand(const Value& value) const {
  std::optional<Dimensions> strides;
  if (!value.packed()) strides = dimensions(value.strides);
  return {TensorDesc(value.stored, dimensions(value.shape), std::move(strides)), lowering_.resource_of(value)};
}

Operand Context::operand(const Value& value, const Shape& shape) const {
  const Value from = packed(value);
  return {TensorDesc(from.stored, dimensions(shape)), lowering_.resource_of(from)};
}

Value Context::packed(const Value& value) const {
  if (value.packed()) return value;
  return copy(value);
}

Value Context::copy(const Value& value) const {
  Value result = value;
  result.strides = packed_strides(value.shape);
  result.constant = nullptr;
  result.file_stem.clear();
  result.resource = lowering_.add_resource(value.name, value.stored, value.shape);
  Operand from = operand(value);
  if (value.packed()) from.desc = TensorDesc(value.stored, dimensions({element_count(value.shape)}));
  Slice1Desc desc;
  desc.input = from.desc;
  desc.output = TensorDesc(value.stored, from.desc.sizes);
  desc.window_offsets.assign(from.desc.sizes.size(), 0);
  desc.window_sizes = from.desc.sizes;
  desc.window_strides.assign(from.desc.sizes.size(), 1);
  result.dispatched = dispatch(desc, {{"InputTensor", from.resource}, {"OutputTensor", result.resource}}, "copy");
  return result;
}

Value Context::new_output(std::size_t index, const ElementType& type, DataType stored, const Shape& shape) const {
  if (index >= node_.outputs.size()) fail(fmt::format("lacks output {}", index));
  Value value;
  value.name = node_.outputs[index];
  value.type = &type;
  value.stored = stored;
  value.shape = shape;
  value.strides = packed_strides(shape);
  value.resource = lowering_.add_resource(value.name, stored, shape);
  return value;
}

Operand Context::real_operand(std::string_view name, float value, const Shape& shape) const {
  const std::string resource =
      lowering_.add_resource(name, DataType::float32, {1}, "constant", std::as_bytes(std::span(&value, 1)));
  return {TensorDesc(DataType::float32, dimensions(shape)), resource};
}

std::size_t Context::dispatch(const OperatorDesc& desc, std::vector<Binding> bindings, std::string_view name) const {
  check(desc);
  if (name.empty()) name = node_.type;
  lowering_.program_.dispatches.push_back({lowering_.unique_name(name), desc, std::move(bindings)});
  return lowering_.program_.dispatches.size() - 1;
}

void Context::check(const OperatorDesc& desc) const {
  const Report report = validate(desc, latest_feature_level);
  if (report) return;
  const Violation& first = report.violations().front();
  fail(fmt::format("{} [{}]", first.message, to_string(first.rule)));
}

void Context::define(std::size_t index, Value value) const {
  value.name = node_.outputs[index];
  value.constant = nullptr;
  lowering_.values_[value.name] = std::move(value);
}

void Context::define_view(std::size_t index, Value value) const {
  // A constant gets a file where an operator takes it; everything else has one resource under all its names.
  if (value.constant == nullptr || !value.file_stem.empty()) value.resource = lowering_.resource_of(value);
  value.dispatched.reset();
  value.name = node_.outputs[index];
  lowering_.values_[value.name] = std::move(value);
}

void Context::define_constant(std::size_t index, Tensor tensor) const {
  const std::string& name = node_.outputs[index];
  lowering_.reserve(node_.label, tensor.data.size(), "its constant");
  lowering_.values_[name] = lowering_.constant_value(name, lowering_.made_.emplace_back(std::move(tensor)));
}

void Context::not_computed(std::size_t first) const {
  for (std::size_t i = first; i < node_.outputs.size(); ++i) {
    if (node_.outputs[i].empty()) continue;
    lowering_.not_computed_[node_.outputs[i]] = node_.label;
    note(fmt::format("output {} (\"{}\") is not computed", i, node_.outputs[i]));
  }
}

OperatorDesc* Context::sole_dispatch_before(const Value& value) const {
  if (!value.dispatched || lowering_.uses_[value.name] != 1) return nullptr;
  return &lowering_.program_.dispatches[*value.dispatched].desc;
}

}  // namespace dmlref::tool::onnx
