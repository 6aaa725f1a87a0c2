#include "commands/verb.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "dmlref/config.hpp"
#include "support/failure.hpp"

namespace dmlref::tool {

Verb::Verb(CLI::App& line, const std::string& name, const std::string& help) : verb_(line.add_subcommand(name, help)) {}

void Verb::argument(const std::string& name, const std::string& help, std::string& value) {
  verb_->add_option(name, value, help)->required()->type_name("");
}
void Verb::option(const std::string& name, const std::string& value_name, const std::string& help, std::string& value) {
  verb_->add_option(name, value, help)->type_name(value_name);
}
void Verb::text_option(const std::string& name, const std::string& value_name, const std::string& help, bool required,
                       std::function<void(const std::string&)> take) {
  verb_->add_option_function<std::string>(name, std::move(take), help)->type_name(value_name)->required(required);
}
void Verb::flag(const std::string& name, const std::string& help, bool& value) { verb_->add_flag(name, value, help); }

void Verb::runs(std::function<int()> action) {
  verb_->callback([action = std::move(action)] {
    // How CLI11 passes an exit status on.
    if (const int status = action(); status != exit_done) throw CLI::RuntimeError(status);
  });
}

int run_command_line(int argc, char** argv, std::span<AddVerb* const> verbs) {
  CLI::App line("Runs DirectML operators described in DxDispatch's JSON models on the CPU.", "dmlref");
  line.set_version_flag(
      "--version", fmt::format("dmlref {}.{}.{}", DMLREF_VERSION_MAJOR, DMLREF_VERSION_MINOR, DMLREF_VERSION_PATCH));
  line.require_subcommand(1);
  line.footer(
      "Exit status: 0 done; 1 a comparison or a validation failed; 2 the model, a file or the command line cannot be "
      "used.");
  for (AddVerb* add : verbs) add(line);
  try {
    line.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // help, version
    return line.exit(asked);
  } catch (const CLI::RuntimeError& ended) {
    return ended.get_exit_code();
  } catch (const CLI::ParseError& error) {
    throw Failure(fmt::format("{} (dmlref --help shows the usage)", error.what()));
  }
  return exit_done;
}

}  // namespace dmlref::tool
