// lowering.hpp: from an ONNX graph to a DxDispatch model, node by node. operators.hpp says which function lowers which
// operator; the functions see the graph through Context alone.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/context.hpp"
#include "support/memory.hpp"

namespace dmlref::tool::onnx {

/// Where the values of the graph come from.
struct Sources {
  std::string folder;                         ///< of the data, as the user named it; empty: none was given
  std::vector<std::optional<Tensor>> inputs;  ///< by the graph's input; empty: no such file
  Reservation memory{};                       ///< of the inputs
};

/// Lowers a whole graph.
class Lowering {
 public:
  Lowering(const Graph& graph, const Sources& sources) : graph_(graph), sources_(sources) {}

  Program run();
  const std::vector<std::string>& notes() const noexcept { return notes_; }
  /// Of the graph's outputs: how each is stored; empty where it is not computed.
  const std::vector<std::optional<Value>>& outputs() const noexcept { return outputs_; }

 private:
  friend class Context;

  void add_values();
  void lower(const Node& node);
  /// Whether an input comes from a node that failed; its own outputs then count as failed, without another fault.
  bool depends_on_failed(const Node& node);
  void add_output(std::size_t i);
  Value input_value(const GraphValue& input, std::size_t index) const;
  Value constant_value(const std::string& name, const Tensor& tensor) const;
  /// The resource of `value`, which gets a file where it has none yet.
  std::string resource_of(const Value& value);
  /// Zeros where there is no stem of a file.
  std::string add_resource(std::string_view wanted, DataType type, const Shape& shape, std::string file_stem = {},
                           std::span<const std::byte> bytes = {});
  std::string unique_name(std::string_view wanted);
  /// Takes memory for what `place` of the graph becomes.
  void reserve(const std::string& place, std::uint64_t bytes, std::string_view what);

  const Graph& graph_;
  const Sources& sources_;
  Program program_;
  std::vector<std::string> notes_;
  std::map<std::string, Value, std::less<>> values_;
  std::map<std::string, std::string, std::less<>> not_computed_;  // name, node
  std::set<std::string, std::less<>> failed_;                     // outputs of nodes that could not be lowered
  std::map<std::string, std::size_t, std::less<>> uses_;
  std::set<std::string, std::less<>> names_;
  std::map<std::string, int, std::less<>> last_numbers_;  // behind names that are wanted again
  std::set<std::string, std::less<>> constants_noted_;
  std::vector<std::optional<Value>> outputs_;
  std::deque<Tensor> made_;  // of Constant nodes
  Reservation memory_;       // of all this
  std::size_t constants_ = 0;
};

}  // namespace dmlref::tool::onnx
