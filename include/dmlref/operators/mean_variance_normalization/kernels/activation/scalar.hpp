// scalar.hpp: activations of rows of values in plain C++: the reference's functions in a loop.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/desc/half.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/activation/kernels.hpp"
#include "dmlref/operators/mean_variance_normalization/reference.hpp"

DMLREF_BEGIN
namespace fast::normalization::scalar {

template <class Real>
inline void apply(const Activation& activation, const Real* values, std::byte* to, std::size_t count) noexcept {
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
