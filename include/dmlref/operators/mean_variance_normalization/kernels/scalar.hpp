// scalar.hpp: the normalization kernels in plain C++: the definition of what the others compute.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/kernels.hpp"
#include "dmlref/reference/fma.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN
namespace fast::normalization::scalar {

inline void widen(const std::byte* halves, float* floats, std::size_t count) noexcept {
  const ByteAccess<const half> from{halves};
  for (std::size_t i = 0; i < count; ++i) floats[i] = static_cast<float>(from.load(static_cast<Index>(i)));
}

/// The sums of a chunk so far.
struct Lanes {
  std::array<double, normalization_lanes> sum{};
  std::array<double, normalization_lanes> square{};
};

template <bool shifted>
inline void add_to(Lanes& lanes, const std::byte* floats, std::size_t count, double pivot, double* wide) noexcept {
  const ByteAccess<const float> from{floats};
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t lane = i % normalization_lanes;
    const double x = static_cast<double>(from.load(static_cast<Index>(i)));
    if (wide != nullptr) wide[i] = x;
    if constexpr (shifted) {
      const double d = x - pivot;
      lanes.sum[lane] += d;
      lanes.square[lane] = reference::fma(d, d, lanes.square[lane]);
    } else {
      lanes.sum[lane] += x;
      lanes.square[lane] += x * x;  // exact product: fused or not, the same
    }
  }
}
inline SumAndSquare total(const Lanes& lanes) noexcept {
  return {reference::sum_lanes(lanes.sum), reference::sum_lanes(lanes.square)};
}
inline SumAndSquare sums(const std::byte* floats, std::size_t count, double* wide, const std::byte*) noexcept {
  Lanes lanes;
  add_to<false>(lanes, floats, count, 0.0, wide);
  return total(lanes);
}
inline SumAndSquare shifted_sums(const std::byte* floats, std::size_t count, double pivot) noexcept {
  Lanes lanes;
  add_to<true>(lanes, floats, count, pivot, nullptr);
  return total(lanes);
}
template <class T>
inline SumAndSquare piece_sums(const std::byte* from, const Piece* pieces, std::size_t count, std::int64_t) noexcept {
  Lanes lanes;
  for (std::size_t p = 0; p < count; ++p) {
    const std::byte* floats = from + pieces[p].from;
    float widened[normalization_chunk];
    if constexpr (std::is_same_v<T, half>) {
      widen(floats, widened, pieces[p].count);
      floats = reinterpret_cast<const std::byte*>(widened);
    }
    add_to<false>(lanes, floats, pieces[p].count, 0.0, nullptr);
  }
  return total(lanes);
}

/// The activation that is part of the store, in the type of the value.
template <Finish finish, class Real>
inline Real finished(Real value, float upper) noexcept {
  if constexpr (finish != Finish::clamped) return value;
  const Real positive = reference::relu(value);
  return positive > Real{upper} ? Real{upper} : positive;
}

/// Stores element i; returns |value| as float.
template <Finish finish>
inline float store32(std::byte* to, std::size_t i, double value, float upper) noexcept {
  if constexpr (finish == Finish::values) {
    std::memcpy(to + i * sizeof(double), &value, sizeof(double));
  } else {
    const auto result = static_cast<float>(finished<finish>(value, upper));
    std::memcpy(to + i * sizeof(float), &result, sizeof(float));
  }
  return static_cast<float>(std::fabs(value));
}

template <Finish finish>
inline void store16(std::byte* to, std::size_t i, float value, float upper) noexcept {
  if constexpr (finish == Finish::values) {
    std::memcpy(to + i * sizeof(float), &value, sizeof(float));
  } else {
    const half result(finished<finish>(value, upper));
    std::memcpy(to + i * sizeof(half), &result, sizeof(half));
  }
}

template <Finish finish>
inline float row32(const Row32& row) noexcept {
  const ByteAccess<const float> from{row.from};
  float least = std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < row.count; ++i) {
    const double x = static_cast<double>(from.load(static_cast<Index>(i)));
    const float size =
        store32<finish>(row.to, i, reference::fma(x - row.line.shift, row.line.slope, row.line.offset), row.upper);
    least = size < least ? size : least;
  }
  return least;
}

