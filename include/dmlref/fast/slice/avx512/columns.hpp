// columns.hpp: rows cut out of longer ones, a column of pieces at a time.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>

#include "dmlref/fast/slice/avx2/vectors.hpp"
#include "dmlref/fast/slice/avx512/vectors.hpp"
#include "dmlref/fast/slice/avx512/wide_vectors.hpp"
#include "dmlref/fast/slice/job.hpp"

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::avx512 {

/// 256 bytes of each of 64 rows, whole lines of the output, then the next 256 of each. A few lines do not set off the
/// CPU's own prefetcher, which in a whole row would go on beyond its end; what is needed is prefetched four rows ahead,
/// on both sides. Every row begins at a multiple of Unit.
template <std::size_t Unit, int Step>
DMLREF_NOINLINE DMLREF_TARGET_AVX512VNNI inline void rows_in_columns(const RowJob& job, const std::byte* in,
                                                                     std::byte* out, const RowPlace* rows,
                                                                     std::size_t count) noexcept {
  constexpr std::size_t width = 256, height = 64, ahead = 4;
  const std::size_t last = job.out_bytes - 64;
  const Index last_in = static_cast<Index>(job.out_bytes / Unit - 64 / Unit) * Step * static_cast<Index>(Unit);
  for (std::size_t top = 0; top < count; top += height) {
    const std::size_t bottom = top + height < count ? top + height : count;
    for (std::size_t column = 0; column < job.out_bytes; column += width) {
      for (std::size_t r = top; r < bottom; ++r) {
        const RowPlace& row = rows[r];
        const RowPlace& later = rows[r + ahead < bottom ? r + ahead : r];
        const Index in_ahead = later.in - row.in, out_ahead = later.out - row.out;
        const std::byte* const from = in + row.in;
        std::byte* const to = out + row.out;
        const std::size_t head = (64 - avx2::misaligned(to, 64)) % 64;
        const std::size_t end = column + head + width;
        std::size_t at = column == 0 ? 0 : column + head;
        while (at < last && at < end) {
          const std::byte* const source = from + static_cast<Index>(at) * Step;
          avx2::prefetch(source + in_ahead);
          if (Step == 2) avx2::prefetch(source + in_ahead + 64);
          avx2::prefetch(to + at + out_ahead);
          store64(to + at, wide_vector<Unit, Step, false>(source));
          at += at == 0 && head != 0 ? head : 64;
        }
        if (at >= last && at < end && at < last + 64) {
          avx2::prefetch(from + last_in + in_ahead);
          avx2::prefetch(to + last + out_ahead);
          store64(to + last, wide_vector<Unit, Step, true>(from + last_in));
        }
      }
    }
  }
}

}  // namespace fast::avx512
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"

#endif  // DMLREF_ARCH_X86_64
