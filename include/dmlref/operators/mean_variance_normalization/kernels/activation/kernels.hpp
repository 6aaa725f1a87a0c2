// kernels.hpp: what an instruction set does for the activations that need a pass of their own over a row of values.
#pragma once

#include <cstddef>

#include "dmlref/config.hpp"
#include "dmlref/desc/activation.hpp"
#include "dmlref/operators/mean_variance_normalization/reference.hpp"

DMLREF_BEGIN
namespace fast::normalization {

/// A polynomial's coefficients.
template <class Real, std::size_t N>
struct Coefficients {
  Real at[N];
};
/// The coefficients in y of twice the polynomial in x = -2 y.
template <class Real, std::size_t N>
constexpr Coefficients<Real, N> for_half_negated(const Real (&c)[N]) noexcept {
  Coefficients<Real, N> result{};
  Real factor = 2;
  for (std::size_t i = 0; i < N; ++i, factor *= -2) result.at[i] = factor * c[i];
  return result;
}

/// The activation kernels of one instruction set. Results are the same bits in each.
struct ActivationKernels {
  /// The activation, after its line, of unrounded values, rounded to float32 or float16.
  void (*apply32)(const Activation&, const double* values, std::byte* to, std::size_t count);
  void (*apply16)(const Activation&, const float* values, std::byte* to, std::size_t count);

  void apply(const Activation& activation, const double* values, std::byte* to, std::size_t count) const noexcept {
    apply32(activation, values, to, count);
  }
  void apply(const Activation& activation, const float* values, std::byte* to, std::size_t count) const noexcept {
    apply16(activation, values, to, count);
  }
};

}  // namespace fast::normalization
DMLREF_END
