// operators.hpp: the table of ONNX operators that are lowered.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "onnx/context.hpp"

namespace dmlref::tool::onnx {

using LowerNode = void (*)(Context&);

/// A row of the table of operators.
struct Operator {
  std::string_view type;  ///< with the domain before it where that is not ONNX's: "com.microsoft.NAME"
  std::int64_t since;     ///< the first opset with this meaning
  LowerNode lower;
};

/// Null where the operator is not lowered.
const Operator* find_operator(std::string_view type) noexcept;
std::string operator_names();

// The lowerings, by file.
void lower_slice(Context& node);      // slice.cpp
void lower_transpose(Context& node);  // views.cpp
void lower_identity(Context& node);
void lower_reshape(Context& node);
void lower_constant(Context& node);
void lower_qlinear_conv(Context& node);  // convolution.cpp
void lower_conv_integer(Context& node);
void lower_mat_mul_integer(Context& node);  // matrix_multiply.cpp
void lower_qlinear_mat_mul(Context& node);
void lower_quantize_linear(Context& node);  // quantize_linear.cpp
void lower_dequantize_linear(Context& node);
void lower_mean_variance_normalization(Context& node);  // normalization.cpp
void lower_instance_normalization(Context& node);
void lower_layer_normalization(Context& node);
void lower_rms_normalization(Context& node);
void lower_group_normalization(Context& node);
void lower_batch_normalization(Context& node);
void lower_activation(Context& node);  // activation.cpp

}  // namespace dmlref::tool::onnx
