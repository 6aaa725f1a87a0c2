// rows.hpp: rows of bytes to padded planes, and from lines of lanes to the output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

/// `width` bytes xor flip, neither more read nor more written.
inline void copy_row(const std::uint8_t* src, std::ptrdiff_t width, std::uint8_t flip, std::uint8_t* dst) noexcept {
  using Bytes = std::uint8_t __attribute__((vector_size(16)));
  const auto copy = [&]<class T>(std::ptrdiff_t at, T flips) {
    T bytes;
    std::memcpy(&bytes, src + at, sizeof bytes);
    bytes ^= flips;
    std::memcpy(dst + at, &bytes, sizeof bytes);
  };
  if (width >= 16) {
    const Bytes flips = Bytes{} + flip;
    std::ptrdiff_t i = 0;
    for (; i + 64 < width; i += 64) {
      DMLREF_UNROLL
      for (std::ptrdiff_t j = i; j < i + 64; j += 16) copy(j, flips);
    }
    if (width > i + 16) copy(i, flips);
    if (width > i + 32) {
      copy(i + 16, flips);
      copy(width - 32, flips);
    }
    copy(width - 16, flips);
  } else if (width >= 8) {
    const std::uint64_t flips = flip * std::uint64_t{0x0101010101010101};
    copy(0, flips);
    copy(width - 8, flips);
  } else {
    for (std::ptrdiff_t i = 0; i < width; ++i) copy(i, flip);
  }
}

/// The same of bytes that are `step` apart.
inline void copy_apart(const std::uint8_t* src, std::ptrdiff_t step, std::ptrdiff_t width, std::uint8_t flip,
                       std::uint8_t* dst) noexcept {
  using Bytes = std::uint8_t __attribute__((vector_size(16)));
  std::ptrdiff_t i = 0;
  for (; step == 2 && i + 16 < width; i += 16) {
    Bytes a, b;
    std::memcpy(&a, src + 2 * i, sizeof a);
    std::memcpy(&b, src + 2 * i + 16, sizeof b);
    a = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30) ^ flip;
    std::memcpy(dst + i, &a, sizeof a);
  }
  for (; i < width; ++i) dst[i] = static_cast<std::uint8_t>(src[i * step] ^ flip);
}

/// `count` bytes, at most `Most`, in parts that overlap, rather than by masks, which are slow to store on Zen 4.
template <std::ptrdiff_t Most>
DMLREF_ALWAYS_INLINE void copy_some(std::uint8_t* to, const std::uint8_t* from, std::ptrdiff_t count) noexcept {
  if (Most >= 16 && count >= 16) {
    DMLREF_UNROLL
    for (std::ptrdiff_t i = 0; i + 16 < Most; i += 16) {  // else compilers would call memcpy
      if (i + 16 < count) std::memcpy(to + i, from + i, 16);
    }
    std::memcpy(to + count - 16, from + count - 16, 16);
  } else if (count >= 8) {
    std::memcpy(to, from, 8);
    std::memcpy(to + count - 8, from + count - 8, 8);
  } else if (count >= 4) {
    std::memcpy(to, from, 4);
    std::memcpy(to + count - 4, from + count - 4, 4);
  } else {
    for (std::ptrdiff_t i = 0; i < count; ++i) to[i] = from[i];
  }
}

/// Rows of bytes to the output: dst[r * dst_row_step + i * dst_step] for i < width, and nothing else.
inline void unstage(const std::uint8_t* src, std::ptrdiff_t row_step, std::ptrdiff_t rows, std::ptrdiff_t width,
                    std::uint8_t* dst, std::ptrdiff_t dst_row_step, std::ptrdiff_t dst_step) noexcept {
  for (std::ptrdiff_t r = 0; r < rows; ++r) {
    const std::uint8_t* const from = src + r * row_step;
    std::uint8_t* const to = dst + r * dst_row_step;
    if (dst_step == 1) {
      copy_row(from, width, 0, to);
    } else {
      for (std::ptrdiff_t i = 0; i < width; ++i) to[i * dst_step] = from[i];
    }
  }
}

}  // namespace fast::qlc::direct
DMLREF_END
