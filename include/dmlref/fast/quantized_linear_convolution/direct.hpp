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
// d goes into the weights, so any filter zero point costs nothing where d fits the kernel's weights. Eight-bit weights
// take d as a sum of two where it does not (`wide`); d = 255, which is no such sum, negates the whole channel.
//
// Overflow: sums are taken modulo 2^32, exact where K * 255 * 255 + |bias| < 2^31. A bias beyond that, seen when the
// constants are folded, sends the call to the reference.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/kernels.hpp"
#include "dmlref/fast/quantized_linear_convolution/geometry.hpp"
#include "dmlref/reference/quantize.hpp"

DMLREF_BEGIN
namespace fast {

class DirectConvolution {
 public:
  DirectConvolution(const QuantizedLinearConvolutionDesc& desc, const qlc::direct::Kernels& kernels)
      : g_(qlc::geometry_of(desc)),
        kernels_(kernels),
        input_zero_point_(desc.input_zero_point),
        filter_scale_(desc.filter_scale),
        filter_zero_point_(desc.filter_zero_point),
        bias_(desc.bias),
        output_zero_point_(desc.output_zero_point) {
    const auto owned = [](const std::optional<TensorDesc>& tensor) { return !tensor || tensor->owned_by_dml; };
    constants_owned_ = desc.input_scale.owned_by_dml && owned(desc.input_zero_point) && desc.filter.owned_by_dml &&
                       desc.filter_scale.owned_by_dml && owned(desc.filter_zero_point) && owned(desc.bias) &&
                       desc.output_scale.owned_by_dml && owned(desc.output_zero_point);
    usable_ = suits() && choose();
  }

  /// Whether this path is made for the shape: few input channels per group, and rows that fit a task's memory.
  bool usable() const noexcept { return usable_; }
  /// The constants are folded once, at initialize; otherwise at each execute.
  bool folds_at_initialize() const noexcept { return constants_owned_; }
  std::uint64_t folded_bytes() const noexcept { return static_cast<std::uint64_t>(qlc::round_up(folded_bytes_, 256)); }

  /// What depends on constants alone: weights less their zero points in the kernels' order, what sums start from,
  /// scales.
  void fold(const std::byte* const* inputs, std::byte* to) const noexcept {
    Header h;
    const std::int32_t zero_point = qlc::zero_point_of(input_zero_point_, inputs[qlc::input_zero_point_tensor], 0);
    h.input_flip = g_.input_signed ? 0x80 : 0;
    h.fill = static_cast<std::uint8_t>(static_cast<std::uint8_t>(zero_point) ^ h.input_flip);
    const std::int32_t out = qlc::zero_point_of(output_zero_point_, inputs[qlc::output_zero_point_tensor], 0);
    h.zero_point = g_.output_signed ? out : out - 128;
    h.output_flip = g_.output_signed ? 0 : 0x80;
    h.input_scale = qlc::load<float>(inputs[qlc::input_scale_tensor], 0);
    h.given_output_scale = qlc::load<float>(inputs[qlc::output_scale_tensor], 0);
    const double output_scale = static_cast<double>(h.given_output_scale);
    const bool defined = output_scale != 0 && output_scale - output_scale == 0;
    h.output_scale = !defined ? 1.0 : output_scale < 0 ? -output_scale : output_scale;
    if (by_channels_) {
      for (const Chunk& chunk : chunks_) {
        for (Index m = 0; m < g_.out_channels; ++m) fold_chunk(inputs, chunk, m, h, to);
      }
    } else {
      for (Index c = 0; c < g_.all_out_channels(); ++c) fold_channel(inputs, c, h, to);
    }
    std::memcpy(to, &h, sizeof h);
  }

  /// Whether the folded constants allow 32-bit sums. If not, the caller asks the reference.
  static bool fits(const std::byte* folded) noexcept { return read<Header>(folded).fits; }

  Index units() const noexcept {
    return g_.batch * (by_channels_ ? static_cast<Index>(chunks_.size()) : g_.groups) * bands_y_ * bands_x_;
  }

