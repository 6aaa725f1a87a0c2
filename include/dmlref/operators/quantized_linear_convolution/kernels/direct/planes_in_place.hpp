// planes_in_place.hpp: depthwise layers whose planes lie one after the other (NCHW): kernels read them where they are.
#pragma once

#include <bit>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/constants.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/plan.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

class PlanesInPlace {
 public:
  static constexpr const char* name = "planes in place";
  static bool suits(const Layer& l) noexcept {
    const Geometry& g = l.g;
    return l.kernels->planes_suit != nullptr && g.in.forward() && g.out.forward() && l.kernels->planes_suit(g);
  }

  explicit PlanesInPlace(const Layer& given) : layer(with_slots(given)), lanes(layer) {
    const Geometry& g = layer.g;
    band_rows_ = g.out_height;
    // A few large planes: sixteen tasks or more.
    while (g.groups * g.batch * ceil_div(g.out_height, band_rows_) < 16 && band_rows_ * g.out_width > 4096) {
      band_rows_ = (band_rows_ + 1) / 2;
    }
    // Sixteen tasks or more, but none of less than five microseconds, as they take some setting up; and as many as
    // tasks that share them evenly. Up to four small planes share vectors.
    const Index work = round_up(band_rows_ * g.out_width * g.stride_x, layer.kernels->block) * layer.packed_taps.units;
    const Index sixteenth = g.groups * g.batch * bands() / 16, brief = 160 * 1024 / (g.out_channels * work);
    Index groups = larger(1, smaller(g.groups, larger(sixteenth, brief)));
    const auto least_parts = static_cast<std::uint64_t>(ceil_div(g.groups, groups));
    groups = ceil_div(g.groups, static_cast<Index>(std::bit_ceil(least_parts)));
    if (g.out_height * g.out_width <= 1024) groups = smaller(g.groups, round_up(groups, 4));
    groups_at_a_time_ = groups;
  }

  Layer layer;
  PixelLanes lanes;
  Index bands() const noexcept { return ceil_div(layer.g.out_height, band_rows_); }
  Index parts() const noexcept { return ceil_div(layer.g.groups, groups_at_a_time_); }

  void run(const std::byte* folded, const std::uint8_t* input, std::uint8_t* output, Index unit) const noexcept {
    const Geometry& g = layer.g;
    const Work work(unit, bands(), parts());
    const Index first = work.part * groups_at_a_time_, y = work.band * band_rows_;
    const FoldedHeader h = read<FoldedHeader>(folded);
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
    t.channel = folded + lanes.at(first * g.out_channels);
    t.channel_step = lanes.channel_bytes;
    t.rounding = exact_rounding(h);
    t.out = {output + work.image * g.out.n + first * g.out_channels * g.out.c + y * g.out.y, g.out.y,
             smaller(band_rows_, g.out_height - y), g.out_width};
    t.out_plane_step = g.out.c;
    t.planes = smaller(groups_at_a_time_, g.groups - first) * g.out_channels;
    t.outputs = g.out_channels;
    layer.kernels->pixel_planes(t);
  }

 private:
  /// Quads of a kernel row's taps, or pairs of words in the order of the filter.
  static Layer with_slots(Layer l) {
    const Geometry& g = l.g;
    if (l.kernels->pairs_in_place) {
      l.packed_taps = FilterSlots(g, ceil_div(g.taps(), 2), 2, NinthBit::fits, [&](Index slot) {
        return Tap{0, slot / g.kernel_w, slot % g.kernel_w, slot < g.taps()};
      });
    } else {
      l.packed_taps = FilterSlots(g, g.kernel_h, 4, NinthBit::high_part, [&](Index slot) {
        return Tap{0, slot / 4, slot % 4, slot % 4 < g.kernel_w};
      });
    }
    return l;
  }

  Index band_rows_ = 1, groups_at_a_time_ = 1;
};

}  // namespace fast::qlc::direct
DMLREF_END
