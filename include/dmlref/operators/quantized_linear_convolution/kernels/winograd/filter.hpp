// filter.hpp: U = G w G^T, packed in the order in which the multiplications read it, and each output channel's sum of
// weights behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/winograd/plan.hpp"
#include "dmlref/view/narrow.hpp"

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
          // |U|: transform.hpp
          dmlref::detail::narrow<std::int16_t>(row[0] * t.filter[j][0] + row[1] * t.filter[j][1] +
                                               row[2] * t.filter[j][2]);
    }
  }
}

/// Blocks [first, last) of 16 output channels, which share cache lines. Unsigned filters are shifted by -128.
inline void pack_filter(const Plan& p, const std::byte* filter, std::byte* to, Index first, Index last) noexcept {
  const Geometry& g = p.g;
  const Tiling& t = p.tiling;
  const Positions positions = positions_of(t.transform());
  auto* const u = reinterpret_cast<std::int16_t*>(to);
  auto* const sums = reinterpret_cast<std::int32_t*>(to + p.filter_sums_at());
  std::memset(u + t.filter_at(first, 0), 0, static_cast<std::size_t>(2 * (last - first) * t.filter_at(1, 0)));
  std::memset(sums + first * block, 0, static_cast<std::size_t>(4 * (last - first) * block));
  for (Index at = first; at < last; ++at) {
    for (Index split = 0; split < t.splits; ++split) {
      const Index begin = t.split_at(split), end = t.split_at(split + 1);
      for (Index c = begin; c < smaller(end, g.in_channels); ++c) {
        for (Index output = at * block; output < smaller((at + 1) * block, g.out_channels); ++output) {
          const auto* from = reinterpret_cast<const std::uint8_t*>(filter) + output * g.filter.n + c * g.filter.c;
          std::int32_t w[3][3];
          for (Index y = 0; y < 3; ++y) {
            for (Index x = 0; x < 3; ++x) {
              const std::uint8_t byte = from[y * g.filter.y + x * g.filter.x];
              w[y][x] = g.filter_signed ? static_cast<std::int8_t>(byte) : byte - 128;
              sums[output] += w[y][x];
            }
          }
          const Index pair = (c - begin) / 2 * block + output % block;
          transform_kernel(t.transform(), positions, w, u + t.filter_at(at, split) + 2 * pair + c % 2,
                           (end - begin) * block);
        }
      }
    }
  }
}

}  // namespace fast::qlc::winograd
DMLREF_END
