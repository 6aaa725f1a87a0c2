// rows.hpp: values of input rows on their way into a staged block, results of pixels on their way out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"

DMLREF_BEGIN
namespace fast::qlc {

/// `width` bytes that are `step` apart, xor flip.
inline void copy_apart(const std::uint8_t* src, Index step, Index width, std::uint8_t flip,
                       std::uint8_t* dst) noexcept {
  const auto copy16 = [&](Index at) {  // reads the seventeenth, too
    using Bytes = std::uint8_t __attribute__((vector_size(16)));
    Bytes a, b;
    std::memcpy(&a, src + 2 * at, sizeof a);
    std::memcpy(&b, src + 2 * at + 16, sizeof b);
    a = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30) ^ flip;
    std::memcpy(dst + at, &a, sizeof a);
  };
  Index i = 0;
  if (step == 2 && width > 16) {
    for (; i + 16 < width; i += 16) copy16(i);
    i = width - 1;
    copy16(i - 16);
  }
  for (; i < width; ++i) dst[i] = static_cast<std::uint8_t>(src[i * step] ^ flip);
}

/// Copies `count` values of an input row from column `first` on, `step` columns apart, to dst; zero_point outside.
inline void gather_row(const std::uint8_t* row, Index width, Index column_step, Index first, Index step, Index count,
                       std::uint8_t zero_point, std::uint8_t* dst) noexcept {
  Index i = 0;
  if (first < 0) {
    const Index before = ceil_div(-first, step);
    for (; i < count && i < before; ++i) dst[i] = zero_point;
  }
  Index inside = count;  // columns at or past `width` begin here
  if (first + (count - 1) * step >= width) inside = first >= width ? 0 : (width - first + step - 1) / step;
  if (inside > i) {
    const std::uint8_t* const from = row + (first + i * step) * column_step;
    if (step * column_step == 1) {
      std::memcpy(dst + i, from, static_cast<std::size_t>(inside - i));
    } else {
      copy_apart(from, step * column_step, inside - i, 0, dst + i);
    }
    i = inside;
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

template <std::size_t Bytes>
void copy_pixels_of(const std::uint8_t* from, Index pitch, std::uint8_t* to, Index step, Index pixels) noexcept {
  for (Index p = 0; p < pixels; ++p) std::memcpy(to + p * step, from + p * pitch, Bytes);
}

/// `bytes` channels of each pixel, side by side; the usual numbers without a call.
inline void copy_pixels(const std::uint8_t* from, Index pitch, std::uint8_t* to, Index step, Index pixels,
                        Index bytes) noexcept {
  switch (bytes) {
    case 8: return copy_pixels_of<8>(from, pitch, to, step, pixels);
    case 16: return copy_pixels_of<16>(from, pitch, to, step, pixels);
    case 24: return copy_pixels_of<24>(from, pitch, to, step, pixels);
    case 32: return copy_pixels_of<32>(from, pitch, to, step, pixels);
    case 64: return copy_pixels_of<64>(from, pitch, to, step, pixels);
    default:
      for (Index p = 0; p < pixels; ++p) {
        std::memcpy(to + p * step, from + p * pitch, static_cast<std::size_t>(bytes));
      }
  }
}

/// Writes bytes[pixel][channel] of a line, `channels` of each `pitch` bytes; `transpose` is a target's.
inline void write_pixels(decltype(Kernels::transpose) transpose, const std::uint8_t* bytes, Index pitch, Index pixels,
                         Index channels, std::uint8_t* out, Index channel_step, Index pixel_step) noexcept {
  if (channel_step == 1) return copy_pixels(bytes, pitch, out, pixel_step, pixels, channels);
  if (pixel_step == 1) return transpose(bytes, pitch, pixels, channels, out, channel_step);
  for (Index x = 0; x < pixels; ++x) {
    for (Index c = 0; c < channels; ++c) out[x * pixel_step + c * channel_step] = bytes[x * pitch + c];
  }
}

}  // namespace fast::qlc
DMLREF_END
