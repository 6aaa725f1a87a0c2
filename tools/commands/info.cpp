#include <fmt/format.h>

#include <cstdlib>
#include <memory>

#include "commands/commands.hpp"
#include "dmlref/config.hpp"
#include "model/schema_json.hpp"
#include "model/session.hpp"
#include "support/failure.hpp"

namespace dmlref::tool {
namespace {

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
  const auto schema = std::make_shared<bool>(false);
  Verb verb(line, "info",
            "Print the version, the instruction sets of this CPU, the one in use, and the feature levels");
  verb.flag("--schema", "Print operators and their fields, activations, rules, levels and types as JSON instead",
            *schema);
  verb.runs([schema] { return *schema ? print_schema() : print_info(); });
}

}  // namespace dmlref::tool
