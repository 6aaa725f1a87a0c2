// columns.hpp: groups that lie side by side in memory (NHWC): vectors run across up to 64 of them, in the order of
// summation of the reference (docs/kernels/normalization.md).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <string_view>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/isa/cache.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/elements.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/geometry.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/ill_conditioned/correction.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/ill_conditioned/repeated.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/kernels.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/targets.hpp"
#include "dmlref/operators/mean_variance_normalization/reference.hpp"
#include "dmlref/run/executor.hpp"
#include "dmlref/run/plan.hpp"

DMLREF_BEGIN
namespace fast::normalization {

/// A normalization of T (float or half) along columns: `geometry.columns` holds.
template <class T>
class ColumnGroups final : public detail::PlanOf<ColumnGroups<T>> {
  static constexpr bool is_half = std::is_same_v<T, half>;
  using Real = std::conditional_t<is_half, float, double>;
  using Coefficients = std::conditional_t<is_half, ColumnCoefficients16, ColumnCoefficients32>;
  /// The coefficients of up to 64 columns, and the largest error bound among them. What is beyond the last column is 0,
  /// and so are those of a column that is computed again (`all`, a bit each; `nan`: without computing; `by_sign`:
  /// beside an infinity), so that nothing of it is listed before.
  struct Panel {
    Coefficients coefficients;
    std::uint64_t all, nan, by_sign;
    Real error_bound;
    Real error_bounds[panel_width];
  };
  using BlockStatistics = reference::BlockStatistics;

  /// Exact means or variances of neighbouring columns, which are computed together: a row's part of a cache line.
  static constexpr std::size_t exact_width = normalization_lanes;
  struct ExactColumns {
    Published<ExactLanes> mean, variance;
  };
  /// Where columns have one summation block, a task sums, merges and normalizes so many panels. Their statistics stay
  /// in its memory.
  static constexpr std::uint64_t panels_per_task = 2;
  /// Panels [first, last) of an outer place, and what is known of their columns.
  struct PanelRange {
    std::uint64_t first, last;
    BlockStatistics* statistics;
    GroupCoefficients* coefficients;
    ExactColumns* exact;
    Panel* panels;

    Panel& panel(std::uint64_t s) const noexcept { return panels[s - first]; }
    std::size_t number(std::uint64_t s, std::size_t c) const noexcept {
      return static_cast<std::size_t>(s - first) * panel_width + c;
    }
  };
  /// Bytes of a range, and where its parts begin.
  static constexpr std::uint64_t range_bytes(std::uint64_t panels, std::uint64_t blocks) noexcept {
    return round_up(panels * panel_width * blocks * sizeof(BlockStatistics)) +
           round_up(panels * panel_width * sizeof(GroupCoefficients)) +
           round_up(panels * (panel_width / exact_width) * sizeof(ExactColumns)) + round_up(panels * sizeof(Panel));
  }
  static PanelRange range_in(std::byte* memory, std::uint64_t first, std::uint64_t last,
                             std::uint64_t blocks) noexcept {
    const std::uint64_t panels = last - first;
    std::byte* const coefficients = memory + round_up(panels * panel_width * blocks * sizeof(BlockStatistics));
    std::byte* const exact = coefficients + round_up(panels * panel_width * sizeof(GroupCoefficients));
    std::byte* const lines = exact + round_up(panels * (panel_width / exact_width) * sizeof(ExactColumns));
    return {first,
            last,
            reinterpret_cast<BlockStatistics*>(memory),
            reinterpret_cast<GroupCoefficients*>(coefficients),
            reinterpret_cast<ExactColumns*>(exact),
            reinterpret_cast<Panel*>(lines)};
  }

