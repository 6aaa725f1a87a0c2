// portable.hpp: the helpers of kernels.hpp in plain C++, for sets that have nothing better.
#pragma once

#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/requantize/scalar.hpp"

DMLREF_BEGIN
namespace fast::qlc::portable {

/// Element i of a row of groups, as bytes (Group 4) or widened (Group 2).
template <int Group>
void put(std::uint8_t* to, std::ptrdiff_t i, std::uint8_t value) noexcept {
  if constexpr (Group == 4) {
    to[i] = value;
  } else {
    const std::uint16_t word = value;
    std::memcpy(to + 2 * i, &word, sizeof word);
  }
}

template <int Group>
void interleave(const std::uint8_t* const* rows, std::ptrdiff_t count, std::uint8_t flip, std::uint8_t* dst) noexcept {
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    for (int e = 0; e < Group; ++e) put<Group>(dst, Group * i + e, static_cast<std::uint8_t>(rows[e][i] ^ flip));
  }
}

template <int Group>
void windows(const std::uint8_t* src, std::ptrdiff_t count, std::ptrdiff_t step, std::uint8_t flip,
             std::uint8_t* dst) noexcept {
  for (std::ptrdiff_t i = 0; i < count; ++i, src += step) {
    if constexpr (Group == 4) {
      std::uint32_t group;
      std::memcpy(&group, src, sizeof group);
      group ^= flip * 0x01010101u;
      std::memcpy(dst + 4 * i, &group, sizeof group);
    } else {
      for (int e = 0; e < Group; ++e) put<Group>(dst, Group * i + e, static_cast<std::uint8_t>(src[e] ^ flip));
    }
  }
}

template <int Group>
void convert(const std::uint8_t* src, std::ptrdiff_t count, std::uint8_t flip, std::uint8_t* dst) noexcept {
  std::ptrdiff_t i = 0;
  for (; Group == 4 && i + 8 <= count; i += 8) {  // pixels of few channels
    std::uint64_t eight;
    std::memcpy(&eight, src + i, sizeof eight);
    eight ^= flip * std::uint64_t{0x0101010101010101};
    std::memcpy(dst + i, &eight, sizeof eight);
  }
  for (; i < count; ++i) put<Group>(dst, i, static_cast<std::uint8_t>(src[i] ^ flip));
}

/// Value: what a staged element is.
template <class Value>
void sum_runs(const std::uint8_t* src, std::ptrdiff_t count, std::ptrdiff_t pixel_step, std::ptrdiff_t pixels,
              std::int32_t* sums) noexcept {
  for (std::ptrdiff_t p = 0; p < pixels; ++p) {
    const std::uint8_t* const run = src + p * pixel_step;
    std::uint32_t sum = 0;
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      Value value;
      std::memcpy(&value, run + i * static_cast<std::ptrdiff_t>(sizeof value), sizeof value);
      sum += static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
    }
    sums[p] = static_cast<std::int32_t>(sum);
  }
}

/// Modulo 2^32.
constexpr std::int32_t wrapping_sum(std::int32_t a, std::int32_t b) noexcept {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

inline void sum_windows(const std::int32_t* from, std::ptrdiff_t taps, std::ptrdiff_t tap_step, std::ptrdiff_t stride,
                        std::ptrdiff_t count, std::int32_t* sums) noexcept {
  for (std::ptrdiff_t t = 0; t < taps; ++t) {
    if (t > 0) from += tap_step;
    if (stride == 1) {  // a loop of its own, for vectors
      for (std::ptrdiff_t i = 0; i < count; ++i) sums[i] = t == 0 ? from[i] : wrapping_sum(sums[i], from[i]);
    } else {
      for (std::ptrdiff_t i = 0; i < count; ++i) {
        sums[i] = t == 0 ? from[i * stride] : wrapping_sum(sums[i], from[i * stride]);
      }
    }
  }
}

inline void add_outer(std::int32_t* sums, std::ptrdiff_t pitch, std::ptrdiff_t rows, std::ptrdiff_t lanes,
                      const std::int32_t* per_row, const std::int32_t* per_lane) noexcept {
  for (std::ptrdiff_t r = 0; r < rows; ++r) {
    std::int32_t* at = sums + r * pitch;
    const auto row = static_cast<std::uint32_t>(per_row[r]);
    for (std::ptrdiff_t l = 0; l < lanes; ++l) {
      at[l] =
          static_cast<std::int32_t>(static_cast<std::uint32_t>(at[l]) + row * static_cast<std::uint32_t>(per_lane[l]));
    }
  }
}

inline void transpose(const std::uint8_t* src, std::ptrdiff_t src_pitch, std::ptrdiff_t pixels, std::ptrdiff_t channels,
                      std::uint8_t* dst, std::ptrdiff_t dst_pitch) noexcept {
  for (std::ptrdiff_t c = 0; c < channels; ++c) {
    for (std::ptrdiff_t p = 0; p < pixels; ++p) dst[c * dst_pitch + p] = src[p * src_pitch + c];
  }
}

/// What a set starts from that has nothing better: bytes in groups of four, unsigned.
constexpr Kernels make_helpers() noexcept {
  Kernels k;
  k.interleave = &interleave<4>;
  k.windows = &windows<4>;
  k.convert = &convert<4>;
  k.sum_runs = &sum_runs<std::uint8_t>;
  k.sum_windows = &sum_windows;
  k.add_outer = &add_outer;
  k.quantize = &requantize::scalar::clamped;
  k.transpose = &transpose;
  return k;
}

}  // namespace fast::qlc::portable
DMLREF_END
