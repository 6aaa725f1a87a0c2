// output.hpp: sums from memory, corrected; bytes, transposed.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/int8/avx2/staging.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <cstring>

DMLREF_BEGIN
namespace fast::qlc::avx2 {

DMLREF_TARGET_AVX2 inline void add_outer(std::int32_t* sums, std::ptrdiff_t pitch, std::ptrdiff_t rows,
                                         std::ptrdiff_t lanes, const std::int32_t* per_row,
                                         const std::int32_t* per_lane) noexcept {
  for (std::ptrdiff_t r = 0; r < rows; ++r) {
    const __m256i row = _mm256_set1_epi32(per_row[r]);
    for (std::ptrdiff_t l = 0; l < lanes; l += 8) {
      auto* at = reinterpret_cast<__m256i*>(sums + r * pitch + l);
      _mm256_storeu_si256(at, _mm256_add_epi32(load(at), _mm256_mullo_epi32(row, load(per_lane + l))));
    }
  }
}

// The last 16 pixels overlap those before rather than leave a remainder.
DMLREF_TARGET_AVX2 inline void transpose(const std::uint8_t* src, std::ptrdiff_t src_pitch, std::ptrdiff_t pixels,
                                         std::ptrdiff_t channels, std::uint8_t* dst,
                                         std::ptrdiff_t dst_pitch) noexcept {
  for (std::ptrdiff_t c = 0; c < channels; c += 16) {
    const std::ptrdiff_t here = channels - c < 16 ? channels - c : 16;
    for (std::ptrdiff_t p = 0; p < pixels; p += 16) {
      if (p > pixels - 16 && pixels >= 16) p = pixels - 16;
      __m256i pairs[8];
      transpose16<16>(src + p * src_pitch + c, src_pitch, _mm256_setzero_si256(), pairs);
      std::uint8_t* to = dst + c * dst_pitch + p;
      __m128i columns[16];
      DMLREF_UNROLL
      for (int j = 0; j < 8; ++j) {
        const __m256i pair = _mm256_permute4x64_epi64(pairs[j], 0xD8);
        columns[2 * j] = _mm256_castsi256_si128(pair);
        columns[2 * j + 1] = _mm256_extracti128_si256(pair, 1);
      }
      if (here == 16 && pixels >= 16) {
        DMLREF_UNROLL
        for (int j = 0; j < 16; ++j) store16(to + j * dst_pitch, columns[j]);
      } else if (pixels >= 16) {
        for (std::ptrdiff_t j = 0; j < here; ++j) store16(to + j * dst_pitch, columns[j]);
      } else {
        for (std::ptrdiff_t j = 0; j < here; ++j) {
          std::memcpy(to + j * dst_pitch, &columns[j], static_cast<std::size_t>(pixels));
        }
      }
    }
  }
}

}  // namespace fast::qlc::avx2
DMLREF_END
#endif
