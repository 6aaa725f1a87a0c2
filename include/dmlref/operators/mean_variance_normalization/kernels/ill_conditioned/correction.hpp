// correction.hpp: ill-conditioned elements of a group computed again as the reference does, with as many bits as it
// takes: in batches, and the group's exact statistics once.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/elements.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/ill_conditioned/kernels.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/scalar.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/targets.hpp"
#include "dmlref/operators/mean_variance_normalization/reference.hpp"

DMLREF_BEGIN
namespace fast::normalization {

/// A value that the first task that needs it computes. Tasks that need it at the same time compute it each, rather than
/// wait.
template <class Value>
class Published {
 public:
  template <class Compute>
  Value get(const Compute& compute) noexcept {
    if (state_.load(std::memory_order_acquire) == there) return value_;
    const Value value = compute();
    std::uint32_t expected = none;
    if (state_.compare_exchange_strong(expected, writing, std::memory_order_relaxed)) {
      value_ = value;
      state_.store(there, std::memory_order_release);
    }
    return value;
  }

 private:
  static constexpr std::uint32_t none = 0, writing = 1, there = 2;
  std::atomic<std::uint32_t> state_{none};
  Value value_;
};

/// What reference::ExactStatistics says of a group; the variance takes a pass of its own.
class ExactGroup {
 public:
  virtual DoubleDouble mean() noexcept = 0;
  virtual DoubleDouble variance() noexcept = 0;

 protected:
  ~ExactGroup() = default;
};

/// The mean of so many float16 is exact without it: they are multiples of 2^-24, their sum in two doubles has no error.
inline constexpr std::uint64_t max_exact_halves = std::uint64_t{1} << 27;

/// Those of a group that are there already.
struct ExactSlot {
  Published<DoubleDouble> mean, variance;
};

/// Scale and bias of elements, without the activation's linear part: one each (`step` 1) from element `first` on, or
/// one for all (0).
struct ElementParameters {
  const float* scale;
  const float* bias;
  std::size_t step;
  std::size_t first = 0;
};

/// Whether a float lies half-way between two halves, so that a number that was rounded to it may round otherwise.
inline bool is_half_way(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (!(std::fabs(x) < 0x1p-14f)) return (bits & 0x1FFFu) == 0x1000u;  // NaN, too
  const float doubled = std::fabs(x) * 0x1p25f;                        // below 2^11
  const auto whole = static_cast<std::uint32_t>(doubled);
  return static_cast<float>(whole) == doubled && (whole & 1u) != 0;
}

/// Rounds values to T, after their activation unless they are `activated`.
template <class T>
DMLREF_NOINLINE inline void round_values(const TargetKernels& kernels, const Activation& activation, bool activated,
                                         const double* values, std::size_t count, T* results) noexcept {
  constexpr bool is_half = std::is_same_v<T, half>;
  float space[is_half ? Batch::capacity : 1];
  float* floats = space;
  if constexpr (!is_half) floats = results;
  const Finish finish = activated ? Finish::identity : finish_of(activation.type);
  const float upper = upper_bound_of(activation.type);
  if (finish == Finish::unrounded) {
    kernels.activation->apply32(activation, values, reinterpret_cast<std::byte*>(floats), count, false,
                                address_of(values));
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      floats[i] = static_cast<float>(finish == Finish::clamped ? scalar::finished<Finish::clamped>(values[i], upper)
                                                               : values[i]);
    }
  }
  if constexpr (is_half) {
    // (-0, so that no sign is lost.)
    std::uint16_t list[Batch::capacity];
    const Segment all{0, 0, count};
    auto rounded = row_results<float>(reinterpret_cast<const std::byte*>(floats), reinterpret_cast<std::byte*>(results),
                                      all, upper);
    rounded.list = list;
    kernels.rows->float16.shared[static_cast<std::size_t>(Finish::identity)](rounded, {0.0f, 1.0f, -0.0f, 0.0f});
    const double a = activation.parameters[0];
    const double b = activation.parameters[1];
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_half_way(floats[i])) continue;
      results[i] = half(activated ? values[i] : reference::activate_after_line(activation.type, values[i], a, b));
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (floats[i] != floats[i]) results[i] = nan_result<T>();
  }
}

