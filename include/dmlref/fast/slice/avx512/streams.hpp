// streams.hpp: rows written around the caches, line by line.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "dmlref/fast/slice/avx2/vectors.hpp"
#include "dmlref/fast/slice/avx512/vectors.hpp"
#include "dmlref/fast/slice/avx512/wide_vectors.hpp"
#include "dmlref/fast/slice/job.hpp"

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::avx512 {

/// Whether all rows begin at a multiple of Unit.
template <std::size_t Unit>
inline bool units_aligned(const std::byte* out, const RowPlace* rows, std::size_t count) noexcept {
  if (Unit == 1) return true;
  std::size_t all = 0;
  for (std::size_t r = 0; r < count; ++r) all |= avx2::misaligned(out + rows[r].out, Unit);
  return all == 0;
}

/// A row on its way around the caches: what comes next.
struct StreamedRow {
  const std::byte* from;
  std::byte* to;
};

/// Up to the first whole line of the output.
template <std::size_t Unit, int Step>
DMLREF_TARGET_AVX512VNNI inline StreamedRow begin_row(const std::byte* from, std::byte* to) noexcept {
  const std::size_t head = (64 - avx2::misaligned(to, 64)) % 64;
  if (head > 0) store_part(to, lowest(head), wide_vector<Unit, Step, false>(from));
  return {from + static_cast<Index>(head) * Step, to + head};
}

/// One line; what lies `ahead` bytes further is needed later.
template <std::size_t Unit, int Step>
DMLREF_TARGET_AVX512VNNI inline void move_line(StreamedRow& row, Index ahead) noexcept {
  avx2::prefetch(row.from + ahead);
  if (Step == 2) avx2::prefetch(row.from + ahead + 64);
  stream64(row.to, wide_vector<Unit, Step, false>(row.from));
  row.from += 64 * Step;
  row.to += 64;
}

/// The rest of a row. `last`: its last 64 bytes, that come from `last_from`.
template <std::size_t Unit, int Step>
DMLREF_TARGET_AVX512VNNI inline void end_row(StreamedRow row, std::byte* last, const std::byte* last_from,
                                             Index ahead) noexcept {
  while (row.to < last) move_line<Unit, Step>(row, ahead);
  const __m512i v = wide_vector<Unit, Step, true>(last_from);
  if (row.to == last) {
    stream64(last, v);
  } else {
    store_part(last, ~lowest(static_cast<std::size_t>(row.to - last)), v);
  }
}

/// Rows of at least 256 bytes that begin at a multiple of Unit. Rows of a page and more of input are interleaved where
/// the job says so, four at a time: the CPU's own prefetcher starts anew in every page, which so goes on beside three
/// others.
template <std::size_t Unit, int Step>
DMLREF_TARGET_AVX512VNNI inline void stream_rows(const RowJob& job, const std::byte* in, std::byte* out,
                                                 const RowPlace* rows, std::size_t count) noexcept {
  constexpr std::size_t at_once = 4, run = 256, in_per_out = Step == 2 ? 2 : 1;
  const std::size_t bytes = job.out_bytes;
  const bool paged = bytes * in_per_out >= 4096;
  const Index last_in = static_cast<Index>(bytes - 64) * Step;
  std::size_t r = 0;
  for (; job.interleave && paged && r + at_once <= count; r += at_once) {
    constexpr Index soon = 384 * Step;
    StreamedRow row[at_once];
    for (std::size_t k = 0; k < at_once; ++k) {
      row[k] = begin_row<Unit, Step>(in + rows[r + k].in, out + rows[r + k].out);
    }
    for (std::size_t left = bytes - 64; left >= run; left -= run) {
      for (StreamedRow& one : row) {
        for (std::size_t line = 0; line < run; line += 64) move_line<Unit, Step>(one, soon);
      }
    }
    for (std::size_t k = 0; k < at_once; ++k) {
      const RowPlace& place = rows[r + k];
      end_row<Unit, Step>(row[k], out + place.out + bytes - 64, in + place.in + last_in, soon);
    }
  }
  for (; r < count; ++r) {
    const std::byte* const from = in + rows[r].in;
    std::byte* const to = out + rows[r].out;
    end_row<Unit, Step>(begin_row<Unit, Step>(from, to), to + bytes - 64, from + last_in,
                        paged ? 512 * Step : avx2::next_row(job, rows, r, count));
  }
}

}  // namespace fast::avx512
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"

#endif  // DMLREF_ARCH_X86_64
