#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

#include "commands/commands.hpp"
#include "commands/option_values.hpp"
#include "kit/check.hpp"
#include "support/failure.hpp"

namespace dmlref::tool {
namespace {

struct CheckKitOptions {
  std::string kit;
  std::string results;
  kit::CheckOptions check;
};

int check_kit(const CheckKitOptions& options) {
  std::vector<kit::Description> cases = kit::read_kit(options.kit);
  const std::size_t left_out = kit::leave_out(cases, options.check, options.kit);
  std::error_code error;
  if (!std::filesystem::is_directory(options.results, error)) {
    throw Failure(options.results, "is no folder, expected one with a folder of results for each case");
  }
  std::vector<kit::Outcome> outcomes;
  for (const kit::Description& one : cases) {
    outcomes.push_back(kit::check_case(options.kit, options.results, one, options.check));
  }
  fmt::print("{}", kit::report_of(cases, outcomes, left_out, options.check));
  const bool passed = std::all_of(outcomes.begin(), outcomes.end(),
                                  [](const kit::Outcome& one) { return one.state == kit::CaseState::passed; });
  return passed ? exit_done : exit_failed;
}

}  // namespace

void add_check_kit(CLI::App& line) {
  const auto options = std::make_shared<CheckKitOptions>();
  Verb verb(line, "check-kit", "Compare the results of any device with a kit, one line for each case");
  verb.argument("DIR", "The kit", options->kit);
  verb.argument("RESULTS", "Folder with CASE/output.npy, or CASE/refused, for each case", options->results);
  verb.option("--feature-level", "LEVEL",
              "Feature level of the device, 1_0 to 6_4: cases above it must be refused; 6_4 if not given",
              options->check.level, parse_level);
  verb.memory_option();
  verb.flag("--strict", "Accept one unit in the last place at most, whatever a case tolerates", options->check.strict);
  verb.flag("--documented-only", "Leave out cases whose source is a reading, not a document",
            options->check.documented_only);
  verb.runs([options] { return check_kit(*options); });
}

}  // namespace dmlref::tool
