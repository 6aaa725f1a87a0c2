// In integers of any size, apart from the library's own rounding: so that each can be held against the other.
#include "explain/exact_quotient.hpp"

#include <bit>
#include <cmath>
#include <numeric>
#include <vector>

namespace dmlref::tool {
namespace {

constexpr int decimals = 20;
constexpr std::int64_t largest_rounded = std::int64_t{1} << 40;

/// A natural number of any size.
class Natural {
 public:
  explicit Natural(std::uint64_t value) {
    for (; value != 0; value >>= 32) limbs_.push_back(static_cast<std::uint32_t>(value));
  }

  bool is_zero() const noexcept { return limbs_.empty(); }
  bool is_odd() const noexcept { return !limbs_.empty() && limbs_.front() % 2 != 0; }
  std::size_t bits() const noexcept {
    return limbs_.empty() ? 0 : limbs_.size() * 32 - static_cast<std::size_t>(std::countl_zero(limbs_.back()));
  }
  /// Of a number of at most 64 bits.
  std::uint64_t value() const noexcept {
    std::uint64_t value = 0;
    for (std::size_t i = limbs_.size(); i-- > 0;) value = value << 32 | limbs_[i];
    return value;
  }

  void multiply(std::uint32_t factor) {
    std::uint64_t carry = 0;
    for (std::uint32_t& limb : limbs_) {
      carry += std::uint64_t{limb} * factor;
      limb = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) limbs_.push_back(static_cast<std::uint32_t>(carry));
    trim();
  }
  void increment() {
    for (std::uint32_t& limb : limbs_) {
      if (++limb != 0) return;
    }
    limbs_.push_back(1);
  }
  /// Returns the rest.
  std::uint32_t divide(std::uint32_t divisor) {
    std::uint64_t rest = 0;
    for (std::size_t i = limbs_.size(); i-- > 0;) {
      rest = rest << 32 | limbs_[i];
      limbs_[i] = static_cast<std::uint32_t>(rest / divisor);
      rest %= divisor;
    }
    trim();
    return static_cast<std::uint32_t>(rest);
  }
  void shift_left(int count) {
    for (; count >= 31; count -= 31) multiply(std::uint32_t{1} << 31);
    multiply(std::uint32_t{1} << count);
  }
  /// Returns whether a bit was lost.
  bool shift_right(int count) {
    bool lost = false;
    for (; count >= 31; count -= 31) lost = divide(std::uint32_t{1} << 31) != 0 || lost;
    return divide(std::uint32_t{1} << count) != 0 || lost;
  }

  std::string decimal() const {
    std::string digits;
    for (Natural rest = *this; !rest.is_zero();)
      digits.insert(digits.begin(), static_cast<char>('0' + rest.divide(10)));
    return digits.empty() ? "0" : digits;
  }

 private:
  void trim() {
    while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
  }
  std::vector<std::uint32_t> limbs_;  // the least first, no zeros above
};

/// significand * 2^exponent, the significand odd.
struct Odd {
  std::uint64_t significand;
  int exponent;

  static Odd of(std::uint64_t value, int exponent) {
    const int zeros = std::countr_zero(value);
    return {value >> zeros, exponent + zeros};
  }
  static Odd of(float value) {
    int exponent = 0;
    const float fraction = std::frexp(std::fabs(value), &exponent);
    return of(static_cast<std::uint64_t>(std::ldexp(fraction, 24)), exponent - 24);
  }
};

/// numerator / denominator * 2^exponent, floored; `exact` says whether nothing was lost.
struct Floored {
  Natural value;
  bool exact;

