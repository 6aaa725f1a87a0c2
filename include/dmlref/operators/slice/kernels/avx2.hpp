// avx2.hpp: the slice kernels for AVX2. Memory is the bottleneck, so vectors of 64 bytes would gain nothing, and
// AVX-512 has these kernels, too.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

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

/// A transform of rows. `stride`: bytes of input for each byte of output, its sign the direction. `vector` gives 32
/// bytes of output, and may read a unit beyond their units; `last` does not.
struct Copy {
  static constexpr Index stride = 1;
  std::size_t unit = 1;

  explicit Copy(const RowCopy&) noexcept {}
  DMLREF_TARGET_AVX2 __m256i vector(const std::byte* in) const noexcept { return load(in); }
  DMLREF_TARGET_AVX2 __m256i last(const std::byte* in) const noexcept { return load(in); }
};

struct Reversal {
  static constexpr Index stride = -1;
  std::size_t unit;
  __m256i control;

  DMLREF_TARGET_AVX2 explicit Reversal(const RowCopy& row) noexcept {
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

  DMLREF_TARGET_AVX2 explicit EverySecond(const RowCopy& row) noexcept {
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

/// The row that comes `ahead` rows later, or the row itself where there is none.
inline const RowPlace& later_row(const RowPlace* row, const RowPlace* end, std::size_t ahead) noexcept {
  return row[static_cast<std::size_t>(end - row) > ahead ? ahead : 0];
}

/// 64 bytes of output.
template <class Transform, bool Cached>
DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE void store_line(const Transform& transform, const std::byte* from,
                                                        std::byte* to) noexcept {
  const __m256i a = transform.vector(from), b = transform.vector(from + Transform::stride * 32);
  Cached ? store(to, a) : stream(to, a);
  Cached ? store(to + 32, b) : stream(to + 32, b);
}

/// What is left of a row. Its last vector overlaps the ones before.
template <class Transform, bool Cached>
struct LineRow {
  const std::byte* from;
  std::byte* to;
  std::byte* last;
  __m256i last_vector;

  DMLREF_ALWAYS_INLINE void advance(std::size_t bytes) noexcept {
    from += static_cast<Index>(bytes) * Transform::stride;
    to += bytes;
  }

  /// Up to the first aligned store. Non-temporal ones begin with a whole line: one written half by them and half by
  /// others costs as much as many. Of cached ones, only a copy's may begin inside of a unit.
  DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE void begin(const Transform& transform) noexcept {
    if constexpr (!Cached) {
      const std::size_t head = (64 - misaligned(to, 64)) % 64;
      if (head > 0) store_line<Transform, true>(transform, from, to);
      advance(head);
    } else if constexpr (Transform::stride == 1) {
      store(to, transform.vector(from));
      advance(32 - misaligned(to, 32));
    }
  }

  /// One line. `ahead`: how far is prefetched: the output of cached stores, but 0 nothing; the input of others.
  DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE void line(const Transform& transform, Index ahead) noexcept {
    if constexpr (Cached) {
      if (ahead != 0) prefetch(to, ahead);
    } else {
      prefetch(from, ahead);
      if constexpr (Transform::stride == 2) prefetch(from, ahead + 64);
    }
    store_line<Transform, Cached>(transform, from, to);
    advance(64);
  }

  DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE void end(const Transform& transform, Index ahead) noexcept {
    while (last - to > 32) line(transform, ahead);
    if (!Cached && last - to == 32) {
      stream(to, transform.vector(from));
      return stream(last, last_vector);
    }
    if (to < last) store(to, transform.vector(from));
    store(last, last_vector);
  }
};

/// Rows of at least 48 bytes, by non-temporal stores of at least 128; these begin at a multiple of the unit.
/// Interleaved rows go four at a time: the CPU's own prefetcher starts anew in every page, which so goes on beside
/// three others.
template <class Transform, Stores Kind>
DMLREF_NOINLINE DMLREF_TARGET_AVX2 inline void rows_of_lines(const RowCopy& strategy, const std::byte* in,
                                                             std::byte* out, const RowPlace* rows,
                                                             std::size_t count) noexcept {
  constexpr bool cached = Kind == Stores::cached;
  constexpr std::size_t at_once = Kind == Stores::interleaved ? 4 : 1, run = 256;
  const Transform transform(strategy);
  const std::size_t bytes = strategy.out_bytes, in_bytes = bytes * (Transform::stride == 2 ? 2 : 1);
  const Index last_in = static_cast<Index>(bytes - 32) * Transform::stride;
  // Of every second unit twice as much is read as written: prefetching the output would be in the way.
  const Index output = Transform::stride == 2 ? 0 : strategy.prefetch.output_bytes.value_or(0);
  const RowPlace* const end = rows + count;
  // No index of rows: it would be spilled, and a store to the stack for each row waits behind those that miss the
  // caches.
  for (; static_cast<std::size_t>(end - rows) >= at_once; rows += at_once) {
    LineRow<Transform, cached> row[at_once];
    for (std::size_t k = 0; k < at_once; ++k) {
      const std::byte* const from = in + rows[k].in;
      std::byte* const to = out + rows[k].out;
      row[k] = {from, to, to + bytes - 32, transform.last(from + last_in)};  // loaded early: it may lie in another page
    }
    Index ahead = at_once > 1 ? 384 * Transform::stride : 512 * Transform::stride;
    if constexpr (Kind == Stores::non_temporal) {
      if (!strategy.prefetch.own_row) ahead = later_row(rows, end, strategy.prefetch.rows).in - rows->in;
    } else if constexpr (cached) {
      ahead = output;
      if (strategy.prefetch.whole_rows) {
        const RowPlace& later = later_row(rows, end, strategy.prefetch.rows);
        for (Index at = 0; at < static_cast<Index>(in_bytes); at += 64) prefetch(in + later.in, at);
        for (Index at = 0; at < static_cast<Index>(bytes); at += 64) prefetch(out + later.out, at);
        ahead = 0;
      } else if (in_bytes > 256) {
        // The CPU's own prefetcher does the rest. Both ends of a row that is two rows further: they may lie in pages of
        // their own, whose addresses are so known in time.
        const std::byte* const later = in + later_row(rows, end, 2).in;
        prefetch(later);
        prefetch(later, last_in + Transform::stride * static_cast<Index>(32 - transform.unit));
      } else {
        const std::byte* const later = in + later_row(rows, end, strategy.prefetch.rows).in;
        for (Index at = 0; at < static_cast<Index>(in_bytes); at += 64) {
          prefetch(later, Transform::stride < 0 ? -at : at);
        }
      }
    }
    for (auto& one : row) one.begin(transform);
    if constexpr (at_once > 1) {
      for (std::size_t left = bytes - 64; left >= run; left -= run) {
        for (auto& one : row) {
          for (std::size_t line = 0; line < run; line += 64) one.line(transform, ahead);
        }
      }
    }
    for (auto& one : row) one.end(transform, ahead);
  }
  if constexpr (at_once > 1) {
    rows_of_lines<Transform, Stores::non_temporal>(strategy, in, out, rows, static_cast<std::size_t>(end - rows));
  }
}

template <class Transform>
DMLREF_TARGET_AVX2 inline void line_rows(const RowCopy& strategy, const std::byte* in, std::byte* out,
                                         const RowPlace* rows, std::size_t count, const RowAccess& access) noexcept {
  std::size_t misplaced = 0;
  if (access.stores != Stores::cached) {
    const std::size_t unit = Transform(strategy).unit;
    for (std::size_t r = 0; r < count; ++r) misplaced |= misaligned(out + rows[r].out, unit);
  }
  if (misplaced != 0 || access.stores == Stores::cached) {
    return rows_of_lines<Transform, Stores::cached>(strategy, in, out, rows, count);
  }
  if (access.stores == Stores::interleaved) {
    return rows_of_lines<Transform, Stores::interleaved>(strategy, in, out, rows, count);
  }
  rows_of_lines<Transform, Stores::non_temporal>(strategy, in, out, rows, count);
}

/// Rows of at least 128 bytes, each where the one before it ends: written as one stream of lines. A line that two rows
/// share is put together in memory a row's length before it is needed, so that no load waits for the stores.
DMLREF_NOINLINE DMLREF_TARGET_AVX2 inline void stream_joined_rows(const RowCopy& strategy, const std::byte* in,
                                                                  std::byte* out, const RowPlace* rows,
                                                                  std::size_t count) noexcept {
  const Copy copy(strategy);
  alignas(64) std::byte shared_lines[4][192];
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
    std::byte* const shared_line = shared_lines[r % 4] + 64;
    std::byte* const row_end = shared_line + left % 64;
    store_line<Copy, true>(copy, from + left - 64, row_end - 64);
    store_line<Copy, true>(copy, next, row_end);
    const Index ahead = later_row(rows + r, rows + count, strategy.prefetch.rows).in - rows[r].in;
    for (; left >= 64; left -= 64, from += 64, to += 64) {
      prefetch(from, ahead);
      store_line<Copy, false>(copy, from, to);
    }
    if (is_last) break;
    store_line<Copy, false>(copy, shared_line, to);
    to += 64;
    from = next + (64 - left);
    left = strategy.out_bytes - (64 - left);
  }
  std::memcpy(to, from, left);
}

/// By the size of the unit.
DMLREF_TARGET_AVX2 inline void every_second_rows(const RowCopy& strategy, const std::byte* in, std::byte* out,
                                                 const RowPlace* rows, std::size_t count,
                                                 const RowAccess& access) noexcept {
  switch (static_cast<const PatternRows&>(strategy).period.unit_bytes) {
    case 4: return line_rows<EverySecond<4>>(strategy, in, out, rows, count, access);
    case 8: return line_rows<EverySecond<8>>(strategy, in, out, rows, count, access);
    default: return line_rows<EverySecond<0>>(strategy, in, out, rows, count, access);
  }
}

/// Rows of more than 256 bytes, or by other stores than cached.
DMLREF_TARGET_AVX2 inline void copy_long_rows(const RowCopy& strategy, const std::byte* in, std::byte* out,
                                              const RowPlace* rows, std::size_t count,
                                              const RowAccess& access) noexcept {
  if (access.stores == Stores::joined) return stream_joined_rows(strategy, in, out, rows, count);
  line_rows<Copy>(strategy, in, out, rows, count, access);
}

#define DMLREF_SLICE_TARGET DMLREF_TARGET_AVX2
#include "dmlref/operators/slice/kernels/vector_rows-inl.hpp"
#undef DMLREF_SLICE_TARGET

}  // namespace fast::avx2
DMLREF_END

#endif  // DMLREF_ARCH_X86_64
