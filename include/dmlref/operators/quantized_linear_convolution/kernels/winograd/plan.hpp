// plan.hpp: 3x3 convolutions with a fourth, or little more than half, of the multiplications (with a stride of 2 two
// thirds), exactly: the size of a tile, how tiles are gathered into blocks, how the channels are cut.
//
//   input ──► stage ──► B^T x B ──► V                        per block of tiles
//                                   │  position by position
//   filter ──► G w G^T ──► U ───────┴──► M ──► A^T M A ──► sums ──► requantize ──► write      per 16 output channels
//              once, at initialize
//
// transform.hpp has the algebra and why nothing is lost. Tiles overlap by two pixels at the input (with a stride of 2
// by one) and not at all at the output; what the last ones compute beyond the image is not written.
//
// A dilated convolution is several plain ones: output pixels whose coordinates agree modulo the dilation see input
// pixels that do so too. Each such phase counts as an image of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/blocks.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/buffers.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/constants.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/winograd/kernels.hpp"

DMLREF_BEGIN
namespace fast::qlc::winograd {

/// A convolution in tiles of one size.
struct Tiling {
  Tiles tiles{};
  const Tuning::Convolution* tuning = nullptr;
  Tuning::Convolution::WinogradCost tile_cost{};
  Index channels = 0;  // of the input, filled up
  Index blocks = 0;    // of output channels
  Index splits = 1;    // of input channels
  Index phases_y = 1, phases_x = 1;
  Index images = 0;                                           // of all phases
  Index rows = 0, columns = 0;                                // tiles of an image
  Index block_images = 1, block_rows = 1, block_columns = 1;  // of a block of tiles, at most

  const Transform& transform() const noexcept { return *tiles.transform; }
  Index outputs() const noexcept { return tiles.transform->outputs; }
  Index stride() const noexcept { return tiles.transform->stride; }
  Index positions() const noexcept { return tiles.transform->positions(); }
  Index planes() const noexcept { return tiles.transform->planes(); }
  Index image_tiles() const noexcept { return block_rows * block_columns; }
  Index block_tiles() const noexcept { return block_images * image_tiles(); }
  /// Blocks in each direction. Where several tasks could not share them evenly they are more, of fewer rows, unless
  /// that reads a large U too often.
  Index across() const noexcept { return ceil_div(columns, block_columns); }
  Index deep() const noexcept { return ceil_div(images, block_images); }
  Index down(Index tasks) const noexcept {
    constexpr Index min_tiles = 6;
    const Index columns_and_images = across() * deep();
    Index count = ceil_div(rows, block_rows);
    if (tasks == 1 || columns_and_images * count < tasks || block_images > 1 ||
        2 * filter_elements() > tuning->winograd_far_filter)
      return count;
    const auto even = [&] { return rows % count == 0 && columns_and_images * count % tasks == 0; };
    while (!even() && columns_and_images * count < 4 * tasks && rows / (count + 1) * block_columns >= min_tiles)
      ++count;
    return count;
  }
  /// The first channel of a split.
  Index split_at(Index split) const noexcept { return channels / block * split / splits * block; }
  /// Elements of U, and where those of a block of outputs and a split begin.
  Index filter_elements() const noexcept { return blocks * block * positions() * channels; }
  Index filter_at(Index output_block, Index split) const noexcept {
    return (output_block * channels + split_at(split)) * block * positions();
  }
  // Lines of V and M at neighbouring positions must not fall into the same set of the cache.
  Index v_position() const noexcept { return block_tiles() * channels + 32; }
  Index m_position() const noexcept { return block_tiles() * block + 16; }
  /// Pixels of the input under so many tiles in a row or a column.
  Index inputs(Index tile_count) const noexcept { return (tile_count * outputs() - 1) * stride() + 3; }
  Index staged_columns() const noexcept { return inputs(block_columns); }
  Index image_pixels() const noexcept { return image_tiles() * outputs() * outputs(); }

