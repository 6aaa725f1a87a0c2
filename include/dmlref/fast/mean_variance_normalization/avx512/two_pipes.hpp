// two_pipes.hpp: kernels for Intel's cores with two pipes of 512 bits, where every operation on float16 counts.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "dmlref/fast/mean_variance_normalization/avx512.hpp"
#include "dmlref/fast/mean_variance_normalization/avx512/full_width.hpp"
#include "dmlref/fast/mean_variance_normalization/kernels.hpp"

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::normalization::avx512::two_pipes {

using full_width::first_of_16;

// ---- Sums ----------------------------------------------------------------------------------------------------------

/// Sums of halves, sixteen at a time. (From memory eight become floats in one operation, sixteen in two, and their
/// upper half would want a third.)
class Eights {
 public:
  static constexpr bool wants_floats = false;  // even if nobody keeps them

  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE explicit Eights(const float*) noexcept { full_width::clear(lanes_); }
  /// `floats`: behind those that were added before, if they are kept.
  template <bool keep>
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE void add16(const std::byte* halves, float* floats) noexcept {
    DMLREF_UNROLL
    for (std::size_t v = 0; v < 2; ++v) {
      const __m256 x = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(halves + 16 * v)));
      if constexpr (keep) _mm256_storeu_ps(floats + 8 * v, x);
      full_width::add8(lanes_, v, _mm512_cvtps_pd(x));
    }
    static_cast<void>(floats);
  }
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE SumAndSquare total() noexcept { return full_width::total(lanes_); }

 private:
  full_width::Lanes lanes_;
};
/// The last `count` < 16.
template <class Sums, bool keep>
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE void add_last_halves(Sums& sums, const std::byte* halves,
                                                                   std::size_t count, float* floats) noexcept {
  alignas(32) std::byte last[16 * sizeof(half)];
  _mm256_store_si256(reinterpret_cast<__m256i*>(last), full_width::load_last(halves, count));
  sums.template add16<keep>(last, floats);
}

template <class Sums>
DMLREF_TARGET_AVX512VNNI inline SumAndSquare half_sums(const std::byte* from, const Piece* pieces, std::size_t count,
                                                       std::int64_t ahead) noexcept {
  alignas(64) float floats[Sums::wants_floats ? normalization_chunk : 1];
  float* next = floats;
  Sums sums(floats);
  for (std::size_t p = 0; p < count; ++p) {
    const std::byte* const start = from + pieces[p].from;
    const std::size_t size = pieces[p].count;
    if (ahead != 0) prefetch<0>(start + ahead, size * sizeof(half));
    std::size_t i = 0;
    for (; i + 16 <= size; i += 16) {
      sums.template add16<Sums::wants_floats>(start + i * sizeof(half), next);
      if constexpr (Sums::wants_floats) next += 16;
    }
    if (i < size) add_last_halves<Sums, Sums::wants_floats>(sums, start + i * sizeof(half), size - i, next);
  }
  return sums.total();
}

/// As full_width::two_sums.
template <class Sums>
DMLREF_TARGET_AVX512VNNI inline void two_half_sums(const std::byte* from, std::int64_t beside, const Piece* pieces,
                                                   std::size_t count, std::int64_t ahead, SumAndSquare* sums) noexcept {
  alignas(64) float floats[2][Sums::wants_floats ? normalization_chunk : 1];
  float* next[2] = {floats[0], floats[1]};
  Sums first(floats[0]);
  Sums second(floats[1]);
  for (std::size_t p = 0; p < count; ++p) {
    const std::byte* const start = from + pieces[p].from;
    const std::size_t bytes = pieces[p].count * sizeof(half);
    if (ahead != 0) {
      prefetch<0>(start + ahead, bytes);
      prefetch<0>(start + beside + ahead, bytes);
    }
    for (std::size_t at = 0; at < bytes; at += 16 * sizeof(half)) {
      first.template add16<Sums::wants_floats>(start + at, next[0]);
      second.template add16<Sums::wants_floats>(start + beside + at, next[1]);
      if constexpr (Sums::wants_floats) {
        next[0] += 16;
        next[1] += 16;
      }
    }
  }
  sums[0] = first.total();
  sums[1] = second.total();
}

// ---- Results -------------------------------------------------------------------------------------------------------

/// Whether any of 32 values may be in doubt.
DMLREF_TARGET_AVX512VNNI inline bool any_below(__m512 a, __m512 b, __m512 doubt) noexcept {
  constexpr int lesser_magnitude_without_sign = 0b1010;
  return doubtful_mask(_mm512_range_ps(a, b, lesser_magnitude_without_sign), doubt) != 0;
}

