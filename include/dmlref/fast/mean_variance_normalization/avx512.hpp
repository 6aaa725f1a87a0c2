// avx512.hpp: the normalization kernels that gain from 512 bits; the others are AVX2's. One set serves all CPU models:
// results of one row (or group) are formed in one loop with the sums of another, as the two wait for different things.
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
#include "dmlref/fast/mean_variance_normalization/kernels.hpp"

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::normalization::avx512 {

DMLREF_TARGET_AVX512VNNI inline void widen(const std::byte* halves, float* floats, std::size_t count) noexcept {
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m256i h = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(halves + i * 2));
    _mm512_storeu_ps(floats + i, _mm512_cvtph_ps(h));
  }
  if (i < count) avx2::widen(halves + i * 2, floats + i, count - i);
}

/// The smallest magnitudes so far: of results, or of values that an activation of its own will round. (Rounding keeps
/// their order.)
struct LowFloats {
  __m256 v;
};
struct LowDoubles {
  __m512d v;
};
template <Finish finish>
using Low = std::conditional_t<finish == Finish::values, LowDoubles, LowFloats>;

constexpr int lesser_magnitude = 0b0110;
DMLREF_TARGET_AVX512VNNI inline void clear(LowFloats& low) noexcept {
  low.v = _mm256_set1_ps(std::numeric_limits<float>::infinity());
}
DMLREF_TARGET_AVX512VNNI inline void clear(LowDoubles& low) noexcept {
  low.v = _mm512_set1_pd(std::numeric_limits<double>::infinity());
}
DMLREF_TARGET_AVX512VNNI inline void collect(LowFloats& low, __m256 x) noexcept {
  low.v = _mm256_range_ps(low.v, x, lesser_magnitude);
}
DMLREF_TARGET_AVX512VNNI inline void collect(LowDoubles& low, __m512d x) noexcept {
  low.v = _mm512_range_pd(low.v, x, lesser_magnitude);
}
DMLREF_TARGET_AVX512VNNI inline __m256 magnitudes(LowFloats low) noexcept { return avx2::absolute(low.v); }
DMLREF_TARGET_AVX512VNNI inline __m256 magnitudes(LowDoubles low) noexcept {
  return avx2::absolute(_mm512_cvtpd_ps(low.v));
}

/// The least of a row's magnitudes, from two collections of them.
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline float least_of(Low<finish> (&low)[2]) noexcept {
  collect(low[0], low[1].v);
  return avx2::least_of(magnitudes(low[0]));
}

/// Eight values rounded, finished and stored; `least` collects the smallest magnitude.
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline void store8(std::byte* to, std::size_t i, __m512d value, __m512d alpha,
                                            Low<finish>& least, bool stream) noexcept {
  if constexpr (finish == Finish::values) {
    collect(least, value);
    _mm512_storeu_pd(reinterpret_cast<double*>(to) + i, value);
  } else {
    const __m256 rounded = _mm512_cvtpd_ps(value);
    collect(least, rounded);
    __m256 result = rounded;
    if constexpr (finish == Finish::relu) result = _mm256_max_ps(_mm256_setzero_ps(), rounded);
    if constexpr (finish == Finish::unit) {
      result = _mm256_max_ps(_mm256_setzero_ps(), _mm256_min_ps(_mm256_set1_ps(1.0f), rounded));
    }
    if constexpr (finish == Finish::leaky_relu) {
      const __mmask8 negative = _mm512_cmp_pd_mask(value, _mm512_setzero_pd(), _CMP_LT_OQ);
      result = _mm512_cvtpd_ps(_mm512_mask_mul_pd(value, negative, value, alpha));
    }
    if (stream) {
      _mm256_stream_ps(reinterpret_cast<float*>(to) + i, result);
    } else {
      _mm256_storeu_ps(reinterpret_cast<float*>(to) + i, result);
    }
  }
  static_cast<void>(alpha);
  static_cast<void>(stream);
}

constexpr __mmask16 first_of_16(std::size_t count) noexcept { return static_cast<__mmask16>((1u << count) - 1); }

// ---- Sums ----------------------------------------------------------------------------------------------------------

