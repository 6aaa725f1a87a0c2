// whole_planes.hpp: strips that go from the first row of whole planes to the last one, with a row of filling on either
// side.
//
// Sums are of two output rows at a time: an input row completes those of the first, which are rounded at once and begin
// anew, and is the middle row of the second. What rows of filling add is the same for all sums: it is added to what
// they start from. Quads of four neighbouring pixels are those of two outputs, where kernels have three columns: the
// second one has its weights a byte on.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/avx512vnni/epilogue.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/avx512vnni/plane_quads.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/avx512vnni/plane_rows.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/kernels.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <cstddef>
#include <cstring>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct::avx512vnni {

/// Whether make_whole_groups makes this strip of a group.
inline bool is_whole(const PlaneArgs& p, const PlaneGroup& group) noexcept {
  const bool safe = group.safe || group.safe_rows + 1 >= p.rows;  // but for the first row and the last
  return safe && p.pad_y == 1 && p.out_rows == p.rows && p.rows >= 3;
}

/// Whether quads, of four neighbouring pixels, are those of two outputs: no kernel row has a fourth weight, nor a spare
/// slot a second part. One answer for all planes, as going from one way to the other takes as long as it gains.
enum class Quad { of_one, of_two };
inline Quad quads_are(const LaneArgs& t, const PlaneArgs& p) noexcept {
  if (p.kernel > 3 || p.kernel_reach != p.kernel - 1) return Quad::of_one;
  std::uint32_t spare = 0;
  const std::byte* channel = t.weights + offsetof(ChannelData, spare);
  for (std::ptrdiff_t i = 0; i < p.planes; ++i, channel += t.weight_step) {
    std::uint32_t of_channel;
    std::memcpy(&of_channel, channel, sizeof of_channel);
    spare |= of_channel;
  }
  return spare == 0 ? Quad::of_two : Quad::of_one;
}

/// A kernel row's weights for even outputs, and for odd ones.
struct RowWeights {
  __m512i even, odd;
};
template <Quad Is>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline RowWeights row_weights(__m512i quads) noexcept {
  return {quads, Is == Quad::of_two ? _mm512_slli_epi32(quads, 8) : quads};
}

/// One output row's sums: of even and odd outputs.
struct RowSums {
  __m512i a, b, c, d;
};
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void add_row(const Quads& row, const RowWeights& weights,
                                                                    RowSums& sums) noexcept {
  multiply_add(sums.a, row.a, weights.even);
  multiply_add(sums.b, row.b, weights.odd);
  multiply_add(sums.c, row.c, weights.even);
  multiply_add(sums.d, row.d, weights.odd);
}

