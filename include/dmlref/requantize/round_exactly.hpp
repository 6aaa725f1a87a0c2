// round_exactly.hpp: what every kernel's rounding has to come to.
#pragma once

#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/reference/fma.hpp"

DMLREF_BEGIN
namespace fast::qlc {

/// Neither 0, infinite nor no number: what round_exactly takes.
constexpr bool is_usual(float scale) noexcept { return scale != 0 && scale - scale == 0; }

/// What products of sums and scales stay below where their integer part has 16 bits, zero point and errors included.
inline constexpr double fixed_point_limit = 32000;

/// The exact rounding in floating point: sum * factor / output_scale, half to even, for integer sums below 2^53 and
/// factors that are products of two floats. The double product finds the nearest tie h; whether the value lies below
/// it, on it or above is the sign of sum * factor - h * output_scale. h * output_scale is exact, and so is a fused
/// multiply-add's sign.
inline std::int32_t round_exactly(double sum, double factor, double output_scale) noexcept {
  double p = sum * (factor / output_scale);
  p = p < -5000.0 ? -5000.0 : p > 5000.0 ? 5000.0 : p;
  const auto truncated = static_cast<std::int32_t>(p);
  const double tie = truncated + (p < 0 ? -0.5 : 0.5);
  const double distance = p - tie;
  if (distance > 0x1p-38 || distance < -0x1p-38) {
    return distance < 0 ? static_cast<std::int32_t>(tie - 0.5) : static_cast<std::int32_t>(tie + 0.5);
  }
  const double side = reference::fma(sum, factor, -(tie * output_scale));
  const auto lower = static_cast<std::int32_t>(tie - 0.5);
  return side < 0 ? lower : side > 0 ? lower + 1 : lower + (lower & 1);
}

}  // namespace fast::qlc
DMLREF_END
