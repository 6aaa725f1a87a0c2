#include <fmt/format.h>

#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "commands/commands.hpp"
#include "dmlref/config.hpp"
#include "model/schema_json.hpp"
#include "model/session.hpp"
#include "support/failure.hpp"
#include "support/text_table.hpp"

namespace dmlref::tool {
namespace {

/// What brings a level; "-": nothing does.
struct LevelSource {
  const char* directml;  ///< the first version with it
  const char* windows;   ///< the first Windows with it in the box
  const char* sdk;       ///< the NTDDI_VERSION for which <DirectML.h> chooses this DML_TARGET_VERSION
};
/// In the order of `feature_levels`.
constexpr LevelSource level_sources[] = {
    {"1.0.0", "10 1903, build 18362", "below NTDDI_WIN10_VB"},
    {"1.1.0", "10 2004, build 19041", "NTDDI_WIN10_VB"},
    {"1.2.0", "-", "-"},
    {"1.4.0", "-", "NTDDI_WIN10_FE"},
    {"1.5.0", "-", "-"},
    {"1.6.0", "11 21H2, build 22000", "NTDDI_WIN10_CO"},
    {"1.7.0", "-", "-"},
    {"1.8.0", "11 22H2, build 22621", "NTDDI_WIN10_NI"},
    {"1.9.0", "-", "-"},
    {"1.10.0", "-", "-"},
    {"1.11.0", "-", "NTDDI_WIN10_ZN"},
    {"1.12.0", "-", "-"},
    {"1.13.0", "-", "-"},
    {"1.15.0", "-", "-"},
    {"1.15.0", "-", "not defined"},
};
static_assert(std::size(level_sources) == feature_levels.size());

int print_levels() {
  std::vector<std::vector<std::string>> rows{
      {"level", "DML_TARGET_VERSION", "DirectML", "in Windows", "chosen for NTDDI_VERSION"}};
  for (std::size_t i = 0; i < feature_levels.size(); ++i) {
    const LevelSource& from = level_sources[i];
    rows.push_back({std::string(feature_levels[i].name),
                    fmt::format("0x{:04x}", static_cast<std::uint32_t>(feature_levels[i].level)), from.directml,
                    from.windows, from.sdk});
  }
  fmt::print("{}", text_table(rows));
  return exit_done;
}

int print_info() {
  std::string found;
  for (const IsaName& row : isa_table) {
    if (supported(row.isa)) found.append(found.empty() ? "" : ", ").append(row.name);
  }
  const char* variable = std::getenv("DMLREF_ISA");
  const bool named = variable != nullptr && *variable != '\0';
  const Isa in_use = chosen_isa(std::nullopt);
  fmt::print("dmlref {}.{}.{}\n", DMLREF_VERSION_MAJOR, DMLREF_VERSION_MINOR, DMLREF_VERSION_PATCH);
  fmt::print("instruction sets found: {}\n", found);
  fmt::print("in use: {} ({})\n", to_string(in_use), named ? "named by DMLREF_ISA" : "the best of them");
  fmt::print("feature levels: {} to {}\n", feature_levels.front().name, feature_levels.back().name);
  return exit_done;
}

int print_schema() {
  fmt::print("{}\n", schema_json());
  return exit_done;
}

}  // namespace

void add_info(CLI::App& line) {
  struct Options {
    bool schema = false;
    bool levels = false;
  };
  const auto options = std::make_shared<Options>();
  Verb verb(line, "info",
            "Print the version, the instruction sets of this CPU, the one in use, and the feature levels");
  verb.flag("--schema", "Print operators and their fields, activations, rules, levels and types as JSON instead",
            options->schema);
  verb.flag("--levels", "Print what has each feature level instead: DML_TARGET_VERSION, DirectML, Windows",
            options->levels);
  verb.runs([options] {
    if (options->schema && options->levels) throw Failure("--levels", "is given with --schema, expected one of them");
    return options->schema ? print_schema() : options->levels ? print_levels() : print_info();
  });
}

}  // namespace dmlref::tool
