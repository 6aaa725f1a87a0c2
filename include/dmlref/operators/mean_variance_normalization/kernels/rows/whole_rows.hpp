// whole_rows.hpp: groups of one chunk: each is a row, or gathered into one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/isa/cache.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/elements.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/geometry.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/kernels.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/rows/execution.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/rows/plan.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/small_groups.hpp"

DMLREF_BEGIN
namespace fast::normalization {

/// Groups of one chunk.
template <class T>
struct WholeRows : RowPlan<T> {
  using Base = RowPlan<T>;
  using Base::beyond_l2, Base::finish, Base::groups, Base::is_half, Base::kernels, Base::prefetch_distance,
      Base::streams;

  WholeRows(const Geometry& places, const reference::NormalizationParameters& p, const TargetKernels& target,
            const Tuning::Normalization& tuning) noexcept
      : Base(places, p, target, tuning) {
    if (places.reduced.rank > 0 && beyond_l2) {
      prefetch_distance = target.rows->prefetch_distance;
      if (prefetch_distance != 0) row_prefetch = tuning.row_prefetch;
    }
    if (!target.rows->pipelined) return;
    if constexpr (is_half) {
      pipelined_kept = places.reduced.rank == 1 && places.reduced.at[0].step.input == 1;
      pipelined_streamed = pipelined_kept;
    } else {
      using enum Tuning::Normalization::PipelinedRows;
      // L1d holds the doubles of two rows beside all else that is on its way through it, unless an activation of its
      // own needs a row of values.
      const bool has_values = finish == Finish::values;
      const bool fits = !has_values || (l1d_bytes() >= 48 * 1024 && !(places.varying && prefetch_distance != 0));
      pipelined_kept = tuning.pipelined_rows == always ? fits : tuning.pipelined_rows == streamed_or_near && !beyond_l2;
      pipelined_streamed = tuning.pipelined_rows == always ? fits : !has_values;
    }
  }

  std::string_view name() const noexcept { return pipelined(streams) ? "pipelined rows" : "rows"; }
  /// `streamed`: with non-temporal stores.
  bool pipelined(bool streamed) const noexcept { return streamed ? pipelined_streamed : pipelined_kept; }
  std::uint64_t temporary_bytes() const noexcept { return 0; }
  template <class Parallel>
  void execute(const Buffers& buffers, std::size_t concurrency, const Parallel& parallel) const;

  bool pipelined_kept = false;      // a row's results are formed together with the sums of another row,
  bool pipelined_streamed = false;  // where stores are non-temporal
  std::int64_t row_prefetch = 0;    // bytes ahead, of pipelined rows
};

/// One execute.
template <class T>
struct WholeRowsExecution : RowExecution<T> {
  using Base = RowExecution<T>;
  using Base::buffers, Base::chunk_size, Base::correct, Base::element_bytes, Base::input_at, Base::is_half,
      Base::normalize, Base::op, Base::output_at, Base::read, Base::stretch_at, Base::streams;
  using typename Base::Corrections, typename Base::Real;

  const WholeRows<T>& rows;

  WholeRowsExecution(const WholeRows<T>& plan, const Buffers& all, std::size_t concurrency) noexcept
      : Base(plan, all, concurrency), rows(plan) {}

  /// Groups [begin, end), one after the other: a row and its doubles then stay in L1d.
  void one_by_one(std::uint64_t begin, std::uint64_t end) const noexcept {
    Workspace<T> work(op);
    const std::size_t size = chunk_size(0);
    const SmallGroup constants(size, op.parameters);
    const bool non_temporal =
        streams && (!op.geometry.varying || op.kernels.rows->pipelined) && op.finish != Finish::values;
    // (A scale and a bias for each element fill L1d.)
    Real* const wide = is_half || op.geometry.varying ? nullptr : work.wide(0);
    Walk walk(op.geometry.kept, Place{}, static_cast<Index>(begin));
    for (std::uint64_t g = begin; g < end; ++g) {
      const Place base = walk.place();
      walk.advance(1);
      const Place ahead = g + 1 < end ? Place(walk.place()).add(base, -1) : Place{};
      Row<T> row = read(base, 0, work.row, ahead.input);
      row.wide = wide;
      // Neither is foreseen by prefetchers while the other is walked.
      const std::byte* output = nullptr;
      if (!is_half && op.prefetch_distance != 0) {
        const bool in_place = row.floats != reinterpret_cast<const std::byte*>(work.row);
        if (in_place) row.next = address_of(row.floats, ahead.input * element_bytes);
        const std::optional<Place> place = stretch_at(&Place::output, base, 0, size);
        if (place && !non_temporal) output = output_at(*place);
      }
      double* doubles = nullptr;
      if constexpr (!is_half) doubles = wide;
      const GroupCoefficients group =
          constants.coefficients(op.kernels.rows->sums(row.floats, size, doubles, output),
                                 [&](double pivot) { return op.kernels.rows->shifted_sums(row.floats, size, pivot); });
      const Corrections corrections = normalize(base, 0, row, group, work, ahead.output);
      if (corrections.all || corrections.listed > 0) correct_group(base, corrections, group, work);
    }
  }

