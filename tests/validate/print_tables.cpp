// print_tables.cpp: writes the tables of docs/validation.md from the tables in include/, or says whether they are
// stale.
//
// print_tables --write FILE   puts the tables between the file's two marker lines
// print_tables --check FILE   exit 1, and the first line that differs, where the file does not hold them
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "dmlref/desc/activation.hpp"
#include "dmlref/validate/report.hpp"
#include "dmlref/validate/support_table.hpp"
#include "dmlref/validate/tensor.hpp"

namespace {

using dmlref::SupportRow;

constexpr std::string_view begin_marker = "<!-- generated tables: begin -->\n";
constexpr std::string_view end_marker = "<!-- generated tables: end -->\n";

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
  text += "\n### " + std::string(title) + "\n\n";
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

// Tensors of one operator and level that accept the same are one line.
void support(std::string& text) {
  heading(text, "Tensors", {"operator", "from", "tensors", "dimensions", "data types"});
  std::vector<const SupportRow*> done;
  for (const SupportRow& row : dmlref::support_table) {
    if (std::find(done.begin(), done.end(), &row) != done.end()) continue;
    std::string tensors;
    for (const SupportRow& other : dmlref::support_table) {
      const bool alike = other.op == row.op && other.since == row.since && other.min_rank == row.min_rank &&
                         other.max_rank == row.max_rank && type_list(other.types) == type_list(row.types);
      if (!alike) continue;
      done.push_back(&other);
      tensors += (tensors.empty() ? "" : ", ") + std::string(other.tensor);
    }
    line(text, {std::string(dmlref::find_operator(row.op)->name), std::string(dmlref::to_string(row.since)), tensors,
                dmlref::rules::rank_range(row), type_list(row.types)});
  }
}

// What a level brings that the one before it does not have.
void levels(std::string& text) {
  heading(text, "Levels", {"level", "new operators", "tensors of", "activations", "without the rule"});
  for (const auto& [level, name] : dmlref::feature_levels) {
    std::string operators;
    std::string tensors;
    std::string fused;
    std::string lifted;
    const auto add = [](std::string& list, std::string_view item) {
      list += (list.empty() ? "" : ", ") + std::string(item);
    };
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

void activations(std::string& text) {
  heading(text, "Fused activations", {"activation", "parameters", "from"});
  for (const auto& row : dmlref::activation_table) {
    std::string parameters;
    for (const std::string_view name : row.parameter_names) {
      if (!name.empty()) parameters += (parameters.empty() ? "" : ", ") + std::string(name);
    }
    line(text, {std::string(row.name), parameters, level_name(row.introduced)});
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
  levels(text);
  support(text);
  activations(text);
  rules(text);
  return text + '\n';
}

int fail(const std::string& message) {
  std::cerr << "print_tables: " << message << '\n';
  return 1;
}

std::size_t line_number(const std::string& text, std::size_t at) {
  return 1 + static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc == 3 ? argv[1] : "";
  if (mode != "--write" && mode != "--check") return fail("expected --write FILE or --check FILE");
  const std::string path = argv[2];
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail(path + ": cannot be read");
  const std::string old{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const std::size_t begin = old.find(begin_marker);
  const std::size_t end = old.find(end_marker);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    return fail(path + ": expected the two lines " + std::string(begin_marker) + "and " + std::string(end_marker));
  }
  const std::string fresh = old.substr(0, begin + begin_marker.size()) + tables() + old.substr(end);
  if (fresh == old) return 0;
  if (mode == "--check") {
    const auto differ = std::mismatch(old.begin(), old.end(), fresh.begin(), fresh.end());
    const auto at = static_cast<std::size_t>(differ.first - old.begin());
    return fail(path + ":" + std::to_string(line_number(old, at)) + ": the tables are stale; print_tables --write " +
                path + " makes them anew");
  }
  std::ofstream(path, std::ios::binary) << fresh;
  return 0;
}
