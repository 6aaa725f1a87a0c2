// activation.hpp: the seventeen activations that MVN and MVN1 may fuse, evaluated in double (float for results of
// float16), in forms that neither overflow nor cancel. NaN gives NaN; an infinite argument gives the limit. Their
// relative error is below 2^-28 (2^-17), so that the rounding to the output's type that follows is all the error there
// is.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/desc/activation.hpp"
#include "dmlref/reference/elementary.hpp"
#include "dmlref/reference/fma.hpp"

DMLREF_BEGIN
namespace reference {

/// x >= 0: x; else Alpha * (e^x - 1).
template <class Real>
inline Real elu(Real x, Real alpha) noexcept {
  return x < Real{0} ? alpha * exponential_minus_1(x) : x;
}

/// max(0, min(x, 1)), +0 for -0: what is left of HARD_SIGMOID after Alpha * x + Beta.
template <class Real>
inline Real clamp_to_unit(Real x) noexcept {
  const Real below = x > Real{1} ? Real{1} : x;
  return below <= Real{0} ? Real{0} : below;
}

/// max(0, min(Alpha * x + Beta, 1)).
template <class Real>
inline Real hard_sigmoid(Real x, Real alpha, Real beta) noexcept {
  return clamp_to_unit(reference::fma(alpha, x, beta));
}

/// x >= 0: x; else Alpha * x.
template <class Real>
inline Real leaky_relu(Real x, Real alpha) noexcept {
  return x < Real{0} ? alpha * x : x;
}

/// Alpha * x + Beta.
template <class Real>
inline Real linear(Real x, Real alpha, Real beta) noexcept {
  return reference::fma(alpha, x, beta);
}

/// ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|).
template <class Real>
inline Real softplus_of(Real x) noexcept {
  return (x < Real{0} ? Real{0} : x) + logarithm_of_1_plus(exponential(-std::fabs(x)));
}

/// Alpha * ln(1 + e^(Beta * x)).
template <class Real>
inline Real parametric_softplus(Real x, Real alpha, Real beta) noexcept {
  return alpha * softplus_of(rounded_product(beta, x));
}

/// max(0, x), +0 for -0; NaN stays NaN.
template <class Real>
inline Real relu(Real x) noexcept {
  return x <= Real{0} ? Real{0} : x;
}

/// x > 0: Gamma * x; else Gamma * (Alpha * e^x - Alpha).
template <class Real>
inline Real scaled_elu(Real x, Real alpha, Real gamma) noexcept {
  return gamma * elu(x, alpha);
}

/// Alpha * tanh(Beta * x).
template <class Real>
inline Real scaled_tanh(Real x, Real alpha, Real beta) noexcept {
  return alpha * hyperbolic_tangent(beta * x);
}

/// 1 / (1 + e^-x).
template <class Real>
inline Real sigmoid(Real x) noexcept {
  const Real e = exponential(-std::fabs(x));
  return (x < Real{0} ? e : Real{1}) / (Real{1} + e);
}

/// 1 / p, the largest number where that is beyond it.
template <class Real>
inline Real inverse_of(Real p) noexcept {
  constexpr Real largest = (std::numeric_limits<Real>::max)();
  const Real inverse = Real{1} / p;
  return std::fabs(inverse) > largest ? std::copysign(largest, p) : inverse;
}

/// ln(1 + e^(Steepness * x)) / Steepness.
template <class Real>
inline Real softplus(Real x, Real steepness) noexcept {
  return softplus_of(rounded_product(steepness, x)) * inverse_of(steepness);
}

/// x / (1 + |x|).
template <class Real>
inline Real softsign(Real x) noexcept {
  x = detail::not_above(detail::not_below(x, -Elementary<Real>::softsign_limit), Elementary<Real>::softsign_limit);
  return x / (Real{1} + std::fabs(x));
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
template <class Real>
inline Real celu(Real x, Real alpha) noexcept {
  const Real curve = rounded_product(alpha, exponential_minus_1(x * inverse_of(alpha)));
  return (x < Real{0} ? Real{0} : x) + (curve > Real{0} ? Real{0} : curve);
}

/// 0.5 * x * (1 + erf(x / sqrt(2))): for x < 0 by erfc, which does not cancel.
template <class Real>
inline Real gelu(Real x) noexcept {
  x = detail::not_below(x, Real{-40});  // the result is below the least float by far
  const Real distance = rounded_product(std::fabs(x), static_cast<Real>(0x1.6a09e667f3bcdp-1));
  const Real tail = Real{0.5} * complementary_error_function(detail::not_above(distance, Elementary<Real>::erfc_limit));
  return x * (x < Real{0} ? tail : Real{1} - tail);
}

/// The activation of any type, e.g. activate<ActivationType::elu>(x, alpha, 0).
template <ActivationType type, class Real>
inline Real activate(Real x, Real a, Real b) noexcept {
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
  } else if constexpr (type == elu) {
    return reference::elu(x, a);
  } else if constexpr (type == hard_sigmoid) {
    return reference::hard_sigmoid(x, a, b);
  } else if constexpr (type == linear) {
    return reference::linear(x, a, b);
  } else if constexpr (type == parametric_softplus) {
    return reference::parametric_softplus(x, a, b);
  } else if constexpr (type == scaled_elu) {
    return reference::scaled_elu(x, a, b);
  } else if constexpr (type == scaled_tanh) {
    return reference::scaled_tanh(x, a, b);
  } else if constexpr (type == sigmoid) {
    return reference::sigmoid(x);
  } else if constexpr (type == softplus) {
    return reference::softplus(x, a);
  } else if constexpr (type == softsign) {
    return reference::softsign(x);
  } else if constexpr (type == ActivationType::tanh) {
    return hyperbolic_tangent(x);
  } else if constexpr (type == celu) {
    return reference::celu(x, a);
  } else if constexpr (type == gelu) {
    return reference::gelu(x);
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
