// libcxx13.hpp: what libc++ 13 lacks of C++20 and the library uses. Debian's Emscripten (3.1.6) has that libc++; newer
// ones need nothing. Included before all else: em++ -include libcxx13.hpp.
#pragma once

#include <bit>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

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

}  // namespace std
#endif
