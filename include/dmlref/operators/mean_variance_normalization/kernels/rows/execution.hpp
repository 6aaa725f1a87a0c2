// execution.hpp: what an execute does with one row, a chunk of a group: where it lies, its sums, its results.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/elements.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/geometry.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/ill_conditioned/correction.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/ill_conditioned/repeated.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/kernels.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/rows/plan.hpp"
#include "dmlref/operators/mean_variance_normalization/reference.hpp"

DMLREF_BEGIN
namespace fast::normalization {

/// Memory of one task; all of it stays in L1d and L2.
template <class T>
struct Workspace {
  static constexpr bool is_half = RowPlan<T>::is_half;
  using Real = std::conditional_t<is_half, float, double>;
  static constexpr std::uint64_t no_element = ~std::uint64_t{0};

  explicit Workspace(const RowPlan<T>& op) noexcept
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
template <class T>
struct Row {
  const std::byte* floats = nullptr;
  std::conditional_t<RowPlan<T>::is_half, float, double>* wide = nullptr;
  Address next = 0;  // of the row that is read after it
  RowAhead ahead{};
};

/// One execute of a strategy by rows.
template <class T>
struct RowExecution {
  static constexpr bool is_half = RowPlan<T>::is_half;
  using Real = std::conditional_t<is_half, float, double>;

  const RowPlan<T>& op;
  const Buffers& buffers;
  Elements<T> elements;
  bool streams;

  RowExecution(const RowPlan<T>& plan, const Buffers& all, std::size_t concurrency) noexcept
      : op(plan), buffers(all), elements{all}, streams(concurrency > 1 ? plan.several_stream : plan.streams) {}

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

  /// Elements of a group from number `first` on, as floats. `ahead` elements further on lies what is read next.
  DMLREF_NOINLINE void gather(const Place& base, std::uint64_t first, std::size_t count, float* to,
                              Index ahead = 0) const noexcept {
    Walk walk(op.geometry.reduced, base, static_cast<Index>(first));
    while (count > 0) {
      const auto n = (std::min)(count, static_cast<std::size_t>(walk.stretch()));
      const Index step = walk.step().input;
      const Index start = walk.place().input;
      if (ahead != 0 && step == 1) {
        prefetch<0>(address_of(buffers.input, (start + ahead) * element_bytes), n * sizeof(T));
      }
      widen(buffers.input, start, step, n, to);
      to += n;
      count -= n;
      walk.advance(static_cast<Index>(n));
    }
  }

  /// Where `size` elements from number `first` on lie, if it is in one piece in one of the tensors.
  std::optional<Place> stretch_at(Index Place::*tensor, const Place& base, std::uint64_t first,
                                  std::size_t size) const noexcept {
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
  Row<T> piece_at(const std::byte* from, std::size_t size, float* space) const noexcept {
    if constexpr (!is_half) return {from, nullptr};
    op.kernels.rows->widen(from, space, size);
    return {reinterpret_cast<const std::byte*>(space), nullptr};
  }

  /// A chunk of a group as a row: where it lies, or gathered into `space`.
  Row<T> read(const Place& base, std::uint64_t chunk, float* space, Index ahead = 0) const noexcept {
    const std::size_t size = chunk_size(chunk);
    const std::uint64_t first = chunk * normalization_chunk;
    if (const std::optional<Place> place = stretch_at(&Place::input, base, first, size)) {
      return piece_at(input_at(*place), size, space);
    }
    gather(base, first, size, space, ahead);
    return {reinterpret_cast<const std::byte*>(space), nullptr};
  }

  // ---- Results -------------------------------------------------------------------------------------------------

  /// Scale and bias of a chunk.
  DMLREF_NOINLINE void gather_parameters(const Place& base, std::uint64_t first, std::size_t count, float* scale,
                                         float* bias) const noexcept {
    if (buffers.scale == nullptr) std::fill_n(scale, count, 1.0f);
    if (buffers.bias == nullptr) std::fill_n(bias, count, 0.0f);
    Walk walk(op.geometry.reduced, base, static_cast<Index>(first));
    for (std::size_t i = 0; i < count;) {
      const auto n = (std::min)(count - i, static_cast<std::size_t>(walk.stretch()));
      const Place start = walk.place();
      const Place step = walk.step();
      if (buffers.scale != nullptr) widen(buffers.scale, start.scale, step.scale, n, scale + i);
      if (buffers.bias != nullptr) widen(buffers.bias, start.bias, step.bias, n, bias + i);
      i += n;
      walk.advance(static_cast<Index>(n));
    }
  }
  /// The same with the activation's line, in the workspace.
  DMLREF_NOINLINE void read_parameters(const Place& base, std::uint64_t first, std::size_t count,
                                       Workspace<T>& work) const noexcept {
    if (work.parameters_of == first) return;
    float scale[normalization_chunk];
    float bias[normalization_chunk];
    gather_parameters(base, first, count, scale, bias);
    with_fma(op.kernels.has_fma, [&] { fold_parameters(scale, bias, count, work); });
    if (op.shared_parameters) work.parameters_of = first;
  }
  void fold_parameters(const float* scale, const float* bias, std::size_t count, Workspace<T>& work) const noexcept {
    // (As integers magnitudes keep their order, with NaN above infinity, and a compiler may compare many at once.)
    constexpr std::int64_t infinity = std::bit_cast<std::int64_t>(std::numeric_limits<double>::infinity());
    constexpr std::int64_t magnitude = (std::numeric_limits<std::int64_t>::max)();
    std::int64_t largest_scale = 0;
    std::int64_t largest_bias = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto sb = folded(scale[i], bias[i]);
      work.scale[i] = static_cast<Real>(sb.scale);
      work.bias[i] = static_cast<Real>(sb.bias);
      largest_scale = (std::max)(largest_scale, std::bit_cast<std::int64_t>(sb.scale) & magnitude);
      largest_bias = (std::max)(largest_bias, std::bit_cast<std::int64_t>(sb.bias) & magnitude);
    }
    work.largest_scale = std::bit_cast<double>((std::min)(largest_scale, infinity));
    work.largest_bias = std::bit_cast<double>((std::min)(largest_bias, infinity));
  }

