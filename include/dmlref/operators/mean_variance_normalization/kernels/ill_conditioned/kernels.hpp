// kernels.hpp: what an instruction set does for results that are ill-conditioned: found in vectors, and computed again
// in vectors of double-doubles.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/desc/activation.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/kernels.hpp"
#include "dmlref/operators/mean_variance_normalization/reference.hpp"
#include "dmlref/reference/double_double.hpp"

DMLREF_BEGIN
namespace fast::normalization {

using reference::DoubleDouble;

/// Elements of one group that are computed again. Whole vectors of eight are read: what is beyond `count` are numbers.
struct Batch {
  static constexpr std::size_t capacity = 128;
  std::size_t count;
  alignas(64) double x[capacity];
  alignas(64) double scale[capacity];     ///< with the activation's linear part,
  alignas(64) double bias[capacity];      ///< as is the bias,
  alignas(64) double bias_low[capacity];  ///< an unevaluated sum of two doubles
  alignas(64) double value[capacity];
};

/// The mean of a group, or 0, and 1 / sqrt(variance + epsilon) or 1.
struct MeanAndRate {
  DoubleDouble mean;
  DoubleDouble rate;
  double noise;  ///< reference::quotient_noise
};

/// The lanes of a group's exact sums, or sums (means, …) of 16 neighbouring columns.
struct ExactLanes {
  alignas(64) double high[normalization_lanes];
  alignas(64) double low[normalization_lanes];

  DoubleDouble total() const noexcept {
    double exact = 0;
    bool is_exact = true;
    for (std::size_t lane = 0; lane < normalization_lanes; ++lane) {
      const DoubleDouble next = reference::two_sum(exact, high[lane]);
      exact = next.high;
      is_exact = is_exact && next.low == 0.0 && low[lane] == 0.0;
    }
    if (is_exact) return {exact, 0};  // the same number, after a third of the latency
    DoubleDouble sum;
    for (std::size_t lane = 0; lane < normalization_lanes; ++lane) {
      sum = reference::add(sum, reference::fast_two_sum(high[lane], low[lane]));
    }
    return sum;
  }
};

/// What the error bounds of a group's elements share; see reference::ElementCoefficients.
template <class Real>
struct GroupErrors {
  Real size_of_mean, rest, rate, slope_error, offset_error;
};
inline GroupErrors<double> errors32(const GroupCoefficients& group) noexcept {
  return {std::fabs(group.mean.high), group.rest, group.rate, group.slope_error, group.offset_error};
}
inline GroupErrors<float> errors16(const GroupCoefficients& group) noexcept {
  const auto shift = static_cast<float>(group.mean.high);
  return {std::fabs(shift), static_cast<float>((group.mean.high - shift) + group.mean.low),
          static_cast<float>(group.rate), static_cast<float>(group.slope_error * 0x1p-13), 0x1p-9f};
}

template <class Real>
inline GroupErrors<Real> errors_of(const GroupCoefficients& group) noexcept {
  if constexpr (std::is_same_v<Real, double>) {
    return errors32(group);
  } else {
    return errors16(group);
  }
}

/// The kernels of one instruction set. Results are the same bits in each.
struct IllConditionedKernels {
  /// The error bound for a scale and a bias each; NaN where all is computed again. Whole vectors are read and written.
  void (*error_bounds32)(const double* scale, const double* bias, std::size_t count, const GroupErrors<double>& group,
                         double* bounds);
  void (*error_bounds16)(const float* scale, const float* bias, std::size_t count, const GroupErrors<float>& group,
                         float* bounds);
  /// Lists the values that are ill-conditioned, as the reference says. `step` 1: each has its bound; 0: all have one.
  /// The list holds up to `count`; what lies behind the listed ones in it may be anything.
  std::size_t (*list32)(const Activation&, const double* values, std::size_t count, const double* bounds,
                        std::size_t step, std::uint16_t* list);
  std::size_t (*list16)(const Activation&, const float* values, std::size_t count, const float* bounds,
                        std::size_t step, std::uint16_t* list);
  /// Values in double, and from mean and rate (of the summation blocks' statistics) where they are ill-conditioned.
  /// Lists those that need exact statistics.
  std::size_t (*recompute)(Batch&, const Activation&, const GroupCoefficients&, const MeanAndRate&,
                           std::uint16_t* pending);
  /// Values from exact statistics; after the activation if it jumps.
  void (*recompute_exactly)(Batch&, const Activation&, const MeanAndRate&);
  /// Adds floats (`means` null) to lanes number i % 16, or their squared distances from the lanes' means.
  void (*add_exact)(const std::byte* floats, std::size_t count, const ExactLanes* means, ExactLanes& lanes);

  /// By type: of float32, of float16.
  void error_bounds(const double* scale, const double* bias, std::size_t count, const GroupErrors<double>& group,
                    double* bounds) const noexcept {
    error_bounds32(scale, bias, count, group, bounds);
  }
  void error_bounds(const float* scale, const float* bias, std::size_t count, const GroupErrors<float>& group,
                    float* bounds) const noexcept {
    error_bounds16(scale, bias, count, group, bounds);
  }
  std::size_t list(const Activation& activation, const double* values, std::size_t count, const double* bounds,
                   std::size_t step, std::uint16_t* to) const noexcept {
    return list32(activation, values, count, bounds, step, to);
  }
  std::size_t list(const Activation& activation, const float* values, std::size_t count, const float* bounds,
                   std::size_t step, std::uint16_t* to) const noexcept {
    return list16(activation, values, count, bounds, step, to);
  }
};

}  // namespace fast::normalization
DMLREF_END
