// requantizer.hpp: from an exact sum to the output byte, correctly rounded: the modes, and why each is right.
//
// The result is p = sum * inputScale * filterScale[c] / outputScale, rounded half to even, plus the zero point,
// clamped. Only |p| <= 256 matters: beyond, the result saturates whatever the zero point. The scale as a float and the
// sum converted to one are each off by at most 2^-24 of themselves, so their product is off by less than 2^-15 (1 +
// 2^-8).
//
//   clamped         Any sums. The float product, clamped to 2^20, is itself rounded, by 2^-24 of p more; added to
//                   1.5 * 2^23 it is rounded half to even without another error. Where its distance from that integer
//                   is at most 1/2 - 2^-14, p rounds to the same one. Else it is near a tie; but no tie is near where
//                   the product is exact (products_are_exact). With RowScales there are four such errors, less than
//                   2^-13.
//   fixed_point     |p| < 2^15 for every sum, or clamped so. A fused multiply-add brings p + zero point + 1/2 in units
//                   of 2^-16, a conversion makes it an integer, whose upper half is the result. In those units p is off
//                   by less than 2 (1 + 2^-8), the multiply-add by at most 1/4 (results in range are below 2^23), the
//                   conversion by 1/2: together less than fixed_error = 3. That is added, which makes the error
//                   positive: only where the lower half is at most fixed_tie_tolerance may a tie have been passed.
//   multiply_add    A fused multiply-add leaves the result in the low half. When constants are precomputed, the sums
//                   next to each of the 255 ties are looked at, or the scale is exact: then no sum is near a tie, or
//                   the one rounding decides it (multiply_add_rounding.hpp).
//   in doubles      Near ties, vectors of them at once, and sums of more than 32 bits: round_exactly. The double
//                   product finds the tie next to it, and the sign of one fused multiply-add says on which side of it p
//                   lies, or that it lies on it. Nothing is left undecided.
//   exact           Sums of more than 32 bits, one by one: reference/quantize.hpp.
//
// Rounding half to even comes before the zero point. One rounding does both if the zero point is even. So where it is
// odd, kernels make the result's complement, -1 - result, out of negated scales and the zero point -1 - zero point,
// which is even; a last exclusive or, which UINT8 needs anyway, gives the result (PackedOutput).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/reference/fma.hpp"
#include "dmlref/reference/quantize.hpp"

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

inline constexpr float rounding_magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds |p| < 2^22 to an integer
inline constexpr std::int32_t rounding_magic_bits = 0x4B400000;
inline constexpr float clamped_tie_tolerance = 0.5f - 0x1p-14f;
inline constexpr float row_tie_tolerance = 0.5f - 0x1p-13f;
inline constexpr float exact_tie_tolerance = 0.5f;  // of exact products: no tie is near
inline constexpr float doubles_tie_tolerance = -1;  // every sum is rounded in doubles
/// What lies beyond saturates. Keeps products within rounding_magic's reach.
inline constexpr float float_clamp = 0x1p20f;

inline constexpr std::uint32_t fixed_error = 3;
inline constexpr std::uint32_t fixed_tie_tolerance = 2 * fixed_error - 1;
/// What fixed point is clamped to where products may exceed 2^15: far from ties, with slack for one less.
inline constexpr float fixed_high = 2147483520.0f, fixed_low = -2147385344.0f;

/// What kernels round to: packs saturate to INT8, and the byte xor `flip` is the result.
struct PackedOutput {
  std::int32_t zero_point = 0;  ///< even
  std::uint8_t flip = 0;
  bool negated = false;  ///< scales are: it is the complement that is rounded

  PackedOutput() = default;
  constexpr PackedOutput(std::int32_t given, bool is_signed) noexcept
      : zero_point(is_signed ? given : given - 128), flip(is_signed ? 0 : 0x80), negated(zero_point % 2 != 0) {
    if (!negated) return;
    zero_point = -1 - zero_point;
    flip ^= 0xFF;
  }
};

/// What the fixed point adds: the zero point, one half to round by cutting off, and half the tie_tolerance.
inline float fixed_shift_of(const PackedOutput& to) noexcept {
  return 65536.0f * (static_cast<float>(to.zero_point) + 0.5f) + static_cast<float>(fixed_error);
}

