// neon.hpp: 4 lanes. Both operands are signed bytes: SDOT where there is one, else widening products of bytes that are
// added up in pairs (|2 * 128 * 128| = 32768 would not fit 16 bits, so every product goes to 32 bits at once).
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/int8/portable.hpp"
#include "dmlref/requantize/neon.hpp"

#if DMLREF_ARCH_ARM64
#include <arm_neon.h>

#include <cstring>

DMLREF_BEGIN
namespace fast::qlc::neon {

inline int8x16_t load(const std::uint8_t* from) noexcept { return vreinterpretq_s8_u8(vld1q_u8(from)); }

inline int8x16_t broadcast(const std::uint8_t* group) noexcept {
  std::int32_t value;
  std::memcpy(&value, group, sizeof value);
  return vreinterpretq_s8_s32(vdupq_n_s32(value));
}

/// Four lanes, kept as pairs of halves: lane 0 and 1 in `low`, 2 and 3 in `high`.
struct Accumulators {
  int32x4_t low, high;
};
inline Accumulators begin(int32x4_t offset) noexcept {
  return {vzip1q_s32(offset, vdupq_n_s32(0)), vzip2q_s32(offset, vdupq_n_s32(0))};
}
inline void multiply_add(Accumulators& sums, int8x16_t a, int8x16_t b) noexcept {
  sums.low = vpadalq_s16(sums.low, vmull_s8(vget_low_s8(a), vget_low_s8(b)));
  sums.high = vpadalq_s16(sums.high, vmull_high_s8(a, b));
}
inline int32x4_t total(const Accumulators& sums) noexcept { return vpaddq_s32(sums.low, sums.high); }

#define DMLREF_QLC_TARGET
#include "dmlref/int8/neon/tiles-inl.hpp"
#undef DMLREF_QLC_TARGET

inline void interleave(const std::uint8_t* const* rows, std::ptrdiff_t count, std::uint8_t flip,
                       std::uint8_t* dst) noexcept {
  const uint8x16_t flips = vdupq_n_u8(flip);
  std::ptrdiff_t i = 0;
  for (; i + 16 <= count; i += 16) {
    uint8x16x4_t four;
    for (int e = 0; e < 4; ++e) four.val[e] = veorq_u8(vld1q_u8(rows[e] + i), flips);
    vst4q_u8(dst + 4 * i, four);
  }
  const std::uint8_t* const rest[4] = {rows[0] + i, rows[1] + i, rows[2] + i, rows[3] + i};
  portable::interleave<4>(rest, count - i, flip, dst + 4 * i);
}

inline void convert(const std::uint8_t* src, std::ptrdiff_t count, std::uint8_t flip, std::uint8_t* dst) noexcept {
  std::ptrdiff_t i = 0;
  for (; i + 16 <= count; i += 16) vst1q_u8(dst + i, veorq_u8(vld1q_u8(src + i), vdupq_n_u8(flip)));
  portable::convert<4>(src + i, count - i, flip, dst + i);
}

inline void sum_runs(const std::uint8_t* src, std::ptrdiff_t count, std::ptrdiff_t pixel_step, std::ptrdiff_t pixels,
                     std::int32_t* sums) noexcept {
  for (std::ptrdiff_t p = 0; p < pixels; ++p, src += pixel_step) {
    int32x4_t total = vdupq_n_s32(0);
    std::ptrdiff_t i = 0;
    for (; i + 16 <= count; i += 16) total = vpadalq_s16(total, vpaddlq_s8(load(src + i)));
    std::int32_t sum = vaddvq_s32(total);
    for (; i < count; ++i) sum += static_cast<std::int8_t>(src[i]);
    sums[p] = sum;
  }
}

inline void add_outer(std::int32_t* sums, std::ptrdiff_t pitch, std::ptrdiff_t rows, std::ptrdiff_t lanes,
                      const std::int32_t* per_row, const std::int32_t* per_lane) noexcept {
  for (std::ptrdiff_t r = 0; r < rows; ++r) {
    for (std::ptrdiff_t l = 0; l < lanes; l += 4) {
      std::int32_t* at = sums + r * pitch + l;
      vst1q_s32(at, vmlaq_s32(vld1q_s32(at), vld1q_s32(per_lane + l), vdupq_n_s32(per_row[r])));
    }
  }
}

/// All but the tiles.
constexpr Kernels make_helpers() noexcept {
  Kernels k = portable::make_helpers();
  k.lanes = 4;
  k.signed_activations = true;
  k.interleave = &interleave;
  k.convert = &convert;
  k.sum_runs = &sum_runs;
  k.add_outer = &add_outer;
  k.quantize = &requantize::neon::clamped;
  return k;
}
constexpr Kernels make_kernels() noexcept {
  Kernels k = make_helpers();
  set_tiles<false, 1, 1, 2, 4, 8>(k.channel_tiles);
  set_tiles<false, 2, 1, 2, 4, 6>(k.channel_tiles);
  set_tiles<true, 1, 1, 2, 4>(k.pixel_tiles);
  set_tiles<true, 2, 1, 2, 4>(k.pixel_tiles);
  return k;
}
inline constexpr Kernels kernels = make_kernels();

}  // namespace fast::qlc::neon

#if DMLREF_HAS_NEON_DOTPROD
namespace fast::qlc::neon_dotprod {

using Accumulators = int32x4_t;
inline int32x4_t begin(int32x4_t offset) noexcept { return offset; }
DMLREF_TARGET_NEON_DOTPROD DMLREF_ALWAYS_INLINE void multiply_add(int32x4_t& sums, int8x16_t a, int8x16_t b) noexcept {
  sums = vdotq_s32(sums, a, b);
}
inline int32x4_t total(int32x4_t sums) noexcept { return sums; }

#define DMLREF_QLC_TARGET DMLREF_TARGET_NEON_DOTPROD
#include "dmlref/int8/neon/tiles-inl.hpp"
#undef DMLREF_QLC_TARGET

constexpr Kernels make_kernels() noexcept {
  Kernels k = neon::make_helpers();
  set_tiles<false, 1, 1, 2, 4, 7, 12>(k.channel_tiles);
  set_tiles<false, 2, 1, 2, 4, 7, 12>(k.channel_tiles);
  set_tiles<false, 4, 1, 2, 4, 6>(k.channel_tiles);
  set_tiles<true, 1, 1, 2, 4>(k.pixel_tiles);
  set_tiles<true, 2, 1, 2, 4>(k.pixel_tiles);
  set_tiles<true, 3, 1, 2, 4>(k.pixel_tiles);
  set_tiles<true, 4, 1, 2, 4>(k.pixel_tiles);
  return k;
}
inline constexpr Kernels kernels = make_kernels();

}  // namespace fast::qlc::neon_dotprod
#endif
DMLREF_END
#endif
