// pieces.hpp: memory in pieces, each of which begins at a cache line.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"

DMLREF_BEGIN
namespace fast::qlc {

/// Hands out pieces one after the other.
class Pieces {
 public:
  /// Where a piece of so many bytes begins.
  Index take(Index bytes) noexcept {
    const Index here = end_;
    end_ += round_up(bytes, 64);
    return here;
  }
  /// Bytes of all pieces, and of what lies behind them up to a multiple of 256.
  Index size() const noexcept { return round_up(end_, 256); }

 private:
  Index end_ = 0;
};

}  // namespace fast::qlc
DMLREF_END
