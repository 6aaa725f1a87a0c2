// avx512.hpp: the kernels of neighbouring groups that gain from 512 bits; what is narrower goes to AVX2's.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "dmlref/fast/mean_variance_normalization/avx512.hpp"
#include "dmlref/fast/mean_variance_normalization/columns/avx2.hpp"
#include "dmlref/fast/mean_variance_normalization/columns/kernels.hpp"
#include "dmlref/fast/mean_variance_normalization/columns/scalar.hpp"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"  // GCC 12 in its own avx512 headers (bug 105593)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

DMLREF_BEGIN
namespace fast::normalization::avx512 {

/// Eight neighbouring elements as doubles.
template <class T>
DMLREF_TARGET_AVX512VNNI inline __m512d load8(const std::byte* at) noexcept {
  if constexpr (std::is_same_v<T, half>) {
    return _mm512_cvtps_pd(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))));
  } else {
    return load8<false>(reinterpret_cast<const float*>(at), nullptr);
  }
}

/// Sums of 16 columns, four neighbouring lanes at a time.
template <class T>
DMLREF_TARGET_AVX512VNNI inline void strip_sums(const Columns& columns, std::size_t column, double* sum,
                                                double* square) noexcept {
  constexpr std::size_t together = 4;
  alignas(64) double sums[normalization_lanes][16];
  alignas(64) double squares[normalization_lanes][16];
  for (std::size_t lane = 0; lane < normalization_lanes; lane += together) {
    __m512d s[together][2];
    __m512d q[together][2];
    DMLREF_UNROLL
    for (std::size_t l = 0; l < together; ++l) s[l][0] = s[l][1] = q[l][0] = q[l][1] = _mm512_setzero_pd();
    std::size_t i = lane;
    for (; i + together <= columns.rows; i += normalization_lanes) {
      DMLREF_UNROLL
      for (std::size_t l = 0; l < together; ++l) {
        const std::byte* const row = columns.from + columns.offset[i + l] + column * sizeof(T);
        if (columns.prefetch != 0) _mm_prefetch(reinterpret_cast<const char*>(row + columns.prefetch), _MM_HINT_T1);
        const __m512d a = load8<T>(row);
        const __m512d b = load8<T>(row + 8 * sizeof(T));
        s[l][0] = _mm512_add_pd(s[l][0], a);
        s[l][1] = _mm512_add_pd(s[l][1], b);
        q[l][0] = _mm512_fmadd_pd(a, a, q[l][0]);
        q[l][1] = _mm512_fmadd_pd(b, b, q[l][1]);
      }
    }
    DMLREF_UNROLL
    for (std::size_t l = 0; l < together; ++l) {
      if (i + l < columns.rows) {
        const std::byte* const row = columns.from + columns.offset[i + l] + column * sizeof(T);
        const __m512d a = load8<T>(row);
        const __m512d b = load8<T>(row + 8 * sizeof(T));
        s[l][0] = _mm512_add_pd(s[l][0], a);
        s[l][1] = _mm512_add_pd(s[l][1], b);
        q[l][0] = _mm512_fmadd_pd(a, a, q[l][0]);
        q[l][1] = _mm512_fmadd_pd(b, b, q[l][1]);
      }
      _mm512_store_pd(&sums[lane + l][0], s[l][0]);
      _mm512_store_pd(&sums[lane + l][8], s[l][1]);
      _mm512_store_pd(&squares[lane + l][0], q[l][0]);
      _mm512_store_pd(&squares[lane + l][8], q[l][1]);
    }
  }
  for (std::size_t width = normalization_lanes / 2; width > 0; width /= 2) {
    for (std::size_t lane = 0; lane < width; ++lane) {
      for (std::size_t c = 0; c < 16; c += 8) {
        _mm512_store_pd(&sums[lane][c],
                        _mm512_add_pd(_mm512_load_pd(&sums[lane][c]), _mm512_load_pd(&sums[lane + width][c])));
        _mm512_store_pd(&squares[lane][c],
                        _mm512_add_pd(_mm512_load_pd(&squares[lane][c]), _mm512_load_pd(&squares[lane + width][c])));
      }
    }
  }
  std::memcpy(sum + column, sums[0], sizeof(sums[0]));
  std::memcpy(square + column, squares[0], sizeof(squares[0]));
}

template <class T>
DMLREF_TARGET_AVX512VNNI inline void column_sums(const Columns& columns, const double* pivot, double* sum,
                                                 double* square) noexcept {
  if (pivot != nullptr || columns.width < 16) return avx2::column_sums<T>(columns, pivot, sum, square);
  std::size_t c = 0;
  for (; c + 16 <= columns.width; c += 16) strip_sums<T>(columns, c, sum, square);
  if (c < columns.width) {
    Columns rest = columns;
    rest.from += c * sizeof(T);
    rest.width -= c;
    avx2::column_sums<T>(rest, nullptr, sum + c, square + c);
  }
}

