// elementary.hpp: exp, log, erfc and tanh in double or float, the same bits on every machine.
//
// libm's results differ between its versions; these do not: every step is an exact operation, a correctly rounded one
// or an explicit fma, nothing is left that a compiler may contract, and there is no branch, so that vectors can take
// the same steps. In double they serve results that are rounded to float32, with a relative error below 2^-29; in float
// results that are rounded to float16, below 2^-18 (tests/reference/elementary_test.cpp measures both). NaN passes
// through.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/reference/fma.hpp"

DMLREF_BEGIN
namespace reference {

/// a * b rounded once, whatever it is added to next: a compiler that contracts a * b + c leaves a call of fma alone.
/// (A product -0 becomes +0.)
template <class Real>
inline Real rounded_product(Real a, Real b) noexcept {
  return reference::fma(a, b, Real{0});
}

/// The polynomial c[0] + c[1] x + ...: pairs c[i] + c[i + 1] x by Horner's rule in z = x^2, which halves the chain.
template <class Real, std::size_t N>
inline Real polynomial(Real x, Real z, const Real (&c)[N]) noexcept {
  std::size_t i = N - N % 2;
  Real sum = N % 2 == 1 ? c[N - 1] : reference::fma(c[N - 1], x, c[N - 2]);
  if (N % 2 == 0) i -= 2;
  for (; i > 0; i -= 2) sum = reference::fma(sum, z, reference::fma(c[i - 1], x, c[i - 2]));
  return sum;
}

/// What the functions are made of; the polynomials are minimax fits of the relative error.
template <class Real>
struct Elementary;

template <>
struct Elementary<double> {
  using Bits = std::uint64_t;
  static constexpr int mantissa_bits = 52;
  /// Adding it rounds to an integer k; in the low bits is then the exponent of 2^k, with its bias. (No argument of e^x
  /// lies between two k to the bit, so no tie is rounded.)
  static constexpr double shifter = 0x1.8p52 + 1023;
  static constexpr double limit = 708.0;  ///< arguments of e^x are clamped to it; no rounded result differs
  static constexpr double log2_e = 0x1.71547652b82fep+0;
  static constexpr double ln_2 = 0x1.62e42fefa39efp-1;
  static constexpr double ln_2_rest = 0.0;  ///< too small to matter here
  /// (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2: 2^-32 of e^r - 1.
  static constexpr double exponential[] = {0x1.00000027aba4ep-1, 0x1.55555588fb63bp-3,  0x1.5554ae2bed47bp-5,
                                           0x1.11108f9ed8cdfp-7, 0x1.6d744331cbb28p-10, 0x1.a1a165bb0f582p-13};
  /// (artanh(s) - s) / s^3 in z = s^2 <= 0.0295: 2^-30 of artanh.
  static constexpr double artanh[] = {0x1.55557a2873d05p-2, 0x1.995eb410e08a8p-3, 0x1.31e3d031d1ea4p-3};
  /// erfc(t) e^(t^2) (t + 3) in u = (t - 3) / (t + 3) for t in [0, 10.5]: 2^-34 of it.
  static constexpr double erfc_limit = 10.5;
  static constexpr double erfc[] = {0x1.12f21ddd9cf60p+0,   -0x1.c44c4722804bep-1, 0x1.2e32694ce2edep-1,
                                    -0x1.3deb1e77c4f0fp-2,  0x1.e995ed4616419p-4,  -0x1.b78c2da3c5e89p-6,
                                    -0x1.3ddb9c37fca72p-10, 0x1.8e305df1a5d6ep-9,  -0x1.1e270e39e3887p-11,
                                    -0x1.2d5ec13e17f0cp-12, 0x1.921f079654f75p-14, 0x1.4bd70be808ab9p-15};
  static constexpr double softsign_limit = 1e300;  ///< where x / (1 + |x|) has long been 1
};

template <>
struct Elementary<float> {
  using Bits = std::uint32_t;
  static constexpr int mantissa_bits = 23;
  static constexpr float shifter = 0x1.8p23f + 127;
  static constexpr float limit = 87.0f;
  static constexpr float log2_e = 0x1.715476p+0f;
  static constexpr float ln_2 = 0x1.62e430p-1f;
  static constexpr float ln_2_rest = -0x1.05c610p-29f;
  static constexpr float exponential[] = {0x1.fffe62p-2f, 0x1.55545ap-3f, 0x1.570946p-5f, 0x1.125bf4p-7f};  // 2^-21
  static constexpr float artanh[] = {0x1.5546d2p-2f, 0x1.a5ebe6p-3f};                                       // 2^-22
  static constexpr float erfc_limit = 4.6f;  // as above, for t up to it: 2^-24
  static constexpr float erfc[] = {0x1.12f21ep+0f, -0x1.c44c5ep-1f, 0x1.2e3352p-1f,  -0x1.3ddf2ap-2f,
                                   0x1.e941dcp-4f, -0x1.c40cccp-6f, -0x1.476ab4p-9f, 0x1.54bd7ap-9f};
  static constexpr float softsign_limit = 1e30f;
};

namespace detail {

/// e^x = scale * (1 + rest), scale a power of two and |rest| below 0.42.
template <class Real>
struct ReducedExponential {
  Real scale;
  Real rest;
};

/// x within the limits.
template <class Real>
inline ReducedExponential<Real> reduce_exponential(Real x) noexcept {
  using E = Elementary<Real>;
  const Real shifted = reference::fma(x, E::log2_e, E::shifter);
  const Real k = shifted - E::shifter;
  Real r = reference::fma(k, -E::ln_2, x);
  if constexpr (E::ln_2_rest != 0) r = reference::fma(k, -E::ln_2_rest, r);
  const Real rest = reference::fma(r * r, polynomial(r, r * r, E::exponential), r);
  const auto bits = std::bit_cast<typename E::Bits>(shifted);
  return {std::bit_cast<Real>(bits << E::mantissa_bits), rest};
}

template <class Real>
inline Real not_below(Real x, Real least) noexcept {
  return x < least ? least : x;
}
template <class Real>
inline Real not_above(Real x, Real most) noexcept {
  return x > most ? most : x;
}

}  // namespace detail

/// e^x for x <= 0.
template <class Real>
inline Real exponential(Real x) noexcept {
  const auto e = detail::reduce_exponential(detail::not_below(x, -Elementary<Real>::limit));
  return reference::fma(e.scale, e.rest, e.scale);
}

/// e^x - 1, accurate near 0 too.
template <class Real>
inline Real exponential_minus_1(Real x) noexcept {
  using E = Elementary<Real>;
  const auto e = detail::reduce_exponential(detail::not_above(detail::not_below(x, -E::limit), E::limit));
  return reference::fma(e.scale, e.rest, e.scale - Real{1});
}

/// ln(1 + u) for u in [0, 1]: 2 artanh(u / (2 + u)), with ln 2 taken out where u is above sqrt(2) - 1.
template <class Real>
inline Real logarithm_of_1_plus(Real u) noexcept {
  using E = Elementary<Real>;
  const bool upper = u > static_cast<Real>(0x1.a827999fcef32p-2);
  const Real s = (upper ? u - Real{1} : u) / (u + (upper ? Real{3} : Real{2}));
  const Real z = s * s;
  const Real twice = s + s;
  const Real rest = reference::fma(twice * z, polynomial(z, z * z, E::artanh), twice);
  return rest + (upper ? E::ln_2 : Real{0});
}

/// erfc(t) for t in [0, 10.5] (float: 4.6).
template <class Real>
inline Real complementary_error_function(Real t) noexcept {
  const Real w = Real{1} / (t + Real{3});
  const Real u = (t - Real{3}) * w;
  return exponential(-(t * t)) * (w * polynomial(u, u * u, Elementary<Real>::erfc));
}

/// tanh(x).
template <class Real>
inline Real hyperbolic_tangent(Real x) noexcept {
  const auto e = detail::reduce_exponential(detail::not_below(Real{-2} * std::fabs(x), -Elementary<Real>::limit));
  const Real n = reference::fma(e.scale, e.rest, e.scale - Real{1});
  return std::copysign(n / (n + Real{2}), x);
}

}  // namespace reference
DMLREF_END
