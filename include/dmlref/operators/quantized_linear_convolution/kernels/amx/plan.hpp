// plan.hpp: general convolutions with AMX's tiles of bytes: one product is 16 x 64 values by 64 x 16. What is decided
// at compile: how the input is staged, how large a block is, and where everything lies in the temporary memory.
//
// As in the tiled convolution, blocks of output pixels are staged, multiplied with the packed filter, requantized while
// the sums are in the L1 cache, and written; layout.hpp says how the operands become tiles. With the activations a' and
// the weights w' as the tiles read them (both perhaps shifted by 128, zero points with them):
//   sum (a - za)(w - zw) + bias = sum a' w'  +  (bias - za' sum w' + K za' zw')  -  zw' sum a'
// Sums are taken modulo 2^32; where the result may not fit (`needs_int64`), those of the products do, as K <= 65536,
// and all else is done in 64 bits.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/amx/gather.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/amx/layout.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/blocks.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/buffers.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/constants.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"
#include "dmlref/view/narrow.hpp"

DMLREF_BEGIN
namespace fast::qlc::amx {

/// Where everything lies in the memory of one task.
struct TaskScratch {
  Index scratch = 0, staged = 0, sums = 0, tiles = 0, positions = 0, pixel_sums = 0;
};

/// 16 neighbouring positions of a block.
struct PixelTile {
  std::int32_t offset;  // bytes into the staged block
  std::int32_t out;     // planar output: pixels of the block before the first of these
  std::uint32_t used;   // one bit for each position that is an output pixel
};

inline bool output_is_planar(const Geometry& g) noexcept { return !(g.out.c == 1 && g.out_channels > 1); }

/// Distances of output pixels are kept in 31 bits; below 0 stands for none.
inline bool places_fit(const Geometry& g) noexcept {
  const double reach = static_cast<double>(g.out_height - 1) * static_cast<double>(g.out.y) +
                       static_cast<double>(g.out_width - 1) * static_cast<double>(g.out.x);
  return g.out.y >= 0 && g.out.x >= 0 && reach < 0x1p31;
}

/// Both tensors planar, without gaps between the rows of the output, or both with channels side by side; sums of which
/// 32 bits hold the products.
inline bool suits(const Geometry& g) noexcept {
  if (g.depth() > 65536) return false;
  // Layouts of whole images are compared, too: their bytes are counted in 62 bits.
  const double lines = static_cast<double>(g.kernel_w) * static_cast<double>(round_up(g.in_channels, 4));
  const double rows = static_cast<double>((g.kernel_h - 1) * g.dilation_y + 4 * g.stride_y + 1);
  const double columns = static_cast<double>((g.kernel_w - 1) * g.dilation_x + g.out_width * g.stride_x + 64);
  if (lines * rows * columns >= 0x1p58) return false;
  if (!output_is_planar(g)) return (g.in.c == 1 || g.in_channels == 1) && places_fit(g);
  return g.in.x == 1 && g.out.x == 1 && (g.out_height == 1 || g.out.y == g.out_width);
}

/// Whether that is faster than dot products. Tiles of 16 pixels are for 8 at least, unless packing takes most of the
/// time and is faster here: of filters that are bound at execute, and whose input channels do not lie side by side.
/// Tiles of 64 values of K are for more than 24, or 32 if output channels are few, unless dot products would not round
/// in one multiply-add.
inline bool worthwhile(const Geometry& g, const Problem& problem) noexcept {
  const bool shallow = g.depth() <= 24 || (g.depth() <= 32 && g.out_channels <= 32);
  return suits(g) && !(shallow && constants_owned(problem)) &&
         (g.out_height * g.out_width >= 8 || !(problem.inputs[filter_tensor].owned || g.filter_of_rows()));
}

/// How the input is staged, and which blocks there are; of a convolution that `suits`.
struct Blocking {
  Blocking(const Geometry& g, const Tuning::Convolution& tuning) : Blocking(g, choose(g, tuning)) {}

  Layout layout;
  BlockGrid grid;
  bool usable;

 private:
  Blocking(const Geometry& g, const Layout& chosen)
      : layout(chosen),
        grid(g, staged_rows(layout).rows, staged_rows(layout).columns),
        usable(staged_rows(layout).bytes < Index{1} << 30 && !staged_rows(layout).mostly_unread(g)) {}

  static Layout choose(const Geometry& g, const Tuning::Convolution& tuning) {
    return output_is_planar(g) ? choose_planes(g, tuning) : choose_pixels(g, tuning);
  }

