// reference.hpp: MEAN_VARIANCE_NORMALIZATION, MEAN_VARIANCE_NORMALIZATION1 and MEAN_VARIANCE_NORMALIZATION2:
//   output = activation(scale * (x - mean) / sqrt(variance + epsilon) + bias)
// within one unit in the last place, if errors of rounding behave as those of random data do, in an order of operations
// that the shape alone decides (docs/numerics.md).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/config/floating_point.hpp"
#include "dmlref/desc/activation.hpp"
#include "dmlref/desc/half.hpp"
#include "dmlref/operators/mean_variance_normalization/parameters.hpp"
#include "dmlref/reference/activation.hpp"
#include "dmlref/reference/double_double.hpp"
#include "dmlref/reference/fma.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN
namespace reference {

/// The elements of a group, in row-major order, are summed in summation blocks of this many …
inline constexpr std::size_t summation_block = 1024;
/// … and element i of a summation block goes to lane i % 16.
inline constexpr std::size_t normalization_lanes = 16;

/// How many summation blocks `count` elements are …
constexpr std::uint64_t summation_block_count(std::uint64_t count) noexcept {
  return (count + summation_block - 1) / summation_block;
}
/// … and how many elements summation block `block` of them has.
constexpr std::size_t summation_block_size(std::uint64_t count, std::uint64_t block) noexcept {
  return static_cast<std::size_t>(std::min<std::uint64_t>(count - block * summation_block, summation_block));
}

/// What one summation block adds to its group.
struct BlockStatistics {
  double sum = 0;         ///< of the elements, or 0 about 0,
  double sum_low = 0;     ///< as an unevaluated sum of two doubles
  double deviations = 0;  ///< squared, from the summation block's own mean, or from 0, summed
  double magnitude = 0;   ///< the squares that were summed to get there: what the rounding errors are relative to
};

/// Mean and variance of one group.
struct GroupStatistics {
  DoubleDouble mean;
  DoubleDouble variance;  ///< population variance: divided by the count
  double deviations = 0;  ///< the variance before the division
  double magnitude = 0;   ///< sum of the summation blocks'
};

/// Adds lane i + 8 to lane i, then i + 4, i + 2, i + 1.
inline double sum_lanes(std::array<double, normalization_lanes> lane) noexcept {
  for (std::size_t width = normalization_lanes / 2; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) lane[i] += lane[i + width];
  }
  return lane[0];
}

struct SumAndSquare {
  double sum = 0;
  double square = 0;
};

/// Whether the mean is so large beside the deviation (more than 64 of them) that the squares lose what matters. Then
/// the values are summed again after `block_pivot` has been subtracted.
inline bool needs_pivot(std::size_t size, SumAndSquare plain) noexcept {
  const double inverse = 1.0 / static_cast<double>(size);
  const double deviations = reference::fma(-plain.sum, plain.sum * inverse, plain.square);
  return plain.square <= (std::numeric_limits<double>::max)() && !(deviations * 4096.0 >= plain.square);
}

/// The summation block's mean, rounded to float.
inline double block_pivot(std::size_t size, SumAndSquare plain) noexcept {
  return static_cast<float>(plain.sum * (1.0 / static_cast<double>(size)));
}

/// The statistics of a summation block of `size` values from the sums of (x - pivot) and its square.
inline BlockStatistics block_from_sums(std::size_t size, double pivot, SumAndSquare sums) noexcept {
  const double inverse = 1.0 / static_cast<double>(size);
  const double deviations = reference::fma(-sums.sum, sums.sum * inverse, sums.square);
  const DoubleDouble total = two_sum(static_cast<double>(size) * pivot, sums.sum);  // exact product
  return {total.high, pivot == 0.0 ? 0.0 : total.low, deviations < 0.0 ? 0.0 : deviations, sums.square};
}

/// The statistics of a summation block about 0: nothing cancels in the sum of squares, and nothing else is needed.
inline BlockStatistics block_about_zero(double square) noexcept { return {0, 0, square, square}; }

/// The statistics of a summation block; `sums(pivot)` sums (x - pivot) and its square.
template <class Sums>
inline BlockStatistics block_from(std::size_t size, Center center, const Sums& sums) noexcept {
  const SumAndSquare plain = sums(0.0);
  if (center == Center::zero) return block_about_zero(plain.square);
  if (!needs_pivot(size, plain)) return block_from_sums(size, 0.0, plain);
  const double pivot = block_pivot(size, plain);
  return block_from_sums(size, pivot, sums(pivot));
}

