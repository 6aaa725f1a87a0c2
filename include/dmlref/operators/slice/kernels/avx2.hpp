// avx2.hpp: the slice kernels for AVX2. Memory is the bottleneck, so vectors of 64 bytes would gain nothing, and
// AVX-512 has these kernels, too.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/operators/slice/kernels/scalar.hpp"
#include "dmlref/operators/slice/kernels/shuffle_pattern.hpp"
#include "dmlref/operators/slice/kernels/strategy.hpp"

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

/// What a row is made of. `stride`: bytes of input for each byte of output, its sign the direction. `vector` gives 32
/// bytes of output, and may read a unit beyond their units; `last` does not.
struct Copy {
  static constexpr Index stride = 1;
  std::size_t unit = 1;

  explicit Copy(const RowStrategy&) noexcept {}
  DMLREF_TARGET_AVX2 __m256i vector(const std::byte* in) const noexcept { return load(in); }
  DMLREF_TARGET_AVX2 __m256i last(const std::byte* in) const noexcept { return load(in); }
};

struct Reversal {
  static constexpr Index stride = -1;
  std::size_t unit;
  __m256i control;

  DMLREF_TARGET_AVX2 explicit Reversal(const RowStrategy& row) noexcept {
    const auto& pattern = static_cast<const PatternRows&>(row);
    unit = pattern.period.unit_bytes;
    control = _mm256_broadcastsi128_si256(load_control(pattern.pattern.term[0]));
  }
  DMLREF_TARGET_AVX2 __m256i vector(const std::byte* in) const noexcept {
    const __m256i v = load(in + unit - vector_bytes);
    return _mm256_permute4x64_epi64(_mm256_shuffle_epi8(v, control), 0x4E);
  }
  DMLREF_TARGET_AVX2 __m256i last(const std::byte* in) const noexcept { return vector(in); }
};

/// Units of 4 or 8 bytes take half the instructions of others, which tells even beyond the caches. Unit 0: the others,
/// by a pattern. Its second term begins a unit before the 16 bytes that follow its first, so that it reads no unit
/// beyond.
template <std::size_t Unit>
struct EverySecond {
  static constexpr Index stride = 2;
  std::size_t unit;
  __m256i low, high, last_high;

  DMLREF_TARGET_AVX2 explicit EverySecond(const RowStrategy& row) noexcept {
    const auto& pattern = static_cast<const PatternRows&>(row);
    unit = pattern.period.unit_bytes;
    low = _mm256_broadcastsi128_si256(load_control(pattern.pattern.term[0]));
    last_high = _mm256_broadcastsi128_si256(load_control(pattern.pattern.term[1]));
    high = _mm256_subs_epi8(last_high, _mm256_set1_epi8(static_cast<char>(unit)));  // 0x80 stays
  }
  DMLREF_TARGET_AVX2 __m256i vector(const std::byte* in) const noexcept {
    return joined<0x88, 0x0>(load(in), load(in + vector_bytes), high);
  }
  DMLREF_TARGET_AVX2 __m256i last(const std::byte* in) const noexcept {
    return joined<0xD8, 0xA>(load(in), load(in + vector_bytes - unit), last_high);
  }

 private:
  template <int Of4, int Of8>
  DMLREF_TARGET_AVX2 __m256i joined(__m256i a, __m256i b, __m256i control) const noexcept {
    if constexpr (Unit == 4) {
      a = _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), Of4));
    } else if constexpr (Unit == 8) {
      a = _mm256_castpd_si256(_mm256_shuffle_pd(_mm256_castsi256_pd(a), _mm256_castsi256_pd(b), Of8));
    } else {
      a = _mm256_or_si256(_mm256_shuffle_epi8(a, low), _mm256_shuffle_epi8(b, control));
    }
    return _mm256_permute4x64_epi64(a, 0xD8);
  }
};

/// From row r to a row about 1 KiB of output after it.
inline Index next_row(const RowStrategy& row, const RowPlace* rows, std::size_t r, std::size_t count) noexcept {
  const std::size_t next = r + row.rows_ahead;
  return next < count ? rows[next].in - rows[r].in : 0;
}

/// 64 bytes of output.
template <class Made>
DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE void store_line(const Made& made, const std::byte* from,
                                                        std::byte* to) noexcept {
  const __m256i a = made.vector(from), b = made.vector(from + Made::stride * 32);
  store(to, a);
  store(to + 32, b);
}

