// staging.hpp: lines to memory of a task and back.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/avx512vnni/epilogue.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/kernels.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <cstring>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct::avx512vnni {

DMLREF_TARGET_AVX512VNNI inline __mmask64 first_bytes(std::ptrdiff_t count) noexcept {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void fill_to(std::uint8_t* at, std::uint8_t* end,
                                                                    __m512i fills) noexcept {
  for (; at + 64 <= end; at += 64) _mm512_storeu_si512(at, fills);
  _mm512_storeu_si512(end - 64, fills);
}

// Rows begin anywhere, so vectors of 32 bytes, and 16 for short rows: fewer of them straddle cache lines.

DMLREF_TARGET_AVX512VNNI inline void stage_short_rows(const StageArgs& t, const std::uint8_t* src,
                                                      std::uint8_t* dst) noexcept {
  const auto kept = static_cast<__mmask16>((1u << t.width) - 1);
  const __m128i fills = _mm_set1_epi8(static_cast<char>(t.fill ^ t.flip));
  const __m128i flips = _mm_set1_epi8(static_cast<char>(t.flip));
  for (std::ptrdiff_t r = t.rows; r > 0; --r, src += t.row_step, dst += t.pitch) {
    const __m128i v = _mm_mask_loadu_epi8(fills, kept, src);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), _mm_xor_si128(v, flips));
  }
}

DMLREF_TARGET_AVX512VNNI inline void stage_long_rows(const StageArgs& t, const std::uint8_t* src,
                                                     std::uint8_t* dst) noexcept {
  const __m256i fills = _mm256_set1_epi8(static_cast<char>(t.fill));
  const __m256i flips = _mm256_set1_epi8(static_cast<char>(t.flip));
  const __m256i unflipped = _mm256_xor_si256(fills, flips);
  const std::ptrdiff_t whole = t.width / 32 * 32;
  const auto rest = static_cast<__mmask32>((std::uint64_t{1} << (t.width - whole)) - 1);
  for (std::ptrdiff_t r = t.rows; r > 0; --r, src += t.row_step, dst += t.pitch) {
    std::ptrdiff_t i = 0;
    for (; i < whole; i += 32) {
      const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + i));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + i), _mm256_xor_si256(v, flips));
    }
    if (i == t.pitch) continue;
    const __m256i v = _mm256_mask_loadu_epi8(unflipped, rest, src + i);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + i), _mm256_xor_si256(v, flips));
    for (i += 32; i < t.pitch; i += 32) _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + i), fills);
  }
}

DMLREF_TARGET_AVX512VNNI inline void stage(const StageArgs& t) noexcept {
  const __m512i fills = _mm512_set1_epi8(static_cast<char>(t.fill));
  for (std::ptrdiff_t p = 0; p < t.planes; ++p) {
    std::uint8_t* dst = t.dst + p * t.dst_plane_step;
    const std::uint8_t* src = t.src + p * t.plane_step;
    std::uint8_t* const end = dst + t.plane_bytes;
    for (std::ptrdiff_t i = 0; i < t.before; i += 64) _mm512_storeu_si512(dst + i, fills);
    dst += t.before;
    t.pitch <= 16 && t.width < 16 ? stage_short_rows(t, src, dst) : stage_long_rows(t, src, dst);
    fill_to(dst + t.rows * t.pitch, end, fills);
  }
}

/// Even bytes of 128 at src, of which `count` exist.
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i even_bytes(const std::uint8_t* src,
                                                                          std::ptrdiff_t count) noexcept {
  const __m512i low_byte = _mm512_set1_epi16(0xFF);
  const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
  const __m512i a = _mm512_maskz_loadu_epi8(first_bytes(count), src);
  const __m512i b = count > 64 ? _mm512_maskz_loadu_epi8(first_bytes(count - 64), src + 64) : _mm512_setzero_si512();
  const __m512i even = _mm512_packus_epi16(_mm512_and_si512(a, low_byte), _mm512_and_si512(b, low_byte));
  return _mm512_permutexvar_epi64(order, even);
}

DMLREF_TARGET_AVX512VNNI inline void stage_even(const StageArgs& t) noexcept {
  const __m512i fills = _mm512_set1_epi8(static_cast<char>(t.fill));
  const __m512i flips = _mm512_set1_epi8(static_cast<char>(t.flip));
  for (std::ptrdiff_t p = 0; p < t.planes; ++p) {
    std::uint8_t* dst = t.dst + p * t.dst_plane_step;
    const std::uint8_t* src = t.src + p * t.plane_step;
    std::uint8_t* const end = dst + t.plane_bytes;
    for (std::ptrdiff_t i = 0; i < t.before; i += 64) _mm512_storeu_si512(dst + i, fills);
    dst += t.before;
    for (std::ptrdiff_t r = 0; r < t.rows; ++r, src += t.row_step, dst += t.pitch) {
      for (std::ptrdiff_t i = 0; i < t.pitch; i += 64) {
        __m512i v = fills;
        if (i < t.width) {
          const __m512i even = even_bytes(src + 2 * i, 2 * (t.width - i) - 1);
          v = _mm512_mask_mov_epi8(fills, first_bytes(t.width - i), _mm512_xor_si512(even, flips));
        }
        _mm512_storeu_si512(dst + i, v);
      }
    }
    fill_to(dst, end, fills);
  }
}

/// Whole vectors where what lies behind the row is written later, masks (which are slow to store) where it is not.
DMLREF_TARGET_AVX512VNNI inline void unstage(const UnstageArgs& t) noexcept {
  const bool is_short = t.width < 16;
  const std::ptrdiff_t whole = is_short ? 0 : t.width / 32 * 32;
  const std::ptrdiff_t vector = is_short ? 16 : 32;
  const auto rest = static_cast<__mmask32>((std::uint64_t{1} << (t.width - whole)) - 1);
  for (std::ptrdiff_t p = 0; p < t.planes; ++p) {
    const std::uint8_t* src = t.src + p * t.plane_step;
    std::uint8_t* dst = t.dst + p * t.dst_plane_step;
    std::ptrdiff_t r = t.rows;
    // Rows that have another row's bytes, or the next plane's, for a vector behind them.
    std::ptrdiff_t masked = t.ahead(p, 0) == t.width ? r : 0;
    while (masked < r && t.ahead(p, r - 1 - masked) - whole < vector) ++masked;
    if (rest == 0) masked = 0;
    if (is_short) {
      for (; r > masked; --r, src += t.row_step, dst += t.dst_row_step) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), _mm_loadu_si128(reinterpret_cast<const __m128i*>(src)));
      }
    } else {
      const std::ptrdiff_t bytes = rest == 0 ? whole : whole + 32;
      for (; r > masked; --r, src += t.row_step, dst += t.dst_row_step) {
        for (std::ptrdiff_t i = 0; i < bytes; i += 32) {
          const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + i));
          _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + i), v);
        }
      }
    }
    for (; r > 0; --r, src += t.row_step, dst += t.dst_row_step) {
      for (std::ptrdiff_t i = 0; i < whole; i += 32) {
        const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + i));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + i), v);
      }
      const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + whole));
      _mm256_mask_storeu_epi8(dst + whole, rest, v);
    }
  }
}

}  // namespace fast::qlc::direct::avx512vnni
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