  void run(const std::byte* folded, const std::byte* input, std::byte* output, Index unit) const noexcept {
    alignas(64) std::uint8_t staged[staged_capacity + slack];
    alignas(64) std::uint8_t line[line_capacity + slack];
    const Header h = read<Header>(folded);
    Band band;
    band.x = unit % bands_x_ * columns_;
    unit /= bands_x_;
    band.y = unit % bands_y_ * rows_;
    unit /= bands_y_;
    band.columns = smaller(columns_, g_.out_width - band.x);
    band.rows = smaller(rows_, g_.out_height - band.y);
    const Index parts = by_channels_ ? static_cast<Index>(chunks_.size()) : g_.groups;
    const Index part = unit % parts;
    const Index image = unit / parts;
    const Chunk& chunk = chunks_[by_channels_ ? static_cast<std::size_t>(part) : 0];
    const Index first_channel = by_channels_ ? chunk.first : part * g_.in_channels;
    const auto* in = reinterpret_cast<const std::uint8_t*>(input) + image * g_.in.n + first_channel * g_.in.c;
    std::uint8_t* at = staged;
    for (Index c = 0; c < g_.in_channels; ++c) at = stage(chunk, band, h, in + c * g_.in.c, at);
    std::memset(at, h.fill, slack);

    qlc::direct::LaneArgs t;
    t.staged = staged;
    t.offsets = chunk.offsets.data();
    t.units = units_;
    t.tap_step = static_cast<std::int32_t>(g_.dilation_x);
    t.output_scale = h.output_scale;
    t.zero_point = h.zero_point;
    t.flip = h.output_flip;
    const Index lanes = ((band.rows - 1) * pitch_ + band.columns) * chunk.pitch;
    t.blocks = qlc::ceil_div(lanes, kernels_.block);
    t.out = line;
    auto* out = reinterpret_cast<std::uint8_t*>(output) + image * g_.out.n + band.y * g_.out.y + band.x * g_.out.x;
    for (Index m = 0; m < g_.out_channels; ++m) {
      if (by_channels_) {
        const std::byte* data = folded + chunk.data_at + m * chunk.data_bytes;
        const ChunkHead head = read<ChunkHead>(data);
        t.period = chunk.period;
        t.wide = head.wide != 0;
        t.band = head.band;
        t.sum = reinterpret_cast<const std::int32_t*>(data + chunk.sum_at);
        t.scale = reinterpret_cast<const float*>(data + chunk.scale_at);
        t.factor = reinterpret_cast<const double*>(data + chunk.factor_at);
        t.weights = data + chunk.weights_at;
        kernels_.channel_taps(t);
        unstage_channels(chunk, band, line, out + (chunk.first * g_.out_channels + m) * g_.out.c);
      } else {
        const Index channel = part * g_.out_channels + m;
        const ChannelData data = read<ChannelData>(folded + channels_at_ + channel * channel_bytes_);
        t.wide = data.wide != 0;
        t.band = data.band;
        t.sum = &data.sum;
        t.scale = &data.scale;
        t.factor = &data.factor;
        t.weights = folded + channels_at_ + channel * channel_bytes_ + static_cast<Index>(sizeof(ChannelData));
        kernel_(t);
        unstage_pixels(band, line, out + channel * g_.out.c);
      }
    }
  }

 private:
  static constexpr Index staged_capacity = 40 * 1024;
  static constexpr Index line_capacity = 32 * 1024;
  static constexpr Index slack = 256;  // kernels load and store whole blocks

  struct Header {
    double output_scale = 1;
    float input_scale = 1, given_output_scale = 1;
    std::int32_t zero_point = 0;
    std::uint8_t fill = 0, input_flip = 0, output_flip = 0;
    bool fits = true;
  };
  /// One output channel of the pixel kernels; its weights follow.
  struct ChannelData {
    double factor = 0;
    float scale = 0, band = 0;
    std::int32_t sum = 0;
    std::int32_t wide = 0;
  };
  struct ChunkHead {
    float band = 0;
    std::int32_t wide = 0;
  };
  /// The channels that a task's lanes hold; one, of any group, for the pixel kernels.
  struct Chunk {
    Index first = 0, count = 1, pitch = 1;  // pitch: staged channels, filling included
    Index period = 1;
    Index plane_bytes = 0;              // one phase of the staged rows
    std::vector<std::int32_t> offsets;  // of the kernels' taps
    Index data_at = 0, data_bytes = 0, sum_at = 0, scale_at = 0, factor_at = 0, weights_at = 0;
  };
  struct Band {
    Index y, x, rows, columns;
  };
  struct Tap {
    Index channel, y, x;
    bool real;
  };

