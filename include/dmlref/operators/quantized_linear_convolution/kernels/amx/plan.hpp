// plan.hpp: what a convolution with AMX decides at compile: how the input is staged, how large a block is, and where
// everything lies in the temporary memory.
#pragma once

#include <cstdint>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/amx/gather.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/amx/layout.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/blocks.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/buffers.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/constants.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/pieces.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tasks.hpp"
#include "dmlref/view/narrow.hpp"

DMLREF_BEGIN
namespace fast::qlc::amx {

/// Memory of one task.
struct Slot {
  Index scratch = 0, staged = 0, sums = 0, tiles = 0, positions = 0, pixel_sums = 0, size = 0;
};

/// 16 neighbouring positions of a block.
struct PixelTile {
  std::int32_t offset;  // bytes into the staged block
  std::int32_t out;     // planar output: pixels of the block before the first of these
  std::uint32_t used;   // one bit for each position that is an output pixel
};

/// Immutable once made.
struct Plan {
  explicit Plan(const Problem& problem) : g(flatten(geometry_of(problem))), tensors(problem), constants_at(problem) {
    usable = suits();
    if (usable) choose();
  }

  std::uint64_t temporary_bytes() const noexcept {
    return static_cast<std::uint64_t>(slots_at + task_slots * slot.size);
  }
  std::uint64_t persistent_bytes() const noexcept { return static_cast<std::uint64_t>(persistent_size); }

  Index chunks() const noexcept { return static_cast<Index>(layout.chunks.size()); }
  /// Of 16 output channels, of one group.
  Index filter_blocks() const noexcept { return ceil_div(g.out_channels, tile_side); }
  Index packed_channels() const noexcept { return filter_blocks() * tile_side; }
  Index block_bytes() const noexcept { return chunks() * tile_bytes; }
  Index filter_sums_at() const noexcept { return g.groups * filter_blocks() * block_bytes(); }
  Index filter_bytes() const noexcept { return filter_sums_at() + 4 * g.groups * packed_channels(); }

  /// Whether tiles read signed bytes; else those are flipped as they are staged.
  bool signed_pixels() const noexcept { return layout.direct && g.input_signed; }
  /// Whether terms of filter zero points are products of halves.
  bool halved_terms() const noexcept { return g.depth() <= deepest_halved_sum; }
  /// Whether sums are rounded as in rounded_sums.hpp where the data allow it: beyond that depth products take longer
  /// than any rounding, and finding out takes some 2 µs for a channel.
  bool rounds() const noexcept {
    constexpr Index deepest = 1024;
    return g.depth() <= deepest;
  }
  /// Pixels: from the sums over a row's windows to the next row's.
  Index sums_pitch() const noexcept { return round_up(layout.columns, 16); }

  /// Channels of a superblock: what a block of sums holds.
  Index strip_channels() const noexcept { return layout.planar() ? 2 * tile_side : 4 * tile_side; }
  static constexpr Index least_strips = 1, units_per_task = 2;
  Index strips() const noexcept { return ceil_div(g.out_channels, strip_channels()); }
  /// The blocks for so many tasks: of fewer pixels where there would be too few of them.
  BlockGrid grid_for(Index tasks) const noexcept {
    constexpr Index least = 256;  // pixels, so that staging their edges and starting is a small part
    BlockGrid smaller = grid;
    while (tasks > 1 && smaller.blocks(g) < units_per_task * tasks && smaller.rows * smaller.columns >= 2 * least) {
      if (smaller.rows > 1) {
        smaller = BlockGrid(g, ceil_div(smaller.rows, 2), smaller.columns);
      } else if (!layout.linear || !layout.planar()) {
        smaller = BlockGrid(g, 1, round_up(ceil_div(smaller.columns, 2), 4 * tile_side));
      } else {
        break;
      }
    }
    return smaller;
  }

  Geometry g;
  ChannelTensors tensors;
  bool usable = false;
  StagedBlock layout;
  BlockGrid grid;
  std::vector<std::int32_t> offsets;
  Gather gather;
  ConstantOffsets constants_at;
  Index start_at = 0, factor_at = 0;
  Index rounded_scale_at = 0, rounded_shift_at = 0;  // where one multiply-add may round
  Index persistent_size = 0, slots_at = 0;
  Index task_slots = 1;  // of tasks
  Slot slot;

 private:
  // Both tensors planar, without gaps between the rows of the output, or both with channels side by side; sums of which
  // 32 bits hold the products.
  bool suits() const noexcept {
    if (g.depth() > 65536) return false;
    // Layouts of whole images are compared, too: their bytes are counted in 62 bits.
    const double lines = static_cast<double>(g.kernel_w) * static_cast<double>(round_up(g.in_channels, 4));
    const double rows = static_cast<double>((g.kernel_h - 1) * g.dilation_y + 4 * g.stride_y + 1);
    const double columns = static_cast<double>((g.kernel_w - 1) * g.dilation_x + g.out_width * g.stride_x + 64);
    if (lines * rows * columns >= 0x1p58) return false;
    if (!planar()) return (g.in.c == 1 || g.in_channels == 1) && places_fit();
    return g.in.x == 1 && g.out.x == 1 && (g.out_height == 1 || g.out.y == g.out_width);
  }
  bool planar() const noexcept { return !(g.out.c == 1 && g.out_channels > 1); }
  // Distances of output pixels are kept in 31 bits; below 0 stands for none.
  bool places_fit() const noexcept {
    const double reach = static_cast<double>(g.out_height - 1) * static_cast<double>(g.out.y) +
                         static_cast<double>(g.out_width - 1) * static_cast<double>(g.out.x);
    return g.out.y >= 0 && g.out.x >= 0 && reach < 0x1p31;
  }

