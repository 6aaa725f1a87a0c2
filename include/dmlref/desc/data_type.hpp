// data_type.hpp: the eleven element types our operators can meet, and the C++ type of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/desc/half.hpp"

DMLREF_BEGIN

/// Element type of a tensor; the values are those of DML_TENSOR_DATA_TYPE, so a cast converts.
enum class DataType : std::uint32_t {
  unknown = 0,
  float32 = 1,
  float16 = 2,
  uint32 = 3,
  uint16 = 4,
  uint8 = 5,
  int32 = 6,
  int16 = 7,
  int8 = 8,
  float64 = 9,
  uint64 = 10,
  int64 = 11,
};

/// Bytes of one element; 0 for a type that none of our operators takes (UNKNOWN, the 4-bit types, any other value).
constexpr std::size_t size_of(DataType type) noexcept {
  switch (type) {
    case DataType::uint8:
    case DataType::int8: return 1;
    case DataType::float16:
    case DataType::uint16:
    case DataType::int16: return 2;
    case DataType::float32:
    case DataType::uint32:
    case DataType::int32: return 4;
    case DataType::float64:
    case DataType::uint64:
    case DataType::int64: return 8;
    case DataType::unknown: break;
  }
  return 0;
}

/// DirectML's name without its prefix, as "FLOAT32"; 4-bit types are named too; "UNKNOWN" for every other value.
constexpr std::string_view to_string(DataType type) noexcept {
  constexpr std::string_view names[] = {"UNKNOWN", "FLOAT32", "FLOAT16", "UINT32", "UINT16", "UINT8", "INT32",
                                        "INT16",   "INT8",    "FLOAT64", "UINT64", "INT64",  "UINT4", "INT4"};
  const auto value = static_cast<std::uint32_t>(type);
  return value < sizeof(names) / sizeof(names[0]) ? names[value] : names[0];
}

namespace detail {
template <class T>
struct DataTypeOf {
  static constexpr DataType value = DataType::unknown;
};
template <>
struct DataTypeOf<float> {
  static constexpr DataType value = DataType::float32;
};
template <>
struct DataTypeOf<half> {
  static constexpr DataType value = DataType::float16;
};
template <>
struct DataTypeOf<std::uint32_t> {
  static constexpr DataType value = DataType::uint32;
};
template <>
struct DataTypeOf<std::uint16_t> {
  static constexpr DataType value = DataType::uint16;
};
template <>
struct DataTypeOf<std::uint8_t> {
  static constexpr DataType value = DataType::uint8;
};
template <>
struct DataTypeOf<std::int32_t> {
  static constexpr DataType value = DataType::int32;
};
template <>
struct DataTypeOf<std::int16_t> {
  static constexpr DataType value = DataType::int16;
};
template <>
struct DataTypeOf<std::int8_t> {
  static constexpr DataType value = DataType::int8;
};
template <>
struct DataTypeOf<double> {
  static constexpr DataType value = DataType::float64;
};
template <>
struct DataTypeOf<std::uint64_t> {
  static constexpr DataType value = DataType::uint64;
};
template <>
struct DataTypeOf<std::int64_t> {
  static constexpr DataType value = DataType::int64;
};
}  // namespace detail

/// The DataType of a C++ element type; DataType::unknown where there is none.
template <class T>
inline constexpr DataType data_type_of = detail::DataTypeOf<T>::value;

DMLREF_END
