// vectors.hpp: loads and stores, and what is asked for ahead.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>

#include "dmlref/fast/slice/job.hpp"
#include "dmlref/fast/slice/scalar.hpp"

DMLREF_BEGIN
namespace fast::avx2 {

DMLREF_TARGET_AVX2 inline __m128i load16(const std::byte* p) noexcept {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
DMLREF_TARGET_AVX2 inline void store16(std::byte* p, __m128i v) noexcept {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v);
}
DMLREF_TARGET_AVX2 inline __m256i load32(const std::byte* p) noexcept {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
DMLREF_TARGET_AVX2 inline void store32(std::byte* p, __m256i v) noexcept {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
}
DMLREF_TARGET_AVX2 inline void stream32(std::byte* p, __m256i v) noexcept {
  _mm256_stream_si256(reinterpret_cast<__m256i*>(p), v);
}
using scalar::misaligned;
using scalar::prefetch;

/// From row r to a row about 1 KiB of output after it.
inline Index next_row(const RowJob& job, const RowPlace* rows, std::size_t r, std::size_t count) noexcept {
  const std::size_t next = r + job.rows_ahead;
  return next < count ? rows[next].in - rows[r].in : 0;
}

/// Input bytes of a row up to which its lines are asked for ahead; a longer one is left to the CPU's own prefetcher.
inline constexpr std::size_t asked_row_bytes = 256;

/// The lines of a short row that is needed soon; `step`: 64 or, for one that is read downwards, -64.
inline void prefetch_row(const std::byte* p, std::size_t bytes, Index step) noexcept {
  for (std::size_t at = 0; at < bytes; at += 64, p += step) prefetch(p);
}

/// Both ends of a long row that is two rows further: they may lie in pages of their own, whose addresses are so known
/// in time. `last`: from a row's place to its other end.
inline void prefetch_ends(const std::byte* in, const RowPlace* rows, std::size_t r, std::size_t count,
                          Index last) noexcept {
  const std::byte* const later = in + rows[r + 2 < count ? r + 2 : r].in;
  prefetch(later);
  prefetch(later + last);
}

}  // namespace fast::avx2
DMLREF_END

#endif  // DMLREF_ARCH_X86_64