/// What the sums of each row, 2^shift of them, are multiplied with besides, in the clamped mode and in doubles: 1,
/// unless scales are products of one per row and one per channel.
struct RowScales {
  static constexpr float no_scale = 1;
  static constexpr double no_factor = 1;
  const float* scale = &no_scale;
  const double* factor = &no_factor;
  int shift = 62;

  constexpr bool present() const noexcept { return scale != &no_scale; }
  std::ptrdiff_t row_of(std::ptrdiff_t sum) const noexcept { return sum >> shift; }
};

/// Whether products of sums, such a scale and another one stay away from the ends of float's range.
constexpr bool is_moderate(double scale) noexcept {
  const double size = scale < 0 ? -scale : scale;
  return size >= 0x1p-45 && size <= 0x1p45;
}

/// The data of one execute that the epilogue needs. Channels count from 0 over all groups.
struct Requantizer {
  const float* fixed_scale = nullptr;  ///< scale * 2^16
  /// inputScale * filterScale[c] / outputScale, negated for a PackedOutput that is; one per packed channel, padded by
  /// 64
  const float* scale = nullptr;
  const float* tie_tolerance = nullptr;  ///< clamped: how far from an integer a product may be
  const double* factor = nullptr;        ///< inputScale * filterScale[c] with outputScale's sign, negated as scales are
  const double* offset = nullptr;        ///< what sums lack that do not fit 32 bits with it
  RowScales rows;
  const bool* in_registers = nullptr;  ///< fixed_point suits, so that tiles round the sums that they hold
  bool output_signed = false;
  std::int32_t zero_point = 0;
  float input_scale = 1;
  float output_scale = 1;
  const std::byte* filter_scale = nullptr;  ///< float32 at any address
  std::ptrdiff_t filter_scale_step = 0;     ///< bytes from channel to channel
  std::ptrdiff_t packed_channels = 1;       ///< of one group, padding included
  std::ptrdiff_t out_channels = 1;          ///< of one group
  /// Where it is not 0, the scale of a channel whose results one multiply-add leaves in the low halves, and what that
  /// adds (multiply_add_rounding.hpp); null where there is no such channel.
  const float* rounded_scale = nullptr;
  const float* rounded_shift = nullptr;