 public:
  ColumnGroups(const Geometry& geometry, const reference::NormalizationParameters& parameters,
               const TargetKernels& kernels, const Tuning::Normalization& tuning) noexcept
      : geometry_(geometry),
        parameters_(parameters),
        kernels_(kernels),
        linear_part_(reference::LinearPart::of(parameters.activation)),
        finish_(finish_of(parameters.activation.type)),
        count_(static_cast<std::uint64_t>(geometry.reduced.count())),
        groups_(static_cast<std::uint64_t>(geometry.kept.count())),
        blocks_(summation_block_count(count_)),
        width_(static_cast<std::uint64_t>(geometry.kept.at[geometry.kept.rank - 1].extent)),
        panels_((width_ + panel_width - 1) / panel_width) {
    // Streamed panels are whole cache lines: a part of a line that is stored alone costs more than it saves.
    bool lines = !is_half && width_ % (64 / sizeof(T)) == 0;
    for (const Dimensions* dimensions : {&geometry_.kept, &geometry_.reduced}) {
      for (std::size_t d = 0; d < dimensions->rank; ++d) {
        const bool columns = dimensions == &geometry_.kept && d + 1 == dimensions->rank;
        lines = lines && (columns || dimensions->at[d].step.output * static_cast<Index>(sizeof(T)) % 64 == 0);
      }
    }
    const std::uint64_t bytes = 2 * count_ * groups_ * sizeof(T);
    streams_ = lines && bytes * 100 > own_cache_bytes() * tuning.column_stream_percent;
  }

  std::string_view strategy_name() const noexcept { return "columns"; }
  /// Temporary memory: what is known of columns of several summation blocks.
  BindingProperties properties() const noexcept {
    return {blocks_ == 1 ? 0 : groups_ / width_ * range_bytes(panels_, blocks_), 0};
  }
  void execute(const detail::Bindings& bindings, Executor& executor) const {
    const Buffers buffers(bindings);
    Run{*this, buffers, {buffers}}.all_columns(executor);
  }

 private:
  /// Elements of a row block, in 16 rows or more: few enough that reading, writing and prefetching share L1d.
  static constexpr std::size_t row_block_elements = 1024;
  static constexpr std::size_t large_row_block_elements = 4096;  // where nothing is kept in the workspace
  static constexpr std::uint64_t panels_at_once = 16;
  /// Rows of a column that are corrected, or summed exactly, at once: a multiple of the lanes of a sum, no less than
  /// the rows of a block whose elements are listed, and few, since threads may have small stacks.
  static constexpr std::size_t correction_rows = 256;
  static_assert(correction_rows % normalization_lanes == 0 && correction_rows >= row_block_elements / subpanel_width);

  /// Memory of one task.
  struct Workspace {
    alignas(64) Real values[row_block_elements];
    std::uint16_t ill_conditioned[row_block_elements];
  };

  /// One execute.
  struct Run {
    const ColumnGroups& op;
    const Buffers& buffers;
    Elements<T> elements;

    reference::ScaleAndBias with_linear_part(float scale, float bias) const noexcept {
      return reference::ScaleAndBias::of(op.linear_part_, scale, bias);
    }
    std::size_t block_size(std::uint64_t block) const noexcept { return summation_block_size(op.count_, block); }

    /// All panels of an outer place, of several summation blocks.
    PanelRange range_of(std::uint64_t outer) const noexcept {
      return range_in(buffers.temporary + outer * range_bytes(op.panels_, op.blocks_), 0, op.panels_, op.blocks_);
    }

    struct Offsets {
      std::int64_t input[summation_block];
      std::int64_t output[summation_block];

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
    std::size_t width_of(std::uint64_t panel) const noexcept {
      return static_cast<std::size_t>(std::min<std::uint64_t>(op.width_ - panel * panel_width, panel_width));
    }
    /// Where column `column` of an outer place begins.
    Place column_place(const Place& outer, std::uint64_t column) const noexcept {
      Place at = outer;
      return at.add(op.geometry_.kept.at[op.geometry_.kept.rank - 1].step, static_cast<Index>(column));
    }

    /// Σ and Σ² of columns from `first` on over a summation block, whose rows lie at `offsets`. `next`: from here to
    /// what is read after the summation block.
    void sum_panel(const std::byte* first, std::size_t width, const Offsets& offsets, std::size_t size,
                   std::int64_t next, const double* pivot, double* sum, double* square) const noexcept {
      const ColumnKernels& k = *op.kernels_.columns;
      ColumnLanes lanes;
      std::memset(&lanes, 0, (width + subpanel_width - 1) / subpanel_width * sizeof(SubpanelLanes));
      const std::size_t rows = summed_rows(width);
      for (std::size_t i = 0; i < size; i += rows) {
        const std::int64_t ahead =
            i + rows < size ? offsets.input[i + rows] - offsets.input[i] : next - offsets.input[i] + offsets.input[0];
        (is_half ? k.add16 : k.add32)({first, offsets.input + i, (std::min)(rows, size - i), width, ahead}, pivot,
                                      lanes);
      }
      k.join(lanes, width, sum, square);
    }

