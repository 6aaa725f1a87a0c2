// scalar.hpp: the modes of requantizer.hpp in plain C++: what every other target's must equal.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/requantize/requantizer.hpp"
#include "dmlref/fast/quantized_linear_convolution/requantize/round_exactly.hpp"

DMLREF_BEGIN
namespace fast::qlc::requantize {

/// What decides exactly where there is no Requantizer.
struct ExactRounding {
  const double* factor = nullptr;  ///< inputScale * filterScale with outputScale's sign, one or one per lane
  double output_scale = 1;         ///< positive
  std::int32_t zero_point = 0;     ///< less 128 for UINT8: results saturate to INT8, then xor `flip`
  std::uint8_t flip = 0;
};

/// Which factor belongs to which sum of a block.
enum class Factors {
  one,   ///< one for all
  each,  ///< one per sum, in the accumulators' order
  parts  ///< one per 128-bit part of a vector
};

/// Rounds the near ties of fixed point exactly: sums whose result in `fixed` has a low half up to its lane's
/// `near_tie`. `lanes`: of a vector. Cold: one value in some 20000.
[[gnu::noinline]] inline void round_near_ties(const std::int32_t* sums, std::int32_t* fixed, std::ptrdiff_t count,
                                              const std::uint16_t* near_tie, std::ptrdiff_t lanes, Factors factors,
                                              const double* factor, const ExactRounding& exact) noexcept {
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const std::ptrdiff_t lane = i % lanes;
    if (static_cast<std::uint16_t>(fixed[i]) > near_tie[2 * lane]) continue;
    const std::ptrdiff_t which = factors == Factors::one ? 0 : factors == Factors::each ? i : lane / 4;
    fixed[i] = (round_exactly(sums[i], factor[which], exact.output_scale) + exact.zero_point) * 65536;
  }
}

}  // namespace fast::qlc::requantize

namespace fast::qlc::requantize::scalar {

/// The clamped mode, 64 sums for each of `blocks`; their channels begin with `first` and repeat after `period`.
inline void clamped(const std::int32_t* sums, std::ptrdiff_t blocks, const Requantizer& to, std::ptrdiff_t first,
                    std::ptrdiff_t period, std::uint8_t* out) noexcept {
  const std::int32_t low = to.output_signed ? -128 : 0;
  for (std::ptrdiff_t i = 0; i < 64 * blocks; ++i) {
    const std::ptrdiff_t channel = first + i % period;
    float product = static_cast<float>(sums[i]) * to.scale[channel];
    product = product < -float_clamp ? -float_clamp : product > float_clamp ? float_clamp : product;
    const auto truncated = static_cast<std::int32_t>(product);
    const float rest = product - static_cast<float>(truncated);
    const float magnitude = rest < 0 ? -rest : rest;
    if (magnitude > clamped_band && magnitude < 1 - clamped_band) {
      out[i] = to.exact(sums[i], channel);
      continue;
    }
    const std::int32_t away = magnitude < 0.5f ? 0 : product < 0 ? -1 : 1;
    const std::int32_t value = truncated + away + to.zero_point;
    out[i] = static_cast<std::uint8_t>(value < low ? low : value > low + 255 ? low + 255 : value);
  }
}

/// The exact mode, for sums of 32 bits; their factors begin with `lane`.
inline void exact(const std::int32_t (&sums)[16], const ExactRounding& to, std::ptrdiff_t lane,
                  std::ptrdiff_t lane_step, std::uint8_t* out) noexcept {
  for (std::ptrdiff_t i = 0; i < 16; ++i) {
    std::int32_t q = round_exactly(sums[i], to.factor[lane + i * lane_step], to.output_scale) + to.zero_point;
    q = q < -128 ? -128 : q > 127 ? 127 : q;
    out[i] = static_cast<std::uint8_t>(static_cast<std::uint8_t>(q) ^ to.flip);
  }
}

}  // namespace fast::qlc::requantize::scalar
DMLREF_END
