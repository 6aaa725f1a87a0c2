// The format is described at numpy.org (numpy.lib.format): magic, version, length of the header, a Python dictionary
// with 'descr', 'fortran_order' and 'shape', then the elements.
#include "io/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>

#include "support/failure.hpp"

namespace dmlref::tool {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are read and written as they lie in memory");

constexpr std::string_view magic = "\x93NUMPY";

// As NumPy, which reads neither longer headers (of files that it does not trust) nor arrays of a higher rank.
constexpr std::size_t max_npy_header = 10'000;
constexpr std::size_t max_npy_rank = 32;

struct Code {
  std::string_view descr;  // without the byte order
  DataType type;
};
constexpr std::array<Code, 12> codes{{{"f4", DataType::float32},
                                      {"f2", DataType::float16},
                                      {"f8", DataType::float64},
                                      {"u1", DataType::uint8},
                                      {"b1", DataType::uint8},  // the first row of a type is what is written
                                      {"u2", DataType::uint16},
                                      {"u4", DataType::uint32},
                                      {"u8", DataType::uint64},
                                      {"i1", DataType::int8},
                                      {"i2", DataType::int16},
                                      {"i4", DataType::int32},
                                      {"i8", DataType::int64}}};

/// Reads the header's dictionary, as far as a literal of strings, booleans and tuples of integers goes.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  struct Header {
    std::optional<std::string> descr;
    std::optional<bool> fortran_order;
    std::optional<std::vector<std::uint64_t>> shape;
  };

  Header parse() {
    Header header;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr") {
        if (peek() == '[') throw FileError("is an .npy of structured elements, expected one plain type");
        header.descr = string();
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
      } else if (key == "shape") {
        header.shape = tuple();
      } else {
        broken();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (peek() != '\0') broken();
    return header;
  }

 private:
  [[noreturn]] static void broken() {
    throw FileError("has a broken .npy header, expected {'descr': ..., 'fortran_order': ..., 'shape': ...}");
  }
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) broken();
  }
  std::string string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') broken();
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) broken();
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  bool boolean() {
    peek();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    }
    broken();
  }
  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> values;
    expect('(');
    while (!accept(')')) {
      peek();
      std::uint64_t value = 0;
      const char* first = text_.data() + at_;
      const auto [last, error] = std::from_chars(first, text_.data() + text_.size(), value);
      if (error != std::errc()) broken();
      at_ += static_cast<std::size_t>(last - first);
      if (peek() == 'L') ++at_;  // written by Python 2
      values.push_back(value);
      if (values.size() > max_npy_rank) {
        throw FileError(fmt::format("has more than {} dimensions in its .npy header", max_npy_rank));
      }
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return values;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

struct ElementCode {
  DataType type;
  bool big_endian;
};

ElementCode code_of(const std::string& descr) {
  const char order = descr.empty() ? '?' : descr[0];
  const std::string_view code = std::string_view(descr).substr(descr.empty() ? 0 : 1);
  for (const Code& row : codes) {
    if (row.descr != code) continue;
    if (order == '<' || order == '=' || order == '|' || order == '>') return {row.type, order == '>'};
  }
  throw FileError(
      fmt::format("holds elements of type '{}', expected one of f2, f4, f8, u1, u2, u4, u8, i1, i2, i4, i8, b1",
                  descr.substr(0, 40)));
}

/// Whether C's order of the elements is Fortran's: one extent at most is above 1.
bool orders_agree(const std::vector<std::uint64_t>& shape) {
  return std::count_if(shape.begin(), shape.end(), [](std::uint64_t extent) { return extent > 1; }) <= 1;
}

void reverse_bytes(std::span<std::byte> data, std::size_t size) {
  for (auto at = data.begin(); at != data.end(); at += static_cast<std::ptrdiff_t>(size)) {
    std::reverse(at, at + static_cast<std::ptrdiff_t>(size));
  }
}

}  // namespace

