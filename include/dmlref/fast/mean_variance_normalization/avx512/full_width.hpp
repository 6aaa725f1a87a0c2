// full_width.hpp: kernels for CPUs whose pipes take 512 bits at once: conversions of eight, and a row's results
// together with the sums of another.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "dmlref/fast/mean_variance_normalization/avx2.hpp"
#include "dmlref/fast/mean_variance_normalization/avx512.hpp"
#include "dmlref/fast/mean_variance_normalization/kernels.hpp"

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::normalization::avx512::full_width {

// ---- Sums ----------------------------------------------------------------------------------------------------------

/// The lanes in registers: 0-7 and 8-15.
struct Lanes {
  __m512d sum[2];
  __m512d square[2];

  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static __m512d widen8(const float* floats) noexcept {
    return _mm512_cvtps_pd(_mm256_loadu_ps(floats));
  }
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static void ask(const std::byte* line) noexcept {
    __builtin_prefetch(line);
  }
};
DMLREF_TARGET_AVX512VNNI inline void clear(Lanes& lanes) noexcept {
  lanes.sum[0] = lanes.sum[1] = lanes.square[0] = lanes.square[1] = _mm512_setzero_pd();
}
DMLREF_TARGET_AVX512VNNI inline void add8(Lanes& lanes, std::size_t v, __m512d x) noexcept {
  lanes.sum[v] = _mm512_add_pd(lanes.sum[v], x);
  lanes.square[v] = _mm512_fmadd_pd(x, x, lanes.square[v]);
}
/// Adds sixteen elements; `wide` takes them as doubles.
template <bool keep>
DMLREF_TARGET_AVX512VNNI inline void add16(Lanes& lanes, const std::byte* floats, double* wide) noexcept {
  DMLREF_UNROLL
  for (std::size_t v = 0; v < 2; ++v) {
    const __m512d x = _mm512_cvtps_pd(_mm256_loadu_ps(avx2::floats_at(floats, 8 * v)));
    if constexpr (keep) _mm512_storeu_pd(wide + 8 * v, x);
    add8(lanes, v, x);
  }
  static_cast<void>(wide);
}
constexpr __mmask16 first_of_16(std::size_t count) noexcept { return static_cast<__mmask16>((1u << count) - 1); }
/// Adds the last `count` < 16 elements; what is left of them is taken as zeros, which change no sum.
DMLREF_TARGET_AVX512VNNI inline void add_last(Lanes& lanes, const std::byte* floats, std::size_t count,
                                              double* wide) noexcept {
  const __m512 x = _mm512_maskz_loadu_ps(first_of_16(count), floats);
  const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(x));
  const __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1));
  _mm512_storeu_pd(wide, low);
  _mm512_storeu_pd(wide + 8, high);
  add8(lanes, 0, low);
  add8(lanes, 1, high);
}

