// planes.hpp: depthwise kernels of three rows over planes of pixels that are read where they are.
//
// A strip is made from its first output row to its last, so an input row becomes quads once, for all the output rows
// that it is part of. Within each 128 bits byte shuffles make the quads of eight outputs, even and odd ones apart, as
// they are packed in the end. With a stride of 1 the other eight take a second load, 8 bytes on, unless rows with their
// padding have 16 bytes or less. With a stride of 2 odd outputs have a load of their own, 2 bytes on, which needs no
// shuffle, and vectors hold two output rows.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/avx512vnni/lanes.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/avx512vnni/plane_rows.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/kernels.hpp"
#include "dmlref/view/narrow.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct::avx512vnni {

/// Bytes from the first load of a row to the second. Four planes with a stride of 1 have one load: see planes_at_once.
template <int Stride, int Planes>
inline constexpr std::ptrdiff_t loads_apart = Stride == 2   ? 2
                                              : Planes == 4 ? 0
                                                            : 8;

/// The quads of 64 outputs for one kernel row. With a stride of 2 an input row makes only `a` and `b`.
struct RowQuads {
  __m512i a, b, c, d;
};

template <int Stride, int Planes>
DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVX512VNNI RowQuads row_quads(const Strip& strip, const RowSource& row) noexcept {
  constexpr std::ptrdiff_t apart = loads_apart<Stride, Planes>;
  constexpr int second = apart == 0 ? 2 : 0;  // pattern of the second eight
  const __m512i low = row_pixels<0, Planes>(strip, row, 0);
  const __m512i high = apart == 0 ? low : row_pixels<1, Planes>(strip, row, apart);
  if constexpr (Stride == 2) return {low, high, low, high};
  return {_mm512_shuffle_epi8(low, strip.patterns[0]), _mm512_shuffle_epi8(low, strip.patterns[1]),
          _mm512_shuffle_epi8(high, strip.patterns[second]), _mm512_shuffle_epi8(high, strip.patterns[second + 1])};
}

/// What the channels of some planes need; `weights` and `high` are quads of kernel rows.
struct PlaneConstants {
  __m512i weights[3], high[3], start;
  Epilogue epilogue;
  double factor[4], offset[4];  // of each quarter of a vector
  unsigned wide;                // a bit for each kernel row that has anything in `high`
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
    std::memcpy(&c.offset[part], data + offsetof(ChannelData, offset), sizeof(double));
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
  c.epilogue.flip = V::all_bytes(p.rounding.to.flip);
}

/// Adds a kernel row's products to `from`.
template <bool Wide>
DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVX512VNNI void add(const __m512i (&from)[4], const RowQuads& quads,
                                                       const PlaneConstants& c, int kernel_row,
                                                       __m512i (&to)[4]) noexcept {
  const auto add_products = [&](const __m512i(&sums)[4], __m512i weights) __attribute__((always_inline))
  DMLREF_TARGET_AVX512VNNI {
    to[0] = dot(sums[0], quads.a, weights);
    to[1] = dot(sums[1], quads.b, weights);
    to[2] = dot(sums[2], quads.c, weights);
    to[3] = dot(sums[3], quads.d, weights);
  };
  add_products(from, c.weights[kernel_row]);
  if constexpr (Wide) {
    if ((c.wide >> kernel_row & 1) != 0) add_products(to, c.high[kernel_row]);
  }
}

/// Writes an output row of each plane, with a stride of 2 that and the next, the first plane's to `dst`. There are
/// `left` rows until the last one, and `whole` behind which more rows are written.
template <int Stride, int Planes>
DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVX512VNNI void store_rows(const PlaneArgs& p, std::ptrdiff_t used,
                                                              std::ptrdiff_t whole, std::ptrdiff_t left,
                                                              std::uint8_t* dst, __m512i bytes) noexcept {
  if constexpr (Stride == 1) {
    store_row<1, 0, Planes>(dst, p.out_plane_step, whole > 0, used, bytes);
  } else {
    // Each row has 8 bytes of every 16.
    bytes = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), bytes);
    store_row<2, 0, Planes>(dst, p.out_plane_step, whole > 0, used, bytes);
    if (left > 1) store_row<2, 1, Planes>(dst + p.out.row_step, p.out_plane_step, whole > 1, used, bytes);
  }
}