/// A row of 16 bytes of each of four planes. Of 512 bits, as few operations as can be take the upper half.
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void store_four(std::uint8_t* to, std::ptrdiff_t step,
                                                                       __m512i bytes) noexcept {
  const __m256i low = _mm512_castsi512_si256(bytes);
  __m256i high = _mm512_extracti64x4_epi64(bytes, 1);
  __asm__("" : "+x"(high));  // g++ would extract its upper part from the 512 bits
  _mm_storeu_si128(reinterpret_cast<__m128i_u*>(to), _mm256_castsi256_si128(low));
  _mm_storeu_si128(reinterpret_cast<__m128i_u*>(to + step), _mm256_extracti128_si256(low, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i_u*>(to + 2 * step), _mm256_castsi256_si128(high));
  _mm_storeu_si128(reinterpret_cast<__m128i_u*>(to + 3 * step), _mm256_extracti128_si256(high, 1));
}

template <Strips Kind, int Planes, int Masks, Quad Is>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void whole_plane_strip(const LaneArgs& t, const PlaneArgs& args,
                                                                              const PlaneGroup& group,
                                                                              const Strip& strip_of_group,
                                                                              const PlaneConstants& c) noexcept {
  static_assert(Kind != Strips::stride2);
  // What these refer to might change with each byte that is stored, and would be read again.
  const PlaneArgs p = args;
  Strip strip = strip_of_group;
  if constexpr (Is == Quad::of_one) use_spare_slots<Planes>(t, group, strip);
  const std::uint8_t* from = group.src + strip.column;
  std::uint8_t* to = group.dst + strip.x;
  const RowWeights top = row_weights<Is>(c.weights[0]);
  const RowWeights middle = row_weights<Is>(c.weights[1]);
  const RowWeights bottom = row_weights<Is>(c.weights[2]);
  const __m512i start = c.start;
  __m512i below_filling = start, above_filling = start;
  multiply_add(below_filling, strip.fills, top.even);
  multiply_add(above_filling, strip.fills, bottom.even);

  const bool safe = group.safe;
  const auto next_row = [&](bool inner) __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    const RowVectors row = row_vectors<Kind, Planes, Masks>(p, strip, inner || safe, from);
    from += p.row_step;
    Quads quads;
    quads.a = quads.b = quads_of<Kind>(row, strip, 0);
    quads.c = quads.d = quads_of<Kind>(row, strip, 2);
    if constexpr (Is == Quad::of_one) {
      quads.b = quads_of<Kind>(row, strip, 1);
      quads.d = quads_of<Kind>(row, strip, 3);
    }
    return quads;
  };
  const auto quantized = [&](const RowSums& sums) __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    const __m512i all[4] = {sums.a, sums.b, sums.c, sums.d};
    return quantize_floats<Factors::parts>(all, c.epilogue);
  };
  // The input row that completes `complete`; which is rounded, and begins anew as the sums of two rows on.
  const auto turn = [&](RowSums & complete, RowSums & next, __m512i begin) __attribute__((always_inline))
  DMLREF_TARGET_AVX512VNNI {
    const Quads row = next_row(true);
    add_row(row, bottom, complete);
    add_row(row, middle, next);
    RowSums begun{begin, begin, begin, begin};
    add_row(row, top, begun);
    const __m512i bytes = quantized(complete);
    complete = begun;
    return bytes;
  };
  const auto store = [&](bool whole, __m512i bytes) __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    if (Planes == 4 && __builtin_expect(whole, 1)) {
      store_four(to, p.dst_plane_step, bytes);
    } else {
      store_row<1, 0, Planes>(to, p.dst_plane_step, whole, strip.used, bytes);
    }
    to += p.dst_row_step;
  };
  RowSums first{below_filling, below_filling, below_filling, below_filling}, second{start, start, start, start};
  {
    const Quads row = next_row(false);
    add_row(row, middle, first);
    add_row(row, top, second);
  }
  // Of the output rows the last two are not made by turns, and the turn before begins with `above_filling`.
  const std::ptrdiff_t turns = p.rows - 2, pairs = (turns - 1) / 2;
  const std::ptrdiff_t whole_pairs = smaller(pairs, strip.whole_rows / 2);
  std::ptrdiff_t y = 2 * whole_pairs;
  for (std::ptrdiff_t i = whole_pairs; i > 0; --i) {
    store(true, turn(first, second, start));
    store(true, turn(second, first, start));
  }
  for (; y < 2 * pairs; y += 2) {
    store(y < strip.whole_rows, turn(first, second, start));
    store(y + 1 < strip.whole_rows, turn(second, first, start));
  }
  if (turns % 2 == 0) {
    store(y < strip.whole_rows, turn(first, second, start));
    ++y;
  } else {
    const RowSums swapped = first;
    first = second;
    second = swapped;
  }
  store(y < strip.whole_rows, turn(second, first, above_filling));
  ++y;
  const Quads row = next_row(false);
  add_row(row, bottom, first);
  add_row(row, middle, second);
  store(y < strip.whole_rows, quantized(first));
  store(y + 1 < strip.whole_rows, quantized(second));
}

/// Makes the strip of the groups from plane `first` on that are whole, have sums that are floats and no second parts of
/// weights but in spare slots; and says where others begin.
template <Strips Kind, int Planes, int Masks, Quad Is>
[[gnu::noinline]] DMLREF_TARGET_AVX512VNNI inline std::ptrdiff_t make_whole_groups(const LaneArgs& t,
                                                                                   const PlaneArgs& p,
                                                                                   const Strip& strip,
                                                                                   std::ptrdiff_t first) noexcept {
  for (; first < p.planes; first += Planes) {
    // The last ones may be made twice.
    const PlaneGroup group = make_group<Planes>(t, p, strip, smaller(first, p.planes - Planes));
    const GroupKind kind = kind_of<Planes>(t, group.channel);
    if (!is_whole(p, group) || !kind.floats || kind.wide) break;
    PlaneConstants c;
    make_constants<Planes>(t, group, c);
    use_floats<Planes>(t, group, c);
    whole_plane_strip<Kind, Planes, Masks, Is>(t, p, group, strip, c);
  }
  return first;
}

}  // namespace fast::qlc::direct::avx512vnni
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
