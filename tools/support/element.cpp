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
    return real_text(value);
  } else {
    return fmt::format("{}", static_cast<std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>(value));
  }
}

template <class T>
std::string bits_of(T value) {
  return fmt::format("0x{:0{}X}", std::uint64_t{std::bit_cast<Bits<T>>(value)}, sizeof(T) * 2);
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

std::string real_text(float value) { return std::isnan(value) ? "nan" : fmt::format("{}", value); }
std::string real_text(double value) { return std::isnan(value) ? "nan" : fmt::format("{}", value); }

std::string element_text(DataType type, std::span<const std::byte> bytes, std::size_t index) {
  return visit_type(type, [&](auto tag) { return text_of(load_element<typename decltype(tag)::type>(bytes, index)); });
}

std::string bits_text(DataType type, std::span<const std::byte> bytes, std::size_t index) {
  return visit_type(type, [&](auto tag) { return bits_of(load_element<typename decltype(tag)::type>(bytes, index)); });
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

std::string elements_verbose(DataType type, std::span<const std::byte> bytes, std::size_t count, std::uint64_t first,
                             std::uint64_t all) {
  std::string text;
  const std::size_t width = fmt::formatted_size("{}", all == 0 ? 0 : all - 1);
  visit_type(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::size_t i = 0; i < count; ++i) {
      const T value = load_element<T>(bytes, i);
      fmt::format_to(std::back_inserter(text), "[{:{}}] {} ({})\n", first + i, width, text_of(value), bits_of(value));
    }
  });
  return text;
}

std::vector<std::uint64_t> coordinates_of(std::uint64_t index, std::span<const std::uint64_t> shape) {
  std::vector<std::uint64_t> at(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; index /= shape[d]) at[d] = index % shape[d];
  return at;
}

}  // namespace dmlref::tool
