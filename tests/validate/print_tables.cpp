// print_tables.cpp: writes the generated parts of pages from the tables in include/ and the rows of rules_test.cpp, or
// says which are stale.
//
// print_tables RULES_TEST --write PAGE…   puts each part between its two marker lines
// print_tables RULES_TEST --check PAGE…   exit 1, and the first line that differs, where a page does not hold its parts
// print_tables --print PART               prints one part
//
// A part lies between the lines `<!-- generated PART: begin -->` and `<!-- generated PART: end -->`. Parts: `tables`,
// `levels`, `operators`, `activations`, `support OPERATOR`, `constraints OPERATOR`. Below a line
// `<!-- parameters OPERATOR -->` stands a table by hand, whose first two columns must be the members of the struct.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "dmlref/desc/activation.hpp"
#include "dmlref/validate/report.hpp"
#include "dmlref/validate/support_table.hpp"
#include "dmlref/validate/tensor.hpp"
#include "model/operator_fields.hpp"

namespace {

using dmlref::SupportRow;

std::string code(std::string_view text) { return std::string("`").append(text).append("`"); }

// A table's cell: what would end it is escaped.
std::string cell(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c;
  }
  return result;
}

void line(std::string& text, const std::vector<std::string>& cells) {
  text += '|';
  for (const std::string& each : cells) text.append(" ").append(cell(each)).append(" |");
  text += '\n';
}

void heading(std::string& text, std::string_view title, const std::vector<std::string>& columns) {
  if (!title.empty()) text += "\n### " + std::string(title) + "\n\n";
  line(text, columns);
  text += '|';
  for (std::size_t i = 0; i < columns.size(); ++i) text += "---|";
  text += '\n';
}

std::string type_list(const dmlref::DataTypes& types) {
  const std::string text = dmlref::rules::type_names(types);
  constexpr std::string_view prefix = "one of ";
  return text.substr(0, prefix.size()) == prefix ? text.substr(prefix.size()) : text;
}

std::string level_name(std::uint32_t level) { return std::string(dmlref::to_string(dmlref::feature_level(level))); }

std::string joined(const std::string& list, std::string_view item) {
  return list + (list.empty() ? "" : ", ") + std::string(item);
}

const dmlref::OperatorInfo& operator_named(std::string_view name) {
  for (const dmlref::OperatorInfo& row : dmlref::operator_table) {
    if (row.name == name) return row;
  }
  throw std::invalid_argument(std::string(name) + " is no operator");
}

// Tensors of one operator and level that accept the same are one line. `only`: that operator's, without its name.
void support(std::string& text, std::string_view title, const dmlref::OperatorInfo* only = nullptr) {
  std::vector<std::string> columns = {"operator", "from", "tensors", "dimensions", "data types"};
  if (only != nullptr) columns.erase(columns.begin());
  heading(text, title, columns);
  // By operator, then by level.
  std::vector<SupportRow> rows(dmlref::support_table.begin(), dmlref::support_table.end());
  for (auto first = rows.begin(); first != rows.end();) {
    const auto last = std::find_if(first, rows.end(), [&](const SupportRow& row) { return row.op != first->op; });
    std::stable_sort(first, last, [](const SupportRow& a, const SupportRow& b) { return a.since < b.since; });
    first = last;
  }
  std::vector<const SupportRow*> done;
  for (const SupportRow& row : rows) {
    if (only != nullptr && row.op != only->type) continue;
    if (std::find(done.begin(), done.end(), &row) != done.end()) continue;
    std::string tensors;
    for (const SupportRow& other : rows) {
      const bool alike = other.op == row.op && other.since == row.since && other.min_rank == row.min_rank &&
                         other.max_rank == row.max_rank && type_list(other.types) == type_list(row.types);
      if (!alike) continue;
      done.push_back(&other);
      tensors = joined(tensors, other.tensor);
    }
    std::vector<std::string> cells = {std::string(dmlref::find_operator(row.op)->name),
                                      std::string(dmlref::to_string(row.since)), tensors,
                                      dmlref::rules::rank_range(row), type_list(row.types)};
    if (only != nullptr) cells.erase(cells.begin());
    line(text, cells);
  }
}