/// Sums and squares of 1 to 1024 values.
inline BlockStatistics block_statistics(std::span<const float> values, Center center = Center::mean) noexcept {
  const auto sums_from = [values](double pivot) -> SumAndSquare {
    std::array<double, normalization_lanes> sums{};
    std::array<double, normalization_lanes> squares{};
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double x = values[i] - pivot;
      sums[i % normalization_lanes] += x;
      squares[i % normalization_lanes] = reference::fma(x, x, squares[i % normalization_lanes]);
    }
    return {sum_lanes(sums), sum_lanes(squares)};
  };
  return block_from(values.size(), center, sums_from);
}

/// The statistics of `count` elements from those of their summation blocks, in order: the mean from the sum of sums;
/// the variance within the summation blocks plus the one between them. `block(c)` gives the statistics of summation
/// block c and is called twice.
template <class Block>
inline GroupStatistics merge_blocks(std::uint64_t count, const Block& block) noexcept {
  const std::uint64_t blocks = summation_block_count(count);
  const auto n = static_cast<double>(count);
  GroupStatistics group;
  DoubleDouble sum;
  DoubleDouble within;
  for (std::uint64_t c = 0; c < blocks; ++c) {
    const BlockStatistics part = block(c);
    const DoubleDouble high = two_sum(sum.high, part.sum);
    sum = {high.high, sum.low + (high.low + part.sum_low)};
    const DoubleDouble deviations = two_sum(within.high, part.deviations);
    within = {deviations.high, within.low + deviations.low};
    group.magnitude += part.magnitude;
  }
  const double infinite = sum.high;
  sum = fast_two_sum(sum.high, sum.low);
  group.mean = divide(sum, n);
  if (!(std::fabs(group.mean.high) <= (std::numeric_limits<double>::max)())) group.mean = {infinite, 0};
  double between = 0;
  for (std::uint64_t c = 0; blocks > 1 && c < blocks; ++c) {
    const BlockStatistics part = block(c);
    const auto size = static_cast<double>(summation_block_size(count, c));
    const DoubleDouble mean = divide(fast_two_sum(part.sum, part.sum_low), size);
    const double deviation = (mean.high - group.mean.high) + (mean.low - group.mean.low);
    between = reference::fma(deviation * deviation, size, between);
  }
  const DoubleDouble deviations = two_sum(within.high, within.low + between);
  group.deviations = deviations.high;
  group.variance = divide(deviations, n);
  if (!(within.high <= (std::numeric_limits<double>::max)())) {  // infinite, which it is about 0 alone, or NaN
    group.deviations = within.high;
    group.variance = {within.high, 0};
  }
  return group;
}

/// `read(first, values)` fetches the elements from number `first` on, in row-major order.
template <class Read>
inline GroupStatistics group_statistics(std::uint64_t count, const Read& read, Center center = Center::mean) noexcept {
  return merge_blocks(count, [&](std::uint64_t c) {
    std::array<float, summation_block> values;
    const std::size_t size = summation_block_size(count, c);
    read(c * summation_block, std::span<float>(values.data(), size));
    return block_statistics({values.data(), size}, center);
  });
}

/// The statistics that an operator of these parameters uses; none are 0.
template <class Read>
inline GroupStatistics group_statistics(std::uint64_t count, const Read& read,
                                        const NormalizationParameters& parameters) noexcept {
  if (!parameters.uses_statistics()) return {};
  return group_statistics(count, read, parameters.center);
}

/// Mean and variance of a group to about 100 bits, for the few elements whose result nearly cancels. Element i of the
/// group goes to lane i % 16. `read(first, values)` fetches the elements from number `first` on.
struct ExactStatistics {
  DoubleDouble mean;
  DoubleDouble variance;

  template <class Read>
  static ExactStatistics of(std::uint64_t count, const Read& read, Center center = Center::mean) noexcept {
    ExactStatistics exact;
    if (center == Center::mean)
      exact.mean = divide(sum<false>(count, read, DoubleDouble{}), static_cast<double>(count));
    exact.variance = divide(sum<true>(count, read, exact.mean), static_cast<double>(count));
    return exact;
  }

