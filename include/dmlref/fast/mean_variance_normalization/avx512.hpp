// avx512.hpp: the normalization kernels that gain from 512 bits; the others are AVX2's.
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
#include "dmlref/fast/mean_variance_normalization/scalar.hpp"

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

template <bool wide>
DMLREF_TARGET_AVX512VNNI inline __m512d load8(const float* from, const double* doubles) noexcept {
  if constexpr (wide) return _mm512_loadu_pd(doubles);
  // (Two conversions of four and a merge are faster than one of eight on Zen 4.)
  return _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_cvtps_pd(_mm_loadu_ps(from))),
                            _mm256_cvtps_pd(_mm_loadu_ps(from + 4)), 1);
}

template <Finish finish, bool wide, bool shifted>
DMLREF_TARGET_AVX512VNNI inline float row32_of(const Row32& row) noexcept {
  const __m512d shift = _mm512_set1_pd(row.line.shift);
  const __m512d slope = _mm512_set1_pd(row.line.slope);
  const __m512d offset = _mm512_set1_pd(row.line.offset);
  const __m512d alpha = _mm512_set1_pd(row.alpha);
  Low<finish> least[4];
  DMLREF_UNROLL
  for (std::size_t v = 0; v < 4; ++v) clear(least[v]);
  const bool stream = row.stream && reinterpret_cast<std::uintptr_t>(row.to) % 32 == 0;
  const std::byte* const from = row.from;  // (copies: for all the compiler knows, a store changes `row`)
  const double* const doubles = row.wide;
  std::byte* const to = row.to;
  const std::size_t count = row.count;
  const std::byte* const next = row.next != nullptr ? row.next : from;
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    __builtin_prefetch(next + i * sizeof(float));
    __builtin_prefetch(next + (i + 16) * sizeof(float));
    DMLREF_UNROLL
    for (std::size_t v = 0; v < 4; ++v) {
      __m512d x = load8<wide>(avx2::floats_at(from, i + 8 * v), wide ? doubles + i + 8 * v : nullptr);
      if constexpr (shifted) x = _mm512_sub_pd(x, shift);
      store8<finish>(to, i + 8 * v, _mm512_fmadd_pd(x, slope, offset), alpha, least[v], stream);
    }
  }
  DMLREF_UNROLL
  for (std::size_t v = 1; v < 4; ++v) collect(least[0], least[v].v);
  const float first = avx2::least_of(magnitudes(least[0]));
  if (i == row.count) return first;
  Row32 rest = row;
  rest.from += i * sizeof(float);
  if (wide) rest.wide += i;
  rest.to += i * avx2::stored_bytes32<finish>;
  rest.count -= i;
  rest.stream = false;
  const float last = avx2::row32_of<finish, wide, shifted>(rest);
  return last < first ? last : first;
}

template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline float row32(const Row32& row) noexcept {
  if (row.line.shift == 0.0) {
    return row.wide != nullptr ? row32_of<finish, true, false>(row) : row32_of<finish, false, false>(row);
  }
  return row.wide != nullptr ? row32_of<finish, true, true>(row) : row32_of<finish, false, true>(row);
}

/// `both`: asks for what is read and what is written `near` further on; else for one line that is wanted next.
template <Finish finish, bool shifted, bool both>
DMLREF_TARGET_AVX512VNNI inline float pieces32_of(const Pieces32& chunk) noexcept {
  const __m512d shift = _mm512_set1_pd(chunk.line.shift);
  const __m512d slope = _mm512_set1_pd(chunk.line.slope);
  const __m512d offset = _mm512_set1_pd(chunk.line.offset);
  const __m512d alpha = _mm512_set1_pd(chunk.alpha);
  Low<finish> least[2];
  clear(least[0]);
  clear(least[1]);
  const std::int64_t near = chunk.near;
  for (std::size_t p = 0; p < chunk.count; ++p) {
    const Piece piece = chunk.pieces[p];
    const std::byte* const from = chunk.from + piece.from;
    std::byte* const to = chunk.to + piece.to;
    const bool stream = chunk.stream && reinterpret_cast<std::uintptr_t>(to) % 32 == 0;
    // (What is stored past the caches is not asked for.)
    const std::byte* const next = near != 0 || chunk.stream ? from + near : to + chunk.ahead;
    for (std::size_t i = 0; i < piece.count; i += 16) {
      __builtin_prefetch(next + i * sizeof(float));
      if constexpr (both) __builtin_prefetch(to + near + i * sizeof(float), 1);
      DMLREF_UNROLL
      for (std::size_t v = 0; v < 2; ++v) {
        __m512d x = load8<false>(avx2::floats_at(from, i + 8 * v), nullptr);
        if constexpr (shifted) x = _mm512_sub_pd(x, shift);
        store8<finish>(to, i + 8 * v, _mm512_fmadd_pd(x, slope, offset), alpha, least[v], stream);
      }
    }
  }
  collect(least[0], least[1].v);
  return avx2::least_of(magnitudes(least[0]));
}
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline float pieces32(const Pieces32& chunk) noexcept {
  const bool both = chunk.near != 0 && !chunk.stream;
  if (chunk.line.shift == 0.0) {
    return both ? pieces32_of<finish, false, true>(chunk) : pieces32_of<finish, false, false>(chunk);
  }
  return both ? pieces32_of<finish, true, true>(chunk) : pieces32_of<finish, true, false>(chunk);
}

