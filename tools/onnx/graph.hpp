// graph.hpp: an ONNX graph as plain values: what the lowering needs of the file, checked for form, not for meaning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dmlref/desc/data_type.hpp"
#include "support/memory.hpp"

namespace dmlref::tool::onnx {

/// ONNX's element types that have a counterpart in DirectML, or bits that can be moved as another type.
struct ElementType {
  std::int32_t code;      ///< TensorProto.DataType
  std::string_view name;  ///< ONNX's
  DataType stored;        ///< as a DirectML tensor
  bool arithmetic;        ///< false: `stored` has the same bits, but another meaning
};

/// The row of `code`; null where DirectML cannot hold the type.
const ElementType* find_element_type(std::int32_t code) noexcept;

/// ONNX's name, or the number.
std::string type_name(std::int32_t code);

using Shape = std::vector<std::uint64_t>;

/// As .npy files have at most.
inline constexpr std::size_t max_rank = 32;

/// 1 for a scalar. Every tensor that was read, and every shape that was computed, has less than 2^63 elements.
std::uint64_t element_count(const Shape& shape) noexcept;

struct Tensor {
  std::int32_t type = 0;  ///< TensorProto.DataType
  Shape shape;
  std::vector<std::byte> data;  ///< in C order; empty where the type has no ElementType
};

struct Attribute {
  enum class Kind { real, integer, text, reals, integers, tensor, other };
  std::string name;
  Kind kind = Kind::other;
  float real = 0;
  std::int64_t integer = 0;
  std::string text;
  std::vector<float> reals;
  std::vector<std::int64_t> integers;
  Tensor tensor;
};

struct Node {
  std::string label;  ///< `node 3 (Slice "name")`
  std::string domain;
  std::string type;
  std::vector<std::string> inputs;  ///< empty names: left out
  std::vector<std::string> outputs;
  std::vector<Attribute> attributes;
};

struct Dimension {
  std::optional<std::uint64_t> extent;  ///< empty: known only when the model runs
  std::string symbol;
};

/// An input or output of the graph.
struct GraphValue {
  std::string name;
  bool is_tensor = false;
  std::int32_t type = 0;
  std::optional<std::vector<Dimension>> shape;  ///< empty: not declared
};

struct Graph {
  std::string file;
  std::int64_t opset = 1;  ///< of ONNX's own operators
  std::vector<Node> nodes;
  std::vector<GraphValue> inputs;
  std::vector<GraphValue> outputs;
  std::map<std::string, Tensor, std::less<>> initializers;
  Reservation memory{};  ///< of all this
};

}  // namespace dmlref::tool::onnx
