// half_width.hpp: float32 for CPUs that take 512 bits in two turns (Zen 4): what full_width.hpp overlaps, with sums in
// vectors of four.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>

#include "dmlref/fast/mean_variance_normalization/avx2.hpp"
#include "dmlref/fast/mean_variance_normalization/avx512.hpp"
#include "dmlref/fast/mean_variance_normalization/avx512/full_width.hpp"
#include "dmlref/fast/mean_variance_normalization/kernels.hpp"

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::normalization::avx512::half_width {

/// The lanes in registers: 0-3, 4-7, 8-11, 12-15.
struct Lanes : avx2::Accumulators {
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static __m512d widen8(const float* floats) noexcept {
    return load8<false>(floats, nullptr);
  }
};
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE void clear(Lanes& lanes) noexcept {
  DMLREF_UNROLL
  for (std::size_t v = 0; v < 4; ++v) lanes.sum[v] = lanes.square[v] = _mm256_setzero_pd();
}
/// Adds sixteen elements; `wide` takes them as doubles. The two pipes that add are those that convert: all but `adds`
/// of four vectors are added by the other two, which multiply by `one`, 1.
template <std::size_t adds, bool keep>
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE void add_fours(avx2::Accumulators& lanes, const float* floats,
                                                             __m256d one, double* wide) noexcept {
  DMLREF_UNROLL
  for (std::size_t v = 0; v < 4; ++v) {
    const __m256d x = _mm256_cvtps_pd(_mm_loadu_ps(floats + 4 * v));
    if constexpr (keep) _mm256_storeu_pd(wide + 4 * v, x);
    lanes.sum[v] = v < adds ? _mm256_add_pd(lanes.sum[v], x) : _mm256_fmadd_pd(x, one, lanes.sum[v]);
    lanes.square[v] = _mm256_fmadd_pd(x, x, lanes.square[v]);
  }
  static_cast<void>(wide);
}
/// Beside results, which are converted back to floats by the same two pipes.
template <bool keep>
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE void add16(Lanes& lanes, const std::byte* floats, double* wide) noexcept {
  add_fours<1, keep>(lanes, avx2::floats_at(floats, 0), _mm256_set1_pd(1.0), wide);
}
/// Adds the last `count` < 16 elements; what is left of them is taken as zeros, which change no sum.
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE void add_last(Lanes& lanes, const std::byte* floats, std::size_t count,
                                                            double* wide) noexcept {
  alignas(64) std::byte last[16 * sizeof(float)];
  _mm512_store_ps(last, _mm512_maskz_loadu_ps(full_width::first_of_16(count), floats));
  add16<true>(lanes, last, wide);
}
DMLREF_TARGET_AVX512VNNI inline SumAndSquare total(const Lanes& lanes) noexcept { return avx2::total(lanes); }

// (The last two rows of a task have no row ahead, and come as doubles alone.)
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline float row32(const Row32& row) noexcept {
  using full_width::OneLine, full_width::row_of, full_width::Source;
  if (row.from == nullptr && row.ahead.elements == nullptr) return full_width::row32<finish>(row);
  if (row.ahead.elements == nullptr) return avx512::row32<finish>(row);
  return row.line.shift == 0.0 ? row_of<finish, Source::doubles_and_sums, Lanes>(row, OneLine<false>(row.line))
                               : row_of<finish, Source::doubles_and_sums, Lanes>(row, OneLine<true>(row.line));
}
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline float each_row32(const EachRow32& row) noexcept {
  using full_width::LinePerElement, full_width::row_of, full_width::Source;
  if (row.from == nullptr && row.ahead.elements == nullptr) return full_width::each_row32<finish>(row);
  if (row.ahead.elements == nullptr) {
    return row.stream ? avx512::each_row32<finish, true>(row) : avx512::each_row32<finish>(row);
  }
  return row.group->shift == 0.0 ? row_of<finish, Source::doubles_and_sums, Lanes>(row, LinePerElement<false>(row))
                                 : row_of<finish, Source::doubles_and_sums, Lanes>(row, LinePerElement<true>(row));
}
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline float pieces32_and_sums(const Pieces32& chunk) noexcept {
  return full_width::pieces32_and_sums<finish, Lanes>(chunk);
}

}  // namespace fast::normalization::avx512::half_width
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"

#endif  // DMLREF_ARCH_X86_64
