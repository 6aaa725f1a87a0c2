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

/// The lanes in registers: 0-3, 4-7, 8-11, 12-15; `adds` as below.
template <std::size_t adds>
struct Lanes : avx2::Accumulators {
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static __m512d widen8(const float* floats) noexcept {
    return load8<false>(floats, nullptr);
  }
  /// (Into the second cache: the first one is full of doubles.)
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static void ask(const std::byte* line) noexcept {
    _mm_prefetch(reinterpret_cast<const char*>(line), _MM_HINT_T1);
  }
};
template <std::size_t adds>
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE void clear(Lanes<adds>& lanes) noexcept {
  DMLREF_UNROLL
  for (std::size_t v = 0; v < 4; ++v) lanes.sum[v] = lanes.square[v] = _mm256_setzero_pd();
}
/// Adds sixteen elements; `wide` takes them as doubles. The two pipes that add are those that convert: all but `adds`
/// of four vectors are added by the other two, which multiply by `one`, 1. Beside results, which are converted back to
/// floats: one where they come from doubles, none where from floats, all where the others multiply scale and bias.
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
template <bool keep, std::size_t adds>
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE void add16(Lanes<adds>& lanes, const std::byte* floats,
                                                         double* wide) noexcept {
  __m256d one = _mm256_set1_pd(1.0);
  if constexpr (adds < 4) __asm__("" : "+x"(one));  // (Else compilers make additions of the multiply-adds.)
  add_fours<adds, keep>(lanes, avx2::floats_at(floats, 0), one, wide);
}
/// Adds the last `count` < 16 elements; what is left of them is taken as zeros, which change no sum.
template <std::size_t adds>
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE void add_last(Lanes<adds>& lanes, const std::byte* floats,
                                                            std::size_t count, double* wide) noexcept {
  alignas(64) std::byte last[16 * sizeof(float)];
  _mm512_store_ps(last, _mm512_maskz_loadu_ps(full_width::first_of_16(count), floats));
  add16<true>(lanes, last, wide);
}
template <std::size_t adds>
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE SumAndSquare total(const Lanes<adds>& lanes) noexcept {
  return avx2::total(lanes);
}

// (The last two rows of a task have no row ahead, and come as doubles alone.)
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline float row32(const Row32& row) noexcept {
  using full_width::OneLine, full_width::row_of, full_width::Source;
  if (row.from == nullptr && row.ahead.elements == nullptr) return full_width::row32<finish>(row);
  if (row.ahead.elements == nullptr) return avx512::row32<finish>(row);
  return row.line.shift == 0.0 ? row_of<finish, Source::doubles_and_sums, Lanes<1>>(row, OneLine<false>(row.line))
                               : row_of<finish, Source::doubles_and_sums, Lanes<1>>(row, OneLine<true>(row.line));
}
// (Lines of far rows are asked for, as scale and bias leave little of the first cache to those that come by
// themselves.)
template <Finish finish, bool shifted>
DMLREF_TARGET_AVX512VNNI inline float each_row32_and_sums(const EachRow32& row) noexcept {
  using full_width::LinePerElement, full_width::row_of, full_width::Source;
  const LinePerElement<shifted> line(row);
  if (finish == Finish::values || row.ahead.next == row.ahead.elements) {
    return row_of<finish, Source::doubles_and_sums, Lanes<4>>(row, line);
  }
  return row_of<finish, Source::doubles_and_far_sums, Lanes<4>>(row, line);
}
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline float each_row32(const EachRow32& row) noexcept {
  if (row.from == nullptr && row.ahead.elements == nullptr) return full_width::each_row32<finish>(row);
  if (row.ahead.elements == nullptr) {
    return row.stream ? avx512::each_row32<finish, true>(row) : avx512::each_row32<finish>(row);
  }
  return row.group->shift == 0.0 ? each_row32_and_sums<finish, false>(row) : each_row32_and_sums<finish, true>(row);
}
template <Finish finish>
DMLREF_TARGET_AVX512VNNI inline float pieces32_and_sums(const Pieces32& chunk) noexcept {
  return full_width::pieces32_and_sums<finish, Lanes<0>>(chunk);
}

}  // namespace fast::normalization::avx512::half_width
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"

#endif  // DMLREF_ARCH_X86_64
