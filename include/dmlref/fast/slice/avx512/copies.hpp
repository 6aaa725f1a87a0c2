// copies.hpp: rows that stay as they are.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "dmlref/fast/slice/avx2/copies.hpp"
#include "dmlref/fast/slice/avx512/columns.hpp"
#include "dmlref/fast/slice/avx512/streams.hpp"
#include "dmlref/fast/slice/avx512/vectors.hpp"
#include "dmlref/fast/slice/job.hpp"

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::avx512 {

/// Rows of more than 256 bytes that are not streamed, the output prefetched.
DMLREF_NOINLINE DMLREF_TARGET_AVX512VNNI inline void copy_long_rows(const RowJob& job, const std::byte* in,
                                                                    std::byte* out, const RowPlace* rows,
                                                                    std::size_t count) noexcept {
  const Index output_prefetch = job.output_prefetch;
  // Where the next row begins: the CPU's own prefetcher takes over after a few lines, and more would be in its way.
  const Index begins = job.out_bytes < 512 ? 256 : 128;
  for (std::size_t r = 0; r < count; ++r) {
    const std::byte* from = in + rows[r].in;
    std::byte* to = out + rows[r].out;
    std::byte* const end = to + job.out_bytes - 64;
    const __m512i last = load64(from + job.out_bytes - 64);
    const std::byte* const later = from + avx2::next_row(job, rows, r, count);
    for (Index at = 0; at < begins; at += 64) avx2::prefetch(later + at);
    for (; to + 64 <= end; from += 128, to += 128) {
      avx2::prefetch(to + output_prefetch);
      avx2::prefetch(to + output_prefetch + 64);
      const __m512i a = load64(from), b = load64(from + 64);
      store64(to, a);
      store64(to + 64, b);
    }
    if (to < end) store64(to, load64(from));
    store64(end, last);
  }
}

DMLREF_TARGET_AVX512VNNI inline void copy_rows(const RowJob& job, const std::byte* in, std::byte* out,
                                               const RowPlace* rows, std::size_t count, Room room) noexcept {
  if (job.in_columns) return rows_in_columns<1, 1>(job, in, out, rows, count);
  if (job.stream && job.out_bytes >= 256) return stream_rows<1, 1>(job, in, out, rows, count);
  if (job.output_prefetch != 0 && job.out_bytes > 256) return copy_long_rows(job, in, out, rows, count);
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
