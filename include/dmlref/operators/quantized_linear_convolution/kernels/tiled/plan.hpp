// plan.hpp: general convolutions, tile by tile: any shape, type mix and layout. What is decided at compile: which
// operand lies in lanes, how the input is staged, how large a block is, and where everything lies in the temporary
// memory.
//
// Output pixels are cut into blocks, a block's input is staged (staging.hpp), then every block of output
// channels is multiplied tile by tile (int8/kernels.hpp), requantized while the sums are in the L1 cache, and written.
// With the activations a' and the weights w' as the kernels read them (both perhaps shifted by 128, zero points with
// them):
//   sum (a - za)(w - zw) + bias = sum a' w'  +  (bias - za' sum w' + K za' zw')  -  zw' sum a'
// The second term is one number per channel, the third a product of one per channel and one per pixel, absent where the
// filter's zero points are 0. Padding holds za', so K counts every tap. Kernel rows that lie in it are left out of the
// first sum and of sum w'.
//
// CONVOLUTION_INTEGER's sums are stored modulo 2^32 (run_sums.hpp), with neither scales nor 64 bits.
//
// Overflow: other sums are taken modulo 2^32, which is exact where the final value fits: K * |a - za| * |w - zw| +
// |bias| < 2^31, that is K <= 33025 with a small bias and any zero points. Otherwise (`needs_int64`) K is cut into
// segments of at most 65536 elements, each of whose sums |sum a' w'| <= 65536 * 255 * 128 = 2139095040 < 2^31 is exact,
// and all else is done in 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/blocks.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/buffers.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/constants.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/filter.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/staging.hpp"
#include "dmlref/view/narrow.hpp"

DMLREF_BEGIN
namespace fast::qlc::tiled {

/// Rows [first, last) of the kernel.
struct KernelRows {
  Index first, last;
  bool operator==(const KernelRows&) const = default;
};

/// Neighbouring rows of the output, up to row `end`, that need the same rows of the kernel.
struct RowsAlike {
  Index end;
  std::size_t range;  // of Plan::row_ranges
};

/// Where everything lies in the memory of one task.
struct TaskScratch {
  Index scratch = 0, staged = 0, sums = 0, bytes = 0, pixel_sums = 0, positions = 0, int64_sums = 0;
};

/// Output channels lie in lanes: a tile is some pixels times vectors of channels (run_channels.hpp).
struct TiledChannels {
  static constexpr std::string_view name = "tiled channels";
  static constexpr Index grain = 14, block = 224;  // pixels that tiles divide, pixels of a block at most
};

/// Output pixels lie in lanes: a tile is some channels times vectors of pixels (run_pixels.hpp).
struct TiledPixels {
  static constexpr std::string_view name = "tiled pixels";
  static constexpr Index grain = 64, block = 192;
};

/// Channels side by side that need neither padding nor conversion.
inline bool is_read_in_place(const Geometry& g, const Kernels& kernels) noexcept {
  const bool padded = (g.out_height - 1) * g.stride_y + (g.kernel_h - 1) * g.dilation_y - g.pad_y >= g.height ||
                      (g.out_width - 1) * g.stride_x + (g.kernel_w - 1) * g.dilation_x - g.pad_x >= g.width ||
                      g.pad_y > 0 || g.pad_x > 0;
  // Steps lead along the kernel and over a pixel's channels, by offsets of 32 bits.
  const Index reach = (g.kernel_h - 1) * g.dilation_y * magnitude(g.in.y) +
                      (g.kernel_w - 1) * g.dilation_x * magnitude(g.in.x) + g.in_channels;
  return kernels.group == 4 && g.in_channels % 4 == 0 && !padded && g.input_signed == kernels.signed_activations &&
         reach <= (std::numeric_limits<std::int32_t>::max)();
}

/// What a tile's time consists of, in steps of K; a step takes 8 or 9 eighths.
struct TileCosts {
  Index epilogue = 12;
  Index transposition = 3, gathered_transposition = 9;  ///< of bytes in the end; where staging gathers pixels else
  Index sums_transposition = 16;                        ///< of INT32 sums, gathered or not
  Index step = 8,
        slow_step = 9;  ///< slow: planes that could be gathered into pixels, and read in order; windows of pairs
};
inline constexpr TileCosts tile_costs;

/// Whether pixels in lanes are faster. Channels in lanes waste lanes where their number is not a multiple, pixels where
/// the row's length is not; the orientation that does not match the output's layout transposes bytes in the end. Where
/// planes are gathered into pixels they are transposed when they are staged, too, but then read in order.
inline bool pixels_pay(const Geometry& g, const Kernels& kernels, const DepthOrder& order, bool gathers) noexcept {
  const TileCosts& cost = tile_costs;
  const Index fixed = order.steps() + cost.epilogue;
  const Index transposed = fixed + (g.results == Results::sums ? cost.sums_transposition
                                    : gathers                  ? cost.gathered_transposition
                                                               : cost.transposition);
  const bool slow = gathers || (order.staging == Staging::windows && order.group == 2);
  const bool planar = g.out.x == 1;
  // (Products of all these numbers may be beyond 64 bits.)
  const auto pixels = static_cast<double>(g.out_height * round_up(g.out_width, kernels.lanes) * g.out_channels);
  const auto channels = static_cast<double>(g.out_height * g.out_width * round_up(g.out_channels, kernels.lanes));
  return pixels * static_cast<double>((planar ? fixed : transposed) * (slow ? cost.slow_step : cost.step)) <=
         channels * static_cast<double>((planar ? transposed : fixed) * cost.step);
}

/// How a convolution is cut: which operand lies in lanes, how a block is staged, and which blocks there are.
struct Blocking {
  Blocking(const Geometry& g, const Kernels& kernels, const Tuning::Convolution& tuning) {
    const auto [order, in_place] = choose_order(g, kernels);
    choose_block(g, order, in_place, tuning);
  }