/// Lanes in the order of reference::sum_lanes; those of the squares in the upper half.
DMLREF_TARGET_AVX512VNNI inline SumAndSquare total(const Lanes& lanes) noexcept {
  const __m512d sum = _mm512_add_pd(lanes.sum[0], lanes.sum[1]);
  const __m512d square = _mm512_add_pd(lanes.square[0], lanes.square[1]);
  const __m512d fours =
      _mm512_add_pd(_mm512_shuffle_f64x2(sum, square, 0b01'00'01'00), _mm512_shuffle_f64x2(sum, square, 0b11'10'11'10));
  const __m512d twos = _mm512_add_pd(fours, _mm512_permutex_pd(fours, 0b11'10'11'10));
  const __m512d ones = _mm512_add_pd(twos, _mm512_permute_pd(twos, 0xFF));
  return {_mm512_cvtsd_f64(ones), _mm256_cvtsd_f64(_mm512_extractf64x4_pd(ones, 1))};
}

DMLREF_TARGET_AVX512VNNI inline SumAndSquare sums(const std::byte* floats, std::size_t count, double* wide,
                                                  const std::byte* output) noexcept {
  // (One chunk that nobody overlaps is as fast in fours.)
  if (wide == nullptr || output != nullptr) return avx2::sums(floats, count, wide, output);
  Lanes lanes;
  clear(lanes);
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) add16<true>(lanes, floats + i * sizeof(float), wide + i);
  if (i < count) add_last(lanes, floats + i * sizeof(float), count - i, wide + i);
  return total(lanes);
}

template <bool ask>
DMLREF_TARGET_AVX512VNNI inline SumAndSquare piece_sums_of(const std::byte* from, const Piece* pieces,
                                                           std::size_t count, std::int64_t ahead) noexcept {
  Lanes lanes;
  clear(lanes);
  for (std::size_t p = 0; p < count; ++p) {
    const std::byte* const start = from + pieces[p].from;
    const std::size_t bytes = pieces[p].count * sizeof(float);
    for (std::size_t at = 0; at < bytes; at += 64) {
      if constexpr (ask) _mm_prefetch(reinterpret_cast<const char*>(start + at) + ahead, _MM_HINT_T1);
      add16<false>(lanes, start + at, nullptr);
    }
  }
  return total(lanes);
}
DMLREF_TARGET_AVX512VNNI inline SumAndSquare piece_sums(const std::byte* from, const Piece* pieces, std::size_t count,
                                                        std::int64_t ahead) noexcept {
  return ahead != 0 ? piece_sums_of<true>(from, pieces, count, ahead) : piece_sums_of<false>(from, pieces, count, 0);
}

/// Sixteen halves, widened twice.
DMLREF_TARGET_AVX512VNNI inline void add16(Lanes& lanes, __m256i halves) noexcept {
  const __m512 x = _mm512_cvtph_ps(halves);
  add8(lanes, 0, _mm512_cvtps_pd(_mm512_castps512_ps256(x)));
  add8(lanes, 1, _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1)));
}
DMLREF_TARGET_AVX512VNNI inline __m256i load16(const std::byte* halves) noexcept {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(halves));
}
DMLREF_TARGET_AVX512VNNI inline __m256i load_last(const std::byte* halves, std::size_t count) noexcept {
  return _mm256_maskz_loadu_epi16(first_of_16(count), halves);
}
DMLREF_TARGET_AVX512VNNI inline SumAndSquare half_sums(const std::byte* from, const Piece* pieces, std::size_t count,
                                                       std::int64_t ahead) noexcept {
  Lanes lanes;
  clear(lanes);
  for (std::size_t p = 0; p < count; ++p) {
    const std::byte* const start = from + pieces[p].from;
    const std::size_t size = pieces[p].count;
    if (ahead != 0) prefetch<0>(start + ahead, size * sizeof(half));
    std::size_t i = 0;
    for (; i + 16 <= size; i += 16) add16(lanes, load16(start + i * sizeof(half)));
    if (i < size) add16(lanes, load_last(start + i * sizeof(half), size - i));
  }
  return total(lanes);
}

DMLREF_TARGET_AVX512VNNI inline void add16_of(Lanes& lanes, const std::byte* from, const float*) noexcept {
  add16<false>(lanes, from, nullptr);
}
DMLREF_TARGET_AVX512VNNI inline void add16_of(Lanes& lanes, const std::byte* from, const half*) noexcept {
  add16(lanes, load16(from));
}
/// Two chunks of the same pieces, the second `beside` bytes further on: one waits while the other adds.
template <class T>
DMLREF_TARGET_AVX512VNNI inline void two_sums(const std::byte* from, std::int64_t beside, const Piece* pieces,
                                              std::size_t count, std::int64_t ahead, SumAndSquare* sums) noexcept {
  constexpr T* type = nullptr;
  Lanes first;
  Lanes second;
  clear(first);
  clear(second);
  for (std::size_t p = 0; p < count; ++p) {
    const std::byte* const start = from + pieces[p].from;
    const std::size_t bytes = pieces[p].count * sizeof(T);
    if (ahead != 0) {
      prefetch<0>(start + ahead, bytes);
      prefetch<0>(start + beside + ahead, bytes);
    }
    for (std::size_t at = 0; at < bytes; at += 16 * sizeof(T)) {
      add16_of(first, start + at, type);
      add16_of(second, start + beside + at, type);
    }
  }
  sums[0] = total(first);
  sums[1] = total(second);
}

