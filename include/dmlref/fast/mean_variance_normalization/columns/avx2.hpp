// avx2.hpp: the kernels of neighbouring groups for AVX2, FMA and F16C.
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
#include "dmlref/fast/mean_variance_normalization/columns/kernels.hpp"
#include "dmlref/fast/mean_variance_normalization/columns/scalar.hpp"

DMLREF_BEGIN
namespace fast::normalization::avx2 {

/// Four neighbouring floats as doubles; `masked`: those that the mask selects, 0 for the others.
template <bool masked>
DMLREF_TARGET_AVX2 inline __m256d load4(const std::byte* at, __m128i mask) noexcept {
  const auto* const floats = reinterpret_cast<const float*>(at);
  if constexpr (masked) return _mm256_cvtps_pd(_mm_maskload_ps(floats, mask));
  return _mm256_cvtps_pd(_mm_loadu_ps(floats));
}
/// Selects the first `count` of four.
DMLREF_TARGET_AVX2 inline __m128i mask_of(std::size_t count) noexcept {
  return _mm_cmpgt_epi32(_mm_set1_epi32(static_cast<int>(count)), _mm_setr_epi32(0, 1, 2, 3));
}

/// Adds V * 4 columns of a row. Where the additions of x would keep the adders from converting, some go by way of
/// fma(x, 1, sum), which is the same number.
template <std::size_t V, bool shifted, bool masked>
DMLREF_TARGET_AVX2 inline void add_row(const Columns& columns, std::size_t i, std::size_t column, __m128i mask,
                                       const __m256d (&pivot)[V], __m256d (&sum)[V], __m256d (&square)[V]) noexcept {
  const __m256d one = _mm256_set1_pd(1.0);
  const std::byte* const row = columns.from + columns.offset[i] + column * sizeof(float);
  if (columns.prefetch != 0) _mm_prefetch(reinterpret_cast<const char*>(row + columns.prefetch), _MM_HINT_T1);
  DMLREF_UNROLL
  for (std::size_t v = 0; v < V; ++v) {
    __m256d x = load4<masked>(row + v * 4 * sizeof(float), mask);
    if constexpr (shifted) x = _mm256_sub_pd(x, pivot[v]);
    sum[v] = shifted || v % 2 == 1 ? _mm256_fmadd_pd(x, one, sum[v]) : _mm256_add_pd(sum[v], x);
    square[v] = _mm256_fmadd_pd(x, x, square[v]);
  }
}

/// Adds V * 4 columns of a strip, L lanes at a time: enough chains of additions to hide their latency.
template <std::size_t V, std::size_t L, bool shifted, bool masked>
DMLREF_TARGET_AVX2 inline void add_strip(const Columns& columns, std::size_t column, std::size_t count,
                                         const double* pivot, StripLanes& lanes) noexcept {
  const __m128i mask = mask_of(count);
  const std::size_t within = column % strip_width;
  __m256d p[V];
  DMLREF_UNROLL
  for (std::size_t v = 0; v < V; ++v) p[v] = shifted ? _mm256_loadu_pd(pivot + column + 4 * v) : _mm256_setzero_pd();
  for (std::size_t lane = 0; lane < normalization_lanes && lane < columns.rows; lane += L) {
    __m256d s[L][V];
    __m256d q[L][V];
    DMLREF_UNROLL
    for (std::size_t l = 0; l < L; ++l) {
      DMLREF_UNROLL
      for (std::size_t v = 0; v < V; ++v) {
        s[l][v] = _mm256_loadu_pd(&lanes.sum[lane + l][within + 4 * v]);
        q[l][v] = _mm256_loadu_pd(&lanes.square[lane + l][within + 4 * v]);
      }
    }
    std::size_t i = lane;
    for (; i + L <= columns.rows; i += normalization_lanes) {
      DMLREF_UNROLL
      for (std::size_t l = 0; l < L; ++l) add_row<V, shifted, masked>(columns, i + l, column, mask, p, s[l], q[l]);
    }
    DMLREF_UNROLL
    for (std::size_t l = 0; l + 1 < L; ++l) {
      if (i + l < columns.rows) add_row<V, shifted, masked>(columns, i + l, column, mask, p, s[l], q[l]);
    }
    DMLREF_UNROLL
    for (std::size_t l = 0; l < L; ++l) {
      DMLREF_UNROLL
      for (std::size_t v = 0; v < V; ++v) {
        _mm256_storeu_pd(&lanes.sum[lane + l][within + 4 * v], s[l][v]);
        _mm256_storeu_pd(&lanes.square[lane + l][within + 4 * v], q[l][v]);
      }
    }
  }
}

/// Columns from number `first` on.
template <bool shifted>
DMLREF_TARGET_AVX2 inline void add_floats_from(std::size_t first, const Columns& columns, const double* pivot,
                                               ColumnLanes& lanes) noexcept {
  std::size_t c = first;
  for (; c + 16 <= columns.width; c += 16) add_strip<4, 1, shifted, false>(columns, c, 4, pivot, lanes.strip[c / 16]);
  for (; c + 8 <= columns.width; c += 8) add_strip<2, 2, shifted, false>(columns, c, 4, pivot, lanes.strip[c / 16]);
  for (; c + 4 <= columns.width; c += 4) add_strip<1, 4, shifted, false>(columns, c, 4, pivot, lanes.strip[c / 16]);
  if (c < columns.width) {
    add_strip<1, 4, shifted, true>(columns, c, columns.width - c, pivot, lanes.strip[c / 16]);
  }
}
template <bool shifted>
DMLREF_TARGET_AVX2 inline void add_floats(const Columns& columns, const double* pivot, ColumnLanes& lanes) noexcept {
  add_floats_from<shifted>(0, columns, pivot, lanes);
}

/// Rows of float16 as float32.
struct WidenedRows {
  alignas(64) float rows[most_summed_elements];
  std::int64_t offset[most_summed_rows];
};
DMLREF_TARGET_AVX2 inline Columns widened(const Columns& columns, WidenedRows& to) noexcept {
  const std::size_t width = (columns.width + 7) / 8 * 8;
  for (std::size_t i = 0; i < columns.rows; ++i) {
    const std::byte* const row = columns.from + columns.offset[i];
    if (columns.prefetch != 0) {
      _mm_prefetch(reinterpret_cast<const char*>(row + columns.prefetch), _MM_HINT_T1);
      if (width > 32) _mm_prefetch(reinterpret_cast<const char*>(row + columns.prefetch + 64), _MM_HINT_T1);
    }
    widen(row, to.rows + i * width, columns.width);
    to.offset[i] = static_cast<std::int64_t>(i * width * sizeof(float));
  }
  return {reinterpret_cast<const std::byte*>(to.rows), to.offset, columns.rows, columns.width, 0};
}

/// float16 is widened first: conversions from memory are cheaper than from registers.
template <class T>
DMLREF_TARGET_AVX2 inline void add_columns(const Columns& columns, const double* pivot, ColumnLanes& lanes) noexcept {
  if constexpr (std::is_same_v<T, half>) {
    WidenedRows rows;
    const Columns floats = widened(columns, rows);
    pivot != nullptr ? add_floats<true>(floats, pivot, lanes) : add_floats<false>(floats, nullptr, lanes);
  } else {
    pivot != nullptr ? add_floats<true>(columns, pivot, lanes) : add_floats<false>(columns, nullptr, lanes);
  }
}

/// Sums of 4 columns over the lanes.
DMLREF_TARGET_AVX2 inline __m256d join4(const double (&lane)[normalization_lanes][strip_width],
                                        std::size_t column) noexcept {
  __m256d t[normalization_lanes];
  DMLREF_UNROLL
  for (std::size_t l = 0; l < normalization_lanes; ++l) t[l] = _mm256_loadu_pd(&lane[l][column]);
  DMLREF_UNROLL
  for (std::size_t l = 0; l < 8; ++l) t[l] = _mm256_add_pd(t[l], t[l + 8]);
  DMLREF_UNROLL
  for (std::size_t l = 0; l < 4; ++l) t[l] = _mm256_add_pd(t[l], t[l + 4]);
  return _mm256_add_pd(_mm256_add_pd(t[0], t[2]), _mm256_add_pd(t[1], t[3]));
}
DMLREF_TARGET_AVX2 inline void join_columns(const ColumnLanes& lanes, std::size_t width, double* sum,
                                            double* square) noexcept {
  for (std::size_t c = 0; c < width; c += 4) {
    const StripLanes& strip = lanes.strip[c / strip_width];
    _mm256_storeu_pd(sum + c, join4(strip.sum, c % strip_width));
    _mm256_storeu_pd(square + c, join4(strip.square, c % strip_width));
  }
}

/// V * 4 columns row by row, their lines in registers.
template <Finish finish, std::size_t V, bool shifted>
DMLREF_TARGET_AVX2 inline void strip32_of(const Columns& columns, std::size_t column, const ColumnLines32& line,
                                          std::byte* to, const std::int64_t* to_offset, __m256d alpha,
                                          float* least) noexcept {
  __m256d shift[V], slope[V], offset[V];
  __m256 low[V / 2];
  DMLREF_UNROLL
  for (std::size_t v = 0; v < V; ++v) {
    shift[v] = _mm256_loadu_pd(line.shift + column + 4 * v);
    slope[v] = _mm256_loadu_pd(line.slope + column + 4 * v);
    offset[v] = _mm256_loadu_pd(line.offset + column + 4 * v);
    low[v / 2] = _mm256_set1_ps(std::numeric_limits<float>::infinity());
  }
  const std::byte* const from =
      columns.from + column * sizeof(float);  // (copies: stores may change `columns`, says C++)
  const std::int64_t* const from_offset = columns.offset;
  const std::size_t rows = columns.rows;
  const std::size_t width = columns.width;
  const std::int64_t prefetch = columns.prefetch;
  const bool stream = columns.stream;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::byte* const row = from + from_offset[i];
    std::byte* const out = finish == Finish::values ? to + i * width * sizeof(double) : to + to_offset[i];
    _mm_prefetch(reinterpret_cast<const char*>(row + prefetch), _MM_HINT_T0);
    DMLREF_UNROLL
    for (std::size_t v = 0; v < V; v += 2) {
      __m256d x[2];
      DMLREF_UNROLL
      for (std::size_t k = 0; k < 2; ++k) {
        x[k] = load4<false>(row + (v + k) * 16, __m128i{});
        if constexpr (shifted) x[k] = _mm256_sub_pd(x[k], shift[v + k]);
        x[k] = _mm256_fmadd_pd(x[k], slope[v + k], offset[v + k]);
      }
      store8<finish>(out, column + 4 * v, x[0], x[1], alpha, low[v / 2], stream);
    }
  }
  DMLREF_UNROLL
  for (std::size_t v = 0; v < V / 2; ++v) _mm256_storeu_ps(least + column + 8 * v, low[v]);
}
template <Finish finish, std::size_t V>
DMLREF_TARGET_AVX2 inline void strip32(const Columns& columns, std::size_t column, const ColumnLines32& line,
                                       std::byte* to, const std::int64_t* to_offset, __m256d alpha,
                                       float* least) noexcept {
  bool shifted = false;
  for (std::size_t k = 0; k < 4 * V; ++k) shifted = shifted || line.shift[column + k] != 0.0;
  shifted ? strip32_of<finish, V, true>(columns, column, line, to, to_offset, alpha, least)
          : strip32_of<finish, V, false>(columns, column, line, to, to_offset, alpha, least);
}

