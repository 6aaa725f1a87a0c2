// exact_quotient.hpp: inputScale * filterScale / outputScale as a rational number (GMP), and what it makes of
// accumulators: exact integers of any size, floor(x + 1/2), one less where a tie would become odd.
#pragma once

#include <gmpxx.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace dmlref_test {

/// A finite float as integer * 2^exponent.
struct ExactFloat {
  mpz_class integer;
  long exponent;
  explicit ExactFloat(float value) {
    int e = 0;
    integer = std::ldexp(static_cast<double>(std::frexp(value, &e)), 24);
    exponent = e - 24;
  }
};

class ExactQuotient {
 public:
  ExactQuotient(float input, float filter, float output) {
    const ExactFloat in(input), by(filter), out(output);
    numerator_ = in.integer * by.integer;
    denominator_ = out.integer;
    const long exponent = in.exponent + by.exponent - out.exponent;
    (exponent >= 0 ? numerator_ : denominator_) <<= static_cast<unsigned long>(std::abs(exponent));
    if (denominator_ < 0) {
      numerator_ = -numerator_;
      denominator_ = -denominator_;
    }
  }
  /// The quantized value of an accumulator.
  int quantized(std::int64_t accumulator, int zero_point, int lowest, int highest) {
    twice_ = numerator_ * static_cast<long>(accumulator) * 2 + denominator_;
    const mpz_class divisor = denominator_ * 2;
    mpz_fdiv_qr(floor_.get_mpz_t(), rest_.get_mpz_t(), twice_.get_mpz_t(), divisor.get_mpz_t());
    if (rest_ == 0 && mpz_odd_p(floor_.get_mpz_t())) floor_ -= 1;
    floor_ += zero_point;
    return floor_ < lowest ? lowest : floor_ > highest ? highest : static_cast<int>(floor_.get_si());
  }
  /// The accumulator nearest to the tie `tie` + 1/2, or to one nearer to 0 where that one is beyond 2^30.
  std::int64_t accumulator_at(int tie) const {
    const mpz_class most = mpz_class(1) << 30;
    for (;; tie /= 2) {
      const mpz_class twice = denominator_ * (2 * tie + 1), divisor = numerator_ * 2;
      mpz_class nearest;
      mpz_fdiv_q(nearest.get_mpz_t(), mpz_class(twice * 2 + divisor).get_mpz_t(), mpz_class(divisor * 2).get_mpz_t());
      if (abs(nearest) <= most) return nearest.get_si();
      if (tie == 0 || tie == -1) return nearest < 0 ? -most.get_si() : most.get_si();
    }
  }
  /// The least accumulator, times the quotient's sign, that is rounded to `rounded` or more; within 2^62.
  std::int64_t first_rounded_to(long rounded) const {
    const mpz_class twice = denominator_ * (2 * rounded - 1), divisor = abs(numerator_) * 2;
    mpz_class first, rest;
    mpz_cdiv_qr(first.get_mpz_t(), rest.get_mpz_t(), twice.get_mpz_t(), divisor.get_mpz_t());
    if (rest == 0 && rounded % 2 != 0) first += 1;  // a tie, and the even neighbor is the lower one
    const mpz_class most = mpz_class(1) << 62;
    return first > most ? most.get_si() : first < -most ? -most.get_si() : first.get_si();
  }
  bool negative() const { return numerator_ < 0; }

 private:
  mpz_class numerator_, denominator_, twice_, floor_, rest_;
};

/// The quantized values of all accumulators as the 255 places where they step: as exact as `quantized`, and as fast as
/// a comparison.
class ExactSteps {
 public:
  ExactSteps(const ExactQuotient& quotient, int zero_point, int lowest)
      : negative_(quotient.negative()), lowest_(lowest) {
    for (int value = lowest + 1; value <= lowest + 255; ++value) {
      steps_.push_back(quotient.first_rounded_to(value - zero_point));
    }
  }

  /// The bytes of `count` accumulators from `first` on.
  void quantize(std::int64_t first, std::size_t count, std::uint8_t* bytes) const {
    std::size_t above = 0;  // how many steps the accumulator has passed
    std::int64_t place = negative_ ? -(first + static_cast<std::int64_t>(count) - 1) : first;
    for (std::size_t i = 0; i < count; ++i, ++place) {
      while (above < steps_.size() && place >= steps_[above]) ++above;
      bytes[negative_ ? count - 1 - i : i] = static_cast<std::uint8_t>(lowest_ + static_cast<int>(above));
    }
  }

 private:
  bool negative_;
  int lowest_;
  std::vector<std::int64_t> steps_;
};

}  // namespace dmlref_test
