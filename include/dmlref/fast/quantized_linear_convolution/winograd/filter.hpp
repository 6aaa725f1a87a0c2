// filter.hpp: U = G w G^T, packed in the order in which the multiplications read it.
#pragma once

#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/winograd/plan.hpp"

DMLREF_BEGIN
namespace fast::qlc::winograd {

/// One kernel, positions `step` elements apart.
inline void transform_kernel(const Transform& t, const Positions& positions, const std::int32_t (&w)[3][3],
                             std::int16_t* u, Index step) noexcept {
  const int n = t.inputs();
  for (int i = 0; i < n; ++i) {
    std::int32_t row[3];
    for (int k = 0; k < 3; ++k) row[k] = t.filter[i][0] * w[0][k] + t.filter[i][1] * w[1][k] + t.filter[i][2] * w[2][k];
    for (int j = 0; j < n; ++j) {
      const Position& p = positions.at[i][j];
      u[(p.first + p.index) * step] =
          static_cast<std::int16_t>(row[0] * t.filter[j][0] + row[1] * t.filter[j][1] + row[2] * t.filter[j][2]);
    }
  }
}

/// Unsigned filters are shifted by -128. The 16 outputs of a block share their cache lines.
inline void pack_filter(const Geometry& g, const Tiling& t, const std::uint8_t* filter, std::int16_t* u) noexcept {
  std::memset(u, 0, static_cast<std::size_t>(2 * t.filter_elements()));
  const Positions positions = positions_of(t.transform());
  const auto pack = [&](Index output, Index channel, std::int16_t* to, Index step) {
    const std::uint8_t* from = filter + output * g.filter.n + channel * g.filter.c;
    std::int32_t w[3][3];
    for (Index y = 0; y < 3; ++y) {
      for (Index x = 0; x < 3; ++x) {
        const std::uint8_t byte = from[y * g.filter.y + x * g.filter.x];
        w[y][x] = g.filter_signed ? static_cast<std::int8_t>(byte) : byte - 128;
      }
    }
    transform_kernel(t.transform(), positions, w, to, step);
  };
  for (Index first = 0; first < g.out_channels; first += block) {
    const Index outputs = g.out_channels - first < block ? g.out_channels - first : block;
    for (Index chunk = 0; chunk < t.chunks; ++chunk) {
      const Index begin = t.chunk_at(chunk);
      const Index end = t.chunk_at(chunk + 1);
      for (Index c = begin; c < end && c < g.in_channels; ++c) {
        std::int16_t* to = u + t.filter_at(first / block, chunk) + (c - begin) / 2 * 2 * block + c % 2;
        for (Index l = 0; l < outputs; ++l) pack(first + l, c, to + 2 * l, (end - begin) * block);
      }
    }
  }
}

}  // namespace fast::qlc::winograd
DMLREF_END
