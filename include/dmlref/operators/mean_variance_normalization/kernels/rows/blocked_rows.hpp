// blocked_rows.hpp: groups of several summation blocks: all are summed, then all are normalized.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/elements.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/geometry.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/ill_conditioned/correction.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/kernels.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/rows/execution.hpp"
#include "dmlref/operators/mean_variance_normalization/reference.hpp"
#include "dmlref/run/executor.hpp"
#include "dmlref/run/plan.hpp"

DMLREF_BEGIN
namespace fast::normalization {

using reference::BlockStatistics;

/// What is known of a group once its summation blocks are.
struct MergedGroup {
  GroupCoefficients coefficients;
  ExactSlot exact;
};

/// The segments of a group's summation blocks: the same for all groups. Those of the whole group where they fit, else
/// of one summation block at a time. Input and output are contiguous along the innermost of the reduced dimensions, for
/// at least 16 elements.
class SegmentTable {
 public:
  /// `used`: whether the table is read.
  SegmentTable(const Dimensions& reduced, std::uint64_t count, Index element_size, bool used) noexcept
      : reduced_(reduced), count_(count), element_size_(element_size) {
    const std::uint64_t blocks = summation_block_count(count);
    whole_ = used && reduced.rank > 1 && blocks <= max_blocks && fill(0, blocks);
  }

  struct List {
    const Segment* segments;
    std::size_t count;
  };
  List of(std::uint64_t block) noexcept {
    if (reduced_.rank == 1) {  // the usual case of more summation blocks than the table holds, without divisions
      const Place start = Place{}.add(reduced_.at[0].step, static_cast<Index>(block * summation_block));
      at_[0] = {start.input * element_size_, start.output * element_size_, summation_block_size(count_, block)};
      return {at_, 1};
    }
    if (whole_) return {at_ + begin_[block], static_cast<std::size_t>(begin_[block + 1] - begin_[block])};
    fill(block, block + 1);
    return {at_, begin_[1]};
  }

 private:
  static constexpr std::size_t max_segments = 256;  // more than a summation block can have
  static constexpr std::uint64_t max_blocks = 64;

  DMLREF_NOINLINE bool fill(std::uint64_t first, std::uint64_t last) noexcept {
    Walk walk(reduced_, Place{}, static_cast<Index>(first * summation_block));
    std::uint16_t used = 0;
    for (std::uint64_t c = first; c < last; ++c) {
      begin_[c - first] = used;
      for (std::size_t left = summation_block_size(count_, c); left > 0;) {
        if (used == max_segments) return false;
        const std::size_t n = (std::min)(left, static_cast<std::size_t>(walk.stretch()));
        at_[used++] = {walk.place().input * element_size_, walk.place().output * element_size_, n};
        walk.advance(static_cast<Index>(n));
        left -= n;
      }
    }
    begin_[last - first] = used;
    return true;
  }

  const Dimensions& reduced_;
  std::uint64_t count_;
  Index element_size_;
  bool whole_ = false;
  std::uint16_t begin_[max_blocks + 1];
  Segment at_[max_segments];
};

/// Groups of several summation blocks.
template <class T>
struct BlockedRows final : detail::PlanOf<BlockedRows<T>>, RowPlan<T> {
  using Base = RowPlan<T>;
  using Base::beyond_l2, Base::blocks, Base::count, Base::finish, Base::geometry, Base::groups, Base::is_half,
      Base::kernels, Base::prefetch_distance, Base::streams;

  BlockedRows(const Geometry& places, const reference::NormalizationParameters& p, const TargetKernels& target,
              const Tuning::Normalization& tuning) noexcept
      : Base(places, p, target, tuning) {
    const Dimension& inner = places.reduced.at[places.reduced.rank - 1];
    has_segments = inner.extent >= 16 && inner.step.input == 1 && inner.step.output == 1;
    sums_segments = has_segments && inner.extent % 16 == 0;
    in_segments = (is_half ? has_segments : sums_segments) && finish != Finish::unrounded;
    const bool pipelined = target.rows->pipelined;
    const bool is_long =
        inner.extent >= 4 * static_cast<Index>(summation_block) && (!pipelined || (!is_half && streams));
    // (Pipelined kernels do not prefetch the output, which short segments gain from.)
    const bool is_short = inner.extent <= 512;
    const bool always = tuning.pipelined_rows == Tuning::Normalization::PipelinedRows::always;
    is_pipelined = pipelined && !is_half && in_segments && (always || !is_short || !beyond_l2);
    prefetches_next = !pipelined || is_short;
    if (beyond_l2 && is_long) prefetch_distance = Base::prefetch_distance_of(target, tuning);
  }

