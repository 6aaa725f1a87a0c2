// slice.hpp: SLICE and SLICE1 as a copy between two layouts, planned once and run in tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/fast/slice/job.hpp"
#include "dmlref/fast/slice/kernels.hpp"
#include "dmlref/fast/slice/walk.hpp"
#include "dmlref/isa/cache.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN
namespace fast {

/// Sizes at which a copy changes its ways, worked out from a CPU model's numbers and this CPU's caches.
struct SliceThresholds {
  std::uint64_t stream_bytes;  // twice the larger of in and output: from here on by non-temporal stores
  std::uint64_t kept_bytes;  // of in and three times out, that several tasks keep in the last-level cache all the same
  std::uint64_t task_bytes;  // of the larger of in and output: less is not worth a task
  std::size_t interleave_from;  // bytes of streamed rows that are interleaved
  Index output_prefetch;        // bytes of output by which rows that are not streamed prefetch ahead; 0: they do not
  // Of in and output together, from and up to which rows are taken in an irregular order; others than copies lose by it
  // where they are nearly in L1d.
  std::uint64_t irregular_copy_from = 96 * 1024, irregular_from = 192 * 1024, irregular_to;
  std::uint64_t columns_from;  // of both, from which rows cut out of longer ones are taken in columns

  /// AVX2 and NEON have neither kernels that prefetch their output nor an order of rows that was measured to gain.
  SliceThresholds(Isa isa, const Tuning::Slice& row) noexcept
      : stream_bytes(own_cache_bytes() / 8 * (has_512(isa) ? row.stream_eighths_512 : row.stream_eighths_256)),
        kept_bytes(has_512(isa) ? own_cache_bytes() / 6 * row.kept_sixths : 0),
        task_bytes(row.task_bytes),
        interleave_from(row.interleave_from),
        output_prefetch(has_512(isa) ? row.output_prefetch : 0),
        irregular_to(has_512(isa) && row.irregular_order ? second_cache_bytes() / 2 * 3 : 0),
        columns_from(has_512(isa) && row.column_order ? second_cache_bytes() / 4 * 3 : ~std::uint64_t{0}) {}

 private:
  static constexpr bool has_512(Isa isa) noexcept { return isa == Isa::avx512vnni || isa == Isa::amx_int8; }
};

/// A slice made ready: from the view of the input that the operator reads (see reference/slice.hpp) to the output.
class Slice {
 public:
  /// Layouts of one shape, strides of either sign; offsets count from the addresses that `run` is given. `in_bytes`:
  /// how many bytes from the input's address on may be read. Of the output only the elements are written.
  Slice(const Layout& from, const Layout& to, std::size_t element_size, std::uint64_t in_bytes,
        const SliceKernels& kernels, const SliceThresholds& thresholds)
      : kernels_(kernels), thresholds_(thresholds), in_bytes_(static_cast<std::size_t>(in_bytes)) {
    RowPlace first;
    const CopyDims dims = copy_dims(from, to, element_size, first);
    out_bytes_ = static_cast<std::uint64_t>(element_count(to.shape)) * element_size;
    in_lines_ = touched_bytes(dims, in_bytes);
    plan(dims, first);
    plan_several_tasks();
  }

  Slice(const Layout& from, const Layout& to, std::size_t element_size, std::uint64_t in_bytes, Isa isa,
        const Tuning& row)
      : Slice(from, to, element_size, in_bytes, slice_kernels(isa, row.slice), SliceThresholds(isa, row.slice)) {}

  std::string_view strategy_name() const noexcept {
    switch (walks_.front().job.kind) {
      case RowKind::copy: return "copy";
      case RowKind::fill: return "fill";
      case RowKind::shuffle: return "shuffle";
      case RowKind::strip: return "strip";
      case RowKind::steps: break;
    }
    return "steps";
  }

  /// How many tasks are worth while for an executor of that concurrency.
  std::size_t tasks(std::size_t concurrency) const noexcept {
    const std::uint64_t most = larger_bytes() / thresholds_.task_bytes;
    if (concurrency <= 1 || most <= 1) return 1;
    return most < concurrency ? static_cast<std::size_t>(most) : concurrency;
  }

