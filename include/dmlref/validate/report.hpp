// report.hpp: what is wrong with a request: every broken rule, with the field, its value and what was expected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/desc/feature_level.hpp"
#include "dmlref/validate/rule_id.hpp"

DMLREF_BEGIN

/// Whether another feature level would help.
enum class ViolationKind {
  invalid,               ///< no level would accept this field as it stands
  unsupported_at_level,  ///< a higher level accepts it
};

/// One broken rule.
struct Violation {
  RuleId rule;                                 ///< which rule; to_string(rule) is its name
  ViolationKind kind;                          ///< invalid, or supported from `available_from` on
  std::string field;                           ///< the desc's own member path, e.g. "OutputTensor.Sizes[2]"
  std::string message;                         ///< names the field, its value and what was expected
  std::optional<FeatureLevel> available_from;  ///< for unsupported_at_level: the first level that accepts it
};

/// One line: message, rule, and the level that would accept the request.
DMLREF_NOINLINE inline std::string to_string(const Violation& violation) {
  std::string text = violation.message;
  text += " [";
  text += to_string(violation.rule);
  text += ']';
  if (violation.available_from) {
    text += " (accepted from feature level ";
    text += to_string(*violation.available_from);
    text += ')';
  }
  return text;
}

/// A part of a message: text that outlives the call, or a whole number.
class MessagePart {
 public:
  /// Text; it is not copied.
  constexpr MessagePart(std::string_view text) noexcept
      : text_(text.empty() ? "" : text.data()), number_(text.size()) {}
  /// Text; it is not copied.
  constexpr MessagePart(const char* text) noexcept : MessagePart(std::string_view(text)) {}
  /// Text; it is not copied.
  MessagePart(const std::string& text) noexcept : MessagePart(std::string_view(text)) {}
  /// A whole number, written in decimal.
  template <class Number>
  requires std::is_integral_v<Number>
  constexpr MessagePart(Number number) noexcept
      : number_(static_cast<std::uint64_t>(number)), negative_(number < Number{0}) {}

  /// Writes the part at the end of `text`.
  void append_to(std::string& text) const {
    if (text_ != nullptr) {
      text.append(text_, static_cast<std::size_t>(number_));
    } else {
      text += negative_ ? '-' + std::to_string(0 - number_) : std::to_string(number_);
    }
  }

 private:
  const char* text_ = nullptr;  // null: a number
  std::uint64_t number_ = 0;    // or the text's length
  bool negative_ = false;
};

/// The parts one after the other. (Out of line: strings added up in place were most of the code of validation.)
DMLREF_NOINLINE inline std::string text_of(std::initializer_list<MessagePart> parts) {
  std::string text;
  for (const MessagePart& part : parts) part.append_to(text);
  return text;
}

/// All violations found, not only the first; none: the request is good. What every call returns instead of throwing.
class Report {
 public:
  /// Whether there is no violation.
  [[nodiscard]] bool ok() const noexcept { return violations_.empty(); }
  /// The same as ok().
  explicit operator bool() const noexcept { return ok(); }
  /// In the order in which they were found; valid until the Report changes or ends.
  [[nodiscard]] std::span<const Violation> violations() const& noexcept { return violations_; }
  /// The same of a temporary Report, by value: they outlive it.
  [[nodiscard]] std::vector<Violation> violations() && noexcept { return std::move(violations_); }

  /// "ok", or one line per violation: message, rule, and the level that would accept it.
  [[nodiscard]] DMLREF_NOINLINE std::string to_string() const {
    if (ok()) return "ok";
    std::string text;
    for (const Violation& violation : violations_) {
      if (!text.empty()) text += '\n';
      text += dmlref::to_string(violation);
    }
    return text;
  }

  /// Appends one violation.
  DMLREF_NOINLINE void add(Violation violation) { violations_.push_back(std::move(violation)); }
  /// A violation that no level lifts. `predicate` goes on after the field's name: "is 0, expected at least 1".
  void add(RuleId rule, std::string_view field, std::initializer_list<MessagePart> predicate) {
    add(rule, ViolationKind::invalid, field, predicate, std::nullopt);
  }
  /// A violation that `from` and the levels above it lift.
  void add(RuleId rule, std::string_view field, std::initializer_list<MessagePart> predicate, FeatureLevel from) {
    add(rule, ViolationKind::unsupported_at_level, field, predicate, from);
  }

 private:
  DMLREF_NOINLINE void add(RuleId rule, ViolationKind kind, std::string_view field,
                           std::initializer_list<MessagePart> predicate, std::optional<FeatureLevel> from) {
    std::string message(field);
    message += ' ';
    message += text_of(predicate);
    add(Violation{rule, kind, std::string(field), std::move(message), from});
  }

  std::vector<Violation> violations_;
};

DMLREF_END
