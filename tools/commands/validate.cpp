#include <fmt/format.h>

#include <memory>
#include <optional>

#include "commands/commands.hpp"
#include "commands/option_values.hpp"
#include "dmlref/directml.hpp"
#include "model/model.hpp"
#include "support/failure.hpp"

namespace dmlref::tool {
namespace {

struct ValidateOptions {
  std::string model;
  std::optional<FeatureLevel> level;  // empty: all of them
};

/// Prints the verdict on one operator at one level; returns whether it is accepted.
bool print_verdict(const Dispatchable& dispatchable, FeatureLevel level) {
  const Report report = validate(dispatchable.op.desc(), level);
  fmt::print("{}: {} at feature level {}: {}\n", dispatchable.name, dispatchable.op.name(), to_string(level),
             report ? "accepted" : "refused");
  for (const Violation& violation : report.violations()) {
    fmt::print("  {} [{}]{}\n", violation.message, to_string(violation.rule),
               violation.available_from
                   ? fmt::format(" (accepted from feature level {})", to_string(*violation.available_from))
                   : "");
  }
  return report.ok();
}

int validate_model(const ValidateOptions& options) {
  const Model model = parse_model(options.model);
  bool all_accepted = true;
  for (const auto& [name, dispatchable] : model.dispatchables) {
    if (options.level) {
      all_accepted = print_verdict(dispatchable, *options.level) && all_accepted;
      continue;
    }
    bool somewhere = false;
    for (const FeatureLevelName& row : feature_levels) {
      somewhere = print_verdict(dispatchable, row.level) || somewhere;
    }
    all_accepted = all_accepted && somewhere;
  }
  return all_accepted ? exit_done : exit_failed;
}

std::optional<FeatureLevel> parse_one_or_all(const std::string& option, const std::string& text) {
  if (text == "all") return std::nullopt;
  return parse_level(option, text);
}

}  // namespace

void add_validate(CLI::App& line) {
  const auto options = std::make_shared<ValidateOptions>();
  Verb verb(line, "validate", "Say for each level whether it accepts the operators, and why not");
  verb.argument("MODEL.json", "The model", options->model);
  verb.option("--feature-level", "One level, or all; all if not given", options->level, parse_one_or_all);
  verb.runs([options] { return validate_model(*options); });
}

}  // namespace dmlref::tool
