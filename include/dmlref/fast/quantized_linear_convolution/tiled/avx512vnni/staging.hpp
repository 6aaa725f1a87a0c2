// staging.hpp: the input and the filter as the tiles read them.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/avx512vnni/epilogue.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/kernels.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/portable.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <cstring>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::avx512vnni {

/// 64 pixels of four channels to 64 groups. The dwords of each row are put in transposed order first, so that the
/// unpacks, which stay within 128 bits, leave neighbours side by side.
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE void interleave64(__m512i c0, __m512i c1, __m512i c2, __m512i c3,
                                                                __m512i flip, __m512i (&groups)[4]) noexcept {
  const __m512i order = transposed_order();
  c0 = _mm512_permutexvar_epi32(order, _mm512_xor_si512(flip, c0));
  c1 = _mm512_permutexvar_epi32(order, _mm512_xor_si512(flip, c1));
  c2 = _mm512_permutexvar_epi32(order, _mm512_xor_si512(flip, c2));
  c3 = _mm512_permutexvar_epi32(order, _mm512_xor_si512(flip, c3));
  const __m512i low01 = _mm512_unpacklo_epi8(c0, c1);
  const __m512i high01 = _mm512_unpackhi_epi8(c0, c1);
  const __m512i low23 = _mm512_unpacklo_epi8(c2, c3);
  const __m512i high23 = _mm512_unpackhi_epi8(c2, c3);
  groups[0] = _mm512_unpacklo_epi16(low01, low23);
  groups[1] = _mm512_unpackhi_epi16(low01, low23);
  groups[2] = _mm512_unpacklo_epi16(high01, high23);
  groups[3] = _mm512_unpackhi_epi16(high01, high23);
}
DMLREF_TARGET_AVX512VNNI inline void interleave64(const std::uint8_t* const* rows, std::ptrdiff_t at, __m512i flip,
                                                  std::uint8_t* dst) noexcept {
  __m512i groups[4];
  interleave64(_mm512_loadu_si512(rows[0] + at), _mm512_loadu_si512(rows[1] + at), _mm512_loadu_si512(rows[2] + at),
               _mm512_loadu_si512(rows[3] + at), flip, groups);
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) _mm512_storeu_si512(dst + 64 * v, groups[v]);
}
/// The first `count` of 64 pixels, at least 17.
DMLREF_TARGET_AVX512VNNI inline void interleave_part(const std::uint8_t* const* rows, std::ptrdiff_t at,
                                                     std::ptrdiff_t count, __m512i flip, std::uint8_t* dst) noexcept {
  const __mmask64 used = ~std::uint64_t{0} >> (64 - count);
  __m512i groups[4];
  interleave64(_mm512_maskz_loadu_epi8(used, rows[0] + at), _mm512_maskz_loadu_epi8(used, rows[1] + at),
               _mm512_maskz_loadu_epi8(used, rows[2] + at), _mm512_maskz_loadu_epi8(used, rows[3] + at), flip, groups);
  _mm512_storeu_si512(dst, groups[0]);
#pragma GCC unroll 3
  for (int v = 1; v < 4; ++v) {
    _mm512_mask_storeu_epi32(dst + 64 * v, static_cast<__mmask16>(used >> (16 * v)), groups[v]);
  }
}

/// Groups of 64 pixels of four channels, in an order that saves permutations: shifts and blends make pairs of two
/// channels, of which unpacks make groups. In each 16 pixels 0 2 4 6 | 1 3 5 7 | 8 10 12 14 | 9 11 13 15, one vector
/// for each of the four.
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE void interleave_by_parity(__m512i c0, __m512i c1, __m512i c2, __m512i c3,
                                                                        __m512i (&groups)[4]) noexcept {
  const __mmask64 odd_bytes = 0xAAAAAAAAAAAAAAAA;
  const __m512i even01 = _mm512_mask_blend_epi8(odd_bytes, c0, _mm512_slli_epi16(c1, 8));
  const __m512i even23 = _mm512_mask_blend_epi8(odd_bytes, c2, _mm512_slli_epi16(c3, 8));
  const __m512i odd01 = _mm512_mask_blend_epi8(odd_bytes, _mm512_srli_epi16(c0, 8), c1);
  const __m512i odd23 = _mm512_mask_blend_epi8(odd_bytes, _mm512_srli_epi16(c2, 8), c3);
  groups[0] = _mm512_unpacklo_epi16(even01, even23);
  groups[1] = _mm512_unpacklo_epi16(odd01, odd23);
  groups[2] = _mm512_unpackhi_epi16(even01, even23);
  groups[3] = _mm512_unpackhi_epi16(odd01, odd23);
}

