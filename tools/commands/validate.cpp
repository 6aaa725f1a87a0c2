#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "commands/commands.hpp"
#include "commands/option_values.hpp"
#include "dmlref/directml.hpp"
#include "model/model.hpp"
#include "support/failure.hpp"
#include "support/json_text.hpp"
#include "support/printable.hpp"

namespace dmlref::tool {
namespace {

struct ValidateOptions {
  std::string model;
  std::optional<FeatureLevel> level;  // empty: all of them
  bool json = false;
};

/// What successive levels say alike of an operator.
struct Verdict {
  FeatureLevel from;
  FeatureLevel to;
  Report report;
};

std::vector<Verdict> verdicts_on(const Dispatchable& dispatchable, const std::optional<FeatureLevel>& only) {
  std::vector<Verdict> verdicts;
  for (const FeatureLevelName& row : feature_levels) {
    if (only && row.level != *only) continue;
    Report report = validate(dispatchable.op.desc(), row.level);
    if (!verdicts.empty() && verdicts.back().report.to_string() == report.to_string()) {
      verdicts.back().to = row.level;
    } else {
      verdicts.push_back({row.level, row.level, std::move(report)});
    }
  }
  return verdicts;
}

void print_text(const Dispatchable& dispatchable, const Verdict& verdict) {
  const std::string levels = verdict.from == verdict.to
                                 ? fmt::format("level {}", to_string(verdict.from))
                                 : fmt::format("levels {} to {}", to_string(verdict.from), to_string(verdict.to));
  fmt::print("{}: {} at feature {}: {}\n", printable(dispatchable.name), dispatchable.op.name(), levels,
             verdict.report ? "accepted" : "refused");
  for (const Violation& violation : verdict.report.violations()) {
    fmt::print("  {} [{}]{}\n", violation.message, to_string(violation.rule),
               violation.available_from
                   ? fmt::format(" (accepted from feature level {})", to_string(*violation.available_from))
                   : "");
  }
}

OrderedJson to_json(const Verdict& verdict) {
  OrderedJson json{{"from", to_string(verdict.from)},
                   {"to", to_string(verdict.to)},
                   {"accepted", verdict.report.ok()},
                   {"violations", OrderedJson::array()}};
  for (const Violation& violation : verdict.report.violations()) {
    OrderedJson row{{"field", violation.field},
                    {"rule", to_string(violation.rule)},
                    {"kind", violation.kind == ViolationKind::invalid ? "invalid" : "unsupported_at_level"},
                    {"message", violation.message}};
    if (violation.available_from) row["available_from"] = to_string(*violation.available_from);
    json["violations"].push_back(std::move(row));
  }
  return json;
}

int validate_model(const ValidateOptions& options) {
  const Model model = parse_model(options.model);
  bool all_accepted = true;
  OrderedJson operators = OrderedJson::array();
  for (const auto& [name, dispatchable] : model.dispatchables) {
    bool accepted = false;
    OrderedJson levels = OrderedJson::array();
    for (const Verdict& verdict : verdicts_on(dispatchable, options.level)) {
      accepted = accepted || verdict.report.ok();
      if (options.json) {
        levels.push_back(to_json(verdict));
      } else {
        print_text(dispatchable, verdict);
      }
    }
    all_accepted = all_accepted && accepted;
    operators.push_back({{"dispatchable", name},
                         {"type", dispatchable.op.name()},
                         {"path", dispatchable.op.desc_path()},
                         {"levels", std::move(levels)}});
  }
  if (options.json) {
    fmt::print("{}\n", OrderedJson{{"accepted", all_accepted}, {"operators", std::move(operators)}}.dump(2));
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
  Verb verb(
      line, "validate",
      "Report the feature levels that accept each operator, and the rules it breaks at others; reads no data files");
  verb.argument("MODEL.json", "The model, in DxDispatch's JSON format", options->model);
  verb.option("--feature-level", "LEVEL", "One feature level, 1_0 to 6_4, or all; all if not given", options->level,
              parse_one_or_all);
  verb.memory_option();
  verb.flag("--json", "Print the report as JSON", options->json);
  verb.runs([options] { return validate_model(*options); });
}

}  // namespace dmlref::tool
