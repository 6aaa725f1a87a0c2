// planes.hpp: depthwise kernels of three rows over planes of pixels that are read where they are.
//
// A strip is made from its first output row to its last, so an input row becomes quads once, for all the output rows
// that it is part of. Within each 128 bits byte shuffles make the quads of eight outputs, even and odd ones apart, as
// they are packed in the end. With a stride of 1 the other eight take a second load, 8 bytes on, unless a row with its
// padding has no more than 16 bytes. With a stride of 2 odd outputs have a load of their own, 2 bytes on, and vectors
// hold two output rows.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/avx512vnni/epilogue.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/avx512vnni/plane_rows.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/kernels.hpp"

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

/// The quads of 64 outputs for one kernel row.
struct Quads {
  __m512i a, b, c, d;
};

/// What is known of input rows: that they lie in the plane, and all that vectors read of them in the tensor; or
/// nothing.
enum class Rows { inner, any };

/// The quads of input row `y`, which is at `row`: with a stride of 2 only `a` and `b`. `Masks`: the loads in which
/// there are columns beyond the row, or signed ones (Strip::masks), or more.
template <Strips Kind, int Planes, int Masks, Rows Which>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline Quads row_quads(const PlaneArgs& p, const Strip& strip,
                                                                       std::ptrdiff_t y,
                                                                       const std::uint8_t* row) noexcept {
  bool safe = true;
  if constexpr (Which == Rows::any) {
    if (y < 0 || y >= p.rows) return {strip.fills, strip.fills, strip.fills, strip.fills};
    const std::ptrdiff_t at = row - p.tensor;
    safe = at >= 0 && at + (Planes - 1) * p.plane_step + strip.reach <= p.tensor_bytes;
  }
  const __m512i low = row_pixels<0, Planes, (Masks & 1) != 0>(strip, safe, row, p.plane_step);
  __m512i high = low;
  if constexpr (Kind != Strips::narrow) {
    high = row_pixels<1, Planes, (Masks & 2) != 0>(strip, safe, row + loads_apart<Kind>, p.plane_step);
  }
  if constexpr (Kind == Strips::stride2) {
    return {_mm512_shuffle_epi8(low, strip.patterns[0]), _mm512_shuffle_epi8(high, strip.patterns[0]), low, high};
  }
  constexpr int other = Kind == Strips::narrow ? 2 : 0;
  return {_mm512_shuffle_epi8(low, strip.patterns[0]), _mm512_shuffle_epi8(low, strip.patterns[1]),
          _mm512_shuffle_epi8(high, strip.patterns[other]), _mm512_shuffle_epi8(high, strip.patterns[other + 1])};
}

/// Two output rows in one vector.
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline Quads both(const Quads& first, const Quads& second) noexcept {
  return {first.a, first.b, second.a, second.b};
}

/// What stays the same over a strip.
struct StripArgs {
  const LaneArgs& t;
  const PlaneArgs& p;
  const PlaneGroup& group;
  const Strip& strip;
  const PlaneConstants& c;
};

template <bool Wide>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void multiply(const Quads& quads, const PlaneConstants& c,
                                                                     int kernel_row, __m512i (&sums)[4]) noexcept {
  const auto add = [&](__m512i weights) DMLREF_TARGET_AVX512VNNI {
    sums[0] = _mm512_dpbusd_epi32(sums[0], quads.a, weights);
    sums[1] = _mm512_dpbusd_epi32(sums[1], quads.b, weights);
    sums[2] = _mm512_dpbusd_epi32(sums[2], quads.c, weights);
    sums[3] = _mm512_dpbusd_epi32(sums[3], quads.d, weights);
  };
  add(c.weights[kernel_row]);
  if constexpr (Wide) {
    if ((c.wide >> kernel_row & 1) != 0) add(c.second[kernel_row]);
  }
}