/// The lanes in registers: 0-7 and 8-15.
struct Lanes {
  __m512d sum[2];
  __m512d square[2];
};
DMLREF_TARGET_AVX512VNNI inline void clear(Lanes& lanes) noexcept {
  lanes.sum[0] = lanes.sum[1] = lanes.square[0] = lanes.square[1] = _mm512_setzero_pd();
}
DMLREF_TARGET_AVX512VNNI inline void add8(Lanes& lanes, std::size_t v, __m512d x) noexcept {
  lanes.sum[v] = _mm512_add_pd(lanes.sum[v], x);
  lanes.square[v] = _mm512_fmadd_pd(x, x, lanes.square[v]);
}
/// Adds sixteen floats; `wide` takes them as doubles.
template <bool keep>
DMLREF_TARGET_AVX512VNNI inline void add_floats16(Lanes& lanes, const std::byte* floats, double* wide) noexcept {
  DMLREF_UNROLL
  for (std::size_t v = 0; v < 2; ++v) {
    const __m512d x = _mm512_cvtps_pd(_mm256_loadu_ps(avx2::floats_at(floats, 8 * v)));
    if constexpr (keep) _mm512_storeu_pd(wide + 8 * v, x);
    add8(lanes, v, x);
  }
  static_cast<void>(wide);
}
/// Adds the last `count` < 16 floats; what is left of them is taken as zeros, which change no sum.
DMLREF_TARGET_AVX512VNNI inline void add_last_floats(Lanes& lanes, const std::byte* floats, std::size_t count,
                                                     double* wide) noexcept {
  alignas(64) std::byte last[16 * sizeof(float)];
  _mm512_store_ps(last, _mm512_maskz_loadu_ps(first_of_16(count), floats));
  add_floats16<true>(lanes, last, wide);
}
/// Adds sixteen halves; `floats` takes them as floats. (From memory eight become floats in one operation, sixteen in
/// two, and their upper half would want a third.)
template <bool keep>
DMLREF_TARGET_AVX512VNNI inline void add_halves16(Lanes& lanes, const std::byte* halves, float* floats) noexcept {
  DMLREF_UNROLL
  for (std::size_t v = 0; v < 2; ++v) {
    const __m256 x = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(halves + 16 * v)));
    if constexpr (keep) _mm256_storeu_ps(floats + 8 * v, x);
    add8(lanes, v, _mm512_cvtps_pd(x));
  }
  static_cast<void>(floats);
}
DMLREF_TARGET_AVX512VNNI inline __m256i load_last_halves(const std::byte* halves, std::size_t count) noexcept {
  return _mm256_maskz_loadu_epi16(first_of_16(count), halves);
}
/// The last `count` < 16 halves.
template <bool keep>
DMLREF_TARGET_AVX512VNNI inline void add_last_halves(Lanes& lanes, const std::byte* halves, std::size_t count,
                                                     float* floats) noexcept {
  alignas(32) std::byte last[16 * sizeof(half)];
  _mm256_store_si256(reinterpret_cast<__m256i*>(last), load_last_halves(halves, count));
  add_halves16<keep>(lanes, last, floats);
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

DMLREF_TARGET_AVX512VNNI inline SumAndSquare half_sums(const std::byte* from, const Piece* pieces, std::size_t count,
                                                       std::int64_t ahead) noexcept {
  Lanes lanes;
  clear(lanes);
  for (std::size_t p = 0; p < count; ++p) {
    const std::byte* const start = from + pieces[p].from;
    const std::size_t size = pieces[p].count;
    if (ahead != 0) prefetch<0>(start + ahead, size * sizeof(half));
    std::size_t i = 0;
    for (; i + 16 <= size; i += 16) add_halves16<false>(lanes, start + i * sizeof(half), nullptr);
    if (i < size) add_last_halves<false>(lanes, start + i * sizeof(half), size - i, nullptr);
  }
  return total(lanes);
}

// ---- Results of float32 --------------------------------------------------------------------------------------------

/// A Line32 in registers: the same for all elements of a row. (x - shift is fma(x, 1, -shift), the same number:
/// additions compete with conversions.)
struct OneLine32 {
  __m512d one, minus_shift, slope, offset;

  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE explicit OneLine32(const Line32& line) noexcept
      : one(_mm512_set1_pd(1.0)),
        minus_shift(_mm512_set1_pd(-line.shift)),
        slope(_mm512_set1_pd(line.slope)),
        offset(_mm512_set1_pd(line.offset)) {
    __asm__("" : DMLREF_IN_ZMM(one));  // (Else compilers make a subtraction of it.)
  }
  /// The values of elements `i` to i + 7, of which the row has those in `mask`.
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512d value8(__m512d x, std::size_t, __mmask8) const noexcept {
    return _mm512_fmadd_pd(_mm512_fmadd_pd(x, one, minus_shift), slope, offset);
  }
};

/// A scale and a bias for each element, and the group's part in registers.
struct LinePerElement32 {
  __m512d shift, rate, rest;
  const double* scale;
  const double* bias;

  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE explicit LinePerElement32(const EachRow32& row) noexcept
      : shift(_mm512_set1_pd(row.group->shift)),
        rate(_mm512_set1_pd(row.group->rate)),
        rest(_mm512_set1_pd(row.group->rest)),
        scale(row.scale),
        bias(row.bias) {}
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512d value8(__m512d x, std::size_t i, __mmask8 mask) const noexcept {
    const __m512d slope = _mm512_mul_pd(rate, _mm512_maskz_loadu_pd(mask, scale + i));
    const __m512d offset = _mm512_fnmadd_pd(rest, slope, _mm512_maskz_loadu_pd(mask, bias + i));
    return _mm512_fmadd_pd(_mm512_sub_pd(x, shift), slope, offset);
  }
};

/// Where the elements of a row come from; the last also forms the sums of another row.
enum class Source { floats, doubles, doubles_and_sums };

/// The last `count` < 16 values of a row, by way of memory.
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline void store_last32(std::byte* to, std::size_t count, const __m512d (&value)[2],
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

/// A Row32 with OneLine32 or an EachRow32 with LinePerElement32.
template <Finish finish, Source source, class Row, class Line>
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE float row32_from(const Row& row, const Line line) noexcept {
  const __m512d alpha = _mm512_set1_pd(row.alpha);
  const bool stream = row.stream && reinterpret_cast<std::uintptr_t>(row.to) % 32 == 0;
  const std::byte* const from = row.from;  // (copies: for all the compiler knows, a store changes `row`)
  double* const wide = row.wide;
  std::byte* const to = row.to;
  const std::size_t count = row.count;
  const std::byte* const summed = row.ahead.elements;
  constexpr bool has_sums = source == Source::doubles_and_sums;
  const std::byte* next = has_sums ? row.ahead.next : row.next;
  if (next == nullptr) next = source == Source::floats ? from : reinterpret_cast<const std::byte*>(wide);
  const std::byte* const output = row.ahead.output != nullptr ? row.ahead.output : next;
  constexpr __mmask8 all = 0xFF;
  Low<finish> least[2];
  clear(least[0]);
  clear(least[1]);
  Lanes lanes;
  clear(lanes);
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    // (Into the second cache where the first one is full of doubles.)
    if constexpr (has_sums && finish != Finish::values) {
      _mm_prefetch(reinterpret_cast<const char*>(next) + i * sizeof(float), _MM_HINT_T1);
    } else {
      __builtin_prefetch(next + i * sizeof(float));
    }
    if constexpr (has_sums && finish == Finish::values) __builtin_prefetch(output + i * sizeof(float), 1);
    __m512d value[2];
    DMLREF_UNROLL
    for (std::size_t v = 0; v < 2; ++v) {
      const std::size_t at = i + 8 * v;
      const __m512d x = source == Source::floats ? _mm512_cvtps_pd(_mm256_loadu_ps(avx2::floats_at(from, at)))
                                                 : _mm512_loadu_pd(wide + at);
      value[v] = line.value8(x, at, all);
    }
    if constexpr (has_sums) add_floats16<true>(lanes, summed + i * sizeof(float), wide + i);
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
    if constexpr (has_sums) add_last_floats(lanes, summed + i * sizeof(float), count - i, wide + i);
    const __m512d value[2] = {line.value8(x[0], i, static_cast<__mmask8>(mask)),
                              line.value8(x[1], i + 8, static_cast<__mmask8>(mask >> 8))};
    // (Copies: what a call knows the address of would be stored in each turn of the loop.)
    Low<finish> last[2] = {least[0], least[1]};
    store_last32<finish>(to + i * avx2::stored_bytes32<finish>, count - i, value, alpha, last);
    least[0] = last[0];
    least[1] = last[1];
  }
  if constexpr (has_sums) *row.ahead.sums = total(lanes);
  static_cast<void>(summed);
  static_cast<void>(output);
  return least_of<finish>(least);
}
template <Finish finish, class Row, class Line>
DMLREF_TARGET_AVX512VNNI inline float row32_with(const Row& row, const Line& line) noexcept {
  if (row.wide == nullptr) return row32_from<finish, Source::floats>(row, line);
  return row.ahead.elements != nullptr ? row32_from<finish, Source::doubles_and_sums>(row, line)
                                       : row32_from<finish, Source::doubles>(row, line);
}
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline float row32(const Row32& row) noexcept {
  return row32_with<finish>(row, OneLine32(row.line));
}
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline float each_row32(const EachRow32& row) noexcept {
  return row32_with<finish>(row, LinePerElement32(row));
}

/// `sums`: with those of the same chunk of another group.
template <Finish finish, bool sums>
DMLREF_TARGET_AVX512VNNI inline float pieces32_of(const Pieces32& chunk) noexcept {
  constexpr __mmask8 all = 0xFF;
  const OneLine32 line(chunk.line);
  const __m512d alpha = _mm512_set1_pd(chunk.alpha);
  const std::int64_t near = chunk.near;
  const std::int64_t summed_ahead = chunk.summed_ahead;
  Low<finish> least[2];
  clear(least[0]);
  clear(least[1]);
  Lanes lanes;
  clear(lanes);
  for (std::size_t p = 0; p < chunk.count; ++p) {
    const Piece piece = chunk.pieces[p];
    const std::byte* const from = chunk.from + piece.from;
    const std::byte* const summed = sums ? chunk.summed + piece.from : from;
    std::byte* const to = chunk.to + piece.to;
    const bool stream = chunk.stream && reinterpret_cast<std::uintptr_t>(to) % 32 == 0;
    // (What is stored past the caches is not asked for.)
    const std::byte* const read = near != 0 || chunk.stream ? from + near : to + chunk.ahead;
    const std::byte* const written = near != 0 && !chunk.stream ? to + near : read;
    for (std::size_t i = 0; i < piece.count; i += 16) {
      const std::size_t at = i * sizeof(float);
      if constexpr (sums) {  // (Not for the output: it is faster without.)
        _mm_prefetch(reinterpret_cast<const char*>(summed + at) + summed_ahead, _MM_HINT_T1);
      } else {
        __builtin_prefetch(read + at);
        __builtin_prefetch(written + at, 1);
      }
      __m512d value[2];
      DMLREF_UNROLL
      for (std::size_t v = 0; v < 2; ++v) {
        value[v] = line.value8(_mm512_cvtps_pd(_mm256_loadu_ps(avx2::floats_at(from, i + 8 * v))), 0, all);
      }
      if constexpr (sums) add_floats16<false>(lanes, summed + at, nullptr);
      DMLREF_UNROLL
      for (std::size_t v = 0; v < 2; ++v) store8<finish>(to, i + 8 * v, value[v], alpha, least[v], stream);
    }
  }
  if constexpr (sums) *chunk.sums = total(lanes);
  return least_of<finish>(least);
}
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline float pieces32(const Pieces32& chunk) noexcept {
  return chunk.sums != nullptr ? pieces32_of<finish, true>(chunk) : pieces32_of<finish, false>(chunk);
}

// ---- Results of float16 --------------------------------------------------------------------------------------------

DMLREF_TARGET_AVX512VNNI inline __m256i to_halves(__m512 floats) noexcept {
  // (The plain form is a macro at -O0, whose own conversion warns where the includer asks for -Wsign-conversion.)
  return _mm512_maskz_cvtps_ph(0xFFFF, floats, _MM_FROUND_TO_NEAREST_INT);
}

/// Sixteen float values finished and stored as halves (Finish::values: as they are).
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline void store16(std::byte* to, std::size_t i, __m512 value, __m512 alpha) noexcept {
  if constexpr (finish == Finish::values) {
    _mm512_storeu_ps(reinterpret_cast<float*>(to) + i, value);
  } else {
    __m512 result = value;
    if constexpr (finish == Finish::relu) result = _mm512_max_ps(_mm512_setzero_ps(), value);
    if constexpr (finish == Finish::unit) {
      result = _mm512_max_ps(_mm512_setzero_ps(), _mm512_min_ps(_mm512_set1_ps(1.0f), value));
    }
    if constexpr (finish == Finish::leaky_relu) {
      const __mmask16 negative = _mm512_cmp_ps_mask(value, _mm512_setzero_ps(), _CMP_LT_OQ);
      result = _mm512_mask_mul_ps(value, negative, value, alpha);
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i * 2), to_halves(result));
  }
  static_cast<void>(alpha);
}

