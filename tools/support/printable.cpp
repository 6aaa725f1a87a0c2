#include "support/printable.hpp"

#include <cstddef>
#include <cstdint>

namespace dmlref::tool {
namespace {

struct Character {
  std::size_t bytes = 1;  // of UTF-8
  bool valid = false;
  std::uint32_t code = 0;
};

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return {1, true, byte(0)};
  const std::size_t bytes = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || text.size() < bytes) return {};
  std::uint32_t code = byte(0) & (0x7Fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if (byte(i) >> 6 != 2) return {};
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[bytes] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return {};
  return {bytes, true, code};
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const Character first = first_character(text);
    if (!first.valid) {
      shown += '?';
    } else if (first.code < 0x20 || (first.code >= 0x7F && first.code < 0xA0)) {
      shown += ' ';
    } else {
      shown += text.substr(0, first.bytes);
    }
    text.remove_prefix(first.bytes);
  }
  return shown;
}

}  // namespace dmlref::tool
