// staging.hpp: the input and the filter as the tiles read them.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/int8/avx2/staging.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/int8/portable.hpp"
#include "dmlref/simd/address.hpp"
#include "dmlref/simd/x86.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::avx512vnni {

/// 64 pixels of four channels to 64 groups. The dwords of each row are put in transposed order first, so that the
/// unpacks, which stay within 128 bits, leave neighbours side by side.
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE void interleave64(__m512i c0, __m512i c1, __m512i c2, __m512i c3,
                                                                __m512i flip, __m512i (&groups)[4]) noexcept {
  const __m512i order = simd::avx512::Vector::transposed_order();
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
  DMLREF_UNROLL
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
  DMLREF_UNROLL
  for (int v = 1; v < 4; ++v) {
    _mm512_mask_storeu_epi32(dst + 64 * v, static_cast<__mmask16>(used >> (16 * v)), groups[v]);
  }
}

DMLREF_TARGET_AVX512VNNI inline void interleave(const std::uint8_t* const* rows, std::ptrdiff_t count,
                                                std::uint8_t flip, std::uint8_t* dst) noexcept {
  if (count <= 16) return avx2::interleave<4>(rows, count, flip, dst);
  const __m512i flips = _mm512_set1_epi8(static_cast<char>(flip));
  std::ptrdiff_t i = 0;
  for (; i + 64 <= count; i += 64) interleave64(rows, i, flips, dst + 4 * i);
  if (i == count) return;
  if (count - i > 16) return interleave_part(rows, i, count - i, flips, dst + 4 * i);
  const std::uint8_t* const rest[4] = {rows[0] + i, rows[1] + i, rows[2] + i, rows[3] + i};
  avx2::interleave<4>(rest, count - i, flip, dst + 4 * i);
}

/// Transposes 16 x 16 groups: four rounds of unpacks and shuffles, each of which doubles what lies together.
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE void transpose_groups(__m512i (&a)[16]) noexcept {
  __m512i b[16];
  DMLREF_UNROLL
  for (int r = 0; r < 16; r += 2) {
    b[r] = _mm512_unpacklo_epi32(a[r], a[r + 1]);
    b[r + 1] = _mm512_unpackhi_epi32(a[r], a[r + 1]);
  }
  DMLREF_UNROLL
  for (int r = 0; r < 16; r += 4) {
    a[r] = _mm512_unpacklo_epi64(b[r], b[r + 2]);
    a[r + 1] = _mm512_unpackhi_epi64(b[r], b[r + 2]);
    a[r + 2] = _mm512_unpacklo_epi64(b[r + 1], b[r + 3]);
    a[r + 3] = _mm512_unpackhi_epi64(b[r + 1], b[r + 3]);
  }
  // a[4 * i + j]: rows 4 i to 4 i + 3 of groups j, j + 4, j + 8, j + 12, one group to 128 bits.
  DMLREF_UNROLL
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
  DMLREF_UNROLL
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
    DMLREF_UNROLL
    for (int r = 0; r < 16; ++r) {
      rows[r] = _mm512_setzero_si512();
      if (r < t.channels) {
        const __m512i row = _mm512_maskz_loadu_epi8(used, t.src + r * t.pitch + at);
        rows[r] = _mm512_xor_si512(row, _mm512_maskz_mov_epi8(used, flip));
      }
    }
    transpose_groups(rows);
    std::uint8_t* const dst = t.dst + at / 4 * t.dst_step;
    DMLREF_UNROLL
    for (int k = 0; k < 16; ++k) {
      if (4 * k >= left) break;
      sum = _mm512_dpbusd_epi32(sum, ones, rows[k]);
      _mm512_storeu_si512(dst + k * t.dst_step, rows[k]);
    }
  }
  _mm512_storeu_si512(t.sums, sum);
}

/// 64 columns of four rows at a time.
DMLREF_TARGET_AVX512VNNI inline void pack_panels(const PanelsArgs& t) noexcept {
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(t.flip)), ones = _mm512_set1_epi8(1);
  __m512i sums[4];
  DMLREF_UNROLL
  for (int v = 0; v < 4; ++v) sums[v] = _mm512_loadu_si512(t.sums[v / 2] + v % 2 * 16);
  const std::uint8_t* from = t.src;
  for (std::ptrdiff_t k = 0; k < t.steps; ++k, from += 4 * t.pitch) {
    __m512i rows[4], groups[4];
    DMLREF_UNROLL
    for (int r = 0; r < 4; ++r) {
      rows[r] = _mm512_loadu_si512(from + r * t.pitch);
      prefetch_line(address_of(from, r * t.pitch + 64));
    }
    interleave64(rows[0], rows[1], rows[2], rows[3], flip, groups);
    DMLREF_UNROLL
    for (int v = 0; v < 4; ++v) {
      sums[v] = _mm512_dpbusd_epi32(sums[v], ones, groups[v]);
      _mm512_storeu_si512(t.dst[v / 2] + 128 * k + v % 2 * 64, groups[v]);
    }
  }
  DMLREF_UNROLL
  for (int v = 0; v < 4; ++v) _mm512_storeu_si512(t.sums[v / 2] + v % 2 * 16, sums[v]);
}

}  // namespace fast::qlc::avx512vnni
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
