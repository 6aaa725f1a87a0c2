// chunked_rows.hpp: groups of several chunks: all are summed, then all are normalized.
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
#include "dmlref/operators/mean_variance_normalization/kernels/pieces.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/rows/execution.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/rows/plan.hpp"
#include "dmlref/operators/mean_variance_normalization/reference.hpp"

DMLREF_BEGIN
namespace fast::normalization {

using reference::ChunkStatistics;

/// What is known of a group once its chunks are.
struct MergedGroup {
  GroupCoefficients coefficients;
  ExactSlot exact;
};

/// Groups of several chunks.
template <class T>
struct ChunkedRows : RowPlan<T> {
  using Base = RowPlan<T>;
  using Base::beyond_l2, Base::chunks, Base::count, Base::finish, Base::geometry, Base::groups, Base::is_half,
      Base::kernels, Base::prefetch_distance, Base::streams;

  ChunkedRows(const Geometry& places, const reference::NormalizationParameters& p, const TargetKernels& target,
              const Tuning::Normalization& tuning) noexcept
      : Base(places, p, target, tuning) {
    const Dimension& inner = places.reduced.at[places.reduced.rank - 1];
    stretches = inner.extent >= 16 && inner.step.input == 1 && inner.step.output == 1;
    summed_pieces = stretches && inner.extent % 16 == 0;
    pieces = (is_half ? stretches : summed_pieces) && !places.varying && finish != Finish::values;
    const bool pipelined = target.rows->pipelined;
    const bool is_long =
        inner.extent >= 4 * static_cast<Index>(normalization_chunk) && (!pipelined || (!is_half && streams));
    // (Pipelined kernels do not prefetch the output, which short pieces gain from.)
    const bool is_short = inner.extent <= 512;
    const bool always = tuning.pipelined_rows == Tuning::Normalization::PipelinedRows::always;
    pipelines_pieces = pipelined && !is_half && pieces && (always || !is_short || !beyond_l2);
    prefetches_next = !pipelined || is_short;
    if (beyond_l2 && is_long) prefetch_distance = target.rows->prefetch_distance;
  }

  std::string_view name() const noexcept {
    return pipelines_pieces ? "pipelined pieces" : pieces ? "pieces" : "chunks";
  }
  /// Bytes: the statistics of chunks and what is known of groups.
  std::uint64_t temporary_bytes() const noexcept { return statistics_bytes() + round_up(groups * sizeof(MergedGroup)); }
  std::uint64_t statistics_bytes() const noexcept { return round_up(groups * chunks * sizeof(ChunkStatistics)); }
  PieceTable piece_table() const noexcept {
    return {geometry.reduced, count, static_cast<Index>(sizeof(T)), stretches};
  }
  template <class Parallel>
  void execute(const Buffers& buffers, std::size_t concurrency, const Parallel& parallel) const;

  bool stretches = false;         // chunks are made of contiguous stretches in both tensors
  bool summed_pieces = false;     // which begin with lane 0: they are summed where they lie,
  bool pieces = false;            // and share one line: nothing need be gathered
  bool pipelines_pieces = false;  // one group's results are formed together with the sums of the next
  bool prefetches_next = true;    // lines of the next group
};

/// One execute.
template <class T>
struct ChunkedRowsExecution : RowExecution<T> {
  using Base = RowExecution<T>;
  using Base::buffers, Base::chunk_size, Base::correct, Base::element_bytes, Base::elements, Base::folded,
      Base::input_at, Base::is_half, Base::normalize, Base::normalize_row, Base::op, Base::output_at, Base::piece_at,
      Base::line_of, Base::read, Base::streams, Base::widen;
  using typename Base::Corrections, typename Base::Real;

  const ChunkedRows<T>& rows;

  ChunkedRowsExecution(const ChunkedRows<T>& plan, const Buffers& all, std::size_t concurrency) noexcept
      : Base(plan, all, concurrency), rows(plan) {}

  ChunkStatistics* statistics() const noexcept { return reinterpret_cast<ChunkStatistics*>(buffers.temporary); }
  MergedGroup& group_at(std::uint64_t group) const noexcept {
    return reinterpret_cast<MergedGroup*>(buffers.temporary + rows.statistics_bytes())[group];
  }

