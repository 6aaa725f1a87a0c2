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

/// Four neighbouring elements as doubles.
template <class T>
DMLREF_TARGET_AVX2 inline __m256d load4(const std::byte* at) noexcept {
  if constexpr (std::is_same_v<T, half>) {
    return _mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at))));
  } else {
    return _mm256_cvtps_pd(_mm_loadu_ps(reinterpret_cast<const float*>(at)));
  }
}

/// Sums of V * 4 columns. One lane after the other, so that its accumulators stay in registers; the lines are asked for
/// ahead, because no prefetcher foresees the steps.
template <class T, std::size_t V, bool shifted>
DMLREF_TARGET_AVX2 inline void strip_sums(const Columns& columns, std::size_t column, const double* pivot, double* sum,
                                          double* square) noexcept {
  alignas(32) double sums[normalization_lanes][V * 4];
  alignas(32) double squares[normalization_lanes][V * 4];
  __m256d p[V];
  DMLREF_UNROLL
  for (std::size_t v = 0; v < V; ++v) p[v] = shifted ? _mm256_loadu_pd(pivot + column + 4 * v) : _mm256_setzero_pd();
  for (std::size_t lane = 0; lane < normalization_lanes; ++lane) {
    __m256d s[V];
    __m256d q[V];
    DMLREF_UNROLL
    for (std::size_t v = 0; v < V; ++v) s[v] = q[v] = _mm256_setzero_pd();
    for (std::size_t i = lane; i < columns.rows; i += normalization_lanes) {
      const std::byte* const row = columns.from + columns.offset[i] + column * sizeof(T);
      if (columns.prefetch != 0) _mm_prefetch(reinterpret_cast<const char*>(row + columns.prefetch), _MM_HINT_T1);
      DMLREF_UNROLL
      for (std::size_t v = 0; v < V; ++v) {
        __m256d x = load4<T>(row + v * 4 * sizeof(T));
        if constexpr (shifted) x = _mm256_sub_pd(x, p[v]);
        s[v] = _mm256_add_pd(s[v], x);
        q[v] = _mm256_fmadd_pd(x, x, q[v]);
      }
    }
    DMLREF_UNROLL
    for (std::size_t v = 0; v < V; ++v) {
      _mm256_store_pd(&sums[lane][4 * v], s[v]);
      _mm256_store_pd(&squares[lane][4 * v], q[v]);
    }
  }
  for (std::size_t width = normalization_lanes / 2; width > 0; width /= 2) {
    for (std::size_t lane = 0; lane < width; ++lane) {
      DMLREF_UNROLL
      for (std::size_t v = 0; v < V; ++v) {
        double* const s = &sums[lane][4 * v];
        double* const q = &squares[lane][4 * v];
        _mm256_store_pd(s, _mm256_add_pd(_mm256_load_pd(s), _mm256_load_pd(&sums[lane + width][4 * v])));
        _mm256_store_pd(q, _mm256_add_pd(_mm256_load_pd(q), _mm256_load_pd(&squares[lane + width][4 * v])));
      }
    }
  }
  std::memcpy(sum + column, sums[0], sizeof(sums[0]));
  std::memcpy(square + column, squares[0], sizeof(squares[0]));
}

template <class T, bool shifted>
DMLREF_TARGET_AVX2 inline void column_sums_of(const Columns& columns, const double* pivot, double* sum,
                                              double* square) noexcept {
  std::size_t c = 0;
  for (; c + 16 <= columns.width; c += 16) strip_sums<T, 4, shifted>(columns, c, pivot, sum, square);
  for (; c + 8 <= columns.width; c += 8) strip_sums<T, 2, shifted>(columns, c, pivot, sum, square);
  for (; c + 4 <= columns.width; c += 4) strip_sums<T, 1, shifted>(columns, c, pivot, sum, square);
  scalar::column_sums_from<T>(c, columns, pivot, sum, square);
}
template <class T>
DMLREF_TARGET_AVX2 inline void column_sums(const Columns& columns, const double* pivot, double* sum,
                                           double* square) noexcept {
  if (pivot != nullptr) {
    column_sums_of<T, true>(columns, pivot, sum, square);
  } else {
    column_sums_of<T, false>(columns, nullptr, sum, square);
  }
}

