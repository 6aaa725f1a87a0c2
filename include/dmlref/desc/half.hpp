// half.hpp: FLOAT16 as a 16-bit storage type with exact widening and correctly rounded narrowing.
#pragma once

#include <bit>
#include <cstdint>

#include "dmlref/config.hpp"

DMLREF_BEGIN

/// IEEE 754 binary16. Storage only: arithmetic happens in float or double. NaN payloads survive a copy.
struct half {
  std::uint16_t bits = 0;  ///< sign, 5 bits of exponent, 10 of fraction

  /// +0.
  constexpr half() noexcept = default;
  /// Narrows with one rounding, half to even; overflow gives infinity, NaN stays a (quiet) NaN of the same sign.
  explicit constexpr half(float value) noexcept : bits(from_double(static_cast<double>(value))) {}
  /// The same: not by way of float, which would round twice.
  explicit constexpr half(double value) noexcept : bits(from_double(value)) {}

  /// The value that has these bits.
  static constexpr half from_bits(std::uint16_t b) noexcept {
    half h;
    h.bits = b;
    return h;
  }

  /// Exact.
  explicit constexpr operator float() const noexcept {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    std::uint32_t exponent = (bits >> 10) & 0x1Fu;
    std::uint32_t fraction = bits & 0x3FFu;
    if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000u | (fraction << 13));
    if (exponent == 0) {
      if (fraction == 0) return std::bit_cast<float>(sign);
      exponent = 1;
      while ((fraction & 0x400u) == 0) {
        fraction <<= 1;
        --exponent;  // wraps below zero; the bias addition below brings it back
      }
      fraction &= 0x3FFu;
    }
    return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (fraction << 13));
  }
  /// Exact.
  explicit constexpr operator double() const noexcept { return static_cast<double>(static_cast<float>(*this)); }

  /// Bit equality, so that NaN compares equal to itself; numeric comparison is done on float.
  friend constexpr bool operator==(half, half) noexcept = default;

 private:
  static constexpr std::uint16_t from_double(double value) noexcept {
    const auto source = std::bit_cast<std::uint64_t>(value);
    const auto sign = static_cast<std::uint16_t>((source >> 48) & 0x8000u);
    const auto exponent = static_cast<int>((source >> 52) & 0x7FF) - 1023;
    const std::uint64_t fraction = source & 0xFFFFFFFFFFFFFull;
    if (exponent == 1024) {
      const auto payload = static_cast<std::uint16_t>(fraction >> 42);
      const std::uint16_t nan = fraction != 0 ? static_cast<std::uint16_t>(0x200u | payload) : std::uint16_t{0};
      return static_cast<std::uint16_t>(sign | 0x7C00u | nan);
    }
    if (exponent < -25) return sign;  // below half of the smallest subnormal
    if (exponent > 15) return static_cast<std::uint16_t>(sign | 0x7C00u);
    // The significand with its hidden bit, shifted so that one unit is the last place of the result.
    const std::uint64_t significand = fraction | (1ull << 52);
    const int shift = exponent >= -14 ? 42 : 42 + (-14 - exponent);
    std::uint64_t rounded = significand >> shift;
    const std::uint64_t rest = significand & ((1ull << shift) - 1);
    const std::uint64_t middle = 1ull << (shift - 1);
    if (rest > middle || (rest == middle && (rounded & 1) != 0)) ++rounded;
    // A carry out of the fraction moves into the exponent field, which is what rounding up means.
    const std::uint64_t base = exponent >= -14 ? static_cast<std::uint64_t>(exponent + 14) << 10 : 0;
    return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(base + rounded));
  }
};

DMLREF_END