  /// Time of the whole image's tiles; one that is loaded across cache lines takes half as long again.
  template <class L>
  static double cost(const Geometry& g, const L& layout) noexcept {
    double blocks = 0;
    each_k_block(g, layout, [&](const KBlock& block) { blocks += block.offset % 64 != 0 ? 1.5 : 1.0; });
    return blocks * static_cast<double>(layout.tiles(g.out_height, g.out_width));
  }

  static Layout choose_planes(const Geometry& g, const Tuning::Convolution& tuning) {
    using KGroup = PanelPlanes::KGroup;
    const Index rows = smaller(g.out_height, 4);  // to compare
    KGroup group = KGroup::channels;
    double best = cost(g, PanelPlanes(g, group, rows, g.out_width));
    if (g.in_channels < 4 && g.kernel_w > 1 && g.dilation_x == 1 && 4 % g.stride_x == 0) {
      const double of_columns = cost(g, PanelPlanes(g, KGroup::columns, rows, g.out_width));
      if (of_columns < best) best = of_columns, group = KGroup::columns;
    }
    Index pitch = 0;  // of joined planes, if these are faster
    for (Index unit = 1; unit <= 16 && g.out_height > 1 && g.out_width <= 256; unit *= 2) {
      const Index width = round_up(g.out_width, unit);
      const double joined = cost(g, JoinedPlanes(g, width, rows, g.out_width));
      if (joined < best) best = joined, pitch = width;
    }
    // Planes are staged once for each kernel column.
    if (pitch != 0) {
      return fit(g, tuning.amx_planes, false, [&](Index r, Index c) { return JoinedPlanes(g, pitch, r, c); });
    }
    return fit(g, tuning.amx_planes, true, [&](Index r, Index c) { return PanelPlanes(g, group, r, c); });
  }

  static Layout choose_pixels(const Geometry& g, const Tuning::Convolution& tuning) {
    const bool in_place = g.taps() == 1 && g.out_height == 1 && g.stride_x == 1 && g.pad_x == 0 && g.pad_y == 0 &&
                          g.out_width <= g.width && g.in.x >= g.in_channels && g.in.x <= 4 * g.in_channels &&
                          g.in.x % 512 != 0;
    return fit(g, tuning.amx_pixels, true, [&](Index r, Index c) { return PixelRows(g, in_place, r, c); });
  }

  /// The largest block of at most so many bytes, of whole rows if they are not to be cut.
  template <class Make>
  static Layout fit(const Geometry& g, Index target, bool cut_rows, Make make) {
    constexpr Index max_pixels = 4096;
    Index columns = g.out_width;
    while (cut_rows && columns > 64 && (columns > max_pixels || make(1, columns).bytes > target)) {
      columns = round_up(ceil_div(columns, 2), 64);
    }
    Index rows = 1;
    while (rows < g.out_height && columns == g.out_width && (rows + 1) * columns <= max_pixels &&
           make(rows + 1, columns).bytes <= target) {
      ++rows;
    }
    return make(ceil_div(g.out_height, ceil_div(g.out_height, rows)), columns);
  }
};

/// Of all groups.
inline std::uint64_t constants_bytes(const Geometry& g, const Blocking& blocking) noexcept {
  const Index channels = g.groups * round_up(g.out_channels, tile_side);
  Index k_blocks = 0;
  std::visit([&](const auto& layout) { each_k_block(g, layout, [&](const KBlock&) { ++k_blocks; }); }, blocking.layout);
  return packed_constants_bytes(channels * (k_blocks * tile_depth + 4), channels);
}

struct Run;
class Block;

/// Immutable once made.
struct Plan final : BlockedPlan<Plan, Block, Run>, Blocking {
  static constexpr bool uses_tiles = true;

  /// With a usable blocking.
  Plan(const Problem& problem, const Blocking& blocking);  // (in block.hpp)

  std::string_view strategy_name() const noexcept { return "amx"; }

  bool planar() const noexcept { return is_planar(layout); }
  const StagedRows& staged() const noexcept { return staged_rows(layout); }
  /// Pixels that are read where they are; null where the input is staged.
  const PixelRows* in_place() const noexcept {
    const PixelRows* const pixels = std::get_if<PixelRows>(&layout);
    return pixels != nullptr && pixels->in_place ? pixels : nullptr;
  }

  Index k_block_count() const noexcept { return static_cast<Index>(k_blocks.size()); }
  /// Of 16 output channels, of one group.
  Index filter_blocks() const noexcept { return ceil_div(g.out_channels, tile_side); }
  Index packed_channels() const noexcept { return filter_blocks() * tile_side; }
  Index filter_block_bytes() const noexcept { return k_block_count() * tile_bytes; }
  Index filter_sums_at() const noexcept { return g.groups * filter_blocks() * filter_block_bytes(); }
  Index filter_bytes() const noexcept { return filter_sums_at() + 4 * g.groups * packed_channels(); }

