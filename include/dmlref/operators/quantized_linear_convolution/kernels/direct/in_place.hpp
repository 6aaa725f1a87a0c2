// in_place.hpp: depthwise layers whose input kernels read where it lies.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/plan.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

/// Channels that are neighbours in memory (NHWC): a vector holds channels, and kernels read a kernel column's pixels.
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
      t.out.dst = output + g.output_bytes() * (work.image * g.out.n + y * g.out.y + channels.first);
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

/// Planes that lie one after the other (NCHW).
class PlanesInPlace final : public DirectPlan<PlanesInPlace, PixelLanes> {
 public:
  static constexpr const char* name = "planes in place";
  static bool suits(const Layer& l) noexcept {
    const Geometry& g = l.g;
    return l.kernels.planes_suit != nullptr && g.in.forward() && g.out.forward() && l.kernels.planes_suit(g);
  }

  PlanesInPlace(const Problem& problem, const Layer& layer) : DirectPlan(problem, layer, {layer, plane_taps(layer)}) {
    const Geometry& g = layer_.g;
    band_rows_ = g.out_height;
    // A few large planes: sixteen tasks or more.
    while (g.groups * g.batch * ceil_div(g.out_height, band_rows_) < 16 && band_rows_ * g.out_width > 4096) {
      band_rows_ = (band_rows_ + 1) / 2;
    }
    // Sixteen tasks or more, but none of less than five microseconds, as they take some setting up; and as many as
    // tasks that share them evenly. Up to four small planes share vectors.
    const Index work = round_up(band_rows_ * g.out_width * g.stride_x, layer_.kernels.block) * lanes_.taps.groups;
    const Index sixteenth = g.groups * g.batch * bands() / 16, brief = 160 * 1024 / (g.out_channels * work);
    Index groups = larger(1, smaller(g.groups, larger(sixteenth, brief)));
    const auto min_parts = static_cast<std::uint64_t>(ceil_div(g.groups, groups));
    groups = ceil_div(g.groups, static_cast<Index>(std::bit_ceil(min_parts)));
    if (g.out_height * g.out_width <= 1024) groups = smaller(g.groups, round_up(groups, 4));
    groups_at_a_time_ = groups;
  }

  Index bands() const noexcept { return ceil_div(layer_.g.out_height, band_rows_); }
  Index parts() const noexcept { return ceil_div(layer_.g.groups, groups_at_a_time_); }

  void run(const std::byte* constants, const std::uint8_t* input, std::uint8_t* output, Index unit) const noexcept {
    const Geometry& g = layer_.g;
    const Work work(unit, bands(), parts());
    const Index first = work.part * groups_at_a_time_, y = work.band * band_rows_;
    const auto h = load<ConstantsHeader>(constants, 0);
    PlaneArgs t;
    t.in = {input + work.image * g.in.n + first * g.in.c,
            g.in.y,
            g.height,
            g.width,
            g.pad_y - y * g.stride_y,
            g.pad_x,
            h.fill,
            h.input_flip};
    t.in_plane_step = g.in.c;
    t.tensor = input + g.input_begin;
    t.tensor_bytes = g.input_end - g.input_begin;
    t.kernel = g.kernel_w;
    t.stride = g.stride_x;
    t.channel = constants + lanes_.at(first * g.out_channels);
    t.channel_step = lanes_.channel_bytes;
    t.rounding = exact_rounding(h);
    t.out = {output + g.output_bytes() * (work.image * g.out.n + first * g.out_channels * g.out.c + y * g.out.y),
             g.out.y, smaller(band_rows_, g.out_height - y), g.out_width};
    t.out_plane_step = g.out.c;
    t.planes = smaller(groups_at_a_time_, g.groups - first) * g.out_channels;
    t.outputs = g.out_channels;
    t.costs = layer_.plane_costs;
    layer_.kernels.pixel_planes(t);
  }

 private:
  Index band_rows_ = 1, groups_at_a_time_ = 1;
};

}  // namespace fast::qlc::direct
DMLREF_END
