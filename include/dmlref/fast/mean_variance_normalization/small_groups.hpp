// small_groups.hpp: mean and coefficients of a group of one chunk in few operations, because every row waits for them.
#pragma once

#include <cmath>
#include <limits>

#include "dmlref/config.hpp"
#include "dmlref/reference/mean_variance_normalization.hpp"

DMLREF_BEGIN
namespace fast::normalization {

/// What reference::merge_chunks and GroupCoefficients::of make of a single chunk of `count` elements. `inverse` is
/// 1 / count.
inline reference::GroupCoefficients coefficients_of_chunk(
    const reference::ChunkStatistics& chunk, double count, double inverse,
    const reference::NormalizationParameters& parameters) noexcept {
  constexpr double most = (std::numeric_limits<double>::max)();
  reference::GroupCoefficients c;
  const reference::DoubleDouble mean = reference::divide(reference::fast_two_sum(chunk.sum, chunk.sum_low), count);
  c.mean = std::fabs(mean.high) <= most ? mean : reference::DoubleDouble{chunk.sum, 0};
  const bool small = c.mean.high * c.mean.high <= 16.0 * (chunk.deviations * inverse);
  c.shift = small ? 0.0 : c.mean.high;
  c.rest = small ? c.mean.high : c.mean.low;
  const double square = chunk.magnitude * inverse;
  double amplification = 0;
  if (parameters.normalize_variance) {
    c.rate = 1.0 / std::sqrt(std::fma(chunk.deviations, inverse, static_cast<double>(parameters.epsilon)));
    amplification = square * c.rate * c.rate;
  }
  c.careful_slope_doubt = std::sqrt(square * inverse) * 0x1p-21;
  c.slope_doubt = std::fma(std::fabs(c.rest), 0x1p-25, c.careful_slope_doubt);
  c.offset_doubt = std::fma(amplification, 0x1p-24, 0x1p-24);
  c.careful_offset_doubt = amplification * 0x1p-24;
  c.variance = reference::divide(reference::DoubleDouble{chunk.deviations, 0}, count);
  return c;
}

}  // namespace fast::normalization
DMLREF_END
