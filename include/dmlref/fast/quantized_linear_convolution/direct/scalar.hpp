// scalar.hpp: the direct convolution's kernels in plain C++: the definition of what the others compute.
#pragma once

#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/kernels.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct::scalar {

template <bool Channels>
inline void taps(const LaneArgs& t) noexcept {
  for (std::ptrdiff_t b = 0; b < t.blocks; ++b) {
    const std::ptrdiff_t at = Channels ? b % t.period : 0;
    std::uint32_t sums[16];
    for (std::ptrdiff_t i = 0; i < 16; ++i) sums[i] = static_cast<std::uint32_t>(t.sum[Channels ? at * 16 + i : 0]);
    const std::byte* weights = t.weights + at * t.units * 32;
    for (std::ptrdiff_t k = 0; k < t.units; ++k) {
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
    requantize::scalar::exact(wrapped, t, Channels ? at * 16 : 0, Channels ? 1 : 0, t.out + b * 16);
  }
}

template <std::ptrdiff_t Step>
inline void stage(const StageArgs& t) noexcept {
  for (std::ptrdiff_t p = 0; p < t.planes; ++p) {
    std::uint8_t* dst = t.dst + p * t.dst_plane_step;
    std::uint8_t* const end = dst + t.plane_bytes;
    std::memset(dst, t.fill, static_cast<std::size_t>(t.before));
    dst += t.before;
    for (std::ptrdiff_t r = 0; r < t.rows; ++r, dst += t.pitch) {
      const std::uint8_t* src = t.src + p * t.plane_step + r * t.row_step;
      for (std::ptrdiff_t i = 0; i < t.width; ++i) dst[i] = static_cast<std::uint8_t>(src[i * Step] ^ t.flip);
      std::memset(dst + t.width, t.fill, static_cast<std::size_t>(t.pitch - t.width));
    }
    std::memset(dst, t.fill, static_cast<std::size_t>(end - dst));
  }
}

inline void unstage(const UnstageArgs& t) noexcept {
  for (std::ptrdiff_t p = 0; p < t.planes; ++p) {
    for (std::ptrdiff_t r = 0; r < t.rows; ++r) {
      std::memcpy(t.dst + p * t.dst_plane_step + r * t.dst_row_step, t.src + p * t.plane_step + r * t.row_step,
                  static_cast<std::size_t>(t.width));
    }
  }
}

inline constexpr Kernels kernels{
    .block = 16,
    .group = 1,
    .pixel_taps = &taps<false>,
    .channel_taps = &taps<true>,
    .stage = &stage<1>,
    .stage_even = &stage<2>,
    .unstage = &unstage,
};

}  // namespace fast::qlc::direct::scalar
DMLREF_END
