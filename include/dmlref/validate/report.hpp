// report.hpp: what is wrong with a request: every broken rule, with the field, its value and what was expected.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/desc/feature_level.hpp"
#include "dmlref/validate/rule_id.hpp"

DMLREF_BEGIN

enum class ViolationKind {
  invalid,               ///< no level would accept this field as it stands
  unsupported_at_level,  ///< a higher level accepts it
};

/// One broken rule.
struct Violation {
  RuleId rule;
  ViolationKind kind;
  std::string field;                                ///< the desc's own member path, e.g. "OutputTensor.Sizes[2]"
  std::string message;                              ///< names the field, its value and what was expected
  std::optional<DML_FEATURE_LEVEL> available_from;  ///< for unsupported_at_level: the first level that accepts it
};

/// All violations found, not only the first; none: the request is good.
class Report {
 public:
  bool ok() const noexcept { return violations_.empty(); }
  explicit operator bool() const noexcept { return ok(); }
  std::span<const Violation> violations() const noexcept { return violations_; }

  /// "ok", or one line per violation: message, rule, and the level that would accept it.
  std::string to_string() const {
    if (ok()) return "ok";
    std::string text;
    for (const Violation& violation : violations_) {
      if (!text.empty()) text += '\n';
      text += violation.message;
      text += " [";
      text += dmlref::to_string(violation.rule);
      text += ']';
      if (violation.available_from) {
        text += " (accepted from feature level ";
        text += dmlref::to_string(*violation.available_from);
        text += ')';
      }
    }
    return text;
  }

  void add(Violation violation) { violations_.push_back(std::move(violation)); }
  /// A violation that no level lifts. `predicate` goes on after the field's name: "is 0, expected at least 1".
  void add(RuleId rule, std::string field, const std::string& predicate) {
    std::string message = field + ' ' + predicate;
    add(Violation{rule, ViolationKind::invalid, std::move(field), std::move(message), std::nullopt});
  }
  /// A violation that `from` and the levels above it lift.
  void add(RuleId rule, std::string field, const std::string& predicate, FeatureLevel from) {
    std::string message = field + ' ' + predicate;
    add(Violation{rule, ViolationKind::unsupported_at_level, std::move(field), std::move(message), from});
  }

 private:
  std::vector<Violation> violations_;
};

DMLREF_END
