#include <cstdio>
#include <dmlref/dmlref.hpp>

int main() {
  using namespace dmlref;
  Slice1Desc flip;  // rows in reverse order
  flip.input = flip.output = TensorDesc(DataType::float32, {2, 3});
  flip.window_offsets = {0, 0};
  flip.window_sizes = {2, 3};
  flip.window_strides = {-1, 1};

  const float image[6] = {1, 2, 3, 4, 5, 6};
  float flipped[6];
  const Report report = run(flip, FeatureLevel::level_6_4, {image}, {flipped});
  std::printf("%s:", report.to_string().c_str());
  for (const float value : flipped) std::printf(" %g", static_cast<double>(value));

  std::printf("\n%s\n", validate(flip, FeatureLevel::level_2_1).to_string().c_str());
}