  DMLREF_NOINLINE void merge(std::uint64_t group) const noexcept {
    const ChunkStatistics* const chunks = statistics() + group * op.chunks;
    with_fma(op.kernels.has_fma, [&] {
      const auto merged = reference::merge_chunks(op.count, [chunks](std::uint64_t c) { return chunks[c]; });
      ::new (&group_at(group)) MergedGroup{GroupCoefficients::of(merged, op.count, op.parameters), {}};
    });
  }

  static constexpr std::uint64_t most_interleaved = 16;

  /// How many groups are interleaved: as many as leave half of L2 to their results.
  static std::uint64_t interleaved_of(std::uint64_t count) noexcept {
    return std::clamp<std::uint64_t>(RowPlan<T>::l2_bytes / 2 / (count * sizeof(T)), 1, most_interleaved);
  }

  /// From the group at `base` to the next one; nothing after the last.
  Place to_next(std::uint64_t group, const Place& base) const noexcept {
    if (group + 1 >= op.groups || !rows.prefetches_next) return {};
    return op.geometry.kept.place(static_cast<Index>(group + 1)).add(base, -1);
  }

  /// A chunk as a row: where it lies, or gathered into `space`. `ahead` elements further on lies what is read next.
  DMLREF_NOINLINE Row<T> gather(const Place& base, const PieceTable::List& list, float* space,
                                Index ahead) const noexcept {
    const std::byte* const from = input_at(base);
    if (is_half && op.prefetch_distance != 0) {
      for (std::size_t p = 0; p < list.count; ++p) {
        prefetch<0>(address_of(from, list.pieces[p].from + op.prefetch_distance), list.pieces[p].count * sizeof(T));
      }
      ahead = 0;
    }
    if (list.count == 1) return piece_at(from + list.pieces[0].from, list.pieces[0].count, space);
    float* to = space;
    for (std::size_t p = 0; p < list.count; ++p) {
      const Piece& piece = list.pieces[p];
      if (ahead != 0) {
        prefetch<0>(address_of(from, piece.from + ahead * element_bytes), piece.count * sizeof(T));
      }
      widen(from + piece.from, piece.count, to);
      to += piece.count;
    }
    return {reinterpret_cast<const std::byte*>(space), nullptr};
  }

  /// The results of a chunk that is gathered, and scattered again.
  void normalize_gathered(const Place& base, std::uint64_t chunk, const PieceTable::List& list, Index ahead,
                          const GroupCoefficients& group, ExactSlot& exact, Workspace<T>& work) const noexcept {
    const std::size_t size = chunk_size(chunk);
    const std::uint64_t first = chunk * normalization_chunk;
    std::byte* const output = output_at(base);
    const bool direct = list.count == 1;
    Row<T> row = gather(base, list, work.row, 0);
    if (!is_half && direct && op.prefetch_distance != 0) row.next = address_of(row.floats, op.prefetch_distance);
    const Corrections corrections = normalize_row(line_of(base, first, size, group, work), size, row,
                                                  direct ? output + list.pieces[0].to : nullptr, group, work);
    const std::byte* from = work.result;
    for (std::size_t p = 0; p < list.count && !direct; ++p) {
      const Piece& piece = list.pieces[p];
      const std::size_t bytes = piece.count * sizeof(T);
      if (ahead != 0) prefetch<1>(address_of(output, piece.to + ahead * element_bytes), bytes);
      std::memcpy(output + piece.to, from, bytes);
      from += bytes;
    }
    correct(base, chunk, corrections, group, exact, work);
  }

  ChunkStatistics sum_row(const Row<T>& row, std::size_t size) const noexcept {
    const Kernels& k = *op.kernels.rows;
    return reference::chunk_from(size, [&](double pivot) {
      return pivot == 0.0 ? k.sums(row.floats, size, nullptr, nullptr) : k.shifted_sums(row.floats, size, pivot);
    });
  }
  ChunkStatistics sum_pieces(const Place& base, std::uint64_t chunk, const PieceTable::List& list, Index ahead,
                             Workspace<T>& work) const noexcept {
    const std::byte* const from = input_at(base);
    const Kernels& k = *op.kernels.rows;
    const std::size_t size = chunk_size(chunk);
    return reference::chunk_from(size, [&](double pivot) {
      const std::int64_t ahead_bytes = ahead * element_bytes;
      if (pivot == 0.0) {
        return (is_half ? k.half_sums : k.piece_sums)(from, list.pieces, list.count,
                                                      op.prefetch_distance != 0 ? op.prefetch_distance : ahead_bytes);
      }
      return k.shifted_sums(read(base, chunk, work.row).floats, size, pivot);
    });
  }