 private:
  template <bool squared, class Read>
  static DoubleDouble sum(std::uint64_t count, const Read& read, DoubleDouble mean) noexcept {
    std::array<double, normalization_lanes> high{};
    std::array<double, normalization_lanes> low{};
    std::array<float, summation_block> values;
    for (std::uint64_t c = 0; c < summation_block_count(count); ++c) {
      const std::size_t size = summation_block_size(count, c);
      read(c * summation_block, std::span<float>(values.data(), size));
      for (std::size_t i = 0; i < size; ++i) {
        const std::size_t lane = i % normalization_lanes;
        DoubleDouble term{values[i], 0};
        if constexpr (squared) {
          term = two_sum(values[i], -mean.high);
          term = fast_two_sum(term.high, term.low - mean.low);
          term = multiply(term, term);
        }
        const DoubleDouble total = two_sum(high[lane], term.high);
        high[lane] = total.high;
        low[lane] += total.low + term.low;
      }
    }
    DoubleDouble total;
    for (std::size_t lane = 0; lane < normalization_lanes; ++lane) {
      total = add(total, fast_two_sum(high[lane], low[lane]));
    }
    return total;
  }
};

/// LINEAR and the line in HARD_SIGMOID are part of scale and bias, where a sum that cancels is noticed:
///   factor * (scale * z + bias) + addend.
struct LinearPart {
  double factor = 1;
  double addend = 0;

  static LinearPart of(const Activation& activation) noexcept {
    const bool line = activation.type == ActivationType::linear || activation.type == ActivationType::hard_sigmoid;
    return line ? LinearPart{activation.parameters[0], activation.parameters[1]} : LinearPart{};
  }
};

/// The activation `type` without its linear part.
template <class Real>
DMLREF_NOINLINE inline Real activate_after_line(ActivationType type, Real x, Real a, Real b) noexcept {
  if (type == ActivationType::linear) return x;
  if (type == ActivationType::hard_sigmoid) return clamp_to_unit(x);
  return with_activation_type(type, [=](auto known) -> Real { return activate<known()>(x, a, b); });
}

/// How far the mean may be off. 0 is not; but beside an infinite mean square it is NaN, so that each element is
/// computed again: some are NaN.
inline double slope_error_of(double square, double inverse, Center center) noexcept {
  return center == Center::mean ? std::sqrt(square * inverse) * 0x1p-21 : square * 0.0;
}

/// What all elements of one group share: value = (x - mean) * rate * scale + bias.
///
/// A doubt is how small a result may be before the errors of its terms exceed what one ulp allows:
/// slope_error * |rate * scale| + offset_error * |bias|.
struct GroupCoefficients {
  DoubleDouble mean;
  DoubleDouble variance;
  double shift = 0;  ///< what is subtracted from x first: the mean, or 0 where it is small beside the deviation
  double rest = 0;   ///< mean - shift, rounded
  double rate = 1;   ///< 1 / sqrt(variance + epsilon), or 1
  double slope_error = 0;
  double offset_error = 0;
  double careful_slope_error = 0;  ///< the same for values computed from the 106 bits of mean and variance
  double careful_offset_error = 0;

  static GroupCoefficients of(const GroupStatistics& group, std::uint64_t count,
                              const NormalizationParameters& parameters) noexcept {
    const double inverse = 1.0 / static_cast<double>(count);
    const double square = group.magnitude * inverse;
    GroupCoefficients c;
    c.mean = group.mean;
    c.variance = group.variance;
    const bool near_zero = group.mean.high * group.mean.high <= 16.0 * (group.deviations * inverse);
    c.shift = near_zero ? 0.0 : group.mean.high;
    c.rest = near_zero ? group.mean.high : group.mean.low;
    double amplification = 0;
    if (parameters.normalize_variance) {
      c.rate = 1.0 / std::sqrt(reference::fma(group.deviations, inverse, static_cast<double>(parameters.epsilon)));
      amplification = square * c.rate * c.rate;
    }
    c.careful_slope_error = slope_error_of(square, inverse, parameters.center);
    c.slope_error = reference::fma(std::fabs(c.rest), 0x1p-25, c.careful_slope_error);
    c.offset_error = reference::fma(amplification, 0x1p-24, 0x1p-24);
    const std::uint64_t blocks = summation_block_count(count);
    c.careful_offset_error = amplification * 0x1p-24 / (blocks == 1 ? 1.0 : std::sqrt(static_cast<double>(blocks)));
    return c;
  }
};