    DMLREF_NOINLINE void sum_columns(std::uint64_t outer, const PanelRange& panels, std::uint64_t block,
                                     Offsets& offsets) const noexcept {
      with_fma(op.kernels_.has_fma, [&] { sum_columns_of(outer, panels, block, offsets); });
    }
    void sum_columns_of(std::uint64_t outer, const PanelRange& panels, std::uint64_t block,
                        Offsets& offsets) const noexcept {
      const std::size_t size = block_size(block);
      const Place base = outer_place(outer);
      offsets.fill(op.geometry_.reduced, block * summation_block, size);
      for (std::uint64_t panel = panels.first; panel < panels.last; ++panel) {
        const std::size_t width = width_of(panel);
        const std::byte* const first =
            buffers.input + (base.input + static_cast<Index>(panel * panel_width)) * static_cast<Index>(sizeof(T));
        const std::int64_t next = static_cast<std::int64_t>(panel_width * sizeof(T));
        alignas(32) double sum[panel_width];
        alignas(32) double square[panel_width];
        sum_panel(first, width, offsets, size, panel + 1 < panels.last ? next : 0, nullptr, sum, square);
        alignas(32) double pivot[panel_width]{};
        bool shifted = false;
        for (std::size_t c = 0; c < width && op.parameters_.center == Center::mean; ++c) {
          if (!reference::needs_pivot(size, {sum[c], square[c]})) continue;
          pivot[c] = reference::block_pivot(size, {sum[c], square[c]});
          shifted = true;
        }
        if (shifted) {
          alignas(32) double pivot_sum[panel_width];
          alignas(32) double pivot_square[panel_width];
          sum_panel(first, width, offsets, size, 0, pivot, pivot_sum, pivot_square);
          for (std::size_t c = 0; c < width; ++c) {
            if (pivot[c] == 0.0) continue;
            sum[c] = pivot_sum[c];
            square[c] = pivot_square[c];
          }
        }
        for (std::size_t c = 0; c < width; ++c) {
          panels.statistics[panels.number(panel, c) * op.blocks_ + block] =
              op.parameters_.center == Center::zero ? reference::block_about_zero(square[c])
                                                    : reference::block_from_sums(size, pivot[c], {sum[c], square[c]});
        }
      }
    }

    DMLREF_NOINLINE void merge_columns(std::uint64_t outer, const PanelRange& panels,
                                       std::uint64_t panel) const noexcept {
      with_fma(op.kernels_.has_fma, [&] { merge_columns_of(outer, panels, panel); });
    }
    void merge_columns_of(std::uint64_t outer, const PanelRange& panels, std::uint64_t panel) const noexcept {
      const Place base = outer_place(outer);
      Panel& to = *::new (&panels.panel(panel)) Panel{};
      for (std::size_t part = 0; part < panel_width; part += exact_width) {
        ::new (panels.exact + panels.number(panel, part) / exact_width) ExactColumns;
      }
      for (std::size_t c = 0; c < width_of(panel); ++c) {
        const std::size_t column = panels.number(panel, c);
        const BlockStatistics* const blocks = panels.statistics + column * op.blocks_;
        const auto merged = reference::merge_blocks(op.count_, [blocks](std::uint64_t k) { return blocks[k]; });
        const auto& group = *::new (panels.coefficients + column)
                                GroupCoefficients(GroupCoefficients::of(merged, op.count_, op.parameters_));
        const Place at = column_place(base, panel * panel_width + c);
        const float scale = elements.scale_at(at.scale);
        const float bias = elements.bias_at(at.bias);
        const auto sb = with_linear_part(scale, bias);
        auto element = reference::ElementCoefficients<Real>::of(group, sb.scale, sb.bias);
        if (std::isnan(element.error_bound)) {
          element = {0, 0, 0, 0};
          to.all |= std::uint64_t{1} << c;
          if (gives_nan(group, scale, bias)) to.nan |= std::uint64_t{1} << c;
          if (has_infinity(group)) to.by_sign |= std::uint64_t{1} << c;
        }
        to.coefficients.shift[c] = element.shift;
        to.coefficients.slope[c] = element.slope;
        to.coefficients.offset[c] = element.offset;
        to.error_bounds[c] = element.error_bound;
        if constexpr (is_half) {
          to.coefficients.error_bound[c] = element.error_bound;
        } else {
          to.coefficients.threshold[c] = threshold_of(element.error_bound);
        }
        to.error_bound = (std::max)(to.error_bound, element.error_bound);
      }
    }

