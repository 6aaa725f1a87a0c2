// columns.hpp: groups that lie side by side in memory (NHWC): vectors run across up to 64 of them, in the order of
// summation of the reference (docs/kernels/normalization.md).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/fast/mean_variance_normalization/activation/kernels.hpp"
#include "dmlref/fast/mean_variance_normalization/columns/kernels.hpp"
#include "dmlref/fast/mean_variance_normalization/elements.hpp"
#include "dmlref/fast/mean_variance_normalization/geometry.hpp"
#include "dmlref/fast/mean_variance_normalization/kernels.hpp"
#include "dmlref/fast/mean_variance_normalization/pieces.hpp"
#include "dmlref/fast/mean_variance_normalization/select.hpp"
#include "dmlref/isa/cache.hpp"
#include "dmlref/reference/mean_variance_normalization.hpp"

DMLREF_BEGIN
namespace fast::normalization {

/// A normalization of T (float or half) along columns: `geometry.columns` holds.
template <class T>
class ColumnGroups {
  static constexpr bool is_half = std::is_same_v<T, half>;
  using Real = std::conditional_t<is_half, float, double>;
  using Lines = std::conditional_t<is_half, ColumnLines16, ColumnLines32>;
  /// The lines of up to 64 columns, and the largest error bound among them (NaN where one has that). What is beyond the
  /// last column is 0.
  struct Strip {
    Lines line;
    Real error_bound;
  };
  using reference_chunk = reference::ChunkStatistics;

 public:
  ColumnGroups(const Geometry& geometry, const reference::NormalizationParameters& parameters,
               const TargetKernels& kernels) noexcept
      : geometry_(geometry),
        parameters_(parameters),
        kernels_(kernels),
        line_(reference::LinearPart::of(parameters.activation)),
        finish_(finish_of(parameters.activation.type)),
        count_(static_cast<std::uint64_t>(geometry.reduced.count())),
        groups_(static_cast<std::uint64_t>(geometry.kept.count())),
        chunks_(chunk_count(count_)),
        width_(static_cast<std::uint64_t>(geometry.kept.at[geometry.kept.rank - 1].extent)),
        strips_((width_ + column_width - 1) / column_width) {
    // Streamed strips are whole cache lines: a part of a line that is stored alone costs more than it saves.
    bool lines = !is_half && width_ % (64 / sizeof(T)) == 0;
    for (const Dimensions* dimensions : {&geometry_.kept, &geometry_.reduced}) {
      for (std::size_t d = 0; d < dimensions->rank; ++d) {
        const bool columns = dimensions == &geometry_.kept && d + 1 == dimensions->rank;
        lines = lines && (columns || dimensions->at[d].step.output * static_cast<Index>(sizeof(T)) % 64 == 0);
      }
    }
    streams_ = lines && 2 * count_ * groups_ * sizeof(T) > own_cache_bytes() / 2;
  }

  static constexpr std::string_view name() noexcept { return "columns"; }
  /// Bytes that `execute` requires, aligned to 64: the statistics of chunks, and what the columns share.
  std::uint64_t temporary_bytes() const noexcept {
    return round_up(groups_ * chunks_ * sizeof(reference_chunk)) + round_up(groups_ * sizeof(GroupCoefficients)) +
           groups_ / width_ * strips_ * round_up(sizeof(Strip));
  }

  /// `parallel(count, body)` calls body(i) for each i below count, on up to `concurrency` threads.
  template <class Parallel>
  void execute(const Buffers& buffers, std::size_t concurrency, const Parallel& parallel) const {
    Run{*this, buffers, {geometry_, parameters_, buffers}}.all_columns(concurrency, parallel);
  }

 private:
  /// Elements of a block, in 16 rows or more: few enough that reading, writing and prefetching share L1d.
  static constexpr std::size_t block_elements = 1024;
  static constexpr std::size_t large_block_elements = 4096;  // where nothing is kept in the workspace

  /// Memory of one task.
  struct Workspace {
    alignas(64) Real values[block_elements];
    std::uint16_t ill_conditioned[block_elements];
  };

  /// One execute.
  struct Run {
    const ColumnGroups& op;
    const Buffers& buffers;
    Elements<T> elements;

    reference::ScaleAndBias folded(float scale, float bias) const noexcept {
      return reference::ScaleAndBias::of(op.line_, scale, bias);
    }
    std::size_t chunk_size(std::uint64_t chunk) const noexcept { return normalization::chunk_size(op.count_, chunk); }

