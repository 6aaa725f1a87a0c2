#include <fmt/format.h>
#include <fmt/ranges.h>

#include "explain/report.hpp"
#include "support/element.hpp"
#include "support/printable.hpp"
#include "support/text_table.hpp"

namespace dmlref::tool {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string text(const Position& at) { return fmt::format("[{}]", fmt::join(at, ", ")); }

std::string text_or_absent(const std::optional<std::int64_t>& value) {
  return value ? fmt::format("{}", *value) : "0 (absent)";
}

/// What a list of `count` lacks when it has `shown`.
std::string rest_text(std::uint64_t count, std::size_t shown, const char* what) {
  if (shown == count) return {};
  return fmt::format("... and {} {} more (--all shows them)\n", count - shown, what);
}

std::string text(const SliceExplanation& how) {
  Rows rows{{"dimension", "output", "first", "stride", "input = first + stride * output"}};
  for (std::size_t d = 0; d < how.steps.size(); ++d) {
    const SliceStep& step = how.steps[d];
    rows.push_back({fmt::format("{}", d), fmt::format("{}", step.output), fmt::format("{}", step.first),
                    fmt::format("{}", step.stride), fmt::format("{}", step.input)});
  }
  return fmt::format("InputTensor{} = {} ({}), at byte {}\n\n{}", text(how.source.at), how.source.value,
                     how.source.bits, how.byte, text_table(rows));
}

std::string terms_text(const ConvolutionExplanation& how) {
  Rows rows{{"InputTensor", "x", "FilterTensor", "f", "(x - zero point) * (f - zero point)"}};
  const std::int64_t input_zero = how.input_zero_point.value_or(0);
  const std::int64_t filter_zero = how.filter_zero_point.value_or(0);
  for (const ConvolutionTerm& term : how.terms) {
    rows.push_back({text(term.input_at), term.padding ? "padding" : fmt::format("{}", term.input), text(term.filter_at),
                    fmt::format("{}", term.filter),
                    fmt::format("{} * {} = {}", term.input - input_zero, term.filter - filter_zero, term.product)});
  }
  return text_table(rows) + rest_text(how.term_count, how.terms.size(), "products");
}

std::string rounding_text(const ExactQuotient& quotient) {
  if (quotient.decimal == "nan") return "NaN counts as 0";
  if (!quotient.tie) return "rounded to the nearest integer";
  return "rounded half to even, as it is a tie";
}

/// What becomes of an exact sum whose output is INT32.
Rows integer_rows(std::uint64_t term_count, std::int64_t sum, const Explanation& all) {
  const bool wraps = sum < INT32_MIN || sum > INT32_MAX;
  return {{fmt::format("sum of {} products", term_count), fmt::format("{}", sum)},
          {wraps ? "modulo 2^32, as INT32" : "within INT32", all.output.value}};
}

std::string text(const ConvolutionExplanation& how, const Explanation& all) {
  const Rows quantized_rows{
      {fmt::format("sum of {} products", how.term_count), fmt::format("{}", how.sum)},
      {"+ BiasTensor", text_or_absent(how.bias)},
      {"accumulator", fmt::format("{}", how.accumulator)},
      {"* InputScaleTensor", real_text(how.input_scale)},
      {"* FilterScaleTensor", real_text(how.filter_scale)},
      {"/ OutputScaleTensor", real_text(how.output_scale)},
      {"exact quotient", how.quotient.decimal},
      {"as a fraction", how.quotient.fraction},
      {rounding_text(how.quotient), how.quotient.integer},
      {"+ OutputZeroPointTensor", text_or_absent(how.output_zero_point)},
      {fmt::format("{} {}", how.saturated ? "clamped to" : "within", all.output_type), all.output.value},
  };
  const Rows rows = how.is_integer ? integer_rows(how.term_count, how.sum, all) : quantized_rows;
  return fmt::format("group {} of {}; InputZeroPoint {}, FilterZeroPoint {}\n\n{}\n{}", how.group, how.group_count,
                     text_or_absent(how.input_zero_point), text_or_absent(how.filter_zero_point), terms_text(how),
                     text_table(rows));
}

std::string terms_text(const ProductExplanation& how) {
  Rows rows{{"ATensor", "a", "BTensor", "b", "(a - zero point) * (b - zero point)"}};
  const std::int64_t a_zero = how.a_zero_point.value_or(0);
  const std::int64_t b_zero = how.b_zero_point.value_or(0);
  for (const ProductTerm& term : how.terms) {
    rows.push_back({text(term.a_at), fmt::format("{}", term.a), text(term.b_at), fmt::format("{}", term.b),
                    fmt::format("{} * {} = {}", term.a - a_zero, term.b - b_zero, term.product)});
  }
  return text_table(rows) + rest_text(how.term_count, how.terms.size(), "products");
}

std::string text(const ProductExplanation& how, const Explanation& all) {
  const Rows quantized_rows{
      {fmt::format("sum of {} products", how.term_count), fmt::format("{}", how.sum)},
      {"* AScaleTensor", real_text(how.a_scale)},
      {"* BScaleTensor", real_text(how.b_scale)},
      {"/ OutputScaleTensor", real_text(how.output_scale)},
      {"exact quotient", how.quotient.decimal},
      {"as a fraction", how.quotient.fraction},
      {rounding_text(how.quotient), how.quotient.integer},
      {"+ OutputZeroPointTensor", text_or_absent(how.output_zero_point)},
      {fmt::format("{} {}", how.saturated ? "clamped to" : "within", all.output_type), all.output.value},
  };
  const Rows rows = how.is_integer ? integer_rows(how.term_count, how.sum, all) : quantized_rows;
  return fmt::format("AZeroPoint {}, BZeroPoint {}\n\n{}\n{}", text_or_absent(how.a_zero_point),
                     text_or_absent(how.b_zero_point), terms_text(how), text_table(rows));
}

std::string formula_text(const NormalizationExplanation& how) {
  const std::string_view dividend = how.use_mean ? "x - mean" : "x";
  if (!how.normalize_variance) return std::string(dividend);
  return how.use_mean ? "(x - mean) / sqrt(variance + Epsilon)" : "x / sqrt(mean square + Epsilon)";
}

std::string text(const NormalizationExplanation& how, const Explanation& all) {
  Rows elements{{"InputTensor", "value"}};
  for (const ElementValue& element : how.elements) elements.push_back({text(element.at), element.value});
  const auto number = [](double value) { return real_text(value); };
  Rows rows;
  if (how.use_mean) rows = {{"mean", number(how.mean)}, {"variance", number(how.variance)}};
  if (!how.use_mean && how.normalize_variance) rows = {{"mean square", number(how.variance)}};
  if (how.normalize_variance) rows.push_back({"Epsilon", real_text(how.epsilon)});
  rows.push_back({"x = InputTensor" + text(how.input.at), how.input.value});
  rows.push_back({formula_text(how), number(how.normalized)});
  if (how.scale) rows.push_back({"* ScaleTensor" + text(how.scale->at), how.scale->value});
  if (how.bias) rows.push_back({"+ BiasTensor" + text(how.bias->at), how.bias->value});
  if (how.activation.empty()) {
    rows.push_back({"not rounded", number(how.before_activation)});
  } else {
    rows.push_back({"before the activation", number(how.before_activation)});
    rows.push_back({how.activation, number(how.after_activation)});
  }
  rows.push_back({"rounded to " + all.output_type, all.output.value});
  if (how.nearest != all.output.value) rows.push_back({"nearest, at most one ulp away", how.nearest});
  const std::string axes =
      how.axes.empty() ? "no axes: the element alone" : fmt::format("axes {}", fmt::join(how.axes, ", "));
  return fmt::format("group of {} elements, along {}\n\n{}{}\n{}", how.element_count, axes, text_table(elements),
                     rest_text(how.element_count, how.elements.size(), "elements"), text_table(rows));
}

std::string value_or_absent(const std::optional<ElementValue>& element) {
  return element ? element->value : "0 (absent)";
}

std::string text(const QuantizeLinearExplanation& how, const Explanation& all) {
  return text_table(Rows{
      {"InputTensor" + text(how.input.at), how.input.value},
      {"/ ScaleTensor", how.scale.value},
      {"exact quotient", how.quotient.decimal},
      {"as a fraction", how.quotient.fraction},
      {rounding_text(how.quotient), how.quotient.integer},
      {"+ ZeroPointTensor", value_or_absent(how.zero_point)},
      {fmt::format("{} {}", how.saturated ? "clamped to" : "within", all.output_type), all.output.value},
  });
}

std::string text(const DequantizeLinearExplanation& how, const Explanation& all) {
  return text_table(Rows{
      {"InputTensor" + text(how.input.at), how.input.value},
      {"- ZeroPointTensor", value_or_absent(how.zero_point)},
      {"difference", fmt::format("{}", how.difference)},
      {"* ScaleTensor", how.scale.value},
      {"exact product", how.product.decimal},
      {"as a fraction", how.product.fraction},
      {"rounded to " + all.output_type, all.output.value},
  });
}

}  // namespace

std::string to_text(const Explanation& explanation, std::string_view name) {
  const std::string how = std::visit(
      [&](const auto& known) {
        if constexpr (requires { text(known, explanation); }) {
          return text(known, explanation);
        } else {
          return text(known);
        }
      },
      explanation.how);
  return fmt::format("{}: {}: OutputTensor{} = {} ({}, {})\n{}", printable(name), explanation.operator_name,
                     text(explanation.output.at), explanation.output.value, explanation.output_type,
                     explanation.output.bits, how);
}

}  // namespace dmlref::tool
