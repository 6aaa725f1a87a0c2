// elementary.hpp: exp, log and erfc in double, the same bits on every machine.
//
// libm's results differ between its versions; these do not: every step is an exact operation, a correctly rounded one
// or an explicit fma, nothing is left that a compiler may contract, and there is no branch, so that a loop over them
// vectorises. Relative error below 1e-13 (tests/reference/elementary_test.cpp measures it); NaN passes through.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"

DMLREF_BEGIN
namespace reference {

/// a * b rounded once, whatever it is added to next: a compiler that contracts a * b + c leaves a call of fma alone.
/// (A product -0 becomes +0.)
inline double rounded_product(double a, double b) noexcept { return std::fma(a, b, 0.0); }

/// The polynomial c[0] + c[1] x + ... by Horner's rule.
template <std::size_t N>
inline double polynomial(double x, const double (&c)[N]) noexcept {
  double sum = c[N - 1];
  for (std::size_t i = N - 1; i-- > 0;) sum = std::fma(sum, x, c[i]);
  return sum;
}

namespace detail {

/// e^x = scale * (1 + rest), scale a power of two and |rest| below 0.42.
struct ReducedExponential {
  double scale;
  double rest;
};

/// x is clamped to [-708, 708]: beyond that no result of ours differs after rounding to float.
inline ReducedExponential reduce_exponential(double x) noexcept {
  x = x > 708.0 ? 708.0 : x;
  x = x < -708.0 ? -708.0 : x;
  constexpr double shifter = 0x1.8p52;  // adding it rounds to an integer, which is then found in the low bits
  const double shifted = std::fma(x, 0x1.71547652b82fep+0, shifter);
  const double k = shifted - shifter;
  const double r = std::fma(k, -0x1.ef35793c76730p-45, std::fma(k, -0x1.62e42fefa3800p-1, x));  // x - k ln 2
  // (e^r - 1 - r) / r^2, Taylor; |r| <= ln 2 / 2 leaves a relative error of 2e-14.
  constexpr double c[] = {1.0 / 2,    1.0 / 6,     1.0 / 24,     1.0 / 120,     1.0 / 720,
                          1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800};
  const double rest = std::fma(r * r, polynomial(r, c), r);
  const std::uint64_t exponent = (std::bit_cast<std::uint64_t>(shifted) << 52) + (std::uint64_t{1023} << 52);
  return {std::bit_cast<double>(exponent), rest};
}

}  // namespace detail

/// e^x.
inline double exponential(double x) noexcept {
  const detail::ReducedExponential e = detail::reduce_exponential(x);
  return std::fma(e.scale, e.rest, e.scale);
}

/// e^x - 1, accurate near 0 too.
inline double exponential_minus_1(double x) noexcept {
  const detail::ReducedExponential e = detail::reduce_exponential(x);
  return std::fma(e.scale, e.rest, e.scale - 1.0);
}

/// ln(1 + u) for u in [0, 1]: 2 artanh(u / (2 + u)), with ln 2 taken out where u is above sqrt(2) - 1.
inline double logarithm_of_1_plus(double u) noexcept {
  const bool upper = u > 0x1.a827999fcef32p-2;
  const double s = (upper ? u - 1.0 : u) / (upper ? u + 3.0 : u + 2.0);
  const double z = s * s;
  constexpr double c[] = {1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17};
  const double twice = s + s;
  const double rest = std::fma(twice * z, polynomial(z, c), twice);
  return (upper ? 0x1.62e42fefa39efp-1 : 0.0) + rest;
}

/// erfc(t) for t in [0, 30]: e^(-t^2) P(u) / (t + 3), u = (t - 3) / (t + 3), P a Chebyshev fit of degree 19.
inline double complementary_error_function(double t) noexcept {
  constexpr double c[] = {
      0x1.12f21ddd9f600p+0,   -0x1.c44c471baa075p-1,  0x1.2e326945db389p-1,   -0x1.3deb2141799ffp-2,
      0x1.e995f11e1fba0p-4,   -0x1.b78993b09d785p-6,  -0x1.3dd3f0bd62f8dp-10, 0x1.8dae2e2af58fcp-9,
      -0x1.1f786422e8276p-11, -0x1.2236e8d593680p-12, 0x1.c316bb4f50260p-14,  0x1.fd8f7d2b141f4p-16,
      -0x1.2498de0c86489p-16, -0x1.3b0390b012762p-18, 0x1.6d8b8cdfeb5abp-19,  0x1.f0121215bbf7dp-21,
      -0x1.91a44933501a5p-22, -0x1.6c4906fac8f2bp-23, 0x1.14bf0b0ec344dp-25,  0x1.3b82b3ab95186p-26};
  const double w = 1.0 / (t + 3.0);
  return exponential(-(t * t)) * (w * polynomial((t - 3.0) * w, c));
}

/// tanh(x).
inline double hyperbolic_tangent(double x) noexcept {
  const double e = exponential_minus_1(-2.0 * std::fabs(x));
  return std::copysign(-e / (e + 2.0), x);
}

}  // namespace reference
DMLREF_END
