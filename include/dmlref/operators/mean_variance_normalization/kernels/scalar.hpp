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

/// Adds elements of T from lane 0 on.
template <bool shifted, class T = float>
inline void add_to(Lanes& lanes, const std::byte* elements, std::size_t count, double pivot,
                   double* doubles = nullptr) noexcept {
  const ByteAccess<const T> from{elements};
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t lane = i % normalization_lanes;
    const double x = static_cast<double>(static_cast<float>(from.load(static_cast<Index>(i))));
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
template <class T>
inline SumAndSquare sums(const std::byte* from, const Segment* segments, std::size_t count, const Prefetch&) noexcept {
  Lanes lanes;
  for (std::size_t s = 0; s < count; ++s) add_to<false, T>(lanes, from + segments[s].from, segments[s].count, 0.0);
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
  element.error_bound = reference::fma(std::fabs(element.slope), c.slope_error, std::fabs(c.bias[i]) * Real{0x1p-9f});
  return element;
}

template <Finish finish, class Real, class Coefficients>
inline typename ResultKernels<Real>::Found results(const Results<Real>& in, const Coefficients& coefficients) noexcept {
  using T = ElementOf<Real>;
  std::size_t ill_conditioned = 0;
  std::size_t number = 0;
  auto minimum = std::numeric_limits<float>::infinity();
  for (const Segment* segment = in.segments; segment != in.segments + in.count; ++segment) {
    for (std::size_t i = 0; i < segment->count; ++i, ++number) {
      const Real x =
          is_converted(in.source)
              ? in.converted[i]
              : Real{static_cast<float>(ByteAccess<const T>{in.from + segment->from}.load(static_cast<Index>(i)))};
      const auto& c = of_element(coefficients, i);
      const Real value = c.value(x);
      store<finish>(in.to + segment->to, i, value, in.upper);
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
  static constexpr Kernels table{
      widen, sums<float>, sums<half>, convert, shifted_sums, result_kernels<double>(), result_kernels<float>()};
  return table;
}

}  // namespace fast::normalization::scalar
DMLREF_END
