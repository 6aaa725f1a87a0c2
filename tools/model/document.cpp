#include "model/document.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "io/file.hpp"

namespace dmlref::tool {
namespace {

constexpr std::size_t max_depth = 64;
constexpr std::size_t max_shown = 60;  // characters of a text in a message

bool is_word(std::string_view key) {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$'; };
  const auto rest = [&](char c) { return letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; };
  return !key.empty() && key.size() <= max_shown && letter(key[0]) && std::all_of(key.begin(), key.end(), rest);
}

std::string quote(std::string_view text) {
  const std::string shown = Json(text.substr(0, max_shown)).dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() > max_shown ? shown.substr(0, shown.size() - 1) + "...\"" : shown;
}

/// Blanks out comments, and commas that stand before a closing bracket; every other character keeps its place. The
/// result is the length of the longest token.
std::size_t relax(std::string& text) {
  char before = '\0';  // the last significant character
  std::size_t comma = std::string::npos;
  std::size_t longest = 0;
  std::size_t token = 0;  // where it begins
  for (std::size_t i = 0; i < text.size(); ++i) {
    longest = (std::max)(longest, i - token);
    const char c = text[i];
    if (std::string_view("[]{},: \t\r\n").find(c) != std::string_view::npos) token = i + 1;
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) {
        if (text[i] == '\\') ++i;
      }
    } else if (c == '/' && i + 1 < text.size() && text[i + 1] == '/') {
      for (; i < text.size() && text[i] != '\n'; ++i) text[i] = ' ';
      token = i + 1;
      continue;
    } else if (c == '/' && i + 1 < text.size() && text[i + 1] == '*') {
      const std::size_t end = text.find("*/", i + 2);
      if (end == std::string::npos) return text.size();  // the parser will point at it
      for (; i < end + 2; ++i) {
        if (text[i] != '\n') text[i] = ' ';
      }
      token = i--;
      continue;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      continue;
    }
    if ((c == ']' || c == '}') && comma != std::string::npos) text[comma] = ' ';
    comma = c == ',' && before != ',' && before != '[' && before != '{' && before != '\0' ? i : std::string::npos;
    before = c;
  }
  return (std::max)(longest, text.size() - (std::min)(token, text.size()));
}

/// What nlohmann's tree takes at most, with g++'s and clang's containers and malloc: a block of memory costs 16 bytes
/// more, an array that grows has up to three times its elements, a node of a map four words beside its pair.
constexpr std::size_t block_cost = 16;
constexpr std::size_t element_cost = 3 * sizeof(Json);
constexpr std::size_t member_cost = 4 * sizeof(void*) + sizeof(Json::object_t::value_type) + block_cost;
constexpr std::size_t array_cost = sizeof(Json::array_t) + 3 * block_cost;
constexpr std::size_t object_cost = sizeof(Json::object_t) + 3 * block_cost;
constexpr std::size_t string_cost = sizeof(std::string) + block_cost;
std::size_t text_cost(const std::string& text) { return text.size() < 16 ? 0 : text.size() + 1 + block_cost; }

/// Walks the text before it is kept: finds what is not valid JSON, keys that occur twice, bottomless nesting, and more
/// values than memory holds.
class Checker : public nlohmann::json_sax<Json> {
 public:
  /// The parser and its messages have up to ten copies of the token that they read.
  explicit Checker(std::size_t longest_token) { take(10 * longest_token); }

