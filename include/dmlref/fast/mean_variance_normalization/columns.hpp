// columns.hpp: groups that lie side by side in memory (NHWC): vectors run across up to 64 of them, in the order of
// summation of the reference (docs/normalization.md).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/fast/mean_variance_normalization/activation/kernels.hpp"
#include "dmlref/fast/mean_variance_normalization/columns/kernels.hpp"
#include "dmlref/fast/mean_variance_normalization/elements.hpp"
#include "dmlref/fast/mean_variance_normalization/geometry.hpp"
#include "dmlref/fast/mean_variance_normalization/kernels.hpp"
#include "dmlref/reference/mean_variance_normalization.hpp"

DMLREF_BEGIN
namespace fast::normalization {

/// A normalization of T (float or half) along columns: `geometry.columns` holds.
template <class T>
class ColumnNormalization {
  static constexpr bool is_half = std::is_same_v<T, half>;
  using Real = std::conditional_t<is_half, float, double>;
  using Lines = std::conditional_t<is_half, ColumnLines16, ColumnLines32>;
  /// The lines of up to 64 columns, and the largest doubt among them (NaN where one has that).
  struct Strip {
    Lines line;
    Real doubt;
  };
  using reference_chunk = reference::ChunkStatistics;

 public:
  ColumnNormalization(const Geometry& geometry, const reference::NormalizationParameters& parameters,
                      const ActivationKernels& activation_kernels, const ColumnKernels& column_kernels,
                      bool has_fma) noexcept
      : geometry_(geometry),
        parameters_(parameters),
        activation_kernels_(&activation_kernels),
        column_kernels_(&column_kernels),
        has_fma_(has_fma),
        line_(reference::LinearPart::of(parameters.activation)),
        finish_(finish_of(parameters.activation.type)),
        count_(static_cast<std::uint64_t>(geometry.reduced.count())),
        groups_(static_cast<std::uint64_t>(geometry.kept.count())),
        chunks_((count_ + normalization_chunk - 1) / normalization_chunk),
        width_(static_cast<std::uint64_t>(geometry.kept.at[geometry.kept.rank - 1].extent)),
        strips_((width_ + column_width - 1) / column_width) {}

  /// Bytes that `execute` wants, aligned to 64: the statistics of chunks, and what the columns share.
  std::uint64_t temporary_bytes() const noexcept {
    return round_up(groups_ * chunks_ * sizeof(reference_chunk)) + round_up(groups_ * sizeof(GroupCoefficients)) +
           groups_ / width_ * strips_ * round_up(sizeof(Strip));
  }

  /// `parallel(count, body)` calls body(i) for each i below count, on up to `concurrency` threads.
  template <class Parallel>
  void execute(const Buffers& buffers, std::size_t concurrency, const Parallel& parallel) const noexcept {
    Run{*this, buffers, {geometry_, parameters_, buffers}}.all_columns(concurrency, parallel);
  }

 private:
  /// Memory of one task.
  struct Workspace {
    alignas(64) Real values[normalization_chunk];
    std::uint16_t doubtful[normalization_chunk];
  };

  /// One execute.
  struct Run {
    const ColumnNormalization& op;
    const Buffers& buffers;
    Elements<T> elements;

    reference::ScaleAndBias folded(float scale, float bias) const noexcept {
      return reference::ScaleAndBias::of(op.line_, scale, bias);
    }
    std::size_t chunk_size(std::uint64_t chunk) const noexcept {
      return static_cast<std::size_t>(
          std::min<std::uint64_t>(op.count_ - chunk * normalization_chunk, normalization_chunk));
    }

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

      void fill(const Dimensions& reduced, std::uint64_t first, std::size_t count) noexcept {
        Walk walk(reduced, Place{}, static_cast<Index>(first));
        for (std::size_t i = 0; i < count; ++i) {
          input[i] = walk.place().input * static_cast<Index>(sizeof(T));
          output[i] = walk.place().output * static_cast<Index>(sizeof(T));
          walk.advance(1);
        }
      }
    };

    /// Where the columns of `outer` (the kept dimensions but the last) begin.
    Place outer_place(std::uint64_t outer) const noexcept {
      return op.geometry_.kept.place(static_cast<Index>(outer * op.width_));
    }
    std::size_t strip_width(std::uint64_t strip) const noexcept {
      return static_cast<std::size_t>(std::min<std::uint64_t>(op.width_ - strip * column_width, column_width));
    }
    /// Where column `column` of an outer place begins.
    Place column_place(const Place& outer, std::uint64_t column) const noexcept {
      Place at = outer;
      return at.add(op.geometry_.kept.at[op.geometry_.kept.rank - 1].step, static_cast<Index>(column));
    }

