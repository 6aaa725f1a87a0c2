// winograd.hpp: 3x3 convolutions with a fourth, or little more than half, of the multiplications (with a stride of 2
// two thirds), exactly.
//
//   input ──► stage ──► B^T x B ──► V                        per block of tiles
//                                   │  position by position
//   filter ──► G w G^T ──► U ───────┴──► M ──► A^T M A ──► sums ──► requantize ──► write      per 16 output channels
//              once, at initialize
//
// transform.hpp has the algebra and why nothing is lost. Tiles overlap by two pixels at the input (with a stride of 2
// by one) and not at all at the output; what the last ones compute beyond the image is not written.
#pragma once

#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/blocks.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/winograd/block.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/winograd/constants.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/winograd/plan.hpp"

DMLREF_BEGIN
namespace fast {

class WinogradConvolution
    : public qlc::BlockedConvolution<qlc::winograd::Plan, qlc::winograd::Block, qlc::winograd::Run> {
 public:
  /// `outputs`: the size of a tile, 2 or 4; 0: whichever is faster.
  WinogradConvolution(const qlc::Problem& problem, const qlc::winograd::Kernels& kernels, int outputs = 0)
      : BlockedConvolution(qlc::winograd::Plan(problem, kernels, outputs)) {}

  std::string_view strategy_name() const noexcept { return "winograd"; }
  /// 3x3 with stride 1, or 2 without dilation, one group, and a filter that is there at initialize.
  bool usable() const noexcept { return plan_.usable; }
  /// Whether this is the faster way than multiplying every tap, which is nearer to the peak.
  bool worthwhile() const noexcept {
    const qlc::Geometry& g = plan_.g;
    const double direct = static_cast<double>(g.batch * g.out_height * g.out_width) *
                          static_cast<double>(g.depth() * qlc::round_up(g.out_channels, 8));
    return usable() && plan_.tiling.cost() < 0.86 * direct;
  }
};

}  // namespace fast
DMLREF_END
