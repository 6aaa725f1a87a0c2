// staged_rows.hpp: short rows of any form written around the caches, by way of a few KiB in the first one.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <cstddef>

#include "dmlref/fast/slice/avx2/vectors.hpp"
#include "dmlref/fast/slice/avx512/vectors.hpp"
#include "dmlref/fast/slice/job.hpp"

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::avx512 {

/// Rows of less than 1 KiB, each where the one before it ends: collected by `job.staged` (more than a KiB at a time is
/// slower), then written line by line.
DMLREF_TARGET_AVX512VNNI inline void staged_rows(const RowJob& job, const std::byte* in, std::byte* out,
                                                 const RowPlace* rows, std::size_t count, Room room) noexcept {
  constexpr std::size_t most = 1024;
  alignas(64) std::byte stage[64 + most + 64];  // the beginning of a line, rows, and what a kernel writes beyond them
  const std::size_t group = most / job.out_bytes;
  std::byte* to = out + rows[0].out;
  std::size_t foreign = avx2::misaligned(to, 64);  // bytes of the first line that belong to others
  std::size_t filled = foreign;
  to -= foreign;
  for (std::size_t r = 0; r < count;) {
    const std::size_t some = count - r < group ? count - r : group;
    job.staged(job, in, stage + filled - rows[r].out, rows + r, some, {room.read, true});
    r += some;
    filled += some * job.out_bytes;
    std::size_t at = 0;
    if (foreign > 0 && filled >= 64) {
      store_part(to, ~lowest(foreign), load64(stage));
      foreign = 0;
      at = 64;
      to += 64;
    }
    for (; at + 64 <= filled; at += 64, to += 64) stream64(to, load64(stage + at));
    if (at > 0) store64(stage, load64(stage + at));
    filled -= at;
  }
  if (filled > foreign) store_part(to, lowest(filled) & ~lowest(foreign), load64(stage));
}

}  // namespace fast::avx512
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"

#endif  // DMLREF_ARCH_X86_64
