// scalar.hpp: the normalization kernels in plain C++: the definition of what the others compute.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/desc/half.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/kernels.hpp"
#include "dmlref/operators/mean_variance_normalization/reference.hpp"
#include "dmlref/reference/fma.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN
namespace fast::normalization::scalar {

inline void widen(const std::byte* halves, float* floats, std::size_t count) noexcept {
  const ByteAccess<const half> from{halves};
  for (std::size_t i = 0; i < count; ++i) floats[i] = static_cast<float>(from.load(static_cast<Index>(i)));
}

/// The sums of a summation block so far.
struct Lanes {
  std::array<double, normalization_lanes> sum{};
  std::array<double, normalization_lanes> square{};
};

/// Adds floats from lane 0 on.
template <bool shifted>
inline void add_to(Lanes& lanes, const std::byte* floats, std::size_t count, double pivot,
                   double* doubles = nullptr) noexcept {
  const ByteAccess<const float> from{floats};
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t lane = i % normalization_lanes;
    const double x = static_cast<double>(from.load(static_cast<Index>(i)));
    if (doubles != nullptr) doubles[i] = x;
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
/// A segment as floats: where it lies, or in `space`. (Halves become floats all at once: compilers do that in vectors.)
template <class T>
inline const std::byte* floats_of(const std::byte* from, std::size_t count, float* space) noexcept {
  if constexpr (!std::is_same_v<T, half>) return from;
  widen(from, space, count);
  return reinterpret_cast<const std::byte*>(space);
}

template <class T>
inline SumAndSquare sums(const std::byte* from, const Segment* segments, std::size_t count, Address) noexcept {
  Lanes lanes;
  float space[summation_block];
  for (const Segment* segment = segments; segment != segments + count; ++segment) {
    add_to<false>(lanes, floats_of<T>(from + segment->from, segment->count, space), segment->count, 0.0);
  }
  return total(lanes);
}
inline SumAndSquare row_sums(const std::byte* floats, std::size_t count, Address) noexcept {
  Lanes lanes;
  add_to<false>(lanes, floats, count, 0.0);
  return total(lanes);
}
inline SumAndSquare convert(const std::byte* floats, std::size_t count, double* doubles, Address) noexcept {
  Lanes lanes;
  add_to<false>(lanes, floats, count, 0.0, doubles);
  return total(lanes);
}
inline SumAndSquare shifted_sums(const std::byte* floats, std::size_t count, double pivot) noexcept {
  Lanes lanes;
  add_to<true>(lanes, floats, count, pivot);
  return total(lanes);
}

/// The activation that is part of the store, in the type of the value.
template <Finish finish, class Real>
inline Real finished(Real value, float upper) noexcept {
  if constexpr (finish != Finish::clamped) return value;
  const Real positive = reference::relu(value);
  return positive > Real{upper} ? Real{upper} : positive;
}
/// float32 of double, float16 of float.
template <class Real>
using ElementOf = std::conditional_t<std::is_same_v<Real, double>, float, half>;
/// Stores element i.
template <Finish finish, class Real>
inline void store(std::byte* to, std::size_t i, Real value, float upper) noexcept {
  using Stored = std::conditional_t<finish == Finish::unrounded, Real, ElementOf<Real>>;
  const auto result = static_cast<Stored>(finished<finish>(value, upper));
  std::memcpy(to + i * sizeof(Stored), &result, sizeof(Stored));
}

/// Element i's coefficients.
template <class Real>
inline const SharedCoefficients<Real>& of_element(const SharedCoefficients<Real>& c, std::size_t) noexcept {
  return c;
}
template <class Real>
inline SharedCoefficients<Real> of_element(const PerElementCoefficients<Real>& c, std::size_t i) noexcept {
  SharedCoefficients<Real> element;
  element.shift = c.shift;
  element.slope = c.rate * c.scale[i];
  element.offset = reference::fma(-c.rest, element.slope, c.bias[i]);
  if constexpr (std::is_same_v<Real, float>) {
    element.error_bound = reference::fma(std::fabs(element.slope), c.slope_error, std::fabs(c.bias[i]) * 0x1p-9f);
  }
  return element;
}

template <Finish finish, class Real, class Coefficients>
inline typename ResultKernels<Real>::Found results(const Results<Real>& in, const Coefficients& given) noexcept {
  using T = ElementOf<Real>;
  const Coefficients coefficients = given;
  std::size_t ill_conditioned = 0;
  std::size_t number = 0;
  auto minimum = std::numeric_limits<float>::infinity();
  float space[summation_block];
  const bool converted = is_converted(in.source);
  const Real* const reals = in.converted;  // (copies: for all the compiler knows, a store changes `in`)
  const float upper = in.upper;
  const Segment* const end = in.segments + in.count;
  for (const Segment* segment = in.segments; segment != end; ++segment) {
    const std::size_t count = segment->count;
    const ByteAccess<const float> floats{converted ? nullptr : floats_of<T>(in.from + segment->from, count, space)};
    std::byte* const to = in.to + segment->to;
    for (std::size_t i = 0; i < count; ++i, ++number) {
      const Real x = converted ? reals[i] : Real{floats.load(static_cast<Index>(i))};
      const auto& c = of_element(coefficients, number);
      const Real value = c.value(x);
      store<finish>(to, i, value, upper);
      if constexpr (std::is_same_v<Real, double>) {
        const auto size = static_cast<float>(std::fabs(value));
        minimum = size < minimum ? size : minimum;
      } else if (!(std::fabs(value) >= c.error_bound)) {
        in.list[ill_conditioned++] = static_cast<std::uint16_t>(number);
      }
    }
  }
  if constexpr (std::is_same_v<Real, double>) {
    return minimum;
  } else {
    return ill_conditioned;
  }
}

/// Adds `first` to the numbers of a list.
inline std::size_t renumber(std::uint16_t* list, std::size_t count, std::size_t first) noexcept {
  for (std::size_t k = 0; k < count; ++k) list[k] = static_cast<std::uint16_t>(list[k] + first);
  return count;
}

template <class Real>
constexpr ResultKernels<Real> result_kernels() noexcept {
  using enum Finish;
  using Shared = SharedCoefficients<Real>;
  using PerElement = PerElementCoefficients<Real>;
  return {
      {results<identity, Real, Shared>, results<clamped, Real, Shared>, results<unrounded, Real, Shared>},
      {results<identity, Real, PerElement>, results<clamped, Real, PerElement>, results<unrounded, Real, PerElement>}};
}
inline const Kernels& kernels() noexcept {
  static constexpr Kernels table{widen,
                                 sums<float>,
                                 sums<half>,
                                 row_sums,
                                 convert,
                                 shifted_sums,
                                 result_kernels<double>(),
                                 result_kernels<float>()};
  return table;
}

// ---- Columns -----------------------------------------------------------------------------------------------------

template <class T>
inline void add_columns(const Columns& columns, const double* pivot, ColumnLanes& lanes) noexcept {
  for (std::size_t i = 0; i < columns.rows; ++i) {
    const ByteAccess<const T> from{columns.from + columns.offset[i]};
    const std::size_t lane = i % normalization_lanes;
    for (std::size_t c = 0; c < columns.width; ++c) {
      SubpanelLanes& subpanel = lanes.subpanel[c / subpanel_width];
      double x = static_cast<double>(static_cast<float>(from.load(static_cast<Index>(c))));
      if (pivot != nullptr) x -= pivot[c];
      subpanel.sum[lane][c % subpanel_width] += x;
      double& square = subpanel.square[lane][c % subpanel_width];
      square = reference::fma(x, x, square);
    }
  }
}

inline void join_columns(const ColumnLanes& lanes, std::size_t width, double* sum, double* square) noexcept {
  for (std::size_t c = 0; c < width; ++c) {
    const SubpanelLanes& subpanel = lanes.subpanel[c / subpanel_width];
    std::array<double, normalization_lanes> s, q;
    for (std::size_t lane = 0; lane < normalization_lanes; ++lane) {
      s[lane] = subpanel.sum[lane][c % subpanel_width];
      q[lane] = subpanel.square[lane][c % subpanel_width];
    }
    sum[c] = reference::sum_lanes(s);
    square[c] = reference::sum_lanes(q);
  }
}

template <Finish finish>
inline void columns32(const Columns& columns, const ColumnCoefficients32& coefficients, std::byte* to,
                      const std::int64_t* to_offset, float upper, float* minimum) noexcept {
  for (std::size_t c = 0; c < columns.width; ++c) minimum[c] = std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < columns.rows; ++i) {
    const ByteAccess<const float> from{columns.from + columns.offset[i]};
    std::byte* const row = finish == Finish::unrounded ? to + i * columns.width * sizeof(double) : to + to_offset[i];
    for (std::size_t c = 0; c < columns.width; ++c) {
      const double x = static_cast<double>(from.load(static_cast<Index>(c)));
      const double value = reference::fma(x - coefficients.shift[c], coefficients.slope[c], coefficients.offset[c]);
      store<finish>(row, c, value, upper);
      const auto size = static_cast<float>(std::fabs(value));
      minimum[c] = size < minimum[c] ? size : minimum[c];
    }
  }
}
template <Finish finish>
inline std::size_t columns16(const Columns& columns, const ColumnCoefficients16& coefficients, std::byte* to,
                             const std::int64_t* to_offset, float upper, std::uint16_t* ill_conditioned) noexcept {
  std::size_t count = 0;
  for (std::size_t i = 0; i < columns.rows; ++i) {
    const ByteAccess<const half> from{columns.from + columns.offset[i]};
    std::byte* const row = finish == Finish::unrounded ? to + i * columns.width * sizeof(float) : to + to_offset[i];
    for (std::size_t c = 0; c < columns.width; ++c) {
      const auto x = static_cast<float>(from.load(static_cast<Index>(c)));
      const float value = reference::fma(x - coefficients.shift[c], coefficients.slope[c], coefficients.offset[c]);
      store<finish>(row, c, value, upper);
      if (!(std::fabs(value) >= coefficients.error_bound[c])) {
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

// ---- Activations -------------------------------------------------------------------------------------------------

template <class Real>
inline void apply(const Activation& activation, const Real* values, std::byte* to, std::size_t count, bool,
                  Address) noexcept {
  using T = std::conditional_t<std::is_same_v<Real, float>, half, float>;
  const Real a = activation.parameters[0];
  const Real b = activation.parameters[1];
  for (std::size_t i = 0; i < count; ++i) {
    const auto result = static_cast<T>(reference::activate_after_line(activation.type, values[i], a, b));
    std::memcpy(to + i * sizeof(T), &result, sizeof(T));
  }
}

inline const ActivationKernels& activation_kernels() noexcept {
  static constexpr ActivationKernels table{apply<double>, apply<float>};
  return table;
}

}  // namespace fast::normalization::scalar
DMLREF_END
