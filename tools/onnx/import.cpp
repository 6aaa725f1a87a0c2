#include "onnx/import.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "io/file.hpp"
#include "io/npy.hpp"
#include "onnx/lowering.hpp"
#include "onnx/reader.hpp"
#include "support/failure.hpp"

namespace dmlref::tool::onnx {
namespace {

namespace fs = std::filesystem;

/// The data of the graph's inputs; their types and shapes must be those that the graph declares.
Sources read_sources(const Graph& graph, const std::string& folder) {
  Sources sources;
  if (folder.empty()) return sources;
  std::error_code error;
  if (!fs::is_directory(folder, error)) throw Failure("--data", fmt::format("is {}, expected a folder", folder));
  sources.folder = folder;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const GraphValue& input = graph.inputs[i];
    std::optional<Tensor>& tensor = sources.inputs.emplace_back();
    const fs::path path = fs::path(folder) / fmt::format("input_{}.pb", i);
    // What is no tensor fails where a node takes it; an input with an initializer has a value.
    if (!input.is_tensor || (!fs::exists(path, error) && graph.initializers.contains(input.name))) continue;
    tensor = read_tensor_file(path);
    bool same = tensor->type == input.type && (!input.shape || input.shape->size() == tensor->shape.size());
    for (std::size_t d = 0; same && input.shape && d < tensor->shape.size(); ++d) {
      same = !(*input.shape)[d].extent || *(*input.shape)[d].extent == tensor->shape[d];
    }
    if (!same) {
      throw Failure(path.string(), fmt::format("is {} [{}], expected the type and shape of input \"{}\"",
                                               type_name(tensor->type), fmt::join(tensor->shape, ", "), input.name));
    }
  }
  return sources;
}

/// INT32 as the eight bits that ConvInteger's output is stored in.
std::vector<std::byte> narrowed(const Tensor& tensor, DataType type, const std::string& file) {
  std::vector<std::byte> bytes;
  const std::int32_t least = type == DataType::int8 ? -128 : 0;
  for (std::size_t i = 0; i < tensor.data.size() / 4; ++i) {
    std::int32_t value = 0;
    std::memcpy(&value, tensor.data.data() + i * 4, 4);
    if (value < least || value > least + 255) {
      throw Failure(file, fmt::format("has {} at element {}, expected what {} holds, as --conv-integer-output says",
                                      value, i, to_string(type)));
    }
    bytes.push_back(static_cast<std::byte>(value & 0xFF));
  }
  return bytes;
}

/// expected_N.npy of output_N.pb.
ProgramFile expected_file(const std::string& folder, std::size_t index, const Value& value) {
  const fs::path path = fs::path(folder) / fmt::format("output_{}.pb", index);
  Tensor tensor = read_tensor_file(path);
  if (tensor.type != value.type->code || tensor.shape != value.shape) {
    throw Failure(path.string(),
                  fmt::format("is {} [{}], expected {} [{}] as the model computes it", type_name(tensor.type),
                              fmt::join(tensor.shape, ", "), value.type->name, fmt::join(value.shape, ", ")));
  }
  if (value.stored != value.type->stored) tensor.data = narrowed(tensor, value.stored, path.string());
  if (tensor.shape.empty()) tensor.shape.push_back(1);
  return {fmt::format("expected_{}.npy", index), write_npy(value.stored, tensor.shape, tensor.data)};
}

/// Writes all or, where one fails, takes back what was written.
void write_files(const fs::path& folder, const std::vector<ProgramFile>& files) {
  std::error_code error;
  const bool made = fs::create_directories(folder, error);
  if (error) throw Failure("--out", fmt::format("{} cannot be made: {}", folder.string(), error.message()));
  std::vector<fs::path> written;
  for (const ProgramFile& file : files) {
    try {
      write_file(folder / file.name, file.bytes);
      written.push_back(folder / file.name);
    } catch (const FileError& failure) {
      for (const fs::path& path : written) fs::remove(path, error);
      if (made) fs::remove(folder, error);
      throw Failure((folder / file.name).string(), failure.what());
    }
  }
}

}  // namespace

std::string import_model(const ImportOptions& options) {
  const Graph graph = read_graph(options.model);
  const Sources sources = read_sources(graph, options.data);
  const LoweringOptions lowering_options{options.conv_integer_output};
  Lowering lowering(graph, sources, lowering_options);
  Program program = lowering.run();
  std::vector<ProgramFile> files = std::move(program.files);
  for (std::size_t i = 0; !options.data.empty() && i < lowering.outputs().size(); ++i) {
    if (const auto& value = lowering.outputs()[i]) files.push_back(expected_file(options.data, i, *value));
  }
  const fs::path folder = options.out;
  // Absolute, so that outputs stand beside the model wherever it is run from.
  const std::string text = model_text(program, options.relative ? fs::path() : fs::absolute(folder).lexically_normal());
  const auto bytes = std::as_bytes(std::span(text));
  files.push_back({"model.json", {bytes.begin(), bytes.end()}});
  write_files(folder, files);

  std::string said;
  for (const std::string& note : lowering.notes()) said += fmt::format("{}\n", note);
  return said + fmt::format("{}: operators: {}, outputs: {}\n", (folder / "model.json").string(),
                            program.dispatches.size(), program.outputs.size());
}

}  // namespace dmlref::tool::onnx
