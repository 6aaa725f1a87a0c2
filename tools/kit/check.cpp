// check_kit.py in files/ does the same, and prints the same.
#include "kit/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <system_error>
#include <utility>

#include "dmlref/desc/tensor_desc.hpp"
#include "io/file.hpp"
#include "io/npy.hpp"
#include "model/document.hpp"
#include "support/element.hpp"
#include "support/failure.hpp"

namespace dmlref::tool::kit {
namespace {

namespace fs = std::filesystem;

std::vector<std::uint32_t> extents(const Node& node, std::uint32_t least) {
  const auto values = node.numbers<std::uint32_t>("an array of 1 to 8 unsigned integers");
  const bool good = !values.empty() && values.size() <= 8 &&
                    std::all_of(values.begin(), values.end(), [least](std::uint32_t value) { return value >= least; });
  if (!good) node.fail(fmt::format("is [{}], expected 1 to 8 integers from {}", fmt::join(values, ", "), least));
  return values;
}

void read_tolerance(const Node& node, Description& one) {
  node.expect_object({"bits", "absolute", "ulp", "source"});
  one.bits = node.at("bits", "true or false").boolean();
  const Node absolute = node.at("absolute", "a number");
  one.absolute = absolute.number<double>();
  if (!(one.absolute >= 0)) absolute.refuse("a number from 0");
  one.ulp = node.at("ulp", "an unsigned integer").number<std::uint32_t>();
}

Description read_description(const fs::path& folder) {
  const Document document(folder / "case.json");
  const Node root = document.root();
  root.expect_object({"name", "operator", "expect", "feature_level", "fault_kind", "property", "source", "source_kind",
                      "rules", "file", "data_type", "sizes", "strides", "tolerance"});
  Description one;
  const Node name = root.at("name", "the name of the case's folder");
  one.name = name.text();
  if (one.name != folder.filename().string()) name.refuse("\"" + folder.filename().string() + "\", its folder's name");
  one.op = root.at("operator", "an operator's name").text();
  one.kind = root.at("fault_kind", "a kind of fault").text();
  const Node source_kind = root.at("source_kind", "\"documented\" or \"reading\"");
  one.source_kind = source_kind.text() == "reading" ? SourceKind::reading : SourceKind::documented;
  if (source_kind.text() != name_of(one.source_kind)) source_kind.refuse("\"documented\" or \"reading\"");
  const Node file = root.at("file", "the name of a file");
  one.file = file.text();
  if (one.file != "output.npy") file.refuse("\"output.npy\"");
  if (const auto rules = root.find("rules")) {
    if (!rules->json().is_array()) rules->refuse("an array of rules' names");
    for (std::size_t i = 0; i < rules->json().size(); ++i) one.rules.push_back((*rules)[i].text("a rule's name"));
  }
  const Node expect = root.at("expect", "\"output\" or \"refused\"");
  if (expect.text() == "refused") return one;
  if (expect.text() != "output") expect.refuse("\"output\" or \"refused\"");

  const Node level = root.at("feature_level", "a feature level like \"6_4\"");
  one.accepted_from = feature_level_from_name(level.text());
  if (!one.accepted_from) level.refuse("a feature level from \"1_0\" to \"6_4\"");
  const Node type = root.at("data_type", "a data type like \"FLOAT32\"");
  one.type = data_type_from_name(type.text()).value_or(DataType::unknown);
  if (size_of(one.type) == 0) type.refuse("one of " + data_type_names());
  const Node sizes = root.at("sizes", "an array of 1 to 8 unsigned integers");
  one.sizes = extents(sizes, 1);
  if (const auto strides = root.find("strides")) {
    one.strides = extents(*strides, 0);
    if (one.strides.size() != one.sizes.size())
      strides->fail(fmt::format("has {} entries, expected {} as sizes", one.strides.size(), one.sizes.size()));
  }
  const auto spanned = spanned_elements(one.sizes, one.strides);
  const auto product = spanned_elements(one.sizes, {});
  constexpr std::uint64_t most = (std::numeric_limits<std::uint32_t>::max)();
  if (!spanned || *spanned > most || !product || *product > most) {
    sizes.fail("and strides span more than 4294967295 elements, expected fewer");
  }
  read_tolerance(root.at("tolerance", "an object with bits, absolute, ulp"), one);
  return one;
}

/// A file's elements; as many as the case's output spans.
NpyArray read_array(const fs::path& path) {
  try {
    Reservation memory;
    return read_npy(read_file(path, memory));
  } catch (const FileError& error) {
    throw Failure(path.string(), error.what());
  }
}

/// The bits of a number as their place among all numbers of its type; both zeros are 0.
template <class T>
std::int64_t place(T value) {
  using Bits =
      std::conditional_t<sizeof(T) == 2, std::int16_t, std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>>;
  const auto bits = std::bit_cast<Bits>(value);
  return bits < 0 ? std::int64_t{(std::numeric_limits<Bits>::min)()} - bits : bits;
}

template <class T>
bool near_enough(T result, T expected, double absolute, std::uint64_t ulp) {
  if constexpr (is_real<T>) {
    const auto a = static_cast<double>(widen(result));
    const auto b = static_cast<double>(widen(expected));
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    if (std::isinf(a) || std::isinf(b)) return a == b;
    if (std::fabs(a - b) <= absolute) return true;
    const std::int64_t i = place(result);
    const std::int64_t j = place(expected);
    return (i < j ? static_cast<std::uint64_t>(j) - static_cast<std::uint64_t>(i)
                  : static_cast<std::uint64_t>(i) - static_cast<std::uint64_t>(j)) <= ulp;
  } else {
    return (result < expected ? static_cast<std::uint64_t>(expected) - static_cast<std::uint64_t>(result)
                              : static_cast<std::uint64_t>(result) - static_cast<std::uint64_t>(expected)) <= ulp;
  }
}

template <class T>
std::string text(T value, bool bits) {
  using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t,
                                  std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                                     std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
  if (bits) return fmt::format("0x{:0{}x}", std::uint64_t{std::bit_cast<Bits>(value)}, 2 * sizeof(T));
  if constexpr (is_real<T>) {
    const auto number = static_cast<double>(widen(value));
    return std::isnan(number) ? "nan" : fmt::format("{:.{}g}", number, sizeof(T) == 8 ? 17 : 9);
  } else {
    return fmt::format("{}", value);
  }
}

/// A row of a table whose first two columns are left-aligned.
using TableRow = std::vector<std::string>;
std::string table_text(const std::vector<TableRow>& rows) {
  std::vector<std::size_t> width(rows.front().size(), 0);
  for (const TableRow& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  }
  std::string text;
  for (const TableRow& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      text += c == 0 ? "" : "  ";
      text += c < 2 ? fmt::format("{:<{}}", row[c], width[c]) : fmt::format("{:>{}}", row[c], width[c]);
    }
    text += '\n';
  }
  return text;
}

}  // namespace

