// planner.hpp: chooses how a slice is copied: which strategy its rows have, by estimated cost, and how they are stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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
#include "dmlref/operators/slice/problem.hpp"
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
  std::optional<Index> output_prefetch;  // bytes of output by which cached stores prefetch ahead
  bool prefetch_own_row;                 // by rows of non-temporal stores; else they prefetch the rows that follow
  // Of input and output together: between these, rows are taken in an irregular order.
  std::uint64_t irregular_from = ~std::uint64_t{0}, irregular_to = 0;
  std::uint64_t columns_from = ~std::uint64_t{0};  // from here on, pieces of rows cut out of longer ones go in columns
  Index panel_step;  // bytes between units: beyond it panels are transposed where a pattern needs several vectors

  SliceThresholds(Isa isa, const Tuning::Slice& row) noexcept
      : stream_bytes(own_cache_bytes() / 8 * (has_512(isa) ? row.stream_eighths_512 : row.stream_eighths_256)),
        kept_bytes(own_cache_bytes() / 6 * row.kept_sixths),
        task_bytes(row.task_bytes),
        interleave_from(has_512(isa) ? row.interleave_from : ~std::size_t{0}),
        output_prefetch(row.output_prefetch),
        prefetch_own_row(has_512(isa)),
        panel_step(row.panel_step) {
    if (row.columns_from_l2_quarters) columns_from = l2_bytes() / 4 * *row.columns_from_l2_quarters;
    if (!row.irregular_order) return;
    irregular_from = row.irregular_order->from_bytes;
    irregular_to = l2_bytes() / 2 * row.irregular_order->to_l2_halves;
  }

 private:
  static constexpr bool has_512(Isa isa) noexcept { return isa == Isa::avx512vnni || isa == Isa::amx_int8; }
};

class SlicePlanner {
 public:
  SlicePlanner(const SliceProblem& problem, const SliceKernels& kernels, const SliceThresholds& thresholds)
      : kernels_(kernels), thresholds_(thresholds) {
    RowPlace first;
    const CopyDims dims = copy_dims(problem.from, problem.to, problem.element_size, first);
    out_bytes_ = static_cast<std::uint64_t>(element_count(problem.to.shape)) * problem.element_size;
    in_lines_ = touched_bytes(dims, problem.readable_bytes);
    choose(dims, first);
  }

  /// Together all of the output, each byte once.
  std::vector<RowWalk> walks() && { return std::move(walks_); }

