// multiply_add_rounding.hpp: integer sums that are floats as they stand, and whose result is one multiply-add.
//
// Added to the bits of a float in [2^23, 2^24), an integer is added to its value. So where sums begin with the bits of
// k, they end as the float k + sum. Times the scale, plus a shift that takes off what k contributes and adds 1.5 * 2^23
// and the zero point, it becomes a float whose low half is the result: a multiply-add rounds once, and half to even.
//
// The scale has 24 bits, so a sum close to a tie may end on its wrong side. But there are 255 ties, and two sums next
// to each, one on either side, which decide for all others: which shifts take all of them to their sides is found out
// when constants are precomputed, and a k whose shift is one of them. A scale that is exact as a float needs no search:
// whatever the sum, the one rounding is the right one.
//
// Sums too large for that begin with an integer k, and are converted to floats in the end: exactly as far as 24 bits
// go, and what does not fit is far beyond the last tie.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/requantize/requantizer.hpp"

DMLREF_BEGIN
namespace fast::qlc {

struct MultiplyAddRounding {
  std::int32_t sum = 0;  // what sums begin with; 0: they are no floats
  float scale = 0, shift = 0;
};

/// The sums next to ties, and on which side of them they lie.
struct SumsNextToTies {
  struct One {
    double sum, tie;
    bool above;
  } at[2 * 255];
  std::ptrdiff_t count = 0;
};

/// What sums begin with.
enum class SumsBegin { as_floats, as_integers };

/// Whether multiply_add_rounding looks at a channel at all: k has a product of 1 or more, and sums that floats do not
/// hold are far beyond the last tie.
constexpr bool rounding_suits(double size, double bound, SumsBegin begin) noexcept {
  return size > 0x1p-24 && size < 0.2 && (bound < 0x1p22 || (begin == SumsBegin::as_integers && size > 0x1p-11)) &&
         bound * size < fixed_point_limit;
}

inline SumsNextToTies sums_next_to_ties(double factor, double output_scale, std::int32_t zero_point,
                                        double bound) noexcept {
  SumsNextToTies next;
  const double ratio = factor / output_scale;
  const double inverse = 1 / ratio;
  const auto max_sum = static_cast<std::int32_t>(bound);
  for (std::int32_t lower = -128; lower < 127; ++lower) {
    const double tie = lower - zero_point + 0.5;
    const double place = tie * inverse;
    if (place > bound + 1 || place < -bound - 1) continue;
    const auto nearest = static_cast<std::int32_t>(place < 0 ? place - 0.5 : place + 0.5);
    const double distance = nearest * ratio - tie;
    bool above = distance > 0;
    if (distance < 0x1p-38 && distance > -0x1p-38) {
      above = round_exactly(nearest, factor, output_scale) > lower - zero_point;
    }
    const std::int32_t beyond = above == (ratio > 0) ? nearest - 1 : nearest + 1;  // the tie
    for (const std::int32_t sum : {nearest, beyond}) {
      const double away = sum * ratio - tie;
      next.at[next.count] = {static_cast<double>(sum), tie, above == (sum == nearest)};
      // Scale and shift are off by less than 2^-12.
      next.count += away <= 0x1p-12 && away >= -0x1p-12 && sum <= max_sum && sum >= -max_sum;
    }
  }
  return next;
}

/// Between which numbers what of the shift is no integer has to lie.
struct RoundingRest {
  double low = -0x1p-14, high = 0x1p-14;
};

/// All is exact.
inline RoundingRest rest_of(const SumsNextToTies& next, double scale) noexcept {
  RoundingRest rest;
  for (std::ptrdiff_t i = 0; i < next.count; ++i) {
    const double needed = next.at[i].tie - next.at[i].sum * scale;
    double& limit = next.at[i].above ? rest.low : rest.high;
    if (next.at[i].above ? needed > limit : needed < limit) limit = needed;
  }
  return rest;
}

/// A k whose product with the scale is an integer and a rest between `low` and `high`.
inline MultiplyAddRounding sums_with_rest(float scale, double low, double high, std::int32_t zero_point,
                                          std::int32_t sum, double bound, SumsBegin as) noexcept {
  if (low >= high) return {};
  const auto s = static_cast<double>(scale);
  const double size = s < 0 ? -s : s, inverse = 1 / size;
  const bool floats = as == SumsBegin::as_floats;
  const auto smallest = floats ? static_cast<std::int32_t>(bound) + 0x800001 : 1;
  const auto largest = floats ? 0xFFFFFF - static_cast<std::int32_t>(bound) : 0x400000;
  const auto first = static_cast<std::int32_t>(smallest * size) + 1;
  auto last = static_cast<std::int32_t>(largest * size);
  last = last < first + 4096 ? last : first + 4096;
  for (std::int32_t integer = first; integer < last; ++integer) {
    const auto k = static_cast<std::int32_t>(integer * inverse + 0.5);
    const double rest = s < 0 ? integer - k * size : k * size - integer;
    if (rest <= low || rest >= high) continue;
    const std::int32_t shift = 0xC00000 + zero_point + (s < 0 ? integer : -integer);
    const std::uint32_t bits = floats ? std::bit_cast<std::uint32_t>(0x1p23f) - 0x800000 : 0;
    const std::uint32_t begin = bits + static_cast<std::uint32_t>(k) + static_cast<std::uint32_t>(sum);
    return {static_cast<std::int32_t>(begin), scale, static_cast<float>(shift)};
  }
  return {};
}

/// Of a scale below 1 that is exact as a float, and an even zero point: a k whose product with the scale is an integer
/// leaves the one rounding half to even to the multiply-add, ties included.
inline MultiplyAddRounding exact_sums(double factor, double output_scale, std::int32_t zero_point, std::int32_t sum,
                                      double bound, SumsBegin as = SumsBegin::as_floats) noexcept {
  const double ratio = factor / output_scale, size = ratio < 0 ? -ratio : ratio;
  const auto scale = static_cast<float>(ratio);
  if (static_cast<double>(scale) * output_scale != factor) return {};
  if (!(size > 0x1p-22 && size < 1) || !(bound * size < fixed_point_limit) || zero_point % 2 != 0) return {};
  const auto bits = std::bit_cast<std::uint32_t>(scale);
  const auto place =
      static_cast<std::int32_t>(bits >> 23 & 0xFF) - 150 + std::countr_zero((bits & 0x7FFFFF) | 0x800000);
  if (place < -22) return {};
  // The least k whose product is an integer. With a negative scale the shift may exceed 2^24: then it has to be even.
  const std::int32_t unit = (ratio < 0 ? 2 : 1) << -place;
  std::int32_t k = unit;
  std::int32_t begin = 0;
  if (as == SumsBegin::as_floats) {
    if (!(bound < 0x1p22)) return {};
    const auto max_sum = static_cast<std::int32_t>(bound) + 1;
    k = (0x800000 + max_sum + unit - 1) / unit * unit;
    if (k > 0xFFFFFF - max_sum) return {};
    begin = static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(0x1p23f)) - 0x800000;
  } else if (unit + (bound * size < 512 ? bound : 512 / size) > 0x1p24) {  // sums that do not saturate have 24 bits
    return {};
  }
  const double shift = 0xC00000 + zero_point - k * ratio;
  return {begin + k + sum, scale, static_cast<float>(shift)};
}

