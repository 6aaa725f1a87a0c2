// avx512.hpp: the kernels of neighbouring groups that gain from 512 bits; the others are AVX2's.
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

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::normalization::avx512 {

DMLREF_TARGET_AVX512VNNI inline __m256 eight_floats(const std::byte* at, const float*) noexcept {
  return _mm256_loadu_ps(reinterpret_cast<const float*>(at));
}
DMLREF_TARGET_AVX512VNNI inline __m256 eight_floats(const std::byte* at, const half*) noexcept {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
}

/// Adds 16 columns of a row. `one` is 1: float16 is added by fma(x, 1, sum), the same number, as what adds has two
/// conversions to do already.
template <class T, bool shifted>
DMLREF_TARGET_AVX512VNNI inline void add_row(const std::byte* row, const __m512d (&pivot)[2], __m512d one,
                                             __m512d (&sum)[2], __m512d (&square)[2]) noexcept {
  constexpr T* type = nullptr;
  DMLREF_UNROLL
  for (std::size_t v = 0; v < 2; ++v) {
    __m512d x = _mm512_cvtps_pd(eight_floats(row + 8 * v * sizeof(T), type));
    if constexpr (shifted) x = _mm512_sub_pd(x, pivot[v]);
    sum[v] = std::is_same_v<T, half> ? _mm512_fmadd_pd(x, one, sum[v]) : _mm512_add_pd(sum[v], x);
    square[v] = _mm512_fmadd_pd(x, x, square[v]);
  }
}

/// Prefetches what is wanted next, row by row: in order, the prefetcher of the second cache soon runs ahead.
struct Ahead {
  const std::byte* from;  // null: nothing is wanted
  const std::int64_t* offset;
  std::size_t rows;
  std::size_t bytes;     // of a row
  std::size_t at_once;   // rows
  std::size_t next = 0;  // row

  void ask() noexcept {
    if (from == nullptr) return;
    for (std::size_t k = 0; k < at_once && next < rows; ++k, ++next) prefetch<0, 3>(from + offset[next], bytes);
  }
};

/// Adds 16 columns, four lanes at a time: enough chains of additions to hide their latency.
template <class T, bool shifted>
DMLREF_TARGET_AVX512VNNI inline void add_strip(const Columns& columns, std::size_t column, const double* pivot,
                                               StripLanes& lanes, Ahead& ahead) noexcept {
  constexpr std::size_t at_once = 4;
  __m512d p[2];
  DMLREF_UNROLL
  for (std::size_t v = 0; v < 2; ++v) p[v] = shifted ? _mm512_loadu_pd(pivot + column + 8 * v) : _mm512_setzero_pd();
  __m512d one = _mm512_set1_pd(1.0);
  if constexpr (std::is_same_v<T, half>) __asm__("" : DMLREF_IN_ZMM(one));  // (Else compilers make additions of it.)
  const std::byte* const from = columns.from + column * sizeof(T);
  const std::int64_t* const offset = columns.offset;
  const std::size_t rows = columns.rows;
  for (std::size_t lane = 0; lane < normalization_lanes && lane < rows; lane += at_once) {
    __m512d s[at_once][2];
    __m512d q[at_once][2];
    DMLREF_UNROLL
    for (std::size_t l = 0; l < at_once; ++l) {
      DMLREF_UNROLL
      for (std::size_t v = 0; v < 2; ++v) {
        s[l][v] = _mm512_loadu_pd(&lanes.sum[lane + l][8 * v]);
        q[l][v] = _mm512_loadu_pd(&lanes.square[lane + l][8 * v]);
      }
    }
    std::size_t i = lane;
    for (; i + at_once <= rows; i += normalization_lanes) {
      ahead.ask();
      DMLREF_UNROLL
      for (std::size_t l = 0; l < at_once; ++l) add_row<T, shifted>(from + offset[i + l], p, one, s[l], q[l]);
    }
    DMLREF_UNROLL
    for (std::size_t l = 0; l + 1 < at_once; ++l) {
      if (i + l < rows) add_row<T, shifted>(from + offset[i + l], p, one, s[l], q[l]);
    }
    DMLREF_UNROLL
    for (std::size_t l = 0; l < at_once; ++l) {
      DMLREF_UNROLL
      for (std::size_t v = 0; v < 2; ++v) {
        _mm512_storeu_pd(&lanes.sum[lane + l][8 * v], s[l][v]);
        _mm512_storeu_pd(&lanes.square[lane + l][8 * v], q[l][v]);
      }
    }
  }
}
/// All strips of 16 columns; how many columns that are.
template <class T, bool shifted>
DMLREF_TARGET_AVX512VNNI inline std::size_t add_strips(const Columns& columns, const double* pivot,
                                                       ColumnLanes& lanes) noexcept {
  const std::size_t steps = columns.width / strip_width * (columns.rows / 4);
  Ahead ahead{columns.prefetch != 0 ? columns.from + columns.prefetch : nullptr, columns.offset, columns.rows,
              columns.width * sizeof(T), steps > 0 ? (columns.rows + steps - 1) / steps : 0};
  std::size_t c = 0;
  for (; c + 16 <= columns.width; c += 16) add_strip<T, shifted>(columns, c, pivot, lanes.strip[c / 16], ahead);
  return c;
}
template <bool shifted>
DMLREF_TARGET_AVX512VNNI inline void add_floats(const Columns& columns, const double* pivot,
                                                ColumnLanes& lanes) noexcept {
  avx2::add_floats_from<shifted>(add_strips<float, shifted>(columns, pivot, lanes), columns, pivot, lanes);
}
inline void add_columns32(const Columns& columns, const double* pivot, ColumnLanes& lanes) noexcept {
  pivot != nullptr ? add_floats<true>(columns, pivot, lanes) : add_floats<false>(columns, nullptr, lanes);
}

/// Without rows of floats, where strips are whole.
inline void add_columns16(const Columns& columns, const double* pivot, ColumnLanes& lanes) noexcept {
  if (columns.width % strip_width != 0) return avx2::add_columns<half>(columns, pivot, lanes);
  pivot != nullptr ? add_strips<half, true>(columns, pivot, lanes) : add_strips<half, false>(columns, nullptr, lanes);
}

/// V * 8 columns row by row, their lines in registers: of 64 columns whole rows are read and written.
template <Finish finish, std::size_t V, bool shifted>
DMLREF_TARGET_AVX512VNNI inline void strip32_of(const Columns& columns, std::size_t column, const ColumnLines32& line,
                                                std::byte* to, const std::int64_t* to_offset, __m512d alpha,
                                                float* least) noexcept {
  __m512d slope[V], offset[V];
  Low<finish> low[V];
  DMLREF_UNROLL
  for (std::size_t v = 0; v < V; ++v) {
    slope[v] = _mm512_loadu_pd(line.slope + column + 8 * v);
    offset[v] = _mm512_loadu_pd(line.offset + column + 8 * v);
    clear(low[v]);
  }
  const double* const shift = line.shift + column;
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
    DMLREF_UNROLL
    for (std::size_t v = 0; v < V; ++v) {
      if (v % 2 == 0) _mm_prefetch(reinterpret_cast<const char*>(row + prefetch + 32 * v), _MM_HINT_T0);
      __m512d x = _mm512_cvtps_pd(_mm256_loadu_ps(avx2::floats_at(row, 8 * v)));
      if constexpr (shifted) x = _mm512_sub_pd(x, _mm512_loadu_pd(shift + 8 * v));
      store8<finish>(out, column + 8 * v, _mm512_fmadd_pd(x, slope[v], offset[v]), alpha, low[v], stream);
    }
  }
  DMLREF_UNROLL
  for (std::size_t v = 0; v < V; ++v) _mm256_storeu_ps(least + column + 8 * v, magnitudes(low[v]));
}
template <Finish finish, std::size_t V>
DMLREF_TARGET_AVX512VNNI inline void strip32(const Columns& columns, std::size_t column, const ColumnLines32& line,
                                             std::byte* to, const std::int64_t* to_offset, __m512d alpha,
                                             float* least) noexcept {
  unsigned shifted = 0;
  DMLREF_UNROLL
  for (std::size_t v = 0; v < V; ++v) {
    const __m512d shift = _mm512_loadu_pd(line.shift + column + 8 * v);
    shifted |= _mm512_cmp_pd_mask(shift, _mm512_setzero_pd(), _CMP_NEQ_UQ);
  }
  shifted != 0 ? strip32_of<finish, V, true>(columns, column, line, to, to_offset, alpha, least)
               : strip32_of<finish, V, false>(columns, column, line, to, to_offset, alpha, least);
}
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline void columns32(const Columns& columns, const ColumnLines32& line, std::byte* to,
                                               const std::int64_t* to_offset, double alpha_value,
                                               float* least) noexcept {
  const __m512d alpha = _mm512_set1_pd(alpha_value);
  std::size_t c = 0;
  for (; c + 64 <= columns.width; c += 64) strip32<finish, 8>(columns, c, line, to, to_offset, alpha, least);
  for (; c + 16 <= columns.width; c += 16) strip32<finish, 2>(columns, c, line, to, to_offset, alpha, least);
  avx2::columns32_from<finish>(c, columns, line, to, to_offset, alpha_value, least);
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
  return doubtful + avx2::columns16_from<finish>(c, columns, line, to, to_offset, alpha_value, list + doubtful);
}

inline const ColumnKernels& column_kernels() noexcept {
  using enum Finish;
  static constexpr ColumnKernels table{
      add_columns32,
      add_columns16,
      avx2::join_columns,
      {columns32<identity>, columns32<relu>, columns32<leaky_relu>, columns32<unit>, columns32<values>},
      {columns16<identity>, columns16<relu>, columns16<leaky_relu>, columns16<unit>, columns16<values>},
      true};
  return table;
}

}  // namespace fast::normalization::avx512
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"

#endif  // DMLREF_ARCH_X86_64
