// libcxx13.hpp: what libc++ 13 lacks of C++20 and the library uses. Debian's Emscripten (3.1.6) has that libc++; newer
// ones need nothing. Included before all else: em++ -include libcxx13.hpp.
#pragma once

#include <bit>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 14000
namespace std {

template <class To, class From>
constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}

/// The shortest text that reads back as `value`; the room of 32 characters is enough.
inline to_chars_result to_chars(char* first, char*, float value) {
  for (int digits = 1; digits <= 9; ++digits) {
    snprintf(first, 32, "%.*g", digits, static_cast<double>(value));
    if (strtof(first, nullptr) == value) break;
  }
  return {first + strlen(first), errc{}};
}

/// A decimal number from the start of the text, without a sign in front but '-'.
inline from_chars_result from_chars(const char* first, const char* last, double& value) {
  const string text(first, last);
  if (text.empty() || text[0] == '+' || isspace(static_cast<unsigned char>(text[0]))) {
    return {first, errc::invalid_argument};
  }
  char* end = nullptr;
  const double read = strtod(text.c_str(), &end);
  if (end == text.c_str()) return {first, errc::invalid_argument};
  value = read;
  return {first + (end - text.c_str()), errc{}};
}

}  // namespace std
#endif
