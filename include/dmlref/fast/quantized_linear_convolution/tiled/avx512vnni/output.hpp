// output.hpp: sums from memory, corrected; bytes, transposed.
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

DMLREF_TARGET_AVX512VNNI inline void add_outer(std::int32_t* sums, std::ptrdiff_t pitch, std::ptrdiff_t rows,
                                               std::ptrdiff_t lanes, const std::int32_t* per_row,
                                               const std::int32_t* per_lane) noexcept {
  for (std::ptrdiff_t r = 0; r < rows; ++r) {
    const __m512i row = _mm512_set1_epi32(per_row[r]);
    for (std::ptrdiff_t l = 0; l < lanes; l += 16) {
      std::int32_t* at = sums + r * pitch + l;
      const __m512i product = _mm512_mullo_epi32(row, _mm512_loadu_si512(per_lane + l));
      _mm512_storeu_si512(at, _mm512_add_epi32(_mm512_loadu_si512(at), product));
    }
  }
}

/// 64 pixels of 16 channels: each 128-bit lane transposes 16 x 16 bytes.
DMLREF_TARGET_AVX512VNNI inline void transpose64(const std::uint8_t* src, std::ptrdiff_t src_pitch,
                                                 __m512i (&out)[16]) noexcept {
  __m512i a[16];
  __m512i b[16];
#pragma GCC unroll 16
  for (int j = 0; j < 16; ++j) {
    const std::uint8_t* pixel = src + j * src_pitch;
    const auto* at = reinterpret_cast<const __m128i*>(pixel);
    __m512i four = _mm512_castsi128_si512(_mm_loadu_si128(at));
    at = reinterpret_cast<const __m128i*>(pixel + 16 * src_pitch);
    four = _mm512_inserti32x4(four, _mm_loadu_si128(at), 1);
    at = reinterpret_cast<const __m128i*>(pixel + 32 * src_pitch);
    four = _mm512_inserti32x4(four, _mm_loadu_si128(at), 2);
    at = reinterpret_cast<const __m128i*>(pixel + 48 * src_pitch);
    a[j] = _mm512_inserti32x4(four, _mm_loadu_si128(at), 3);
  }
  // Perfect shuffles: four rounds of merging row j with row j + 8 transpose 16 rows of 16 bytes.
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) {
    b[2 * j] = _mm512_unpacklo_epi8(a[j], a[j + 8]);
    b[2 * j + 1] = _mm512_unpackhi_epi8(a[j], a[j + 8]);
  }
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) {
    a[2 * j] = _mm512_unpacklo_epi8(b[j], b[j + 8]);
    a[2 * j + 1] = _mm512_unpackhi_epi8(b[j], b[j + 8]);
  }
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) {
    b[2 * j] = _mm512_unpacklo_epi8(a[j], a[j + 8]);
    b[2 * j + 1] = _mm512_unpackhi_epi8(a[j], a[j + 8]);
  }
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) {
    out[2 * j] = _mm512_unpacklo_epi8(b[j], b[j + 8]);
    out[2 * j + 1] = _mm512_unpackhi_epi8(b[j], b[j + 8]);
  }
}

DMLREF_TARGET_AVX512VNNI inline void transpose(const std::uint8_t* src, std::ptrdiff_t src_pitch, std::ptrdiff_t pixels,
                                               std::ptrdiff_t channels, std::uint8_t* dst,
                                               std::ptrdiff_t dst_pitch) noexcept {
  for (std::ptrdiff_t c = 0; c < channels; c += 16) {
    const std::ptrdiff_t here = channels - c < 16 ? channels - c : 16;
    for (std::ptrdiff_t p = 0; p < pixels; p += 64) {
      __m512i columns[16];
      transpose64(src + p * src_pitch + c, src_pitch, columns);
      std::uint8_t* to = dst + c * dst_pitch + p;
      if (pixels - p >= 64 && here == 16) {
#pragma GCC unroll 16
        for (int j = 0; j < 16; ++j) _mm512_storeu_si512(to + j * dst_pitch, columns[j]);
      } else {
        const std::ptrdiff_t rest = pixels - p < 64 ? pixels - p : 64;
        const __mmask64 mask = ~std::uint64_t{0} >> (64 - rest);
        alignas(64) __m512i kept[16];
        for (int j = 0; j < 16; ++j) kept[j] = columns[j];
        for (std::ptrdiff_t j = 0; j < here; ++j) _mm512_mask_storeu_epi8(to + j * dst_pitch, mask, kept[j]);
      }
    }
  }
}

}  // namespace fast::qlc::avx512vnni
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