  /// How a row is normalized: one line for all of it, or (`each`) a scale and a bias for each element, which are then
  /// in the workspace, the error bound being the largest.
  struct RowLine {
    bool each = false;
    Place parameters;  // of the one line
    reference::ElementCoefficients<Real> line;
  };
  RowLine line_of(const Place& base, std::uint64_t first, std::size_t size, const GroupCoefficients& group,
                  Workspace<T>& work) const noexcept {
    Place place = base;
    bool each = op.geometry.varying;
    if (each && op.chunks > 1) {
      const Walk walk(op.geometry.reduced, base, static_cast<Index>(first));
      place = walk.place();
      each = walk.step().scale != 0 || walk.step().bias != 0 || walk.stretch() < static_cast<Index>(size);
    }
    if (each) {
      read_parameters(base, first, size, work);
      return {true, place, reference::ElementCoefficients<Real>::of(group, work.largest_scale, work.largest_bias)};
    }
    const auto sb = folded(elements.scale_at(place.scale), elements.bias_at(place.bias));
    return {false, place, reference::ElementCoefficients<Real>::of(group, sb.scale, sb.bias)};
  }

  /// A row of float16 with a scale and a bias for each element, which are in the workspace.
  static EachRow16 each_row16_of(const float* from, std::byte* to, std::size_t size,
                                 const reference::ElementCoefficients<float>& c, const GroupCoefficients& group,
                                 float upper, const RowAhead& ahead, Workspace<T>& work) noexcept requires(is_half) {
    if (gives_nan(group))
      return {from, to, size, 0, 0, 0, 0, 0, work.scale, work.bias, upper, work.ill_conditioned, ahead};
    const GroupErrors<float> errors = errors16(group);
    return {from,          to,         size,      c.shift, errors.rest,          errors.rate, errors.slope_error,
            c.error_bound, work.scale, work.bias, upper,   work.ill_conditioned, ahead};
  }

