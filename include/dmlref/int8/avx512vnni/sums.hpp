// sums.hpp: sums over the input, for filter zero points. Of bytes that lie side by side, a pixel's channels, sixteen
// pixels at a time: dot products with ones leave sixteen partial sums in a vector, or in a part of it, and vectors are
// added to each other until there is one sum for each pixel.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/int8/portable.hpp"
#include "dmlref/view/narrow.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::avx512vnni {

/// Adds neighbours of a and of b, and puts the sums side by side, in each 128 bits.
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i fold(__m512i a, __m512i b) noexcept {
  const __m512 x = _mm512_castsi512_ps(a);
  const __m512 y = _mm512_castsi512_ps(b);
  return _mm512_add_epi32(_mm512_castps_si512(_mm512_shuffle_ps(x, y, 0x88)),
                          _mm512_castps_si512(_mm512_shuffle_ps(x, y, 0xDD)));
}

/// Four vectors to the sums of their elements in each 128 bits, side by side.
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i fold_four(const __m512i (&of)[4]) noexcept {
  return fold(fold(of[0], of[1]), fold(of[2], of[3]));
}

/// Added to `sums`: four bytes to each, or Flipped, as signed ones, which are 128 less.
template <bool Flipped>
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i add_bytes(__m512i sums, __m512i bytes, __m512i ones) noexcept {
  return Flipped ? _mm512_dpbusd_epi32(sums, ones, bytes) : _mm512_dpbusd_epi32(sums, bytes, ones);
}
/// The first of up to 64 bytes.
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i load_first(const std::uint8_t* from,
                                                                 std::ptrdiff_t count) noexcept {
  return _mm512_maskz_loadu_epi8(count < 64 ? ~std::uint64_t{0} >> (64 - count) : ~std::uint64_t{0}, from);
}

/// Adds the 128-bit halves of each 256 bits.
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i add_halves(__m512i a, __m512i b) noexcept {
  return _mm512_add_epi32(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xDD));
}

/// Sixteen runs of `count` bytes, `step` apart.
template <bool Flipped>
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i sum_sixteen(const std::uint8_t* src, std::ptrdiff_t count,
                                                                  std::ptrdiff_t step) noexcept {
  __m512i quarter[4];
  DMLREF_UNROLL
  for (int q = 0; q < 4; ++q) {
    if (q > 0) src += 4 * step;
    __m512i run[4] = {};
    for (std::ptrdiff_t at = 0; at < count; at += 64) {
      DMLREF_UNROLL
      for (int i = 0; i < 4; ++i) {
        run[i] = add_bytes<Flipped>(run[i], load_first(src + at + i * step, count - at), _mm512_set1_epi8(1));
      }
    }
    quarter[q] = fold_four(run);
  }
  // Add the four 128-bit parts of each.
  const __m512i sum01 = _mm512_add_epi32(_mm512_shuffle_i32x4(quarter[0], quarter[1], 0x44),
                                         _mm512_shuffle_i32x4(quarter[0], quarter[1], 0xEE));
  const __m512i sum23 = _mm512_add_epi32(_mm512_shuffle_i32x4(quarter[2], quarter[3], 0x44),
                                         _mm512_shuffle_i32x4(quarter[2], quarter[3], 0xEE));
  return add_halves(sum01, sum23);
}

/// The same of at most 32 bytes: two runs to a vector.
template <bool Flipped>
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i sum_sixteen_short(const std::uint8_t* src, std::ptrdiff_t count,
                                                                        std::ptrdiff_t step) noexcept {
  const __mmask32 used = 0xFFFFFFFFu >> (32 - count);
  __m512i eight[2];
  DMLREF_UNROLL
  for (int h = 0; h < 2; ++h) {
    if (h > 0) src += 5 * step;  // from the fourth run past the four others
    __m512i vectors[4] = {};
    DMLREF_UNROLL
    for (int i = 0; i < 4; ++i) {
      if (i > 0) src += step;
      const __m256i run = _mm256_maskz_loadu_epi8(used, src), other = _mm256_maskz_loadu_epi8(used, src + 4 * step);
      const __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(run), other, 1);
      vectors[i] = add_bytes<Flipped>(vectors[i], both, _mm512_set1_epi8(1));
    }
    eight[h] = fold_four(vectors);
  }
  return add_halves(eight[0], eight[1]);
}

