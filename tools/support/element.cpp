#include "support/element.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <iterator>

namespace dmlref::tool {
namespace {

constexpr std::array<DataType, 11> all_types{DataType::float32, DataType::float16, DataType::float64, DataType::uint8,
                                             DataType::uint16,  DataType::uint32,  DataType::uint64,  DataType::int8,
                                             DataType::int16,   DataType::int32,   DataType::int64};

template <std::size_t Bytes>
struct UnsignedOf;
template <>
struct UnsignedOf<1> {
  using type = std::uint8_t;
};
template <>
struct UnsignedOf<2> {
  using type = std::uint16_t;
};
template <>
struct UnsignedOf<4> {
  using type = std::uint32_t;
};
template <>
struct UnsignedOf<8> {
  using type = std::uint64_t;
};
template <class T>
using Bits = typename UnsignedOf<sizeof(T)>::type;

/// Whole numbers in full (65504, not 65500); of others the fewest digits that round back, found by trying.
std::string half_text(half value) {
  const auto wide = static_cast<double>(value);
  if (std::isnan(wide)) return "nan";
  if (std::isinf(wide)) return wide < 0 ? "-inf" : "inf";
  if (wide == std::floor(wide)) return fmt::format("{}", wide);
  for (int digits = 1; digits < 6; ++digits) {
    std::string text = fmt::format("{:.{}g}", wide, digits);
    if (half(std::stod(text)) == value) return fmt::format("{}", std::stod(text));
  }
  return fmt::format("{}", wide);
}

template <class T>
std::string text_of(T value) {
  if constexpr (std::is_same_v<T, half>) {
    return half_text(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) return "nan";
    return fmt::format("{}", value);
  } else {
    return fmt::format("{}", static_cast<std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>(value));
  }
}

/// Real numbers counted in units of the last place, in their order; both zeros are 0.
template <class T>
std::int64_t place(T value) noexcept {
  constexpr Bits<T> sign = static_cast<Bits<T>>(Bits<T>{1} << (sizeof(T) * 8 - 1));
  const auto bits = std::bit_cast<Bits<T>>(value);
  const auto magnitude = static_cast<std::int64_t>(bits & static_cast<Bits<T>>(~sign));
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

template <class T>
std::optional<std::uint64_t> distance(T a, T b) noexcept {
  if constexpr (is_real<T>) {
    const auto x = widen(a);
    const auto y = widen(b);
    if (std::isnan(x) || std::isnan(y)) {
      if (std::isnan(x) && std::isnan(y)) return 0;
      return std::nullopt;
    }
    if (std::isinf(x) || std::isinf(y)) {
      if (std::isinf(x) && std::isinf(y) && std::signbit(x) == std::signbit(y)) return 0;
      return std::nullopt;
    }
    const std::int64_t i = place(a);
    const std::int64_t j = place(b);
    return i < j ? static_cast<std::uint64_t>(j) - static_cast<std::uint64_t>(i)
                 : static_cast<std::uint64_t>(i) - static_cast<std::uint64_t>(j);
  } else {
    const auto i = static_cast<std::uint64_t>(a);  // sign-extended: the difference is right modulo 2^64
    const auto j = static_cast<std::uint64_t>(b);
    return a < b ? j - i : i - j;
  }
}

}  // namespace

std::optional<DataType> data_type_from_name(std::string_view name) {
  constexpr std::string_view prefix = "DML_TENSOR_DATA_TYPE_";
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  for (std::uint32_t value = 0; value <= 13; ++value) {
    if (to_string(static_cast<DataType>(value)) == name) return static_cast<DataType>(value);
  }
  return std::nullopt;
}

std::string data_type_names() {
  std::string names;
  for (const DataType type : all_types) names.append(names.empty() ? "" : ", ").append(to_string(type));
  return names;
}

std::string element_text(DataType type, std::span<const std::byte> bytes, std::size_t index) {
  return visit_type(type, [&](auto tag) { return text_of(load_element<typename decltype(tag)::type>(bytes, index)); });
}

std::string elements_text(DataType type, std::span<const std::byte> bytes, std::size_t count) {
  std::string text;
  visit_type(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::size_t i = 0; i < count; ++i) {
      if (i != 0) text += ", ";
      text += text_of(load_element<T>(bytes, i));
    }
  });
  return text;
}

std::string elements_verbose(DataType type, std::span<const std::byte> bytes, std::size_t count) {
  std::string text;
  const std::size_t width = fmt::formatted_size("{}", count == 0 ? 0 : count - 1);
  visit_type(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::size_t i = 0; i < count; ++i) {
      const T value = load_element<T>(bytes, i);
      fmt::format_to(std::back_inserter(text), "[{:{}}] {} (0x{:0{}X})\n", i, width, text_of(value),
                     std::uint64_t{std::bit_cast<Bits<T>>(value)}, sizeof(T) * 2);
    }
  });
  return text;
}

std::optional<std::uint64_t> ulp_distance(DataType type, std::span<const std::byte> a, std::span<const std::byte> b,
                                          std::size_t index) {
  return visit_type(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return distance(load_element<T>(a, index), load_element<T>(b, index));
  });
}

}  // namespace dmlref::tool
