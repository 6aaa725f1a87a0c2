// execution.hpp: what the strategies by rows have in common: what sizes, strides, the activation and the instruction
// set decide once, and what an execute does with one row, a summation block of a group: where it lies, its results.
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
#include "dmlref/isa/cache.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/elements.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/geometry.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/ill_conditioned/correction.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/ill_conditioned/repeated.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/kernels.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/targets.hpp"
#include "dmlref/operators/mean_variance_normalization/reference.hpp"

DMLREF_BEGIN
namespace fast::normalization {

/// Of a normalization of T (float or half).
template <class T>
struct RowPlan {
  static constexpr bool is_half = std::is_same_v<T, half>;

  RowPlan(const Geometry& places, const reference::NormalizationParameters& p, const TargetKernels& target,
          const Tuning::Normalization& tuning) noexcept
      : geometry(places),
        parameters(p),
        kernels(target),
        linear_part(reference::LinearPart::of(p.activation)),
        finish(finish_of(p.activation.type)),
        count(static_cast<std::uint64_t>(places.reduced.count())),
        groups(static_cast<std::uint64_t>(places.kept.count())),
        blocks(normalization::summation_block_count(count)),
        bytes(2 * count * groups * sizeof(T)),
        l2_bytes(tuning.l2_bytes),
        beyond_l2(bytes > l2_bytes),
        shared_parameters(places.varying && shares_parameters()) {
    streams = bytes * 100 > own_cache_bytes() * tuning.stream_percent;
    // (A line that two rows share may cost more with non-temporal stores than a copy of it.)
    if (!is_half && blocks == 1 && count % 16 != 0) streams = streams && tuning.streams_parts_of_lines;
    several_stream = streams && (blocks > 1 || bytes * 100 > own_cache_bytes() * tuning.stream_percent_of_rows);
  }

  /// How many bytes ahead to prefetch where prefetchers do not suffice; 0: not at all.
  static std::int64_t prefetch_distance_of(const TargetKernels& target, const Tuning::Normalization& tuning) noexcept {
    const std::size_t bits = target.rows->vector_bits;
    return bits == 0 ? 0 : bits == 512 ? tuning.prefetch_512 : tuning.prefetch_256;
  }
  std::size_t block_size(std::uint64_t block) const noexcept { return summation_block_size(count, block); }

  Geometry geometry;
  reference::NormalizationParameters parameters;
  TargetKernels kernels;
  reference::LinearPart linear_part;
  Finish finish;
  std::uint64_t count;
  std::uint64_t groups;
  std::uint64_t blocks;                // of a group
  std::uint64_t bytes;                 // of input and output
  std::uint64_t l2_bytes;              // as tuned
  bool beyond_l2;                      // input and output do not fit it
  bool shared_parameters;              // scale and bias vary, but not from group to group
  std::int64_t prefetch_distance = 0;  // bytes ahead of long contiguous walks; of groups of one summation block: not 0
  bool streams = false;                // the output is not worth a place in the caches,
  bool several_stream = false;         // not even where several tasks fill it

 private:
  bool shares_parameters() const noexcept {
    for (std::size_t d = 0; d < geometry.kept.rank; ++d) {
      if (geometry.kept.at[d].step.scale != 0 || geometry.kept.at[d].step.bias != 0) return false;
    }
    return true;
  }
};

/// Memory of one task; all of it stays in L1d and L2.
template <class T>
struct Workspace {
  static constexpr bool is_half = RowPlan<T>::is_half;
  using Real = std::conditional_t<is_half, float, double>;
  static constexpr std::uint64_t no_element = ~std::uint64_t{0};

  explicit Workspace(const RowPlan<T>& op) noexcept
      : size(is_half ? summation_block : (op.block_size(0) + 15) / 16 * 16) {}

  /// A row that is converted, of up to three rows.
  Real* converted(std::size_t stage) noexcept { return reals + stage * size; }