/// `streams`: where `row` asks for it.
template <Finish finish, bool wide, bool shifted, bool streams>
DMLREF_TARGET_AVX512VNNI inline float each_row32_of(const EachRow32& row) noexcept {
  const __m512d shift = _mm512_set1_pd(row.group->shift);
  const __m512d rate = _mm512_set1_pd(row.group->rate);
  const __m512d mean_rest = _mm512_set1_pd(row.group->rest);
  const __m512d alpha = _mm512_set1_pd(row.alpha);
  Low<finish> least[2];
  clear(least[0]);
  clear(least[1]);
  const std::byte* const from = row.from;
  const double* const doubles = row.wide;
  const double* const scale = row.scale;
  const double* const bias = row.bias;
  std::byte* const to = row.to;
  const std::size_t count = row.count;
  const std::byte* const next = row.next != nullptr ? row.next : from;
  const bool stream = streams && row.stream && reinterpret_cast<std::uintptr_t>(row.to) % 32 == 0;
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    __builtin_prefetch(next + i * sizeof(float));
    DMLREF_UNROLL
    for (std::size_t v = 0; v < 2; ++v) {
      const std::size_t at = i + 8 * v;
      const __m512d slope = _mm512_mul_pd(rate, _mm512_loadu_pd(scale + at));
      const __m512d offset = _mm512_fnmadd_pd(mean_rest, slope, _mm512_loadu_pd(bias + at));
      __m512d x = load8<wide>(avx2::floats_at(from, at), wide ? doubles + at : nullptr);
      if constexpr (shifted) x = _mm512_sub_pd(x, shift);
      store8<finish>(to, at, _mm512_fmadd_pd(x, slope, offset), alpha, least[v], stream);
    }
  }
  collect(least[0], least[1].v);
  const float first = avx2::least_of(magnitudes(least[0]));
  if (i == count) return first;
  EachRow32 rest = row;
  rest.from += i * sizeof(float);
  if (wide) rest.wide += i;
  rest.to += i * avx2::stored_bytes32<finish>;
  rest.count -= i;
  rest.scale += i;
  rest.bias += i;
  const float last = avx2::each_row32<finish>(rest);
  return last < first ? last : first;
}
template <Finish finish, bool streams = false>
DMLREF_TARGET_AVX512VNNI inline float each_row32(const EachRow32& row) noexcept {
  if (row.group->shift == 0.0) {
    return row.wide != nullptr ? each_row32_of<finish, true, false, streams>(row)
                               : each_row32_of<finish, false, false, streams>(row);
  }
  return row.wide != nullptr ? each_row32_of<finish, true, true, streams>(row)
                             : each_row32_of<finish, false, true, streams>(row);
}

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

/// A mask for each vector of a row: testing them later keeps branches out of the loop.
struct Masks {
  std::uint16_t of[normalization_chunk / 16];

  /// Calls found(element) for each set bit of the first `vectors` masks.
  template <class Found>
  void visit(std::size_t vectors, const Found& found) noexcept {
    for (; vectors % 4 != 0; ++vectors) of[vectors] = 0;
    for (std::size_t v = 0; v < vectors; v += 4) {
      std::uint64_t four;
      std::memcpy(&four, of + v, sizeof four);
      for (; four != 0; four &= four - 1) found(16 * v + static_cast<std::size_t>(__builtin_ctzll(four)));
    }
  }
};

