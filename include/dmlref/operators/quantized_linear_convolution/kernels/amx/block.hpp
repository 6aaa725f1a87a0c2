// block.hpp: a convolution with AMX, one block of output pixels at a time.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>
#include <variant>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/amx/constants.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/amx/epilogue.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/amx/filter.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/amx/plan.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/amx/staging.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/amx/sums.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/amx/tiles.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/blocks.hpp"
#include "dmlref/view/narrow.hpp"

#if DMLREF_ARCH_X86_64

DMLREF_BEGIN
namespace fast::qlc::amx {

/// A block of output pixels: staged, then multiplied with ranges of output channels.
class Block {
 public:
  /// Block `index` of the grid, in the memory of one task.
  Block(const Plan& plan, const Run& run, const BlockGrid& grid, std::uint8_t* scratch, Index index) noexcept
      : p_(plan), g_(plan.g), run_(run), scratch_(scratch) {
    const GroupBlock block = grid.block(g_, index);
    place_ = block.place;
    group_ = block.group;
    image_ = block.image;
    tiles_ = std::visit([this](const auto& l) { return l.tiles(place_.rows, place_.columns); }, p_.layout);
    input_ = run_.input + image_ * g_.in.n + group_ * g_.in_channels * g_.in.c;
    staged_ = in_place() ? input_ + place_.x * g_.in.x : scratch_ + p_.scratch.staged;
  }

  /// The input as the tiles read it, and its sums; of the task's memory, hence once for all ranges of channels.
  void stage() const noexcept {
    std::visit([this](const auto& layout) { stage(layout); }, p_.layout);
    if (run_.compensation == Compensation::none) return;
    const Index positions = round_up(tiles_, 4) * tile_side;  // as many as are requantized
    for (Index i = tiles_ * tile_side; i < positions; ++i) pixel_sums()[i] = 0;
    if (run_.compensation == Compensation::split16) avx512vnni::split16_sums(pixel_sums(), positions);
  }

  /// Panels [first, last) of output channels.
  DMLREF_TARGET_AMX_INT8 void run(Index first, Index last) const noexcept {
    const TileRegisters registers;
    if (g_.results == Results::sums) {
      p_.planar() ? run_planes<SumsEpilogue<Planes>>(first, last) : run_pixels<SumsEpilogue<Pixels>>(first, last);
    } else if (p_.planar()) {
      run_planes<InterleavedEpilogue<Planes>>(first, last);
    } else {
      run_pixels<InterleavedEpilogue<Pixels>>(first, last);
    }
  }

 private:
  template <class T>
  T* at(Index offset) const noexcept {
    return reinterpret_cast<T*>(scratch_ + offset);
  }
  template <class L>
  void stage(const L& layout) const noexcept {
    if (staged_ == scratch_ + p_.scratch.staged) {
      Stager(p_, run_, input_, place_, scratch_ + p_.scratch.scratch, scratch_ + p_.scratch.staged).stage(layout);
    }
    find_positions(layout);
    if (run_.compensation == Compensation::none) return;
    sum_activations(p_, layout, place_, staged_, at<std::int32_t>(p_.scratch.positions), pixel_sums());
  }
  std::int32_t* pixel_sums() const noexcept { return at<std::int32_t>(p_.scratch.pixel_sums); }

  // Whole tiles are read: not where they would reach beyond the input.
  bool in_place() const noexcept {
    const PixelRows* const pixels = p_.in_place();
    if (pixels == nullptr) return false;
    const Index reach = p_.offsets.back() + (tiles_ * tile_side - 1) * pixels->tile_step + tile_depth;
    return (input_ - run_.input) + place_.x * g_.in.x + reach <= g_.input_end;
  }

  /// tile_at(t): where tile t is, and which of its positions are output pixels.
  template <class TileAt>
  void find_tiles(TileAt tile_at) const noexcept {
    auto* tile = at<PixelTile>(p_.scratch.tiles);
    std::int32_t pixels = 0;
    for (Index t = 0; t < round_up(tiles_, 4); ++t) {
      const auto [offset, used] = tile_at(t);
      tile[t] = {dmlref::detail::narrow<std::int32_t>(offset), pixels, used};  // in a staged block: Blocking::usable
      pixels += std::popcount(used);
    }
  }
  void find_positions(const JoinedPlanes& l) const noexcept {
    Index x = 0, y = 0;  // of the tile's first position
    find_tiles([&](Index t) {
      std::uint32_t used = 0;
      for (Index i = 0; i < tile_side; ++i) {
        used |= (x < place_.columns && y < place_.rows ? 1u : 0u) << i;
        if (++x == l.width) x = 0, ++y;
      }
      return std::pair(4 * t * tile_side, used);
    });
  }
  void find_positions(const PanelPlanes& l) const noexcept {
    const Index across = ceil_div(place_.columns, tile_side);
    find_tiles([&](Index t) {
      if (t >= tiles_) return std::pair(Index{0}, 0u);
      const Index left = place_.columns - t % across * tile_side;
      return std::pair(t / across * l.out_row_step + t % across * l.panel_step,
                       left < tile_side ? (1u << left) - 1u : 0xFFFFu);
    });
  }
  void find_positions(const PixelRows& l) const noexcept {
    auto* places = at<std::int32_t>(p_.scratch.tiles);
    auto* const end = places + round_up(tiles_, 2) * tile_side;
    for (Index y = 0; y < place_.rows; ++y) {
      Index left = end - places;
      for (Index x = 0; x < place_.columns; ++x) {
        places[x] = dmlref::detail::narrow<std::int32_t>(y * g_.out.y + x * g_.out.x);  // Plan::places_fit
      }
      left = left < l.width ? left : l.width;
      for (Index x = place_.columns; x < left; ++x) places[x] = -1;
      places += left;
    }
    while (places < end) *places++ = -1;
  }

