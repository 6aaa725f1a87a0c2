// transposition.hpp: rows whose neighbours in the input lie across the output.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>

#include "dmlref/fast/slice/avx2/programs.hpp"
#include "dmlref/fast/slice/avx2/vectors.hpp"
#include "dmlref/fast/slice/job.hpp"
#include "dmlref/fast/slice/scalar.hpp"

DMLREF_BEGIN
namespace fast::avx2 {

template <std::size_t Unit>
DMLREF_TARGET_AVX2 inline __m128i unpack_low(__m128i a, __m128i b) noexcept {
  if constexpr (Unit == 1) return _mm_unpacklo_epi8(a, b);
  if constexpr (Unit == 2) return _mm_unpacklo_epi16(a, b);
  if constexpr (Unit == 4) return _mm_unpacklo_epi32(a, b);
  return _mm_unpacklo_epi64(a, b);
}
template <std::size_t Unit>
DMLREF_TARGET_AVX2 inline __m128i unpack_high(__m128i a, __m128i b) noexcept {
  if constexpr (Unit == 1) return _mm_unpackhi_epi8(a, b);
  if constexpr (Unit == 2) return _mm_unpackhi_epi16(a, b);
  if constexpr (Unit == 4) return _mm_unpackhi_epi32(a, b);
  return _mm_unpackhi_epi64(a, b);
}

#define DMLREF_SLICE_TARGET DMLREF_TARGET_AVX2
#include "dmlref/fast/slice/squares.hpp"
#undef DMLREF_SLICE_TARGET

}  // namespace fast::avx2
DMLREF_END

#endif  // DMLREF_ARCH_X86_64
