// vectors.hpp: loads, stores and shuffles of AVX2.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>

#include "dmlref/operators/slice/kernels/scalar.hpp"
#include "dmlref/operators/slice/kernels/shuffle_pattern.hpp"

DMLREF_BEGIN
namespace fast::avx2 {

using Bytes16 = __m128i;
using Vector = __m256i;
inline constexpr std::size_t vector_bytes = 32;
inline constexpr bool streams = true;
using scalar::misaligned;
using scalar::prefetch;

DMLREF_TARGET_AVX2 inline __m128i load16(const std::byte* p) noexcept {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
DMLREF_TARGET_AVX2 inline void store16(std::byte* p, __m128i v) noexcept {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v);
}
DMLREF_TARGET_AVX2 inline void stream16(std::byte* p, __m128i v) noexcept {
  _mm_stream_si128(reinterpret_cast<__m128i*>(p), v);
}
DMLREF_TARGET_AVX2 inline __m256i load(const std::byte* p) noexcept {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
DMLREF_TARGET_AVX2 inline void store(std::byte* p, __m256i v) noexcept {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
}
DMLREF_TARGET_AVX2 inline void stream(std::byte* p, __m256i v) noexcept {
  _mm256_stream_si256(reinterpret_cast<__m256i*>(p), v);
}

DMLREF_TARGET_AVX2 inline __m128i load_control(const ShuffleTerm& term) noexcept {
  return _mm_load_si128(reinterpret_cast<const __m128i*>(term.control.data()));
}
DMLREF_TARGET_AVX2 inline __m128i shuffle16(__m128i v, __m128i control) noexcept {
  return _mm_shuffle_epi8(v, control);
}
DMLREF_TARGET_AVX2 inline __m128i or16(__m128i a, __m128i b) noexcept { return _mm_or_si128(a, b); }

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

}  // namespace fast::avx2
DMLREF_END

#endif  // DMLREF_ARCH_X86_64
