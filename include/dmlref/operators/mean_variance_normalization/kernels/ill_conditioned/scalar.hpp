// scalar.hpp: ill-conditioned results in plain C++: the definition of what the vectors compute, after
// reference::normalize_carefully and reference::ExactStatistics.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "dmlref/config.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/ill_conditioned/kernels.hpp"
#include "dmlref/operators/mean_variance_normalization/reference.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN
namespace fast::normalization::scalar {

template <class Real>
inline void error_bounds(const Real* scale, const Real* bias, std::size_t count, const GroupErrors<Real>& group,
                         Real* bounds) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const Real slope = group.rate * scale[i];
    const Real offset = reference::offset_from(group.rest, slope, bias[i]);
    const Real bound = reference::fma(std::fabs(slope), group.slope_error, std::fabs(bias[i]) * group.offset_error);
    const Real sum = group.size_of_mean + std::fabs(slope) + std::fabs(offset);
    bounds[i] = sum <= (std::numeric_limits<Real>::max)() ? bound : std::numeric_limits<Real>::quiet_NaN();
  }
}

template <class Real>
inline std::size_t list_ill_conditioned_values(const Activation& activation, const Real* values, std::size_t count,
                                               const Real* bounds, std::size_t step, std::uint16_t* list) noexcept {
  const Real a = activation.parameters[0];
  const Real b = activation.parameters[1];
  std::size_t listed = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (reference::is_ill_conditioned(activation.type, values[i], bounds[i * step], a, b)) {
      list[listed++] = static_cast<std::uint16_t>(i);
    }
  }
  return listed;
}

inline DoubleDouble value_from(const Batch& batch, std::size_t i, const MeanAndRate& group) noexcept {
  const DoubleDouble deviation =
      reference::add(DoubleDouble{batch.x[i], 0}, DoubleDouble{-group.mean.high, -group.mean.low});
  return reference::add_bias(reference::multiply(reference::multiply(deviation, group.rate), batch.scale[i]),
                             DoubleDouble{batch.bias[i], batch.bias_low[i]}, group.noise);
}

inline std::size_t recompute(Batch& batch, const Activation& activation, const GroupCoefficients& group,
                             const MeanAndRate& careful, std::uint16_t* pending) noexcept {
  const bool has_jump = jumps(activation.type);
  std::size_t listed = 0;
  for (std::size_t i = 0; i < batch.count; ++i) {
    const auto c = reference::ElementCoefficients<double>::of(group, batch.scale[i], batch.bias[i]);
    batch.value[i] = c.value(batch.x[i]);
    if (c.error_bound != c.error_bound ||
        !reference::is_ill_conditioned(activation.type, batch.value[i], c.error_bound, double{activation.parameters[0]},
                                       double{activation.parameters[1]})) {
      continue;
    }
    if (!has_jump) {
      batch.value[i] = value_from(batch, i, careful).high;
      const double error_bound = reference::fma(std::fabs(c.slope), group.careful_slope_error,
                                                std::fabs(batch.bias[i]) * group.careful_offset_error);
      if (std::fabs(batch.value[i]) >= error_bound) continue;
    }
    pending[listed++] = static_cast<std::uint16_t>(i);
  }
  return listed;
}

inline void recompute_exactly(Batch& batch, const Activation& activation, const MeanAndRate& group) noexcept {
  const bool has_jump = jumps(activation.type);
  for (std::size_t i = 0; i < batch.count; ++i) {
    const DoubleDouble value = value_from(batch, i, group);
    batch.value[i] = has_jump ? reference::activate_exact(activation.type, value, double{activation.parameters[0]},
                                                          double{activation.parameters[1]})
                              : value.high;
  }
}

inline void add_exact(const std::byte* floats, std::size_t count, const ExactLanes* means, ExactLanes& lanes) noexcept {
  const ByteAccess<const float> from{floats};
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t lane = i % normalization_lanes;
    const auto x = static_cast<double>(from.load(static_cast<Index>(i)));
    DoubleDouble term{x, 0};
    if (means != nullptr) {
      term = reference::two_sum(x, -means->high[lane]);
      term = reference::fast_two_sum(term.high, term.low - means->low[lane]);
      term = reference::multiply(term, term);
    }
    const DoubleDouble total = reference::two_sum(lanes.high[lane], term.high);
    lanes.high[lane] = total.high;
    lanes.low[lane] += total.low + term.low;
  }
}

inline const IllConditionedKernels& ill_conditioned_kernels() noexcept {
  static constexpr IllConditionedKernels table{error_bounds<double>,
                                               error_bounds<float>,
                                               list_ill_conditioned_values<double>,
                                               list_ill_conditioned_values<float>,
                                               recompute,
                                               recompute_exactly,
                                               add_exact};
  return table;
}

}  // namespace fast::normalization::scalar
DMLREF_END
