// kernels.hpp: the contract between the Winograd convolution's loops and the kernels of an instruction set.
//
// Everything lies with its channels side by side, so that channels are lanes in every step:
//   staged input   row | column | channel                           int16, x - zero point, 0 in the padding
//   V              component | tile | position | channel            int16
//   U              block of 16 outputs | chunk of channels | position | pair of channels | output | channel of the pair
//   M              component | tile | output of the block           int32, modulo 2^32
//   sums           row | column | output of the block               int32
// A component is one position, but with a stride of 2 up to four, whose products are added up.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/kernels.hpp"
#include "dmlref/fast/quantized_linear_convolution/winograd/transform.hpp"

DMLREF_BEGIN
namespace fast::qlc::winograd {

/// Output channels that are multiplied at a time; input channels are filled up to as many.
inline constexpr std::ptrdiff_t block = 16;

/// B^T d B for a row of tiles.
struct InputArgs {
  const std::int16_t* staged;  ///< the first tile's corner; the next tile is `outputs * stride` pixels on
  std::ptrdiff_t row_step, pixel_step;
  std::ptrdiff_t channels;  ///< a multiple of `block`
  std::ptrdiff_t tiles;
  std::int16_t* v;
  std::ptrdiff_t position_step, tile_step;  ///< of one position
  std::ptrdiff_t first_tile;                ///< in V

  /// Where V at a position has the values of one of the tiles.
  std::int16_t* at(const Position& p, std::ptrdiff_t tile) const noexcept {
    return v + p.first * position_step + ((first_tile + tile) * p.depth + p.index) * tile_step;
  }
};

/// M = V U for every component.
struct MultiplyArgs {
  const Transform* transform;
  const std::int16_t* v;
  std::ptrdiff_t position_step, tile_step;  ///< of one position
  std::ptrdiff_t steps;                     ///< pairs of channels of one position, a multiple of 8
  std::ptrdiff_t tiles;
  const std::int16_t* u;
  std::int32_t* m;
  std::ptrdiff_t m_position_step;
};

/// A^T M A for a row of tiles, without the transform's factor.
struct OutputArgs {
  const std::int32_t* m;
  std::ptrdiff_t position_step;
  std::ptrdiff_t tiles;
  std::int32_t* sums;
  std::ptrdiff_t row_step;
  const std::int32_t* offset;  ///< what the sums of the block's outputs start from; null: what they hold
};

/// What depends on the size of a tile.
struct Tiles {
  const Transform* transform;
  void (*input)(const InputArgs&) noexcept;
  void (*output)(const OutputArgs&) noexcept;
  std::ptrdiff_t input_cost, output_cost;  ///< of a tile of `block` channels, staged or written too, in multiplications
};

struct Kernels {
  const qlc::Kernels* shared;  ///< quantize, transpose, add_outer
  Tiles tiles[4];              ///< every size that there is for a stride
  void (*multiply)(const MultiplyArgs&) noexcept;
  /// dst[i * pitch + c] = (rows[c][i] xor flip) - zero, for the 16 rows of one block of channels.
  void (*stage_planes)(const std::uint8_t* const* rows, std::ptrdiff_t count, std::uint8_t flip, std::int32_t zero,
                       std::int16_t* dst, std::ptrdiff_t pitch) noexcept;
  /// dst[i] = (src[i] xor flip) - zero.
  void (*stage_pixels)(const std::uint8_t* src, std::ptrdiff_t count, std::uint8_t flip, std::int32_t zero,
                       std::int16_t* dst) noexcept;
  /// sums[p] = the sum of the `channels` (a multiple of 16) values at src + p * channels.
  void (*sum_channels)(const std::int16_t* src, std::ptrdiff_t channels, std::ptrdiff_t pixels,
                       std::int32_t* sums) noexcept;
};

}  // namespace fast::qlc::winograd
DMLREF_END