DMLREF_NOINLINE inline DoubleDouble rate_of(bool has_fma, DoubleDouble variance,
                                            const reference::NormalizationParameters& parameters) noexcept {
  DoubleDouble rate{1, 0};
  if (!parameters.normalize_variance) return rate;
  with_fma(has_fma,
           [&] { rate = reference::inverse_sqrt(reference::add(variance, static_cast<double>(parameters.epsilon))); });
  return rate;
}
DMLREF_NOINLINE inline DoubleDouble average_of(bool has_fma, const ExactLanes& lanes, std::uint64_t count) noexcept {
  DoubleDouble average;
  with_fma(has_fma, [&] { average = reference::divide(lanes.total(), static_cast<double>(count)); });
  return average;
}
/// The same of 16 columns, which lie side by side in each of the lanes.
DMLREF_NOINLINE inline ExactLanes averages_of(bool has_fma, const ExactLanes (&lanes)[normalization_lanes],
                                              std::uint64_t count) noexcept {
  ExactLanes average{};
  with_fma(has_fma, [&] {
    for (const ExactLanes& lane : lanes) {
      for (std::size_t c = 0; c < normalization_lanes; ++c) {
        const DoubleDouble sum =
            reference::add({average.high[c], average.low[c]}, reference::fast_two_sum(lane.high[c], lane.low[c]));
        average.high[c] = sum.high;
        average.low[c] = sum.low;
      }
    }
    for (std::size_t c = 0; c < normalization_lanes; ++c) {
      const DoubleDouble of = reference::divide({average.high[c], average.low[c]}, static_cast<double>(count));
      average.high[c] = of.high;
      average.low[c] = of.low;
    }
  });
  return average;
}

/// Whether elements that all equal the exact mean give the same value whatever the variance is.
inline bool ignores_variance(DoubleDouble mean, const reference::NormalizationParameters& parameters) noexcept {
  return mean.low == 0.0 && (parameters.epsilon > 0.0f || !parameters.normalize_variance);
}

/// What values from exact statistics take.
inline MeanAndRate exact_of(bool has_fma, const Batch& batch, ExactGroup& exact,
                            const reference::NormalizationParameters& parameters) noexcept {
  const DoubleDouble mean = exact.mean();
  bool none_deviates = ignores_variance(mean, parameters);
  for (std::size_t i = 0; i < batch.count && none_deviates; ++i) none_deviates = batch.x[i] == mean.high;
  const double noise = reference::quotient_noise(parameters);
  if (none_deviates || !parameters.normalize_variance) return {mean, {1, 0}, noise};
  return {mean, rate_of(has_fma, exact.variance(), parameters), noise};
}

/// Makes whole vectors of a batch.
inline void pad(Batch& batch) noexcept {
  const std::size_t whole = (batch.count + 7) / 8 * 8;
  for (std::size_t i = batch.count; i < whole; ++i) {
    batch.x[i] = batch.x[batch.count - 1];
    batch.scale[i] = batch.scale[batch.count - 1];
    batch.bias[i] = batch.bias[batch.count - 1];
    batch.bias_low[i] = batch.bias_low[batch.count - 1];
  }
}

/// Elements of a group that are to be computed again: those of `floats` that `list` numbers, or (null) the first.
struct Chosen {
  const std::byte* floats;
  const std::uint16_t* list;
  std::size_t count;

  std::size_t number(std::size_t k) const noexcept { return list != nullptr ? list[k] : k; }
};

