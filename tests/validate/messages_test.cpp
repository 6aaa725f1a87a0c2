// messages_test.cpp: messages.txt, the catalogue of what validation says: one change of a valid descriptor and the
// exact report. DMLREF_WRITE_MESSAGES=FILE writes the catalogue anew, to be read before it is believed.
#include <gtest/gtest.h>

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "dmlref/validate/read_directml.hpp"
#include "validate/request.hpp"

namespace {

using request::Request;

std::vector<std::string> split(const std::string& text, const std::string& at) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + at.size();
  }
  return parts;
}

UINT number_in(const std::string& text) { return static_cast<UINT>(std::stoll(text)); }
std::vector<UINT> numbers_in(const std::string& text) {
  std::vector<UINT> numbers;
  for (const std::string& part : split(text, " ")) numbers.push_back(number_in(part));
  return numbers;
}

/// `values` = "1 2 3" or, with `index`, one of its entries.
void set(std::vector<UINT>& values, const std::string& index, const std::string& text) {
  if (index.empty()) {
    values = numbers_in(text);
  } else {
    values.at(number_in(index)) = number_in(text);
  }
}

/// A tensor's member; "" is the tensor itself.
void change_tensor(Request& r, const std::string& tensor, const std::string& name, const std::string& index,
                   const std::string& value) {
  const bool null = value == "null";
  if (name.empty()) {
    if (null) r.tensors.erase(tensor);
    return;
  }
  request::Tensor& t = r.tensors[tensor];
  if (name == "Type") t.type = number_in(value);
  if (name == "Desc") t.desc_is_null = null;
  if (name == "DataType") t.data_type = number_in(value);
  if (name == "Flags") t.flags = number_in(value);
  if (name == "DimensionCount") t.dimension_count = number_in(value);
  if (name == "Sizes" && null) t.sizes_are_null = true;
  if (name == "Sizes" && !null) set(t.sizes, index, value);
  if (name == "Strides") t.strides = numbers_in(value);
  if (name == "TotalTensorSizeInBytes") t.total_size = static_cast<UINT64>(std::stoull(value));
  if (name == "GuaranteedBaseOffsetAlignment") t.alignment = number_in(value);
}

/// The operator's own arrays have at least as many entries as it says.
void set_count(Request& r, UINT count) {
  r.count = count;
  for (auto& [name, values] : r.arrays) {
    if (count <= 8 && values.size() < count) values.resize(count, 1);
  }
}

void change_activation(Request& r, const std::string& name, const std::string& value) {
  if (name.empty()) {
    r.activation = request::FusedActivation{number_in(value)};
  } else {
    request::FusedActivation& a = r.activation.value();
    if (name == "Desc") a.desc_is_null = true;
    if (name == "InputTensor") a.has_input = true;
    if (name == "OutputTensor") a.has_output = true;
    if (name == "Steepness") a.parameters[0] = std::stof(value);
  }
}

/// "OutputTensor.Sizes[2] = 3", "Strides = null", "GroupCount = 3".
void change(Request& r, const std::string& text) {
  const std::vector<std::string> sides = split(text, " = ");
  if (sides.size() != 2) throw std::invalid_argument("expected FIELD = VALUE: " + text);
  std::string field = sides[0], index;
  if (const std::size_t bracket = field.find('['); bracket != std::string::npos) {
    index = field.substr(bracket + 1, field.size() - bracket - 2);
    field.resize(bracket);
  }
  const std::size_t dot = std::min(field.find('.'), field.size());
  const std::string owner = field.substr(0, dot), name = dot < field.size() ? field.substr(dot + 1) : "";
  const std::string& value = sides[1];
  if (owner == "FusedActivation") {
    change_activation(r, name, value);
  } else if (owner.ends_with("Tensor")) {
    change_tensor(r, owner, name, index, value);
  } else if (owner == "Type") {
    r.type = number_in(value);
  } else if (owner == "Desc") {
    r.desc_is_null = true;
  } else if (owner == "DimensionCount" || owner == "AxisCount") {
    set_count(r, number_in(value));
  } else if (owner == "GroupCount") {
    r.numbers["GroupCount"] = number_in(value);
  } else if (value == "null") {
    r.arrays.erase(owner);
  } else {
    set(r.arrays[owner], index, value);
  }
}

