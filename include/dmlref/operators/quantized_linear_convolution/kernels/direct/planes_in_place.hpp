// planes_in_place.hpp: depthwise layers whose planes lie one after the other (NCHW): kernels read them where they are.
#pragma once

#include <bit>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/plan.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

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
    t.dilation = g.dilation_x;
    t.channel = constants + lanes_.at(first * g.out_channels);
    t.channel_step = lanes_.channel_bytes;
    t.rounding = exact_rounding(h);
    t.out = {output + work.image * g.out.n + first * g.out_channels * g.out.c + y * g.out.y, g.out.y,
             smaller(band_rows_, g.out_height - y), g.out_width};
    t.out_plane_step = g.out.c;
    t.planes = smaller(groups_at_a_time_, g.groups - first) * g.out_channels;
    t.outputs = g.out_channels;
    layer_.kernels.pixel_planes(t);
  }

 private:
  Index band_rows_ = 1, groups_at_a_time_ = 1;
};

}  // namespace fast::qlc::direct
DMLREF_END
