// schedule.hpp: how a normalization is executed, which sizes, strides, the activation and the instruction set decide
// once: in which pieces groups are read, what is pipelined, what is prefetched how beyond_l2 ahead, what bypasses the
// caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/fast/mean_variance_normalization/geometry.hpp"
#include "dmlref/fast/mean_variance_normalization/kernels.hpp"
#include "dmlref/fast/mean_variance_normalization/pieces.hpp"
#include "dmlref/fast/mean_variance_normalization/select.hpp"
#include "dmlref/isa/cache.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/reference/mean_variance_normalization.hpp"

DMLREF_BEGIN
namespace fast::normalization {

/// Of a normalization of T (float or half).
template <class T>
struct Schedule {
  static constexpr bool is_half = std::is_same_v<T, half>;
  static constexpr std::uint64_t l2_bytes = std::uint64_t{1} << 20;  // more is prefetched

  Schedule(const Geometry& places, const reference::NormalizationParameters& p, Isa isa, const Tuning& tuning) noexcept
      : geometry(places),
        parameters(p),
        kernels(kernels_of(isa, tuning.normalization)),
        has_fma(isa == Isa::avx2 || isa == Isa::avxvnni || isa == Isa::avx512vnni || isa == Isa::amx_int8),
        line(reference::LinearPart::of(p.activation)),
        finish(finish_of(p.activation.type)),
        count(static_cast<std::uint64_t>(places.reduced.count())),
        groups(static_cast<std::uint64_t>(places.kept.count())),
        chunks(chunk_count(count)) {
    const Tuning::Normalization& numbers = tuning.normalization;
    const std::uint64_t bytes = 2 * count * groups * sizeof(T);
    const bool has_values = finish == Finish::values;
    streams = bytes * 100 > own_cache_bytes() * numbers.stream_percent;
    // (A line that two rows share may cost more with non-temporal stores than a copy of it.)
    if (!is_half && chunks == 1 && count % 16 != 0) streams = streams && numbers.streams_parts_of_lines;
    several_stream = streams && (chunks > 1 || bytes * 100 > own_cache_bytes() * numbers.stream_percent_of_rows);
    if (geometry.reduced.rank > 0) {
      const Dimension& inner = geometry.reduced.at[geometry.reduced.rank - 1];
      stretches = chunks > 1 && inner.extent >= 16 && inner.step.input == 1 && inner.step.output == 1;
      const bool from_lane_0 = stretches && inner.extent % 16 == 0;
      summed_pieces = from_lane_0;
      pieces = (is_half ? stretches : summed_pieces) && !geometry.varying && !has_values;
      const bool is_long = inner.extent >= 4 * static_cast<Index>(normalization_chunk) &&
                           (!kernels.rows->pipelined || (!is_half && streams));
      // (Pipelined kernels do not prefetch the output, which short pieces gain from.)
      const bool is_short = inner.extent <= 512;
      const bool always = numbers.pipelined_rows == Tuning::Normalization::PipelinedRows::always;
      const bool is_near = bytes <= l2_bytes;
      pipelines_pieces = kernels.rows->pipelined && !is_half && pieces && (always || !is_short || is_near);
      prefetches_next = !kernels.rows->pipelined || is_short;
      if (bytes > l2_bytes && (is_long || chunks == 1)) prefetch_distance = kernels.rows->prefetch_distance;
    }
    shared_parameters = geometry.varying && shares_parameters();
    if (is_half) {
      pipelined_kept = kernels.rows->pipelined && geometry.reduced.rank == 1 && geometry.reduced.at[0].step.input == 1;
      pipelined_streamed = pipelined_kept;
    } else if (kernels.rows->pipelined) {
      using enum Tuning::Normalization::PipelinedRows;
      // L1d holds the doubles of two rows beside all else that is on its way through it, unless an activation of its
      // own needs a row of values.
      const bool fits = !has_values || (l1d_bytes() >= 48 * 1024 && !(geometry.varying && prefetch_distance != 0));
      const bool nearby = bytes <= l2_bytes;
      pipelined_kept = numbers.pipelined_rows == always ? fits : numbers.pipelined_rows == streamed_or_near && nearby;
      pipelined_streamed = numbers.pipelined_rows == always ? fits : !has_values;
    }
    if (prefetch_distance != 0) row_prefetch = numbers.row_prefetch;
    beyond_l2 = bytes > l2_bytes;
  }

  std::size_t chunk_size(std::uint64_t chunk) const noexcept { return normalization::chunk_size(count, chunk); }

  /// Whether rows form their results together with the sums of another row; `streamed`: with non-temporal stores.
  bool pipelines_rows(bool streamed) const noexcept { return streamed ? pipelined_streamed : pipelined_kept; }

  PieceTable piece_table() const noexcept {
    return {geometry.reduced, count, static_cast<Index>(sizeof(T)), stretches};
  }

  Geometry geometry;
  reference::NormalizationParameters parameters;
  TargetKernels kernels;
  bool has_fma;
  reference::LinearPart line;
  Finish finish;
  std::uint64_t count;
  std::uint64_t groups;
  std::uint64_t chunks;
  bool shared_parameters = false;      // scale and bias vary, but not from group to group
  bool stretches = false;              // chunks are made of contiguous stretches in both tensors
  bool summed_pieces = false;          // which begin with lane 0: they are summed where they lie,
  bool pieces = false;                 // and share one line: nothing need be gathered
  bool pipelines_pieces = false;       // one group's results are formed together with the sums of the next
  bool beyond_l2 = false;              // input and output do not fit L2
  bool pipelined_kept = false;         // a row's results are formed together with the sums of another row,
  bool pipelined_streamed = false;     // where stores are non-temporal
  bool prefetches_next = true;         // lines of the next group
  std::int64_t prefetch_distance = 0;  // bytes ahead of long contiguous walks; of one row: not 0
  std::int64_t row_prefetch = 0;       // the same for pipelined rows
  bool streams = false;                // the output is not worth a place in the caches,
  bool several_stream = false;         // not even where several tasks fill it

 private:
  bool shares_parameters() const noexcept {
    for (std::size_t d = 0; d < geometry.kept.rank; ++d) {
      if (geometry.kept.at[d].step.scale != 0 || geometry.kept.at[d].step.bias != 0) return false;
    }
    return true;
  }
};

}  // namespace fast::normalization
DMLREF_END