  std::string_view strategy_name() const noexcept {
    return is_pipelined ? "pipelined segments" : in_segments ? "segments" : "blocks";
  }
  /// Temporary memory: the statistics of summation blocks and what is known of groups.
  BindingProperties properties() const noexcept {
    return {statistics_bytes() + round_up(groups * sizeof(MergedGroup)), 0};
  }
  std::uint64_t statistics_bytes() const noexcept { return round_up(groups * blocks * sizeof(BlockStatistics)); }
  SegmentTable segment_table() const noexcept {
    return {geometry.reduced, count, static_cast<Index>(sizeof(T)), has_segments};
  }
  void execute(const detail::Bindings& bindings, Executor& executor) const;

  bool has_segments = false;    // summation blocks consist of segments of 16 elements and more in both tensors,
  bool sums_segments = false;   // which begin with lane 0: they are summed where they lie,
  bool in_segments = false;     // nothing need be gathered
  bool is_pipelined = false;    // one group's results are formed together with the sums of the next
  bool prefetches_next = true;  // lines of the next group
};

/// One execute.
template <class T>
struct BlockedRowsExecution : RowExecution<T> {
  using Base = RowExecution<T>;
  using Base::buffers, Base::block_size, Base::coefficients_of, Base::correct, Base::corrections_of,
      Base::element_bytes, Base::floats_at, Base::form_results, Base::input_at, Base::is_half, Base::normalize,
      Base::normalize_row, Base::op, Base::output_at, Base::read, Base::results_from, Base::streams, Base::widen;
  using typename Base::Real;

  const BlockedRows<T>& rows;

  BlockedRowsExecution(const BlockedRows<T>& plan, const Buffers& all, std::size_t concurrency) noexcept
      : Base(plan, all, concurrency), rows(plan) {}

  BlockStatistics* statistics() const noexcept { return reinterpret_cast<BlockStatistics*>(buffers.temporary); }
  MergedGroup& group_at(std::uint64_t group) const noexcept {
    return reinterpret_cast<MergedGroup*>(buffers.temporary + rows.statistics_bytes())[group];
  }

  DMLREF_NOINLINE void merge(std::uint64_t group) const noexcept {
    const BlockStatistics* const blocks = statistics() + group * op.blocks;
    with_fma(op.kernels.has_fma, [&] {
      const auto merged = reference::merge_blocks(op.count, [blocks](std::uint64_t c) { return blocks[c]; });
      ::new (&group_at(group)) MergedGroup{GroupCoefficients::of(merged, op.count, op.parameters), {}};
    });
  }

  static constexpr std::uint64_t max_batch = 16;

  /// How many groups are done at once: of those that share a scale and a bias for each element as many as, with those
  /// that are summed meanwhile, fit half of L2.
  std::uint64_t batch() const noexcept {
    if (!op.shared_parameters) return 1;
    return std::clamp<std::uint64_t>(op.l2_bytes / 4 / (op.count * sizeof(T)), 1, max_batch);
  }

  /// From the group at `base` to the next one; nothing after the last.
  Place to_next(std::uint64_t group, const Place& base) const noexcept {
    if (group + 1 >= op.groups) return {};
    return op.geometry.kept.place(static_cast<Index>(group + 1)).add(base, -1);
  }
  /// How many elements ahead sums prefetch, and results; `next`: from a group to the next one.
  Index sums_ahead(const Place& next) const noexcept {
    return op.prefetch_distance != 0 ? op.prefetch_distance / element_bytes : rows.prefetches_next ? next.input : 0;
  }
  Place results_ahead(Place next) const noexcept {
    if (!rows.prefetches_next) next.output = 0;
    return next;
  }