DMLREF_TARGET_AVX512VNNI inline unsigned doubtful_mask(__m512 value, __m512 doubt) noexcept {
  return _mm512_cmp_ps_mask(_mm512_abs_ps(value), doubt, _CMP_NGE_UQ);
}

DMLREF_TARGET_AVX512VNNI inline __m256i load_halves(const std::byte* halves) noexcept {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(halves));
}

/// Whether any of 32 values may be in doubt.
DMLREF_TARGET_AVX512VNNI inline bool any_below(__m512 a, __m512 b, __m512 doubt) noexcept {
  constexpr int lesser_magnitude_without_sign = 0b1010;
  return doubtful_mask(_mm512_range_ps(a, b, lesser_magnitude_without_sign), doubt) != 0;
}

/// A Line16 in registers: the same for all elements of a row.
/// (x - shift is fma(x, 1, -shift), the same number: where conversions bind, they compete with subtractions.)
struct OneLine16 {
  __m512 one, minus_shift, slope, offset, doubt;

  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE explicit OneLine16(const Line16& line) noexcept
      : one(_mm512_set1_ps(1.0f)),
        minus_shift(_mm512_set1_ps(-line.shift)),
        slope(_mm512_set1_ps(line.slope)),
        offset(_mm512_set1_ps(line.offset)),
        doubt(_mm512_set1_ps(line.doubt)) {
    __asm__("" : DMLREF_IN_ZMM(one));  // (Else compilers make a subtraction of it.)
  }
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512 value16(__m512 x, std::size_t, __mmask16) const noexcept {
    return _mm512_fmadd_ps(_mm512_fmadd_ps(x, one, minus_shift), slope, offset);
  }
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE unsigned doubtful16(__m512 value, std::size_t,
                                                                    __mmask16) const noexcept {
    return doubtful_mask(value, doubt);
  }
};