  /// The same chunk of another group that is summed on the way.
  struct Beside {
    const std::byte* from = nullptr;
    std::int64_t ahead = 0;
    SumAndSquare sums{};
  };
  void normalize_pieces(const Place& base, std::uint64_t chunk, const PieceTable::List& list, Index ahead,
                        const GroupCoefficients& group, ExactSlot& exact, Workspace<T>& work,
                        Beside* beside = nullptr) const noexcept {
    const auto sb = folded(elements.scale_at(base.scale), elements.bias_at(base.bias));
    const auto c = reference::ElementCoefficients<Real>::of(group, sb.scale, sb.bias);
    const std::byte* const from = input_at(base);
    std::byte* const to = output_at(base);
    const std::int64_t ahead_bytes = ahead * element_bytes;
    const auto finish = static_cast<std::size_t>(op.finish);
    const float upper = upper_bound_of(op.parameters.activation.type);
    Corrections corrections;
    if constexpr (is_half) {
      const Pieces16 all{from,         to,    list.pieces,          list.count,           ahead_bytes,
                         line16_of(c), upper, work.ill_conditioned, op.prefetch_distance, streams};
      corrections.listed = op.kernels.rows->pieces16[finish](all);
      corrections.all = c.error_bound != c.error_bound;
    } else {
      Pieces32 all{from,  to,      list.pieces,         list.count, ahead_bytes, {c.shift, c.slope, c.offset},
                   upper, streams, op.prefetch_distance};
      if (beside != nullptr) {
        all.summed = beside->from;
        all.sums = &beside->sums;
        all.summed_ahead = beside->ahead;
      }
      corrections.all = is_low(op.kernels.rows->pieces32[finish](all), c.error_bound);
    }
    correct(base, chunk, corrections, group, exact, work);
  }

  DMLREF_NOINLINE void sum_chunks(std::uint64_t group, const Place& base, std::uint64_t begin, std::uint64_t end,
                                  PieceTable& pieces, Workspace<T>& work) const noexcept {
    with_fma(op.kernels.has_fma, [&] { sum_chunks_of(group, base, begin, end, pieces, work); });
  }
  void sum_chunks_of(std::uint64_t group, const Place& base, std::uint64_t begin, std::uint64_t end, PieceTable& pieces,
                     Workspace<T>& work) const noexcept {
    const Index ahead = to_next(group, base).input;
    for (std::uint64_t c = begin; c < end; ++c) {
      ChunkStatistics& chunk = statistics()[group * op.chunks + c];
      if (rows.summed_pieces) {
        chunk = sum_pieces(base, c, pieces.of(c), ahead, work);
      } else {
        const Row<T> row =
            rows.stretches ? gather(base, pieces.of(c), work.row, ahead) : read(base, c, work.row, ahead);
        chunk = sum_row(row, chunk_size(c));
      }
    }
  }

  DMLREF_NOINLINE void normalize_chunks(std::uint64_t group, const Place& base, std::uint64_t begin, std::uint64_t end,
                                        PieceTable& pieces, Workspace<T>& work) const noexcept {
    with_fma(op.kernels.has_fma, [&] { normalize_chunks_of(group, base, begin, end, pieces, work); });
  }
  void normalize_chunks_of(std::uint64_t group, const Place& base, std::uint64_t begin, std::uint64_t end,
                           PieceTable& pieces, Workspace<T>& work) const noexcept {
    auto& [all, exact] = group_at(group);
    const Index ahead = to_next(group, base).output;
    for (std::uint64_t c = begin; c < end; ++c) {
      if (rows.pieces) {
        normalize_pieces(base, c, pieces.of(c), ahead, all, exact, work);
      } else if (rows.stretches) {
        normalize_gathered(base, c, pieces.of(c), ahead, all, exact, work);
      } else {
        const Corrections corrections = normalize(base, c, read(base, c, work.row), all, work, ahead);
        correct(base, c, corrections, all, exact, work);
      }
    }
  }