// ---- Results -------------------------------------------------------------------------------------------------------

template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline float least_of(Low<finish> (&low)[2]) noexcept {
  collect(low[0], low[1].v);
  return avx2::least_of(magnitudes(low[0]));
}

/// A Line32 in registers: the same for all elements of a row.
template <bool shifted>
struct OneLine {
  __m512d shift, slope, offset;

  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE explicit OneLine(const Line32& line) noexcept
      : shift(_mm512_set1_pd(line.shift)), slope(_mm512_set1_pd(line.slope)), offset(_mm512_set1_pd(line.offset)) {}
  /// The values of elements `i` to i + 7.
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512d value8(__m512d x, std::size_t) const noexcept {
    if constexpr (shifted) x = _mm512_sub_pd(x, shift);
    return _mm512_fmadd_pd(x, slope, offset);
  }
  /// Those of them that the row has.
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512d last8(__m512d x, std::size_t i, __mmask8) const noexcept {
    return value8(x, i);
  }
};

/// A scale and a bias for each element, and the group's part in registers.
template <bool shifted>
struct LinePerElement {
  __m512d shift, rate, rest;
  const double* scale;
  const double* bias;

  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE explicit LinePerElement(const EachRow32& row) noexcept
      : shift(_mm512_set1_pd(row.group->shift)),
        rate(_mm512_set1_pd(row.group->rate)),
        rest(_mm512_set1_pd(row.group->rest)),
        scale(row.scale),
        bias(row.bias) {}
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512d value8(__m512d x, std::size_t i) const noexcept {
    return value8_of(x, _mm512_loadu_pd(scale + i), _mm512_loadu_pd(bias + i));
  }
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512d last8(__m512d x, std::size_t i, __mmask8 mask) const noexcept {
    return value8_of(x, _mm512_maskz_loadu_pd(mask, scale + i), _mm512_maskz_loadu_pd(mask, bias + i));
  }

 private:
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512d value8_of(__m512d x, __m512d s, __m512d b) const noexcept {
    const __m512d slope = _mm512_mul_pd(rate, s);
    const __m512d offset = _mm512_fnmadd_pd(rest, slope, b);
    if constexpr (shifted) x = _mm512_sub_pd(x, shift);
    return _mm512_fmadd_pd(x, slope, offset);
  }
};

/// Where the elements of a row come from; the last two also form the sums of another row, whose lines may be far away:
/// then those that are wanted next are asked for.
enum class Source { floats, doubles, doubles_and_sums, doubles_and_far_sums };
template <Source source>
DMLREF_TARGET_AVX512VNNI inline __m512d load8(const std::byte* floats, const double* wide, std::size_t at) noexcept {
  if constexpr (source == Source::floats) return _mm512_cvtps_pd(_mm256_loadu_ps(avx2::floats_at(floats, at)));
  return _mm512_loadu_pd(wide + at);
}

/// The last `count` < 16 values of a row, by way of memory.
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline void store_last(std::byte* to, std::size_t count, const __m512d (&value)[2],
                                                __m512d alpha, Low<finish> (&low)[2]) noexcept {
  // (What is left of them becomes infinite: it is nobody's least magnitude.)
  alignas(64) std::byte last[16 * sizeof(double)];
  const __mmask16 mask = first_of_16(count);
  const __m512d infinite = _mm512_set1_pd(std::numeric_limits<double>::infinity());
  store8<finish>(last, 0, _mm512_mask_mov_pd(infinite, static_cast<__mmask8>(mask), value[0]), alpha, low[0], false);
  store8<finish>(last, 8, _mm512_mask_mov_pd(infinite, static_cast<__mmask8>(mask >> 8), value[1]), alpha, low[1],
                 false);
  std::memcpy(to, last, count * avx2::stored_bytes32<finish>);
}