/// bias - rest * slope. A rest of 0, as it is about 0, takes nothing away, however large the slope.
template <class Real>
inline Real offset_from(Real rest, Real slope, Real bias) noexcept {
  const bool is_number = std::fabs(slope) <= (std::numeric_limits<Real>::max)();
  return rest == 0 && !is_number ? bias : reference::fma(-rest, slope, bias);
}

/// (x - shift) * slope + offset for one element, and when not to trust it: in double for float32, in float for float16.
template <class Real>
struct ElementCoefficients;

template <>
struct ElementCoefficients<double> {
  double shift = 0;
  double slope = 1;
  double offset = 0;
  double error_bound = 0;  ///< |value| below this: compute it again with more bits. NaN: always

  /// `scale` and `bias` include the activation's linear part.
  static ElementCoefficients of(const GroupCoefficients& group, double scale, double bias) noexcept {
    ElementCoefficients c;
    c.shift = group.shift;
    c.slope = group.rate * scale;
    c.offset = offset_from(group.rest, c.slope, bias);
    c.error_bound = reference::fma(std::fabs(c.slope), group.slope_error, std::fabs(bias) * group.offset_error);
    const double sum = std::fabs(group.mean.high) + std::fabs(c.slope) + std::fabs(c.offset);
    if (!(sum <= (std::numeric_limits<double>::max)())) c.error_bound = std::numeric_limits<double>::quiet_NaN();
    return c;
  }

  double value(double x) const noexcept { return reference::fma(x - shift, slope, offset); }
};

template <>
struct ElementCoefficients<float> {
  float shift = 0;
  float slope = 1;
  float offset = 0;
  float error_bound = 0;

  static ElementCoefficients of(const GroupCoefficients& group, double scale, double bias) noexcept {
    const auto s = static_cast<float>(scale);
    const auto b = static_cast<float>(bias);
    ElementCoefficients c;
    c.shift = static_cast<float>(group.mean.high);
    const auto rest = static_cast<float>((group.mean.high - c.shift) + group.mean.low);
    c.slope = static_cast<float>(group.rate) * s;
    c.offset = offset_from(rest, c.slope, b);
    c.error_bound =
        reference::fma(std::fabs(c.slope), static_cast<float>(group.slope_error * 0x1p-13), std::fabs(b) * 0x1p-9f);
    const float sum = std::fabs(c.shift) + std::fabs(c.slope) + std::fabs(c.offset);
    if (!(sum <= (std::numeric_limits<float>::max)())) c.error_bound = std::numeric_limits<float>::quiet_NaN();
    return c;
  }

  float value(float x) const noexcept { return reference::fma(x - shift, slope, offset); }
};

/// What part of a point counts as near it. A power of two: products with it are exact.
template <class Real>
inline constexpr Real near_share = std::is_same_v<Real, double> ? Real{0x1p-24} : Real{0x1p-9};

/// Whether `value` is so close to `point` that its rounding errors decide on which side it lies.
template <class Real>
inline bool is_near(Real value, Real point, Real error_bound) noexcept {
  return std::fabs(value - point) <= std::fabs(point) * near_share<Real> + error_bound;
}

/// Whether a value needs more bits: it nearly cancels, is NaN, or lies where the activation jumps or cancels.
template <class Real>
inline bool is_ill_conditioned(ActivationType type, Real value, Real error_bound, Real a, Real b) noexcept {
  if (!(std::fabs(value) >= error_bound)) return true;
  if (type == ActivationType::thresholded_relu) return is_near(value, a, error_bound);
  if (type != ActivationType::shrink) return false;
  return is_near(std::fabs(value), std::fabs(a), error_bound) || is_near(std::fabs(value), std::fabs(b), error_bound);
}

/// The activation of a value of 106 bits.
inline double activate_exact(ActivationType type, DoubleDouble value, double a, double b) noexcept {
  const auto above = [](DoubleDouble v, double point) { return v.high > point || (v.high == point && v.low > 0.0); };
  if (type == ActivationType::thresholded_relu) return above(value, a) ? value.high : 0.0;
  if (type == ActivationType::shrink) {
    if (above(value, b)) return (value.high - a) + value.low;
    return above({-value.high, -value.low}, b) ? (value.high + a) + value.low : 0.0;
  }
  return activate_after_line(type, value.high, a, b);
}