/// Blocks of 64 pixels of all channels to groups, by parity, which saves permutations where bytes are packed again,
/// too. On the way the dot-product units, idle here, sum the channels: sums[i] = factor * the sum of position i.
template <bool Sums>
DMLREF_TARGET_AVX512VNNI inline void interleave_pairs(const PairsArgs& t) noexcept {
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(t.flip));
  for (std::ptrdiff_t at = 0; at < t.pixels; at += 64) {
    __m512i sum0 = _mm512_setzero_si512(), sum1 = sum0, sum2 = sum0, sum3 = sum0;
    __m512i ones = _mm512_set1_epi8(1);
    const std::uint8_t* src = t.src + at;
    std::uint8_t* dst = t.dst + 4 * at;
    for (std::ptrdiff_t c = 0; c < t.channels; c += 4, src += 4 * t.channel_step, dst += t.plane_step) {
      const std::ptrdiff_t left = t.channels - c;  // what fills an incomplete group meets weights of 0
      if (left < 4) ones = _mm512_set1_epi32(0x010101 >> (8 * (3 - left)));
      const std::uint8_t* src1 = left > 1 ? src + t.channel_step : src;
      const std::uint8_t* src2 = left > 2 ? src + 2 * t.channel_step : src;
      const std::uint8_t* src3 = left > 3 ? src + 3 * t.channel_step : src;
      const __m512i c0 = _mm512_xor_si512(flip, _mm512_loadu_si512(src));
      const __m512i c1 = _mm512_xor_si512(flip, _mm512_loadu_si512(src1));
      const __m512i c2 = _mm512_xor_si512(flip, _mm512_loadu_si512(src2));
      const __m512i c3 = _mm512_xor_si512(flip, _mm512_loadu_si512(src3));
      __m512i v[4];
      interleave_by_parity(c0, c1, c2, c3, v);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) _mm512_storeu_si512(dst + 64 * i, v[i]);
      if constexpr (Sums) {
        sum0 = _mm512_dpbusd_epi32(sum0, v[0], ones);
        sum1 = _mm512_dpbusd_epi32(sum1, v[1], ones);
        sum2 = _mm512_dpbusd_epi32(sum2, v[2], ones);
        sum3 = _mm512_dpbusd_epi32(sum3, v[3], ones);
      }
    }
    if constexpr (Sums) {
      const __m512i factor = _mm512_set1_epi32(t.factor);
      _mm512_storeu_si512(t.sums + at, _mm512_mullo_epi32(sum0, factor));
      _mm512_storeu_si512(t.sums + at + 16, _mm512_mullo_epi32(sum1, factor));
      _mm512_storeu_si512(t.sums + at + 32, _mm512_mullo_epi32(sum2, factor));
      _mm512_storeu_si512(t.sums + at + 48, _mm512_mullo_epi32(sum3, factor));
    }
  }
}

inline void interleave_pairs_of(const PairsArgs& t) noexcept {
  return t.sums != nullptr ? interleave_pairs<true>(t) : interleave_pairs<false>(t);
}

/// 16 pixels.
DMLREF_TARGET_AVX512VNNI inline void interleave16(const std::uint8_t* const* rows, std::ptrdiff_t at, __m128i flip,
                                                  std::uint8_t* dst) noexcept {
  __m128i c[4];
#pragma GCC unroll 4
  for (int e = 0; e < 4; ++e) {
    c[e] = _mm_xor_si128(flip, _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[e] + at)));
  }
  const __m128i low01 = _mm_unpacklo_epi8(c[0], c[1]);
  const __m128i high01 = _mm_unpackhi_epi8(c[0], c[1]);
  const __m128i low23 = _mm_unpacklo_epi8(c[2], c[3]);
  const __m128i high23 = _mm_unpackhi_epi8(c[2], c[3]);
  auto* out = reinterpret_cast<__m128i*>(dst + 4 * at);
  _mm_storeu_si128(out, _mm_unpacklo_epi16(low01, low23));
  _mm_storeu_si128(out + 1, _mm_unpackhi_epi16(low01, low23));
  _mm_storeu_si128(out + 2, _mm_unpacklo_epi16(high01, high23));
  _mm_storeu_si128(out + 3, _mm_unpackhi_epi16(high01, high23));
}

