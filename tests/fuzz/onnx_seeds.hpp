// onnx_seeds.hpp: small ONNX files, one an operator, written field by field: neither protobuf nor data of others.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace dmlref_test {

/// A message of protocol buffers.
class Message {
 public:
  Message& number(unsigned field, std::uint64_t value) {
    varint(field << 3);
    varint(value);
    return *this;
  }
  Message& bytes(unsigned field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    text_ += value;
    return *this;
  }
  Message& real(unsigned field, float value) {
    varint(field << 3 | 5);
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (unsigned shift = 0; shift < 32; shift += 8) text_ += static_cast<char>(bits >> shift);
    return *this;
  }
  Message& message(unsigned field, const Message& value) { return bytes(field, value.text_); }
  const std::string& text() const { return text_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

// Field numbers are those of onnx.proto.
enum OnnxType : unsigned { onnx_float = 1, onnx_uint8 = 2, onnx_int8 = 3, onnx_int32 = 6, onnx_int64 = 7 };

inline Message onnx_value(std::string_view name, OnnxType type, const std::vector<unsigned>& shape) {
  Message dimensions;
  for (const unsigned extent : shape) dimensions.message(1, Message().number(1, extent));
  const Message tensor = Message().number(1, type).message(2, dimensions);
  return Message().bytes(1, name).message(2, Message().message(1, tensor));
}
inline Message onnx_constant(std::string_view name, OnnxType type, const std::vector<unsigned>& shape,
                             std::string_view raw) {
  Message tensor;
  for (const unsigned extent : shape) tensor.number(1, extent);
  return tensor.number(2, type).bytes(8, name).bytes(9, raw);
}
inline Message onnx_integers(std::string_view name, const std::vector<std::uint64_t>& values) {
  Message attribute;
  attribute.bytes(1, name).number(20, 7);
  for (const std::uint64_t value : values) attribute.number(8, value);
  return attribute;
}

inline Message onnx_integer(std::string_view name, std::uint64_t value) {
  return Message().bytes(1, name).number(3, value).number(20, 2);
}

/// A graph of one node from the given inputs and constants to "y".
struct OnnxSeed {
  std::string operator_type;
  std::vector<Message> inputs;     // values, in the node's order …
  std::vector<Message> constants;  // … and after them tensors
  std::vector<std::string> names;  // of all these
  Message output;
  std::vector<Message> attributes;

  std::string file() const {
    Message node;
    for (const std::string& name : names) node.bytes(1, name);
    node.bytes(2, "y").bytes(4, operator_type);
    for (const Message& attribute : attributes) node.message(5, attribute);
    Message graph;
    graph.message(1, node).bytes(2, "g");
    for (const Message& constant : constants) graph.message(5, constant);
    for (const Message& input : inputs) graph.message(11, input);
    graph.message(12, output);
    const Message opset = Message().bytes(1, "").number(2, 21);
    return Message().number(1, 8).message(7, graph).message(8, opset).text();
  }
};

inline std::vector<OnnxSeed> onnx_seeds() {
  using namespace std::string_literals;
  const std::string two_int64 = "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"s, ends = "\3\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0"s;
  const std::string one_float = "\0\0\x80\x3F"s, ones = one_float + one_float + one_float;
  const auto picture = [](std::string_view name, OnnxType type) { return onnx_value(name, type, {1, 3, 2, 4}); };
  const Message x = picture("x", onnx_float), y = picture("y", onnx_float);
  const auto scalar = [&](std::string_view name) { return onnx_constant(name, onnx_float, {}, one_float); };
  const auto three = [&](std::string_view name) { return onnx_constant(name, onnx_float, {3}, ones); };
  const Message filter = onnx_constant("w", onnx_int8, {1, 3, 1, 1}, "\1\2\xFD"s);
  return {
      {"Slice",
       {onnx_value("x", onnx_float, {3, 4})},
       {onnx_constant("starts", onnx_int64, {2}, two_int64), onnx_constant("ends", onnx_int64, {2}, ends)},
       {"x", "starts", "ends"},
       onnx_value("y", onnx_float, {2, 2}),
       {}},
      {"Transpose",
       {onnx_value("x", onnx_uint8, {3, 4})},
       {},
       {"x"},
       onnx_value("y", onnx_uint8, {4, 3}),
       {onnx_integers("perm", {1, 0})}},
      {"QLinearConv",
       {picture("x", onnx_uint8)},
       {scalar("xs"), onnx_constant("xz", onnx_uint8, {}, "\x80"), filter, scalar("ws"),
        onnx_constant("wz", onnx_int8, {}, "\0"s), scalar("ys"), onnx_constant("yz", onnx_uint8, {}, "\x10")},
       {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz"},
       onnx_value("y", onnx_uint8, {1, 1, 2, 4}),
       {}},
      {"ConvInteger",
       {picture("x", onnx_uint8)},
       {onnx_constant("w", onnx_int8, {1, 3, 1, 1}, "\0\1\0"s)},
       {"x", "w"},
       onnx_value("y", onnx_int32, {1, 1, 2, 4}),
       {}},
      {"MatMulInteger",
       {onnx_value("x", onnx_uint8, {2, 3})},
       {onnx_constant("w", onnx_int8, {3, 1}, "\1\2\xFD"s), onnx_constant("z", onnx_uint8, {2}, "\1\2"s)},
       {"x", "w", "z"},
       onnx_value("y", onnx_int32, {2, 1}),
       {}},
      {"QLinearMatMul",
       {onnx_value("x", onnx_uint8, {2, 3})},
       {scalar("xs"), onnx_constant("xz", onnx_uint8, {}, "\x80"), onnx_constant("w", onnx_int8, {3, 1}, "\1\2\xFD"s),
        scalar("ws"), onnx_constant("wz", onnx_int8, {}, "\0"s), scalar("ys"),
        onnx_constant("yz", onnx_uint8, {}, "\x10")},
       {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz"},
       onnx_value("y", onnx_uint8, {2, 1}),
       {}},
      {"QuantizeLinear",
       {x},
       {three("s"), onnx_constant("z", onnx_uint8, {3}, "\1\x80\xFF"s)},
       {"x", "s", "z"},
       picture("y", onnx_uint8),
       {onnx_integer("axis", 1)}},
      {"DequantizeLinear",
       {onnx_value("x", onnx_int8, {4, 3})},
       {onnx_constant("s", onnx_float, {2, 3}, ones + ones),
        onnx_constant("z", onnx_int8, {2, 3}, "\1\2\3\xFD\xFE\xFF"s)},
       {"x", "s", "z"},
       onnx_value("y", onnx_float, {4, 3}),
       {onnx_integer("axis", 0), onnx_integer("block_size", 2)}},
      {"SimplifiedLayerNormalization",
       {onnx_value("x", onnx_float, {2, 3})},
       {three("s")},
       {"x", "s"},
       onnx_value("y", onnx_float, {2, 3}),
       {onnx_integer("axis", 1)}},
      {"MeanVarianceNormalization", {x}, {}, {"x"}, y, {onnx_integers("axes", {0, 2, 3})}},
      {"InstanceNormalization", {x}, {three("s"), three("b")}, {"x", "s", "b"}, y, {}},
      // As public reports have them: starts beyond either end and a negative step; a number that is not finite.
      {"Slice",
       {onnx_value("x", onnx_float, {3})},
       {onnx_constant("starts", onnx_int64, {1}, "\x09\0\0\0\0\0\0\0"s),
        onnx_constant("ends", onnx_int64, {1}, "\0\0\0\0\0\0\0\x80"s),
        onnx_constant("axes", onnx_int64, {1}, std::string(8, '\0')),
        onnx_constant("steps", onnx_int64, {1}, std::string(8, '\xFF'))},
       {"x", "starts", "ends", "axes", "steps"},
       onnx_value("y", onnx_float, {3}),
       {}},
      {"Slice",
       {onnx_value("x", onnx_float, {3})},
       {onnx_constant("starts", onnx_int64, {1}, "\xF7" + std::string(7, '\xFF')),
        onnx_constant("ends", onnx_int64, {1}, "\0\0\0\0\0\0\0\x80"s),
        onnx_constant("axes", onnx_int64, {1}, std::string(8, '\0')),
        onnx_constant("steps", onnx_int64, {1}, std::string(8, '\xFF'))},
       {"x", "starts", "ends", "axes", "steps"},
       onnx_value("y", onnx_float, {1}),
       {}},
      {"InstanceNormalization",
       {x},
       {three("s"), three("b")},
       {"x", "s", "b"},
       y,
       {Message().bytes(1, "epsilon").real(2, std::numeric_limits<float>::infinity()).number(20, 1)}},
      {"GroupNormalization", {x}, {three("s"), three("b")}, {"x", "s", "b"}, y, {onnx_integer("num_groups", 3)}},
      {"LayerNormalization",
       {onnx_value("x", onnx_float, {2, 3})},
       {three("s"), three("b")},
       {"x", "s", "b"},
       onnx_value("y", onnx_float, {2, 3}),
       {Message().bytes(1, "epsilon").real(2, std::numeric_limits<float>::infinity()).number(20, 1)}},
  };
}

}  // namespace dmlref_test
