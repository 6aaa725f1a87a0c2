// reference.hpp: QUANTIZED_LINEAR_CONVOLUTION: dequantize, convolve, quantize, with one rounding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "dmlref/config.hpp"
#include "dmlref/config/floating_point.hpp"
#include "dmlref/reference/parameters.hpp"
#include "dmlref/reference/quantize.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN

/// The tensors of the operator, as the document names them. 4-D: {N, InC, H, W}, filter {OutC, InC / groups, FH, FW},
/// output {N, OutC, OH, OW}, bias {1, OutC, 1, 1}; 3-D: the same without H. Scales and zero points have one element,
/// or, those of the filter, one per output channel, in any rank. `View` is TensorView or ByteTensorView.
template <class In, class Filter, class Out, template <class...> class View = TensorView>
struct QuantizedLinearConvolutionTensors {
  View<const In> input;
  View<const float> input_scale;
  std::optional<View<const In>> input_zero_point;  ///< absent: 0, as the others
  View<const Filter> filter;
  View<const float> filter_scale;
  std::optional<View<const Filter>> filter_zero_point;
  std::optional<View<const std::int32_t>> bias;  ///< in units of input_scale * filter_scale[c]
  View<const float> output_scale;
  std::optional<View<const Out>> output_zero_point;
  View<Out> output;
};

