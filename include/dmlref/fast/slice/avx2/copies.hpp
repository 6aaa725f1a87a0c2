// copies.hpp: rows that stay as they are.
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

/// At least 128 bytes around the caches. What lies `ahead` bytes further is needed next.
DMLREF_TARGET_AVX2 inline void stream_run(const std::byte* in, std::byte* out, std::size_t bytes,
                                          Index ahead) noexcept {
  const __m256i last = load32(in + bytes - 32);
  std::byte* const end = out + bytes - 32;
  // Whole lines only: a line written half around the caches and half through them costs as much as many.
  const std::size_t head = (64 - misaligned(out, 64)) % 64;
  if (head > 0) {
    store32(out, load32(in));
    store32(out + 32, load32(in + 32));
    in += head;
    out += head;
  }
  for (; out + 32 <= end; in += 64, out += 64) {
    prefetch(in + ahead);
    const __m256i a = load32(in), b = load32(in + 32);
    stream32(out, a);
    stream32(out + 32, b);
  }
  if (out < end) store32(out, load32(in));
  if (out < end + 32) store32(end, last);
}

/// 128 bytes.
DMLREF_TARGET_AVX2 inline void copy_block(const std::byte* in, std::byte* out) noexcept {
  const __m256i a = load32(in), b = load32(in + 32), c = load32(in + 64), d = load32(in + 96);
  store32(out, a);
  store32(out + 32, b);
  store32(out + 64, c);
  store32(out + 96, d);
}

/// More than 160 bytes through the caches. The end is loaded first: it may lie in another page.
DMLREF_TARGET_AVX2 inline void copy_run(const std::byte* in, std::byte* out, std::size_t bytes,
                                        Index output_prefetch) noexcept {
  const std::byte* const in_end = in + bytes - 128;
  std::byte* const end = out + bytes - 128;
  const __m256i a = load32(in_end), b = load32(in_end + 32), c = load32(in_end + 64), d = load32(in_end + 96);
  const std::size_t head = 32 - misaligned(out, 32);
  store32(out, load32(in));
  in += head;
  out += head;
  for (; out + 96 < end; in += 128, out += 128) {
    if (output_prefetch != 0) {
      prefetch(out + output_prefetch);
      prefetch(out + output_prefetch + 64);
    }
    copy_block(in, out);
  }
  for (; out < end; in += 32, out += 32) store32(out, load32(in));
  store32(end, a);
  store32(end + 32, b);
  store32(end + 64, c);
  store32(end + 96, d);
}

/// Rows of Vectors * 32 bytes or up to 31 fewer. One function with the other lengths would keep
/// addresses of its loops on the stack (18 bytes a row: a fifth more time).
template <std::size_t Vectors>
DMLREF_NOINLINE DMLREF_TARGET_AVX2 inline void copy_short_rows(const RowJob& job, const std::byte* in, std::byte* out,
                                                               const RowPlace* rows, std::size_t count) noexcept {
  const std::size_t last = job.out_bytes - 32;
  const std::size_t ahead = 2 * job.rows_ahead;
  const Index output_prefetch = job.output_prefetch;
  for (std::size_t r = 0; r < count; ++r) {
    const std::byte* from = in + rows[r].in;
    std::byte* to = out + rows[r].out;
    if (output_prefetch != 0) {
      DMLREF_UNROLL
      for (std::size_t k = 0; k < Vectors; k += 2) prefetch(to + output_prefetch + 32 * k);
    } else if constexpr (Vectors > 2) {
      const std::byte* const later = in + rows[r + ahead < count ? r + ahead : r].in;
      DMLREF_UNROLL
      for (std::size_t k = 0; k < Vectors; k += 2) prefetch(later + 32 * k);
    }
    __m256i v[Vectors];
    DMLREF_UNROLL
    for (std::size_t k = 0; k + 1 < Vectors; ++k) v[k] = load32(from + 32 * k);
    v[Vectors - 1] = load32(from + last);
    DMLREF_UNROLL
    for (std::size_t k = 0; k + 1 < Vectors; ++k) store32(to + 32 * k, v[k]);
    store32(to + last, v[Vectors - 1]);
  }
}

