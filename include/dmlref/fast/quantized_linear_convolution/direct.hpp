// direct.hpp: the direct convolution: depthwise layers and small groups, where a tile of channels would be mostly
// empty.
//
// A task stages some rows of one group's channels, padded, and runs the kernels over them as one line of lanes:
//
//   staged     z a b c d z e f g h z i j k l z …    z: the padding that ends one row and begins the next
//   lanes      0 1 2 3 4 5 6 7 8 …                  lane i reads tap k at offsets[k] + i
//   of use     x x x x . x x x x .                  what a lane computes over a row's end is thrown away
//
// so there are no edges, and short rows fill vectors as well as long ones. Strides deal rows (and columns, where the
// kernel has no shuffle for them) into phases first, so that a tap's pixels are neighbours again. Where channels are
// neighbours in memory (NHWC), they are lanes too: lane i is channel i % channels of pixel i / channels, and weights,
// sums and scales repeat with a period of whole blocks.
//
// With the bytes a' that are staged (shifted by 128 where the input is signed), and d = w - zw in [-255, 255]:
//   sum = Σ a' d + (bias - za' Σ d)
// d goes into the weights, so any filter zero point costs nothing where d fits the kernel's weights. A channel with any
// d above 127 is negated first: then 128 fits. Where d still does not fit eight bits it is a sum of two weights; but
// where quads are channels of groups, all d of a channel are shifted into range (they span no more than 255) and the
// shift times the window's sum is added.
//
// Overflow: sums are taken modulo 2^32, exact where K * 255 * 255 + |bias| < 2^31. A bias beyond that, seen when the
// constants are folded, sends the call to the reference.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/constants.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/kernels.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/plan.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/staging.hpp"

DMLREF_BEGIN
namespace fast {

class DirectConvolution {
 public:
  DirectConvolution(const qlc::Problem& problem, const qlc::direct::Kernels& kernels) : plan_(problem, kernels) {}

  /// Whether this path is made for the shape: few input channels per group, and rows that fit a task's memory.
  bool usable() const noexcept { return plan_.usable; }
  std::string_view strategy_name() const noexcept {
    if (plan_.by_columns) return "columns in place";
    return plan_.in_place ? "planes in place" : plan_.by_channels ? "staged channels" : "staged planes";
  }
  /// The constants are folded once, at initialize; otherwise at each execute.
  bool folds_at_initialize() const noexcept { return plan_.constants_owned; }
  std::uint64_t folded_bytes() const noexcept {
    return static_cast<std::uint64_t>(qlc::round_up(plan_.folded_bytes, 256));
  }

  /// What depends on constants alone: weights less their zero points in the kernels' order, what sums start from,
  /// scales.
  void fold(const std::byte* const* inputs, std::byte* to) const noexcept {
    qlc::direct::fold(plan_, inputs, folds_at_initialize() ? qlc::direct::Search::yes : qlc::direct::Search::no, to);
  }

  /// Whether the folded constants allow 32-bit sums. If not, the caller asks the reference.
  static bool fits(const std::byte* folded) noexcept {
    return qlc::direct::read<qlc::direct::FoldedHeader>(folded).fits;
  }

  Index units() const noexcept { return plan_.g.batch * plan_.parts() * static_cast<Index>(plan_.bands.size()); }

