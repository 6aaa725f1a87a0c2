// whole_rows.hpp: groups of one summation block: each is a row, or gathered into one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
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
#include "dmlref/operators/mean_variance_normalization/reference.hpp"
#include "dmlref/reference/fma.hpp"
#include "dmlref/run/executor.hpp"
#include "dmlref/run/plan.hpp"

DMLREF_BEGIN
namespace fast::normalization {

/// What reference::merge_blocks and GroupCoefficients::of make of a single summation block. The variance, which hardly
/// any group needs, waits for `complete`.
struct SmallGroup {
  std::size_t size;
  double count;
  double inverse;  // 1 / count
  Center center;
  bool normalize_variance;
  double epsilon;

  SmallGroup(std::size_t elements, const reference::NormalizationParameters& parameters) noexcept
      : size(elements),
        count(static_cast<double>(elements)),
        inverse(1.0 / count),
        center(parameters.center),
        normalize_variance(parameters.normalize_variance),
        epsilon(static_cast<double>(parameters.epsilon)) {}

  /// From the sums of a summation block; `shifted_sums(pivot)` gives those of (x - pivot), where they are needed.
  template <class ShiftedSums>
  reference::GroupCoefficients coefficients(reference::SumAndSquare sums,
                                            const ShiftedSums& shifted_sums) const noexcept {
    constexpr double max = (std::numeric_limits<double>::max)();
    if (center == Center::zero) return of(reference::block_about_zero(sums.square));
    // (As reference::needs_pivot and block_from_sums, whose quotient each summation block would wait for.)
    const double deviations = reference::fma(-sums.sum, sums.sum * inverse, sums.square);
    if (sums.square <= max && !(deviations * 4096.0 >= sums.square)) {
      return of(
          reference::block_from(size, center, [&](double pivot) { return pivot == 0.0 ? sums : shifted_sums(pivot); }));
    }
    return of({sums.sum, 0, deviations < 0.0 ? 0.0 : deviations, sums.square});
  }

  static void complete(reference::GroupCoefficients& c, double count) noexcept {
    c.variance = reference::divide(c.variance, count);
  }

 private:
  reference::GroupCoefficients of(const reference::BlockStatistics& block) const noexcept {
    constexpr double max = (std::numeric_limits<double>::max)();
    reference::GroupCoefficients c;
    const reference::DoubleDouble mean = reference::divide(reference::fast_two_sum(block.sum, block.sum_low), count);
    c.mean = std::fabs(mean.high) <= max ? mean : reference::DoubleDouble{block.sum, 0};
    const bool near_zero = c.mean.high * c.mean.high <= 16.0 * (block.deviations * inverse);
    c.shift = near_zero ? 0.0 : c.mean.high;
    c.rest = near_zero ? c.mean.high : c.mean.low;
    const double square = block.magnitude * inverse;
    double amplification = 0;
    if (normalize_variance) {
      c.rate = 1.0 / std::sqrt(reference::fma(block.deviations, inverse, epsilon));
      amplification = square * c.rate * c.rate;
    }
    c.careful_slope_error = reference::slope_error_of(square, inverse, center);
    c.slope_error = reference::fma(std::fabs(c.rest), 0x1p-25, c.careful_slope_error);
    c.offset_error = reference::fma(amplification, 0x1p-24, 0x1p-24);
    c.careful_offset_error = amplification * 0x1p-24;
    c.variance = {block.deviations, 0};
    return c;
  }
};

/// Groups of one summation block.
template <class T>
struct WholeRows final : detail::PlanOf<WholeRows<T>>, RowPlan<T> {
  using Base = RowPlan<T>;
  using Base::beyond_l2, Base::finish, Base::groups, Base::is_half, Base::kernels, Base::prefetch_distance,
      Base::several_stream, Base::streams;

  WholeRows(const Geometry& places, const reference::NormalizationParameters& p, const TargetKernels& target,
            const Tuning::Normalization& tuning) noexcept
      : Base(places, p, target, tuning) {
    if (places.reduced.rank > 0 && beyond_l2) {
      prefetch_distance = Base::prefetch_distance_of(target, tuning);
      if (prefetch_distance != 0) row_prefetch = tuning.row_prefetch;
    }
    prefetches_kept = tuning.prefetches_kept_rows || target.rows->vector_bits != 512;
    // (Kernels that do not form sums meanwhile take longer than memory: their output is prefetched instead.)
    if (places.varying && !target.rows->pipelined && finish != Finish::unrounded) streams = several_stream = false;
    if (!target.rows->pipelined) return;
    if constexpr (is_half) {
      pipelined_kept = places.reduced.rank == 1 && places.reduced.at[0].step.input == 1;
      pipelined_streamed = pipelined_kept;
    } else {
      using enum Tuning::Normalization::PipelinedRows;
      // L1d holds the doubles of two rows beside all else that is on its way through it, unless an activation of its
      // own needs a row of values.
      const bool has_values = finish == Finish::unrounded;
      const bool fits = !has_values || (l1d_bytes() >= 48 * 1024 && !(places.varying && prefetch_distance != 0));
      pipelined_kept = fits && (tuning.pipelined_rows == always || !beyond_l2);
      pipelined_streamed = tuning.pipelined_rows == always ? fits : !has_values;
    }
  }