/// What rows of float16 are made of: sixteen elements as floats, which they are already or become here.
struct FromFloats {
  using Eight = avx2::FromFloats;
  DMLREF_TARGET_AVX512VNNI static __m512 load16(const std::byte* from) noexcept {
    return _mm512_loadu_ps(reinterpret_cast<const float*>(from));
  }
};
struct FromHalves {
  using Eight = avx2::FromHalves;
  DMLREF_TARGET_AVX512VNNI static __m512 load16(const std::byte* from) noexcept {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
};

/// A Line16 in registers.
struct LineVectors {
  __m512 shift, slope, offset, doubt, alpha;
};
DMLREF_TARGET_AVX512VNNI inline LineVectors vectors_of(const Line16& line, float alpha) noexcept {
  return {_mm512_set1_ps(line.shift), _mm512_set1_ps(line.slope), _mm512_set1_ps(line.offset),
          _mm512_set1_ps(line.doubt), _mm512_set1_ps(alpha)};
}
template <class Source, bool shifted>
DMLREF_TARGET_AVX512VNNI inline __m512 value16(const std::byte* from, const LineVectors& line) noexcept {
  __m512 x = Source::load16(from);
  if constexpr (shifted) x = _mm512_sub_ps(x, line.shift);
  return _mm512_fmadd_ps(x, line.slope, line.offset);
}

/// Normalizes `count` elements, numbers `first` on of their row, and lists the doubtful ones behind `doubtful` others.
template <Finish finish, class Source, bool shifted>
DMLREF_TARGET_AVX512VNNI inline std::size_t listed16(const std::byte* from, std::byte* to, std::size_t count,
                                                     const Line16& line, float alpha, std::size_t first,
                                                     std::uint16_t* list, std::size_t doubtful) noexcept {
  using Eight = typename Source::Eight;
  const LineVectors v = vectors_of(line, alpha);
  Masks masks;
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m512 value = value16<Source, shifted>(from + i * Eight::size, v);
    store16<finish>(to, i, value, v.alpha);
    masks.of[i / 16] = static_cast<std::uint16_t>(doubtful_mask(value, v.doubt));
  }
  masks.visit(i / 16, [&](std::size_t element) { list[doubtful++] = static_cast<std::uint16_t>(first + element); });
  if (i == count) return doubtful;
  return avx2::listed16<finish, Eight, shifted>(from + i * Eight::size, to + i * avx2::stored_bytes16<finish>,
                                                count - i, avx2::vectors_of(line, alpha), first + i, list, doubtful);
}

/// Normalizes `count` elements; `least` collects the magnitudes of their results, as halves.
template <class Source, bool shifted>
DMLREF_TARGET_AVX512VNNI inline void quick16(const std::byte* from, std::byte* to, std::size_t count,
                                             const Line16& line, __m256i& least) noexcept {
  using Eight = typename Source::Eight;
  const LineVectors v = vectors_of(line, 0);
  __m256i low = least;
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m256i result = to_halves(value16<Source, shifted>(from + i * Eight::size, v));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i * sizeof(half)), result);
    low = _mm256_min_epu16(low, avx2::magnitude16(result));
  }
  least = low;
  if (i == count) return;
  avx2::quick16<Eight, shifted>(from + i * Eight::size, to + i * sizeof(half), count - i, avx2::vectors_of(line, 0),
                                least);
}
/// What `quick16` begins with, and whether a list is wanted after it.
DMLREF_TARGET_AVX512VNNI inline __m256i no_magnitudes() noexcept { return _mm256_set1_epi16(0x7FFF); }
DMLREF_TARGET_AVX512VNNI inline bool any_low16(__m256i least, const Line16& line) noexcept {
  const __m256 doubt = _mm256_set1_ps(line.doubt);
  return avx2::any_low16(least, doubt, doubt);
}
DMLREF_TARGET_AVX512VNNI inline bool seldom_doubtful(const Line16& line) noexcept {
  return avx2::seldom_doubtful(_mm256_set1_ps(line.doubt));
}

