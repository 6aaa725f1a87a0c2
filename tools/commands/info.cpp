#include <fmt/format.h>

#include <cstdlib>

#include "commands/commands.hpp"
#include "dmlref/config.hpp"
#include "dmlref/desc/feature_level.hpp"
#include "dmlref/isa/cpu.hpp"
#include "support/failure.hpp"

namespace dmlref::tool {
namespace {

int print_info() {
  std::string found;
  std::string all;
  for (const IsaName& row : isa_table) {
    all.append(all.empty() ? "" : ", ").append(row.name);
    if (supported(row.isa)) found.append(found.empty() ? "" : ", ").append(row.name);
  }
  Isa in_use = best_isa();
  std::string why = "the best of them";
  if (const char* name = std::getenv("DMLREF_ISA"); name != nullptr && *name != '\0') {
    const std::optional<Isa> asked = isa_from_name(name);
    if (!asked) throw Failure("DMLREF_ISA", fmt::format("is \"{}\", expected one of {}", name, all));
    if (!supported(*asked)) {
      throw Failure("DMLREF_ISA", fmt::format("is {}, which this CPU does not run, expected one of {}", name, found));
    }
    in_use = *asked;
    why = "named by DMLREF_ISA";
  }
  fmt::print("dmlref {}.{}.{}\n", DMLREF_VERSION_MAJOR, DMLREF_VERSION_MINOR, DMLREF_VERSION_PATCH);
  fmt::print("instruction sets found: {}\n", found);
  fmt::print("in use: {} ({})\n", to_string(in_use), why);
  fmt::print("feature levels: {} to {}\n", feature_levels.front().name, feature_levels.back().name);
  return exit_done;
}

}  // namespace

void add_info(CLI::App& line) {
  Verb(line, "info", "Version, instruction sets found, the one in use").runs(print_info);
}

}  // namespace dmlref::tool