  static Index smaller(Index a, Index b) noexcept { return a < b ? a : b; }
  static Index larger(Index a, Index b) noexcept { return a > b ? a : b; }
  template <class T>
  static T read(const std::byte* from) noexcept {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }

  // ---- compile -------------------------------------------------------------------------------------------------

  bool suits() const noexcept {
    return g_.groups > 1 && g_.in_channels <= 4 && g_.out_channels <= 8 && g_.depth() <= 256 &&
           (g_.in_channels == 1 || g_.out_channels <= 4);
  }

  bool choose() {
    by_channels_ = g_.in_channels == 1 && g_.in.c == 1 && g_.in.x != 1 && g_.groups >= 8;
    // A row kernel reads quads of one kernel row through byte shuffles within 16 bytes.
    kernel_ = kernels_.pixel_taps;
    const bool rows_suit = !by_channels_ && g_.in_channels == 1 && g_.kernel_w > 1;
    if (rows_suit && g_.stride_x == 1 && g_.dilation_x <= 4 && kernels_.pixel_rows != nullptr) {
      kernel_ = kernels_.pixel_rows;
      by_rows_ = true;
    } else if (rows_suit && g_.stride_x == 2 && g_.dilation_x <= 3 && kernels_.pixel_rows_stride2 != nullptr) {
      kernel_ = kernels_.pixel_rows_stride2;
      by_rows_ = true;
    }
    deal_ = by_rows_ ? 1 : g_.stride_x;
    quads_ = qlc::ceil_div(g_.kernel_w, 4);
    units_ = by_rows_ ? g_.kernel_h * quads_ : qlc::ceil_div(g_.depth(), kernels_.group);
    for (Index phase = 0; phase < g_.stride_y; ++phase) {
      if (reads_row_phase(phase)) row_phases_.push_back(phase);
    }
    make_chunks();
    if (!choose_band()) return false;
    for (Chunk& chunk : chunks_) {
      chunk.plane_bytes = plane_bytes(chunk.pitch, rows_, columns_);
      make_offsets(chunk);
    }
    place();
    return true;
  }

  bool reads_row_phase(Index phase) const noexcept {
    for (Index y = 0; y < g_.kernel_h; ++y) {
      if (y * g_.dilation_y % g_.stride_y == phase) return true;
    }
    return false;
  }
  Index row_phase_place(Index phase) const noexcept {
    for (std::size_t i = 0; i < row_phases_.size(); ++i) {
      if (row_phases_[i] == phase) return static_cast<Index>(i);
    }
    return 0;
  }

  void make_chunks() {
    if (!by_channels_) {
      chunks_.emplace_back();
      return;
    }
    const Index channels = g_.groups;
    const Index at_a_time = channels <= 192 ? channels : 128;
    for (Index first = 0; first < channels; first += at_a_time) {
      Chunk chunk;
      chunk.first = first;
      chunk.count = smaller(at_a_time, channels - first);
      chunk.pitch = chunk.count;
      const auto period = [&] {
        Index p = 1;
        while (p * kernels_.block % chunk.pitch != 0) ++p;
        return p;
      };
      chunk.period = period();
      if (chunk.period > 12) {  // channels staged in sixteens: fewer weights to read, some lanes idle
        chunk.pitch = qlc::round_up(chunk.count, 16);
        chunk.period = period();
      }
      chunks_.push_back(chunk);
    }
  }

  // ---- the staged rows: bytes of one phase, lanes from row to row

  Index padded_columns(Index columns) const noexcept {
    return (columns - 1) * g_.stride_x + (g_.kernel_w - 1) * g_.dilation_x + 1;
  }
  /// Columns from one staged row to the next. Where a band is as wide as the output, one row's right padding is the
  /// next one's left.
  Index row_columns(Index columns) const noexcept {
    const Index needed = padded_columns(columns);
    Index pitch = needed;
    if (columns == g_.out_width) {
      const Index left = smaller(g_.pad_x, needed);
      pitch = larger(left + smaller(g_.width, needed - left), needed - left);
    }
    return qlc::round_up(larger(pitch, columns * g_.stride_x), g_.stride_x);
  }
  Index row_shift() const noexcept { return (g_.kernel_h - 1) * g_.dilation_y / g_.stride_y; }
  Index plane_bytes(Index channels, Index rows, Index columns) const noexcept {
    const Index left = smaller(g_.pad_x, padded_columns(columns));
    return qlc::round_up(((rows + row_shift()) * (row_columns(columns) / deal_) + left) * channels + 64, 64);
  }