  /// Task `task` of `tasks`: a part of the output's rows, disjoint from those of the other tasks.
  void run(const std::byte* in, std::byte* out, std::size_t task = 0, std::size_t tasks = 1) const noexcept {
    for (const RowWalk& walk : walks(tasks)) {
      const std::size_t begin = walk.rows() * task / tasks;
      const std::size_t end = walk.rows() * (task + 1) / tasks;
      walk.run(kernel(walk.job), in, out, in_bytes_, begin, end);
      if (walk.job.stream) kernels_.fence();
    }
  }

  /// The form of the rows that so many tasks share, for tests and drawings, too.
  const std::vector<RowWalk>& walks(std::size_t tasks = 1) const noexcept {
    return tasks > 1 && !shared_walks_.empty() ? shared_walks_ : walks_;
  }

 private:
  /// Several tasks have several caches, and share the last level's bandwidth, not memory's: they keep in it what fits,
  /// and copies, parts of which another core may hold, whole rows.
  void plan_several_tasks() {
    // (A line of output that has left the cache is fetched, and put back again.)
    const bool kept = in_lines_ + 3 * out_bytes_ <= thresholds_.kept_bytes;
    const bool parts_fit = (in_lines_ + out_bytes_) / 2 < thresholds_.columns_from;
    const auto whole_rows = [&](const RowJob& job) {
      return job.in_columns && (parts_fit || job.kind == RowKind::copy);
    };
    bool differs = false;
    for (const RowWalk& walk : walks_) differs = differs || whole_rows(walk.job) || (kept && walk.job.stream);
    if (!differs) return;
    shared_walks_ = walks_;
    for (RowWalk& walk : shared_walks_) {
      if (whole_rows(walk.job)) walk.job.in_columns = false;
      if (kept) walk.job.stream = false;
    }
  }

  RowKernel kernel(const RowJob& job) const noexcept {
    switch (job.kind) {
      case RowKind::copy:
        return job.stream && job.joined && kernels_.stream_joined != nullptr ? kernels_.stream_joined : kernels_.copy;
      case RowKind::fill: return kernels_.fill;
      case RowKind::shuffle: {
        if (job.group.tiles != 0 && !job.stream) return kernels_.groups;
        if (job.tiles_alone && !job.stream) return kernels_.tiles;
        const RowKernel wide = wide_kernel(job.tile, job.out_bytes);
        return wide != nullptr ? wide : kernels_.shuffle;
      }
      case RowKind::strip: return kernels_.strip;
      case RowKind::steps: break;
    }
    return kernels_.steps;
  }

  /// Reversal and every second element have kernels of their own for rows that are long enough.
  RowKernel wide_kernel(const Tile& tile, std::size_t out_bytes) const noexcept {
    std::size_t log = 0;
    while (log < 3 && (std::size_t{1} << log) != tile.unit_bytes) ++log;
    if (tile.units != 1 || (std::size_t{1} << log) != tile.unit_bytes) return nullptr;
    const auto unit = static_cast<Index>(tile.unit_bytes);
    if (out_bytes < kernels_.wide_from) return nullptr;
    if (tile.in_advance == -unit) return kernels_.reverse[log];
    if (tile.in_advance == 2 * unit) return kernels_.every_second[log];
    return nullptr;
  }

  /// Where the input is the larger side, there is less to stream and more that fills the caches, and more work than the
  /// output shows.
  std::uint64_t larger_bytes() const noexcept { return in_lines_ > out_bytes_ ? in_lines_ : out_bytes_; }

  static constexpr Index magnitude(Index step) noexcept { return step < 0 ? -step : step; }