template <bool Wide>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void multiply(const Quads& top, const Quads& middle,
                                                                     const Quads& bottom, const PlaneConstants& c,
                                                                     __m512i (&sums)[4]) noexcept {
  sums[0] = sums[1] = sums[2] = sums[3] = c.start;
  multiply<Wide>(top, c, 0, sums);
  multiply<Wide>(middle, c, 1, sums);
  multiply<Wide>(bottom, c, 2, sums);
}

/// Two output rows, of which each has 8 bytes of every 16, one behind the other.
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i rows_apart(__m512i bytes) noexcept {
  return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), bytes);
}

[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void copy(const __m512i (&from)[4], __m512i (&to)[4]) noexcept {
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) to[v] = from[v];
}

/// Writes output row `y`, or that and the next.
template <Strips Kind, int Planes>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void store_rows(const StripArgs& a, std::ptrdiff_t y,
                                                                       std::ptrdiff_t whole_rows,
                                                                       __m512i bytes) noexcept {
  std::uint8_t* const dst = a.group.dst + y * a.p.dst_row_step + a.strip.x;
  const std::ptrdiff_t step = a.p.dst_plane_step, used = a.strip.used;
  if constexpr (Kind != Strips::stride2) {
    store_row<1, 0, Planes>(dst, step, y < whole_rows, used, bytes);
  } else {
    bytes = rows_apart(bytes);
    store_row<2, 0, Planes>(dst, step, y < whole_rows, used, bytes);
    if (y + 1 >= a.p.out_rows) return;
    store_row<2, 1, Planes>(dst + a.p.dst_row_step, step, y + 1 < whole_rows, used, bytes);
  }
}

/// Makes rows again that rounding has left in doubt.
template <Strips Kind, int Planes>
[[gnu::noinline]] DMLREF_TARGET_AVX512VNNI inline void decide_rows(const StripArgs& a, std::ptrdiff_t y) noexcept {
  const auto row = [&](std::ptrdiff_t r) __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    const std::ptrdiff_t in = y * (Kind == Strips::stride2 ? 2 : 1) + r - a.p.pad_y;
    return row_quads<Kind, Planes, 3, Rows::any>(a.p, a.strip, in, a.group.src + in * a.p.row_step + a.strip.column);
  };
  PlaneConstants c = a.c;
  use_integers<Planes>(a.t, a.group, c);
  __m512i sums[4];
  if constexpr (Kind == Strips::stride2) {
    const Quads shared = row(2);
    multiply<true>(both(row(0), shared), both(row(1), row(3)), both(shared, row(4)), c, sums);
  } else {
    multiply<true>(row(0), row(1), row(2), c, sums);
  }
  double factor[4];
  for (int part = 0; part < 4; ++part) {
    std::memcpy(&factor[part], a.group.channel + part * Planes / 4 * a.t.weight_step + offsetof(ChannelData, factor),
                sizeof(double));
  }
  store_rows<Kind, Planes>(a, y, 0, quantize<Factors::parts>(sums, c.epilogue, a.t, factor));
}

/// Where the next inner rows are read and written, and which of the rows written are in doubt.
struct Cursor {
  const std::uint8_t* in;
  std::uint8_t* out;
  std::uint64_t doubts = 0, bit = 1;
};

/// Rounds and writes an output row, or two, behind which more rows are written.
template <Strips Kind, int Planes, SumsAre Are>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void write_inner(const StripArgs& a, const __m512i (&sums)[4],
                                                                        Cursor& at) noexcept {
  bool in_doubt = false;
  const __m512i bytes = quantize_at_once<Factors::parts, Are>(sums, a.c.epilogue, in_doubt);
  const std::ptrdiff_t row = a.p.dst_row_step;
  if constexpr (Kind != Strips::stride2) {
    store_row<1, 0, Planes>(at.out, a.p.dst_plane_step, true, 0, bytes);
    at.out += row;
  } else {
    const __m512i rows = rows_apart(bytes);
    store_row<2, 0, Planes>(at.out, a.p.dst_plane_step, true, 0, rows);
    store_row<2, 1, Planes>(at.out + row, a.p.dst_plane_step, true, 0, rows);
    at.out += 2 * row;
  }
  at.doubts |= in_doubt ? at.bit : 0;
  at.bit <<= 1;
}