  std::string_view strategy_name() const noexcept {
    return std::visit([](const auto& of) { return of.name; }, strategy);
  }
  bool pixels_in_lanes() const noexcept { return std::holds_alternative<TiledPixels>(strategy); }
  /// False for filters so deep that tables along K would be out of proportion; the reference takes them.
  bool usable() const noexcept { return block.order.steps() <= Index{1} << 22 && block.bytes < Index{1} << 31; }

  std::variant<TiledChannels, TiledPixels> strategy;
  StagedBlock block;
  BlockGrid grid;

 private:
  // The order in which K is walked, and whether the input is read in place; the strategy with them.
  std::pair<DepthOrder, bool> choose_order(const Geometry& g, const Kernels& kernels) {
    DepthOrder order{Staging::planes, kernels.group, g.in_channels, g.kernel_h, g.kernel_w, false};
    const bool joins = g.dilation_x == 1 || g.kernel_w == 1;
    if (g.in.c == 1 && g.in_channels > 1) {
      order.staging = Staging::pixels;
      if (is_read_in_place(g, kernels)) {
        order.joined = joins && (g.in.x == g.in_channels || g.kernel_w == 1);
        return {order, true};
      }
    } else {
      if (g.in_channels < 4 && g.kernel_w > 1 && g.dilation_x == 1) {
        DepthOrder windows = order;
        windows.staging = Staging::windows;
        if (g.in_channels % order.group != 0 && g.stride_x <= g.kernel_w) order.folded = g.stride_x;
        const Index margin = order.folded > 1 ? 0 : 1;  // columns are folded less fast than windows are made
        if (order.group % g.stride_x == 0 && windows.steps() + margin <= order.steps()) order = windows;
      }
      // Planes of many channels may be staged as pixels.
      const bool gathers =
          kernels.gather_pixels != nullptr && order.staging == Staging::planes && g.in.x == 1 && g.in_channels >= 16;
      if (pixels_pay(g, kernels, order, gathers)) {
        strategy = TiledPixels{};
      } else if (gathers) {
        order.staging = Staging::pixels;
      }
    }
    // Staged pixels touch each other, unless that is a distance that caches dislike, or windows are far apart: those
    // between them are not staged then.
    const bool is_far = g.kernel_w > 1 && g.stride_x > 32 * g.kernel_w;
    if (order.staging == Staging::pixels && !order.apart() && !is_far) order.joined = joins;
    return {order, false};
  }

