// channel_scales.hpp: scales of channels as kernels multiply with them: as floats, and as exact products.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/reference/quantize.hpp"
#include "dmlref/requantize/requantizer.hpp"
#include "dmlref/requantize/round_exactly.hpp"

DMLREF_BEGIN
namespace fast::qlc {

/// A factor where a scale is 0, infinite or no number: 0, or one that makes every sum but 0 saturate.
DMLREF_NOINLINE inline double odd_factor(float input_scale, float filter_scale, float output_scale) noexcept {
  const reference::RequantizeScale exact(input_scale, filter_scale, output_scale);
  const std::int64_t one = exact.round_exactly(1);
  return exact.is_finite() ? 0.0 : one == 0 ? 0.0 : one > 0 ? 0x1p200 : -0x1p200;
}

/// A quotient of scales as a float. Beyond 2^40 every sum but 0 saturates, below 2^-40 every sum rounds to 0: floats
/// need not follow.
inline float float_scale(double ratio) noexcept {
  const double size = ratio < 0 ? -ratio : ratio;
  const double clamped = ratio > 0x1p40 ? 0x1p40 : ratio < -0x1p40 ? -0x1p40 : ratio;
  return static_cast<float>(size < 0x1p-40 ? 0.0 : clamped);
}

/// The input scale as factors have it: with the output scale's sign, negated where results are complements.
inline double signed_input_scale(float input_scale, float output_scale, bool negated) noexcept {
  const auto given = static_cast<double>(input_scale);
  return (output_scale < 0) != negated ? -given : given;
}

/// Filter scales in `scale` to the quotients of all three, and to factors.
inline void fold_scales(float input_scale, float output_scale, bool negated, std::ptrdiff_t channels, float* scale,
                        double* factor) noexcept {
  const double inverse = 1 / Requantizer::divisor_of(output_scale);
  const double input = signed_input_scale(input_scale, output_scale, negated);
  bool usual = is_usual(input_scale) && is_usual(output_scale);
  for (std::ptrdiff_t c = 0; c < channels; ++c) {
    factor[c] = input * static_cast<double>(scale[c]);
    usual = usual && scale[c] - scale[c] == 0;  // a filter scale of 0 is as the others
  }
  for (std::ptrdiff_t c = 0; c < channels && !usual; ++c) {
    if (is_usual(input_scale) && is_usual(output_scale) && is_usual(scale[c])) continue;
    const double odd = odd_factor(input_scale, scale[c], output_scale);
    factor[c] = negated ? -odd : odd;
  }
  for (std::ptrdiff_t c = 0; c < channels; ++c) scale[c] = float_scale(factor[c] * inverse);
}

/// Whether no product of a sum of at most `bound` and a scale that is exact as a float is rounded, as far as results do
/// not saturate: it has 24 bits then.
inline bool products_are_exact(float scale, double bound) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(scale);
  const auto exponent = static_cast<std::int32_t>(bits >> 23 & 0xFF) - 150;
  const std::uint32_t significand = (bits & 0x7FFFFF) | 0x800000;
  const int zeros = std::countr_zero(significand);
  return exponent + zeros >= -15 || bound * (significand >> zeros) <= 0x1p24;
}

}  // namespace fast::qlc
DMLREF_END
