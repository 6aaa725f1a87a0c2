// schema.hpp: the fields of CONVOLUTION_INTEGER.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/operators/convolution_integer/desc.hpp"
#include "dmlref/operators/quantized_linear_convolution/schema.hpp"
#include "dmlref/schema/schema.hpp"

DMLREF_BEGIN
namespace support::convolution_integer {

inline constexpr TensorSupport data[] = {{level_2_1, 4, 4, bytes}, {level_4_0, 3, 4, bytes}};
inline constexpr TensorSupport zero_point[] = {{level_2_1, 4, 4, bytes}, {level_4_0, 1, 4, bytes}};
inline constexpr TensorSupport sums[] = {{level_2_1, 4, 4, i32}, {level_4_0, 3, 4, i32}};

}  // namespace support::convolution_integer

/// The fields of CONVOLUTION_INTEGER.
template <>
struct Schema<ConvolutionIntegerDesc> {
  using Desc = ConvolutionIntegerDesc;
  static constexpr OperatorInfo info{OperatorType{119}, "CONVOLUTION_INTEGER", support::level_2_1};
  // clang-format off
  static constexpr auto fields = schema::convolution<Desc>(
      schema::input("InputTensor", &Desc::input, support::convolution_integer::data),
      schema::input("InputZeroPointTensor", &Desc::input_zero_point, support::convolution_integer::zero_point),
      schema::input("FilterTensor", &Desc::filter, support::convolution_integer::data),
      schema::input("FilterZeroPointTensor", &Desc::filter_zero_point, support::convolution_integer::zero_point),
      schema::output("OutputTensor", &Desc::output, support::convolution_integer::sums));
  // clang-format on
};

DMLREF_END

#if DMLREF_HAS_KERNELS
#include "dmlref/operators/convolution_integer/rules.hpp"
#endif
