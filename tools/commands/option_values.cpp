#include "commands/option_values.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "support/element.hpp"
#include "support/failure.hpp"

namespace dmlref::tool {
namespace {

[[noreturn]] void refuse(const std::string& option, const std::string& text, const std::string& expected) {
  throw Failure(option, fmt::format("is \"{}\", expected {}", text, expected));
}

/// The whole text as a number, where it is one.
template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

FeatureLevel parse_level(const std::string& option, const std::string& text) {
  if (const std::optional<FeatureLevel> level = feature_level_from_name(text)) return *level;
  std::string known;
  for (const FeatureLevelName& row : feature_levels) known.append(known.empty() ? "" : ", ").append(row.name);
  refuse(option, text, "one of " + known);
}

Isa parse_isa(const std::string& option, const std::string& text) {
  std::string known;
  for (const IsaName& row : isa_table) {
    if (supported(row.isa)) known.append(known.empty() ? "" : ", ").append(row.name);
  }
  const std::optional<Isa> isa = isa_from_name(text);
  if (!isa || !supported(*isa)) refuse(option, text, "one that this CPU runs: " + known);
  return *isa;
}

DataType parse_type(const std::string& option, const std::string& text) {
  const std::optional<DataType> type = data_type_from_name(text);
  if (!type || size_of(*type) == 0) refuse(option, text, "one of " + data_type_names());
  return *type;
}

unsigned parse_thread_count(const std::string& option, const std::string& text) {
  constexpr unsigned most = 1024;
  const std::optional<unsigned> count = number<unsigned>(text);
  if (!count || *count == 0 || *count > most) refuse(option, text, fmt::format("an integer from 1 to {}", most));
  return *count;
}

std::uint64_t parse_integer(const std::string& option, const std::string& text) {
  const std::optional<std::uint64_t> value = number<std::uint64_t>(text);
  if (!value) {
    refuse(option, text, fmt::format("an integer from 0 to {}", (std::numeric_limits<std::uint64_t>::max)()));
  }
  return *value;
}

double parse_distance(const std::string& option, const std::string& text) {
  const std::optional<double> value = number<double>(text);
  if (!value || !std::isfinite(*value) || *value < 0) refuse(option, text, "a number of at least 0");
  return *value;
}

std::vector<std::uint64_t> parse_integers(const std::string& option, const std::string& text) {
  std::vector<std::uint64_t> values;
  std::string_view rest = text;
  for (;;) {
    const std::size_t comma = rest.find(',');
    const std::optional<std::uint64_t> value = number<std::uint64_t>(rest.substr(0, comma));
    if (!value) refuse(option, text, "integers like 1,3,4,4");
    values.push_back(*value);
    if (comma == std::string_view::npos) return values;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace dmlref::tool
