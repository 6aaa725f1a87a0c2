// avx2.hpp: vpmaddwd on 8 lanes of two sixteen-bit values, which is exact: the staged activations and the packed
// weights are widened (vpmaddubsw would saturate).
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/int8/avx2/staging.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/int8/portable.hpp"
#include "dmlref/requantize/avx2.hpp"
#include "dmlref/simd/x86.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <bit>
#include <cstring>
#include <type_traits>

DMLREF_BEGIN
namespace fast::qlc::avx2 {

using V = simd::avx2::Vector;
namespace rounding = requantize::avx2;
using Epilogue = rounding::TileEpilogue;
// Not _mm256_add_epi32: compilers reassociate the sums of two steps and keep the products of many rows at once, for
// which there are no registers. clang needs the order fixed, g++ schedules better where it is not.
DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE void multiply_add(__m256i& sums, __m256i activations,
                                                          __m256i weights) noexcept {
  const __m256i products = _mm256_madd_epi16(activations, weights);
#if defined(__clang__)
  __asm__ volatile("vpaddd {%1, %0, %0|%0, %0, %1}" : "+x"(sums) : "x"(products));
#else
  __asm__("vpaddd {%1, %0, %0|%0, %0, %1}" : "+x"(sums) : "x"(products));
#endif
}
inline constexpr int held_weights = 2, held_pixels = 2;
#define DMLREF_QLC_TARGET DMLREF_TARGET_AVX2
#include "dmlref/int8/tiles-inl.hpp"
#undef DMLREF_QLC_TARGET

// ---- Sums over the input, for filter zero points --------------------------------------------------------------------

DMLREF_TARGET_AVX2 inline std::int32_t sum_lanes(__m256i v) noexcept {
  __m128i s = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4E));
  s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xB1));
  return _mm_cvtsi128_si32(s);
}

/// -1 in the first `count` of 16 lanes.
DMLREF_TARGET_AVX2 inline __m256i first_lanes(std::ptrdiff_t count) noexcept {
  alignas(32) static constexpr std::int16_t ones_then_zeros[32] = {-1, -1, -1, -1, -1, -1, -1, -1,
                                                                   -1, -1, -1, -1, -1, -1, -1, -1};
  return load(ones_then_zeros + 16 - count);
}

/// The sum of `count` staged values, lane by lane. Bytes (Group 4) may be the caller's: `count` fills vectors. Widened
/// values are in our memory, which has slack beyond the last one.
template <int Group>
DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE __m256i sum_vectors(const std::uint8_t* src, std::ptrdiff_t count) noexcept {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i total = zero;
  for (; count >= 8 * Group; count -= 8 * Group, src += 32) {
    const __m256i part = Group == 4 ? _mm256_sad_epu8(load(src), zero) : _mm256_madd_epi16(load(src), ones);
    total = _mm256_add_epi32(total, part);
  }
  if constexpr (Group == 2) {
    if (count != 0) {
      total = _mm256_add_epi32(total, _mm256_madd_epi16(_mm256_and_si256(load(src), first_lanes(count)), ones));
    }
  }
  return total;
}

template <int Group>
DMLREF_TARGET_AVX2 inline void sum_runs(const std::uint8_t* src, std::ptrdiff_t count, std::ptrdiff_t pixel_step,
                                        std::ptrdiff_t pixels, std::int32_t* sums) noexcept {
  using Value = std::conditional_t<Group == 4, std::uint8_t, std::uint16_t>;
  if (count < 4) return portable::sum_runs<Value>(src, count, pixel_step, pixels, sums);
  const std::ptrdiff_t rest = Group == 4 ? count % 32 : 0;
  const std::ptrdiff_t whole = count - rest;
  for (std::ptrdiff_t p = 0; p < pixels; ++p) {
    const std::uint8_t* const run = src + p * pixel_step;
    auto sum = static_cast<std::uint32_t>(sum_lanes(sum_vectors<Group>(run, whole)));
    for (std::ptrdiff_t i = whole; i < count; ++i) sum += run[i];
    sums[p] = static_cast<std::int32_t>(sum);
  }
}

// ---- Sums from memory, corrected; bytes, transposed
// -------------------------------------------------------------------

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

// ---- Kernels --------------------------------------------------------------------------------------------------------

/// All but the tiles, for every set of x86-64: of bytes (Group 4) or widened (Group 2).
template <int Group>
constexpr Kernels make_helpers() noexcept {
  Kernels k = portable::make_helpers();
  k.lanes = 8;
  k.group = Group;
  k.requantize = true;
  k.rounds_by_multiply_add = true;
  k.rows_alike = Epilogue::rows_alike;
  k.interleave = &interleave<Group>;
  k.windows = Group == 2 ? &windows2 : &windows4;
  k.convert = &convert<Group>;
  k.sum_runs = &sum_runs<Group>;
  k.add_outer = &add_outer;
  k.quantize = &requantize::avx2::clamped;
  k.transpose = &transpose;
  k.gather_pixels = &gather_pixels<Group>;
  return k;
}

constexpr Kernels make_kernels() noexcept {
  Kernels k = make_helpers<2>();
  set_tiles(k);
  return k;
}
inline constexpr Kernels kernels = make_kernels();

}  // namespace fast::qlc::avx2
DMLREF_END
#endif