    reference_chunk* statistics() const noexcept { return reinterpret_cast<reference_chunk*>(buffers.temporary); }
    GroupCoefficients* coefficients() const noexcept {
      return reinterpret_cast<GroupCoefficients*>(buffers.temporary +
                                                  round_up(op.groups_ * op.chunks_ * sizeof(reference_chunk)));
    }
    Strip& strip_at(std::uint64_t outer, std::uint64_t strip) const noexcept {
      std::byte* const first =
          reinterpret_cast<std::byte*>(coefficients()) + round_up(op.groups_ * sizeof(GroupCoefficients));
      return *reinterpret_cast<Strip*>(first + (outer * op.strips_ + strip) * round_up(sizeof(Strip)));
    }
    GroupCoefficients merge(const reference_chunk* chunks) const noexcept {
      const auto group = reference::merge_chunks(op.count_, [chunks](std::uint64_t c) { return chunks[c]; });
      return GroupCoefficients::of(group, op.count_, op.parameters_);
    }

    struct Offsets {
      std::int64_t input[normalization_chunk];
      std::int64_t output[normalization_chunk];

      DMLREF_NOINLINE void fill(const Dimensions& reduced, std::uint64_t first, std::size_t count) noexcept {
        Walk walk(reduced, Place{}, static_cast<Index>(first));
        for (std::size_t i = 0; i < count;) {
          const auto n = std::min(count - i, static_cast<std::size_t>(walk.stretch()));
          const Place start = walk.place();
          const Place step = walk.step();
          constexpr auto bytes = static_cast<Index>(sizeof(T));
          Index in = start.input * bytes;
          Index out = start.output * bytes;
          for (std::size_t k = 0; k < n; ++k, in += step.input * bytes, out += step.output * bytes) {
            input[i + k] = in;
            output[i + k] = out;
          }
          i += n;
          walk.advance(static_cast<Index>(n));
        }
      }
    };

    /// Where the columns of `outer` (the kept dimensions but the last) begin.
    Place outer_place(std::uint64_t outer) const noexcept {
      return op.geometry_.kept.place(static_cast<Index>(outer * op.width_));
    }
    std::size_t width_of(std::uint64_t strip) const noexcept {
      return static_cast<std::size_t>(std::min<std::uint64_t>(op.width_ - strip * column_width, column_width));
    }
    /// Where column `column` of an outer place begins.
    Place column_place(const Place& outer, std::uint64_t column) const noexcept {
      Place at = outer;
      return at.add(op.geometry_.kept.at[op.geometry_.kept.rank - 1].step, static_cast<Index>(column));
    }

    /// Σ and Σ² of columns from `first` on over a chunk, whose rows lie at `offsets`. `next`: from here to what is read
    /// after the chunk.
    void sum_strip(const std::byte* first, std::size_t width, const Offsets& offsets, std::size_t size,
                   std::int64_t next, const double* pivot, double* sum, double* square) const noexcept {
      const ColumnKernels& k = *op.kernels_.columns;
      ColumnLanes lanes;
      std::memset(&lanes, 0, (width + strip_width - 1) / strip_width * sizeof(StripLanes));
      const std::size_t rows = summed_rows(width);
      for (std::size_t i = 0; i < size; i += rows) {
        const std::int64_t ahead =
            i + rows < size ? offsets.input[i + rows] - offsets.input[i] : next - offsets.input[i] + offsets.input[0];
        (is_half ? k.add16 : k.add32)({first, offsets.input + i, std::min(rows, size - i), width, ahead}, pivot, lanes);
      }
      k.join(lanes, width, sum, square);
    }