  std::string path = "$";  // of the fault
  std::string fault;
  std::size_t position = 0;  // of a syntax error: bytes read
  std::uint64_t memory = 0;  // of the values

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t& text) override {
    take(string_cost + text_cost(text));
    return value();
  }
  bool binary(binary_t&) override { return value(); }
  bool start_object(std::size_t) override { return open(false); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(true); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    Frame& frame = frames_.back();
    take(text_cost(name));
    frame.key = name;
    if (frame.keys.insert(name).second) return true;
    path = where();
    fault = "occurs twice, expected each key once";
    return false;
  }
  bool parse_error(std::size_t at, const std::string&, const Json::exception& error) override {
    position = at;
    fault = error.what();
    constexpr int out_of_range = 406;  // "[json.exception...] number overflow parsing '1e999'"
    if (error.id == out_of_range) {
      fault.erase(0, fault.find("] ") + 2);
      fault += ", expected a number that FLOAT64 holds";
    } else {
      // "[json.exception...] parse error at line 1, column 2: syntax error ..." : keep the reason.
      const std::size_t reason = fault.find(": ");
      fault.replace(0, reason == std::string::npos ? 0 : reason + 2, "is not valid JSON: ");
    }
    std::replace_if(
        fault.begin(), fault.end(), [](unsigned char c) { return c >= 0x80; }, '?');
    return false;
  }

 private:
  struct Frame {
    bool array = false;
    std::size_t index = 0;
    std::string key;
    std::set<std::string> keys;
  };

  void take(std::size_t bytes) {
    memory += bytes;
    if (memory > left_) refuse_memory(fmt::format("at least {}", memory), "its values");
  }
  std::string where() const {
    std::string text = "$";
    for (const Frame& frame : frames_) {
      text = frame.array ? fmt::format("{}[{}]", text, frame.index) : member_path(text, frame.key);
    }
    return text;
  }
  bool value() {
    if (frames_.empty()) return true;
    ++frames_.back().index;
    take(frames_.back().array ? element_cost : member_cost);
    return true;
  }
  bool open(bool array) {
    take(array ? array_cost : object_cost);
    if (frames_.size() >= max_depth) {
      path = where();
      fault = fmt::format("is nested more than {} deep", max_depth);
      return false;
    }
    frames_.push_back(Frame{array, 0, {}, {}});
    return true;
  }
  bool close() {
    frames_.pop_back();
    return value();
  }

  std::vector<Frame> frames_;
  std::uint64_t left_ = memory_budget().left();
};

std::string line_and_column(std::string_view text, std::size_t position) {
  const std::string_view read = text.substr(0, position == 0 ? 0 : std::min(position - 1, text.size()));
  const auto line = 1 + std::count(read.begin(), read.end(), '\n');
  const std::size_t start = read.rfind('\n');
  return fmt::format("line {}, column {}", line, read.size() - (start == std::string_view::npos ? 0 : start + 1) + 1);
}

template <class T>
std::string integer_range() {
  return fmt::format("an integer from {} to {}", std::int64_t{(std::numeric_limits<T>::min)()},
                     std::uint64_t{static_cast<std::uint64_t>((std::numeric_limits<T>::max)())});
}

std::optional<double> special_value(const std::string& text) {
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (lower == "inf") return std::numeric_limits<double>::infinity();
  if (lower == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

template <class T>
std::optional<T> to_real(const Json& value) {
  if (value.is_string()) {
    const auto special = special_value(value.get_ref<const std::string&>());
    return special ? std::optional<T>(static_cast<T>(*special)) : std::nullopt;
  }
  if (!value.is_number()) return std::nullopt;
  T result{};
  if (value.is_number_unsigned() && !std::is_same_v<T, half>) {  // rounded once
    result =
        static_cast<T>(static_cast<std::conditional_t<std::is_same_v<T, half>, double, T>>(value.get<std::uint64_t>()));
  } else {
    const auto wide = value.get<double>();
    if (std::is_same_v<T, float> && std::abs(wide) >= 0x1.ffffffp127) return std::nullopt;  // would round to infinity
    result = static_cast<T>(wide);
  }
  if (std::isinf(widen(result))) return std::nullopt;
  return result;
}

template <class T>
std::optional<T> to_integer(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto wide = value.get<std::uint64_t>();
    if (std::in_range<T>(wide)) return static_cast<T>(wide);
  } else if (value.is_number_integer()) {
    const auto wide = value.get<std::int64_t>();
    if (std::in_range<T>(wide)) return static_cast<T>(wide);
  }
  return std::nullopt;
}

}  // namespace

std::string member_path(const std::string& path, std::string_view key) {
  if (is_word(key)) return fmt::format("{}.{}", path, key);
  return fmt::format("{}[{}]", path, quote(key));
}

std::string describe(const Json& value) {
  switch (value.type()) {
    case Json::value_t::object: return "an object";
    case Json::value_t::array: return fmt::format("an array of {} elements", value.size());
    case Json::value_t::string: return quote(value.get_ref<const std::string&>());
    default: return value.dump();
  }
}