  void plan(CopyDims dims, RowPlace first) {
    const std::size_t unit = dims.unit;
    const auto signed_unit = static_cast<Index>(unit);
    if (dims.rank == 0 || unit >= 16) return plan_copy(dims, first);

    const CopyDim inner = dims.back();
    if (inner.out != signed_unit) {  // gaps in the output
      if (unit != 1 && unit != 2 && unit != 4 && unit != 8) return plan_copy(dims, first);
      return plan_steps(dims, first);
    }
    // Candidates: a pattern of one unit along the innermost dimension, or of the whole innermost dimension along the
    // next.
    const auto count = static_cast<std::size_t>(inner.extent);
    Form best;
    const bool power = unit == 1 || unit == 2 || unit == 4 || unit == 8;
    best.per_byte = ((power ? 1.25 : 6.0) * static_cast<double>(count) + 4.0) / static_cast<double>(count * unit);
    const Tile one{unit, 1, 0, inner.in};
    consider(best, one, count, 1);
    if (dims.rank >= 2 && count * unit <= 64 && dims.dim[dims.rank - 2].out == inner.extent * signed_unit) {
      const CopyDim& next = dims.dim[dims.rank - 2];
      consider(best, Tile{unit, count, inner.in, next.in}, static_cast<std::size_t>(next.extent), 2);
    }
    if (inner.in == 0 && count * unit > 64) return plan_fill(dims, first);
    if (magnitude(inner.in) >= 8 * signed_unit && has_squares(dims) && plan_strip(dims, first)) return;
    if (best.dims == 0 || best.program.tiles == 0) {
      if (plan_strip(dims, first)) return;
      return plan_steps(dims, first);
    }
    if (best.program.terms > 1 && best.dims == 1 && magnitude(inner.in) > 64 && plan_strip(dims, first)) return;
    plan_shuffle(dims, first, best);
  }

  /// A way to do a row.
  struct Form {
    Tile tile;
    ShuffleProgram program;
    std::size_t count = 0;
    std::size_t dims = 0;  // that the row takes
    double per_byte = 0;
    bool tiles_alone = false;
    ShuffleTerm tile_alone;
    TileGroup group;
  };

  /// Rows of so few tiles that up to four groups of them make one, and that no other kernel is made for.
  TileGroup group_of(const Tile& tile, std::size_t count) const noexcept {
    constexpr std::size_t vector = 64, most = 4;
    TileGroup group;
    if (kernels_.groups == nullptr || wide_kernel(tile, count * tile.bytes()) != nullptr) return group;
    const Index step = magnitude(tile.in_step) * static_cast<Index>(tile.units - 1);
    Index lowest = tile.in_step < 0 ? -step : 0;
    const auto alone = static_cast<std::size_t>(step) + tile.unit_bytes;
    const auto advance = static_cast<std::size_t>(magnitude(tile.in_advance));
    if (alone > vector || tile.bytes() > vector) return group;
    std::size_t tiles = 1;
    while (tiles < count && alone + tiles * advance <= vector && (tiles + 1) * tile.bytes() <= vector) ++tiles;
    const std::size_t groups = (count + tiles - 1) / tiles;
    if (groups > most) return group;
    tiles = (count + groups - 1) / groups;
    if (tile.in_advance < 0) lowest += tile.in_advance * static_cast<Index>(tiles - 1);
    group.tiles = tiles;
    group.out_bytes = tiles * tile.bytes();
    group.span = alone + (tiles - 1) * advance;
    group.load = lowest;
    for (std::size_t b = 0; b < group.out_bytes; ++b) {
      group.control[b] = static_cast<std::uint8_t>(detail::source_byte(tile, b) - lowest);
    }
    return group;
  }

  void consider(Form& best, const Tile& tile, std::size_t count, std::size_t dims) const {
    if (kernels_.shuffle == &scalar::shuffle_rows) return;
    const ShuffleProgram program = shuffle_program(tile, count);
    if (program.tiles == 0) return;
    const auto bytes = static_cast<double>(count * tile.bytes());
    const bool wide = count * tile.bytes() >= kernels_.wide_from && wide_kernel(tile, count * tile.bytes()) != nullptr;
    double cycles = wide ? bytes / 16.0 : program.cost(count);
    ShuffleProgram alone;
    if (kernels_.tiles != nullptr && tile.bytes() > 8 && tile.bytes() < 16 && bytes <= RowWalk::room_limit) {
      alone = detail::program_of(tile, 1);
    }
    const double cycles_alone = kernels_.tile_cycles * static_cast<double>(count);
    const bool tiles_alone = alone.terms == 1 && cycles_alone < cycles;
    if (tiles_alone) cycles = cycles_alone;
    TileGroup group = group_of(tile, count);
    if (group.tiles != 0) {
      const std::size_t groups = (count + group.tiles - 1) / group.tiles;
      const double one = (group.out_bytes > 32 ? 3.0 : 2.0) + (group.masked() ? 1.0 : 0.0);
      const double cycles_grouped = one * static_cast<double>(groups);
      if (cycles_grouped < cycles) {
        cycles = cycles_grouped;
      } else {
        group.tiles = 0;
      }
    }
    const double per_byte = (cycles + 4.0) / bytes;
    if (per_byte >= best.per_byte) return;
    best = Form{tile, program, count, dims, per_byte, tiles_alone, alone.term[0], group};
  }