  /// Of input, in the lines that are touched, and output. Where the input is the larger side, there is less to stream
  /// and more that fills the caches, and more work than the output shows.
  std::uint64_t larger_bytes() const noexcept { return in_lines_ > out_bytes_ ? in_lines_ : out_bytes_; }

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
    if (magnitude(inner.in) >= 8 * signed_unit && has_squares(dims) && panels(dims, first)) return;
    // Candidates: a pattern of one unit along the innermost dimension, or of the whole innermost dimension along the
    // next.
    std::uint64_t cost = cost_per_byte(std::uint64_t{is_power(unit) ? 100u : 480u} * count, count * unit);  // steps
    std::optional<Shuffle> best;
    consider(best, cost, {unit, 1, 0, inner.in}, count, 1);
    if (dims.rank >= 2 && count * unit <= 64 && dims.dim[dims.rank - 2].out == inner.extent * signed_unit) {
      const CopyDim& next = dims.dim[dims.rank - 2];
      consider(best, cost, {unit, count, inner.in, next.in}, static_cast<std::size_t>(next.extent), 2);
    }
    const bool far_apart =
        best && best->pattern.terms > 1 && best->dims == 1 && magnitude(inner.in) > thresholds_.panel_step;
    if ((!best || far_apart) && panels(dims, first)) return;
    best ? shuffle(dims, first, *best) : steps(dims, first);
  }

  /// A way to shuffle a row.
  struct Shuffle {
    PatternPeriod period;
    std::size_t count;
    std::size_t dims;  // that the row takes
    ShufflePattern pattern;
    bool permute;  // by one permutation
  };

  /// The pattern is the best if it costs less per byte than `cost`.
  void consider(std::optional<Shuffle>& best, std::uint64_t& cost, const PatternPeriod& period, std::size_t count,
                std::size_t dims) const {
    if (!kernels_.shuffle) return;
    const std::optional<ShufflePattern> pattern = shuffle_pattern(period, count);
    if (!pattern) return;
    const std::size_t bytes = count * period.bytes();
    std::uint64_t row_cost = pattern->cost(count);
    if (line_kernel(period, bytes)) row_cost = std::uint64_t{bytes} * 5;  // 16 bytes a cycle
    constexpr std::uint64_t permutation = 160;
    const bool permute = row_cost > permutation && permutes(period, bytes);
    const std::uint64_t byte_cost = cost_per_byte(permute ? permutation : row_cost, bytes);
    if (byte_cost >= cost) return;
    cost = byte_cost;
    best = {period, count, dims, *pattern, permute};
  }
  /// Of a row, whose cost ShufflePattern counts, and of the four cycles between rows. In whole numbers: a slice needs
  /// no floating-point environment.
  static constexpr std::uint64_t cost_per_byte(std::uint64_t row, std::size_t bytes) noexcept {
    return ((row + 320) << 16) / bytes;
  }

  /// Reversal and every second unit have kernels of their own for rows that are long enough.
  std::optional<RowKernel> line_kernel(const PatternPeriod& period, std::size_t out_bytes) const noexcept {
    if (!kernels_.lines || out_bytes < LineKernels::min_bytes) return std::nullopt;
    if (period.units != 1 || !is_power(period.unit_bytes)) return std::nullopt;
    const auto unit = static_cast<Index>(period.unit_bytes);
    if (period.in_advance == -unit) return kernels_.lines->reverse;
    if (period.in_advance == 2 * unit) return kernels_.lines->every_second;
    return std::nullopt;
  }

  static Span span_of(const PatternPeriod& period, std::size_t count) noexcept {
    Span span{0, static_cast<Index>(period.unit_bytes)};
    for (const Index reach :
         {static_cast<Index>(period.units - 1) * period.in_step, static_cast<Index>(count - 1) * period.in_advance}) {
      (reach < 0 ? span.lowest : span.highest) += reach;
    }
    return span;
  }

  /// Whether one permutation makes a row, with no more than slack beyond it on either side.
  bool permutes(const PatternPeriod& period, std::size_t bytes) const noexcept {
    const Span span = span_of(period, bytes / period.bytes());
    const Index read = span.highest - span.lowest;
    return kernels_.permute && bytes > 16 && bytes <= 32 && read > 16 && read <= 64 && (read <= 32 || read >= 48);
  }

  // Strategies: each makes its rows and adds walks over them.

  struct Segment {
    CopyDims dims;
    RowPlace first;
    std::size_t count = 0;
  };
  struct Segments {
    Segment segment[2];
    std::size_t count = 1;
    const Segment* begin() const noexcept { return segment; }
    const Segment* end() const noexcept { return segment + count; }
  };

  /// Long rows are cut into segments, so that tasks have something to share, and rows that share lines are interleaved:
  /// rows of as many units as a segment has and, where `count` leaves some, shorter ones. Rows that share no lines are
  /// cut to `cut_bytes` if it is given.
  DMLREF_NOINLINE static Segments segments(const CopyDims& outer, RowPlace first, std::size_t count,
                                           std::size_t unit_bytes, Index in, Index out,
                                           std::optional<std::size_t> cut_bytes = {}) {
    const std::optional<std::size_t> shared = shared_lines(outer, in);
    const std::size_t bytes = shared ? 4 * 1024 : cut_bytes.value_or(64 * 1024);
    if ((shared || !cut_bytes) && count * unit_bytes <= 2 * bytes) return {{{outer, first, count}, {}}};
    std::size_t units = bytes / unit_bytes;
    if (!cut_bytes && units > 64) units -= units % 64;
    CopyDims dims = outer;
    dims.push_back(
        {static_cast<Index>(count / units), in * static_cast<Index>(units), out * static_cast<Index>(units)});
    if (shared) {
      const CopyDim interleaved = outer.dim[*shared];
      dims.erase(*shared);
      dims.push_back(interleaved);
    }
    Segments result{{{dims, first, units}, {}}};
    if (const std::size_t done = count / units * units; done < count) {
      first.in += in * static_cast<Index>(done);
      first.out += out * static_cast<Index>(done);
      result.segment[result.count++] = {outer, first, count - done};
    }
    return result;
  }

  /// Rows that are neighbours in the output may share the input's cache lines (channels of one image): along this
  /// dimension.
  static std::optional<std::size_t> shared_lines(const CopyDims& outer, Index in) noexcept {
    for (std::size_t d = 0; d < outer.rank; ++d) {
      const Index step = magnitude(outer.dim[d].in);
      if (step > 0 && step <= 32 && step < magnitude(in)) return d;
    }
    return std::nullopt;
  }

  void copy(const CopyDims& dims, RowPlace first) {
    const std::optional<std::size_t> piece = kernels_.lines ? column_piece(dims.unit, dims.unit, dims) : std::nullopt;
    for (const Segment& s : segments(dims, first, dims.unit, 1, 1, 1, piece)) {
      RowCopy rows{"copy", kernels_.copy, s.count, line_prefetch(s.count, s.count)};
      rows.prefetch.whole_rows = s.count == piece;
      if (s.count < 32) rows.reads = Span{0, static_cast<Index>(s.count)};
      add(rows, {.kernel = Reading::Kernel::copy, .bytes = s.count, .may_stream = true, .in_columns = s.count == piece},
          s);
    }
  }

  void fill(CopyDims dims, RowPlace first) {
    const CopyDim inner = dims.back();
    --dims.rank;
    for (const Segment& s : segments(dims, first, static_cast<std::size_t>(inner.extent), dims.unit, 0, inner.out)) {
      add(FillRows{{"fill", kernels_.fill, s.count * dims.unit}, dims.unit}, {}, s);
    }
  }

  void shuffle(CopyDims dims, RowPlace first, const Shuffle& best) {
    const PatternPeriod& period = best.period;
    const std::size_t row_bytes = best.count * period.bytes();
    dims.rank -= best.dims;
    if (best.permute) return permute(period, {dims, first, best.count});
    const bool alone = !shared_lines(dims, period.in_advance);
    // Rows in an irregular order are cut as well: the longest do without, and there must be no rest.
    constexpr std::size_t cut_to = 64;
    const bool of_lines = line_kernel(period, cut_to).has_value();
    std::optional<std::size_t> cut;
    if (of_lines && row_bytes > cut_to && row_bytes < 8 * 1024 && row_bytes % cut_to == 0 && suits_irregular_order()) {
      cut = cut_to;
    }
    const std::optional<std::size_t> piece = of_lines && alone && period.in_advance > 0 && !cut
                                                 ? column_piece(row_bytes, 2 * row_bytes, dims)
                                                 : std::nullopt;
    for (const Segment& s : segments(dims, first, best.count, period.bytes(), period.in_advance,
                                     static_cast<Index>(period.bytes()), piece ? piece : cut)) {
      const std::size_t bytes = s.count * period.bytes();
      Reading reading{.may_stream = alone, .backwards = period.in_advance < 0, .in_columns = bytes == piece};
      PatternRows rows{{"shuffle", *kernels_.shuffle, bytes, prefetch(bytes)}, period, s.count, best.pattern};
      if (const std::optional<RowKernel> lines = line_kernel(period, bytes)) {
        reading.kernel = Reading::Kernel::lines;
        reading.bytes = reading.backwards ? bytes : 2 * bytes;
        rows.kernel = *lines;
        rows.prefetch = line_prefetch(bytes, reading.bytes);
        rows.prefetch.whole_rows = reading.in_columns;
        rows.pattern = *pattern_of(period, 16 / period.unit_bytes);
      } else {
        if (s.count < best.pattern.periods) rows.pattern = *shuffle_pattern(period, s.count);
        if (rows.pattern.over_read != 0 || rows.pattern.last_bytes != 16) rows.reads = span_of(period, s.count);
      }
      add(rows, reading, s);
    }
  }

  void permute(const PatternPeriod& period, const Segment& rows) {
    const Span span = span_of(period, rows.count);
    const std::size_t bytes = rows.count * period.bytes();
    PermutedRows permuted{{"shuffle", *kernels_.permute, bytes, prefetch(bytes), span},
                          span.lowest,
                          static_cast<std::size_t>(span.highest - span.lowest),
                          {}};
    for (std::size_t b = 0; b < bytes; ++b) {
      permuted.control[b] = dmlref::detail::narrow<std::uint8_t>(period.source(b) - span.lowest);  // below 64
    }
    add(permuted, {}, rows);
  }

  void steps(CopyDims dims, RowPlace first) {
    const CopyDim inner = dims.back();
    --dims.rank;
    const auto step = static_cast<std::size_t>(inner.out);
    for (const Segment& s :
         segments(dims, first, static_cast<std::size_t>(inner.extent), dims.unit, inner.in, inner.out)) {
      add(
          StepRows{
              {"steps", kernels_.steps, (s.count - 1) * step + dims.unit}, dims.unit, s.count, inner.in, inner.out},
          {}, s);
    }
  }

  /// Whether panels can be transposed in squares of 16 bytes by 16 bytes: in registers.
  static bool has_squares(const CopyDims& dims) noexcept {
    const auto square = static_cast<Index>(16 / dims.unit);
    if (16 % dims.unit != 0 || dims.back().extent < square) return false;
    for (std::size_t d = 0; d + 1 < dims.rank; ++d) {
      if (magnitude(dims.dim[d].in) == static_cast<Index>(dims.unit) && dims.dim[d].extent >= square) return true;
    }
    return false;
  }

  /// Where another dimension is faster in the input than the innermost one: panels of that many rows at once that they
  /// share the input's cache lines. False: there is no such dimension.
  bool panels(CopyDims dims, RowPlace first) {
    const CopyDim inner = dims.back();
    std::optional<std::size_t> across;
    for (std::size_t d = 0; d + 1 < dims.rank; ++d) {
      if (dims.dim[d].in == 0 || magnitude(dims.dim[d].in) * 2 > magnitude(inner.in)) continue;
      if (!across || magnitude(dims.dim[d].in) < magnitude(dims.dim[*across].in)) across = d;
    }
    if (!across || magnitude(inner.in) < 32) return false;
    CopyDim cross = dims.dim[*across];
    if (cross.in < 0) reverse(cross, first);
    // A panel of a few lines by as many bytes of output fills half of L1d.
    const Index line = (dims.unit == 1 ? 128 : 256) / cross.in;
    if (line < 2) return false;
    --dims.rank;
    const auto count = static_cast<std::size_t>(inner.extent);
    const auto add_panels = [&](Index from, Index panels, Index width) {
      if (panels == 0) return;
      dims.dim[*across] = {panels, cross.in * width, cross.out * width};
      const StepRows row{{"transpose", kernels_.panels, count * dims.unit}, dims.unit, count, inner.in, inner.out};
      add(PanelRows{row, static_cast<std::size_t>(width), cross.in, cross.out}, {},
          {dims, {first.in + from * cross.in, first.out + from * cross.out}});
    };
    // The last panel takes the rest, too, so that no panel is narrow.
    const Index panels = cross.extent > line ? cross.extent / line : 1;
    add_panels(0, panels - 1, line);
    add_panels((panels - 1) * line, 1, cross.extent - (panels - 1) * line);
    return true;
  }

  // How rows are stored, and in which order.

  static constexpr std::size_t long_bytes = 1024, page_bytes = 4096;

  Prefetch prefetch(std::size_t bytes) const noexcept {
    // The CPU's own prefetcher starts anew in every row, which does not matter in the longest.
    const std::size_t rows = bytes >= 16 * 1024 ? 0 : bytes >= long_bytes ? 1 : 1024 / bytes;
    Prefetch result{.rows = rows, .own_row = thresholds_.prefetch_own_row};
    if (out_bytes_ >= page_bytes) result.output_bytes = thresholds_.output_prefetch;  // less is in L1d
    return result;
  }
  /// Of copies and line kernels, whose rows read `read` bytes.
  Prefetch line_prefetch(std::size_t bytes, std::size_t read) const noexcept {
    Prefetch result = prefetch(bytes);
    result.own_row = result.own_row && read >= page_bytes;
    return result;
  }

  /// What the order and the stores of rows depend on.
  struct Reading {
    enum class Kernel { copy, lines, other } kernel = Kernel::other;
    std::size_t bytes = 0;    // that a row of a copy or of a line kernel reads
    bool may_stream = false;  // the kernel has non-temporal stores, and no other row shares the lines of the input
    bool backwards = false;
    bool in_columns = false;  // rows are pieces of longer ones, taken in columns
  };

  template <class Rows>
  void add(const Rows& rows, const Reading& reading, const Segment& segment) {
    add(std::shared_ptr<const RowCopy>(std::make_shared<const Rows>(rows)), reading, segment);
  }
  DMLREF_NOINLINE void add(std::shared_ptr<const RowCopy> rows, const Reading& reading, Segment segment) {
    const RowSchedule schedule = scheduled(rows->out_bytes, reading, segment);
    walks_.emplace_back(std::move(rows), segment.dims, segment.first, schedule);
  }

  /// May reverse dimensions of the segment.
  RowSchedule scheduled(std::size_t bytes, const Reading& reading, Segment& segment) const noexcept {
    if (reading.in_columns) return {Order::columns};
    const bool large = suits_streaming();
    const bool long_rows = bytes >= long_bytes;
    if (reading.may_stream && large && (long_rows || is_joined(bytes, reading, segment.dims))) {
      // Rows in the direction in which each is read, so that the input is one stream for the CPU's prefetcher.
      for (std::size_t d = 0; long_rows && d < segment.dims.rank; ++d) {
        if ((segment.dims.dim[d].in < 0) != reading.backwards) reverse(segment.dims.dim[d], segment.first);
      }
      const bool interleaved = bytes >= thresholds_.interleave_from && reading.bytes >= page_bytes;
      const Stores stores = is_joined(bytes, reading, segment.dims) ? Stores::joined
                            : interleaved                           ? Stores::interleaved
                                                                    : Stores::non_temporal;
      // Several tasks share the last level's bandwidth, not memory's, and keep in it what fits: a line of output that
      // has left the cache is fetched, and put back again.
      const bool kept = in_lines_ + 3 * out_bytes_ <= thresholds_.kept_bytes;
      return {Order::ascending, stores, kept ? Stores::cached : stores};
    }
    // What lies in L2 and is quickly written exactly.
    const bool short_rows = reading.kernel == Reading::Kernel::copy    ? bytes >= 32 && bytes <= 256
                            : reading.kernel == Reading::Kernel::lines ? bytes < 128
                                                                       : false;
    return {short_rows && suits_irregular_order() ? Order::irregular : Order::ascending};
  }

  /// Copies of rows that each start where the one before it ends. Reversed rows may be no longer joined.
  bool is_joined(std::size_t bytes, const Reading& reading, const CopyDims& dims) const noexcept {
    return kernels_.lines && reading.kernel == Reading::Kernel::copy && bytes >= LineKernels::min_joined_bytes &&
           rows_joined(bytes, dims);
  }

  /// Of a row of `bytes` that reads `read`, cut out of a longer one: how long its pieces are, if they go in columns. A
  /// few lines do not set off the CPU's own prefetcher, which in a whole row would go on beyond its end.
  std::optional<std::size_t> column_piece(std::size_t bytes, std::size_t read, const CopyDims& outer) const noexcept {
    const std::size_t piece = bytes % 256 != 0 && bytes % 192 == 0 ? 192 : 256;  // a rest is read a second time
    const bool cut_out = read >= 512 && read <= 16 * 1024 && outer.rank > 0 &&
                         magnitude(outer.back().in) >= static_cast<Index>(read + 1024);
    const bool suits = !suits_streaming() && in_lines_ + out_bytes_ >= thresholds_.columns_from;
    return cut_out && suits && bytes >= piece ? std::optional(piece) : std::nullopt;
  }

  bool suits_streaming() const noexcept { return 2 * larger_bytes() >= thresholds_.stream_bytes; }
  bool suits_irregular_order() const noexcept {
    const std::uint64_t both = in_lines_ + out_bytes_;
    return both >= thresholds_.irregular_from && both <= thresholds_.irregular_to;
  }

  SliceKernels kernels_;
  SliceThresholds thresholds_;
  std::uint64_t out_bytes_ = 0;
  std::uint64_t in_lines_ = 0;
  std::vector<RowWalk> walks_;
};

}  // namespace fast
DMLREF_END
