// float16.hpp: results of float16, from halves or from floats that were widened.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/fast/mean_variance_normalization/avx2/vectors.hpp"
#include "dmlref/fast/mean_variance_normalization/kernels.hpp"

DMLREF_BEGIN
namespace fast::normalization::avx2 {

/// Eight float values finished and stored as halves (Finish::values: as they are).
template <Finish finish>
DMLREF_TARGET_AVX2 inline void store16(std::byte* to, std::size_t i, __m256 value, __m256 alpha) noexcept {
  if constexpr (finish == Finish::values) {
    _mm256_storeu_ps(reinterpret_cast<float*>(to) + i, value);
  } else {
    __m256 result = value;
    if constexpr (finish == Finish::relu) result = _mm256_max_ps(_mm256_setzero_ps(), value);
    if constexpr (finish == Finish::unit) {
      result = _mm256_max_ps(_mm256_setzero_ps(), _mm256_min_ps(_mm256_set1_ps(1.0f), value));
    }
    if constexpr (finish == Finish::leaky_relu) {
      result =
          _mm256_blendv_ps(value, _mm256_mul_ps(value, alpha), _mm256_cmp_ps(value, _mm256_setzero_ps(), _CMP_LT_OQ));
    }
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i * 2), _mm256_cvtps_ph(result, _MM_FROUND_TO_NEAREST_INT));
  }
  static_cast<void>(alpha);
}

DMLREF_TARGET_AVX2 inline __m256 doubtful_of(__m256 value, __m256 doubt) noexcept {
  return _mm256_cmp_ps(absolute(value), doubt, _CMP_NGE_UQ);
}
DMLREF_TARGET_AVX2 inline unsigned mask_bits(__m256 mask) noexcept {
  return static_cast<unsigned>(_mm256_movemask_ps(mask));
}
/// Appends the numbers of the doubtful elements of four vectors, the first of which begin `step` apart. One branch for
/// all four: a branch for each costs more than the rest of such a row.
DMLREF_TARGET_AVX2 inline std::size_t list_of_four(const __m256 (&low)[4], std::size_t first, std::size_t step,
                                                   std::uint16_t* list, std::size_t count) noexcept {
  const __m256 any = _mm256_or_ps(_mm256_or_ps(low[0], low[1]), _mm256_or_ps(low[2], low[3]));
  if (mask_bits(any) == 0) return count;
  for (std::size_t v = 0; v < 4; ++v) count = list_doubtful(mask_bits(low[v]), first + step * v, SIZE_MAX, list, count);
  return count;
}

/// What rows of float16 are made of: eight elements as floats, which they are already or become here.
struct FromFloats {
  static constexpr std::size_t size = sizeof(float);
  DMLREF_TARGET_AVX2 static __m256 load8(const std::byte* from) noexcept {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(from));
  }
};
struct FromHalves {
  static constexpr std::size_t size = sizeof(half);
  DMLREF_TARGET_AVX2 static __m256 load8(const std::byte* from) noexcept {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
};

/// A Line16 in registers.
struct LineVectors {
  __m256 shift, slope, offset, doubt, alpha;
};
DMLREF_TARGET_AVX2 inline LineVectors vectors_of(const Line16& line, float alpha) noexcept {
  return {_mm256_set1_ps(line.shift), _mm256_set1_ps(line.slope), _mm256_set1_ps(line.offset),
          _mm256_set1_ps(line.doubt), _mm256_set1_ps(alpha)};
}

template <class Source, bool shifted>
DMLREF_TARGET_AVX2 inline __m256 value16(const std::byte* from, const LineVectors& line) noexcept {
  __m256 x = Source::load8(from);
  if constexpr (shifted) x = _mm256_sub_ps(x, line.shift);
  return _mm256_fmadd_ps(x, line.slope, line.offset);
}
template <Finish finish, class Source, bool shifted>
DMLREF_TARGET_AVX2 inline __m256 block16(const std::byte* from, std::byte* to, std::size_t i,
                                         const LineVectors& line) noexcept {
  const __m256 value = value16<Source, shifted>(from, line);
  store16<finish>(to, i, value, line.alpha);
  return doubtful_of(value, line.doubt);
}

/// Normalizes `count` elements, numbers `first` on of their row, and lists the doubtful ones behind `doubtful` others.
template <Finish finish, class Source, bool shifted>
DMLREF_TARGET_AVX2 inline std::size_t listed16(const std::byte* from, std::byte* to, std::size_t count,
                                               const LineVectors& line, std::size_t first, std::uint16_t* list,
                                               std::size_t doubtful) noexcept {
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    __m256 low[4];
    DMLREF_UNROLL
    for (std::size_t v = 0; v < 4; ++v) {
      const std::size_t at = i + 8 * v;
      low[v] = block16<finish, Source, shifted>(from + at * Source::size, to, at, line);
    }
    doubtful = list_of_four(low, first + i, 8, list, doubtful);
  }
  for (; i + 8 <= count; i += 8) {
    const __m256 low = block16<finish, Source, shifted>(from + i * Source::size, to, i, line);
    doubtful = list_doubtful(mask_bits(low), first + i, SIZE_MAX, list, doubtful);
  }
  if (i < count) {
    Tail tail{};
    std::memcpy(tail.from, from + i * Source::size, (count - i) * Source::size);
    const __m256 low = block16<finish, Source, shifted>(reinterpret_cast<const std::byte*>(tail.from),
                                                        reinterpret_cast<std::byte*>(tail.to), 0, line);
    std::memcpy(to + i * stored_bytes16<finish>, tail.to, (count - i) * stored_bytes16<finish>);
    doubtful = list_doubtful(mask_bits(low), first + i, first + count, list, doubtful);
  }
  return doubtful;
}

