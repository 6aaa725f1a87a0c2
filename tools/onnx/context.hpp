// context.hpp: what the lowering of one operator sees of the graph, and does to the model.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onnx/graph.hpp"
#include "onnx/program.hpp"

namespace dmlref::tool::onnx {

/// A tensor of the graph.
struct Value {
  std::string name;
  const ElementType* type = nullptr;
  DataType stored = DataType::unknown;  ///< how its resource holds it
  Shape shape;
  Shape strides;                          ///< in elements; as many as `shape`
  std::string resource;                   ///< empty: no operator needed it yet
  std::string file_stem;                  ///< of the file of such a resource; empty: a constant
  const Tensor* constant = nullptr;       ///< empty: known only when the model runs
  std::string constant_source;            ///< the file of a constant that is no part of the ONNX file
  std::optional<std::size_t> dispatched;  ///< the dispatch whose output it is, unchanged
  std::string problem;                    ///< why no operator can take it; empty: none

  bool packed() const noexcept;
};

/// A tensor of a desc and the resource bound to it.
struct Operand {
  TensorDesc desc;
  std::string resource;
};

/// Tensor member of a desc, resource.
using Binding = std::pair<std::string_view, std::string>;

class Lowering;

/// What the lowering of one node sees and does. Whatever is wrong is a Failure that names the node.
class Context {
 public:
  Context(Lowering& lowering, const Node& node) : lowering_(lowering), node_(node) {}

  std::string_view type() const noexcept { return node_.type; }
  std::int64_t opset() const;

  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void fail_attribute(std::string_view name, const std::string& what) const;
  /// Says something to the user that is no failure.
  void note(const std::string& what) const;

  std::size_t output_count() const noexcept { return node_.outputs.size(); }
  bool has_input(std::size_t index) const;
  Value input(std::size_t index, std::string_view what) const;
  std::optional<Value> optional_input(std::size_t index) const;
  /// The input's integers (INT32 or INT64), which must be known now.
  std::vector<std::int64_t> integers_of_input(std::size_t index, std::string_view what) const;
  /// Null where `value` is known only when the model runs. `what` is noted where data of the user are made constant.
  const Tensor* constant(const Value& value, std::string_view what) const;

  /// Fails where `value` is BOOL or BFLOAT16: DirectML moves their bits, but takes them for other numbers.
  void expect_numbers(const Value& value, std::string_view what) const;
  /// Fails where `value` is neither UINT8 nor INT8.
  void expect_eight_bits(const Value& value, std::string_view what) const;

  // Attributes. One that is of another type than asked for, or never asked for, is a failure.
  bool has_attribute(std::string_view name);
  std::int64_t integer(std::string_view name, std::int64_t otherwise);
  float real(std::string_view name, float otherwise);
  std::string text(std::string_view name, std::string_view otherwise);
  std::optional<std::vector<std::int64_t>> integers(std::string_view name);
  std::optional<std::vector<float>> reals(std::string_view name);
  const Tensor* tensor(std::string_view name);
  /// Fails where the node has an attribute that nothing asked for.
  void expect_no_other_attributes() const;

  /// From 0; fails where `rank` has no such axis.
  std::int64_t axis(std::int64_t axis, std::size_t rank, std::string_view what) const;
  /// At least one; fails where one does not fit 32 bits.
  Dimensions dimensions(const Shape& shape) const;

  /// The value as it lies in its resource.
  Operand operand(const Value& value) const;
  /// The same elements under another shape; copied where they are not packed.
  Operand operand(const Value& value, const Shape& shape) const;
  /// Elements in C order: `value` itself where it is packed, else a copy by SLICE1.
  Value packed(const Value& value) const;
  Value copy(const Value& value) const;
  /// A new resource for the node's output.
  Value new_output(std::size_t index, const ElementType& type, DataType stored, const Shape& shape) const;
  /// A resource of the model's own with one FLOAT32.
  Operand real_operand(std::string_view name, float value, const Shape& shape) const;

  /// Adds an operator; fails where a rule of DirectML refuses it.
  std::size_t dispatch(const OperatorDesc& desc, std::vector<Binding> bindings, std::string_view name = {}) const;
  /// The output is a view of `value`.
  void define_view(std::size_t index, Value value) const;
  /// The output is `value`, the whole output of its dispatch.
  void define(std::size_t index, Value value) const;
  void define_constant(std::size_t index, Tensor tensor) const;
  /// The node's outputs from `first` on are not computed: noted where the graph gives them, a failure where a node
  /// takes them.
  void not_computed(std::size_t first) const;
  /// The desc whose output is `value` and used here alone; null where there is none.
  OperatorDesc* sole_dispatch_before(const Value& value) const;
  /// Checks a desc that was changed.
  void check(const OperatorDesc& desc) const;

 private:
  const Attribute* attribute(std::string_view name, Attribute::Kind kind);

  Lowering& lowering_;
  const Node& node_;
  std::set<std::string, std::less<>> asked_;
};

/// C-order strides.
Shape packed_strides(const Shape& shape);

}  // namespace dmlref::tool::onnx
