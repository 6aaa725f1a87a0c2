// model.hpp: a DxDispatch model: resources, dispatchables, commands, with every name resolved.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/document.hpp"
#include "model/operator_parser.hpp"
#include "model/resource.hpp"
#include "support/memory.hpp"

namespace dmlref::tool {

/// A part of a resource given to a tensor.
struct Binding {
  std::string path;                 // where the model says so
  std::string resource;             // a name of Model::resources
  std::uint64_t element_count = 0;  // 0: to the end of the resource
  std::uint64_t element_size = 0;   // 0: that of the resource's type
  std::uint64_t element_offset = 0;
};

/// By the tensor's name.
using Bindings = std::map<std::string, Binding, std::less<>>;

struct Dispatchable {
  std::string name;
  std::string path;
  ParsedOperator op;
  Bindings owned;  // bound when the operator is initialized
};

struct DispatchCommand {
  std::string dispatchable;
  Bindings bindings;
};
struct PrintCommand {
  std::string resource;
  bool verbose = false;
};
struct WriteFileCommand {
  std::string resource;
  std::string target;
  std::vector<std::uint64_t> dimensions;  // empty: not given
};

struct Command {
  std::string path;
  std::variant<DispatchCommand, PrintCommand, WriteFileCommand> what;
};

struct Model {
  std::string file;
  std::map<std::string, ResourceDesc, std::less<>> resources;
  std::map<std::string, Dispatchable, std::less<>> dispatchables;
  std::vector<Command> commands;
  Reservation memory{};  // of all this
};

/// Fails where the file is no model that this command runs. What is wrong with bindings is told all at once.
Model parse_model(const std::filesystem::path& path);
/// `folder` is where the files are that the model reads.
Model parse_model(const Document& document, const std::filesystem::path& folder);

}  // namespace dmlref::tool
