// sums.hpp: sums over the input, for filter zero points. Of bytes that lie side by side, a pixel's channels, sixteen
// pixels at a time: dot products with ones leave sixteen partial sums in a vector, or in a part of it, and vectors are
// folded into each other until there is one sum for each pixel.
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
template <bool Flipped>
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i sum_bytes(__m512i bytes, __m512i ones) noexcept {
  return add_bytes<Flipped>(_mm512_setzero_si512(), bytes, ones);
}

// How sixteen runs are summed, by their length. `beyond`: how far behind a run its loads reach, unless they are Masked.

/// The 128-bit halves of 256 bits are halves of a run.
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i add_halves(__m512i a, __m512i b) noexcept {
  return _mm512_add_epi32(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xDD));
}

/// At most 32 bytes: two runs to a vector.
template <bool Flipped>
struct Pairs {
  std::ptrdiff_t beyond;
  __mmask32 used;
  __m512i ones;

  DMLREF_TARGET_AVX512VNNI explicit Pairs(std::ptrdiff_t count) noexcept
      : beyond(32 - count), used(static_cast<__mmask32>(0xFFFFFFFFu >> (32 - count))) {
    ones = _mm512_maskz_set1_epi8(std::uint64_t{used} << 32 | used, 1);
  }
  template <bool Masked>
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m256i load(const std::uint8_t* src) const noexcept {
    return Masked ? _mm256_maskz_loadu_epi8(used, src) : _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src));
  }
  template <bool Masked>
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i of(const std::uint8_t* src,
                                                           std::ptrdiff_t step) const noexcept {
    __m512i eight[2];
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h, src += 4 * step) {
      __m512i vectors[4];  // runs i and i + 4
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i, src += step) {
        const __m512i two =
            _mm512_inserti64x4(_mm512_castsi256_si512(load<Masked>(src)), load<Masked>(src + 4 * step), 1);
        vectors[i] = sum_bytes<Flipped>(two, ones);
      }
      eight[h] = fold_four(vectors);
    }
    return add_halves(eight[0], eight[1]);
  }
};

/// One run to a vector, or to several: the last one ends with the run.
template <bool Flipped>
struct Vectors {
  std::ptrdiff_t beyond, whole, last;
  __mmask64 used;
  __m512i ones;  // of the last vector