/// "SLICE 6_4: Offsets[1] = 3; Sizes[1] = 2": a valid descriptor of request.hpp, a level, and what changes.
std::string report_of(const std::string& line) {
  static const std::map<std::string, Request> valid = {
      {"SLICE", request::slice()},
      {"SLICE1", request::slice1()},
      {"CONVOLUTION", request::convolution()},
      {"CONVOLUTION_1D", request::convolution_1d()},
      {"NORMALIZATION", request::normalization()},
      {"NORMALIZATION1", request::normalization1()},
      {"NORMALIZATION2", request::normalization2()},
      {"QUANTIZE_LINEAR", request::quantize_linear()},
      {"DEQUANTIZE_LINEAR", request::dequantize_linear()},
      {"CONVOLUTION_INTEGER", request::convolution_integer()},
      {"CONVOLUTION_INTEGER_1D", request::convolution_integer_1d()},
      {"PRODUCT", request::matrix_multiply()},
      {"PRODUCT_2D", request::matrix_multiply_2d()},
      {"QUANTIZED_PRODUCT", request::quantized_matrix_multiply()},
      {"QUANTIZED_PRODUCT_3D", request::quantized_matrix_multiply_3d()}};
  const std::size_t colon = line.find(": ");
  const std::vector<std::string> begin = split(line.substr(0, colon), " ");
  Request r = valid.at(begin.at(0));
  std::uint32_t level = 0;
  for (const dmlref::FeatureLevelName& row : dmlref::feature_levels) {
    if (row.name == begin.at(1)) level = static_cast<std::uint32_t>(row.level);
  }
  if (level == 0) level = static_cast<std::uint32_t>(std::stoul(begin[1], nullptr, 0));
  for (const std::string& part : split(line.substr(colon + 2), "; ")) change(r, part);
  return request::validate(r, static_cast<dmlref::FeatureLevel>(level)).to_string();
}

struct Entry {
  std::string line, expected;
};
std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool is_comment(const std::string& line) { return line.empty() || line[0] == '#'; }
bool is_report(const std::string& line) { return line.starts_with("  "); }

/// A case's line, and the lines of its report.
std::vector<Entry> entries_of(const std::vector<std::string>& lines) {
  std::vector<Entry> entries;
  for (const std::string& line : lines) {
    if (is_comment(line)) continue;
    if (is_report(line)) {
      std::string& text = entries.back().expected;
      text += (text.empty() ? "" : "\n") + line.substr(2);
    } else {
      entries.push_back({line, ""});
    }
  }
  return entries;
}

void write(const std::vector<std::string>& lines, const char* path) {
  std::ofstream out(path);
  for (const std::string& line : lines) {
    if (is_report(line)) continue;
    out << line << '\n';
    if (is_comment(line)) continue;
    for (const std::string& part : split(report_of(line), "\n")) out << "  " << part << '\n';
  }
}

const std::string catalogue = DMLREF_MESSAGES;  // a path

TEST(Messages, AreThoseOfTheCatalogue) {
  const std::vector<std::string> lines = lines_of(catalogue);
  if (const char* path = std::getenv("DMLREF_WRITE_MESSAGES")) write(lines, path);
  const std::vector<Entry> entries = entries_of(lines);
  ASSERT_GT(entries.size(), 700u) << catalogue;
  for (const Entry& entry : entries) EXPECT_EQ(report_of(entry.line), entry.expected) << entry.line;
}

// Binding, instruction sets and calls on views have messages of their own; a native array's length is tested below.
TEST(Messages, CatalogueHasEveryRuleOfADescriptor) {
  std::string all;
  for (const std::string& line : lines_of(catalogue)) all += line + '\n';
  for (const dmlref::RuleInfo& rule : dmlref::rule_table) {
    if (rule.id < dmlref::RuleId::feature_level || rule.id == dmlref::RuleId::array_length) continue;
    EXPECT_NE(all.find("[" + std::string(rule.name) + "]"), std::string::npos) << rule.name;
  }
}

}  // namespace