/// A scale and a bias for each element, and the group's part in registers.
struct LinePerElement16 {
  __m512 shift, rate, rest, slope_doubt, bias_doubt;
  __m512 doubt;  // no element has a larger one
  const float* scale;
  const float* bias;

  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE explicit LinePerElement16(const EachRow16& row) noexcept
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
DMLREF_TARGET_AVX512VNNI inline void store_last16(std::byte* to, __m512 value, std::size_t count,
                                                  __m512 alpha) noexcept {
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

template <Finish finish, Doubts doubts>
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE void piece16(const std::byte* from, std::byte* to, std::size_t count,
                                                           const OneLine16 line, __m512 alpha, bool stream,
                                                           Chunk16& chunk) noexcept {
  constexpr __mmask16 all = 0xFFFF;
  __m512 least[2] = {chunk.least[0], chunk.least[1]};
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    __m512 value[2];
    DMLREF_UNROLL
    for (std::size_t v = 0; v < 2; ++v) {
      const std::size_t at = (i + 16 * v) * sizeof(half);
      value[v] = line.value16(_mm512_cvtph_ps(load_halves(from + at)), 0, all);
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
        chunk.doubtful = list_doubtful(line.doubtful16(value[v], 0, all), chunk.first + i + 16 * v, SIZE_MAX,
                                       chunk.list, chunk.doubtful);
      }
    }
  }
  for (; i < count; i += 16) {
    const std::size_t left = count - i < 16 ? count - i : 16;
    const std::byte* const at = from + i * sizeof(half);
    const __m256i halves = left < 16 ? load_last_halves(at, left) : load_halves(at);
    const __m512 value = line.value16(_mm512_cvtph_ps(halves), 0, all);
    if (left < 16) {
      store_last16<finish>(to + i * sizeof(half), value, left, alpha);
    } else {
      store16<finish>(to, i, value, alpha);
    }
    if constexpr (doubts == Doubts::seldom) {
      least[0] = _mm512_mask_range_ps(least[0], first_of_16(left), least[0], value, lesser_magnitude);
    } else {
      chunk.doubtful = list_doubtful(line.doubtful16(value, 0, all), chunk.first + i, chunk.first + count, chunk.list,
                                     chunk.doubtful);
    }
  }
  chunk.first += count;
  chunk.least[0] = least[0];
  chunk.least[1] = least[1];
}
template <Finish finish, Doubts doubts>
DMLREF_TARGET_AVX512VNNI inline std::size_t pieces16_with(const Pieces16& pieces) noexcept {
  const OneLine16 line(pieces.line);
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
    return any_below(chunk.least[0], chunk.least[1], line.doubt) ? pieces16_with<finish, Doubts::listed>(pieces) : 0;
  }
  return chunk.doubtful;
}
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline std::size_t pieces16(const Pieces16& pieces) noexcept {
  return avx2::seldom_doubtful(_mm256_set1_ps(pieces.line.doubt)) ? pieces16_with<finish, Doubts::seldom>(pieces)
                                                                  : pieces16_with<finish, Doubts::listed>(pieces);
}

