#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "commands/commands.hpp"
#include "commands/option_values.hpp"
#include "io/output_folders.hpp"
#include "io/tensor_file.hpp"
#include "model/session.hpp"
#include "support/element.hpp"
#include "support/failure.hpp"
#include "support/printable.hpp"

namespace dmlref::tool {
namespace {

struct RunOptions {
  std::string model;
  SessionOptions session{latest_feature_level, std::nullopt, (std::max)(1u, std::thread::hardware_concurrency())};
  std::string root;  // another folder to write to
  bool verbose = false;
};

/// Fails where the model names a file that it may not write.
void expect_allowed_targets(const Model& model, const RunOptions& options) {
  const OutputFolders folders = [&] {
    try {
      return OutputFolders(options.model, options.root);
    } catch (const FileError& error) {
      throw Failure("--root", error.what());
    }
  }();
  Faults faults;
  for (const Command& command : model.commands) {
    const auto* write = std::get_if<WriteFileCommand>(&command.what);
    if (write == nullptr) continue;
    faults.collect([&] {
      try {
        folders.expect(write->target);
      } catch (const FileError& error) {
        throw Failure(fmt::format("{}: {}.targetPath", model.file, command.path),
                      fmt::format("names {}, which {}", write->target, error.what()));
      }
    });
  }
  faults.raise();
}

void expect_one_type(const Session& session, const std::string& path, const std::string& name, DataType type) {
  if (type != DataType::unknown) return;
  session.fail(path + ".resource",
               fmt::format("names {}, a list of typed values, expected a resource of one type", name));
}

/// What a writeFile command writes.
struct FileContent {
  std::vector<std::uint64_t> shape;
  std::span<const std::byte> bytes;
};

FileContent content_of(Session& session, const std::string& path, const WriteFileCommand& command) {
  const Resource& from = session.resource(command.resource);
  const bool shaped = is_npy(command.target) || is_picture(command.target);
  if (shaped) expect_one_type(session, path, command.resource, from.type());
  FileContent content{command.dimensions.empty() ? from.shape() : command.dimensions, from.values()};
  if (content.shape.empty()) content.shape = {from.count()};
  if (!shaped && command.dimensions.empty()) return content;
  std::uint64_t count = 1;
  for (const std::uint64_t extent : content.shape) {
    if (extent == 0 || count > from.count() / extent) {
      session.fail(path + ".dimensions", fmt::format("is [{}], expected no more than the {} elements of resource {}",
                                                     fmt::join(content.shape, ", "), from.count(), command.resource));
    }
    count *= extent;
  }
  content.bytes = content.bytes.first(static_cast<std::size_t>(count) * size_of(from.type()));
  return content;
}

/// The faults of a command that show before anything runs.
void check(Session&, const std::string&, const DispatchCommand&) {}  // the session has checked them

void check(Session& session, const std::string& path, const PrintCommand& command) {
  expect_one_type(session, path, command.resource, session.resource(command.resource).type());
}

template <class Action>
void with_target(const Session& session, const std::string& path, const std::string& target, const Action& action) {
  try {
    action();
  } catch (const FileError& error) {
    session.fail(path + ".targetPath", fmt::format("names {}, which {}", target, error.what()));
  }
}

void check(Session& session, const std::string& path, const WriteFileCommand& command) {
  const FileContent content = content_of(session, path, command);
  with_target(session, path, command.target,
              [&] { check_tensor_file(command.target, session.resource(command.resource).type(), content.shape); });
}

void execute(Session& session, const std::string& path, const DispatchCommand& command) {
  session.dispatch(path, command);
}

void execute(Session& session, const std::string&, const PrintCommand& command) {
  const Resource& from = session.resource(command.resource);
  fmt::print("Resource '{}':{}", printable(command.resource), command.verbose ? "\n" : " ");
  // A few elements at a time: their text is longer than they are.
  constexpr std::uint64_t block = 4096;
  for (std::uint64_t first = 0; first < from.count(); first += block) {
    const auto count = static_cast<std::size_t>((std::min)(block, from.count() - first));
    const auto values = from.values().subspan(static_cast<std::size_t>(first * size_of(from.type())));
    if (command.verbose) {
      fmt::print("{}", elements_verbose(from.type(), values, count, first, from.count()));
    } else {
      fmt::print("{}{}", first == 0 ? "" : ", ", elements_text(from.type(), values, count));
    }
  }
  if (!command.verbose) fmt::print("\n");
}

void execute(Session& session, const std::string& path, const WriteFileCommand& command) {
  const FileContent content = content_of(session, path, command);
  with_target(session, path, command.target, [&] {
    write_tensor(command.target, session.resource(command.resource).type(), content.shape, content.bytes);
  });
}

/// On standard error, as is all that --verbose says: standard output is the model's.
void print_settings(const SessionOptions& options) {
  fmt::print(stderr, "feature level {}, instruction set {}, {} thread{}\n", to_string(options.level),
             to_string(chosen_isa(options.isa)), options.threads, options.threads == 1 ? "" : "s");
}

void dispatch_verbosely(Session& session, const std::string& path, const DispatchCommand& command) {
  const auto start = std::chrono::steady_clock::now();
  session.dispatch(path, command);
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
  const Dispatchable& dispatchable = session.model().dispatchables.find(command.dispatchable)->second;
  fmt::print(stderr, "{}: {}: {}, strategy {}, {:.1f} µs\n", path, printable(command.dispatchable),
             dispatchable.op.name(), session.compiled(command.dispatchable).strategy_name(), time.count());
}

int run_model(const RunOptions& options) {
  const Model model = parse_model(options.model);
  if (!report_violations(model, options.session.level)) return exit_failed;
  expect_allowed_targets(model, options);
  Session session(model, options.session);
  Faults faults;
  for (const Command& command : model.commands) {
    faults.collect([&] { std::visit([&](const auto& what) { check(session, command.path, what); }, command.what); });
  }
  faults.raise();
  if (options.verbose) print_settings(options.session);
  for (const Command& command : model.commands) {
    const auto* dispatch = std::get_if<DispatchCommand>(&command.what);
    if (dispatch != nullptr && options.verbose) {
      dispatch_verbosely(session, command.path, *dispatch);
      continue;
    }
    std::visit([&](const auto& what) { execute(session, command.path, what); }, command.what);
  }
  return exit_done;
}

}  // namespace

void add_run(CLI::App& line) {
  const auto options = std::make_shared<RunOptions>();
  Verb verb(line, "run", "Execute the commands of a model: dispatch operators, print, write files");
  verb.argument("MODEL.json", "The model, in DxDispatch's JSON format", options->model);
  verb.option("--feature-level", "LEVEL",
              "Feature level at which the operators are validated, 1_0 to 6_4; 6_4 if not given",
              options->session.level, parse_level);
  verb.option("--isa", "NAME",
              "Instruction set; if not given, the one that DMLREF_ISA names, else the best of this CPU",
              options->session.isa, parse_isa);
  verb.option("--threads", "N", "Number of threads, 1 to 1024; as many as the CPU runs at once if not given",
              options->session.threads, parse_thread_count);
  verb.option("--root", "DIR", "Folder below which the model may write, beside its own and the current one",
              options->root);
  verb.memory_option();
  verb.flag("--verbose", "Print on standard error the instruction set, and the strategy and time of each dispatch",
            options->verbose);
  verb.runs([options] { return run_model(*options); });
}

}  // namespace dmlref::tool
