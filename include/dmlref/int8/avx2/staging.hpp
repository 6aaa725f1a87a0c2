// staging.hpp: the input as the tiles read it, in bytes (Group 4) or widened (Group 2); AVX-512 shares most
// of it.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/int8/portable.hpp"
#include "dmlref/view/narrow.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <cstring>

DMLREF_BEGIN
namespace fast::qlc::avx2 {

DMLREF_TARGET_AVX2 inline __m256i load(const void* from) noexcept {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

DMLREF_TARGET_AVX2 inline __m128i load16(const std::uint8_t* from) noexcept {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

DMLREF_TARGET_AVX2 inline void store16(std::uint8_t* to, __m128i value) noexcept {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), value);
}

DMLREF_TARGET_AVX2 inline void store(void* to, __m256i value) noexcept {
  _mm256_storeu_si256(static_cast<__m256i*>(to), value);
}

/// Bytes to groups: as they are, or widened.
template <int Group>
DMLREF_TARGET_AVX2 inline void store_groups(std::uint8_t* to, __m128i bytes) noexcept {
  if constexpr (Group == 4) {
    store16(to, bytes);
  } else {
    store(to, _mm256_cvtepu8_epi16(bytes));
  }
}

/// 16 pixels.
template <int Group>
DMLREF_TARGET_AVX2 inline void interleave16(const std::uint8_t* const* rows, std::ptrdiff_t at, __m128i flip,
                                            std::uint8_t* dst) noexcept {
  dst += 4 * at;
  const __m128i c0 = _mm_xor_si128(flip, load16(rows[0] + at));
  const __m128i c1 = _mm_xor_si128(flip, load16(rows[1] + at));
  const __m128i low01 = _mm_unpacklo_epi8(c0, c1);
  const __m128i high01 = _mm_unpackhi_epi8(c0, c1);
  if constexpr (Group == 2) {
    store_groups<2>(dst, low01);
    store_groups<2>(dst + 32, high01);
  } else {
    const __m128i c2 = _mm_xor_si128(flip, load16(rows[2] + at));
    const __m128i c3 = _mm_xor_si128(flip, load16(rows[3] + at));
    const __m128i low23 = _mm_unpacklo_epi8(c2, c3);
    const __m128i high23 = _mm_unpackhi_epi8(c2, c3);
    store16(dst, _mm_unpacklo_epi16(low01, low23));
    store16(dst + 16, _mm_unpackhi_epi16(low01, low23));
    store16(dst + 32, _mm_unpacklo_epi16(high01, high23));
    store16(dst + 48, _mm_unpackhi_epi16(high01, high23));
  }
}

/// 8 pixels of four channels.
DMLREF_TARGET_AVX2 inline void interleave8(const std::uint8_t* const* rows, std::ptrdiff_t at, __m128i flip,
                                           std::uint8_t* dst) noexcept {
  __m128i c[4];
  DMLREF_UNROLL
  for (int e = 0; e < 4; ++e) {
    c[e] = _mm_xor_si128(flip, _mm_loadl_epi64(reinterpret_cast<const __m128i*>(rows[e] + at)));
  }
  const __m128i c01 = _mm_unpacklo_epi8(c[0], c[1]), c23 = _mm_unpacklo_epi8(c[2], c[3]);
  store16(dst + 4 * at, _mm_unpacklo_epi16(c01, c23));
  store16(dst + 4 * at + 16, _mm_unpackhi_epi16(c01, c23));
}

/// 4 pixels.
template <int Group>
DMLREF_TARGET_AVX2 inline void interleave4(const std::uint8_t* const* rows, std::ptrdiff_t at, __m128i flip,
                                           std::uint8_t* dst) noexcept {
  constexpr std::size_t count = Group;
  __m128i c[count];
  DMLREF_UNROLL
  for (int e = 0; e < Group; ++e) {
    std::int32_t four;
    std::memcpy(&four, rows[e] + at, sizeof four);
    c[e] = _mm_xor_si128(flip, _mm_cvtsi32_si128(four));
  }
  const __m128i c01 = _mm_unpacklo_epi8(c[0], c[1]);
  if constexpr (Group == 2) {
    store16(dst + 4 * at, _mm_cvtepu8_epi16(c01));
  } else {
    store16(dst + 4 * at, _mm_unpacklo_epi16(c01, _mm_unpacklo_epi8(c[2], c[3])));
  }
}

// The last step of a size overlaps the one before rather than leave a remainder.
template <int Group>
DMLREF_TARGET_AVX2 inline void interleave(const std::uint8_t* const* rows, std::ptrdiff_t count, std::uint8_t flip,
                                          std::uint8_t* dst) noexcept {
  const __m128i flips = _mm_set1_epi8(static_cast<char>(flip));
  std::ptrdiff_t i = 0;
  if (count >= 16) {
    for (; i + 16 <= count; i += 16) interleave16<Group>(rows, i, flips, dst);
    if (i < count) interleave16<Group>(rows, count - 16, flips, dst);
  } else if (Group == 4 && count >= 8) {
    interleave8(rows, 0, flips, dst);
    if (count > 8) interleave8(rows, count - 8, flips, dst);
  } else if (count >= 4) {
    for (; i + 4 <= count; i += 4) interleave4<Group>(rows, i, flips, dst);
    if (i < count) interleave4<Group>(rows, count - 4, flips, dst);
  } else {
    portable::interleave<Group>(rows, count, flip, dst);
  }
}

template <int Group>
DMLREF_TARGET_AVX2 inline void convert(const std::uint8_t* src, std::ptrdiff_t count, std::uint8_t flip,
                                       std::uint8_t* dst) noexcept {
  const __m128i flips = _mm_set1_epi8(static_cast<char>(flip));
  std::ptrdiff_t i = 0;
  for (; i + 16 <= count; i += 16) store_groups<Group>(dst + 4 / Group * i, _mm_xor_si128(load16(src + i), flips));
  portable::convert<Group>(src + i, count - i, flip, dst + 4 / Group * i);
}

/// Two neighbours each: the steps 1 and 2 are all that staging uses.
DMLREF_TARGET_AVX2 inline void windows2(const std::uint8_t* src, std::ptrdiff_t count, std::ptrdiff_t step,
                                        std::uint8_t flip, std::uint8_t* dst) noexcept {
  if (step == 2) return convert<2>(src, 2 * count, flip, dst);
  if (step != 1) return portable::windows<2>(src, count, step, flip, dst);
  const std::uint8_t* const rows[2] = {src, src + 1};
  interleave<2>(rows, count, flip, dst);
}

/// Four neighbours each, eight at a time: four come from 16 bytes up to a step of 4.
DMLREF_TARGET_AVX2 inline void windows4(const std::uint8_t* src, std::ptrdiff_t count, std::ptrdiff_t step,
                                        std::uint8_t flip, std::uint8_t* dst) noexcept {
  std::ptrdiff_t i = 0;
  if (step <= 4) {
    alignas(16) std::uint8_t places[16];
    for (int p = 0; p < 16; ++p) {
      places[p] = dmlref::detail::narrow<std::uint8_t>(p / 4 * step + p % 4);  // a step of windows is at most 4
    }
    const __m256i from = _mm256_broadcastsi128_si256(load16(places));
    const __m256i flips = _mm256_set1_epi8(static_cast<char>(flip));
    for (; i + 8 <= count; i += 8) {
      const __m256i bytes = _mm256_set_m128i(load16(src + (i + 4) * step), load16(src + i * step));
      store(dst + 4 * i, _mm256_xor_si256(_mm256_shuffle_epi8(bytes, from), flips));
    }
  }
  portable::windows<4>(src + i * step, count - i, step, flip, dst + 4 * i);
}

/// The first Bytes of a vector; the others are 0.
template <int Bytes>
DMLREF_TARGET_AVX2 inline __m128i load_first(const std::uint8_t* from) noexcept {
  if constexpr (Bytes == 16) return load16(from);
  if constexpr (Bytes == 8) return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  std::int32_t four;
  std::memcpy(&four, from, sizeof four);
  return _mm_cvtsi32_si128(four);
}

/// 16 rows of Bytes, rows 0 to 7 in the lower lanes: after three rounds of merging row j with row j + 4, out[j] holds
/// columns 2 j and 2 j + 1 of its rows.
template <int Bytes>
DMLREF_TARGET_AVX2 inline void transpose16(const std::uint8_t* src, std::ptrdiff_t src_pitch, __m256i flip,
                                           __m256i (&out)[8]) noexcept {
  __m256i a[8];
  DMLREF_UNROLL
  for (int j = 0; j < 8; ++j) {
    const std::uint8_t* row = src + j * src_pitch;
    a[j] = _mm256_set_m128i(load_first<Bytes>(row + 8 * src_pitch), load_first<Bytes>(row));
    a[j] = _mm256_xor_si256(a[j], flip);
  }
  DMLREF_UNROLL
  for (int round = 0; round < 3; ++round) {
    __m256i b[8];
    DMLREF_UNROLL
    for (int j = 0; j < 4; ++j) {
      b[2 * j] = _mm256_unpacklo_epi8(a[j], a[j + 4]);
      b[2 * j + 1] = _mm256_unpackhi_epi8(a[j], a[j + 4]);
    }
    DMLREF_UNROLL
    for (int j = 0; j < 8; ++j) a[j] = b[j];
  }
  DMLREF_UNROLL
  for (int j = 0; j < 8; ++j) out[j] = a[j];
}

/// All channels of Columns columns; the last 16 channels overlap those before rather than leave a remainder.
template <int Group, int Columns>
DMLREF_TARGET_AVX2 inline void gather_columns(const PixelsArgs& t, std::ptrdiff_t column) noexcept {
  const __m256i flip = _mm256_set1_epi8(static_cast<char>(t.flip));
  for (std::ptrdiff_t c = 0; c < t.channels; c += 16) {
    if (c > t.channels - 16) c = t.channels - 16;
    __m256i pairs[8];
    transpose16<Columns>(t.src + c * t.channel_step + column, t.channel_step, flip, pairs);
    std::uint8_t* to = t.dst + column * t.pixel_step + 4 / Group * c;
    DMLREF_UNROLL
    for (int j = 0; j < Columns / 2; ++j, to += 2 * t.pixel_step) {
      if constexpr (Group == 4) {
        const __m256i pair = _mm256_permute4x64_epi64(pairs[j], 0xD8);
        store16(to, _mm256_castsi256_si128(pair));
        store16(to + t.pixel_step, _mm256_extracti128_si256(pair, 1));
      } else {
        store(to, _mm256_unpacklo_epi8(pairs[j], _mm256_setzero_si256()));
        store(to + t.pixel_step, _mm256_unpackhi_epi8(pairs[j], _mm256_setzero_si256()));
      }
    }
  }
}

template <int Group, int Columns>
DMLREF_TARGET_AVX2 inline void gather_in_steps(const PixelsArgs& t) noexcept {
  std::ptrdiff_t x = 0;
  for (; x + Columns <= t.columns; x += Columns) gather_columns<Group, Columns>(t, x);
  if (x < t.columns) gather_columns<Group, Columns>(t, t.columns - Columns);
}

template <int Group>
DMLREF_TARGET_AVX2 inline void gather_pixels(const PixelsArgs& t) noexcept {
  if (t.columns >= 16) return gather_in_steps<Group, 16>(t);
  if (t.columns >= 8) return gather_in_steps<Group, 8>(t);
  if (t.columns >= 4) return gather_in_steps<Group, 4>(t);
  for (std::ptrdiff_t x = 0; x < t.columns; ++x) {
    for (std::ptrdiff_t c = 0; c < t.channels; ++c) {
      portable::put<Group>(t.dst + x * t.pixel_step, c,
                           static_cast<std::uint8_t>(t.src[c * t.channel_step + x] ^ t.flip));
    }
  }
}

}  // namespace fast::qlc::avx2
DMLREF_END
#endif
