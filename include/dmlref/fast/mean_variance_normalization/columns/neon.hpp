// neon.hpp: the kernels of neighbouring groups for baseline NEON.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_ARM64

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "dmlref/fast/mean_variance_normalization/columns/kernels.hpp"
#include "dmlref/fast/mean_variance_normalization/columns/scalar.hpp"
#include "dmlref/fast/mean_variance_normalization/neon.hpp"

DMLREF_BEGIN
namespace fast::normalization::neon {

/// Sums of 4 * V columns: one lane after the other, so that its accumulators stay in registers.
template <class T, std::size_t V, bool shifted>
inline void strip_sums(const Columns& columns, std::size_t column, const double* pivot, double* sum,
                       double* square) noexcept {
  constexpr std::size_t width = 4 * V, pairs = 2 * V;
  double sums[normalization_lanes][width], squares[normalization_lanes][width];
  float64x2_t p[pairs];
  DMLREF_UNROLL
  for (std::size_t v = 0; v < pairs; ++v) p[v] = shifted ? load_doubles(pivot + column + 2 * v) : vdupq_n_f64(0.0);
  for (std::size_t lane = 0; lane < normalization_lanes; ++lane) {
    float64x2_t s[pairs], q[pairs];
    DMLREF_UNROLL
    for (std::size_t v = 0; v < pairs; ++v) s[v] = q[v] = vdupq_n_f64(0.0);
    for (std::size_t i = lane; i < columns.rows; i += normalization_lanes) {
      const std::byte* const row = columns.from + columns.offset[i] + column * sizeof(T);
      if (columns.prefetch != 0) __builtin_prefetch(row + columns.prefetch);
      DMLREF_UNROLL
      for (std::size_t v = 0; v < pairs; v += 2) {
        const float32x4_t four = load4<T>(row + 2 * v * sizeof(T));
        float64x2_t low = vcvt_f64_f32(vget_low_f32(four));
        float64x2_t high = vcvt_high_f64_f32(four);
        if constexpr (shifted) {
          low = vsubq_f64(low, p[v]);
          high = vsubq_f64(high, p[v + 1]);
        }
        s[v] = vaddq_f64(s[v], low);
        s[v + 1] = vaddq_f64(s[v + 1], high);
        q[v] = vfmaq_f64(q[v], low, low);
        q[v + 1] = vfmaq_f64(q[v + 1], high, high);
      }
    }
    DMLREF_UNROLL
    for (std::size_t v = 0; v < pairs; ++v) {
      store_doubles(&sums[lane][2 * v], s[v]);
      store_doubles(&squares[lane][2 * v], q[v]);
    }
  }
  for (std::size_t half_of = normalization_lanes / 2; half_of > 0; half_of /= 2) {  // as reference::sum_lanes
    for (std::size_t lane = 0; lane < half_of; ++lane) {
      for (std::size_t c = 0; c < width; ++c) {
        sums[lane][c] += sums[lane + half_of][c];
        squares[lane][c] += squares[lane + half_of][c];
      }
    }
  }
  std::memcpy(sum + column, sums[0], sizeof(sums[0]));
  std::memcpy(square + column, squares[0], sizeof(squares[0]));
}

template <class T, bool shifted>
inline void column_sums_of(const Columns& columns, const double* pivot, double* sum, double* square) noexcept {
  std::size_t c = 0;
  for (; c + 16 <= columns.width; c += 16) strip_sums<T, 4, shifted>(columns, c, pivot, sum, square);
  for (; c + 4 <= columns.width; c += 4) strip_sums<T, 1, shifted>(columns, c, pivot, sum, square);
  scalar::column_sums_from<T>(c, columns, pivot, sum, square);
}
template <class T>
inline void column_sums(const Columns& columns, const double* pivot, double* sum, double* square) noexcept {
  pivot != nullptr ? column_sums_of<T, true>(columns, pivot, sum, square)
                   : column_sums_of<T, false>(columns, nullptr, sum, square);
}

template <Finish finish>
inline float columns32(const Columns& columns, const ColumnLines32& line, std::byte* to, const std::int64_t* to_offset,
                       double alpha_value) noexcept {
  const float64x2_t alpha = vdupq_n_f64(alpha_value);
  float32x4_t least = vdupq_n_f32(std::numeric_limits<float>::infinity());
  std::size_t c = 0;
  for (; c + 4 <= columns.width; c += 4) {
    float64x2_t shift[2], slope[2], offset[2];
    DMLREF_UNROLL
    for (std::size_t k = 0; k < 2; ++k) {
      shift[k] = load_doubles(line.shift + c + 2 * k);
      slope[k] = load_doubles(line.slope + c + 2 * k);
      offset[k] = load_doubles(line.offset + c + 2 * k);
    }
    for (std::size_t i = 0; i < columns.rows; ++i) {
      const float32x4_t x = load_floats(columns.from + columns.offset[i] + c * sizeof(float));
      std::byte* const out = finish == Finish::values ? to + i * columns.width * sizeof(double) : to + to_offset[i];
      const float64x2_t low = vsubq_f64(vcvt_f64_f32(vget_low_f32(x)), shift[0]);
      const float64x2_t high = vsubq_f64(vcvt_high_f64_f32(x), shift[1]);
      store32<finish>(out, c, vfmaq_f64(offset[0], low, slope[0]), vfmaq_f64(offset[1], high, slope[1]), alpha, least);
    }
  }
  const float rest = scalar::columns32_from<finish>(c, columns, line, to, to_offset, alpha_value);
  return smaller(rest, vminnmvq_f32(least));
}

template <Finish finish>
inline std::size_t columns16(const Columns& columns, const ColumnLines16& line, std::byte* to,
                             const std::int64_t* to_offset, float alpha_value, std::uint16_t* list) noexcept {
  const float32x4_t alpha = vdupq_n_f32(alpha_value);
  std::size_t doubtful = 0;
  std::size_t c = 0;
  for (; c + 4 <= columns.width; c += 4) {
    const float32x4_t shift = load_floats(line.shift + c), slope = load_floats(line.slope + c);
    const float32x4_t offset = load_floats(line.offset + c), doubt = load_floats(line.doubt + c);
    for (std::size_t i = 0; i < columns.rows; ++i) {
      const float32x4_t x = load4<half>(columns.from + columns.offset[i] + c * sizeof(half));
      std::byte* const out = finish == Finish::values ? to + i * columns.width * sizeof(float) : to + to_offset[i];
      const float32x4_t value = vfmaq_f32(offset, vsubq_f32(x, shift), slope);
      store16<finish>(out, c, value, alpha);
      doubtful = list_doubtful(value, doubt, i * columns.width + c, list, doubtful);
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

}  // namespace fast::normalization::neon
DMLREF_END

#endif  // DMLREF_ARCH_ARM64