std::span<const std::byte> elements_of(std::span<const std::byte> bytes, DataType type,
                                       std::span<const std::uint64_t> shape) {
  std::uint64_t expected = size_of(type);
  for (const std::uint64_t extent : shape) {
    if (extent != 0 && expected > (std::uint64_t{1} << 62) / extent) {
      throw FileError(fmt::format("has shape ({}), which no memory holds", fmt::join(shape, ", ")));
    }
    expected *= extent;
  }
  const std::uint64_t padded = (expected + 3) / 4 * 4;
  if (bytes.size() != expected && bytes.size() != padded) {
    throw FileError(fmt::format("has {} bytes of elements, expected {} for shape ({}) of {}{}", bytes.size(), expected,
                                fmt::join(shape, ", "), to_string(type),
                                padded == expected ? "" : fmt::format(", or {} with padding", padded)));
  }
  return bytes.first(static_cast<std::size_t>(expected));
}

NpyArray read_npy(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(magic) || text.size() < 10) {
    throw FileError("is no .npy file, expected it to begin with the bytes \\x93NUMPY");
  }
  const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(text[at])); };
  const std::size_t version = byte(6);
  if (version < 1 || version > 3) {
    throw FileError(fmt::format("is an .npy of version {}.{}, expected 1.0, 2.0 or 3.0", version, byte(7)));
  }
  const std::size_t start = version == 1 ? 10 : 12;
  if (text.size() < start) throw FileError("ends within its .npy header");
  std::size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (text.size() - start < length) throw FileError("ends within its .npy header");
  if (length > max_npy_header) {
    throw FileError(fmt::format("has an .npy header of {} bytes, expected at most {}", length, max_npy_header));
  }

  const HeaderParser::Header header = HeaderParser(text.substr(start, length)).parse();
  if (!header.descr || !header.fortran_order || !header.shape) {
    throw FileError("lacks one of 'descr', 'fortran_order', 'shape' in its .npy header");
  }
  NpyArray array;
  const ElementCode code = code_of(*header.descr);
  array.type = code.type;
  array.shape = *header.shape;
  if (*header.fortran_order && !orders_agree(array.shape)) {
    throw FileError("is in Fortran order, expected C order (numpy.ascontiguousarray before numpy.save)");
  }
  if (std::find(array.shape.begin(), array.shape.end(), 0u) != array.shape.end()) {
    throw FileError(fmt::format("has shape ({}), expected no extent of 0", fmt::join(array.shape, ", ")));
  }
  const std::span<const std::byte> data = elements_of(file.subspan(start + length), array.type, array.shape);
  array.memory = Reservation(data.size(), "the elements");
  array.data.assign(data.begin(), data.end());
  if (code.big_endian) reverse_bytes(array.data, size_of(array.type));
  return array;
}

NpyArray read_raw(std::span<const std::byte> file, DataType type, std::span<const std::uint64_t> shape) {
  if (file.empty()) throw FileError("is empty, expected at least one element");
  std::vector<std::uint64_t> extents(shape.begin(), shape.end());
  if (shape.empty()) {
    if (file.size() % size_of(type) != 0) {
      throw FileError(fmt::format("has {} bytes, expected a multiple of {}, the size of {}", file.size(), size_of(type),
                                  to_string(type)));
    }
    extents.push_back(file.size() / size_of(type));
  }
  const std::span<const std::byte> data = elements_of(file, type, extents);
  Reservation memory(data.size(), "the elements");
  return {type, std::move(extents), {data.begin(), data.end()}, std::move(memory)};
}

std::string npy_header(DataType type, std::span<const std::uint64_t> shape) {
  std::string_view code;
  for (const Code& row : codes) {
    if (row.type == type && code.empty()) code = row.descr;
  }
  std::string header =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}", size_of(type) == 1 ? '|' : '<',
                  code, fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  // The elements start at a multiple of 64; the header ends in a new line.
  const std::size_t unpadded = 10 + header.size() + 1;
  header.append((64 - unpadded % 64) % 64, ' ').push_back('\n');
  std::string text(magic);
  text += {'\x01', '\x00', static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  return text + header;
}

std::vector<std::byte> write_npy(DataType type, std::span<const std::uint64_t> shape, std::span<const std::byte> data) {
  const std::string text = npy_header(type, shape);
  std::vector<std::byte> file(text.size() + data.size());
  std::memcpy(file.data(), text.data(), text.size());
  if (!data.empty()) std::memcpy(file.data() + text.size(), data.data(), data.size());
  return file;
}

}  // namespace dmlref::tool