  void choose_block(const Geometry& g, const DepthOrder& order, bool in_place, const Tuning::Convolution& tuning) {
    const Index grain = std::visit([](const auto& of) { return of.grain; }, strategy);
    const Index staged_target = tuning.tiled_block;
    // A layer of few products has little to do in a block of that size: up to four times as many pixels, while they
    // leave slack in the L1 cache; less of it where few output channels read them, as the input passes through, too.
    const Index narrow_row = std::visit([](const auto& of) { return of.block; }, strategy);
    const Index target = g.out_channels < g.in_channels ? tuning.shallow_block_of_few : tuning.shallow_block;
    Index wide_row = target / (4 * order.steps()) / grain * grain;
    wide_row = wide_row < narrow_row ? narrow_row : smaller(wide_row, 896);
    const Index max_pixels = wide_row * 8 / 7;
    Index columns = g.out_width <= max_pixels ? g.out_width : wide_row;
    while (columns > 16 && make_staged_block(g, order, 1, columns, in_place).bytes > staged_target) {
      const Index half = round_up((columns + 1) / 2, grain);
      if (half >= columns) break;
      columns = half;
    }
    if (columns > g.out_width) columns = g.out_width;
    Index rows = 1;
    // Blocks below each other share input rows, which both stage: more rows where these are many.
    constexpr Index max_sharing = 896;
    const Index shared = (g.kernel_h - 1) * g.dilation_y + 1 - g.stride_y;
    while (rows < g.out_height && (rows + 1) * columns <= (4 * shared > rows * g.stride_y ? max_sharing : max_pixels) &&
           make_staged_block(g, order, rows + 1, columns, in_place).bytes <= staged_target) {
      ++rows;
    }
    rows = ceil_div(g.out_height, ceil_div(g.out_height, rows));
    block = make_staged_block(g, order, rows, columns, in_place);
    grid = BlockGrid(g, rows, columns);
  }
};

inline PackedFilter packed_filter(const Geometry& g, const Kernels& kernels, const DepthOrder& order) noexcept {
  return {kernels.lanes, order.steps(), ceil_div(g.out_channels, kernels.lanes), g.groups, g.kernel_h};
}
/// Of all groups.
inline std::uint64_t constants_bytes(const Geometry& g, const Kernels& kernels, const Blocking& blocking) noexcept {
  const PackedFilter filter = packed_filter(g, kernels, blocking.block.order);
  return packed_constants_bytes(filter.bytes(), filter.groups * filter.channels());
}

struct Run;
class Block;

/// Immutable once made.
struct Plan final : BlockedPlan<Plan, Block, Run>, Blocking {
  /// With a usable blocking.
  Plan(const Problem& problem, const Kernels& set, const Blocking& blocking,
       const Tuning::Convolution& tuning);  // (in block.hpp)

  using Blocking::strategy_name;

  /// Of one group's output channels.
  Index filter_blocks() const noexcept { return filter.blocks; }
  Index filter_bytes() const noexcept { return filter.bytes(); }

  static constexpr Index min_panels = 2, units_per_task = 4;
  Index channel_panels() const noexcept { return filter_blocks(); }
  const BlockGrid& grid_for(Index) const noexcept { return grid; }

  /// Whether the tiles add the term of filter zero points that differ by channel; else it follows them.
  bool splits_terms() const noexcept { return kernels.requantize && g.depth() <= deepest_split16_sum; }

  /// Whether one multiply-add may round sums, where the data allow it: where a sum is of few products. Of others the
  /// products take so long that it makes no difference.
  bool rounds_by_multiply_add() const noexcept {
    constexpr Index deepest = 256;
    return g.results == Results::bytes && kernels.rounds_by_multiply_add && g.depth() <= deepest;
  }

  /// How many sums are kept with channels in lanes.
  Index channel_sums() const noexcept { return 16 * 4 * kernels.lanes; }

  /// From one input row's sums of pixels to the next one's.
  Index position_pitch() const noexcept { return round_up(block.in_columns, 16); }

  Index offset_pitch() const noexcept { return filter.groups * filter.channels() + 64; }

