// scalar.hpp: the tiles in plain C++: what every other set must equal.
#pragma once

#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/int8/portable.hpp"
#include "dmlref/requantize/scalar.hpp"

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
  const TileOperands& o = t.operands;
  std::uint32_t acc[rows][lanes];
  for (std::ptrdiff_t r = 0; r < R; ++r) {
    for (std::ptrdiff_t l = 0; l < lanes; ++l) {
      acc[r][l] = static_cast<std::uint32_t>(t.offsets.channel[PixelsInLanes ? r : l]);
    }
  }
  const std::uint8_t* weights = o.weights;
  for (std::ptrdiff_t k = 0; k < o.steps; ++k, weights += o.weight_step) {
    const std::uint8_t* activations = o.activations + o.offsets[k];
    for (std::ptrdiff_t r = 0; r < R; ++r) {
      for (std::ptrdiff_t l = 0; l < lanes; ++l) {
        const std::ptrdiff_t pixel = PixelsInLanes ? l : r, channel = PixelsInLanes ? r : l;
        acc[r][l] = dot(acc[r][l], activations + pixel * o.pixel_step, weights + 4 * channel);
      }
    }
  }
  for (std::ptrdiff_t r = 0; r < R; ++r) {
    for (std::ptrdiff_t l = 0; l < lanes; ++l) t.sums.at[r * t.sums.pitch + l] = static_cast<std::int32_t>(acc[r][l]);
  }
}

template <bool PixelsInLanes, int... R>
constexpr void set_tiles(Tiles& tiles) noexcept {
  tiles.set(1, Tile{R, &tile<PixelsInLanes, R>}...);
}

constexpr Kernels make_kernels() noexcept {
  Kernels k = portable::make_helpers();
  k.lanes = lanes;
  set_tiles<false, 1, 2, 4>(k.channel_tiles);
  set_tiles<true, 1, 2, 4>(k.pixel_tiles);
  return k;
}
inline constexpr Kernels kernels = make_kernels();

}  // namespace fast::qlc::scalar
DMLREF_END
