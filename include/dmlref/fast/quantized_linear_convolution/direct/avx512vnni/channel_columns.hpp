// channel_columns.hpp: depthwise kernels of three rows and columns, or five, over pixels whose channels lie in lanes,
// read where they are.
//
// A column is the pixels that a kernel column sees, as quads of four vectors. An output row is made from its left to
// its right, so a column becomes quads once, for all the outputs that it is part of. What lies outside are columns or
// rows of filling. Quads have three pixels and a spare slot, which repeats one of them for the second parts of weights
// that do not fit eight bits.
//
// Pixels of 32 channels are taken in pairs, and then neighbouring columns begin at neighbouring pixels: the next pair
// of outputs is two columns on, as with a stride of 2.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/avx512vnni/lanes.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/kernels.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <cstring>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct::avx512vnni {

/// A kernel column's taps are in threes, and a spare slot, or in pairs, and second parts of the same.
template <int Kernel>
inline constexpr int column_units = Kernel == 5 ? 2 : 1;

/// What is the same for all columns of an output row.
struct ColumnRows {
  const std::uint8_t* row[5];  // pixel 0 of each kernel row, or filling
  std::ptrdiff_t step[5];      // from pixel to pixel
  std::ptrdiff_t width;        // in pixels
  __m512i flips, fills;        // fills: flipped, as they are multiplied
  __mmask64 spare[2];          // as LaneArgs::spare
};

struct ColumnQuads {
  __m512i v[2][4];
};

/// The column of pixels `x`, or of pixels x and x + 1. `Inner`: they exist.
template <int Kernel, int Pixels, bool Inner>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline ColumnQuads column_quads(const ColumnRows& rows,
                                                                                std::ptrdiff_t x) noexcept {
  constexpr std::size_t count = Kernel;
  __m512i pixels[count];
  if constexpr (Inner) {
#pragma GCC unroll 5
    for (int y = 0; y < Kernel; ++y) {
      pixels[y] = _mm512_xor_si512(_mm512_loadu_si512(rows.row[y] + x * rows.step[y]), rows.flips);
    }
  } else {
    const std::ptrdiff_t last = x + Pixels - 1;
    const bool first_there = x >= 0 && rows.width > x;
    const bool last_there = last >= 0 && rows.width > last;
    const __m512i f = rows.fills;
    if (!first_there && !last_there) return {{{f, f, f, f}, {f, f, f, f}}};
    const __mmask64 there = (first_there ? 0xFFFFFFFF : 0) | (last_there ? 0xFFFFFFFF00000000 : 0);
#pragma GCC unroll 5
    for (int y = 0; y < Kernel; ++y) {
      const __m512i loaded = _mm512_maskz_loadu_epi8(there, rows.row[y] + x * rows.step[y]);
      pixels[y] = _mm512_mask_mov_epi8(rows.fills, there, _mm512_xor_si512(loaded, rows.flips));
    }
  }
  __m512i spare = pixels[2];
  // Mostly none.
  if ((rows.spare[0] | rows.spare[1]) != 0) {
    spare = _mm512_mask_mov_epi8(spare, rows.spare[0], pixels[0]);
    spare = _mm512_mask_mov_epi8(spare, rows.spare[1], pixels[1]);
  }
  ColumnQuads quads;
  zip(pixels[0], pixels[1], pixels[2], spare, quads.v[0]);
  if constexpr (Kernel == 5) zip(pixels[3], pixels[4], pixels[3], pixels[4], quads.v[1]);
  return quads;
}

/// What the channels of a vector need.
template <int Kernel>
struct ColumnConstants {
  __m512i weights[Kernel][column_units<Kernel>][4], second[Kernel][4], start[4];
  Epilogue epilogue;
  std::uint32_t wide;  // as LaneArgs::wide
};

template <int Kernel>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void make_constants(const LaneArgs& t,
                                                                           ColumnConstants<Kernel>& c) noexcept {
  constexpr std::ptrdiff_t column_bytes = 256 * column_units<Kernel>;
  c.epilogue = make_epilogue(t);
  take_block(t, 0, c.epilogue);
  c.wide = t.wide;
  for (int v = 0; v < 4; ++v) {
    for (int column = 0; column < Kernel; ++column) {
      const std::byte* const weights = t.weights + column_bytes * column + 64 * v;
      for (int u = 0; u < column_units<Kernel>; ++u) {
        c.weights[column][u][v] = _mm512_loadu_si512(weights + 256 * u);
      }
      c.second[column][v] = _mm512_loadu_si512(weights + column_bytes * Kernel);
    }
    c.start[v] = _mm512_loadu_si512(t.sum + 16 * v);
  }
}

/// Adds column `at` of what output i sees to the sums of outputs i, i + 1, ….
template <int Kernel, int Step, int Outputs>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void add_column(__m512i (&sums)[Outputs][4],
                                                                       const ColumnQuads& quads,
                                                                       const ColumnConstants<Kernel>& c,
                                                                       int at) noexcept {
#pragma GCC unroll 5
  for (int i = 0; i < Outputs; ++i) {
    const int column = at - Step * i;
    if (column < 0) break;
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      __m512i sum = column == 0 ? c.start[v] : sums[i][v];
#pragma GCC unroll 2
      for (int u = 0; u < column_units<Kernel>; ++u) {
        sum = _mm512_dpbusd_epi32(sum, quads.v[u][v], c.weights[column][u][v]);
      }
      sums[i][v] = sum;
    }
    if (__builtin_expect((c.wide >> column_units<Kernel> * column & 1) == 0, 1)) continue;
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) sums[i][v] = _mm512_dpbusd_epi32(sums[i][v], quads.v[0][v], c.second[column][v]);
  }
}

