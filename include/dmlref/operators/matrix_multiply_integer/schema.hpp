// schema.hpp: the fields of MATRIX_MULTIPLY_INTEGER and QUANTIZED_LINEAR_MATRIX_MULTIPLY.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/operators/matrix_multiply_integer/desc.hpp"
#include "dmlref/schema/schema.hpp"

DMLREF_BEGIN
namespace support::matrix_multiply {

inline constexpr TensorSupport data[] = {{level_2_1, 4, 4, bytes}, {level_4_0, 2, 4, bytes}};
inline constexpr TensorSupport sums[] = {{level_2_1, 4, 4, i32}, {level_4_0, 2, 4, i32}};
inline constexpr TensorSupport scale[] = {{level_2_1, 4, 4, f32}, {level_4_0, 1, 4, f32}};
inline constexpr TensorSupport zero_point[] = {{level_2_1, 4, 4, bytes}, {level_4_0, 1, 4, bytes}};
inline constexpr TensorSupport integer_b_zero_point[] = {
    {level_2_1, 4, 4, bytes}, {level_4_0, 2, 4, bytes}, {level_5_2, 1, 4, bytes}};

}  // namespace support::matrix_multiply

/// The fields of MATRIX_MULTIPLY_INTEGER.
template <>
struct Schema<MatrixMultiplyIntegerDesc> {
  using Desc = MatrixMultiplyIntegerDesc;
  static constexpr OperatorInfo info{OperatorType{117}, "MATRIX_MULTIPLY_INTEGER", support::level_2_1};
  // clang-format off
  static constexpr auto fields = schema::pack(
      schema::input("ATensor", &Desc::a, support::matrix_multiply::data),
      schema::input("AZeroPointTensor", &Desc::a_zero_point, support::matrix_multiply::zero_point),
      schema::input("BTensor", &Desc::b, support::matrix_multiply::data),
      schema::input("BZeroPointTensor", &Desc::b_zero_point, support::matrix_multiply::integer_b_zero_point),
      schema::output("OutputTensor", &Desc::output, support::matrix_multiply::sums));
  // clang-format on
};

/// The fields of QUANTIZED_LINEAR_MATRIX_MULTIPLY.
template <>
struct Schema<QuantizedLinearMatrixMultiplyDesc> {
  using Desc = QuantizedLinearMatrixMultiplyDesc;
  static constexpr OperatorInfo info{OperatorType{118}, "QUANTIZED_LINEAR_MATRIX_MULTIPLY", support::level_2_1};
  // clang-format off
  static constexpr auto fields = schema::pack(
      schema::input("ATensor", &Desc::a, support::matrix_multiply::data),
      schema::input("AScaleTensor", &Desc::a_scale, support::matrix_multiply::scale),
      schema::input("AZeroPointTensor", &Desc::a_zero_point, support::matrix_multiply::zero_point),
      schema::input("BTensor", &Desc::b, support::matrix_multiply::data),
      schema::input("BScaleTensor", &Desc::b_scale, support::matrix_multiply::scale),
      schema::input("BZeroPointTensor", &Desc::b_zero_point, support::matrix_multiply::zero_point),
      schema::input("OutputScaleTensor", &Desc::output_scale, support::matrix_multiply::scale),
      schema::input("OutputZeroPointTensor", &Desc::output_zero_point, support::matrix_multiply::zero_point),
      schema::output("OutputTensor", &Desc::output, support::matrix_multiply::data));
  // clang-format on
};

DMLREF_END

#if DMLREF_HAS_KERNELS
#include "dmlref/operators/matrix_multiply_integer/rules.hpp"
#endif