/// A Row32 with OneLine or an EachRow32 with LinePerElement. `Sums`: lanes that other CPUs add faster.
template <Finish finish, Source source, class Sums = Lanes, class Row, class Line>
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE float row_of(const Row& row, const Line line) noexcept {
  const __m512d alpha = _mm512_set1_pd(row.alpha);
  const bool stream = row.stream && reinterpret_cast<std::uintptr_t>(row.to) % 32 == 0;
  const std::byte* const from = row.from;  // (copies: for all the compiler knows, a store changes `row`)
  double* const wide = row.wide;
  std::byte* const to = row.to;
  const std::size_t count = row.count;
  const std::byte* const summed = row.ahead.elements;
  const std::byte* const next = row.ahead.next;
  const std::byte* const output = row.ahead.output;
  constexpr bool has_sums = source == Source::doubles_and_sums || source == Source::doubles_and_far_sums;
  Low<finish> least[2];
  clear(least[0]);
  clear(least[1]);
  Sums lanes;
  clear(lanes);
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    __m512d value[2];
    DMLREF_UNROLL
    for (std::size_t v = 0; v < 2; ++v) {
      value[v] = line.value8(load8<source>(from, wide, i + 8 * v), i + 8 * v);
    }
    if constexpr (has_sums) {
      if constexpr (source == Source::doubles_and_far_sums) {
        Sums::ask(next + i * sizeof(float));
      } else if constexpr (finish == Finish::values) {
        __builtin_prefetch(next + i * sizeof(float));
        __builtin_prefetch(output + i * sizeof(float), 1);
      }
      add16<true>(lanes, summed + i * sizeof(float), wide + i);
    }
    DMLREF_UNROLL
    for (std::size_t v = 0; v < 2; ++v) store8<finish>(to, i + 8 * v, value[v], alpha, least[v], stream);
  }
  if (i < count) {
    const __mmask16 mask = first_of_16(count - i);
    __m512d x[2];
    if constexpr (source == Source::floats) {
      const __m512 floats = _mm512_maskz_loadu_ps(mask, avx2::floats_at(from, i));
      x[0] = _mm512_cvtps_pd(_mm512_castps512_ps256(floats));
      x[1] = _mm512_cvtps_pd(_mm512_extractf32x8_ps(floats, 1));
    } else {
      x[0] = _mm512_loadu_pd(wide + i);
      x[1] = _mm512_loadu_pd(wide + i + 8);
    }
    if constexpr (has_sums) {
      add_last(lanes, summed + i * sizeof(float), count - i, wide + i);
    }
    const __m512d value[2] = {line.last8(x[0], i, static_cast<__mmask8>(mask)),
                              line.last8(x[1], i + 8, static_cast<__mmask8>(mask >> 8))};
    // (Copies: what a call knows the address of would be stored in each turn of the loop.)
    Low<finish> last[2] = {least[0], least[1]};
    store_last<finish>(to + i * avx2::stored_bytes32<finish>, count - i, value, alpha, last);
    least[0] = last[0];
    least[1] = last[1];
  }
  if constexpr (has_sums) *row.ahead.sums = total(lanes);
  return least_of<finish>(least);
}
template <Finish finish, bool shifted, Source source>
DMLREF_TARGET_AVX512VNNI inline float row32_of(const Row32& row) noexcept {
  return row_of<finish, source>(row, OneLine<shifted>(row.line));
}
template <Finish finish, bool shifted>
DMLREF_TARGET_AVX512VNNI inline float row32_from(const Row32& row) noexcept {
  if (row.wide == nullptr) return row32_of<finish, shifted, Source::floats>(row);
  return row.ahead.elements != nullptr ? row32_of<finish, shifted, Source::doubles_and_sums>(row)
                                       : row32_of<finish, shifted, Source::doubles>(row);
}
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline float row32(const Row32& row) noexcept {
  if (row.next != nullptr) return avx512::row32<finish>(row);  // (it asks for these lines)
  return row.line.shift == 0.0 ? row32_from<finish, false>(row) : row32_from<finish, true>(row);
}

