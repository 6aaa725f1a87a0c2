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
#include <optional>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/layout.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/rows.hpp"
#include "dmlref/view/narrow.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

inline constexpr Index staged_capacity = 40 * 1024;
inline constexpr Index line_capacity = 32 * 1024;
inline constexpr Index slack = 256;  // kernels load and store whole blocks

/// `width` bytes xor flip, neither more read nor more written.
inline void copy_row(const std::uint8_t* src, std::ptrdiff_t width, std::uint8_t flip, std::uint8_t* dst) noexcept {
  using Bytes = std::uint8_t __attribute__((vector_size(16)));
  const auto copy = [&]<class T>(std::ptrdiff_t at, T flips) {
    T bytes;
    std::memcpy(&bytes, src + at, sizeof bytes);
    bytes ^= flips;
    std::memcpy(dst + at, &bytes, sizeof bytes);
  };
  if (width >= 16) {
    const Bytes flips = Bytes{} + flip;
    std::ptrdiff_t i = 0;
    for (; i + 64 < width; i += 64) {
      DMLREF_UNROLL
      for (std::ptrdiff_t j = i; j < i + 64; j += 16) copy(j, flips);
    }
    if (width > i + 16) copy(i, flips);
    if (width > i + 32) {
      copy(i + 16, flips);
      copy(width - 32, flips);
    }
    copy(width - 16, flips);
  } else if (width >= 8) {
    const std::uint64_t flips = flip * std::uint64_t{0x0101010101010101};
    copy(0, flips);
    copy(width - 8, flips);
  } else {
    for (std::ptrdiff_t i = 0; i < width; ++i) copy(i, flip);
  }
}

/// Rows of bytes; a function of its own, so that nothing but the rows takes registers.
DMLREF_NOINLINE inline void copy_rows(const std::uint8_t* src, std::ptrdiff_t src_step, std::ptrdiff_t rows,
                                      std::ptrdiff_t width, std::uint8_t flip, std::uint8_t* dst,
                                      std::ptrdiff_t dst_step) noexcept {
  for (std::ptrdiff_t r = 0; r < rows; ++r) copy_row(src + r * src_step, width, flip, dst + r * dst_step);
}

/// Rows of results, of one byte or of four each, to the output: element r * dst_row_step + i * dst_step for i < width,
/// and nothing else.
inline void unstage(const std::uint8_t* src, std::ptrdiff_t row_step, std::ptrdiff_t rows, std::ptrdiff_t width,
                    std::uint8_t* dst, std::ptrdiff_t dst_row_step, std::ptrdiff_t dst_step,
                    std::ptrdiff_t bytes) noexcept {
  if (dst_step == 1) return copy_rows(src, bytes * row_step, rows, bytes * width, 0, dst, bytes * dst_row_step);
  for (std::ptrdiff_t r = 0; r < rows; ++r) {
    const std::uint8_t* const from = src + bytes * r * row_step;
    std::uint8_t* const to = dst + bytes * r * dst_row_step;
    if (bytes == 1) {
      for (std::ptrdiff_t i = 0; i < width; ++i) to[i * dst_step] = from[i];
    } else {
      for (std::ptrdiff_t i = 0; i < width; ++i) std::memcpy(to + 4 * i * dst_step, from + 4 * i, 4);
    }
  }
}

/// A rectangle of output pixels: some rows, or part of one.
struct RowBand {
  Index y, x, rows, columns;
};

/// What a task needs memory for. Each pixel has `pitch` bytes of a plane, one for each of its channels.
struct StagedSize {
  Index planes = 1, lines = 1, pitch = 1;
  Index target = staged_capacity;  // of the planes' bytes
};

class Staging {
 public:
  Index band_rows, band_columns;  // at most
  Index row_pixels;               // from one row of a phase to the next, as from one output row of a line

  /// The largest bands that a task has memory for; none where not even some pixels fit.
  static std::optional<Staging> fit(const Geometry& g, const StagedSize& size, Index block) {
    Staging s(g);
    const auto fits = [&](Index rows, Index columns, Index bytes) {
      // Each of the factors fits where their product does, which may be beyond 64 bits.
      if (s.phases() > bytes || s.row_pixels_of(columns) * size.pitch > bytes) return false;
      return size.planes * s.phases() * s.phase_bytes(size.pitch, rows, columns) <= bytes &&
             size.lines * (rows * s.row_pixels_of(columns) * size.pitch + block) * g.output_bytes() <= line_capacity;
    };
    while (!fits(1, s.band_columns, staged_capacity)) {
      if (s.band_columns <= 8) return std::nullopt;
      s.band_columns = (s.band_columns + 1) / 2;
    }
    while (s.band_rows < g.out_height && fits(s.band_rows + 1, s.band_columns, size.target)) ++s.band_rows;
    s.band_rows = ceil_div(g.out_height, ceil_div(g.out_height, s.band_rows));
    s.row_pixels = s.row_pixels_of(s.band_columns);
    return s;
  }