/// Up to four columns.
template <Finish finish>
DMLREF_TARGET_AVX2 inline void few32(const Columns& columns, std::size_t column, const ColumnLines32& line,
                                     std::byte* to, const std::int64_t* to_offset, __m256d alpha,
                                     float* least) noexcept {
  const std::size_t count = columns.width - column < 4 ? columns.width - column : 4;
  const __m128i mask = mask_of(count);
  const __m256i wide_mask = _mm256_cvtepi32_epi64(mask);
  const __m256d shift = _mm256_loadu_pd(line.shift + column);
  const __m256d slope = _mm256_loadu_pd(line.slope + column);
  const __m256d offset = _mm256_loadu_pd(line.offset + column);
  __m256 low = _mm256_set1_ps(std::numeric_limits<float>::infinity());
  alignas(32) float block[8];
  for (std::size_t i = 0; i < columns.rows; ++i) {
    const std::byte* const row = columns.from + columns.offset[i] + column * sizeof(float);
    const __m256d x = _mm256_sub_pd(load4<true>(row, mask), shift);
    const __m256d value = _mm256_fmadd_pd(x, slope, offset);
    if constexpr (finish == Finish::values) {
      const __m128 size = _mm256_cvtpd_ps(value);
      low = _mm256_min_ps(low, absolute(_mm256_castps128_ps256(size)));
      double* const out = reinterpret_cast<double*>(to) + i * columns.width + column;
      _mm256_maskstore_pd(out, wide_mask, value);
    } else {
      store8<finish>(reinterpret_cast<std::byte*>(block), 0, value, value, alpha, low);
      _mm_maskstore_ps(reinterpret_cast<float*>(to + to_offset[i]) + column, mask, _mm_load_ps(block));
    }
  }
  _mm_storeu_ps(least + column, _mm256_castps256_ps128(low));
}

