// mean_variance_normalization.hpp: MVN and MVN1 at the speed of memory: rows, columns, and whatever else by way of
// rows.
//
// A group is summed chunk by chunk (docs/kernels/normalization.md); a chunk that lies contiguously in memory is read
// where it is, any other is first gathered into a row. Where groups lie side by side, vectors run across them instead.
// The order of summation is the reference's, so are the results, to the bit.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/fast/mean_variance_normalization/columns.hpp"
#include "dmlref/fast/mean_variance_normalization/elements.hpp"
#include "dmlref/fast/mean_variance_normalization/geometry.hpp"
#include "dmlref/fast/mean_variance_normalization/kernels.hpp"
#include "dmlref/fast/mean_variance_normalization/pieces.hpp"
#include "dmlref/fast/mean_variance_normalization/schedule.hpp"
#include "dmlref/fast/mean_variance_normalization/small_groups.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/reference/mean_variance_normalization.hpp"

DMLREF_BEGIN
namespace fast::normalization {

/// A normalization of T (float or half) made ready for one instruction set.
template <class T>
class Normalization {
  static constexpr bool is_half = Schedule<T>::is_half;
  using Real = std::conditional_t<is_half, float, double>;
  using reference_chunk = reference::ChunkStatistics;

 public:
  Normalization(const Geometry& geometry, const reference::NormalizationParameters& parameters, Isa isa,
                const Tuning& tuning) noexcept
      : schedule_(geometry, parameters, isa, tuning) {}
  explicit Normalization(const Schedule<T>& schedule) noexcept : schedule_(schedule) {}

  std::string_view strategy_name() const noexcept { return schedule_.geometry.columns ? "columns" : "rows"; }
  /// Bytes that `execute` requires, aligned to 64: the statistics of chunks, and what the columns share.
  std::uint64_t temporary_bytes() const noexcept {
    if (schedule_.geometry.columns) return columns().temporary_bytes();
    if (schedule_.chunks <= 1) return 0;
    return round_up(schedule_.groups * schedule_.chunks * sizeof(reference_chunk)) +
           round_up(schedule_.groups * sizeof(GroupCoefficients));
  }

  /// `parallel(count, body)` calls body(i) for each i below count, on up to `concurrency` threads.
  template <class Parallel>
  void execute(const Buffers& buffers, std::size_t concurrency, const Parallel& parallel) const noexcept {
    if (schedule_.geometry.columns) return columns().execute(buffers, concurrency, parallel);
    const bool streams = concurrency > 1 ? schedule_.several_stream : schedule_.streams;
    const Run run{schedule_, buffers, {schedule_.geometry, schedule_.parameters, buffers}, streams};
    run.all_rows(concurrency, parallel);
  }

 private:
  ColumnNormalization<T> columns() const noexcept {
    return {schedule_.geometry, schedule_.parameters, *schedule_.kernels.activation, *schedule_.kernels.columns,
            schedule_.has_fma};
  }

  static constexpr std::uint64_t no_element = ~std::uint64_t{0};

  /// Memory of one task; all of it stays in L1d and L2.
  struct Workspace {
    explicit Workspace(const Schedule<T>& op) noexcept
        : size(is_half ? normalization_chunk : (op.chunk_size(0) + 15) / 16 * 16) {}

    /// A row's doubles (of float16 floats), of up to three rows.
    Real* wide(std::size_t turn) noexcept { return reals + turn * size; }

    alignas(64) float row[normalization_chunk];
    alignas(64) std::byte result[normalization_chunk * sizeof(T)];
    // (One right behind the other: 8 KiB apart, rows of 768 doubles would fill half of L1d's sets.)
    alignas(64) Real reals[6 * normalization_chunk];
    std::size_t size;
    Real* const scale = reals + 3 * size;
    Real* const bias = reals + 4 * size;
    Real* const values = reals + 5 * size;
    std::uint16_t ill_conditioned[normalization_chunk];
    double largest_scale = 0;
    double largest_bias = 0;
    std::uint64_t parameters_of = no_element;  // scale and bias above are those of every group's, from this one on
  };

  /// A contiguous row in memory or in the workspace.
  struct Row {
    const std::byte* floats = nullptr;
    Real* wide = nullptr;
    const std::byte* next = nullptr;  // the row that is read after it
    RowAhead ahead{};
  };