  RowJob job_of(RowKind kind, std::size_t out_bytes) const noexcept {
    RowJob job;
    job.kind = kind;
    job.out_bytes = out_bytes;
    job.output_prefetch = thresholds_.output_prefetch;
    return job;
  }

  /// Bytes of the input's cache lines that a copy touches, about: steps within a line make one run.
  static std::uint64_t touched_bytes(const CopyDims& dims, std::uint64_t in_bytes) noexcept {
    constexpr std::uint64_t line = 64;
    CopyDim by_step[max_rank + 1];
    for (std::size_t d = 0; d < dims.rank; ++d) {
      std::size_t at = d;
      for (; at > 0 && magnitude(by_step[at - 1].in) > magnitude(dims.dim[d].in); --at) by_step[at] = by_step[at - 1];
      by_step[at] = dims.dim[d];
    }
    std::uint64_t run = dims.unit, runs = 1;
    for (std::size_t d = 0; d < dims.rank; ++d) {
      const auto step = static_cast<std::uint64_t>(magnitude(by_step[d].in));
      const auto extent = static_cast<std::uint64_t>(by_step[d].extent);
      if (step == 0) continue;
      if (runs == 1 && step < run + line) {
        run += step * (extent - 1);
      } else {
        runs *= extent;
      }
    }
    const std::uint64_t bytes = runs * ((run + line - 1) / line * line);
    return bytes < in_bytes ? bytes : in_bytes;
  }

  /// Takes `rows` rows of the form `job`, all along `dims`.
  void add(RowJob job, CopyDims dims, RowPlace first, bool may_stream = true) {
    const bool long_rows = job.out_bytes >= 1024;
    const bool one_stream = job.kind == RowKind::copy && kernels_.stream_joined != nullptr &&
                            job.out_bytes >= kernels_.joined_from && rows_joined(job.out_bytes, dims);
    const bool large = 2 * larger_bytes() >= thresholds_.stream_bytes;
    job.stream = may_stream && large && (long_rows || one_stream);
    job.interleave = job.out_bytes >= thresholds_.interleave_from;
    // The CPU's own prefetcher starts anew in every row, which does not matter in the longest.
    job.rows_ahead = job.out_bytes >= 16 * 1024 ? 0 : long_rows ? 1 : 1024 / job.out_bytes;
    if (job.stream && long_rows && (job.kind == RowKind::copy || job.kind == RowKind::shuffle)) {
      // Rows in the direction in which each is read, so that the input is one stream for the CPU's prefetcher.
      const bool backwards = job.kind == RowKind::shuffle && job.tile.in_advance < 0;
      for (std::size_t d = 0; d < dims.rank; ++d) {
        if ((dims.dim[d].in < 0) != backwards) turn(dims.dim[d], first);
      }
    }
    job.joined = rows_joined(job.out_bytes, dims);
    job.irregular = is_irregular(job);
    job.in_columns = in_columns(job, dims);
    walks_.emplace_back(job, dims, first);
  }

  /// Bytes of the pieces that rows of shuffled elements are cut into where they are taken in an irregular order.
  static constexpr std::size_t piece_bytes = 64;

