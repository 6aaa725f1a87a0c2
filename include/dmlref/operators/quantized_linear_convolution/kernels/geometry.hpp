// geometry.hpp: the convolution as numbers: what the loops need to know of the problem.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/problem.hpp"

DMLREF_BEGIN
namespace fast::qlc {

constexpr Index ceil_div(Index a, Index b) noexcept { return (a + b - 1) / b; }
constexpr Index magnitude(Index a) noexcept { return a < 0 ? -a : a; }
constexpr Index smaller(Index a, Index b) noexcept { return a < b ? a : b; }
constexpr Index larger(Index a, Index b) noexcept { return a > b ? a : b; }
constexpr Index round_up(Index a, Index b) noexcept { return ceil_div(a, b) * b; }

/// Steps of a four-dimensional tensor, in elements.
struct Steps {
  Index n, c, y, x;
  /// None leads back.
  bool forward() const noexcept { return n >= 0 && c >= 0 && y >= 0 && x >= 0; }
};

/// A convolution in two dimensions; one of one dimension has height 1.
struct Geometry {
  Index batch, groups, in_channels, out_channels;  // channels of one group
  Index height, width, out_height, out_width;
  Index kernel_h, kernel_w, stride_y, stride_x, dilation_y, dilation_x, pad_y, pad_x;
  Steps in, out, filter;         // filter.n: from output channel to output channel
  Index input_begin, input_end;  // bytes of the input that may be read, counted from its element (0, 0, 0, 0)
  bool input_signed, filter_signed, output_signed;
  Results results;

  Index taps() const noexcept { return kernel_h * kernel_w; }
  Index depth() const noexcept { return in_channels * taps(); }  // K
  /// Every output pixel sees its own input pixel and no other.
  bool pointwise() const noexcept {
    return taps() == 1 && stride_y == 1 && stride_x == 1 && pad_y == 0 && pad_x == 0 && out_height == height &&
           out_width == width;
  }
  /// The filter's channels are rows of neighbouring bytes: no taps between them.
  bool filter_of_rows() const noexcept { return taps() == 1 && (filter.c == 1 || in_channels == 1); }
  Index all_out_channels() const noexcept { return groups * out_channels; }
  /// Bytes of an element of the output.
  Index output_bytes() const noexcept { return results == Results::sums ? 4 : 1; }
};

inline Steps steps_of(const Layout& layout) noexcept {
  const Strides& s = layout.strides;
  return layout.rank() == 4 ? Steps{s[0], s[1], s[2], s[3]} : Steps{s[0], s[1], 0, s[2]};
}

inline Geometry geometry_of(const Problem& problem) noexcept {
  const Operand &input = problem.inputs[input_tensor], &kernel = problem.inputs[filter_tensor];
  const Layout &in = input.layout, &filter = kernel.layout, &out = problem.output.layout;
  const std::size_t last = in.rank() - 1;
  const bool flat = in.rank() == 3;
  const auto along = [flat](const IndexList& values, Index missing, Index& y, Index& x) {
    x = values.back();
    y = flat || values.size() < 2 ? missing : values[0];
  };
  Geometry g{};
  g.batch = in.shape[0];
  g.groups = problem.geometry.group_count;
  g.in_channels = filter.shape[1];
  g.out_channels = filter.shape[0] / g.groups;
  g.height = flat ? 1 : in.shape[2];
  g.width = in.shape[last];
  g.out_height = flat ? 1 : out.shape[2];
  g.out_width = out.shape[last];
  g.kernel_h = flat ? 1 : filter.shape[2];
  g.kernel_w = filter.shape[last];
  along(problem.geometry.strides, 1, g.stride_y, g.stride_x);
  along(problem.geometry.dilations, 1, g.dilation_y, g.dilation_x);
  along(problem.geometry.start_padding, 0, g.pad_y, g.pad_x);
  // Where an axis has one output, a stride beyond its kernel would only be input that is staged in vain.
  if (g.out_height == 1 && g.stride_y > (g.kernel_h - 1) * g.dilation_y + 1) g.stride_y = 1;
  if (g.out_width == 1 && g.stride_x > (g.kernel_w - 1) * g.dilation_x + 1) g.stride_x = 1;
  g.in = steps_of(in);
  g.out = steps_of(out);
  g.filter = steps_of(filter);
  g.input_begin = -in.offset;
  g.input_end = static_cast<Index>(input.readable_bytes) - in.offset;
  g.input_signed = input.is_signed;
  g.filter_signed = kernel.is_signed;
  g.output_signed = problem.output.is_signed;
  g.results = problem.results;
  return g;
}

/// Whether offsets along a kernel this wide and the size of the smallest block of input under it stay far below what
/// their types hold. Extents of 1 may have any stride and any dilation, and any padding that such a
/// kernel needs; the reference, which multiplies no two of them, does those.
inline bool offsets_fit(const Geometry& g) noexcept {
  constexpr Index largest_stride = 1 << 12, largest_reach = 1 << 16, largest_padding = 1 << 20;
  const Index reach_y = (g.kernel_h - 1) * g.dilation_y, reach_x = (g.kernel_w - 1) * g.dilation_x;
  if (g.stride_y > largest_stride || g.stride_x > largest_stride) return false;
  if (reach_y > largest_reach || reach_x > largest_reach) return false;
  if (g.pad_y > largest_padding || g.pad_x > largest_padding) return false;
  const Index columns = reach_x + 1 + (smaller(g.out_width, 16) - 1) * g.stride_x;
  return 4.0 * static_cast<double>((reach_y + 1) * columns) * static_cast<double>(g.in_channels) < 0x1p31;
}

/// Pairs of one of `outputs` pixels along a dimension and one of its `taps` that meet the input there.
inline Index pairs_inside(Index outputs, Index stride, Index taps, Index dilation, Index padding,
                          Index extent) noexcept {
  Index count = 0;
  for (Index tap = 0; tap < taps; ++tap) {
    const Index start = padding - tap * dilation;  // pixel y meets input y * stride - start
    const Index first = start <= 0 ? 0 : ceil_div(start, stride);
    const Index last = extent + start <= 0 ? 0 : smaller(outputs, ceil_div(extent + start, stride));
    count += larger(0, last - first);
  }
  return count;
}

/// Whether so little of deep windows is more than padding that it is faster to multiply nothing else, however slowly.
inline bool mostly_padding(const Geometry& g) noexcept {
  if (g.depth() < 4096) return false;
  const Index rows = pairs_inside(g.out_height, g.stride_y, g.kernel_h, g.dilation_y, g.pad_y, g.height);
  const Index columns = pairs_inside(g.out_width, g.stride_x, g.kernel_w, g.dilation_x, g.pad_x, g.width);
  const double all = static_cast<double>(g.out_height * g.kernel_h) * static_cast<double>(g.out_width * g.kernel_w);
  return static_cast<double>(rows) * static_cast<double>(columns) * 256.0 < all;
}

/// A 1x1 convolution of unpadded planes does not know rows: where both layouts allow it they become one.
inline Geometry flatten(Geometry g) noexcept {
  if (!g.pointwise() || g.in.y != g.in.x * g.width || g.out.y != g.out.x * g.width) return g;
  g.width *= g.height;
  g.out_width = g.width;
  g.height = g.out_height = 1;
  return g;
}

}  // namespace fast::qlc
DMLREF_END