/// Whether all results are NaN; then none need be computed.
inline bool gives_nan(const GroupCoefficients& group, float scale = 1, float bias = 0) noexcept {
  return std::isnan(group.mean.high) || std::isnan(group.rate) || std::isnan(scale) || std::isnan(bias);
}
/// Whether a group has an infinite element and no mean. Its mean square is infinite, so that slopes are 0: results of
/// one scale and bias depend on whether elements are finite and, beside a bias of -0, on their signs.
inline bool has_infinity(const GroupCoefficients& group) noexcept {
  return std::isnan(group.careful_slope_error) && !gives_nan(group);
}
/// What a kernel of float16 takes: coefficients that list nothing where error bounds do not say what is computed again.
inline SharedCoefficients<float> quiet(const SharedCoefficients<float>& c, const GroupCoefficients& group) noexcept {
  if (!std::isnan(c.error_bound)) return c;
  return has_infinity(group) ? SharedCoefficients<float>{0, c.slope, c.offset, 0}
                             : SharedCoefficients<float>{0, 0, 0, 0};
}
inline const SharedCoefficients<double>& quiet(const SharedCoefficients<double>& c, const GroupCoefficients&) noexcept {
  return c;
}

/// Which results of a summation block are computed again.
struct Corrections {
  enum Which {
    listed,     ///< those in a list,
    by_bounds,  ///< those that their error bounds say, which are not listed yet,
    all,
  };
  Which which = listed;
  std::size_t listed_count = 0;

  bool any() const noexcept { return which != listed || listed_count > 0; }
};

/// What results of a group take beside their elements.
struct GroupInUse {
  const TargetKernels& kernels;
  const reference::NormalizationParameters& parameters;
  const GroupCoefficients& group;
  const ElementParameters& given;
  ExactGroup& exact;
};

/// Results of those elements of a batch that need exact statistics.
template <class T>
inline void correct_exactly(const GroupInUse& in, const std::uint16_t* pending, std::size_t count, Batch& batch,
                            T* results) noexcept {
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t i = pending[k];
    batch.x[k] = batch.x[i];
    if (in.given.step == 0) continue;
    batch.scale[k] = batch.scale[i];
    batch.bias[k] = batch.bias[i];
    batch.bias_low[k] = batch.bias_low[i];
  }
  batch.count = count;
  pad(batch);
  const Activation& activation = in.parameters.activation;
  in.kernels.ill_conditioned->recompute_exactly(batch, activation,
                                                exact_of(in.kernels.has_fma, batch, in.exact, in.parameters));
  T exact_results[Batch::capacity];
  round_values(in.kernels, activation, jumps(activation.type), batch.value, count, exact_results);
  for (std::size_t k = 0; k < count; ++k) results[pending[k]] = exact_results[k];
}

/// Results of chosen elements, batch by batch.
template <class T>
DMLREF_NOINLINE inline void correct_batches(const GroupInUse& in, const Chosen& chosen, T* results) noexcept {
  const auto line = reference::LinearPart::of(in.parameters.activation);
  const MeanAndRate careful{in.group.mean, rate_of(in.kernels.has_fma, in.group.variance, in.parameters),
                            reference::quotient_noise(in.parameters)};
  Batch batch;
  std::uint16_t pending[Batch::capacity];
  const auto set_parameters = [&](std::size_t k, std::size_t i) {  // (Both products are exact.)
    batch.scale[k] = line.factor * static_cast<double>(in.given.scale[i]);
    const DoubleDouble bias = reference::two_sum(line.factor * static_cast<double>(in.given.bias[i]), line.addend);
    batch.bias[k] = bias.high;
    batch.bias_low[k] = bias.low;
  };
  if (in.given.step == 0) {
    set_parameters(0, 0);
    const std::size_t filled = (std::min)(chosen.count, Batch::capacity);
    std::fill_n(batch.scale, filled, batch.scale[0]);
    std::fill_n(batch.bias, filled, batch.bias[0]);
    std::fill_n(batch.bias_low, filled, batch.bias_low[0]);
  }
  for (std::size_t first = 0; first < chosen.count; first += Batch::capacity) {
    const std::size_t count = (std::min)(chosen.count - first, Batch::capacity);
    for (std::size_t k = 0; k < count; ++k) {
      float x;
      std::memcpy(&x, chosen.floats + chosen.number(first + k) * sizeof(float), sizeof x);
      batch.x[k] = static_cast<double>(x);
    }
    for (std::size_t k = 0; k < count && in.given.step != 0; ++k) {
      set_parameters(k, chosen.number(first + k) - in.given.first);
    }
    batch.count = count;
    pad(batch);
    const std::size_t left =
        in.kernels.ill_conditioned->recompute(batch, in.parameters.activation, in.group, careful, pending);
    round_values(in.kernels, in.parameters.activation, false, batch.value, count, results + first);
    if (left > 0) correct_exactly(in, pending, left, batch, results + first);
  }
}

