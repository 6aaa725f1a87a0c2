// double_double.hpp: numbers of about 106 bits as unevaluated sums of two doubles, for the few results that need them.
#pragma once

#include <cmath>

#include "dmlref/config.hpp"
#include "dmlref/reference/elementary.hpp"
#include "dmlref/reference/fma.hpp"

DMLREF_BEGIN
namespace reference {

/// high + low, with |low| at most half a unit in the last place of high.
struct DoubleDouble {
  double high = 0;
  double low = 0;
};

/// a + b without error (Knuth). No product feeds the sums, so no compiler can contract them.
inline DoubleDouble two_sum(double a, double b) noexcept {
  const double sum = a + b;
  const double b_part = sum - a;
  const double a_part = sum - b_part;
  return {sum, (a - a_part) + (b - b_part)};
}

/// a + b without error where |a| >= |b| or a is 0 (Dekker).
inline DoubleDouble fast_two_sum(double a, double b) noexcept {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

/// a * b without error.
inline DoubleDouble two_product(double a, double b) noexcept {
  const double product = rounded_product(a, b);
  return {product, reference::fma(a, b, -product)};
}

inline DoubleDouble add(DoubleDouble a, DoubleDouble b) noexcept {
  const DoubleDouble high = two_sum(a.high, b.high);
  const DoubleDouble low = two_sum(a.low, b.low);
  const DoubleDouble sum = fast_two_sum(high.high, high.low + low.high);
  return fast_two_sum(sum.high, sum.low + low.low);
}

inline DoubleDouble add(DoubleDouble a, double b) noexcept { return add(a, DoubleDouble{b, 0}); }

inline DoubleDouble multiply(DoubleDouble a, DoubleDouble b) noexcept {
  const DoubleDouble product = two_product(a.high, b.high);
  return fast_two_sum(product.high, reference::fma(a.high, b.low, reference::fma(a.low, b.high, product.low)));
}

inline DoubleDouble multiply(DoubleDouble a, double b) noexcept { return multiply(a, DoubleDouble{b, 0}); }

/// a / b for an exact b.
inline DoubleDouble divide(DoubleDouble a, double b) noexcept {
  const double quotient = a.high / b;
  const double remainder = reference::fma(-quotient, b, a.high) + a.low;
  return fast_two_sum(quotient, remainder / b);
}

/// 1 / sqrt(a): one Newton step from the double result.
inline DoubleDouble inverse_sqrt(DoubleDouble a) noexcept {
  const double root = 1.0 / std::sqrt(a.high);
  const DoubleDouble one = multiply(two_product(root, root), a);
  const double rest = (1.0 - one.high) - one.low;
  return fast_two_sum(root, rounded_product(0.5 * root, rest));
}

}  // namespace reference
DMLREF_END