// What a level brings that the one before it does not have.
void levels(std::string& text, std::string_view title) {
  heading(text, title, {"level", "new operators", "tensors of", "activations", "without the rule"});
  for (const auto& [level, name] : dmlref::feature_levels) {
    std::string operators;
    std::string tensors;
    std::string fused;
    std::string lifted;
    const auto add = [](std::string& list, std::string_view item) { list = joined(list, item); };
    for (const auto& row : dmlref::operator_table) {
      if (row.introduced == level) {
        add(operators, row.name);
        continue;
      }
      const bool changes =
          std::any_of(dmlref::support_table.begin(), dmlref::support_table.end(),
                      [&, l = level](const SupportRow& s) { return s.op == row.type && s.since == l; });
      if (changes) add(tensors, row.name);
    }
    for (const auto& row : dmlref::activation_table) {
      if (row.introduced == static_cast<std::uint32_t>(level)) add(fused, row.name);
    }
    for (const auto& row : dmlref::rule_table) {
      if (row.lifted_from == static_cast<std::uint32_t>(level)) add(lifted, code(row.name));
    }
    line(text, {std::string(name), operators, tensors, fused, lifted});
  }
}

// Formulas of the activations, which are code in include/: x is the normalized value.
const std::map<std::string_view, std::string_view> formulas = {
    {"ELU", "x if x >= 0, else Alpha * (e^x - 1)"},
    {"HARD_SIGMOID", "max(0, min(Alpha * x + Beta, 1))"},
    {"IDENTITY", "x"},
    {"LEAKY_RELU", "x if x >= 0, else Alpha * x"},
    {"LINEAR", "Alpha * x + Beta"},
    {"PARAMETRIC_SOFTPLUS", "Alpha * ln(1 + e^(Beta * x))"},
    {"RELU", "max(0, x)"},
    {"SCALED_ELU", "Gamma * x if x > 0, else Gamma * (Alpha * e^x - Alpha)"},
    {"SCALED_TANH", "Alpha * tanh(Beta * x)"},
    {"SIGMOID", "1 / (1 + e^-x)"},
    {"SOFTPLUS", "ln(1 + e^(Steepness * x)) / Steepness"},
    {"SOFTSIGN", "x / (1 + |x|)"},
    {"TANH", "tanh(x)"},
    {"THRESHOLDED_RELU", "x if x > Alpha, else 0"},
    {"SHRINK", "x - Bias if x > Threshold, x + Bias if x < -Threshold, else 0"},
    {"CELU", "max(0, x) + min(0, Alpha * (e^(x / Alpha) - 1))"},
    {"GELU", "0.5 * x * (1 + erf(x / sqrt(2)))"},
};