  Floored(Natural numerator, std::uint32_t denominator, int exponent) : value(std::move(numerator)), exact(true) {
    if (exponent > 0) value.shift_left(exponent);
    exact = value.divide(denominator) == 0;
    if (exponent < 0) exact = !value.shift_right(-exponent) && exact;
  }
};

std::string decimal_of(Natural numerator, std::uint32_t denominator, int exponent) {
  for (int i = 0; i < decimals; ++i) numerator.multiply(10);
  const Floored scaled(std::move(numerator), denominator, exponent);
  std::string digits = scaled.value.decimal();
  if (digits.size() <= decimals) digits.insert(0, decimals + 1 - digits.size(), '0');
  digits.insert(digits.size() - decimals, ".");
  if (!scaled.exact) return digits + "...";
  while (digits.back() == '0') digits.pop_back();
  if (digits.back() == '.') digits.pop_back();
  return digits;
}

std::string fraction_of(Natural numerator, std::uint32_t denominator, int exponent) {
  constexpr int most = 200;  // beyond it the power of two stands apart
  const bool apart = exponent > most || exponent < -most;
  Natural below(denominator);
  if (!apart && exponent > 0) numerator.shift_left(exponent);
  if (!apart && exponent < 0) below.shift_left(-exponent);
  std::string text = numerator.decimal();
  if (const std::string divisor = below.decimal(); divisor != "1") text += "/" + divisor;
  return apart ? text + " * 2^" + std::to_string(exponent) : text;
}

/// Where a scale is 0, infinite or NaN. IEEE arithmetic, in which NaN counts as 0.
ExactQuotient undefined_quotient(std::int64_t accumulator, double input, double filter, double output) {
  // (Finite scales are floats: no step of finite ones overflows or underflows a double.)
  const double quotient = static_cast<double>(accumulator) * input * filter / output;
  if (std::isinf(quotient)) {
    const bool negative = std::signbit(quotient);
    const std::string text = negative ? "-inf" : "inf";
    return {negative ? "-infinite" : "infinite", text, false, text, negative ? -largest_rounded : largest_rounded};
  }
  return {std::isnan(quotient) ? "undefined" : "0", std::isnan(quotient) ? "nan" : "0", false, "0", 0};
}

}  // namespace

ExactQuotient exact_quotient(std::int64_t accumulator, float input_scale, float filter_scale, float output_scale) {
  const auto regular = [](float scale) { return std::isfinite(scale) && scale != 0; };
  if (accumulator == 0 || !regular(input_scale) || !regular(filter_scale) || !regular(output_scale)) {
    return undefined_quotient(accumulator, input_scale, filter_scale, output_scale);
  }
  const bool negative =
      ((accumulator < 0) != std::signbit(input_scale)) != (std::signbit(filter_scale) != std::signbit(output_scale));
  const auto magnitude =
      accumulator < 0 ? 0 - static_cast<std::uint64_t>(accumulator) : static_cast<std::uint64_t>(accumulator);
  const Odd sum = Odd::of(magnitude, 0);
  const Odd in = Odd::of(input_scale);
  const Odd filter = Odd::of(filter_scale);
  const Odd out = Odd::of(output_scale);
  const int exponent = sum.exponent + in.exponent + filter.exponent - out.exponent;
  Natural numerator(sum.significand);
  numerator.multiply(static_cast<std::uint32_t>(in.significand));
  numerator.multiply(static_cast<std::uint32_t>(filter.significand));
  auto denominator = static_cast<std::uint32_t>(out.significand);
  const std::uint32_t common = std::gcd(Natural(numerator).divide(denominator), denominator);
  numerator.divide(common);
  denominator /= common;

  ExactQuotient result;
  const std::string sign = negative ? "-" : "";
  result.fraction = sign + fraction_of(numerator, denominator, exponent);
  result.decimal = sign + decimal_of(numerator, denominator, exponent);
  Floored halves(std::move(numerator), denominator, exponent + 1);
  Natural& whole = halves.value;
  const bool beyond_half = whole.divide(2) != 0;
  result.tie = beyond_half && halves.exact;
  if (beyond_half && (!halves.exact || whole.is_odd())) whole.increment();
  result.integer = (negative && !whole.is_zero() ? "-" : "") + whole.decimal();
  result.rounded = whole.bits() > 40 ? largest_rounded : static_cast<std::int64_t>(whole.value());
  if (negative) result.rounded = -result.rounded;
  return result;
}

}  // namespace dmlref::tool