  bool choose_band() {
    Index channels = 1;
    for (const Chunk& chunk : chunks_) channels = larger(channels, chunk.pitch);
    const Index planes = g_.in_channels * static_cast<Index>(row_phases_.size()) * deal_;
    const auto fits = [&](Index rows, Index columns, Index bytes) {
      return planes * plane_bytes(channels, rows, columns) <= bytes &&
             rows * (row_columns(columns) / g_.stride_x) * channels + kernels_.block <= line_capacity;
    };
    columns_ = g_.out_width;
    while (!fits(1, columns_, staged_capacity)) {
      if (columns_ <= 8) return false;
      columns_ = (columns_ + 1) / 2;
    }
    const Index target = by_channels_ ? staged_capacity : smaller(staged_capacity, 20 * 1024);
    rows_ = 1;
    while (rows_ < g_.out_height && fits(rows_ + 1, columns_, target)) ++rows_;
    bands_y_ = qlc::ceil_div(g_.out_height, rows_);
    rows_ = qlc::ceil_div(g_.out_height, bands_y_);
    bands_x_ = qlc::ceil_div(g_.out_width, columns_);
    pitch_ = row_columns(columns_) / g_.stride_x;
    return true;
  }

  Tap tap(Index slot) const noexcept {
    if (by_rows_) {
      const Index x = slot / 4 % quads_ * 4 + slot % 4;
      return {0, slot / 4 / quads_, x, x < g_.kernel_w};
    }
    const Index taps = g_.taps();
    return {slot / taps, slot % taps / g_.kernel_w, slot % g_.kernel_w, slot < g_.depth()};
  }

  void make_offsets(Chunk& chunk) const {
    const Index row = row_columns(columns_) / deal_ * chunk.pitch;
    const Index step = by_rows_ ? 4 : 1;
    for (Index slot = 0; slot < units_ * kernels_.group; slot += step) {
      const Tap at = tap(slot);
      if (!at.real) {
        chunk.offsets.push_back(chunk.offsets.back());
        continue;
      }
      const Index y = at.y * g_.dilation_y;
      const Index x = at.x * g_.dilation_x;
      const Index plane =
          (at.channel * static_cast<Index>(row_phases_.size()) + row_phase_place(y % g_.stride_y)) * deal_ + x % deal_;
      chunk.offsets.push_back(
          static_cast<std::int32_t>(plane * chunk.plane_bytes + y / g_.stride_y * row + x / deal_ * chunk.pitch));
    }
  }

  void place() {
    Index at = qlc::round_up(static_cast<Index>(sizeof(Header)), 64);
    const Index parts = kernels_.group == 4 ? 2 : 1;
    const Index slots = units_ * kernels_.group * kernels_.weight_bytes() * parts;
    if (!by_channels_) {
      channels_at_ = at;
      channel_bytes_ = qlc::round_up(static_cast<Index>(sizeof(ChannelData)) + slots, 8);
      folded_bytes_ = at + channel_bytes_ * g_.all_out_channels();
      return;
    }
    for (Chunk& chunk : chunks_) {
      const Index lanes = chunk.period * kernels_.block;
      chunk.data_at = at;
      chunk.sum_at = 64;
      chunk.scale_at = chunk.sum_at + 4 * lanes;
      chunk.factor_at = chunk.scale_at + 4 * lanes;
      chunk.weights_at = chunk.factor_at + 8 * lanes;
      chunk.data_bytes = qlc::round_up(chunk.weights_at + slots * lanes, 64);
      at += chunk.data_bytes * g_.out_channels;
    }
    folded_bytes_ = at;
  }

  // ---- constants -----------------------------------------------------------------------------------------------

  /// One output channel's part of the constants; `d` gets its weights less the zero point, negated where need be.
  struct Folded {
    double factor;
    float scale, band;
    std::int32_t sum;
    bool wide;
  };
  static constexpr Index most_slots = 1040;

