// whole_rows.hpp: whole rows of reversed or every second elements.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "dmlref/fast/slice/avx2/whole_rows.hpp"
#include "dmlref/fast/slice/avx512/columns.hpp"
#include "dmlref/fast/slice/avx512/streams.hpp"
#include "dmlref/fast/slice/avx512/vectors.hpp"
#include "dmlref/fast/slice/avx512/wide_vectors.hpp"
#include "dmlref/fast/slice/job.hpp"

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::avx512 {

/// Rows of at least 64 bytes through the caches. The last vector overlaps the ones before.
template <std::size_t Unit, int Step, bool OutAsked>
DMLREF_TARGET_AVX512VNNI inline void wide_rows_cached(const RowJob& job, const std::byte* in, std::byte* out,
                                                      const RowPlace* rows, std::size_t count) noexcept {
  constexpr auto unit = static_cast<Index>(Unit);
  for (std::size_t r = 0; r < count; ++r) {
    const std::byte* from = in + rows[r].in;
    std::byte* to = out + rows[r].out;
    std::byte* const last = to + job.out_bytes - 64;
    const std::byte* const last_from = from + static_cast<Index>(job.count - 64 / Unit) * Step * unit;
    const Index ahead = row_ahead(job, rows, r, count);
    for (; to < last; to += 64, from += 64 * Step) {
      if constexpr (OutAsked) avx2::prefetch(to + job.out_ahead);
      avx2::prefetch(from + ahead);
      if (Step != -1) avx2::prefetch(from + ahead + 32 * Step);
      store64(to, wide_vector<Unit, Step, false>(from));
    }
    store64(last, wide_vector<Unit, Step, true>(last_from));
  }
}

/// Rows of 64 bytes in an irregular order: what is asked for ahead are later ones.
template <std::size_t Unit, int Step, bool Exact>
DMLREF_TARGET_AVX512VNNI inline void scattered_vectors(const std::byte* in, std::byte* out, const RowPlace* rows,
                                                       std::size_t count) noexcept {
  constexpr auto unit = static_cast<Index>(Unit);
  constexpr std::size_t ahead = 32;  // less is as good, but where the input comes from memory
  constexpr Index other = Step == -1 ? 0 : Step == 2 ? 128 - unit : unit - 128;
  for (std::size_t r = 0; r < count; ++r) {
    const std::byte* const later = in + rows[r + ahead < count ? r + ahead : r].in;
    avx2::prefetch(later);
    if (other != 0) avx2::prefetch(later + other);
    store64(out + rows[r].out, wide_vector<Unit, Step, Exact>(in + rows[r].in));
  }
}

/// Rows of at least 32 bytes.
template <std::size_t Unit, int Step>
DMLREF_TARGET_AVX512VNNI inline void wide_rows(const RowJob& job, const std::byte* in, std::byte* out,
                                               const RowPlace* rows, std::size_t count, Room room) noexcept {
  const std::size_t bytes = job.out_bytes;
  if (bytes < 64) return avx2::wide_rows<Unit, Step>(job, in, out, rows, count, room);
  if (job.scattered && bytes == 64) {
    if (room.read) return scattered_vectors<Unit, Step, false>(in, out, rows, count);
    return scattered_vectors<Unit, Step, true>(in, out, rows, count);
  }
  if ((job.in_columns || (job.stream && bytes >= 256)) && units_aligned<Unit>(out, rows, count)) {
    if (!job.in_columns) return stream_rows<Unit, Step>(job, in, out, rows, count);
    if (job.stream) return rows_in_columns<Unit, Step, true>(job, in, out, rows, count);
    return rows_in_columns<Unit, Step, false>(job, in, out, rows, count);
  }
  // Of every second element twice as much is read as written: asking for the output would be in the way.
  if (Step == -1 && job.out_ahead != 0) return wide_rows_cached<Unit, Step, true>(job, in, out, rows, count);
  wide_rows_cached<Unit, Step, false>(job, in, out, rows, count);
}

/// Reversed rows of Vectors * 32 bytes or up to 31 fewer; the last vector overlaps the one before.
template <std::size_t Unit, std::size_t Vectors>
DMLREF_TARGET_AVX512VNNI inline void narrow_reversed_rows_of(const RowJob& job, const std::byte* in, std::byte* out,
                                                             const RowPlace* rows, std::size_t count) noexcept {
  const std::size_t last = job.out_bytes - 32;
  in += Unit;
  for (std::size_t r = 0; r < count; ++r) {
    const std::byte* const end = in + rows[r].in;
    std::byte* const to = out + rows[r].out;
    __m256i v[Vectors];
    DMLREF_UNROLL
    for (std::size_t k = 0; k + 1 < Vectors; ++k) v[k] = avx2::load32(end - 32 * (k + 1));
    v[Vectors - 1] = avx2::load32(end - job.out_bytes);
    DMLREF_UNROLL
    for (std::size_t k = 0; k + 1 < Vectors; ++k) avx2::store32(to + 32 * k, avx2::reversed<Unit>(v[k]));
    avx2::store32(to + last, avx2::reversed<Unit>(v[Vectors - 1]));
  }
}

/// Reversed rows of 33 to 127 bytes.
template <std::size_t Unit>
DMLREF_TARGET_AVX512VNNI inline void narrow_reversed_rows(const RowJob& job, const std::byte* in, std::byte* out,
                                                          const RowPlace* rows, std::size_t count, Room) noexcept {
  if (job.out_bytes <= 64) return narrow_reversed_rows_of<Unit, 2>(job, in, out, rows, count);
  if (job.out_bytes <= 96) return narrow_reversed_rows_of<Unit, 3>(job, in, out, rows, count);
  narrow_reversed_rows_of<Unit, 4>(job, in, out, rows, count);
}

/// Rows of every second unit, 33 to 63 bytes, in two halves that overlap.
template <std::size_t Unit>
DMLREF_TARGET_AVX512VNNI inline void narrow_second_rows(const RowJob& job, const std::byte* in, std::byte* out,
                                                        const RowPlace* rows, std::size_t count, Room room) noexcept {
  if (!room.read)
    return avx2::wide_rows<Unit, 2>(job, in, out, rows, count, room);  // the last unit's neighbour is read
  const std::size_t second = job.out_bytes - 32;
  for (std::size_t r = 0; r < count; ++r) {
    const std::byte* const from = in + rows[r].in;
    std::byte* const to = out + rows[r].out;
    const __m512i a = load64(from), b = load64(from + 2 * second);
    avx2::store32(to, evens<Unit>(a));
    avx2::store32(to + second, evens<Unit>(b));
  }
}

}  // namespace fast::avx512
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"

#endif  // DMLREF_ARCH_X86_64