  /// Whether rows are taken in an irregular order: those that lie in L2, and are quickly written exactly.
  bool is_irregular(const RowJob& job) const noexcept {
    const bool copied = job.kind == RowKind::copy;
    const std::uint64_t both = in_lines_ + out_bytes_;
    const std::uint64_t from = copied ? thresholds_.irregular_copy_from : thresholds_.irregular_from;
    if (job.stream || both < from || both > thresholds_.irregular_to) return false;
    if (copied) return job.out_bytes >= 32 && job.out_bytes <= 256;
    return job.kind == RowKind::shuffle && job.out_bytes < 128 && wide_kernel(job.tile, job.out_bytes) != nullptr;
  }

  /// Whether rows along `dims` are taken in columns: copies and every second element, of rows that are longer than one
  /// piece, and read with gaps between them.
  bool in_columns(const RowJob& job, const CopyDims& dims) const noexcept {
    constexpr std::size_t from = 512, to = 16 * 1024;
    constexpr Index gap = 1024;
    const bool copied = job.kind == RowKind::copy;
    const bool thinned = job.kind == RowKind::shuffle && job.tile.in_advance > static_cast<Index>(job.tile.bytes()) &&
                         wide_kernel(job.tile, job.out_bytes) != nullptr;
    if ((!copied && !thinned) || job.stream || job.irregular) return false;
    if (in_lines_ + out_bytes_ < thresholds_.columns_from) return false;
    const std::size_t read = copied ? job.out_bytes : 2 * job.out_bytes;
    if (read < from || read > to || dims.rank == 0) return false;
    return magnitude(dims.back().in) >= static_cast<Index>(read) + gap;
  }