/// A Line16 in registers: the same for all elements of a row.
/// (x - shift is fma(x, 1, -shift), the same number: where conversions bind, they compete with subtractions.)
template <bool shifted>
struct OneLine {
  __m512 one, minus_shift, slope, offset, doubt;

  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE explicit OneLine(const Line16& line) noexcept
      : one(_mm512_set1_ps(1.0f)),
        minus_shift(_mm512_set1_ps(-line.shift)),
        slope(_mm512_set1_ps(line.slope)),
        offset(_mm512_set1_ps(line.offset)),
        doubt(_mm512_set1_ps(line.doubt)) {
    if constexpr (shifted) __asm__("" : DMLREF_IN_ZMM(one));  // (Else compilers make a subtraction of it.)
  }
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512 value16(__m512 x, std::size_t, __mmask16) const noexcept {
    if constexpr (shifted) x = _mm512_fmadd_ps(x, one, minus_shift);
    return _mm512_fmadd_ps(x, slope, offset);
  }
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE unsigned doubtful16(__m512 value, std::size_t,
                                                                    __mmask16) const noexcept {
    return doubtful_mask(value, doubt);
  }
};

/// A scale and a bias for each element, and the group's part in registers.
struct LinePerElement {
  __m512 shift, rate, rest, slope_doubt, bias_doubt;
  __m512 doubt;  // no element has a larger one
  const float* scale;
  const float* bias;

  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE explicit LinePerElement(const EachRow16& row) noexcept
      : shift(_mm512_set1_ps(row.shift)),
        rate(_mm512_set1_ps(row.rate)),
        rest(_mm512_set1_ps(row.rest)),
        slope_doubt(_mm512_set1_ps(row.slope_doubt)),
        bias_doubt(_mm512_set1_ps(0x1p-9f)),
        doubt(_mm512_set1_ps(row.doubt)),
        scale(row.scale),
        bias(row.bias) {}
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512 slope16(std::size_t i, __mmask16 mask) const noexcept {
    return _mm512_mul_ps(rate, _mm512_maskz_loadu_ps(mask, scale + i));
  }
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512 value16(__m512 x, std::size_t i, __mmask16 mask) const noexcept {
    const __m512 slope = slope16(i, mask);
    const __m512 offset = _mm512_fnmadd_ps(rest, slope, _mm512_maskz_loadu_ps(mask, bias + i));
    return _mm512_fmadd_ps(_mm512_sub_ps(x, shift), slope, offset);
  }
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE unsigned doubtful16(__m512 value, std::size_t i,
                                                                    __mmask16 mask) const noexcept {
    const __m512 of_bias = _mm512_mul_ps(_mm512_abs_ps(_mm512_maskz_loadu_ps(mask, bias + i)), bias_doubt);
    return doubtful_mask(value, _mm512_fmadd_ps(_mm512_abs_ps(slope16(i, mask)), slope_doubt, of_bias));
  }
};

/// The last `count` < 16 values, by way of memory.
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline void store_last(std::byte* to, __m512 value, std::size_t count, __m512 alpha) noexcept {
  alignas(64) std::byte last[16 * sizeof(float)];
  store16<finish>(last, 0, value, alpha);
  std::memcpy(to, last, count * avx2::stored_bytes16<finish>);
}

/// What becomes of a chunk's doubtful values. Seldom: whether there are any shows at the end. Else they are listed: a
/// branch for each 32 elements that is hardly ever taken costs less than a list of masks.
enum class Doubts { seldom, listed };

/// A chunk in the making.
struct Chunk16 {
  std::uint16_t* list;
  std::size_t doubtful;
  std::size_t first;  // number of the next piece's first element
  __m512 least[2];    // magnitudes, in two vectors: one would wait for itself
};