/// A row's results from its floats. `ahead`: with the sums of the row ahead, whose floats are kept.
template <Finish finish, bool ahead, class Row, class Line>
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE std::size_t row16_from(const Row& row, const Line line) noexcept {
  constexpr __mmask16 all = 0xFFFF;
  const __m512 alpha = _mm512_set1_ps(row.alpha);
  const std::byte* const halves = row.ahead.elements;  // (copies: for all the compiler knows, a store changes `row`)
  const float* const floats = row.from;
  float* const ahead_floats = row.ahead.floats;
  std::byte* const to = row.to;
  const std::size_t count = row.count;
  std::uint16_t* const list = row.doubtful;
  std::size_t doubtful = 0;
  Lanes lanes;
  clear(lanes);
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    __m512 value[2];
    DMLREF_UNROLL
    for (std::size_t v = 0; v < 2; ++v) {
      const std::size_t at = i + 16 * v;
      value[v] = line.value16(_mm512_loadu_ps(floats + at), at, all);
      if constexpr (ahead) add_halves16<true>(lanes, halves + at * sizeof(half), ahead_floats + at);
      store16<finish>(to, at, value[v], alpha);
    }
    if (any_below(value[0], value[1], line.doubt)) {
      DMLREF_UNROLL
      for (std::size_t v = 0; v < 2; ++v) {
        const std::size_t at = i + 16 * v;
        doubtful = list_doubtful(line.doubtful16(value[v], at, all), at, SIZE_MAX, list, doubtful);
      }
    }
  }
  for (; i < count; i += 16) {
    const std::size_t left = count - i < 16 ? count - i : 16;
    const auto mask = left < 16 ? first_of_16(left) : all;
    const __m512 value = line.value16(_mm512_maskz_loadu_ps(mask, floats + i), i, mask);
    if constexpr (ahead) add_last_halves<true>(lanes, halves + i * sizeof(half), left, ahead_floats + i);
    store_last16<finish>(to + i * avx2::stored_bytes16<finish>, value, left, alpha);
    doubtful = list_doubtful(line.doubtful16(value, i, mask), i, count, list, doubtful);
  }
  if constexpr (ahead) *row.ahead.sums = total(lanes);
  static_cast<void>(halves);
  static_cast<void>(ahead_floats);
  return doubtful;
}
template <Finish finish, class Row, class Line>
DMLREF_TARGET_AVX512VNNI inline std::size_t row16_with(const Row& row, const Line& line) noexcept {
  return row.ahead.elements != nullptr ? row16_from<finish, true>(row, line) : row16_from<finish, false>(row, line);
}
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline std::size_t row16(const Row16& row) noexcept {
  return row16_with<finish>(row, OneLine16(row.line));
}
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline std::size_t each_row16(const EachRow16& row) noexcept {
  return row16_with<finish>(row, LinePerElement16(row));
}

