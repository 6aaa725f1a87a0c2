// amx.hpp: general convolutions with AMX's tiles of bytes: one product is 16 x 64 values by 64 x 16.
//
// As in the tiled convolution, blocks of output pixels are staged, multiplied with the packed filter, requantized while
// the sums are in the L1 cache, and written; layout.hpp says how the operands become tiles. With the activations a' and
// the weights w' as the tiles read them (both perhaps shifted by 128, zero points with them):
//   sum (a - za)(w - zw) + bias = sum a' w'  +  (bias - za' sum w' + K za' zw')  -  zw' sum a'
// Sums are taken modulo 2^32; where the result may not fit (`wide`), those of the products do, as K <= 65536, and all
// else is done in 64 bits.
#pragma once

#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/amx/block.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/amx/constants.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/amx/plan.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/blocks.hpp"

#if DMLREF_ARCH_X86_64

DMLREF_BEGIN
namespace fast {

/// Convolutions whose input and output are both planar, or both have their channels side by side.
class AmxConvolution : public qlc::BlockedConvolution<qlc::amx::Plan, qlc::amx::Block, qlc::amx::Run> {
 public:
  static constexpr bool uses_tiles = true;

  explicit AmxConvolution(const qlc::Problem& problem) : BlockedConvolution(qlc::amx::Plan(problem)) {}

  /// Whether the layouts are as said, and the filter is no deeper than 65536.
  bool usable() const noexcept { return plan_.usable; }
  std::string_view strategy_name() const noexcept { return "amx"; }
  /// Tiles of 16 pixels are for 8 at least, unless packing takes most of the time and is faster here: of filters that
  /// are bound at execute, and whose input channels do not lie side by side. Tiles of 64 values of K are for more than
  /// 24, or 32 if output channels are few, unless dot products would not round in one multiply-add.
  bool worthwhile() const noexcept {
    const qlc::Geometry& g = plan_.g;
    const bool shallow = g.depth() <= 24 || (g.depth() <= 32 && g.out_channels <= 32);
    return usable() && !(shallow && plan_.constants_at.kept_tables) &&
           (g.out_height * g.out_width >= 8 || !(plan_.constants_at.kept_filter || g.filter_of_rows()));
  }
};

}  // namespace fast
DMLREF_END
#endif
