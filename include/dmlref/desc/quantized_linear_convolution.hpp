// quantized_linear_convolution.hpp: QUANTIZED_LINEAR_CONVOLUTION as a value.
#pragma once

#include <cstdint>
#include <optional>

#include "dmlref/config.hpp"
#include "dmlref/desc/tensor_desc.hpp"

DMLREF_BEGIN

/// DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC: as if the input and the filter were dequantized, convolved
/// (cross-correlation), the bias added, and the result quantized with one rounding, half to even.
struct QuantizedLinearConvolutionDesc {
  TensorDesc input;        ///< {N, InC, H, W}, INT8 or UINT8
  TensorDesc input_scale;  ///< one FLOAT32
  std::optional<TensorDesc> input_zero_point;
  TensorDesc filter;        ///< {OutC, InC / groups, FH, FW}, INT8 or UINT8
  TensorDesc filter_scale;  ///< one FLOAT32, or one per output channel
  std::optional<TensorDesc> filter_zero_point;
  std::optional<TensorDesc> bias;  ///< {1, OutC, 1, 1}, INT32, in units of inputScale * filterScale[c]
  TensorDesc output_scale;
  std::optional<TensorDesc> output_zero_point;
  TensorDesc output;  ///< {N, OutC, OH, OW}, INT8 or UINT8
  Dimensions strides;
  Dimensions dilations;
  Dimensions start_padding;  ///< padded with the input zero point
  Dimensions end_padding;
  std::uint32_t group_count = 1;
};

DMLREF_END