template <class T>
std::optional<T> to_number(const Json& value) {
  if constexpr (is_real<T>) {
    return to_real<T>(value);
  } else {
    return to_integer<T>(value);
  }
}

template <class T>
std::string number_expectation() {
  if constexpr (is_real<T>) {
    return fmt::format(R"(a number that {} holds, or "nan", "inf", "-inf")", to_string(data_type_of<T>));
  } else {
    return integer_range<T>();
  }
}

#define DMLREF_TOOL_NUMBER(T)                          \
  template std::optional<T> to_number<T>(const Json&); \
  template std::string number_expectation<T>();
DMLREF_TOOL_NUMBER(float)
DMLREF_TOOL_NUMBER(half)
DMLREF_TOOL_NUMBER(double)
DMLREF_TOOL_NUMBER(std::uint8_t)
DMLREF_TOOL_NUMBER(std::uint16_t)
DMLREF_TOOL_NUMBER(std::uint32_t)
DMLREF_TOOL_NUMBER(std::uint64_t)
DMLREF_TOOL_NUMBER(std::int8_t)
DMLREF_TOOL_NUMBER(std::int16_t)
DMLREF_TOOL_NUMBER(std::int32_t)
DMLREF_TOOL_NUMBER(std::int64_t)
#undef DMLREF_TOOL_NUMBER

void Node::refuse(std::string_view expected) const {
  fail(fmt::format("is {}, expected {}", describe(*value_), expected));
}

void Node::expect_object(std::span<const std::string_view> keys) const {
  if (!value_->is_object()) refuse("an object");
  Faults faults;
  for (const auto& item : value_->items()) {
    const std::string& key = item.key();
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    faults.collect([&] { fail_at(key, fmt::format("is an unknown key, expected one of {}", fmt::join(keys, ", "))); });
  }
  faults.raise();
}

std::optional<Node> Node::find(std::string_view key) const {
  const auto member = value_->find(key);
  if (member == value_->end() || member->is_null()) return std::nullopt;
  return Node(*file_, *member, member_path(path_, key));
}

std::optional<Node> Node::find_either(std::string_view key, std::string_view other) const {
  std::optional<Node> first = find(key);
  std::optional<Node> second = find(other);
  if (first && second) second->fail(fmt::format("is given beside {}, expected one of them", key));
  return first ? first : second;
}

Node Node::at(std::string_view key, std::string_view expected) const {
  std::optional<Node> member = find(key);
  if (!member) fail_at(key, fmt::format("is missing, expected {}", expected));
  return *std::move(member);
}

Node Node::operator[](std::size_t index) const {
  return Node(*file_, (*value_)[index], fmt::format("{}[{}]", path_, index));
}

const std::string& Node::text(std::string_view expected) const {
  if (!value_->is_string()) refuse(expected);
  return value_->get_ref<const std::string&>();
}

bool Node::boolean() const {
  if (!value_->is_boolean()) refuse("true or false");
  return value_->get<bool>();
}

namespace {

std::string read_text(const std::filesystem::path& path, Reservation& memory) {
  try {
    return read_text_file(path, memory, max_unsized_file);
  } catch (const FileError& error) {
    throw Failure(path.string(), error.what());
  }
}

}  // namespace

Document::Document(const std::filesystem::path& path) : Document(path, Reservation()) {}
Document::Document(const std::filesystem::path& path, Reservation text)
    : Document(path.string(), read_text(path, text)) {}

Document::Document(std::string file, std::string text) : file_(std::move(file)) {
  const std::size_t longest_token = relax(text);
  try {
    Checker checker(longest_token);
    if (!Json::sax_parse(text, &checker)) {
      if (checker.position != 0) {
        throw Failure(file_, fmt::format("{}: {}", line_and_column(text, checker.position), checker.fault));
      }
      throw Failure(file_ + ": " + checker.path, checker.fault);
    }
    memory_ = Reservation(checker.memory, "its values");
  } catch (const FileError& error) {
    throw Failure(file_, error.what());
  }
  value_ = Json::parse(text);
}

}  // namespace dmlref::tool
