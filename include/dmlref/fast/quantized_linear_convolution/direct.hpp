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
// d goes into the weights, so any filter zero point costs nothing where d fits the kernel's weights. Where it does not
// fit eight bits there are two ways, whichever multiplies less. Where several outputs share their windows, all d of a
// channel are shifted into range (they span no more than 255) and the shift times the window's sum is added. Elsewhere
// d is a sum of two weights; d = 255, which is no such sum, negates the whole channel.
//
// Overflow: sums are taken modulo 2^32, exact where K * 255 * 255 + |bias| < 2^31. A bias beyond that, seen when the
// constants are folded, sends the call to the reference.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/interleave.hpp"
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
        for (Index m = 0; m < lane_outputs_; ++m) fold_chunk(inputs, chunk, m, h, to);
      }
    } else {
      for (Index c = 0; c < g_.all_out_channels(); ++c) fold_channel(inputs, c, h, to);
    }
    std::memcpy(to, &h, sizeof h);
  }

  /// Whether the folded constants allow 32-bit sums. If not, the caller asks the reference.
  static bool fits(const std::byte* folded) noexcept { return read<Header>(folded).fits; }

  Index units() const noexcept { return g_.batch * parts() * static_cast<Index>(bands_.size()); }

  void run(const std::byte* folded, const std::byte* input, std::byte* output, Index unit) const noexcept {
    alignas(64) std::uint8_t staged[staged_capacity + slack];
    alignas(64) std::uint8_t lines[line_capacity + slack];
    const Header h = read<Header>(folded);
    const auto bands = static_cast<Index>(bands_.size());
    const Band& band = bands_[static_cast<std::size_t>(unit % bands)];
    const Index part = unit / bands % parts();
    const Index image = unit / bands / parts();
    const Chunk& chunk = chunks_[by_channels_ ? static_cast<std::size_t>(part) : 0];
    const Index first_group = by_channels_ ? chunk.first / lane_channels_ : part * groups_at_a_time_;
    const Index groups = by_channels_ ? 1 : smaller(groups_at_a_time_, g_.groups - first_group);
    const auto* in =
        reinterpret_cast<const std::uint8_t*>(input) + image * g_.in.n + first_group * g_.in_channels * g_.in.c;
    auto* out = reinterpret_cast<std::uint8_t*>(output) + image * g_.out.n + first_group * g_.out_channels * g_.out.c +
                band.y * g_.out.y + band.x * g_.out.x;
    if (!in_place_) stage(chunk, band, h, in, by_channels_ ? 1 : groups * g_.in_channels, staged);

    qlc::direct::LaneArgs t;
    t.offsets = chunk.offsets.data();
    t.units = units_;
    t.lone = lone_;
    t.tap_step = static_cast<std::int32_t>(g_.dilation_x);
    t.pattern = pattern_;
    t.output_scale = h.output_scale;
    t.zero_point = h.zero_point;
    t.flip = h.output_flip;
    const Index lanes = ((band.rows - 1) * pitch_ + band.columns) * chunk.pitch;
    t.blocks = (lanes + kernels_.block - 1) / kernels_.block;
    if (by_channels_) {
      t.staged = staged;
      t.out = lines;
      const bool interleaves = lane_outputs_ > 1 && g_.out.c == 1;
      const Index line_bytes = t.blocks * kernels_.block;
      for (Index m = 0; m < lane_outputs_; ++m) {
        const std::byte* data = folded + chunk.data_at + m * chunk.data_bytes;
        const ChunkHead head = read<ChunkHead>(data);
        t.period = chunk.period;
        t.wide = head.wide;
        if (shifts_ && t.wide != 0) t.shift = reinterpret_cast<const std::int32_t*>(data + chunk.shift_at);
        t.band = head.band;
        t.sum = reinterpret_cast<const std::int32_t*>(data + chunk.sum_at);
        t.scale = reinterpret_cast<const float*>(data + chunk.scale_at);
        t.factor = reinterpret_cast<const double*>(data + chunk.factor_at);
        t.weights = data + chunk.weights_at;
        kernel_(t);
        if (interleaves) {
          t.out += line_bytes;
        } else {
          unstage_channels(chunk, band, lines, out + m * g_.out.c);
        }
      }
      if (interleaves) unstage_interleaved(chunk, band, lines, line_bytes, out);
      return;
    }
    const std::byte* data = folded + channels_at_ + first_group * g_.out_channels * channel_bytes_;
    if (in_place_) return run_planes(t, data, h, in, groups, out);
    const Index group_bytes = g_.in_channels * phases() * chunk.plane_bytes;
    t.out = lines;
    for (Index group = 0; group < groups; ++group) {
      t.staged = staged + group * group_bytes;
      for (Index m = 0; m < g_.out_channels;) {
        const Index outputs = outputs_at_once(g_.out_channels - m);
        run_pixels(t, data, outputs);
        m += outputs;
        data += outputs * channel_bytes_;
        t.out += outputs * line_bytes_;
      }
    }
    unstage_pixels(band, lines, groups * g_.out_channels, out);
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
  using ChannelData = qlc::direct::ChannelData;
  struct ChunkHead {
    float band = 0;
    std::uint32_t wide = 0;
  };
  /// The channels that a task's lanes hold; one, of any group, for the pixel kernels.
  struct Chunk {
    Index first = 0, count = 1, pitch = 1;  // pitch: staged channels, filling included
    Index period = 1;
    Index plane_bytes = 0;              // one phase of the staged rows
    std::vector<std::int32_t> offsets;  // of the kernels' taps
    Index data_at = 0, data_bytes = 0, sum_at = 0, shift_at = 0, scale_at = 0, factor_at = 0, weights_at = 0;
  };
  /// A rectangle of output pixels, and what of the input each phase stages for it.
  struct BandPhase {
    Index columns_before = 0, columns = 0;  // staged columns of padding, of input; then padding
    Index rows_before = 0, rows = 0;
    Index source = 0;  // the first input element, from the channel's first
  };
  struct Band {
    Index y, x, rows, columns;
    std::vector<BandPhase> phases;
  };
  struct Tap {
    Index channel, y, x;
    bool real;
  };

  Index parts() const noexcept {
    return by_channels_ ? static_cast<Index>(chunks_.size()) : qlc::ceil_div(g_.groups, groups_at_a_time_);
  }
  /// Slots of a unit.
  Index group() const noexcept { return by_quads_ ? 4 : kernels_.group; }
  Index weight_parts() const noexcept { return kernels_.group == 4 && !shifts_ ? 2 : 1; }
  Index phases() const noexcept { return static_cast<Index>(row_phases_.size()) * deal_; }
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
    by_channels_ = g_.in_channels == 1 && g_.in.c == 1 && g_.in.x != 1;
    // Windows of quads are summed in 16 bits, the other group's channels too: at most 256 bytes.
    const bool quads_suit = (g_.in_channels == 2 || g_.in_channels == 4) && g_.out_channels == g_.in_channels &&
                            g_.groups * g_.in_channels % 4 == 0 && g_.in.c == 1 && g_.in.x != 1 && g_.taps() <= 64;
    if (quads_suit && kernels_.channel_quads != nullptr) {
      by_channels_ = by_quads_ = true;
      lane_channels_ = g_.in_channels;
    }
    lane_outputs_ = by_quads_ ? 1 : g_.out_channels;
    // A row kernel reads quads of one kernel row through byte shuffles within 16 bytes.
    kernel_ = by_quads_ ? kernels_.channel_quads : by_channels_ ? kernels_.channel_taps : kernels_.pixel_taps;
    const bool rows_suit = !by_channels_ && g_.in_channels == 1 && g_.kernel_w > 1;
    if (rows_suit && g_.stride_x == 1 && g_.dilation_x <= kernels_.reach) {
      kernel_ = kernels_.pixel_rows;
      by_rows_ = true;
    } else if (rows_suit && g_.stride_x == 2 && g_.dilation_x == 1 && kernels_.reach > 0) {
      kernel_ = kernels_.pixel_rows_stride2;
      by_rows_ = true;
    }
    in_place_ = by_rows_ && g_.stride_x == 1 && g_.stride_y == 1 && g_.dilation_y == 1 && g_.kernel_h == 3 &&
                g_.kernel_w <= 4 && g_.out_width > 8 && padded_columns(g_.out_width) <= 16 && g_.height > 1 &&
                g_.in.x == 1 && g_.in.y >= g_.width && g_.in.y >= g_.pad_x && g_.in.y + g_.width + g_.pad_x >= 16 &&
                g_.out.x == 1 && g_.out.y >= g_.out_width && kernels_.pixel_planes != nullptr;
    for (Index i = 0; i < 16 && by_rows_; ++i) {
      pattern_[i] = static_cast<std::uint8_t>(i / 4 * 2 * g_.stride_x + i % 4 * g_.dilation_x);
    }
    deal_ = by_rows_ ? 1 : g_.stride_x;
    quads_ = qlc::ceil_div(g_.kernel_w, 4);
    if (kernels_.group == 4) {
      shifts_ = by_quads_ || (!by_channels_ && !by_rows_);
      lone_ = by_channels_ && !by_quads_ && g_.depth() % 4 == 1;
    }
    units_ = by_rows_ ? g_.kernel_h * quads_ : by_quads_ ? g_.taps() : qlc::ceil_div(g_.depth(), kernels_.group);
    for (Index phase = 0; phase < g_.stride_y; ++phase) {
      if (reads_row_phase(phase)) row_phases_.push_back(phase);
    }
    make_chunks();
    if (in_place_) {
      rows_ = g_.out_height;
      columns_ = g_.out_width;
      row_columns_ = pitch_ = row_columns(columns_);
    } else if (!choose_band()) {
      return false;
    }
    for (Chunk& chunk : chunks_) {
      chunk.plane_bytes = plane_bytes(chunk.pitch, rows_, columns_);
      make_offsets(chunk);
    }
    for (Index slot = 0; slot < units_ * group(); ++slot) {
      const Tap at = tap(slot);
      slot_at_.push_back(slot / group() * group() * (by_channels_ ? kernels_.block : 1) + slot % group());
      slots_.push_back(at.real ? at.channel * g_.filter.c + at.y * g_.filter.y + at.x * g_.filter.x : -1);
    }
    make_bands();
    choose_batch();
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
    const Index channels = g_.groups * lane_channels_;
    // Whole pixels are staged as one run of bytes; parts of pixels leave room for more rows, which strides need.
    const bool strided = g_.stride_x > 1 || g_.stride_y > 1;
    const Index at_a_time = strided ? smaller(channels, 64) : channels <= 192 ? channels : 128;
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
    const Index planes = (by_channels_ ? 1 : g_.in_channels) * phases();
    const Index lines = by_channels_ ? lane_outputs_ : g_.out_channels;
    const auto fits = [&](Index rows, Index columns, Index bytes) {
      return planes * plane_bytes(channels, rows, columns) <= bytes &&
             lines * (rows * (row_columns(columns) / g_.stride_x) * channels + kernels_.block) <= line_capacity;
    };
    columns_ = g_.out_width;
    while (!fits(1, columns_, staged_capacity)) {
      if (columns_ <= 8) return false;
      columns_ = (columns_ + 1) / 2;
    }
    const Index target = by_channels_ ? staged_capacity : smaller(staged_capacity, 20 * 1024);
    rows_ = 1;
    while (rows_ < g_.out_height && fits(rows_ + 1, columns_, target)) ++rows_;
    rows_ = qlc::ceil_div(g_.out_height, qlc::ceil_div(g_.out_height, rows_));
    row_columns_ = row_columns(columns_);
    pitch_ = row_columns_ / g_.stride_x;
    return true;
  }

  void make_bands() {
    for (Index y = 0; y < g_.out_height; y += rows_) {
      for (Index x = 0; x < g_.out_width; x += columns_) {
        Band band{y, x, smaller(rows_, g_.out_height - y), smaller(columns_, g_.out_width - x), {}};
        for (const Index row_phase : row_phases_) {
          for (Index column_phase = 0; column_phase < deal_; ++column_phase) {
            band.phases.push_back(band_phase(band, row_phase, column_phase));
          }
        }
        bands_.push_back(std::move(band));
      }
    }
  }

  BandPhase band_phase(const Band& band, Index row_phase, Index column_phase) const noexcept {
    BandPhase phase;
    // Staged column k is padded column column_phase + k * deal_ of the band; the input begins at padded column `left`.
    const Index pitch = row_columns(columns_) / deal_;
    const Index padded = padded_columns(columns_);
    const Index left = g_.pad_x - band.x * g_.stride_x;
    const Index most = smaller(pitch, qlc::ceil_div(smaller(g_.pad_x, padded), deal_));
    phase.columns_before = left > column_phase ? smaller(most, qlc::ceil_div(left - column_phase, deal_)) : 0;
    const Index column = column_phase + phase.columns_before * deal_ - left;
    const Index needed = smaller(pitch, qlc::ceil_div(padded - column_phase, deal_)) - phase.columns_before;
    const Index there = column >= 0 && column < g_.width ? qlc::ceil_div(g_.width - column, deal_) : 0;
    phase.columns = larger(0, smaller(there, needed));

    // Staged row r is input row top + r * stride_y.
    const Index rows = band.rows + row_shift();
    const Index top = band.y * g_.stride_y + row_phase - g_.pad_y;
    phase.rows_before = smaller(rows, top < 0 ? qlc::ceil_div(-top, g_.stride_y) : 0);
    const Index until = smaller(rows, top < g_.height ? qlc::ceil_div(g_.height - top, g_.stride_y) : 0);
    phase.rows = larger(0, until - phase.rows_before);
    if (phase.columns == 0) phase.rows = 0;
    if (phase.rows > 0) phase.source = (top + phase.rows_before * g_.stride_y) * g_.in.y + column * g_.in.x;
    return phase;
  }

  // Several groups per task: the cost of a task is shared, and a channel's bytes are staged long before they are read.
  // Sixteen tasks or more, but none of less than a microsecond.
  void choose_batch() {
    if (by_channels_) return;
    const Index group_bytes = g_.in_channels * phases() * chunks_.front().plane_bytes;
    line_bytes_ = qlc::round_up((rows_ - 1) * pitch_ + columns_, kernels_.block);
    const auto fits = [&](Index groups) {
      return groups * group_bytes <= 20 * 1024 && groups * g_.out_channels * line_bytes_ <= 16 * 1024 &&
             (16 * groups <= g_.groups * g_.batch * static_cast<Index>(bands_.size()) ||
              groups * g_.out_channels * line_bytes_ * units_ <= 16 * 1024);
    };
    while (groups_at_a_time_ < g_.groups && fits(groups_at_a_time_ + 1)) ++groups_at_a_time_;
  }

  Tap tap(Index slot) const noexcept {
    if (by_rows_) {
      const Index x = slot / 4 % quads_ * 4 + slot % 4;
      return {0, slot / 4 / quads_, x, x < g_.kernel_w};
    }
    if (by_quads_) {
      return {slot % 4, slot / 4 / g_.kernel_w, slot / 4 % g_.kernel_w, slot % 4 < g_.in_channels};
    }
    const Index taps = g_.taps();
    return {slot / taps, slot % taps / g_.kernel_w, slot % g_.kernel_w, slot < g_.depth()};
  }

  void make_offsets(Chunk& chunk) const {
    const Index row = row_columns(columns_) / deal_ * chunk.pitch;
    const Index step = by_rows_ || by_quads_ ? 4 : 1;
    for (Index slot = 0; slot < units_ * group(); slot += step) {
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
    const Index slots = units_ * group() * kernels_.weight_bytes() * weight_parts();
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
      chunk.shift_at = chunk.sum_at + 4 * lanes;
      chunk.scale_at = chunk.shift_at + (shifts_ ? 4 * lanes : 0);
      chunk.factor_at = chunk.scale_at + 4 * lanes;
      chunk.weights_at = chunk.factor_at + 8 * lanes;
      chunk.data_bytes = qlc::round_up(chunk.weights_at + slots * lanes, 64);
      at += chunk.data_bytes * lane_outputs_;
    }
    folded_bytes_ = at;
  }

  // ---- constants -----------------------------------------------------------------------------------------------

  /// One output channel's part of the constants; `d` gets its weights less the zero point, negated where need be.
  struct Folded {
    double factor;
    float scale, band;
    std::int32_t sum, shift;
    std::uint32_t wide;  // 0: no shift, and no weight has two parts; else the units where one has, as LaneArgs::wide
  };
  static constexpr Index most_slots = 1040;

  /// What of a weight fits eight bits.
  static constexpr std::int32_t first_part(std::int32_t d) noexcept { return d > 127 ? 127 : d < -128 ? -128 : d; }

  static constexpr bool is_usual(float scale) noexcept { return scale != 0 && scale - scale == 0; }

  Folded fold_one(const std::byte* const* inputs, Index channel, Header& h, std::int32_t* d) const noexcept {
    const auto* filter = reinterpret_cast<const std::uint8_t*>(inputs[qlc::filter_tensor]) + channel * g_.filter.n;
    const std::int32_t zero_point =
        qlc::zero_point_of(filter_zero_point_, inputs[qlc::filter_zero_point_tensor], channel);
    const std::int64_t bias =
        bias_.present ? qlc::load<std::int32_t>(inputs[qlc::bias_tensor], channel * bias_.step) : 0;
    std::int32_t total = 0, highest = 0, lowest = 0;
    const std::uint8_t flip = g_.filter_signed ? 0x80 : 0;
    const std::int32_t offset = zero_point + flip;  // a byte xor 0x80 is its signed value plus 128
    const Index slots = units_ * group();
    for (Index slot = 0; slot < slots; ++slot) {
      const Index from = slots_[static_cast<std::size_t>(slot)];
      const std::int32_t weight = from < 0 ? 0 : static_cast<std::uint8_t>(filter[from] ^ flip) - offset;
      d[slot] = weight;
      total += weight;
      highest = weight > highest ? weight : highest;
      lowest = weight < lowest ? weight : lowest;
    }
    Folded f;
    const float filter_scale = qlc::load<float>(inputs[qlc::filter_scale_tensor], channel * filter_scale_.step);
    if (is_usual(h.input_scale) && is_usual(filter_scale) && is_usual(h.given_output_scale)) {
      f.factor = static_cast<double>(h.input_scale) * static_cast<double>(filter_scale);
      if (h.given_output_scale < 0) f.factor = -f.factor;
    } else {
      const reference::RequantizeScale exact(h.input_scale, filter_scale, h.given_output_scale);
      const std::int64_t one = exact.round_exactly(1);
      f.factor = one == 0 ? 0.0 : one > 0 ? 0x1p200 : -0x1p200;
    }
    std::int64_t sum = bias - std::int64_t{h.fill} * total;
    f.shift = 0;
    f.wide = highest != first_part(highest) || lowest != first_part(lowest) ? ~std::uint32_t{0} : 0;
    if (shifts_) {
      f.shift = highest > 127 ? highest - 127 : lowest < -128 ? lowest + 128 : 0;
      for (Index slot = 0; slot < slots; ++slot) d[slot] -= f.shift;
      sum += std::int64_t{f.shift} * qlc::direct::window_middle;
    } else {
      if (highest > 254) {
        for (Index slot = 0; slot < slots; ++slot) d[slot] = -d[slot];
        f.factor = -f.factor;
        sum = -sum;
      }
      if (lone_) {  // both parts of the last tap's weight, as there is room
        std::int32_t* last = d + g_.depth() - 1;
        last[1] = *last - first_part(*last);
        *last -= last[1];
      }
      if (f.wide != 0 && !lone_) {
        f.wide = 0;
        for (Index unit = 0; unit < units_; ++unit) {
          for (const std::int32_t* at = d + unit * group(); at < d + (unit + 1) * group(); ++at) {
            if (*at != first_part(*at)) f.wide |= std::uint32_t{1} << (unit % 32);
          }
        }
      }
    }
    f.sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::uint64_t>(sum)));
    // Beyond 2^40 every sum but 0 saturates, below 2^-40 every sum rounds to 0: float need not follow.
    const double ratio = f.factor / h.output_scale;
    const double size = ratio < 0 ? -ratio : ratio;
    f.scale = size < 0x1p-40 ? 0.0f : static_cast<float>(size > 0x1p40 ? (ratio < 0 ? -0x1p40 : 0x1p40) : ratio);
    const double bound = static_cast<double>(g_.depth()) * 65025.0 + static_cast<double>(bias < 0 ? -bias : bias);
    // What a float product may be off by where the output does not saturate, |value| < 512: the scale's own error, the
    // sum's where it has more than 24 bits, and the residual's rounding. The kernels take 16 bits of the value.
    const double scale_error = ratio != 0 ? (static_cast<double>(f.scale) - ratio) / ratio : 0.0;
    const double error =
        512 * ((scale_error < 0 ? -scale_error : scale_error) + (bound < 0x1p24 ? 0.0 : 0x1p-24) + 0x1p-50) + 0x1p-23;
    f.band = bound * size < 32000.0 ? static_cast<float>(0.5 - error) : -1.0f;
    if (bound >= 0x1p31) h.fits = false;
    return f;
  }

  /// Weights `d` for place `place` of a block. `value(slot)`: those of the slots.
  template <class Value>
  void store_weights(std::byte* weights, Index place, Index second_at, Value value) const noexcept {
    const auto slots = static_cast<Index>(slot_at_.size());
    const Index first_at = place * group();
    if (kernels_.group != 4) {
      for (Index slot = 0; slot < slots; ++slot) {
        const auto d = static_cast<std::int16_t>(value(slot));
        std::memcpy(weights + 2 * (first_at + slot_at_[static_cast<std::size_t>(slot)]), &d, sizeof d);
      }
      return;
    }
    for (Index slot = 0; slot < slots; ++slot) {
      const std::int32_t d = value(slot);
      const std::int32_t first = first_part(d);
      std::byte* at = weights + first_at + slot_at_[static_cast<std::size_t>(slot)];
      at[0] = static_cast<std::byte>(first & 0xFF);
      if (!shifts_) at[second_at] = static_cast<std::byte>((d - first) & 0xFF);
    }
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
    data.shift = f.shift;
    data.wide = f.wide;
    std::memcpy(at, &data, sizeof data);
    const Index slots = units_ * group();
    store_weights(at + sizeof data, 0, slots, [&](Index slot) { return d[slot]; });
  }

  void fold_chunk(const std::byte* const* inputs, const Chunk& chunk, Index m, Header& h,
                  std::byte* to) const noexcept {
    std::int32_t d[most_slots];
    std::byte* data = to + chunk.data_at + m * chunk.data_bytes;
    ChunkHead head;
    head.band = 0.5f;
    const Index block = kernels_.block;
    const Index slots = units_ * group();
    const Index part = slots * block;  // elements of a block's weights, one part
    const Index block_bytes = part * kernels_.weight_bytes() * weight_parts();
    const Index lanes = chunk.period * block;
    for (Index c = 0; c < chunk.pitch; ++c) {
      Folded f{0.0, 0.0f, 0.0f, 0, 0, 0};
      for (Index slot = 0; slot < slots; ++slot) d[slot] = 0;
      if (c < chunk.count) {
        f = fold_one(inputs, (chunk.first + c) * lane_outputs_ + m, h, d);
        head.wide |= f.wide;
        if (f.band < head.band) head.band = f.band;
      }
      // Where in its quad of channels the group of output channel c begins.
      const Index shift = by_quads_ ? (chunk.first + c) / lane_channels_ * lane_channels_ % 4 : 0;
      for (Index lane = c; lane < lanes; lane += chunk.pitch) {
        const Index place =
            by_quads_ ? lane % 4 * (block / 4) + lane % block / 4 : qlc::direct::place_of_lane(lane % block, block);
        const Index at = lane / block * block + place;
        std::memcpy(data + chunk.sum_at + 4 * at, &f.sum, 4);
        if (shifts_) {
          const std::int32_t low_half = f.shift & 0xFFFF;
          std::memcpy(data + chunk.shift_at + 4 * at, &low_half, 4);
        }
        std::memcpy(data + chunk.scale_at + 4 * at, &f.scale, 4);
        std::memcpy(data + chunk.factor_at + 8 * at, &f.factor, 8);
        std::byte* weights = data + chunk.weights_at + lane / block * block_bytes;
        if (!by_quads_) {
          store_weights(weights, place, part, [&](Index slot) { return d[slot]; });
        } else {
          store_weights(weights, place, part, [&](Index slot) {
            const Index from = slot % 4 - shift;
            return from >= 0 && from < lane_channels_ ? d[slot - shift] : -f.shift;
          });
        }
      }
    }
    std::memcpy(data, &head, sizeof head);
  }

  // ---- execute: lanes --------------------------------------------------------------------------------------------

  Index outputs_at_once(Index left) const noexcept {
    if (by_rows_ || left < 2 || kernels_.pixel_taps_2 == nullptr) return 1;
    return left < 4 ? 2 : 4;
  }

  /// Whole planes of some groups, of which no copies are made.
  void run_planes(qlc::direct::LaneArgs& t, const std::byte* data, const Header& h, const std::uint8_t* in,
                  Index groups, std::uint8_t* out) const noexcept {
    qlc::direct::PlaneArgs plane;
    plane.row_step = g_.in.y;
    plane.rows = g_.height;
    plane.width = g_.width;
    plane.pad_y = g_.pad_y;
    plane.pad_x = g_.pad_x;
    plane.fill = h.fill;
    plane.flip = h.input_flip;
    plane.dst_row_step = g_.out.y;
    plane.out_rows = g_.out_height;
    plane.out_width = g_.out_width;
    plane.src = in;
    plane.plane_step = g_.in.c;
    plane.dst = out;
    plane.dst_plane_step = g_.out.c;
    plane.planes = groups * g_.out_channels;
    plane.outputs = g_.out_channels;
    t.weights = data;
    t.weight_step = channel_bytes_;
    kernels_.pixel_planes(t, plane);
  }

  /// One to four output channels, whose constants begin at `data`, of one group's staged input.
  void run_pixels(qlc::direct::LaneArgs& t, const std::byte* data, Index outputs) const noexcept {
    std::int32_t sum[4], shift[4];
    float scale[4];
    double factor[4];
    t.wide = 0;
    t.band = 0.5f;
    for (Index m = 0; m < outputs; ++m) {
      const ChannelData channel = read<ChannelData>(data + m * channel_bytes_);
      sum[m] = channel.sum;
      shift[m] = channel.shift & 0xFFFF;
      scale[m] = channel.scale;
      factor[m] = channel.factor;
      t.wide |= channel.wide;
      if (channel.band < t.band) t.band = channel.band;
    }
    t.shift = shifts_ && t.wide != 0 ? shift : nullptr;
    t.sum = sum;
    t.scale = scale;
    t.factor = factor;
    t.weights = data + sizeof(ChannelData);
    t.weight_step = channel_bytes_;
    t.out_step = line_bytes_;
    (outputs == 1 ? kernel_ : outputs == 2 ? kernels_.pixel_taps_2 : kernels_.pixel_taps_4)(t);
  }

  // ---- execute: staging ------------------------------------------------------------------------------------------

  /// All phases of `planes` channels (or of a chunk of channels) of the input under `band`.
  void stage(const Chunk& chunk, const Band& band, const Header& h, const std::uint8_t* input, Index planes,
             std::uint8_t* to) const noexcept {
    qlc::direct::StageArgs t;
    t.row_step = g_.stride_y * g_.in.y;
    t.plane_step = g_.in.c;
    t.pitch = row_columns_ / deal_ * chunk.pitch;
    t.plane_bytes = chunk.plane_bytes;
    t.fill = h.fill;
    t.flip = h.input_flip;
    t.dst_plane_step = phases() * chunk.plane_bytes;
    const Index column_step = deal_ * g_.in.x;
    const bool run_of_bytes = column_step == chunk.count && chunk.pitch == chunk.count;
    t.dst = to;
    for (const BandPhase& phase : band.phases) {
      t.src = input + phase.source;
      t.planes = planes;
      t.rows = phase.rows;
      t.before = phase.columns_before * chunk.pitch + phase.rows_before * t.pitch;
      t.width = phase.columns * chunk.pitch;
      if (run_of_bytes || phase.rows == 0) {
        kernels_.stage(t);
      } else if (!by_channels_ && column_step == 2) {
        kernels_.stage_even(t);
      } else {
        stage_elements(chunk, phase, t, column_step);
      }
      t.dst += chunk.plane_bytes;
    }
    std::memset(to + planes * t.dst_plane_step, h.fill, slack);
  }

  /// Rows whose columns are apart in memory: pixel by pixel.
  void stage_elements(const Chunk& chunk, const BandPhase& phase, const qlc::direct::StageArgs& t,
                      Index column_step) const noexcept {
    for (Index p = 0; p < t.planes; ++p) {
      std::uint8_t* to = t.dst + p * t.dst_plane_step;
      std::uint8_t* const end = to + t.plane_bytes;
      std::memset(to, t.fill, static_cast<std::size_t>(t.before));
      to += t.before;
      for (Index r = 0; r < t.rows; ++r, to += t.pitch) {
        const std::uint8_t* src = t.src + p * t.plane_step + r * t.row_step;
        if (by_channels_) {  // a pixel's channels are a row of their own
          qlc::direct::StageArgs pixels = t;
          pixels.src = src;
          pixels.planes = 1;
          pixels.rows = phase.columns;
          pixels.row_step = column_step;
          pixels.width = chunk.count;
          pixels.pitch = chunk.pitch;
          pixels.before = 0;
          pixels.dst = to;
          pixels.plane_bytes = larger(t.pitch, t.width + 64);
          kernels_.stage(pixels);
        } else {
          for (Index x = 0; x < t.width; ++x) to[x] = static_cast<std::uint8_t>(src[x * column_step] ^ t.flip);
          std::memset(to + t.width, t.fill, static_cast<std::size_t>(t.pitch - t.width));
        }
      }
      std::memset(to, t.fill, static_cast<std::size_t>(end - to));
    }
  }

  void unstage_pixels(const Band& band, const std::uint8_t* lines, Index planes, std::uint8_t* out) const noexcept {
    if (g_.out.x == 1) {
      qlc::direct::UnstageArgs t;
      t.src = lines;
      t.row_step = pitch_;
      t.plane_step = line_bytes_;
      t.planes = planes;
      t.rows = band.rows;
      t.width = band.columns;
      t.dst = out;
      t.dst_row_step = g_.out.y;
      t.dst_plane_step = g_.out.c;
      kernels_.unstage(t);
      return;
    }
    for (Index p = 0; p < planes; ++p) {
      for (Index y = 0; y < band.rows; ++y) {
        for (Index x = 0; x < band.columns; ++x) {
          out[p * g_.out.c + y * g_.out.y + x * g_.out.x] = lines[p * line_bytes_ + y * pitch_ + x];
        }
      }
    }
  }

  /// Several lines, one per output of a group, whose channels are neighbours in memory.
  void unstage_interleaved(const Chunk& chunk, const Band& band, const std::uint8_t* lines, Index line_bytes,
                           std::uint8_t* out) const noexcept {
    const bool run_of_bytes = g_.out.x == chunk.count * lane_outputs_ && chunk.pitch == chunk.count;
    for (Index y = 0; y < band.rows; ++y) {
      const std::uint8_t* row = lines + y * pitch_ * chunk.pitch;
      std::uint8_t* to = out + y * g_.out.y;
      if (run_of_bytes) {
        qlc::direct::interleave(row, line_bytes, lane_outputs_, band.columns * chunk.count, to);
        continue;
      }
      for (Index x = 0; x < band.columns; ++x) {
        qlc::direct::interleave(row + x * chunk.pitch, line_bytes, lane_outputs_, chunk.count, to + x * g_.out.x);
      }
    }
  }

  void unstage_channels(const Chunk& chunk, const Band& band, const std::uint8_t* line,
                        std::uint8_t* out) const noexcept {
    const Index channel_step = lane_outputs_ * g_.out.c;
    const Index row = pitch_ * chunk.pitch;
    qlc::direct::UnstageArgs t;
    t.src = line;
    t.dst = out;
    if (channel_step == 1 && g_.out.x == chunk.count && chunk.pitch == chunk.count) {
      t.row_step = row;
      t.rows = band.rows;
      t.width = band.columns * chunk.count;
      t.dst_row_step = g_.out.y;
      kernels_.unstage(t);
      return;
    }
    for (Index y = 0; y < band.rows; ++y) {
      if (channel_step == 1) {
        t.src = line + y * row;
        t.row_step = chunk.pitch;
        t.rows = band.columns;
        t.width = chunk.count;
        t.dst = out + y * g_.out.y;
        t.dst_row_step = g_.out.x;
        kernels_.unstage(t);
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
  bool by_quads_ = false;     // channels in lanes, four at a time
  bool by_rows_ = false;      // a row kernel makes its quads itself
  bool shifts_ = false;       // weights that do not fit are shifted, not cut in two
  bool in_place_ = false;     // short rows of whole planes, read where they are
  bool lone_ = false;         // the last quad repeats one tap
  void (*kernel_)(const qlc::direct::LaneArgs&) noexcept = nullptr;
  Index lane_channels_ = 1;  // input channels of a group that lie in lanes
  Index lane_outputs_ = 1;   // how often the lanes are run, each time for other output channels
  Index deal_ = 1;           // column phases
  Index quads_ = 1, units_ = 1;
  std::vector<Index> row_phases_;
  std::vector<Index> slots_;    // of the units: the weight's offset from its output channel's first, or -1
  std::vector<Index> slot_at_;  // the weight's place, in weights, from that of the lane's first
  std::vector<Chunk> chunks_;
  std::vector<Band> bands_;
  Index rows_ = 1, columns_ = 1;  // of a band, at most
  Index row_columns_ = 1;
  Index groups_at_a_time_ = 1, line_bytes_ = 0;
  std::uint8_t pattern_[16]{};
  Index pitch_ = 1;  // lanes (of one channel) from output row to output row
  Index channels_at_ = 0, channel_bytes_ = 0, folded_bytes_ = 0;
};

}  // namespace fast
DMLREF_END