template <Finish finish>
inline float pieces32(const Pieces32& chunk) noexcept {
  float least = std::numeric_limits<float>::infinity();
  for (std::size_t p = 0; p < chunk.count; ++p) {
    const Piece& piece = chunk.pieces[p];
    const float low = row32<finish>(
        {chunk.from + piece.from, nullptr, chunk.to + piece.to, piece.count, chunk.line, chunk.upper, chunk.stream});
    least = low < least ? low : least;
  }
  return least;
}

template <Finish finish>
inline float each_row32(const EachRow32& row) noexcept {
  const ByteAccess<const float> from{row.from};
  const GroupCoefficients& group = *row.group;
  float least = std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < row.count; ++i) {
    const double x = static_cast<double>(from.load(static_cast<Index>(i)));
    const double slope = group.rate * row.scale[i];
    const double offset = reference::fma(-group.rest, slope, row.bias[i]);
    const float size = store32<finish>(row.to, i, reference::fma(x - group.shift, slope, offset), row.upper);
    least = size < least ? size : least;
  }
  return least;
}

template <Finish finish>
inline std::size_t row16(const Row16& row) noexcept {
  std::size_t ill_conditioned = 0;
  for (std::size_t i = 0; i < row.count; ++i) {
    const float value = reference::fma(row.from[i] - row.line.shift, row.line.slope, row.line.offset);
    store16<finish>(row.to, i, value, row.upper);
    if (!(std::fabs(value) >= row.line.error_bound))
      row.ill_conditioned[ill_conditioned++] = static_cast<std::uint16_t>(i);
  }
  return ill_conditioned;
}

/// Adds `first` to the numbers of a list.
inline std::size_t renumber(std::uint16_t* list, std::size_t count, std::size_t first) noexcept {
  for (std::size_t k = 0; k < count; ++k) list[k] = static_cast<std::uint16_t>(list[k] + first);
  return count;
}

template <Finish finish>
inline std::size_t pieces16(const Pieces16& chunk) noexcept {
  alignas(64) float row[normalization_chunk];
  std::size_t first = 0;
  std::size_t ill_conditioned = 0;
  for (std::size_t p = 0; p < chunk.count; ++p) {
    const Piece& piece = chunk.pieces[p];
    std::byte* const to = chunk.to + piece.to;
    widen(chunk.from + piece.from, row, piece.count);
    std::uint16_t* const list = chunk.ill_conditioned + ill_conditioned;
    ill_conditioned += renumber(list, row16<finish>({row, to, piece.count, chunk.line, chunk.upper, list}), first);
    first += piece.count;
  }
  return ill_conditioned;
}

template <Finish finish>
inline std::size_t each_row16(const EachRow16& row) noexcept {
  std::size_t ill_conditioned = 0;
  for (std::size_t i = 0; i < row.count; ++i) {
    const float slope = row.rate * row.scale[i];
    const float offset = reference::fma(-row.rest, slope, row.bias[i]);
    const float error_bound = reference::fma(std::fabs(slope), row.slope_error, std::fabs(row.bias[i]) * 0x1p-9f);
    const float value = reference::fma(row.from[i] - row.shift, slope, offset);
    store16<finish>(row.to, i, value, row.upper);
    if (!(std::fabs(value) >= error_bound)) row.ill_conditioned[ill_conditioned++] = static_cast<std::uint16_t>(i);
  }
  return ill_conditioned;
}

inline const Kernels& kernels() noexcept {
  using enum Finish;
  static constexpr Kernels table{widen,
                                 sums,
                                 shifted_sums,
                                 piece_sums<float>,
                                 piece_sums<half>,
                                 {row32<identity>, row32<clamped>, row32<values>},
                                 {each_row32<identity>, each_row32<clamped>, each_row32<values>},
                                 {pieces32<identity>, pieces32<clamped>},
                                 {row16<identity>, row16<clamped>, row16<values>},
                                 {pieces16<identity>, pieces16<clamped>},
                                 {each_row16<identity>, each_row16<clamped>, each_row16<values>}};
  return table;
}

}  // namespace fast::normalization::scalar
DMLREF_END
