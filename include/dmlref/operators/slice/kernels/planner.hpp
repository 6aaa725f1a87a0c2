// planner.hpp: chooses how a slice is copied: which strategy its rows have, by estimated cost, and how they are stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/isa/cache.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/slice/kernels/dims.hpp"
#include "dmlref/operators/slice/kernels/shuffle_pattern.hpp"
#include "dmlref/operators/slice/kernels/strategy.hpp"
#include "dmlref/operators/slice/kernels/walk.hpp"
#include "dmlref/view/narrow.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN
namespace fast {

/// Sizes at which a copy changes its ways, from a CPU model's numbers and this CPU's caches.
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

/// What a slice runs. Its strategies may be any that fit their walks, this file's or others.
struct CopyPlan {
  std::vector<RowWalk> walks;      // together all of the output, each byte once
  std::uint64_t larger_bytes = 0;  // of input, in the lines that are touched, and output
};

class Planner {
 public:
  /// As the constructor of Slice.
  Planner(const Layout& from, const Layout& to, std::size_t element_size, std::uint64_t in_bytes,
          const SliceKernels& kernels, const SliceThresholds& thresholds)
      : kernels_(kernels), thresholds_(thresholds) {
    RowPlace first;
    const CopyDims dims = copy_dims(from, to, element_size, first);
    out_bytes_ = static_cast<std::uint64_t>(element_count(to.shape)) * element_size;
    in_lines_ = touched_bytes(dims, in_bytes);
    // Where the input is the larger side, there is less to stream and more that fills the caches, and more work than
    // the output shows.
    plan_.larger_bytes = in_lines_ > out_bytes_ ? in_lines_ : out_bytes_;
    choose(dims, first);
  }

  CopyPlan plan() && { return std::move(plan_); }

 private:
  static constexpr bool is_power(std::size_t unit) noexcept { return unit == 1 || unit == 2 || unit == 4 || unit == 8; }

  void choose(const CopyDims& dims, RowPlace first) {
    const std::size_t unit = dims.unit;
    const auto signed_unit = static_cast<Index>(unit);
    if (dims.rank == 0 || unit >= 16) return copy(dims, first);
    const CopyDim inner = dims.back();
    if (inner.out != signed_unit) {  // gaps in the output
      return is_power(unit) ? steps(dims, first) : copy(dims, first);
    }
    const auto count = static_cast<std::size_t>(inner.extent);
    if (inner.in == 0 && count * unit > 64) return fill(dims, first);
    if (magnitude(inner.in) >= 8 * signed_unit && has_squares(dims) && strips(dims, first)) return;
    // Candidates: a pattern of one unit along the innermost dimension, or of the whole innermost dimension along the
    // next.
    Shuffle best;
    best.cost = cost_per_byte(std::uint64_t{is_power(unit) ? 100u : 480u} * count, count * unit);  // steps
    consider(best, {unit, 1, 0, inner.in}, count, 1);
    if (dims.rank >= 2 && count * unit <= 64 && dims.dim[dims.rank - 2].out == inner.extent * signed_unit) {
      const CopyDim& next = dims.dim[dims.rank - 2];
      consider(best, {unit, count, inner.in, next.in}, static_cast<std::size_t>(next.extent), 2);
    }
    const bool far_apart = best.pattern.terms > 1 && best.dims == 1 && magnitude(inner.in) > 64;
    if ((best.dims == 0 || far_apart) && strips(dims, first)) return;
    if (best.dims == 0) return steps(dims, first);
    shuffle(dims, first, best);
  }

  /// A way to shuffle a row.
  struct Shuffle {
    PatternPeriod period{};
    std::size_t count = 0;
    std::size_t dims = 0;  // that the row takes; 0: there is no way that is better than steps
    ShufflePattern pattern{};
    bool permute = false;    // by one permutation
    std::uint64_t cost = 0;  // per byte
  };

  void consider(Shuffle& best, const PatternPeriod& period, std::size_t count, std::size_t dims) const {
    if (kernels_.pattern == nullptr) return;
    const ShufflePattern pattern = shuffle_pattern(period, count);
    if (pattern.periods == 0) return;
    const std::size_t bytes = count * period.bytes();
    std::uint64_t cost = pattern.cost(count);
    if (line_kernel(period, bytes) != nullptr) cost = std::uint64_t{bytes} * 5;  // 16 bytes a cycle
    const bool permute = cost > 160 && permutes(period, bytes);
    if (permute) cost = 160;
    cost = cost_per_byte(cost, bytes);
    if (cost < best.cost) best = {period, count, dims, pattern, permute, cost};
  }
  /// Of a row, whose cost ShufflePattern counts, and of the four cycles between rows. In whole numbers: a slice needs
  /// no floating-point environment.
  static constexpr std::uint64_t cost_per_byte(std::uint64_t row, std::size_t bytes) noexcept {
    return ((row + 320) << 16) / bytes;
  }

