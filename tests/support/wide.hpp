// wide.hpp: numbers of 512 bits (MPFR) with operators, for oracles.
#pragma once

#include <mpfr.h>

#include <utility>

namespace dmlref_test {

class Wide {
 public:
  Wide() : Wide(0.0) {}
  Wide(double value) {  // NOLINT: a double is a number
    mpfr_init2(value_, 512);
    mpfr_set_d(value_, value, MPFR_RNDN);
  }
  Wide(const Wide& other) {
    mpfr_init2(value_, 512);
    mpfr_set(value_, other.value_, MPFR_RNDN);
  }
  Wide& operator=(const Wide& other) {
    mpfr_set(value_, other.value_, MPFR_RNDN);
    return *this;
  }
  ~Wide() { mpfr_clear(value_); }

  double to_double() const { return mpfr_get_d(value_, MPFR_RNDN); }
  bool is_nan() const { return mpfr_nan_p(value_) != 0; }
  bool is_zero() const { return mpfr_zero_p(value_) != 0; }
  bool is_infinite() const { return mpfr_inf_p(value_) != 0; }
  /// e with 2^e <= |value| < 2^(e + 1); the value is finite and not zero.
  long exponent() const { return mpfr_get_exp(value_) - 1; }

  friend Wide operator+(const Wide& a, const Wide& b) { return apply(mpfr_add, a, b); }
  friend Wide operator-(const Wide& a, const Wide& b) { return apply(mpfr_sub, a, b); }
  friend Wide operator*(const Wide& a, const Wide& b) { return apply(mpfr_mul, a, b); }
  friend Wide operator/(const Wide& a, const Wide& b) { return apply(mpfr_div, a, b); }
  Wide operator-() const { return apply(mpfr_neg, *this); }
  friend bool operator<(const Wide& a, const Wide& b) { return mpfr_less_p(a.value_, b.value_) != 0; }
  friend bool operator>(const Wide& a, const Wide& b) { return b < a; }
  friend bool operator>=(const Wide& a, const Wide& b) { return mpfr_greaterequal_p(a.value_, b.value_) != 0; }

  friend Wide sqrt(const Wide& x) { return apply(mpfr_sqrt, x); }
  friend Wide abs(const Wide& x) { return apply(mpfr_abs, x); }
  friend Wide exp(const Wide& x) { return apply(mpfr_exp, x); }
  friend Wide expm1(const Wide& x) { return apply(mpfr_expm1, x); }
  friend Wide log1p(const Wide& x) { return apply(mpfr_log1p, x); }
  friend Wide hyperbolic_tangent(const Wide& x) { return apply(mpfr_tanh, x); }
  friend Wide erfc(const Wide& x) { return apply(mpfr_erfc, x); }

 private:
  template <class F>
  static Wide apply(F* f, const Wide& a) {
    Wide result;
    f(result.value_, a.value_, MPFR_RNDN);
    return result;
  }
  template <class F>
  static Wide apply(F* f, const Wide& a, const Wide& b) {
    Wide result;
    f(result.value_, a.value_, b.value_, MPFR_RNDN);
    return result;
  }
  mpfr_t value_;
};

}  // namespace dmlref_test