/// The result of sums that begin with `sum` and are at most `bound` in the end, whatever the pixels, is round_exactly's
/// plus the zero point, in [-128, 127] or beyond the same end of it.
inline MultiplyAddRounding multiply_add_rounding(double factor, double output_scale, std::int32_t zero_point,
                                                 std::int32_t sum, double bound,
                                                 SumsBegin as = SumsBegin::as_floats) noexcept {
  if (const MultiplyAddRounding exact = exact_sums(factor, output_scale, zero_point, sum, bound, as); exact.sum != 0) {
    return exact;
  }
  const double ratio = factor / output_scale;
  if (!rounding_suits(ratio < 0 ? -ratio : ratio, bound, as)) return {};
  const SumsNextToTies next = sums_next_to_ties(factor, output_scale, zero_point, bound);
  const auto nearest = std::bit_cast<std::uint32_t>(static_cast<float>(ratio));
  constexpr std::uint32_t neighbors[] = {0, 1, ~0u, 2, ~1u};
  for (const std::uint32_t neighbor : neighbors) {
    const auto scale = std::bit_cast<float>(nearest + neighbor);
    const RoundingRest rest = rest_of(next, static_cast<double>(scale));
    const MultiplyAddRounding found = sums_with_rest(scale, rest.low, rest.high, zero_point, sum, bound, as);
    if (found.sum != 0) return found;
  }
  return {};
}

}  // namespace fast::qlc
DMLREF_END