  alignas(64) float row[summation_block];
  alignas(64) std::byte result[summation_block * sizeof(T)];
  // (One right behind the other: 8 KiB apart, rows of 768 doubles would fill half of L1d's sets.)
  alignas(64) Real reals[6 * summation_block];
  std::size_t size;
  Real* const scale = reals + 3 * size;
  Real* const bias = reals + 4 * size;
  Real* const values = reals + 5 * size;
  std::uint16_t ill_conditioned[summation_block];
  double largest_scale = 0;
  double largest_bias = 0;
  std::uint64_t parameters_of = no_element;  // scale and bias above are those of every group's, from this one on
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

  reference::ScaleAndBias with_linear_part(float scale, float bias) const noexcept {
    return reference::ScaleAndBias::of(op.linear_part, scale, bias);
  }

  std::size_t block_size(std::uint64_t block) const noexcept { return op.block_size(block); }

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

  /// Where `size` elements from number `first` on lie, if one of the tensors has them side by side.
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

  /// Contiguous elements as floats: where they lie, or widened into `space`.
  const std::byte* floats_at(const std::byte* from, std::size_t size, float* space) const noexcept {
    if constexpr (!is_half) return from;
    op.kernels.rows->widen(from, space, size);
    return reinterpret_cast<const std::byte*>(space);
  }

  /// A summation block of a group as floats: where it lies, or gathered into `space`.
  const std::byte* read(const Place& base, std::uint64_t block, float* space, Index ahead = 0) const noexcept {
    const std::size_t size = block_size(block);
    const std::uint64_t first = block * summation_block;
    if (const std::optional<Place> place = stretch_at(&Place::input, base, first, size)) {
      return floats_at(input_at(*place), size, space);
    }
    gather(base, first, size, space, ahead);
    return reinterpret_cast<const std::byte*>(space);
  }

  // ---- Results -------------------------------------------------------------------------------------------------

  /// Scale and bias of a summation block.
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
  /// The same with the activation's linear part, in the workspace.
  DMLREF_NOINLINE void read_parameters(const Place& base, std::uint64_t first, std::size_t count,
                                       Workspace<T>& work) const noexcept {
    if (work.parameters_of == first) return;
    float scale[summation_block];
    float bias[summation_block];
    gather_parameters(base, first, count, scale, bias);
    with_fma(op.kernels.has_fma, [&] { convert_parameters(scale, bias, count, work); });
    if (op.shared_parameters) work.parameters_of = first;
  }
  void convert_parameters(const float* scale, const float* bias, std::size_t count, Workspace<T>& work) const noexcept {
    // (As integers magnitudes keep their order, with NaN above infinity, and a compiler may compare many at once.)
    constexpr std::int64_t infinity = std::bit_cast<std::int64_t>(std::numeric_limits<double>::infinity());
    constexpr std::int64_t magnitude = (std::numeric_limits<std::int64_t>::max)();
    std::int64_t largest_scale = 0;
    std::int64_t largest_bias = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto sb = with_linear_part(scale[i], bias[i]);
      work.scale[i] = static_cast<Real>(sb.scale);
      work.bias[i] = static_cast<Real>(sb.bias);
      largest_scale = (std::max)(largest_scale, std::bit_cast<std::int64_t>(sb.scale) & magnitude);
      largest_bias = (std::max)(largest_bias, std::bit_cast<std::int64_t>(sb.bias) & magnitude);
    }
    work.largest_scale = std::bit_cast<double>((std::min)(largest_scale, infinity));
    work.largest_bias = std::bit_cast<double>((std::min)(largest_bias, infinity));
  }