  /// The bytes of pieces for an irregular order, or 0 where rows are not cut: the longest do without, and there must be
  /// no rest.
  std::size_t irregular_pieces(const Tile& tile, std::size_t row_bytes) const noexcept {
    RowJob job;
    job.kind = RowKind::shuffle;
    job.tile = tile;
    job.out_bytes = piece_bytes;
    const bool suits = row_bytes > piece_bytes && row_bytes < 8 * 1024 && row_bytes % piece_bytes == 0;
    return suits && is_irregular(job) ? piece_bytes : 0;
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

  /// Long rows are cut into pieces, so that tasks have something to share, and rows that share lines take turns: calls
  /// make(dims, first, units) for the rows of `piece` units and for those of the rest.
  template <class Make>
  void pieces(const CopyDims& outer, RowPlace first, std::size_t count, std::size_t bytes_per_unit, Index in, Index out,
              const Make& make, std::size_t irregular = 0) {
    const std::size_t shared = shared_lines(outer, in);
    const bool cut = irregular != 0 && shared == outer.rank;
    const std::size_t bytes = cut ? irregular : shared < outer.rank ? 4 * 1024 : 64 * 1024;
    if (!cut && count * bytes_per_unit <= 2 * bytes) return make(outer, first, count);
    std::size_t piece = bytes / bytes_per_unit;
    piece -= piece > 64 ? piece % 64 : 0;
    CopyDims dims = outer;
    dims.push_back(
        {static_cast<Index>(count / piece), in * static_cast<Index>(piece), out * static_cast<Index>(piece)});
    if (shared < outer.rank) {
      const CopyDim turns = outer.dim[shared];
      dims.erase(shared);
      dims.push_back(turns);
    }
    make(dims, first, piece);
    const std::size_t done = count / piece * piece;
    if (done == count) return;
    first.in += in * static_cast<Index>(done);
    first.out += out * static_cast<Index>(done);
    make(outer, first, count - done);
  }

  void plan_copy(const CopyDims& dims, RowPlace first) {
    pieces(dims, first, dims.unit, 1, 1, 1, [&](const CopyDims& d, RowPlace at, std::size_t bytes) {
      RowJob job = job_of(RowKind::copy, bytes);
      job.unit_bytes = bytes;
      job.count = 1;
      add(job, d, at);
    });
  }

  void plan_fill(CopyDims dims, RowPlace first) {
    const CopyDim inner = dims.back();
    --dims.rank;
    pieces(dims, first, static_cast<std::size_t>(inner.extent), dims.unit, 0, inner.out,
           [&](const CopyDims& d, RowPlace at, std::size_t count) {
             RowJob job = job_of(RowKind::fill, count * d.unit);
             job.unit_bytes = d.unit;
             job.count = count;
             add(job, d, at);
           });
  }

  void plan_shuffle(CopyDims dims, RowPlace first, const Form& form) {
    dims.rank -= form.dims;
    const auto tile_bytes = static_cast<Index>(form.tile.bytes());
    pieces(
        dims, first, form.count, form.tile.bytes(), form.tile.in_advance, tile_bytes,
        [&](const CopyDims& d, RowPlace at, std::size_t count) {
          RowJob job = job_of(RowKind::shuffle, count * form.tile.bytes());
          job.unit_bytes = form.tile.unit_bytes;
          job.count = count;
          job.tile = form.tile;
          job.program = count >= form.program.tiles ? form.program : shuffle_program(form.tile, count);
          job.program_prefetch = form.tile.in_advance < 0 ? -kernels_.program_prefetch : kernels_.program_prefetch;
          job.tiles_alone = form.tiles_alone;
          job.tile_alone = form.tile_alone;
          if (count == form.count) job.group = form.group;
          add(job, d, at, shared_lines(dims, form.tile.in_advance) == dims.rank);
        },
        irregular_pieces(form.tile, form.count * form.tile.bytes()));
  }

  void plan_steps(CopyDims dims, RowPlace first) {
    const CopyDim inner = dims.back();
    --dims.rank;
    pieces(dims, first, static_cast<std::size_t>(inner.extent), dims.unit, inner.in, inner.out,
           [&](const CopyDims& d, RowPlace at, std::size_t count) {
             RowJob job = job_of(RowKind::steps, (count - 1) * static_cast<std::size_t>(inner.out) + d.unit);
             job.unit_bytes = d.unit;
             job.count = count;
             job.in_step = inner.in;
             job.out_step = inner.out;
             add(job, d, at);
           });
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
  bool plan_strip(CopyDims dims, RowPlace first) {
    const CopyDim inner = dims.back();
    std::size_t across = dims.rank;
    for (std::size_t d = 0; d + 1 < dims.rank; ++d) {
      if (dims.dim[d].in == 0 || magnitude(dims.dim[d].in) * 2 > magnitude(inner.in)) continue;
      if (across == dims.rank || magnitude(dims.dim[d].in) < magnitude(dims.dim[across].in)) across = d;
    }
    if (across == dims.rank || magnitude(inner.in) < 32) return false;
    CopyDim cross = dims.dim[across];
    if (cross.in < 0) turn(cross, first);
    // A strip of a few lines by as many bytes of output fills half of the first-level cache.
    const Index line = (dims.unit == 1 ? 128 : 256) / cross.in;
    if (line < 2) return false;
    const auto add_strips = [&](Index from, Index strips, Index rows) {
      if (strips == 0) return;
      CopyDims outer = dims;
      --outer.rank;
      outer.dim[across] = {strips, cross.in * rows, cross.out * rows};
      RowJob job = job_of(RowKind::strip, static_cast<std::size_t>(inner.extent) * dims.unit);
      job.unit_bytes = dims.unit;
      job.count = static_cast<std::size_t>(inner.extent);
      job.in_step = inner.in;
      job.out_step = inner.out;
      job.width = static_cast<std::size_t>(rows);
      job.in_cross = cross.in;
      job.out_cross = cross.out;
      add(job, outer, {first.in + from * cross.in, first.out + from * cross.out});
    };
    // The last strip takes the rest, too, so that no strip is narrow.
    const Index strips = cross.extent > line ? cross.extent / line : 1;
    add_strips(0, strips - 1, line);
    add_strips((strips - 1) * line, 1, cross.extent - (strips - 1) * line);
    return true;
  }

  SliceKernels kernels_;
  SliceThresholds thresholds_;
  std::size_t in_bytes_;
  std::uint64_t out_bytes_ = 0;
  std::uint64_t in_lines_ = 0;
  std::vector<RowWalk> walks_;
  std::vector<RowWalk> shared_walks_;  // for several tasks, where these go another way than one does; else empty
};

}  // namespace fast
DMLREF_END
