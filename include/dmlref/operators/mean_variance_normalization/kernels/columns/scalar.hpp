// scalar.hpp: the kernels of neighbouring groups in plain C++: the definition of what the others compute.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "dmlref/config.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/columns/kernels.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/scalar.hpp"
#include "dmlref/reference/fma.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN
namespace fast::normalization::scalar {

template <class T>
inline void add_columns(const Columns& columns, const double* pivot, ColumnLanes& lanes) noexcept {
  for (std::size_t i = 0; i < columns.rows; ++i) {
    const ByteAccess<const T> from{columns.from + columns.offset[i]};
    const std::size_t lane = i % normalization_lanes;
    for (std::size_t c = 0; c < columns.width; ++c) {
      StripLanes& strip = lanes.strip[c / strip_width];
      double x = static_cast<double>(static_cast<float>(from.load(static_cast<Index>(c))));
      if (pivot != nullptr) x -= pivot[c];
      strip.sum[lane][c % strip_width] += x;
      double& square = strip.square[lane][c % strip_width];
      square = reference::fma(x, x, square);
    }
  }
}

inline void join_columns(const ColumnLanes& lanes, std::size_t width, double* sum, double* square) noexcept {
  for (std::size_t c = 0; c < width; ++c) {
    const StripLanes& strip = lanes.strip[c / strip_width];
    std::array<double, normalization_lanes> s, q;
    for (std::size_t lane = 0; lane < normalization_lanes; ++lane) {
      s[lane] = strip.sum[lane][c % strip_width];
      q[lane] = strip.square[lane][c % strip_width];
    }
    sum[c] = reference::sum_lanes(s);
    square[c] = reference::sum_lanes(q);
  }
}

template <Finish finish>
inline void columns32(const Columns& columns, const ColumnLines32& line, std::byte* to, const std::int64_t* to_offset,
                      float upper, float* least) noexcept {
  for (std::size_t c = 0; c < columns.width; ++c) least[c] = std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < columns.rows; ++i) {
    const ByteAccess<const float> from{columns.from + columns.offset[i]};
    std::byte* const row = finish == Finish::unrounded ? to + i * columns.width * sizeof(double) : to + to_offset[i];
    for (std::size_t c = 0; c < columns.width; ++c) {
      const double x = static_cast<double>(from.load(static_cast<Index>(c)));
      const double value = reference::fma(x - line.shift[c], line.slope[c], line.offset[c]);
      store<finish>(row, c, value, upper);
      const auto size = static_cast<float>(std::fabs(value));
      least[c] = size < least[c] ? size : least[c];
    }
  }
}
template <Finish finish>
inline std::size_t columns16(const Columns& columns, const ColumnLines16& line, std::byte* to,
                             const std::int64_t* to_offset, float upper, std::uint16_t* ill_conditioned) noexcept {
  std::size_t count = 0;
  for (std::size_t i = 0; i < columns.rows; ++i) {
    const ByteAccess<const half> from{columns.from + columns.offset[i]};
    std::byte* const row = finish == Finish::unrounded ? to + i * columns.width * sizeof(float) : to + to_offset[i];
    for (std::size_t c = 0; c < columns.width; ++c) {
      const auto x = static_cast<float>(from.load(static_cast<Index>(c)));
      const float value = reference::fma(x - line.shift[c], line.slope[c], line.offset[c]);
      store<finish>(row, c, value, upper);
      if (!(std::fabs(value) >= line.error_bound[c])) {
        ill_conditioned[count++] = static_cast<std::uint16_t>(i * columns.width + c);
      }
    }
  }
  return count;
}

inline const ColumnKernels& column_kernels() noexcept {
  using enum Finish;
  static constexpr ColumnKernels table{add_columns<float>,
                                       add_columns<half>,
                                       join_columns,
                                       {columns32<identity>, columns32<clamped>, columns32<unrounded>},
                                       {columns16<identity>, columns16<clamped>, columns16<unrounded>}};
  return table;
}

}  // namespace fast::normalization::scalar
DMLREF_END
