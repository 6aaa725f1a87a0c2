// support_table.hpp: what each operator accepts for each tensor since which level, as the documents' tables say.
//
// A level that brings something new is a new row; a row replaces the older rows of the same tensor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/desc/data_type.hpp"
#include "dmlref/desc/feature_level.hpp"

DMLREF_BEGIN

/// Our operators; the values are those of DML_OPERATOR_TYPE.
enum class OperatorType : std::uint32_t {
  slice = 60,
  mean_variance_normalization = 73,
  slice1 = 111,
  mean_variance_normalization1 = 115,
  quantized_linear_convolution = 120,
};

/// One row per operator: its name and the level that introduced it.
struct OperatorInfo {
  OperatorType type;        ///< which operator
  std::string_view name;    ///< DirectML's, without DML_OPERATOR_
  FeatureLevel introduced;  ///< the lowest level that has it
};

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

/// From `since` on, `tensor` of `op` has min_rank to max_rank dimensions and one of `types`.
struct SupportRow {
  OperatorType op;          ///< whose tensor
  std::string_view tensor;  ///< its name in the desc
  FeatureLevel since;       ///< the first level with this row
  std::uint32_t min_rank;   ///< fewest dimensions
  std::uint32_t max_rank;   ///< most dimensions
  DataTypes types;          ///< element types

  /// Whether `rank` dimensions are accepted.
  constexpr bool has_rank(std::uint64_t rank) const noexcept { return rank >= min_rank && rank <= max_rank; }
};

namespace rules {

inline constexpr auto level_1_0 = feature_level(0x1000);
inline constexpr auto level_2_1 = feature_level(0x2100);
inline constexpr auto level_3_0 = feature_level(0x3000);
inline constexpr auto level_3_1 = feature_level(0x3100);
inline constexpr auto level_4_0 = feature_level(0x4000);
inline constexpr auto level_4_1 = feature_level(0x4100);
inline constexpr auto level_5_2 = feature_level(0x5200);

inline constexpr DataTypes f32{DataType::float32};
inline constexpr DataTypes floats{DataType::float32, DataType::float16};
inline constexpr DataTypes bytes{DataType::int8, DataType::uint8};
inline constexpr DataTypes i32{DataType::int32};
inline constexpr DataTypes six{DataType::float32, DataType::float16, DataType::int32,
                               DataType::int16,   DataType::uint32,  DataType::uint16};
inline constexpr DataTypes eight = six | bytes;
inline constexpr DataTypes eleven = eight | DataTypes{DataType::float64, DataType::int64, DataType::uint64};

inline constexpr OperatorType slice = OperatorType::slice;
inline constexpr OperatorType slice1 = OperatorType::slice1;
inline constexpr OperatorType qlc = OperatorType::quantized_linear_convolution;
inline constexpr OperatorType mvn = OperatorType::mean_variance_normalization;
inline constexpr OperatorType mvn1 = OperatorType::mean_variance_normalization1;

}  // namespace rules

/// All operators of this library.
inline constexpr auto operator_table = std::to_array<OperatorInfo>({
    {rules::slice, "SLICE", rules::level_1_0},
    {rules::slice1, "SLICE1", rules::level_2_1},
    {rules::qlc, "QUANTIZED_LINEAR_CONVOLUTION", rules::level_2_1},
    {rules::mvn, "MEAN_VARIANCE_NORMALIZATION", rules::level_1_0},
    {rules::mvn1, "MEAN_VARIANCE_NORMALIZATION1", rules::level_2_1},
});

