// channel_columns.hpp: depthwise kernels of three rows and columns over pixels whose channels lie in lanes, read where
// they are.
//
// A column is the three pixels that a kernel column sees, as quads of four vectors. An output row is made from its left
// to its right, so a column becomes quads once, for all the outputs that it is part of: with a stride of 1 three, with
// a stride of 2 every second column is part of two. What lies outside are columns or rows of filling.
//
// Pixels of 32 channels are taken in pairs, and then neighbouring columns begin at neighbouring pixels: the next pair
// of outputs is two columns on, as with a stride of 2.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/avx512vnni/epilogue.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/avx512vnni/taps.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/kernels.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <cstring>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct::avx512vnni {

/// What is the same for all columns of an output row.
struct ColumnRows {
  const std::uint8_t* row[3];  // pixel 0 of each kernel row, or filling
  std::ptrdiff_t step[3];      // from pixel to pixel
  std::ptrdiff_t width;        // in pixels
  __m512i flips, fills;        // fills: flipped, as they are multiplied
};

struct ColumnQuads {
  __m512i v[4];
};

/// The column of pixels `x`, or of pixels x and x + 1. `Inner`: they exist.
template <int Pixels, bool Inner>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline ColumnQuads column_quads(const ColumnRows& rows,
                                                                                std::ptrdiff_t x) noexcept {
  __mmask64 there = ~std::uint64_t{0};
  if constexpr (!Inner) {
    const bool first = x >= 0 && x<rows.width, last = x + Pixels> 0 && x + Pixels <= rows.width;
    if (!first && !last) return {{rows.fills, rows.fills, rows.fills, rows.fills}};
    there = (first ? 0xFFFFFFFF : 0) | (last ? 0xFFFFFFFF00000000 : 0);
  }
  __m512i pixels[3];
#pragma GCC unroll 3
  for (int y = 0; y < 3; ++y) {
    const std::uint8_t* const at = rows.row[y] + x * rows.step[y];
    if constexpr (Inner) {
      pixels[y] = _mm512_xor_si512(_mm512_loadu_si512(at), rows.flips);
    } else {
      const __m512i loaded = _mm512_xor_si512(_mm512_maskz_loadu_epi8(there, at), rows.flips);
      pixels[y] = _mm512_mask_mov_epi8(rows.fills, there, loaded);
    }
  }
  const __m512i low01 = _mm512_unpacklo_epi8(pixels[0], pixels[1]);
  const __m512i high01 = _mm512_unpackhi_epi8(pixels[0], pixels[1]);
  const __m512i low2 = _mm512_unpacklo_epi8(pixels[2], pixels[2]);
  const __m512i high2 = _mm512_unpackhi_epi8(pixels[2], pixels[2]);
  return {{_mm512_unpacklo_epi16(low01, low2), _mm512_unpackhi_epi16(low01, low2), _mm512_unpacklo_epi16(high01, high2),
           _mm512_unpackhi_epi16(high01, high2)}};
}

/// What the channels of a vector need.
struct ColumnConstants {
  __m512i weights[3][4], second[3][4], start[4];
  Epilogue epilogue;
};

template <bool Wide, SumsAre S>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void make_constants(const LaneArgs& t,
                                                                           ColumnConstants& c) noexcept {
  c.epilogue = make_epilogue(t);
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
#pragma GCC unroll 3
    for (int column = 0; column < 3; ++column) {
      const std::byte* const weights = t.weights + 256 * column + 64 * v;
      c.weights[column][v] = _mm512_loadu_si512(weights);
      if constexpr (Wide) c.second[column][v] = _mm512_loadu_si512(weights + 768);
    }
    c.start[v] = _mm512_loadu_si512(t.sum + 16 * v);
    const __m512 scale = _mm512_loadu_ps(t.scale + 16 * v);
    c.epilogue.scale[v] = S == SumsAre::floats ? scale : fixed_scale(scale);
    if constexpr (S == SumsAre::floats) c.epilogue.float_shift[v] = _mm512_loadu_ps(t.float_shift + 16 * v);
  }
}

template <bool Wide>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void add_column(const __m512i (&from)[4],
                                                                       const ColumnQuads& quads,
                                                                       const ColumnConstants& c, int column,
                                                                       __m512i (&to)[4]) noexcept {
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    to[v] = _mm512_dpbusd_epi32(from[v], quads.v[v], c.weights[column][v]);
    if constexpr (Wide) to[v] = _mm512_dpbusd_epi32(to[v], quads.v[v], c.second[column][v]);
  }
}