  /// One execute.
  struct Run {
    const Schedule<T>& op;
    const Buffers& buffers;
    Elements<T> elements;
    bool streams;

    // ---- Places and elements -------------------------------------------------------------------------------------

    reference::ScaleAndBias folded(float scale, float bias) const noexcept {
      return reference::ScaleAndBias::of(op.line, scale, bias);
    }

    std::size_t chunk_size(std::uint64_t chunk) const noexcept { return op.chunk_size(chunk); }

    static constexpr Index element_bytes = sizeof(T);
    const std::byte* input_at(const Place& place) const noexcept { return buffers.input + place.input * element_bytes; }
    std::byte* output_at(const Place& place) const noexcept { return buffers.output + place.output * element_bytes; }

    /// `count` elements that lie side by side, as floats.
    void widen(const std::byte* from, std::size_t count, float* to) const noexcept {
      if constexpr (is_half) {
        op.kernels.rows->widen(from, to, count);
      } else {
        std::memcpy(to, from, count * sizeof(float));
      }
    }
    /// Every `step`-th element of a tensor from number `start` on.
    DMLREF_NOINLINE void widen(const std::byte* tensor, Index start, Index step, std::size_t count,
                               float* to) const noexcept {
      if (step == 1) return widen(tensor + start * static_cast<Index>(sizeof(T)), count, to);
      const ByteAccess<const T> elements_of{tensor};
      if (step == 0) {
        std::fill_n(to, count, static_cast<float>(elements_of.load(start)));
      } else {
        for (std::size_t i = 0; i < count; ++i) {
          to[i] = static_cast<float>(elements_of.load(start + static_cast<Index>(i) * step));
        }
      }
    }

    reference_chunk* statistics() const noexcept { return reinterpret_cast<reference_chunk*>(buffers.temporary); }
    GroupCoefficients* coefficients() const noexcept {
      return reinterpret_cast<GroupCoefficients*>(buffers.temporary +
                                                  round_up(op.groups * op.chunks * sizeof(reference_chunk)));
    }
    /// Elements of a group from number `first` on, as floats. `ahead` elements further on lies what is read next.
    DMLREF_NOINLINE void gather(const Place& base, std::uint64_t first, std::size_t count, float* to,
                                Index ahead = 0) const noexcept {
      Walk walk(op.geometry.reduced, base, static_cast<Index>(first));
      while (count > 0) {
        const auto n = std::min(count, static_cast<std::size_t>(walk.stretch()));
        const Index step = walk.step().input;
        const Index start = walk.place().input;
        if (ahead != 0 && step == 1) {
          prefetch<0>(buffers.input + (start + ahead) * static_cast<Index>(sizeof(T)), n * sizeof(T));
        }
        widen(buffers.input, start, step, n, to);
        to += n;
        count -= n;
        walk.advance(static_cast<Index>(n));
      }
    }

    /// Where `size` elements from number `first` on lie, if it is in one piece in one of the tensors.
    template <Index Place::*tensor>
    std::optional<Place> stretch_at(const Place& base, std::uint64_t first, std::size_t size) const noexcept {
      if (op.geometry.reduced.rank <= 1) {  // the usual case, without divisions
        const Place step = op.geometry.reduced.rank == 0 ? Place{} : op.geometry.reduced.at[0].step;
        if (step.*tensor != 1 && size != 1) return std::nullopt;
        return Place(base).add(step, static_cast<Index>(first));
      }
      const Walk walk(op.geometry.reduced, base, static_cast<Index>(first));
      if ((walk.step().*tensor != 1 && size != 1) || walk.stretch() < static_cast<Index>(size)) return std::nullopt;
      return walk.place();
    }

    /// Contiguous elements as a row: where they lie, or widened into `space`.
    Row piece_at(const std::byte* from, std::size_t size, float* space) const noexcept {
      if constexpr (!is_half) return {from, nullptr};
      op.kernels.rows->widen(from, space, size);
      return {reinterpret_cast<const std::byte*>(space), nullptr};
    }

    /// A chunk of a group as a row: where it lies, or gathered into `space`.
    Row read(const Place& base, std::uint64_t chunk, float* space, Index ahead = 0) const noexcept {
      const std::size_t size = chunk_size(chunk);
      const std::uint64_t first = chunk * normalization_chunk;
      if (const std::optional<Place> place = stretch_at<&Place::input>(base, first, size)) {
        return piece_at(input_at(*place), size, space);
      }
      gather(base, first, size, space, ahead);
      return {reinterpret_cast<const std::byte*>(space), nullptr};
    }

