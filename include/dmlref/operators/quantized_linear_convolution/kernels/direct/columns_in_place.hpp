// columns_in_place.hpp: depthwise layers whose channels are neighbours in memory (NHWC): a vector holds channels, and
// kernels read a kernel column's pixels where they are.
#pragma once

#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/constants.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/plan.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

class ColumnsInPlace {
 public:
  static constexpr const char* name = "columns in place";
  static bool suits(const Layer& l) noexcept {
    const Geometry& g = l.g;
    return l.kernels->columns_suit != nullptr && g.in.x != 1 && g.in.forward() && g.out.forward() &&
           l.kernels->columns_suit(g);
  }

  explicit ColumnsInPlace(const Layer& given) : layer(with_slots(given)) {
    const Geometry& g = layer.g;
    const Index block = layer.kernels->block;
    for (Index first = 0; first < g.groups; first += block) {  // the last ones with channels of those before
      Chunk chunk;
      chunk.first = larger(0, smaller(first, g.groups - block));
      chunk.count = chunk.pitch = smaller(g.groups, block);
      lanes.chunks.push_back(chunk);
    }
    lanes.place(layer);
    // Sixteen tasks or more, but none of less than a microsecond, nor so large that some wait for the last.
    const Index vectors = g.batch * g.out_height * g.out_width * chunks();
    const Index tasks = larger(larger(1, smaller(16, vectors / 512)), vectors / 2048);
    band_rows_ = ceil_div(g.out_height, smaller(g.out_height, ceil_div(tasks, g.batch)));
    chunks_at_a_time_ = ceil_div(chunks(), larger(1, tasks / (g.batch * bands())));
  }

  Layer layer;
  ChannelLanes lanes;
  Index bands() const noexcept { return ceil_div(layer.g.out_height, band_rows_); }
  /// The last two chunks may share channels: they are of one task.
  Index parts() const noexcept { return ceil_div(larger(1, layer.g.groups / layer.kernels->block), chunks_at_a_time_); }

  void run(const std::byte* folded, const std::uint8_t* input, std::uint8_t* output, Index unit) const noexcept {
    const Geometry& g = layer.g;
    const Work work(unit, bands(), parts());
    const Index y = work.band * band_rows_;
    const FoldedHeader h = read<FoldedHeader>(folded);
    ColumnArgs t;
    t.in = {nullptr, g.in.y, g.height, g.width, g.pad_y - y * g.stride_y, g.pad_x, h.fill, h.input_flip};
    t.in_step = g.in.x;
    t.kernel = g.kernel_h;
    t.stride_y = g.stride_y;
    t.stride_x = g.stride_x;
    t.pixels = layer.kernels->block / lanes.chunks.front().count;
    t.out = {nullptr, g.out.y, smaller(band_rows_, g.out_height - y), g.out_width};
    t.out_step = g.out.x;
    const Index first = work.part * chunks_at_a_time_;
    const Index end = work.part + 1 == parts() ? chunks() : first + chunks_at_a_time_;
    for (Index i = first; i < end; ++i) {
      const Chunk& chunk = lanes.chunks[static_cast<std::size_t>(i)];
      bind_lanes(layer, chunk, 0, folded, t.weights, t.rounding);
      t.in.src = input + work.image * g.in.n + chunk.first;
      t.out.dst = output + work.image * g.out.n + y * g.out.y + chunk.first;
      layer.kernels->channel_columns(t);
    }
  }

 private:
  static Layer with_slots(Layer l) {
    const Geometry& g = l.g;
    if (l.kernels->pairs_in_place) {  // rows 0 and 1 of each column; row 2 of columns 0 and 1, of column 2
      l.packed_taps = FilterSlots(g, 5, 2, NinthBit::fits, [](Index slot) {
        return slot < 6 ? Tap{0, slot % 2, slot / 2} : Tap{0, 2, slot < 8 ? slot - 6 : 2, slot != 8};
      });
    } else {  // three taps of a column, then what is left of it
      const Index column_units = ceil_div(g.kernel_h, 3);
      l.packed_taps = FilterSlots(g, g.kernel_w * column_units, 4, NinthBit::replicated, [&](Index slot) {
        const Index unit = slot / 4, y = unit % column_units * 3 + slot % 4;
        return Tap{0, y, unit / column_units, slot % 4 < 3 && y < g.kernel_h};
      });
    }
    return l;
  }
  Index chunks() const noexcept { return static_cast<Index>(lanes.chunks.size()); }

  Index band_rows_ = 1, chunks_at_a_time_ = 1;
};

}  // namespace fast::qlc::direct
DMLREF_END
