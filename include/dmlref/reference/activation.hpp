// activation.hpp: the seventeen activations that MVN and MVN1 may fuse, evaluated in double, in forms that neither
// overflow nor cancel. NaN gives NaN; an infinite argument gives the limit. Their relative error is below 1e-12, so
// that the rounding to the output's type that follows is all the error there is.
#pragma once

#include <cmath>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/desc/activation.hpp"
#include "dmlref/reference/elementary.hpp"

DMLREF_BEGIN
namespace reference {

/// x >= 0: x; else Alpha * (e^x - 1).
inline double elu(double x, double alpha) noexcept { return x < 0.0 ? alpha * exponential_minus_1(x) : x; }

/// max(0, min(x, 1)): what is left of HARD_SIGMOID after Alpha * x + Beta.
template <class Real>
inline Real clamp_to_unit(Real x) noexcept {
  const Real below = x > Real{1} ? Real{1} : x;
  return below < Real{0} ? Real{0} : below;
}

/// max(0, min(Alpha * x + Beta, 1)).
inline double hard_sigmoid(double x, double alpha, double beta) noexcept {
  return clamp_to_unit(std::fma(alpha, x, beta));
}

/// x >= 0: x; else Alpha * x.
template <class Real>
inline Real leaky_relu(Real x, Real alpha) noexcept {
  return x < Real{0} ? alpha * x : x;
}

/// Alpha * x + Beta.
inline double linear(double x, double alpha, double beta) noexcept { return std::fma(alpha, x, beta); }

/// ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|).
inline double softplus_of(double x) noexcept {
  const double rest = logarithm_of_1_plus(exponential(-std::fabs(x)));
  return x > 0.0 ? x + rest : (x <= 0.0 ? rest : x);
}

/// Alpha * ln(1 + e^(Beta * x)).
inline double parametric_softplus(double x, double alpha, double beta) noexcept {
  return alpha * softplus_of(rounded_product(beta, x));
}

/// max(0, x); NaN stays NaN.
template <class Real>
inline Real relu(Real x) noexcept {
  return x < Real{0} ? Real{0} : x;
}

/// x > 0: Gamma * x; else Gamma * (Alpha * e^x - Alpha).
inline double scaled_elu(double x, double alpha, double gamma) noexcept {
  return gamma * (x > 0.0 ? x : alpha * exponential_minus_1(x));
}

/// Alpha * tanh(Beta * x).
inline double scaled_tanh(double x, double alpha, double beta) noexcept { return alpha * hyperbolic_tangent(beta * x); }

/// 1 / (1 + e^-x).
inline double sigmoid(double x) noexcept {
  const double e = exponential(-std::fabs(x));
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

/// ln(1 + e^(Steepness * x)) / Steepness.
inline double softplus(double x, double steepness) noexcept {
  return softplus_of(rounded_product(steepness, x)) / steepness;
}

/// x / (1 + |x|).
inline double softsign(double x) noexcept {
  x = x > 1e300 ? 1e300 : x;
  x = x < -1e300 ? -1e300 : x;
  return x / (1.0 + std::fabs(x));
}

/// x > Alpha: x; else 0.
template <class Real>
inline Real thresholded_relu(Real x, Real alpha) noexcept {
  return x <= alpha ? Real{0} : x;
}

/// x > Threshold: x - Bias; x < -Threshold: x + Bias; else 0.
template <class Real>
inline Real shrink(Real x, Real bias, Real threshold) noexcept {
  const Real inner = x == x ? Real{0} : x;
  return x > threshold ? x - bias : (x < -threshold ? x + bias : inner);
}

/// max(0, x) + min(0, Alpha * (e^(x / Alpha) - 1)).
inline double celu(double x, double alpha) noexcept {
  const double curve = rounded_product(alpha, exponential_minus_1(x / alpha));
  return (x < 0.0 ? 0.0 : x) + (curve > 0.0 ? 0.0 : curve);
}

/// 0.5 * x * (1 + erf(x / sqrt(2))): for x < 0 by erfc, which does not cancel.
inline double gelu(double x) noexcept {
  x = x < -40.0 ? -40.0 : x;  // the result is below the least float by far
  const double distance = rounded_product(std::fabs(x), 0x1.6a09e667f3bcdp-1);
  const double t = distance > 30.0 ? 30.0 : distance;
  const double tail = 0.5 * complementary_error_function(t);
  return x < 0.0 ? x * tail : x * (1.0 - tail);
}

/// The activation of any type, e.g. activate<ActivationType::elu>(x, alpha, 0). Types that need no more than products
/// and comparisons work in `Real` itself; the others need double.
template <ActivationType type, class Real>
inline auto activate(Real x, Real a, Real b) noexcept {
  // (a and b: the two parameters in the order of DirectML's struct)
  static_cast<void>(a);
  static_cast<void>(b);
  using enum ActivationType;
  if constexpr (type == identity) {
    return x;
  } else if constexpr (type == leaky_relu) {
    return reference::leaky_relu(x, a);
  } else if constexpr (type == relu) {
    return reference::relu(x);
  } else if constexpr (type == thresholded_relu) {
    return reference::thresholded_relu(x, a);
  } else if constexpr (type == shrink) {
    return reference::shrink(x, a, b);
  } else {
    const double wide = x;
    if constexpr (type == elu) return reference::elu(wide, a);
    if constexpr (type == hard_sigmoid) return reference::hard_sigmoid(wide, a, b);
    if constexpr (type == linear) return reference::linear(wide, a, b);
    if constexpr (type == parametric_softplus) return reference::parametric_softplus(wide, a, b);
    if constexpr (type == scaled_elu) return reference::scaled_elu(wide, a, b);
    if constexpr (type == scaled_tanh) return reference::scaled_tanh(wide, a, b);
    if constexpr (type == sigmoid) return reference::sigmoid(wide);
    if constexpr (type == softplus) return reference::softplus(wide, a);
    if constexpr (type == softsign) return reference::softsign(wide);
    if constexpr (type == ActivationType::tanh) return hyperbolic_tangent(wide);
    if constexpr (type == celu) return reference::celu(wide, a);
    if constexpr (type == gelu) return reference::gelu(wide);
  }
}

/// Calls body(std::integral_constant<ActivationType, type>{}) for the run-time `type`.
template <class Body>
inline decltype(auto) with_activation_type(ActivationType type, Body&& body) {
  using enum ActivationType;
  switch (type) {
    case elu: return body(std::integral_constant<ActivationType, elu>{});
    case hard_sigmoid: return body(std::integral_constant<ActivationType, hard_sigmoid>{});
    case leaky_relu: return body(std::integral_constant<ActivationType, leaky_relu>{});
    case linear: return body(std::integral_constant<ActivationType, linear>{});
    case parametric_softplus: return body(std::integral_constant<ActivationType, parametric_softplus>{});
    case relu: return body(std::integral_constant<ActivationType, relu>{});
    case scaled_elu: return body(std::integral_constant<ActivationType, scaled_elu>{});
    case scaled_tanh: return body(std::integral_constant<ActivationType, scaled_tanh>{});
    case sigmoid: return body(std::integral_constant<ActivationType, sigmoid>{});
    case softplus: return body(std::integral_constant<ActivationType, softplus>{});
    case softsign: return body(std::integral_constant<ActivationType, softsign>{});
    case ActivationType::tanh: return body(std::integral_constant<ActivationType, ActivationType::tanh>{});
    case thresholded_relu: return body(std::integral_constant<ActivationType, thresholded_relu>{});
    case shrink: return body(std::integral_constant<ActivationType, shrink>{});
    case celu: return body(std::integral_constant<ActivationType, celu>{});
    case gelu: return body(std::integral_constant<ActivationType, gelu>{});
    case identity: break;
  }
  return body(std::integral_constant<ActivationType, identity>{});
}

/// `activation` of x, unrounded.
inline double activate(const Activation& activation, double x) noexcept {
  const double a = activation.parameters[0];
  const double b = activation.parameters[1];
  return with_activation_type(activation.type, [=](auto type) -> double { return activate<type()>(x, a, b); });
}

}  // namespace reference
DMLREF_END