    static void copy_row(void* to, const void* from, std::size_t width) noexcept {
      if (width == exact_width) {
        std::memcpy(to, from, exact_width * sizeof(T));
      } else {
        std::memcpy(to, from, width * sizeof(T));
      }
    }

    /// Exact statistics of a column.
    class ColumnExact final : public ExactGroup {
     public:
      ColumnExact(const Run& run, std::uint64_t outer, const PanelRange& panels, std::uint64_t panel,
                  std::size_t c) noexcept
          : run_(run),
            outer_(outer),
            panel_(panel),
            part_(c / exact_width * exact_width),
            column_(c % exact_width),
            groups_(panels.coefficients + panels.number(panel, part_)),
            known_(panels.exact[panels.number(panel, c) / exact_width]) {}
      DoubleDouble mean() noexcept override {
        const ExactLanes all = means();
        return {all.high[column_], all.low[column_]};
      }
      DoubleDouble variance() noexcept override {
        const ExactLanes all = known_.variance.get([&] {
          const ExactLanes of = means();
          return averages(&of);
        });
        return {all.high[column_], all.low[column_]};
      }

     private:
      DMLREF_NOINLINE ExactLanes means() noexcept {
        if (run_.op.parameters_.center == Center::zero || (is_half && run_.op.count_ <= max_exact_halves)) {
          ExactLanes of{};
          for (std::size_t c = 0; c < (std::min)(run_.width_of(panel_) - part_, exact_width); ++c) {
            of.high[c] = groups_[c].mean.high;
            of.low[c] = groups_[c].mean.low;
          }
          return of;
        }
        return known_.mean.get([&] { return averages(nullptr); });
      }
      /// Lanes are summed one by one, the columns side by side.
      DMLREF_NOINLINE ExactLanes averages(const ExactLanes* means_of) const noexcept {
        const Run& run = run_;
        const std::size_t width = (std::min)(run.width_of(panel_) - part_, exact_width);
        const std::byte* const from =
            run.buffers.input + run.column_place(run.outer_place(outer_), panel_ * panel_width + part_).input *
                                    static_cast<Index>(sizeof(T));
        ExactLanes lanes[normalization_lanes]{};
        std::int64_t input[correction_rows];
        std::int64_t output[correction_rows];
        T rows[correction_rows]{};  // of a lane, with 0 beyond the last column
        float floats[correction_rows];
        for (std::uint64_t first = 0; first < run.op.count_; first += correction_rows) {
          const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(run.op.count_ - first, correction_rows));
          fill_offsets(run.op.geometry_.reduced, first, size, input, output);
          for (std::size_t lane = 0; lane < (std::min)(size, normalization_lanes); ++lane) {
            std::size_t count = 0;
            for (std::size_t i = lane; i < size; i += normalization_lanes, count += exact_width) {
              copy_row(rows + count, from + input[i], width);
            }
            run.op.kernels_.ill_conditioned->add_exact(run.widened(rows, count, floats), count, means_of, lanes[lane]);
          }
        }
        return averages_of(run.op.kernels_.has_fma, lanes, run.op.count_);
      }

      const Run& run_;
      std::uint64_t outer_;
      std::uint64_t panel_;
      std::size_t part_;    // the first column of those that are computed together,
      std::size_t column_;  // and the one among them
      const GroupCoefficients* groups_;
      ExactColumns& known_;
    };

    /// At most correction_rows elements as floats: themselves, or in `space`.
    const std::byte* widened(const T* elements_of, std::size_t count, float* space) const noexcept {
      const auto* const from = reinterpret_cast<const std::byte*>(elements_of);
      if constexpr (!is_half) return from;
      op.kernels_.rows->widen(from, space, count);
      return reinterpret_cast<const std::byte*>(space);
    }

