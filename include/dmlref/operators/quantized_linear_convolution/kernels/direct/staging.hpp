// staging.hpp: rows of a direct convolution's input to a task's memory, and its lines of lanes to the output.
//
// The padded input under a band of output pixels is de-interleaved into phases by the strides: phase (py, px) has every
// stride_y-th row from py and of these every stride_x-th pixel from px. Then neighbouring outputs read neighbouring
// pixels of a phase, whatever tap they multiply. A row's right padding is the next one's left:
//
//   staged     z a b c d z e f g h z i j k l z …    z: padding
//   lanes      0 1 2 3 4 5 6 7 8 …                  lane i reads a tap at its offset + i
//   of use     x x x x . x x x x .                  what a lane computes over a row's end is thrown away
#pragma once

#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/plan.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/rows.hpp"
#include "dmlref/view/narrow.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

inline constexpr Index staged_capacity = 40 * 1024;
inline constexpr Index line_capacity = 32 * 1024;
inline constexpr Index slack = 256;  // kernels load and store whole blocks

/// A rectangle of output pixels.
struct Band {
  Index y, x, rows, columns;
};

/// What a task needs memory for. Each pixel has `pitch` bytes of a plane, one for each of its channels.
struct StagedSize {
  Index planes = 1, lines = 1, pitch = 1;
  Index target = staged_capacity;  // of the planes' bytes
};

class Staging {
 public:
  /// Rows and columns of bands at most; none where not even some pixels fit.
  Index band_rows = 0, band_columns = 0;
  Index row_pixels = 0;  // from one row of a phase to the next, as from one output row of a line

  explicit Staging(const Geometry& g) : g_(g) {}

  Index phases() const noexcept { return g_.stride_y * g_.stride_x; }
  Index phase_bytes(Index pitch) const noexcept { return phase_bytes(pitch, band_rows, band_columns); }
  /// Lanes of a band of a line.
  Index lanes(const Band& band) const noexcept { return (band.rows - 1) * row_pixels + band.columns; }

  bool choose(const StagedSize& size, Index block) {
    const auto fit = [&](Index rows, Index columns, Index bytes) {
      // Each of the factors fits where their product does, which may be beyond 64 bits.
      if (phases() > bytes || row_pixels_of(columns) * size.pitch > bytes) return false;
      return size.planes * phases() * phase_bytes(size.pitch, rows, columns) <= bytes &&
             size.lines * (rows * row_pixels_of(columns) * size.pitch + block) <= line_capacity;
    };
    band_columns = g_.out_width;
    while (!fit(1, band_columns, staged_capacity)) {
      if (band_columns <= 8) return false;
      band_columns = (band_columns + 1) / 2;
    }
    band_rows = 1;
    while (band_rows < g_.out_height && fit(band_rows + 1, band_columns, size.target)) ++band_rows;
    band_rows = ceil_div(g_.out_height, ceil_div(g_.out_height, band_rows));
    row_pixels = row_pixels_of(band_columns);
    return true;
  }

  Index bands() const noexcept { return ceil_div(g_.out_height, band_rows) * across(); }
  Band band(Index index) const noexcept {
    const Index y = index / across() * band_rows, x = index % across() * band_columns;
    return {y, x, smaller(band_rows, g_.out_height - y), smaller(band_columns, g_.out_width - x)};
  }

  /// Where a tap's pixels begin, from the first phase of its channel.
  std::int32_t offset(const Tap& tap, Index pitch) const noexcept {
    const Index y = tap.y * g_.dilation_y, x = tap.x * g_.dilation_x;
    const Index phase = (tap.channel * g_.stride_y + y % g_.stride_y) * g_.stride_x + x % g_.stride_x;
    const Index pixels = y / g_.stride_y * row_pixels + x / g_.stride_x;
    return dmlref::detail::narrow<std::int32_t>(phase * phase_bytes(pitch) + pixels * pitch);  // below staged_capacity
  }

