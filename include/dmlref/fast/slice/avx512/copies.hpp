// copies.hpp: rows that stay as they are.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/fast/slice/avx2/copies.hpp"
#include "dmlref/fast/slice/avx512/columns.hpp"
#include "dmlref/fast/slice/avx512/streams.hpp"
#include "dmlref/fast/slice/avx512/vectors.hpp"
#include "dmlref/fast/slice/job.hpp"
#include "dmlref/fast/slice/scalar.hpp"

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::avx512 {

/// More than 128 bytes through the caches. OutAsked: the output, too, is asked for ahead.
template <bool OutAsked>
DMLREF_TARGET_AVX512VNNI inline void copy_run(const std::byte* in, std::byte* out, std::size_t bytes, Index ahead,
                                              Index out_ahead) noexcept {
  const __m512i last = load64(in + bytes - 64);
  std::byte* const end = out + bytes - 64;
  // Where the next row begins: the CPU's own prefetcher takes over after a few lines, and more would be in its way.
  const Index begins = bytes < 512 ? 256 : 128;
  for (Index at = 0; at < begins; at += 64) avx2::prefetch(in + ahead + at);
  for (; out + 64 <= end; in += 128, out += 128) {
    if constexpr (OutAsked) {
      avx2::prefetch(out + out_ahead);
      avx2::prefetch(out + out_ahead + 64);
    }
    const __m512i a = load64(in), b = load64(in + 64);
    store64(out, a);
    store64(out + 64, b);
  }
  if (out < end) store64(out, load64(in));
  store64(end, last);
}

/// Rows of more than 256 bytes through the caches, every line in two halves; the line of `lines_ahead` rows further is
/// asked for beside it.
DMLREF_TARGET_AVX512VNNI inline void copy_rows_by_halves(const RowJob& job, const std::byte* in, std::byte* out,
                                                         const RowPlace* rows, std::size_t count) noexcept {
  const std::size_t bytes = job.out_bytes, rows_ahead = job.lines_ahead;
  for (std::size_t r = 0; r < count; ++r) {
    const std::byte* from = in + rows[r].in;
    std::byte* to = out + rows[r].out;
    std::byte* const end = to + bytes;
    const Index ahead = r + rows_ahead < count ? rows[r + rows_ahead].in - rows[r].in : 0;
    const __m256i last_a = avx2::load32(from + bytes - 64), last_b = avx2::load32(from + bytes - 32);
    for (; end - to >= 64; from += 64, to += 64) {
      avx2::prefetch(from + ahead);
      const __m256i a = avx2::load32(from), b = avx2::load32(from + 32);
      avx2::store32(to, a);
      avx2::store32(to + 32, b);
    }
    if (to == end) continue;
    avx2::prefetch(from + ahead);
    avx2::store32(end - 64, last_a);
    avx2::store32(end - 32, last_b);
  }
}

template <bool OutAsked>
DMLREF_TARGET_AVX512VNNI inline void copy_long_rows(const RowJob& job, const std::byte* in, std::byte* out,
                                                    const RowPlace* rows, std::size_t count) noexcept {
  for (std::size_t r = 0; r < count; ++r) {
    copy_run<OutAsked>(in + rows[r].in, out + rows[r].out, job.out_bytes, avx2::next_row(job, rows, r, count),
                       job.out_ahead);
  }
}

/// Rows of Vectors * 32 bytes or up to 31 fewer, the output asked for ahead. Whole: there is room for the last vector.
template <std::size_t Vectors, bool Whole>
DMLREF_TARGET_AVX512VNNI inline void copy_short_rows(const RowJob& job, const std::byte* in, std::byte* out,
                                                     const RowPlace* rows, std::size_t count) noexcept {
  const std::size_t last = Whole ? 32 * (Vectors - 1) : job.out_bytes - 32;
  const Index ahead = job.out_ahead;
  for (std::size_t r = 0; r < count; ++r) {
    const std::byte* from = in + rows[r].in;
    std::byte* to = out + rows[r].out;
    DMLREF_UNROLL
    for (std::size_t k = 0; k < Vectors; k += 2) avx2::prefetch(to + ahead + 32 * k);
    __m256i v[Vectors];
    DMLREF_UNROLL
    for (std::size_t k = 0; k + 1 < Vectors; ++k) v[k] = avx2::load32(from + 32 * k);
    v[Vectors - 1] = avx2::load32(from + last);
    DMLREF_UNROLL
    for (std::size_t k = 0; k + 1 < Vectors; ++k) avx2::store32(to + 32 * k, v[k]);
    avx2::store32(to + last, v[Vectors - 1]);
  }
}

/// Pieces of 256 bytes in an irregular order. (Apart from the other lengths, whose loops so stay where they were: 4 %.)
DMLREF_NOINLINE DMLREF_TARGET_AVX512VNNI inline void copy_scattered_pieces(const std::byte* in, std::byte* out,
                                                                           const RowPlace* rows,
                                                                           std::size_t count) noexcept {
  constexpr std::size_t ahead = 16;
  for (std::size_t r = 0; r < count; ++r) {
    const std::byte* const from = in + rows[r].in;
    std::byte* const to = out + rows[r].out;
    const std::byte* const later = in + rows[r + ahead < count ? r + ahead : r].in;
    DMLREF_UNROLL
    for (std::size_t line = 0; line < 256; line += 64) prefetch_once(later + line);
    DMLREF_UNROLL
    for (std::size_t line = 0; line < 256; line += 64) store64(to + line, load64(from + line));
  }
}

/// Rows of 33 to 32 + Tail bytes, the last vector no wider than it must be: what crosses a line costs twice.
template <class Tail>
DMLREF_NOINLINE DMLREF_TARGET_AVX512VNNI inline void copy_scattered_rows(const RowJob& job, const std::byte* in,
                                                                         std::byte* out, const RowPlace* rows,
                                                                         std::size_t count) noexcept {
  const std::size_t last = job.out_bytes - sizeof(Tail);
  for (std::size_t r = 0; r < count; ++r) {
    const std::byte* const from = in + rows[r].in;
    std::byte* const to = out + rows[r].out;
    const __m256i v = avx2::load32(from);
    Tail tail;
    std::memcpy(&tail, from + last, sizeof tail);
    avx2::store32(to, v);
    std::memcpy(to + last, &tail, sizeof tail);
  }
}

DMLREF_TARGET_AVX512VNNI inline void copy_rows(const RowJob& job, const std::byte* in, std::byte* out,
                                               const RowPlace* rows, std::size_t count, Room room) noexcept {
  const std::size_t bytes = job.out_bytes;
  if (job.scattered) {
    if (bytes == 256) return copy_scattered_pieces(in, out, rows, count);
    if (bytes > 32 && bytes <= 40) return copy_scattered_rows<std::uint64_t>(job, in, out, rows, count);
    if (bytes > 32 && bytes <= 48) return copy_scattered_rows<__m128i>(job, in, out, rows, count);
  }
  if (job.in_columns) return rows_in_columns<1, 1, false>(job, in, out, rows, count);
  if (job.stream && bytes >= 256) return stream_rows<1, 1>(job, in, out, rows, count);
  if (job.out_ahead != 0) {
    switch ((bytes + 31) / 32) {
      case 1:
        if (bytes > 16 && room.read && room.write) return copy_short_rows<1, true>(job, in, out, rows, count);
        break;
      case 2: return copy_short_rows<2, false>(job, in, out, rows, count);
      case 3: return copy_short_rows<3, false>(job, in, out, rows, count);
      case 4: return copy_short_rows<4, false>(job, in, out, rows, count);
      case 5: return copy_short_rows<5, false>(job, in, out, rows, count);
      case 6: return copy_short_rows<6, false>(job, in, out, rows, count);
      case 7: return copy_short_rows<7, false>(job, in, out, rows, count);
      case 8: return copy_short_rows<8, false>(job, in, out, rows, count);
      default: return copy_long_rows<true>(job, in, out, rows, count);
    }
  } else if (job.lines_ahead != 0) {
    if (bytes >= 8 * 1024) return scalar::copy_rows(job, in, out, rows, count, room);
    if (bytes > avx2::asked_row_bytes) return copy_rows_by_halves(job, in, out, rows, count);
  } else if (bytes > 128) {
    return copy_long_rows<false>(job, in, out, rows, count);
  }
  avx2::copy_rows(job, in, out, rows, count, room);
}

/// Rows of at least 64 bytes, each where the one before it ends: written as one stream of lines, whatever their length.
DMLREF_TARGET_AVX512VNNI inline void stream_joined_rows(const RowJob& job, const std::byte* in, std::byte* out,
                                                        const RowPlace* rows, std::size_t count, Room) noexcept {
  const std::byte* from = in + rows[0].in;
  std::byte* to = out + rows[0].out;
  std::size_t left = job.out_bytes;  // of the row
  const std::size_t head = (64 - avx2::misaligned(to, 64)) % 64;
  if (head > 0) {
    store_part(to, lowest(head), load64(from));
    from += head;
    to += head;
    left -= head;
  }
  for (std::size_t r = 0;; ++r) {
    const Index ahead = avx2::next_row(job, rows, r, count);
    for (; left >= 64; left -= 64, from += 64, to += 64) {
      avx2::prefetch(from + ahead);
      stream64(to, load64(from));
    }
    if (r + 1 == count) break;
    const std::byte* const next = in + rows[r + 1].in;
    const auto rest = static_cast<__mmask64>(lowest(left));
    const __m512i line = _mm512_mask_loadu_epi8(_mm512_maskz_loadu_epi8(rest, from), ~rest, next - left);
    stream64(to, line);
    to += 64;
    from = next + (64 - left);
    left = job.out_bytes - (64 - left);
  }
  const auto rest = static_cast<__mmask64>(lowest(left));
  store_part(to, rest, _mm512_maskz_loadu_epi8(rest, from));
}

}  // namespace fast::avx512
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"

#endif  // DMLREF_ARCH_X86_64
