// scalar.hpp: the modes of requantizer.hpp in plain C++: what every other target's must equal.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/requantize/requantizer.hpp"

DMLREF_BEGIN
namespace fast::qlc::requantize::scalar {

/// The clamped mode, 64 sums for each of `blocks`; their channels begin with `first` and repeat after `period`.
inline void clamped(const std::int32_t* sums, std::ptrdiff_t blocks, const Requantizer& to, std::ptrdiff_t first,
                    std::ptrdiff_t period, std::uint8_t* out) noexcept {
  const PackedOutput packed = to.packed();
  for (std::ptrdiff_t i = 0; i < 64 * blocks; ++i) {
    const std::ptrdiff_t channel = first + i % period;
    float product = static_cast<float>(sums[i]) * to.rows.scale[to.rows.row_of(i)] * to.scale[channel];
    product = product < -float_clamp ? -float_clamp : product > float_clamp ? float_clamp : product;
    const auto truncated = static_cast<std::int32_t>(product);
    const float rest = product - static_cast<float>(truncated);
    const float magnitude = rest < 0 ? -rest : rest;
    const bool upper = magnitude > 0.5f || (magnitude == 0.5f && truncated % 2 != 0);
    if ((upper ? 1 - magnitude : magnitude) > to.tie_tolerance[channel]) {
      out[i] = to.in_doubles(sums[i], channel, to.rows.row_of(i));
      continue;
    }
    const std::int32_t away = !upper ? 0 : product < 0 ? -1 : 1;
    const std::int32_t value = truncated + away + packed.zero_point;
    const std::int32_t byte = value < -128 ? -128 : value > 127 ? 127 : value;
    out[i] = static_cast<std::uint8_t>(static_cast<std::uint8_t>(byte) ^ packed.flip);
  }
}

/// In doubles, sums whose factors begin with `lane`.
inline void exact(const std::int32_t (&sums)[16], const ExactRounding& by, std::ptrdiff_t lane,
                  std::ptrdiff_t lane_step, std::uint8_t* out) noexcept {
  for (std::ptrdiff_t i = 0; i < 16; ++i, lane += lane_step) {
    const double sum = static_cast<double>(sums[i]) + by.offset[lane];
    std::int32_t q = round_exactly(sum, by.factor[lane], by.output_scale) + by.to.zero_point;
    q = q < -128 ? -128 : q > 127 ? 127 : q;
    out[i] = static_cast<std::uint8_t>(static_cast<std::uint8_t>(q) ^ by.to.flip);
  }
}

}  // namespace fast::qlc::requantize::scalar
DMLREF_END
