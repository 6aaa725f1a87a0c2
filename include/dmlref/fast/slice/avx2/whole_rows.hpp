// whole_rows.hpp: whole rows of reversed or every second elements.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/fast/slice/avx2/vectors.hpp"
#include "dmlref/fast/slice/job.hpp"
#include "dmlref/fast/slice/scalar.hpp"

DMLREF_BEGIN
namespace fast::avx2 {

/// The elements of v in the opposite order.
template <std::size_t Unit>
DMLREF_TARGET_AVX2 inline __m256i reversed(__m256i v) noexcept {
  if constexpr (Unit == 1) {
    const __m256i back = _mm256_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10,
                                          9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return _mm256_permute4x64_epi64(_mm256_shuffle_epi8(v, back), 0x4E);
  } else if constexpr (Unit == 2) {
    const __m256i back = _mm256_setr_epi8(14, 15, 12, 13, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1, 14, 15, 12, 13, 10, 11,
                                          8, 9, 6, 7, 4, 5, 2, 3, 0, 1);
    return _mm256_permute4x64_epi64(_mm256_shuffle_epi8(v, back), 0x4E);
  } else if constexpr (Unit == 4) {
    return _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0));
  } else {
    return _mm256_permute4x64_epi64(v, 0x1B);
  }
}

/// Elements 0, 2, 4, … of 64 bytes: of a and b where these are neighbours; Shifted: b starts one unit earlier.
template <std::size_t Unit, bool Shifted>
DMLREF_TARGET_AVX2 inline __m256i evens(__m256i a, __m256i b) noexcept {
  if constexpr (Unit == 1) {
    const __m256i low = _mm256_set1_epi16(0xFF);
    b = Shifted ? _mm256_srli_epi16(b, 8) : _mm256_and_si256(b, low);
    return _mm256_permute4x64_epi64(_mm256_packus_epi16(_mm256_and_si256(a, low), b), 0xD8);
  } else if constexpr (Unit == 2) {
    const __m256i low = _mm256_set1_epi32(0xFFFF);
    b = Shifted ? _mm256_srli_epi32(b, 16) : _mm256_and_si256(b, low);
    return _mm256_permute4x64_epi64(_mm256_packus_epi32(_mm256_and_si256(a, low), b), 0xD8);
  } else if constexpr (Unit == 4) {
    return _mm256_permute4x64_epi64(
        _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), Shifted ? 0xD8 : 0x88)),
        0xD8);
  } else {
    return _mm256_permute4x64_epi64(
        _mm256_castpd_si256(_mm256_shuffle_pd(_mm256_castsi256_pd(a), _mm256_castsi256_pd(b), Shifted ? 0xA : 0x0)),
        0xD8);
  }
}

/// 32 bytes of output. Step: -1 or 2 units. Exact: nothing outside of their units is read; else one unit beyond.
template <std::size_t Unit, int Step, bool Exact>
DMLREF_TARGET_AVX2 inline __m256i wide_vector(const std::byte* in) noexcept {
  constexpr auto unit = static_cast<Index>(Unit);
  if constexpr (Step == -1) {
    return reversed<Unit>(load32(in + unit - 32));
  } else {
    return evens<Unit, Exact>(load32(in), load32(in + 32 - (Exact ? unit : 0)));
  }
}

/// Rows of at least 32 bytes. The last vector overlaps the ones before.
template <std::size_t Unit, int Step>
DMLREF_TARGET_AVX2 inline void wide_rows(const RowJob& job, const std::byte* in, std::byte* out, const RowPlace* rows,
                                         std::size_t count, Room) noexcept {
  constexpr auto unit = static_cast<Index>(Unit);
  const std::size_t bytes = job.out_bytes;
  for (std::size_t r = 0; r < count; ++r) {
    const std::byte* from = in + rows[r].in;
    std::byte* to = out + rows[r].out;
    std::byte* const last = to + bytes - 32;
    const std::byte* const last_from = from + static_cast<Index>(job.count - 32 / Unit) * Step * unit;
    const Index ahead = next_row(job, rows, r, count);
    const bool stream = job.stream && bytes >= 256 && misaligned(to, Unit) == 0;
    if (stream) {
      const auto head = static_cast<Index>((64 - misaligned(to, 64)) % 64);  // whole lines only, as in stream_run
      if (head > 0) {
        store32(to, wide_vector<Unit, Step, false>(from));
        store32(to + 32, wide_vector<Unit, Step, false>(from + 32 * Step));
        from += head * Step;
        to += head;
      }
    } else if (const std::size_t in_bytes = bytes * (Step == -1 ? 1 : 2); in_bytes > asked_row_bytes) {
      prefetch_ends(in, rows, r, count, static_cast<Index>(job.count - 1) * Step * unit);
    } else {
      prefetch_row(from + ahead, in_bytes, Step < 0 ? -64 : 64);
    }
    for (; to + 32 < last; to += 64, from += 64 * Step) {
      const __m256i a = wide_vector<Unit, Step, false>(from);
      const __m256i b = wide_vector<Unit, Step, false>(from + 32 * Step);
      if (stream) {
        prefetch(from + ahead);
        if (Step == 2) prefetch(from + ahead + 64);
        stream32(to, a);
        stream32(to + 32, b);
      } else {
        store32(to, a);
        store32(to + 32, b);
      }
    }
    if (to < last) store32(to, wide_vector<Unit, Step, false>(from));
    store32(last, wide_vector<Unit, Step, true>(last_from));
  }
}

}  // namespace fast::avx2
DMLREF_END

#endif  // DMLREF_ARCH_X86_64