    DMLREF_NOINLINE void sum_columns(std::uint64_t outer, std::uint64_t chunk, Offsets& offsets) const noexcept {
      with_fma(op.kernels_.has_fma, [&] { sum_columns_of(outer, chunk, offsets); });
    }
    void sum_columns_of(std::uint64_t outer, std::uint64_t chunk, Offsets& offsets) const noexcept {
      const std::size_t size = chunk_size(chunk);
      const Place base = outer_place(outer);
      offsets.fill(op.geometry_.reduced, chunk * normalization_chunk, size);
      for (std::uint64_t strip = 0; strip < op.strips_; ++strip) {
        const std::size_t width = width_of(strip);
        const std::byte* const first =
            buffers.input + (base.input + static_cast<Index>(strip * column_width)) * static_cast<Index>(sizeof(T));
        const std::int64_t next = static_cast<std::int64_t>(column_width * sizeof(T));
        alignas(32) double sum[column_width];
        alignas(32) double square[column_width];
        sum_strip(first, width, offsets, size, strip + 1 < op.strips_ ? next : 0, nullptr, sum, square);
        alignas(32) double pivot[column_width]{};
        bool shifted = false;
        for (std::size_t c = 0; c < width; ++c) {
          if (!reference::needs_pivot(size, {sum[c], square[c]})) continue;
          pivot[c] = reference::chunk_pivot(size, {sum[c], square[c]});
          shifted = true;
        }
        if (shifted) {
          alignas(32) double pivot_sum[column_width];
          alignas(32) double pivot_square[column_width];
          sum_strip(first, width, offsets, size, 0, pivot, pivot_sum, pivot_square);
          for (std::size_t c = 0; c < width; ++c) {
            if (pivot[c] == 0.0) continue;
            sum[c] = pivot_sum[c];
            square[c] = pivot_square[c];
          }
        }
        for (std::size_t c = 0; c < width; ++c) {
          const std::uint64_t group = outer * op.width_ + strip * column_width + c;
          statistics()[group * op.chunks_ + chunk] = reference::chunk_from_sums(size, pivot[c], {sum[c], square[c]});
        }
      }
    }

    DMLREF_NOINLINE void merge_columns(std::uint64_t outer, std::uint64_t strip) const noexcept {
      with_fma(op.kernels_.has_fma, [&] { merge_columns_of(outer, strip); });
    }
    void merge_columns_of(std::uint64_t outer, std::uint64_t strip) const noexcept {
      const Place base = outer_place(outer);
      Strip& to = strip_at(outer, strip);
      to = Strip{};
      for (std::size_t c = 0; c < width_of(strip); ++c) {
        const std::uint64_t column = strip * column_width + c;
        const std::uint64_t group = outer * op.width_ + column;
        coefficients()[group] = merge(statistics() + group * op.chunks_);
        const Place at = column_place(base, column);
        const auto sb = folded(elements.scale_at(at.scale), elements.bias_at(at.bias));
        const auto element = reference::ElementCoefficients<Real>::of(coefficients()[group], sb.scale, sb.bias);
        to.line.shift[c] = element.shift;
        to.line.slope[c] = element.slope;
        to.line.offset[c] = element.offset;
        if constexpr (is_half) {
          to.line.error_bound[c] = element.error_bound;
        } else {
          to.line.low[c] = low_of(element.error_bound);
        }
        if (!(element.error_bound <= to.error_bound) && to.error_bound == to.error_bound)
          to.error_bound = element.error_bound;
      }
    }

    /// Corrects rows from number `first` on of a column.
    void correct_column(std::uint64_t outer, std::uint64_t strip, std::size_t c, std::uint64_t first,
                        std::size_t rows) const noexcept {
      const std::uint64_t column = strip * column_width + c;
      std::optional<reference::ExactStatistics> found;
      elements.correct(column_place(outer_place(outer), column), first, rows, nullptr,
                       coefficients()[outer * op.width_ + column], found);
    }
    /// Corrects the listed elements (row * width + column) of a block, column by column.
    void correct_listed(std::uint64_t outer, std::uint64_t strip, std::uint64_t first, const std::uint16_t* list,
                        std::size_t listed) const noexcept {
      const std::size_t width = width_of(strip);
      const Place base = outer_place(outer);
      for (std::size_t c = 0; c < width; ++c) {
        const std::uint64_t column = strip * column_width + c;
        std::optional<reference::ExactStatistics> found;
        for (std::size_t i = 0; i < listed; ++i) {
          if (list[i] % width != c) continue;
          elements.correct(column_place(base, column), first + list[i] / width, 1, nullptr,
                           coefficients()[outer * op.width_ + column], found);
        }
      }
    }

    DMLREF_NOINLINE void normalize_columns(std::uint64_t outer, std::uint64_t chunk, Offsets& offsets,
                                           Workspace& work) const noexcept {
      const std::size_t size = chunk_size(chunk);
      offsets.fill(op.geometry_.reduced, chunk * normalization_chunk, size);
      const std::size_t widest = std::min<std::size_t>(op.width_, column_width);
      const bool large = !is_half && op.finish_ != Finish::values && op.kernels_.columns->large_blocks;
      const std::size_t block = (large ? large_block_elements : block_elements) / ((widest + 15) / 16 * 16);
      const std::size_t later = large ? block / 2 : block;
      for (std::size_t row = 0; row < size; row += block) {
        for (std::uint64_t s = 0; s < op.strips_; ++s) {
          const std::int64_t ahead = row + later < size ? offsets.input[row + later] - offsets.input[row] : 0;
          normalize_block(outer, s, chunk * normalization_chunk, row, std::min(block, size - row), ahead, offsets,
                          work);
        }
      }
    }

