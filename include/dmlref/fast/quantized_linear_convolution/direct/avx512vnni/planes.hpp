// planes.hpp: depthwise kernels of three rows over planes of pixels that are read where they are.
//
// A strip is made from its first output row to its last, so an input row becomes quads once, for all the output rows
// that it is part of. Within each 128 bits byte shuffles make the quads of eight outputs, even and odd ones apart, as
// they are packed in the end. With a stride of 1 the other eight take a second load, 8 bytes on, unless a row with its
// padding has no more than 16 bytes. With a stride of 2 odd outputs have a load of their own, 2 bytes on, and vectors
// hold two output rows.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/avx512vnni/lanes.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/avx512vnni/plane_rows.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/kernels.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/avx512vnni/multiply_add.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <bit>
#include <cstddef>
#include <cstring>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct::avx512vnni {

/// What kind of strips.
enum class Strips { wide, narrow, stride2 };

template <Strips Kind>
inline constexpr std::ptrdiff_t loads_apart = Kind == Strips::wide     ? 8
                                              : Kind == Strips::narrow ? 0
                                                                       : 2;

/// The quads of 64 outputs for one kernel row. With a stride of 2 an input row makes only `a` and `b`.
struct Quads {
  __m512i a, b, c, d;
};

template <Strips Kind, int Planes, bool Safe>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline Quads row_quads(const Strip& strip, const std::uint8_t* row,
                                                                       std::ptrdiff_t plane_step) noexcept {
  const __m512i low = row_pixels<0, Planes, Safe>(strip, row, plane_step);
  __m512i high = low;
  if constexpr (Kind != Strips::narrow) high = row_pixels<1, Planes, Safe>(strip, row + loads_apart<Kind>, plane_step);
  if constexpr (Kind == Strips::stride2) return {low, high, low, high};
  constexpr int third = Kind == Strips::narrow ? 2 : 0;
  return {_mm512_shuffle_epi8(low, strip.patterns[0]), _mm512_shuffle_epi8(low, strip.patterns[1]),
          _mm512_shuffle_epi8(high, strip.patterns[third]), _mm512_shuffle_epi8(high, strip.patterns[third + 1])};
}

/// The same of input row `y`, which is at `row` and may lie above or below the plane.
template <Strips Kind, int Planes>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline Quads input_row(const PlaneArgs& p, const Strip& strip,
                                                                       std::ptrdiff_t y,
                                                                       const std::uint8_t* row) noexcept {
  if (y < 0 || y >= p.rows) return {strip.fills, strip.fills, strip.fills, strip.fills};
  const std::ptrdiff_t at = row - p.tensor;
  return __builtin_expect(at >= 0 && at < strip.safe, 1) ? row_quads<Kind, Planes, true>(strip, row, p.plane_step)
                                                         : row_quads<Kind, Planes, false>(strip, row, p.plane_step);
}

/// What the channels of some planes need; `weights` and `second` are quads of kernel rows.
struct PlaneConstants {
  __m512i weights[3], second[3], start;
  Epilogue epilogue;
  unsigned wide;  // a bit for each kernel row that has anything in `second`
};

template <int Planes>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void make_constants(const LaneArgs& t, const std::byte* channel,
                                                                           PlaneConstants& c) noexcept {
  constexpr std::size_t quads = sizeof(ChannelData);
  const auto parts = [&](std::size_t at) __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    return in_parts<Planes>(channel, t.weight_step, at);
  };
  const __m512i first = parts(quads), second = parts(quads + 8);
  c.weights[0] = _mm512_shuffle_epi32(first, _MM_PERM_AAAA);
  c.weights[1] = _mm512_shuffle_epi32(first, _MM_PERM_BBBB);
  c.weights[2] = _mm512_shuffle_epi32(first, _MM_PERM_CCCC);
  c.second[0] = _mm512_shuffle_epi32(second, _MM_PERM_BBBB);
  c.second[1] = _mm512_shuffle_epi32(second, _MM_PERM_CCCC);
  c.second[2] = _mm512_shuffle_epi32(second, _MM_PERM_DDDD);
  c.wide = 0;
  c.epilogue.floats = true;