  void run(const std::byte* folded, const std::byte* input, std::byte* output, Index unit) const noexcept {
    alignas(64) std::uint8_t staged[qlc::direct::staged_capacity + qlc::direct::slack];
    alignas(64) std::uint8_t lines[qlc::direct::line_capacity + qlc::direct::slack];
    const qlc::direct::FoldedHeader h = qlc::direct::read<qlc::direct::FoldedHeader>(folded);
    const auto bands = static_cast<Index>(plan_.bands.size());
    const qlc::direct::Band& band = plan_.bands[static_cast<std::size_t>(unit % bands)];
    const Index part = unit / bands % plan_.parts();
    const Index image = unit / bands / plan_.parts();
    const qlc::direct::Chunk& chunk = plan_.chunks[plan_.by_channels ? static_cast<std::size_t>(part) : 0];
    const Index first_group = plan_.by_channels ? chunk.first / plan_.lane_channels : part * plan_.groups_at_a_time;
    const Index groups = plan_.by_channels ? 1 : qlc::smaller(plan_.groups_at_a_time, plan_.g.groups - first_group);
    const auto* in = reinterpret_cast<const std::uint8_t*>(input) + image * plan_.g.in.n +
                     first_group * plan_.g.in_channels * plan_.g.in.c;
    auto* out = reinterpret_cast<std::uint8_t*>(output) + image * plan_.g.out.n +
                first_group * plan_.g.out_channels * plan_.g.out.c + band.y * plan_.g.out.y + band.x * plan_.g.out.x;
    if (!plan_.in_place) {
      qlc::direct::stage(plan_, chunk, band, h, in, plan_.by_channels ? 1 : groups * plan_.g.in_channels, staged);
    }

    qlc::direct::LaneArgs t;
    t.offsets = chunk.offsets.data();
    t.units = plan_.units;
    t.stride = plan_.g.stride_x;
    t.pattern = plan_.pattern;
    t.output_scale = h.output_scale;
    t.zero_point = h.zero_point;
    t.flip = h.output_flip;
    if (plan_.by_columns) {
      return run_columns(t, band, part, folded, h, reinterpret_cast<const std::uint8_t*>(input) + image * plan_.g.in.n,
                         reinterpret_cast<std::uint8_t*>(output) + image * plan_.g.out.n);
    }
    const Index lanes = ((band.rows - 1) * plan_.lane_pitch + band.columns) * chunk.pitch;
    t.blocks = (lanes + plan_.kernels.block - 1) / plan_.kernels.block;
    if (plan_.by_channels) {
      t.staged = staged;
      t.out = lines;
      const bool interleaves = plan_.lane_outputs > 1 && plan_.g.out.c == 1;
      const Index line_bytes = t.blocks * plan_.kernels.block;
      for (Index m = 0; m < plan_.lane_outputs; ++m) {
        const std::byte* data = folded + chunk.data_at + m * chunk.data_bytes;
        take_constants(t, chunk, data);
        plan_.kernel(t);
        if (interleaves) {
          t.out += line_bytes;
        } else {
          qlc::direct::unstage_channels(plan_, chunk, band, lines, out + m * plan_.g.out.c);
        }
      }
      if (interleaves) qlc::direct::unstage_interleaved(plan_, chunk, band, lines, line_bytes, out);
      return;
    }
    const std::byte* data = folded + plan_.channels_at + first_group * plan_.g.out_channels * plan_.channel_bytes;
    if (plan_.in_place) {
      return run_planes(t, band, data, h, reinterpret_cast<const std::uint8_t*>(input), in, groups, out);
    }
    const Index group_bytes = plan_.g.in_channels * plan_.phases() * chunk.plane_bytes;
    t.out = lines;
    for (Index group = 0; group < groups; ++group) {
      t.staged = staged + group * group_bytes;
      for (Index m = 0; m < plan_.g.out_channels;) {
        const Index outputs = plan_.outputs_at_once(plan_.g.out_channels - m);
        run_pixels(t, data, outputs);
        m += outputs;
        data += outputs * plan_.channel_bytes;
        t.out += outputs * plan_.line_bytes;
      }
    }
    qlc::direct::unstage_pixels(plan_, band, lines, groups * plan_.g.out_channels, out);
  }

 private:
  void take_constants(qlc::direct::LaneArgs& t, const qlc::direct::Chunk& chunk, const std::byte* data) const noexcept {
    const qlc::direct::FoldedChunk head = qlc::direct::read<qlc::direct::FoldedChunk>(data);
    t.period = chunk.period;
    t.wide = head.wide;
    t.floats = head.floats;
    t.near_tie = head.near_tie;
    t.spare[0] = head.spare[0];
    t.spare[1] = head.spare[1];
    t.window_shift =
        plan_.shifts() && t.wide != 0 ? reinterpret_cast<const std::int32_t*>(data + chunk.window_shift_at) : nullptr;
    t.sum = reinterpret_cast<const std::int32_t*>(data + chunk.sum_at);
    t.scale = reinterpret_cast<const float*>(data + chunk.scale_at);
    t.shift = reinterpret_cast<const float*>(data + chunk.shift_at);
    t.factor = reinterpret_cast<const double*>(data + chunk.factor_at);
    t.weights = data + chunk.weights_at;
  }