  std::string_view strategy_name() const noexcept { return pipelined(streams) ? "pipelined rows" : "rows"; }
  /// `streamed`: with non-temporal stores.
  bool pipelined(bool streamed) const noexcept { return streamed ? pipelined_streamed : pipelined_kept; }
  void execute(const detail::Bindings& bindings, Executor& executor) const;

  bool pipelined_kept = false;      // a row's results are formed together with the sums of another row,
  bool pipelined_streamed = false;  // where stores are non-temporal
  std::int64_t row_prefetch = 0;    // bytes ahead, of pipelined rows
  bool prefetches_kept = true;      // one by one, those that are converted once and stay in the caches, too
};

/// One execute.
template <class T>
struct WholeRowsExecution : RowExecution<T> {
  using Base = RowExecution<T>;
  using Base::buffers, Base::block_size, Base::correct, Base::element_bytes, Base::input_at, Base::is_half,
      Base::normalize, Base::op, Base::output_at, Base::read, Base::results_from, Base::results_of, Base::stretch_at,
      Base::streams;
  using typename Base::Real;

  const WholeRows<T>& rows;

  WholeRowsExecution(const WholeRows<T>& plan, const Buffers& all, std::size_t concurrency) noexcept
      : Base(plan, all, concurrency), rows(plan) {}

  /// Sums of a row, whose doubles become `converted`; float16 is there already.
  SumAndSquare convert(const std::byte* floats, std::size_t size, Real* converted, Address output) const noexcept {
    if constexpr (is_half) {
      return op.kernels.rows->row_sums(floats, size, output);
    } else {
      return op.kernels.rows->convert(floats, size, converted, output);
    }
  }

