// parameters.hpp: what the normalizations are given beside their tensors.
#pragma once

#include <cstdint>
#include <span>

#include "dmlref/config.hpp"
#include "dmlref/desc/activation.hpp"

DMLREF_BEGIN
namespace reference {

/// What statistics are about: the mean, which is subtracted, or 0.
enum class Center : std::uint8_t { mean, zero };

/// The parameters of the operator, beside its tensors.
struct NormalizationParameters {
  bool normalize_variance = true;
  float epsilon = 0.00001f;
  Activation activation{};
  Center center = Center::mean;  ///< zero: nothing is subtracted, and the variance is the mean square

  /// Whether an element's result depends on its group.
  constexpr bool uses_statistics() const noexcept { return center == Center::mean || normalize_variance; }

  /// Those of a desc, or of a call's options.
  template <class Source>
  static NormalizationParameters of(const Source& source) noexcept {
    NormalizationParameters parameters;
    if constexpr (requires { source.use_variance; }) {
      parameters.center = source.use_mean ? Center::mean : Center::zero;
      parameters.normalize_variance = source.use_variance;
    } else {
      parameters.normalize_variance = source.normalize_variance;
    }
    parameters.epsilon = source.epsilon;
    if (source.fused_activation) parameters.activation = *source.fused_activation;
    return parameters;
  }
};

/// A dimension per bit.
using AxisSet = std::uint32_t;

inline AxisSet axis_set(std::span<const std::uint32_t> axes) noexcept {
  AxisSet set = 0;
  for (const std::uint32_t axis : axes) set |= AxisSet{1} << axis;
  return set;
}

/// MVN0's axes: {1, 2, 3} with CrossChannel, else {2, 3}.
constexpr AxisSet cross_channel_axes(bool cross_channel) noexcept { return cross_channel ? 0b1110u : 0b1100u; }

}  // namespace reference
DMLREF_END
