// planes.hpp: depthwise kernels of three rows over planes of pixels that are read where they are.
//
// A strip is made from its first output row to its last, so an input row becomes quads once, for all the output rows
// that it is part of. Within each 128 bits byte shuffles make the quads of eight outputs, even and odd ones apart, as
// they are packed in the end. With a stride of 1 the other eight take a second load, 8 bytes on. With a stride of 2 odd
// outputs have a load of their own, 2 bytes on, which needs no shuffle, and vectors hold two output rows.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/avx512vnni/lanes.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/avx512vnni/plane_rows.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/kernels.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/avx512vnni/multiply_add.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <cstddef>
#include <cstring>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct::avx512vnni {

template <int Stride>
inline constexpr std::ptrdiff_t loads_apart = Stride == 1 ? 8 : 2;

/// The quads of 64 outputs for one kernel row. With a stride of 2 an input row makes only `a` and `b`.
struct RowQuads {
  __m512i a, b, c, d;
};

template <int Stride, int Planes, bool Safe>
DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVX512VNNI RowQuads row_quads(const Strip& strip, const std::uint8_t* row,
                                                                 std::ptrdiff_t plane_step) noexcept {
  const __m512i low = row_pixels<0, Planes, Safe>(strip, row, plane_step);
  const __m512i high = row_pixels<1, Planes, Safe>(strip, row + loads_apart<Stride>, plane_step);
  if constexpr (Stride == 2) return {low, high, low, high};
  return {_mm512_shuffle_epi8(low, strip.patterns[0]), _mm512_shuffle_epi8(low, strip.patterns[1]),
          _mm512_shuffle_epi8(high, strip.patterns[0]), _mm512_shuffle_epi8(high, strip.patterns[1])};
}

/// The same of input row `y`, which is at `row` and may lie above or below the plane.
template <int Stride, int Planes>
DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVX512VNNI RowQuads input_row(const PlaneArgs& p, const Strip& strip,
                                                                 std::ptrdiff_t y, const std::uint8_t* row) noexcept {
  if (y < 0 || y >= p.in.rows) return {strip.fills, strip.fills, strip.fills, strip.fills};
  const std::ptrdiff_t at = row - p.tensor;
  return __builtin_expect(at >= 0 && at < strip.safe, 1)
             ? row_quads<Stride, Planes, true>(strip, row, p.in_plane_step)
             : row_quads<Stride, Planes, false>(strip, row, p.in_plane_step);
}

/// What the channels of some planes need; `weights` and `high` are quads of kernel rows.
struct PlaneConstants {
  __m512i weights[3], high[3], start;
  Epilogue epilogue;
  double factor[4];  // of each quarter of a vector
  unsigned wide;     // a bit for each kernel row that has anything in `high`
};

template <int Planes>
DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVX512VNNI void make_constants(const PlaneArgs& p, const std::byte* channel,
                                                                  PlaneConstants& c) noexcept {
  constexpr std::size_t quads = sizeof(ChannelData);
  const auto parts = [&](std::size_t at) __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    return in_parts<Planes>(channel, p.channel_step, at);
  };
  const __m512i first = parts(quads), second = parts(quads + 8);
  c.weights[0] = _mm512_shuffle_epi32(first, _MM_PERM_AAAA);
  c.weights[1] = _mm512_shuffle_epi32(first, _MM_PERM_BBBB);
  c.weights[2] = _mm512_shuffle_epi32(first, _MM_PERM_CCCC);
  c.high[0] = _mm512_shuffle_epi32(second, _MM_PERM_BBBB);
  c.high[1] = _mm512_shuffle_epi32(second, _MM_PERM_CCCC);
  c.high[2] = _mm512_shuffle_epi32(second, _MM_PERM_DDDD);
  c.wide = 0;
  c.epilogue.floats = true;
  DMLREF_UNROLL
  for (int part = 0; part < 4; ++part) {
    std::int32_t sum;
    std::uint32_t wide;
    const std::byte* const data = channel + part * Planes / 4 * p.channel_step;
    std::memcpy(&sum, data + offsetof(ChannelData, floats) + offsetof(SumConstants, sum), sizeof sum);
    std::memcpy(&wide, data + offsetof(ChannelData, wide), sizeof wide);
    std::memcpy(&c.factor[part], data + offsetof(ChannelData, factor), sizeof(double));
    c.epilogue.floats = c.epilogue.floats && sum != 0;
    c.wide |= wide;
  }
  const __m512i numbers = parts(c.epilogue.floats ? offsetof(ChannelData, floats) : offsetof(ChannelData, integers));
  static_assert(offsetof(SumConstants, sum) == 0 && offsetof(SumConstants, scale) == 4 &&
                offsetof(SumConstants, shift) == 8 && offsetof(SumConstants, near_tie) == 12);
  c.start = _mm512_shuffle_epi32(numbers, _MM_PERM_AAAA);
  c.epilogue.scale[0] = _mm512_castsi512_ps(_mm512_shuffle_epi32(numbers, _MM_PERM_BBBB));
  c.epilogue.shift[0] = _mm512_castsi512_ps(_mm512_shuffle_epi32(numbers, _MM_PERM_CCCC));
  c.epilogue.near_tie = _mm512_shuffle_epi32(numbers, _MM_PERM_DDDD);
  c.epilogue.flip = V::all_bytes(p.rounding.flip);
}