/// The input of the line of output that begins `ahead` bytes from `from`.
template <class Made>
DMLREF_ALWAYS_INLINE void prefetch_line(const std::byte* from, Index ahead) noexcept {
  prefetch(from, ahead);
  if (Made::stride == 2) prefetch(from, ahead + 64);
}

/// A row written by non-temporal stores: what comes next.
struct StreamedRow {
  const std::byte* from;
  std::byte* to;
};

/// Up to the first whole line of the output: a line written half by non-temporal stores and half by others costs
/// as much as many.
template <class Made>
DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE StreamedRow begin_row(const Made& made, const std::byte* from,
                                                              std::byte* to) noexcept {
  const std::size_t head = (64 - misaligned(to, 64)) % 64;
  if (head > 0) store_line(made, from, to);
  return {from + static_cast<Index>(head) * Made::stride, to + head};
}

/// One line. What lies `ahead` bytes further is needed later.
template <class Made>
DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE void stream_line(const Made& made, StreamedRow& row, Index ahead) noexcept {
  prefetch_line<Made>(row.from, ahead);
  const __m256i a = made.vector(row.from), b = made.vector(row.from + Made::stride * 32);
  stream(row.to, a);
  stream(row.to + 32, b);
  row.from += 64 * Made::stride;
  row.to += 64;
}

/// The rest of a row. Its last 32 bytes lie at `last` and come from `last_from`.
template <class Made>
DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE void end_row(const Made& made, StreamedRow row, std::byte* last,
                                                     const std::byte* last_from, Index ahead) noexcept {
  const __m256i end = made.last(last_from);
  while (last - row.to > 32) stream_line(made, row, ahead);
  if (last - row.to == 32) {
    stream(row.to, made.vector(row.from));
    return stream(last, end);
  }
  if (row.to < last) store(row.to, made.vector(row.from));
  store(last, end);
}

/// Rows of at least 256 bytes that begin at a multiple of the unit. Interleaved rows go four at a time: the CPU's own
/// prefetcher starts anew in every page, which so goes on beside three others.
template <class Made>
DMLREF_NOINLINE DMLREF_TARGET_AVX2 inline void stream_rows(const RowStrategy& strategy, const std::byte* in,
                                                           std::byte* out, const RowPlace* rows,
                                                           std::size_t count) noexcept {
  const Made made(strategy);
  constexpr std::size_t at_once = 4, run = 256, in_per_out = Made::stride == 2 ? 2 : 1;
  const std::size_t bytes = strategy.out_bytes, last = bytes - 32;
  const Index last_in = static_cast<Index>(last) * Made::stride;
  const bool paged = bytes * in_per_out >= 4096;
  std::size_t r = 0;
  for (; strategy.interleave && paged && r + at_once <= count; r += at_once) {
    constexpr Index soon = 384 * Made::stride;
    StreamedRow row[at_once];
    for (std::size_t k = 0; k < at_once; ++k) row[k] = begin_row(made, in + rows[r + k].in, out + rows[r + k].out);
    for (std::size_t left = bytes - 64; left >= run; left -= run) {
      for (StreamedRow& one : row) {
        for (std::size_t line = 0; line < run; line += 64) stream_line(made, one, soon);
      }
    }
    for (std::size_t k = 0; k < at_once; ++k) {
      const RowPlace& place = rows[r + k];
      end_row(made, row[k], out + place.out + last, in + place.in + last_in, soon);
    }
  }
  for (; r < count; ++r) {
    const std::byte* const from = in + rows[r].in;
    std::byte* const to = out + rows[r].out;
    const Index ahead = strategy.prefetch_within && paged ? 512 * Made::stride : next_row(strategy, rows, r, count);
    end_row(made, begin_row(made, from, to), to + last, from + last_in, ahead);
  }
}

/// Input bytes of a row up to which its lines are prefetched; a longer one is left to the CPU's own prefetcher.
inline constexpr std::size_t prefetched_bytes = 256;

