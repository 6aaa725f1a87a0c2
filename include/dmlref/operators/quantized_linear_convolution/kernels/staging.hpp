// staging.hpp: how the activations of a block of output pixels may be laid out, and rows of the input.
//
// planes   channels far apart (NCHW): neighbouring pixels of a few channels lie side by side
// windows  1 to 3 channels: horizontal neighbours of one channel lie side by side
// pixels   channels side by side (NHWC)
#pragma once

#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"

DMLREF_BEGIN
namespace fast::qlc {

enum class Staging { planes, windows, pixels };

/// Copies `count` values of an input row from column `first` on, `step` columns apart, to dst; zero_point outside.
inline void gather_row(const std::uint8_t* row, Index width, Index column_step, Index first, Index step, Index count,
                       std::uint8_t zero_point, std::uint8_t* dst) noexcept {
  Index i = 0;
  if (first < 0) {
    const Index before = ceil_div(-first, step);
    for (; i < count && i < before; ++i) dst[i] = zero_point;
  }
  const Index end = first >= width ? 0 : (width - first + step - 1) / step;  // columns at or past `width` begin here
  const Index inside = end < count ? end : count;
  if (step * column_step == 1 && inside > i) {
    std::memcpy(dst + i, row + (first + i), static_cast<std::size_t>(inside - i));
    i = inside;
  } else {
    for (; i < inside; ++i) dst[i] = row[(first + i * step) * column_step];
  }
  if (i < count) std::memset(dst + i, zero_point, static_cast<std::size_t>(count - i));
}

/// Whether some output row reads input row `r` of a block: a stride beyond the kernel's reach leaves rows out.
inline bool row_is_read(const Geometry& g, Index r) noexcept {
  bool read = g.stride_y == 1;
  for (Index ky = 0; ky < smaller(g.kernel_h, g.stride_y) && !read; ++ky) {  // later rows' remainders are the same
    const Index from = r - ky * g.dilation_y;
    read = from >= 0 && from % g.stride_y == 0;
  }
  return read;
}

}  // namespace fast::qlc
DMLREF_END