    void sum_columns(std::uint64_t outer, std::uint64_t chunk, Offsets& offsets) const noexcept {
      const ColumnKernels& k = *op.column_kernels_;
      const auto sums_of = is_half ? k.column_sums16 : k.column_sums32;
      const std::size_t size = chunk_size(chunk);
      const Place base = outer_place(outer);
      offsets.fill(op.geometry_.reduced, chunk * normalization_chunk, size);
      const bool more = chunk + 1 < op.chunks_ && size == normalization_chunk;
      for (std::uint64_t strip = 0; strip < op.strips_; ++strip) {
        const std::size_t width = strip_width(strip);
        const Columns columns{
            buffers.input + (base.input + static_cast<Index>(strip * column_width)) * static_cast<Index>(sizeof(T)),
            offsets.input, size, width,
            more && op.geometry_.reduced.rank == 1 ? offsets.input[1] * static_cast<Index>(normalization_chunk) : 0};
        double sum[column_width];
        double square[column_width];
        sums_of(columns, nullptr, sum, square);
        double pivot[column_width];
        double pivot_sum[column_width];
        double pivot_square[column_width];
        bool shifted = false;
        for (std::size_t c = 0; c < width; ++c) {
          const bool needs = reference::needs_pivot(size, {sum[c], square[c]});
          pivot[c] = needs ? reference::chunk_pivot(size, {sum[c], square[c]}) : 0.0;
          shifted = shifted || needs;
        }
        if (shifted) sums_of(columns, pivot, pivot_sum, pivot_square);
        for (std::size_t c = 0; c < width; ++c) {
          const std::uint64_t group = outer * op.width_ + strip * column_width + c;
          statistics()[group * op.chunks_ + chunk] =
              pivot[c] == 0.0 ? reference::chunk_from_sums(size, 0.0, {sum[c], square[c]})
                              : reference::chunk_from_sums(size, pivot[c], {pivot_sum[c], pivot_square[c]});
        }
      }
    }

    void merge_columns(std::uint64_t outer, std::uint64_t strip) const noexcept {
      const Place base = outer_place(outer);
      Strip& to = strip_at(outer, strip);
      to.doubt = 0;
      for (std::size_t c = 0; c < strip_width(strip); ++c) {
        const std::uint64_t column = strip * column_width + c;
        const std::uint64_t group = outer * op.width_ + column;
        coefficients()[group] = merge(statistics() + group * op.chunks_);
        const Place at = column_place(base, column);
        const auto sb = folded(elements.scale_at(at.scale), elements.bias_at(at.bias));
        const auto element = reference::ElementCoefficients<Real>::of(coefficients()[group], sb.scale, sb.bias);
        to.line.shift[c] = element.shift;
        to.line.slope[c] = element.slope;
        to.line.offset[c] = element.offset;
        if constexpr (is_half) to.line.doubt[c] = element.doubt;
        if (!(element.doubt <= to.doubt) && to.doubt == to.doubt) to.doubt = element.doubt;
      }
    }

    /// Corrects the listed elements (row * width + column) of a block, column by column. `list` null: all.
    void correct_columns(std::uint64_t outer, std::uint64_t strip, std::uint64_t first, std::size_t rows,
                         const std::uint16_t* list, std::size_t listed) const noexcept {
      const std::size_t width = strip_width(strip);
      const Place base = outer_place(outer);
      for (std::size_t c = 0; c < width; ++c) {
        const std::uint64_t column = strip * column_width + c;
        const GroupCoefficients& group = coefficients()[outer * op.width_ + column];
        const Place at = column_place(base, column);
        std::optional<reference::ExactStatistics> found;
        if (list == nullptr) {
          elements.correct(at, first, rows, nullptr, group, found);
          continue;
        }
        for (std::size_t i = 0; i < listed; ++i) {
          if (list[i] % width != c) continue;
          elements.correct(at, first + list[i] / width, 1, nullptr, group, found);
        }
      }
    }

