#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "commands/commands.hpp"
#include "commands/option_values.hpp"
#include "dmlref/directml.hpp"
#include "dmlref/eigen.hpp"
#include "io/tensor_file.hpp"
#include "model/model.hpp"
#include "support/element.hpp"
#include "support/failure.hpp"
#include "support/memory.hpp"

namespace dmlref::tool {
namespace {

struct RunOptions {
  std::string model;
  FeatureLevel level = latest_feature_level;
  std::optional<Isa> isa;
  unsigned threads = (std::max)(1u, std::thread::hardware_concurrency());
};

/// As many threads as asked for; one is the calling thread.
class Threads {
 public:
  explicit Threads(unsigned count) {
    if (count < 2) return;
    pool_ = std::make_unique<Eigen::ThreadPool>(static_cast<int>(count));
    executor_ = std::make_unique<ThreadPoolExecutor>(*pool_);
  }
  Executor& executor() noexcept { return executor_ ? *executor_ : sequential(); }

 private:
  std::unique_ptr<Eigen::ThreadPool> pool_;
  std::unique_ptr<ThreadPoolExecutor> executor_;
};

/// A compiled operator and the memory that it keeps.
struct Prepared {
  CompiledOperator op;
  Memory persistent;
  Memory temporary;
};

class Session {
 public:
  Session(const Model& model, const RunOptions& options) : model_(model), threads_(options.threads) {
    for (const auto& [name, desc] : model.resources) resources_.emplace(name, Resource(desc, budget_));
    for (const auto& [name, dispatchable] : model.dispatchables) prepare(dispatchable, options);
  }

  void execute(const Command& command) {
    std::visit([&](const auto& what) { execute(command.path, what); }, command.what);
  }

 private:
  [[noreturn]] void fail(const std::string& path, const std::string& what) const {
    throw Failure(model_.file + ": " + path, what);
  }

  /// A violation of the boundary, at the tensor it names where it names one.
  void check(const Report& report, const std::string& path) const {
    if (report) return;
    const Violation& violation = report.violations().front();
    const bool tensor = violation.field.ends_with("Tensor");
    fail(tensor ? path + ".bindings." + violation.field : path, violation.message);
  }

  Resource& resource(const std::string& name) { return resources_.find(name)->second; }

  /// The bytes that a binding gives to its tensor.
  std::span<std::byte> bytes_of(const Binding& binding) {
    Resource& from = resource(binding.resource);
    std::uint64_t element = binding.element_size;
    if (element == 0) element = from.type() == DataType::unknown ? 1 : size_of(from.type());
    const std::span<std::byte> memory = from.memory();
    // 32-bit numbers: their products fit 64 bits.
    const std::uint64_t offset = binding.element_offset * element;
    if (offset >= memory.size()) {
      fail(binding.path, fmt::format("begins at byte {}, expected it within the {} bytes of resource {}", offset,
                                     memory.size(), binding.resource));
    }
    const std::uint64_t rest = memory.size() - offset;
    if (binding.element_count == 0) return memory.subspan(offset);
    const std::uint64_t asked = binding.element_count * element;
    if (asked > rest) {
      fail(binding.path, fmt::format("takes {} bytes from byte {}, expected at most the {} that resource {} has left",
                                     asked, offset, rest, binding.resource));
    }
    // Buffers are multiples of 4 bytes; the elements may end earlier.
    return memory.subspan(offset, (std::min)(rest, (asked + 3) / 4 * 4));
  }

  /// Input buffers in the order of the desc; tensors without a binding here stay empty.
  std::vector<InputBuffer> inputs_of(const Dispatchable& dispatchable, const Bindings& bindings) {
    std::vector<InputBuffer> inputs;
    for (const TensorRole& role : dispatchable.op.tensors()) {
      if (role.output) continue;
      const auto binding = bindings.find(role.name);
      inputs.push_back(binding == bindings.end() ? InputBuffer() : InputBuffer(bytes_of(binding->second)));
    }
    return inputs;
  }

  Memory allocate(std::uint64_t bytes, const std::string& path, const char* which) {
    if (const auto refused = budget_.spend(bytes)) fail(path, fmt::format("{} memory {}", which, *refused));
    return Memory(bytes);
  }

  void prepare(const Dispatchable& dispatchable, const RunOptions& options) {
    const CompileResult compiled = compile(dispatchable.op.desc(), options.level, CompileOptions{options.isa});
    if (!compiled) {
      const Violation& violation = compiled.report().violations().front();
      if (violation.field == "DMLREF_ISA" || violation.field == "CompileOptions.isa") throw Failure(violation.message);
      fail(dispatchable.op.desc_path(), violation.message);
    }
    Prepared ready{compiled.value(), {}, {}};
    const BindingProperties needs = ready.op.binding_properties();
    ready.persistent = allocate(needs.persistent_bytes, dispatchable.path, "persistent");
    ready.temporary = allocate(needs.temporary_bytes, dispatchable.path, "temporary");
    check(ready.op.initialize(inputs_of(dispatchable, dispatchable.owned), ready.persistent.bytes(),
                              ready.temporary.bytes()),
          dispatchable.path);
    prepared_.emplace(dispatchable.name, std::move(ready));
  }