  /// Reversal and every second unit have kernels of their own for rows that are long enough.
  RowKernel line_kernel(const PatternPeriod& period, std::size_t out_bytes) const noexcept {
    if (period.units != 1 || !is_power(period.unit_bytes) || out_bytes < SliceKernels::wide_from) return nullptr;
    const auto unit = static_cast<Index>(period.unit_bytes);
    if (period.in_advance == -unit) return kernels_.reverse;
    if (period.in_advance == 2 * unit) return kernels_.every_second;
    return nullptr;
  }

  struct Span {
    Index lowest = 0;   // byte that a row reads, from its place
    Index highest = 0;  // one past it
  };
  static Span span_of(const PatternPeriod& period, std::size_t count) noexcept {
    Span span{0, static_cast<Index>(period.unit_bytes)};
    for (const Index reach :
         {static_cast<Index>(period.units - 1) * period.in_step, static_cast<Index>(count - 1) * period.in_advance}) {
      (reach < 0 ? span.lowest : span.highest) += reach;
    }
    return span;
  }

  /// Whether one permutation makes a row, with no more than room beyond it on either side.
  bool permutes(const PatternPeriod& period, std::size_t bytes) const noexcept {
    const Span span = span_of(period, bytes / period.bytes());
    const Index read = span.highest - span.lowest;
    return kernels_.permute != nullptr && bytes > 16 && bytes <= 32 && read > 16 && read <= 64 &&
           (read <= 32 || read >= 48);
  }

  // Strategies: each makes its rows and adds walks over them.

  struct Piece {
    CopyDims dims;
    RowPlace first;
    std::size_t count = 0;
  };
  struct Pieces {
    Piece piece[2];
    std::size_t count = 1;
    const Piece* begin() const noexcept { return piece; }
    const Piece* end() const noexcept { return piece + count; }
  };

  /// Long rows are cut into pieces, so that tasks have something to share, and rows that share lines are interleaved:
  /// rows of as many units as a piece has and, where `count` leaves some, shorter ones. `piece_bytes`: 0: the usual.
  static Pieces pieces(const CopyDims& outer, RowPlace first, std::size_t count, std::size_t unit_bytes, Index in,
                       Index out, std::size_t piece_bytes = 0) {
    const std::size_t shared = shared_lines(outer, in);
    const bool cut = piece_bytes != 0 && shared == outer.rank;
    const std::size_t bytes = cut ? piece_bytes : shared < outer.rank ? 4 * 1024 : 64 * 1024;
    if (!cut && count * unit_bytes <= 2 * bytes) return {{{outer, first, count}, {}}};
    std::size_t piece = bytes / unit_bytes;
    piece -= piece > 64 ? piece % 64 : 0;
    CopyDims dims = outer;
    dims.push_back(
        {static_cast<Index>(count / piece), in * static_cast<Index>(piece), out * static_cast<Index>(piece)});
    if (shared < outer.rank) {
      const CopyDim interleaved = outer.dim[shared];
      dims.erase(shared);
      dims.push_back(interleaved);
    }
    Pieces result{{{dims, first, piece}, {}}};
    if (const std::size_t done = count / piece * piece; done < count) {
      first.in += in * static_cast<Index>(done);
      first.out += out * static_cast<Index>(done);
      result.piece[result.count++] = {outer, first, count - done};
    }
    return result;
  }

  /// Rows that are neighbours in the output may share the input's cache lines (channels of one image): the dimension,
  /// or rank where there is none.
  static std::size_t shared_lines(const CopyDims& outer, Index in) noexcept {
    for (std::size_t d = 0; d < outer.rank; ++d) {
      const Index step = magnitude(outer.dim[d].in);
      if (step > 0 && step <= 32 && step < magnitude(in)) return d;
    }
    return outer.rank;
  }

  void copy(const CopyDims& dims, RowPlace first) {
    for (const Piece& piece : pieces(dims, first, dims.unit, 1, 1, 1)) {
      const auto rows = std::make_shared<RowStrategy>();
      rows->name = "copy";
      rows->kernel = kernels_.copy;
      rows->out_bytes = piece.count;
      rows->exact = piece.count >= 32;
      rows->highest = static_cast<Index>(piece.count);
      add(rows, Reads{true, 1}, piece.dims, piece.first);
    }
  }

