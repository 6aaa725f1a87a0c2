// verb.hpp: a command of the command line. Its users need not compile CLI11's headers, which take seconds each.
#pragma once

#include <functional>
#include <span>
#include <string>

namespace CLI {
class App;
}

namespace dmlref::tool {

class Verb {
 public:
  Verb(CLI::App& line, const std::string& name, const std::string& help);

  /// A word that must be given.
  void argument(const std::string& name, const std::string& help, std::string& value);
  /// `value_name` stands for the value in the help: `--threads N`.
  void option(const std::string& name, const std::string& value_name, const std::string& help, std::string& value);
  void required_option(const std::string& name, const std::string& value_name, const std::string& help,
                       std::string& value);
  /// `parse(name, text)` gives the value, or throws Failure.
  template <class T, class Parse>
  void option(const std::string& name, const std::string& value_name, const std::string& help, T& value, Parse parse) {
    text_option(name, value_name, help, false,
                [name, &value, parse](const std::string& text) { value = parse(name, text); });
  }
  template <class T, class Parse>
  void required_option(const std::string& name, const std::string& value_name, const std::string& help, T& value,
                       Parse parse) {
    text_option(name, value_name, help, true,
                [name, &value, parse](const std::string& text) { value = parse(name, text); });
  }
  void flag(const std::string& name, const std::string& help, bool& value);
  /// --memory, which sets the limit of the memory_budget().
  void memory_option();
  /// What the verb does; the result is the exit status.
  void runs(std::function<int()> action);

 private:
  void text_option(const std::string& name, const std::string& value_name, const std::string& help, bool required,
                   std::function<void(const std::string&)> take);

  CLI::App* verb_;
};

/// Adds one verb to the line.
using AddVerb = void(CLI::App& line);

/// Parses the whole line and runs its verb; the exit status. Throws Failure where the line cannot be used.
int run_command_line(int argc, char** argv, std::span<AddVerb* const> verbs);

}  // namespace dmlref::tool