/// Rows of one tensor stand in the order of their levels.
inline constexpr auto support_table = std::to_array<SupportRow>({
    {rules::slice, "InputTensor", rules::level_1_0, 4, 5, rules::six},
    {rules::slice, "InputTensor", rules::level_2_1, 4, 5, rules::eight},
    {rules::slice, "InputTensor", rules::level_3_0, 1, 8, rules::eight},
    {rules::slice, "InputTensor", rules::level_4_1, 1, 8, rules::eleven},
    {rules::slice, "OutputTensor", rules::level_1_0, 4, 5, rules::six},
    {rules::slice, "OutputTensor", rules::level_2_1, 4, 5, rules::eight},
    {rules::slice, "OutputTensor", rules::level_3_0, 1, 8, rules::eight},
    {rules::slice, "OutputTensor", rules::level_4_1, 1, 8, rules::eleven},

    {rules::slice1, "InputTensor", rules::level_2_1, 4, 5, rules::eight},
    {rules::slice1, "InputTensor", rules::level_3_0, 1, 8, rules::eight},
    {rules::slice1, "InputTensor", rules::level_4_1, 1, 8, rules::eleven},
    {rules::slice1, "OutputTensor", rules::level_2_1, 4, 5, rules::eight},
    {rules::slice1, "OutputTensor", rules::level_3_0, 1, 8, rules::eight},
    {rules::slice1, "OutputTensor", rules::level_4_1, 1, 8, rules::eleven},

    {rules::qlc, "InputTensor", rules::level_2_1, 4, 4, rules::bytes},
    {rules::qlc, "InputScaleTensor", rules::level_2_1, 4, 4, rules::f32},
    {rules::qlc, "InputZeroPointTensor", rules::level_2_1, 4, 4, rules::bytes},
    {rules::qlc, "FilterTensor", rules::level_2_1, 4, 4, rules::bytes},
    {rules::qlc, "FilterScaleTensor", rules::level_2_1, 4, 4, rules::f32},
    {rules::qlc, "FilterZeroPointTensor", rules::level_2_1, 4, 4, rules::bytes},
    {rules::qlc, "BiasTensor", rules::level_2_1, 4, 4, rules::i32},
    {rules::qlc, "OutputScaleTensor", rules::level_2_1, 4, 4, rules::f32},
    {rules::qlc, "OutputZeroPointTensor", rules::level_2_1, 4, 4, rules::bytes},
    {rules::qlc, "OutputTensor", rules::level_2_1, 4, 4, rules::bytes},

    {rules::qlc, "InputTensor", rules::level_4_0, 3, 4, rules::bytes},
    {rules::qlc, "InputScaleTensor", rules::level_4_0, 1, 4, rules::f32},
    {rules::qlc, "InputZeroPointTensor", rules::level_4_0, 1, 4, rules::bytes},
    {rules::qlc, "FilterTensor", rules::level_4_0, 3, 4, rules::bytes},
    {rules::qlc, "FilterScaleTensor", rules::level_4_0, 3, 4, rules::f32},
    {rules::qlc, "FilterZeroPointTensor", rules::level_4_0, 1, 4, rules::bytes},
    {rules::qlc, "BiasTensor", rules::level_4_0, 3, 4, rules::i32},
    {rules::qlc, "OutputScaleTensor", rules::level_4_0, 1, 4, rules::f32},
    {rules::qlc, "OutputZeroPointTensor", rules::level_4_0, 1, 4, rules::bytes},
    {rules::qlc, "OutputTensor", rules::level_4_0, 3, 4, rules::bytes},

    {rules::qlc, "InputTensor", rules::level_5_2, 3, 4, rules::bytes},
    {rules::qlc, "InputScaleTensor", rules::level_5_2, 1, 4, rules::f32},
    {rules::qlc, "InputZeroPointTensor", rules::level_5_2, 1, 4, rules::bytes},
    {rules::qlc, "FilterTensor", rules::level_5_2, 3, 4, rules::bytes},
    {rules::qlc, "FilterScaleTensor", rules::level_5_2, 1, 4, rules::f32},
    {rules::qlc, "FilterZeroPointTensor", rules::level_5_2, 1, 4, rules::bytes},
    {rules::qlc, "BiasTensor", rules::level_5_2, 3, 4, rules::i32},
    {rules::qlc, "OutputScaleTensor", rules::level_5_2, 1, 4, rules::f32},
    {rules::qlc, "OutputZeroPointTensor", rules::level_5_2, 1, 4, rules::bytes},
    {rules::qlc, "OutputTensor", rules::level_5_2, 3, 4, rules::bytes},

    {rules::mvn, "InputTensor", rules::level_1_0, 4, 4, rules::floats},
    {rules::mvn, "ScaleTensor", rules::level_1_0, 4, 4, rules::floats},
    {rules::mvn, "BiasTensor", rules::level_1_0, 4, 4, rules::floats},
    {rules::mvn, "OutputTensor", rules::level_1_0, 4, 4, rules::floats},

    {rules::mvn1, "InputTensor", rules::level_2_1, 4, 4, rules::floats},
    {rules::mvn1, "ScaleTensor", rules::level_2_1, 4, 4, rules::floats},
    {rules::mvn1, "BiasTensor", rules::level_2_1, 4, 4, rules::floats},
    {rules::mvn1, "OutputTensor", rules::level_2_1, 4, 4, rules::floats},
    {rules::mvn1, "InputTensor", rules::level_3_1, 1, 8, rules::floats},
    {rules::mvn1, "ScaleTensor", rules::level_3_1, 1, 8, rules::floats},
    {rules::mvn1, "BiasTensor", rules::level_3_1, 1, 8, rules::floats},
    {rules::mvn1, "OutputTensor", rules::level_3_1, 1, 8, rules::floats},
});

/// The row of `type`; null where it is none of ours.
constexpr const OperatorInfo* find_operator(OperatorType type) noexcept {
  for (const OperatorInfo& row : operator_table) {
    if (row.type == type) return &row;
  }
  return nullptr;
}

/// What holds for `tensor` of `op` at `level`; null below the operator's first level.
constexpr const SupportRow* find_support(OperatorType op, std::string_view tensor, FeatureLevel level) noexcept {
  const SupportRow* found = nullptr;
  for (const SupportRow& row : support_table) {
    if (row.op == op && row.since <= level && row.tensor == tensor) found = &row;
  }
  return found;
}

/// The first level, not below `level`, whose row `accepts`; empty where none does.
template <class Accepts>
constexpr std::optional<FeatureLevel> first_support(OperatorType op, std::string_view tensor, FeatureLevel level,
                                                    Accepts accepts) noexcept {
  const SupportRow* now = find_support(op, tensor, level);
  if (now != nullptr && accepts(*now)) return level;
  for (const SupportRow& row : support_table) {
    if (row.op == op && row.since > level && row.tensor == tensor && accepts(row)) return row.since;
  }
  return std::nullopt;
}

DMLREF_END