template <Finish finish, Doubts doubts, bool shifted>
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE void piece16(const std::byte* from, std::byte* to, std::size_t count,
                                                           const OneLine<shifted> line, __m512 alpha, bool stream,
                                                           Chunk16& chunk) noexcept {
  constexpr __mmask16 all = 0xFFFF;
  __m512 least[2] = {chunk.least[0], chunk.least[1]};
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    __m512 value[2];
    DMLREF_UNROLL
    for (std::size_t v = 0; v < 2; ++v) {
      const std::size_t at = (i + 16 * v) * sizeof(half);
      value[v] = line.value16(FromHalves::load16(from + at), 0, all);
      if (finish == Finish::identity && stream) {
        _mm256_stream_si256(reinterpret_cast<__m256i*>(to + at), to_halves(value[v]));
      } else {
        store16<finish>(to, i + 16 * v, value[v], alpha);
      }
      if constexpr (doubts == Doubts::seldom) least[v] = _mm512_range_ps(least[v], value[v], lesser_magnitude);
    }
    if (doubts == Doubts::listed && any_below(value[0], value[1], line.doubt)) {
      DMLREF_UNROLL
      for (std::size_t v = 0; v < 2; ++v) {
        chunk.doubtful = avx2::list_doubtful(line.doubtful16(value[v], 0, all), chunk.first + i + 16 * v, SIZE_MAX,
                                             chunk.list, chunk.doubtful);
      }
    }
  }
  for (; i < count; i += 16) {
    const std::size_t left = count - i < 16 ? count - i : 16;
    const std::byte* const at = from + i * sizeof(half);
    const __m256i halves = left < 16 ? full_width::load_last(at, left) : full_width::load16(at);
    const __m512 value = line.value16(_mm512_cvtph_ps(halves), 0, all);
    if (left < 16) {
      store_last<finish>(to + i * sizeof(half), value, left, alpha);
    } else {
      store16<finish>(to, i, value, alpha);
    }
    if constexpr (doubts == Doubts::seldom) {
      least[0] = _mm512_mask_range_ps(least[0], first_of_16(left), least[0], value, lesser_magnitude);
    } else {
      chunk.doubtful = avx2::list_doubtful(line.doubtful16(value, 0, all), chunk.first + i, chunk.first + count,
                                           chunk.list, chunk.doubtful);
    }
  }
  chunk.first += count;
  chunk.least[0] = least[0];
  chunk.least[1] = least[1];
}
template <Finish finish, Doubts doubts, bool shifted>
DMLREF_TARGET_AVX512VNNI inline std::size_t pieces16_with(const Pieces16& pieces) noexcept {
  const OneLine<shifted> line(pieces.line);
  const __m512 alpha = _mm512_set1_ps(pieces.alpha);
  const __m512 infinite = _mm512_set1_ps(std::numeric_limits<float>::infinity());
  Chunk16 chunk{pieces.doubtful, 0, 0, {infinite, infinite}};
  const Piece* const end = pieces.pieces + pieces.count;
  for (const Piece* piece = pieces.pieces; piece != end; ++piece) {
    avx2::ask_for(pieces, *piece);
    std::byte* const to = pieces.to + piece->to;
    const bool stream = pieces.stream && reinterpret_cast<std::uintptr_t>(to) % 32 == 0;
    piece16<finish, doubts>(pieces.from + piece->from, to, piece->count, line, alpha, stream, chunk);
  }
  if constexpr (doubts == Doubts::seldom) {
    return any_below(chunk.least[0], chunk.least[1], line.doubt)
               ? pieces16_with<finish, Doubts::listed, shifted>(pieces)
               : 0;
  }
  return chunk.doubtful;
}
template <Finish finish, bool shifted>
DMLREF_TARGET_AVX512VNNI inline std::size_t pieces16_of(const Pieces16& pieces) noexcept {
  return seldom_doubtful(pieces.line) ? pieces16_with<finish, Doubts::seldom, shifted>(pieces)
                                      : pieces16_with<finish, Doubts::listed, shifted>(pieces);
}
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline std::size_t pieces16(const Pieces16& chunk) noexcept {
  return chunk.line.shift == 0.0f ? pieces16_of<finish, false>(chunk) : pieces16_of<finish, true>(chunk);
}

/// A row's results from its floats. `ahead`: with the sums of the row ahead, whose floats are kept.
template <class Sums, Finish finish, bool ahead, class Row, class Line>
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE std::size_t row_of(const Row& row, const Line line) noexcept {
  constexpr __mmask16 all = 0xFFFF;
  const __m512 alpha = _mm512_set1_ps(row.alpha);
  const std::byte* const halves = row.ahead.elements;  // (copies: for all the compiler knows, a store changes `row`)
  const float* const floats = row.from;
  float* const ahead_floats = row.ahead.floats;
  std::byte* const to = row.to;
  const std::size_t count = row.count;
  std::uint16_t* const list = row.doubtful;
  std::size_t doubtful = 0;
  Sums sums(ahead_floats);
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    __m512 value[2];
    DMLREF_UNROLL
    for (std::size_t v = 0; v < 2; ++v) {
      const std::size_t at = i + 16 * v;
      value[v] = line.value16(_mm512_loadu_ps(floats + at), at, all);
      if constexpr (ahead) sums.template add16<true>(halves + at * sizeof(half), ahead_floats + at);
      store16<finish>(to, at, value[v], alpha);
    }
    if (any_below(value[0], value[1], line.doubt)) {
      DMLREF_UNROLL
      for (std::size_t v = 0; v < 2; ++v) {
        const std::size_t at = i + 16 * v;
        doubtful = avx2::list_doubtful(line.doubtful16(value[v], at, all), at, SIZE_MAX, list, doubtful);
      }
    }
  }
  for (; i < count; i += 16) {
    const std::size_t left = count - i < 16 ? count - i : 16;
    const auto mask = left < 16 ? first_of_16(left) : all;
    const __m512 value = line.value16(_mm512_maskz_loadu_ps(mask, floats + i), i, mask);
    if constexpr (ahead) add_last_halves<Sums, true>(sums, halves + i * sizeof(half), left, ahead_floats + i);
    store_last<finish>(to + i * avx2::stored_bytes16<finish>, value, left, alpha);
    doubtful = avx2::list_doubtful(line.doubtful16(value, i, mask), i, count, list, doubtful);
  }
  if constexpr (ahead) *row.ahead.sums = sums.total();
  static_cast<void>(halves);
  static_cast<void>(ahead_floats);
  return doubtful;
}
template <class Sums, Finish finish, class Row, class Line>
DMLREF_TARGET_AVX512VNNI inline std::size_t row_with(const Row& row, const Line& line) noexcept {
  return row.ahead.elements != nullptr ? row_of<Sums, finish, true>(row, line) : row_of<Sums, finish, false>(row, line);
}
template <Finish finish, class Sums = Eights>
DMLREF_TARGET_AVX512VNNI inline std::size_t row16(const Row16& row) noexcept {
  return row.line.shift == 0.0f ? row_with<Sums, finish>(row, OneLine<false>(row.line))
                                : row_with<Sums, finish>(row, OneLine<true>(row.line));
}
template <Finish finish, class Sums = Eights>
DMLREF_TARGET_AVX512VNNI inline std::size_t each_row16(const EachRow16& row) noexcept {
  return row_with<Sums, finish>(row, LinePerElement(row));
}

