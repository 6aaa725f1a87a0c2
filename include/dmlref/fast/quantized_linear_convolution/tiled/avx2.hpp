// avx2.hpp: vpmaddwd on 8 lanes of two sixteen-bit values, which is exact: the staged activations and the packed
// weights are widened (vpmaddubsw would saturate). The helpers serve AVX-VNNI too, with four bytes per group.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/requantize/avx2.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/portable.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <bit>
#include <cstring>
#include <type_traits>

DMLREF_BEGIN
namespace fast::qlc::avx2 {

// Not _mm256_add_epi32: compilers reassociate the sums of two steps and keep the products of many rows at once, for
// which there are no registers. clang wants the order fixed, g++ schedules better where it is not.
DMLREF_TARGET_AVX2 inline __m256i dot(__m256i sums, __m256i activations, __m256i weights) noexcept {
  const __m256i products = _mm256_madd_epi16(activations, weights);
#if defined(__clang__)
  __asm__ volatile("vpaddd {%1, %0, %0|%0, %0, %1}" : "+x"(sums) : "x"(products));
#else
  __asm__("vpaddd {%1, %0, %0|%0, %0, %1}" : "+x"(sums) : "x"(products));
#endif
  return sums;
}

inline constexpr int held_vectors = 2;
#define DMLREF_QLC_TARGET DMLREF_TARGET_AVX2
#include "dmlref/fast/quantized_linear_convolution/tiled/tiles256.hpp"
#undef DMLREF_QLC_TARGET

DMLREF_TARGET_AVX2 inline __m128i load16(const std::uint8_t* from) noexcept {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

DMLREF_TARGET_AVX2 inline void store16(std::uint8_t* to, __m128i value) noexcept {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), value);
}

DMLREF_TARGET_AVX2 inline void store32(std::uint8_t* to, __m256i value) noexcept {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), value);
}

/// Bytes to groups: as they are, or widened.
template <int Group>
DMLREF_TARGET_AVX2 inline void store_groups(std::uint8_t* to, __m128i bytes) noexcept {
  if constexpr (Group == 4) {
    store16(to, bytes);
  } else {
    store32(to, _mm256_cvtepu8_epi16(bytes));
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

/// 4 pixels.
template <int Group>
DMLREF_TARGET_AVX2 inline void interleave4(const std::uint8_t* const* rows, std::ptrdiff_t at, __m128i flip,
                                           std::uint8_t* dst) noexcept {
  constexpr std::size_t count = Group;
  __m128i c[count];
#pragma GCC unroll 4
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
  } else if (count >= 4) {
    for (; i + 4 <= count; i += 4) interleave4<Group>(rows, i, flips, dst);
    if (i < count) interleave4<Group>(rows, count - 4, flips, dst);
  } else {
    portable::interleave<Group>(rows, count, flip, dst);
  }
}

DMLREF_TARGET_AVX2 inline void deal(const std::uint8_t* src, std::ptrdiff_t step, std::ptrdiff_t count,
                                    std::uint8_t* dst) noexcept {
  std::ptrdiff_t i = 0;
  if (step == 2) {
    for (; i + 8 <= count; i += 8) {
      const __m256 low = _mm256_castsi256_ps(load(src + 8 * i));
      const __m256 high = _mm256_castsi256_ps(load(src + 8 * i + 32));
      const __m256i even = _mm256_castps_si256(_mm256_shuffle_ps(low, high, 0x88));
      store32(dst + 4 * i, _mm256_permute4x64_epi64(even, 0xD8));
    }
  }
  portable::deal(src + 4 * step * i, step, count - i, dst + 4 * i);
}

template <int Group>
DMLREF_TARGET_AVX2 inline void convert(const std::uint8_t* src, std::ptrdiff_t count, std::uint8_t flip,
                                       std::uint8_t* dst) noexcept {
  const __m128i flips = _mm_set1_epi8(static_cast<char>(flip));
  std::ptrdiff_t i = 0;
  for (; i + 16 <= count; i += 16) store_groups<Group>(dst + 4 / Group * i, _mm_xor_si128(load16(src + i), flips));
  portable::convert<Group>(src + i, count - i, flip, dst + 4 / Group * i);
}

/// Two neighbours each: the steps 1 and 2 are all that staging asks for.
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
    for (int p = 0; p < 16; ++p) places[p] = static_cast<std::uint8_t>(p / 4 * step + p % 4);
    const __m256i from = _mm256_broadcastsi128_si256(load16(places));
    const __m256i flips = _mm256_set1_epi8(static_cast<char>(flip));
    for (; i + 8 <= count; i += 8) {
      const __m256i bytes = _mm256_set_m128i(load16(src + (i + 4) * step), load16(src + i * step));
      store32(dst + 4 * i, _mm256_xor_si256(_mm256_shuffle_epi8(bytes, from), flips));
    }
  }
  portable::windows<4>(src + i * step, count - i, step, flip, dst + 4 * i);
}

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
/// values are in our memory, which has room beyond the last one.
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
  std::ptrdiff_t p = 0;
  if (rest == 0) {
    for (; p + 8 <= pixels; p += 8, src += 8 * pixel_step) {
      __m256i four[2];
#pragma GCC unroll 2
      for (int h = 0; h < 2; ++h) {
        const std::uint8_t* at = src + 4 * h * pixel_step;
        const __m256i low =
            _mm256_hadd_epi32(sum_vectors<Group>(at, count), sum_vectors<Group>(at + pixel_step, count));
        const __m256i high = _mm256_hadd_epi32(sum_vectors<Group>(at + 2 * pixel_step, count),
                                               sum_vectors<Group>(at + 3 * pixel_step, count));
        four[h] = _mm256_hadd_epi32(low, high);
      }
      const __m256i eight = _mm256_add_epi32(_mm256_permute2x128_si256(four[0], four[1], 0x20),
                                             _mm256_permute2x128_si256(four[0], four[1], 0x31));
      store32(reinterpret_cast<std::uint8_t*>(sums + p), eight);
    }
  }
  for (; p < pixels; ++p, src += pixel_step) {
    std::int32_t sum = sum_lanes(sum_vectors<Group>(src, whole));
    for (std::ptrdiff_t i = whole; i < count; ++i) sum += src[i];
    sums[p] = sum;
  }
}

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
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) {
    const std::uint8_t* row = src + j * src_pitch;
    a[j] = _mm256_set_m128i(load_first<Bytes>(row + 8 * src_pitch), load_first<Bytes>(row));
    a[j] = _mm256_xor_si256(a[j], flip);
  }