  /// Which results need `correct`: those that work.ill_conditioned lists, or `all` are looked at again.
  struct Corrections {
    bool all = false;
    std::size_t listed = 0;
  };
  /// Normalizes `size` elements, which `row` holds, to `to` (null: to work.result).
  DMLREF_NOINLINE Corrections normalize_row(const RowLine& row_line, std::size_t size, const Row<T>& row, std::byte* to,
                                            const GroupCoefficients& group, Workspace<T>& work) const noexcept {
    const Kernels& k = *op.kernels.rows;
    const auto finish = static_cast<std::size_t>(op.finish);
    const bool has_values = op.finish == Finish::values;
    if (to == nullptr) to = work.result;
    std::byte* const stored = has_values ? reinterpret_cast<std::byte*>(work.values) : to;
    const float upper = upper_bound_of(op.parameters.activation.type);
    Corrections corrections;
    const auto& c = row_line.line;
    if constexpr (is_half) {
      const auto* const floats = reinterpret_cast<const float*>(row.floats);
      if (row_line.each) {
        corrections.listed =
            k.each_row16[finish](each_row16_of(floats, stored, size, c, group, upper, row.ahead, work));
      } else {
        corrections.listed =
            k.row16[finish]({floats, stored, size, line16_of(c), upper, work.ill_conditioned, row.ahead});
      }
      corrections.all = c.error_bound != c.error_bound;
    } else {
      float least;
      if (row_line.each) {
        const EachRow32 all{row.floats, row.wide, stored,  size,     &group,   work.scale,
                            work.bias,  upper,    streams, row.next, row.ahead};
        least = k.each_row32[finish](all);
      } else {
        const Row32 all{row.floats, row.wide, stored,   size,     {c.shift, c.slope, c.offset},
                        upper,      streams,  row.next, row.ahead};
        least = k.row32[finish](all);
      }
      corrections.all = is_low(least, c.error_bound);
    }
    if (has_values) {
      const Activation& activation = op.parameters.activation;
      if (jumps(activation.type) && !corrections.all) {
        corrections.listed = list_ill_conditioned_of(work.values, size, &c.error_bound, 0, work);
      }
      activate<T>(*op.kernels.activation, activation, work.values, to, size);
    }
    return corrections;
  }

  std::size_t list_ill_conditioned_of(const Real* values, std::size_t size, const Real* bounds, std::size_t step,
                                      Workspace<T>& work) const noexcept {
    const IllConditionedKernels& k = *op.kernels.ill_conditioned;
    if constexpr (is_half) {
      return k.list16(op.parameters.activation, values, size, bounds, step, work.ill_conditioned);
    } else {
      return k.list32(op.parameters.activation, values, size, bounds, step, work.ill_conditioned);
    }
  }
  /// Lists the ill-conditioned elements of a row.
  DMLREF_NOINLINE std::size_t list_of(const RowLine& row_line, std::size_t size, const std::byte* floats,
                                      const GroupCoefficients& group, Workspace<T>& work) const noexcept {
    constexpr auto finish = static_cast<std::size_t>(Finish::values);
    const Kernels& k = *op.kernels.rows;
    auto* const values = reinterpret_cast<std::byte*>(work.values);
    const auto& c = row_line.line;
    alignas(64) Real bounds[normalization_chunk];
    bounds[0] = c.error_bound;
    const std::size_t step = row_line.each ? 1 : 0;
    if constexpr (is_half) {  // (which has each a scale and a bias)
      const auto* const from = reinterpret_cast<const float*>(floats);
      k.each_row16[finish](each_row16_of(from, values, size, c, group, 0, {}, work));
      op.kernels.ill_conditioned->error_bounds16(work.scale, work.bias, size, errors16(group), bounds);
    } else {
      if (row_line.each) {
        k.each_row32[finish]({floats, nullptr, values, size, &group, work.scale, work.bias, 0, false});
        op.kernels.ill_conditioned->error_bounds32(work.scale, work.bias, size, errors32(group), bounds);
      } else {
        k.row32[finish]({floats, nullptr, values, size, {c.shift, c.slope, c.offset}, 0, false});
      }
    }
    return list_ill_conditioned_of(work.values, size, bounds, step, work);
  }

