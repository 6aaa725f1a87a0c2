// data_type.hpp: the eleven element types our operators can meet, and the C++ type of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/desc/half.hpp"

DMLREF_BEGIN

// Every element type: TYPE(name, DirectML's name, number, C++ type). The types of 4 bits have names alone.
#define DMLREF_DATA_TYPES(TYPE)           \
  TYPE(float32, FLOAT32, 1, float)        \
  TYPE(float16, FLOAT16, 2, half)         \
  TYPE(uint32, UINT32, 3, std::uint32_t)  \
  TYPE(uint16, UINT16, 4, std::uint16_t)  \
  TYPE(uint8, UINT8, 5, std::uint8_t)     \
  TYPE(int32, INT32, 6, std::int32_t)     \
  TYPE(int16, INT16, 7, std::int16_t)     \
  TYPE(int8, INT8, 8, std::int8_t)        \
  TYPE(float64, FLOAT64, 9, double)       \
  TYPE(uint64, UINT64, 10, std::uint64_t) \
  TYPE(int64, INT64, 11, std::int64_t)

/// Element type of a tensor; the values are those of DML_TENSOR_DATA_TYPE, so a cast converts.
enum class DataType : std::uint32_t {
  unknown = 0,
#define DMLREF_DATA_TYPE(name, upper, number, type) name = number,
  DMLREF_DATA_TYPES(DMLREF_DATA_TYPE)
#undef DMLREF_DATA_TYPE
};

/// Bytes of one element; 0 for a type that none of our operators takes (UNKNOWN, the 4-bit types, any other value).
constexpr std::size_t size_of(DataType type) noexcept {
  switch (type) {
#define DMLREF_DATA_TYPE(name, upper, number, type) \
  case DataType::name: return sizeof(type);
    DMLREF_DATA_TYPES(DMLREF_DATA_TYPE)
#undef DMLREF_DATA_TYPE
    case DataType::unknown: break;
  }
  return 0;
}

/// DirectML's name without its prefix, as "FLOAT32"; 4-bit types are named too; "UNKNOWN" for every other value.
constexpr std::string_view to_string(DataType type) noexcept {
  switch (static_cast<std::uint32_t>(type)) {
#define DMLREF_DATA_TYPE(name, upper, number, type) \
  case number: return #upper;
    DMLREF_DATA_TYPES(DMLREF_DATA_TYPE)
#undef DMLREF_DATA_TYPE
    case 12: return "UINT4";
    case 13: return "INT4";
    default: return "UNKNOWN";
  }
}

namespace detail {
template <class T>
struct DataTypeOf {
  static constexpr DataType value = DataType::unknown;
};
#define DMLREF_DATA_TYPE(name, upper, number, type)   \
  template <>                                         \
  struct DataTypeOf<type> {                           \
    static constexpr DataType value = DataType::name; \
  };
DMLREF_DATA_TYPES(DMLREF_DATA_TYPE)
#undef DMLREF_DATA_TYPE
}  // namespace detail
#undef DMLREF_DATA_TYPES

/// The DataType of a C++ element type; DataType::unknown where there is none.
template <class T>
inline constexpr DataType data_type_of = detail::DataTypeOf<T>::value;

DMLREF_END