  /// A summation block's coefficients: shared, or with a scale and a bias for each element, which are then in the
  /// workspace. The error bound is the largest one.
  struct BlockCoefficients {
    bool per_element = false;
    Place parameters;  // of shared ones
    SharedCoefficients<Real> shared;
  };
  BlockCoefficients coefficients_of(const Place& base, std::uint64_t first, std::size_t size,
                                    const GroupCoefficients& group, Workspace<T>& work) const noexcept {
    Place place = base;
    bool per_element = op.geometry.varying;
    if (per_element && op.blocks > 1 && op.geometry.reduced.rank > 1) {
      const Walk walk(op.geometry.reduced, base, static_cast<Index>(first));
      place = walk.place();
      per_element = walk.step().scale != 0 || walk.step().bias != 0 || walk.stretch() < static_cast<Index>(size);
    }
    if (per_element) {
      read_parameters(base, first, size, work);
      return {true, place, SharedCoefficients<Real>::of(group, work.largest_scale, work.largest_bias)};
    }
    const auto sb = with_linear_part(elements.scale_at(place.scale), elements.bias_at(place.bias));
    return {false, place, SharedCoefficients<Real>::of(group, sb.scale, sb.bias)};
  }
  static PerElementCoefficients<Real> per_element_of(const SharedCoefficients<Real>& largest,
                                                     const GroupCoefficients& group, Workspace<T>& work) noexcept {
    if constexpr (is_half) {
      if (gives_nan(group)) return {0, 0, 0, 0, 0, work.scale, work.bias};
      const GroupErrors<float> errors = errors16(group);
      if (has_infinity(group)) return {0, 0, errors.rate, 0, 0, work.scale, work.bias};
      return {largest.shift, errors.rest, errors.rate, errors.slope_error, largest.error_bound, work.scale, work.bias};
    } else {
      return {group.shift, group.rest, group.rate, 0, 0, work.scale, work.bias};
    }
  }
  auto form_results(Finish finish, const Results<Real>& results, const BlockCoefficients& c,
                    const GroupCoefficients& group, Workspace<T>& work) const noexcept {
    const ResultKernels<Real>& kernels = op.kernels.rows->template results<Real>();
    const auto f = static_cast<std::size_t>(finish);
    return c.per_element ? kernels.per_element[f](results, per_element_of(c.shared, group, work))
                         : kernels.shared[f](results, quiet(c.shared, group));
  }

  /// What the kernel found says which results are computed again. `c`: shared, or those of the largest error bound.
  static Corrections corrections_of(typename ResultKernels<Real>::Found found, bool per_element,
                                    const SharedCoefficients<Real>& c) noexcept {
    if constexpr (is_half) {
      if (!std::isnan(c.error_bound)) return {Corrections::listed, found};
      return {per_element ? Corrections::by_bounds : Corrections::all, 0};
    } else {
      if (!is_below(found, c.error_bound)) return {Corrections::listed, 0};
      return {per_element || !std::isnan(c.slope) ? Corrections::by_bounds : Corrections::all, 0};
    }
  }

  /// Normalizes a row (but for its segment `results` is as row_results makes it) to `to` (null: to work.result).
  DMLREF_NOINLINE Corrections normalize_row(const BlockCoefficients& c, Results<Real>& results, std::size_t size,
                                            std::byte* to, const GroupCoefficients& group,
                                            Workspace<T>& work) const noexcept {
    const bool is_rounded = op.finish != Finish::unrounded;
    const bool stream = !is_half && streams && to != nullptr;
    if (to == nullptr) to = work.result;
    const Segment all{0, 0, size};
    results.segments = &all;
    results.to = is_rounded ? to : reinterpret_cast<std::byte*>(work.values);
    results.stream = is_rounded && stream;
    results.list = work.ill_conditioned;
    if (!has_sums(results.source)) results.prefetch.written = address_of(results.to);
    Corrections corrections = corrections_of(form_results(op.finish, results, c, group, work), c.per_element, c.shared);
    if (!is_rounded) {
      const Activation& activation = op.parameters.activation;
      if (jumps(activation.type) && corrections.which == Corrections::listed) {
        corrections.listed_count = op.kernels.ill_conditioned->list(activation, work.values, size,
                                                                    &c.shared.error_bound, 0, work.ill_conditioned);
        // (float16 keeps what each element's own bound allows.)
        if (is_half && c.per_element && corrections.listed_count >= min_batch)
          corrections.which = Corrections::by_bounds;
      }
      op.kernels.activation->apply(activation, work.values, to, size, stream, results.prefetch.read);
    }
    return corrections;
  }

