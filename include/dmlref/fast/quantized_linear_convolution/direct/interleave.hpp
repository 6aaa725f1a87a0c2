// interleave.hpp: lines of lanes, one per output of a group, to pixels whose channels lie side by side.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64
#include <emmintrin.h>
#elif DMLREF_ARCH_ARM64
#include <arm_neon.h>
#endif

DMLREF_BEGIN
namespace fast::qlc::direct {

/// to[i * outputs + m] = lines[m * line_step + i] for i < count, and nothing else. What x86-64 and AArch64 always have
/// is enough here.
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
