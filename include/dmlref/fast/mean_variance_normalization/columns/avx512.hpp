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
      avx2::add_columns<float>,
      avx2::add_columns<half>,
      avx2::join_columns,
      {avx2::columns32<identity>, avx2::columns32<relu>, avx2::columns32<leaky_relu>, avx2::columns32<unit>,
       avx2::columns32<values>},
      {columns16<identity>, columns16<relu>, columns16<leaky_relu>, columns16<unit>, columns16<values>}};
  return table;
}

}  // namespace fast::normalization::avx512
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"

#endif  // DMLREF_ARCH_X86_64