  StagedBlock layout_of_block(bool windows, bool linear, Index width, bool direct, Index rows, Index columns) const {
    return planar() ? planar_layout(g, windows, linear, width, rows, columns) : pixel_layout(g, direct, rows, columns);
  }

  // Time of the whole image's tiles; one that is loaded across cache lines takes half as long again.
  double cost(const StagedBlock& l) const noexcept {
    double chunks = 0;
    for (const Chunk& chunk : l.chunks) chunks += l.planar() && chunk.offset % 64 != 0 ? 1.5 : 1.0;
    return chunks * static_cast<double>(l.tiles(g.out_height, g.out_width));
  }

  void choose() {
    bool windows = false, linear = false, direct = false;
    Index width = g.out_width;
    if (planar()) {
      const bool windowed = g.in_channels < 4 && g.kernel_w > 1 && g.dilation_x == 1 && 4 % g.stride_x == 0;
      double best = 0;
      const auto consider = [&](bool w, bool l, Index pitch) {
        const Index rows = g.out_height < 4 ? g.out_height : 4;
        const double here = cost(planar_layout(g, w, l, pitch, rows, g.out_width));
        if (best != 0 && here >= best) return;
        best = here;
        windows = w;
        linear = l;
        width = pitch;
      };
      consider(false, false, 0);
      if (windowed) consider(true, false, 0);
      if (g.out_height > 1 && g.out_width <= 256) {
        for (const Index unit : {Index{1}, Index{2}, Index{4}, Index{8}, Index{16}}) {
          consider(false, true, round_up(g.out_width, unit));
        }
      }
    } else {
      direct = g.taps() == 1 && g.out_height == 1 && g.stride_x == 1 && g.pad_x == 0 && g.pad_y == 0 &&
               g.out_width <= g.width && g.in.x >= g.in_channels && g.in.x <= 4 * g.in_channels && g.in.x % 512 != 0;
    }
    choose_block(windows, linear, width, direct);
    if (layout.bytes >= Index{1} << 30 || mostly_unread()) {
      usable = false;
      return;
    }
    // Within a staged block, as above, or within the channels of one pixel, which suits() bounds.
    for (const Chunk& chunk : layout.chunks) offsets.push_back(dmlref::detail::narrow<std::int32_t>(chunk.offset));
    gather = Gather(g, layout);
    place_memory();
  }

  void choose_block(bool windows, bool linear, Index width, bool direct) {
    const Index staged_target = Index{planar() ? 768 : 320} << 10;  // planes are staged once for each kernel column
    constexpr Index most_pixels = 4096;
    const auto make = [&](Index rows, Index columns) {
      return layout_of_block(windows, linear, linear ? width : columns, direct, rows, columns);
    };
    Index columns = g.out_width;
    while (columns > 64 && !linear && (columns > most_pixels || make(1, columns).bytes > staged_target)) {
      columns = round_up(ceil_div(columns, 2), 64);
    }
    Index rows = 1;
    while (rows < g.out_height && columns == g.out_width && (rows + 1) * columns <= most_pixels &&
           make(rows + 1, columns).bytes <= staged_target) {
      ++rows;
    }
    rows = ceil_div(g.out_height, ceil_div(g.out_height, rows));
    layout = make(rows, columns);
    grid = BlockGrid(g, rows, columns);
  }

  // Whether most rows or columns of a block's input lie between those that are multiplied: tiles have them staged, too.
  bool mostly_unread() const noexcept {
    return layout.in_rows(g, layout.rows) > 4 * g.kernel_h * layout.rows ||
           layout.in_columns(g, layout.columns) > 4 * g.kernel_w * layout.columns;
  }

  void place_memory() {
    Pieces persistent, shared;
    const Index channels = g.groups * packed_channels() + 64;
    Pieces& tables = constants_at.place(persistent, shared, filter_bytes(), channels, 1);
    start_at = tables.take(layout.planar() ? 64 * channels : 0);
    factor_at = tables.take(halved_terms() ? 4 * channels : 0);
    if (rounds()) {
      rounded_scale_at = tables.take(4 * channels);
      rounded_shift_at = tables.take(4 * channels);
    }
    persistent_size = persistent.size();
    slots_at = shared.size();

    Pieces task;
    const Index positions = layout.tiles(layout.rows, layout.columns) * tile_side;
    slot.scratch = task.take(layout.planar() ? scratch_bytes() : 0);
    slot.staged = task.take(layout.bytes);
    slot.sums = task.take(2 * 4 * sums_of_strip);
    slot.tiles = task.take(layout.planar() ? static_cast<Index>(sizeof(PixelTile)) * (positions / tile_side + 4)
                                           : 4 * (positions + 64));
    slot.positions = task.take(4 * (summed_positions() + 64));
    slot.pixel_sums = task.take(4 * (positions + 64));
    slot.size = task.size();
    task_slots = slots_for(*this);
  }

  // What sums over windows are made of.
  Index summed_positions() const noexcept {
    if (layout.planar()) return layout.phases * layout.phase_rows * layout.width;
    return sums_pitch() * layout.in_rows(g, layout.rows) + layout.in_columns(g, layout.columns);
  }

  // Four channels of all input rows of a block as groups, or one row of bytes.
  Index scratch_bytes() const noexcept {
    const Index reach = (round_up(layout.columns, tile_side) - 1) * g.stride_x + (g.kernel_w - 1) * g.dilation_x + 4;
    return 4 * layout.in_rows(g, layout.rows) * (reach < g.width ? reach : g.width) + reach + 2 * scratch_margin;
  }

 public:
  static constexpr Index sums_of_strip = 32 * 64;
  static constexpr Index scratch_margin = 256;
};

}  // namespace fast::qlc::amx
DMLREF_END