/// Whether the least magnitude of some lines' results may be looked for, which costs less than a list, at the risk that
/// both are wanted: where no bias makes doubts frequent.
DMLREF_TARGET_AVX2 inline bool seldom_doubtful(__m256 doubt) noexcept {
  return _mm256_movemask_ps(_mm256_cmp_ps(doubt, _mm256_set1_ps(0x1p-16f), _CMP_LT_OQ)) == 0xFF;
}

DMLREF_TARGET_AVX2 inline __m256i joined(__m128i low, __m128i high) noexcept { return _mm256_set_m128i(high, low); }
DMLREF_TARGET_AVX2 inline __m128i to_halves(__m256 floats) noexcept {
  return _mm256_cvtps_ph(floats, _MM_FROUND_TO_NEAREST_INT);
}
DMLREF_TARGET_AVX2 inline __m256i magnitude16(__m256i halves) noexcept {
  return _mm256_and_si256(halves, _mm256_set1_epi16(0x7FFF));
}
/// Sixteen values rounded.
template <class Source, bool shifted>
DMLREF_TARGET_AVX2 inline __m256i rounded16(const std::byte* from, const LineVectors& low,
                                            const LineVectors& high) noexcept {
  return joined(to_halves(value16<Source, shifted>(from, low)),
                to_halves(value16<Source, shifted>(from + 8 * Source::size, high)));
}
/// Whether results of these magnitudes may be below the doubts of their values: rounding keeps the order.
DMLREF_TARGET_AVX2 inline bool any_low16(__m256i least, __m256 doubt_low, __m256 doubt_high) noexcept {
  const __m256i doubt = joined(to_halves(doubt_low), to_halves(doubt_high));
  return _mm256_movemask_epi8(_mm256_cmpgt_epi16(least, doubt)) != -1;
}

/// Normalizes `count` elements; `least` collects the magnitudes of their results, as halves.
template <class Source, bool shifted>
DMLREF_TARGET_AVX2 inline void quick16(const std::byte* from, std::byte* to, std::size_t count, const LineVectors& line,
                                       __m256i& least) noexcept {
  __m256i low = least;
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m256i result = rounded16<Source, shifted>(from + i * Source::size, line, line);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i * sizeof(half)), result);
    low = _mm256_min_epu16(low, magnitude16(result));
  }
  if (i < count) {
    // The last element again and again: it does not change the least value.
    const std::size_t n = count - i;
    Tail tail;
    auto* const space = reinterpret_cast<std::byte*>(tail.from);
    for (std::size_t k = 0; k < 16; ++k) {
      std::memcpy(space + k * Source::size, from + (i + (k < n ? k : n - 1)) * Source::size, Source::size);
    }
    const __m256i result = rounded16<Source, shifted>(space, line, line);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(tail.to), result);
    std::memcpy(to + i * sizeof(half), tail.to, n * sizeof(half));
    low = _mm256_min_epu16(low, magnitude16(result));
  }
  least = low;
}

template <Finish finish, bool shifted>
DMLREF_TARGET_AVX2 inline std::size_t row16_of(const Row16& row) noexcept {
  const LineVectors line = vectors_of(row.line, row.alpha);
  const auto* const from = reinterpret_cast<const std::byte*>(row.from);
  if constexpr (finish == Finish::identity) {
    if (seldom_doubtful(line.doubt)) {
      __m256i least = _mm256_set1_epi16(0x7FFF);
      quick16<FromFloats, shifted>(from, row.to, row.count, line, least);
      if (!any_low16(least, line.doubt, line.doubt)) return 0;
    }
  }
  return listed16<finish, FromFloats, shifted>(from, row.to, row.count, line, 0, row.doubtful, 0);
}
template <Finish finish>
DMLREF_TARGET_AVX2 inline std::size_t row16(const Row16& row) noexcept {
  return row.line.shift == 0.0f ? row16_of<finish, false>(row) : row16_of<finish, true>(row);
}

/// Asks for what comes after a piece.
inline void ask_for(const Pieces16& chunk, const Piece& piece) noexcept {
  const std::size_t bytes = piece.count * sizeof(half);
  if (chunk.near != 0) {
    prefetch<0>(chunk.from + piece.from + chunk.near, bytes);
    prefetch<1>(chunk.to + piece.to + chunk.near, bytes);
  } else if (chunk.ahead != 0) {
    prefetch<1>(chunk.to + piece.to + chunk.ahead, bytes);
  }
}

