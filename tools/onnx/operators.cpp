#include "onnx/operators.hpp"

namespace dmlref::tool::onnx {
namespace {

constexpr Operator operators[] = {
    {"Slice", 1, lower_slice},
    {"Transpose", 1, lower_transpose},
    {"Identity", 1, lower_identity},
    {"Reshape", 1, lower_reshape},
    {"Constant", 1, lower_constant},
    {"QLinearConv", 10, lower_qlinear_conv},
    {"ConvInteger", 10, lower_conv_integer},
    {"MatMulInteger", 10, lower_mat_mul_integer},
    {"QLinearMatMul", 10, lower_qlinear_mat_mul},
    {"QuantizeLinear", 10, lower_quantize_linear},
    {"DequantizeLinear", 10, lower_dequantize_linear},
    {"MeanVarianceNormalization", 9, lower_mean_variance_normalization},
    {"InstanceNormalization", 6, lower_instance_normalization},
    {"LayerNormalization", 17, lower_layer_normalization},
    {"RMSNormalization", 23, lower_rms_normalization},
    {"SimplifiedLayerNormalization", 1, lower_rms_normalization},  // ONNX Runtime's own, in either domain
    {"com.microsoft.SimplifiedLayerNormalization", 1, lower_rms_normalization},
    {"GroupNormalization", 18, lower_group_normalization},
    {"BatchNormalization", 9, lower_batch_normalization},
    {"Relu", 6, lower_activation},
    {"LeakyRelu", 6, lower_activation},
    {"Elu", 6, lower_activation},
    {"Selu", 6, lower_activation},
    {"Celu", 12, lower_activation},
    {"Sigmoid", 6, lower_activation},
    {"HardSigmoid", 6, lower_activation},
    {"Tanh", 6, lower_activation},
    {"Softplus", 1, lower_activation},
    {"Softsign", 1, lower_activation},
    {"ThresholdedRelu", 10, lower_activation},
    {"Shrink", 9, lower_activation},
    {"Gelu", 20, lower_activation},
};

}  // namespace

const Operator* find_operator(std::string_view type) noexcept {
  for (const Operator& row : operators) {
    if (row.type == type) return &row;
  }
  return nullptr;
}

std::string operator_names() {
  std::string names;
  for (const Operator& row : operators) names.append(names.empty() ? "" : ", ").append(row.type);
  return names;
}

}  // namespace dmlref::tool::onnx
