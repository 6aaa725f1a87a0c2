// quantize_linear_values.hpp: values of tensors that are quantized and dequantized: ordinary ones, ties, extremes.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>

#include "dmlref/desc/half.hpp"

namespace dmlref_test {

/// Of one tensor.
enum class ValueKind { ordinary, ties, bits, extreme };

inline ValueKind value_kind(std::mt19937_64& random) {
  constexpr std::array kinds{ValueKind::ordinary, ValueKind::ordinary, ValueKind::ties, ValueKind::bits,
                             ValueKind::extreme};
  return kinds[random() % kinds.size()];
}

template <class T>
T random_bits(std::mt19937_64& random) {
  const std::uint64_t bits = random();
  T value;
  std::memcpy(static_cast<void*>(&value), &bits, sizeof(T));
  return value;
}

/// An element of the data: of reals multiples of a half, a normal deviate, any bits, or an extreme one.
template <class T>
T data_value(ValueKind kind, std::mt19937_64& random) {
  if constexpr (std::is_integral_v<T>) {
    if (kind == ValueKind::bits || sizeof(T) < 4) return random_bits<T>(random);
    if (kind != ValueKind::extreme) return static_cast<T>(static_cast<std::int64_t>(random() % 1200) - 600);
    return random() % 2 == 0 ? (std::numeric_limits<T>::max)() : (std::numeric_limits<T>::min)();
  } else {
    switch (kind) {
      case ValueKind::ordinary: return static_cast<T>(static_cast<float>(std::normal_distribution<>(0, 90)(random)));
      case ValueKind::ties: return static_cast<T>(0.5f * static_cast<float>(static_cast<int>(random() % 1200) - 600));
      case ValueKind::bits: return random_bits<T>(random);
      default: break;
    }
    constexpr std::array extremes{0.0f,
                                  -0.0f,
                                  std::numeric_limits<float>::infinity(),
                                  -std::numeric_limits<float>::infinity(),
                                  std::numeric_limits<float>::quiet_NaN(),
                                  1e-45f,
                                  -1e-38f,
                                  3e38f,
                                  1.0f};
    return static_cast<T>(extremes[random() % extremes.size()]);
  }
}

/// A number of 32 bits whose product with `scale`, an odd integer of 24 bits, lies so near to a tie of float that by
/// way of a double it would most often be rounded twice: it ends in 32 bits that are half a unit, and 1 to 3 more or
/// less.
inline std::uint32_t nearly_tied_factor(std::uint32_t scale, std::mt19937_64& random) {
  std::uint32_t inverse = scale;  // modulo 2^3; each step doubles the bits
  for (int bits = 3; bits < 32; bits *= 2) inverse *= 2 - scale * inverse;
  const auto distance = static_cast<std::uint32_t>(random() % 3 + 1);
  return inverse * (0x80000000u + (random() % 2 == 0 ? distance : 0 - distance));
}

/// A scale: near 1, a power of two, any bits, or an extreme one.
template <class T>
T scale_value(ValueKind kind, std::mt19937_64& random) {
  switch (kind) {
    case ValueKind::ordinary:
      return static_cast<T>(static_cast<float>(std::uniform_real_distribution<>(0.25, 2)(random)));
    case ValueKind::ties: return static_cast<T>(std::ldexp(1.0f, static_cast<int>(random() % 5) - 2));
    default: return data_value<T>(kind, random);
  }
}

}  // namespace dmlref_test