/// V * 8 columns row by row, their lines in registers.
template <Finish finish, std::size_t V>
DMLREF_TARGET_AVX512VNNI inline void strip32(const Columns& columns, std::size_t column, const ColumnLines32& line,
                                             std::byte* to, const std::int64_t* to_offset, __m512d alpha,
                                             __m256& least) noexcept {
  __m512d shift[V], slope[V], offset[V];
  __m256 low[2];
  low[0] = low[1] = least;
  DMLREF_UNROLL
  for (std::size_t v = 0; v < V; ++v) {
    shift[v] = _mm512_loadu_pd(line.shift + column + 8 * v);
    slope[v] = _mm512_loadu_pd(line.slope + column + 8 * v);
    offset[v] = _mm512_loadu_pd(line.offset + column + 8 * v);
  }
  for (std::size_t i = 0; i < columns.rows; ++i) {
    const std::byte* const row = columns.from + columns.offset[i] + column * sizeof(float);
    std::byte* const out = finish == Finish::values ? to + i * columns.width * sizeof(double) : to + to_offset[i];
    DMLREF_UNROLL
    for (std::size_t v = 0; v < V; ++v) {
      const __m512d x = _mm512_sub_pd(load8<float>(row + v * 32), shift[v]);
      store8<finish>(out, column + 8 * v, _mm512_fmadd_pd(x, slope[v], offset[v]), alpha, low[v % 2], false);
    }
  }
  least = _mm256_min_ps(avx2::absolute(low[0]), avx2::absolute(low[1]));
}

template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline float columns32(const Columns& columns, const ColumnLines32& line, std::byte* to,
                                                const std::int64_t* to_offset, double alpha_value) noexcept {
  const __m512d alpha = _mm512_set1_pd(alpha_value);
  __m256 least = _mm256_set1_ps(std::numeric_limits<float>::infinity());
  std::size_t c = 0;
  for (; c + 64 <= columns.width; c += 64) strip32<finish, 8>(columns, c, line, to, to_offset, alpha, least);
  for (; c + 16 <= columns.width; c += 16) strip32<finish, 2>(columns, c, line, to, to_offset, alpha, least);
  for (; c + 8 <= columns.width; c += 8) strip32<finish, 1>(columns, c, line, to, to_offset, alpha, least);
  const float rest = scalar::columns32_from<finish>(c, columns, line, to, to_offset, alpha_value);
  const float first = avx2::least_of(least);
  return rest < first ? rest : first;
}

template <Finish finish, std::size_t V>
DMLREF_TARGET_AVX512VNNI inline std::size_t strip16(const Columns& columns, std::size_t column,
                                                    const ColumnLines16& line, std::byte* to,
                                                    const std::int64_t* to_offset, __m512 alpha, std::uint16_t* list,
                                                    std::size_t doubtful) noexcept {
  __m512 shift[V], slope[V], offset[V], doubt[V];
  DMLREF_UNROLL
  for (std::size_t v = 0; v < V; ++v) {
    shift[v] = _mm512_loadu_ps(line.shift + column + 16 * v);
    slope[v] = _mm512_loadu_ps(line.slope + column + 16 * v);
    offset[v] = _mm512_loadu_ps(line.offset + column + 16 * v);
    doubt[v] = _mm512_loadu_ps(line.doubt + column + 16 * v);
  }
  for (std::size_t i = 0; i < columns.rows; ++i) {
    const std::byte* const row = columns.from + columns.offset[i] + column * sizeof(half);
    std::byte* const out = finish == Finish::values ? to + i * columns.width * sizeof(float) : to + to_offset[i];
    DMLREF_UNROLL
    for (std::size_t v = 0; v < V; ++v) {
      const __m512 x = _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + v * 32)));
      const __m512 value = _mm512_fmadd_ps(_mm512_sub_ps(x, shift[v]), slope[v], offset[v]);
      store16<finish>(out, column + 16 * v, value, alpha);
      const unsigned mask = doubtful_mask(value, doubt[v]);
      if (mask != 0) {
        doubtful = avx2::list_doubtful(mask, i * columns.width + column + 16 * v, SIZE_MAX, list, doubtful);
      }
    }
  }
  return doubtful;
}

template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline std::size_t columns16(const Columns& columns, const ColumnLines16& line, std::byte* to,
                                                      const std::int64_t* to_offset, float alpha_value,
                                                      std::uint16_t* list) noexcept {
  const __m512 alpha = _mm512_set1_ps(alpha_value);
  std::size_t doubtful = 0;
  std::size_t c = 0;
  for (; c + 64 <= columns.width; c += 64) {
    doubtful = strip16<finish, 4>(columns, c, line, to, to_offset, alpha, list, doubtful);
  }
  for (; c + 16 <= columns.width; c += 16) {
    doubtful = strip16<finish, 1>(columns, c, line, to, to_offset, alpha, list, doubtful);
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

}  // namespace fast::normalization::avx512
DMLREF_END

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#endif  // DMLREF_ARCH_X86_64
