// kernels.hpp: what an instruction set does for quantization by elements: blocks of elements that lie side by side; and
// which kernels it has (kernels_of).
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/desc/data_type.hpp"
#include "dmlref/desc/half.hpp"
#include "dmlref/simd/address.hpp"

DMLREF_BEGIN
namespace fast::quantize_linear {

/// Elements of a block that have their own parameters. Rows of more are read in parts, which costs a third where they
/// come from the last-level cache.
inline constexpr std::size_t block_elements = 4096;
/// Elements that a kernel takes at once, at most.
inline constexpr std::size_t group_elements = 64;

/// The scales and zero points of a block.
struct Parameters {
  std::size_t mask;  ///< those of element i are at i & mask: all bits, or 0 where the first ones are of all elements
  bool is_signed;    ///< the quantized type
  bool ordinary = false;  ///< what prepare() writes suffices
  alignas(64) float scales[block_elements];
  alignas(64) float zero_points[block_elements];  ///< those of 32 bits may be rounded
  alignas(64) float inverses[block_elements];     ///< of quantization: 2^16 / scale
  alignas(64) float offsets[block_elements];      ///< of quantization: (zero point + 1/2) * 2^16 and a little more

  /// Of dequantization: the zero points as they are stored.
  const std::byte* integers() const noexcept { return reinterpret_cast<const std::byte*>(offsets); }
};

/// How a kernel goes through memory, where tensors exceed L2: it prefetches; or all caches: its stores are
/// non-temporal.
struct Access {
  bool prefetches, streams;
};

/// Kernels of one instruction set. Results are the same bits in each. Pointers to bytes may have any address.
struct Kernels {
  /// to[i] = clamp(round_half_even(from[i] / scale) + zero_point), or (from[i] - zero_point) * scale, rounded once.
  using Block = void (*)(const Parameters&, const std::byte* from, std::size_t count, std::byte* to, Access) noexcept;
  /// What depends on the data's type.
  struct OfType {
    void (*to_floats)(const std::byte* from, std::size_t count, float* to) noexcept;
    Block quantize;
    Block dequantize, dequantize_to_halves;
  };
  OfType of_types[8];
  /// What the kernels need of `count` scales and zero points, or of one of each.
  void (*prepare)(Parameters& parameters, std::size_t count, bool quantizes) noexcept;

  const OfType& of(DataType type) const noexcept { return of_types[static_cast<std::size_t>(type) - 1]; }
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

template <class T>
void to_floats(const std::byte* from, std::size_t count, float* to) noexcept {
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<float>(load<T>(from, i));
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

template <class In>
void quantize(const Parameters& p, const std::byte* from, std::size_t count, std::byte* to, Access) noexcept {
  const double lowest = p.is_signed ? -128 : 0, highest = lowest + 255;
  for (std::size_t i = 0; i < count; ++i) {
    const double rounded = rounded_quotient(static_cast<double>(load<In>(from, i)), double{p.scales[i & p.mask]});
    const double sum = rounded + double{p.zero_points[i & p.mask]};
    const double result = sum < lowest ? lowest : sum > highest ? highest : sum;
    to[i] = static_cast<std::byte>(static_cast<int>(result) & 0xFF);
  }
}

/// difference * scale, rounded to float once. The difference has 33 bits, the scale 24: by halves of 16 bits both
/// products are exact, so that what the double product has lost is known. If anything, its last bit is made odd:
/// rounding to float then gives what rounding the exact product would.
inline float rounded_product(double difference, float scale) noexcept {
  const double product = difference * double{scale};
  if (!std::isfinite(scale)) {
    return product == product ? static_cast<float>(product) : std::numeric_limits<float>::quiet_NaN();
  }
  const double upper = static_cast<double>(static_cast<std::int64_t>(difference) / 65536) * 65536;
  const double a = upper * double{scale}, b = (difference - upper) * double{scale};
  const double lost = b - (product - a);
  if (lost == 0) return static_cast<float>(product);
  auto bits = std::bit_cast<std::uint64_t>(product);
  if ((lost < 0) != (product < 0)) --bits;  // toward 0
  return static_cast<float>(std::bit_cast<double>(bits | 1));
}

template <class In, class Out>
void dequantize(const Parameters& p, const std::byte* from, std::size_t count, std::byte* to, Access) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const double difference =
        static_cast<double>(load<In>(from, i)) - static_cast<double>(load<In>(p.integers(), i & p.mask));
    const float scale = p.scales[i & p.mask];
    Out result;
    if constexpr (std::is_same_v<Out, float>) {
      result = rounded_product(difference, scale);
    } else {
      const double product = difference * double{scale};  // exact: of 33 and 11 bits
      result = product == product ? half(product) : half::from_bits(0x7E00);
    }
    std::memcpy(to + i * sizeof(Out), &result, sizeof(Out));
  }
}

inline void prepare(Parameters&, std::size_t, bool) noexcept {}

inline const Kernels& target_kernels() noexcept {
  static constexpr Kernels all{
      {{to_floats<float>, quantize<float>, nullptr, nullptr},
       {to_floats<half>, quantize<half>, nullptr, nullptr},
       {to_floats<std::uint32_t>, nullptr, dequantize<std::uint32_t, float>, dequantize<std::uint32_t, half>},
       {to_floats<std::uint16_t>, nullptr, dequantize<std::uint16_t, float>, dequantize<std::uint16_t, half>},
       {to_floats<std::uint8_t>, nullptr, dequantize<std::uint8_t, float>, dequantize<std::uint8_t, half>},
       {to_floats<std::int32_t>, quantize<std::int32_t>, dequantize<std::int32_t, float>,
        dequantize<std::int32_t, half>},
       {to_floats<std::int16_t>, nullptr, dequantize<std::int16_t, float>, dequantize<std::int16_t, half>},
       {to_floats<std::int8_t>, nullptr, dequantize<std::int8_t, float>, dequantize<std::int8_t, half>}},
      prepare};
  return all;
}

}  // namespace scalar
}  // namespace fast::quantize_linear
DMLREF_END

#define DMLREF_VECTOR_SOURCE "dmlref/operators/element_wise_quantize_linear/kernels/blocks-inl.hpp"
#define DMLREF_VECTOR_NAMESPACE fast::quantize_linear
#include "dmlref/simd/reals/foreach_target-inl.hpp"
