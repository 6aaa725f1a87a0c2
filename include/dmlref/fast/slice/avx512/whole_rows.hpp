// whole_rows.hpp: whole rows copied, reversed or of every second elements.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "dmlref/fast/slice/avx2/copies.hpp"
#include "dmlref/fast/slice/avx2/whole_rows.hpp"
#include "dmlref/fast/slice/avx512/columns.hpp"
#include "dmlref/fast/slice/avx512/streams.hpp"
#include "dmlref/fast/slice/avx512/vectors.hpp"
#include "dmlref/fast/slice/avx512/wide_vectors.hpp"
#include "dmlref/fast/slice/job.hpp"

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::avx512 {

/// Copies are bound by memory, not by the width of vectors: AVX2's do whatever takes no order of lines of its own.
DMLREF_TARGET_AVX512VNNI inline void copy_rows(const RowJob& job, const std::byte* in, std::byte* out,
                                               const RowPlace* rows, std::size_t count, Room room) noexcept {
  if (job.in_columns) return rows_in_columns<1, 1>(job, in, out, rows, count);
  if (job.stream && job.out_bytes >= 256) return stream_rows<1, 1>(job, in, out, rows, count);
  avx2::copy_rows(job, in, out, rows, count, room);
}

/// Rows of at least 32 bytes. The last vector overlaps the ones before: short rows are faster by vectors of 32 bytes,
/// unless they are one of 64.
template <std::size_t Unit, int Step>
DMLREF_TARGET_AVX512VNNI inline void wide_rows(const RowJob& job, const std::byte* in, std::byte* out,
                                               const RowPlace* rows, std::size_t count, Room room) noexcept {
  const std::size_t bytes = job.out_bytes;
  if (bytes < 128 && bytes != 64) return avx2::wide_rows<Unit, Step>(job, in, out, rows, count, room);
  if ((job.in_columns || (job.stream && bytes >= 256)) && units_aligned<Unit>(out, rows, count)) {
    if constexpr (Step == 2) {
      if (job.in_columns) return rows_in_columns<Unit, Step>(job, in, out, rows, count);
    }
    return stream_rows<Unit, Step>(job, in, out, rows, count);
  }
  const Index last_in = static_cast<Index>(job.count - 64 / Unit) * Step * static_cast<Index>(Unit);
  // Of every second element twice as much is read as written: prefetching the output would be in the way.
  const Index output_prefetch = Step == -1 ? job.output_prefetch : 0;
  for (std::size_t r = 0; r < count; ++r) {
    const std::byte* from = in + rows[r].in;
    std::byte* to = out + rows[r].out;
    const std::byte* const last_from = from + last_in;
    std::byte* const last = to + bytes - 64;
    const Index ahead = avx2::next_row(job, rows, r, count);
    for (; to < last; to += 64, from += 64 * Step) {
      if (output_prefetch != 0) avx2::prefetch(to + output_prefetch);
      avx2::prefetch(from + ahead);
      if (Step == 2) avx2::prefetch(from + ahead + 64);
      store64(to, wide_vector<Unit, Step, false>(from));
    }
    store64(last, wide_vector<Unit, Step, true>(last_from));
  }
}

}  // namespace fast::avx512
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"

#endif  // DMLREF_ARCH_X86_64