/// 8 pixels.
DMLREF_TARGET_AVX512VNNI inline void interleave8(const std::uint8_t* const* rows, std::ptrdiff_t at, __m128i flip,
                                                 std::uint8_t* dst) noexcept {
  __m128i c[4];
#pragma GCC unroll 4
  for (int e = 0; e < 4; ++e) {
    c[e] = _mm_xor_si128(flip, _mm_loadl_epi64(reinterpret_cast<const __m128i*>(rows[e] + at)));
  }
  const __m128i c01 = _mm_unpacklo_epi8(c[0], c[1]);
  const __m128i c23 = _mm_unpacklo_epi8(c[2], c[3]);
  auto* out = reinterpret_cast<__m128i*>(dst + 4 * at);
  _mm_storeu_si128(out, _mm_unpacklo_epi16(c01, c23));
  _mm_storeu_si128(out + 1, _mm_unpackhi_epi16(c01, c23));
}

/// 4 pixels.
DMLREF_TARGET_AVX512VNNI inline void interleave4(const std::uint8_t* const* rows, std::ptrdiff_t at, __m128i flip,
                                                 std::uint8_t* dst) noexcept {
  __m128i c[4];
#pragma GCC unroll 4
  for (int e = 0; e < 4; ++e) {
    std::int32_t four;
    std::memcpy(&four, rows[e] + at, sizeof four);
    c[e] = _mm_xor_si128(flip, _mm_cvtsi32_si128(four));
  }
  const __m128i c01 = _mm_unpacklo_epi8(c[0], c[1]);
  const __m128i c23 = _mm_unpacklo_epi8(c[2], c[3]);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + 4 * at), _mm_unpacklo_epi16(c01, c23));
}

// Shorter steps towards the end; the last one of a size overlaps the one before rather than leave a remainder.
DMLREF_TARGET_AVX512VNNI inline void interleave(const std::uint8_t* const* rows, std::ptrdiff_t count,
                                                std::uint8_t flip, std::uint8_t* dst) noexcept {
  const __m512i flips = _mm512_set1_epi8(static_cast<char>(flip));
  const __m128i flips16 = _mm512_castsi512_si128(flips);
  std::ptrdiff_t i = 0;
  for (; i + 64 <= count; i += 64) interleave64(rows, i, flips, dst + 4 * i);
  if (i == count) return;
  if (count - i > 16) return interleave_part(rows, i, count - i, flips, dst + 4 * i);
  if (count >= 16) {
    for (; i + 16 <= count; i += 16) interleave16(rows, i, flips16, dst);
    if (i < count) interleave16(rows, count - 16, flips16, dst);
  } else if (count >= 8) {
    interleave8(rows, 0, flips16, dst);
    interleave8(rows, count - 8, flips16, dst);
  } else if (count >= 4) {
    interleave4(rows, 0, flips16, dst);
    interleave4(rows, count - 4, flips16, dst);
  } else {
    for (; i < count; ++i) {
      for (int e = 0; e < 4; ++e) dst[4 * i + e] = static_cast<std::uint8_t>(rows[e][i] ^ flip);
    }
  }
}

/// Transposes 16 x 16 groups: four rounds of unpacks and shuffles, each of which doubles what lies together.
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE void transpose_groups(__m512i (&a)[16]) noexcept {
  __m512i b[16];
#pragma GCC unroll 8
  for (int r = 0; r < 16; r += 2) {
    b[r] = _mm512_unpacklo_epi32(a[r], a[r + 1]);
    b[r + 1] = _mm512_unpackhi_epi32(a[r], a[r + 1]);
  }
#pragma GCC unroll 4
  for (int r = 0; r < 16; r += 4) {
    a[r] = _mm512_unpacklo_epi64(b[r], b[r + 2]);
    a[r + 1] = _mm512_unpackhi_epi64(b[r], b[r + 2]);
    a[r + 2] = _mm512_unpacklo_epi64(b[r + 1], b[r + 3]);
    a[r + 3] = _mm512_unpackhi_epi64(b[r + 1], b[r + 3]);
  }
  // a[4 * i + j]: rows 4 i to 4 i + 3 of groups j, j + 4, j + 8, j + 12, one group to 128 bits.
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512i low01 = _mm512_shuffle_i32x4(a[j], a[4 + j], 0x44);
    const __m512i high01 = _mm512_shuffle_i32x4(a[j], a[4 + j], 0xEE);
    const __m512i low23 = _mm512_shuffle_i32x4(a[8 + j], a[12 + j], 0x44);
    const __m512i high23 = _mm512_shuffle_i32x4(a[8 + j], a[12 + j], 0xEE);
    b[j] = _mm512_shuffle_i32x4(low01, low23, 0x88);
    b[4 + j] = _mm512_shuffle_i32x4(low01, low23, 0xDD);
    b[8 + j] = _mm512_shuffle_i32x4(high01, high23, 0x88);
    b[12 + j] = _mm512_shuffle_i32x4(high01, high23, 0xDD);
  }
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) a[r] = b[r];
}