/// `ask`: for lines of the input `near` further on, else for those of the output that are wanted next.
template <Finish finish, bool shifted, bool ask>
DMLREF_TARGET_AVX512VNNI inline float pieces32_of(const Pieces32& chunk) noexcept {
  const OneLine<shifted> line(chunk.line);
  const __m512d alpha = _mm512_set1_pd(chunk.alpha);
  const std::int64_t near = chunk.near;
  Low<finish> least[2];
  clear(least[0]);
  clear(least[1]);
  for (std::size_t p = 0; p < chunk.count; ++p) {
    const Piece piece = chunk.pieces[p];
    const std::byte* const from = chunk.from + piece.from;
    std::byte* const to = chunk.to + piece.to;
    const bool stream = chunk.stream && reinterpret_cast<std::uintptr_t>(to) % 32 == 0;
    const std::byte* const next = near != 0 ? from + near : to + chunk.ahead;
    for (std::size_t i = 0; i < piece.count; i += 16) {
      if constexpr (ask) __builtin_prefetch(next + i * sizeof(float));
      DMLREF_UNROLL
      for (std::size_t v = 0; v < 2; ++v) {
        const __m512d x = load8<Source::floats>(from, nullptr, i + 8 * v);
        store8<finish>(to, i + 8 * v, line.value8(x, i + 8 * v), alpha, least[v], stream);
      }
    }
  }
  return least_of<finish>(least);
}
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline float pieces32(const Pieces32& chunk) noexcept {
  const bool ask = chunk.near != 0 || (chunk.ahead != 0 && !chunk.stream);
  if (chunk.line.shift == 0.0) {
    return ask ? pieces32_of<finish, false, true>(chunk) : pieces32_of<finish, false, false>(chunk);
  }
  return ask ? pieces32_of<finish, true, true>(chunk) : pieces32_of<finish, true, false>(chunk);
}

/// `ask`: for what is summed next. (Not for the output: it is faster without.)
template <Finish finish, bool shifted, bool ask, class Sums = Lanes>
DMLREF_TARGET_AVX512VNNI inline float pieces32_and_sums_of(const Pieces32& chunk) noexcept {
  const OneLine<shifted> line(chunk.line);
  const __m512d alpha = _mm512_set1_pd(chunk.alpha);
  const std::int64_t summed_ahead = chunk.summed_ahead;
  Low<finish> least[2];
  clear(least[0]);
  clear(least[1]);
  Sums lanes;
  clear(lanes);
  for (std::size_t p = 0; p < chunk.count; ++p) {
    const Piece piece = chunk.pieces[p];
    const std::byte* const from = chunk.from + piece.from;
    const std::byte* const summed = chunk.summed + piece.from;
    std::byte* const to = chunk.to + piece.to;
    const bool stream = chunk.stream && reinterpret_cast<std::uintptr_t>(to) % 32 == 0;
    for (std::size_t i = 0; i < piece.count; i += 16) {
      if constexpr (ask) {
        _mm_prefetch(reinterpret_cast<const char*>(summed + i * sizeof(float)) + summed_ahead, _MM_HINT_T1);
      }
      __m512d value[2];
      DMLREF_UNROLL
      for (std::size_t v = 0; v < 2; ++v) {
        value[v] = line.value8(Sums::widen8(avx2::floats_at(from, i + 8 * v)), i + 8 * v);
      }
      add16<false>(lanes, summed + i * sizeof(float), nullptr);
      DMLREF_UNROLL
      for (std::size_t v = 0; v < 2; ++v) store8<finish>(to, i + 8 * v, value[v], alpha, least[v], stream);
    }
  }
  *chunk.sums = total(lanes);
  return least_of<finish>(least);
}
template <Finish finish, class Sums = Lanes>
DMLREF_TARGET_AVX512VNNI inline float pieces32_and_sums(const Pieces32& chunk) noexcept {
  const bool ask = chunk.summed_ahead != 0;
  if (chunk.line.shift == 0.0) {
    return ask ? pieces32_and_sums_of<finish, false, true, Sums>(chunk)
               : pieces32_and_sums_of<finish, false, false, Sums>(chunk);
  }
  return ask ? pieces32_and_sums_of<finish, true, true, Sums>(chunk)
             : pieces32_and_sums_of<finish, true, false, Sums>(chunk);
}