  DMLREF_TARGET_AVX512VNNI explicit Vectors(std::ptrdiff_t count) noexcept
      : beyond(count < 64 ? 64 - count : 0),
        whole((count - 1) / 64 * 64),
        last(count < 64 ? 0 : count - 64),
        used(count < 64 ? ~std::uint64_t{0} >> (64 - count) : ~std::uint64_t{0}) {
    ones = _mm512_maskz_set1_epi8(count < 64 ? used : ~std::uint64_t{0} << (64 - (count - whole)), 1);
  }
  template <bool Masked>
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i of(const std::uint8_t* src,
                                                           std::ptrdiff_t step) const noexcept {
    __m512i quarter[4];
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q, src += 4 * step) {
      __m512i run[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) run[i] = sum_bytes<Flipped>(load<Masked>(src + last + i * step), ones);
      for (std::ptrdiff_t at = 0; at < whole; at += 64) {
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
          run[i] = add_bytes<Flipped>(run[i], _mm512_loadu_si512(src + at + i * step), _mm512_set1_epi8(1));
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
  template <bool Masked>
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i load(const std::uint8_t* src) const noexcept {
    return Masked ? _mm512_maskz_loadu_epi8(used, src) : _mm512_loadu_si512(src);
  }
};

/// At least 16 runs; the last 16 may overlap those before. `more` is added to each sum.
template <class Sixteen>
DMLREF_TARGET_AVX512VNNI inline void sum_sixteens(const Sixteen& sixteen, const std::uint8_t* src, std::ptrdiff_t step,
                                                  std::ptrdiff_t runs, std::int32_t more, std::int32_t* sums) noexcept {
  const __m512i added = _mm512_set1_epi32(more);
  const std::ptrdiff_t last = runs - 16;
  std::ptrdiff_t r = 0;
  for (; r < last && (last - r) * step >= sixteen.beyond; r += 16) {
    const __m512i sum = sixteen.template of<false>(src + r * step, step);
    _mm512_storeu_si512(sums + r, _mm512_add_epi32(sum, added));
  }
  for (; r < runs; r += 16) {
    if (r > last) r = last;
    const __m512i sum = sixteen.template of<true>(src + r * step, step);
    _mm512_storeu_si512(sums + r, _mm512_add_epi32(sum, added));
  }
}

template <bool Flipped>
DMLREF_TARGET_AVX512VNNI inline std::int32_t sum_run(const std::uint8_t* src, std::ptrdiff_t count) noexcept {
  const __m512i ones = _mm512_set1_epi8(1);
  __m512i total = _mm512_setzero_si512();
  for (; count > 64; count -= 64, src += 64) total = add_bytes<Flipped>(total, _mm512_loadu_si512(src), ones);
  const __m512i rest = _mm512_maskz_loadu_epi8(~std::uint64_t{0} >> (64 - count), src);
  return _mm512_reduce_add_epi32(add_bytes<Flipped>(total, rest, ones));
}

template <bool Flipped>
DMLREF_TARGET_AVX512VNNI inline void sum_runs_of(const std::uint8_t* src, std::ptrdiff_t count, std::ptrdiff_t step,
                                                 std::ptrdiff_t runs, std::int32_t* sums) noexcept {
  const auto more = Flipped ? static_cast<std::int32_t>(128 * count) : 0;
  if (runs < 16) {
    for (std::ptrdiff_t r = 0; r < runs; ++r) sums[r] = sum_run<Flipped>(src + r * step, count) + more;
  } else if (count <= 32) {
    sum_sixteens(Pairs<Flipped>(count), src, step, runs, more, sums);
  } else {
    sum_sixteens(Vectors<Flipped>(count), src, step, runs, more, sums);
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

/// N vectors of windows, `stride` apart: 1 or, Dealt, 2.
template <bool Dealt, int N>
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE void sum_taps(const std::int32_t* from, std::ptrdiff_t taps,
                                                            std::ptrdiff_t tap_step, std::int32_t* sums) noexcept {
  constexpr int loaded = Dealt ? 2 * N : N;
  __m512i sum[static_cast<std::size_t>(loaded)];
#pragma GCC unroll 8
  for (int v = 0; v < loaded; ++v) sum[v] = _mm512_loadu_si512(from + 16 * v);
  for (std::ptrdiff_t t = 1; t < taps; ++t) {
    from += tap_step;
#pragma GCC unroll 8
    for (int v = 0; v < loaded; ++v) sum[v] = _mm512_add_epi32(sum[v], _mm512_loadu_si512(from + 16 * v));
  }
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
#pragma GCC unroll 8
  for (int v = 0; v < N; ++v) {
    if constexpr (Dealt) sum[v] = _mm512_permutex2var_epi32(sum[2 * v], even, sum[2 * v + 1]);
    _mm512_storeu_si512(sums + 16 * v, sum[v]);
  }
}
template <bool Dealt>
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE void sum_windows_of(const std::int32_t* from, std::ptrdiff_t taps,
                                                                  std::ptrdiff_t tap_step, std::ptrdiff_t count,
                                                                  std::int32_t* sums) noexcept {
  constexpr int at_once = 4;
  constexpr std::ptrdiff_t stride = Dealt ? 2 : 1;
  std::ptrdiff_t i = 0;
  for (; i + 16 * (at_once - 1) < count; i += 16 * at_once) {
    sum_taps<Dealt, at_once>(from + stride * i, taps, tap_step, sums + i);
  }
  for (; i < count; i += 16) sum_taps<Dealt, 1>(from + stride * i, taps, tap_step, sums + i);
}

DMLREF_TARGET_AVX512VNNI inline void sum_windows(const std::int32_t* from, std::ptrdiff_t taps, std::ptrdiff_t tap_step,
                                                 std::ptrdiff_t stride, std::ptrdiff_t count,
                                                 std::int32_t* sums) noexcept {
  if (stride == 1) {
    sum_windows_of<false>(from, taps, tap_step, count, sums);
  } else if (stride == 2) {
    sum_windows_of<true>(from, taps, tap_step, count, sums);
  } else {
    portable::sum_windows(from, taps, tap_step, stride, count, sums);
  }
}

DMLREF_TARGET_AVX512VNNI inline void halve_sums(std::int32_t* sums, std::ptrdiff_t count) noexcept {
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
