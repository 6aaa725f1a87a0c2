// onnx_claims.hpp: what must hold of an ONNX file, whatever its bytes are.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "dmlref/directml.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/memory_file.hpp"
#include "model/model.hpp"
#include "onnx/lowering.hpp"
#include "onnx/reader.hpp"
#include "support/failure.hpp"

namespace dmlref_test {

/// Whether the graph's inputs, which are made as zeros, have many elements.
inline bool has_large_inputs(const dmlref::tool::onnx::Graph& graph) {
  for (const dmlref::tool::onnx::GraphValue& input : graph.inputs) {
    std::uint64_t left = 1u << 16;
    if (!input.shape) continue;
    for (const dmlref::tool::onnx::Dimension& dimension : *input.shape) {
      if (dimension.extent.value_or(1) > left) return true;
      if (dimension.extent.value_or(1) > 0) left /= dimension.extent.value_or(1);
    }
  }
  return false;
}

/// The command's parser takes the lowered model, and the latest feature level its operators.
inline void expect_usable(const dmlref::tool::onnx::Program& program) {
  using namespace dmlref::tool;
  const std::string text = model_text(program, {});
  const MemoryFile file(text.data(), text.size());
  try {
    const Model model = parse_model(file.path());
    if (model.dispatchables.size() != program.dispatches.size()) expect_none("another number of operators");
    for (const auto& [name, dispatchable] : model.dispatchables) {
      const dmlref::Report report = dmlref::validate(dispatchable.op.desc(), dmlref::latest_feature_level);
      if (!report) expect_none("an operator that is refused: " + report.to_string());
    }
  } catch (const Failure& failure) {
    expect_none("a model that is refused: " + std::string(failure.what()) + "\n" + text);
  }
}

/// Lowers the file, or says why not. The number of its operators; empty: it cannot be lowered.
inline std::optional<std::size_t> lowered_operators(std::string_view bytes) {
  using namespace dmlref::tool;
  const MemoryFile file(bytes.data(), bytes.size());
  try {
    const onnx::Graph graph = onnx::read_graph(file.path());
    if (has_large_inputs(graph)) return std::nullopt;
    const onnx::Sources sources;
    onnx::Lowering lowering(graph, sources);
    const onnx::Program program = lowering.run();
    expect_usable(program);
    return program.dispatches.size();
  } catch (const Failure& failure) {
    if (std::string_view(failure.what()).empty()) expect_none("a failure without words");
  }
  return std::nullopt;
}

}  // namespace dmlref_test
