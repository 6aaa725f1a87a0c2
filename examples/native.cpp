// Without any DirectML: a descriptor by value, and a view of plain memory. Prints the second SLICE1 example: 14 16 6 8.
#include <dmlref/dmlref.hpp>

#include <cstdio>
#include <numeric>
#include <span>
#include <vector>

int main() {
  std::vector<float> input(16);
  std::iota(input.begin(), input.end(), 1.0f);
  std::vector<float> output(4);

  dmlref::Slice1Desc slice;
  slice.input = {dmlref::DataType::float32, {1, 1, 4, 4}};
  slice.output = {dmlref::DataType::float32, {1, 1, 2, 2}};
  slice.window_offsets = {0, 0, 0, 1};
  slice.window_sizes = {1, 1, 4, 3};
  slice.window_strides = {1, 1, -2, 2};

  const dmlref::InputBuffer inputs[] = {std::as_bytes(std::span(input))};
  const dmlref::OutputBuffer outputs[] = {std::as_writable_bytes(std::span(output))};
  const dmlref::Report report = dmlref::run(slice, dmlref::latest_feature_level, inputs, outputs);
  if (!report) return std::puts(report.to_string().c_str()), 1;

  const dmlref::TensorView<const float> result(output.data(), dmlref::Shape{2, 2});
  std::printf("%g %g %g %g\n", result(0, 0), result(0, 1), result(1, 0), result(1, 1));
}
