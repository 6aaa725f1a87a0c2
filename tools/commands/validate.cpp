#include <fmt/format.h>

#include "commands/commands.hpp"
#include "dmlref/directml.hpp"
#include "model/model.hpp"
#include "support/failure.hpp"

namespace dmlref::tool {
namespace {

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

}  // namespace

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

}  // namespace dmlref::tool