  /// Time, in multiplications. A pass over U takes as long as 8 tiles, however few a block has, where U comes from
  /// beyond the L2 cache; elsewhere as long as 2.
  double cost() const noexcept {
    const double tiles_of_all = static_cast<double>(images * rows * columns);
    const Index min_tiles = 2 * filter_elements() > tuning->winograd_near_filter ? 8 : 2;
    const double idle =
        block_tiles() < min_tiles ? static_cast<double>(min_tiles) / static_cast<double>(block_tiles()) : 1.0;
    const double products = static_cast<double>(positions() * channels * blocks * block) * idle;
    const double input = static_cast<double>(channels / block * tile_cost.input);
    const double output = static_cast<double>(blocks * splits * tile_cost.output);
    return tiles_of_all * (products + input + output);
  }
};

inline Tiling make_tiling(const Geometry& g, const Tiles& tiles, const Tuning::Convolution& tuning,
                          Tuning::Convolution::WinogradCost tile_cost) noexcept {
  // V stays in L2 with the sums and what streams by; at a stride of 2, where U is larger, more tiles for each pass over
  // it are worth more.
  const bool strided = tiles.transform->stride == 2;
  const Index v_bytes = strided ? tuning.winograd_block_strided : tuning.winograd_block;
  Tiling t;
  t.tiles = tiles;
  t.tuning = &tuning;
  t.tile_cost = tile_cost;
  t.channels = round_up(g.in_channels, block);
  t.blocks = ceil_div(g.out_channels, block);
  t.splits = ceil_div(t.channels, t.transform().max_channels() / block * block);
  t.phases_y = g.dilation_y < g.out_height ? g.dilation_y : g.out_height;
  t.phases_x = g.dilation_x < g.out_width ? g.dilation_x : g.out_width;
  t.images = g.batch * t.phases_y * t.phases_x;
  t.rows = ceil_div(ceil_div(g.out_height, t.phases_y), t.outputs());
  t.columns = ceil_div(ceil_div(g.out_width, t.phases_x), t.outputs());
  Index max_tiles = v_bytes / (2 * t.positions() * t.channels);
  const Index enough = strided || t.outputs() == 2 ? 64 : 32;
  max_tiles = max_tiles < 1 ? 1 : max_tiles > enough ? enough : max_tiles;
  t.block_columns = ceil_div(t.columns, ceil_div(t.columns, max_tiles));
  t.block_rows = max_tiles / t.block_columns;
  t.block_rows = ceil_div(t.rows, ceil_div(t.rows, t.block_rows));
  if (t.block_rows == t.rows && t.block_columns == t.columns) {
    t.block_images = max_tiles / t.image_tiles();
    t.block_images = ceil_div(t.images, ceil_div(t.images, t.block_images));
  }
  return t;
}

/// Whether the shape is one for tiles of this kind.
inline bool suits(const Geometry& g, const Transform& t) noexcept {
  if (g.groups != 1 || g.kernel_h != 3 || g.kernel_w != 3 || g.stride_y != t.stride || g.stride_x != t.stride) {
    return false;
  }
  const Index max_channels = (t.stride == 1 ? tiles_of_2 : t).max_channels() / block * block;
  return g.in_channels <= max_channels && (t.stride == 1 || (g.dilation_y == 1 && g.dilation_x == 1));
}

/// The fastest size of a tile; empty where the shape is none for tiles: 3x3 with stride 1, or 2 without dilation, and
/// one group. `outputs`: that size, 2 or 4; 0: any.
inline std::optional<Tiling> choose_tiling(const Geometry& g, const Kernels& kernels, const Tuning::Convolution& tuning,
                                           int outputs = 0) noexcept {
  std::optional<Tiling> best;
  for (std::size_t size = 0; size < tile_sizes; ++size) {
    const Tiles& tiles = kernels.tiles[size];
    if (!suits(g, *tiles.transform) || (outputs != 0 && outputs != tiles.transform->outputs)) continue;
    const Tiling tiling = make_tiling(g, tiles, tuning, tuning.winograd_costs[size]);
    if (!best || tiling.cost() < best->cost()) best = tiling;
  }
  return best;
}

/// Whether that is faster than multiplying every tap, which is nearer to the peak.
inline bool worthwhile(const Geometry& g, const Tiling& tiling) noexcept {
  const double plain = static_cast<double>(g.batch * g.out_height * g.out_width) *
                       static_cast<double>(g.depth() * round_up(g.out_channels, 8));
  return tiling.cost() < tiling.tuning->winograd_share * plain;
}

/// Where everything lies in the memory of one task.
struct TaskScratch {
  Index staged = 0, v = 0, m = 0, sums = 0, bytes = 0, pixel_sums = 0, positions = 0;
};

/// The blocks of tiles of all images.
struct TileGrid {
  Index across = 0, down = 0, deep = 0;
  Index blocks(const Geometry&) const noexcept { return across * down * deep; }
};

struct Run;
class Block;

/// For a filter that DML owns.
struct Plan final : BlockedPlan<Plan, Block, Run> {
  Plan(const Problem& problem, const Kernels& of_isa, const Tiling& chosen);  // (in block.hpp)

  std::string_view strategy_name() const noexcept { return "winograd"; }

  Index filter_blocks() const noexcept { return tiling.blocks; }
  Index packed_channels() const noexcept { return tiling.blocks * block; }
  Index filter_sums_at() const noexcept { return 2 * tiling.filter_elements(); }
  Index filter_bytes() const noexcept { return filter_sums_at() + 4 * packed_channels(); }

  static constexpr Index min_panels = 2, units_per_task = 8;
  Index channel_panels() const noexcept { return tiling.blocks; }
  TileGrid grid_for(Index tasks) const noexcept { return {tiling.across(), tiling.down(tasks), tiling.deep()}; }

  const Kernels& kernels;
  Tiling tiling;
  TaskScratch scratch;
};

}  // namespace fast::qlc::winograd
DMLREF_END