/// Outputs of one row. `Step`: columns from one output, or pair of them, to the next.
template <int Kernel, int Step, int Pixels>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void column_row(const LaneArgs& t, const ColumnArgs& p,
                                                                       const ColumnRows& rows,
                                                                       const ColumnConstants<Kernel>& c,
                                                                       std::uint8_t* to) noexcept {
  constexpr int in_work = (Kernel + Step - 1) / Step;
  const auto any = [&](std::ptrdiff_t column) __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    return column_quads<Kernel, Pixels, false>(rows, column - p.pad_x);
  };
  const auto inner = [&](std::ptrdiff_t column) __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    return column_quads<Kernel, Pixels, true>(rows, column - p.pad_x);
  };
  __m512i sums[in_work][4];  // of output i and those behind it, without the columns that are not yet read
  const auto make_output = [&](auto column, std::ptrdiff_t i) __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
#pragma GCC unroll 2
    for (int at = Kernel - Step; at < Kernel; ++at) {
      add_column<Kernel, Step>(sums, column(Step * i + at), c, at);
    }
    const __m512i bytes = in_order(quantize<Factors::each>(sums[0], c.epilogue, t, t.factor));
    if (Pixels == 2 && __builtin_expect(2 * i + 1 == p.out_width, 0)) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_castsi512_si256(bytes));
    } else {
      _mm512_storeu_si512(to, bytes);
    }
    to += Pixels * p.dst_column_step;
#pragma GCC unroll 4
    for (int n = 0; n + 1 < in_work; ++n) {
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) sums[n][v] = sums[n + 1][v];
    }
  };
#pragma GCC unroll 4
  for (int at = 0; at < Kernel - Step; ++at) add_column<Kernel, Step>(sums, any(at), c, at);
  const std::ptrdiff_t outputs = (p.out_width + Pixels - 1) / Pixels;
  // Outputs whose columns, those that no earlier one reads, lie within the row.
  const std::ptrdiff_t before = p.pad_x - (Kernel - Step);
  const std::ptrdiff_t begin = before <= 0 ? 0 : (before + Step - 1) / Step;
  std::ptrdiff_t end = (p.pad_x + p.width - (Pixels - 1) - (Kernel - 1) + Step - 1) / Step;
  if (end > outputs) end = outputs;
  for (std::ptrdiff_t i = 0; i < outputs; ++i) {
    if (i == begin && i < end) {
      for (; i < end; ++i) make_output(inner, i);
      if (i == outputs) break;
    }
    make_output(any, i);
  }
}

template <int Kernel, int Step, int Pixels>
[[gnu::noinline]] DMLREF_TARGET_AVX512VNNI inline void column_rows(const LaneArgs& lanes,
                                                                   const ColumnArgs& columns) noexcept {
  const LaneArgs t = lanes;  // stores to bytes might change what they refer to
  const ColumnArgs p = columns;
  ColumnConstants<Kernel> c;
  make_constants<Kernel>(t, c);
  alignas(64) std::uint8_t filling[64];
  ColumnRows rows;
  rows.width = p.width;
  rows.flips = _mm512_set1_epi8(static_cast<char>(p.flip));
  rows.fills = _mm512_set1_epi8(static_cast<char>(p.fill));
  rows.spare[0] = t.spare[0];
  rows.spare[1] = t.spare[1];
  _mm512_store_si512(filling, _mm512_xor_si512(rows.fills, rows.flips));
  std::uint8_t* to = p.dst;
  for (std::ptrdiff_t y = 0; y < p.out_rows; ++y, to += p.dst_row_step) {
    take_rows<Kernel>(p, y, filling, rows);
    column_row<Kernel, Step, Pixels>(t, p, rows, c, to);
  }
}

template <int Kernel>
DMLREF_TARGET_AVX512VNNI inline void column_rows(const LaneArgs& t, const ColumnArgs& p) noexcept {
  if (p.pixels == 2) return column_rows<Kernel, 2, 2>(t, p);
  p.stride_x == 2 ? column_rows<Kernel, 2, 1>(t, p) : column_rows<Kernel, 1, 1>(t, p);
}
DMLREF_TARGET_AVX512VNNI inline void channel_columns(const LaneArgs& t, const ColumnArgs& p) noexcept {
  p.kernel == 5 ? column_rows<5>(t, p) : column_rows<3>(t, p);
}

/// Vectors of 64 channels, or two pixels of 32.
inline bool columns_suit(const Geometry& g) noexcept {
  const bool pairs = g.groups == 32 && g.stride_x == 1 && g.in.x == 32 && g.out.x == 32;
  return g.in_channels == 1 && g.out_channels == 1 && (g.kernel_h == 3 || g.kernel_h == 5) &&
         g.kernel_w == g.kernel_h && g.dilation_y == 1 && g.dilation_x == 1 && g.stride_x <= 2 && g.in.c == 1 &&
         g.out.c == 1 && (pairs || g.groups >= 64);
}

}  // namespace fast::qlc::direct::avx512vnni
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