/// Where the ExactStatistics of a group come from: a callable by reference, so that the exact fallback, which hardly
/// any element needs, is compiled once.
class ExactSource {
 public:
  template <class Exact>
  explicit ExactSource(const Exact& exact) noexcept
      : exact_(&exact),
        call_([](const void* of) -> const ExactStatistics& { return (*static_cast<const Exact*>(of))(); }) {}
  const ExactStatistics& operator()() const noexcept { return call_(exact_); }

 private:
  const void* exact_;
  const ExactStatistics& (*call_)(const void*);
};

/// A quotient by the root of a mean square often is a double, as 1 is in a group of equal elements, or -bias, and
/// biases cancel it, or thresholds equal it. What its 100 bits cannot tell from these is taken for them: parts of so
/// much of it. NaN where quotients have no such habit: no comparison holds then.
inline double quotient_noise(const NormalizationParameters& parameters) noexcept {
  const bool is_quotient = parameters.center == Center::zero && parameters.normalize_variance;
  return is_quotient ? 0x1p-80 : std::numeric_limits<double>::quiet_NaN();
}
/// product + addend, without the noise.
inline DoubleDouble add_bias(DoubleDouble product, DoubleDouble addend, double noise) noexcept {
  if (std::fabs(product.low) <= std::fabs(product.high) * noise) product.low = 0;
  const DoubleDouble sum = add(product, addend);
  return std::fabs(sum.high) <= std::fabs(addend.high) * noise ? DoubleDouble{} : sum;
}

/// An element again, with as many bits as it takes.
DMLREF_NOINLINE inline double normalize_carefully(float x, const GroupCoefficients& group, float scale, float bias,
                                                  const NormalizationParameters& parameters,
                                                  const ExactSource& exact) noexcept {
  const ActivationType type = parameters.activation.type;
  const LinearPart line = LinearPart::of(parameters.activation);
  const double a = parameters.activation.parameters[0];
  const double b = parameters.activation.parameters[1];
  const double s = line.factor * scale;  // exact, as is line.factor * bias: products of two floats
  const DoubleDouble t = two_sum(line.factor * bias, line.addend);
  const auto c = ElementCoefficients<double>::of(group, s, t.high);
  const double value = c.value(x);
  if (c.error_bound != c.error_bound || value != value || !is_ill_conditioned(type, value, c.error_bound, a, b)) {
    return activate_after_line(type, value, a, b);
  }
  const auto value_from = [&](DoubleDouble mean, DoubleDouble variance) {
    DoubleDouble rate{1, 0};
    if (parameters.normalize_variance) rate = inverse_sqrt(add(variance, static_cast<double>(parameters.epsilon)));
    const DoubleDouble deviation = add(DoubleDouble{x, 0}, DoubleDouble{-mean.high, -mean.low});
    return add_bias(multiply(multiply(deviation, rate), s), t, quotient_noise(parameters));
  };
  if (type != ActivationType::thresholded_relu && type != ActivationType::shrink) {
    const DoubleDouble careful = value_from(group.mean, group.variance);
    const double error_bound =
        reference::fma(std::fabs(c.slope), group.careful_slope_error, std::fabs(t.high) * group.careful_offset_error);
    if (std::fabs(careful.high) >= error_bound) return activate_after_line(type, careful.high, a, b);
  }
  const ExactStatistics& statistics = exact();
  return activate_exact(type, value_from(statistics.mean, statistics.variance), a, b);
}

/// The one rounding to the output's type; every NaN becomes the same one.
template <class T, class Real>
inline T round_result(Real value) noexcept {
  if (value != value) {
    if constexpr (std::is_same_v<T, half>)
      return half::from_bits(0x7E00);
    else
      return std::bit_cast<T>(0x7FC00000u);
  }
  return static_cast<T>(value);
}

/// Scale and bias as the activation's linear part leaves them.
struct ScaleAndBias {
  double scale;
  double bias;
  static ScaleAndBias of(const LinearPart& line, float scale, float bias) noexcept {
    return {line.factor * scale, reference::fma(line.factor, static_cast<double>(bias), line.addend)};
  }
};

