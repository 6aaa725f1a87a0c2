// desc.hpp: MATRIX_MULTIPLY_INTEGER and QUANTIZED_LINEAR_MATRIX_MULTIPLY as values.
//
// M, K and N are the sizes of one product; batch and channel, which may be left out, count independent products.
#pragma once

#include <optional>

#include "dmlref/config.hpp"
#include "dmlref/desc/tensor_desc.hpp"

DMLREF_BEGIN

/// DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC: the product of A and B, less their zero points, modulo 2^32.
struct MatrixMultiplyIntegerDesc {
  TensorDesc a;                            ///< {[batch, [channel,]] M, K}, INT8 or UINT8
  std::optional<TensorDesc> a_zero_point;  ///< one of A's type, or one per row: {M, 1} or {M}; absent: 0
  TensorDesc b;                            ///< {[batch, [channel,]] K, N}, INT8 or UINT8
  std::optional<TensorDesc> b_zero_point;  ///< one of B's type, or one per column: {1, N} or {N}; absent: 0
  TensorDesc output;                       ///< {[batch, [channel,]] M, N}, INT32
};

/// DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC: as if A and B were dequantized, multiplied, and the result
/// quantized with one rounding, half to even.
struct QuantizedLinearMatrixMultiplyDesc {
  TensorDesc a;                                 ///< {[batch, [channel,]] M, K}, INT8 or UINT8
  TensorDesc a_scale;                           ///< one FLOAT32, or one per row: {M, 1}
  std::optional<TensorDesc> a_zero_point;       ///< one of A's type, or one per row: {M, 1}; absent: 0
  TensorDesc b;                                 ///< {[batch, [channel,]] K, N}, INT8 or UINT8
  TensorDesc b_scale;                           ///< one FLOAT32, or one per column: {1, N} or {N}
  std::optional<TensorDesc> b_zero_point;       ///< one of B's type, or one per column; absent: 0
  TensorDesc output_scale;                      ///< one FLOAT32, or one per row: {M, 1}
  std::optional<TensorDesc> output_zero_point;  ///< one of the output's type, or one per row; absent: 0
  TensorDesc output;                            ///< {[batch, [channel,]] M, N}, INT8 or UINT8
};

DMLREF_END