  Folded fold_one(const std::byte* const* inputs, Index channel, Header& h, std::int32_t* d) const noexcept {
    const auto* filter = reinterpret_cast<const std::uint8_t*>(inputs[qlc::filter_tensor]) + channel * g_.filter.n;
    const std::int32_t zero_point =
        qlc::zero_point_of(filter_zero_point_, inputs[qlc::filter_zero_point_tensor], channel);
    const std::int64_t bias =
        bias_.present ? qlc::load<std::int32_t>(inputs[qlc::bias_tensor], channel * bias_.step) : 0;
    std::int64_t total = 0;
    std::int32_t highest = 0, lowest = 0;
    for (Index slot = 0; slot < units_ * kernels_.group; ++slot) {
      const Tap at = tap(slot);
      d[slot] = 0;
      if (!at.real) continue;
      const std::uint8_t byte = filter[at.channel * g_.filter.c + at.y * g_.filter.y + at.x * g_.filter.x];
      const std::int32_t weight = g_.filter_signed ? static_cast<std::int8_t>(byte) : byte;
      d[slot] = weight - zero_point;
      total += d[slot];
      if (d[slot] > highest) highest = d[slot];
      if (d[slot] < lowest) lowest = d[slot];
    }
    Folded f;
    const float filter_scale = qlc::load<float>(inputs[qlc::filter_scale_tensor], channel * filter_scale_.step);
    const reference::RequantizeScale exact(h.input_scale, filter_scale, h.given_output_scale);
    if (exact.is_finite()) {
      f.factor = static_cast<double>(h.input_scale) * static_cast<double>(filter_scale);
      if (h.given_output_scale < 0) f.factor = -f.factor;
    } else {
      const std::int64_t one = exact.round_exactly(1);
      f.factor = one == 0 ? 0.0 : one > 0 ? 0x1p200 : -0x1p200;
    }
    std::int64_t sum = bias - std::int64_t{h.fill} * total;
    if (highest > 254) {
      for (Index slot = 0; slot < units_ * kernels_.group; ++slot) d[slot] = -d[slot];
      f.factor = -f.factor;
      sum = -sum;
      f.wide = true;
    } else {
      f.wide = highest > 127 || lowest < -128;
    }
    f.sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::uint64_t>(sum)));
    // Beyond 2^40 every sum but 0 saturates, below 2^-40 every sum rounds to 0: float need not follow.
    const double ratio = f.factor / h.output_scale;
    const double size = ratio < 0 ? -ratio : ratio;
    f.scale = size < 0x1p-40 ? 0.0f : static_cast<float>(size > 0x1p40 ? (ratio < 0 ? -0x1p40 : 0x1p40) : ratio);
    const double bound = static_cast<double>(g_.depth()) * 65025.0 + static_cast<double>(bias < 0 ? -bias : bias);
    f.band = bound * size < 0x1p21 ? qlc::float_band : -1.0f;
    if (bound >= 0x1p31) h.fits = false;
    return f;
  }

  /// Weight `d` of slot `slot` for place `place` of a block of `lanes`; `second_at`: elements to the second part.
  void store_weight(std::byte* weights, Index slot, Index place, Index lanes, Index second_at, bool wide,
                    std::int32_t d) const noexcept {
    const Index group = kernels_.group;
    const Index at = (slot / group * lanes + place) * group + slot % group;
    if (group != 4) {
      const auto value = static_cast<std::int16_t>(d);
      std::memcpy(weights + 2 * at, &value, sizeof value);
      return;
    }
    const std::int32_t first = d > 127 ? 127 : d < -128 ? -128 : d;
    weights[at] = static_cast<std::byte>(first & 0xFF);
    if (wide) weights[second_at + at] = static_cast<std::byte>((d - first) & 0xFF);
  }

  void fold_channel(const std::byte* const* inputs, Index channel, Header& h, std::byte* to) const noexcept {
    std::int32_t d[most_slots];
    const Folded f = fold_one(inputs, channel, h, d);
    std::byte* at = to + channels_at_ + channel * channel_bytes_;
    ChannelData data;
    data.factor = f.factor;
    data.scale = f.scale;
    data.band = f.band;
    data.sum = f.sum;
    data.wide = f.wide ? 1 : 0;
    std::memcpy(at, &data, sizeof data);
    const Index slots = units_ * kernels_.group;
    for (Index slot = 0; slot < slots; ++slot) store_weight(at + sizeof data, slot, 0, 1, slots, f.wide, d[slot]);
  }

  void fold_chunk(const std::byte* const* inputs, const Chunk& chunk, Index m, Header& h,
                  std::byte* to) const noexcept {
    std::int32_t d[most_slots];
    std::byte* data = to + chunk.data_at + m * chunk.data_bytes;
    ChunkHead head;
    head.band = qlc::float_band;
    for (Index c = 0; c < chunk.count; ++c) {
      const Folded f = fold_one(inputs, (chunk.first + c) * g_.out_channels + m, h, d);
      if (f.wide) head.wide = 1;
      if (f.band < head.band) head.band = f.band;
    }
    std::memcpy(data, &head, sizeof head);
    const Index block = kernels_.block;
    const Index slots = units_ * kernels_.group;
    const Index part = slots * block;  // elements of a block's weights, one part
    const Index block_bytes = part * kernels_.weight_bytes() * (kernels_.group == 4 && head.wide != 0 ? 2 : 1);
    const Index lanes = chunk.period * block;
    for (Index c = 0; c < chunk.pitch; ++c) {
      Folded f{0.0, 0.0f, 0.0f, 0, false};
      for (Index slot = 0; slot < slots; ++slot) d[slot] = 0;
      if (c < chunk.count) f = fold_one(inputs, (chunk.first + c) * g_.out_channels + m, h, d);
      for (Index lane = c; lane < lanes; lane += chunk.pitch) {
        const Index place = qlc::direct::place_of_lane(lane % block, block);
        const Index at = lane / block * block + place;
        std::memcpy(data + chunk.sum_at + 4 * at, &f.sum, 4);
        std::memcpy(data + chunk.scale_at + 4 * at, &f.scale, 4);
        std::memcpy(data + chunk.factor_at + 8 * at, &f.factor, 8);
        std::byte* weights = data + chunk.weights_at + lane / block * block_bytes;
        for (Index slot = 0; slot < slots; ++slot)
          store_weight(weights, slot, place, block, part, head.wide != 0, d[slot]);
      }
    }
  }

  // ---- execute: staging ------------------------------------------------------------------------------------------

  /// All phases of one channel (or chunk of channels) of the input under `band`; returns where the next one goes.
  std::uint8_t* stage(const Chunk& chunk, const Band& band, const Header& h, const std::uint8_t* input,
                      std::uint8_t* to) const noexcept {
    for (const Index phase : row_phases_) {
      for (Index column_phase = 0; column_phase < deal_; ++column_phase) {
        stage_phase(chunk, band, h, input, phase, column_phase, to);
        to += chunk.plane_bytes;
      }
    }
    return to;
  }

  void stage_phase(const Chunk& chunk, const Band& band, const Header& h, const std::uint8_t* input, Index row_phase,
                   Index column_phase, std::uint8_t* to) const noexcept {
    const Index pitch = row_columns(columns_) / deal_;  // staged columns from row to row
    const Index pitch_bytes = pitch * chunk.pitch;
    const Index rows = band.rows + row_shift();
    // Staged column k is padded column column_phase + k * deal_ of the band; the input begins at `left`.
    const Index left = g_.pad_x - band.x * g_.stride_x;
    Index first = left > column_phase ? qlc::ceil_div(left - column_phase, deal_) : 0;
    first = smaller(first, smaller(pitch, qlc::ceil_div(smaller(g_.pad_x, padded_columns(columns_)), deal_)));
    const Index column = column_phase + first * deal_ - left;
    const Index needed = smaller(pitch, qlc::ceil_div(padded_columns(columns_) - column_phase, deal_)) - first;
    Index count = column >= 0 && column < g_.width ? qlc::ceil_div(g_.width - column, deal_) : 0;
    count = larger(0, smaller(count, needed));

    // Staged row r is input row top + r * stride_y.
    const Index top = band.y * g_.stride_y + row_phase - g_.pad_y;
    const Index from = smaller(rows, top < 0 ? qlc::ceil_div(-top, g_.stride_y) : 0);
    const Index until = larger(from, smaller(rows, top < g_.height ? qlc::ceil_div(g_.height - top, g_.stride_y) : 0));

    std::uint8_t* at = to;
    const Index before = first * chunk.pitch + from * pitch_bytes;
    std::memset(at, h.fill, static_cast<std::size_t>(before));
    at += before;
    const std::uint8_t* source = input + (top + from * g_.stride_y) * g_.in.y + column * g_.in.x;
    if (until > from) stage_rows(chunk, h, source, until - from, count, pitch_bytes, at);
    at += (until - from) * pitch_bytes;
    std::memset(at, h.fill, static_cast<std::size_t>(to + chunk.plane_bytes - at));
  }

  void stage_rows(const Chunk& chunk, const Header& h, const std::uint8_t* source, Index rows, Index count,
                  Index pitch_bytes, std::uint8_t* to) const noexcept {
    const Index row_step = g_.stride_y * g_.in.y;
    const Index column_step = deal_ * g_.in.x;
    if (count == 0) {
      std::memset(to, h.fill, static_cast<std::size_t>(rows * pitch_bytes));
    } else if (column_step == chunk.count && chunk.pitch == chunk.count) {
      kernels_.stage(source, row_step, rows, count * chunk.pitch, pitch_bytes, h.fill, h.input_flip, to);
    } else if (!by_channels_ && column_step == 2) {
      kernels_.stage_even(source, row_step, rows, count, pitch_bytes, h.fill, h.input_flip, to);
    } else {
      const Index used = count * chunk.pitch;
      for (Index r = 0; r < rows; ++r, source += row_step, to += pitch_bytes) {
        if (by_channels_) {
          kernels_.stage(source, column_step, count, chunk.count, chunk.pitch, h.fill, h.input_flip, to);
        } else {
          for (Index x = 0; x < count; ++x) to[x] = static_cast<std::uint8_t>(source[x * column_step] ^ h.input_flip);
        }
        std::memset(to + used, h.fill, static_cast<std::size_t>(pitch_bytes - used));
      }
    }
  }

  void unstage_pixels(const Band& band, const std::uint8_t* line, std::uint8_t* out) const noexcept {
    if (g_.out.x == 1) {
      kernels_.unstage(line, pitch_, band.rows, band.columns, out, g_.out.y);
      return;
    }
    for (Index y = 0; y < band.rows; ++y) {
      for (Index x = 0; x < band.columns; ++x) out[y * g_.out.y + x * g_.out.x] = line[y * pitch_ + x];
    }
  }

  void unstage_channels(const Chunk& chunk, const Band& band, const std::uint8_t* line,
                        std::uint8_t* out) const noexcept {
    const Index channel_step = g_.out_channels * g_.out.c;
    const Index row = pitch_ * chunk.pitch;
    if (channel_step == 1 && g_.out.x == chunk.count && chunk.pitch == chunk.count) {
      kernels_.unstage(line, row, band.rows, band.columns * chunk.count, out, g_.out.y);
      return;
    }
    for (Index y = 0; y < band.rows; ++y) {
      if (channel_step == 1) {
        kernels_.unstage(line + y * row, chunk.pitch, band.columns, chunk.count, out + y * g_.out.y, g_.out.x);
        continue;
      }
      for (Index x = 0; x < band.columns; ++x) {
        for (Index c = 0; c < chunk.count; ++c) {
          out[y * g_.out.y + x * g_.out.x + c * channel_step] = line[y * row + x * chunk.pitch + c];
        }
      }
    }
  }

  qlc::Geometry g_;
  const qlc::direct::Kernels& kernels_;
  qlc::ChannelTensor input_zero_point_, filter_scale_, filter_zero_point_, bias_, output_zero_point_;
  bool constants_owned_ = false, usable_ = false;
  bool by_channels_ = false;  // lanes hold channels
  bool by_rows_ = false;      // a row kernel makes its quads itself
  void (*kernel_)(const qlc::direct::LaneArgs&) noexcept = nullptr;
  Index deal_ = 1;  // column phases
  Index quads_ = 1, units_ = 1;
  std::vector<Index> row_phases_;
  std::vector<Chunk> chunks_;
  Index rows_ = 1, columns_ = 1, bands_y_ = 1, bands_x_ = 1;
  Index pitch_ = 1;  // lanes (of one channel) from output row to output row
  Index channels_at_ = 0, channel_bytes_ = 0, folded_bytes_ = 0;
};

}  // namespace fast
DMLREF_END