#pragma GCC unroll 3
  for (int round = 0; round < 3; ++round) {
    __m256i b[8];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      b[2 * j] = _mm256_unpacklo_epi8(a[j], a[j + 4]);
      b[2 * j + 1] = _mm256_unpackhi_epi8(a[j], a[j + 4]);
    }
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) a[j] = b[j];
  }
#pragma GCC unroll 8
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
#pragma GCC unroll 8
    for (int j = 0; j < Columns / 2; ++j, to += 2 * t.pixel_step) {
      if constexpr (Group == 4) {
        const __m256i pair = _mm256_permute4x64_epi64(pairs[j], 0xD8);
        store16(to, _mm256_castsi256_si128(pair));
        store16(to + t.pixel_step, _mm256_extracti128_si256(pair, 1));
      } else {
        store32(to, _mm256_unpacklo_epi8(pairs[j], _mm256_setzero_si256()));
        store32(to + t.pixel_step, _mm256_unpackhi_epi8(pairs[j], _mm256_setzero_si256()));
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
#pragma GCC unroll 8
      for (int j = 0; j < 8; ++j) {
        const __m256i pair = _mm256_permute4x64_epi64(pairs[j], 0xD8);
        columns[2 * j] = _mm256_castsi256_si128(pair);
        columns[2 * j + 1] = _mm256_extracti128_si256(pair, 1);
      }
      if (here == 16 && pixels >= 16) {
#pragma GCC unroll 16
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

constexpr Kernels make_kernels() noexcept {
  Kernels k{8,
            2,
            false,
            true,
            {},
            {},
            &interleave<2>,
            &deal,
            &windows2,
            &convert<2>,
            &sum_runs<2>,
            &portable::sum_windows,
            &portable::halve_sums,
            &add_outer,
            &requantize::avx2::clamped,
            &transpose};
  k.gather_pixels = &gather_pixels<2>;
  set_tiles(k);
  return k;
}
inline constexpr Kernels kernels = make_kernels();

}  // namespace fast::qlc::avx2
DMLREF_END
#endif
