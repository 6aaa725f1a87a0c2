// planes.hpp: depthwise kernels of three rows over planes of pixels that are read where they are.
//
// A strip is made from its first output row to its last, so an input row becomes quads once (plane_quads.hpp), for all
// the output rows that it is part of. Most strips of whole planes have a loop of their own (whole_planes.hpp).
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/avx512vnni/epilogue.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/avx512vnni/plane_quads.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/avx512vnni/plane_rows.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/avx512vnni/whole_planes.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/kernels.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <bit>
#include <cstddef>
#include <cstring>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct::avx512vnni {

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
};

/// What a kernel row adds to `from`.
template <bool Wide>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void add(const __m512i (&from)[4], const Quads& quads,
                                                                const PlaneConstants& c, int kernel_row,
                                                                __m512i (&to)[4]) noexcept {
  const auto add_products = [&](const __m512i(&sums)[4], __m512i weights) __attribute__((always_inline))
  DMLREF_TARGET_AVX512VNNI {
    to[0] = _mm512_dpbusd_epi32(sums[0], quads.a, weights);
    to[1] = _mm512_dpbusd_epi32(sums[1], quads.b, weights);
    to[2] = _mm512_dpbusd_epi32(sums[2], quads.c, weights);
    to[3] = _mm512_dpbusd_epi32(sums[3], quads.d, weights);
  };
  add_products(from, c.weights[kernel_row]);
  if constexpr (Wide) {
    if ((c.wide >> kernel_row & 1) != 0) add_products(to, c.second[kernel_row]);
  }
}
/// The same to a quarter of the sums, in place.
template <bool Wide>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void add_in_place(__m512i quads, const PlaneConstants& c,
                                                                         int kernel_row, __m512i& sums) noexcept {
  multiply_add(sums, quads, c.weights[kernel_row]);
  if constexpr (Wide) {
    if ((c.wide >> kernel_row & 1) != 0) multiply_add(sums, quads, c.second[kernel_row]);
  }
}

template <bool Wide>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void multiply(const Quads& top, const Quads& middle,
                                                                     const Quads& bottom, const PlaneConstants& c,
                                                                     __m512i (&sums)[4]) noexcept {
  sums[0] = sums[1] = sums[2] = sums[3] = c.start;
  add<Wide>(sums, top, c, 0, sums);
  add<Wide>(sums, middle, c, 1, sums);
  add<Wide>(sums, bottom, c, 2, sums);
}

[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void copy(const __m512i (&from)[4], __m512i (&to)[4]) noexcept {
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) to[v] = from[v];
}

/// Two output rows, of which each has 8 bytes of every 16, one behind the other.
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i rows_apart(__m512i bytes) noexcept {
  return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), bytes);
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

/// The same of sums, where rows are written whole; says whether some are in doubt.
template <Strips Kind, int Planes, SumsAre Are>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline bool write_rows(const __m512i (&sums)[4],
                                                                       const PlaneConstants& c, const PlaneArgs& p,
                                                                       std::uint8_t* to) noexcept {
  bool in_doubt = false;
  const __m512i bytes = quantize_at_once<Factors::parts, Are>(sums, c.epilogue, in_doubt);
  if constexpr (Kind == Strips::stride2) {
    const __m512i rows = rows_apart(bytes);
    store_row<2, 0, Planes>(to, p.dst_plane_step, true, 0, rows);
    store_row<2, 1, Planes>(to + p.dst_row_step, p.dst_plane_step, true, 0, rows);
  } else {
    store_row<1, 0, Planes>(to, p.dst_plane_step, true, 0, bytes);
  }
  return in_doubt;
}

/// Makes rows again that rounding has left in doubt.
template <Strips Kind, int Planes>
[[gnu::noinline]] DMLREF_TARGET_AVX512VNNI inline void decide_rows(const StripArgs& a, std::ptrdiff_t y) noexcept {
  const auto row = [&](std::ptrdiff_t r) __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    const std::ptrdiff_t in = y * (Kind == Strips::stride2 ? 2 : 1) + r - a.p.pad_y;
    return row_quads<Kind, Planes, 3, Rows::any>(a.p, a.strip, in, a.group.src + in * a.p.row_step + a.strip.column);
  };
  PlaneConstants c;
  make_constants<Planes>(a.t, a.group, c);
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