/// One element, from reading to rounding.
template <class T>
inline T normalize_element(T element, const GroupCoefficients& group, float scale, float bias,
                           const NormalizationParameters& parameters, const ExactSource& exact) noexcept {
  const ActivationType type = parameters.activation.type;
  using Real = std::conditional_t<std::is_same_v<T, half>, float, double>;
  const auto x = static_cast<float>(element);
  const ScaleAndBias sb = ScaleAndBias::of(LinearPart::of(parameters.activation), scale, bias);
  const auto c = ElementCoefficients<Real>::of(group, sb.scale, sb.bias);
  const Real value = c.value(x);
  const Real a = parameters.activation.parameters[0];
  const Real b = parameters.activation.parameters[1];
  if (is_ill_conditioned(type, value, c.error_bound, a, b)) {
    return round_result<T>(normalize_carefully(x, group, scale, bias, parameters, exact));
  }
  return round_result<T>(activate_after_line(type, value, a, b));
}

/// The dimensions in `axes` (reduced) or outside of it (kept), as a shape of the same rank with 1 elsewhere.
inline Shape shape_over(const Shape& shape, AxisSet axes, bool reduced) noexcept {
  Shape part = shape;
  for (std::size_t d = 0; d < part.size(); ++d) {
    if ((((axes >> d) & 1u) != 0) != reduced) part[d] = 1;
  }
  return part;
}

/// The axes of a group: none where an element's result depends on no other.
inline AxisSet group_axes(AxisSet axes, const NormalizationParameters& parameters) noexcept {
  return parameters.uses_statistics() ? axes : AxisSet{0};
}

/// How many groups a tensor of this shape has.
inline std::uint64_t group_count(const Shape& shape, AxisSet axes, const NormalizationParameters& parameters) noexcept {
  return static_cast<std::uint64_t>(element_count(shape_over(shape, group_axes(axes, parameters), false)));
}

/// Normalizes groups from number `first` up to `end`, which is larger.
template <class In, class Out>
inline void normalize_groups(const In& input, const std::optional<In>& scale, const std::optional<In>& bias,
                             const Out& output, AxisSet axes, const NormalizationParameters& parameters,
                             std::uint64_t first, std::uint64_t end) noexcept {
  using T = typename Out::value_type;
  axes = group_axes(axes, parameters);
  const Shape groups = shape_over(input.shape(), axes, false);
  const Shape group = shape_over(input.shape(), axes, true);
  const auto count = static_cast<std::uint64_t>(element_count(group));
  const std::optional<In> scales = scale ? std::optional(scale->broadcast_to(input.shape())) : std::nullopt;
  const std::optional<In> biases = bias ? std::optional(bias->broadcast_to(input.shape())) : std::nullopt;

  Coordinates base = unravel(static_cast<Index>(first), groups);
  for (std::uint64_t number = first; number < end; ++number, advance(base, groups)) {
    const auto position = [&](const Coordinates& within) {
      Coordinates at = base;
      for (std::size_t d = 0; d < at.size(); ++d) at[d] += within[d];
      return at;
    };
    const auto read = [&](std::uint64_t from, std::span<float> values) {
      Coordinates within = unravel(static_cast<Index>(from), group);
      for (float& value : values) {
        value = static_cast<float>(input.load(position(within)));
        advance(within, group);
      }
    };

    const GroupStatistics statistics = group_statistics(count, read, parameters);
    const GroupCoefficients coefficients = GroupCoefficients::of(statistics, count, parameters);
    std::optional<ExactStatistics> found;
    const auto exact = [&]() -> const ExactStatistics& {
      if (!found) found = ExactStatistics::of(count, read, parameters.center);
      return *found;
    };

    const ExactSource source(exact);
    auto within = Coordinates::filled(input.rank(), 0);
    do {
      const Coordinates at = position(within);
      const float s = scales ? static_cast<float>(scales->load(at)) : 1.0f;
      const float b = biases ? static_cast<float>(biases->load(at)) : 0.0f;
      output.store(at, normalize_element<T>(input.load(at), coefficients, s, b, parameters, source));
    } while (advance(within, group));
  }
}

/// DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION1 and 2 on views of float or half. A group is all elements that differ in
/// the coordinates of `axes` alone. `scale` and `bias` are absent (1 and 0), or have the input's rank with 1 where they
/// repeat. The caller's floating-point environment does not matter.
template <class In, class Out>
inline void mean_variance_normalization(const In& input, const std::optional<In>& scale, const std::optional<In>& bias,
                                        const Out& output, AxisSet axes,
                                        const NormalizationParameters& parameters) noexcept {
  dmlref::detail::in_default_environment([&] {
    normalize_groups(input, scale, bias, output, axes, parameters, 0, group_count(input.shape(), axes, parameters));
  });
}

}  // namespace reference
DMLREF_END