  /// Planes of some groups, of which no copies are made; a band of their rows where the kernels allow it.
  void run_planes(qlc::direct::LaneArgs& t, const qlc::direct::Band& band, const std::byte* data,
                  const qlc::direct::FoldedHeader& h, const std::uint8_t* tensor, const std::uint8_t* in, Index groups,
                  std::uint8_t* out) const noexcept {
    qlc::direct::PlaneArgs plane;
    plane.row_step = plan_.g.in.y;
    plane.rows = plan_.g.height;
    plane.width = plan_.g.width;
    plane.pad_y = plan_.g.pad_y - band.y * plan_.g.stride_y;
    plane.pad_x = plan_.g.pad_x;
    plane.fill = h.fill;
    plane.flip = h.input_flip;
    plane.dst_row_step = plan_.g.out.y;
    plane.out_rows = band.rows;
    plane.out_width = plan_.g.out_width;
    plane.src = in;
    plane.plane_step = plan_.g.in.c;
    plane.dst = out;
    plane.dst_plane_step = plan_.g.out.c;
    plane.planes = groups * plan_.g.out_channels;
    plane.outputs = plan_.g.out_channels;
    plane.kernel = plan_.g.kernel_w;
    plane.stride = plan_.g.stride_x;
    plane.kernel_reach = (plan_.g.kernel_w - 1) * plan_.g.dilation_x;
    plane.tensor = tensor + plan_.g.input_begin;
    plane.tensor_bytes = plan_.g.input_end - plan_.g.input_begin;
    t.weights = data;
    t.weight_step = plan_.channel_bytes;
    plan_.kernels.pixel_planes(t, plane);
  }

  /// A band of rows of some channels, which are neighbours in memory. Channels that two chunks have are of one task.
  void run_columns(qlc::direct::LaneArgs& t, const qlc::direct::Band& band, Index part, const std::byte* folded,
                   const qlc::direct::FoldedHeader& h, const std::uint8_t* in, std::uint8_t* out) const noexcept {
    qlc::direct::ColumnArgs column;
    column.row_step = plan_.g.in.y;
    column.column_step = plan_.g.in.x;
    column.rows = plan_.g.height;
    column.width = plan_.g.width;
    column.pad_y = plan_.g.pad_y - band.y * plan_.g.stride_y;
    column.pad_x = plan_.g.pad_x;
    column.fill = h.fill;
    column.flip = h.input_flip;
    column.dst_row_step = plan_.g.out.y;
    column.dst_column_step = plan_.g.out.x;
    column.out_rows = band.rows;
    column.out_width = plan_.g.out_width;
    column.kernel = plan_.g.kernel_h;
    column.stride_y = plan_.g.stride_y;
    column.stride_x = plan_.g.stride_x;
    column.pixels = plan_.kernels.block / plan_.chunks.front().count;
    const auto chunks = static_cast<Index>(plan_.chunks.size());
    const Index end = part + 1 == plan_.parts() ? chunks : (part + 1) * plan_.chunks_at_a_time;
    for (Index i = part * plan_.chunks_at_a_time; i < end; ++i) {
      const qlc::direct::Chunk& chunk = plan_.chunks[static_cast<std::size_t>(i)];
      const std::byte* const data = folded + chunk.data_at;
      take_constants(t, chunk, data);
      column.src = in + chunk.first;
      column.dst = out + band.y * plan_.g.out.y + chunk.first;
      plan_.kernels.channel_columns(t, column);
    }
  }

  /// One to four output channels, whose constants begin at `data`, of one group's staged input.
  void run_pixels(qlc::direct::LaneArgs& t, const std::byte* data, Index outputs) const noexcept {
    std::int32_t sum[4];
    std::uint32_t wide[4];
    float scale[4], shift[4];
    double factor[4];
    t.wide = t.floats = t.near_tie = 0;
    for (Index m = 0; m < outputs; ++m) {
      const qlc::direct::ChannelData channel =
          qlc::direct::read<qlc::direct::ChannelData>(data + m * plan_.channel_bytes);
      const bool floats = channel.floats.sum != 0;
      const qlc::direct::SumConstants& numbers = floats ? channel.floats : channel.integers;
      sum[m] = numbers.sum;
      scale[m] = numbers.scale;
      shift[m] = numbers.shift;
      factor[m] = channel.factor;
      wide[m] = channel.wide;
      t.wide |= channel.wide;
      t.floats |= static_cast<std::uint32_t>(floats) << m;
      if (numbers.near_tie > t.near_tie) t.near_tie = numbers.near_tie;
    }
    t.wide_of_output = wide;
    t.sum = sum;
    t.scale = scale;
    t.shift = shift;
    t.factor = factor;
    t.weights = data + sizeof(qlc::direct::ChannelData);
    t.weight_step = plan_.channel_bytes;
    t.out_step = plan_.line_bytes;
    (outputs == 1 ? plan_.kernel : outputs == 2 ? plan_.kernels.pixel_taps_2 : plan_.kernels.pixel_taps_4)(t);
  }

  qlc::direct::Plan plan_;
};

}  // namespace fast
DMLREF_END