/// Goes down a strip of the planes that begin at `src` and `dst`. Sums take what an input row adds to them when that
/// row is made into quads: with a stride of 1, the rows of three output rows at once. `safe`: no load of the planes'
/// rows reads beyond the tensor.
template <int Stride, int Planes, bool Wide>
DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVX512VNNI void plane_strip(const PlaneArgs& p, const Strip& strip,
                                                               const PlaneConstants& c, const std::uint8_t* src,
                                                               std::uint8_t* dst, bool safe) noexcept {
  std::ptrdiff_t next = -p.in.pad_y;                                                 // input row, at `from`
  std::ptrdiff_t from = src - p.tensor + strip.column - p.in.pad_y * p.in.row_step;  // bytes into the tensor
  alignas(64) std::uint8_t edge[128];
  const auto row = [&](auto inner) __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    const RowSource source =
        inner ? RowSource{p.tensor + from, p.in_plane_step} : source_of<Planes>(p, strip, next, from, edge);
    const RowQuads quads = row_quads<Stride, Planes>(strip, source);
    ++next;
    from += p.in.row_step;
    return quads;
  };
  const __m512i none[4] = {c.start, c.start, c.start, c.start};
  __m512i second[4], third[4];   // of the output rows that follow, without the input rows that are not yet read
  std::ptrdiff_t out = strip.x;  // where in the planes of the output the next rows begin
  RowQuads last;                 // with a stride of 2, of the row that two output rows share with the next ones
  last = row(std::false_type{});
  if constexpr (Stride == 1) {
    add<Wide>(none, last, c, 0, second);
    const RowQuads quads = row(std::false_type{});
    add<Wide>(second, quads, c, 1, second);
    add<Wide>(none, quads, c, 0, third);
  }
  // Sums and writes the next output rows.
  const auto next_rows = [&](auto inner, std::ptrdiff_t whole, std::ptrdiff_t left) __attribute__((always_inline))
  DMLREF_TARGET_AVX512VNNI {
    __m512i sums[4];
    if constexpr (Stride == 2) {
      RowQuads rows[5];
      rows[0] = last;
      DMLREF_UNROLL
      for (int r = 1; r < 5; ++r) rows[r] = row(inner);
      DMLREF_UNROLL
      for (int r = 0; r < 3; ++r) {
        add<Wide>(r == 0 ? none : sums, {rows[r].a, rows[r].b, rows[r + 2].a, rows[r + 2].b}, c, r, sums);
      }
      last = rows[4];
    } else {
      const RowQuads quads = row(inner);
      add<Wide>(second, quads, c, 2, sums);
      add<Wide>(third, quads, c, 1, second);
      add<Wide>(none, quads, c, 0, third);
    }
    const __m512i bytes = quantize<Factors::parts>(sums, c.epilogue, p.rounding, {c.factor, c.offset});
    store_rows<Stride, Planes>(p, strip.used, whole, left, dst + out, bytes);
    out += Stride * p.out.row_step;
  };
  constexpr std::ptrdiff_t rows_in = Stride == 2 ? 4 : 1;  // that an output row, or two, complete
  for (std::ptrdiff_t y = 0; y < p.out.rows; y += Stride) {
    // Rows that need no checks: the plane has their input, and vectors may be read and written whole.
    std::ptrdiff_t inner = smaller((strip.whole_rows - y) / Stride, (p.in.rows - next) / rows_in);
    if (!safe || next < 0) inner = 0;
    for (; inner > 0; --inner, y += Stride) next_rows(std::true_type{}, Stride, Stride);
    if (y < p.out.rows) next_rows(std::false_type{}, strip.whole_rows - y, p.out.rows - y);
  }
}

/// Makes the strip of the planes from `first` on, until some whose weights are `Wide` or not; says where these begin.
template <int Stride, int Planes, bool Wide>
[[gnu::noinline]] DMLREF_TARGET_AVX512VNNI inline std::ptrdiff_t plane_strips(const PlaneArgs& planes,
                                                                              const Strip& columns,
                                                                              std::ptrdiff_t first) noexcept {
  // What arguments refer to might change with each byte that is stored, and would be read again.
  const PlaneArgs p = planes;
  const Strip strip = columns;
  for (; first < p.planes; first += Planes) {
    const std::ptrdiff_t i = smaller(first, p.planes - Planes);  // the last ones may be made twice
    PlaneConstants c;
    make_constants<Planes>(p, p.channel + i * p.channel_step, c);
    if ((c.wide != 0) != Wide) break;
    const std::uint8_t* const src = p.in.src + i * p.in_plane_step;
    const std::ptrdiff_t begin = src + strip.column - p.tensor;
    const bool safe = begin >= 0 && begin + (p.in.rows - 1) * p.in.row_step < strip.safe;
    plane_strip<Stride, Planes, Wide>(p, strip, c, src, p.out.dst + i * p.out_plane_step, safe);
  }
  return first;
}

template <int Stride, int Planes>
DMLREF_TARGET_AVX512VNNI inline void all_strips(const PlaneArgs& p) noexcept {
  constexpr std::ptrdiff_t columns = 64 / Planes / Stride;
  // From the right to the left: what a strip writes beyond its rows is overwritten.
  for (std::ptrdiff_t x = (p.out.width - 1) / columns * columns; x >= 0; x -= columns) {
    const Strip strip = make_strip<Planes>(p, x, Stride, loads_apart<Stride, Planes>);
    for (std::ptrdiff_t i = 0; i < p.planes;) {
      i = plane_strips<Stride, Planes, false>(p, strip, i);
      i = plane_strips<Stride, Planes, true>(p, strip, i);
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
    // Of four planes with a stride of 1 one load of 16 bytes makes all quads.
    if (planes == 4 && p.stride == 1 && p.out.width + (p.kernel - 1) * p.dilation > 16) break;
    const std::ptrdiff_t cost =
        (p.planes + planes - 1) / planes * ((p.out.width + columns - 1) / columns) * costs[p.stride - 1][i];
    if (i == 0 || (cost < least && planes <= p.planes)) {
      least = cost;
      best = dmlref::detail::narrow<int>(planes);  // at most 4
    }
  }
  return best;
}

DMLREF_TARGET_AVX512VNNI inline void one_output_of_each(const PlaneArgs& p) noexcept {
  const int at_once = planes_at_once(p);
  if (p.stride == 2) {
    at_once == 4 ? all_strips<2, 4>(p) : at_once == 2 ? all_strips<2, 2>(p) : all_strips<2, 1>(p);
  } else {
    at_once == 4 ? all_strips<1, 4>(p) : at_once == 2 ? all_strips<1, 2>(p) : all_strips<1, 1>(p);
  }
}

DMLREF_TARGET_AVX512VNNI inline void pixel_planes(const PlaneArgs& planes) noexcept {
  PlaneArgs p = planes;
  p.planes /= p.outputs;
  p.out_plane_step *= p.outputs;
  p.channel_step *= p.outputs;
  for (std::ptrdiff_t m = 0; m < p.outputs; ++m) {
    p.out.dst = planes.out.dst + m * planes.out_plane_step;
    p.channel = planes.channel + m * planes.channel_step;
    one_output_of_each(p);
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
