// small_groups.hpp: mean and coefficients of a group of one chunk in few operations, because every row waits for them.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

#include "dmlref/config.hpp"
#include "dmlref/operators/mean_variance_normalization/reference.hpp"
#include "dmlref/reference/fma.hpp"

DMLREF_BEGIN
namespace fast::normalization {

/// What reference::merge_chunks and GroupCoefficients::of make of a single chunk. The variance, which hardly any group
/// needs, waits for `complete`.
struct SmallGroup {
  std::size_t size;
  double count;
  double inverse;  // 1 / count
  bool normalize_variance;
  double epsilon;

  SmallGroup(std::size_t elements, const reference::NormalizationParameters& parameters) noexcept
      : size(elements),
        count(static_cast<double>(elements)),
        inverse(1.0 / count),
        normalize_variance(parameters.normalize_variance),
        epsilon(static_cast<double>(parameters.epsilon)) {}

  /// From the sums of a chunk; `shifted_sums(pivot)` gives those of (x - pivot), where they are needed.
  template <class ShiftedSums>
  reference::GroupCoefficients coefficients(reference::SumAndSquare sums,
                                            const ShiftedSums& shifted_sums) const noexcept {
    constexpr double most = (std::numeric_limits<double>::max)();
    // (As reference::needs_pivot and chunk_from_sums, whose quotient each chunk would wait for.)
    const double deviations = reference::fma(-sums.sum, sums.sum * inverse, sums.square);
    if (sums.square <= most && !(deviations * 4096.0 >= sums.square)) {
      return of(reference::chunk_from(size, [&](double pivot) { return pivot == 0.0 ? sums : shifted_sums(pivot); }));
    }
    return of({sums.sum, 0, deviations < 0.0 ? 0.0 : deviations, sums.square});
  }

  static void complete(reference::GroupCoefficients& c, double count) noexcept {
    c.variance = reference::divide(c.variance, count);
  }

 private:
  reference::GroupCoefficients of(const reference::ChunkStatistics& chunk) const noexcept {
    constexpr double most = (std::numeric_limits<double>::max)();
    reference::GroupCoefficients c;
    const reference::DoubleDouble mean = reference::divide(reference::fast_two_sum(chunk.sum, chunk.sum_low), count);
    c.mean = std::fabs(mean.high) <= most ? mean : reference::DoubleDouble{chunk.sum, 0};
    const bool near_zero = c.mean.high * c.mean.high <= 16.0 * (chunk.deviations * inverse);
    c.shift = near_zero ? 0.0 : c.mean.high;
    c.rest = near_zero ? c.mean.high : c.mean.low;
    const double square = chunk.magnitude * inverse;
    double amplification = 0;
    if (normalize_variance) {
      c.rate = 1.0 / std::sqrt(reference::fma(chunk.deviations, inverse, epsilon));
      amplification = square * c.rate * c.rate;
    }
    c.careful_slope_error = std::sqrt(square * inverse) * 0x1p-21;
    c.slope_error = reference::fma(std::fabs(c.rest), 0x1p-25, c.careful_slope_error);
    c.offset_error = reference::fma(amplification, 0x1p-24, 0x1p-24);
    c.careful_offset_error = amplification * 0x1p-24;
    c.variance = {chunk.deviations, 0};
    return c;
  }
};

}  // namespace fast::normalization
DMLREF_END