  /// The same with kernels that form the sums of the row after the next one together with a row's results. A row's
  /// coefficients are formed just before they are needed: its sums have been there for a while then, but right behind
  /// the sums everything would wait for quotients and roots. The doubles of two rows stay in L1d, of float16 the floats
  /// of three.
  void pipelined(std::uint64_t begin, std::uint64_t end) const noexcept {
    Workspace<T> work(op);
    const std::size_t size = chunk_size(0);
    const SmallGroup constants(size, op.parameters);
    constexpr std::size_t ahead = 2;
    const bool prefetches = !is_half && op.prefetch_distance != 0 && op.finish == Finish::values;
    Place base[ahead];
    GroupCoefficients groups[ahead];
    Walk walk(op.geometry.kept, Place{}, static_cast<Index>(begin));
    SumAndSquare sums[ahead];
    float* floats_of[ahead]{};  // of float16
    const auto form_coefficients = [&](std::size_t turn) {
      groups[turn] = constants.coefficients(sums[turn], [&](double pivot) {
        // (This part of the workspace is free between two rows.)
        const std::byte* const floats = is_half ? reinterpret_cast<const std::byte*>(floats_of[turn])
                                                : read(base[turn], 0, reinterpret_cast<float*>(work.result)).floats;
        return op.kernels.rows->shifted_sums(floats, size, pivot);
      });
    };
    const std::uint64_t first = std::min<std::uint64_t>(ahead, end - begin);
    for (std::uint64_t g = 0; g < first; ++g) {
      base[g] = walk.place();
      walk.advance(1);
      if constexpr (is_half) {
        floats_of[g] = work.wide(g);
        const Row<T> row = read(base[g], 0, work.wide(g));
        sums[g] = op.kernels.rows->sums(row.floats, size, nullptr, nullptr);
      } else {
        const Row<T> row = read(base[g], 0, work.row);
        sums[g] = op.kernels.rows->sums(row.floats, size, work.wide(g), nullptr);
      }
    }
    form_coefficients(0);
    for (std::uint64_t g = begin; g < end; ++g) {
      const std::size_t turn = (g - begin) % ahead;
      Row<T> row{is_half ? reinterpret_cast<const std::byte*>(floats_of[turn]) : nullptr, work.wide(turn)};
      const std::byte* following = nullptr;
      Place following_base;
      const bool more = g + ahead < end;
      if (more) {
        following_base = walk.place();
        walk.advance(1);
        // (float16 that overlaps is contiguous.)
        following = is_half ? input_at(following_base) : read(following_base, 0, work.row).floats;
        row.ahead = {following, &sums[turn], address_of(following), following};
        if constexpr (is_half) row.ahead.floats = work.wide((g - begin + ahead) % 3);
        const bool in_place = following != reinterpret_cast<const std::byte*>(work.row);
        if (!is_half && in_place && op.finish != Finish::values)
          row.ahead.next += static_cast<Address>(rows.row_prefetch);
        if (prefetches) {
          const std::optional<Place> place = stretch_at(&Place::output, base[turn], 0, size);
          const Place step = g + ahead + 1 < end ? Place(walk.place()).add(following_base, -1) : Place{};
          if (in_place) row.ahead.next += static_cast<Address>(step.input * element_bytes);
          if (place) row.ahead.output = output_at(*place);
        }
      }
      const Corrections corrections = normalize(base[turn], 0, row, groups[turn], work);
      if (corrections.all || corrections.listed > 0) correct_group(base[turn], corrections, groups[turn], work);
      if (g + 1 < end) form_coefficients((turn + 1) % ahead);
      if (more) {
        base[turn] = following_base;
        floats_of[turn] = row.ahead.floats;
      }
    }
  }

  /// Of a group of one chunk.
  DMLREF_NOINLINE void correct_group(const Place& base, const Corrections& corrections, GroupCoefficients group,
                                     Workspace<T>& work) const noexcept {
    ExactSlot exact;
    SmallGroup::complete(group, static_cast<double>(chunk_size(0)));
    correct(base, 0, corrections, group, exact, work);
  }
};

template <class T>
template <class Parallel>
void WholeRows<T>::execute(const Buffers& buffers, std::size_t concurrency, const Parallel& parallel) const {
  const WholeRowsExecution<T> run(*this, buffers, concurrency);
  const std::uint64_t tasks = concurrency == 1 ? 1 : std::min<std::uint64_t>(groups, concurrency * 4);
  parallel(tasks, [&](std::size_t t) {
    const std::uint64_t begin = groups * t / tasks;
    const std::uint64_t end = groups * (t + 1) / tasks;
    with_fma(kernels.has_fma, [&] { pipelined(run.streams) ? run.pipelined(begin, end) : run.one_by_one(begin, end); });
    end_task(run.streams);
  });
}

}  // namespace fast::normalization
DMLREF_END