  const Kernels& kernels;
  DepthTables depth;
  Index row_steps = block.order.row_steps();  // stored: a division
  std::vector<std::int32_t> plane_offsets;
  std::vector<KernelRows> row_ranges;  // the first one: all rows
  std::vector<RowsAlike> alike;        // of all output rows, from the first on
  PackedFilter filter;
  Index pixel_pitch = 0;
  // Of the channels, beside those tables: where terms are halved, and where one multiply-add may round.
  Index factor_at = 0, rounded_scale_at = 0, rounded_shift_at = 0;
  TaskScratch scratch;

 private:
  // The kernel rows whose input rows, of those from `top` on, are not padding.
  KernelRows rows_inside(Index top) const noexcept {
    const Index first = top >= 0 ? 0 : smaller(g.kernel_h, ceil_div(-top, g.dilation_y));
    const Index last = top >= g.height ? 0 : smaller(g.kernel_h, ceil_div(g.height - top, g.dilation_y));
    return {first, last < first ? first : last};
  }

  // Which kernel rows each output row needs. As the window moves down, it leaves the padding above row by row, and
  // enters that below row by row: neighbours that are alike are found at once, whatever their number.
  void choose_row_ranges() {
    constexpr std::size_t max_ranges = 16;  // kinds of output rows
    row_ranges.assign(1, {0, g.kernel_h});
    for (Index y = 0; y < g.out_height;) {
      const Index top = y * g.stride_y - g.pad_y;
      const KernelRows rows = rows_inside(top);
      // Where the window's top is when one more kernel row leaves the padding above, or enters that below.
      Index next = g.out_height * g.stride_y;
      if (rows.first > 0) next = smaller(next, -(rows.first - 1) * g.dilation_y);
      if (rows.first < rows.last) next = smaller(next, g.height - (rows.last - 1) * g.dilation_y);
      const Index end = smaller(g.out_height, ceil_div(next + g.pad_y, g.stride_y));
      std::size_t range = 0;
      while (range < row_ranges.size() && row_ranges[range] != rows) ++range;
      if (range == max_ranges) {
        range = 0;  // all rows, then: padding is in the staged block
      } else if (range == row_ranges.size()) {
        row_ranges.push_back(rows);
      }
      if (!alike.empty() && alike.back().range == range) {
        alike.back().end = end;
      } else {
        alike.push_back({end, range});
      }
      y = end;
    }
  }

  void place_memory(const Tuning::Convolution& tuning) {
    const Index lanes = kernels.lanes;
    const Index channels = filter.groups * filter.channels() + 64;
    ScratchLayout persistent, shared, task;
    ScratchLayout& tables =
        constants_at.place(persistent, shared, filter_bytes(), channels, static_cast<Index>(row_ranges.size()));
    if (splits_terms()) factor_at = tables.take(4 * channels);
    if (rounds_by_multiply_add()) {
      rounded_scale_at = tables.take(4 * channels);
      rounded_shift_at = tables.take(4 * channels);
    }
    persistent_bytes = persistent.size();
    scratch_at = shared.size();

    pixel_pitch = round_up(block.columns, 4 * lanes);
    const Index pixels = block.rows * block.columns;
    scratch.scratch = task.take(block.row_bytes);
    scratch.staged = task.take(block.bytes);
    scratch.sums = task.take(4 * (pixels_in_lanes() ? 8 * pixel_pitch : channel_sums()) + 256);
    if (g.results == Results::bytes) scratch.bytes = task.take((pixels + 64) * 4 * lanes + 16 * pixel_pitch);
    scratch.pixel_sums = task.take(4 * block.rows * pixel_pitch + 256);
    scratch.positions = task.take(block.order.staging == Staging::planes ? block.plane_step + 256
                                  : g.taps() > 1                         ? 4 * block.in_rows * position_pitch() + 256
                                                                         : 0);
    if (g.results == Results::bytes) scratch.int64_sums = task.take(8 * 16 * lanes);
    task_count = tasks_with_scratch(*this);
    scratch_bytes = task.size() + (task_count > 1 ? smaller(64 * block.plane_step, tuning.task_distance) : 0);
  }
};

}  // namespace fast::qlc::tiled
DMLREF_END
