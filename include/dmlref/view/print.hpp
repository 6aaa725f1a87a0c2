// print.hpp: a view as NumPy's print shows an array: at most 8 decimals, lines of 75 columns, and of more than 1000
// elements only three at each end of a dimension.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <iosfwd>
#include <string>
#include <type_traits>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/desc/half.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN
namespace detail::print {

inline std::string formatted(double value, std::chars_format format, int decimals) {
  char text[400];
  return {text, std::to_chars(text, text + sizeof text, value, format, decimals).ptr};
}
inline std::string scientific(double value, int decimals) {
  return formatted(value, std::chars_format::scientific, decimals);
}
/// Of a scientific number.
inline int exponent_of(const std::string& text) { return std::atoi(text.c_str() + text.find('e') + 1); }
inline int decimals_of(const std::string& text) {
  return text.find('.') == std::string::npos ? 0 : static_cast<int>(text.find('e') - text.find('.')) - 1;
}

inline double exact(double value) { return value; }
/// 2^-6 a hair larger: it alone has shortest digits, 0.01563, that are not those of rounding half to even.
inline double exact(half value) {
  const auto number = static_cast<double>(value);
  return std::fabs(number) == 0x1p-6 ? number * (1 + 0x1p-40) : number;
}

/// The fewest digits that round to no other T, as d.ddde±xx.
template <class T>
std::string shortest(T value) {
  char text[40];
  return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::scientific).ptr};
}
inline std::string shortest(half value) {
  for (int decimals = 0;; ++decimals) {
    const std::string text = scientific(exact(value), decimals);
    std::string digits = text;
    std::erase(digits, '.');
    const double integer = std::atoi(digits.c_str());
    const int places = exponent_of(text) - decimals;
    const double read = places < 0 ? integer / std::pow(10.0, -places) : integer * std::pow(10.0, places);
    if (half(read) == value || read == 0) return text;
  }
}

inline std::string without_zeros(std::string decimals) { return decimals.erase(decimals.find_last_not_of('0') + 1); }

/// How the numbers of one array are written.
struct Style {
  bool exponents = false;
  int decimals = 0;                 // with exponents: of every number
  std::size_t exponent_digits = 0;  // with exponents: at least
};
inline constexpr int most_decimals = 8;

template <class T>
Style style_of(const std::vector<T>& values) {
  Style style;
  double least = 0, most = 0;  // magnitudes other than 0
  for (const T value : values) {
    const double magnitude = std::fabs(static_cast<double>(value));
    if (!std::isfinite(magnitude)) continue;
    if (magnitude != 0 && (least == 0 || magnitude < least)) least = magnitude;
    most = (std::max)(most, magnitude);
    std::string text = shortest(value);
    style.exponent_digits = (std::max)(style.exponent_digits, text.size() - text.find('e') - 2);
    if (decimals_of(text) > most_decimals) {
      text = scientific(magnitude, most_decimals);
      text = without_zeros(text.substr(0, text.find('e'))) + 'e';
    }
    style.decimals = (std::max)(style.decimals, decimals_of(text));
  }
  const auto ratio = static_cast<double>(static_cast<T>(most / least));
  style.exponents = least != 0 && (most >= 1e8 || least < 1e-4 || ratio > 1000);
  return style;
}

template <class T>
std::string word_of(T value, const Style& style) {
  const double number = exact(value);
  if (!std::isfinite(number)) return number != number ? "nan" : number < 0 ? "-inf" : "inf";
  const std::string digits = shortest(value);
  if (!style.exponents) {
    const int decimals = std::clamp(decimals_of(digits) - exponent_of(digits), 0, most_decimals);
    const std::string text = formatted(number, std::chars_format::fixed, decimals);
    return decimals == 0 ? text + '.' : without_zeros(text);
  }
  std::string text = scientific(number, style.decimals);
  if (style.decimals == 0) text.insert(text.find('e'), 1, '.');
  return text.insert(text.find('e') + 2, style.exponent_digits - (text.size() - text.find('e') - 2), '0');
}