std::vector<Description> read_kit(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    throw Failure(folder.string(), "is no folder, expected a kit that \"dmlref kit\" made");
  std::vector<Description> cases;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (fs::exists(entry.path() / "case.json", error)) cases.push_back(read_description(entry.path()));
  }
  if (cases.empty())
    throw Failure(folder.string(), "has no folder with a case.json, expected a kit that \"dmlref kit\" made");
  std::sort(cases.begin(), cases.end(), [](const Description& a, const Description& b) { return a.name < b.name; });
  return cases;
}

std::size_t leave_out(std::vector<Description>& cases, const CheckOptions& options, const fs::path& folder) {
  if (!options.documented_only) return 0;
  const std::size_t left_out =
      std::erase_if(cases, [](const Description& one) { return one.source_kind == SourceKind::reading; });
  if (cases.empty()) throw Failure(folder.string(), "has no case whose source is a document, --documented-only");
  return left_out;
}

std::string difference(const Description& one, std::span<const std::byte> result, std::span<const std::byte> expected,
                       bool strict) {
  return visit_type(one.type, [&](auto tag) -> std::string {
    using T = typename decltype(tag)::type;
    const std::size_t rank = one.sizes.size();
    const double absolute = strict ? 0 : one.absolute;
    const std::uint64_t ulp = strict ? std::min<std::uint64_t>(one.ulp, 1) : one.ulp;
    std::vector<std::uint64_t> strides(one.strides.begin(), one.strides.end());
    if (strides.empty()) {
      strides.assign(rank, 1);
      for (std::size_t d = rank - 1; d-- > 0;) strides[d] = strides[d + 1] * one.sizes[d + 1];
    }
    std::vector<std::uint32_t> at(rank, 0);
    std::uint64_t count = 0;
    std::uint64_t unlike = 0;
    std::string first;
    for (bool more = true; more; ++count) {
      std::uint64_t index = 0;
      for (std::size_t d = 0; d < rank; ++d) index += at[d] * strides[d];
      const T a = load_element<T>(result, index);
      const T b = load_element<T>(expected, index);
      const bool equal = one.bits ? std::memcmp(&a, &b, sizeof(T)) == 0 : near_enough(a, b, absolute, ulp);
      if (!equal && unlike++ == 0) {
        first =
            fmt::format("first at [{}]: {} instead of {}", fmt::join(at, ", "), text(a, one.bits), text(b, one.bits));
      }
      more = false;
      for (std::size_t d = rank; d-- > 0 && !more;) {
        more = ++at[d] < one.sizes[d];
        if (!more) at[d] = 0;
      }
    }
    return unlike == 0 ? "" : fmt::format("{} of {} elements differ, {}", unlike, count, first);
  });
}