  /// Whether kernels are right beside an infinity but for NaN: the reference rounds such results from double, as
  /// kernels of float16 need only do where they add the bias and nothing follows.
  bool has_all_but_nan() const noexcept {
    const ActivationType type = op.parameters.activation.type;
    return !is_half || type == ActivationType::identity || type == ActivationType::relu;
  }
  /// Lists the ill-conditioned elements of a row; beside an infinity those that are NaN.
  DMLREF_NOINLINE std::size_t list_of(const BlockCoefficients& c, std::size_t size, const std::byte* floats,
                                      const GroupCoefficients& group, Workspace<T>& work) const noexcept {
    const Segment row{0, 0, size};
    auto results = row_results<Real>(floats, reinterpret_cast<std::byte*>(work.values), row, 0);
    results.list = work.ill_conditioned;
    form_results(Finish::unrounded, results, c, group, work);
    const IllConditionedKernels& k = *op.kernels.ill_conditioned;
    alignas(64) Real bounds[summation_block];
    const bool lists_nan = has_infinity(group) && has_all_but_nan();
    bounds[0] = lists_nan ? 0 : c.shared.error_bound;
    if (lists_nan) return k.list({}, work.values, size, bounds, 0, work.ill_conditioned);
    if (c.per_element) k.error_bounds(work.scale, work.bias, size, errors_of<Real>(group), bounds);
    return k.list(op.parameters.activation, work.values, size, bounds, c.per_element ? 1 : 0, work.ill_conditioned);
  }