/// Adds a kernel row's products.
template <bool Wide>
DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVX512VNNI void add(const RowQuads& quads, const PlaneConstants& c, int kernel_row,
                                                       __m512i (&sums)[4]) noexcept {
  const auto add_products = [&](__m512i weights) __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    qlc::avx512vnni::multiply_add(sums[0], quads.a, weights);
    qlc::avx512vnni::multiply_add(sums[1], quads.b, weights);
    qlc::avx512vnni::multiply_add(sums[2], quads.c, weights);
    qlc::avx512vnni::multiply_add(sums[3], quads.d, weights);
  };
  add_products(c.weights[kernel_row]);
  if constexpr (Wide) {
    if ((c.wide >> kernel_row & 1) != 0) add_products(c.high[kernel_row]);
  }
}
DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVX512VNNI void copy(const __m512i (&from)[4], __m512i (&to)[4]) noexcept {
  DMLREF_UNROLL
  for (int v = 0; v < 4; ++v) to[v] = from[v];
}

/// Writes output row `y` of each plane, with a stride of 2 that and the next, the first plane's to `dst`.
template <int Stride, int Planes>
DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVX512VNNI void store_rows(const PlaneArgs& p, const Strip& strip, std::ptrdiff_t y,
                                                              std::uint8_t* dst, __m512i bytes) noexcept {
  alignas(64) std::uint8_t rows[64];
  if constexpr (Stride == 1) {
    _mm512_store_si512(rows, bytes);
    store_row<1, Planes>(dst, p.out_plane_step, y < strip.whole_rows, strip.used, rows);
  } else {
    // Each row has 8 bytes of every 16.
    _mm512_store_si512(rows, _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), bytes));
    store_row<2, Planes>(dst, p.out_plane_step, y < strip.whole_rows, strip.used, rows);
    if (y + 1 >= p.out.rows) return;
    store_row<2, Planes>(dst + p.out.row_step, p.out_plane_step, y + 1 < strip.whole_rows, strip.used, rows + 32);
  }
}

/// Goes down a strip of the planes that begin at `src` and `dst`. Sums take what an input row adds to them when that
/// row is made into quads: with a stride of 1, the rows of three output rows at once. A row is rounded while the next
/// one is summed: so fewer instructions wait for others.
template <int Stride, int Planes, bool Wide>
[[gnu::noinline]] DMLREF_TARGET_AVX512VNNI inline void plane_strip(const PlaneArgs& planes, const Strip& columns,
                                                                   const PlaneConstants& constants,
                                                                   const std::uint8_t* src,
                                                                   std::uint8_t* dst) noexcept {
  // What arguments refer to might change with each byte that is stored, and would be read again; so would copies that a
  // call refers to.
  const PlaneArgs p = planes;
  const Strip strip = columns;
  const PlaneConstants c = constants;
  std::ptrdiff_t next = -p.in.pad_y;  // input row, at `from`
  const std::uint8_t* from = src + strip.column - p.in.pad_y * p.in.row_step;
  const auto row = [&]() __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    const RowQuads quads = input_row<Stride, Planes>(p, strip, next, from);
    ++next;
    from += p.in.row_step;
    return quads;
  };
  const __m512i none[4] = {c.start, c.start, c.start, c.start};
  __m512i second[4], third[4];  // of the output rows that follow, without the input rows that are not yet read
  RowQuads last;                // with a stride of 2, of the row that two output rows share with the next ones
  const auto sum_next = [&](__m512i(&sums)[4]) __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    if constexpr (Stride == 2) {
      RowQuads rows[5];
      rows[0] = last;
      DMLREF_UNROLL
      for (int r = 1; r < 5; ++r) rows[r] = row();
      copy(none, sums);
      DMLREF_UNROLL
      for (int r = 0; r < 3; ++r) add<Wide>({rows[r].a, rows[r].b, rows[r + 2].a, rows[r + 2].b}, c, r, sums);
      last = rows[4];
    } else {
      const RowQuads quads = row();
      copy(second, sums);
      add<Wide>(quads, c, 2, sums);
      copy(third, second);
      add<Wide>(quads, c, 1, second);
      copy(none, third);
      add<Wide>(quads, c, 0, third);
    }
  };
  last = row();
  if constexpr (Stride == 1) {
    copy(none, second);
    add<Wide>(last, c, 0, second);
    const RowQuads quads = row();
    add<Wide>(quads, c, 1, second);
    copy(none, third);
    add<Wide>(quads, c, 0, third);
  }
  __m512i sums[4], following[4];
  sum_next(sums);
  dst += strip.x;
  for (std::ptrdiff_t y = 0; y < p.out.rows; y += Stride, dst += Stride * p.out.row_step) {
    if (y + Stride < p.out.rows) sum_next(following);
    const __m512i bytes = quantize<Factors::parts>(sums, c.epilogue, planes.rounding, constants.factor);
    store_rows<Stride, Planes>(p, strip, y, dst, bytes);
    copy(following, sums);
  }
}