/// Columns from number `first` on.
template <Finish finish>
DMLREF_TARGET_AVX2 inline void columns32_from(std::size_t first, const Columns& columns, const ColumnLines32& line,
                                              std::byte* to, const std::int64_t* to_offset, double alpha_value,
                                              float* least) noexcept {
  const __m256d alpha = _mm256_set1_pd(alpha_value);
  std::size_t c = first;
  for (; c + 16 <= columns.width; c += 16) strip32<finish, 4>(columns, c, line, to, to_offset, alpha, least);
  for (; c + 8 <= columns.width; c += 8) strip32<finish, 2>(columns, c, line, to, to_offset, alpha, least);
  for (; c < columns.width; c += 4) few32<finish>(columns, c, line, to, to_offset, alpha, least);
}
template <Finish finish>
DMLREF_TARGET_AVX2 inline void columns32(const Columns& columns, const ColumnLines32& line, std::byte* to,
                                         const std::int64_t* to_offset, double alpha_value, float* least) noexcept {
  columns32_from<finish>(0, columns, line, to, to_offset, alpha_value, least);
}

/// Eight columns.
template <Finish finish>
DMLREF_TARGET_AVX2 inline std::size_t strip16(const Columns& columns, std::size_t c, const ColumnLines16& line,
                                              std::byte* to, const std::int64_t* to_offset, __m256 alpha,
                                              std::uint16_t* list) noexcept {
  const __m256 shift = _mm256_loadu_ps(line.shift + c);
  const __m256 slope = _mm256_loadu_ps(line.slope + c);
  const __m256 offset = _mm256_loadu_ps(line.offset + c);
  const __m256 doubt = _mm256_loadu_ps(line.doubt + c);
  const std::byte* const from = columns.from + c * sizeof(half);  // (copies: stores may change `columns`, says C++)
  const std::int64_t* const from_offset = columns.offset;
  const std::size_t rows = columns.rows;
  const std::size_t width = columns.width;
  std::size_t doubtful = 0;
  for (std::size_t i = 0; i < rows; i += 4) {
    __m256 low[4];
    DMLREF_UNROLL
    for (std::size_t k = 0; k < 4; ++k) {
      low[k] = _mm256_setzero_ps();
      if (i + k >= rows) continue;
      const __m256 x = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + from_offset[i + k])));
      const __m256 value = _mm256_fmadd_ps(_mm256_sub_ps(x, shift), slope, offset);
      store16<finish>(finish == Finish::values ? to + (i + k) * width * sizeof(float) : to + to_offset[i + k], c, value,
                      alpha);
      low[k] = doubtful_of(value, doubt);
    }
    doubtful = list_of_four(low, i * width + c, width, list, doubtful);
  }
  return doubtful;
}

