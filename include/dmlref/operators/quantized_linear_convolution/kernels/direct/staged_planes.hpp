// staged_planes.hpp: groups of planes (NCHW, or any strides): lines of pixels of one channel, for up to four output
// channels at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/plan.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/staging.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

class StagedPlanes final : public DirectPlan<StagedPlanes, PixelLanes> {
 public:
  static constexpr const char* name = "staged planes";

  /// Null where not even some pixels fit a task's memory.
  static std::shared_ptr<const detail::Plan> make(const Problem& problem, const Layer& layer) {
    const Geometry& g = layer.g;
    const std::optional<Staging> staging =
        Staging::fit(g, {g.in_channels, g.out_channels, 1, few_bytes}, layer.kernels.block);
    if (!staging) return nullptr;
    return std::make_shared<StagedPlanes>(problem, layer, *staging);
  }

  StagedPlanes(const Problem& problem, const Layer& layer, const Staging& staging)
      : DirectPlan(problem, layer, {layer, taps_of(layer)}), staging_(staging) {
    const Geometry& g = layer_.g;
    for (Index i = 0; i < lanes_.taps.count(); ++i) {
      offsets_.push_back(i < g.depth() ? staging_.offset(tap(g, i), 1) : offsets_.back());
    }
    // Several groups per task: its cost is shared, and a channel's bytes are staged long before they are read. Sixteen
    // tasks or more, but none of less than a microsecond.
    line_lanes_ =
        round_up((staging_.band_rows - 1) * staging_.row_pixels + staging_.band_columns, layer_.kernels.block);
    const auto fits = [&](Index groups) {
      const Index lines = groups * g.out_channels * line_lanes_ * g.output_bytes();
      return groups * g.in_channels * staging_.phases() * staging_.phase_bytes(1) <= few_bytes && lines <= 16 * 1024 &&
             (16 * groups <= g.groups * g.batch * bands() || lines * lanes_.taps.groups <= 16 * 1024);
    };
    while (groups_at_a_time_ < g.groups && fits(groups_at_a_time_ + 1)) ++groups_at_a_time_;
  }

  Index bands() const noexcept { return staging_.bands(); }
  Index parts() const noexcept { return ceil_div(layer_.g.groups, groups_at_a_time_); }

  void run(const std::byte* constants, const std::uint8_t* input, std::uint8_t* output, Index unit) const noexcept {
    alignas(64) std::uint8_t staged[staged_capacity + slack];
    alignas(64) std::uint8_t lines[line_capacity + slack];
    const Geometry& g = layer_.g;
    const Work work(unit, bands(), parts());
    const RowBand band = staging_.band(work.band);
    const auto h = load<ConstantsHeader>(constants, 0);
    const Index first = work.part * groups_at_a_time_, groups = smaller(groups_at_a_time_, g.groups - first);
    staging_.stage(band, h, input + work.image * g.in.n + first * g.in_channels * g.in.c, groups * g.in_channels, 1, 1,
                   staged);
    LaneArgs t;
    t.offsets = offsets_.data();
    t.groups = lanes_.taps.groups;
    t.blocks = ceil_div(staging_.lanes(band), layer_.kernels.block);
    t.out = lines;
    const std::byte* channel = constants + lanes_.at(first * g.out_channels);
    for (Index group = 0; group < groups; ++group) {
      t.staged = staged + group * g.in_channels * staging_.phases() * staging_.phase_bytes(1);
      for (Index m = 0; m < g.out_channels;) {
        const Index left = layer_.kernels.pixel_taps_4 == nullptr ? 1 : g.out_channels - m;
        const Index outputs = left < 2 ? 1 : left < 4 ? 2 : 4;
        run_line(t, h, channel, outputs);
        m += outputs;
        channel += outputs * lanes_.channel_bytes;
        t.out += outputs * line_lanes_ * g.output_bytes();
      }
    }
    const Index out = work.image * g.out.n + band.y * g.out.y + band.x * g.out.x, bytes = g.output_bytes();
    for (Index m = 0; m < groups * g.out_channels; ++m) {
      unstage(lines + bytes * m * line_lanes_, staging_.row_pixels, band.rows, band.columns,
              output + bytes * (out + (first * g.out_channels + m) * g.out.c), g.out.y, g.out.x, bytes);
    }
  }

 private:
  static constexpr Index few_bytes = 20 * 1024;

  static Tap tap(const Geometry& g, Index i) noexcept {
    return {i / g.taps(), i % g.taps() / g.kernel_w, i % g.kernel_w, i < g.depth()};
  }
  static PackedTaps taps_of(const Layer& l) {
    return staged_taps(l, l.g.depth(), WeightFormat::high_parts, [&](Index i) { return tap(l.g, i); });
  }

  /// One, two or four output channels, whose constants begin at `data`, of one group's staged input.
  void run_line(LaneArgs& t, const ConstantsHeader& h, const std::byte* data, Index outputs) const noexcept {
    std::int32_t sum[4];
    float scale[4], shift[4];
    double factor[4], offset[4];
    static_cast<requantize::ExactRounding&>(t.rounding) = exact_rounding(h);
    t.rounding.tie_tolerance = t.rounding.floats = 0;
    t.weights.high_parts = 0;
    for (Index m = 0; m < outputs; ++m) {
      const ChannelData channel = load<ChannelData>(data + m * lanes_.channel_bytes, 0);
      const bool floats = channel.floats.sum != 0;
      const SumConstants& numbers = floats ? channel.floats : channel.integers;
      sum[m] = numbers.sum;
      scale[m] = numbers.scale;
      shift[m] = numbers.shift;
      factor[m] = channel.factor;
      offset[m] = channel.offset;
      t.weights.high_parts |= channel.high_parts;
      t.rounding.floats |= static_cast<std::uint32_t>(floats) << m;
      if (numbers.tie_tolerance > t.rounding.tie_tolerance) t.rounding.tie_tolerance = numbers.tie_tolerance;
    }
    t.rounding.sum = sum;
    t.rounding.scale = scale;
    t.rounding.shift = shift;
    t.rounding.factor = factor;
    t.rounding.offset = offset;
    t.weights.data = data + sizeof(ChannelData);
    t.weights.step = lanes_.channel_bytes;
    t.out_step = line_lanes_;
    const Kernels& k = layer_.kernels;
    (outputs == 1 ? k.pixel_taps : outputs == 2 ? k.pixel_taps_2 : k.pixel_taps_4)(t);
  }

  Staging staging_;
  std::vector<std::int32_t> offsets_;
  Index groups_at_a_time_ = 1, line_lanes_ = 0;
};

}  // namespace fast::qlc::direct
DMLREF_END
