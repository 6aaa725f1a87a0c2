#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "commands/commands.hpp"
#include "commands/option_values.hpp"
#include "io/file.hpp"
#include "io/npy.hpp"
#include "io/tensor_file.hpp"
#include "support/comparison.hpp"
#include "support/element.hpp"
#include "support/failure.hpp"
#include "support/json_text.hpp"
#include "support/text_table.hpp"

namespace dmlref::tool {
namespace {

struct CompareOptions {
  std::string a;
  std::string b;
  Tolerance tolerance;
  std::uint64_t mismatches = 10;     // how many are listed
  std::optional<DataType> type;      // of raw dumps
  std::vector<std::uint64_t> shape;  // of raw dumps; empty: a list as long as the file
  bool json = false;
};

NpyArray read(const std::string& path, const CompareOptions& options) {
  try {
    Reservation memory;
    const std::vector<std::byte> bytes = read_file(path, memory);
    if (!options.type || is_npy(path)) return read_npy(bytes);
    return read_raw(bytes, *options.type, options.shape);
  } catch (const FileError& error) {
    throw Failure(path, error.what());
  }
}

std::string at(const ElementPair& pair) { return fmt::format("[{}]", fmt::join(pair.coordinates, ", ")); }

std::string ulp_text(const Distance& distance) { return distance.ulp ? fmt::format("{}", *distance.ulp) : "none"; }

std::string short_text(double value) { return std::isfinite(value) ? fmt::format("{:.4g}", value) : real_text(value); }

std::string mismatch_table(const std::vector<ElementPair>& pairs) {
  std::vector<std::vector<std::string>> rows{{"at", "A", "bits", "B", "bits", "absolute", "relative", "ulp"}};
  for (const ElementPair& pair : pairs) {
    rows.push_back({at(pair), pair.actual, pair.actual_bits, pair.expected, pair.expected_bits,
                    short_text(pair.distance.absolute), short_text(pair.distance.relative), ulp_text(pair.distance)});
  }
  return text_table(rows);
}

std::string histogram_table(const Comparison& result) {
  std::vector<std::vector<std::string>> rows{{"ulp", "elements"}};
  for (const DistanceCount& row : result.histogram) {
    rows.push_back({row.least == row.most ? fmt::format("{}", row.least) : fmt::format("{} to {}", row.least, row.most),
                    fmt::format("{}", row.elements)});
  }
  if (result.not_comparable != 0) rows.push_back({"none", fmt::format("{}", result.not_comparable)});
  return text_table(rows);
}

void print_text(const Comparison& result, DataType type, const Tolerance& tolerance) {
  if (!result.unlike.empty()) return fmt::print("differ: {}\n", result.unlike);
  const ElementPair& worst = *result.worst;
  if (result.equal()) {
    fmt::print("equal within {}: {} elements of {}, largest difference {}\n", tolerance.to_string(), result.count,
               to_string(type), worst.distance.ulp ? ulp_text(worst.distance) + " ulp" : "no number of ulp");
  } else {
    fmt::print("differ: {} of {} elements of {} by more than {}, worst at {}: {} against {}, {}\n", result.mismatches,
               result.count, to_string(type), tolerance.to_string(), at(worst), worst.actual, worst.expected,
               worst.distance.ulp ? ulp_text(worst.distance) + " ulp apart" : "which no number of ulp spans");
    if (!result.first.empty()) fmt::print("\n{}", mismatch_table(result.first));
  }
  if (worst.distance.ulp != std::uint64_t{0}) fmt::print("\n{}", histogram_table(result));
}

/// A number, or a text where JSON has no such number.
OrderedJson real(double value) { return std::isfinite(value) ? OrderedJson(value) : OrderedJson(real_text(value)); }
OrderedJson element(const std::string& text) {
  const OrderedJson number = OrderedJson::parse(text, nullptr, false);
  return number.is_number() ? number : OrderedJson(text);
}

OrderedJson to_json(const ElementPair& pair) {
  return {{"at", pair.coordinates},
          {"a", element(pair.actual)},
          {"a_bits", pair.actual_bits},
          {"b", element(pair.expected)},
          {"b_bits", pair.expected_bits},
          {"absolute", real(pair.distance.absolute)},
          {"relative", real(pair.distance.relative)},
          {"ulp", pair.distance.ulp ? OrderedJson(*pair.distance.ulp) : OrderedJson(nullptr)}};
}

void print_json(const Comparison& result, const NpyArray& a, const Tolerance& tolerance) {
  OrderedJson json{
      {"equal", result.equal()},
      {"tolerance", {{"ulp", tolerance.ulp}, {"absolute", tolerance.absolute}, {"relative", tolerance.relative}}}};
  if (!result.unlike.empty()) {
    json["unlike"] = result.unlike;
  } else {
    json["type"] = to_string(a.type);
    json["shape"] = a.shape;
    json["elements"] = result.count;
    json["mismatches"] = result.mismatches;
    json["worst"] = to_json(*result.worst);
    json["first"] = OrderedJson::array();
    for (const ElementPair& pair : result.first) json["first"].push_back(to_json(pair));
    json["histogram"] = OrderedJson::array();
    for (const DistanceCount& row : result.histogram) {
      json["histogram"].push_back({{"least", row.least}, {"most", row.most}, {"elements", row.elements}});
    }
    json["not_comparable"] = result.not_comparable;
  }
  fmt::print("{}\n", json.dump(2));
}

int compare_files(const CompareOptions& options) {
  if (!options.shape.empty() && !options.type) {
    throw Failure("--shape", "is given without --type, expected both for raw files and neither for .npy files");
  }
  const NpyArray a = read(options.a, options);
  const NpyArray b = read(options.b, options);
  const Comparison result = compare_tensors({a.type, a.shape, a.data}, {b.type, b.shape, b.data}, options.tolerance,
                                            static_cast<std::size_t>(options.mismatches));
  if (options.json) {
    print_json(result, a, options.tolerance);
  } else {
    print_text(result, a.type, options.tolerance);
  }
  return result.equal() ? exit_done : exit_failed;
}

}  // namespace

void add_compare(CLI::App& line) {
  const auto options = std::make_shared<CompareOptions>();
  Verb verb(line, "compare",
            "Compare the elements of two files, of which B is expected; an element within any tolerance is equal");
  verb.argument("A.npy", "The array to check: .npy, or raw with --type", options->a);
  verb.argument("B.npy", "The expected array", options->b);
  verb.option("--ulp", "N", "Tolerance in units in the last place; 0 if not given", options->tolerance.ulp,
              parse_integer);
  verb.option("--abs", "X", "Absolute tolerance", options->tolerance.absolute, parse_distance);
  verb.option("--rel", "X", "Tolerance relative to the magnitude of B's element", options->tolerance.relative,
              parse_distance);
  verb.option("--mismatches", "N", "Mismatches listed at most; 10 if not given", options->mismatches, parse_integer);
  verb.option("--type", "TYPE", "Element type of raw files, as FLOAT16", options->type, parse_type);
  verb.option("--shape", "I,J,...", "Sizes of raw files, as 1,3,4,4; one dimension as long as the file if not given",
              options->shape, parse_integers);
  verb.memory_option();
  verb.flag("--json", "Print the result as JSON", options->json);
  verb.runs([options] { return compare_files(*options); });
}

}  // namespace dmlref::tool