    // ---- Statistics ----------------------------------------------------------------------------------------------

    /// `output`: where the row's results will go, if in one piece.
    reference_chunk row_statistics(const Row& row, std::size_t size, const std::byte* output = nullptr) const noexcept {
      const Kernels& k = *op.kernels.rows;
      double* wide = nullptr;
      if constexpr (!is_half) wide = row.wide;
      return reference::chunk_from(size, [&](double pivot) {
        return pivot == 0.0 ? k.sums(row.floats, size, wide, output) : k.shifted_sums(row.floats, size, pivot);
      });
    }

    DMLREF_NOINLINE GroupCoefficients merge(const reference_chunk* chunks) const noexcept {
      GroupCoefficients merged;
      with_fma(op.has_fma, [&] {
        const auto group = reference::merge_chunks(op.count, [chunks](std::uint64_t c) { return chunks[c]; });
        merged = GroupCoefficients::of(group, op.count, op.parameters);
      });
      return merged;
    }

    // ---- Results -------------------------------------------------------------------------------------------------

    /// Scale and bias of a chunk, with the activation's line.
    DMLREF_NOINLINE void read_parameters(const Place& base, std::uint64_t first, std::size_t count,
                                         Workspace& work) const noexcept {
      if (work.parameters_of == first) return;
      float scale[normalization_chunk];
      float bias[normalization_chunk];
      if (buffers.scale == nullptr) std::fill_n(scale, count, 1.0f);
      if (buffers.bias == nullptr) std::fill_n(bias, count, 0.0f);
      Walk walk(op.geometry.reduced, base, static_cast<Index>(first));
      for (std::size_t i = 0; i < count;) {
        const auto n = std::min(count - i, static_cast<std::size_t>(walk.stretch()));
        const Place start = walk.place();
        const Place step = walk.step();
        if (buffers.scale != nullptr) widen(buffers.scale, start.scale, step.scale, n, scale + i);
        if (buffers.bias != nullptr) widen(buffers.bias, start.bias, step.bias, n, bias + i);
        i += n;
        walk.advance(static_cast<Index>(n));
      }
      with_fma(op.has_fma, [&] { fold_parameters(scale, bias, count, work); });
      if (op.shared_parameters) work.parameters_of = first;
    }
    void fold_parameters(const float* scale, const float* bias, std::size_t count, Workspace& work) const noexcept {
      // (As integers magnitudes keep their order, with NaN above infinity, and a compiler may compare many at once.)
      constexpr std::int64_t infinity = std::bit_cast<std::int64_t>(std::numeric_limits<double>::infinity());
      constexpr std::int64_t magnitude = std::numeric_limits<std::int64_t>::max();
      std::int64_t largest_scale = 0;
      std::int64_t largest_bias = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const auto sb = folded(scale[i], bias[i]);
        work.scale[i] = static_cast<Real>(sb.scale);
        work.bias[i] = static_cast<Real>(sb.bias);
        largest_scale = std::max(largest_scale, std::bit_cast<std::int64_t>(sb.scale) & magnitude);
        largest_bias = std::max(largest_bias, std::bit_cast<std::int64_t>(sb.bias) & magnitude);
      }
      work.largest_scale = std::bit_cast<double>(std::min(largest_scale, infinity));
      work.largest_bias = std::bit_cast<double>(std::min(largest_bias, infinity));
    }

    /// How a row is normalized: one line for all of it, or (`each`) a scale and a bias for each element, which are then
    /// in the workspace, the error bound being the largest.
    struct Plan {
      bool each = false;
      reference::ElementCoefficients<Real> line;
    };
    Plan plan(const Place& base, std::uint64_t first, std::size_t size, const GroupCoefficients& group,
              Workspace& work) const noexcept {
      Place place = base;
      bool each = op.geometry.varying;
      if (each && op.chunks > 1) {
        const Walk walk(op.geometry.reduced, base, static_cast<Index>(first));
        place = walk.place();
        each = walk.step().scale != 0 || walk.step().bias != 0 || walk.stretch() < static_cast<Index>(size);
      }
      if (each) {
        read_parameters(base, first, size, work);
        return {true, reference::ElementCoefficients<Real>::of(group, work.largest_scale, work.largest_bias)};
      }
      const auto sb = folded(elements.scale_at(place.scale), elements.bias_at(place.bias));
      return {false, reference::ElementCoefficients<Real>::of(group, sb.scale, sb.bias)};
    }