  void fill(CopyDims dims, RowPlace first) {
    const CopyDim inner = dims.back();
    --dims.rank;
    for (const Piece& piece : pieces(dims, first, static_cast<std::size_t>(inner.extent), dims.unit, 0, inner.out)) {
      const auto rows = std::make_shared<FillRows>();
      rows->name = "fill";
      rows->kernel = kernels_.fill;
      rows->exact = true;
      rows->out_bytes = piece.count * dims.unit;
      rows->unit_bytes = dims.unit;
      add(rows, {}, piece.dims, piece.first);
    }
  }

  void shuffle(CopyDims dims, RowPlace first, const Shuffle& best) {
    const PatternPeriod& period = best.period;
    const std::size_t row_bytes = best.count * period.bytes();
    dims.rank -= best.dims;
    if (best.permute) return permute(dims, first, best);
    const bool alone = shared_lines(dims, period.in_advance) == dims.rank;
    // Rows in an irregular order are cut as well: the longest do without, and there must be no rest.
    constexpr std::size_t cut_to = 64;
    const bool cut = row_bytes > cut_to && row_bytes < 8 * 1024 && row_bytes % cut_to == 0 &&
                     line_kernel(period, cut_to) != nullptr && suits_irregular_order();
    for (const Piece& piece : pieces(dims, first, best.count, period.bytes(), period.in_advance,
                                     static_cast<Index>(period.bytes()), cut ? cut_to : 0)) {
      const auto rows = std::make_shared<PatternRows>();
      set_pattern(*rows, period, piece.count);
      const RowKernel lines = line_kernel(period, rows->out_bytes);
      rows->kernel = lines != nullptr ? lines : kernels_.pattern;
      rows->pattern = lines != nullptr                      ? pattern_of(period, 16 / period.unit_bytes)
                      : piece.count >= best.pattern.periods ? best.pattern
                                                            : shuffle_pattern(period, piece.count);
      rows->exact = lines != nullptr || (rows->pattern.over_read == 0 && rows->pattern.last_bytes == 16);
      const Index stride = lines == nullptr ? 0 : period.in_advance < 0 ? -1 : 2;
      add(rows, Reads{alone, stride, period.in_advance < 0}, piece.dims, piece.first);
    }
  }

  static void set_pattern(PatternRows& rows, const PatternPeriod& period, std::size_t count) noexcept {
    const Span span = span_of(period, count);
    rows.name = "shuffle";
    rows.out_bytes = count * period.bytes();
    rows.lowest = span.lowest;
    rows.highest = span.highest;
    rows.period = period;
    rows.count = count;
  }

  void permute(const CopyDims& dims, RowPlace first, const Shuffle& best) {
    const auto rows = std::make_shared<PermutedRows>();
    set_pattern(*rows, best.period, best.count);
    rows->kernel = kernels_.permute;
    rows->pattern = best.pattern;
    rows->in_bytes = static_cast<std::size_t>(rows->highest - rows->lowest);
    for (std::size_t b = 0; b < rows->out_bytes; ++b) {
      rows->control[b] =
          dmlref::detail::narrow<std::uint8_t>(best.period.source(b) - rows->lowest);  // permutes(): below 64
    }
    add(rows, {}, dims, first);
  }

  void steps(CopyDims dims, RowPlace first) {
    const CopyDim inner = dims.back();
    --dims.rank;
    for (const Piece& piece :
         pieces(dims, first, static_cast<std::size_t>(inner.extent), dims.unit, inner.in, inner.out)) {
      const auto rows = std::make_shared<StepRows>();
      rows->name = "steps";
      rows->kernel = kernels_.steps;
      rows->exact = true;
      rows->out_bytes = (piece.count - 1) * static_cast<std::size_t>(inner.out) + dims.unit;
      rows->unit_bytes = dims.unit;
      rows->count = piece.count;
      rows->in_step = inner.in;
      rows->out_step = inner.out;
      add(rows, {}, piece.dims, piece.first);
    }
  }

  /// Whether strips can be done in squares of 16 bytes by 16 bytes: in registers.
  static bool has_squares(const CopyDims& dims) noexcept {
    const auto square = static_cast<Index>(16 / dims.unit);
    if (16 % dims.unit != 0 || dims.back().extent < square) return false;
    for (std::size_t d = 0; d + 1 < dims.rank; ++d) {
      if (magnitude(dims.dim[d].in) == static_cast<Index>(dims.unit) && dims.dim[d].extent >= square) return true;
    }
    return false;
  }

