// scalar.hpp: the tiles in plain C++: what every other set must equal.
#pragma once

#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/requantize/scalar.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/portable.hpp"

DMLREF_BEGIN
namespace fast::qlc::scalar {

inline constexpr std::ptrdiff_t lanes = 8;

/// sum += the four products of a group; kept unsigned: modulo 2^32.
inline std::uint32_t dot(std::uint32_t sum, const std::uint8_t* activation, const std::uint8_t* weight) noexcept {
  for (int e = 0; e < 4; ++e) {
    sum += static_cast<std::uint32_t>(static_cast<std::int32_t>(activation[e]) *
                                      static_cast<std::int32_t>(static_cast<std::int8_t>(weight[e])));
  }
  return sum;
}

template <bool PixelsInLanes, int R>
void tile(const TileArgs& t) noexcept {
  constexpr std::size_t rows = R;
  std::uint32_t acc[rows][lanes];
  const std::int32_t* const per_row = PixelsInLanes ? t.channel_offset : t.pixel_offset;
  const std::int32_t* const per_lane = PixelsInLanes ? t.pixel_offset : t.channel_offset;
  for (std::ptrdiff_t r = 0; r < R; ++r) {
    for (std::ptrdiff_t l = 0; l < lanes; ++l) {
      acc[r][l] = static_cast<std::uint32_t>(per_row[r]) + static_cast<std::uint32_t>(per_lane[l]);
    }
  }
  const std::uint8_t* weights = t.weights;
  for (std::ptrdiff_t k = 0; k < t.steps; ++k, weights += t.weight_step) {
    const std::uint8_t* activations = t.activations + t.offsets[k];
    for (std::ptrdiff_t r = 0; r < R; ++r) {
      for (std::ptrdiff_t l = 0; l < lanes; ++l) {
        acc[r][l] =
            dot(acc[r][l], activations + (PixelsInLanes ? l : r) * t.pixel_step, weights + 4 * (PixelsInLanes ? r : l));
      }
    }
  }
  for (std::ptrdiff_t r = 0; r < R; ++r) {
    for (std::ptrdiff_t l = 0; l < lanes; ++l) t.sums[r * t.sums_pitch + l] = static_cast<std::int32_t>(acc[r][l]);
  }
}

template <bool PixelsInLanes, int... R>
constexpr void set_tiles(Tiles& tiles) noexcept {
  tiles.set(1, Tile{R, &tile<PixelsInLanes, R>}...);
}

constexpr Kernels make_kernels() noexcept {
  Kernels k{lanes,
            4,
            false,
            false,
            {},
            {},
            &portable::interleave<4>,
            &portable::deal,
            &portable::windows<4>,
            &portable::convert<4>,
            &portable::sum_runs<std::uint8_t>,
            &portable::sum_windows,
            &portable::halve_sums,
            &portable::add_outer,
            &requantize::scalar::clamped,
            &portable::transpose};
  set_tiles<false, 1, 2, 4>(k.channel_tiles);
  set_tiles<true, 1, 2, 4>(k.pixel_tiles);
  return k;
}
inline constexpr Kernels kernels = make_kernels();

}  // namespace fast::qlc::scalar
DMLREF_END