    /// Normalizes `size` elements, which `row` holds, to `to` (null: to work.result). Their results may need `correct`:
    /// how many, by work.ill_conditioned; all of them where `all` is true.
    struct Corrections {
      bool all = false;
      std::size_t listed = 0;
    };
    DMLREF_NOINLINE Corrections normalize_row(const Plan& plan, std::size_t size, const Row& row, std::byte* to,
                                              const GroupCoefficients& group, Workspace& work) const noexcept {
      const Kernels& k = *op.kernels.rows;
      const auto finish = static_cast<std::size_t>(op.finish);
      const bool has_values = op.finish == Finish::values;
      if (to == nullptr) to = work.result;
      std::byte* const stored = has_values ? reinterpret_cast<std::byte*>(work.values) : to;
      const Real alpha = op.parameters.activation.parameters[0];
      Corrections corrections;
      const auto& c = plan.line;
      if constexpr (is_half) {
        const auto* const floats = reinterpret_cast<const float*>(row.floats);
        if (plan.each) {
          const auto rest = static_cast<float>((group.mean.high - c.shift) + group.mean.low);
          corrections.listed =
              k.each_row16[finish]({floats, stored, size, c.shift, rest, static_cast<float>(group.rate),
                                    static_cast<float>(group.slope_error * 0x1p-13), c.error_bound, work.scale,
                                    work.bias, alpha, work.ill_conditioned, row.ahead});
        } else {
          corrections.listed = k.row16[finish]({floats,
                                                stored,
                                                size,
                                                {c.shift, c.slope, c.offset, c.error_bound},
                                                alpha,
                                                work.ill_conditioned,
                                                row.ahead});
        }
        corrections.all = c.error_bound != c.error_bound;
      } else {
        float least;
        if (plan.each) {
          const EachRow32 all{row.floats, row.wide, stored,  size,     &group,   work.scale,
                              work.bias,  alpha,    streams, row.next, row.ahead};
          least = k.each_row32[finish](all);
        } else {
          const Row32 all{row.floats, row.wide, stored,   size,     {c.shift, c.slope, c.offset},
                          alpha,      streams,  row.next, row.ahead};
          least = k.row32[finish](all);
        }
        corrections.all = is_low(least, c.error_bound);
      }
      if (has_values) {
        const Activation& activation = op.parameters.activation;
        if (jumps(activation.type) && !corrections.all) {
          corrections.listed =
              list_near(*op.kernels.activation, activation, work.values, size, c.error_bound, work.ill_conditioned);
        }
        activate<T>(*op.kernels.activation, activation, work.values, to, size);
      }
      return corrections;
    }

    void correct(const Place& base, std::uint64_t first, std::size_t size, const Corrections& corrections,
                 const GroupCoefficients& group, std::optional<reference::ExactStatistics>& found,
                 Workspace& work) const noexcept {
      if (corrections.all) {
        elements.correct(base, first, size, nullptr, group, found);
      } else if (corrections.listed > 0) {
        elements.correct(base, first, corrections.listed, work.ill_conditioned, group, found);
      }
    }

    /// Of a group of one chunk.
    DMLREF_NOINLINE void correct_group(const Place& base, const Corrections& corrections, GroupCoefficients group,
                                       Workspace& work) const noexcept {
      std::optional<reference::ExactStatistics> found;
      SmallGroup::complete(group, static_cast<double>(chunk_size(0)));
      correct(base, 0, chunk_size(0), corrections, group, found, work);
    }

    /// The results of one chunk, `row` holding its elements.
    Corrections normalize(const Place& base, std::uint64_t chunk, const Row& row, const GroupCoefficients& group,
                          Workspace& work, Index ahead = 0) const noexcept {
      const std::size_t size = chunk_size(chunk);
      const std::uint64_t first = chunk * normalization_chunk;
      const std::optional<Place> place = stretch_at<&Place::output>(base, first, size);
      std::byte* const to = place ? output_at(*place) : nullptr;
      const Corrections corrections = normalize_row(plan(base, first, size, group, work), size, row, to, group, work);
      if (!place) scatter(base, first, size, work.result, ahead);
      return corrections;
    }

