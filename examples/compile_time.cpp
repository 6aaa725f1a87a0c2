// The reference kernels in constant expressions: what the compiler computes is part of the program.
#include <dmlref/reference.hpp>

#include <array>
#include <cstdint>
#include <cstdio>

using dmlref::Shape;
using dmlref::TensorView;

constexpr std::array<int, 4> half_turn(const std::array<int, 4>& picture) {
  constexpr std::uint32_t offsets[] = {0, 0}, sizes[] = {2, 2};
  constexpr std::int32_t backwards[] = {-1, -1};
  std::array<int, 4> turned{};
  dmlref::reference::slice1(TensorView<const int>(picture.data(), Shape{2, 2}),
                            TensorView<int>(turned.data(), Shape{2, 2}), offsets, sizes, backwards);
  return turned;
}

constexpr std::array<std::int8_t, 3> edges(const std::array<std::uint8_t, 5>& line) {
  constexpr std::int8_t filter[] = {-1, 0, 1};
  constexpr float input_scale = 0.5f, filter_scale = 1.0f, output_scale = 1.0f;
  std::array<std::int8_t, 3> output{};
  const Shape one{1, 1, 1, 1};
  dmlref::reference::QuantizedLinearConvolutionTensors<std::uint8_t, std::int8_t, std::int8_t> tensors;
  tensors.input = {line.data(), Shape{1, 1, 1, 5}};
  tensors.input_scale = {&input_scale, one};
  tensors.filter = {filter, Shape{1, 1, 1, 3}};
  tensors.filter_scale = {&filter_scale, one};
  tensors.output_scale = {&output_scale, one};
  tensors.output = {output.data(), Shape{1, 1, 1, 3}};
  dmlref::reference::quantized_linear_convolution(
      tensors, {.strides = {1, 1}, .dilations = {1, 1}, .start_padding = {0, 0}, .group_count = 1});
  return output;
}

int main() {
  constexpr std::array turned = half_turn({1, 2, 3, 4});
  constexpr std::array steps = edges({0, 0, 10, 15, 15});
  static_assert(turned == std::array{4, 3, 2, 1});
  static_assert(steps[0] == 5 && steps[1] == 8 && steps[2] == 2);            // 7.5 and 2.5: half to even
  std::printf("%d %d %d %d\n", turned[0], turned[1], turned[2], turned[3]);  // 4 3 2 1
  std::printf("%d %d %d\n", steps[0], steps[1], steps[2]);                   // 5 8 2
}
