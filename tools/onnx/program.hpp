// program.hpp: a DxDispatch model while it is made: resources, operators in the order in which they run, files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dmlref/desc/operator_desc.hpp"

namespace dmlref::tool::onnx {

struct ProgramResource {
  std::string name;
  DataType type = DataType::unknown;
  std::uint64_t count = 0;  ///< of zeros
  std::string source;       ///< or the name of a file
};

struct ProgramDispatch {
  std::string name;
  OperatorDesc desc;
  /// Tensor member of the desc, resource.
  std::vector<std::pair<std::string_view, std::string>> bindings;
};

struct ProgramOutput {
  std::string resource;
  std::string target;
  std::vector<std::uint64_t> dimensions;
};

struct ProgramFile {
  std::string name;
  std::vector<std::byte> bytes;
};

struct Program {
  std::vector<ProgramResource> resources;
  std::vector<ProgramDispatch> dispatches;
  std::vector<ProgramOutput> outputs;
  std::vector<ProgramFile> files;  ///< beside the model
};

/// The text of the model; outputs are written to `output_folder`.
std::string model_text(const Program& program, const std::filesystem::path& output_folder);

}  // namespace dmlref::tool::onnx
