// schedule.hpp: how a normalization is executed, which sizes, strides, the activation and the instruction set decide
// once: in which pieces groups are read, what overlaps, how far ahead lines are asked for, what goes past the caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/fast/mean_variance_normalization/activation/select.hpp"
#include "dmlref/fast/mean_variance_normalization/columns/select.hpp"
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
  static constexpr std::uint64_t second_cache_bytes = std::uint64_t{1} << 20;  // no more is in reach without asking

  Schedule(const Geometry& places, const reference::NormalizationParameters& p, Isa isa, const Tuning& tuning) noexcept
      : geometry(places),
        parameters(p),
        kernels(&kernels_of(isa, tuning)),
        activation_kernels(&activation_kernels_of(isa)),
        column_kernels(&column_kernels_of(isa)),
        has_fma(isa == Isa::avx2 || isa == Isa::avxvnni || isa == Isa::avx512vnni || isa == Isa::amx_int8),
        line(reference::LinearPart::of(p.activation)),
        finish(finish_of(p.activation.type)),
        count(static_cast<std::uint64_t>(places.reduced.count())),
        groups(static_cast<std::uint64_t>(places.kept.count())),
        chunks(chunk_count(count)) {
    const std::uint64_t bytes = 2 * count * groups * sizeof(T);
    streams = bytes > own_cache_bytes() / (kernels->sums_ahead ? 2 : 1);
    // (Scale and bias share the first cache with what is on its way through it.)
    const std::uint64_t shared = geometry.varying ? own_cache_bytes() / 3 * 2 : own_cache_bytes() / 5 * 4;
    several_stream = streams && (!kernels->sums_ahead || chunks > 1 || bytes > shared);
    if (geometry.reduced.rank > 0) {
      const Dimension& inner = geometry.reduced.at[geometry.reduced.rank - 1];
      stretches = chunks > 1 && inner.extent >= 16 && inner.step.input == 1 && inner.step.output == 1;
      const bool from_lane_0 = stretches && inner.extent % 16 == 0;
      summed_pieces = (!is_half || kernels->half_sums != nullptr) && from_lane_0;
      pieces = (is_half ? stretches : summed_pieces) && !geometry.varying && finish != Finish::values;
      const bool is_long = inner.extent >= 4 * static_cast<Index>(normalization_chunk) &&
                           (is_half ? kernels->asks_for_halves : !kernels->sums_ahead || streams);
      // (Kernels that overlap do not ask for the output, which short pieces want unless they go past the caches.)
      const bool is_short = inner.extent <= 512;
      const bool overlapping = !is_half && pieces && kernels->pieces32_and_sums[0] != nullptr;
      pieces_overlap = overlapping && (kernels->sums_ahead || !is_short || bytes <= second_cache_bytes);
      const bool asks_for_floats = !(kernels->sums_ahead || overlapping) || kernels->asks_where_kept;
      asks = (is_half ? kernels->asks_for_halves : asks_for_floats) || is_short;
      if (bytes > second_cache_bytes && (is_long || chunks == 1)) near = kernels->near;
    }
    if (is_half && chunks == 1 && geometry.reduced.rank == 1) {
      const Place& step = geometry.reduced.at[0].step;
      halves_overlap = kernels->row16_and_sums != nullptr && step.input == 1 && step.output == 1 && !geometry.varying &&
                       finish != Finish::values;
      overlaps = kernels->half_sums_ahead && step.input == 1;
    }
    shared_parameters = geometry.varying && shares_parameters();
    if (!is_half) {
      const bool streamed = kernels->streamed_sums_ahead && streams && finish != Finish::values;
      const bool nearby = kernels->near_sums_ahead && bytes <= second_cache_bytes;
      overlaps = (kernels->sums_ahead && holds_two_rows()) || streamed || nearby;
    }
    apart = !is_half && kernels->asks_where_kept && bytes > own_cache_bytes() / 3 * 2;
    // (Groups that are read again from further away are better read at once.)
    pairs = summed_pieces && kernels->two_sums[is_half] != nullptr && count * sizeof(T) <= second_cache_bytes / 8;
    far = bytes > second_cache_bytes;
    if (geometry.kept.rank > 0) {
      // (Not float32: its lines are twice as many and get in the way of those that are wanted now.)
      const Index extent = stretches ? geometry.reduced.at[geometry.reduced.rank - 1].extent : 0;
      const Place& neighbour = geometry.kept.at[geometry.kept.rank - 1].step;
      runs = is_half && kernels->runs && pieces && bytes > second_cache_bytes && extent <= 512 &&
             neighbour.input == extent && neighbour.output == extent;
    }
    // (With an activation of its own a row has doubles already.)
    fits_doubles = kernels->each_from_doubles && finish != Finish::values && first_cache_bytes() >= 48 * 1024;
  }

  std::size_t chunk_size(std::uint64_t chunk) const noexcept { return normalization::chunk_size(count, chunk); }

  PieceTable piece_table() const noexcept {
    return {geometry.reduced, count, static_cast<Index>(sizeof(T)), stretches};
  }

  Geometry geometry;
  reference::NormalizationParameters parameters;
  const Kernels* kernels;
  const ActivationKernels* activation_kernels;
  const ColumnKernels* column_kernels;
  bool has_fma;
  reference::LinearPart line;
  Finish finish;
  std::uint64_t count;
  std::uint64_t groups;
  std::uint64_t chunks;
  bool shared_parameters = false;  // scale and bias vary, but not from group to group
  bool stretches = false;          // chunks are made of contiguous stretches in both tensors
  bool summed_pieces = false;      // which begin with lane 0: they are summed where they lie,
  bool pieces = false;             // and share one line: nothing need be gathered
  bool pairs = false;              // two groups are summed side by side; the second cache holds both
  bool pieces_overlap = false;     // one group's results are formed together with the sums of the next
  bool far = false;                // input and output do not fit the second cache
  bool overlaps = false;           // a row's results are formed together with the sums of another row
  bool apart = false;              // not where several tasks keep results in a cache that they nearly fill
  bool halves_overlap = false;     // rows of float16 do so without a row of floats
  bool asks = true;                // lines of the next group are asked for
  std::int64_t near = 0;           // how many bytes ahead of long contiguous walks to ask for lines; of one row: not 0
  bool runs = false;               // short pieces of neighbouring groups lie side by side, worth asking for together
  bool fits_doubles = false;       // the first cache holds a row's doubles beside scale and bias
  bool streams = false;            // the output is not worth a place in the caches,
  bool several_stream = false;     // not even where several tasks fill it

 private:
  /// Whether the first cache holds the doubles of two rows of float32 beside all else that is on its way through it.
  bool holds_two_rows() const noexcept {
    const bool has_values = finish == Finish::values;
    const bool beyond = near != 0;  // lines come from beyond the second cache
    if (first_cache_bytes() >= 48 * 1024) return !(geometry.varying && has_values && beyond);
    // (With scale and bias 32 KiB do not hold those of an activation, which gains where memory would be waited for.)
    return !has_values || (streams && !geometry.varying);
  }

  bool shares_parameters() const noexcept {
    for (std::size_t d = 0; d < geometry.kept.rank; ++d) {
      if (geometry.kept.at[d].step.scale != 0 || geometry.kept.at[d].step.bias != 0) return false;
    }
    return true;
  }
};

}  // namespace fast::normalization
DMLREF_END
