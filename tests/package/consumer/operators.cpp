// operators.cpp: a program with the kernels of all operators, which are compiled elsewhere. Prints operators.txt.
#include <cstdint>
#include <cstdio>
#include <dmlref/dmlref.hpp>

namespace {

using namespace dmlref;

template <class T, std::size_t Count>
InputBuffer bytes(const T (&values)[Count]) {
  return std::as_bytes(std::span(values));
}

template <class T, std::size_t Count>
bool print(const char* name, const OperatorDesc& desc, std::span<const InputBuffer> inputs, T (&output)[Count]) {
  const OutputBuffer outputs[] = {std::as_writable_bytes(std::span(output))};
  const Report report = run(desc, latest_feature_level, inputs, outputs);
  std::printf("%s:", name);
  if (!report) std::printf(" %s", report.to_string().c_str());
  for (const T value : output) std::printf(" %g", static_cast<double>(value));
  std::printf("\n");
  return report.ok();
}

}  // namespace

int main() {
  const float image[] = {1, 2, 3, 4, 5, 6};
  float flipped[6]{};
  Slice1Desc slice;
  slice.input = slice.output = TensorDesc(DataType::float32, {2, 3});
  slice.window_offsets = {0, 0};
  slice.window_sizes = {2, 3};
  slice.window_strides = {-1, 1};
  bool good = print("SLICE1", slice, std::vector{bytes(image)}, flipped);

  const std::uint8_t rows[] = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::int8_t filter[] = {1, 1, -1, 2};  // two channels that add up the rows in their ways
  const float scales[] = {0.5f, 0.25f, 0.125f};
  std::uint8_t sums[8]{};
  QuantizedLinearConvolutionDesc convolution;
  convolution.input = TensorDesc(DataType::uint8, {1, 1, 2, 4});
  convolution.filter = TensorDesc(DataType::int8, {2, 1, 2, 1});
  convolution.output = TensorDesc(DataType::uint8, {1, 2, 1, 4});
  convolution.input_scale = convolution.filter_scale = convolution.output_scale =
      TensorDesc(DataType::float32, {1, 1, 1, 1});
  convolution.strides = convolution.dilations = {1, 1};
  convolution.start_padding = convolution.end_padding = {0, 0};
  const InputBuffer scale_buffers[] = {bytes(scales).first(4), bytes(scales).subspan(4, 4), bytes(scales).subspan(8)};
  good = print("QUANTIZED_LINEAR_CONVOLUTION", convolution,
               std::vector<InputBuffer>{
                   bytes(rows), scale_buffers[0], {}, bytes(filter), scale_buffers[1], {}, {}, scale_buffers[2], {}},
               sums) &&
         good;

  const float values[] = {1, 2, 3, 4};
  float normalized[4]{};
  MeanVarianceNormalization1Desc normalization;
  normalization.input = normalization.output = TensorDesc(DataType::float32, {1, 4});
  normalization.axes = {1};
  good = print("MEAN_VARIANCE_NORMALIZATION1", normalization, std::vector<InputBuffer>{bytes(values), {}, {}},
               normalized) &&
         good;
  return good ? 0 : 1;
}