// ---- float32 -------------------------------------------------------------------------------------------------------

using full_width::Source;

// (The last two rows of a task have no row ahead, and come as doubles alone. Of rows nearby nothing is asked for.)
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline float row32(const Row32& row) noexcept {
  if (row.from == nullptr && row.ahead.next == row.ahead.elements) return full_width::row32<finish>(row);
  if (row.ahead.elements == nullptr) return avx512::row32<finish>(row);
  return row.line.shift == 0.0 ? full_width::row32_of<finish, false, Source::doubles_and_far_sums>(row)
                               : full_width::row32_of<finish, true, Source::doubles_and_far_sums>(row);
}
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline float each_row32(const EachRow32& row) noexcept {
  if (row.from == nullptr && row.ahead.next == row.ahead.elements) return full_width::each_row32<finish>(row);
  if (row.ahead.elements == nullptr) {
    return row.stream ? avx512::each_row32<finish, true>(row) : avx512::each_row32<finish>(row);
  }
  return row.group->shift == 0.0 ? full_width::each_row32_of<finish, false, Source::doubles_and_far_sums>(row)
                                 : full_width::each_row32_of<finish, true, Source::doubles_and_far_sums>(row);
}

DMLREF_TARGET_AVX512VNNI inline void store_past(const std::byte* from, std::byte* to, std::size_t bytes) noexcept {
  for (std::size_t i = 0; i < bytes; i += 64) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), _mm512_load_si512(from + i));
  }
}

inline const Kernels& kernels() noexcept {
  using enum Finish;
  static constexpr Kernels table{
      .widen = widen,
      .sums = avx2::sums,
      .shifted_sums = avx2::shifted_sums,
      .piece_sums = full_width::piece_sums,
      .row32 = {row32<identity>, row32<relu>, row32<leaky_relu>, row32<unit>, row32<values>},
      .each_row32 = {each_row32<identity>, each_row32<relu>, each_row32<leaky_relu>, each_row32<unit>,
                     each_row32<values>},
      .pieces32 = {pieces32<identity>, pieces32<relu>, pieces32<leaky_relu>, pieces32<unit>},
      .row16 = {row16<identity>, row16<relu>, row16<leaky_relu>, row16<unit>, row16<values>},
      .pieces16 = {pieces16<identity>, pieces16<relu>, pieces16<leaky_relu>, pieces16<unit>},
      .each_row16 = {each_row16<identity>, each_row16<relu>, each_row16<leaky_relu>, each_row16<unit>,
                     each_row16<values>},
      .near = 4096,
      .each_from_doubles = true,
      .streamed_sums_ahead = true,
      .near_sums_ahead = true,
      .half_sums_ahead = true,
      .asks_for_halves = false,
      .half_sums = half_sums<Eights>,
      .pieces32_and_sums = {full_width::pieces32_and_sums<identity>, full_width::pieces32_and_sums<relu>,
                            full_width::pieces32_and_sums<leaky_relu>, full_width::pieces32_and_sums<unit>},
      .two_sums = {nullptr, two_half_sums<Eights>},
      .store_past = store_past};
  return table;
}

}  // namespace fast::normalization::avx512::two_pipes
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"

#endif  // DMLREF_ARCH_X86_64
