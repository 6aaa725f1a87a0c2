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

/// Four columns at a time, one lane after the other.
template <class T, bool shifted>
inline std::size_t add_fours(const Columns& columns, const double* pivot, ColumnLanes& lanes) noexcept {
  std::size_t c = 0;
  for (; c + 4 <= columns.width; c += 4) {
    StripLanes& strip = lanes.strip[c / strip_width];
    float64x2_t p[2];
    DMLREF_UNROLL
    for (std::size_t k = 0; k < 2; ++k) p[k] = shifted ? load_doubles(pivot + c + 2 * k) : vdupq_n_f64(0.0);
    for (std::size_t lane = 0; lane < normalization_lanes && lane < columns.rows; ++lane) {
      double* const sum = &strip.sum[lane][c % strip_width];
      double* const square = &strip.square[lane][c % strip_width];
      float64x2_t s[2] = {load_doubles(sum), load_doubles(sum + 2)};
      float64x2_t q[2] = {load_doubles(square), load_doubles(square + 2)};
      for (std::size_t i = lane; i < columns.rows; i += normalization_lanes) {
        const std::byte* const row = columns.from + columns.offset[i] + c * sizeof(T);
        if (columns.prefetch != 0) __builtin_prefetch(row + columns.prefetch);
        const float32x4_t four = load4<T>(row);
        float64x2_t x[2] = {vcvt_f64_f32(vget_low_f32(four)), vcvt_high_f64_f32(four)};
        DMLREF_UNROLL
        for (std::size_t k = 0; k < 2; ++k) {
          if constexpr (shifted) x[k] = vsubq_f64(x[k], p[k]);
          s[k] = vaddq_f64(s[k], x[k]);
          q[k] = vfmaq_f64(q[k], x[k], x[k]);
        }
      }
      DMLREF_UNROLL
      for (std::size_t k = 0; k < 2; ++k) {
        store_doubles(sum + 2 * k, s[k]);
        store_doubles(square + 2 * k, q[k]);
      }
    }
  }
  return c;
}
template <class T>
inline void add_columns(const Columns& columns, const double* pivot, ColumnLanes& lanes) noexcept {
  const std::size_t done =
      pivot != nullptr ? add_fours<T, true>(columns, pivot, lanes) : add_fours<T, false>(columns, nullptr, lanes);
  scalar::add_columns_from<T>(done, columns, pivot, lanes);
}

template <Finish finish>
inline void columns32(const Columns& columns, const ColumnLines32& line, std::byte* to, const std::int64_t* to_offset,
                      double alpha_value, float* least) noexcept {
  const float64x2_t alpha = vdupq_n_f64(alpha_value);
  std::size_t c = 0;
  for (; c + 4 <= columns.width; c += 4) {
    float32x4_t smallest = vdupq_n_f32(std::numeric_limits<float>::infinity());
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
      store32<finish>(out, c, vfmaq_f64(offset[0], low, slope[0]), vfmaq_f64(offset[1], high, slope[1]), alpha,
                      smallest);
    }
    store_floats(least + c, smallest);
  }
  scalar::columns32_from<finish>(c, columns, line, to, to_offset, alpha_value, least);
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
      add_columns<float>,
      add_columns<half>,
      scalar::join_columns,
      {columns32<identity>, columns32<relu>, columns32<leaky_relu>, columns32<unit>, columns32<values>},
      {columns16<identity>, columns16<relu>, columns16<leaky_relu>, columns16<unit>, columns16<values>}};
  return table;
}

}  // namespace fast::normalization::neon
DMLREF_END

#endif  // DMLREF_ARCH_ARM64