  void execute(const std::string& path, const DispatchCommand& command) {
    const Dispatchable& dispatchable = model_.dispatchables.find(command.dispatchable)->second;
    Prepared& ready = prepared_.find(command.dispatchable)->second;
    const std::vector<InputBuffer> inputs = inputs_of(dispatchable, command.bindings);
    std::vector<OutputBuffer> outputs;
    for (const TensorRole& role : dispatchable.op.tensors()) {
      if (role.output) outputs.push_back(bytes_of(command.bindings.find(role.name)->second));
    }
    check(ready.op.execute(inputs, outputs, ready.persistent.bytes(), ready.temporary.bytes(), threads_.executor()),
          path);
  }

  void execute(const std::string& path, const PrintCommand& command) {
    const Resource& from = resource(command.resource);
    if (from.type() == DataType::unknown) {
      fail(path + ".resource",
           fmt::format("names {}, a list of typed values, expected a resource of one type", command.resource));
    }
    if (command.verbose) {
      fmt::print("Resource '{}':\n{}", command.resource, elements_verbose(from.type(), from.values(), from.count()));
    } else {
      fmt::print("Resource '{}': {}\n", command.resource, elements_text(from.type(), from.values(), from.count()));
    }
  }

  void execute(const std::string& path, const WriteFileCommand& command) {
    const Resource& from = resource(command.resource);
    const bool shaped = is_npy(command.target) || is_picture(command.target);
    if (shaped && from.type() == DataType::unknown) {
      fail(path + ".resource",
           fmt::format("names {}, a list of typed values, expected a resource of one type", command.resource));
    }
    std::vector<std::uint64_t> shape = command.dimensions.empty() ? from.shape() : command.dimensions;
    if (shape.empty()) shape = {from.count()};
    std::span<const std::byte> bytes = from.values();
    if (shaped || !command.dimensions.empty()) {
      std::uint64_t count = 1;
      for (const std::uint64_t extent : shape) {
        if (extent == 0 || count > from.count() / extent) {
          fail(path + ".dimensions", fmt::format("is [{}], expected no more than the {} elements of resource {}",
                                                 fmt::join(shape, ", "), from.count(), command.resource));
        }
        count *= extent;
      }
      if (from.type() != DataType::unknown) bytes = bytes.first(static_cast<std::size_t>(count) * size_of(from.type()));
    }
    try {
      write_tensor(command.target, from.type(), shape, bytes);
    } catch (const FileError& error) {
      fail(path + ".targetPath", fmt::format("names {}, which {}", command.target, error.what()));
    }
  }

  const Model& model_;
  MemoryBudget budget_;
  Threads threads_;
  std::map<std::string, Resource, std::less<>> resources_;
  std::map<std::string, Prepared, std::less<>> prepared_;
};

/// One line per broken rule on standard error; whether all operators are accepted.
bool accepted(const Model& model, FeatureLevel level) {
  bool all = true;
  for (const auto& [name, dispatchable] : model.dispatchables) {
    const Report report = validate(dispatchable.op.desc(), level);
    for (const Violation& violation : report.violations()) {
      fmt::print(stderr, "dmlref: {}: {}.{}: {} at feature level {} [{}]{}\n", model.file, dispatchable.op.desc_path(),
                 violation.field, violation.message, to_string(level), to_string(violation.rule),
                 violation.available_from
                     ? fmt::format(" (accepted from feature level {})", to_string(*violation.available_from))
                     : "");
    }
    all = all && report.ok();
  }
  return all;
}

int run_model(const RunOptions& options) {
  const Model model = parse_model(options.model);
  if (!accepted(model, options.level)) return exit_failed;
  Session session(model, options);
  for (const Command& command : model.commands) session.execute(command);
  return exit_done;
}

}  // namespace

void add_run(CLI::App& line) {
  const auto options = std::make_shared<RunOptions>();
  Verb verb(line, "run", "Run a model: print and write what its commands say");
  verb.argument("MODEL.json", "The model", options->model);
  verb.option("--feature-level", "The level to validate the operators at; 6_4 if not given", options->level,
              parse_level);
  verb.option("--isa", "The instruction set; otherwise what DMLREF_ISA names, or the best", options->isa, parse_isa);
  verb.option("--threads", "How many threads work; all the CPU has if not given", options->threads, parse_thread_count);
  verb.runs([options] { return run_model(*options); });
}

}  // namespace dmlref::tool