  /// Computes results of a chunk again. `known` has what is known of the group's exact statistics.
  void correct(const Place& base, std::uint64_t chunk, const Corrections& corrections, const GroupCoefficients& group,
               ExactSlot& known, Workspace<T>& work) const noexcept {
    if (corrections.all || corrections.listed > 0) correct_some(base, chunk, corrections, group, known, work);
  }
  DMLREF_NOINLINE void correct_some(const Place& base, std::uint64_t chunk, const Corrections& corrections,
                                    const GroupCoefficients& group, ExactSlot& known,
                                    Workspace<T>& work) const noexcept {
    const std::size_t size = chunk_size(chunk);
    const std::uint64_t first = chunk * normalization_chunk;
    RowExact exact(*this, base, group, known);
    if (!corrections.all && corrections.listed < least_batch) {
      for (std::size_t k = 0; k < corrections.listed; ++k) {
        Place at = op.geometry.reduced.place(static_cast<Index>(first + work.ill_conditioned[k]));
        at.add(base, 1);
        const T result = correct_one(ByteAccess<const T>{buffers.input}.load(at.input), group,
                                     elements.scale_at(at.scale), elements.bias_at(at.bias), op.parameters, exact);
        ByteAccess<T>{buffers.output}.store(at.output, result);
      }
      return;
    }
    auto* const results = reinterpret_cast<T*>(work.result);  // (which the row's own have left)
    const auto fill = [&] {
      std::fill_n(results, size, nan_result<T>());
      scatter_listed(base, first, nullptr, size, results);
    };
    if (gives_nan(group)) return fill();
    const RowLine row_line = line_of(base, first, size, group, work);
    const float scale = elements.scale_at(row_line.parameters.scale);
    const float bias = elements.bias_at(row_line.parameters.bias);
    if (!row_line.each && gives_nan(group, scale, bias)) return fill();
    // (The interval is found in a hundred steps: not for short rows.)
    const bool is_many = size >= 256 && (corrections.all || corrections.listed >= size / 32);
    if (is_many && !row_line.each && !std::isnan(row_line.line.error_bound) && !jumps(op.parameters.activation.type)) {
      const std::optional<Place> from = stretch_at(&Place::input, base, first, size);
      const std::optional<Place> to = stretch_at(&Place::output, base, first, size);
      const auto result_of = [&](T x) { return correct_one(x, group, scale, bias, op.parameters, exact); };
      if (from && to && correct_repeated(row_line.line, input_at(*from), size, result_of, output_at(*to))) return;
    }
    const Row<T> row = read(base, chunk, work.row);
    const std::uint16_t* list = work.ill_conditioned;
    std::size_t count = corrections.listed;
    // (float16 keeps what each element's own bound allows, also where one bound for all listed more.)
    const bool by_bounds = row_line.each ? corrections.all || (is_half && jumps(op.parameters.activation.type))
                                         : corrections.all && !is_half && row_line.line.slope == row_line.line.slope;
    if (by_bounds) {
      count = list_of(row_line, size, row.floats, group, work);
    } else if (corrections.all) {
      list = nullptr;
      count = size;
    }
    if (row_line.each) {
      correct_each(base, first, size, {row.floats, list, count}, group, exact, results);
    } else {
      const ElementParameters given{&scale, &bias, 0};
      correct_elements<T>({op.kernels, op.parameters, group, given, exact}, {row.floats, list, count}, results);
    }
    scatter_listed(base, first, list, count, results);
  }
  /// Corrects a row whose ill-conditioned elements are all the same number, or says that they are not.
  template <class ResultOf>
  bool correct_repeated(const reference::ElementCoefficients<Real>& line, const std::byte* from, std::size_t size,
                        const ResultOf& result_of, std::byte* to) const noexcept {
    using Bits = BitsOf<T>;
    using All = Repeated<Bits>;
    constexpr std::size_t block = All::most_rows * All::lanes;
    const auto interval = ill_conditioned_elements<T>(line);
    if (interval.size == 0) return false;
    All lanes, row;  // (the latter in lane 0)
    for (std::size_t c = 0; c < All::lanes; ++c) lanes.set(c, interval);
    typename All::Rows x{}, y{};
    const auto each_block = [&](bool replaces) {
      for (std::size_t i = 0; i < size; i += block) {
        const std::size_t n = (std::min)(size - i, block);
        std::memcpy(x, from + i * sizeof(T), n * sizeof(T));
        for (std::size_t k = n; k % All::lanes != 0; ++k) std::memcpy(&x[0][0] + k, from, sizeof(T));
        const std::size_t rows = (n + All::lanes - 1) / All::lanes;
        if (!replaces) {
          lanes.find(op.kernels.has_fma, x, rows);
          continue;
        }
        std::memcpy(y, to + i * sizeof(T), n * sizeof(T));
        lanes.replace(op.kernels.has_fma, x, y, rows);
        std::memcpy(to + i * sizeof(T), y, n * sizeof(T));
      }
    };
    each_block(false);
    for (std::size_t c = 0; c < All::lanes; ++c) {
      row.any[0] = static_cast<Bits>(row.any[0] | lanes.any[c]);
      row.all[0] = static_cast<Bits>(row.all[0] | lanes.all[c]);
    }
    if (!row.is_one(0)) return row.is_none(0);
    std::fill_n(lanes.any, All::lanes, std::bit_cast<Bits>(result_of(std::bit_cast<T>(row.any[0]))));
    each_block(true);
    return true;
  }
  /// The same of listed elements with a scale and a bias each, which are gathered in parts: threads have small stacks.
  DMLREF_NOINLINE void correct_each(const Place& base, std::uint64_t first, std::size_t size, const Chosen& chosen,
                                    const GroupCoefficients& group, ExactGroup& exact, T* results) const noexcept {
    constexpr std::size_t part = 256;
    float scale[part];
    float bias[part];
    std::size_t done = 0;
    for (std::size_t begin = 0; done < chosen.count; begin += part) {
      const std::size_t n = (std::min)(size - begin, part);
      std::size_t last = done;
      while (last < chosen.count && chosen.list[last] < begin + n) ++last;
      if (last == done) continue;
      gather_parameters(base, first + begin, n, scale, bias);
      const ElementParameters given{scale, bias, 1, begin};
      correct_elements<T>({op.kernels, op.parameters, group, given, exact},
                          {chosen.floats, chosen.list + done, last - done}, results + done);
      done = last;
    }
  }
  /// Stores results of elements `first` + list[k] (null: k) of a group.
  DMLREF_NOINLINE void scatter_listed(const Place& base, std::uint64_t first, const std::uint16_t* list,
                                      std::size_t count, const T* results) const noexcept {
    Walk walk(op.geometry.reduced, base, static_cast<Index>(first));
    std::size_t begin = 0;  // of the stretch
    for (std::size_t k = 0; k < count;) {
      const auto end = begin + static_cast<std::size_t>(walk.stretch());
      const Index step = walk.step().output * element_bytes;
      std::byte* const to = output_at(walk.place());
      if (list != nullptr) {
        for (; k < count && list[k] < end; ++k) {
          std::memcpy(to + static_cast<Index>(list[k] - begin) * step, results + k, sizeof(T));
        }
      } else if (step == element_bytes) {
        const std::size_t n = (std::min)(count, end) - k;
        std::memcpy(to, results + k, n * sizeof(T));
        k += n;
      } else {
        for (; k < count && k < end; ++k) {
          std::memcpy(to + static_cast<Index>(k - begin) * step, results + k, sizeof(T));
        }
      }
      if (k < count) walk.advance(walk.stretch());
      begin = end;
    }
  }

