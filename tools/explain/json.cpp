#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "explain/report.hpp"
#include "support/element.hpp"
#include "support/json_text.hpp"

namespace dmlref::tool {
namespace {

/// A number, or a text where JSON has no such number.
OrderedJson real(double value) { return std::isfinite(value) ? OrderedJson(value) : OrderedJson(real_text(value)); }
OrderedJson number(const std::string& text) {
  OrderedJson value = OrderedJson::parse(text, nullptr, false);
  return value.is_number() ? value : OrderedJson(text);
}
/// An integer, or its digits where readers of JSON would round it.
OrderedJson exact_integer(const ExactQuotient& quotient) {
  const bool shown = std::to_string(quotient.rounded) == quotient.integer;
  return shown ? OrderedJson(quotient.rounded) : OrderedJson(quotient.integer);
}
OrderedJson integer(const std::optional<std::int64_t>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

OrderedJson json(const ElementValue& element) {
  return {{"at", element.at}, {"value", number(element.value)}, {"bits", element.bits}};
}
OrderedJson json(const std::optional<ElementValue>& element) { return element ? json(*element) : OrderedJson(nullptr); }

OrderedJson json(const SliceExplanation& how) {
  OrderedJson steps = OrderedJson::array();
  for (const SliceStep& step : how.steps) {
    steps.push_back({{"output", step.output}, {"first", step.first}, {"stride", step.stride}, {"input", step.input}});
  }
  return {{"steps", std::move(steps)}, {"source", json(how.source)}, {"byte", how.byte}};
}

OrderedJson json(const ConvolutionExplanation& how) {
  OrderedJson terms = OrderedJson::array();
  for (const ConvolutionTerm& term : how.terms) {
    terms.push_back({{"input_at", term.input_at},
                     {"padding", term.padding},
                     {"input", term.input},
                     {"filter_at", term.filter_at},
                     {"filter", term.filter},
                     {"product", term.product}});
  }
  OrderedJson all{{"group", how.group},
                  {"group_count", how.group_count},
                  {"input_zero_point", integer(how.input_zero_point)},
                  {"filter_zero_point", integer(how.filter_zero_point)},
                  {"terms", std::move(terms)},
                  {"term_count", how.term_count},
                  {"sum", how.sum}};
  if (how.is_integer) return all;
  all.update({{"bias", integer(how.bias)},
              {"accumulator", how.accumulator},
              {"input_scale", real(static_cast<double>(how.input_scale))},
              {"filter_scale", real(static_cast<double>(how.filter_scale))},
              {"output_scale", real(static_cast<double>(how.output_scale))},
              {"quotient", {{"fraction", how.quotient.fraction}, {"decimal", how.quotient.decimal}}},
              {"tie", how.quotient.tie},
              {"rounded", exact_integer(how.quotient)},
              {"output_zero_point", integer(how.output_zero_point)},
              {"saturated", how.saturated}});
  return all;
}

OrderedJson json(const ProductExplanation& how) {
  OrderedJson terms = OrderedJson::array();
  for (const ProductTerm& term : how.terms) {
    terms.push_back(
        {{"a_at", term.a_at}, {"a", term.a}, {"b_at", term.b_at}, {"b", term.b}, {"product", term.product}});
  }
  OrderedJson all{{"a_zero_point", integer(how.a_zero_point)},
                  {"b_zero_point", integer(how.b_zero_point)},
                  {"terms", std::move(terms)},
                  {"term_count", how.term_count},
                  {"sum", how.sum}};
  if (how.is_integer) return all;
  all.update({{"a_scale", real(static_cast<double>(how.a_scale))},
              {"b_scale", real(static_cast<double>(how.b_scale))},
              {"output_scale", real(static_cast<double>(how.output_scale))},
              {"quotient", {{"fraction", how.quotient.fraction}, {"decimal", how.quotient.decimal}}},
              {"tie", how.quotient.tie},
              {"rounded", exact_integer(how.quotient)},
              {"output_zero_point", integer(how.output_zero_point)},
              {"saturated", how.saturated}});
  return all;
}

OrderedJson json(const NormalizationExplanation& how) {
  OrderedJson elements = OrderedJson::array();
  for (const ElementValue& element : how.elements) elements.push_back(json(element));
  OrderedJson all{{"axes", how.axes}, {"elements", std::move(elements)}, {"element_count", how.element_count}};
  if (how.use_mean) {
    all.update({{"mean", real(how.mean)}, {"variance", real(how.variance)}});
  } else {
    all["mean_square"] = how.normalize_variance ? real(how.variance) : OrderedJson(nullptr);
  }
  all.update({{"normalize_variance", how.normalize_variance},
              {"epsilon", real(static_cast<double>(how.epsilon))},
              {"input", json(how.input)},
              {"normalized", real(how.normalized)},
              {"scale", json(how.scale)},
              {"bias", json(how.bias)},
              {"before_activation", real(how.before_activation)},
              {"activation", how.activation.empty() ? OrderedJson(nullptr) : OrderedJson(how.activation)},
              {"after_activation", real(how.after_activation)},
              {"nearest", number(how.nearest)}});
  return all;
}

OrderedJson json(const QuantizeLinearExplanation& how) {
  return {{"input", json(how.input)},
          {"scale", json(how.scale)},
          {"zero_point", json(how.zero_point)},
          {"quotient", {{"fraction", how.quotient.fraction}, {"decimal", how.quotient.decimal}}},
          {"tie", how.quotient.tie},
          {"rounded", exact_integer(how.quotient)},
          {"saturated", how.saturated}};
}

OrderedJson json(const DequantizeLinearExplanation& how) {
  return {{"input", json(how.input)},
          {"scale", json(how.scale)},
          {"zero_point", json(how.zero_point)},
          {"difference", how.difference},
          {"product", {{"fraction", how.product.fraction}, {"decimal", how.product.decimal}}}};
}

}  // namespace

std::string to_json_text(const Explanation& explanation, std::string_view name) {
  OrderedJson all{{"dispatchable", name},
                  {"operator", explanation.operator_name},
                  {"output_type", explanation.output_type},
                  {"output", json(explanation.output)}};
  all.update(std::visit([](const auto& how) { return json(how); }, explanation.how));
  return all.dump(2);
}

}  // namespace dmlref::tool
