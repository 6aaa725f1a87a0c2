// avx512.hpp: the slice kernels for AVX-512: rows end with masks, so that no byte beyond is touched.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "dmlref/fast/slice/avx2.hpp"
#include "dmlref/fast/slice/job.hpp"

// GCC 12 takes the undefined operand of unmasked AVX-512 intrinsics for an uninitialized variable.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

DMLREF_BEGIN
namespace fast::avx512 {

DMLREF_TARGET_AVX512VNNI inline __m512i load64(const std::byte* p) noexcept { return _mm512_loadu_si512(p); }
DMLREF_TARGET_AVX512VNNI inline void store64(std::byte* p, __m512i v) noexcept { _mm512_storeu_si512(p, v); }
DMLREF_TARGET_AVX512VNNI inline void stream64(std::byte* p, __m512i v) noexcept {
  _mm512_stream_si512(reinterpret_cast<__m512i*>(p), v);
}

/// The units whose bits are set; the others are 0 and their memory is not touched.
template <std::size_t Unit>
DMLREF_TARGET_AVX512VNNI inline __m512i load_part(const std::byte* p, std::uint64_t units) noexcept {
  if constexpr (Unit == 1) return _mm512_maskz_loadu_epi8(static_cast<__mmask64>(units), p);
  if constexpr (Unit == 2) return _mm512_maskz_loadu_epi16(static_cast<__mmask32>(units), p);
  if constexpr (Unit == 4) return _mm512_maskz_loadu_epi32(static_cast<__mmask16>(units), p);
  return _mm512_maskz_loadu_epi64(static_cast<__mmask8>(units), p);
}
template <std::size_t Unit>
DMLREF_TARGET_AVX512VNNI inline void store_part(std::byte* p, std::uint64_t units, __m512i v) noexcept {
  if constexpr (Unit == 1) return _mm512_mask_storeu_epi8(p, static_cast<__mmask64>(units), v);
  if constexpr (Unit == 2) return _mm512_mask_storeu_epi16(p, static_cast<__mmask32>(units), v);
  if constexpr (Unit == 4) return _mm512_mask_storeu_epi32(p, static_cast<__mmask16>(units), v);
  return _mm512_mask_storeu_epi64(p, static_cast<__mmask8>(units), v);
}

/// The lowest `count` of 64 bits, 0 to 64.
inline std::uint64_t lowest(std::size_t count) noexcept { return count >= 64 ? ~0ull : (1ull << count) - 1; }

// --- copies ---------------------------------------------------------------------------------------------------------

/// More than 64 bytes.
DMLREF_TARGET_AVX512VNNI inline void copy_run(const std::byte* in, std::byte* out, std::size_t bytes, bool stream,
                                              Index ahead) noexcept {
  const __m512i last = load64(in + bytes - 64);
  std::byte* const end = out + bytes - 64;
  if (stream) {
    const std::size_t head = (64 - avx2::misaligned(out, 64)) % 64;
    if (head > 0) {
      store_part<1>(out, lowest(head), load64(in));
      in += head;
      out += head;
    }
    for (; out <= end; in += 64, out += 64) {
      avx2::prefetch(in + ahead);
      stream64(out, load64(in));
    }
  } else {
    for (; out + 64 <= end; in += 128, out += 128) {
      avx2::prefetch(in + ahead);
      avx2::prefetch(in + ahead + 64);
      const __m512i a = load64(in), b = load64(in + 64);
      store64(out, a);
      store64(out + 64, b);
    }
    if (out < end) store64(out, load64(in));
  }
  if (out < end + 64) store64(end, last);
}

DMLREF_TARGET_AVX512VNNI inline void copy_rows(const RowJob& job, const std::byte* in, std::byte* out,
                                               const RowPlace* rows, std::size_t count, Room room) noexcept {
  if (job.out_bytes <= 64) return avx2::copy_rows(job, in, out, rows, count, room);
  for (std::size_t r = 0; r < count; ++r) {
    copy_run(in + rows[r].in, out + rows[r].out, job.out_bytes, job.stream, avx2::next_row(job, rows, r, count));
  }
}

// --- whole rows: reversal, every second element ---------------------------------------------------------------------

/// The elements of v in the opposite order.
template <std::size_t Unit>
DMLREF_TARGET_AVX512VNNI inline __m512i reversed(__m512i v) noexcept {
  if constexpr (Unit == 1) {
    const __m512i back = _mm512_set4_epi32(0x00010203, 0x04050607, 0x08090A0B, 0x0C0D0E0F);  // in every 16 bytes
    v = _mm512_shuffle_epi8(v, back);
    return _mm512_shuffle_i64x2(v, v, 0x1B);
  } else if constexpr (Unit == 2) {
    const __m512i back = _mm512_set_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                          22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
    return _mm512_permutexvar_epi16(back, v);
  } else if constexpr (Unit == 4) {
    return _mm512_permutexvar_epi32(_mm512_set_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), v);
  } else {
    return _mm512_permutexvar_epi64(_mm512_set_epi64(0, 1, 2, 3, 4, 5, 6, 7), v);
  }
}

