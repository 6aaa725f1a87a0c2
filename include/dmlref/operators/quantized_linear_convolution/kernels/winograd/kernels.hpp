// kernels.hpp: the contract between the Winograd convolution's loops and the kernels of an instruction set.
//
// Everything lies with its channels side by side, so that channels are lanes in every step:
//   staged input   row | column | channel                           int16, unsigned, the zero point in the padding
//   V              component | tile | position | channel            int16
//   U              block of 16 outputs | split of channels | position | pair of channels | output | channel of the pair
//   M              component | tile | output of the block           int32, modulo 2^32
//   sums           row | column | output of the block               int32
// A component is one position, but with a stride of 2 up to four, whose products are added up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>

#include "dmlref/config.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/winograd/transform.hpp"

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

/// What sums begin with: an offset for each output channel, or what they hold already.
enum class SumsBeginWith { offsets, sums };

/// A^T M A for a row of tiles, without the transform's factor.
struct OutputArgs {
  const std::int32_t* m;
  std::ptrdiff_t position_step;
  std::ptrdiff_t tiles;
  std::int32_t* sums;
  std::ptrdiff_t row_step;
  SumsBeginWith begin;
  const std::int32_t* offsets;  ///< of the block's outputs
};

/// What depends on the size of a tile.
struct Tiles {
  const Transform* transform;
  void (*input)(const InputArgs&) noexcept;
  void (*output)(const OutputArgs&) noexcept;
};

/// Every size that there is for a stride.
inline constexpr std::size_t tile_sizes = std::tuple_size_v<decltype(Tuning::Convolution::winograd_costs)>;

struct Kernels {
  const qlc::Kernels* shared;  ///< of groups of two: convert, gather_pixels, sum_runs, add_outer, quantize, transpose
  Tiles tiles[tile_sizes];
  void (*multiply)(const MultiplyArgs&) noexcept;
};

}  // namespace fast::qlc::winograd
DMLREF_END
