// rows.hpp: rows of bytes to padded planes, and from lines of lanes to the output. What x86-64 and AArch64 always have
// is enough here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64
#include <emmintrin.h>
#elif DMLREF_ARCH_ARM64
#include <arm_neon.h>
#endif

DMLREF_BEGIN
namespace fast::qlc::direct {

/// Rows of input to planes of `plane_bytes`: `before` bytes of fill, then each row's `width` bytes xor flip and fill up
/// to `pitch`, then fill to the plane's end, which is at least 64 bytes away.
struct StageArgs {
  const std::uint8_t* src = nullptr;
  std::ptrdiff_t row_step = 0, plane_step = 0;  ///< of src
  std::ptrdiff_t planes = 1, rows = 0, width = 0;
  std::ptrdiff_t before = 0, pitch = 0, plane_bytes = 0;
  std::uint8_t fill = 0, flip = 0;
  std::uint8_t* dst = nullptr;
  std::ptrdiff_t dst_plane_step = 0;
};

/// Rows of bytes to the output: dst[p * dst_plane_step + r * dst_row_step + i * dst_step] for i < width, and nothing
/// else.
struct UnstageArgs {
  const std::uint8_t* src = nullptr;
  std::ptrdiff_t row_step = 0, plane_step = 0;  ///< of src
  std::ptrdiff_t planes = 1, rows = 0, width = 0;
  std::uint8_t* dst = nullptr;
  std::ptrdiff_t dst_step = 1, dst_row_step = 0, dst_plane_step = 0;
};

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
    for (std::ptrdiff_t i = 0; i + 16 < width; i += 16) copy(i, flips);
    copy(width - 16, flips);
  } else if (width >= 8) {
    const std::uint64_t flips = flip * std::uint64_t{0x0101010101010101};
    copy(0, flips);
    copy(width - 8, flips);
  } else {
    for (std::ptrdiff_t i = 0; i < width; ++i) copy(i, flip);
  }
}

/// The same of every second byte, starting with the first.
inline void copy_every_second(const std::uint8_t* src, std::ptrdiff_t width, std::uint8_t flip,
                              std::uint8_t* dst) noexcept {
  std::ptrdiff_t i = 0;
#if DMLREF_ARCH_X86_64
  const __m128i flips = _mm_set1_epi8(static_cast<char>(flip)), low_bytes = _mm_set1_epi16(0xFF);
  for (; 2 * i + 32 <= 2 * width - 1; i += 16) {
    const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + 2 * i));
    const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + 2 * i + 16));
    const __m128i even = _mm_packus_epi16(_mm_and_si128(a, low_bytes), _mm_and_si128(b, low_bytes));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + i), _mm_xor_si128(even, flips));
  }
#elif DMLREF_ARCH_ARM64
  const uint8x16_t flips = vdupq_n_u8(flip);
  for (; 2 * i + 32 <= 2 * width - 1; i += 16) vst1q_u8(dst + i, veorq_u8(vld2q_u8(src + 2 * i).val[0], flips));
#endif
  for (; i < width; ++i) dst[i] = static_cast<std::uint8_t>(src[2 * i] ^ flip);
}

/// copy(src, width, flip, dst): how a row gets to its place.
template <class Copy>
inline void stage_rows(const StageArgs& t, const Copy& copy) noexcept {
  for (std::ptrdiff_t p = 0; p < t.planes; ++p) {
    std::uint8_t* dst = t.dst + p * t.dst_plane_step;
    const std::uint8_t* src = t.src + p * t.plane_step;
    std::uint8_t* const end = dst + t.plane_bytes;
    std::memset(dst, t.fill, static_cast<std::size_t>(t.before));
    dst += t.before;
    for (std::ptrdiff_t r = t.rows; r > 0; --r, src += t.row_step, dst += t.pitch) {
      // Into the row itself and the next one, which are written later.
      for (std::ptrdiff_t i = t.width / 16 * 16; i < t.pitch; i += 16) std::memset(dst + i, t.fill, 16);
      copy(src, t.width, t.flip, dst);
    }
    std::memset(dst, t.fill, static_cast<std::size_t>(end - dst));
  }
}

inline void unstage_rows(const UnstageArgs& t) noexcept {
  for (std::ptrdiff_t p = 0; p < t.planes; ++p) {
    const std::uint8_t* src = t.src + p * t.plane_step;
    std::uint8_t* dst = t.dst + p * t.dst_plane_step;
    for (std::ptrdiff_t r = t.rows; r > 0; --r, src += t.row_step, dst += t.dst_row_step) {
      if (t.dst_step == 1) {
        copy_row(src, t.width, 0, dst);
      } else {
        for (std::ptrdiff_t i = 0; i < t.width; ++i) dst[i * t.dst_step] = src[i];
      }
    }
  }
}

/// to[i * outputs + m] = lines[m * line_step + i] for i < count, and nothing else: lines of lanes, one per output of a
/// group, to pixels whose channels lie side by side.
inline void interleave(const std::uint8_t* lines, std::ptrdiff_t line_step, std::ptrdiff_t outputs,
                       std::ptrdiff_t count, std::uint8_t* to) noexcept {
  std::ptrdiff_t done = 0;
#if DMLREF_ARCH_X86_64
  const auto load = [&](std::ptrdiff_t m) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(lines + m * line_step + done));
  };
  const auto store = [&](std::ptrdiff_t i, __m128i v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + done * outputs + 16 * i), v);
  };
  if (outputs == 2) {
    for (; done + 16 <= count; done += 16) {
      const __m128i a = load(0), b = load(1);
      store(0, _mm_unpacklo_epi8(a, b));
      store(1, _mm_unpackhi_epi8(a, b));
    }
  } else if (outputs == 4) {
    for (; done + 16 <= count; done += 16) {
      const __m128i a = load(0), b = load(1), c = load(2), d = load(3);
      const __m128i low0 = _mm_unpacklo_epi8(a, b), high0 = _mm_unpackhi_epi8(a, b);
      const __m128i low1 = _mm_unpacklo_epi8(c, d), high1 = _mm_unpackhi_epi8(c, d);
      store(0, _mm_unpacklo_epi16(low0, low1));
      store(1, _mm_unpackhi_epi16(low0, low1));
      store(2, _mm_unpacklo_epi16(high0, high1));
      store(3, _mm_unpackhi_epi16(high0, high1));
    }
  }
#elif DMLREF_ARCH_ARM64
  const auto load = [&](std::ptrdiff_t m) { return vld1q_u8(lines + m * line_step + done); };
  if (outputs == 2) {
    for (; done + 16 <= count; done += 16) vst2q_u8(to + done * 2, (uint8x16x2_t{{load(0), load(1)}}));
  } else if (outputs == 3) {
    for (; done + 16 <= count; done += 16) vst3q_u8(to + done * 3, (uint8x16x3_t{{load(0), load(1), load(2)}}));
  } else if (outputs == 4) {
    for (; done + 16 <= count; done += 16) {
      vst4q_u8(to + done * 4, (uint8x16x4_t{{load(0), load(1), load(2), load(3)}}));
    }
  }
#endif
  for (std::ptrdiff_t m = 0; m < outputs; ++m) {
    for (std::ptrdiff_t i = done; i < count; ++i) to[i * outputs + m] = lines[m * line_step + i];
  }
}

}  // namespace fast::qlc::direct
DMLREF_END
