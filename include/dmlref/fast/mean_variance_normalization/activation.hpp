// activation.hpp: activations of whole rows: the reference's functions in loops without branches, which compilers
// vectorise with whatever instruction set the caller is compiled for.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/reference/mean_variance_normalization.hpp"

DMLREF_BEGIN
namespace fast::normalization {

/// double to float, inexact results made odd (truncated, last bit set): rounding that again to float16 gives what one
/// rounding would have given.
inline float round_to_odd(double value) noexcept {
  const auto nearest = static_cast<float>(value);
  const auto back = static_cast<double>(nearest);
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  const std::uint32_t away = std::fabs(back) > std::fabs(value) ? 1u : 0u;
  const std::uint32_t inexact = back != value ? 1u : 0u;
  return std::bit_cast<float>((bits - away) | inexact);
}

/// Blocks of 16 keep the trip count fixed, so that the loop vectorises at -O2 too.
template <ActivationType type>
inline void activate_row32(const Activation& activation, const double* values, std::byte* to,
                           std::size_t count) noexcept {
  const double a = activation.parameters[0];
  const double b = activation.parameters[1];
  double in[16]{};
  float out[16];
  for (std::size_t i = 0; i < count; i += 16) {
    const std::size_t n = count - i < 16 ? count - i : 16;
    if (n == 16) {
      for (std::size_t k = 0; k < 16; ++k) {
        out[k] = static_cast<float>(reference::activate_after_line<type>(values[i + k], a, b));
      }
    } else {
      for (std::size_t k = 0; k < n; ++k) in[k] = values[i + k];
      for (std::size_t k = 0; k < 16; ++k) {
        out[k] = static_cast<float>(reference::activate_after_line<type>(in[k], a, b));
      }
    }
    std::memcpy(to + i * sizeof(float), out, n * sizeof(float));
  }
}

template <ActivationType type>
inline void activate_row16(const Activation& activation, const float* values, float* to, std::size_t count) noexcept {
  const float a = activation.parameters[0];
  const float b = activation.parameters[1];
  for (std::size_t i = 0; i < count; i += 16) {
    const std::size_t n = count - i < 16 ? count - i : 16;
    float in[16]{};
    float out[16];
    std::memcpy(in, values + i, n * sizeof(float));
    for (std::size_t k = 0; k < 16; ++k) {
      out[k] = round_to_odd(static_cast<double>(reference::activate_after_line<type>(in[k], a, b)));
    }
    std::memcpy(to + i, out, n * sizeof(float));
  }
}

inline void activate32(const Activation& activation, const double* values, std::byte* to, std::size_t count) noexcept {
  using enum ActivationType;
  switch (activation.type) {
    case elu: return activate_row32<elu>(activation, values, to, count);
    case parametric_softplus: return activate_row32<parametric_softplus>(activation, values, to, count);
    case scaled_elu: return activate_row32<scaled_elu>(activation, values, to, count);
    case scaled_tanh: return activate_row32<scaled_tanh>(activation, values, to, count);
    case sigmoid: return activate_row32<sigmoid>(activation, values, to, count);
    case softplus: return activate_row32<softplus>(activation, values, to, count);
    case softsign: return activate_row32<softsign>(activation, values, to, count);
    case ActivationType::tanh: return activate_row32<ActivationType::tanh>(activation, values, to, count);
    case thresholded_relu: return activate_row32<thresholded_relu>(activation, values, to, count);
    case shrink: return activate_row32<shrink>(activation, values, to, count);
    case celu: return activate_row32<celu>(activation, values, to, count);
    case gelu: return activate_row32<gelu>(activation, values, to, count);
    default: return activate_row32<identity>(activation, values, to, count);
  }
}

inline void activate16(const Activation& activation, const float* values, float* to, std::size_t count) noexcept {
  using enum ActivationType;
  switch (activation.type) {
    case elu: return activate_row16<elu>(activation, values, to, count);
    case parametric_softplus: return activate_row16<parametric_softplus>(activation, values, to, count);
    case scaled_elu: return activate_row16<scaled_elu>(activation, values, to, count);
    case scaled_tanh: return activate_row16<scaled_tanh>(activation, values, to, count);
    case sigmoid: return activate_row16<sigmoid>(activation, values, to, count);
    case softplus: return activate_row16<softplus>(activation, values, to, count);
    case softsign: return activate_row16<softsign>(activation, values, to, count);
    case ActivationType::tanh: return activate_row16<ActivationType::tanh>(activation, values, to, count);
    case thresholded_relu: return activate_row16<thresholded_relu>(activation, values, to, count);
    case shrink: return activate_row16<shrink>(activation, values, to, count);
    case celu: return activate_row16<celu>(activation, values, to, count);
    case gelu: return activate_row16<gelu>(activation, values, to, count);
    default: return activate_row16<identity>(activation, values, to, count);
  }
}

}  // namespace fast::normalization
DMLREF_END