/// Outputs of one row. `Step`: columns from one output, or pair of them, to the next.
template <int Step, int Pixels, bool Wide, SumsAre S>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void column_row(const LaneArgs& t, const ColumnArgs& p,
                                                                       const ColumnRows& rows, const ColumnConstants& c,
                                                                       std::uint8_t* to) noexcept {
  const auto any = [&](std::ptrdiff_t column) __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    return column_quads<Pixels, false>(rows, column - p.pad_x);
  };
  const auto inner = [&](std::ptrdiff_t column) __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    return column_quads<Pixels, true>(rows, column - p.pad_x);
  };
  // Of outputs i and i + 1, without the columns that are not yet read.
  __m512i sums[4], next[4];
  const auto make_output = [&](auto column, std::ptrdiff_t i) __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    __m512i done[4];
    if constexpr (Step == 1) {
      const ColumnQuads quads = column(i + 2);
      add_column<Wide>(sums, quads, c, 2, done);
      add_column<Wide>(next, quads, c, 1, sums);
      add_column<Wide>(c.start, quads, c, 0, next);
    } else {
      add_column<Wide>(sums, column(2 * i + 1), c, 1, done);
      const ColumnQuads quads = column(2 * i + 2);
      add_column<Wide>(done, quads, c, 2, done);
      add_column<Wide>(c.start, quads, c, 0, sums);
    }
    const __m512i bytes = in_order(S == SumsAre::floats ? quantize_floats<Factors::each>(done, c.epilogue)
                                                        : quantize<Factors::each>(done, c.epilogue, t, t.factor));
    if (Pixels == 2 && __builtin_expect(2 * i + 1 == p.out_width, 0)) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_castsi512_si256(bytes));
    } else {
      _mm512_storeu_si512(to, bytes);
    }
    to += Pixels * p.dst_column_step;
  };
  add_column<Wide>(c.start, any(0), c, 0, sums);
  if constexpr (Step == 1) {
    const ColumnQuads quads = any(1);
    add_column<Wide>(sums, quads, c, 1, sums);
    add_column<Wide>(c.start, quads, c, 0, next);
  }
  const std::ptrdiff_t outputs = (p.out_width + Pixels - 1) / Pixels;
  // Outputs whose columns, those that no earlier one reads, lie within the row.
  constexpr std::ptrdiff_t first_new = Step == 1 ? 2 : 1;
  const std::ptrdiff_t begin = p.pad_x <= first_new ? 0 : (p.pad_x - first_new + Step - 1) / Step;
  std::ptrdiff_t end = (p.pad_x + p.width - (Pixels - 1) - 2 + Step - 1) / Step;
  if (end > outputs) end = outputs;
  for (std::ptrdiff_t i = 0; i < outputs; ++i) {
    if (i == begin && i < end) {
      for (; i < end; ++i) make_output(inner, i);
      if (i == outputs) break;
    }
    make_output(any, i);
  }
}

template <int Step, int Pixels, bool Wide, SumsAre S>
[[gnu::noinline]] DMLREF_TARGET_AVX512VNNI inline void column_rows(const LaneArgs& lanes,
                                                                   const ColumnArgs& columns) noexcept {
  const LaneArgs t = lanes;  // stores to bytes might change what they refer to
  const ColumnArgs p = columns;
  ColumnConstants c;
  make_constants<Wide, S>(t, c);
  alignas(64) std::uint8_t filling[64];
  ColumnRows rows;
  rows.width = p.width;
  rows.flips = _mm512_set1_epi8(static_cast<char>(p.flip));
  rows.fills = _mm512_set1_epi8(static_cast<char>(p.fill));
  _mm512_store_si512(filling, _mm512_xor_si512(rows.fills, rows.flips));
  std::uint8_t* to = p.dst;
  for (std::ptrdiff_t y = 0; y < p.out_rows; ++y, to += p.dst_row_step) {
    for (std::ptrdiff_t ky = 0; ky < 3; ++ky) {
      const std::ptrdiff_t in = y * p.stride_y + ky - p.pad_y;
      const bool there = in >= 0 && in < p.rows;
      rows.row[ky] = there ? p.src + in * p.row_step : filling;
      rows.step[ky] = there ? p.column_step : 0;
    }
    column_row<Step, Pixels, Wide, S>(t, p, rows, c, to);
  }
}

template <int Step, int Pixels>
DMLREF_TARGET_AVX512VNNI inline void column_rows(const LaneArgs& t, const ColumnArgs& p) noexcept {
  if (t.floats != 0) {
    t.wide != 0 ? column_rows<Step, Pixels, true, SumsAre::floats>(t, p)
                : column_rows<Step, Pixels, false, SumsAre::floats>(t, p);
  } else {
    t.wide != 0 ? column_rows<Step, Pixels, true, SumsAre::integers>(t, p)
                : column_rows<Step, Pixels, false, SumsAre::integers>(t, p);
  }
}
DMLREF_TARGET_AVX512VNNI inline void channel_columns(const LaneArgs& t, const ColumnArgs& p) noexcept {
  if (p.pixels == 2) return column_rows<2, 2>(t, p);
  p.stride_x == 2 ? column_rows<2, 1>(t, p) : column_rows<1, 1>(t, p);
}

/// Vectors of 64 channels, or two pixels of 32.
inline bool columns_suit(const Geometry& g) noexcept {
  const bool pairs = g.groups == 32 && g.stride_x == 1 && g.in.x == 32 && g.out.x == 32;
  return g.in_channels == 1 && g.out_channels == 1 && g.kernel_h == 3 && g.kernel_w == 3 && g.dilation_y == 1 &&
         g.dilation_x == 1 && g.stride_x <= 2 && g.in.c == 1 && g.out.c == 1 && (pairs || g.groups >= 64);
}

}  // namespace fast::qlc::direct::avx512vnni
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