  /// Exact statistics of the group at `base`.
  class RowExact final : public ExactGroup {
   public:
    RowExact(const RowExecution& run, const Place& base, const GroupCoefficients& group, ExactSlot& known) noexcept
        : run_(run), base_(base), group_(group), known_(known) {}
    DoubleDouble mean() noexcept override {
      if (is_half && run_.op.count <= most_exact_halves) return group_.mean;
      return known_.mean.get([&] { return average(nullptr); });
    }
    DoubleDouble variance() noexcept override {
      return known_.variance.get([&] {
        const DoubleDouble of = mean();
        return average(&of);
      });
    }

   private:
    DMLREF_NOINLINE DoubleDouble average(const DoubleDouble* mean_of) const noexcept {
      float space[normalization_chunk];
      ExactLanes means;
      if (mean_of != nullptr) {
        std::fill_n(means.high, normalization_lanes, mean_of->high);
        std::fill_n(means.low, normalization_lanes, mean_of->low);
      }
      ExactLanes lanes{};
      for (std::uint64_t c = 0; c < run_.op.chunks; ++c) {
        const Row<T> row = run_.read(base_, c, space);
        run_.op.kernels.ill_conditioned->add_exact(row.floats, run_.chunk_size(c),
                                                   mean_of != nullptr ? &means : nullptr, lanes);
      }
      return average_of(run_.op.kernels.has_fma, lanes, run_.op.count);
    }

    const RowExecution& run_;
    const Place& base_;
    const GroupCoefficients& group_;
    ExactSlot& known_;
  };

  /// The results of one chunk, `row` holding its elements.
  Corrections normalize(const Place& base, std::uint64_t chunk, const Row<T>& row, const GroupCoefficients& group,
                        Workspace<T>& work, Index ahead = 0) const noexcept {
    const std::size_t size = chunk_size(chunk);
    const std::uint64_t first = chunk * normalization_chunk;
    const std::optional<Place> place = stretch_at(&Place::output, base, first, size);
    std::byte* const to = place ? output_at(*place) : nullptr;
    const Corrections corrections = normalize_row(line_of(base, first, size, group, work), size, row, to, group, work);
    if (!place) scatter(base, first, size, work.result, ahead);
    return corrections;
  }

  DMLREF_NOINLINE void scatter(const Place& base, std::uint64_t first, std::size_t count, const std::byte* from,
                               Index ahead) const noexcept {
    Walk walk(op.geometry.reduced, base, static_cast<Index>(first));
    while (count > 0) {
      const auto n = (std::min)(count, static_cast<std::size_t>(walk.stretch()));
      const Index step = walk.step().output;
      std::byte* const to = output_at(walk.place());
      if (step == 1) {
        if (ahead != 0) prefetch<1>(address_of(to, ahead * element_bytes), n * sizeof(T));
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
};

}  // namespace fast::normalization
DMLREF_END