  /// A summation block as floats: where it lies, or gathered into `space`. `ahead` elements further on lies what is
  /// read next.
  DMLREF_NOINLINE const std::byte* gather(const Place& base, const SegmentTable::List& list, float* space,
                                          Index ahead) const noexcept {
    const std::byte* const from = input_at(base);
    if (is_half && op.prefetch_distance != 0) {
      for (std::size_t s = 0; s < list.count; ++s) {
        prefetch<0>(address_of(from, list.segments[s].from + op.prefetch_distance), list.segments[s].count * sizeof(T));
      }
      ahead = 0;
    }
    if (list.count == 1) return floats_at(from + list.segments[0].from, list.segments[0].count, space);
    float* to = space;
    for (std::size_t s = 0; s < list.count; ++s) {
      const Segment& segment = list.segments[s];
      if (ahead != 0) {
        prefetch<0>(address_of(from, segment.from + ahead * element_bytes), segment.count * sizeof(T));
      }
      widen(from + segment.from, segment.count, to);
      to += segment.count;
    }
    return reinterpret_cast<const std::byte*>(space);
  }

  /// The results of a summation block that is gathered, and scattered again.
  void normalize_gathered(const Place& base, std::uint64_t block, const SegmentTable::List& list, const Place& ahead,
                          const GroupCoefficients& group, ExactSlot& exact, Workspace<T>& work) const noexcept {
    const std::size_t size = block_size(block);
    std::byte* const output = output_at(base);
    const bool in_place = list.count == 1;
    if (is_half && in_place && op.beyond_l2) prefetch<1>(address_of(output, list.segments[0].to), size * sizeof(T));
    const std::byte* const floats = gather(base, list, work.row, 0);
    Results<Real> results = results_from(floats);
    if (in_place && op.finish == Finish::unrounded) {
      results.prefetch.read = address_of(input_at(base), list.segments[0].from + ahead.input * element_bytes);
    } else if (in_place && !is_half) {
      results.prefetch.read = address_of(floats, op.prefetch_distance);
    }
    const auto c = coefficients_of(base, block * summation_block, size, group, work);
    const Corrections corrections =
        normalize_row(c, results, size, in_place ? output + list.segments[0].to : nullptr, group, work);
    const std::byte* from = work.result;
    for (std::size_t s = 0; s < list.count && !in_place; ++s) {
      const Segment& segment = list.segments[s];
      const std::size_t bytes = segment.count * sizeof(T);
      if (ahead.output != 0) prefetch<1>(address_of(output, segment.to + ahead.output * element_bytes), bytes);
      std::memcpy(output + segment.to, from, bytes);
      from += bytes;
    }
    correct(base, block, corrections, group, exact, work);
  }

  /// Statistics from a summation block's sums; `floats()` gives its elements, where they are summed again.
  template <class Floats>
  BlockStatistics statistics_from(const SumAndSquare& sums, std::size_t size, const Floats& floats) const noexcept {
    return reference::block_from(size, op.parameters.center, [&](double pivot) {
      return pivot == 0.0 ? sums : op.kernels.rows->shifted_sums(floats(), size, pivot);
    });
  }
  BlockStatistics sum_segments(const Place& base, std::uint64_t block, const SegmentTable::List& list, Index ahead,
                               Workspace<T>& work) const noexcept {
    const Kernels& k = *op.kernels.rows;
    const std::byte* const from = input_at(base);
    const Address read_next = address_of(from, ahead * element_bytes);
    const SumAndSquare sums = (is_half ? k.half_sums : k.sums)(from, list.segments, list.count, read_next);
    return statistics_from(sums, block_size(block), [&] { return read(base, block, work.row); });
  }

  /// The results of a summation block where it lies. `summed`: the same summation block of another group, whose `sums`
  /// are formed meanwhile, or null. (Written at once: what is copied right after its parts were stored waits for all
  /// stores before them.)
  void normalize_segments(const Place& base, std::uint64_t block, const SegmentTable::List& list, Prefetch prefetch,
                          const std::byte* summed, SumAndSquare* sums, const GroupCoefficients& group, ExactSlot& exact,
                          Workspace<T>& work) const noexcept {
    const auto c = coefficients_of(base, block * summation_block, block_size(block), group, work);
    const Results<Real> results{summed != nullptr ? Source::memory_and_sums : Source::memory,
                                input_at(base),
                                nullptr,
                                output_at(base),
                                list.segments,
                                list.count,
                                upper_bound_of(op.parameters.activation.type),
                                streams,
                                prefetch,
                                {summed, sums, nullptr},
                                work.ill_conditioned};
    const Corrections corrections =
        corrections_of(form_results(op.finish, results, c, group, work), c.per_element, c.shared);
    correct(base, block, corrections, group, exact, work);
  }
  /// What is prefetched as well as a group's own elements: `ahead` elements further on lies the next one's output.
  Prefetch prefetch_of(const Place& base, Index ahead) const noexcept {
    const std::int64_t distance = op.prefetch_distance;
    return {address_of(input_at(base), distance),
            address_of(output_at(base), distance != 0 ? distance : ahead * element_bytes)};
  }