  /// All phases of `planes` planes under `band`: the first `channels` of the bytes that pixels have in each, which are
  /// `pitch` apart.
  void stage(const Band& band, const FoldedHeader& h, const std::uint8_t* input, Index planes, Index channels,
             Index pitch, std::uint8_t* to) const noexcept {
    const Index row_bytes = row_pixels * pitch;
    const auto fill = [&](std::uint8_t* at, Index bytes) { std::memset(at, h.fill, static_cast<std::size_t>(bytes)); };
    for (Index phase = 0; phase < phases(); ++phase) {
      const Span rows = rows_of(band, phase / g_.stride_x), columns = columns_of(band, phase % g_.stride_x);
      const Index before = columns.before * pitch + rows.before * row_bytes;
      for (Index plane = 0; plane < planes; ++plane) {
        std::uint8_t* dst = to + (plane * phases() + phase) * phase_bytes(pitch);
        std::uint8_t* const end = dst + phase_bytes(pitch);
        fill(dst, before);
        dst += before;
        for (Index r = 0; r < rows.count && columns.count > 0; ++r, dst += row_bytes) {
          // Into the row itself and the next one, which are written later.
          for (Index i = columns.count * pitch / 16 * 16; i < row_bytes; i += 16) fill(dst + i, 16);
          copy_pixels(input + plane * g_.in.c + (rows.first + r * g_.stride_y) * g_.in.y + columns.first * g_.in.x,
                      columns.count, channels, pitch, h, dst);
        }
        fill(dst, end - dst);
      }
    }
    fill(to + planes * phases() * phase_bytes(pitch), slack);
  }

 private:
  Index across() const noexcept { return ceil_div(g_.out_width, band_columns); }

  /// Staged rows or columns: `before` of padding, then `count` of the input, from number `first` on.
  struct Span {
    Index before, count, first;
  };

  Index padded_columns(Index columns) const noexcept {
    return (columns - 1) * g_.stride_x + (g_.kernel_w - 1) * g_.dilation_x + 1;
  }
  Index row_pixels_of(Index columns) const noexcept {
    const Index needed = padded_columns(columns);
    Index padded = needed;
    if (columns == g_.out_width) {  // one row's right padding is the next one's left
      const Index left = smaller(g_.pad_x, needed);
      padded = larger(left + smaller(g_.width, needed - left), needed - left);
    }
    return ceil_div(larger(padded, columns * g_.stride_x), g_.stride_x);
  }
  Index phase_bytes(Index pitch, Index rows, Index columns) const noexcept {
    const Index below = (g_.kernel_h - 1) * g_.dilation_y / g_.stride_y;
    const Index left = smaller(g_.pad_x, padded_columns(columns));
    return round_up(((rows + below) * row_pixels_of(columns) + left) * pitch + 64, 64);
  }

  void copy_pixels(const std::uint8_t* src, Index count, Index channels, Index pitch, const FoldedHeader& h,
                   std::uint8_t* dst) const noexcept {
    const Index step = g_.stride_x * g_.in.x;
    if (step == channels && pitch == channels) return copy_row(src, count * channels, h.input_flip, dst);
    if (channels == 1) return copy_apart(src, step, count, h.input_flip, dst);
    for (Index x = 0; x < count; ++x, dst += pitch) {
      copy_row(src + x * step, channels, h.input_flip, dst);
      if (channels != pitch) std::memset(dst + channels, h.fill, static_cast<std::size_t>(pitch - channels));
    }
  }

  /// Staged pixel i is padded column phase + i * stride_x of the band; the input begins at padded column `left`.
  Span columns_of(const Band& band, Index phase) const noexcept {
    const Index stride = g_.stride_x, padded = padded_columns(band_columns), left = g_.pad_x - band.x * stride;
    const Index most = smaller(row_pixels, ceil_div(smaller(g_.pad_x, padded), stride));
    Span span;
    span.before = left > phase ? smaller(most, ceil_div(left - phase, stride)) : 0;
    span.first = phase + span.before * stride - left;
    const Index needed = smaller(row_pixels, ceil_div(padded - phase, stride)) - span.before;
    const Index there = span.first >= 0 && span.first < g_.width ? ceil_div(g_.width - span.first, stride) : 0;
    span.count = larger(0, smaller(there, needed));
    return span;
  }
  /// Staged row i is input row top + i * stride_y.
  Span rows_of(const Band& band, Index phase) const noexcept {
    const Index stride = g_.stride_y, rows = band.rows + (g_.kernel_h - 1) * g_.dilation_y / stride;
    const Index top = band.y * stride + phase - g_.pad_y;
    Span span;
    span.before = smaller(rows, top < 0 ? ceil_div(-top, stride) : 0);
    span.first = top + span.before * stride;
    const Index until = smaller(rows, top < g_.height ? ceil_div(g_.height - top, stride) : 0);
    span.count = larger(0, until - span.before);
    return span;
  }

  Geometry g_;
};

}  // namespace fast::qlc::direct
DMLREF_END