/// The same of at most 4 bytes, side by side: four runs to 128 bits. Reads 16 bytes from every fourth run on.
template <bool Flipped>
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i sum_sixteen_tiny(const std::uint8_t* src,
                                                                       std::ptrdiff_t count) noexcept {
  const auto four = [&](std::ptrdiff_t i) __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + 4 * i * count));
  };
  const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(four(0)), four(1), 1);
  const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(four(2)), four(3), 1);
  const __m128i runs =
      _mm_mullo_epi32(_mm_set1_epi32(static_cast<int>(count) * 0x01010101), _mm_setr_epi32(0, 1, 2, 3));
  const __m512i order = _mm512_broadcast_i32x4(_mm_add_epi8(runs, _mm_set1_epi32(0x03020100)));
  const __mmask64 used = 0x1111111111111111u * ((1u << count) - 1);
  const __m512i all = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  return add_bytes<Flipped>(_mm512_setzero_si512(), _mm512_mask_shuffle_epi8(_mm512_setzero_si512(), used, all, order),
                            _mm512_set1_epi8(1));
}

template <bool Flipped>
DMLREF_TARGET_AVX512VNNI inline std::int32_t sum_run(const std::uint8_t* src, std::ptrdiff_t count) noexcept {
  __m512i total = _mm512_setzero_si512();
  for (std::ptrdiff_t at = 0; at < count; at += 64) {
    total = add_bytes<Flipped>(total, load_first(src + at, count - at), _mm512_set1_epi8(1));
  }
  return _mm512_reduce_add_epi32(total);
}

/// The last 16 runs may overlap those before.
template <bool Flipped>
DMLREF_TARGET_AVX512VNNI inline void sum_runs_of(const std::uint8_t* src, std::ptrdiff_t count, std::ptrdiff_t step,
                                                 std::ptrdiff_t runs, std::int32_t* sums) noexcept {
  const std::int32_t more = Flipped ? dmlref::detail::narrow<std::int32_t>(128 * count) : 0;  // AMX: at most 65536
  for (std::ptrdiff_t r = 0; r < runs && runs < 16; ++r) sums[r] = sum_run<Flipped>(src + r * step, count) + more;
  for (std::ptrdiff_t r = 0; r < runs && runs >= 16; r += 16) {
    if (r > runs - 16) r = runs - 16;
    const bool tiny = count <= 4 && step == count && runs - r > 32;  // what is read beyond a run is of the next ones
    const __m512i sum = tiny          ? sum_sixteen_tiny<Flipped>(src + r * step, count)
                        : count <= 32 ? sum_sixteen_short<Flipped>(src + r * step, count, step)
                                      : sum_sixteen<Flipped>(src + r * step, count, step);
    _mm512_storeu_si512(sums + r, _mm512_add_epi32(sum, _mm512_set1_epi32(more)));
  }
}

inline void sum_runs(const std::uint8_t* src, std::ptrdiff_t count, std::ptrdiff_t step, std::ptrdiff_t runs,
                     std::int32_t* sums) noexcept {
  sum_runs_of<false>(src, count, step, runs, sums);
}
/// Of bytes whose top bits are to be flipped.
inline void sum_flipped_runs(const std::uint8_t* src, std::ptrdiff_t count, std::ptrdiff_t step, std::ptrdiff_t runs,
                             std::int32_t* sums) noexcept {
  sum_runs_of<true>(src, count, step, runs, sums);
}

DMLREF_TARGET_AVX512VNNI inline void sum_windows(const std::int32_t* from, std::ptrdiff_t taps, std::ptrdiff_t tap_step,
                                                 std::ptrdiff_t stride, std::ptrdiff_t count,
                                                 std::int32_t* sums) noexcept {
  if (stride > 2) return portable::sum_windows(from, taps, tap_step, stride, count, sums);
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  for (std::ptrdiff_t i = 0; i < count; i += 16) {
    const std::int32_t* at = from + stride * i;
    __m512i low = _mm512_setzero_si512(), high = low;
    for (std::ptrdiff_t t = 0; t < taps; ++t, at += tap_step) {
      low = _mm512_add_epi32(low, _mm512_loadu_si512(at));
      if (stride == 2) high = _mm512_add_epi32(high, _mm512_loadu_si512(at + 16));
    }
    _mm512_storeu_si512(sums + i, stride == 1 ? low : _mm512_permutex2var_epi32(low, even, high));
  }
}

DMLREF_TARGET_AVX512VNNI inline void split16_sums(std::int32_t* sums, std::ptrdiff_t count) noexcept {
  for (std::ptrdiff_t i = 0; i < count; i += 16) {
    const __m512i sum = _mm512_loadu_si512(sums + i);
    const __m512i high = _mm512_srli_epi32(sum, 8);
    const __m512i low = _mm512_add_epi32(_mm512_and_si512(sum, _mm512_set1_epi32(255)), high);
    _mm512_storeu_si512(sums + i, _mm512_add_epi32(low, _mm512_slli_epi32(high, 16)));
  }
}

}  // namespace fast::qlc::avx512vnni
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
