// desc.hpp: CONVOLUTION_INTEGER as a value.
#pragma once

#include <cstdint>
#include <optional>

#include "dmlref/config.hpp"
#include "dmlref/desc/tensor_desc.hpp"

DMLREF_BEGIN

/// DML_CONVOLUTION_INTEGER_OPERATOR_DESC: the convolution (cross-correlation) of input and filter, each less its zero
/// point, modulo 2^32.
struct ConvolutionIntegerDesc {
  TensorDesc input;                             ///< {N, InC, H, W}, INT8 or UINT8
  std::optional<TensorDesc> input_zero_point;   ///< one of the input's type; absent: 0
  TensorDesc filter;                            ///< {OutC, InC / groups, FH, FW}, INT8 or UINT8
  std::optional<TensorDesc> filter_zero_point;  ///< one of the filter's type, or one per output channel; absent: 0
  TensorDesc output;                            ///< {N, OutC, OH, OW}, INT32
  Dimensions strides;             ///< of the window over the padded input, one per spatial dimension, as the next three
  Dimensions dilations;           ///< distances between the filter's taps
  Dimensions start_padding;       ///< elements before the input, of the value of its zero point
  Dimensions end_padding;         ///< the same after it
  std::uint32_t group_count = 1;  ///< divides InC and OutC
};

DMLREF_END