    /// Some rows of a panel, all of one summation block.
    struct RowBlock {
      std::uint64_t outer;
      const PanelRange& panels;
      std::uint64_t panel;
      std::size_t rows;
      const std::int64_t* input;  // offsets
      const std::int64_t* output;
    };

    /// The place and the parameters of a column.
    struct Column {
      const GroupCoefficients& group;
      Place at;
      float scale, bias;
    };
    DMLREF_NOINLINE Column column_of(const RowBlock& row_block, std::size_t c) const noexcept {
      const Place at = column_place(outer_place(row_block.outer), row_block.panel * panel_width + c);
      return {row_block.panels.coefficients[row_block.panels.number(row_block.panel, c)], at,
              elements.scale_at(at.scale), elements.bias_at(at.bias)};
    }
    /// One listed element (row * width + column) of a block.
    DMLREF_NOINLINE void correct_listed(const RowBlock& row_block, std::size_t row, std::size_t c) const noexcept {
      const Column column = column_of(row_block, c);
      ColumnExact exact(*this, row_block.outer, row_block.panels, row_block.panel, c);
      const ByteAccess<const T> from{buffers.input + row_block.input[row]};
      const ByteAccess<T> to{buffers.output + row_block.output[row]};
      to.store(column.at.output,
               correct_one(from.load(column.at.input), column.group, column.scale, column.bias, op.parameters_, exact));
    }
    /// Corrects the ill-conditioned elements of a column, of at most correction_rows rows.
    DMLREF_NOINLINE void correct_column(const RowBlock& row_block, std::size_t c) const noexcept {
      const Panel& panel = row_block.panels.panel(row_block.panel);
      const Column column = column_of(row_block, c);
      std::byte* const to = buffers.output + column.at.output * static_cast<Index>(sizeof(T));
      T elements_of[correction_rows];
      float space[correction_rows];
      const std::byte* const from = buffers.input + column.at.input * static_cast<Index>(sizeof(T));
      for (std::size_t i = 0; i < row_block.rows; ++i)
        std::memcpy(elements_of + i, from + row_block.input[i], sizeof(T));
      const std::byte* const floats = widened(elements_of, row_block.rows, space);
      const std::uint16_t* list = nullptr;
      std::uint16_t found[correction_rows];
      std::size_t count = row_block.rows;
      if (((panel.all >> c) & 1u) == 0) {
        count = list_of(panel, c, floats, count, found);
        list = found;
      }
      T results[correction_rows];
      ColumnExact exact(*this, row_block.outer, row_block.panels, row_block.panel, c);
      const ElementParameters given{&column.scale, &column.bias, 0};
      correct_elements<T>({op.kernels_, op.parameters_, column.group, given, exact}, {floats, list, count}, results);
      for (std::size_t k = 0; k < count; ++k) {
        std::memcpy(to + row_block.output[list != nullptr ? list[k] : k], results + k, sizeof(T));
      }
    }
    /// Lists the ill-conditioned ones among elements of a column.
    DMLREF_NOINLINE std::size_t list_of(const Panel& panel, std::size_t c, const std::byte* floats, std::size_t count,
                                        std::uint16_t* list) const noexcept {
      alignas(64) Real values[correction_rows];
      const Coefficients& all = panel.coefficients;
      // (An error bound of 0: the kernel lists nothing.)
      const SharedCoefficients<Real> c_of{all.shift[c], all.slope[c], all.offset[c], 0};
      const Segment column{0, 0, count};
      auto results = row_results<Real>(floats, reinterpret_cast<std::byte*>(values), column, 0);
      results.list = list;
      op.kernels_.rows->template results<Real>().shared[static_cast<std::size_t>(Finish::unrounded)](results, c_of);
      return op.kernels_.ill_conditioned->list(op.parameters_.activation, values, count, &panel.error_bounds[c], 0,
                                               list);
    }
    /// Fills the columns of which no result is a number.
    DMLREF_NOINLINE void fill_nan(const RowBlock& row_block) const noexcept {
      const Panel& panel = row_block.panels.panel(row_block.panel);
      const std::size_t width = width_of(row_block.panel);
      const bool whole = panel.nan == ~std::uint64_t{0} >> (panel_width - width);
      T row[panel_width];
      std::fill_n(row, width, nan_result<T>());
      std::byte* const to =
          buffers.output + column_place(outer_place(row_block.outer), row_block.panel * panel_width).output *
                               static_cast<Index>(sizeof(T));
      for (std::size_t i = 0; i < row_block.rows && panel.nan != 0; ++i) {
        if (whole) {
          std::memcpy(to + row_block.output[i], row, width * sizeof(T));
          continue;
        }
        for (std::uint64_t columns = panel.nan; columns != 0; columns &= columns - 1) {
          std::memcpy(to + row_block.output[i] + static_cast<std::size_t>(__builtin_ctzll(columns)) * sizeof(T), row,
                      sizeof(T));
        }
      }
    }

