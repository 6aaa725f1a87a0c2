// plan.hpp: what the strategies by rows have in common, which sizes, strides, the activation and the instruction set
// decide once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/isa/cache.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/geometry.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/kernels.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/select.hpp"
#include "dmlref/operators/mean_variance_normalization/reference.hpp"

DMLREF_BEGIN
namespace fast::normalization {

/// Of a normalization of T (float or half).
template <class T>
struct RowPlan {
  static constexpr bool is_half = std::is_same_v<T, half>;

  RowPlan(const Geometry& places, const reference::NormalizationParameters& p, const TargetKernels& target,
          const Tuning::Normalization& tuning) noexcept
      : geometry(places),
        parameters(p),
        kernels(target),
        line(reference::LinearPart::of(p.activation)),
        finish(finish_of(p.activation.type)),
        count(static_cast<std::uint64_t>(places.reduced.count())),
        groups(static_cast<std::uint64_t>(places.kept.count())),
        chunks(normalization::chunk_count(count)),
        bytes(2 * count * groups * sizeof(T)),
        l2_bytes(tuning.l2_bytes),
        beyond_l2(bytes > l2_bytes),
        shared_parameters(places.varying && shares_parameters()) {
    streams = bytes * 100 > own_cache_bytes() * tuning.stream_percent;
    // (A line that two rows share may cost more with non-temporal stores than a copy of it.)
    if (!is_half && chunks == 1 && count % 16 != 0) streams = streams && tuning.streams_parts_of_lines;
    several_stream = streams && (chunks > 1 || bytes * 100 > own_cache_bytes() * tuning.stream_percent_of_rows);
  }

  /// How many bytes ahead to prefetch where prefetchers do not suffice; 0: not at all.
  static std::int64_t prefetch_distance_of(const TargetKernels& target, const Tuning::Normalization& tuning) noexcept {
    const std::size_t bits = target.rows->vector_bits;
    return bits == 0 ? 0 : bits == 512 ? tuning.prefetch_512 : tuning.prefetch_256;
  }
  std::size_t chunk_size(std::uint64_t chunk) const noexcept { return normalization::chunk_size(count, chunk); }

  Geometry geometry;
  reference::NormalizationParameters parameters;
  TargetKernels kernels;
  reference::LinearPart line;
  Finish finish;
  std::uint64_t count;
  std::uint64_t groups;
  std::uint64_t chunks;                // of a group
  std::uint64_t bytes;                 // of input and output
  std::uint64_t l2_bytes;              // as tuned
  bool beyond_l2;                      // input and output do not fit it
  bool shared_parameters;              // scale and bias vary, but not from group to group
  std::int64_t prefetch_distance = 0;  // bytes ahead of long contiguous walks; of groups of one chunk: not 0
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
