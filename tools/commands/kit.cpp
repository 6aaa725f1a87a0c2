#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <regex>

#include "commands/commands.hpp"
#include "kit/write.hpp"
#include "support/failure.hpp"

namespace dmlref::tool {
namespace {

struct KitOptions {
  std::string folder;
  std::string filter;
  bool large = false;
};

std::regex parse_filter(const std::string& text) {
  try {
    return std::regex(text, std::regex::ECMAScript);
  } catch (const std::regex_error&) {
    throw Failure("--filter", fmt::format("is \"{}\", expected a regular expression (ECMAScript)", text));
  }
}

int make_kit(const KitOptions& options) {
  const std::regex filter = parse_filter(options.filter);
  std::vector<kit::Case> cases = kit::all_cases(options.large);
  cases.erase(std::remove_if(cases.begin(), cases.end(),
                             [&](const kit::Case& one) { return !std::regex_search(one.name, filter); }),
              cases.end());
  if (cases.empty()) throw Failure("--filter", fmt::format("is \"{}\", expected it to match a case", options.filter));
  kit::write_kit(options.folder, cases);
  const auto refused =
      std::count_if(cases.begin(), cases.end(), [](const kit::Case& one) { return !one.accepted_from; });
  fmt::print("{} cases in {}, {} of them to be refused at every level\n", cases.size(), options.folder, refused);
  return exit_done;
}

}  // namespace

void add_kit(CLI::App& line) {
  const auto options = std::make_shared<KitOptions>();
  Verb verb(line, "kit", "Write the conformance kit: a model, inputs and expected outputs for each case");
  verb.argument("DIR", "Folder, new or empty", options->folder);
  verb.option("--filter", "REGEX", "Only the cases whose name matches (ECMAScript)", options->filter);
  verb.flag("--large", "Also the cases whose buffers reach 2^32 bytes", options->large);
  verb.runs([options] { return make_kit(*options); });
}

}  // namespace dmlref::tool