  Index phases() const noexcept { return g_.stride_y * g_.stride_x; }
  Index phase_bytes(Index pitch) const noexcept { return phase_bytes(pitch, band_rows, band_columns); }
  /// Lanes of a band of a line.
  Index lanes(const RowBand& band) const noexcept { return (band.rows - 1) * row_pixels + band.columns; }

  Index bands() const noexcept { return ceil_div(g_.out_height, band_rows) * across(); }
  RowBand band(Index index) const noexcept {
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
  void stage(const RowBand& band, const ConstantsHeader& h, const std::uint8_t* input, Index planes, Index channels,
             Index pitch, std::uint8_t* to) const noexcept {
    const Index row_bytes = row_pixels * pitch, row_step = g_.stride_y * g_.in.y, step = g_.stride_x * g_.in.x;
    const int padding = h.fill;
    const std::uint8_t flip = h.input_flip;
    const auto fill = [padding](std::uint8_t* at, Index bytes) {
      std::memset(at, padding, static_cast<std::size_t>(bytes));
    };
    for (Index phase = 0; phase < phases(); ++phase) {
      const Span rows = rows_of(band, phase / g_.stride_x), columns = columns_of(band, phase % g_.stride_x);
      const Index before = columns.before * pitch + rows.before * row_bytes;
      for (Index plane = 0; plane < planes; ++plane) {
        std::uint8_t* dst = to + (plane * phases() + phase) * phase_bytes(pitch);
        std::uint8_t* const end = dst + phase_bytes(pitch);
        fill(dst, before);
        dst += before;
        const Index count = columns.count > 0 ? rows.count : 0;
        for (Index r = 0; r < count; ++r) {  // into the row itself and the next one, which are written later
          for (Index i = columns.count * pitch / 16 * 16; i < row_bytes; i += 16) fill(dst + r * row_bytes + i, 16);
        }
        const Index at = plane * g_.in.c + rows.first * g_.in.y + columns.first * g_.in.x;
        const std::uint8_t* const src = count == 0 ? input : input + at;  // no address without rows
        const bool joined = step == channels && pitch == channels;
        if (joined) copy_rows(src, row_step, count, columns.count * channels, flip, dst, row_bytes);
        for (Index r = 0; r < count && !joined; ++r) {
          const std::uint8_t* const from = src + r * row_step;
          std::uint8_t* const row = dst + r * row_bytes;
          channels == 1 ? copy_apart(from, step, columns.count, flip, row)
                        : copy_rows(from, step, columns.count, channels, flip, row, pitch);
          for (Index x = 0; x < columns.count && channels != pitch; ++x) {
            fill(row + x * pitch + channels, pitch - channels);
          }
        }
        dst += count * row_bytes;
        fill(dst, end - dst);
      }
    }
    fill(to + planes * phases() * phase_bytes(pitch), slack);
  }

 private:
  explicit Staging(const Geometry& g) : band_rows(1), band_columns(g.out_width), row_pixels(0), g_(g) {}

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

  /// Staged pixel i is padded column phase + i * stride_x of the band; the input begins at padded column `left`.
  Span columns_of(const RowBand& band, Index phase) const noexcept {
    const Index stride = g_.stride_x, padded = padded_columns(band_columns), left = g_.pad_x - band.x * stride;
    const Index max_before = smaller(row_pixels, ceil_div(smaller(g_.pad_x, padded), stride));
    Span span;
    span.before = left > phase ? smaller(max_before, ceil_div(left - phase, stride)) : 0;
    span.first = phase + span.before * stride - left;
    const Index needed = smaller(row_pixels, ceil_div(padded - phase, stride)) - span.before;
    const Index there = span.first >= 0 && span.first < g_.width ? ceil_div(g_.width - span.first, stride) : 0;
    span.count = larger(0, smaller(there, needed));
    return span;
  }
  /// Staged row i is input row top + i * stride_y.
  Span rows_of(const RowBand& band, Index phase) const noexcept {
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