/// Sixteen columns for Finish::identity, where doubts are seldom (`seldom_doubtful`); false if they are not, or one of
/// the results may be doubtful: then they want a list.
DMLREF_TARGET_AVX2 inline bool quick_strip16(const Columns& columns, std::size_t c, const ColumnLines16& line,
                                             std::byte* to, const std::int64_t* to_offset) noexcept {
  LineVectors v[2];
  DMLREF_UNROLL
  for (std::size_t k = 0; k < 2; ++k) {
    v[k].shift = _mm256_loadu_ps(line.shift + c + 8 * k);
    v[k].slope = _mm256_loadu_ps(line.slope + c + 8 * k);
    v[k].offset = _mm256_loadu_ps(line.offset + c + 8 * k);
    v[k].doubt = _mm256_loadu_ps(line.doubt + c + 8 * k);
  }
  if (!seldom_doubtful(v[0].doubt) || !seldom_doubtful(v[1].doubt)) return false;
  const std::byte* const from = columns.from + c * sizeof(half);  // (copies: stores may change `columns`, says C++)
  const std::int64_t* const from_offset = columns.offset;
  const std::size_t rows = columns.rows;
  const std::int64_t prefetch = columns.prefetch;
  std::byte* const out = to + c * sizeof(half);
  __m256i least = _mm256_set1_epi16(0x7FFF);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::byte* const row = from + from_offset[i];
    _mm_prefetch(reinterpret_cast<const char*>(row + prefetch), _MM_HINT_T0);
    const __m256i result = rounded16<FromHalves, true>(row, v[0], v[1]);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + to_offset[i]), result);
    least = _mm256_min_epu16(least, magnitude16(result));
  }
  return !any_low16(least, v[0].doubt, v[1].doubt);
}