/// Rows of at least 48 bytes. The last vector overlaps the ones before.
template <class Made>
DMLREF_TARGET_AVX2 inline void line_rows(const RowStrategy& strategy, const std::byte* in, std::byte* out,
                                         const RowPlace* rows, std::size_t count, RowAccess access) noexcept {
  const Made made(strategy);
  if (access.stores != Stores::cached) {
    std::size_t misplaced = 0;
    for (std::size_t r = 0; r < count; ++r) misplaced |= misaligned(out + rows[r].out, made.unit);
    if (misplaced == 0 && strategy.out_bytes >= 256) return stream_rows<Made>(strategy, in, out, rows, count);
  }
  const std::size_t last = strategy.out_bytes - 32;
  const Index last_in = static_cast<Index>(last) * Made::stride;
  const std::size_t in_bytes = strategy.out_bytes * (Made::stride == 2 ? 2 : 1);
  // Of every second unit twice as much is read as written: prefetching the output would be in the way.
  const Index output_prefetch = Made::stride == 2 ? 0 : strategy.output_prefetch;
  for (std::size_t r = 0; r < count; ++r) {
    const std::byte* from = in + rows[r].in;
    std::byte* to = out + rows[r].out;
    std::byte* const end = to + last;
    const __m256i end_vector = made.last(from + last_in);  // it may lie in another page
    if (in_bytes > prefetched_bytes) {
      // Both ends of a row that is two rows further: they may lie in pages of their own, whose addresses are so known
      // in time.
      const std::byte* const later = in + rows[r + 2 < count ? r + 2 : r].in;
      prefetch(later);
      prefetch(later, last_in + Made::stride * static_cast<Index>(32 - made.unit));
    } else {
      Index later = next_row(strategy, rows, r, count);
      for (std::size_t at = 0; at < in_bytes; at += 64, later += Made::stride < 0 ? -64 : 64) prefetch(from, later);
    }
    if constexpr (Made::stride == 1) {  // aligned stores; others may not begin inside of a unit
      store(to, made.vector(from));
      const std::size_t head = 32 - misaligned(to, 32);
      from += head;
      to += head;
    }
    for (; end - to > 32; to += 64, from += 64 * Made::stride) {
      if (output_prefetch != 0) prefetch(to, output_prefetch);
      store_line(made, from, to);
    }
    if (to < end) store(to, made.vector(from));
    store(end, end_vector);
  }
}

/// Rows of at least 128 bytes, each where the one before it ends: written as one stream of lines. A line that two rows
/// share is put together in memory a row's length before it is needed, so that no load waits for the stores.
DMLREF_TARGET_AVX2 inline void stream_joined_rows(const RowStrategy& strategy, const std::byte* in, std::byte* out,
                                                  const RowPlace* rows, std::size_t count) noexcept {
  alignas(64) std::byte seams[4][192];
  const std::byte* from = in + rows[0].in;
  std::byte* to = out + rows[0].out;
  std::size_t left = strategy.out_bytes;  // of the row
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
    const Copy copy(strategy);
    store_line(copy, from + left - 64, row_end - 64);
    store_line(copy, next, row_end);
    StreamedRow row{from, to};
    const Index ahead = next_row(strategy, rows, r, count);
    for (; left >= 64; left -= 64) stream_line(copy, row, ahead);
    from = row.from;
    to = row.to;
    if (is_last) break;
    stream(to, load(seam));
    stream(to + 32, load(seam + 32));
    to += 64;
    from = next + (64 - left);
    left = strategy.out_bytes - (64 - left);
  }
  std::memcpy(to, from, left);
}

/// By the size of the unit.
DMLREF_TARGET_AVX2 inline void every_second_rows(const RowStrategy& strategy, const std::byte* in, std::byte* out,
                                                 const RowPlace* rows, std::size_t count, RowAccess access) noexcept {
  switch (static_cast<const PatternRows&>(strategy).period.unit_bytes) {
    case 4: return line_rows<EverySecond<4>>(strategy, in, out, rows, count, access);
    case 8: return line_rows<EverySecond<8>>(strategy, in, out, rows, count, access);
    default: return line_rows<EverySecond<0>>(strategy, in, out, rows, count, access);
  }
}

/// Not inline: the shortest calls would save registers for it.
DMLREF_NOINLINE DMLREF_TARGET_AVX2 inline void copy_long_rows(const RowStrategy& strategy, const std::byte* in,
                                                              std::byte* out, const RowPlace* rows, std::size_t count,
                                                              RowAccess access) noexcept {
  if (strategy.joined && access.stores == Stores::non_temporal) {
    return stream_joined_rows(strategy, in, out, rows, count);
  }
  line_rows<Copy>(strategy, in, out, rows, count, access);
}

#define DMLREF_SLICE_TARGET DMLREF_TARGET_AVX2
#include "dmlref/operators/slice/kernels/vector_rows.hpp"
#undef DMLREF_SLICE_TARGET

}  // namespace fast::avx2
DMLREF_END

#endif  // DMLREF_ARCH_X86_64
