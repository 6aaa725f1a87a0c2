// import_fuzz.cpp: bytes as a recipe of an ONNX graph of many nodes, which take earlier nodes' outputs: it lowers to a
// model that can be used, with no more operators than the nodes make, or one line says why not.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fuzz/onnx_claims.hpp"
#include "fuzz/onnx_seeds.hpp"
#include "fuzz/operator_bytes.hpp"

namespace {

using namespace dmlref_test;

/// Writes a graph that begins with one input of [2, 3] and constants.
class Recipe {
 public:
  explicit Recipe(ByteReader& reader) : reader_(reader) {
    using namespace std::string_literals;
    const std::string one_float = "\0\0\x80\x3F"s, zero = "\0\0\0\0\0\0\0\0"s;
    const auto integer = [](unsigned value) { return std::string(1, static_cast<char>(value)) + std::string(7, '\0'); };
    graph_.bytes(2, "g")
        .message(11, onnx_value("x", onnx_float, {2, 3}))
        .message(5, onnx_constant("zeros", onnx_int64, {2}, zero + zero))
        .message(5, onnx_constant("ends", onnx_int64, {2}, integer(2) + integer(3)))
        .message(5, onnx_constant("shape", onnx_int64, {2}, integer(3) + integer(2)))
        .message(5, onnx_constant("s", onnx_float, {3}, one_float + one_float + one_float));
    values_.push_back("x");
  }

  std::string file() {
    while (!reader_.rest().empty() && values_.size() < most_nodes) nodes();
    const Message type = Message().message(1, Message().number(1, onnx_float));  // of any shape
    graph_.message(12, Message().bytes(1, values_.back()).message(2, type));
    const Message opset = Message().bytes(1, "").number(2, 17);
    return Message().number(1, 8).message(7, graph_).message(8, opset).text();
  }
  std::size_t node_count() const noexcept { return values_.size() - 1; }

 private:
  static constexpr std::size_t most_nodes = 100;

  /// Some nodes of one kind and name, one behind the other, the first from any earlier value.
  void nodes() {
    struct Kind {
      const char* type;
      std::vector<std::string> more;
      std::vector<Message> attributes;
    };
    static const Kind kinds[] = {
        {"Slice", {"zeros", "ends"}, {}},
        {"Transpose", {}, {onnx_integers("perm", {1, 0})}},
        {"Identity", {}, {}},
        {"Reshape", {"shape"}, {}},
        {"LayerNormalization", {"s"}, {}},
        {"MeanVarianceNormalization", {}, {onnx_integers("axes", {0, 1})}},
        {"Relu", {}, {}},
        {"Slice", {"s", "ends"}, {}},
        {"QuantizeLinear", {"s"}, {}},
        {"DequantizeLinear", {"s"}, {}},
        {"SimplifiedLayerNormalization", {"s"}, {}},
    };
    const unsigned byte = reader_.byte();
    const Kind& kind = kinds[byte % std::size(kinds)];
    const std::string name(byte / std::size(kinds) % 4, 'n');  // often the same
    const std::size_t high = reader_.byte();
    std::string from = values_[(high << 8 | reader_.byte()) % values_.size()];
    for (unsigned count = 1 + reader_.byte() % 8; count > 0; --count) {
      Message node;
      node.bytes(1, from);
      for (const std::string& input : kind.more) node.bytes(1, input);
      // Names that are wanted twice are told apart by a number, which others may have in their name.
      from = std::string(byte % 2 == 0 ? "Slice_" : "v") + std::to_string(values_.size());
      node.bytes(2, from).bytes(3, name).bytes(4, kind.type);
      for (const Message& attribute : kind.attributes) node.message(5, attribute);
      graph_.message(1, node);
      values_.push_back(from);
    }
  }

  ByteReader& reader_;
  Message graph_;
  std::vector<std::string> values_;
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ByteReader reader(std::span(data, size));
  Recipe recipe(reader);
  const std::string file = recipe.file();
  const std::optional<std::size_t> operators = lowered_operators(file);
  // A node is a copy to C order, and itself; the output may be copied once more.
  if (operators && *operators > 2 * recipe.node_count() + 1) expect_none("more operators than nodes make");
  return 0;
}
