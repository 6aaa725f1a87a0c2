// columns.hpp: groups that lie side by side in memory (NHWC): vectors run across up to 64 of them, in the order of
// summation of the reference (docs/kernels/normalization.md).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/fast/mean_variance_normalization/activation/kernels.hpp"
#include "dmlref/fast/mean_variance_normalization/columns/kernels.hpp"
#include "dmlref/fast/mean_variance_normalization/elements.hpp"
#include "dmlref/fast/mean_variance_normalization/geometry.hpp"
#include "dmlref/fast/mean_variance_normalization/ill_conditioned/correction.hpp"
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
    Real error_bounds[column_width];
  };
  using reference_chunk = reference::ChunkStatistics;

  /// Exact means or variances of neighbouring columns, which are computed together: a row's part of a cache line.
  static constexpr std::size_t exact_width = 16;
  struct DoubleDoubles {
    double high[exact_width];
    double low[exact_width];
  };
  struct ExactColumns {
    Published<DoubleDoubles> mean, variance;
  };
  /// Columns of one chunk are summed, merged and normalized in bands of so many strips, whose statistics stay in the
  /// task's memory.
  static constexpr std::uint64_t band_strips = 2;
  /// Strips [first, last) of an outer place, and what is known of their columns.
  struct Band {
    std::uint64_t first, last;
    reference_chunk* statistics;
    GroupCoefficients* coefficients;
    ExactColumns* exact;
    Strip* strips;

    Strip& strip(std::uint64_t s) const noexcept { return strips[s - first]; }
    std::size_t number(std::uint64_t s, std::size_t c) const noexcept {
      return static_cast<std::size_t>(s - first) * column_width + c;
    }
  };
  /// Bytes of a band, and where its parts begin.
  static constexpr std::uint64_t band_bytes(std::uint64_t strips, std::uint64_t chunks) noexcept {
    return round_up(strips * column_width * chunks * sizeof(reference_chunk)) +
           round_up(strips * column_width * sizeof(GroupCoefficients)) +
           round_up(strips * (column_width / exact_width) * sizeof(ExactColumns)) + round_up(strips * sizeof(Strip));
  }
  static Band band_in(std::byte* memory, std::uint64_t first, std::uint64_t last, std::uint64_t chunks) noexcept {
    const std::uint64_t strips = last - first;
    std::byte* const coefficients = memory + round_up(strips * column_width * chunks * sizeof(reference_chunk));
    std::byte* const exact = coefficients + round_up(strips * column_width * sizeof(GroupCoefficients));
    std::byte* const lines = exact + round_up(strips * (column_width / exact_width) * sizeof(ExactColumns));
    return {first,
            last,
            reinterpret_cast<reference_chunk*>(memory),
            reinterpret_cast<GroupCoefficients*>(coefficients),
            reinterpret_cast<ExactColumns*>(exact),
            reinterpret_cast<Strip*>(lines)};
  }

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
  /// Bytes that `execute` requires, aligned to 64: what is known of columns of several chunks.
  std::uint64_t temporary_bytes() const noexcept {
    return chunks_ == 1 ? 0 : groups_ / width_ * band_bytes(strips_, chunks_);
  }

  /// `parallel(count, body)` calls body(i) for each i below count, on up to `concurrency` threads.
  template <class Parallel>
  void execute(const Buffers& buffers, std::size_t concurrency, const Parallel& parallel) const {
    Run{*this, buffers, {buffers}}.all_columns(concurrency, parallel);
  }

 private:
  /// Elements of a block, in 16 rows or more: few enough that reading, writing and prefetching share L1d.
  static constexpr std::size_t block_elements = 1024;
  static constexpr std::size_t large_block_elements = 4096;  // where nothing is kept in the workspace
  static constexpr std::uint64_t strips_at_once = 16;
  /// Rows of a column that are corrected, or summed exactly, at once: a multiple of the lanes of a sum, no less than
  /// the rows of a block whose elements are listed, and few, since threads may have small stacks.
  static constexpr std::size_t correction_rows = 256;
  static_assert(correction_rows % normalization_lanes == 0 && correction_rows >= block_elements / strip_width);

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

    /// All strips of an outer place, of several chunks.
    Band band_of(std::uint64_t outer) const noexcept {
      return band_in(buffers.temporary + outer * band_bytes(op.strips_, op.chunks_), 0, op.strips_, op.chunks_);
    }

    struct Offsets {
      std::int64_t input[normalization_chunk];
      std::int64_t output[normalization_chunk];

      void fill(const Dimensions& reduced, std::uint64_t first, std::size_t count) noexcept {
        fill_offsets(reduced, first, count, input, output);
      }
    };
    static DMLREF_NOINLINE void fill_offsets(const Dimensions& reduced, std::uint64_t first, std::size_t count,
                                             std::int64_t* input, std::int64_t* output) noexcept {
      Walk walk(reduced, Place{}, static_cast<Index>(first));
      for (std::size_t i = 0; i < count;) {
        const auto n = (std::min)(count - i, static_cast<std::size_t>(walk.stretch()));
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
        (is_half ? k.add16 : k.add32)({first, offsets.input + i, (std::min)(rows, size - i), width, ahead}, pivot,
                                      lanes);
      }
      k.join(lanes, width, sum, square);
    }

    DMLREF_NOINLINE void sum_columns(std::uint64_t outer, const Band& band, std::uint64_t chunk,
                                     Offsets& offsets) const noexcept {
      with_fma(op.kernels_.has_fma, [&] { sum_columns_of(outer, band, chunk, offsets); });
    }
    void sum_columns_of(std::uint64_t outer, const Band& band, std::uint64_t chunk, Offsets& offsets) const noexcept {
      const std::size_t size = chunk_size(chunk);
      const Place base = outer_place(outer);
      offsets.fill(op.geometry_.reduced, chunk * normalization_chunk, size);
      for (std::uint64_t strip = band.first; strip < band.last; ++strip) {
        const std::size_t width = width_of(strip);
        const std::byte* const first =
            buffers.input + (base.input + static_cast<Index>(strip * column_width)) * static_cast<Index>(sizeof(T));
        const std::int64_t next = static_cast<std::int64_t>(column_width * sizeof(T));
        alignas(32) double sum[column_width];
        alignas(32) double square[column_width];
        sum_strip(first, width, offsets, size, strip + 1 < band.last ? next : 0, nullptr, sum, square);
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
          band.statistics[band.number(strip, c) * op.chunks_ + chunk] =
              reference::chunk_from_sums(size, pivot[c], {sum[c], square[c]});
        }
      }
    }

    DMLREF_NOINLINE void merge_columns(std::uint64_t outer, const Band& band, std::uint64_t strip) const noexcept {
      with_fma(op.kernels_.has_fma, [&] { merge_columns_of(outer, band, strip); });
    }
    void merge_columns_of(std::uint64_t outer, const Band& band, std::uint64_t strip) const noexcept {
      const Place base = outer_place(outer);
      Strip& to = *::new (&band.strip(strip)) Strip{};
      for (std::size_t part = 0; part < column_width; part += exact_width) {
        ::new (band.exact + band.number(strip, part) / exact_width) ExactColumns;
      }
      for (std::size_t c = 0; c < width_of(strip); ++c) {
        const std::size_t column = band.number(strip, c);
        const reference_chunk* const chunks = band.statistics + column * op.chunks_;
        const auto merged = reference::merge_chunks(op.count_, [chunks](std::uint64_t k) { return chunks[k]; });
        const auto& group = *::new (band.coefficients + column)
                                GroupCoefficients(GroupCoefficients::of(merged, op.count_, op.parameters_));
        const Place at = column_place(base, strip * column_width + c);
        const auto sb = folded(elements.scale_at(at.scale), elements.bias_at(at.bias));
        const auto element = reference::ElementCoefficients<Real>::of(group, sb.scale, sb.bias);
        to.line.shift[c] = element.shift;
        to.line.slope[c] = element.slope;
        to.line.offset[c] = element.offset;
        to.error_bounds[c] = element.error_bound;
        if constexpr (is_half) {
          to.line.error_bound[c] = element.error_bound;
        } else {
          to.line.low[c] = low_of(element.error_bound);
        }
        if (!(element.error_bound <= to.error_bound) && to.error_bound == to.error_bound)
          to.error_bound = element.error_bound;
      }
    }

    /// Exact statistics of a column.
    class ColumnExact final : public ExactGroup {
     public:
      ColumnExact(const Run& run, std::uint64_t outer, const Band& band, std::uint64_t strip, std::size_t c) noexcept
          : run_(run),
            outer_(outer),
            strip_(strip),
            part_(c / exact_width * exact_width),
            column_(c % exact_width),
            known_(band.exact[band.number(strip, c) / exact_width]) {}
      DoubleDouble mean() noexcept override {
        const DoubleDoubles all = means();
        return {all.high[column_], all.low[column_]};
      }
      DoubleDouble variance() noexcept override {
        const DoubleDoubles all = known_.variance.get([&] {
          const DoubleDoubles of = means();
          return averages(&of);
        });
        return {all.high[column_], all.low[column_]};
      }

     private:
      DoubleDoubles means() noexcept {
        return known_.mean.get([&] { return averages(nullptr); });
      }
      DMLREF_NOINLINE DoubleDoubles averages(const DoubleDoubles* means_of) const noexcept {
        DoubleDoubles result{};
        const std::size_t columns = (std::min)(run_.width_of(strip_) - part_, exact_width);
        const Index first = run_.outer_place(outer_).input + static_cast<Index>(strip_ * column_width + part_);
        ExactLanes lanes[exact_width];
        std::int64_t input[correction_rows];
        std::int64_t output[correction_rows];
        float floats[correction_rows];
        for (std::uint64_t row = 0; row < run_.op.count_; row += correction_rows) {
          const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(run_.op.count_ - row, correction_rows));
          fill_offsets(run_.op.geometry_.reduced, row, size, input, output);
          for (std::size_t c = 0; c < columns; ++c) {
            run_.gather(first + static_cast<Index>(c), input, nullptr, size, floats);
            DoubleDouble mean;
            if (means_of != nullptr) mean = {means_of->high[c], means_of->low[c]};
            run_.op.kernels_.ill_conditioned->add_exact(reinterpret_cast<const std::byte*>(floats), size,
                                                        means_of != nullptr ? &mean : nullptr, lanes[c]);
          }
        }
        for (std::size_t c = 0; c < columns; ++c) {
          const DoubleDouble of = average_of(run_.op.kernels_.has_fma, lanes[c], run_.op.count_);
          result.high[c] = of.high;
          result.low[c] = of.low;
        }
        return result;
      }

      const Run& run_;
      std::uint64_t outer_;
      std::uint64_t strip_;
      std::size_t part_;    // the first column of those that are computed together,
      std::size_t column_;  // and the one among them
      ExactColumns& known_;
    };

    /// At most correction_rows elements of a column as floats: in rows at offset[i], or at offset[rows[i]].
    void gather(Index column, const std::int64_t* offset, const std::uint16_t* rows, std::size_t count,
                float* floats) const noexcept {
      const std::byte* const from = buffers.input + column * static_cast<Index>(sizeof(T));
      T space[is_half ? correction_rows : 1];
      std::byte* const to = is_half ? reinterpret_cast<std::byte*>(space) : reinterpret_cast<std::byte*>(floats);
      if (rows == nullptr) {
        for (std::size_t i = 0; i < count; ++i) std::memcpy(to + i * sizeof(T), from + offset[i], sizeof(T));
      } else {
        for (std::size_t i = 0; i < count; ++i) std::memcpy(to + i * sizeof(T), from + offset[rows[i]], sizeof(T));
      }
      if constexpr (is_half) op.kernels_.rows->widen(to, floats, count);
    }

    /// Rows of a block of a strip.
    struct Block {
      std::uint64_t outer;
      const Band& band;
      std::uint64_t strip;
      std::size_t rows;
      const std::int64_t* input;  // offsets
      const std::int64_t* output;
    };

    /// Corrects elements of a column, of at most correction_rows rows: those of `rows`, or (null) those of all rows
    /// that are ill-conditioned.
    DMLREF_NOINLINE void correct_column(const Block& block, std::size_t c, const std::uint16_t* rows,
                                        std::size_t count) const noexcept {
      const Strip& strip = block.band.strip(block.strip);
      const GroupCoefficients& group = block.band.coefficients[block.band.number(block.strip, c)];
      const Place at = column_place(outer_place(block.outer), block.strip * column_width + c);
      const float scale = elements.scale_at(at.scale);
      const float bias = elements.bias_at(at.bias);
      ColumnExact exact(*this, block.outer, block.band, block.strip, c);
      std::byte* const to = buffers.output + at.output * static_cast<Index>(sizeof(T));
      if (rows != nullptr && count < least_batch) {
        const std::byte* const of = buffers.input + at.input * static_cast<Index>(sizeof(T));
        for (std::size_t k = 0; k < count; ++k) {
          const T element = ByteAccess<const T>{of + block.input[rows[k]]}.load(0);
          const T result = correct_one(element, group, scale, bias, op.parameters_, exact);
          ByteAccess<T>{to + block.output[rows[k]]}.store(0, result);
        }
        return;
      }
      float floats[correction_rows];
      gather(at.input, block.input, rows, count, floats);
      const auto* const from = reinterpret_cast<const std::byte*>(floats);
      const std::uint16_t* list = nullptr;
      [[maybe_unused]] std::uint16_t found[correction_rows];
      if constexpr (!is_half) {
        if (rows == nullptr && strip.line.slope[c] == strip.line.slope[c]) {
          count = list_low(strip, c, from, count, found);
          list = found;
        }
      }
      T results[correction_rows];
      const ElementParameters given{&scale, &bias, 0};
      correct_elements<T>({op.kernels_, op.parameters_, group, given, exact}, {from, list, count}, results);
      for (std::size_t k = 0; k < count; ++k) {
        const std::size_t i = list != nullptr ? list[k] : k;
        std::memcpy(to + block.output[rows != nullptr ? rows[i] : i], results + k, sizeof(T));
      }
    }
    /// Lists the ill-conditioned ones among elements of a column.
    DMLREF_NOINLINE std::size_t list_low(const Strip& strip, std::size_t c, const std::byte* floats, std::size_t count,
                                         std::uint16_t* list) const noexcept requires(!is_half) {
      double values[correction_rows];
      const Row32 row{floats,
                      nullptr,
                      reinterpret_cast<std::byte*>(values),
                      count,
                      {strip.line.shift[c], strip.line.slope[c], strip.line.offset[c]},
                      0,
                      false};
      op.kernels_.rows->row32[static_cast<std::size_t>(Finish::values)](row);
      return op.kernels_.ill_conditioned->list32(op.parameters_.activation, values, count, &strip.error_bounds[c], 0,
                                                 list);
    }
    /// Corrects the listed elements (row * width + column) of a block, column by column.
    DMLREF_NOINLINE void correct_listed(const Block& block, const std::uint16_t* list,
                                        std::size_t listed) const noexcept {
      const std::size_t width = width_of(block.strip);
      if (listed < least_batch) {
        for (std::size_t k = 0; k < listed; ++k) {
          const auto row = static_cast<std::uint16_t>(list[k] / width);
          correct_column(block, list[k] % width, &row, 1);
        }
        return;
      }
      std::uint16_t end[column_width]{};  // of each column's rows
      for (std::size_t k = 0; k < listed; ++k) ++end[list[k] % width];
      std::uint16_t sum = 0;
      for (std::size_t c = 0; c < width; ++c) {
        const std::uint16_t count = end[c];
        end[c] = sum;
        sum = static_cast<std::uint16_t>(sum + count);
      }
      std::uint16_t rows[block_elements];
      for (std::size_t k = 0; k < listed; ++k) {
        const std::size_t row = list[k] / width;
        rows[end[list[k] % width]++] = static_cast<std::uint16_t>(row);
      }
      for (std::size_t c = 0, first = 0; c < width; first = end[c], ++c) {
        if (end[c] > first) correct_column(block, c, rows + first, end[c] - first);
      }
    }
    /// Lists the values of a block that are ill-conditioned or near a jump of the activation.
    std::size_t list_near(const Strip& strip, std::size_t rows, std::size_t width, Workspace& work) const noexcept {
      const IllConditionedKernels& k = *op.kernels_.ill_conditioned;
      const auto list_of = [&](std::size_t first, std::size_t count, const Real* bounds, std::size_t step,
                               std::uint16_t* list) {
        if constexpr (is_half) {
          return k.list16(op.parameters_.activation, work.values + first, count, bounds, step, list);
        } else {
          return k.list32(op.parameters_.activation, work.values + first, count, bounds, step, list);
        }
      };
      // (The largest bound first: mostly there is nothing, and rows may be short.)
      if (list_of(0, rows * width, &strip.error_bound, 0, work.ill_conditioned) == 0) return 0;
      std::size_t listed = 0;
      for (std::size_t i = 0; i < rows; ++i) {
        std::uint16_t* const list = work.ill_conditioned + listed;
        listed += scalar::renumber(list, list_of(i * width, width, strip.error_bounds, 1, list), i * width);
      }
      return listed;
    }

    DMLREF_NOINLINE void normalize_columns(std::uint64_t outer, const Band& band, std::uint64_t chunk, Offsets& offsets,
                                           Workspace& work) const noexcept {
      const std::size_t size = chunk_size(chunk);
      offsets.fill(op.geometry_.reduced, chunk * normalization_chunk, size);
      const std::size_t widest = std::min<std::size_t>(op.width_, column_width);
      const bool large = !is_half && op.finish_ != Finish::values && op.kernels_.columns->large_blocks;
      const std::size_t block = (large ? large_block_elements : block_elements) / ((widest + 15) / 16 * 16);
      const std::size_t later = large ? block / 2 : block;
      for (std::uint64_t first = band.first; first < band.last; first += strips_at_once) {
        const std::uint64_t last = (std::min)(first + strips_at_once, band.last);
        std::uint64_t low[strips_at_once]{};  // columns, a bit each
        for (std::size_t row = 0; row < size; row += block) {
          const std::int64_t ahead = row + later < size ? offsets.input[row + later] - offsets.input[row] : 0;
          for (std::uint64_t s = first; s < last; ++s) {
            const Block part{outer, band, s, (std::min)(block, size - row), offsets.input + row, offsets.output + row};
            low[s - first] |= normalize_block(part, ahead, work);
          }
        }
        for (std::uint64_t s = first; s < last; ++s) {
          for (std::uint64_t columns = low[s - first]; columns != 0; columns &= columns - 1) {
            const auto c = static_cast<std::size_t>(__builtin_ctzll(columns));
            for (std::size_t row = 0; row < size; row += correction_rows) {
              const std::size_t rows = (std::min)(correction_rows, size - row);
              correct_column({outer, band, s, rows, offsets.input + row, offsets.output + row}, c, nullptr, rows);
            }
          }
        }
      }
    }

    /// Gives the columns of float32 that have an ill-conditioned result, a bit each; others are corrected.
    std::uint64_t normalize_block(const Block& block, std::int64_t ahead, Workspace& work) const noexcept {
      const ColumnKernels& k = *op.kernels_.columns;
      const auto finish = static_cast<std::size_t>(op.finish_);
      const bool has_values = op.finish_ == Finish::values;
      const Place base = outer_place(block.outer);
      const float upper = upper_bound_of(op.parameters_.activation.type);
      const std::size_t rows = block.rows;
      const std::size_t width = width_of(block.strip);
      const Strip& strip = block.band.strip(block.strip);
      const auto shift = static_cast<Index>(block.strip * column_width);
      const Columns columns{
          buffers.input + (base.input + shift) * static_cast<Index>(sizeof(T)),     block.input, rows, width, ahead,
          op.streams_ && reinterpret_cast<std::uintptr_t>(buffers.output) % 64 == 0};
      std::byte* const output = buffers.output + (base.output + shift) * static_cast<Index>(sizeof(T));
      std::byte* const stored = has_values ? reinterpret_cast<std::byte*>(work.values) : output;
      std::size_t ill_conditioned = 0;
      alignas(32) float least[column_width];
      if constexpr (is_half) {
        ill_conditioned = k.columns16[finish](columns, strip.line, stored, block.output, upper, work.ill_conditioned);
      } else {
        k.columns32[finish](columns, strip.line, stored, block.output, upper, least);
      }
      const bool has_jump = jumps(op.parameters_.activation.type);
      if (has_values) {
        const Activation& activation = op.parameters_.activation;
        const ActivationKernels& kernels = *op.kernels_.activation;
        if (has_jump) ill_conditioned = list_near(strip, rows, width, work);
        for (std::size_t i = 0; i < rows; ++i) {
          activate<T>(kernels, activation, work.values + i * width, output + block.output[i], width);
        }
      }
      if (ill_conditioned > 0) correct_listed(block, work.ill_conditioned, ill_conditioned);
      std::uint64_t columns_of_low = 0;
      if constexpr (!is_half) {
        int low = 0;  // (counted, without a branch: vectors of compilers)
        for (std::size_t c = 0; c < width; ++c) low += !(least[c] > strip.line.low[c]) ? 1 : 0;
        if (has_jump) low = 0;  // (These are listed.)
        for (std::size_t c = 0; low > 0 && c < width; ++c) {
          if (!(least[c] > strip.line.low[c])) columns_of_low |= std::uint64_t{1} << c;
        }
      }
      return columns_of_low;
    }

    template <class Parallel>
    void all_columns(std::size_t concurrency, const Parallel& parallel) const {
      const std::uint64_t outers = op.groups_ / op.width_;
      if (op.chunks_ == 1) {
        const std::uint64_t bands = (op.strips_ + band_strips - 1) / band_strips;
        parallel(outers * bands, [&](std::size_t t) {
          const std::uint64_t first = t % bands * band_strips;
          alignas(64) std::byte memory[band_bytes(band_strips, 1)];
          whole_band(t / bands, band_in(memory, first, (std::min)(first + band_strips, op.strips_), 1));
        });
        return;
      }
      if (concurrency == 1 || outers >= concurrency * 4) {
        parallel(outers, [&](std::size_t outer) { whole_band(outer, band_of(outer)); });
        return;
      }
      parallel(outers * op.chunks_, [&](std::size_t t) {
        Offsets offsets;
        sum_columns(t / op.chunks_, band_of(t / op.chunks_), t % op.chunks_, offsets);
      });
      parallel(outers * op.strips_,
               [&](std::size_t t) { merge_columns(t / op.strips_, band_of(t / op.strips_), t % op.strips_); });
      parallel(outers * op.chunks_, [&](std::size_t t) {
        Workspace work;
        Offsets offsets;
        normalize_columns(t / op.chunks_, band_of(t / op.chunks_), t % op.chunks_, offsets, work);
        end_task(op.streams_);
      });
    }
    /// All of a band by one task.
    DMLREF_NOINLINE void whole_band(std::uint64_t outer, const Band& band) const noexcept {
      Workspace work;
      Offsets offsets;
      for (std::uint64_t c = 0; c < op.chunks_; ++c) sum_columns(outer, band, c, offsets);
      for (std::uint64_t s = band.first; s < band.last; ++s) merge_columns(outer, band, s);
      // (Backwards: what was summed last is still in the caches.)
      for (std::uint64_t c = op.chunks_; c-- > 0;) normalize_columns(outer, band, c, offsets, work);
      end_task(op.streams_);
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
