// requantize.hpp: from an exact sum to the output byte, correctly rounded.
//
// The value is p = sum * inputScale * filterScale[c] / outputScale, rounded half to even, plus the zero point, clamped.
// Three stages, each of which knows its own error:
//   1. float32, all lanes. Only |p| <= 256 matters: beyond, the result saturates whatever the zero point. The scale and
//      the converted sum are each off by at most 2^-24 of themselves, so p is off by less than 2^-15 (1 + 2^-8). Adding
//      1.5 * 2^23 in a fused multiply-add rounds that p half to even without another error, and a second fused
//      multiply-add gives the residual to 2^-25: it decides where it stays 1.0625 * 2^-15 away from one half. Where the
//      product is clamped first (`bounded` is false) its own rounding adds 2^-24 of p, and the band is 2^-14.
//      Where |p| < 2^15 for sure, the tiles of AVX-512 and of 256 bits do the same in fixed point with 16 bits behind
//      the point: one fused multiply-add brings p + zero point + 1/2 in units of 2^-16, a conversion makes it an
//      integer, whose upper half is the result and whose lower half is near 0 where a tie is near. In those units p is
//      off by 2 (1 + 2^-8), the multiply-add rounds by at most 1/4 (results in range are below 2^23), the conversion by
//      1/2: less than 3.
//   2. the lanes in that band (1 in 15000 of random data) go to reference/quantize.hpp: a double product, off by less
//   than
//      2^-51 of p, decides all but those within 2^-39 of a tie;
//   3. and those are compared in exact integers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/reference/quantize.hpp"

DMLREF_BEGIN
namespace fast::qlc {

inline constexpr float rounding_magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds |p| < 2^22 to an integer
inline constexpr std::int32_t rounding_magic_bits = 0x4B400000;
inline constexpr float float_band = 0.5f - 0x1.1p-15f;
inline constexpr float clamped_band = 0.5f - 0x1p-14f;
inline constexpr float float_clamp =
    0x1p20f;  // what lies beyond saturates; keeps products within rounding_magic's reach

inline constexpr std::uint32_t fixed_error = 3;
inline constexpr std::uint32_t fixed_band = 2 * fixed_error - 1;

/// The data of one execute that the epilogue needs. Channels count from 0 over all groups.
struct Requantizer {
  const float* fixed_scale = nullptr;  ///< scale * 2^16
  const float* scale = nullptr;  ///< inputScale * filterScale[c] / outputScale, one per packed channel, padded by 64
  bool bounded = false;          ///< |sum * scale| < 32000 for every sum that can occur: no clamp needed
  bool output_signed = false;
  std::int32_t zero_point = 0;
  float input_scale = 1;
  float output_scale = 1;
  const std::byte* filter_scale = nullptr;  ///< float32 at any address
  std::ptrdiff_t filter_scale_step = 0;     ///< bytes from channel to channel
  std::ptrdiff_t packed_channels = 1;       ///< of one group, filling included
  std::ptrdiff_t out_channels = 1;          ///< of one group
  /// Where it is not 0, the scale of a channel whose results one multiply-add leaves in the low halves, and what that
  /// adds (rounded_sums.hpp); null where there is no such channel.
  const float* rounded_scale = nullptr;
  const float* rounded_shift = nullptr;

  float filter_scale_of(std::ptrdiff_t channel) const noexcept;
  /// The operator's channel that lies at `packed`; filling counts as the last one.
  std::ptrdiff_t channel_of(std::ptrdiff_t packed) const noexcept;
  /// Whether the sums of a packed channel, and of those that share its tile, are rounded so.
  bool rounds(std::ptrdiff_t packed) const noexcept { return rounded_scale != nullptr && rounded_scale[packed] != 0; }
  /// Stages 2 and 3.
  std::uint8_t exact(std::int64_t sum, std::ptrdiff_t packed_channel) const noexcept;
  /// Stages 2 and 3 for the lanes in `lanes`.
  void refine(std::uint64_t lanes, const std::int32_t* sums, std::ptrdiff_t first, std::ptrdiff_t period,
              std::uint8_t* out) const noexcept;
  /// What the quantize kernels add after rounding: their packs saturate to INT8, UINT8 is that xor 0x80.
  std::int32_t packed_zero_point() const noexcept { return output_signed ? zero_point : zero_point - 128; }
  /// What the fixed point adds: the zero point, one half to round by cutting off, and half the band.
  float fixed_shift() const noexcept {
    return 65536.0f * (static_cast<float>(packed_zero_point()) + 0.5f) + static_cast<float>(fixed_error);
  }
  std::uint8_t packed_flip() const noexcept { return output_signed ? 0 : 0x80; }
};

inline float Requantizer::filter_scale_of(std::ptrdiff_t channel) const noexcept {
  float value;
  std::memcpy(&value, filter_scale + channel * filter_scale_step, sizeof value);
  return value;
}

inline std::ptrdiff_t Requantizer::channel_of(std::ptrdiff_t packed) const noexcept {
  const std::ptrdiff_t inside = packed % packed_channels;
  return packed / packed_channels * out_channels + (inside < out_channels ? inside : out_channels - 1);
}

inline std::uint8_t Requantizer::exact(std::int64_t sum, std::ptrdiff_t packed_channel) const noexcept {
  const std::ptrdiff_t channel = channel_of(packed_channel);
  const reference::RequantizeScale exact_scale(input_scale, filter_scale_of(channel), output_scale);
  const std::int64_t value = exact_scale.round(sum) + zero_point;
  const std::int64_t low = output_signed ? -128 : 0;
  const std::int64_t high = output_signed ? 127 : 255;
  return static_cast<std::uint8_t>(value < low ? low : value > high ? high : value);
}

inline void Requantizer::refine(std::uint64_t lanes, const std::int32_t* sums, std::ptrdiff_t first,
                                std::ptrdiff_t period, std::uint8_t* out) const noexcept {
  for (; lanes != 0; lanes &= lanes - 1) {
    const std::ptrdiff_t i = std::countr_zero(lanes);
    out[i] = exact(sums[i], first + i % period);
  }
}

}  // namespace fast::qlc
DMLREF_END
