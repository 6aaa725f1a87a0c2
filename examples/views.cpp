// Calls on views: your own tensors, with any strides, and no descriptor.
#include <dmlref/mean_variance_normalization.hpp>
#include <dmlref/quantized_linear_convolution.hpp>
#include <dmlref/slice.hpp>

#include <cstdint>
#include <cstdio>
#include <numeric>
#include <optional>

using namespace dmlref;

void print(const char* name, const Report& report, const float (&values)[8]) {
  std::printf("%s: %s\n ", name, report.to_string().c_str());
  for (const float value : values) std::printf(" %.4g", static_cast<double>(value));
  std::printf("\n");
}

int main() {
  float pixels[24];  // a picture of 3 rows, 4 columns and 2 channels, channels last: 1 2, 3 4, …
  std::iota(std::begin(pixels), std::end(pixels), 1.0f);
  const TensorView<float> picture = TensorView<float>(pixels, Shape{3, 4, 2}).permute({2, 0, 1});  // channels first

  // Of each channel the outer rows, upside down, and every second column.
  float part[8]{};
  const TensorView<float> output(part, Shape{2, 2, 2});
  print("slice1", slice1(picture, output, {0, 0, 0}, {2, 3, 4}, {1, -2, 2}), part);
  // 17 21 1 5 18 22 2 6

  // Each channel of that by its own mean and variance.
  float normalized[8]{};
  const MeanVarianceNormalizationOptions options{.axes = {1, 2}};
  print("normalization",
        mean_variance_normalization(output, std::nullopt, std::nullopt, TensorView<float>(normalized, Shape{2, 2, 2}),
                                    options),
        normalized);

  // The differences of neighbours in a row of bytes, read backwards.
  const std::uint8_t row[] = {1, 4, 9, 16, 25};
  const std::int8_t filter[] = {1, -1};
  const float one = 1;
  std::int8_t differences[4]{};
  const TensorView<const float> scale(&one, Shape{1, 1, 1, 1});
  QuantizedLinearConvolutionTensors<std::uint8_t, std::int8_t, std::int8_t> tensors;
  tensors.input = TensorView<const std::uint8_t>(row, Shape{1, 1, 1, 5}).flip(3);
  tensors.filter = TensorView<const std::int8_t>(filter, Shape{1, 1, 1, 2});
  tensors.input_scale = tensors.filter_scale = tensors.output_scale = scale;
  tensors.output = TensorView<std::int8_t>(differences, Shape{1, 1, 1, 4});
  std::printf("convolution: %s\n ", quantized_linear_convolution(tensors, {}).to_string().c_str());
  for (const int value : differences) std::printf(" %d", value);  // 9 7 5 3
  std::printf("\n");

  // What does not fit is told by the documents' names, and nothing is written.
  std::printf("%s\n", slice1(picture, output, {0, 0, 0}, {2, 3, 4}, {1, 0, 2}).to_string().c_str());
}
