// element.hpp: the eleven element types seen from the command: by name, as text, as distances.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "dmlref/desc/data_type.hpp"
#include "dmlref/desc/half.hpp"

namespace dmlref::tool {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t,
                                std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                                   std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

/// Names an element type in a call: visit_type(type, [](auto tag) { using T = typename decltype(tag)::type; ... }).
template <class T>
struct TypeTag {
  using type = T;
};

/// Calls `f` with the tag of `type`; `type` must be one of the eleven (size_of(type) != 0).
template <class F>
decltype(auto) visit_type(DataType type, F&& f) {
  switch (type) {
    case DataType::float32: return f(TypeTag<float>{});
    case DataType::float16: return f(TypeTag<half>{});
    case DataType::float64: return f(TypeTag<double>{});
    case DataType::uint8: return f(TypeTag<std::uint8_t>{});
    case DataType::uint16: return f(TypeTag<std::uint16_t>{});
    case DataType::uint32: return f(TypeTag<std::uint32_t>{});
    case DataType::uint64: return f(TypeTag<std::uint64_t>{});
    case DataType::int8: return f(TypeTag<std::int8_t>{});
    case DataType::int16: return f(TypeTag<std::int16_t>{});
    case DataType::int64: return f(TypeTag<std::int64_t>{});
    case DataType::int32:
    default: return f(TypeTag<std::int32_t>{});
  }
}

template <class T>
inline constexpr bool is_real = std::is_floating_point_v<T> || std::is_same_v<T, half>;

/// The values of a real type as one that <cmath> takes.
inline double widen(half value) noexcept { return static_cast<double>(value); }
inline double widen(double value) noexcept { return value; }
inline float widen(float value) noexcept { return value; }

template <class T>
T load_element(std::span<const std::byte> bytes, std::size_t index) noexcept {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}
template <class T>
void store_element(std::span<std::byte> bytes, std::size_t index, T value) noexcept {
  std::memcpy(bytes.data() + index * sizeof(T), &value, sizeof(T));
}

/// The type named "FLOAT32" or "DML_TENSOR_DATA_TYPE_FLOAT32"; also UNKNOWN and the 4-bit types, which have no size.
std::optional<DataType> data_type_from_name(std::string_view name);

/// "FLOAT32, FLOAT16, ...": the types that have a size.
std::string data_type_names();

/// The fewest digits that read back as the same value; "nan" whatever its sign, "inf", "-inf".
std::string real_text(float value);
std::string real_text(double value);
/// The same of an element of any type.
std::string element_text(DataType type, std::span<const std::byte> bytes, std::size_t index);

/// "0x3F800000", as many digits as the type has.
std::string bits_text(DataType type, std::span<const std::byte> bytes, std::size_t index);

/// All elements, separated by ", ".
std::string elements_text(DataType type, std::span<const std::byte> bytes, std::size_t count);

/// One line per element with its index, value and bits. They are the elements from `first` on, of `all`.
std::string elements_verbose(DataType type, std::span<const std::byte> bytes, std::size_t count, std::uint64_t first,
                             std::uint64_t all);

/// Where element `index` of a shape in C order stands.
std::vector<std::uint64_t> coordinates_of(std::uint64_t index, std::span<const std::uint64_t> shape);

}  // namespace dmlref::tool