/// Fewer than eight.
template <Finish finish>
DMLREF_TARGET_AVX2 inline std::size_t few16(const Columns& columns, std::size_t c, std::size_t count,
                                            const ColumnLines16& line, std::byte* to, const std::int64_t* to_offset,
                                            __m256 alpha, std::uint16_t* list) noexcept {
  const __m256 shift = _mm256_loadu_ps(line.shift + c);
  const __m256 slope = _mm256_loadu_ps(line.slope + c);
  const __m256 offset = _mm256_loadu_ps(line.offset + c);
  const __m256 doubt = _mm256_loadu_ps(line.doubt + c);
  constexpr std::size_t bytes = stored_bytes16<finish>;
  std::size_t doubtful = 0;
  for (std::size_t i = 0; i < columns.rows; ++i) {
    const std::byte* const row = columns.from + columns.offset[i] + c * sizeof(half);
    std::byte* const out = finish == Finish::values ? to + i * columns.width * sizeof(float) : to + to_offset[i];
    alignas(32) std::byte space[8 * sizeof(float)]{};
    std::memcpy(space, row, count * sizeof(half));
    const __m256 x = _mm256_cvtph_ps(_mm_load_si128(reinterpret_cast<const __m128i*>(space)));
    const __m256 value = _mm256_fmadd_ps(_mm256_sub_ps(x, shift), slope, offset);
    store16<finish>(space, 0, value, alpha);
    std::memcpy(out + c * bytes, space, count * bytes);
    const unsigned mask = mask_bits(doubtful_of(value, doubt)) & ((1u << count) - 1);
    if (mask != 0) doubtful = list_doubtful(mask, i * columns.width + c, SIZE_MAX, list, doubtful);
  }
  return doubtful;
}

/// Columns from number `first` on.
template <Finish finish>
DMLREF_TARGET_AVX2 inline std::size_t columns16_from(std::size_t first, const Columns& columns,
                                                     const ColumnLines16& line, std::byte* to,
                                                     const std::int64_t* to_offset, float alpha_value,
                                                     std::uint16_t* list) noexcept {
  const __m256 alpha = _mm256_set1_ps(alpha_value);
  std::size_t doubtful = 0;
  std::size_t c = first;
  for (; c + 16 <= columns.width; c += 16) {
    if (finish == Finish::identity && quick_strip16(columns, c, line, to, to_offset)) continue;
    for (std::size_t k = 0; k < 16; k += 8) {
      doubtful += strip16<finish>(columns, c + k, line, to, to_offset, alpha, list + doubtful);
    }
  }
  for (; c + 8 <= columns.width; c += 8) {
    doubtful += strip16<finish>(columns, c, line, to, to_offset, alpha, list + doubtful);
  }
  if (c + 4 == columns.width) {
    doubtful += few16<finish>(columns, c, 4, line, to, to_offset, alpha, list + doubtful);
  } else if (c < columns.width) {
    doubtful += few16<finish>(columns, c, columns.width - c, line, to, to_offset, alpha, list + doubtful);
  }
  return doubtful;
}
template <Finish finish>
DMLREF_TARGET_AVX2 inline std::size_t columns16(const Columns& columns, const ColumnLines16& line, std::byte* to,
                                                const std::int64_t* to_offset, float alpha,
                                                std::uint16_t* list) noexcept {
  return columns16_from<finish>(0, columns, line, to, to_offset, alpha, list);
}

inline const ColumnKernels& column_kernels() noexcept {
  using enum Finish;
  static constexpr ColumnKernels table{
      add_columns<float>,
      add_columns<half>,
      join_columns,
      {columns32<identity>, columns32<relu>, columns32<leaky_relu>, columns32<unit>, columns32<values>},
      {columns16<identity>, columns16<relu>, columns16<leaky_relu>, columns16<unit>, columns16<values>}};
  return table;
}

}  // namespace fast::normalization::avx2
DMLREF_END

#endif  // DMLREF_ARCH_X86_64
