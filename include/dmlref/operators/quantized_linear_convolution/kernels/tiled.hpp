// tiled.hpp: general convolutions, tile by tile.
//
// Output pixels are cut into blocks (tiled/), a block's input is staged (staging.hpp), then every block of output
// channels is multiplied tile by tile (kernels.hpp), requantized while the sums are in the L1 cache, and written. With
// the activations a' and the weights w' as the kernels read them (both perhaps shifted by 128, zero points with them):
//   sum (a - za)(w - zw) + bias = sum a' w'  +  (bias - za' sum w' + K za' zw')  -  zw' sum a'
// The second term is one number per channel, the third a product of one per channel and one per pixel, absent where the
// filter's zero points are 0. Padding holds za', so K counts every tap. Kernel rows that lie in it are left out of the
// first sum and of sum w'.
//
// Overflow: sums are taken modulo 2^32, which is exact where the final value fits: K * |a - za| * |w - zw| + |bias| <
// 2^31, that is K <= 33025 with a small bias and any zero points. Otherwise (`wide`) K is cut into pieces of at most
// 65536 elements, each of whose sums |sum a' w'| <= 65536 * 255 * 128 = 2139095040 < 2^31 is exact, and all else is
// done in 64 bits.
#pragma once

#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/blocks.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/block.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/constants.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/plan.hpp"

DMLREF_BEGIN
namespace fast {

/// General convolutions: any shape, type mix and layout.
class TiledConvolution : public qlc::BlockedConvolution<qlc::tiled::Plan, qlc::tiled::Block, qlc::tiled::Run> {
 public:
  TiledConvolution(const qlc::Problem& problem, const qlc::Kernels& kernels)
      : BlockedConvolution(qlc::tiled::Plan(problem, kernels)) {}

  std::string_view strategy_name() const noexcept { return plan_.strategy_name(); }
  /// False for filters so deep that tables along K would be out of proportion; the reference takes them.
  bool usable() const noexcept { return plan_.usable(); }
};

}  // namespace fast
DMLREF_END
