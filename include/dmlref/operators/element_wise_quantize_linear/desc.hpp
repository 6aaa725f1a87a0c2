// desc.hpp: ELEMENT_WISE_QUANTIZE_LINEAR and ELEMENT_WISE_DEQUANTIZE_LINEAR as values.
#pragma once

#include <optional>

#include "dmlref/config.hpp"
#include "dmlref/desc/tensor_desc.hpp"

DMLREF_BEGIN

/// DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC: output = clamp(round_half_even(input / scale) + zero point).
struct ElementWiseQuantizeLinearDesc {
  TensorDesc input;  ///< FLOAT32, INT32 from level 2_1, FLOAT16 from 6_0
  TensorDesc scale;  ///< sizes of the input, stride 0 repeats; its type, FLOAT32 where that is INT32
  std::optional<TensorDesc> zero_point;  ///< sizes of the input, type of the output; absent: 0, from level 6_2
  TensorDesc output;                     ///< sizes of the input; UINT8, INT8 from level 2_1
};

/// DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC: output = (input - zero point) * scale.
struct ElementWiseDequantizeLinearDesc {
  TensorDesc input;                      ///< UINT8; integers of 8, 16 and 32 bits from level 2_1
  TensorDesc scale;                      ///< sizes of the input, stride 0 repeats; FLOAT32, FLOAT16 from level 6_0
  std::optional<TensorDesc> zero_point;  ///< sizes and type of the input; absent: 0, from level 6_2
  TensorDesc output;                     ///< sizes of the input, type of the scale
};

DMLREF_END