  Index first_channel(Index panel) const noexcept {
    return group_ * p_.packed_channels() + panel * p_.panel_channels();
  }
  Index channels_of(Index panel) const noexcept {
    const Index left = g_.out_channels - panel * p_.panel_channels();
    return left < p_.panel_channels() ? left : p_.panel_channels();
  }
  std::uint8_t* output_at(Index panel) const noexcept {
    const Index channel = group_ * g_.out_channels + panel * p_.panel_channels();
    return run_.output +
           g_.output_bytes() * (image_ * g_.out.n + channel * g_.out.c + place_.y * g_.out.y + place_.x * g_.out.x);
  }
  MultiplyArgs multiply_args(Index panel) const noexcept {
    MultiplyArgs t;
    t.weight_block = p_.filter_block_bytes();
    t.weights =
        run_.filter + (group_ * p_.filter_blocks() + panel * (p_.panel_channels() / tile_side)) * t.weight_block;
    t.offsets = p_.offsets.data();
    t.k_blocks = p_.k_block_count();
    t.tile_step = p_.staged().tile_step;
    t.signed_pixels = p_.signed_pixels();
    t.start = run_.start + first_channel(panel) * (p_.planar() ? tile_side : 1);
    return t;
  }
  /// The sums of `steps` times 64 outputs, but for their zero-point compensation.
  Pass pass_of(std::int32_t* sums, Index steps, Index vectors, Index panel) const noexcept {
    Pass pass;
    pass.sums = sums;
    pass.steps = steps;
    pass.vectors = vectors;
    pass.channel = first_channel(panel);
    return pass;
  }
  /// Whether tiles may store sums of these channels in the output: where there are no others, and nothing to add.
  template <class Epilogue>
  bool stores_from_tiles(Index channels) const noexcept {
    return Epilogue::stores_sums && run_.compensation == Compensation::none && channels % tile_side == 0;
  }
  /// Whether all `count` places are those of pixels, `step` apart.
  static bool evenly_spaced(const std::int32_t* places, Index step, Index count) noexcept {
    bool even = places[0] >= 0;
    for (Index i = 0; i < count; ++i) even = even & (places[i] == places[0] + i * step);
    return even;
  }
  // 32 channels by 64 positions at a time, which are requantized during the next. A channel panel's filter stays in the
  // L1 cache, or L2, for all tiles: the other way round a large filter would come from beyond the caches for each of
  // them. Where products take little time, output is waited for: it is prefetched 64 pixels ahead.
  template <class Epilogue>
  DMLREF_TARGET_AMX_INT8 void run_planes(Index first, Index last) const noexcept {
    const auto* tiles = at<PixelTile>(p_.scratch.tiles);
    Epilogue epilogue(run_);
    std::int32_t* sums = at<std::int32_t>(p_.scratch.sums);
    std::int32_t* spare = sums + Plan::sums_of_panel;
    // Of few tiles the last four lack some. What stands for their sums must not be large: near ties take long.
    if (!Epilogue::stores_sums && tiles_ < 8 && tiles_ % 4 != 0) {
      std::memset(sums, 0, sizeof(std::int32_t) * 2 * Plan::sums_of_panel);
    }
    for (Index panel = first; panel < last; ++panel) {
      const Index channels = channels_of(panel);
      for (Index tile = 0; tile < tiles_; tile += 4) {
        const Index here = smaller(tiles_ - tile, 4);
        MultiplyArgs args = multiply_args(panel);
        Index whole = 0;  // tiles all of whose sums are of the output
        while (whole < here && tiles[tile + whole].used == 0xFFFF) ++whole;
        const bool in_output = stores_from_tiles<Epilogue>(channels) && whole == here;
        std::uint8_t* const out = output_at(panel) + g_.output_bytes() * tiles[tile].out;
        std::uint8_t* const sums_at = in_output ? out : reinterpret_cast<std::uint8_t*>(sums);
        args.sums_pitch = in_output ? 4 * g_.out.c : 4 * 64;
        epilogue.spread(here / 2 * interleave_points(p_.k_block_count()));
        for (Index i = 0; i < here; i += 2) {
          args.pixels[0] = staged_ + tiles[tile + i].offset;
          args.pixels[1] = staged_ + tiles[tile + i + 1].offset;
          args.sums = sums_at + 4 * tile_side * i;
          multiply_of<true>(channels > tile_side, here - i > 1, args, epilogue);
        }
        epilogue.complete();
        if (in_output) continue;
        Pass pass = pass_of(sums, channels, 4, panel);
        pass.per_row = run_.factors + first_channel(panel);
        pass.per_lane = pixel_sums() + tile * tile_side;
        std::uint64_t used = 0;
        for (Index i = 0; i < 4; ++i) used |= std::uint64_t{tiles[tile + i].used} << (16 * i);
        epilogue.begin(pass, Planes{out, g_.output_bytes() * g_.out.c, p_.k_block_count() <= 3 ? 64 : 0, used});
        std::swap(sums, spare);
      }
    }
    epilogue.complete();
  }

