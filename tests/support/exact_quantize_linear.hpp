// exact_quantize_linear.hpp: what quantizing and dequantizing must give, from exact rationals (GMP).
#pragma once

#include <gmpxx.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "dmlref/desc/half.hpp"

namespace dmlref_test {

/// x plus z: floor(x + 1/2), one less where x is a tie and that would be odd; within the limits of Out.
template <class Out>
int exact_quantized(const mpq_class& x, int z) {
  const mpq_class shifted = x + mpq_class(1, 2);
  mpz_class floor = shifted.get_num();
  mpz_fdiv_q(floor.get_mpz_t(), shifted.get_num().get_mpz_t(), shifted.get_den().get_mpz_t());
  if (shifted.get_den() == 1 && floor % 2 != 0) floor -= 1;
  floor += z;
  const int least = std::numeric_limits<Out>::min(), greatest = std::numeric_limits<Out>::max();
  if (floor < least) return least;
  if (floor > greatest) return greatest;
  return static_cast<int>(floor.get_si());
}

/// x / scale, quantized. What is not finite is what IEEE division makes of it: NaN counts as 0, infinity saturates.
template <class Out>
int exact_quantized(double x, double scale, int z) {
  if (std::isfinite(x) && std::isfinite(scale) && scale != 0)
    return exact_quantized<Out>(mpq_class(x) / mpq_class(scale), z);
  const double quotient = x / scale;
  if (quotient != quotient || quotient == 0) return z;
  return quotient < 0 ? std::numeric_limits<Out>::min() : std::numeric_limits<Out>::max();
}

/// integer * 2^exponent, rounded half to even; the integer is not negative. Out is float or half.
template <class Out>
Out exact_rounded(const mpz_class& integer, long exponent) {
  constexpr bool is_half = std::is_same_v<Out, dmlref::half>;
  constexpr long digits = is_half ? 11 : 24, lowest = is_half ? -24 : -149;
  const auto bits = static_cast<long>(mpz_sizeinbase(integer.get_mpz_t(), 2));
  const long unit = std::max(lowest, exponent + bits - digits);  // of the last place
  mpz_class units = integer;
  if (unit > exponent) {
    const mpz_class per_unit = mpz_class(1) << static_cast<unsigned long>(unit - exponent);
    mpz_class rest;
    mpz_fdiv_qr(units.get_mpz_t(), rest.get_mpz_t(), integer.get_mpz_t(), per_unit.get_mpz_t());
    const int beyond_half = cmp(mpz_class(rest * 2), per_unit);
    if (beyond_half > 0 || (beyond_half == 0 && mpz_odd_p(units.get_mpz_t()))) units += 1;
  }
  const double value = std::ldexp(units.get_d(), static_cast<int>(std::max(unit, exponent)));
  const double end = is_half ? 0x1p16 : 0x1p128;
  return static_cast<Out>(value >= end ? std::numeric_limits<float>::infinity() : static_cast<float>(value));
}

/// difference * scale, rounded once. Every NaN is the one that operators store.
template <class Out>
Out exact_dequantized(std::int64_t difference, Out scale) {
  const auto factor = static_cast<double>(scale);
  if (factor != factor || (std::isinf(factor) && difference == 0)) {
    if constexpr (std::is_same_v<Out, dmlref::half>) return dmlref::half::from_bits(0x7E00);
    return static_cast<Out>(std::bit_cast<float>(std::uint32_t{0x7FC00000}));
  }
  Out magnitude = static_cast<Out>(std::numeric_limits<float>::infinity());
  if (std::isfinite(factor)) {
    int exponent = 0;
    const mpz_class significand = std::ldexp(std::frexp(std::abs(factor), &exponent), 24);
    magnitude = exact_rounded<Out>(abs(mpz_class(static_cast<long>(difference))) * significand, exponent - 24);
  }
  const bool negative = (difference < 0) != std::signbit(factor);
  return negative ? static_cast<Out>(-static_cast<float>(magnitude)) : magnitude;
}

}  // namespace dmlref_test
