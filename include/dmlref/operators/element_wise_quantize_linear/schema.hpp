// schema.hpp: the fields of ELEMENT_WISE_QUANTIZE_LINEAR and ELEMENT_WISE_DEQUANTIZE_LINEAR.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/operators/element_wise_quantize_linear/desc.hpp"
#include "dmlref/schema/schema.hpp"

DMLREF_BEGIN
namespace support {

inline constexpr DataTypes u8{DataType::uint8};
inline constexpr DataTypes six_integers =
    bytes | DataTypes{DataType::int32, DataType::int16, DataType::uint32, DataType::uint16};

namespace quantize_linear {
inline constexpr TensorSupport input[] = {{level_1_0, 4, 4, f32},
                                          {level_2_1, 4, 4, f32 | i32},
                                          {level_3_0, 1, 8, f32 | i32},
                                          {level_6_0, 1, 8, floats | i32}};
inline constexpr TensorSupport scale[] = {{level_1_0, 4, 4, f32}, {level_3_0, 1, 8, f32}, {level_6_0, 1, 8, floats}};
inline constexpr TensorSupport output[] = {{level_1_0, 4, 4, u8}, {level_2_1, 4, 4, bytes}, {level_3_0, 1, 8, bytes}};
}  // namespace quantize_linear

namespace dequantize_linear {
inline constexpr TensorSupport input[] = {
    {level_1_0, 4, 4, u8}, {level_2_1, 4, 4, six_integers}, {level_3_0, 1, 8, six_integers}};
inline constexpr TensorSupport output[] = {{level_1_0, 4, 4, f32}, {level_3_0, 1, 8, f32}, {level_6_0, 1, 8, floats}};
}  // namespace dequantize_linear

}  // namespace support

/// The fields of ELEMENT_WISE_QUANTIZE_LINEAR.
template <>
struct Schema<ElementWiseQuantizeLinearDesc> {
  using Desc = ElementWiseQuantizeLinearDesc;
  static constexpr OperatorInfo info{OperatorType{33}, "ELEMENT_WISE_QUANTIZE_LINEAR", support::level_1_0};
  // clang-format off
  static constexpr auto fields = schema::pack(
      schema::input("InputTensor", &Desc::input, support::quantize_linear::input),
      schema::input("ScaleTensor", &Desc::scale, support::quantize_linear::scale),
      schema::input("ZeroPointTensor", &Desc::zero_point, support::quantize_linear::output),
      schema::output("OutputTensor", &Desc::output, support::quantize_linear::output));
  // clang-format on
};

/// The fields of ELEMENT_WISE_DEQUANTIZE_LINEAR.
template <>
struct Schema<ElementWiseDequantizeLinearDesc> {
  using Desc = ElementWiseDequantizeLinearDesc;
  static constexpr OperatorInfo info{OperatorType{34}, "ELEMENT_WISE_DEQUANTIZE_LINEAR", support::level_1_0};
  // clang-format off
  static constexpr auto fields = schema::pack(
      schema::input("InputTensor", &Desc::input, support::dequantize_linear::input),
      schema::input("ScaleTensor", &Desc::scale, support::dequantize_linear::output),
      schema::input("ZeroPointTensor", &Desc::zero_point, support::dequantize_linear::input),
      schema::output("OutputTensor", &Desc::output, support::dequantize_linear::output));
  // clang-format on
};

DMLREF_END

#if DMLREF_HAS_KERNELS
#include "dmlref/operators/element_wise_quantize_linear/rules.hpp"
#endif
