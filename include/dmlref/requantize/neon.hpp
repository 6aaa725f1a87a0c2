// neon.hpp: the modes of requantizer.hpp on 4 lanes. Where constants come from, and the order of bytes, is the callers'
// affair.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/requantize/requantizer.hpp"
#include "dmlref/requantize/scalar.hpp"

#if DMLREF_ARCH_ARM64
#include <arm_neon.h>

DMLREF_BEGIN
namespace fast::qlc::requantize::neon {

/// fixed_point: integer sums to results in high halves, the odd words; low halves tell how near a tie is.
inline int16x8_t in_fixed_point(int32x4_t sums, float32x4_t scale, float32x4_t shift) noexcept {
  return vreinterpretq_s16_s32(vcvtnq_s32_f32(vfmaq_f32(shift, vcvtq_f32_s32(sums), scale)));
}

/// The same of products that may exceed 2^15; conversions saturate, but at a number that looks like a tie.
inline int16x8_t in_clamped_fixed_point(int32x4_t sums, float32x4_t scale, float32x4_t shift) noexcept {
  const float32x4_t value = vfmaq_f32(shift, vcvtq_f32_s32(sums), scale);
  return vreinterpretq_s16_s32(vcvtnq_s32_f32(vmaxq_f32(value, vdupq_n_f32(fixed_low))));
}

/// Whether a low half among four vectors in fixed point is at most `tie_tolerance`.
inline bool has_near_tie(const int16x8_t (&fixed)[4], std::uint32_t tie_tolerance) noexcept {
  const uint16x8_t low = vminq_u16(vreinterpretq_u16_s16(vuzp1q_s16(fixed[0], fixed[1])),
                                   vreinterpretq_u16_s16(vuzp1q_s16(fixed[2], fixed[3])));
  return vminvq_u16(low) <= tie_tolerance;
}

/// The high halves of four vectors as bytes, in order.
inline uint8x16_t pack_high(const int16x8_t (&fixed)[4], uint8x16_t flip) noexcept {
  const int8x16_t bytes =
      vcombine_s8(vqmovn_s16(vuzp2q_s16(fixed[0], fixed[1])), vqmovn_s16(vuzp2q_s16(fixed[2], fixed[3])));
  return veorq_u8(vreinterpretq_u8_s8(bytes), flip);
}

/// As scalar::clamped; a product beyond the clamp saturates, so it is clamped always.
inline void clamped(const std::int32_t* sums, std::ptrdiff_t blocks, const Requantizer& to, std::ptrdiff_t first,
                    std::ptrdiff_t period, std::uint8_t* out) noexcept {
  const float32x4_t high = vdupq_n_f32(float_clamp);
  const float32x4_t low = vdupq_n_f32(-float_clamp);
  const PackedOutput packed = to.packed();
  const int32x4_t zero_point = vdupq_n_s32(packed.zero_point);
  const uint8x16_t flip = vdupq_n_u8(packed.flip);
  for (std::ptrdiff_t b = 0; b < 4 * blocks; ++b, sums += 16, out += 16) {
    int32x4_t q[4];
    uint32x4_t ties[4];
    for (int v = 0; v < 4; ++v) {
      const std::ptrdiff_t at = first + (16 * b + 4 * v) % period;
      const float32x4_t scale = period == 1 ? vdupq_n_f32(to.scale[first]) : vld1q_f32(to.scale + at);
      const float32x4_t tie_tolerance =
          period == 1 ? vdupq_n_f32(to.tie_tolerance[first]) : vld1q_f32(to.tie_tolerance + at);
      const float row_scale = to.rows.scale[to.rows.row_of(16 * b + 4 * v)];
      float32x4_t product = vmulq_f32(vmulq_n_f32(vcvtq_f32_s32(vld1q_s32(sums + 4 * v)), row_scale), scale);
      product = vmaxq_f32(vminq_f32(product, high), low);
      const float32x4_t rounded = vrndnq_f32(product);
      ties[v] = vcgtq_f32(vabdq_f32(product, rounded), tie_tolerance);
      q[v] = vaddq_s32(vcvtq_s32_f32(rounded), zero_point);
    }
    const int8x8_t low8 = vqmovn_s16(vcombine_s16(vqmovn_s32(q[0]), vqmovn_s32(q[1])));
    const int8x8_t high8 = vqmovn_s16(vcombine_s16(vqmovn_s32(q[2]), vqmovn_s32(q[3])));
    vst1q_u8(out, veorq_u8(vreinterpretq_u8_s8(vcombine_s8(low8, high8)), flip));
    const uint32x4_t any = vorrq_u32(vorrq_u32(ties[0], ties[1]), vorrq_u32(ties[2], ties[3]));
    if (vmaxvq_u32(any) == 0) continue;
    for (std::ptrdiff_t i = 0; i < 16; ++i) {
      std::uint32_t lane[4];
      vst1q_u32(lane, ties[i / 4]);
      if (lane[i % 4] == 0) continue;
      out[i] = to.in_doubles(sums[i], first + (16 * b + i) % period, to.rows.row_of(16 * b + i));
    }
  }
}

/// What LaneEpilogue is on x86-64: 16 sums in order to 16 bytes, whose channels, if these lie in lanes, begin at `at`.
template <bool Channels>
inline void store_lanes(const int32x4_t (&sums)[4], const LaneRounding& t, std::ptrdiff_t at,
                        std::uint8_t* out) noexcept {
  int16x8_t fixed[4];
  const auto fix = [&](auto in_fixed_point) {
    DMLREF_UNROLL
    for (int v = 0; v < 4; ++v) {
      const float32x4_t scale = Channels ? vld1q_f32(t.scale + at + 4 * v) : vdupq_n_f32(*t.scale);
      const float32x4_t shift = Channels ? vld1q_f32(t.shift + at + 4 * v) : vdupq_n_f32(*t.shift);
      fixed[v] = in_fixed_point(sums[v], scale, shift);
    }
  };
  fix(in_fixed_point);
  if (__builtin_expect(has_near_tie(fixed, t.tie_tolerance), 0)) {
    fix(in_clamped_fixed_point);  // the tolerance may stand for products that are too large
    if (has_near_tie(fixed, fixed_tie_tolerance)) {
      std::int32_t lanes[16];
      for (int v = 0; v < 4; ++v) vst1q_s32(lanes + 4 * v, sums[v]);
      scalar::exact(lanes, t, Channels ? at : 0, Channels ? 1 : 0, out);
      return;
    }
  }
  vst1q_u8(out, pack_high(fixed, vdupq_n_u8(t.to.flip)));
}

}  // namespace fast::qlc::requantize::neon
DMLREF_END
#endif
