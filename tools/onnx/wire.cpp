#include "onnx/wire.hpp"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <cstdint>
#include <limits>
#include <map>
#include <string>

#include "support/failure.hpp"

namespace dmlref::tool::onnx {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;

// Two bytes of a file can become an empty message of 200 bytes in memory.
constexpr std::size_t most_parts = 2'000'000;
// Protobuf itself gives up at 100.
constexpr int most_levels = 64;

// What protobuf's classes take at most: a message, a text, a number, and a field of another number than the type has.
// An array that grows has up to three times its elements.
constexpr std::uint64_t message_cost = 512;
constexpr std::uint64_t text_cost = 96;
constexpr std::uint64_t number_cost = 3 * sizeof(std::uint64_t);
constexpr std::uint64_t unknown_cost = 96;

/// Of a byte of packed numbers: of variable length they have one byte or more.
std::uint64_t packed_cost(const FieldDescriptor& field) {
  const bool fixed = field.type() == FieldDescriptor::TYPE_FLOAT || field.type() == FieldDescriptor::TYPE_DOUBLE;
  return fixed ? number_cost / sizeof(std::uint64_t) : number_cost;
}

class WireCheck {
 public:
  explicit WireCheck(std::span<const std::byte> bytes)
      : size_(bytes.size()), in_(reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<int>(bytes.size())) {}

  std::uint64_t memory() const noexcept { return memory_; }

  void message(const Descriptor& type, std::size_t end, const std::string& place, int level) {
    if (level > most_levels) fail(place, fmt::format("nests deeper than {} levels", most_levels));
    std::map<int, std::size_t> seen;
    while (at() < end) {
      const std::size_t start = at();
      const std::uint32_t tag = in_.ReadTag();
      const int number = WireFormatLite::GetTagFieldNumber(tag);
      const FieldDescriptor* field = number == 0 ? nullptr : type.FindFieldByNumber(number);
      if (number == 0 || at() > end) fail_at(start, place, "is no field of a protocol buffer");
      std::string part = place;
      if (field != nullptr) {
        if (!part.empty()) part += '.';
        part += field->name();
        if (field->is_repeated()) part += fmt::format("[{}]", seen[number]++);
      }
      value(tag, field, end, start, part, level);
    }
  }

 private:
  std::size_t at() const { return static_cast<std::size_t>(in_.CurrentPosition()); }

  void value(std::uint32_t tag, const FieldDescriptor* field, std::size_t end, std::size_t start,
             const std::string& place, int level) {
    std::uint64_t number = 0;
    memory_ += field == nullptr ? unknown_cost : number_cost;
    switch (WireFormatLite::GetTagWireType(tag)) {
      case WireFormatLite::WIRETYPE_VARINT:
        if (!in_.ReadVarint64(&number) || at() > end) fail_at(start, place, "ends within a number");
        return;
      case WireFormatLite::WIRETYPE_FIXED32: return skip(4, end, start, place);
      case WireFormatLite::WIRETYPE_FIXED64: return skip(8, end, start, place);
      case WireFormatLite::WIRETYPE_LENGTH_DELIMITED: break;
      default: fail_at(start, place, "is no field of a protocol buffer");
    }
    if (!in_.ReadVarint64(&number) || at() > end) fail_at(start, place, "ends within a length");
    if (number > end - at()) {
      fail_at(start, place,
              fmt::format("has a length of {} bytes, expected at most the {} that are left", number, end - at()));
    }
    if (field != nullptr && (field->message_type() != nullptr || field->type() == FieldDescriptor::TYPE_STRING ||
                             field->type() == FieldDescriptor::TYPE_BYTES)) {
      if (++parts_ > most_parts) fail_at(start, place, fmt::format("is one part more than {}", most_parts));
    }
    if (field != nullptr && field->message_type() != nullptr) {
      memory_ += message_cost;
      message(*field->message_type(), at() + number, place, level + 1);
    } else {
      memory_ += field != nullptr && field->is_packable() ? number * packed_cost(*field) : text_cost + number;
      skip(number, end, start, place);
    }
  }

  void skip(std::uint64_t bytes, std::size_t end, std::size_t start, const std::string& place) {
    if (bytes > end - at() || !in_.Skip(static_cast<int>(bytes))) {
      fail_at(start, place, fmt::format("needs {} bytes, expected at most the {} that are left", bytes, end - at()));
    }
  }

  [[noreturn]] static void fail(const std::string& place, const std::string& what) {
    throw FileError(fmt::format("{}{}{}", place, place.empty() ? "" : " ", what));
  }
  [[noreturn]] void fail_at(std::size_t start, const std::string& place, const std::string& what) const {
    throw FileError(fmt::format("{}at byte {} of {}: {}", place.empty() ? "" : place + " ", start, size_, what));
  }

  std::size_t size_;
  std::size_t parts_ = 0;
  std::uint64_t memory_ = 0;
  google::protobuf::io::CodedInputStream in_;
};

}  // namespace

std::uint64_t check_wire(std::span<const std::byte> bytes, const Descriptor& descriptor) {
  if (bytes.size() > std::size_t{(std::numeric_limits<int>::max)()}) {
    throw FileError("has more than 2147483647 bytes, which is the most of a protocol buffer");
  }
  WireCheck check(bytes);
  check.message(descriptor, bytes.size(), "", 0);
  return check.memory();
}

}  // namespace dmlref::tool::onnx