template <int Stride, int Planes>
DMLREF_TARGET_AVX512VNNI inline void plane_strips(const PlaneArgs& p) noexcept {
  constexpr std::ptrdiff_t columns = 64 / Planes / Stride;
  // From the right to the left: what a strip writes beyond its rows is overwritten.
  for (std::ptrdiff_t x = (p.out.width - 1) / columns * columns; x >= 0; x -= columns) {
    const Strip strip = make_strip<Planes>(p, x, Stride, loads_apart<Stride>);
    for (std::ptrdiff_t i = 0; i < p.planes; i += Planes) {
      const std::ptrdiff_t first = smaller(i, p.planes - Planes);  // the last ones may be made twice
      const std::uint8_t* const src = p.in.src + first * p.in_plane_step;
      std::uint8_t* const dst = p.out.dst + first * p.out_plane_step;
      PlaneConstants c;
      make_constants<Planes>(p, p.channel + first * p.channel_step, c);
      c.wide != 0 ? plane_strip<Stride, Planes, true>(p, strip, c, src, dst)
                  : plane_strip<Stride, Planes, false>(p, strip, c, src, dst);
    }
  }
}

/// How many planes to make at once: 1, 2 or 4.
constexpr int planes_at_once(const PlaneArgs& p) noexcept {
  // Cycles for 64 bytes of output, measured on Sapphire Rapids.
  constexpr std::ptrdiff_t costs[2][3] = {{25, 31, 38}, {32, 38, 48}};
  int best = 1;
  std::ptrdiff_t least = 0;
  for (int i = 0; i < 3; ++i) {
    const std::ptrdiff_t planes = std::ptrdiff_t{1} << i;
    const std::ptrdiff_t columns = 64 / planes / p.stride;
    const std::ptrdiff_t cost =
        (p.planes + planes - 1) / planes * ((p.out.width + columns - 1) / columns) * costs[p.stride - 1][i];
    if (i == 0 || (cost < least && planes <= p.planes)) {
      least = cost;
      best = static_cast<int>(planes);
    }
  }
  return best;
}

DMLREF_TARGET_AVX512VNNI inline void one_output_of_each(const PlaneArgs& p) noexcept {
  const int at_once = planes_at_once(p);
  if (p.stride == 2) {
    at_once == 4 ? plane_strips<2, 4>(p) : at_once == 2 ? plane_strips<2, 2>(p) : plane_strips<2, 1>(p);
  } else {
    at_once == 4 ? plane_strips<1, 4>(p) : at_once == 2 ? plane_strips<1, 2>(p) : plane_strips<1, 1>(p);
  }
}

DMLREF_TARGET_AVX512VNNI inline void pixel_planes(const PlaneArgs& planes) noexcept {
  PlaneArgs p = planes;
  p.planes /= p.outputs;
  p.out_plane_step *= p.outputs;
  p.channel_step *= p.outputs;
  for (std::ptrdiff_t m = 0; m < p.outputs; ++m) {
    one_output_of_each(p);
    p.out.dst += planes.out_plane_step;
    p.channel += planes.channel_step;
  }
}

/// Three kernel rows, a quad for each.
inline bool planes_suit(const Geometry& g) noexcept {
  const bool columns_suit = g.stride_x == 2 ? g.dilation_x == 1 : g.stride_x == 1 && g.dilation_x <= 2;
  return g.in_channels == 1 && g.kernel_w > 1 && g.kernel_w <= 4 && g.kernel_h == 3 && g.stride_y == g.stride_x &&
         columns_suit && g.dilation_y == 1 && g.out_width >= 4 && g.in.x == 1 && g.in.y >= g.width && g.out.x == 1 &&
         g.out.y >= g.out_width;
}

}  // namespace fast::qlc::direct::avx512vnni
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