    /// Rows from `row` on of a strip.
    void normalize_block(std::uint64_t outer, std::uint64_t s, std::uint64_t first, std::size_t row, std::size_t rows,
                         std::int64_t ahead, const Offsets& offsets, Workspace& work) const noexcept {
      const ColumnKernels& k = *op.kernels_.columns;
      const auto finish = static_cast<std::size_t>(op.finish_);
      const bool has_values = op.finish_ == Finish::values;
      const Place base = outer_place(outer);
      const float upper = upper_bound_of(op.parameters_.activation.type);
      const std::size_t width = width_of(s);
      const Strip& strip = strip_at(outer, s);
      const auto shift = static_cast<Index>(s * column_width);
      const Columns columns{buffers.input + (base.input + shift) * static_cast<Index>(sizeof(T)),
                            offsets.input + row,
                            rows,
                            width,
                            ahead,
                            op.streams_ && reinterpret_cast<std::uintptr_t>(buffers.output) % 64 == 0};
      std::byte* const output = buffers.output + (base.output + shift) * static_cast<Index>(sizeof(T));
      std::byte* const stored = has_values ? reinterpret_cast<std::byte*>(work.values) : output;
      std::size_t ill_conditioned = 0;
      alignas(32) float least[column_width];
      if constexpr (is_half) {
        ill_conditioned =
            k.columns16[finish](columns, strip.line, stored, offsets.output + row, upper, work.ill_conditioned);
      } else {
        k.columns32[finish](columns, strip.line, stored, offsets.output + row, upper, least);
      }
      if (has_values) {
        const Activation& activation = op.parameters_.activation;
        const ActivationKernels& kernels = *op.kernels_.activation;
        if (jumps(activation.type)) {
          ill_conditioned =
              list_near(kernels, activation, work.values, rows * width, strip.error_bound, work.ill_conditioned);
        }
        for (std::size_t i = 0; i < rows; ++i) {
          activate<T>(kernels, activation, work.values + i * width, output + offsets.output[row + i], width);
        }
      }
      if constexpr (!is_half) {
        int low = 0;  // (counted, without a branch: vectors of compilers)
        for (std::size_t c = 0; c < width; ++c) low += !(least[c] > strip.line.low[c]) ? 1 : 0;
        for (std::size_t c = 0; low > 0 && c < width; ++c) {
          if (!(least[c] > strip.line.low[c])) correct_column(outer, s, c, first + row, rows);
        }
      }
      if (ill_conditioned > 0) correct_listed(outer, s, first + row, work.ill_conditioned, ill_conditioned);
    }

    template <class Parallel>
    void all_columns(std::size_t concurrency, const Parallel& parallel) const {
      const std::uint64_t outers = op.groups_ / op.width_;
      if (concurrency == 1 || outers >= concurrency * 4) {
        parallel(outers, [&](std::size_t outer) {
          Workspace work;
          Offsets offsets;
          for (std::uint64_t c = 0; c < op.chunks_; ++c) sum_columns(outer, c, offsets);
          for (std::uint64_t s = 0; s < op.strips_; ++s) merge_columns(outer, s);
          // (Backwards: what was summed last is still in the caches.)
          for (std::uint64_t c = op.chunks_; c-- > 0;) normalize_columns(outer, c, offsets, work);
          end_task(op.streams_);
        });
        return;
      }
      parallel(outers * op.chunks_, [&](std::size_t t) {
        Offsets offsets;
        sum_columns(t / op.chunks_, t % op.chunks_, offsets);
      });
      parallel(outers * op.strips_, [&](std::size_t t) { merge_columns(t / op.strips_, t % op.strips_); });
      parallel(outers * op.chunks_, [&](std::size_t t) {
        Workspace work;
        Offsets offsets;
        normalize_columns(t / op.chunks_, t % op.chunks_, offsets, work);
        end_task(op.streams_);
      });
    }
  };

  Geometry geometry_;
  reference::NormalizationParameters parameters_;
  TargetKernels kernels_;
  reference::LinearPart line_;
  Finish finish_;
  std::uint64_t count_;
  std::uint64_t groups_;
  std::uint64_t chunks_;
  std::uint64_t width_;
  std::uint64_t strips_;
  bool streams_ = false;  // the output is not worth a place in the caches
};

}  // namespace fast::normalization
DMLREF_END
