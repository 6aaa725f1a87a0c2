#include "commands/verb.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "dmlref/config.hpp"
#include "support/failure.hpp"
#include "support/memory.hpp"
#include "support/nearest.hpp"

namespace dmlref::tool {

Verb::Verb(CLI::App& line, const std::string& name, const std::string& help)
    : verb_(line.add_subcommand(name, help)->group("Commands")) {}

void Verb::argument(const std::string& name, const std::string& help, std::string& value) {
  verb_->add_option(name, value, help)->required()->type_name("");
}
void Verb::option(const std::string& name, const std::string& value_name, const std::string& help, std::string& value) {
  verb_->add_option(name, value, help)->type_name(value_name);
}
void Verb::required_option(const std::string& name, const std::string& value_name, const std::string& help,
                           std::string& value) {
  verb_->add_option(name, value, help)->type_name(value_name)->required();
}
void Verb::text_option(const std::string& name, const std::string& value_name, const std::string& help, bool required,
                       std::function<void(const std::string&)> take) {
  verb_->add_option_function<std::string>(name, std::move(take), help)->type_name(value_name)->required(required);
}
void Verb::flag(const std::string& name, const std::string& help, bool& value) { verb_->add_flag(name, value, help); }
void Verb::memory_option() {
  const std::string name = "--memory";
  text_option(name, "SIZE", "Memory that may be taken, as 512M or 2G; half of this machine's if not given", false,
              [name](const std::string& text) {
                std::string bytes = text;
                try {
                  CLI::AsSizeValue(false)(bytes);
                } catch (const CLI::ValidationError&) {
                  bytes = "none";
                }
                std::uint64_t limit = 0;
                if (text.starts_with('-') || !CLI::detail::lexical_cast(bytes, limit)) {
                  throw Failure(name, fmt::format("is \"{}\", expected bytes like 4096, 512M or 2G", text));
                }
                memory_budget().set_limit(limit);
              });
}

void Verb::runs(std::function<int()> action) {
  verb_->callback([action = std::move(action)] {
    // How CLI11 passes an exit status on.
    if (const int status = action(); status != exit_done) throw CLI::RuntimeError(status);
  });
}

namespace {

/// `what "word"` is unknown: names the nearest of the known ones, or all where none is near.
[[noreturn]] void fail_unknown(const std::string& what, const std::string& word, const std::vector<std::string>& names,
                               const std::string& help) {
  const std::string near_name = nearest(word, names);
  const std::string hint = near_name.empty() ? fmt::format("expected one of {}", fmt::join(names, ", "))
                                             : fmt::format("did you mean {}?", near_name);
  throw Failure(fmt::format("{} \"{}\" is unknown, {} ({} shows them all)", what, word, hint, help));
}

/// Names unknown commands and options, which CLI11 counts as words too many.
void expect_known_names(CLI::App& line, int argc, char** argv) {
  const std::vector<const CLI::App*> all = std::as_const(line).get_subcommands([](const CLI::App*) { return true; });
  std::vector<std::string> commands;
  for (const CLI::App* one : all) commands.push_back(one->get_name());
  const CLI::App* command = nullptr;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--") return;
    const bool is_option =
        word.size() > 1 && word[0] == '-' && (word[1] == '-' || std::isalpha(static_cast<unsigned char>(word[1])) != 0);
    if (!is_option) {
      if (command != nullptr) continue;
      const auto found = std::find(commands.begin(), commands.end(), word);
      if (found == commands.end()) fail_unknown("command", word, commands, "dmlref --help");
      command = all[static_cast<std::size_t>(found - commands.begin())];
      continue;
    }
    const CLI::App& owner = command != nullptr ? *command : line;
    const std::string name = word.substr(0, word.find('='));
    if (owner.get_option_no_throw(name) != nullptr) continue;
    std::vector<std::string> options;
    for (const CLI::Option* one : owner.get_options()) {
      for (const std::string& known : one->get_lnames()) options.push_back("--" + known);
    }
    fail_unknown("option", name, options,
                 fmt::format("dmlref {}{}--help", owner.get_parent() != nullptr ? owner.get_name() : "",
                             owner.get_parent() != nullptr ? " " : ""));
  }
  if (command == nullptr && argc < 2) {
    throw Failure(fmt::format("no command is given, expected one of {} (dmlref --help says what they do)",
                              fmt::join(commands, ", ")));
  }
}

}  // namespace

int run_command_line(int argc, char** argv, std::span<AddVerb* const> verbs) {
  CLI::App line("Runs DirectML operators described in DxDispatch's JSON models on the CPU.", "dmlref");
  line.set_version_flag(
      "--version", fmt::format("dmlref {}.{}.{}", DMLREF_VERSION_MAJOR, DMLREF_VERSION_MINOR, DMLREF_VERSION_PATCH));
  line.require_subcommand(1);
  line.get_formatter()->label("SUBCOMMAND", "COMMAND");
  line.get_formatter()->label("SUBCOMMANDS", "COMMANDS");
  line.footer(
      "Exit status: 0 done; 1 a comparison or a validation failed; 2 the model, a file or the command line cannot be "
      "used.");
  for (AddVerb* add : verbs) add(line);
  expect_known_names(line, argc, argv);
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
