// scalar.hpp: the direct convolution's kernels in plain C++: the definition of what the others compute.
#pragma once

#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/kernels.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct::scalar {

template <bool Channels>
inline void taps(const LaneArgs& t) noexcept {
  for (std::ptrdiff_t b = 0; b < t.blocks; ++b) {
    const std::ptrdiff_t at = Channels ? b % t.period : 0;
    std::uint32_t sums[16];
    for (std::ptrdiff_t i = 0; i < 16; ++i)
      sums[i] = static_cast<std::uint32_t>(t.rounding.sum[Channels ? at * 16 + i : 0]);
    const std::byte* weights = t.weights.data + at * t.weights.step;
    for (std::ptrdiff_t k = 0; k < t.groups; ++k) {
      const std::uint8_t* x = t.staged + t.offsets[k] + b * 16;
      std::int16_t w[16];
      if constexpr (Channels) {
        std::memcpy(w, weights + k * 32, sizeof w);
      } else {
        std::memcpy(w, weights + k * 2, sizeof w[0]);
      }
      for (std::ptrdiff_t i = 0; i < 16; ++i) sums[i] += static_cast<std::uint32_t>(x[i] * w[Channels ? i : 0]);
    }
    std::int32_t wrapped[16];
    std::memcpy(wrapped, sums, sizeof wrapped);
    requantize::scalar::exact(wrapped, t.rounding, Channels ? at * 16 : 0, Channels ? 1 : 0, t.out + b * 16);
  }
}

inline constexpr Kernels kernels{
    .block = 16,
    .group = 1,
    .pixel_taps = &taps<false>,
    .channel_taps = &taps<true>,
};

}  // namespace fast::qlc::direct::scalar
DMLREF_END
