// normalization_oracle.hpp: MVN and its activations written down once more, from the formulas of the documents, in 512
// bits; and how many units in the last place a result is off.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <type_traits>
#include <vector>

#include "dmlref/desc/activation.hpp"
#include "dmlref/desc/half.hpp"
#include "support/wide.hpp"

namespace dmlref_test {

/// The activation as the documents write it, where necessary in an equivalent form that 512 bits suffice for.
inline Wide wide_activation(const dmlref::Activation& activation, const Wide& x) {
  using enum dmlref::ActivationType;
  const Wide a = static_cast<double>(activation.parameters[0]);
  const Wide b = static_cast<double>(activation.parameters[1]);
  const Wide zero = 0.0;
  const Wide one = 1.0;
  if (x.is_nan()) return x;
  if (x.is_infinite()) {  // the limits, where the formulas give NaN
    if (activation.type == softsign) return x > zero ? one : -one;
    if (activation.type == gelu) return x > zero ? x : zero;
    if (activation.type == elu || activation.type == scaled_elu) {
      const Wide curve = -a;
      if (activation.type == elu) return x > zero ? x : curve;
      return x > zero ? b * x : b * curve;
    }
  }
  const auto soft = [&](const Wide& z) { return z > zero ? z + log1p(exp(-z)) : log1p(exp(z)); };
  switch (activation.type) {
    case elu: return x >= zero ? x : a * expm1(x);
    case hard_sigmoid: {
      const Wide line = a * x + b;
      return line > one ? one : (line < zero ? zero : line);
    }
    case identity: return x;
    case leaky_relu: return x >= zero ? x : a * x;
    case linear: return a * x + b;
    case parametric_softplus: return a * soft(b * x);
    case relu: return x > zero ? x : zero;
    case scaled_elu: return x > zero ? b * x : b * (a * expm1(x));
    case scaled_tanh: return a * hyperbolic_tangent(b * x);
    case sigmoid: return one / (one + exp(-x));
    case softplus: return soft(a * x) / a;
    case softsign: return x / (one + abs(x));
    case dmlref::ActivationType::tanh: return hyperbolic_tangent(x);
    case thresholded_relu: return x > a ? x : zero;
    case shrink: return x > b ? x - a : (x < -b ? x + a : zero);
    case celu: {
      const Wide curve = a * expm1(x / a);
      return (x > zero ? x : zero) + (curve < zero ? curve : zero);
    }
    case gelu: return Wide(0.5) * x * erfc(-x / sqrt(Wide(2.0)));
  }
  return x;
}

/// Distance in units of the last place that the exact result has in T; infinity where only one is NaN or infinite.
template <class T>
double error_in_ulp(T result, const Wide& exact) {
  constexpr bool is_half = std::is_same_v<T, dmlref::half>;
  constexpr int digits = is_half ? 11 : 24;
  constexpr long lowest = is_half ? -24 : -149;
  constexpr double largest = is_half ? 65504.0 : static_cast<double>((std::numeric_limits<float>::max)());
  const auto value = static_cast<double>(static_cast<float>(result));
  const double wrong = std::numeric_limits<double>::infinity();
  if (exact.is_nan() || std::isnan(value)) return exact.is_nan() && std::isnan(value) ? 0.0 : wrong;
  if (exact.is_infinite()) return exact.to_double() == value ? 0.0 : wrong;
  const long exponent = exact.is_zero() ? lowest : std::max(lowest, exact.exponent() - digits + 1);
  const double unit = std::ldexp(1.0, static_cast<int>(std::min(exponent, 900l)));
  if (std::isinf(value)) {  // right where the exact result rounds to infinity
    const Wide edge = Wide(largest) * Wide(1.0 + std::ldexp(1.0, -digits - 1));
    return abs(exact) >= edge && (value > 0) == (exact > Wide(0.0)) ? 0.0 : wrong;
  }
  return (abs(Wide(value) - exact) / Wide(unit)).to_double();
}

/// One group: results of `values` (each with its scale and bias), in 512 bits.
struct WideGroup {
  Wide mean;
  Wide root = 1.0;

  WideGroup(const std::vector<double>& values, bool normalize_variance, float epsilon, bool use_mean = true) {
    Wide sum;
    for (const double x : values) sum = sum + Wide(x);
    if (use_mean) mean = sum / Wide(static_cast<double>(values.size()));
    if (!normalize_variance) return;
    Wide squares;
    for (const double x : values) {
      const Wide d = Wide(x) - mean;
      squares = squares + d * d;
    }
    const Wide variance = squares / Wide(static_cast<double>(values.size()));
    root = sqrt(variance + Wide(static_cast<double>(epsilon)));
  }

  Wide result(double x, double scale, double bias, const dmlref::Activation& activation) const {
    return wide_activation(activation, (Wide(x) - mean) * Wide(scale) / root + Wide(bias));
  }
};

}  // namespace dmlref_test