template <Finish finish, bool shifted>
DMLREF_TARGET_AVX2 inline std::size_t pieces16_of(const Pieces16& chunk) noexcept {
  const LineVectors line = vectors_of(chunk.line, chunk.alpha);
  const Piece* const end = chunk.pieces + chunk.count;
  if constexpr (finish == Finish::identity) {
    if (seldom_doubtful(line.doubt)) {
      __m256i least = _mm256_set1_epi16(0x7FFF);
      for (const Piece* piece = chunk.pieces; piece != end; ++piece) {
        std::byte* const to = chunk.to + piece->to;
        ask_for(chunk, *piece);
        quick16<FromHalves, shifted>(chunk.from + piece->from, to, piece->count, line, least);
      }
      if (!any_low16(least, line.doubt, line.doubt)) return 0;
    }
  }
  std::size_t first = 0;
  std::size_t doubtful = 0;
  for (const Piece* piece = chunk.pieces; piece != end; ++piece) {
    std::byte* const to = chunk.to + piece->to;
    ask_for(chunk, *piece);
    doubtful = listed16<finish, FromHalves, shifted>(chunk.from + piece->from, to, piece->count, line, first,
                                                     chunk.doubtful, doubtful);
    first += piece->count;
  }
  return doubtful;
}
template <Finish finish>
DMLREF_TARGET_AVX2 inline std::size_t pieces16(const Pieces16& chunk) noexcept {
  return chunk.line.shift == 0.0f ? pieces16_of<finish, false>(chunk) : pieces16_of<finish, true>(chunk);
}

template <Finish finish>
DMLREF_TARGET_AVX2 inline __m256 each_block16(const float* from, std::byte* to, std::size_t i, const float* scale,
                                              const float* bias, __m256 shift, __m256 rate, __m256 rest,
                                              __m256 slope_doubt, __m256 alpha) noexcept {
  const __m256 b = _mm256_loadu_ps(bias);
  const __m256 slope = _mm256_mul_ps(rate, _mm256_loadu_ps(scale));
  const __m256 offset = _mm256_fnmadd_ps(rest, slope, b);
  const __m256 doubt =
      _mm256_fmadd_ps(absolute(slope), slope_doubt, _mm256_mul_ps(absolute(b), _mm256_set1_ps(0x1p-9f)));
  const __m256 value = _mm256_fmadd_ps(_mm256_sub_ps(_mm256_loadu_ps(from), shift), slope, offset);
  store16<finish>(to, i, value, alpha);
  return doubtful_of(value, doubt);
}

template <Finish finish>
DMLREF_TARGET_AVX2 inline std::size_t each_row16(const EachRow16& row) noexcept {
  const __m256 shift = _mm256_set1_ps(row.shift);
  const __m256 rate = _mm256_set1_ps(row.rate);
  const __m256 rest = _mm256_set1_ps(row.rest);
  const __m256 slope_doubt = _mm256_set1_ps(row.slope_doubt);
  const __m256 alpha = _mm256_set1_ps(row.alpha);
  const float* const from = row.from;
  const float* const scales = row.scale;
  const float* const biases = row.bias;
  std::byte* const to = row.to;
  const std::size_t count = row.count;
  std::size_t doubtful = 0;
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    __m256 low[4];
    DMLREF_UNROLL
    for (std::size_t v = 0; v < 4; ++v) {
      const std::size_t at = i + 8 * v;
      low[v] = each_block16<finish>(from + at, to, at, scales + at, biases + at, shift, rate, rest, slope_doubt, alpha);
    }
    doubtful = list_of_four(low, i, 8, row.doubtful, doubtful);
  }
  for (; i + 8 <= count; i += 8) {
    const __m256 low =
        each_block16<finish>(from + i, to, i, scales + i, biases + i, shift, rate, rest, slope_doubt, alpha);
    doubtful = list_doubtful(mask_bits(low), i, count, row.doubtful, doubtful);
  }
  if (i < row.count) {
    const std::size_t n = row.count - i;
    Tail tail{};
    alignas(32) float scale[8]{};
    alignas(32) float bias[8]{};
    std::memcpy(tail.from, row.from + i, n * sizeof(float));
    std::memcpy(scale, row.scale + i, n * sizeof(float));
    std::memcpy(bias, row.bias + i, n * sizeof(float));
    const __m256 low = each_block16<finish>(tail.from, reinterpret_cast<std::byte*>(tail.to), 0, scale, bias, shift,
                                            rate, rest, slope_doubt, alpha);
    std::memcpy(row.to + i * stored_bytes16<finish>, tail.to, n * stored_bytes16<finish>);
    doubtful = list_doubtful(mask_bits(low), i, row.count, row.doubtful, doubtful);
  }
  return doubtful;
}

}  // namespace fast::normalization::avx2
DMLREF_END

#endif  // DMLREF_ARCH_X86_64
