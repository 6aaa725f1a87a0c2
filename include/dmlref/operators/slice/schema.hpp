// schema.hpp: the fields of SLICE and SLICE1.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/operators/slice/desc.hpp"
#include "dmlref/schema/schema.hpp"

DMLREF_BEGIN
namespace support {

inline constexpr TensorSupport slice[] = {
    {level_1_0, 4, 5, six},
    {level_2_1, 4, 5, eight},
    {level_3_0, 1, 8, eight},
    {level_4_1, 1, 8, eleven},
};
inline constexpr TensorSupport slice1[] = {
    {level_2_1, 4, 5, eight},
    {level_3_0, 1, 8, eight},
    {level_4_1, 1, 8, eleven},
};

}  // namespace support

/// The fields of SLICE.
template <>
struct Schema<SliceDesc> {
  static constexpr OperatorInfo info{OperatorType{60}, "SLICE", support::level_1_0};
  // clang-format off
  static constexpr auto fields = schema::pack(
      schema::input("InputTensor", &SliceDesc::input, support::slice),
      schema::output("OutputTensor", &SliceDesc::output, support::slice),
      schema::count("DimensionCount"),
      schema::array("Offsets", &SliceDesc::offsets, "DimensionCount"),
      schema::array("Sizes", &SliceDesc::sizes, "DimensionCount"),
      schema::array("Strides", &SliceDesc::strides, "DimensionCount"));
  // clang-format on
};

/// The fields of SLICE1.
template <>
struct Schema<Slice1Desc> {
  static constexpr OperatorInfo info{OperatorType{111}, "SLICE1", support::level_2_1};
  // clang-format off
  static constexpr auto fields = schema::pack(
      schema::input("InputTensor", &Slice1Desc::input, support::slice1),
      schema::output("OutputTensor", &Slice1Desc::output, support::slice1),
      schema::count("DimensionCount"),
      schema::array("InputWindowOffsets", &Slice1Desc::window_offsets, "DimensionCount"),
      schema::array("InputWindowSizes", &Slice1Desc::window_sizes, "DimensionCount"),
      schema::array("InputWindowStrides", &Slice1Desc::window_strides, "DimensionCount"));
  // clang-format on
};

DMLREF_END

#if DMLREF_HAS_KERNELS
#include "dmlref/operators/slice/rules.hpp"
#endif
