// onnx_fuzz.cpp: bytes as an ONNX file: a model of DxDispatch's format that the command's parser takes and whose
// operators the latest feature level accepts, or one line that says why not.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "dmlref/directml.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/memory_file.hpp"
#include "model/model.hpp"
#include "onnx/lowering.hpp"
#include "onnx/reader.hpp"
#include "support/failure.hpp"

namespace {

using namespace dmlref::tool;

/// Whether the graph's inputs, which are made as zeros, have many elements.
bool is_large(const onnx::Graph& graph) {
  for (const onnx::GraphValue& input : graph.inputs) {
    std::uint64_t left = 1u << 16;
    if (!input.shape) continue;
    for (const onnx::Dimension& dimension : *input.shape) {
      if (dimension.extent.value_or(1) > left) return true;
      if (dimension.extent.value_or(1) > 0) left /= dimension.extent.value_or(1);
    }
  }
  return false;
}

void check(const onnx::Program& program) {
  const std::string text = model_text(program, {});
  const dmlref_test::MemoryFile file(text.data(), text.size());
  try {
    const Model model = parse_model(file.path());
    for (const auto& [name, dispatchable] : model.dispatchables) {
      const dmlref::Report report = dmlref::validate(dispatchable.op.desc(), dmlref::latest_feature_level);
      if (!report) dmlref_test::expect_none("an operator that is refused: " + report.to_string());
    }
  } catch (const Failure& failure) {
    dmlref_test::expect_none("a model that is refused: " + std::string(failure.what()) + "\n" + text);
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const dmlref_test::MemoryFile file(data, size);
  try {
    const onnx::Graph graph = onnx::read_graph(file.path());
    if (is_large(graph)) return 0;
    for (const auto type : {std::optional<dmlref::DataType>(), std::optional(dmlref::DataType::int8)}) {
      const onnx::Sources sources;
      const onnx::LoweringOptions options{type};
      onnx::Lowering lowering(graph, sources, options);
      check(lowering.run());
    }
  } catch (const Failure& failure) {
    if (std::string_view(failure.what()).empty()) dmlref_test::expect_none("a failure without words");
  }
  return 0;
}