/// Rows of more than asked_row_bytes.
DMLREF_NOINLINE DMLREF_TARGET_AVX2 inline void copy_long_rows(const RowJob& job, const std::byte* in, std::byte* out,
                                                              const RowPlace* rows, std::size_t count) noexcept {
  const std::size_t bytes = job.out_bytes;
  if (job.stream) {
    for (std::size_t r = 0; r < count; ++r) {
      stream_run(in + rows[r].in, out + rows[r].out, bytes, next_row(job, rows, r, count));
    }
  } else {
    const Index output_prefetch = job.output_prefetch;
    for (std::size_t r = 0; r < count; ++r) {
      prefetch_ends(in, rows, r, count, static_cast<Index>(bytes - 1));
      copy_run(in + rows[r].in, out + rows[r].out, bytes, output_prefetch);
    }
  }
}

DMLREF_TARGET_AVX2 inline void copy_rows(const RowJob& job, const std::byte* in, std::byte* out, const RowPlace* rows,
                                         std::size_t count, Room room) noexcept {
  const std::size_t bytes = job.out_bytes;
  if (bytes > asked_row_bytes) {
    copy_long_rows(job, in, out, rows, count);
  } else if (bytes >= 32) {
    switch ((bytes + 31) / 32) {
      case 1: return copy_short_rows<1>(job, in, out, rows, count);
      case 2: return copy_short_rows<2>(job, in, out, rows, count);
      case 3: return copy_short_rows<3>(job, in, out, rows, count);
      case 4: return copy_short_rows<4>(job, in, out, rows, count);
      case 5: return copy_short_rows<5>(job, in, out, rows, count);
      case 6: return copy_short_rows<6>(job, in, out, rows, count);
      case 7: return copy_short_rows<7>(job, in, out, rows, count);
      default: return copy_short_rows<8>(job, in, out, rows, count);
    }
  } else if (bytes > 16 && room.read && room.write) {
    const Index output_prefetch = job.output_prefetch;
    for (std::size_t r = 0; r < count; ++r) {
      if (output_prefetch != 0) prefetch(out + rows[r].out + output_prefetch);
      store32(out + rows[r].out, load32(in + rows[r].in));
    }
  } else if (bytes >= 16) {
    for (std::size_t r = 0; r < count; ++r) {
      const std::byte* from = in + rows[r].in;
      std::byte* to = out + rows[r].out;
      const __m128i first = load16(from), last = load16(from + bytes - 16);
      store16(to, first);
      store16(to + bytes - 16, last);
    }
  } else if (room.read && room.write) {
    for (std::size_t r = 0; r < count; ++r) store16(out + rows[r].out, load16(in + rows[r].in));
  } else {
    for (std::size_t r = 0; r < count; ++r) scalar::copy_few(out + rows[r].out, in + rows[r].in, bytes);
  }
}

/// Rows of at least 128 bytes, each where the one before it ends: written as one stream of lines. A line that two rows
/// share is put together in memory a row's length before it is needed, so that no load waits for the stores.
DMLREF_TARGET_AVX2 inline void stream_joined_rows(const RowJob& job, const std::byte* in, std::byte* out,
                                                  const RowPlace* rows, std::size_t count, Room) noexcept {
  alignas(64) std::byte seams[4][192];
  const std::byte* from = in + rows[0].in;
  std::byte* to = out + rows[0].out;
  std::size_t left = job.out_bytes;  // of the row
  const std::size_t head = (64 - misaligned(to, 64)) % 64;
  std::memcpy(to, from, head);
  from += head;
  to += head;
  left -= head;
  for (std::size_t r = 0;; ++r) {
    const bool is_last = r + 1 == count;
    const std::byte* const next = in + rows[is_last ? r : r + 1].in;
    std::byte* const seam = seams[r % 4] + 64;
    std::byte* const row_end = seam + left % 64;
    store32(row_end - 64, load32(from + left - 64));
    store32(row_end - 32, load32(from + left - 32));
    store32(row_end, load32(next));
    store32(row_end + 32, load32(next + 32));
    const Index ahead = next_row(job, rows, r, count);
    for (; left >= 64; left -= 64, from += 64, to += 64) {
      prefetch(from + ahead);
      const __m256i a = load32(from), b = load32(from + 32);
      stream32(to, a);
      stream32(to + 32, b);
    }
    if (is_last) break;
    stream32(to, load32(seam));
    stream32(to + 32, load32(seam + 32));
    to += 64;
    from = next + (64 - left);
    left = job.out_bytes - (64 - left);
  }
  std::memcpy(to, from, left);
}

}  // namespace fast::avx2
DMLREF_END

#endif  // DMLREF_ARCH_X86_64
