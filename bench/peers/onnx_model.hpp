// onnx_model.hpp: ONNX models of a few nodes as protobuf bytes, so that no protobuf library is needed.
//
// Only the fields that such a model has; numbers in comments are the field numbers of onnx.proto.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace bench::onnx {

/// TensorProto.DataType.
enum class Type { float32 = 1, uint8 = 2, int8 = 3, int32 = 6, int64 = 7, float16 = 10, float64 = 11 };

namespace wire {

inline void varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}
inline void number(std::string& out, unsigned field, std::int64_t value) {
  varint(out, field << 3);
  varint(out, static_cast<std::uint64_t>(value));
}
inline void bytes(std::string& out, unsigned field, const std::string& value) {
  varint(out, field << 3 | 2);
  varint(out, value.size());
  out.append(value);
}
inline void real(std::string& out, unsigned field, float value) {
  varint(out, field << 3 | 5);
  char raw[4];
  std::memcpy(raw, &value, 4);
  out.append(raw, 4);
}

}  // namespace wire

/// A tensor's name, element type and sizes: a ValueInfoProto.
struct Value {
  std::string name;
  Type type = Type::float32;
  std::vector<std::int64_t> dims;

  std::string serialize() const {
    std::string shape, tensor, kind, out;
    for (const std::int64_t d : dims) {
      std::string dim;
      wire::number(dim, 1, d);     // Dimension.dim_value
      wire::bytes(shape, 1, dim);  // TensorShapeProto.dim
    }
    wire::number(tensor, 1, static_cast<std::int64_t>(type));  // Tensor.elem_type
    wire::bytes(tensor, 2, shape);                             // Tensor.shape
    wire::bytes(kind, 1, tensor);                              // TypeProto.tensor_type
    wire::bytes(out, 1, name);
    wire::bytes(out, 2, kind);
    return out;
  }
};

/// A NodeProto.
struct Node {
  std::string op, domain;
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> attributes{};  ///< serialized AttributeProtos

  void integer(const char* name, std::int64_t value) {
    std::string a = named(name, 2);
    wire::number(a, 3, value);
    attributes.push_back(a);
  }
  void real(const char* name, float value) {
    std::string a = named(name, 1);
    wire::real(a, 2, value);
    attributes.push_back(a);
  }
  void integers(const char* name, const std::vector<std::int64_t>& values) {
    std::string a = named(name, 7);
    for (const std::int64_t v : values) wire::number(a, 8, v);
    attributes.push_back(a);
  }
  std::string serialize() const {
    std::string out;
    for (const std::string& i : inputs) wire::bytes(out, 1, i);
    for (const std::string& o : outputs) wire::bytes(out, 2, o);
    wire::bytes(out, 4, op);
    for (const std::string& a : attributes) wire::bytes(out, 5, a);
    if (!domain.empty()) wire::bytes(out, 7, domain);
    return out;
  }

 private:
  static std::string named(const char* name, std::int64_t type) {
    std::string a;
    wire::bytes(a, 1, name);
    wire::number(a, 20, type);  // AttributeProto.type: FLOAT 1, INT 2, INTS 7
    return a;
  }
};

/// A ModelProto with inputs, one output, constants and nodes in order.
struct Model {
  std::vector<Value> inputs;
  Value output;
  std::vector<Node> nodes;
  std::vector<std::string> constants;  ///< serialized TensorProtos

  void constant(const std::string& name, Type type, const std::vector<std::int64_t>& dims, const void* data,
                std::size_t size) {
    std::string out;
    for (const std::int64_t d : dims) wire::number(out, 1, d);
    wire::number(out, 2, static_cast<std::int64_t>(type));
    wire::bytes(out, 8, name);
    wire::bytes(out, 9, std::string(static_cast<const char*>(data), size));  // raw_data
    constants.push_back(out);
  }

  std::string serialize() const {
    std::string graph, model;
    for (const Node& node : nodes) wire::bytes(graph, 1, node.serialize());
    wire::bytes(graph, 2, "bench");
    for (const std::string& c : constants) wire::bytes(graph, 5, c);
    for (const Value& input : inputs) wire::bytes(graph, 11, input.serialize());
    wire::bytes(graph, 12, output.serialize());
    wire::number(model, 1, 10);  // ir_version
    wire::bytes(model, 7, graph);
    for (const auto& [domain, version] : {std::pair<const char*, int>{"", 21}, {"com.microsoft", 1}}) {
      std::string opset;
      wire::bytes(opset, 1, domain);
      wire::number(opset, 2, version);
      wire::bytes(model, 8, opset);
    }
    return model;
  }
};

}  // namespace bench::onnx
