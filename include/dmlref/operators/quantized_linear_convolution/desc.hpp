// desc.hpp: QUANTIZED_LINEAR_CONVOLUTION as a value.
#pragma once

#include <cstdint>
#include <optional>

#include "dmlref/config.hpp"
#include "dmlref/desc/tensor_desc.hpp"

DMLREF_BEGIN

/// DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC: as if the input and the filter were dequantized, convolved
/// (cross-correlation), the bias added, and the result quantized with one rounding, half to even.
struct QuantizedLinearConvolutionDesc {
  TensorDesc input;                             ///< {N, InC, H, W}, INT8 or UINT8
  TensorDesc input_scale;                       ///< one FLOAT32
  std::optional<TensorDesc> input_zero_point;   ///< one of the input's type; absent: 0
  TensorDesc filter;                            ///< {OutC, InC / groups, FH, FW}, INT8 or UINT8
  TensorDesc filter_scale;                      ///< one FLOAT32, or one per output channel
  std::optional<TensorDesc> filter_zero_point;  ///< one of the filter's type, or one per output channel; absent: 0
  std::optional<TensorDesc> bias;               ///< {1, OutC, 1, 1}, INT32, in units of inputScale * filterScale[c]
  TensorDesc output_scale;                      ///< one FLOAT32
  std::optional<TensorDesc> output_zero_point;  ///< one of the output's type; absent: 0
  TensorDesc output;                            ///< {N, OutC, OH, OW}, INT8 or UINT8
  Dimensions strides;             ///< of the window over the padded input, one per spatial dimension, as the next three
  Dimensions dilations;           ///< distances between the filter's taps
  Dimensions start_padding;       ///< elements before the input, of the value of its zero point
  Dimensions end_padding;         ///< the same after it
  std::uint32_t group_count = 1;  ///< divides InC and OutC
};

DMLREF_END
