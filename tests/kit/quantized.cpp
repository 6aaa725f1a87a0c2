// The way of a sum to 8 bits once more, with exact rationals.
#include "quantized.hpp"

#include <gmpxx.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace dmlref::test::kit {
namespace {

/// The integer next to a rational by the rule that the fault names; else half to even.
mpz_class rounded(const mpq_class& value, Fault fault) {
  const mpq_class doubled = value * 2 + 1;  // floor(value + 1/2) = floor(doubled / 2)
  mpz_class up;
  mpz_fdiv_q(up.get_mpz_t(), doubled.get_num_mpz_t(), mpz_class(doubled.get_den() * 2).get_mpz_t());
  const bool tie = mpq_class(up) - value == mpq_class(1, 2);
  if (fault == Fault::requantize_truncated) return mpz_class(value.get_num() / value.get_den());
  if (!tie || fault == Fault::requantize_half_up) return up;
  if (fault == Fault::requantize_half_away_from_zero) return value < 0 ? mpz_class(up - 1) : up;
  return mpz_even_p(up.get_mpz_t()) != 0 ? up : mpz_class(up - 1);
}

/// A multiplier of 31 bits and a rounding shift, as gemmlowp and TFLite have it.
double by_fixed_point(std::int64_t sum, const Scales& scales) {
  int exponent = 0;
  const double fraction = std::frexp(static_cast<double>(scales.in) * scales.filter / scales.out, &exponent);
  const auto multiplier = static_cast<std::int64_t>(std::llround(std::ldexp(fraction, 31)));
  const auto high = static_cast<std::int64_t>(std::llround(std::ldexp(static_cast<double>(sum * multiplier), -31)));
  return std::ldexp(static_cast<double>(high), exponent);
}

mpq_class quotient(std::int64_t sum, std::int64_t bias, const Scales& scales, Fault fault) {
  const auto exact = [](double value) { return mpq_class(value); };
  const auto whole = static_cast<double>(sum);  // below 2^53
  switch (fault) {
    case Fault::requantize_float32_sum:
      return exact(static_cast<float>(whole)) * exact(scales.in) * exact(scales.filter) / exact(scales.out);
    case Fault::requantize_float32_scale: {
      const float product = scales.in * scales.filter;
      const float scale = product / scales.out;
      return exact(static_cast<float>(whole) * scale);
    }
    case Fault::requantize_double_scale: {
      const double scale = static_cast<double>(scales.in) * scales.filter / scales.out;
      return exact(whole * scale);
    }
    case Fault::requantize_fixed_point_scale: return exact(by_fixed_point(sum, scales));
    case Fault::requantize_output_scale_multiplied: return exact(whole) * scales.in * scales.filter * scales.out;
    case Fault::qlc_bias_after_scale:
      return exact(static_cast<double>(sum - bias)) * exact(scales.in) * exact(scales.filter) / exact(scales.out) +
             exact(static_cast<double>(bias));
    default: return exact(whole) * exact(scales.in) * exact(scales.filter) / exact(scales.out);
  }
}

}  // namespace

void Accumulator::add(const Quantized& x, const Quantized& w) {
  const std::int64_t product = x.difference() * w.difference();
  if (fault_ != Fault::sum_pairs_saturate) return add(product);
  const std::int64_t raw = (x.is_signed ? x.value + 128 : x.value) * (w.is_signed ? w.value : w.value - 128);
  add_pairwise(raw);
  compensation_ += product - raw;
}

void Accumulator::add(std::int64_t addend) {
  sum_ += addend;
  if (fault_ == Fault::sum_saturates) sum_ = std::clamp<std::int64_t>(sum_, -2147483648, 2147483647);
  if (fault_ == Fault::sum_wraps_at_16_bits) sum_ = static_cast<std::int16_t>(sum_);
}

void Accumulator::add_pairwise(std::int64_t product) {
  pair_ += product;
  if (++pairs_ % 2 == 0) flush();
}

void Accumulator::flush() { sum_ += std::clamp<std::int64_t>(std::exchange(pair_, 0), -32768, 32767); }

std::int64_t Accumulator::sum() {
  flush();
  return (fault_ == Fault::sum_wraps ? static_cast<std::int32_t>(sum_) : sum_) + compensation_;
}

std::uint64_t requantized(std::int64_t sum, std::int64_t bias, const Scales& scales, std::int64_t zero_point,
                          DataType type, Fault fault) {
  const bool is_signed = (type == DataType::int8) != (fault == Fault::requantize_wrong_range);
  const std::int64_t low = is_signed ? -128 : 0, high = low + 255;
  if (fault == Fault::requantize_zero_point_ignored) zero_point = 0;
  const mpq_class exact = quotient(sum, bias, scales, fault);
  const mpz_class zero = static_cast<double>(zero_point);
  mpz_class result;
  if (fault == Fault::requantize_rounded_after_zero_point) {
    result = rounded(exact + mpq_class(zero), fault);
  } else {
    mpz_class before = rounded(exact, fault);
    if (fault == Fault::requantize_clamped_before_zero_point) before = std::clamp<mpz_class>(before, low, high);
    result = before + zero;
  }
  const bool wraps = fault == Fault::requantize_wraps || fault == Fault::requantize_clamped_before_zero_point;
  if (!wraps) result = std::clamp<mpz_class>(result, low, high);
  mpz_class byte;
  mpz_fdiv_r_ui(byte.get_mpz_t(), result.get_mpz_t(), 256);
  return byte.get_ui();
}

}  // namespace dmlref::test::kit
