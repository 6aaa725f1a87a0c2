#include "onnx/import.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "io/file.hpp"
#include "io/npy.hpp"
#include "onnx/lowering.hpp"
#include "onnx/reader.hpp"
#include "support/failure.hpp"
#include "support/printable.hpp"

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
    tensor = read_tensor_file(path, sources.memory);
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

/// expected_N.npy of output_N.pb.
ProgramFile expected_file(const std::string& folder, std::size_t index, const Value& value, Reservation& memory) {
  const fs::path path = fs::path(folder) / fmt::format("output_{}.pb", index);
  Tensor tensor = read_tensor_file(path, memory);
  if (tensor.type != value.type->code || tensor.shape != value.shape) {
    throw Failure(path.string(),
                  fmt::format("is {} [{}], expected {} [{}] as the model computes it", type_name(tensor.type),
                              fmt::join(tensor.shape, ", "), value.type->name, fmt::join(value.shape, ", ")));
  }
  if (tensor.shape.empty()) tensor.shape.push_back(1);
  return {fmt::format("expected_{}.npy", index), write_npy(value.stored, tensor.shape, tensor.data)};
}

/// Files that come into a folder all together, or not at all: they are written beside it first.
class Delivery {
 public:
  /// Throws Failure.
  explicit Delivery(const fs::path& folder) : folder_(folder) {
    std::error_code error;
    for (fs::path path = fs::absolute(folder); !fs::exists(path, error); path = path.parent_path()) {
      made_.push_back(path);
    }
    fs::create_directories(folder, error);
    // A name that nothing has yet.
    for (int i = 0; !error && staged_.empty() && i < 1000; ++i) {
      const fs::path path = folder / fmt::format(".dmlref-import-{}", i);
      if (fs::create_directory(path, error)) staged_ = path;
    }
    if (!staged_.empty()) return;
    remove_folders();
    throw Failure("--out", fmt::format("{} cannot be made or written to: {}", folder.string(), error.message()));
  }
  /// Whatever was not delivered is taken back.
  ~Delivery() {
    std::error_code error;
    for (auto name = delivered_.rbegin(); name != delivered_.rend(); ++name) {
      fs::remove(folder_ / *name, error);
      if (fs::exists(old(*name), error)) fs::rename(old(*name), folder_ / *name, error);
    }
    remove_folders();
  }
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;

  /// Throws FileError.
  void add(const std::string& name, std::span<const std::byte> bytes) { write_file(staged_ / name, bytes); }
  /// Moves a file to its place; what is there is kept until done(). Throws FileError.
  void deliver(const std::string& name) {
    std::error_code error;
    const fs::path path = folder_ / name;
    if (fs::is_directory(path, error)) throw FileError("cannot be written: it is a directory");
    if (fs::exists(fs::symlink_status(path, error))) move(path, old(name));
    delivered_.push_back(name);
    move(staged_ / name, path);
  }
  void done() {
    delivered_.clear();
    made_.clear();
  }

 private:
  fs::path old(const std::string& name) const { return staged_ / ("old " + name); }
  static void move(const fs::path& from, const fs::path& to) {
    std::error_code error;
    fs::rename(from, to, error);
    if (error) throw FileError("cannot be written: " + error.message());
  }
  void remove_folders() const {
    std::error_code error;
    if (!staged_.empty()) fs::remove_all(staged_, error);
    for (const fs::path& path : made_) fs::remove(path, error);
  }

  fs::path folder_;
  fs::path staged_;
  std::vector<fs::path> made_;  // folders, the innermost first
  std::vector<std::string> delivered_;
};

/// Writes all or, where one fails, none; what was there is then as it was.
void write_files(const fs::path& folder, const std::vector<ProgramFile>& files) {
  Delivery delivery(folder);
  const auto each = [&](auto action) {
    for (const ProgramFile& file : files) {
      try {
        action(file);
      } catch (const FileError& failure) {
        throw Failure((folder / file.name).string(), failure.what());
      }
    }
  };
  each([&](const ProgramFile& file) { delivery.add(file.name, file.bytes); });
  each([&](const ProgramFile& file) { delivery.deliver(file.name); });
  delivery.done();
}

}  // namespace

std::string import_model(const ImportOptions& options) {
  const Graph graph = read_graph(options.model);
  const Sources sources = read_sources(graph, options.data);
  Lowering lowering(graph, sources);
  Program program = lowering.run();
  std::vector<ProgramFile> files = std::move(program.files);
  Reservation expected;
  for (std::size_t i = 0; !options.data.empty() && i < lowering.outputs().size(); ++i) {
    if (const auto& value = lowering.outputs()[i]) files.push_back(expected_file(options.data, i, *value, expected));
  }
  const fs::path folder = options.out;
  // Absolute, so that outputs stand beside the model wherever it is run from.
  const std::string text = model_text(program, options.relative ? fs::path() : fs::absolute(folder).lexically_normal());
  const auto bytes = std::as_bytes(std::span(text));
  files.push_back({"model.json", {bytes.begin(), bytes.end()}});
  write_files(folder, files);

  std::string said;
  for (const std::string& note : lowering.notes()) said += printable(note) + "\n";
  return said + fmt::format("{}: operators: {}, outputs: {}\n", (folder / "model.json").string(),
                            program.dispatches.size(), program.outputs.size());
}

}  // namespace dmlref::tool::onnx