/// 16 x 16 groups at a time.
DMLREF_TARGET_AVX512VNNI inline void pack_rows(const RowsArgs& t) noexcept {
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(t.flip));
  const __m512i ones = _mm512_set1_epi8(1);
  __m512i sum = _mm512_loadu_si512(t.sums);
  for (std::ptrdiff_t at = 0; at < t.bytes; at += 64) {
    const std::ptrdiff_t left = t.bytes - at;
    const __mmask64 used = left >= 64 ? ~std::uint64_t{0} : ~std::uint64_t{0} >> (64 - left);
    __m512i rows[16];
#pragma GCC unroll 16
    for (int r = 0; r < 16; ++r) {
      rows[r] = _mm512_setzero_si512();
      if (r < t.channels) {
        const __m512i row = _mm512_maskz_loadu_epi8(used, t.src + r * t.pitch + at);
        rows[r] = _mm512_xor_si512(row, _mm512_maskz_mov_epi8(used, flip));
      }
    }
    transpose_groups(rows);
    std::uint8_t* const dst = t.dst + 16 * at;
#pragma GCC unroll 16
    for (int k = 0; k < 16; ++k) {
      if (4 * k >= left) break;
      sum = _mm512_dpbusd_epi32(sum, ones, rows[k]);
      _mm512_storeu_si512(dst + 64 * k, rows[k]);
    }
  }
  _mm512_storeu_si512(t.sums, sum);
}

DMLREF_TARGET_AVX512VNNI inline void deal(const std::uint8_t* src, std::ptrdiff_t step, std::ptrdiff_t count,
                                          std::uint8_t* dst) noexcept {
  if (step != 2) {
    for (std::ptrdiff_t i = 0; i < count; ++i) std::memcpy(dst + 4 * i, src + 4 * step * i, 4);
    return;
  }
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  for (std::ptrdiff_t i = 0; i < count; i += 16) {
    const __m512i low = _mm512_loadu_si512(src + 8 * i);
    const __m512i high = _mm512_loadu_si512(src + 8 * i + 64);
    const std::ptrdiff_t rest = count - i;
    const auto mask = static_cast<__mmask16>(rest >= 16 ? 0xFFFFu : (1u << rest) - 1u);
    _mm512_mask_storeu_epi32(dst + 4 * i, mask, _mm512_permutex2var_epi32(low, even, high));
  }
}

// Four windows lie within 16 bytes where the step is at most 4, which is all that staging asks for.
DMLREF_TARGET_AVX512VNNI inline void windows(const std::uint8_t* src, std::ptrdiff_t count, std::ptrdiff_t step,
                                             std::uint8_t flip, std::uint8_t* dst) noexcept {
  if (count < 16 || step > 4) return portable::windows<4>(src, count, step, flip, dst);
  const __m512i flips = _mm512_set1_epi8(static_cast<char>(flip));
  const __m128i first = _mm_setr_epi8(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
  const __m128i window = _mm_setr_epi8(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
  const __m128i order = _mm_add_epi8(first, _mm_mullo_epi16(window, _mm_set1_epi16(static_cast<short>(step))));
  const __m512i orders = _mm512_broadcast_i32x4(order);
  for (std::ptrdiff_t i = 0; i < count; i += 16) {
    const std::ptrdiff_t at = i + 16 <= count ? i : count - 16;  // the last ones overlap
    const std::uint8_t* from = src + at * step;
    const auto four = [&](std::ptrdiff_t f) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 4 * f * step));
    };
    __m512i bytes = _mm512_castsi128_si512(four(0));
    bytes = _mm512_inserti32x4(bytes, four(1), 1);
    bytes = _mm512_inserti32x4(bytes, four(2), 2);
    bytes = _mm512_inserti32x4(bytes, four(3), 3);
    _mm512_storeu_si512(dst + 4 * at, _mm512_xor_si512(flips, _mm512_shuffle_epi8(bytes, orders)));
  }
}

DMLREF_TARGET_AVX512VNNI inline void convert(const std::uint8_t* src, std::ptrdiff_t count, std::uint8_t flip,
                                             std::uint8_t* dst) noexcept {
  const __m512i flips = _mm512_set1_epi8(static_cast<char>(flip));
  std::ptrdiff_t i = 0;
  for (; i + 64 <= count; i += 64) _mm512_storeu_si512(dst + i, _mm512_xor_si512(_mm512_loadu_si512(src + i), flips));
  for (; i < count; ++i) dst[i] = static_cast<std::uint8_t>(src[i] ^ flip);
}

}  // namespace fast::qlc::avx512vnni
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