template <Finish finish, bool shifted, Source source>
DMLREF_TARGET_AVX512VNNI inline float each_row32_of(const EachRow32& row) noexcept {
  return row_of<finish, source>(row, LinePerElement<shifted>(row));
}
template <Finish finish, bool shifted>
DMLREF_TARGET_AVX512VNNI inline float each_row32_from(const EachRow32& row) noexcept {
  if (row.wide == nullptr) return each_row32_of<finish, shifted, Source::floats>(row);
  return row.ahead.elements != nullptr ? each_row32_of<finish, shifted, Source::doubles_and_sums>(row)
                                       : each_row32_of<finish, shifted, Source::doubles>(row);
}
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline float each_row32(const EachRow32& row) noexcept {
  if (row.next != nullptr) return avx512::each_row32<finish>(row);  // (it asks for these lines)
  return row.group->shift == 0.0 ? each_row32_from<finish, false>(row) : each_row32_from<finish, true>(row);
}

// ---- float16 -------------------------------------------------------------------------------------------------------

/// As quick16, with the sums of `halves`.
template <bool shifted>
DMLREF_TARGET_AVX512VNNI inline __m256i quick16_and_sums(const std::byte* from, std::byte* to, std::size_t count,
                                                         const Line16& line, const std::byte* halves,
                                                         SumAndSquare& sums) noexcept {
  const avx512::LineVectors v = avx512::vectors_of(line, 0);
  Lanes lanes;
  clear(lanes);
  __m256i least = no_magnitudes();
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const std::size_t at = i * sizeof(half);
    const __m256i result = to_halves(value16<FromHalves, shifted>(from + at, v));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at), result);
    least = _mm256_min_epu16(least, avx2::magnitude16(result));
    add16(lanes, load16(halves + at));
  }
  if (i < count) {
    const std::size_t at = i * sizeof(half);
    quick16<FromHalves, shifted>(from + at, to + at, count - i, line, least);
    add16(lanes, load_last(halves + at, count - i));
  }
  sums = total(lanes);
  return least;
}
DMLREF_TARGET_AVX512VNNI inline std::size_t row16_and_sums(const Pieces16& row, const std::byte* halves,
                                                           SumAndSquare& sums) noexcept {
  const Piece& piece = row.pieces[0];
  if (!seldom_doubtful(row.line)) {
    const Piece same{0, 0, piece.count};
    sums = half_sums(halves, &same, 1, 0);
    return pieces16<Finish::identity>(row);
  }
  const std::byte* const from = row.from + piece.from;
  std::byte* const to = row.to + piece.to;
  const __m256i least = row.line.shift == 0.0f ? quick16_and_sums<false>(from, to, piece.count, row.line, halves, sums)
                                               : quick16_and_sums<true>(from, to, piece.count, row.line, halves, sums);
  return any_low16(least, row.line) ? pieces16<Finish::identity>(row) : 0;
}

}  // namespace fast::normalization::avx512::full_width
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"

#endif  // DMLREF_ARCH_X86_64