/// Goes down a strip. Sums take what an input row adds to them when that row is made into quads: with a stride of 1,
/// the rows of three output rows at once.
template <Strips Kind, int Planes, SumsAre Are, bool Wide, int Masks>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void plane_strip(const StripArgs& args,
                                                                        const PlaneConstants& c) noexcept {
  constexpr bool two_rows = Kind == Strips::stride2;
  // What `args` refers to might change with each byte that is stored, and would be read again.
  const PlaneArgs p = args.p;
  const PlaneGroup group = args.group;
  const Strip strip = args.strip;
  const StripArgs a{args.t, p, group, strip};
  // The rows of the padded plane that are inner rows.
  const std::ptrdiff_t inner_begin = group.safe ? p.pad_y : p.pad_y + 1;
  const std::ptrdiff_t inner_end = p.pad_y + (group.safe ? p.rows : group.safe_rows);
  std::ptrdiff_t next = 0;  // row of the padded plane, at `from`
  const std::uint8_t* from = group.src + strip.column - p.pad_y * p.row_step;
  const auto inner_row = [&]() __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    const Quads quads = row_quads<Kind, Planes, Masks, Rows::inner>(p, strip, 0, from);
    from += p.row_step;
    return quads;
  };
  const auto any_row = [&]() __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    const bool is_inner = next >= inner_begin && next < inner_end;
    const Quads quads = is_inner ? row_quads<Kind, Planes, Masks, Rows::inner>(p, strip, 0, from)
                                 : row_quads<Kind, Planes, Masks, Rows::any>(p, strip, next - p.pad_y, from);
    ++next;
    from += p.row_step;
    return quads;
  };
  // Of the output rows that follow, without the input rows that are not yet read.
  __m512i second[4], third[4];
  const __m512i none[4] = {c.start, c.start, c.start, c.start};
  Quads last;  // with a stride of 2, of the row that two output rows share with the next ones
  const auto sum_next = [&](auto row, __m512i(&sums)[4]) __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    if constexpr (two_rows) {
      const Quads odd = row(), shared = row(), fourth = row(), fifth = row();
      multiply<Wide>(both(last, shared), both(odd, fourth), both(shared, fifth), c, sums);
      last = fifth;
    } else {
      const Quads quads = row();
      add<Wide>(second, quads, c, 2, sums);
      add<Wide>(third, quads, c, 1, second);
      add<Wide>(none, quads, c, 0, third);
    }
  };
  if constexpr (two_rows) {
    last = any_row();
  } else {
    add<Wide>(none, any_row(), c, 0, second);
    const Quads quads = any_row();
    add<Wide>(second, quads, c, 1, second);
    add<Wide>(none, quads, c, 0, third);
  }
  constexpr std::ptrdiff_t step = two_rows ? 2 : 1, rows_in = two_rows ? 4 : 1;  // of a turn
  __m512i sums[4];
  sum_next(any_row, sums);
  std::uint8_t* to = group.dst + strip.x;
  for (std::ptrdiff_t first = 0, y = 0; y < p.out_rows; first = y) {
    std::uint64_t doubts = 0, bit = 1;  // a bit for each turn
    // Where inner rows are read and rows are written whole. These are rounded while the next ones are summed: so fewer
    // instructions wait for others.
    const std::ptrdiff_t writable = smaller(strip.whole_rows, p.out_rows - 1) - y;
    std::ptrdiff_t turns = smaller(smaller(writable / step, (inner_end - next) / rows_in), 50);
    if (next < inner_begin || turns < 0) turns = 0;
    y += turns * step;
    next += turns * rows_in;
    if constexpr (two_rows || Planes == 4) {
      __m512i following[4];
      for (; turns > 0; --turns, bit <<= 1) {
        sum_next(inner_row, following);
        if (__builtin_expect((write_rows<Kind, Planes, Are>(sums, c, p, to)), 0)) doubts |= bit;
        to += step * p.dst_row_step;
        copy(following, sums);
      }
    } else {
      // Four sets of sums take turns: of the row that is written, of those that lack one input row and two, and of the
      // one that begins with this row.
      const auto turn = [&](__m512i(&complete)[4], __m512i(&lacks_one)[4], __m512i(&lacks_two)[4], __m512i(&begun)[4])
          __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
        const RowVectors row = row_vectors<Kind, Planes, Masks>(p, strip, true, from);
        from += p.row_step;
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) {
          const __m512i quads = quads_of<Kind>(row, strip, v);
          add_in_place<Wide>(quads, c, 2, lacks_one[v]);
          add_in_place<Wide>(quads, c, 1, lacks_two[v]);
          begun[v] = c.start;
          add_in_place<Wide>(quads, c, 0, begun[v]);
        }
        if (__builtin_expect((write_rows<Kind, Planes, Are>(complete, c, p, to)), 0)) doubts |= bit;
        to += step * p.dst_row_step;
        bit <<= 1;
      };
      __m512i fourth[4];
      for (; turns >= 4; turns -= 4) {
        turn(sums, second, third, fourth);
        turn(second, third, fourth, sums);
        turn(third, fourth, sums, second);
        turn(fourth, sums, second, third);
      }
      for (; turns > 0; --turns) {
        turn(sums, second, third, fourth);
        copy(second, sums);
        copy(third, second);
        copy(fourth, third);
      }
    }
    // The others, until there are such rows again, or some at least.
    const std::ptrdiff_t until = next < inner_begin ? y + (inner_begin - next) * step : y + 10 * step;
    const std::ptrdiff_t end = smaller(smaller(until, p.out_rows), y + 10 * step);
    for (; y < end; y += step, bit <<= 1) {
      bool in_doubt = false;
      const __m512i bytes = quantize_at_once<Factors::parts, Are>(sums, c.epilogue, in_doubt);
      store_rows<Kind, Planes>(a, y, strip.whole_rows, bytes);
      to += step * p.dst_row_step;
      if (__builtin_expect(in_doubt, 0)) doubts |= bit;
      if (y + step < p.out_rows) sum_next(any_row, sums);
    }
    for (; doubts != 0; doubts &= doubts - 1) decide_rows<Kind, Planes>(args, first + step * std::countr_zero(doubts));
  }
}

