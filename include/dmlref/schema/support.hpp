// support.hpp: which element types and ranks an operator accepts for a tensor since which level, as the documents'
// tables say.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include "dmlref/config.hpp"
#include "dmlref/desc/data_type.hpp"
#include "dmlref/desc/feature_level.hpp"

DMLREF_BEGIN

/// A set of data types.
class DataTypes {
 public:
  /// The set of these types.
  constexpr DataTypes(std::initializer_list<DataType> types) noexcept {
    for (const DataType type : types) bits_ |= 1u << static_cast<std::uint32_t>(type);
  }
  /// The types of either set.
  constexpr DataTypes operator|(DataTypes other) const noexcept {
    other.bits_ |= bits_;
    return other;
  }
  /// Whether `type`, which may be any value, is in the set.
  constexpr bool contains(DataType type) const noexcept {
    const auto value = static_cast<std::uint32_t>(type);
    return value < 32 && ((bits_ >> value) & 1u) != 0;
  }

 private:
  std::uint32_t bits_ = 0;
};

/// What a tensor may be from `since` on, until a later row of the same tensor replaces it.
struct TensorSupport {
  FeatureLevel since;      ///< the first level with this row
  std::uint32_t min_rank;  ///< fewest dimensions
  std::uint32_t max_rank;  ///< most dimensions
  DataTypes types;         ///< element types

  /// Whether `rank` dimensions are accepted.
  constexpr bool has_rank(std::uint64_t rank) const noexcept { return rank >= min_rank && rank <= max_rank; }
};

/// The rows of one tensor, the lowest level first.
using SupportRows = std::span<const TensorSupport>;

/// What holds at `level`; null below the first row.
constexpr const TensorSupport* find_support(SupportRows rows, FeatureLevel level) noexcept {
  const TensorSupport* found = nullptr;
  for (const TensorSupport& row : rows) {
    if (row.since <= level) found = &row;
  }
  return found;
}

/// The first level, not below `level`, whose row `accepts`; empty where none does.
template <class Accepts>
constexpr std::optional<FeatureLevel> first_support(SupportRows rows, FeatureLevel level, Accepts accepts) noexcept {
  const TensorSupport* now = find_support(rows, level);
  if (now != nullptr && accepts(*now)) return level;
  for (const TensorSupport& row : rows) {
    if (row.since > level && accepts(row)) return row.since;
  }
  return std::nullopt;
}

/// Names for rows of support.
namespace support {

using enum FeatureLevel;

inline constexpr DataTypes f32{DataType::float32};
inline constexpr DataTypes floats{DataType::float32, DataType::float16};
inline constexpr DataTypes bytes{DataType::int8, DataType::uint8};
inline constexpr DataTypes i32{DataType::int32};
inline constexpr DataTypes six{DataType::float32, DataType::float16, DataType::int32,
                               DataType::int16,   DataType::uint32,  DataType::uint16};
inline constexpr DataTypes eight = six | bytes;
inline constexpr DataTypes eleven = eight | DataTypes{DataType::float64, DataType::int64, DataType::uint64};

}  // namespace support
DMLREF_END
