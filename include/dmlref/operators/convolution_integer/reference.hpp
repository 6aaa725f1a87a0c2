// reference.hpp: CONVOLUTION_INTEGER: the sums of a quantized convolution, without scales.
#pragma once

#include <cstdint>
#include <optional>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/reference.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN

/// The tensors of the operator, as the document names them. 4-D: {N, InC, H, W}, filter {OutC, InC / groups, FH, FW},
/// output {N, OutC, OH, OW}; 3-D: the same without H. Zero points have one element, or, that of the filter, one per
/// output channel. `View` is TensorView or ByteTensorView.
template <class In, class Filter, template <class...> class View = TensorView>
struct ConvolutionIntegerTensors {
  View<const In> input;
  std::optional<View<const In>> input_zero_point;  ///< absent: 0, as the other
  View<const Filter> filter;
  std::optional<View<const Filter>> filter_zero_point;
  View<std::int32_t> output;
};

namespace reference {

using dmlref::ConvolutionIntegerTensors;

/// One output plane: all rows and columns of output channel `channel` of batch entry `batch`, modulo 2^32.
template <class In, class Filter, template <class...> class View>
constexpr void convolution_integer(const ConvolutionIntegerTensors<In, Filter, View>& tensors,
                                   const ConvolutionGeometry& geometry, Index batch, Index channel) noexcept {
  for_each_window(tensors, geometry, batch, channel, [&](Index index, std::int64_t sum) {
    tensors.output.access().store(index, static_cast<std::int32_t>(static_cast<std::uint32_t>(sum)));
  });
}

/// DML_OPERATOR_CONVOLUTION_INTEGER on views of any strides.
template <class In, class Filter, template <class...> class View>
constexpr void convolution_integer(const ConvolutionIntegerTensors<In, Filter, View>& tensors,
                                   const ConvolutionGeometry& geometry) noexcept {
  for (Index batch = 0; batch < tensors.output.extent(0); ++batch) {
    for (Index channel = 0; channel < tensors.output.extent(1); ++channel) {
      convolution_integer(tensors, geometry, batch, channel);
    }
  }
}

// ONNX's example of ConvInteger, with padding of 1 on all sides.
static_assert([] {
  const std::uint8_t input[] = {2, 3, 4, 5, 6, 7, 8, 9, 10}, zero_point = 1, filter[] = {1, 1, 1, 1};
  std::int32_t output[16] = {};
  convolution_integer(ConvolutionIntegerTensors<std::uint8_t, std::uint8_t>{{input, Shape{1, 1, 3, 3}},
                                                                            TensorView(&zero_point, Shape{1}),
                                                                            {filter, Shape{1, 1, 2, 2}},
                                                                            std::nullopt,
                                                                            {output, Shape{1, 1, 4, 4}}},
                      {{1, 1}, {1, 1}, {1, 1}, 1});
  const std::int32_t expected[] = {1, 3, 5, 3, 5, 12, 16, 9, 11, 24, 28, 15, 7, 15, 17, 9};
  for (int i = 0; i < 16; ++i) {
    if (output[i] != expected[i]) return false;
  }
  return true;
}());

}  // namespace reference
DMLREF_END