inline const Kernels& kernels() noexcept {
  using enum Finish;
  static constexpr Kernels table{.widen = widen,
                                 .sums = avx2::sums,
                                 .shifted_sums = avx2::shifted_sums,
                                 .piece_sums = avx2::piece_sums,
                                 .row32 = {row32<identity>, row32<relu>, row32<leaky_relu>, row32<unit>, row32<values>},
                                 .each_row32 = {each_row32<identity>, each_row32<relu>, each_row32<leaky_relu>,
                                                each_row32<unit>, each_row32<values>},
                                 .pieces32 = {pieces32<identity>, pieces32<relu>, pieces32<leaky_relu>, pieces32<unit>},
                                 .row16 = {row16<identity>, row16<relu>, row16<leaky_relu>, row16<unit>, row16<values>},
                                 .pieces16 = {pieces16<identity>, pieces16<relu>, pieces16<leaky_relu>, pieces16<unit>},
                                 .each_row16 = {each_row16<identity>, each_row16<relu>, each_row16<leaky_relu>,
                                                each_row16<unit>, each_row16<values>},
                                 .near = 4096,
                                 .pipelined = true,
                                 .half_sums = half_sums};
  return table;
}

}  // namespace fast::normalization::avx512
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"

#endif  // DMLREF_ARCH_X86_64
