// block.hpp: a tiled convolution, one block of output pixels at a time.
#pragma once

#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/blocks.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/activation_sums.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/constants.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/plan.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/run_channels.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/run_pixels.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/run_wide.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/staging.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/view.hpp"

DMLREF_BEGIN
namespace fast::qlc::tiled {

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
    if (view_.run.wide) {
      run_wide(view_, first, last);
    } else if (view_.p.pixels_in_lanes()) {
      run_pixels(view_, first, last);
    } else {
      run_channels(view_, first, last);
    }
  }

 private:
  BlockView view_;
};

}  // namespace fast::qlc::tiled
DMLREF_END