  // 32 positions by 64 channels at a time.
  template <class Epilogue>
  DMLREF_TARGET_AMX_INT8 void run_pixels(Index first, Index last) const noexcept {
    const auto* places = at<std::int32_t>(p_.scratch.tiles);
    Epilogue epilogue(run_);
    std::int32_t* sums = at<std::int32_t>(p_.scratch.sums);
    std::int32_t* spare = sums + Plan::sums_of_panel;
    for (Index panel = first; panel < last; ++panel) {
      const Index channels = channels_of(panel);
      const Index here = ceil_div(channels, tile_side), vectors = here == 3 ? 4 : here;
      for (Index tile = 0; tile < tiles_; tile += 2) {
        const bool pair = tiles_ - tile > 1;
        MultiplyArgs args = multiply_args(panel);
        args.pixels[0] = staged_ + tile * tile_side * args.tile_step;
        args.pixels[1] = args.pixels[0] + (pair ? tile_side * args.tile_step : 0);
        const Index step = places[tile * tile_side + 1] - places[tile * tile_side];  // from pixel to pixel
        const bool in_output =
            stores_from_tiles<Epilogue>(channels) && evenly_spaced(places + tile * tile_side, step, pair ? 32 : 16);
        std::uint8_t* const out = output_at(panel);
        std::uint8_t* const sums_at =
            in_output ? out + 4 * places[tile * tile_side] : reinterpret_cast<std::uint8_t*>(sums);
        args.sums_pitch = 4 * (in_output ? step : tile_side * vectors);
        epilogue.spread(pair ? ceil_div(here, 2) * interleave_points(p_.k_block_count()) : 0);
        for (Index i = 0; i < here; i += 2) {
          args.sums = sums_at + 4 * tile_side * i;
          multiply_of<false>(here - i > 1, pair, args, epilogue);
          args.weights += 2 * args.weight_block;
          args.start += 2 * tile_side;
        }
        epilogue.complete();
        if (in_output) continue;
        Pass pass = pass_of(sums, (pair ? 2 : 1) * tile_side * vectors / 4, vectors, panel);
        pass.per_row = pixel_sums() + tile * tile_side;
        pass.per_lane = run_.factors + first_channel(panel);
        epilogue.begin(pass, Pixels{out, places + tile * tile_side, channels});
        std::swap(sums, spare);
      }
    }
    epilogue.complete();
  }

  const Plan& p_;
  const Geometry& g_;
  const Run& run_;
  std::uint8_t* scratch_;
  BlockPlace place_{};
  Index image_ = 0, group_ = 0;
  Index tiles_ = 0;                       // of pixels
  const std::uint8_t* input_ = nullptr;   // of the image's group
  const std::uint8_t* staged_ = nullptr;  // the block's first pixel
};

// Its base uses blocks, so that a plan is made only where they are known.
inline Plan::Plan(const Problem& problem, const Blocking& blocking)
    : BlockedPlan(problem, flatten(geometry_of(problem))),
      Blocking(blocking),
      k_blocks(std::visit([this](const auto& l) { return k_blocks_of(g, l); }, layout)),
      gather(g, layout, k_blocks) {
  // Within a staged block, as Blocking says, or within the channels of one pixel, which suits() bounds.
  for (const KBlock& block : k_blocks) offsets.push_back(dmlref::detail::narrow<std::int32_t>(block.offset));
  place_memory();
}

}  // namespace fast::qlc::amx
DMLREF_END
#endif