#pragma GCC unroll 4
  for (int l = 0; l < Planes; ++l) {
    std::int32_t sum;
    std::uint32_t wide;
    const std::byte* const data = channel + l * t.weight_step;
    std::memcpy(&sum, data + offsetof(ChannelData, floats) + offsetof(SumConstants, sum), sizeof sum);
    std::memcpy(&wide, data + offsetof(ChannelData, wide), sizeof wide);
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
  c.epilogue.flip = _mm512_set1_epi8(static_cast<char>(t.flip));
}

/// Some planes that are made together, and what is the same over a strip of them.
struct PlaneGroup {
  const std::uint8_t* src;
  std::uint8_t* dst;
  const std::byte* channel;
};

/// Adds a kernel row's products.
template <bool Wide>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void add(const Quads& quads, const PlaneConstants& c,
                                                                int kernel_row, __m512i (&sums)[4]) noexcept {
  const auto add_products = [&](__m512i weights) __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    qlc::avx512vnni::multiply_add(sums[0], quads.a, weights);
    qlc::avx512vnni::multiply_add(sums[1], quads.b, weights);
    qlc::avx512vnni::multiply_add(sums[2], quads.c, weights);
    qlc::avx512vnni::multiply_add(sums[3], quads.d, weights);
  };
  add_products(c.weights[kernel_row]);
  if constexpr (Wide) {
    if ((c.wide >> kernel_row & 1) != 0) add_products(c.second[kernel_row]);
  }
}
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void copy(const __m512i (&from)[4], __m512i (&to)[4]) noexcept {
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) to[v] = from[v];
}

/// With a stride of 2: two output rows, of quads of an input row each, in one vector.
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline Quads both(const Quads& first, const Quads& second) noexcept {
  return {first.a, first.b, second.a, second.b};
}
template <bool Wide>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void sum_two_rows(const Quads (&rows)[5],
                                                                         const PlaneConstants& c,
                                                                         __m512i (&sums)[4]) noexcept {
  sums[0] = sums[1] = sums[2] = sums[3] = c.start;
  add<Wide>(both(rows[0], rows[2]), c, 0, sums);
  add<Wide>(both(rows[1], rows[3]), c, 1, sums);
  add<Wide>(both(rows[2], rows[4]), c, 2, sums);
}

/// Writes output row `y`, or that and the next.
template <Strips Kind, int Planes>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void store_rows(const PlaneArgs& p, const PlaneGroup& group,
                                                                       const Strip& strip, std::ptrdiff_t y,
                                                                       std::ptrdiff_t whole_rows,
                                                                       __m512i bytes) noexcept {
  std::uint8_t* const dst = group.dst + y * p.dst_row_step + strip.x;
  if constexpr (Kind != Strips::stride2) {
    store_row<1, 0, Planes>(dst, p.dst_plane_step, y < whole_rows, strip.used, bytes);
  } else {
    // Each row has 8 bytes of every 16.
    bytes = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), bytes);
    store_row<2, 0, Planes>(dst, p.dst_plane_step, y < whole_rows, strip.used, bytes);
    if (y + 1 >= p.out_rows) return;
    store_row<2, 1, Planes>(dst + p.dst_row_step, p.dst_plane_step, y + 1 < whole_rows, strip.used, bytes);
  }
}

