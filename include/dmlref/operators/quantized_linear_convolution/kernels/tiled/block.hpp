// block.hpp: a tiled convolution, one block of output pixels at a time.
#pragma once

#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/blocks.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/activation_sums.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/constants.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/filter.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/plan.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/run_channels.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/run_pixels.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/run_sums.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/staging.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/view.hpp"

DMLREF_BEGIN
namespace fast::qlc::tiled {

/// A window's sum of activations, which is 32 bits without a sign where they have none: 2^24 of them at most
/// (Plan::usable) sum to less than 2^32, and signed ones to -2^31 or more.
inline std::int64_t sum_of_activations(const Kernels& kernels, std::int32_t sum) noexcept {
  return kernels.signed_activations ? std::int64_t{sum} : std::int64_t{static_cast<std::uint32_t>(sum)};
}

/// So many steps of K at once that their 32-bit sums cannot overflow; everything else in 64 bits, pixel by pixel. Cold.
inline void run_int64(const BlockView& v, Index first_block, Index last_block) noexcept {
  const Plan& p = v.p;
  const Index lanes = p.kernels.lanes, max_steps = 65536 / p.kernels.group;
  const std::int32_t zero[64] = {};
  std::int64_t* const int64_sums = v.int64_sums();
  for (Index block = first_block; block < last_block; ++block) {
    const Index count = smaller(p.g.out_channels - block * lanes, lanes), first = v.packed_channel(block, 0);
    for (Index y = 0; y < v.place.rows; ++y) {
      for (Index x = 0; x < v.place.columns; ++x) {
        for (Index l = 0; l < lanes; ++l) int64_sums[l] = v.run.int64_offset[first + l];
        for (Index step = 0; step < p.filter.steps; step += max_steps) {
          p.kernels.channel_tiles.fit(1, 1).run(
              {{v.activations_of(y) + x * p.block.pixel_step, p.depth.offsets.data() + step,
                smaller(p.filter.steps - step, max_steps), p.block.pixel_step, v.weights(block, 0) + step * 4 * lanes,
                4 * lanes, p.filter.block_bytes()},
               {zero, ZeroPointTerm::none, nullptr, v.pixel_sums(y)},
               TileOutput::sums,
               {v.sums(), lanes},
               {v.run.requantizer, first, v.bytes(), lanes, lanes},
               1});
          for (Index l = 0; l < lanes; ++l) int64_sums[l] += v.sums()[l];
        }
        for (Index l = 0; l < count; ++l) {
          if (v.run.pixel_terms) {
            int64_sums[l] +=
                v.run.minus_filter_zero_point[first + l] * sum_of_activations(p.kernels, v.pixel_sums(y)[x]);
          }
          v.output_at(block * lanes + l, y)[x * p.g.out.x] = v.run.requantizer.exact(int64_sums[l], first + l);
        }
      }
    }
  }
}

/// A block of output pixels: staged, then multiplied with ranges of output channels.
class Block {
 public:
  /// Block `index` of the grid, in the memory of one task.
  Block(const Plan& plan, const Run& run, const BlockGrid& grid, std::uint8_t* memory, Index index) noexcept
      : view_(plan, run, grid.block(plan.g, index), memory) {}

  /// The input as the tiles read it, and its sums; of the task's memory, hence once for all ranges of channels.
  void stage() noexcept {
    const Plan& p = view_.p;
    const Run& run = view_.run;
    if (!p.block.direct) {
      qlc::stage({p.g, p.block, p.kernels, run.input_zero_point, run.input_flip, view_.scratch()}, view_.input,
                 view_.place, view_.staged());
    }
    if (run.pixel_terms) sum_activations(view_);
  }

  /// Blocks [first, last) of output channels.
  void run(Index first, Index last) noexcept {
    if (view_.p.g.results == Results::sums) {
      run_sums(view_, first, last);
    } else if (view_.run.needs_int64) {
      run_int64(view_, first, last);
    } else if (view_.p.pixels_in_lanes()) {
      run_pixels(view_, first, last);
    } else {
      run_channels(view_, first, last);
    }
  }

 private:
  BlockView view_;
};

// Its base uses blocks, so that a plan is made only where they are known.
inline Plan::Plan(const Problem& problem, const Kernels& set, const Blocking& blocking,
                  const Tuning::Convolution& tuning)
    : BlockedPlan(problem, flatten(geometry_of(problem))),
      Blocking(blocking),
      kernels(set),
      depth(depth_tables(g, block)),
      filter(packed_filter(g, kernels, block.order)) {
  for (Index plane = 0; plane < block.order.channel_groups() && block.order.staging == Staging::planes; ++plane) {
    plane_offsets.push_back(dmlref::detail::narrow<std::int32_t>(plane * block.plane_step));  // usable(): in a block
  }
  choose_row_ranges();
  place_memory(tuning);
}

}  // namespace fast::qlc::tiled
DMLREF_END
