// requantizer.hpp: from an exact sum to the output byte, correctly rounded: the modes, and why each is right.
//
// The result is p = sum * inputScale * filterScale[c] / outputScale, rounded half to even, plus the zero point,
// clamped. Only |p| <= 256 matters: beyond, the result saturates whatever the zero point. The scale as a float and the
// sum converted to one are each off by at most 2^-24 of themselves, so their product is off by less than 2^-15 (1 +
// 2^-8).
//
//   clamped         Any sums. The float product, clamped to 2^20, is itself rounded, by 2^-24 of p more; added to
//                   1.5 * 2^23 it is rounded half to even without another error. Where its distance from that integer
//                   is at most 1/2 - 2^-14, p rounds to the same one. Else it is near a tie.
//   fixed_point     |p| < 2^15 for every sum. A fused multiply-add brings p + zero point + 1/2 in units of 2^-16, a
//                   conversion makes it an integer, whose upper half is the result. In those units p is off by less
//                   than 2 (1 + 2^-8), the multiply-add by at most 1/4 (results in range are below 2^23), the
//                   conversion by 1/2: together less than fixed_error = 3. That is added, which makes the error
//                   positive: only where the lower half is at most fixed_band may a tie have been passed.
//   multiply_add    A fused multiply-add leaves the result in the low half. When constants are folded, the sums next to
//                   each of the 255 ties are looked at (rounded_sums.hpp), so that no sum is near a tie.
//   exact           A near tie, and sums of more than 32 bits, one by one: reference/quantize.hpp. A double product,
//                   off by less than 2^-51 of p, decides all but those within 2^-39 of a tie; these are compared in
//                   integers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/reference/quantize.hpp"

DMLREF_BEGIN
namespace fast::qlc {

/// How sums become bytes.
enum class Rounding { clamped, fixed_point, multiply_add, exact };

inline constexpr float rounding_magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds |p| < 2^22 to an integer
inline constexpr std::int32_t rounding_magic_bits = 0x4B400000;
inline constexpr float clamped_band = 0.5f - 0x1p-14f;
/// What lies beyond saturates. Keeps products within rounding_magic's reach.
inline constexpr float float_clamp = 0x1p20f;

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
  std::ptrdiff_t packed_channels = 1;       ///< of one group, padding included
  std::ptrdiff_t out_channels = 1;          ///< of one group
  /// Where it is not 0, the scale of a channel whose results one multiply-add leaves in the low halves, and what that
  /// adds (rounded_sums.hpp); null where there is no such channel.
  const float* rounded_scale = nullptr;
  const float* rounded_shift = nullptr;

  float filter_scale_of(std::ptrdiff_t channel) const noexcept;
  /// The operator's channel that lies at `packed`; padding counts as the last one.
  std::ptrdiff_t channel_of(std::ptrdiff_t packed) const noexcept;
  /// Whether the sums of a packed channel, and of those that share its tile, are rounded so.
  bool rounds(std::ptrdiff_t packed) const noexcept { return rounded_scale != nullptr && rounded_scale[packed] != 0; }
  std::uint8_t exact(std::int64_t sum, std::ptrdiff_t packed_channel) const noexcept;
  /// Exactly, those in `lanes`.
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