    /// Corrects columns (a bit each) beside an infinity, or of which all ill-conditioned elements are the same number.
    /// Returns the others.
    std::uint64_t correct_same(const RowBlock& row_block, std::uint64_t columns) const noexcept {
      const Panel& panel = row_block.panels.panel(row_block.panel);
      const Place at = column_place(outer_place(row_block.outer), row_block.panel * panel_width);
      const ElementRows rows{buffers.input + at.input * static_cast<Index>(sizeof(T)),
                             row_block.input,
                             buffers.output + at.output * static_cast<Index>(sizeof(T)),
                             row_block.output,
                             row_block.rows,
                             width_of(row_block.panel)};
      const auto interval_of = [&](std::size_t c) {
        const Coefficients& all = panel.coefficients;
        return ill_conditioned_elements<T, Real>({all.shift[c], all.slope[c], all.offset[c], panel.error_bounds[c]});
      };
      const auto result_of = [&](std::size_t c, T element) {
        const Column column = column_of(row_block, c);
        ColumnExact exact(*this, row_block.outer, row_block.panels, row_block.panel, c);
        return correct_one(element, column.group, column.scale, column.bias, op.parameters_, exact);
      };
      const std::uint64_t by_sign = columns & panel.by_sign;
      if (by_sign != 0) correct_by_sign<T>(op.kernels_.has_fma, rows, by_sign, result_of);
      const bool may_repeat = row_block.rows >= correction_rows / 4 && !jumps(op.parameters_.activation.type);
      const std::uint64_t others = may_repeat ? columns & ~panel.all : 0;
      if (others == 0) return columns & ~by_sign;
      return (columns & panel.all & ~by_sign) |
             correct_repeated<T>(op.kernels_.has_fma, rows, others, interval_of, result_of);
    }
    /// Columns of a panel, a bit each: those that are corrected once a summation block's other results are there, and
    /// those of which an element was corrected before.
    struct Later {
      std::uint64_t columns;
      std::uint64_t seen = 0;
    };
    /// Corrects the listed elements (row * width + column) of a block, or adds their columns to `later` where they are
    /// many.
    DMLREF_NOINLINE void correct_listed(const RowBlock& row_block, const std::uint16_t* list, std::size_t listed,
                                        Later& later) const noexcept {
      const auto width = static_cast<std::uint32_t>(width_of(row_block.panel));
      if (listed >= (std::max<std::size_t>)(min_batch, row_block.rows * width / 64)) {
        std::uint64_t again = later.seen;
        for (std::size_t k = 0; k < listed; ++k) {
          const std::uint64_t column = std::uint64_t{1} << list[k] % width;
          later.columns |= again & column;
          again |= column;
        }
        later.seen = again;
      }
      for (std::size_t k = 0; k < listed; ++k) {
        const std::uint32_t c = list[k] % width;
        if (((later.columns >> c) & 1u) == 0) correct_listed(row_block, list[k] / width, c);
      }
    }
    /// Lists the values of a block that are ill-conditioned or near a jump of the activation.
    std::size_t list_near(const Panel& panel, std::size_t rows, std::size_t width, Workspace& work) const noexcept {
      const auto list_of = [&](std::size_t first, std::size_t count, const Real* bounds, std::size_t step,
                               std::uint16_t* list) {
        return op.kernels_.ill_conditioned->list(op.parameters_.activation, work.values + first, count, bounds, step,
                                                 list);
      };
      // (The largest bound first: mostly there is nothing, and rows may be short.)
      if (list_of(0, rows * width, &panel.error_bound, 0, work.ill_conditioned) == 0) return 0;
      std::size_t listed = 0;
      for (std::size_t i = 0; i < rows; ++i) {
        std::uint16_t* const list = work.ill_conditioned + listed;
        listed += scalar::renumber(list, list_of(i * width, width, panel.error_bounds, 1, list), i * width);
      }
      return listed;
    }