  /// Groups [begin, end), whose chunks are summed, then normalized.
  DMLREF_NOINLINE void one_by_one(std::uint64_t begin, std::uint64_t end) const noexcept {
    Workspace<T> work(op);
    PieceTable pieces = rows.piece_table();
    const std::uint64_t turn = op.shared_parameters ? interleaved_of(op.count) : 1;
    for (std::uint64_t g = begin; g < end; ++g) {
      const Place base = op.geometry.kept.place(static_cast<Index>(g));
      sum_chunks(g, base, 0, op.chunks, pieces, work);
      merge(g);
      const std::uint64_t number = (g - begin) % turn;
      if (number + 1 == turn || g + 1 == end) normalize_groups(g - number, g + 1, pieces, work);
    }
  }

  /// The results of groups that were summed just before: chunk by chunk where they share a scale and a bias for each
  /// element, which then become doubles once for all of them.
  void normalize_groups(std::uint64_t begin, std::uint64_t end, PieceTable& pieces, Workspace<T>& work) const noexcept {
    const std::uint64_t step = end - begin > 1 ? 1 : op.chunks;
    for (std::uint64_t c = 0; c < op.chunks; c += step) {
      for (std::uint64_t g = begin; g < end; ++g) {
        normalize_chunks(g, op.geometry.kept.place(static_cast<Index>(g)), c, c + step, pieces, work);
      }
    }
  }

  /// As one_by_one, with kernels that form the sums of the next group together with a group's results: one comes from
  /// memory while the other is computed.
  void pipelined(std::uint64_t begin, std::uint64_t end) const noexcept {
    Workspace<T> work(op);
    PieceTable pieces = rows.piece_table();
    Place base = op.geometry.kept.place(static_cast<Index>(begin));
    sum_chunks(begin, base, 0, op.chunks, pieces, work);
    for (std::uint64_t g = begin; g < end; ++g) {
      merge(g);
      if (g + 1 == end) {
        normalize_groups(g, end, pieces, work);
        return;
      }
      const Place next = op.geometry.kept.place(static_cast<Index>(g + 1));
      Beside beside{input_at(next), op.prefetch_distance};
      if (op.prefetch_distance == 0 && op.beyond_l2) beside.ahead = to_next(g + 1, next).input * element_bytes;
      auto& [all, exact] = group_at(g);
      for (std::uint64_t c = 0; c < op.chunks; ++c) {
        normalize_pieces(base, c, pieces.of(c), 0, all, exact, work, &beside);
        statistics()[(g + 1) * op.chunks + c] = reference::chunk_from(chunk_size(c), [&](double pivot) {
          return pivot == 0.0 ? beside.sums
                              : op.kernels.rows->shifted_sums(read(next, c, work.row).floats, chunk_size(c), pivot);
        });
      }
      base = next;
    }
  }
};

template <class T>
template <class Parallel>
void ChunkedRows<T>::execute(const Buffers& buffers, std::size_t concurrency, const Parallel& parallel) const {
  const ChunkedRowsExecution<T> run(*this, buffers, concurrency);
  if (concurrency == 1 || groups >= concurrency * 4) {
    const std::uint64_t tasks = concurrency == 1 ? 1 : (std::min<std::uint64_t>)(groups, concurrency * 4);
    parallel(tasks, [&](std::size_t t) {
      const std::uint64_t begin = groups * t / tasks;
      const std::uint64_t end = groups * (t + 1) / tasks;
      if (pipelines_pieces) {
        with_fma(kernels.has_fma, [&] { run.pipelined(begin, end); });
      } else {
        run.one_by_one(begin, end);
      }
      end_task(run.streams);
    });
    return;
  }
  const std::uint64_t parts = (std::min<std::uint64_t>)(chunks, concurrency * 4);
  const auto each_part = [&](const auto& body) {
    parallel(groups * parts, [&](std::size_t t) {
      Workspace<T> work(*this);
      PieceTable table = piece_table();
      const std::uint64_t group = t / parts, part = t % parts;
      body(group, geometry.kept.place(static_cast<Index>(group)), chunks * part / parts, chunks * (part + 1) / parts,
           table, work);
      end_task(run.streams);
    });
  };
  each_part([&](auto group, const Place& base, auto begin, auto end, PieceTable& table, Workspace<T>& work) {
    run.sum_chunks(group, base, begin, end, table, work);
  });
  parallel(groups, [&](std::size_t g) { run.merge(g); });
  each_part([&](auto group, const Place& base, auto begin, auto end, PieceTable& table, Workspace<T>& work) {
    run.normalize_chunks(group, base, begin, end, table, work);
  });
}

}  // namespace fast::normalization
DMLREF_END