  /// `ahead` elements further on lies what is read next.
  DMLREF_NOINLINE void sum_blocks(std::uint64_t group, const Place& base, Index ahead, std::uint64_t begin,
                                  std::uint64_t end, SegmentTable& table, Workspace<T>& work) const noexcept {
    with_fma(op.kernels.has_fma, [&] { sum_blocks_of(group, base, ahead, begin, end, table, work); });
  }
  void sum_blocks_of(std::uint64_t group, const Place& base, Index ahead, std::uint64_t begin, std::uint64_t end,
                     SegmentTable& table, Workspace<T>& work) const noexcept {
    for (std::uint64_t c = begin; c < end; ++c) {
      BlockStatistics& block = statistics()[group * op.blocks + c];
      if (rows.sums_segments) {
        block = sum_segments(base, c, table.of(c), ahead, work);
      } else {
        const std::size_t size = block_size(c);
        const std::byte* const floats =
            rows.has_segments ? gather(base, table.of(c), work.row, ahead) : read(base, c, work.row, ahead);
        const SumAndSquare sums = op.kernels.rows->row_sums(floats, size, address_of(floats));
        block = statistics_from(sums, size, [floats] { return floats; });
      }
    }
  }

  /// `ahead`: from there to what is read and written next.
  DMLREF_NOINLINE void normalize_blocks(std::uint64_t group, const Place& base, const Place& ahead, std::uint64_t begin,
                                        std::uint64_t end, SegmentTable& table, Workspace<T>& work) const noexcept {
    with_fma(op.kernels.has_fma, [&] { normalize_blocks_of(group, base, ahead, begin, end, table, work); });
  }
  void normalize_blocks_of(std::uint64_t group, const Place& base, const Place& ahead, std::uint64_t begin,
                           std::uint64_t end, SegmentTable& table, Workspace<T>& work) const noexcept {
    auto& [all, exact] = group_at(group);
    for (std::uint64_t c = begin; c < end; ++c) {
      if (rows.in_segments) {
        normalize_segments(base, c, table.of(c), prefetch_of(base, ahead.output), nullptr, nullptr, all, exact, work);
      } else if (rows.has_segments) {
        normalize_gathered(base, c, table.of(c), ahead, all, exact, work);
      } else {
        Results<Real> results = results_from(read(base, c, work.row));
        const Corrections corrections = normalize(base, c, results, all, work, ahead.output);
        correct(base, c, corrections, all, exact, work);
      }
    }
  }

  /// Groups [begin, end), whose summation blocks are summed, then normalized.
  DMLREF_NOINLINE void one_by_one(std::uint64_t begin, std::uint64_t end) const noexcept {
    Workspace<T> work(op);
    SegmentTable table = rows.segment_table();
    for (std::uint64_t g = begin; g < end; ++g) {
      const Place base = op.geometry.kept.place(static_cast<Index>(g));
      const Place next = to_next(g, base);
      sum_blocks(g, base, sums_ahead(next), 0, op.blocks, table, work);
      merge(g);
      normalize_blocks(g, base, results_ahead(next), 0, op.blocks, table, work);
    }
  }