/// Makes a row again, or two, of which a value may have passed a tie.
template <Strips Kind, int Planes>
[[gnu::noinline]] DMLREF_TARGET_AVX512VNNI inline void decide_rows(const LaneArgs& t, const PlaneArgs& p,
                                                                   const PlaneGroup& group, const Strip& strip,
                                                                   std::ptrdiff_t y) noexcept {
  constexpr std::ptrdiff_t stride = Kind == Strips::stride2 ? 2 : 1;
  Quads rows[5];
  for (std::ptrdiff_t r = 0; r < 1 + 2 * stride; ++r) {
    const std::ptrdiff_t in = y * stride + r - p.pad_y;
    rows[r] = input_row<Kind, Planes>(p, strip, in, group.src + in * p.row_step + strip.column);
  }
  PlaneConstants c;
  make_constants<Planes>(t, group.channel, c);
  __m512i sums[4];
  if constexpr (Kind == Strips::stride2) {
    sum_two_rows<true>(rows, c, sums);
  } else {
    sums[0] = sums[1] = sums[2] = sums[3] = c.start;
    for (int r = 0; r < 3; ++r) add<true>(rows[r], c, r, sums);
  }
  double factor[4];
  for (int part = 0; part < 4; ++part) {
    std::memcpy(&factor[part], group.channel + part * Planes / 4 * t.weight_step + offsetof(ChannelData, factor),
                sizeof(double));
  }
  store_rows<Kind, Planes>(p, group, strip, y, 0, quantize<Factors::parts>(sums, c.epilogue, t, factor));
}

/// Four vectors of sums to bytes; where some may have passed a tie, `quantize` must look at them again.
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i quantize_at_once(const __m512i (&sums)[4],
                                                                                const Epilogue& e,
                                                                                bool& near_tie) noexcept {
  if (e.floats) return quantize_floats<Factors::parts>(sums, e);
  __m512i fixed[4];
  near_tie = fix<Factors::parts>(sums, e, fixed);
  return _mm512_xor_si512(rounding::pack_high(fixed), e.flip);
}

/// Goes down a strip. Sums take what an input row adds to them when that row is made into quads: with a stride of 1,
/// the rows of three output rows at once. A row is rounded while the next one is summed: so fewer instructions wait for
/// others.
template <Strips Kind, int Planes, bool Wide>
[[gnu::noinline]] DMLREF_TARGET_AVX512VNNI inline void plane_strip(const LaneArgs& t, const PlaneArgs& planes,
                                                                   const PlaneGroup& planes_of_group,
                                                                   const PlaneConstants& constants,
                                                                   const Strip& columns) noexcept {
  constexpr bool two_rows = Kind == Strips::stride2;
  // What arguments refer to might change with each byte that is stored, and would be read again.
  const PlaneArgs p = planes;
  const PlaneGroup group = planes_of_group;
  const Strip strip = columns;
  const PlaneConstants c = constants;
  std::ptrdiff_t next = -p.pad_y;  // input row, at `from`
  const std::uint8_t* from = group.src + strip.column - p.pad_y * p.row_step;
  const auto row = [&]() __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    const Quads quads = input_row<Kind, Planes>(p, strip, next, from);
    ++next;
    from += p.row_step;
    return quads;
  };
  // Of the output rows that follow, without the input rows that are not yet read.
  __m512i second[4], third[4];
  const __m512i none[4] = {c.start, c.start, c.start, c.start};
  Quads last;  // with a stride of 2, of the row that two output rows share with the next ones
  const auto sum_next = [&](__m512i(&sums)[4]) __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    if constexpr (two_rows) {
      Quads rows[5];
      rows[0] = last;
#pragma GCC unroll 4
      for (int r = 1; r < 5; ++r) rows[r] = row();
      sum_two_rows<Wide>(rows, c, sums);
      last = rows[4];
    } else {
      const Quads quads = row();
      copy(second, sums);
      add<Wide>(quads, c, 2, sums);
      copy(third, second);
      add<Wide>(quads, c, 1, second);
      copy(none, third);
      add<Wide>(quads, c, 0, third);
    }
  };
  if constexpr (two_rows) {
    last = row();
  } else {
    copy(none, second);
    add<Wide>(row(), c, 0, second);
    const Quads quads = row();
    add<Wide>(quads, c, 1, second);
    copy(none, third);
    add<Wide>(quads, c, 0, third);
  }
  constexpr std::ptrdiff_t step = two_rows ? 2 : 1;
  __m512i sums[4], following[4];
  sum_next(sums);
  for (std::ptrdiff_t first = 0; first < p.out_rows; first += 64 * step) {
    std::uint64_t near_ties = 0, bit = 1;
    const std::ptrdiff_t end = smaller(first + 64 * step, p.out_rows);
    for (std::ptrdiff_t y = first; y < end; y += step, bit <<= 1) {
      if (y + step < p.out_rows) sum_next(following);
      bool near_tie = false;
      const __m512i bytes = quantize_at_once(sums, c.epilogue, near_tie);
      store_rows<Kind, Planes>(p, group, strip, y, strip.whole_rows, bytes);
      if (__builtin_expect(near_tie, 0)) near_ties |= bit;
      copy(following, sums);
    }
    // Not in the loop over rows, where a call would keep sums in memory.
    for (; near_ties != 0; near_ties &= near_ties - 1) {
      decide_rows<Kind, Planes>(t, p, group, strip, first + step * std::countr_zero(near_ties));
    }
  }
}

