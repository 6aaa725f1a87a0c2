// Coming from IDMLDevice: its calls in comments, ours below. Normalizes 1, 2, 3, 4, scales by 2 and fuses a RELU.
#include <dmlref/directml.hpp>

#include <cstdio>

int main() {
  const UINT sizes[] = {1, 1, 2, 2}, one[] = {1, 1, 1, 1};
  const DML_BUFFER_TENSOR_DESC buffer{DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_NONE, 4, sizes, nullptr, 16, 0};
  const DML_BUFFER_TENSOR_DESC weight{
      DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_OWNED_BY_DML, 4, one, nullptr, 4, 0};
  const DML_TENSOR_DESC tensor{DML_TENSOR_TYPE_BUFFER, &buffer}, scale{DML_TENSOR_TYPE_BUFFER, &weight};
  const DML_ACTIVATION_RELU_OPERATOR_DESC relu{};
  const DML_OPERATOR_DESC fused{DML_OPERATOR_ACTIVATION_RELU, &relu};
  DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC normalization{};
  normalization.InputTensor = normalization.OutputTensor = &tensor;
  normalization.ScaleTensor = normalization.BiasTensor = &scale;
  normalization.NormalizeVariance = 1;
  normalization.Epsilon = 0.00001f;
  normalization.FusedActivation = &fused;
  const DML_OPERATOR_DESC desc{DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION, &normalization};

  // device->CreateOperator(&desc, …) and device->CompileOperator(op, flags, …): a failure names every broken rule.
  const dmlref::CompileResult compiled = dmlref::compile(desc, DML_FEATURE_LEVEL_1_0);
  if (!compiled) return std::puts(compiled.report().to_string().c_str()), 1;
  const dmlref::CompiledOperator& op = compiled.value();

  // op->GetBindingProperties(): no descriptor heap; both memories start at a multiple of 256.
  const dmlref::BindingProperties needs = op.binding_properties();
  const dmlref::AlignedBuffer persistent(needs.persistent_bytes), temporary(needs.temporary_bytes);

  // device->CreateOperatorInitializer(…), bindings->BindInputs(owned), BindOutputs(persistent), RecordDispatch.
  const float two[] = {2};  // in the order of the desc; the input comes later
  dmlref::Report report = op.initialize({{}, two, two}, persistent.span(), temporary.span());
  if (!report) return std::puts(report.to_string().c_str()), 1;

  // bindings->BindInputs(…), BindOutputs(…), BindPersistentResource, BindTemporaryResource, RecordDispatch; no fence.
  const float input[] = {1, 2, 3, 4};
  float output[4];
  report = op.execute({input, {}, {}}, {output}, persistent.span(), temporary.span());  // scale and bias are owned
  if (!report) return std::puts(report.to_string().c_str()), 1;
  std::printf("%.6g %.6g %.6g %.6g\n", output[0], output[1], output[2], output[3]);  // 0 1.10558 2.89442 4.68327
}
