// staged_channels.hpp: layers whose channels are neighbours in memory (NHWC): lines of channels of neighbouring pixels.
// Weights, sums and scales repeat with a period of whole blocks. Groups of two or four channels are multiplied four
// channels at a time, as they lie in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/plan.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/staging.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

class StagedChannels final : public DirectPlan<StagedChannels, ChannelLanes> {
 public:
  static constexpr const char* name = "staged channels";
  static bool suits(const Layer& l) noexcept {
    const Geometry& g = l.g;
    return g.in.c == 1 && g.in.x != 1 && (g.in_channels == 1 || quads_suit(l));
  }

  /// Null where not even some pixels fit a task's memory.
  static std::shared_ptr<const detail::Plan> make(const Problem& problem, const Layer& layer) {
    std::vector<ChannelBlock> blocks = blocks_of(layer);
    StagedSize size;
    for (const ChannelBlock& channels : blocks) size.pitch = larger(size.pitch, channels.pitch);
    const std::optional<Staging> staging = Staging::fit(layer.g, size, layer.kernels.block);
    if (!staging) return nullptr;
    return std::make_shared<StagedChannels>(problem, layer, std::move(blocks), *staging);
  }

  StagedChannels(const Problem& problem, const Layer& layer, std::vector<ChannelBlock> blocks, const Staging& staging)
      : DirectPlan(problem, layer,
                   {layer, taps_of(layer), std::move(blocks), layer.g.in_channels,
                    layer.g.in_channels > 1 ? 1 : layer.g.out_channels}),
        staging_(staging) {
    for (const ChannelBlock& channels : lanes_.blocks) {
      std::vector<std::int32_t>& offsets = offsets_.emplace_back();
      for (Index i = 0; i < lanes_.taps.count(); i += quads() ? 4 : 1) {
        const Tap at = tap(layer.g, i);
        offsets.push_back(at.real ? staging_.offset(at, channels.pitch) : offsets.back());
      }
    }
  }

  Index bands() const noexcept { return staging_.bands(); }
  Index parts() const noexcept { return static_cast<Index>(lanes_.blocks.size()); }

  void run(const std::byte* constants, const std::uint8_t* input, std::uint8_t* output, Index unit) const noexcept {
    alignas(64) std::uint8_t staged[staged_capacity + slack];
    alignas(64) std::uint8_t line[line_capacity + slack];
    const Geometry& g = layer_.g;
    const Work work(unit, bands(), parts());
    const RowBand band = staging_.band(work.band);
    const ChannelBlock& channels = lanes_.blocks[static_cast<std::size_t>(work.part)];
    staging_.stage(band, load<ConstantsHeader>(constants, 0), input + work.image * g.in.n + channels.first, 1,
                   channels.count, channels.pitch, staged);
    LaneArgs t;
    t.staged = staged;
    t.offsets = offsets_[static_cast<std::size_t>(work.part)].data();
    t.groups = lanes_.taps.groups;
    t.blocks = ceil_div(staging_.lanes(band) * channels.pitch, layer_.kernels.block);
    t.period = channels.period;
    t.out = line;
    const Index first = work.image * g.out.n + band.y * g.out.y + band.x * g.out.x;
    for (Index m = 0; m < lanes_.outputs; ++m) {
      bind_lanes(layer_, lanes_, channels, m, constants, t.weights, t.rounding);
      (quads() ? layer_.kernels.channel_quads : layer_.kernels.channel_taps)(t);
      write(band, channels, line,
            output + g.output_bytes() * (first + (channels.first * lanes_.outputs + m) * g.out.c));
    }
  }

 private:
  static bool quads_suit(const Layer& l) noexcept {
    const Geometry& g = l.g;
    // Windows are summed in 16 bits, the other group's channels too: at most 256 bytes.
    return l.kernels.channel_quads != nullptr && (g.in_channels == 2 || g.in_channels == 4) &&
           g.out_channels == g.in_channels && g.groups * g.in_channels % 4 == 0 && g.taps() <= 64;
  }
  bool quads() const noexcept { return lanes_.group_channels > 1; }

  static Tap tap(const Geometry& g, Index i) noexcept {
    if (g.in_channels == 1) return {0, i / g.kernel_w, i % g.kernel_w, i < g.taps()};
    return {i % 4, i / 4 / g.kernel_w, i / 4 % g.kernel_w, i % 4 < g.in_channels};
  }
  static PackedTaps taps_of(const Layer& l) {
    const Geometry& g = l.g;
    const bool quads = g.in_channels > 1;
    return staged_taps(l, quads ? l.kernels.group * g.taps() : g.taps(),
                       quads ? WeightFormat::shifted : WeightFormat::high_parts, [&](Index i) { return tap(g, i); });
  }

  // Whole pixels are staged as one run of bytes; parts of pixels leave slack for more rows, which strides need.
  static std::vector<ChannelBlock> blocks_of(const Layer& layer) {
    const Geometry& g = layer.g;
    const Index block = layer.kernels.block, all = g.groups * g.in_channels;
    const bool strided = g.stride_x > 1 || g.stride_y > 1;
    const Index at_a_time = strided ? smaller(all, 64) : all <= max_block_channels ? all : 128;
    std::vector<ChannelBlock> blocks;
    for (Index first = 0; first < all; first += at_a_time) {
      ChannelBlock& channels = blocks.emplace_back();
      channels.first = first;
      channels.count = channels.pitch = smaller(at_a_time, all - first);
      const auto period = [&] {
        Index p = 1;
        while (p * block % channels.pitch != 0) ++p;
        return p;
      };
      channels.period = period();
      if (channels.period > 12) {  // padded to sixteens: fewer weights to read, some lanes idle
        channels.pitch = round_up(channels.count, 16);
        channels.period = period();
      }
    }
    return blocks;
  }

  void write(const RowBand& band, const ChannelBlock& channels, const std::uint8_t* line,
             std::uint8_t* out) const noexcept {
    const Geometry& g = layer_.g;
    const Index step = lanes_.outputs * g.out.c, bytes = g.output_bytes();
    const bool whole = step == 1 && g.out.x == channels.count && channels.pitch == channels.count;
    for (Index y = 0; y < band.rows; ++y, line += bytes * staging_.row_pixels * channels.pitch) {
      std::uint8_t* const row = out + bytes * y * g.out.y;
      whole ? unstage(line, 0, 1, band.columns * channels.count, row, 0, 1, bytes)
            : unstage(line, channels.pitch, band.columns, channels.count, row, g.out.x, step, bytes);
    }
  }

  Staging staging_;
  std::vector<std::vector<std::int32_t>> offsets_;  // of each channel block
};

}  // namespace fast::qlc::direct
DMLREF_END