template <Strips Kind, int Planes>
DMLREF_TARGET_AVX512VNNI inline void plane_strips(const LaneArgs& t, const PlaneArgs& p) noexcept {
  constexpr std::ptrdiff_t stride = Kind == Strips::stride2 ? 2 : 1;
  constexpr std::ptrdiff_t columns = 64 / Planes / stride;
  // From the right to the left: what a strip writes beyond its rows is overwritten.
  for (std::ptrdiff_t x = (p.out_width - 1) / columns * columns; x >= 0; x -= columns) {
    const Strip strip = make_strip<Planes>(t, p, x, stride, loads_apart<Kind>);
    for (std::ptrdiff_t i = 0; i < p.planes; i += Planes) {
      const std::ptrdiff_t first = smaller(i, p.planes - Planes);  // the last ones may be made twice
      const PlaneGroup group{p.src + first * p.plane_step, p.dst + first * p.dst_plane_step,
                             t.weights + first * t.weight_step};
      PlaneConstants c;
      make_constants<Planes>(t, group.channel, c);
      c.wide != 0 ? plane_strip<Kind, Planes, true>(t, p, group, c, strip)
                  : plane_strip<Kind, Planes, false>(t, p, group, c, strip);
    }
  }
}

/// Rows that have 16 bytes with their padding, of four planes or more.
constexpr bool are_narrow(const PlaneArgs& p) noexcept {
  return p.stride == 1 && p.out_width + p.kernel_reach <= 16 && p.planes >= 4;
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
        (p.planes + planes - 1) / planes * ((p.out_width + columns - 1) / columns) * costs[p.stride - 1][i];
    if (i == 0 || (cost < least && planes <= p.planes)) {
      least = cost;
      best = static_cast<int>(planes);
    }
  }
  return best;
}

DMLREF_TARGET_AVX512VNNI inline void one_output_of_each(const LaneArgs& t, const PlaneArgs& p) noexcept {
  if (are_narrow(p)) return plane_strips<Strips::narrow, 4>(t, p);
  const int at_once = planes_at_once(p);
  if (p.stride == 2) {
    at_once == 4   ? plane_strips<Strips::stride2, 4>(t, p)
    : at_once == 2 ? plane_strips<Strips::stride2, 2>(t, p)
                   : plane_strips<Strips::stride2, 1>(t, p);
  } else {
    at_once == 4   ? plane_strips<Strips::wide, 4>(t, p)
    : at_once == 2 ? plane_strips<Strips::wide, 2>(t, p)
                   : plane_strips<Strips::wide, 1>(t, p);
  }
}

DMLREF_TARGET_AVX512VNNI inline void pixel_planes(const LaneArgs& lanes, const PlaneArgs& planes) noexcept {
  LaneArgs t = lanes;
  PlaneArgs p = planes;
  p.planes /= p.outputs;
  p.dst_plane_step *= p.outputs;
  t.weight_step *= p.outputs;
  for (std::ptrdiff_t m = 0; m < p.outputs; ++m) {
    one_output_of_each(t, p);
    p.dst += planes.dst_plane_step;
    t.weights += lanes.weight_step;
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
