// schema.hpp: the fields of QUANTIZED_LINEAR_CONVOLUTION, and those that it shares with CONVOLUTION_INTEGER.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/desc.hpp"
#include "dmlref/schema/schema.hpp"

DMLREF_BEGIN
namespace support::convolution {

inline constexpr TensorSupport data[] = {{level_2_1, 4, 4, bytes}, {level_4_0, 3, 4, bytes}};
inline constexpr TensorSupport scale[] = {{level_2_1, 4, 4, f32}, {level_4_0, 1, 4, f32}};
inline constexpr TensorSupport filter_scale[] = {
    {level_2_1, 4, 4, f32}, {level_4_0, 3, 4, f32}, {level_5_2, 1, 4, f32}};
inline constexpr TensorSupport zero_point[] = {{level_2_1, 4, 4, bytes}, {level_4_0, 1, 4, bytes}};
inline constexpr TensorSupport bias[] = {{level_2_1, 4, 4, i32}, {level_4_0, 3, 4, i32}};

}  // namespace support::convolution

namespace schema {

/// The tensors of a convolution, and behind them its window's way over the input.
template <class Desc, class... Tensors>
constexpr auto convolution(Tensors... tensors) noexcept {
  return pack(tensors..., count("DimensionCount"), array("Strides", &Desc::strides, "DimensionCount"),
              array("Dilations", &Desc::dilations, "DimensionCount"),
              array("StartPadding", &Desc::start_padding, "DimensionCount"),
              array("EndPadding", &Desc::end_padding, "DimensionCount"), number("GroupCount", &Desc::group_count));
}

}  // namespace schema

/// The fields of QUANTIZED_LINEAR_CONVOLUTION.
template <>
struct Schema<QuantizedLinearConvolutionDesc> {
  using Desc = QuantizedLinearConvolutionDesc;
  static constexpr OperatorInfo info{OperatorType{120}, "QUANTIZED_LINEAR_CONVOLUTION", support::level_2_1};
  // clang-format off
  static constexpr auto fields = schema::convolution<Desc>(
      schema::input("InputTensor", &Desc::input, support::convolution::data),
      schema::input("InputScaleTensor", &Desc::input_scale, support::convolution::scale),
      schema::input("InputZeroPointTensor", &Desc::input_zero_point, support::convolution::zero_point),
      schema::input("FilterTensor", &Desc::filter, support::convolution::data),
      schema::input("FilterScaleTensor", &Desc::filter_scale, support::convolution::filter_scale),
      schema::input("FilterZeroPointTensor", &Desc::filter_zero_point, support::convolution::zero_point),
      schema::input("BiasTensor", &Desc::bias, support::convolution::bias),
      schema::input("OutputScaleTensor", &Desc::output_scale, support::convolution::scale),
      schema::input("OutputZeroPointTensor", &Desc::output_zero_point, support::convolution::zero_point),
      schema::output("OutputTensor", &Desc::output, support::convolution::data));
  // clang-format on
};

DMLREF_END

#if DMLREF_HAS_KERNELS
#include "dmlref/operators/quantized_linear_convolution/rules.hpp"
#endif