    DMLREF_NOINLINE void scatter(const Place& base, std::uint64_t first, std::size_t count, const std::byte* from,
                                 Index ahead) const noexcept {
      Walk walk(op.geometry.reduced, base, static_cast<Index>(first));
      while (count > 0) {
        const auto n = std::min(count, static_cast<std::size_t>(walk.stretch()));
        const Index step = walk.step().output;
        std::byte* const to = output_at(walk.place());
        if (step == 1) {
          if (ahead != 0) prefetch<1>(to + ahead * element_bytes, n * sizeof(T));
          std::memcpy(to, from, n * sizeof(T));
        } else {
          for (std::size_t i = 0; i < n; ++i) {
            std::memcpy(to + static_cast<Index>(i) * step * element_bytes, from + i * sizeof(T), sizeof(T));
          }
        }
        from += n * sizeof(T);
        count -= n;
        walk.advance(static_cast<Index>(n));
      }
    }

    // ---- Rows ----------------------------------------------------------------------------------------------------

    /// Groups of one chunk each, one after the other: a row and its doubles then stay in L1d.
    void small_groups(std::uint64_t begin, std::uint64_t end) const noexcept {
      Workspace work(op);
      const std::size_t size = chunk_size(0);
      const SmallGroup constants(size, op.parameters);
      const bool stored_past =
          streams && (!op.geometry.varying || op.kernels.rows->pipelined) && op.finish != Finish::values;
      // (A scale and a bias for each element fill L1d.)
      Real* const wide = is_half || op.geometry.varying ? nullptr : work.wide(0);
      Walk walk(op.geometry.kept, Place{}, static_cast<Index>(begin));
      for (std::uint64_t g = begin; g < end; ++g) {
        const Place base = walk.place();
        walk.advance(1);
        const Place ahead = g + 1 < end ? Place(walk.place()).add(base, -1) : Place{};
        Row row = read(base, 0, work.row, ahead.input);
        row.wide = wide;
        // Neither is foreseen by prefetchers while the other is walked.
        const std::byte* output = nullptr;
        if (!is_half && op.prefetch_distance != 0) {
          const bool in_place = row.floats != reinterpret_cast<const std::byte*>(work.row);
          if (in_place) row.next = row.floats + ahead.input * element_bytes;
          const std::optional<Place> place = stretch_at<&Place::output>(base, 0, size);
          if (place && !stored_past) output = output_at(*place);
        }
        double* doubles = nullptr;
        if constexpr (!is_half) doubles = wide;
        const GroupCoefficients group = constants.coefficients(
            op.kernels.rows->sums(row.floats, size, doubles, output),
            [&](double pivot) { return op.kernels.rows->shifted_sums(row.floats, size, pivot); });
        const Corrections corrections = normalize(base, 0, row, group, work, ahead.output);
        if (corrections.all || corrections.listed > 0) correct_group(base, corrections, group, work);
      }
    }