  /// Whether tiles read signed bytes; else those are flipped as they are staged.
  bool signed_pixels() const noexcept { return in_place() != nullptr && g.input_signed; }
  /// Whether terms of filter zero points are products of halves.
  bool splits_terms() const noexcept { return g.depth() <= deepest_split16_sum; }
  /// Whether sums are rounded as in multiply_add_rounding.hpp where the data allow it: beyond that depth products take
  /// longer than any rounding, and finding out takes some 2 µs for a channel.
  bool rounds() const noexcept {
    constexpr Index deepest = 1024;
    return g.results == Results::bytes && g.depth() <= deepest;
  }
  /// Channels of a superblock: what a block of sums holds.
  Index panel_channels() const noexcept { return planar() ? 2 * tile_side : 4 * tile_side; }
  static constexpr Index min_panels = 1, units_per_task = 2;
  Index channel_panels() const noexcept { return ceil_div(g.out_channels, panel_channels()); }
  /// The blocks for so many tasks: of fewer pixels where there would be too few of them. A block that is quickly staged
  /// is staged by each task, if all get output channels of their own: tasks that cut planes share lines of all of them.
  BlockGrid grid_for(Index tasks) const noexcept {
    constexpr Index min_pixels = 256;  // pixels, so that staging their edges and starting is a small part
    constexpr Index quickly_staged = 128 * 1024;
    if (planar() && staged().bytes <= quickly_staged && channel_panels() >= units_per_task * tasks) return grid;
    BlockGrid smaller = grid;
    while (tasks > 1 && smaller.blocks(g) < units_per_task * tasks &&
           smaller.rows * smaller.columns >= 2 * min_pixels) {
      if (smaller.rows > 1) {
        smaller = BlockGrid(g, ceil_div(smaller.rows, 2), smaller.columns);
      } else if (!std::holds_alternative<JoinedPlanes>(layout)) {
        smaller = BlockGrid(g, 1, round_up(ceil_div(smaller.columns, 2), 4 * tile_side));
      } else {
        break;
      }
    }
    return smaller;
  }

  std::vector<KBlock> k_blocks;
  std::vector<std::int32_t> offsets;  // of these
  Gather gather;
  Index start_at = 0, factor_at = 0;
  Index rounded_scale_at = 0, rounded_shift_at = 0;  // where one multiply-add may round
  TaskScratch scratch;

  static constexpr Index sums_of_panel = 32 * 64;
  static constexpr Index scratch_margin = 256;

 private:
  void place_memory() {
    ScratchLayout persistent, shared, task;
    const Index channels = g.groups * packed_channels() + 64;
    ScratchLayout& tables = constants_at.place(persistent, shared, filter_bytes(), channels, 1);
    start_at = tables.take(planar() ? 64 * channels : 0);
    factor_at = tables.take(splits_terms() ? 4 * channels : 0);
    if (rounds()) {
      rounded_scale_at = tables.take(4 * channels);
      rounded_shift_at = tables.take(4 * channels);
    }
    persistent_bytes = persistent.size();
    scratch_at = shared.size();

    const StagedRows& rows = staged();
    const Index positions = tile_side * std::visit([&](const auto& l) { return l.tiles(l.rows, l.columns); }, layout);
    const Index summed = std::visit([this](const auto& l) { return l.summed_positions(g); }, layout);
    scratch.scratch = task.take(planar() ? staging_scratch_bytes() : 0);
    scratch.staged = task.take(rows.bytes);
    scratch.sums = task.take(2 * 4 * sums_of_panel);
    scratch.tiles = task.take(planar() ? static_cast<Index>(sizeof(PixelTile)) * (positions / tile_side + 4)
                                       : 4 * (positions + 64));
    scratch.positions = task.take(4 * (summed + 64));
    scratch.pixel_sums = task.take(4 * (positions + 64));
    scratch_bytes = task.size();
    task_count = tasks_with_scratch(*this);
  }

  // Four channels of all input rows of a block as groups, or one row of bytes.
  Index staging_scratch_bytes() const noexcept {
    const Index reach = (round_up(staged().columns, tile_side) - 1) * g.stride_x + (g.kernel_w - 1) * g.dilation_x + 4;
    return 4 * staged().in_rows(g, staged().rows) * (reach < g.width ? reach : g.width) + reach + 2 * scratch_margin;
  }
};

}  // namespace fast::qlc::amx
DMLREF_END