  /// Groups [begin, end), one after the other: a row and its doubles then stay in L1d.
  void one_by_one(std::uint64_t begin, std::uint64_t end) const noexcept {
    Workspace<T> work(op);
    const std::size_t size = block_size(0);
    const SmallGroup constants(size, op.parameters);
    // (A scale and a bias for each element fill L1d.)
    const bool converts = !is_half && !op.geometry.varying;
    const bool prefetches = !is_half && op.prefetch_distance != 0 && (streams || !converts || rows.prefetches_kept);
    const Kernels& kernels = *op.kernels.rows;
    Walk walk(op.geometry.kept, Place{}, static_cast<Index>(begin));
    for (std::uint64_t g = begin; g < end; ++g) {
      const Place base = walk.place();
      walk.advance(1);
      const Place ahead = g + 1 < end ? Place(walk.place()).add(base, -1) : Place{};
      const std::byte* const floats = read(base, 0, work.row, ahead.input);
      Results<Real> results = converts ? results_of(work.converted(0)) : results_from(floats);
      Address output = address_of(floats);
      // Neither is foreseen by prefetchers while the other is walked.
      if (prefetches) {
        const bool in_place = floats != reinterpret_cast<const std::byte*>(work.row);
        if (in_place) results.prefetch.read = address_of(floats, ahead.input * element_bytes);
        const std::optional<Place> place = stretch_at(&Place::output, base, 0, size);
        if (place && !streams) output = address_of(output_at(*place));
      }
      const SumAndSquare sums =
          converts ? convert(floats, size, work.converted(0), output) : kernels.row_sums(floats, size, output);
      const GroupCoefficients group =
          constants.coefficients(sums, [&](double pivot) { return kernels.shifted_sums(floats, size, pivot); });
      const Corrections corrections = normalize(base, 0, results, group, work, ahead.output);
      if (corrections.any()) correct_group(base, corrections, group, work);
    }
  }
  /// The same with kernels that form the sums of the row after the next one together with a row's results. A row's
  /// coefficients are formed just before they are needed: its sums have been there for a while then, but right behind
  /// the sums everything would wait for quotients and roots. The doubles of two rows stay in L1d, of float16 the floats
  /// of three.
  void pipelined(std::uint64_t begin, std::uint64_t end) const noexcept {
    constexpr std::size_t stages = 2;
    Workspace<T> work(op);
    const std::size_t size = block_size(0);
    const SmallGroup constants(size, op.parameters);
    const Kernels& kernels = *op.kernels.rows;
    const bool prefetches = !is_half && op.prefetch_distance != 0 && op.finish == Finish::unrounded;
    struct Stage {
      Place base;
      Real* converted;
      SumAndSquare sums;
      GroupCoefficients group;
    } stage_of[stages];
    Walk walk(op.geometry.kept, Place{}, static_cast<Index>(begin));
    const auto form_coefficients = [&](Stage& stage) {
      stage.group = constants.coefficients(stage.sums, [&](double pivot) {
        // (This part of the workspace is free between two rows.)
        const std::byte* const floats = is_half ? reinterpret_cast<const std::byte*>(stage.converted)
                                                : read(stage.base, 0, reinterpret_cast<float*>(work.result));
        return kernels.shifted_sums(floats, size, pivot);
      });
    };
    const std::uint64_t first = std::min<std::uint64_t>(stages, end - begin);
    for (std::uint64_t g = 0; g < first; ++g) {
      Stage& stage = stage_of[g];
      stage.base = walk.place();
      stage.converted = work.converted(g);
      walk.advance(1);
      float* space = work.row;
      if constexpr (is_half) space = stage.converted;
      const std::byte* const floats = read(stage.base, 0, space);
      stage.sums = convert(floats, size, stage.converted, address_of(floats));
    }
    form_coefficients(stage_of[0]);
    for (std::uint64_t g = begin; g < end; ++g) {
      Stage& stage = stage_of[(g - begin) % stages];
      Results<Real> results = results_of(stage.converted);
      Place next;  // of the pipelined row, which takes the stage over
      const bool more = g + stages < end;
      if (more) {
        next = walk.place();
        walk.advance(1);
        // (float16 that is pipelined is contiguous.)
        const std::byte* const from = is_half ? input_at(next) : read(next, 0, work.row);
        results.source = Source::converted_and_sums;
        results.summed = {from, &stage.sums, is_half ? work.converted((g - begin + stages) % 3) : stage.converted};
        results.prefetch = {address_of(from), address_of(from)};
        if constexpr (is_half) {
          results.prefetch = {address_of(from, rows.row_prefetch),
                              address_of(output_at(stage.base), rows.row_prefetch)};
        }
        const bool in_place = from != reinterpret_cast<const std::byte*>(work.row);
        if (!is_half && in_place && op.finish != Finish::unrounded) {
          results.prefetch.read += static_cast<Address>(rows.row_prefetch);
        }
        if (prefetches) {  // the row after it, and the output, which the activation writes
          const std::optional<Place> place = stretch_at(&Place::output, stage.base, 0, size);
          const Place step = g + stages + 1 < end ? Place(walk.place()).add(next, -1) : Place{};
          if (in_place) results.prefetch.read += static_cast<Address>(step.input * element_bytes);
          results.prefetch.written = place ? address_of(output_at(*place)) : results.prefetch.read;
        }
      }
      const Corrections corrections = normalize(stage.base, 0, results, stage.group, work);
      if (corrections.any()) correct_group(stage.base, corrections, stage.group, work);
      if (g + 1 < end) form_coefficients(stage_of[(g + 1 - begin) % stages]);
      if (more) {
        stage.base = next;
        stage.converted = results.summed.converted;
      }
    }
  }

  /// Of a group of one summation block.
  DMLREF_NOINLINE void correct_group(const Place& base, const Corrections& corrections, GroupCoefficients group,
                                     Workspace<T>& work) const noexcept {
    ExactSlot exact;
    SmallGroup::complete(group, static_cast<double>(block_size(0)));
    correct(base, 0, corrections, group, exact, work);
  }
};

template <class T>
void WholeRows<T>::execute(const detail::Bindings& bindings, Executor& executor) const {
  const Buffers buffers(bindings);
  const std::size_t concurrency = detail::concurrency_of(executor);
  const WholeRowsExecution<T> run(*this, buffers, concurrency);
  const std::uint64_t tasks = concurrency == 1 ? 1 : std::min<std::uint64_t>(groups, concurrency * 4);
  detail::parallel_for(executor, tasks, [&](std::size_t t) {
    const std::uint64_t begin = groups * t / tasks;
    const std::uint64_t end = groups * (t + 1) / tasks;
    with_fma(kernels.has_fma, [&] { pipelined(run.streams) ? run.pipelined(begin, end) : run.one_by_one(begin, end); });
    end_task(run.streams);
  });
}

}  // namespace fast::normalization
DMLREF_END