    /// The same with kernels that form the sums of the row after the next one together with a row's results. A row's
    /// coefficients are formed just before they are needed: its sums have been there for a while then, but right behind
    /// the sums everything would wait for quotients and roots. The doubles of two rows stay in L1d, of
    /// float16 the floats of three.
    void pipelined_small_groups(std::uint64_t begin, std::uint64_t end) const noexcept {
      Workspace work(op);
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
          const Row row = read(base[g], 0, work.wide(g));
          sums[g] = op.kernels.rows->sums(row.floats, size, nullptr, nullptr);
        } else {
          const Row row = read(base[g], 0, work.row);
          sums[g] = op.kernels.rows->sums(row.floats, size, work.wide(g), nullptr);
        }
      }
      form_coefficients(0);
      for (std::uint64_t g = begin; g < end; ++g) {
        const std::size_t turn = (g - begin) % ahead;
        Row row{is_half ? reinterpret_cast<const std::byte*>(floats_of[turn]) : nullptr, work.wide(turn)};
        const std::byte* following = nullptr;
        Place following_base;
        const bool more = g + ahead < end;
        if (more) {
          following_base = walk.place();
          walk.advance(1);
          // (float16 that overlaps is contiguous.)
          following = is_half ? input_at(following_base) : read(following_base, 0, work.row).floats;
          row.ahead = {following, &sums[turn], following, following};
          if constexpr (is_half) row.ahead.floats = work.wide((g - begin + ahead) % 3);
          const bool in_place = following != reinterpret_cast<const std::byte*>(work.row);
          if (!is_half && in_place && op.finish != Finish::values) row.ahead.next += op.row_prefetch;
          if (prefetches) {
            const std::optional<Place> place = stretch_at<&Place::output>(base[turn], 0, size);
            const Place step = g + ahead + 1 < end ? Place(walk.place()).add(following_base, -1) : Place{};
            if (in_place) row.ahead.next += step.input * element_bytes;
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

    void rows(std::uint64_t begin, std::uint64_t end) const noexcept {
      op.pipelines_rows(streams) ? pipelined_small_groups(begin, end) : small_groups(begin, end);
    }

    static constexpr std::uint64_t most_interleaved = 16;

    /// How many groups are interleaved: as many as leave half of L2 to their results.
    static std::uint64_t interleaved_of(std::uint64_t count) noexcept {
      return std::clamp<std::uint64_t>(Schedule<T>::l2_bytes / 2 / (count * sizeof(T)), 1, most_interleaved);
    }

    /// From the group at `base` to the next one; nothing after the last.
    Place to_next(std::uint64_t group, const Place& base) const noexcept {
      if (group + 1 >= op.groups || !op.prefetches_next) return {};
      return op.geometry.kept.place(static_cast<Index>(group + 1)).add(base, -1);
    }

    /// A chunk as a row: where it lies, or gathered into `space`. `ahead` elements further on lies what is read next.
    DMLREF_NOINLINE Row gather(const Place& base, const PieceTable::List& list, float* space,
                               Index ahead) const noexcept {
      const std::byte* const from = input_at(base);
      if (is_half && op.prefetch_distance != 0) {
        for (std::size_t p = 0; p < list.count; ++p) {
          prefetch<0>(from + list.pieces[p].from + op.prefetch_distance, list.pieces[p].count * sizeof(T));
        }
        ahead = 0;
      }
      if (list.count == 1) return piece_at(from + list.pieces[0].from, list.pieces[0].count, space);
      float* to = space;
      for (std::size_t p = 0; p < list.count; ++p) {
        const Piece& piece = list.pieces[p];
        if (ahead != 0) {
          prefetch<0>(from + piece.from + ahead * element_bytes, piece.count * sizeof(T));
        }
        widen(from + piece.from, piece.count, to);
        to += piece.count;
      }
      return {reinterpret_cast<const std::byte*>(space), nullptr};
    }

    /// The results of a chunk that is gathered, and scattered again.
    void normalize_gathered(const Place& base, std::uint64_t chunk, const PieceTable::List& list, Index ahead,
                            const GroupCoefficients& group, std::optional<reference::ExactStatistics>& found,
                            Workspace& work) const noexcept {
      const std::size_t size = chunk_size(chunk);
      const std::uint64_t first = chunk * normalization_chunk;
      std::byte* const output = output_at(base);
      const bool direct = list.count == 1;
      Row row = gather(base, list, work.row, 0);
      if (!is_half && direct && op.prefetch_distance != 0) row.next = row.floats + op.prefetch_distance;
      const Corrections corrections = normalize_row(plan(base, first, size, group, work), size, row,
                                                    direct ? output + list.pieces[0].to : nullptr, group, work);
      const std::byte* from = work.result;
      for (std::size_t p = 0; p < list.count && !direct; ++p) {
        const Piece& piece = list.pieces[p];
        const std::size_t bytes = piece.count * sizeof(T);
        if (ahead != 0) prefetch<1>(output + piece.to + ahead * element_bytes, bytes);
        std::memcpy(output + piece.to, from, bytes);
        from += bytes;
      }
      correct(base, first, size, corrections, group, found, work);
    }

    reference_chunk sum_pieces(const Place& base, std::uint64_t chunk, const PieceTable::List& list, Index ahead,
                               Workspace& work) const noexcept {
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
                          const GroupCoefficients& group, std::optional<reference::ExactStatistics>& found,
                          Workspace& work, Beside* beside = nullptr) const noexcept {
      const auto sb = folded(elements.scale_at(base.scale), elements.bias_at(base.bias));
      const auto c = reference::ElementCoefficients<Real>::of(group, sb.scale, sb.bias);
      const std::byte* const from = input_at(base);
      std::byte* const to = output_at(base);
      const std::int64_t ahead_bytes = ahead * element_bytes;
      const auto finish = static_cast<std::size_t>(op.finish);
      const Real alpha = op.parameters.activation.parameters[0];
      Corrections corrections;
      if constexpr (is_half) {
        const Pieces16 all{from,
                           to,
                           list.pieces,
                           list.count,
                           ahead_bytes,
                           {c.shift, c.slope, c.offset, c.error_bound},
                           alpha,
                           work.ill_conditioned,
                           op.prefetch_distance,
                           streams};
        corrections.listed = op.kernels.rows->pieces16[finish](all);
        corrections.all = c.error_bound != c.error_bound;
      } else {
        Pieces32 all{from,  to,      list.pieces,         list.count, ahead_bytes, {c.shift, c.slope, c.offset},
                     alpha, streams, op.prefetch_distance};
        if (beside != nullptr) {
          all.summed = beside->from;
          all.sums = &beside->sums;
          all.summed_ahead = beside->ahead;
        }
        corrections.all = is_low(op.kernels.rows->pieces32[finish](all), c.error_bound);
      }
      correct(base, chunk * normalization_chunk, chunk_size(chunk), corrections, group, found, work);
    }

    DMLREF_NOINLINE void sum_chunks(std::uint64_t group, const Place& base, std::uint64_t begin, std::uint64_t end,
                                    PieceTable& pieces, Workspace& work) const noexcept {
      with_fma(op.has_fma, [&] { sum_chunks_of(group, base, begin, end, pieces, work); });
    }
    void sum_chunks_of(std::uint64_t group, const Place& base, std::uint64_t begin, std::uint64_t end,
                       PieceTable& pieces, Workspace& work) const noexcept {
      const Index ahead = to_next(group, base).input;
      for (std::uint64_t c = begin; c < end; ++c) {
        reference_chunk& chunk = statistics()[group * op.chunks + c];
        if (op.summed_pieces) {
          chunk = sum_pieces(base, c, pieces.of(c), ahead, work);
        } else {
          const Row row = op.stretches ? gather(base, pieces.of(c), work.row, ahead) : read(base, c, work.row, ahead);
          chunk = row_statistics(row, chunk_size(c));
        }
      }
    }

    DMLREF_NOINLINE void normalize_chunks(std::uint64_t group, const Place& base, std::uint64_t begin,
                                          std::uint64_t end, PieceTable& pieces,
                                          std::optional<reference::ExactStatistics>& found,
                                          Workspace& work) const noexcept {
      with_fma(op.has_fma, [&] { normalize_chunks_of(group, base, begin, end, pieces, found, work); });
    }
    void normalize_chunks_of(std::uint64_t group, const Place& base, std::uint64_t begin, std::uint64_t end,
                             PieceTable& pieces, std::optional<reference::ExactStatistics>& found,
                             Workspace& work) const noexcept {
      const Index ahead = to_next(group, base).output;
      for (std::uint64_t c = begin; c < end; ++c) {
        if (op.pieces) {
          normalize_pieces(base, c, pieces.of(c), ahead, coefficients()[group], found, work);
        } else if (op.stretches) {
          normalize_gathered(base, c, pieces.of(c), ahead, coefficients()[group], found, work);
        } else {
          const GroupCoefficients& all = coefficients()[group];
          const Corrections corrections = normalize(base, c, read(base, c, work.row), all, work, ahead);
          correct(base, c * normalization_chunk, chunk_size(c), corrections, all, found, work);
        }
      }
    }

    DMLREF_NOINLINE void large_groups(std::uint64_t begin, std::uint64_t end) const noexcept {
      Workspace work(op);
      PieceTable pieces = op.piece_table();
      const std::uint64_t turn = op.shared_parameters ? interleaved_of(op.count) : 1;
      for (std::uint64_t g = begin; g < end; ++g) {
        const Place base = op.geometry.kept.place(static_cast<Index>(g));
        sum_chunks(g, base, 0, op.chunks, pieces, work);
        coefficients()[g] = merge(statistics() + g * op.chunks);
        const std::uint64_t number = (g - begin) % turn;
        if (number + 1 == turn || g + 1 == end) normalize_groups(g - number, g + 1, pieces, work);
      }
    }

    /// The results of groups that were summed just before: chunk by chunk where they share a scale and a bias for each
    /// element, which then become doubles once for all of them.
    void normalize_groups(std::uint64_t begin, std::uint64_t end, PieceTable& pieces, Workspace& work) const noexcept {
      std::optional<reference::ExactStatistics> found[most_interleaved];
      const std::uint64_t step = end - begin > 1 ? 1 : op.chunks;
      for (std::uint64_t c = 0; c < op.chunks; c += step) {
        for (std::uint64_t g = begin; g < end; ++g) {
          normalize_chunks(g, op.geometry.kept.place(static_cast<Index>(g)), c, c + step, pieces, found[g - begin],
                           work);
        }
      }
    }

    /// The same with kernels that form the sums of the next group together with a group's results: one comes from
    /// ahead_bytes away while the other is computed.
    void pipelined_large_groups(std::uint64_t begin, std::uint64_t end) const noexcept {
      Workspace work(op);
      PieceTable pieces = op.piece_table();
      Place base = op.geometry.kept.place(static_cast<Index>(begin));
      sum_chunks(begin, base, 0, op.chunks, pieces, work);
      for (std::uint64_t g = begin; g < end; ++g) {
        coefficients()[g] = merge(statistics() + g * op.chunks);
        if (g + 1 == end) {
          normalize_groups(g, end, pieces, work);
          return;
        }
        const Place next = op.geometry.kept.place(static_cast<Index>(g + 1));
        Beside beside{input_at(next), op.prefetch_distance};
        if (op.prefetch_distance == 0 && op.beyond_l2) beside.ahead = to_next(g + 1, next).input * element_bytes;
        std::optional<reference::ExactStatistics> found;
        for (std::uint64_t c = 0; c < op.chunks; ++c) {
          normalize_pieces(base, c, pieces.of(c), 0, coefficients()[g], found, work, &beside);
          statistics()[(g + 1) * op.chunks + c] = reference::chunk_from(chunk_size(c), [&](double pivot) {
            return pivot == 0.0 ? beside.sums
                                : op.kernels.rows->shifted_sums(read(next, c, work.row).floats, chunk_size(c), pivot);
          });
        }
        base = next;
      }
    }

    template <class Parallel>
    void all_rows(std::size_t concurrency, const Parallel& parallel) const noexcept {
      if (op.chunks == 1 || concurrency == 1 || op.groups >= concurrency * 4) {
        const std::uint64_t tasks = concurrency == 1 ? 1 : std::min<std::uint64_t>(op.groups, concurrency * 4);
        parallel(tasks, [&](std::size_t t) {
          const std::uint64_t begin = op.groups * t / tasks;
          const std::uint64_t end = op.groups * (t + 1) / tasks;
          if (op.chunks > 1 && !op.pipelines_pieces) {
            large_groups(begin, end);
          } else {
            with_fma(op.has_fma, [&] { op.chunks == 1 ? rows(begin, end) : pipelined_large_groups(begin, end); });
          }
          end_task(streams);
        });
      } else {
        const std::uint64_t parts = std::min<std::uint64_t>(op.chunks, concurrency * 4);
        const auto each_part = [&](auto&& body) {
          parallel(op.groups * parts, [&](std::size_t t) {
            Workspace work(op);
            PieceTable pieces = op.piece_table();
            const std::uint64_t group = t / parts;
            const std::uint64_t part = t % parts;
            body(group, op.geometry.kept.place(static_cast<Index>(group)), op.chunks * part / parts,
                 op.chunks * (part + 1) / parts, pieces, work);
            end_task(streams);
          });
        };
        each_part([&](auto group, const Place& base, auto begin, auto end, PieceTable& pieces, Workspace& work) {
          sum_chunks(group, base, begin, end, pieces, work);
        });
        parallel(op.groups, [&](std::size_t g) { coefficients()[g] = merge(statistics() + g * op.chunks); });
        each_part([&](auto group, const Place& base, auto begin, auto end, PieceTable& pieces, Workspace& work) {
          std::optional<reference::ExactStatistics> found;
          normalize_chunks(group, base, begin, end, pieces, found, work);
        });
      }
    }
  };

  Schedule<T> schedule_;
};

}  // namespace fast::normalization
DMLREF_END
