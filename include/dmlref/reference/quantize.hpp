// quantize.hpp: an integer accumulator times three scales, rounded once to a quantized value.
//
// Every step of the rounding is a named function here. The reference calls `requantize`; the fast paths decide the
// plain cases in floating point and must give these same bits.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "dmlref/config.hpp"
#include "dmlref/reference/uint128.hpp"

DMLREF_BEGIN
namespace reference {

namespace detail {

/// A float taken apart: (-1)^negative * significand * 2^exponent. By bits, so that no mode of the CPU flushes it.
struct FloatParts {
  std::uint32_t significand = 0;  // below 2^24
  int exponent = 0;
  bool negative = false;
  bool finite = true;
  bool nan = false;
};

constexpr FloatParts take_apart(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t fraction = bits & 0x007F'FFFFu;
  const auto biased = static_cast<int>((bits >> 23) & 0xFFu);
  FloatParts parts;
  parts.negative = (bits >> 31) != 0;
  parts.finite = biased != 255;
  parts.nan = biased == 255 && fraction != 0;
  parts.significand = biased == 0 ? fraction : fraction | 0x0080'0000u;
  parts.exponent = (biased == 0 ? 1 : biased) - 150;
  return parts;
}

constexpr double power_of_two(int exponent) noexcept {  // -1022 <= exponent <= 1023
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

}  // namespace detail

/// Rounded values beyond this are not told apart: they lie outside every output range, whatever the zero point.
inline constexpr int rounding_bits = 12;
inline constexpr std::int64_t rounding_limit = std::int64_t{1} << rounding_bits;

/// inputScale * filterScale / outputScale without any rounding: ±numerator / denominator * 2^exponent. The scales may
/// be any floats: subnormal, huge, negative. A scale that is 0, infinite or NaN is undefined data in DirectML; here the
/// quotient is then what IEEE arithmetic makes of it: 0, infinite (saturates by sign), or NaN (counts as 0).
class RequantizeScale {
 public:
  constexpr RequantizeScale(float input_scale, float filter_scale, float output_scale) noexcept {
    const detail::FloatParts in = detail::take_apart(input_scale);
    const detail::FloatParts filter = detail::take_apart(filter_scale);
    const detail::FloatParts out = detail::take_apart(output_scale);
    negative_ = in.negative != (filter.negative != out.negative);
    numerator_ = std::uint64_t{in.significand} * filter.significand;
    denominator_ = out.significand;
    exponent_ = in.exponent + filter.exponent - out.exponent;

    const bool factor_zero = (in.finite && in.significand == 0) || (filter.finite && filter.significand == 0);
    const bool factor_infinite = !in.finite || !filter.finite;
    const bool nan = in.nan || filter.nan || out.nan || (factor_zero && factor_infinite) ||
                     (factor_zero && out.finite && out.significand == 0) || (factor_infinite && !out.finite);
    if (nan || factor_zero || !out.finite) {
      kind_ = Kind::zero;
    } else if (factor_infinite || out.significand == 0) {
      kind_ = Kind::infinite;
    }
    if (kind_ != Kind::finite) return;
    // Both integers are exact doubles, the quotient is rounded once, and its exponent stays within -426 … 405.
    const double quotient = static_cast<double>(numerator_) / static_cast<double>(denominator_);
    ratio_ = (negative_ ? -quotient : quotient) * detail::power_of_two(exponent_);
  }

  /// Whether the three scales were finite and none of them 0.
  constexpr bool is_finite() const noexcept { return kind_ == Kind::finite; }
  /// The double nearest to the exact quotient; 0 where !is_finite().
  constexpr double ratio() const noexcept { return ratio_; }

