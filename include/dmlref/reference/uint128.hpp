// uint128.hpp: unsigned integers of 128 bits, no more of them than the exact rounding needs. Not every compiler has its
// own: none for 32 bits does.
#pragma once

#include <compare>
#include <cstdint>

#include "dmlref/config.hpp"

DMLREF_BEGIN
namespace reference::detail {

struct Uint128 {
  std::uint64_t high = 0;  // compared first
  std::uint64_t low = 0;

  static constexpr Uint128 product(std::uint64_t a, std::uint64_t b) noexcept {
    constexpr std::uint64_t half = 0xFFFF'FFFF;
    const std::uint64_t low = (a & half) * (b & half);
    const std::uint64_t middle = (a >> 32) * (b & half) + (low >> 32);  // below 2^64, and so is the next sum
    const std::uint64_t other = (a & half) * (b >> 32) + (middle & half);
    return {(a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32), (other << 32) | (low & half)};
  }

  friend constexpr Uint128 operator<<(Uint128 x, int bits) noexcept {  // 0 <= bits < 128, as below
    if (bits >= 64) return {x.low << (bits - 64), 0};
    if (bits == 0) return x;
    return {(x.high << bits) | (x.low >> (64 - bits)), x.low << bits};
  }
  friend constexpr Uint128 operator>>(Uint128 x, int bits) noexcept {
    if (bits >= 64) return {0, x.high >> (bits - 64)};
    if (bits == 0) return x;
    return {x.high >> bits, (x.low >> bits) | (x.high << (64 - bits))};
  }
  friend constexpr Uint128 operator-(Uint128 a, Uint128 b) noexcept {  // modulo 2^128
    return {a.high - b.high - (a.low < b.low ? 1 : 0), a.low - b.low};
  }
  friend constexpr auto operator<=>(const Uint128&, const Uint128&) noexcept = default;
};

}  // namespace reference::detail
DMLREF_END
