// Layer, instance and group normalization: one operator, MVN1, told by its axes.
#include <dmlref/dmlref.hpp>

#include <cstdio>
#include <utility>

using namespace dmlref;

const float image[] = {1, 2, 3, 6, 10, 20, 30, 60, -1, -2, -3, -6, 5, 5, 5, 6};  // {1, 4, 2, 2}: four channels
const float scale_of_channels[] = {1, 2, 3, 4};
const float bias_of_channels[] = {0, 0, 0, 0.5};

/// `sizes`: of the image as they are to be seen; `parameters`: strides by which scale and bias repeat.
void print(const char* name, const Dimensions& sizes, const Dimensions& axes, const Dimensions& parameters) {
  MeanVarianceNormalization1Desc desc;
  desc.input = desc.output = TensorDesc(DataType::float32, sizes);
  desc.scale = desc.bias = TensorDesc(DataType::float32, sizes, parameters);
  desc.axes = axes;

  float output[16];
  const Report report = run(desc, latest_feature_level, {image, scale_of_channels, bias_of_channels}, {output});
  std::printf("%s: %s", name, report.to_string().c_str());
  for (std::size_t i = 0; i < 16; ++i) std::printf("%s%.4f", i % 4 == 0 ? "\n  " : " ", static_cast<double>(output[i]));
  std::printf("\n");
}

int main() {
  print("layer", {1, 4, 2, 2}, {1, 2, 3}, {0, 1, 0, 0});        // one mean for all
  print("instance", {1, 4, 2, 2}, {2, 3}, {0, 1, 0, 0});        // one for each channel
  print("group", {1, 2, 2, 2, 2}, {2, 3, 4}, {0, 2, 1, 0, 0});  // one for two channels
}