    void normalize_columns(std::uint64_t outer, std::uint64_t chunk, Offsets& offsets, Workspace& work) const noexcept {
      const ColumnKernels& k = *op.column_kernels_;
      const auto finish = static_cast<std::size_t>(op.finish_);
      const bool has_values = op.finish_ == Finish::values;
      const Place base = outer_place(outer);
      const std::size_t size = chunk_size(chunk);
      const std::uint64_t first = chunk * normalization_chunk;
      const Real alpha = op.parameters_.activation.parameters[0];
      offsets.fill(op.geometry_.reduced, first, size);
      const std::size_t block = normalization_chunk / column_width;  // values and doubtful elements fit the workspace
      for (std::size_t row = 0; row < size; row += block) {
        const std::size_t rows = std::min(block, size - row);
        for (std::uint64_t s = 0; s < op.strips_; ++s) {
          const std::size_t width = strip_width(s);
          const Strip& strip = strip_at(outer, s);
          const auto shift = static_cast<Index>(s * column_width);
          const Columns columns{buffers.input + (base.input + shift) * static_cast<Index>(sizeof(T)),
                                offsets.input + row, rows, width, 0};
          std::byte* const output = buffers.output + (base.output + shift) * static_cast<Index>(sizeof(T));
          for (std::size_t i = row + block; i < std::min(row + 2 * block, size); ++i) {
            prefetch<0>(columns.from + offsets.input[i], width * sizeof(T));
            prefetch<1>(output + offsets.output[i], width * sizeof(T));
          }
          std::byte* const stored = has_values ? reinterpret_cast<std::byte*>(work.values) : output;
          bool all = false;
          std::size_t doubtful = 0;
          if constexpr (is_half) {
            doubtful = k.columns16[finish](columns, strip.line, stored, offsets.output + row, alpha, work.doubtful);
            all = strip.doubt != strip.doubt;
          } else {
            const float least = k.columns32[finish](columns, strip.line, stored, offsets.output + row, alpha);
            all = is_low(least, strip.doubt);
          }
          if (has_values) {
            const Activation& activation = op.parameters_.activation;
            const ActivationKernels& kernels = *op.activation_kernels_;
            if (jumps(activation.type) && !all) {
              doubtful = list_near(kernels, activation, work.values, rows * width, strip.doubt, work.doubtful);
            }
            for (std::size_t i = 0; i < rows; ++i) {
              activate<T>(kernels, activation, work.values + i * width, output + offsets.output[row + i], width);
            }
          }
          if (all || doubtful > 0)
            correct_columns(outer, s, first + row, rows, all ? nullptr : work.doubtful, doubtful);
        }
      }
    }

    template <class Parallel>
    void all_columns(std::size_t concurrency, const Parallel& parallel) const noexcept {
      const std::uint64_t outers = op.groups_ / op.width_;
      if (concurrency == 1 || outers >= concurrency * 4) {
        parallel(outers, [&](std::size_t outer) {
          Workspace work;
          Offsets offsets;
          run_task(op.has_fma_, [&] {
            for (std::uint64_t c = 0; c < op.chunks_; ++c) sum_columns(outer, c, offsets);
            for (std::uint64_t s = 0; s < op.strips_; ++s) merge_columns(outer, s);
            for (std::uint64_t c = 0; c < op.chunks_; ++c) normalize_columns(outer, c, offsets, work);
          });
        });
        return;
      }
      parallel(outers * op.chunks_, [&](std::size_t t) {
        Offsets offsets;
        run_task(op.has_fma_, [&] { sum_columns(t / op.chunks_, t % op.chunks_, offsets); });
      });
      parallel(outers * op.strips_, [&](std::size_t t) { merge_columns(t / op.strips_, t % op.strips_); });
      parallel(outers * op.chunks_, [&](std::size_t t) {
        Workspace work;
        Offsets offsets;
        run_task(op.has_fma_, [&] { normalize_columns(t / op.chunks_, t % op.chunks_, offsets, work); });
      });
    }
  };

  Geometry geometry_;
  reference::NormalizationParameters parameters_;
  const ActivationKernels* activation_kernels_;
  const ColumnKernels* column_kernels_;
  bool has_fma_;
  reference::LinearPart line_;
  Finish finish_;
  std::uint64_t count_;
  std::uint64_t groups_;
  std::uint64_t chunks_;
  std::uint64_t width_;
  std::uint64_t strips_;
};

}  // namespace fast::normalization
DMLREF_END