/// The different ones among chosen elements: ill-conditioned results of one scale and bias lie close together, so that
/// often few floats give them.
struct Different {
  static constexpr std::size_t max = 8;
  std::uint16_t list[max];  // the first of each
  std::size_t count = 0;

  /// Whether there are so few; `places` then says which one each is.
  bool find(const Chosen& chosen, std::uint8_t* places) noexcept {
    const auto bits_of = [&chosen](std::size_t k) {
      std::uint32_t bits;
      std::memcpy(&bits, chosen.floats + chosen.number(k) * sizeof(float), sizeof bits);
      return bits;
    };
    std::uint32_t seen[max]{bits_of(0)};
    list[count++] = static_cast<std::uint16_t>(chosen.number(0));
    std::size_t k = 1;
    while (k < chosen.count && bits_of(k) == seen[0]) ++k;  // (often all of them)
    std::fill_n(places, k, std::uint8_t{0});
    for (std::size_t last = 0; k < chosen.count; ++k) {
      const std::size_t i = chosen.number(k);
      const std::uint32_t bits = bits_of(k);
      if (seen[last] != bits) {
        for (last = 0; last < count && seen[last] != bits;) ++last;
        if (last == max) return false;
        if (last == count) {
          seen[count] = bits;
          list[count++] = static_cast<std::uint16_t>(i);
        }
      }
      places[k] = static_cast<std::uint8_t>(last);
    }
    return true;
  }
};

/// Fewer elements than this are computed one by one.
inline constexpr std::size_t min_batch = 4;

/// One element by the reference: what a batch costs is more than a few of these.
template <class T>
DMLREF_NOINLINE inline T correct_one(T element, const GroupCoefficients& group, float scale, float bias,
                                     const reference::NormalizationParameters& parameters, ExactGroup& exact) noexcept {
  reference::ExactStatistics found;
  const auto statistics = [&]() -> const reference::ExactStatistics& {
    const DoubleDouble mean = exact.mean();
    const bool equal =
        ignores_variance(mean, parameters) && static_cast<double>(static_cast<float>(element)) == mean.high;
    found = {mean, equal || !parameters.normalize_variance ? DoubleDouble{1, 0} : exact.variance()};
    return found;
  };
  return reference::normalize_element<T>(element, group, scale, bias, parameters, reference::ExactSource(statistics));
}

/// Computes at most 1024 elements of a group again.
template <class T>
DMLREF_NOINLINE inline void correct_elements(const GroupInUse& in, const Chosen& chosen, T* results) noexcept {
  if (chosen.count < min_batch) {
    for (std::size_t k = 0; k < chosen.count; ++k) {
      const std::size_t i = chosen.number(k);
      float x;
      std::memcpy(&x, chosen.floats + i * sizeof(float), sizeof x);
      const std::size_t own = in.given.step == 0 ? 0 : i - in.given.first;
      results[k] =
          correct_one(static_cast<T>(x), in.group, in.given.scale[own], in.given.bias[own], in.parameters, in.exact);
    }
    return;
  }
  std::uint8_t places[summation_block];
  Different different;
  if (in.given.step == 0 && chosen.count > Different::max && different.find(chosen, places)) {
    T each[Different::max];
    correct_batches(in, {chosen.floats, different.list, different.count}, each);
    if (different.count == 1) {
      std::fill_n(results, chosen.count, each[0]);
    } else {
      for (std::size_t k = 0; k < chosen.count; ++k) results[k] = each[places[k]];
    }
  } else {
    correct_batches(in, chosen, results);
  }
}

}  // namespace fast::normalization
DMLREF_END
