// scalar.hpp: the kernels of neighbouring groups in plain C++: the definition of what the others compute.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "dmlref/config.hpp"
#include "dmlref/fast/mean_variance_normalization/columns/kernels.hpp"
#include "dmlref/fast/mean_variance_normalization/scalar.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN
namespace fast::normalization::scalar {

template <class T, bool shifted>
inline void column_sums_of(const Columns& columns, std::size_t column, double pivot, double* sum,
                           double* square) noexcept {
  std::array<double, normalization_lanes> s{};
  std::array<double, normalization_lanes> q{};
  for (std::size_t i = 0; i < columns.rows; ++i) {
    const ByteAccess<const T> from{columns.from + columns.offset[i]};
    const double x = static_cast<double>(static_cast<float>(from.load(static_cast<Index>(column))));
    const std::size_t lane = i % normalization_lanes;
    if constexpr (shifted) {
      const double d = x - pivot;
      s[lane] += d;
      q[lane] = std::fma(d, d, q[lane]);
    } else {
      s[lane] += x;
      q[lane] += x * x;
    }
  }
  sum[column] = reference::sum_lanes(s);
  square[column] = reference::sum_lanes(q);
}

/// Columns from number `first` on.
template <class T>
inline void column_sums_from(std::size_t first, const Columns& columns, const double* pivot, double* sum,
                             double* square) noexcept {
  for (std::size_t c = first; c < columns.width; ++c) {
    if (pivot != nullptr) {
      column_sums_of<T, true>(columns, c, pivot[c], sum, square);
    } else {
      column_sums_of<T, false>(columns, c, 0.0, sum, square);
    }
  }
}
template <class T>
inline void column_sums(const Columns& columns, const double* pivot, double* sum, double* square) noexcept {
  column_sums_from<T>(0, columns, pivot, sum, square);
}

template <Finish finish>
inline float columns32_from(std::size_t first, const Columns& columns, const ColumnLines32& line, std::byte* to,
                            const std::int64_t* to_offset, double alpha) noexcept {
  float least = std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < columns.rows; ++i) {
    const ByteAccess<const float> from{columns.from + columns.offset[i]};
    std::byte* const row = finish == Finish::values ? to + i * columns.width * sizeof(double) : to + to_offset[i];
    for (std::size_t c = first; c < columns.width; ++c) {
      const double x = static_cast<double>(from.load(static_cast<Index>(c)));
      const float size = store32<finish>(row, c, std::fma(x - line.shift[c], line.slope[c], line.offset[c]), alpha);
      least = size < least ? size : least;
    }
  }
  return least;
}
template <Finish finish>
inline float columns32(const Columns& columns, const ColumnLines32& line, std::byte* to, const std::int64_t* to_offset,
                       double alpha) noexcept {
  return columns32_from<finish>(0, columns, line, to, to_offset, alpha);
}

template <Finish finish>
inline std::size_t columns16_from(std::size_t first, const Columns& columns, const ColumnLines16& line, std::byte* to,
                                  const std::int64_t* to_offset, float alpha, std::uint16_t* doubtful) noexcept {
  std::size_t count = 0;
  for (std::size_t i = 0; i < columns.rows; ++i) {
    const ByteAccess<const half> from{columns.from + columns.offset[i]};
    std::byte* const row = finish == Finish::values ? to + i * columns.width * sizeof(float) : to + to_offset[i];
    for (std::size_t c = first; c < columns.width; ++c) {
      const auto x = static_cast<float>(from.load(static_cast<Index>(c)));
      const float value = std::fma(x - line.shift[c], line.slope[c], line.offset[c]);
      store16<finish>(row, c, value, alpha);
      if (!(std::fabs(value) >= line.doubt[c])) {
        doubtful[count++] = static_cast<std::uint16_t>(i * columns.width + c);
      }
    }
  }
  return count;
}
template <Finish finish>
inline std::size_t columns16(const Columns& columns, const ColumnLines16& line, std::byte* to,
                             const std::int64_t* to_offset, float alpha, std::uint16_t* doubtful) noexcept {
  return columns16_from<finish>(0, columns, line, to, to_offset, alpha, doubtful);
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

}  // namespace fast::normalization::scalar
DMLREF_END