  /// The same of batches of groups, one summation block of all after the other: where they share a scale and a bias for
  /// each element, these become doubles once for a batch. The next batch is summed meanwhile, by pipelined kernels in
  /// one loop: one comes from memory while the other is computed. With AVX2 it is summed afterwards.
  void in_batches(std::uint64_t begin, std::uint64_t end) const noexcept {
    Workspace<T> work(op);
    SegmentTable table = rows.segment_table();
    const std::uint64_t at_once = batch();
    const bool meanwhile = op.kernels.rows->pipelined;
    Place base[2 * max_batch];  // of the groups whose results are formed, and of those that are summed
    Walk walk(op.geometry.kept, Place{}, static_cast<Index>(begin));
    const auto find = [&](std::uint64_t first, Place* places) {
      const std::uint64_t count = (std::min)(at_once, end - (std::min)(first, end));
      for (std::uint64_t k = 0; k < count; ++k) {
        places[k] = walk.place();
        walk.advance(1);
      }
      return count;
    };
    std::uint64_t count = find(begin, base);
    for (std::uint64_t k = 0; k < count; ++k) sum_blocks(begin + k, base[k], sums_ahead({}), 0, op.blocks, table, work);
    for (std::uint64_t g = begin; count > 0; g += at_once) {
      for (std::uint64_t k = 0; k < count; ++k) merge(g + k);
      const std::uint64_t more = find(g + at_once, base + at_once);
      const Place step = more > 0 ? Place(base[1]).add(base[0], -1) : Place{};
      Place ahead = results_ahead(step);
      Index read_ahead = op.beyond_l2 ? step.input : 0;
      if (at_once == 1) read_ahead = sums_ahead(op.beyond_l2 ? step : Place{});
      for (std::uint64_t c = 0; c < op.blocks; ++c) {
        for (std::uint64_t k = 0; k < count; ++k) {
          const Place& next = base[at_once + k];
          if constexpr (!is_half) {
            if (k < more && rows.is_pipelined) {
              const Address read_next = address_of(input_at(next), read_ahead * element_bytes);
              SumAndSquare sums;
              auto& [all, exact] = group_at(g + k);
              normalize_segments(base[k], c, table.of(c), {read_next, read_next}, input_at(next), &sums, all, exact,
                                 work);
              statistics()[(g + at_once + k) * op.blocks + c] =
                  statistics_from(sums, block_size(c), [&] { return read(next, c, work.row); });
              continue;
            }
          }
          ahead.input = k < more ? next.input - base[k].input : 0;
          normalize_blocks(g + k, base[k], ahead, c, c + 1, table, work);
          if (k < more && meanwhile) sum_blocks(g + at_once + k, next, read_ahead, c, c + 1, table, work);
        }
      }
      for (std::uint64_t k = 0; k < more && !meanwhile; ++k) {
        sum_blocks(g + at_once + k, base[at_once + k], sums_ahead(step), 0, op.blocks, table, work);
      }
      std::copy_n(base + at_once, more, base);
      count = more;
    }
  }
};

template <class T>
void BlockedRows<T>::execute(const detail::Bindings& bindings, Executor& executor) const {
  const Buffers buffers(bindings);
  const std::size_t concurrency = detail::concurrency_of(executor);
  const BlockedRowsExecution<T> run(*this, buffers, concurrency);
  if (concurrency == 1 || groups >= concurrency * 4) {
    const std::uint64_t tasks = concurrency == 1 ? 1 : (std::min<std::uint64_t>)(groups, concurrency * 4);
    detail::parallel_for(executor, tasks, [&](std::size_t t) {
      const std::uint64_t begin = groups * t / tasks;
      const std::uint64_t end = groups * (t + 1) / tasks;
      if (is_pipelined || run.batch() > 1) {
        with_fma(kernels.has_fma, [&] { run.in_batches(begin, end); });
      } else {
        run.one_by_one(begin, end);
      }
      end_task(run.streams);
    });
    return;
  }
  const std::uint64_t parts = (std::min<std::uint64_t>)(blocks, concurrency * 4);
  const auto each_part = [&](const auto& body) {
    detail::parallel_for(executor, groups * parts, [&](std::size_t t) {
      Workspace<T> work(*this);
      SegmentTable table = segment_table();
      const std::uint64_t group = t / parts, part = t % parts;
      body(group, geometry.kept.place(static_cast<Index>(group)), blocks * part / parts, blocks * (part + 1) / parts,
           table, work);
      end_task(run.streams);
    });
  };
  each_part([&](auto group, const Place& base, auto begin, auto end, SegmentTable& table, Workspace<T>& work) {
    run.sum_blocks(group, base, run.sums_ahead(run.to_next(group, base)), begin, end, table, work);
  });
  detail::parallel_for(executor, groups, [&](std::size_t g) { run.merge(g); });
  each_part([&](auto group, const Place& base, auto begin, auto end, SegmentTable& table, Workspace<T>& work) {
    run.normalize_blocks(group, base, run.results_ahead(run.to_next(group, base)), begin, end, table, work);
  });
}

}  // namespace fast::normalization
DMLREF_END