    DMLREF_NOINLINE void normalize_columns(std::uint64_t outer, const PanelRange& panels, std::uint64_t block,
                                           Offsets& offsets, Workspace& work) const noexcept {
      const std::size_t size = block_size(block);
      offsets.fill(op.geometry_.reduced, block * summation_block, size);
      const std::size_t widest = (std::min<std::size_t>)(op.width_, panel_width);
      const bool large = !is_half && op.finish_ != Finish::unrounded && op.kernels_.columns->large_blocks;
      const std::size_t block_rows =
          (large ? large_row_block_elements : row_block_elements) / ((widest + 15) / 16 * 16);
      const std::size_t prefetched = large ? block_rows / 2 : block_rows;
      for (std::uint64_t first = panels.first; first < panels.last; first += panels_at_once) {
        const std::uint64_t last = (std::min)(first + panels_at_once, panels.last);
        Later later[panels_at_once];
        for (std::uint64_t s = first; s < last; ++s) later[s - first] = {panels.panel(s).all};
        for (std::size_t row = 0; row < size; row += block_rows) {
          const std::int64_t ahead = row + prefetched < size ? offsets.input[row + prefetched] - offsets.input[row] : 0;
          for (std::uint64_t s = first; s < last; ++s) {
            const RowBlock part{
                outer, panels, s, (std::min)(block_rows, size - row), offsets.input + row, offsets.output + row};
            normalize_row_block(part, ahead, later[s - first], work);
          }
        }
        for (std::uint64_t s = first; s < last; ++s) {
          if (later[s - first].columns == 0) continue;
          const Panel& panel = panels.panel(s);
          const RowBlock all{outer, panels, s, size, offsets.input, offsets.output};
          fill_nan(all);
          const std::uint64_t left = correct_same(all, later[s - first].columns & ~panel.nan);
          for (std::size_t row = 0; row < size && left != 0; row += correction_rows) {
            const std::size_t rows = (std::min)(correction_rows, size - row);
            const RowBlock part{outer, panels, s, rows, offsets.input + row, offsets.output + row};
            for (std::uint64_t columns = left; columns != 0; columns &= columns - 1) {
              correct_column(part, static_cast<std::size_t>(__builtin_ctzll(columns)));
            }
          }
        }
      }
    }