  /// accumulator * scale, rounded half to even in exact integers; ±rounding_limit for all that lies beyond it.
  /// |accumulator| < 2^49.
  constexpr std::int64_t round_exactly(std::int64_t accumulator) const noexcept {
    if (accumulator == 0 || kind_ == Kind::zero) return 0;
    const bool negative = (accumulator < 0) != negative_;
    const std::int64_t limit = negative ? -rounding_limit : rounding_limit;
    if (kind_ == Kind::infinite) return limit;

    // n / d * 2^exponent_ with n < 2^49 * 2^48 and d < 2^24.
    const auto magnitude = static_cast<std::uint64_t>(accumulator < 0 ? -accumulator : accumulator);
    detail::Uint128 n = detail::Uint128::product(magnitude, numerator_);
    detail::Uint128 d{0, denominator_};
    if (exponent_ >= 0) {
      if (exponent_ > 36 || (n >> (36 - exponent_)) != detail::Uint128{}) return limit;  // n * 2^e / d > 2^36 / 2^24
      n = n << exponent_;
    } else {
      if (exponent_ < -98) return 0;  // below 2^97 / 2^99
      d = d << -exponent_;            // below 2^122
    }
    // n / d bit by bit, without a product that may not fit; n becomes the rest.
    if ((n >> rounding_bits) >= d) return limit;
    std::int64_t rounded = 0;
    for (int bit = rounding_bits - 1; bit >= 0; --bit) {
      if ((n >> bit) < d) continue;
      n = n - (d << bit);
      rounded += std::int64_t{1} << bit;
    }
    const detail::Uint128 twice_rest = n << 1;
    if (twice_rest > d || (twice_rest == d && rounded % 2 != 0)) ++rounded;
    return negative ? -rounded : rounded;
  }

  /// The same value. A double product decides, except where it lies too near to a tie: there the integers do.
  constexpr std::int64_t round(std::int64_t accumulator) const noexcept {
    if (kind_ != Kind::finite) return round_exactly(accumulator);
    // |product - exact| <= |exact| * (2^-52 + 2^-106): the quotient and the product are each rounded once.
    const double product = static_cast<double>(accumulator) * ratio_;
    constexpr auto limit = static_cast<double>(rounding_limit);
    if (product >= limit) return rounding_limit;
    if (product <= -limit) return -rounding_limit;
    const auto truncated = static_cast<std::int64_t>(product);
    const double rest = product - static_cast<double>(truncated);  // exact; of product's sign
    const double beyond_half = (rest < 0 ? -rest : rest) - 0.5;
    if (beyond_half < -near_tie) return truncated;
    if (beyond_half > near_tie) return truncated + (product < 0 ? -1 : 1);
    return round_exactly(accumulator);
  }

  /// Half the width of the band around a tie in which `round` does not trust the double: more than 4096 * (2^-52 +
  /// 2^-106).
  static constexpr double near_tie = 0x1p-39;

 private:
  enum class Kind : std::uint8_t { finite, zero, infinite };
  std::uint64_t numerator_ = 0;    // below 2^48
  std::uint64_t denominator_ = 1;  // below 2^24
  int exponent_ = 0;
  bool negative_ = false;
  Kind kind_ = Kind::finite;
  double ratio_ = 0.0;
};

/// What rounding gave, plus the zero point, clamped to the output type in a wide integer.
template <class Out>
constexpr Out saturate(std::int64_t rounded, Out zero_point) noexcept {
  const std::int64_t value = rounded + std::int64_t{zero_point};
  constexpr std::int64_t lowest = (std::numeric_limits<Out>::min)();
  constexpr std::int64_t highest = (std::numeric_limits<Out>::max)();
  return static_cast<Out>(value < lowest ? lowest : (value > highest ? highest : value));
}

/// The correctly rounded output: clamp(round_half_even(accumulator * inputScale * filterScale / outputScale) +
/// zero_point) with nothing rounded in between. |accumulator| < 2^49.
template <class Out>
constexpr Out requantize(std::int64_t accumulator, const RequantizeScale& scale, Out zero_point) noexcept {
  return saturate<Out>(scale.round(accumulator), zero_point);
}

}  // namespace reference
DMLREF_END
