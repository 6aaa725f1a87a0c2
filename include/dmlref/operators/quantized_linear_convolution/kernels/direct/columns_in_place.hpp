// columns_in_place.hpp: depthwise layers whose channels are neighbours in memory (NHWC): a vector holds channels, and
// kernels read a kernel column's pixels where they are.
#pragma once

#include <cstdint>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/plan.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

class ColumnsInPlace final : public DirectPlan<ColumnsInPlace, ChannelLanes> {
 public:
  static constexpr const char* name = "columns in place";
  static bool suits(const Layer& l) noexcept {
    const Geometry& g = l.g;
    return l.kernels.columns_suit != nullptr && g.in.x != 1 && g.in.forward() && g.out.forward() &&
           l.kernels.columns_suit(g);
  }

  ColumnsInPlace(const Problem& problem, const Layer& layer)
      : DirectPlan(problem, layer, {layer, column_taps(layer), vectors_of(layer), 1, 1}) {
    const Geometry& g = layer_.g;
    // Sixteen tasks or more, but none of less than a microsecond, nor so large that some wait for the last.
    const Index vectors = g.batch * g.out_height * g.out_width * count();
    const Index tasks = larger(larger(1, smaller(16, vectors / 512)), vectors / 2048);
    band_rows_ = ceil_div(g.out_height, smaller(g.out_height, ceil_div(tasks, g.batch)));
    at_a_time_ = ceil_div(count(), larger(1, tasks / (g.batch * bands())));
  }

  Index bands() const noexcept { return ceil_div(layer_.g.out_height, band_rows_); }
  /// The last two channel blocks may share channels: they are of one task.
  Index parts() const noexcept { return ceil_div(larger(1, layer_.g.groups / layer_.kernels.block), at_a_time_); }

  void run(const std::byte* constants, const std::uint8_t* input, std::uint8_t* output, Index unit) const noexcept {
    const Geometry& g = layer_.g;
    const Work work(unit, bands(), parts());
    const Index y = work.band * band_rows_;
    const auto h = load<ConstantsHeader>(constants, 0);
    ColumnArgs t;
    t.in = {nullptr, g.in.y, g.height, g.width, g.pad_y - y * g.stride_y, g.pad_x, h.fill, h.input_flip};
    t.in_step = g.in.x;
    t.kernel = g.kernel_h;
    t.stride_y = g.stride_y;
    t.stride_x = g.stride_x;
    t.pixels = layer_.kernels.block / lanes_.blocks.front().count;
    t.out = {nullptr, g.out.y, smaller(band_rows_, g.out_height - y), g.out_width};
    t.out_step = g.out.x;
    const Index first = work.part * at_a_time_;
    const Index end = work.part + 1 == parts() ? count() : first + at_a_time_;
    for (Index i = first; i < end; ++i) {
      const ChannelBlock& channels = lanes_.blocks[static_cast<std::size_t>(i)];
      bind_lanes(layer_, lanes_, channels, 0, constants, t.weights, t.rounding);
      t.in.src = input + work.image * g.in.n + channels.first;
      t.out.dst = output + work.image * g.out.n + y * g.out.y + channels.first;
      layer_.kernels.channel_columns(t);
    }
  }

 private:
  static std::vector<ChannelBlock> vectors_of(const Layer& layer) {
    const Index block = layer.kernels.block, groups = layer.g.groups;
    std::vector<ChannelBlock> vectors;
    for (Index first = 0; first < groups; first += block) {  // the last ones with channels of those before
      ChannelBlock& channels = vectors.emplace_back();
      channels.first = larger(0, smaller(first, groups - block));
      channels.count = channels.pitch = smaller(groups, block);
    }
    return vectors;
  }
  Index count() const noexcept { return static_cast<Index>(lanes_.blocks.size()); }

  Index band_rows_ = 1, at_a_time_ = 1;
};

}  // namespace fast::qlc::direct
DMLREF_END
