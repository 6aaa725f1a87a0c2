// thresholds.hpp: sizes at which a copy changes its ways, from a CPU model's numbers and this CPU's caches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/isa/cache.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/view/shape.hpp"

DMLREF_BEGIN
namespace fast {

struct SliceThresholds {
  std::uint64_t stream_bytes;   // twice the larger of input and output: from here on non-temporal stores
  std::uint64_t kept_bytes;     // of input and three times output, that several tasks keep in the caches all the same
  std::uint64_t task_bytes;     // of the larger of input and output: less is not worth a task
  std::size_t interleave_from;  // bytes of rows by non-temporal stores that are interleaved
  Index output_prefetch;        // bytes of output by which cached stores prefetch ahead; 0: they do not
  bool prefetch_within;         // rows by non-temporal stores prefetch themselves; else the rows that follow
  // Of input and output together:
  std::uint64_t irregular_from = 192 * 1024, irregular_to;  // between these, rows are taken in an irregular order

  /// AVX2's and NEON's CPUs without AVX-512 were not measured to gain by what AVX-512's do here.
  SliceThresholds(Isa isa, const Tuning::Slice& row) noexcept
      : stream_bytes(own_cache_bytes() / 8 * (has_512(isa) ? row.stream_eighths_512 : row.stream_eighths_256)),
        kept_bytes(has_512(isa) ? own_cache_bytes() / 6 * row.kept_sixths : 0),
        task_bytes(row.task_bytes),
        interleave_from(has_512(isa) ? row.interleave_from : ~std::size_t{0}),
        output_prefetch(has_512(isa) ? row.output_prefetch : 0),
        prefetch_within(has_512(isa)),
        irregular_to(has_512(isa) && row.irregular_order ? l2_bytes() / 2 * 3 : 0) {}

 private:
  static constexpr bool has_512(Isa isa) noexcept { return isa == Isa::avx512vnni || isa == Isa::amx_int8; }
};

}  // namespace fast
DMLREF_END