template <Finish finish, std::size_t V>
DMLREF_TARGET_AVX2 inline void strip32(const Columns& columns, std::size_t column, const ColumnLines32& line,
                                       std::byte* to, const std::int64_t* to_offset, __m256d alpha,
                                       __m256& least) noexcept {
  __m256d shift[V], slope[V], offset[V];
  DMLREF_UNROLL
  for (std::size_t v = 0; v < V; ++v) {
    shift[v] = _mm256_loadu_pd(line.shift + column + 4 * v);
    slope[v] = _mm256_loadu_pd(line.slope + column + 4 * v);
    offset[v] = _mm256_loadu_pd(line.offset + column + 4 * v);
  }
  for (std::size_t i = 0; i < columns.rows; ++i) {
    const std::byte* const row = columns.from + columns.offset[i] + column * sizeof(float);
    std::byte* const out = finish == Finish::values ? to + i * columns.width * sizeof(double) : to + to_offset[i];
    DMLREF_UNROLL
    for (std::size_t v = 0; v < V; v += 2) {
      const __m256d low = _mm256_sub_pd(load4<float>(row + v * 16), shift[v]);
      const __m256d high = _mm256_sub_pd(load4<float>(row + v * 16 + 16), shift[v + 1]);
      store8<finish>(out, column + 4 * v, _mm256_fmadd_pd(low, slope[v], offset[v]),
                     _mm256_fmadd_pd(high, slope[v + 1], offset[v + 1]), alpha, least);
    }
  }
}

template <Finish finish>
DMLREF_TARGET_AVX2 inline float columns32(const Columns& columns, const ColumnLines32& line, std::byte* to,
                                          const std::int64_t* to_offset, double alpha_value) noexcept {
  const __m256d alpha = _mm256_set1_pd(alpha_value);
  __m256 least = _mm256_set1_ps(std::numeric_limits<float>::infinity());
  std::size_t c = 0;
  for (; c + 16 <= columns.width; c += 16) strip32<finish, 4>(columns, c, line, to, to_offset, alpha, least);
  for (; c + 8 <= columns.width; c += 8) strip32<finish, 2>(columns, c, line, to, to_offset, alpha, least);
  const float rest = scalar::columns32_from<finish>(c, columns, line, to, to_offset, alpha_value);
  const float first = least_of(least);
  return rest < first ? rest : first;
}

template <Finish finish>
DMLREF_TARGET_AVX2 inline std::size_t columns16(const Columns& columns, const ColumnLines16& line, std::byte* to,
                                                const std::int64_t* to_offset, float alpha_value,
                                                std::uint16_t* list) noexcept {
  const __m256 alpha = _mm256_set1_ps(alpha_value);
  std::size_t doubtful = 0;
  std::size_t c = 0;
  for (; c + 8 <= columns.width; c += 8) {
    const __m256 shift = _mm256_loadu_ps(line.shift + c);
    const __m256 slope = _mm256_loadu_ps(line.slope + c);
    const __m256 offset = _mm256_loadu_ps(line.offset + c);
    const __m256 doubt = _mm256_loadu_ps(line.doubt + c);
    for (std::size_t i = 0; i < columns.rows; ++i) {
      const std::byte* const row = columns.from + columns.offset[i] + c * sizeof(half);
      std::byte* const out = finish == Finish::values ? to + i * columns.width * sizeof(float) : to + to_offset[i];
      const __m256 x = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(row)));
      const __m256 value = _mm256_fmadd_ps(_mm256_sub_ps(x, shift), slope, offset);
      store16<finish>(out, c, value, alpha);
      const unsigned mask = doubtful_mask(value, doubt);
      if (mask != 0) doubtful = list_doubtful(mask, i * columns.width + c, SIZE_MAX, list, doubtful);
    }
  }
  return doubtful + scalar::columns16_from<finish>(c, columns, line, to, to_offset, alpha_value, list + doubtful);
}
inline const ColumnKernels& column_kernels() noexcept {
  using enum Finish;
  static constexpr ColumnKernels table{
      column_sums<float>,
      column_sums<half>,
      {columns32<identity>, columns32<relu>, columns32<leaky_relu>, columns32<unit>, columns32<values>},
      {columns16<identity>, columns16<relu>, columns16<leaky_relu>, columns16<unit>, columns16<values>}};
  return table;
}

}  // namespace fast::normalization::avx2
DMLREF_END

#endif  // DMLREF_ARCH_X86_64
