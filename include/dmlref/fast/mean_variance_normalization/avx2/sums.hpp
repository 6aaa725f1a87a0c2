// sums.hpp: sums of floats as doubles, and float16 widened for them.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/fast/mean_variance_normalization/avx2/vectors.hpp"
#include "dmlref/fast/mean_variance_normalization/kernels.hpp"

DMLREF_BEGIN
namespace fast::normalization::avx2 {

DMLREF_TARGET_AVX2 inline void widen8(const std::byte* halves, float* floats) noexcept {
  _mm256_storeu_ps(floats, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(halves))));
}
// (Unrolled: five instructions may lie across two lines of the instruction cache, and then take twice as long.)
DMLREF_TARGET_AVX2 inline void widen(const std::byte* halves, float* floats, std::size_t count) noexcept {
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    DMLREF_UNROLL
    for (std::size_t v = 0; v < 32; v += 8) widen8(halves + (i + v) * 2, floats + i + v);
  }
  for (; i + 8 <= count; i += 8) widen8(halves + i * 2, floats + i);
  if (i < count) {
    alignas(16) std::uint16_t in[8]{};
    alignas(32) float out[8];
    std::memcpy(in, halves + i * 2, (count - i) * 2);
    _mm256_store_ps(out, _mm256_cvtph_ps(_mm_load_si128(reinterpret_cast<const __m128i*>(in))));
    std::memcpy(floats + i, out, (count - i) * sizeof(float));
  }
}

/// Lanes 0-3, 4-7, 8-11, 12-15 in the order of reference::sum_lanes.
DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE double sum_lanes(__m256d a, __m256d b, __m256d c, __m256d d) noexcept {
  const __m256d four = _mm256_add_pd(_mm256_add_pd(a, c), _mm256_add_pd(b, d));
  const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

/// The lanes in registers.
struct Accumulators {
  __m256d sum[4];
  __m256d square[4];
};

DMLREF_TARGET_AVX2 inline Accumulators no_lanes() noexcept {
  Accumulators lanes;
  DMLREF_UNROLL
  for (std::size_t v = 0; v < 4; ++v) lanes.sum[v] = lanes.square[v] = _mm256_setzero_pd();
  return lanes;
}
DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE SumAndSquare total(const Accumulators& lanes) noexcept {
  const auto& [s, q] = lanes;
  return {sum_lanes(s[0], s[1], s[2], s[3]), sum_lanes(q[0], q[1], q[2], q[3])};
}

DMLREF_TARGET_AVX2 inline void add_block(Accumulators& lanes, const float* floats) noexcept {
  DMLREF_UNROLL
  for (std::size_t v = 0; v < 4; ++v) {
    const __m256d x = _mm256_cvtps_pd(_mm_loadu_ps(floats + 4 * v));
    lanes.sum[v] = _mm256_add_pd(lanes.sum[v], x);
    lanes.square[v] = _mm256_fmadd_pd(x, x, lanes.square[v]);
  }
}

/// Adds to the lanes, a multiple of 16 elements unless they are the chunk's last: what is left of a block is taken as
/// zeros, which change no plain sum; where `shifted`, a mask leaves them out. `ask`: for the lines of `output`, which
/// are written next.
template <bool shifted, bool keep, bool ask>
DMLREF_TARGET_AVX2 inline void add_to(Accumulators& lanes, const std::byte* floats, std::size_t count, double pivot,
                                      double* wide, const std::byte* output) noexcept {
  const __m256d p = _mm256_set1_pd(pivot);
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    if constexpr (ask) __builtin_prefetch(output + i * sizeof(float), 1);
    DMLREF_UNROLL
    for (std::size_t v = 0; v < 4; ++v) {
      __m256d x = _mm256_cvtps_pd(_mm_loadu_ps(floats_at(floats, i + 4 * v)));
      if constexpr (keep) _mm256_storeu_pd(wide + i + 4 * v, x);
      if constexpr (shifted) x = _mm256_sub_pd(x, p);
      lanes.sum[v] = _mm256_add_pd(lanes.sum[v], x);
      lanes.square[v] = _mm256_fmadd_pd(x, x, lanes.square[v]);
    }
  }
  if (i < count) {
    alignas(32) float last[16]{};
    std::memcpy(last, floats + i * sizeof(float), (count - i) * sizeof(float));
    const __m256i n = _mm256_set1_epi64x(static_cast<long long>(count - i));
    DMLREF_UNROLL
    for (std::size_t v = 0; v < 4; ++v) {
      __m256d x = _mm256_cvtps_pd(_mm_load_ps(last + 4 * v));
      if constexpr (keep) _mm256_storeu_pd(wide + i + 4 * v, x);
      if constexpr (shifted) {
        const auto lane = static_cast<long long>(4 * v);
        const __m256i counts = _mm256_cmpgt_epi64(n, _mm256_setr_epi64x(lane, lane + 1, lane + 2, lane + 3));
        x = _mm256_and_pd(_mm256_sub_pd(x, p), _mm256_castsi256_pd(counts));
      }
      lanes.sum[v] = _mm256_add_pd(lanes.sum[v], x);
      lanes.square[v] = _mm256_fmadd_pd(x, x, lanes.square[v]);
    }
  }
}

template <bool shifted, bool keep, bool ask>
DMLREF_TARGET_AVX2 inline SumAndSquare sums_of(const std::byte* floats, std::size_t count, double pivot, double* wide,
                                               const std::byte* output) noexcept {
  Accumulators lanes = no_lanes();
  add_to<shifted, keep, ask>(lanes, floats, count, pivot, wide, output);
  return total(lanes);
}
DMLREF_TARGET_AVX2 inline SumAndSquare sums(const std::byte* floats, std::size_t count, double* wide,
                                            const std::byte* output) noexcept {
  if (output != nullptr) {
    return wide != nullptr ? sums_of<false, true, true>(floats, count, 0.0, wide, output)
                           : sums_of<false, false, true>(floats, count, 0.0, nullptr, output);
  }
  return wide != nullptr ? sums_of<false, true, false>(floats, count, 0.0, wide, nullptr)
                         : sums_of<false, false, false>(floats, count, 0.0, nullptr, nullptr);
}
DMLREF_TARGET_AVX2 inline SumAndSquare shifted_sums(const std::byte* floats, std::size_t count, double pivot) noexcept {
  return sums_of<true, false, false>(floats, count, pivot, nullptr, nullptr);
}

DMLREF_TARGET_AVX2 inline SumAndSquare piece_sums(const std::byte* from, const Piece* pieces, std::size_t count,
                                                  std::int64_t ahead) noexcept {
  Accumulators lanes = no_lanes();
  for (std::size_t p = 0; p < count; ++p) {
    const std::byte* const start = from + pieces[p].from;
    for (std::size_t i = 0; i < pieces[p].count; i += 16) {
      const float* const x = floats_at(start, i);
      _mm_prefetch(reinterpret_cast<const char*>(x) + ahead, _MM_HINT_T1);
      add_block(lanes, x);
    }
  }
  return total(lanes);
}

}  // namespace fast::normalization::avx2
DMLREF_END

#endif  // DMLREF_ARCH_X86_64