/// Elements 0, 2, 4, … of the 128 bytes a, b.
template <std::size_t Unit>
DMLREF_TARGET_AVX512VNNI inline __m512i evens(__m512i a, __m512i b) noexcept {
  if constexpr (Unit == 1) {
    const __m512i low = _mm512_set1_epi16(0xFF);
    return _mm512_permutexvar_epi64(_mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0),
                                    _mm512_packus_epi16(_mm512_and_si512(a, low), _mm512_and_si512(b, low)));
  } else if constexpr (Unit == 2) {
    const __m512i even = _mm512_set_epi16(62, 60, 58, 56, 54, 52, 50, 48, 46, 44, 42, 40, 38, 36, 34, 32, 30, 28, 26,
                                          24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    return _mm512_permutex2var_epi16(a, even, b);
  } else if constexpr (Unit == 4) {
    const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    return _mm512_permutex2var_epi32(a, even, b);
  } else {
    return _mm512_permutex2var_epi64(a, _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0), b);
  }
}

/// The first `count` of up to 64 / Unit units of output, at `in` and what follows in steps of -1, 2 or -2 units. Loads
/// begin and end with a unit of the row.
template <std::size_t Unit, int Step>
DMLREF_TARGET_AVX512VNNI inline __m512i wide_vector(const std::byte* in, std::size_t count) noexcept {
  constexpr std::size_t units = 64 / Unit;
  constexpr Index unit = static_cast<Index>(Unit);
  constexpr std::uint64_t all = units == 64 ? ~0ull : (1ull << units) - 1;
  if constexpr (Step == -1) {
    return reversed<Unit>(load_part<Unit>(in + unit - 64, all & ~lowest(units - count)));
  } else if constexpr (Step == 2) {
    const std::size_t span = 2 * count - 1;
    return evens<Unit>(load_part<Unit>(in, lowest(span)),
                       load_part<Unit>(in + 64, span > units ? lowest(span - units) : 0));
  } else {
    // The row's first unit becomes the last but one of 128 bytes; the units below the last wanted one are left out.
    const std::size_t below = 2 * (units - count);
    return reversed<Unit>(
        evens<Unit>(load_part<Unit>(in + 2 * unit - 128, below < units ? all & ~lowest(below) : 0),
                    load_part<Unit>(in + 2 * unit - 64, (all >> 1) & ~(below > units ? lowest(below - units) : 0))));
  }
}

/// A whole row.
template <std::size_t Unit, int Step>
DMLREF_TARGET_AVX512VNNI inline std::size_t wide_row(const std::byte* in, std::byte* out, std::size_t count,
                                                     bool stream, Index ahead) noexcept {
  constexpr std::size_t units = 64 / Unit;
  constexpr Index step = static_cast<Index>(Unit) * Step;
  std::size_t left = count;
  if (stream && avx2::misaligned(out, Unit) == 0 && left >= 4 * units) {
    const std::size_t head = (64 - avx2::misaligned(out, 64)) % 64 / Unit;
    if (head > 0) {
      store_part<Unit>(out, lowest(head), wide_vector<Unit, Step>(in, head));
      in += static_cast<Index>(head) * step;
      out += head * Unit;
      left -= head;
    }
    for (; left >= units; left -= units) {
      avx2::prefetch(in + ahead);
      if (Step != -1) avx2::prefetch(in + ahead + 32 * Step);
      stream64(out, wide_vector<Unit, Step>(in, units));
      in += 64 * Step;
      out += 64;
    }
  }
  if constexpr (Step != -2) {
    for (; left > units; left -= units) {  // another unit follows, so whole vectors may be loaded
      avx2::prefetch(in + ahead);
      if (Step != -1) avx2::prefetch(in + ahead + 32 * Step);
      store64(out, Step == 2 ? evens<Unit>(load64(in), load64(in + 64))
                             : reversed<Unit>(load64(in + static_cast<Index>(Unit) - 64)));
      in += 64 * Step;
      out += 64;
    }
  }
  for (; left >= units; left -= units) {
    avx2::prefetch(in + ahead);
    if (Step != -1) avx2::prefetch(in + ahead + 32 * Step);
    store64(out, wide_vector<Unit, Step>(in, units));
    in += 64 * Step;
    out += 64;
  }
  if (left > 0) store_part<Unit>(out, lowest(left), wide_vector<Unit, Step>(in, left));
  return count;
}

}  // namespace fast::avx512
DMLREF_END

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#endif  // DMLREF_ARCH_X86_64