  /// Computes results of a summation block again. `known` has what is known of the group's exact statistics.
  void correct(const Place& base, std::uint64_t block, const Corrections& corrections, const GroupCoefficients& group,
               ExactSlot& known, Workspace<T>& work) const noexcept {
    if (corrections.any()) correct_some(base, block, corrections, group, known, work);
  }
  DMLREF_NOINLINE void correct_some(const Place& base, std::uint64_t block, const Corrections& corrections,
                                    const GroupCoefficients& group, ExactSlot& known,
                                    Workspace<T>& work) const noexcept {
    const std::size_t size = block_size(block);
    const std::uint64_t first = block * summation_block;
    RowExact exact(*this, base, group, known);
    const bool has_list = corrections.which == Corrections::listed;
    if (has_list && corrections.listed_count < min_batch) {  // (which are not worth reading a row)
      for (std::size_t k = 0; k < corrections.listed_count; ++k) {
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
    const BlockCoefficients c = coefficients_of(base, first, size, group, work);
    const float scale = elements.scale_at(c.parameters.scale);
    const float bias = elements.bias_at(c.parameters.bias);
    if (!c.per_element && gives_nan(group, scale, bias)) return fill();
    const bool beside_infinity = has_infinity(group);
    if (beside_infinity && has_all_but_nan()) {
      const std::size_t count = list_of(c, size, read(base, block, work.row), group, work);
      std::fill_n(results, count, nan_result<T>());
      return scatter_listed(base, first, work.ill_conditioned, count, results);
    }
    // (The interval is found in a hundred steps: not for short rows.)
    const bool is_many = size >= 256 && (!has_list || corrections.listed_count >= size / 32);
    const bool has_interval = !std::isnan(c.shared.error_bound) && !jumps(op.parameters.activation.type);
    if (is_many && !c.per_element && (has_interval || beside_infinity)) {
      const std::optional<Place> from = stretch_at(&Place::input, base, first, size);
      const std::optional<Place> to = stretch_at(&Place::output, base, first, size);
      const auto result_of = [&](T x) { return correct_one(x, group, scale, bias, op.parameters, exact); };
      if (from && to && correct_same(c.shared, input_at(*from), size, result_of, output_at(*to), beside_infinity)) {
        return;
      }
    }
    const std::byte* const floats = read(base, block, work.row);
    const std::uint16_t* list = corrections.which == Corrections::all ? nullptr : work.ill_conditioned;
    std::size_t count = has_list ? corrections.listed_count : size;
    if (corrections.which == Corrections::by_bounds) count = list_of(c, size, floats, group, work);
    if (c.per_element) {
      correct_each(base, first, size, {floats, list, count}, group, exact, results);
    } else {
      const ElementParameters given{&scale, &bias, 0};
      correct_elements<T>({op.kernels, op.parameters, group, given, exact}, {floats, list, count}, results);
    }
    scatter_listed(base, first, list, count, results);
  }
  /// Corrects a row of at least 16 elements beside an infinity, or whose ill-conditioned elements are all the same
  /// number, or says that they are not. It is rows of 16 columns, the last of which overlaps the one before.
  template <class ResultOf>
  bool correct_same(const SharedCoefficients<Real>& c, const std::byte* from, std::size_t size,
                    const ResultOf& result_of, std::byte* to, bool beside_infinity) const noexcept {
    constexpr std::size_t width = normalization_lanes;
    const std::size_t rows = (size + width - 1) / width;
    std::int64_t offset[summation_block / width];
    for (std::size_t k = 0; k < rows; ++k) {
      offset[k] = static_cast<std::int64_t>((std::min)(k * width, size - width) * sizeof(T));
    }
    std::optional<BitsOf<T>> known;  // (mostly the same in all columns)
    T result{};
    const auto known_result_of = [&](std::size_t, T element) {
      if (known != std::bit_cast<BitsOf<T>>(element)) result = result_of(element);
      known = std::bit_cast<BitsOf<T>>(element);
      return result;
    };
    const ElementRows all{from, offset, to, offset, rows, width, size / width};
    if (beside_infinity) {
      correct_by_sign<T>(op.kernels.has_fma, all, 0xFFFF, known_result_of);
      return true;
    }
    const auto interval_of = [interval = ill_conditioned_elements<T>(c)](std::size_t) { return interval; };
    return correct_repeated<T>(op.kernels.has_fma, all, 0xFFFF, interval_of, known_result_of) == 0;
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
      const bool is_exact = is_half && run_.op.count <= max_exact_halves;
      if (is_exact || run_.op.parameters.center == Center::zero) return group_.mean;
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
      float space[summation_block];
      ExactLanes means;
      if (mean_of != nullptr) {
        std::fill_n(means.high, normalization_lanes, mean_of->high);
        std::fill_n(means.low, normalization_lanes, mean_of->low);
      }
      ExactLanes lanes{};
      for (std::uint64_t c = 0; c < run_.op.blocks; ++c) {
        run_.op.kernels.ill_conditioned->add_exact(run_.read(base_, c, space), run_.block_size(c),
                                                   mean_of != nullptr ? &means : nullptr, lanes);
      }
      return average_of(run_.op.kernels.has_fma, lanes, run_.op.count);
    }

    const RowExecution& run_;
    const Place& base_;
    const GroupCoefficients& group_;
    ExactSlot& known_;
  };

  /// The results of one summation block, of which `results` says what it is computed from.
  Corrections normalize(const Place& base, std::uint64_t block, Results<Real>& results, const GroupCoefficients& group,
                        Workspace<T>& work, Index ahead = 0) const noexcept {
    const std::size_t size = block_size(block);
    const std::uint64_t first = block * summation_block;
    const std::optional<Place> place = stretch_at(&Place::output, base, first, size);
    std::byte* const to = place ? output_at(*place) : nullptr;
    const BlockCoefficients c = coefficients_of(base, first, size, group, work);
    const Corrections corrections = normalize_row(c, results, size, to, group, work);
    if (!place) scatter(base, first, size, work.result, ahead);
    return corrections;
  }
  /// For `normalize`: from floats, or from what is converted already.
  Results<Real> results_from(const std::byte* floats) const noexcept {
    return row_results<Real>(floats, nullptr, no_segment, upper_bound_of(op.parameters.activation.type));
  }
  Results<Real> results_of(const Real* converted) const noexcept {
    return converted_row(converted, nullptr, no_segment, upper_bound_of(op.parameters.activation.type));
  }
  static constexpr Segment no_segment{};

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