/// Writes the rows of `sums` and those that follow, three times `count`, and leaves the sums of the row behind them.
/// Quads change their roles instead of their registers.
template <Strips Kind, int Planes, SumsAre Are, bool Wide, int Masks>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void inner_rows(const StripArgs& a, std::ptrdiff_t count,
                                                                       Quads& first, Quads& second, __m512i (&sums)[4],
                                                                       Cursor& at) noexcept {
  const auto row = [&](const Quads& upper, const Quads& middle, Quads& last, const __m512i(&now)[4], __m512i(&then)[4])
      __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    last = row_quads<Kind, Planes, Masks, Rows::inner>(a.p, a.strip, 0, at.in);
    at.in += a.p.row_step;
    multiply<Wide>(upper, middle, last, a.c, then);
    write_inner<Kind, Planes, Are>(a, now, at);
  };
  for (; count > 0; --count) {
    Quads third;
    __m512i others[4];
    row(first, second, third, sums, others);
    row(second, third, first, others, sums);
    row(third, first, second, sums, others);
    copy(others, sums);
  }
}

/// The same with a stride of 2: two rows at once, and `first` is all that the next ones need.
template <int Planes, SumsAre Are, bool Wide, int Masks>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void inner_pairs(const StripArgs& a, std::ptrdiff_t count,
                                                                        Quads& first, __m512i (&sums)[4],
                                                                        Cursor& at) noexcept {
  for (; count > 0; --count) {
    const auto row = [&]() __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
      const Quads quads = row_quads<Strips::stride2, Planes, Masks, Rows::inner>(a.p, a.strip, 0, at.in);
      at.in += a.p.row_step;
      return quads;
    };
    const Quads second = row(), shared = row(), fourth = row(), last = row();
    __m512i others[4];
    multiply<Wide>(both(first, shared), both(second, fourth), both(shared, last), a.c, others);
    first = last;
    write_inner<Strips::stride2, Planes, Are>(a, sums, at);
    copy(others, sums);
  }
}