    /// Adds the columns of `later`, other results of the block are right.
    void normalize_row_block(const RowBlock& row_block, std::int64_t ahead, Later& later,
                             Workspace& work) const noexcept {
      const ColumnKernels& k = *op.kernels_.columns;
      const auto finish = static_cast<std::size_t>(op.finish_);
      const bool has_values = op.finish_ == Finish::unrounded;
      const Place base = outer_place(row_block.outer);
      const float upper = upper_bound_of(op.parameters_.activation.type);
      const std::size_t rows = row_block.rows;
      const std::size_t width = width_of(row_block.panel);
      const Panel& panel = row_block.panels.panel(row_block.panel);
      const auto shift = static_cast<Index>(row_block.panel * panel_width);
      const Columns columns{
          buffers.input + (base.input + shift) * static_cast<Index>(sizeof(T)),     row_block.input, rows, width, ahead,
          op.streams_ && reinterpret_cast<std::uintptr_t>(buffers.output) % 64 == 0};
      std::byte* const output = buffers.output + (base.output + shift) * static_cast<Index>(sizeof(T));
      std::byte* const stored = has_values ? reinterpret_cast<std::byte*>(work.values) : output;
      std::size_t ill_conditioned = 0;
      alignas(32) float minimum[panel_width];
      if constexpr (is_half) {
        Coefficients quiet;  // lists nothing of columns that are corrected later
        const bool some_later = later.columns != panel.all;
        if (some_later) {
          quiet = panel.coefficients;
          for (std::size_t c = 0; c < width; ++c) {
            if (((later.columns >> c) & 1u) != 0) quiet.error_bound[c] = 0;
          }
        }
        ill_conditioned = k.columns16[finish](columns, some_later ? quiet : panel.coefficients, stored,
                                              row_block.output, upper, work.ill_conditioned);
      } else {
        k.columns32[finish](columns, panel.coefficients, stored, row_block.output, upper, minimum);
      }
      const bool has_jump = jumps(op.parameters_.activation.type);
      if (has_values) {
        const Activation& activation = op.parameters_.activation;
        const ActivationKernels& kernels = *op.kernels_.activation;
        if (has_jump) ill_conditioned = list_near(panel, rows, width, work);
        for (std::size_t i = 0; i < rows; ++i) {
          const Real* const values = work.values + i * width;
          kernels.apply(activation, values, output + row_block.output[i], width, false, address_of(values));
        }
      }
      if (ill_conditioned > 0) correct_listed(row_block, work.ill_conditioned, ill_conditioned, later);
      if constexpr (!is_half) {
        int low = 0;  // (counted, without a branch: vectors of compilers)
        for (std::size_t c = 0; c < width; ++c) low += !(minimum[c] > panel.coefficients.threshold[c]) ? 1 : 0;
        if (has_jump) low = 0;  // (These are listed.)
        for (std::size_t c = 0; low > 0 && c < width; ++c) {
          if (!(minimum[c] > panel.coefficients.threshold[c])) later.columns |= std::uint64_t{1} << c;
        }
      }
    }

    void all_columns(Executor& executor) const {
      const std::size_t concurrency = detail::concurrency_of(executor);
      const auto parallel = [&executor](std::uint64_t count, const auto& task) {
        detail::parallel_for(executor, count, task);
      };
      const std::uint64_t outers = op.groups_ / op.width_;
      if (op.blocks_ == 1) {
        const std::uint64_t ranges = (op.panels_ + panels_per_task - 1) / panels_per_task;
        parallel(outers * ranges, [&](std::size_t t) {
          const std::uint64_t first = t % ranges * panels_per_task;
          alignas(64) std::byte memory[range_bytes(panels_per_task, 1)];
          whole_range(t / ranges, range_in(memory, first, (std::min)(first + panels_per_task, op.panels_), 1));
        });
        return;
      }
      if (concurrency == 1 || outers >= concurrency * 4) {
        parallel(outers, [&](std::size_t outer) { whole_range(outer, range_of(outer)); });
        return;
      }
      parallel(outers * op.blocks_, [&](std::size_t t) {
        Offsets offsets;
        sum_columns(t / op.blocks_, range_of(t / op.blocks_), t % op.blocks_, offsets);
      });
      parallel(outers * op.panels_,
               [&](std::size_t t) { merge_columns(t / op.panels_, range_of(t / op.panels_), t % op.panels_); });
      parallel(outers * op.blocks_, [&](std::size_t t) {
        Workspace work;
        Offsets offsets;
        normalize_columns(t / op.blocks_, range_of(t / op.blocks_), t % op.blocks_, offsets, work);
        end_task(op.streams_);
      });
    }
    /// All of a range by one task.
    DMLREF_NOINLINE void whole_range(std::uint64_t outer, const PanelRange& panels) const noexcept {
      Workspace work;
      Offsets offsets;
      for (std::uint64_t c = 0; c < op.blocks_; ++c) sum_columns(outer, panels, c, offsets);
      for (std::uint64_t s = panels.first; s < panels.last; ++s) merge_columns(outer, panels, s);
      // (Backwards: what was summed last is still in the caches.)
      for (std::uint64_t c = op.blocks_; c-- > 0;) normalize_columns(outer, panels, c, offsets, work);
      end_task(op.streams_);
    }
  };

  Geometry geometry_;
  reference::NormalizationParameters parameters_;
  TargetKernels kernels_;
  reference::LinearPart linear_part_;
  Finish finish_;
  std::uint64_t count_;
  std::uint64_t groups_;
  std::uint64_t blocks_;
  std::uint64_t width_;
  std::uint64_t panels_;
  bool streams_ = false;  // the output is not worth a place in the caches
};

}  // namespace fast::normalization
DMLREF_END
