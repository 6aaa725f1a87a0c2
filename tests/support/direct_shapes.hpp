// direct_shapes.hpp: random shapes of convolutions of few channels in each of several groups: what the direct
// convolution is for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/quantized_linear_convolution_case.hpp"
#include "support/random.hpp"

namespace dmlref::test {

/// Few channels in each of several groups, of any kernel.
inline QlcShape random_few_channels(Random& random) {
  QlcShape s;
  do {
    s.batch = pick(random, 1, 2);
    s.groups = pick(random, 2, chance(random, 20) ? 300 : 40);
    s.in_channels = chance(random, 65) ? 1 : pick(random, 2, 4);
    s.out_channels = chance(random, 60) ? 1 : pick(random, 1, 4);
    if (s.in_channels > 1 && chance(random, 60)) s.out_channels = s.in_channels;
    s.flat = chance(random, 10);
    const bool same_kernel = chance(random, 70);
    const std::uint32_t kernel = chance(random, 60) ? 3 : chance(random, 10) ? pick(random, 8, 11) : pick(random, 1, 7);
    const std::uint32_t most = s.groups > 60 ? 12 : chance(random, 10) ? 150 : 40;
    for (std::size_t d = 0; d < 2; ++d) {
      const bool unit = s.flat && d == 0;
      s.in[d] = unit ? 1 : pick(random, 1, most);
      s.kernel[d] = unit ? 1 : same_kernel ? kernel : pick(random, 1, 6);
      s.stride[d] = unit ? 1 : pick(random, 1, chance(random, 20) ? 5 : 2);
      s.dilation[d] = unit || chance(random, 60) ? 1 : pick(random, 1, 6);
      s.start[d] = unit ? 0 : pick(random, 0, chance(random, 10) ? 20 : 3);
      s.end[d] = unit ? 0 : pick(random, 0, chance(random, 10) ? 20 : 3);
    }
  } while (!s.fits());
  return s;
}

/// Depthwise, square kernels and such of three rows: rows and columns about where vectors, strips and parts of strips
/// end.
inline QlcShape random_planes(Random& random) {
  QlcShape s;
  do {
    s.batch = pick(random, 1, 2);
    s.groups = pick(random, 2, chance(random, 10) ? 70 : 9);
    s.out_channels = chance(random, 70) ? 1 : pick(random, 2, 3);
    const std::uint32_t kernel = chance(random, 60) ? 3 : 5;
    const bool square = chance(random, 70);
    const bool same = chance(random, 50);  // one row and column of padding on either side, as most models have
    const bool small = same && chance(random, 50);
    const std::uint32_t stride = small ? 1 : pick(random, 1, 2);
    for (std::size_t d = 0; d < 2; ++d) {
      s.in[d] = small ? pick(random, 3, 15) : chance(random, 50) ? pick(random, 1, 20) : pick(random, 14, 75);
      s.kernel[d] = square ? kernel : d == 0 ? 3 : pick(random, 2, 4);
      s.dilation[d] = square || d == 0 ? 1 : pick(random, 1, 2);
      s.stride[d] = stride;
      s.start[d] = same ? 1 : pick(random, 0, chance(random, 10) ? 90 : 3);
      s.end[d] = same ? 1 : pick(random, 0, chance(random, 10) ? 90 : 3);
    }
  } while (!s.fits());
  return s;
}

/// Depthwise 3x3 and 5x5 kernels of 32 channels, and of about where vectors of 64 end.
inline QlcShape random_columns(Random& random) {
  QlcShape s;
  do {
    s.batch = pick(random, 1, 2);
    s.groups = chance(random, 30) ? 32 : chance(random, 30) ? 64 * pick(random, 1, 3) : pick(random, 33, 210);
    const std::uint32_t kernel = chance(random, 60) ? 3 : 5;
    for (std::size_t d = 0; d < 2; ++d) {
      s.in[d] = pick(random, 1, chance(random, 10) ? 90 : 9);
      s.kernel[d] = kernel;
      s.stride[d] = pick(random, 1, 2);
      s.start[d] = pick(random, 0, chance(random, 10) ? 20 : 3);
      s.end[d] = pick(random, 0, chance(random, 10) ? 20 : 3);
    }
  } while (!s.fits());
  return s;
}

/// Groups of up to 4 channels, of whole vectors often, where they are neighbours.
inline QlcShape random_groups(Random& random) {
  QlcShape s;
  do {
    s.batch = pick(random, 1, 2);
    s.in_channels = chance(random, 70) ? 4 : pick(random, 2, 3);
    s.out_channels = chance(random, 70) ? s.in_channels : pick(random, 1, 4);
    s.groups = chance(random, 60) ? 64 * pick(random, 1, 5) / s.in_channels : pick(random, 2, 70);
    const bool usual = chance(random, 60);
    for (std::size_t d = 0; d < 2; ++d) {
      s.in[d] = pick(random, 1, chance(random, 10) ? 40 : 12);
      s.kernel[d] = usual ? 3 : pick(random, 1, 5);
      s.stride[d] = usual ? 1 : pick(random, 1, 2);
      s.dilation[d] = usual ? 1 : pick(random, 1, 2);
      s.start[d] = usual ? 1 : pick(random, 0, 3);
      s.end[d] = usual ? 1 : pick(random, 0, 3);
    }
  } while (!s.fits());
  return s;
}

}  // namespace dmlref::test
