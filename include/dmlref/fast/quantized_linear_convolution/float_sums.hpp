// float_sums.hpp: integer sums that are floats as they stand, without a conversion.
//
// Added to the bits of a float in [2^23, 2^24), an integer is added to its value. So where sums begin with the bits of
// 2^23 + k, they end as the float k' + sum, k' = 2^23 + k. Times the scale, what k' contributes must come off again:
// with the rounding's own shift, as one float. That is exact only for some k': for one in as many as a unit in the
// last place of that float is units of the result, hundreds. One is found by a division modulo 2^24.
#pragma once

#include <bit>
#include <cstdint>

#include "dmlref/config.hpp"

DMLREF_BEGIN
namespace fast::qlc {

/// What a kernel's sums are in the end. Rounded ones are floats, or integers that become such, whose results one
/// multiply-add leaves in the low halves (rounded_sums.hpp), of all but the exceptions or of all.
enum class SumsAre { integers, floats, mostly_rounded, rounded, mostly_rounded_integers, rounded_integers };

constexpr bool have_exceptions(SumsAre are) noexcept {
  return are == SumsAre::mostly_rounded || are == SumsAre::mostly_rounded_integers;
}
constexpr bool are_converted(SumsAre are) noexcept {
  return are == SumsAre::integers || are == SumsAre::mostly_rounded_integers || are == SumsAre::rounded_integers;
}

struct FloatSums {
  std::int32_t sum = 0;  // what sums begin with; 0: they are no floats
  float shift = 0;       // what is added to float times scale
};

/// An odd number's inverse modulo 2^32.
constexpr std::uint32_t inverse(std::uint32_t odd) noexcept {
  std::uint32_t x = odd;  // right in 3 bits, then 6, 12, 24, 48
  for (int i = 0; i < 4; ++i) x *= 2 - odd * x;
  return x;
}

/// For sums that begin with `sum` and are at most `bound` in the end, whatever the pixels: float * `units` + the shift
/// found is sum * `units` + `shift`, but for an eighth. `units` is 0 or a normal float below 2^16, `shift` an integer.
constexpr FloatSums float_sums(float units, std::int32_t shift, std::int32_t sum, double bound) noexcept {
  constexpr std::uint32_t lowest = 1u << 23, modulus = 1u << 24;
  if (!(bound < 0x1p22)) return {};
  const auto most = static_cast<std::uint32_t>(bound) + 1;
  const auto bits = std::bit_cast<std::uint32_t>(units);
  const auto significand = units == 0 ? lowest : (bits & 0x7FFFFF) | lowest;
  const int unit = units == 0 ? 24 : 150 - static_cast<int>(bits >> 23 & 0xFF);  // of the significand: 2^-unit
  const int even = std::countr_zero(significand);
  // k * significand is to be shift in those units, modulo 2^24: then 24 bits hold the difference.
  auto target = unit < 24 ? static_cast<std::uint32_t>(shift) << unit : 0;
  if (units < 0) target = 0 - target;
  const std::uint32_t odd_inverse = inverse(significand >> even);
  const std::uint32_t period = modulus >> even;  // of the solutions
  // An eighth, in as many steps of what even significands reach.
  const int eighth = unit - 3 - even;
  const std::uint32_t tries = eighth < 0 ? 1 : eighth > 6 ? 128 : 2u << eighth;
  for (std::uint32_t i = 0; i < tries; ++i) {
    const std::uint32_t near = ((target & (modulus - 1)) >> even) + (i % 2 == 0 ? i / 2 : 0 - (i + 1) / 2);
    std::uint32_t k = near * odd_inverse & (period - 1);
    if (even > 0) k += lowest + (period < lowest ? lowest / 2 : 0);
    if (k < lowest + most || k + most >= modulus) continue;
    const double exact = shift - static_cast<double>(k) * static_cast<double>(units);
    const auto nearest = static_cast<float>(exact);
    const double error = static_cast<double>(nearest) - exact;
    if (error > 0.125 || error < -0.125) continue;
    const std::uint32_t begin = std::bit_cast<std::uint32_t>(0x1p23f) + (k - lowest) + static_cast<std::uint32_t>(sum);
    return {static_cast<std::int32_t>(begin), nearest};
  }
  return {};
}

}  // namespace fast::qlc
DMLREF_END
