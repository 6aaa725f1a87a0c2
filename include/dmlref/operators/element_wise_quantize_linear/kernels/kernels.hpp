// kernels.hpp: what an instruction set does for quantization by elements: blocks of reals that lie side by side; and
// which kernels it has (kernels_of).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "dmlref/config.hpp"
#include "dmlref/desc/half.hpp"

DMLREF_BEGIN
namespace fast::quantize_linear {

/// Elements of a block: as many as stay in L1d with all that belongs to them.
inline constexpr std::size_t block_elements = 512;

/// A scale or a zero point: one for all elements, or one for each, side by side.
enum class Extent { one, each };
template <class Real>
struct Parameter {
  Extent extent = Extent::one;
  const Real* values = nullptr;  ///< one of them, or as many as there are elements

  Real operator[](std::size_t i) const noexcept { return values[extent == Extent::each ? i : 0]; }
};

/// The least and the greatest result.
struct Range {
  float lowest;
  float highest;
};

/// All kernels of one instruction set. Results are the same bits in each. Pointers to bytes may have any address.
struct Kernels {
  /// to[i] = clamp(round_half_even(x[i] / scale[i]) + zero_point[i]) as bytes of `range`.
  void (*quantize)(const std::byte* x, const Parameter<float>& scale, const Parameter<float>& zero_point, Range range,
                   std::size_t count, std::byte* to) noexcept;
  /// to[i] = (q[i] - zero_point[i]) * scale[i], rounded to float. q and zero points are integers of 16 bits at most.
  void (*dequantize)(const float* q, const Parameter<float>& scale, const Parameter<float>& zero_point,
                     std::size_t count, std::byte* to) noexcept;
  /// float16 to float32.
  void (*widen_halves)(const std::byte* from, std::size_t count, float* to) noexcept;
  /// Integers of 8 or 16 bits to float32, by their size and sign: int8, uint8, int16, uint16.
  void (*widen_integers[4])(const std::byte* from, std::size_t count, float* to) noexcept;
};

/// Quotients are clamped to ±this before they are rounded: both saturate, whatever the zero point.
inline constexpr float quotient_limit = 512.0f;

namespace scalar {

template <class T>
T load(const std::byte* from, std::size_t i) noexcept {
  T value;
  std::memcpy(&value, from + i * sizeof(T), sizeof(T));
  return value;
}

/// x / scale rounded half to even; 0 for NaN. x and scale are exact. A quotient that is no tie is at least 2^-33 away
/// from each tie, and a double quotient errs by less than 2^-44.
inline double rounded_quotient(double x, double scale) noexcept {
  constexpr double shifter = 0x1.8p52;
  const double quotient = x / scale;
  if (quotient != quotient) return 0;
  const double limit = quotient_limit;
  const double clamped = quotient > limit ? limit : quotient < -limit ? -limit : quotient;
  return (clamped + shifter) - shifter;
}

/// `rounded` + zero_point within the range, as a byte.
inline std::byte saturated(double rounded, double zero_point, Range range) noexcept {
  const double sum = rounded + zero_point;
  const double result = sum < range.lowest ? range.lowest : sum > range.highest ? range.highest : sum;
  return static_cast<std::byte>(static_cast<int>(result) & 0xFF);
}

inline void quantize(const std::byte* x, const Parameter<float>& scale, const Parameter<float>& zero_point, Range range,
                     std::size_t count, std::byte* to) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    to[i] = saturated(rounded_quotient(double{load<float>(x, i)}, double{scale[i]}), double{zero_point[i]}, range);
  }
}

/// Whatever NaN a product gives is stored as this one.
inline float with_one_nan(float x) noexcept { return x == x ? x : std::numeric_limits<float>::quiet_NaN(); }

inline void dequantize(const float* q, const Parameter<float>& scale, const Parameter<float>& zero_point,
                       std::size_t count, std::byte* to) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const float result = with_one_nan((q[i] - zero_point[i]) * scale[i]);
    std::memcpy(to + i * sizeof(float), &result, sizeof(float));
  }
}

inline void widen_halves(const std::byte* from, std::size_t count, float* to) noexcept {
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<float>(load<half>(from, i));
}
template <class T>
void widen_integers(const std::byte* from, std::size_t count, float* to) noexcept {
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<float>(load<T>(from, i));
}

inline const Kernels& target_kernels() noexcept {
  static constexpr Kernels all{quantize,
                               dequantize,
                               widen_halves,
                               {widen_integers<std::int8_t>, widen_integers<std::uint8_t>, widen_integers<std::int16_t>,
                                widen_integers<std::uint16_t>}};
  return all;
}

}  // namespace scalar
}  // namespace fast::quantize_linear
DMLREF_END

#define DMLREF_VECTOR_SOURCE "dmlref/operators/element_wise_quantize_linear/kernels/blocks-inl.hpp"
#define DMLREF_VECTOR_NAMESPACE fast::quantize_linear
#include "dmlref/simd/reals/foreach_target-inl.hpp"
