// staged_channels.hpp: layers whose channels are neighbours in memory (NHWC): lines of channels of neighbouring pixels.
// Weights, sums and scales repeat with a period of whole blocks. Groups of two or four channels are multiplied four
// channels at a time, as they lie in memory.
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

class StagedChannels {
 public:
  static constexpr const char* name = "staged channels";
  static bool suits(const Layer& l) noexcept {
    const Geometry& g = l.g;
    return g.in.c == 1 && g.in.x != 1 && (g.in_channels == 1 || quads_suit(l));
  }

  static std::optional<StagedChannels> make(const Layer& l) {
    StagedChannels made(l);
    if (!made.choose()) return std::nullopt;
    return made;
  }

  Layer layer;
  ChannelLanes lanes;
  Index bands() const noexcept { return staging_.bands(); }
  Index parts() const noexcept { return static_cast<Index>(lanes.chunks.size()); }

  void run(const std::byte* folded, const std::uint8_t* input, std::uint8_t* output, Index unit) const noexcept {
    alignas(64) std::uint8_t staged[staged_capacity + slack];
    alignas(64) std::uint8_t line[line_capacity + slack];
    const Geometry& g = layer.g;
    const Work work(unit, bands(), parts());
    const Band band = staging_.band(work.band);
    const Chunk& chunk = lanes.chunks[static_cast<std::size_t>(work.part)];
    staging_.stage(band, read<FoldedHeader>(folded), input + work.image * g.in.n + chunk.first, 1, chunk.count,
                   chunk.pitch, staged);
    LaneArgs t;
    t.staged = staged;
    t.offsets = offsets_[static_cast<std::size_t>(work.part)].data();
    t.units = layer.packed_taps.units;
    t.blocks = ceil_div(staging_.lanes(band) * chunk.pitch, layer.kernels->block);
    t.period = chunk.period;
    t.out = line;
    std::uint8_t* const out = output + work.image * g.out.n + band.y * g.out.y + band.x * g.out.x;
    for (Index m = 0; m < lanes.outputs; ++m) {
      bind_lanes(layer, chunk, m, folded, t.weights, t.rounding);
      (quads() ? layer.kernels->channel_quads : layer.kernels->channel_taps)(t);
      write(band, chunk, line, out + (chunk.first * lanes.outputs + m) * g.out.c);
    }
  }

 private:
  explicit StagedChannels(const Layer& given) : layer(with_slots(given)), staging_(layer.g) {
    lanes.group_channels = layer.g.in_channels;
    lanes.outputs = quads() ? 1 : layer.g.out_channels;
  }

  static bool quads_suit(const Layer& l) noexcept {
    const Geometry& g = l.g;
    // Windows are summed in 16 bits, the other group's channels too: at most 256 bytes.
    return l.kernels->channel_quads != nullptr && (g.in_channels == 2 || g.in_channels == 4) &&
           g.out_channels == g.in_channels && g.groups * g.in_channels % 4 == 0 && g.taps() <= 64;
  }
  bool quads() const noexcept { return lanes.group_channels > 1; }

  static Tap tap(const Geometry& g, Index slot) noexcept {
    if (g.in_channels == 1) return {0, slot / g.kernel_w, slot % g.kernel_w, slot < g.taps()};
    return {slot % 4, slot / 4 / g.kernel_w, slot / 4 % g.kernel_w, slot % 4 < g.in_channels};
  }
  static Layer with_slots(Layer l) {
    const Geometry& g = l.g;
    const bool quads = g.in_channels > 1;
    const Index group = l.kernels->group;
    l.packed_taps = FilterSlots(g, quads ? g.taps() : ceil_div(g.taps(), group), group,
                                l.ninth_bit(quads ? NinthBit::shifted : NinthBit::high_part),
                                [&](Index slot) { return tap(g, l.staged_slot(slot)); });
    return l;
  }

  bool choose() {
    make_chunks();
    lanes.place(layer);
    StagedSize size;
    for (const Chunk& chunk : lanes.chunks) size.pitch = larger(size.pitch, chunk.pitch);
    if (!staging_.choose(size, layer.kernels->block)) return false;
    for (const Chunk& chunk : lanes.chunks) {
      std::vector<std::int32_t>& offsets = offsets_.emplace_back();
      for (Index slot = 0; slot < layer.packed_taps.count(); slot += quads() ? 4 : 1) {
        const Tap at = tap(layer.g, slot);
        offsets.push_back(at.real ? staging_.offset(at, chunk.pitch) : offsets.back());
      }
    }
    return true;
  }

  // Whole pixels are staged as one run of bytes; parts of pixels leave room for more rows, which strides need.
  void make_chunks() {
    const Geometry& g = layer.g;
    const Index block = layer.kernels->block, channels = g.groups * g.in_channels;
    const bool strided = g.stride_x > 1 || g.stride_y > 1;
    const Index at_a_time = strided ? smaller(channels, 64) : channels <= most_chunk_channels ? channels : 128;
    for (Index first = 0; first < channels; first += at_a_time) {
      Chunk chunk;
      chunk.first = first;
      chunk.count = chunk.pitch = smaller(at_a_time, channels - first);
      const auto period = [&] {
        Index p = 1;
        while (p * block % chunk.pitch != 0) ++p;
        return p;
      };
      chunk.period = period();
      if (chunk.period > 12) {  // padded to sixteens: fewer weights to read, some lanes idle
        chunk.pitch = round_up(chunk.count, 16);
        chunk.period = period();
      }
      lanes.chunks.push_back(chunk);
    }
  }

  void write(const Band& band, const Chunk& chunk, const std::uint8_t* line, std::uint8_t* out) const noexcept {
    const Geometry& g = layer.g;
    const Index step = lanes.outputs * g.out.c;
    const bool whole = step == 1 && g.out.x == chunk.count && chunk.pitch == chunk.count;
    for (Index y = 0; y < band.rows; ++y, line += staging_.row_pixels * chunk.pitch) {
      std::uint8_t* const row = out + y * g.out.y;
      whole ? unstage(line, 0, 1, band.columns * chunk.count, row, 0, 1)
            : unstage(line, chunk.pitch, band.columns, chunk.count, row, g.out.x, step);
    }
  }

  Staging staging_;
  std::vector<std::vector<std::int32_t>> offsets_;  // of each chunk
};

}  // namespace fast::qlc::direct
DMLREF_END