template <Strips Kind, int Planes, SumsAre Are, bool Wide, int Masks>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void plane_strip(const StripArgs& a) noexcept {
  const PlaneArgs& p = a.p;
  const PlaneGroup& group = a.group;
  const std::ptrdiff_t whole_rows = a.strip.whole_rows;
  constexpr bool two_rows = Kind == Strips::stride2;
  const std::uint8_t* const top = group.src + a.strip.column - p.pad_y * p.row_step;  // of the padded plane
  const auto row = [&](std::ptrdiff_t y) __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    return row_quads<Kind, Planes, Masks, Rows::any>(p, a.strip, y - p.pad_y, top + y * p.row_step);
  };
  const auto inner_row = [&](const std::uint8_t* at) __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    return row_quads<Kind, Planes, Masks, Rows::inner>(p, a.strip, 0, at);
  };
  // The padded rows that are inner rows.
  const std::ptrdiff_t inner_begin = group.safe ? p.pad_y : p.pad_y + 1;
  const std::ptrdiff_t inner_end = group.safe ? p.pad_y + p.rows : p.pad_y + group.safe_rows;
  Quads next = row(0), after = next;  // what the next output row begins with
  if constexpr (!two_rows) after = row(1);
  const auto sum_at = [&](std::ptrdiff_t y, __m512i(&sums)[4]) __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    if constexpr (two_rows) {
      Quads second, shared, fourth, last;
      if (2 * y + 1 >= inner_begin && 2 * y + 4 < inner_end) {
        const std::uint8_t* const at = top + (2 * y + 1) * p.row_step;
        second = inner_row(at);
        shared = inner_row(at + p.row_step);
        fourth = inner_row(at + 2 * p.row_step);
        last = inner_row(at + 3 * p.row_step);
      } else {
        second = row(2 * y + 1);
        shared = row(2 * y + 2);
        fourth = row(2 * y + 3);
        last = row(2 * y + 4);
      }
      multiply<Wide>(both(next, shared), both(second, fourth), both(shared, last), a.c, sums);
      next = last;
    } else {
      const bool inner = y + 2 >= inner_begin && y + 2 < inner_end;
      const Quads last = inner ? inner_row(top + (y + 2) * p.row_step) : row(y + 2);
      multiply<Wide>(next, after, last, a.c, sums);
      next = after;
      after = last;
    }
  };
  // Rows are rounded while the next ones are multiplied: so fewer instructions wait for others. Not the few rows of
  // four planes with a stride of 2.
  constexpr bool ahead = !two_rows || Planes < 4;
  constexpr std::ptrdiff_t step = two_rows ? 2 : 1;
  __m512i sums[4], following[4];
  if constexpr (ahead) sum_at(0, sums);
  for (std::ptrdiff_t first = 0; first < p.out_rows;) {
    std::ptrdiff_t y = first;
    const std::ptrdiff_t unread = two_rows ? 2 * y + 5 : y + 3;
    Cursor at{top + unread * p.row_step, group.dst + y * p.dst_row_step + a.strip.x};
    if constexpr (ahead) {
      // Up to here rows are written whole while inner rows are summed: 60 at most, a bit for each.
      const std::ptrdiff_t summed = smaller(two_rows ? (inner_end - 5) / 2 : inner_end - 3, p.out_rows - 1);
      const std::ptrdiff_t end = smaller(smaller(summed, whole_rows), y + 60);
      constexpr std::ptrdiff_t at_once = two_rows ? 2 : 3;
      const std::ptrdiff_t count = unread >= inner_begin ? (end - y) / at_once : 0;
      if constexpr (two_rows) {
        inner_pairs<Planes, Are, Wide, Masks>(a, count, next, sums, at);
      } else {
        inner_rows<Kind, Planes, Are, Wide, Masks>(a, count, next, after, sums, at);
      }
      if (count > 0) y += count * at_once;
    }
    std::uint64_t doubts = at.doubts, bit = at.bit;
    for (; y < p.out_rows && bit != 0; y += step, bit <<= 1) {
      if constexpr (!ahead) sum_at(y, sums);
      if (ahead && y + step < p.out_rows) sum_at(y + step, following);
      bool in_doubt = false;
      store_rows<Kind, Planes>(a, y, whole_rows, quantize_at_once<Factors::parts, Are>(sums, a.c.epilogue, in_doubt));
      doubts |= in_doubt ? bit : 0;
      if constexpr (ahead) copy(following, sums);
    }
    for (; doubts != 0; doubts &= doubts - 1) decide_rows<Kind, Planes>(a, first + step * std::countr_zero(doubts));
    first = y;
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
      // The last ones may be made twice.
      const std::ptrdiff_t first = i + Planes <= p.planes ? i : p.planes - Planes;
      const PlaneGroup group = make_group<Planes>(t, p, strip, first);
      PlaneConstants c;
      make_constants<Planes>(t, group, c);
      const bool floats = use_floats<Planes>(t, group, c);
      if (!floats) use_integers<Planes>(t, group, c);
      const StripArgs args{t, p, group, strip, c};
      if (!floats) {
        plane_strip<Kind, Planes, SumsAre::integers, true, 3>(args);
      } else if (c.wide != 0) {
        plane_strip<Kind, Planes, SumsAre::floats, true, 3>(args);
      } else if (Kind == Strips::narrow || (strip.masks & 2) != 0) {
        plane_strip<Kind, Planes, SumsAre::floats, false, 3>(args);
      } else if constexpr (Kind != Strips::narrow) {
        if (strip.masks != 0) {
          plane_strip<Kind, Planes, SumsAre::floats, false, Kind == Strips::stride2 ? 1 : 3>(args);
        } else {
          plane_strip<Kind, Planes, SumsAre::floats, false, 0>(args);
        }
      }
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
  if (planes.outputs == 1) return one_output_of_each(lanes, planes);
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