  /// Where another dimension is faster in the input than the innermost one: strips of that many rows at once that they
  /// share the input's cache lines.
  bool strips(CopyDims dims, RowPlace first) {
    const CopyDim inner = dims.back();
    std::size_t across = dims.rank;
    for (std::size_t d = 0; d + 1 < dims.rank; ++d) {
      if (dims.dim[d].in == 0 || magnitude(dims.dim[d].in) * 2 > magnitude(inner.in)) continue;
      if (across == dims.rank || magnitude(dims.dim[d].in) < magnitude(dims.dim[across].in)) across = d;
    }
    if (across == dims.rank || magnitude(inner.in) < 32) return false;
    CopyDim cross = dims.dim[across];
    if (cross.in < 0) turn(cross, first);
    // A strip of a few lines by as many bytes of output fills half of L1d.
    const Index line = (dims.unit == 1 ? 128 : 256) / cross.in;
    if (line < 2) return false;
    --dims.rank;
    const auto add_strips = [&](Index from, Index count, Index width) {
      if (count == 0) return;
      dims.dim[across] = {count, cross.in * width, cross.out * width};
      const auto rows = std::make_shared<StripRows>();
      rows->name = "strip";
      rows->kernel = kernels_.strip;
      rows->exact = true;
      rows->out_bytes = static_cast<std::size_t>(inner.extent) * dims.unit;
      rows->unit_bytes = dims.unit;
      rows->count = static_cast<std::size_t>(inner.extent);
      rows->in_step = inner.in;
      rows->out_step = inner.out;
      rows->width = static_cast<std::size_t>(width);
      rows->in_cross = cross.in;
      rows->out_cross = cross.out;
      add(rows, {}, dims, {first.in + from * cross.in, first.out + from * cross.out});
    };
    // The last strip takes the rest, too, so that no strip is narrow.
    const Index count = cross.extent > line ? cross.extent / line : 1;
    add_strips(0, count - 1, line);
    add_strips((count - 1) * line, 1, cross.extent - (count - 1) * line);
    return true;
  }

  // How rows are stored, and in which order.

  /// What the order of rows depends on.
  struct Reads {
    bool may_stream = false;
    Index stride = 0;  // 1: a copy; -1, 2: a line kernel for reversal or every second unit; else 0
    bool backwards = false;
  };

  void add(std::shared_ptr<RowStrategy> rows, Reads reads, CopyDims dims, RowPlace first) {
    const RowOrder order = ordered(*rows, reads, dims, first);
    plan_.walks.emplace_back(std::move(rows), dims, first, order);
  }

  RowOrder ordered(RowStrategy& rows, Reads reads, CopyDims& dims, RowPlace& first) const noexcept {
    const std::size_t bytes = rows.out_bytes;
    const bool long_rows = bytes >= 1024;
    const bool one_stream =
        reads.stride == 1 && kernels_.joined_from != 0 && bytes >= kernels_.joined_from && rows_joined(bytes, dims);
    const bool large = 2 * plan_.larger_bytes >= thresholds_.stream_bytes;
    const bool stream = reads.may_stream && large && (long_rows || one_stream);
    if (stream && long_rows) {
      // Rows in the direction in which each is read, so that the input is one stream for the CPU's prefetcher.
      for (std::size_t d = 0; d < dims.rank; ++d) {
        if ((dims.dim[d].in < 0) != reads.backwards) turn(dims.dim[d], first);
      }
    }
    rows.joined = rows_joined(bytes, dims);
    rows.interleave = bytes >= thresholds_.interleave_from;
    // The CPU's own prefetcher starts anew in every row, which does not matter in the longest.
    rows.rows_ahead = bytes >= 16 * 1024 ? 0 : long_rows ? 1 : 1024 / bytes;
    rows.prefetch_within = thresholds_.prefetch_within;
    rows.output_prefetch = thresholds_.output_prefetch;

    RowOrder order;
    if (stream) {
      // Several tasks share the last level's bandwidth, not memory's, and keep in it what fits: a line of output that
      // has left the cache is fetched, and put back again.
      order.alone = Stores::non_temporal;
      order.shared = in_lines_ + 3 * out_bytes_ <= thresholds_.kept_bytes ? Stores::cached : Stores::non_temporal;
      return order;
    }
    // What lies in L2 and is quickly written exactly.
    const bool short_rows = reads.stride == 1 ? bytes >= 32 && bytes <= 256 : reads.stride != 0 && bytes < 128;
    order.irregular = short_rows && suits_irregular_order();
    return order;
  }

  bool suits_irregular_order() const noexcept {
    const std::uint64_t both = in_lines_ + out_bytes_;
    return both >= thresholds_.irregular_from && both <= thresholds_.irregular_to;
  }

  SliceKernels kernels_;
  SliceThresholds thresholds_;
  std::uint64_t out_bytes_ = 0;
  std::uint64_t in_lines_ = 0;
  CopyPlan plan_;
};

}  // namespace fast
DMLREF_END