/// Makes the strip of the groups from plane `first` on that are of this kind, and says where the next ones begin.
template <Strips Kind, int Planes, SumsAre Are, bool Wide, int Masks>
[[gnu::noinline]] DMLREF_TARGET_AVX512VNNI inline std::ptrdiff_t make_groups(const LaneArgs& t, const PlaneArgs& p,
                                                                             const Strip& strip,
                                                                             std::ptrdiff_t first) noexcept {
  Strip repeating;  // with a group's own patterns
  for (; first < p.planes; first += Planes) {
    // The last ones may be made twice.
    const PlaneGroup group = make_group<Planes>(t, p, strip, smaller(first, p.planes - Planes));
    const GroupKind kind = kind_of<Planes>(t, group.channel);
    if (kind.floats != (Are == SumsAre::floats) || (kind.floats && kind.wide != Wide)) break;
    if (Kind != Strips::stride2 && kind.floats && !Wide && is_whole(p, group)) break;
    PlaneConstants c;
    make_constants<Planes>(t, group, c);
    if constexpr (Are == SumsAre::floats) {
      use_floats<Planes>(t, group, c);
    } else {
      use_integers<Planes>(t, group, c);
    }
    const bool spare = Kind != Strips::stride2 && kind.spare;
    if (spare) repeating = with_spare_slots<Planes>(t, group, strip);
    plane_strip<Kind, Planes, Are, Wide, Masks>({t, p, group, spare ? repeating : strip}, c);
  }
  return first;
}

/// The same of those whose sums are floats, without second parts.
template <Strips Kind, int Planes, int Masks>
DMLREF_TARGET_AVX512VNNI inline std::ptrdiff_t make_plain_groups(const LaneArgs& t, const PlaneArgs& p,
                                                                 const Strip& strip, Quad quads,
                                                                 std::ptrdiff_t first) noexcept {
  if constexpr (Kind != Strips::stride2) {
    const std::ptrdiff_t next = quads == Quad::of_two
                                    ? make_whole_groups<Kind, Planes, Masks, Quad::of_two>(t, p, strip, first)
                                    : make_whole_groups<Kind, Planes, Masks, Quad::of_one>(t, p, strip, first);
    if (next != first) return next;
  }
  return make_groups<Kind, Planes, SumsAre::floats, false, Masks>(t, p, strip, first);
}

template <Strips Kind, int Planes>
DMLREF_TARGET_AVX512VNNI inline void plane_strips(const LaneArgs& t, const PlaneArgs& p) noexcept {
  constexpr std::ptrdiff_t stride = Kind == Strips::stride2 ? 2 : 1;
  constexpr std::ptrdiff_t columns = 64 / Planes / stride;
  const Quad quads = Kind != Strips::wide ? Quad::of_one : quads_are(t, p);
  // From the right to the left: what a strip writes beyond its rows is overwritten.
  for (std::ptrdiff_t x = (p.out_width - 1) / columns * columns; x >= 0; x -= columns) {
    const Strip strip = make_strip<Planes>(t, p, x, stride, loads_apart<Kind>);
    for (std::ptrdiff_t i = 0; i < p.planes;) {
      const GroupKind kind = kind_of<Planes>(t, t.weights + smaller(i, p.planes - Planes) * t.weight_step);
      if (!kind.floats) {
        i = make_groups<Kind, Planes, SumsAre::integers, true, 3>(t, p, strip, i);
      } else if (kind.wide) {
        i = make_groups<Kind, Planes, SumsAre::floats, true, 3>(t, p, strip, i);
      } else if (Kind == Strips::narrow || (strip.masks & 2) != 0) {
        i = make_plain_groups<Kind, Planes, 3>(t, p, strip, quads, i);
      } else if constexpr (Kind != Strips::narrow) {
        constexpr int masks = Kind == Strips::stride2 ? 1 : 3;
        if (strip.masks != 0) {
          i = make_plain_groups<Kind, Planes, masks>(t, p, strip, quads, i);
        } else {
          i = make_plain_groups<Kind, Planes, 0>(t, p, strip, quads, i);
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
