// staged_planes.hpp: groups of planes (NCHW, or any strides): lines of pixels of one channel, for up to four output
// channels at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/constants.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/plan.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/staging.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

class StagedPlanes {
 public:
  static constexpr const char* name = "staged planes";

  static std::optional<StagedPlanes> make(const Layer& l) {
    StagedPlanes made(l);
    if (!made.choose()) return std::nullopt;
    return made;
  }

  Layer layer;
  PixelLanes lanes;
  Index bands() const noexcept { return staging_.bands(); }
  Index parts() const noexcept { return ceil_div(layer.g.groups, groups_at_a_time_); }

  void run(const std::byte* folded, const std::uint8_t* input, std::uint8_t* output, Index unit) const noexcept {
    alignas(64) std::uint8_t staged[staged_capacity + slack];
    alignas(64) std::uint8_t lines[line_capacity + slack];
    const Geometry& g = layer.g;
    const Work work(unit, bands(), parts());
    const Band band = staging_.band(work.band);
    const FoldedHeader h = read<FoldedHeader>(folded);
    const Index first = work.part * groups_at_a_time_, groups = smaller(groups_at_a_time_, g.groups - first);
    staging_.stage(band, h, input + work.image * g.in.n + first * g.in_channels * g.in.c, groups * g.in_channels, 1, 1,
                   staged);
    LaneArgs t;
    t.offsets = offsets_.data();
    t.units = layer.packed_taps.units;
    t.blocks = ceil_div(staging_.lanes(band), layer.kernels->block);
    t.out = lines;
    const std::byte* channel = folded + lanes.at(first * g.out_channels);
    for (Index group = 0; group < groups; ++group) {
      t.staged = staged + group * g.in_channels * staging_.phases() * staging_.phase_bytes(1);
      for (Index m = 0; m < g.out_channels;) {
        const Index left = layer.kernels->pixel_taps_4 == nullptr ? 1 : g.out_channels - m;
        const Index outputs = left < 2 ? 1 : left < 4 ? 2 : 4;
        run_line(t, h, channel, outputs);
        m += outputs;
        channel += outputs * lanes.channel_bytes;
        t.out += outputs * line_bytes_;
      }
    }
    std::uint8_t* const out = output + work.image * g.out.n + band.y * g.out.y + band.x * g.out.x;
    for (Index m = 0; m < groups * g.out_channels; ++m) {
      unstage(lines + m * line_bytes_, staging_.row_pixels, band.rows, band.columns,
              out + (first * g.out_channels + m) * g.out.c, g.out.y, g.out.x);
    }
  }

 private:
  explicit StagedPlanes(const Layer& given) : layer(with_slots(given)), lanes(layer), staging_(layer.g) {}

  static Tap tap(const Geometry& g, Index slot) noexcept {
    return {slot / g.taps(), slot % g.taps() / g.kernel_w, slot % g.kernel_w, slot < g.depth()};
  }
  static Layer with_slots(Layer l) {
    const Index group = l.kernels->group;
    l.packed_taps = FilterSlots(l.g, ceil_div(l.g.depth(), group), group, l.ninth_bit(NinthBit::high_part),
                                [&](Index slot) { return tap(l.g, l.staged_slot(slot)); });
    return l;
  }

  bool choose() {
    const Geometry& g = layer.g;
    const Index block = layer.kernels->block, few = 20 * 1024;
    if (!staging_.choose({g.in_channels, g.out_channels, 1, few}, block)) return false;
    for (Index slot = 0; slot < layer.packed_taps.count(); ++slot) {
      offsets_.push_back(slot < g.depth() ? staging_.offset(tap(g, slot), 1) : offsets_.back());
    }
    // Several groups per task: its cost is shared, and a channel's bytes are staged long before they are read. Sixteen
    // tasks or more, but none of less than a microsecond.
    line_bytes_ = round_up((staging_.band_rows - 1) * staging_.row_pixels + staging_.band_columns, block);
    const auto fits = [&](Index groups) {
      const Index lines = groups * g.out_channels * line_bytes_;
      return groups * g.in_channels * staging_.phases() * staging_.phase_bytes(1) <= few && lines <= 16 * 1024 &&
             (16 * groups <= g.groups * g.batch * bands() || lines * layer.packed_taps.units <= 16 * 1024);
    };
    while (groups_at_a_time_ < g.groups && fits(groups_at_a_time_ + 1)) ++groups_at_a_time_;
    return true;
  }

  /// One, two or four output channels, whose constants begin at `data`, of one group's staged input.
  void run_line(LaneArgs& t, const FoldedHeader& h, const std::byte* data, Index outputs) const noexcept {
    std::int32_t sum[4];
    float scale[4], shift[4];
    double factor[4], offset[4];
    static_cast<requantize::ExactRounding&>(t.rounding) = exact_rounding(h);
    t.rounding.near_tie = t.rounding.floats = 0;
    t.weights.wide = 0;
    for (Index m = 0; m < outputs; ++m) {
      const ChannelData channel = read<ChannelData>(data + m * lanes.channel_bytes);
      const bool floats = channel.floats.sum != 0;
      const SumConstants& numbers = floats ? channel.floats : channel.integers;
      sum[m] = numbers.sum;
      scale[m] = numbers.scale;
      shift[m] = numbers.shift;
      factor[m] = channel.factor;
      offset[m] = channel.offset;
      t.weights.wide |= channel.wide;
      t.rounding.floats |= static_cast<std::uint32_t>(floats) << m;
      if (numbers.near_tie > t.rounding.near_tie) t.rounding.near_tie = numbers.near_tie;
    }
    t.rounding.sum = sum;
    t.rounding.scale = scale;
    t.rounding.shift = shift;
    t.rounding.factor = factor;
    t.rounding.offset = offset;
    t.weights.data = data + sizeof(ChannelData);
    t.weights.step = lanes.channel_bytes;
    t.out_step = line_bytes_;
    const Kernels& k = *layer.kernels;
    (outputs == 1 ? k.pixel_taps : outputs == 2 ? k.pixel_taps_2 : k.pixel_taps_4)(t);
  }

  Staging staging_;
  std::vector<std::int32_t> offsets_;
  Index groups_at_a_time_ = 1, line_bytes_ = 0;
};

}  // namespace fast::qlc::direct
DMLREF_END
