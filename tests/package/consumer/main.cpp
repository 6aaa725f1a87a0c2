#include <cstdio>
#include <dmlref/dmlref.hpp>

int main() {
  using namespace dmlref;
  const float image[6] = {1, 2, 3, 4, 5, 6};
  float flipped[6];

  Slice1Desc flip;  // DML_OPERATOR_SLICE1: rows in reverse order
  flip.input = flip.output = TensorDesc(DataType::float32, {2, 3});
  flip.window_offsets = {0, 0};
  flip.window_sizes = {2, 3};
  flip.window_strides = {-1, 1};

  const InputBuffer inputs[] = {std::as_bytes(std::span(image))};
  const OutputBuffer outputs[] = {std::as_writable_bytes(std::span(flipped))};
  const Report report = run(flip, latest_feature_level, inputs, outputs);
  if (!report) return std::puts(report.to_string().c_str()), 1;
  for (const float value : flipped) std::printf("%g ", static_cast<double>(value));  // 4 5 6 1 2 3
}
