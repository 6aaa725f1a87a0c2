// main.cpp: the command line of dmlref. Exit status: 0 done, 1 a comparison or validation failed, 2 unusable.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <new>
#include <optional>
#include <string>
#include <thread>

#include "commands/commands.hpp"
#include "dmlref/config.hpp"
#include "support/failure.hpp"

namespace dmlref::tool {
namespace {

std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }, ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  constexpr std::size_t limit = 1000;
  if (text.size() > limit) text = text.substr(0, limit) + "...";
  return text;
}

int unusable(const std::string& why) {
  fmt::print(stderr, "dmlref: {}\n", one_line(why));
  return exit_unusable;
}

FeatureLevel parse_level(const std::string& name) {
  const std::optional<FeatureLevel> level = feature_level_from_name(name);
  if (level) return *level;
  std::string known;
  for (const FeatureLevelName& row : feature_levels) known.append(known.empty() ? "" : ", ").append(row.name);
  throw Failure("--feature-level", fmt::format("is \"{}\", expected one of {}", name, known));
}

Isa parse_isa(const std::string& name) {
  std::string known;
  for (const IsaName& row : isa_table) {
    if (supported(row.isa)) known.append(known.empty() ? "" : ", ").append(row.name);
  }
  const std::optional<Isa> isa = isa_from_name(name);
  if (isa && supported(*isa)) return *isa;
  throw Failure("--isa", fmt::format("is \"{}\", expected one that this CPU runs: {}", name, known));
}

template <class T>
T parse_count(const char* option, const std::string& text, T least, T most) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= least && value <= most) return value;
  throw Failure(option, fmt::format("is \"{}\", expected an integer from {} to {}", text, least, most));
}

int command_line(int argc, char** argv) {
  CLI::App app("Runs DirectML operators described in DxDispatch's JSON models on the CPU.", "dmlref");
  app.set_version_flag(
      "--version", fmt::format("dmlref {}.{}.{}", DMLREF_VERSION_MAJOR, DMLREF_VERSION_MINOR, DMLREF_VERSION_PATCH));
  app.require_subcommand(1);
  app.footer(
      "Exit status: 0 done; 1 a comparison or a validation failed; 2 the model or the command line is unusable.");

  std::string model;
  std::string level = "6_4";
  std::string isa;
  std::string threads;
  CLI::App* run = app.add_subcommand("run", "Run a model: print and write what its commands say");
  run->add_option("MODEL.json", model, "The model")->required();
  run->add_option("--feature-level", level, "The level to judge the operators by")->capture_default_str();
  run->add_option("--isa", isa, "The instruction set; otherwise what DMLREF_ISA names, or the best");
  run->add_option("--threads", threads, "How many threads work; all the CPU has if not given");

  std::string levels = "all";
  CLI::App* validate =
      app.add_subcommand("validate", "Say for each level whether it accepts the operators, and why not");
  validate->add_option("MODEL.json", model, "The model")->required();
  validate->add_option("--feature-level", levels, "One level, or all")->capture_default_str();

  std::string a;
  std::string b;
  std::string ulp = "0";
  CLI::App* compare = app.add_subcommand("compare", "Compare the elements of two .npy files");
  compare->add_option("A.npy", a, "One array")->required();
  compare->add_option("B.npy", b, "Another")->required();
  compare->add_option("--ulp", ulp, "How many units in the last place apart is equal")->capture_default_str();

  CLI::App* info = app.add_subcommand("info", "Version, instruction sets found, the one in use");

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // help, version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    return unusable(fmt::format("{} (dmlref --help shows the usage)", error.what()));
  }

  if (run->parsed()) {
    RunOptions options{model, parse_level(level), std::nullopt, 1};
    if (run->count("--isa") != 0) options.isa = parse_isa(isa);
    options.threads = run->count("--threads") != 0 ? parse_count<unsigned>("--threads", threads, 1, 1024)
                                                   : (std::max)(1u, std::thread::hardware_concurrency());
    return run_model(options);
  }
  if (validate->parsed()) {
    ValidateOptions options{model, std::nullopt};
    if (levels != "all") options.level = parse_level(levels);
    return validate_model(options);
  }
  if (compare->parsed()) {
    return compare_files(
        {a, b, parse_count<std::uint64_t>("--ulp", ulp, 0, (std::numeric_limits<std::uint64_t>::max)())});
  }
  static_cast<void>(info);
  return print_info();
}

}  // namespace
}  // namespace dmlref::tool

int main(int argc, char** argv) {
  using namespace dmlref::tool;
  int status = exit_done;
  try {
    status = command_line(argc, argv);
  } catch (const std::bad_alloc&) {
    status = unusable("not enough memory for this model");
  } catch (const std::exception& error) {
    status = unusable(error.what());
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) status = unusable("standard output cannot be written");
  return status;
}