std::string default_text(float value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

void activations(std::string& text, std::string_view title) {
  heading(text, title, {"activation", "value", "parameters, and what `default_activation` gives them", "from"});
  for (const auto& row : dmlref::activation_table) {
    std::string parameters;
    for (std::size_t p = 0; p < row.parameter_names.size(); ++p) {
      if (row.parameter_names[p].empty()) continue;
      parameters = joined(parameters, std::string(row.parameter_names[p]) + " " + default_text(row.defaults[p]));
    }
    line(text, {std::string(row.name), code(formulas.at(row.name)), parameters, level_name(row.introduced)});
  }
}

void rules(std::string& text) {
  heading(text, "Rules", {"rule", "field", "what must hold", "source"});
  for (const auto& row : dmlref::rule_table) {
    line(text, {code(row.name), code(row.field), std::string(row.condition), std::string(row.source)});
  }
}

std::string tables() {
  std::string text;
  levels(text, "Levels");
  support(text, "Tensors");
  activations(text, "Fused activations");
  rules(text);
  return text + '\n';
}

// Operators and what each level brings them, in words of one line.
std::string operators() {
  std::string text;
  heading(text, "", {"operator", "from", "dimensions", "element types"});
  for (const auto& row : dmlref::operator_table) {
    std::string ranks;
    std::string types;
    dmlref::DataTypes known{};
    const auto of_row = [&](const SupportRow& s) { return s.op == row.type; };
    const auto& first = *std::find_if(dmlref::support_table.begin(), dmlref::support_table.end(), of_row);
    for (const SupportRow& s : dmlref::support_table) {
      if (s.op != row.type || s.tensor != first.tensor) continue;
      const std::string since = s.since == row.introduced ? "" : " from " + std::string(dmlref::to_string(s.since));
      const std::string rank = dmlref::rules::rank_range(s);
      if (ranks.find(rank) == std::string::npos) ranks = joined(ranks, rank + since);
      std::string added;
      for (std::uint32_t value = 1; value < 32; ++value) {
        const auto type = static_cast<dmlref::DataType>(value);
        if (s.types.contains(type) && !known.contains(type)) added = joined(added, dmlref::to_string(type));
      }
      known = known | s.types;
      if (!added.empty()) types += (types.empty() ? "" : "; ") + added + since;
    }
    std::string page(row.name);
    std::transform(page.begin(), page.end(), page.begin(),
                   [](char c) { return c == '_' || (c >= '0' && c <= '9') ? c : static_cast<char>(c - 'A' + 'a'); });
    line(text, {"[" + std::string(row.name) + "](docs/operators/" + page + ".md)",
                std::string(dmlref::to_string(row.introduced)), ranks, types});
  }
  return text;
}

// A row of rules_test.cpp that breaks one rule of one operator: `field` and what its message says.
struct BreakingRow {
  std::string op;  // "slice", "slice1", "convolution", "normalization", "normalization1"
  std::string rule;
  std::string example;
};

std::vector<BreakingRow> breaking_rows(const std::string& source) {
  std::vector<BreakingRow> rows;
  const std::regex pattern(R"re(\n      \{(?:fused\()?(\w+)\(\)|Id::(\w+), "([^"]*)", "([^"]*)")re");
  std::string op;
  for (std::sregex_iterator i(source.begin(), source.end(), pattern), end; i != end; ++i) {
    const std::smatch& match = *i;
    if (match[1].matched) {
      op = match[1];
      for (const char* fewer : {"_1d", "_2d", "_3d"}) {
        if (op.ends_with(fewer)) op.resize(op.size() - 3);
      }
    } else {
      rows.push_back({op, match[2], code(match[3].str()) + " " + match[4].str()});
    }
  }
  return rows;
}

const std::map<std::string_view, std::string_view> request_names = {
    {"SLICE", "slice"},
    {"SLICE1", "slice1"},
    {"QUANTIZED_LINEAR_CONVOLUTION", "convolution"},
    {"MEAN_VARIANCE_NORMALIZATION", "normalization"},
    {"MEAN_VARIANCE_NORMALIZATION1", "normalization1"},
    {"MEAN_VARIANCE_NORMALIZATION2", "normalization2"},
    {"ELEMENT_WISE_QUANTIZE_LINEAR", "quantize_linear"},
    {"ELEMENT_WISE_DEQUANTIZE_LINEAR", "dequantize_linear"},
    {"CONVOLUTION_INTEGER", "convolution_integer"},
    {"MATRIX_MULTIPLY_INTEGER", "matrix_multiply"},
    {"QUANTIZED_LINEAR_MATRIX_MULTIPLY", "quantized_matrix_multiply"}};

// A rule of the operator's own: rules of any tensor, array or binding are not.
bool is_rule_of(std::string_view op, const dmlref::RuleInfo& rule) {
  using Id = dmlref::RuleId;
  const auto starts = [&](std::string_view prefix) { return rule.name.substr(0, prefix.size()) == prefix; };
  if (op == "SLICE") return starts("slice_");
  if (op == "SLICE1") return starts("slice1_") || rule.id == Id::slice_dimension_count;
  if (op == "QUANTIZED_LINEAR_CONVOLUTION") return starts("convolution_");
  if (op.starts_with("ELEMENT_WISE_")) return starts("element_wise_");
  if (op == "CONVOLUTION_INTEGER") return starts("convolution_") && rule.id != Id::convolution_bias_size;
  if (op.find("MATRIX_MULTIPLY") != std::string_view::npos) return starts("matrix_multiply_");
  if (starts("activation_")) return true;
  if (!starts("normalization_")) return false;
  if (op == "MEAN_VARIANCE_NORMALIZATION1") return true;
  if (op == "MEAN_VARIANCE_NORMALIZATION2") {
    return rule.id != Id::normalization_channel_broadcast && rule.id != Id::normalization_scale_with_bias;
  }
  return rule.id != Id::normalization_channel_broadcast && rule.id < Id::normalization_axis_count;
}

std::string constraints(std::string_view op, const std::string& rules_test) {
  std::string text;
  heading(text, "", {"#", "rule", "field", "what must hold", "until", "a test breaks it with"});
  const std::vector<BreakingRow> rows = breaking_rows(rules_test);
  int number = 0;
  for (const dmlref::RuleInfo& rule : dmlref::rule_table) {
    if (!is_rule_of(op, rule)) continue;
    // The operator's own rows; where the other normalization's break the rule for both, those.
    std::string own;
    std::string any;
    for (const BreakingRow& row : rows) {
      if (row.rule != rule.name) continue;
      if (own.find(row.example) == std::string::npos && row.op == request_names.at(op)) own = joined(own, row.example);
      if (any.find(row.example) == std::string::npos) any = joined(any, row.example);
    }
    const std::string levels = rule.lifted_from == 0 ? "" : level_name(rule.lifted_from);
    line(text, {"C" + std::to_string(++number), "<a id=\"" + std::string(rule.name) + "\"></a>" + code(rule.name),
                code(rule.field), std::string(rule.condition), levels, own.empty() ? any : own});
  }
  return text;
}

std::string part(const std::string& name, const std::string& rules_test) {
  const std::size_t space = name.find(' ');
  const std::string what = name.substr(0, space);
  const std::string op = space == std::string::npos ? "" : name.substr(space + 1);
  std::string text;
  if (what == "tables") return tables();
  if (what == "operators") return operators();
  if (what == "constraints") return constraints(operator_named(op).name, rules_test);
  if (what == "levels") return levels(text, ""), text;
  if (what == "activations") return activations(text, ""), text;
  if (what == "support") return support(text, "", &operator_named(op)), text;
  throw std::invalid_argument("\"" + name + "\" is no generated part");
}

// The page with all its parts made anew.
std::string regenerated(const std::string& page, const std::string& rules_test) {
  const std::regex pattern("<!-- generated ([^:]*): begin -->\n");
  std::string fresh;
  std::size_t at = 0;
  std::smatch match;
  while (std::regex_search(page.begin() + static_cast<std::ptrdiff_t>(at), page.end(), match, pattern)) {
    const std::string name = match[1];
    const std::size_t begin = static_cast<std::size_t>(match[0].second - page.begin());
    const std::size_t end = page.find("<!-- generated " + name + ": end -->\n", begin);
    if (end == std::string::npos) throw std::invalid_argument("\"" + name + "\" has no end");
    // Blank lines: a table directly below a comment is none to some readers of Markdown.
    fresh += page.substr(at, begin - at) + (name == "tables" ? "" : "\n") + part(name, rules_test) +
             (name == "tables" ? "" : "\n");
    at = end;
  }
  if (at == 0) throw std::invalid_argument("no generated part");
  return fresh + page.substr(at);
}

std::string type_of(const dmlref::FieldInfo& field) {
  using Kind = dmlref::FieldKind;
  const std::string counted = "[" + std::string(field.count) + "]";
  switch (field.kind) {
    case Kind::input_tensor:
    case Kind::output_tensor: return "tensor";
    case Kind::optional_input_tensor: return "tensor, optional";
    case Kind::activation: return "activation, optional";
    case Kind::array_count:
    case Kind::uint: return "UINT";
    case Kind::uint_array: return "UINT" + counted;
    case Kind::int_array: return "INT" + counted;
    case Kind::boolean: return "BOOL";
    case Kind::real: return "FLOAT";
  }
  return "?";
}

// The tables of parameters, which people write, name the struct's members in their order and with their types.
void check_parameters(const std::string& page) {
  const std::regex marker("<!-- parameters (\\w+) -->\n+\\|[^\n]*\n\\|[^\n]*\n((?:\\|[^\n]*\n)*)");
  const std::regex row("\\| `(\\w+)` \\| ([^|]*) \\|[^\n]*\n");
  for (std::sregex_iterator table(page.begin(), page.end(), marker), end; table != end; ++table) {
    const std::string name = (*table)[1];
    const std::string body = (*table)[2];
    std::string found;
    for (std::sregex_iterator i(body.begin(), body.end(), row); i != end; ++i) {
      found += (*i)[1].str() + " " + (*i)[2].str() + "; ";
    }
    std::string expected;
    for (const auto& field : dmlref::tool::find_operator_fields(dmlref::tool::operators(), name)->fields) {
      expected += std::string(field.name) + " " + type_of(field) + "; ";
    }
    if (found != expected) {
      throw std::invalid_argument("the parameters of " + name + " are\n" + found + "\nexpected\n" + expected);
    }
  }
}

int fail(const std::string& message) {
  std::cerr << "print_tables: " << message << '\n';
  return 1;
}

std::size_t line_number(const std::string& text, std::size_t at) {
  return 1 + static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::invalid_argument("cannot be read");
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

void update(const std::string& path, const std::string& rules_test, bool write) {
  const std::string old = read(path);
  check_parameters(old);
  const std::string fresh = regenerated(old, rules_test);
  if (fresh == old) return;
  if (write) {
    std::ofstream(path, std::ios::binary) << fresh;
    return;
  }
  const auto at =
      static_cast<std::size_t>(std::mismatch(old.begin(), old.end(), fresh.begin(), fresh.end()).first - old.begin());
  throw std::invalid_argument("line " + std::to_string(line_number(old, at)) +
                              " is stale; the target update_pages makes the generated parts anew");
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 2 && arguments[0] == "--print") return std::cout << part(arguments[1], ""), 0;
  if (arguments.size() < 3 || (arguments[1] != "--write" && arguments[1] != "--check")) {
    return fail("expected RULES_TEST, --write or --check, and pages; or --print PART");
  }
  int status = 0;
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    try {
      update(arguments[i], read(arguments[0]), arguments[1] == "--write");
    } catch (const std::exception& error) {
      status = fail(arguments[i] + ": " + error.what());
    }
  }
  return status;
}
