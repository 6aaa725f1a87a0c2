// The templated kernels on views.
#include <dmlref/reference.hpp>

using View = dmlref::TensorView<float>;

void slice(const View& input, const View& output) {
  constexpr std::uint32_t offsets[] = {0, 1}, strides[] = {2, 1};
  dmlref::reference::slice(input, output, offsets, strides);
}
void normalize(const View& input, const View& output) {
  dmlref::reference::mean_variance_normalization(input, std::optional<View>(), std::optional<View>(), output, 0b1100,
                                                 {});
}
void convolve(
    const dmlref::reference::QuantizedLinearConvolutionTensors<std::uint8_t, std::int8_t, std::uint8_t>& tensors) {
  dmlref::reference::quantized_linear_convolution(tensors, {{1, 1}, {1, 1}, {0, 0}});
}