  float filter_scale_of(std::ptrdiff_t channel) const noexcept;
  /// The operator's channel that lies at `packed`; padding counts as the last one.
  std::ptrdiff_t channel_of(std::ptrdiff_t packed) const noexcept;
  /// Whether the sums of a packed channel, and of those that share its tile, are rounded so.
  bool rounds(std::ptrdiff_t packed) const noexcept { return rounded_scale != nullptr && rounded_scale[packed] != 0; }
  std::uint8_t exact(std::int64_t sum, std::ptrdiff_t packed_channel) const noexcept;
  /// In doubles, a sum of a row that may lack its channel's offset.
  std::uint8_t in_doubles(std::int32_t sum, std::ptrdiff_t packed_channel, std::ptrdiff_t row) const noexcept;
  PackedOutput packed() const noexcept { return {zero_point, output_signed}; }
  /// What factors are divided by: positive.
  double divisor() const noexcept { return divisor_of(output_scale); }
  static constexpr double divisor_of(float output_scale) noexcept {
    const auto given = static_cast<double>(output_scale);
    return !is_usual(output_scale) ? 1.0 : given < 0 ? -given : given;
  }
  float fixed_shift() const noexcept { return fixed_shift_of(packed()); }
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

inline std::uint8_t Requantizer::in_doubles(std::int32_t sum, std::ptrdiff_t packed_channel,
                                            std::ptrdiff_t row) const noexcept {
  const PackedOutput to = packed();
  const double all = static_cast<double>(sum) + offset[packed_channel];
  const double by = rows.factor[row] * factor[packed_channel];
  const std::int32_t value = round_exactly(all, by, divisor()) + to.zero_point;
  return static_cast<std::uint8_t>(static_cast<std::uint8_t>(value < -128  ? -128
                                                             : value > 127 ? 127
                                                                           : value) ^
                                   to.flip);
}

/// A factor where a scale is 0, infinite or no number: 0, or one that makes every sum but 0 saturate.
DMLREF_NOINLINE inline double odd_factor(float input_scale, float filter_scale, float output_scale) noexcept {
  const reference::RequantizeScale exact(input_scale, filter_scale, output_scale);
  const std::int64_t one = exact.round_exactly(1);
  return exact.is_finite() ? 0.0 : one == 0 ? 0.0 : one > 0 ? 0x1p200 : -0x1p200;
}

/// A factor divided by the output scale as a float. Beyond 2^40 every sum but 0 saturates, below 2^-40 every sum rounds
/// to 0: it need not follow.
inline float float_scale(double ratio) noexcept {
  const double size = ratio < 0 ? -ratio : ratio;
  const double clamped = size < 0x1p-40 ? 0 : size > 0x1p40 ? 0x1p40 : size;
  return static_cast<float>(ratio < 0 ? -clamped : clamped);
}

/// Vectors of 32 bytes, which AVX2 has, and of 16.
struct Vectors32 {
  static constexpr std::ptrdiff_t count = 4;
  using Doubles = double __attribute__((vector_size(32)));
  using Floats = float __attribute__((vector_size(16)));
  using Dwords = std::int32_t __attribute__((vector_size(16)));
};
struct Vectors16 {
  static constexpr std::ptrdiff_t count = 2;
  using Doubles = double __attribute__((vector_size(16)));
  using Floats = float __attribute__((vector_size(8)));
  using Dwords = std::int32_t __attribute__((vector_size(8)));
};

/// The same of a vector of them.
template <class V>
DMLREF_ALWAYS_INLINE typename V::Floats float_scales(const typename V::Doubles& ratio) noexcept {
  using Doubles = typename V::Doubles;
  const Doubles zero{}, size = ratio < 0 ? -ratio : ratio;
  Doubles clamped = ratio > 0x1p40 ? zero + 0x1p40 : ratio;
  clamped = clamped < -0x1p40 ? zero - 0x1p40 : clamped;
  clamped = size < 0x1p-40 ? zero : clamped;
  return __builtin_convertvector(clamped, typename V::Floats);
}

/// The input scale as factors have it: with the output scale's sign, negated where results are complements.
inline double signed_input_scale(float input_scale, float output_scale, bool negated) noexcept {
  const auto given = static_cast<double>(input_scale);
  return (output_scale < 0) != negated ? -given : given;
}

/// Whether no product of a sum of at most `bound` and a scale that is exact as a float is rounded, as far as results do
/// not saturate: it has 24 bits then.
inline bool products_are_exact(float scale, double bound) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(scale);
  const auto exponent = static_cast<std::int32_t>(bits >> 23 & 0xFF) - 150;
  const std::uint32_t significand = (bits & 0x7FFFFF) | 0x800000;
  const int zeros = std::countr_zero(significand);
  return exponent + zeros >= -15 || bound * (significand >> zeros) <= 0x1p24;
}

}  // namespace fast::qlc
namespace fast::qlc::requantize {

/// What sums are multiplied with, and what they lack to begin with: one of each, or one per lane.
struct ExactFactors {
  const double* factor = nullptr;  ///< as Requantizer's
  const double* offset = nullptr;

  ExactFactors operator+(std::ptrdiff_t lanes) const noexcept { return {factor + lanes, offset + lanes}; }
};

/// What decides exactly where there is no Requantizer.
struct ExactRounding : ExactFactors {
  double output_scale = 1;  ///< positive
  PackedOutput to;
  bool stores_sums = false;  ///< results are INT32, the sums themselves: negated where the scale is negative
};

/// How a run of lanes is rounded, and what its sums start from: one value for each output of a kernel with pixels in
/// lanes, else one for each lane of a period of channels.
struct LaneRounding : ExactRounding {
  const std::int32_t* sum = nullptr;
  const float* scale = nullptr;
  const float* shift = nullptr;
  std::uint32_t tie_tolerance = 0;  ///< of all channels
  std::uint32_t floats = 0;         ///< a bit for each output, or for each block of a period, whose sums are floats
};

/// Which factor belongs to which sum of a block.
enum class Factors {
  one,   ///< one for all
  each,  ///< one per sum, in the accumulators' order
  parts  ///< one per 128-bit part of a vector
};

}  // namespace fast::qlc::requantize

DMLREF_END
