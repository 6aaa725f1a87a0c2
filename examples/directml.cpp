// With DirectML's own structs, in its stages: compile, initialize, execute. Normalizes 1, 2, 3, 4 and fuses a RELU.
#include <dmlref/directml.hpp>

#include <cstddef>
#include <cstdio>
#include <span>
#include <vector>

int main() {
  const UINT sizes[] = {1, 1, 2, 2};
  const DML_BUFFER_TENSOR_DESC buffer{DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_NONE, 4, sizes, nullptr, 16, 0};
  const DML_TENSOR_DESC tensor{DML_TENSOR_TYPE_BUFFER, &buffer};
  const DML_ACTIVATION_RELU_OPERATOR_DESC relu{};
  const DML_OPERATOR_DESC fused{DML_OPERATOR_ACTIVATION_RELU, &relu};
  DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC normalization{};
  normalization.InputTensor = normalization.OutputTensor = &tensor;
  normalization.NormalizeVariance = 1;
  normalization.Epsilon = 0.00001f;
  normalization.FusedActivation = &fused;
  const DML_OPERATOR_DESC desc{DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION, &normalization};

  const dmlref::CompileResult compiled = dmlref::compile(desc, DML_FEATURE_LEVEL_1_0);
  if (!compiled) return std::puts(compiled.report().to_string().c_str()), 1;
  const dmlref::CompiledOperator& op = compiled.value();

  // Both memories start at a multiple of 256; this operator keeps nothing, so there is no initialize.
  struct alignas(256) Block {
    std::byte bytes[256];
  };
  std::vector<Block> temporary(op.binding_properties().temporary_bytes / 256 + 1);
  const float input[] = {1, 2, 3, 4};
  float output[4];
  const dmlref::InputBuffer inputs[] = {std::as_bytes(std::span(input)), {}, {}};  // no scale, no bias
  const dmlref::OutputBuffer outputs[] = {std::as_writable_bytes(std::span(output))};
  const dmlref::Report report = op.execute(inputs, outputs, {}, std::as_writable_bytes(std::span(temporary)));
  if (!report) return std::puts(report.to_string().c_str()), 1;
  std::printf("%.6g %.6g %.6g %.6g\n", output[0], output[1], output[2], output[3]);
}
