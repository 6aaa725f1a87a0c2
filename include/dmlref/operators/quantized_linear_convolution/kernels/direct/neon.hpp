// neon.hpp: the direct convolution's kernels with widening multiply-adds on 4 lanes; a block is 16 lanes. Weights less
// their zero points have 16 bits, so every filter zero point fits.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/kernels.hpp"
#include "dmlref/requantize/neon.hpp"

#if DMLREF_ARCH_ARM64
#include <arm_neon.h>

#include <cstring>

DMLREF_BEGIN
namespace fast::qlc::direct::neon {

template <bool Channels>
inline void taps(const LaneArgs& t) noexcept {
  std::ptrdiff_t at = 0;
  for (std::ptrdiff_t b = 0; b < t.blocks; ++b) {
    int32x4_t sums[4];
    DMLREF_UNROLL
    for (int v = 0; v < 4; ++v)
      sums[v] = Channels ? vld1q_s32(t.rounding.sum + 16 * at + 4 * v) : vdupq_n_s32(*t.rounding.sum);
    const std::byte* w = t.weights.data + at * t.weights.step;
    for (std::ptrdiff_t k = 0; k < t.groups; ++k) {
      const uint8x16_t x = vld1q_u8(t.staged + t.offsets[k] + 16 * b);
      const int16x8_t low = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(x)));
      const int16x8_t high = vreinterpretq_s16_u16(vmovl_high_u8(x));
      if constexpr (Channels) {
        std::int16_t weights[16];
        std::memcpy(weights, w + 32 * k, sizeof weights);
        const int16x8_t w0 = vld1q_s16(weights);
        const int16x8_t w1 = vld1q_s16(weights + 8);
        sums[0] = vmlal_s16(sums[0], vget_low_s16(low), vget_low_s16(w0));
        sums[1] = vmlal_high_s16(sums[1], low, w0);
        sums[2] = vmlal_s16(sums[2], vget_low_s16(high), vget_low_s16(w1));
        sums[3] = vmlal_high_s16(sums[3], high, w1);
      } else {
        std::int16_t weight;
        std::memcpy(&weight, w + 2 * k, sizeof weight);
        sums[0] = vmlal_n_s16(sums[0], vget_low_s16(low), weight);
        sums[1] = vmlal_high_n_s16(sums[1], low, weight);
        sums[2] = vmlal_n_s16(sums[2], vget_low_s16(high), weight);
        sums[3] = vmlal_high_n_s16(sums[3], high, weight);
      }
    }
    if (t.rounding.stores_sums) {
      std::memcpy(t.out + 4 * 16 * b, sums, sizeof sums);
    } else {
      requantize::neon::store_lanes<Channels>(sums, t.rounding, 16 * at, t.out + 16 * b);
    }
    at = at + 1 == t.period ? 0 : at + 1;
  }
}

inline constexpr Kernels kernels{
    .block = 16,
    .group = 1,
    .pixel_taps = &taps<false>,
    .channel_taps = &taps<true>,
};

}  // namespace fast::qlc::direct::neon
DMLREF_END
#endif
