// reference.hpp: ELEMENT_WISE_QUANTIZE_LINEAR and ELEMENT_WISE_DEQUANTIZE_LINEAR on views, the obvious way.
//
// Both round once. Scales of 0, infinity and NaN are undefined data in DirectML: here the formula is what IEEE
// arithmetic of unlimited precision makes of it (docs/decisions/0007).
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/desc/half.hpp"
#include "dmlref/reference/quantize.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN
namespace reference {

/// x rounded to an integer, half to even. 0 for NaN; ±rounding_limit for all that lies beyond it.
constexpr std::int64_t round_half_even(double x) noexcept {
  constexpr auto limit = static_cast<double>(rounding_limit);
  if (x != x) return 0;
  if (x >= limit) return rounding_limit;
  if (x <= -limit) return -rounding_limit;
  const auto truncated = static_cast<std::int64_t>(x);
  const double rest = x - static_cast<double>(truncated);  // exact, of x's sign
  const double beyond_half = (rest < 0 ? -rest : rest) - 0.5;
  const bool away = beyond_half > 0 || (beyond_half == 0 && truncated % 2 != 0);
  return away ? truncated + (x < 0 ? -1 : 1) : truncated;
}

/// Of -0 and negative NaN, too.
constexpr bool is_negative(double x) noexcept { return std::bit_cast<std::uint64_t>(x) >> 63 != 0; }

/// clamp(round_half_even(x / scale) + zero_point) with nothing rounded in between. In is float, half or std::int32_t.
///
/// A quotient that is no tie is at least 2^-33 away from every tie: x has at most 31 bits, the scale 24. One double
/// division errs by less than 2^-44 where the result does not saturate, and a tie is a double. So it decides all.
template <class In, class Scale, class Out>
constexpr Out quantize(In x, Scale scale, Out zero_point) noexcept {
  const auto dividend = static_cast<double>(x), divisor = static_cast<double>(scale);
  if (divisor == 0 && dividend == dividend) {  // (a constant expression does not divide by 0)
    const bool negative = is_negative(dividend) != is_negative(divisor);
    return saturate<Out>(dividend == 0 ? 0 : (negative ? -rounding_limit : rounding_limit), zero_point);
  }
  return saturate<Out>(round_half_even(dividend / divisor), zero_point);
}

/// The NaN that every operator stores.
template <class Out>
constexpr Out quiet_nan() noexcept {
  if constexpr (std::is_same_v<Out, half>) {
    return half::from_bits(0x7E00);
  } else {
    return std::bit_cast<float>(std::uint32_t{0x7FC00000});
  }
}

/// (q - zero_point) * scale, rounded once. Q is an integer of at most 32 bits; Out, the scale's type, is float or half.
///
/// The difference has 33 bits, the scale 24. Where their product does not fit a double's 53, its last bit is set if
/// anything is lost ("round to odd"): rounding the double once more then gives the exact product's rounding.
template <class Q, class Out>
constexpr Out dequantize(Q q, Q zero_point, Out scale) noexcept {
  const std::int64_t difference = std::int64_t{q} - std::int64_t{zero_point};
  const detail::FloatParts parts = detail::take_apart(static_cast<float>(scale));
  if (parts.nan || (!parts.finite && difference == 0)) return quiet_nan<Out>();
  const bool negative = (difference < 0) != parts.negative;
  double magnitude = std::numeric_limits<double>::infinity();
  if (parts.finite) {
    const auto size = static_cast<std::uint64_t>(difference < 0 ? -difference : difference);
    const std::uint64_t product = size * parts.significand;  // below 2^57
    const int dropped = product >> 53 == 0 ? 0 : 4;
    const std::uint64_t lost = product & ((1u << dropped) - 1);
    const std::uint64_t odd = (product >> dropped) | (lost != 0 ? 1u : 0u);
    magnitude = static_cast<double>(odd) * detail::power_of_two(parts.exponent + dropped);
  }
  constexpr double largest = std::is_same_v<Out, half> ? 65504.0 : double{(std::numeric_limits<float>::max)()};
  constexpr double half_unit = std::is_same_v<Out, half> ? 16.0 : 0x1p103;
  if (magnitude >= largest + half_unit) magnitude = std::numeric_limits<double>::infinity();
  if constexpr (std::is_same_v<Out, float>) {
    if (magnitude > largest && magnitude < largest + half_unit) magnitude = largest;  // (else no constant expression)
  }
  return static_cast<Out>(negative ? -magnitude : magnitude);
}

/// DML_OPERATOR_ELEMENT_WISE_QUANTIZE_LINEAR on views of one shape. An absent zero point is 0.
template <class In, class Scale, class ZeroPoint, class Out>
constexpr void element_wise_quantize_linear(const In& input, const Scale& scale,
                                            const std::optional<ZeroPoint>& zero_point, const Out& output) noexcept {
  using Result = typename Out::value_type;
  auto at = Coordinates::filled(output.rank(), 0);
  do {
    output.store(at, quantize(input.load(at), scale.load(at), zero_point ? zero_point->load(at) : Result{0}));
  } while (advance(at, output.shape()));
}

/// DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR on views of one shape. An absent zero point is 0.
template <class In, class Scale, class ZeroPoint, class Out>
constexpr void element_wise_dequantize_linear(const In& input, const Scale& scale,
                                              const std::optional<ZeroPoint>& zero_point, const Out& output) noexcept {
  auto at = Coordinates::filled(output.rank(), 0);
  do {
    const auto q = input.load(at);
    output.store(at, dequantize(q, zero_point ? zero_point->load(at) : decltype(q){0}, scale.load(at)));
  } while (advance(at, output.shape()));
}

// ONNX's example there and back; ties; a scale of -0 counts with its sign.
static_assert(quantize(3.0f, 2.0f, std::uint8_t{128}) == 130 && quantize(1000.0f, 2.0f, std::uint8_t{128}) == 255 &&
              quantize(-254.0f, 2.0f, std::uint8_t{128}) == 1 && quantize(-1000.0f, 2.0f, std::uint8_t{128}) == 0);
static_assert(quantize(-1.5f, 1.0f, std::int8_t{0}) == -2 && quantize(-0.5f, 1.0f, std::int8_t{0}) == 0 &&
              quantize(0.5f, 1.0f, std::int8_t{0}) == 0 && quantize(2.5f, 1.0f, std::int8_t{0}) == 2);
static_assert(quantize(1.0f, -0.0f, std::int8_t{3}) == -128 && quantize(0.0f, 0.0f, std::int8_t{3}) == 3);
static_assert(dequantize(std::uint8_t{3}, std::uint8_t{128}, 2.0f) == -250.0f &&
              dequantize(std::int32_t{-2147483647 - 1}, std::int32_t{2147483647}, 1.0f) == -4294967296.0f);
// 3582234233 * 11105115 by way of a double, which rounds twice, would be 0x1.1aa970p+55.
static_assert(dequantize(std::uint32_t{3582234233u}, std::uint32_t{0}, 11105115.0f) == 0x1.1aa972p+55f);
static_assert(dequantize(std::int32_t{65519}, std::int32_t{0}, half(1.0f)) == half(65504.0f) &&
              dequantize(std::uint8_t{255}, std::uint8_t{0}, half(300.0f)).bits == 0x7C00 &&
              dequantize(std::uint8_t{7}, std::uint8_t{7}, half(-1.0f)).bits == 0x8000);

}  // namespace reference
DMLREF_END