template <Finish finish, bool shifted>
DMLREF_TARGET_AVX512VNNI inline std::size_t row16_of(const Row16& row) noexcept {
  const auto* const from = reinterpret_cast<const std::byte*>(row.from);
  if constexpr (finish == Finish::identity) {
    if (seldom_doubtful(row.line)) {
      __m256i least = no_magnitudes();
      quick16<FromFloats, shifted>(from, row.to, row.count, row.line, least);
      if (!any_low16(least, row.line)) return 0;
    }
  }
  return listed16<finish, FromFloats, shifted>(from, row.to, row.count, row.line, row.alpha, 0, row.doubtful, 0);
}
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline std::size_t row16(const Row16& row) noexcept {
  return row.line.shift == 0.0f ? row16_of<finish, false>(row) : row16_of<finish, true>(row);
}

template <Finish finish, bool shifted>
DMLREF_TARGET_AVX512VNNI inline std::size_t pieces16_of(const Pieces16& chunk) noexcept {
  const Piece* const end = chunk.pieces + chunk.count;
  if constexpr (finish == Finish::identity) {
    if (seldom_doubtful(chunk.line)) {
      __m256i least = no_magnitudes();
      for (const Piece* piece = chunk.pieces; piece != end; ++piece) {
        avx2::ask_for(chunk, *piece);
        quick16<FromHalves, shifted>(chunk.from + piece->from, chunk.to + piece->to, piece->count, chunk.line, least);
      }
      if (!any_low16(least, chunk.line)) return 0;
    }
  }
  std::size_t first = 0;
  std::size_t doubtful = 0;
  for (const Piece* piece = chunk.pieces; piece != end; ++piece) {
    avx2::ask_for(chunk, *piece);
    doubtful = listed16<finish, FromHalves, shifted>(chunk.from + piece->from, chunk.to + piece->to, piece->count,
                                                     chunk.line, chunk.alpha, first, chunk.doubtful, doubtful);
    first += piece->count;
  }
  return doubtful;
}
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline std::size_t pieces16(const Pieces16& chunk) noexcept {
  return chunk.line.shift == 0.0f ? pieces16_of<finish, false>(chunk) : pieces16_of<finish, true>(chunk);
}

template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline std::size_t each_row16(const EachRow16& row) noexcept {
  const __m512 shift = _mm512_set1_ps(row.shift);
  const __m512 rate = _mm512_set1_ps(row.rate);
  const __m512 rest_of_mean = _mm512_set1_ps(row.rest);
  const __m512 slope_doubt = _mm512_set1_ps(row.slope_doubt);
  const __m512 bias_doubt = _mm512_set1_ps(0x1p-9f);
  const __m512 alpha = _mm512_set1_ps(row.alpha);
  const float* const from = row.from;
  const float* const scale = row.scale;
  const float* const bias = row.bias;
  std::byte* const to = row.to;
  const std::size_t count = row.count;
  Masks masks;
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m512 b = _mm512_loadu_ps(bias + i);
    const __m512 slope = _mm512_mul_ps(rate, _mm512_loadu_ps(scale + i));
    const __m512 offset = _mm512_fnmadd_ps(rest_of_mean, slope, b);
    const __m512 doubt =
        _mm512_fmadd_ps(_mm512_abs_ps(slope), slope_doubt, _mm512_mul_ps(_mm512_abs_ps(b), bias_doubt));
    const __m512 value = _mm512_fmadd_ps(_mm512_sub_ps(_mm512_loadu_ps(from + i), shift), slope, offset);
    store16<finish>(to, i, value, alpha);
    masks.of[i / 16] = static_cast<std::uint16_t>(doubtful_mask(value, doubt));
  }
  std::size_t doubtful = 0;
  masks.visit(i / 16, [&](std::size_t element) { row.doubtful[doubtful++] = static_cast<std::uint16_t>(element); });
  if (i == count) return doubtful;
  EachRow16 rest = row;
  rest.from += i;
  rest.to += i * avx2::stored_bytes16<finish>;
  rest.count -= i;
  rest.scale += i;
  rest.bias += i;
  rest.doubtful += doubtful;
  return doubtful + scalar::renumber(rest.doubtful, avx2::each_row16<finish>(rest), i);
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
                                 .each_from_doubles = true,
                                 .runs = true};
  return table;
}

}  // namespace fast::normalization::avx512
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"

#endif  // DMLREF_ARCH_X86_64