namespace reference {

/// The window's way over the input. One or two entries per list, one for each spatial dimension.
struct ConvolutionGeometry {
  Strides strides;
  Strides dilations;
  Shape start_padding;
  Index group_count = 1;
};

using dmlref::QuantizedLinearConvolutionTensors;

namespace detail {

/// A 3-D layout {N, C, W} as {N, C, 1, W}; a 4-D layout as it is.
constexpr Layout with_two_spatial_dimensions(const Layout& layout) noexcept {
  if (layout.rank() != 3) return layout;
  return Layout(Shape{layout.shape[0], layout.shape[1], 1, layout.shape[2]},
                Strides{layout.strides[0], layout.strides[1], 0, layout.strides[2]}, layout.offset);
}

/// The entry for the height and the width of a list with one or two entries.
constexpr Index along_height(const IndexList& list, Index missing) noexcept {
  return list.size() == 2 ? list[0] : missing;
}
constexpr Index along_width(const IndexList& list) noexcept { return list.back(); }

template <class View>
constexpr typename View::value_type load(const View& view, Index n, Index c, Index y, Index x) noexcept {
  const Layout& layout = view.layout();
  return view.access().load(layout.offset + n * layout.strides[0] + c * layout.strides[1] + y * layout.strides[2] +
                            x * layout.strides[3]);
}

/// Taps [first, last) of a window, if there are any: those that lie in the input, others in padding.
struct TapRange {
  Index first, last;
  constexpr bool empty() const noexcept { return first >= last; }
};
/// The first of `count` taps lies at `start`, the next ones `dilation` apart; the input is [0, extent).
constexpr TapRange taps_inside(Index start, Index dilation, Index count, Index extent) noexcept {
  const Index first = start >= 0 ? 0 : (-start + dilation - 1) / dilation;
  const Index last = start >= extent ? 0 : (extent - start + dilation - 1) / dilation;
  return {first, last < count ? last : count};
}

}  // namespace detail

/// Calls `store(index, sum)` for each element of one output plane: where it lies, and the exact sum of
/// (input - its zero point) * (filter - its zero point) over the window. `tensors` may be those of CONVOLUTION_INTEGER.
template <class Tensors, class Store>
constexpr void for_each_window(const Tensors& tensors, const ConvolutionGeometry& geometry, Index batch, Index channel,
                               const Store& store) noexcept {
  const auto input = tensors.input.with_layout(detail::with_two_spatial_dimensions(tensors.input.layout()));
  const auto filter = tensors.filter.with_layout(detail::with_two_spatial_dimensions(tensors.filter.layout()));
  const auto output = tensors.output.with_layout(detail::with_two_spatial_dimensions(tensors.output.layout()));

  const Index stride_y = detail::along_height(geometry.strides, 1);
  const Index stride_x = detail::along_width(geometry.strides);
  const Index dilation_y = detail::along_height(geometry.dilations, 1);
  const Index dilation_x = detail::along_width(geometry.dilations);
  const Index padding_y = detail::along_height(geometry.start_padding, 0);
  const Index padding_x = detail::along_width(geometry.start_padding);

  const std::int64_t input_zero_point = detail::load_channel(tensors.input_zero_point, 0);
  const std::int64_t filter_zero_point = detail::load_channel(tensors.filter_zero_point, channel);

  const Index output_channels = output.extent(1);
  const Index channels = filter.extent(1);  // of one group
  const Index first_channel = channel / (output_channels / geometry.group_count) * channels;

  for (Index oy = 0; oy < output.extent(2); ++oy) {
    const Index top = oy * stride_y - padding_y;
    const detail::TapRange rows = detail::taps_inside(top, dilation_y, filter.extent(2), input.extent(2));
    for (Index ox = 0; ox < output.extent(3); ++ox) {
      const Index left = ox * stride_x - padding_x;
      const detail::TapRange columns = detail::taps_inside(left, dilation_x, filter.extent(3), input.extent(3));
      // A filter has fewer than 2^32 elements and |x - zp| <= 255, so |sum| < 2^32 * 255 * 255 < 2^48.
      std::int64_t sum = 0;
      // Padding is the input zero point: it adds nothing.
      for (Index c = 0; c < channels && !rows.empty() && !columns.empty(); ++c) {
        for (Index fy = rows.first; fy < rows.last; ++fy) {
          const Index y = top + fy * dilation_y;
          for (Index fx = columns.first; fx < columns.last; ++fx) {
            const Index x = left + fx * dilation_x;
            sum += (detail::load(input, batch, first_channel + c, y, x) - input_zero_point) *
                   (detail::load(filter, channel, c, fy, fx) - filter_zero_point);
          }
        }
      }
      store(output.layout()({batch, channel, oy, ox}), sum);
    }
  }
}

template <class In, class Filter, class Out, template <class...> class View>
constexpr void convolve_plane(const QuantizedLinearConvolutionTensors<In, Filter, Out, View>& tensors,
                              const ConvolutionGeometry& geometry, Index batch, Index channel) noexcept {
  const std::int64_t bias = detail::load_channel(tensors.bias, channel);
  const Out output_zero_point = detail::load_channel(tensors.output_zero_point, 0);
  const RequantizeScale scale(detail::load_channel(tensors.input_scale, 0),
                              detail::load_channel(tensors.filter_scale, channel),
                              detail::load_channel(tensors.output_scale, 0));
  for_each_window(tensors, geometry, batch, channel, [&](Index index, std::int64_t sum) {
    tensors.output.access().store(index, requantize<Out>(sum + bias, scale, output_zero_point));  // below 2^49
  });
}

/// One output plane: all rows and columns of output channel `channel` of batch entry `batch`. The caller's
/// floating-point environment does not matter.
template <class In, class Filter, class Out, template <class...> class View>
constexpr void quantized_linear_convolution(const QuantizedLinearConvolutionTensors<In, Filter, Out, View>& tensors,
                                            const ConvolutionGeometry& geometry, Index batch, Index channel) noexcept {
  dmlref::detail::in_default_environment([&] { convolve_plane(tensors, geometry, batch, channel); });
}

/// DML_OPERATOR_QUANTIZED_LINEAR_CONVOLUTION on views of any strides.
template <class In, class Filter, class Out, template <class...> class View>
constexpr void quantized_linear_convolution(const QuantizedLinearConvolutionTensors<In, Filter, Out, View>& tensors,
                                            const ConvolutionGeometry& geometry) noexcept {
  for (Index batch = 0; batch < tensors.output.extent(0); ++batch) {
    for (Index channel = 0; channel < tensors.output.extent(1); ++channel) {
      quantized_linear_convolution(tensors, geometry, batch, channel);
    }
  }
}

}  // namespace reference
DMLREF_END