Outcome check_case(const fs::path& kit, const fs::path& results, const Description& one, const CheckOptions& options) {
  std::error_code error;
  const fs::path file = results / one.name / one.file;
  const bool given = fs::exists(file, error);
  const bool refused = fs::exists(results / one.name / "refused", error);
  const bool acceptable = one.accepted_from && *one.accepted_from <= options.level;
  // Also where it is not compared: a broken kit or file is named, whatever the rest says.
  std::optional<NpyArray> expected;
  if (one.accepted_from) {
    expected = read_array(kit / one.name / "expected" / one.file);
    const std::uint64_t least = *spanned_elements(one.sizes, one.strides);
    if (expected->type != one.type || expected->count() < least) {
      throw Failure((kit / one.name / "expected" / one.file).string(),
                    fmt::format("holds {} elements of {}, expected {} of {} as case.json says", expected->count(),
                                to_string(expected->type), least, to_string(one.type)));
    }
  }
  std::optional<NpyArray> result;
  if (given) result = read_array(file);

  if (given && refused) return {CaseState::failed, "has both a result and a refusal"};
  if (!given && !refused) return {CaseState::missing, ""};
  if (!acceptable) {
    if (refused) return {CaseState::passed, ""};
    return {CaseState::failed, fmt::format("has a result, expected a refusal: {}", fmt::join(one.rules, ", "))};
  }
  if (refused) {
    return {CaseState::failed,
            fmt::format("refused, expected a result from feature level {} on", to_string(*one.accepted_from))};
  }
  if (result->type != one.type) {
    return {CaseState::failed,
            fmt::format("{} holds {}, expected {}", one.file, to_string(result->type), to_string(one.type))};
  }
  if (result->count() != expected->count()) {
    return {CaseState::failed,
            fmt::format("{} has {} elements, expected {}", one.file, result->count(), expected->count())};
  }
  std::string unlike = difference(one, result->data, expected->data, options.strict);
  return {unlike.empty() ? CaseState::passed : CaseState::failed, std::move(unlike)};
}

std::string report_of(const std::vector<Description>& cases, const std::vector<Outcome>& outcomes, std::size_t left_out,
                      const CheckOptions& options) {
  constexpr const char* words[] = {"pass", "fail", "missing"};
  std::string text;
  std::map<std::pair<std::string, std::string>, std::array<std::uint64_t, 3>> counts;
  std::array<std::uint64_t, 3> all{};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto state = static_cast<std::size_t>(outcomes[i].state);
    text += fmt::format("{} {}{}\n", words[state], cases[i].name,
                        outcomes[i].reason.empty() ? "" : ": " + outcomes[i].reason);
    ++counts[{cases[i].op, cases[i].kind}][state];
    ++all[state];
  }
  std::vector<TableRow> rows{{"operator", "fault kind", "cases", "passed", "failed", "missing"}};
  for (const auto& [key, n] : counts) {
    rows.push_back({key.first, key.second, fmt::format("{}", n[0] + n[1] + n[2]), fmt::format("{}", n[0]),
                    fmt::format("{}", n[1]), fmt::format("{}", n[2])});
  }
  text += "\n" + table_text(rows) +
          fmt::format("\n{} cases at feature level {}: {} passed, {} failed, {} missing\n", cases.size(),
                      to_string(options.level), all[0], all[1], all[2]);
  if (options.documented_only) text += fmt::format("{} cases left out: their source is a reading\n", left_out);
  return text;
}

}  // namespace dmlref::tool::kit