/// Every value as text, all of one width, with their points in one column.
template <class T>
std::vector<std::string> words_of(const std::vector<T>& values) {
  std::vector<std::string> words;
  if constexpr (std::is_integral_v<T>) {
    for (const T value : values) words.push_back(std::to_string(value));
  } else {
    const Style style = style_of(values);
    for (const T value : values) words.push_back(word_of(value, style));
  }
  std::size_t tail = 0, width = 0;
  for (const std::string& word : words) {
    if (word.find('.') != std::string::npos) tail = (std::max)(tail, word.size() - word.find('.'));
  }
  for (std::string& word : words) {
    if (word.find('.') != std::string::npos) word.append(tail - (word.size() - word.find('.')), ' ');
    width = (std::max)(width, word.size());
  }
  for (std::string& word : words) word.insert(0, width - word.size(), ' ');
  return words;
}

/// A number on its own, as Python prints it.
template <class T>
std::string scalar(T value) {
  if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else {
    const double number = exact(value);
    if (!std::isfinite(number)) return word_of(value, {});
    std::string digits = shortest(value);
    if (number != 0 && !(std::fabs(number) >= 1e-4 && std::fabs(number) < 1e16)) return digits;
    const int decimals = decimals_of(digits) - exponent_of(digits);
    if (decimals >= 0) return formatted(number, std::chars_format::fixed, (std::max)(decimals, 1));
    digits.erase(digits.find('e'));
    std::erase(digits, '.');
    return digits.append(static_cast<std::size_t>(-decimals), '0') + ".0";
  }
}

inline constexpr Index ends = 3;
/// The index that is shown after `i`; where the middle is left out, it is not i + 1.
constexpr Index after(Index i, Index extent, bool summary) noexcept {
  return summary && extent > 2 * ends && i == ends - 1 ? extent - ends : i + 1;
}

/// Brackets, blanks and line ends around the words of dimension `d` and those inside; `indent` begins each line.
inline std::string bracketed(const Shape& shape, std::size_t d, bool summary, const std::string& indent,
                             std::size_t columns, const std::string*& word) {
  if (d == shape.size()) return *word++;
  const std::string blanks = d + 1 == shape.size() ? " " : std::string(shape.size() - d - 1, '\n') + indent;
  std::string text, line = indent;
  const auto add = [&](const std::string& what) {
    if (d + 1 == shape.size() && line.size() + what.size() > columns - 1 && line.size() > indent.size()) {
      text += line.erase(line.find_last_not_of(' ') + 1) + '\n';
      line = indent;
    }
    line += what;
  };
  for (Index i = 0; i < shape[d];) {
    add(bracketed(shape, d + 1, summary, indent + ' ', columns - 1, word));
    const Index next = after(i, shape[d], summary);
    if (next < shape[d]) line += blanks;
    if (next != i + 1) {
      add("...");
      line += blanks;
    }
    i = next;
  }
  return '[' + (text + line).substr(indent.size()) + ']';
}

}  // namespace detail::print

/// The view as NumPy prints it (1.24, default options). Elements: integers, float, double, half.
template <class T, class Access>
std::string to_string(const TensorView<T, Access>& view) {
  namespace print = detail::print;
  const Shape& shape = view.shape();
  if (shape.empty()) return print::scalar(view.load({}));
  if (view.size() == 0) return "[]";
  const bool summary = view.size() > 1000;
  std::vector<std::remove_const_t<T>> values;
  auto at = Coordinates::filled(shape.size(), 0);
  for (bool more = true; more;) {
    values.push_back(view.load(at));
    more = false;
    for (std::size_t d = shape.size(); d-- > 0 && !more;) {
      at[d] = print::after(at[d], shape[d], summary);
      more = at[d] < shape[d];
      if (!more) at[d] = 0;
    }
  }
  const std::vector<std::string> words = print::words_of(values);
  const std::string* word = words.data();
  return print::bracketed(shape, 0, summary, " ", 75, word);
}

/// Needs `<ostream>` where it is called.
template <class Traits, class T, class Access>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const TensorView<T, Access>& view) {
  return out << to_string(view);
}

DMLREF_END
