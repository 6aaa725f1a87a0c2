// plan.hpp: what of a direct convolution is decided at compile: which lanes, how the channels and rows are cut, where
// the staged taps and the folded constants lie.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/buffers.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/kernels.hpp"
#include "dmlref/fast/quantized_linear_convolution/geometry.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

inline constexpr Index staged_capacity = 40 * 1024;
inline constexpr Index line_capacity = 32 * 1024;
inline constexpr Index slack = 256;  // kernels load and store whole blocks

/// What the folded constants begin with.
struct FoldedHeader {
  double output_scale = 1;
  float input_scale = 1, given_output_scale = 1;
  std::int32_t zero_point = 0;
  std::uint8_t fill = 0, input_flip = 0, output_flip = 0;
  bool fits = true;
};
/// What the constants of a chunk of channels begin with.
struct FoldedChunk {
  std::uint32_t near_tie = 0;
  std::uint32_t wide = 0;
  std::uint32_t floats = 0;  // as LaneArgs::floats
  std::uint64_t spare[2]{};  // as LaneArgs::spare
};
/// The channels that a task's lanes hold; one, of any group, for the pixel kernels.
struct Chunk {
  Index first = 0, count = 1, pitch = 1;  // pitch: staged channels, filling included
  Index period = 1;
  Index plane_bytes = 0;              // one phase of the staged rows
  std::vector<std::int32_t> offsets;  // of the kernels' taps
  Index data_at = 0, data_bytes = 0, sum_at = 0, scale_at = 0, shift_at = 0, factor_at = 0, window_shift_at = 0,
        weights_at = 0;
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

/// A chunk's pitch at most: 192 channels, or 128 filled up to sixteens.
inline constexpr Index most_chunk_channels = 192;

constexpr Index larger(Index a, Index b) noexcept { return a > b ? a : b; }
template <class T>
T read(const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// A convolution as this path sees it, immutable once made.
struct Plan {
  Plan(const Problem& problem, const Kernels& kernels_to_use)
      : g(qlc::geometry_of(problem)),
        kernels(kernels_to_use),
        tensors(problem),
        constants_owned(qlc::constants_owned(problem)) {
    usable = suits() && choose();
  }

  Index parts() const noexcept {
    if (by_columns) return qlc::ceil_div(larger(1, g.groups / kernels.block), chunks_at_a_time);
    return by_channels ? static_cast<Index>(chunks.size()) : qlc::ceil_div(g.groups, groups_at_a_time);
  }
  /// Slots of a unit.
  Index group() const noexcept { return by_quads ? 4 : in_pairs ? 2 : kernels.group; }
  bool bytes() const noexcept { return kernels.group == 4 && !in_pairs; }
  Index weight_bytes() const noexcept { return bytes() ? 1 : 2; }
  /// Whether weights that do not fit are shifted, not cut in two.
  bool shifts() const noexcept { return by_quads && bytes(); }
  Index weight_parts() const noexcept { return bytes() && !shifts() ? 2 : 1; }
  Index outputs_at_once(Index left) const noexcept {
    if (by_rows || left < 2 || kernels.pixel_taps_2 == nullptr) return 1;
    return left < 4 ? 2 : 4;
  }
  /// in_threes: three, with a spare slot behind them, or two, each of which has one.
  Index taps_of_unit(Index unit) const noexcept { return g.kernel_h == 5 && unit % 2 == 1 ? 2 : 3; }
  Index phases() const noexcept { return static_cast<Index>(row_phases.size()) * deal; }

  qlc::Geometry g;
  const Kernels& kernels;
  qlc::ChannelTensors tensors;
  bool constants_owned = false;
  bool usable = false;
  bool by_channels = false;  // lanes hold channels
  bool by_quads = false;     // channels in lanes, four at a time
  bool by_columns = false;   // channels in lanes, kernel columns read where they are
  bool by_rows = false;      // a row kernel makes its quads itself
  bool in_place = false;     // nothing is staged: planes or columns are read where they are
  bool in_pairs = false;     // taps meet in twos, with weights of 16 bits, though the other kernels' meet in fours
  bool in_threes = false;    // quads of three taps, and a spare slot
  void (*kernel)(const LaneArgs&) noexcept = nullptr;
  Index lane_channels = 1;  // input channels of a group that lie in lanes
  Index lane_outputs = 1;   // how often the lanes are run, each time for other output channels
  Index deal = 1;           // column phases
  Index row_quads = 1, units = 1;
  std::vector<Index> row_phases;
  std::vector<std::ptrdiff_t> slot_weights;  // of the units: the weight's offset from its output channel's first, or -1
  std::vector<SlotRun> slot_runs;            // the same, where all are such
  Index filter_bytes = 0;
  std::vector<Index> places;  // of a block's lanes, in the order of the accumulators
  std::vector<Chunk> chunks;
  std::vector<Band> bands;
  Index band_rows = 1, band_columns = 1;  // of a band, at most
  Index staged_columns = 1;
  Index groups_at_a_time = 1, line_bytes = 0;
  Index chunks_at_a_time = 1;  // by_columns
  std::uint8_t pattern[16]{};
  Index lane_pitch = 1;  // lanes (of one channel) from output row to output row
  Index channels_at = 0, channel_bytes = 0, folded_bytes = 0;

 private:
  bool suits() const noexcept {
    return g.groups > 1 && g.filter.forward() && g.in_channels <= 4 && g.out_channels <= 8 && g.depth() <= 256 &&
           (g.in_channels == 1 || g.out_channels <= 4);
  }

  bool choose() {
    by_channels = g.in_channels == 1 && g.in.c == 1 && g.in.x != 1;
    // Windows of quads are summed in 16 bits, the other group's channels too: at most 256 bytes.
    const bool quads_suit = (g.in_channels == 2 || g.in_channels == 4) && g.out_channels == g.in_channels &&
                            g.groups * g.in_channels % 4 == 0 && g.in.c == 1 && g.in.x != 1 && g.taps() <= 64;
    if (quads_suit && kernels.channel_quads != nullptr) {
      by_channels = by_quads = true;
      lane_channels = g.in_channels;
    }
    lane_outputs = by_quads ? 1 : g.out_channels;
    // A row kernel reads quads of one kernel row through byte shuffles within 16 bytes.
    kernel = by_quads ? kernels.channel_quads : by_channels ? kernels.channel_taps : kernels.pixel_taps;
    const bool forward = g.in.forward() && g.out.forward();  // what is read in place, or beside it
    by_columns = forward && by_channels && kernels.columns_suit != nullptr && kernels.columns_suit(g);
    in_place = by_columns || (forward && kernels.planes_suit != nullptr && kernels.planes_suit(g));
    in_pairs = in_place && kernels.pairs_in_place;
    const bool rows_suit = !by_channels && g.in_channels == 1 && g.kernel_w > 1 && !in_pairs && kernels.reach > 0;
    by_rows = rows_suit && (g.stride_x == 1 ? g.dilation_x <= kernels.reach : g.stride_x == 2 && g.dilation_x == 1);
    if (by_rows) kernel = kernels.pixel_rows;
    in_threes = bytes() && by_columns;
    for (Index i = 0; i < 16 && by_rows; ++i) {
      pattern[i] = static_cast<std::uint8_t>(i / 4 * 2 * g.stride_x + i % 4 * g.dilation_x);
    }
    deal = by_rows ? 1 : g.stride_x;
    row_quads = qlc::ceil_div(g.kernel_w, 4);
    units = by_rows      ? g.kernel_h * row_quads
            : by_columns ? (bytes() ? g.kernel_w * qlc::ceil_div(g.kernel_h, 3) : 5)
            : by_quads   ? g.taps()
                         : qlc::ceil_div(g.depth(), group());
    for (Index phase = 0; phase < g.stride_y; ++phase) {
      if (reads_row_phase(phase)) row_phases.push_back(phase);
    }
    make_chunks();
    if (by_columns) {
      choose_columns();
    } else if (in_place) {
      band_rows = g.out_height;
      band_columns = g.out_width;
      // A few large planes: sixteen tasks or more.
      while (g.groups * g.batch * qlc::ceil_div(g.out_height, band_rows) < 16 && band_rows * band_columns > 4096) {
        band_rows = (band_rows + 1) / 2;
      }
      staged_columns = lane_pitch = row_columns(band_columns);
    } else if (!choose_band()) {
      return false;
    }
    for (Chunk& chunk : chunks) {
      chunk.plane_bytes = plane_bytes(chunk.pitch, band_rows, band_columns);
      make_offsets(chunk);
    }
    for (Index slot = 0; slot < units * group(); ++slot) {
      const Tap at = tap(slot);
      slot_weights.push_back(at.real ? at.channel * g.filter.c + at.y * g.filter.y + at.x * g.filter.x : -1);
    }
    for (Index lane = 0; lane < kernels.block; ++lane) {
      const Index block = kernels.block;
      places.push_back(by_quads ? lane % 4 * (block / 4) + lane / 4 : place_of_lane(lane, block));
    }
    filter_bytes = (g.all_out_channels() - 1) * g.filter.n + (g.in_channels - 1) * g.filter.c +
                   (g.kernel_h - 1) * g.filter.y + (g.kernel_w - 1) * g.filter.x + 1;
    make_slot_runs();
    make_bands();
    choose_batch();
    place();
    return true;
  }

  bool reads_row_phase(Index phase) const noexcept {
    for (Index y = 0; y < g.kernel_h; ++y) {
      if (y * g.dilation_y % g.stride_y == phase) return true;
    }
    return false;
  }
  Index row_phase_place(Index phase) const noexcept {
    for (std::size_t i = 0; i < row_phases.size(); ++i) {
      if (row_phases[i] == phase) return static_cast<Index>(i);
    }
    return 0;
  }

  void make_chunks() {
    if (!by_channels) {
      chunks.emplace_back();
      return;
    }
    const Index channels = g.groups * lane_channels;
    if (by_columns) {  // of a block, the last ones with channels of those before
      for (Index first = 0; first < channels; first += kernels.block) {
        Chunk chunk;
        chunk.first = larger(0, smaller(first, channels - kernels.block));
        chunk.count = chunk.pitch = smaller(channels, kernels.block);
        chunks.push_back(chunk);
      }
      return;
    }
    // Whole pixels are staged as one run of bytes; parts of pixels leave room for more rows, which strides need.
    const bool strided = g.stride_x > 1 || g.stride_y > 1;
    const Index at_a_time = strided ? smaller(channels, 64) : channels <= most_chunk_channels ? channels : 128;
    for (Index first = 0; first < channels; first += at_a_time) {
      Chunk chunk;
      chunk.first = first;
      chunk.count = smaller(at_a_time, channels - first);
      chunk.pitch = chunk.count;
      const auto period = [&] {
        Index p = 1;
        while (p * kernels.block % chunk.pitch != 0) ++p;
        return p;
      };
      chunk.period = period();
      if (chunk.period > 12) {  // channels staged in sixteens: fewer weights to read, some lanes idle
        chunk.pitch = qlc::round_up(chunk.count, 16);
        chunk.period = period();
      }
      chunks.push_back(chunk);
    }
  }

  // ---- the staged rows: bytes of one phase, lanes from row to row

  Index padded_columns(Index columns) const noexcept {
    return (columns - 1) * g.stride_x + (g.kernel_w - 1) * g.dilation_x + 1;
  }
  /// Columns from one staged row to the next. Where a band is as wide as the output, one row's right padding is the
  /// next one's left.
  Index row_columns(Index columns) const noexcept {
    const Index needed = padded_columns(columns);
    Index pitch = needed;
    if (columns == g.out_width) {
      const Index left = smaller(g.pad_x, needed);
      pitch = larger(left + smaller(g.width, needed - left), needed - left);
    }
    return qlc::round_up(larger(pitch, columns * g.stride_x), g.stride_x);
  }
  Index row_shift() const noexcept { return (g.kernel_h - 1) * g.dilation_y / g.stride_y; }
  Index plane_bytes(Index channels, Index rows, Index columns) const noexcept {
    const Index left = smaller(g.pad_x, padded_columns(columns));
    return qlc::round_up(((rows + row_shift()) * (row_columns(columns) / deal) + left) * channels + 64, 64);
  }

  bool choose_band() {
    Index channels = 1;
    for (const Chunk& chunk : chunks) channels = larger(channels, chunk.pitch);
    const Index planes = (by_channels ? 1 : g.in_channels) * phases();
    const Index lines = by_channels ? lane_outputs : g.out_channels;
    const auto fits = [&](Index rows, Index columns, Index bytes) {
      return planes * plane_bytes(channels, rows, columns) <= bytes &&
             lines * (rows * (row_columns(columns) / g.stride_x) * channels + kernels.block) <= line_capacity;
    };
    band_columns = g.out_width;
    while (!fits(1, band_columns, staged_capacity)) {
      if (band_columns <= 8) return false;
      band_columns = (band_columns + 1) / 2;
    }
    const Index target = by_channels ? staged_capacity : smaller(staged_capacity, 20 * 1024);
    band_rows = 1;
    while (band_rows < g.out_height && fits(band_rows + 1, band_columns, target)) ++band_rows;
    band_rows = qlc::ceil_div(g.out_height, qlc::ceil_div(g.out_height, band_rows));
    staged_columns = row_columns(band_columns);
    lane_pitch = staged_columns / g.stride_x;
    return true;
  }

  void make_bands() {
    for (Index y = 0; y < g.out_height; y += band_rows) {
      for (Index x = 0; x < g.out_width; x += band_columns) {
        Band band{y, x, smaller(band_rows, g.out_height - y), smaller(band_columns, g.out_width - x), {}};
        for (const Index row_phase : row_phases) {
          for (Index column_phase = 0; column_phase < deal; ++column_phase) {
            band.phases.push_back(band_phase(band, row_phase, column_phase));
          }
        }
        bands.push_back(std::move(band));
      }
    }
  }

  BandPhase band_phase(const Band& band, Index row_phase, Index column_phase) const noexcept {
    BandPhase phase;
    // Staged column k is padded column column_phase + k * deal of the band; the input begins at padded column `left`.
    const Index pitch = row_columns(band_columns) / deal;
    const Index padded = padded_columns(band_columns);
    const Index left = g.pad_x - band.x * g.stride_x;
    const Index most = smaller(pitch, qlc::ceil_div(smaller(g.pad_x, padded), deal));
    phase.columns_before = left > column_phase ? smaller(most, qlc::ceil_div(left - column_phase, deal)) : 0;
    const Index column = column_phase + phase.columns_before * deal - left;
    const Index needed = smaller(pitch, qlc::ceil_div(padded - column_phase, deal)) - phase.columns_before;
    const Index there = column >= 0 && column < g.width ? qlc::ceil_div(g.width - column, deal) : 0;
    phase.columns = larger(0, smaller(there, needed));

    // Staged row r is input row top + r * stride_y.
    const Index rows = band.rows + row_shift();
    const Index top = band.y * g.stride_y + row_phase - g.pad_y;
    phase.rows_before = smaller(rows, top < 0 ? qlc::ceil_div(-top, g.stride_y) : 0);
    const Index until = smaller(rows, top < g.height ? qlc::ceil_div(g.height - top, g.stride_y) : 0);
    phase.rows = larger(0, until - phase.rows_before);
    if (phase.columns == 0) phase.rows = 0;
    if (phase.rows > 0) phase.source = (top + phase.rows_before * g.stride_y) * g.in.y + column * g.in.x;
    return phase;
  }

  // Sixteen tasks or more, but none of less than a microsecond, nor so large that some wait for the last.
  void choose_columns() {
    const auto vectors = static_cast<Index>(chunks.size());
    const Index blocks = g.batch * g.out_height * g.out_width * vectors;
    const Index tasks = larger(larger(1, smaller(16, blocks / 512)), blocks / 2048);
    const Index bands_wanted = smaller(g.out_height, qlc::ceil_div(tasks, g.batch));
    band_rows = qlc::ceil_div(g.out_height, bands_wanted);
    band_columns = g.out_width;
    const Index cut = g.batch * qlc::ceil_div(g.out_height, band_rows);
    chunks_at_a_time = qlc::ceil_div(vectors, larger(1, tasks / cut));
    staged_columns = lane_pitch = g.out_width;
  }

  // Several groups per task: the cost of a task is shared, and a channel's bytes are staged long before they are read.
  // Sixteen tasks or more, but none of less than a microsecond or, of planes in place, which want more setting up,
  // five.
  void choose_batch() {
    if (by_channels) return;
    const Index group_bytes = g.in_channels * phases() * chunks.front().plane_bytes;
    line_bytes = qlc::round_up((band_rows - 1) * lane_pitch + band_columns, kernels.block);
    const Index least = (in_place ? 160 : 16) * 1024;  // units of lines' bytes
    const auto fits = [&](Index groups) {
      return (in_place || (groups * group_bytes <= 20 * 1024 && groups * g.out_channels * line_bytes <= 16 * 1024)) &&
             (16 * groups <= g.groups * g.batch * static_cast<Index>(bands.size()) ||
              groups * g.out_channels * line_bytes * units <= least);
    };
    while (groups_at_a_time < g.groups && fits(groups_at_a_time + 1)) ++groups_at_a_time;
    if (in_place) {  // as many as tasks that share them evenly
      const auto parts = static_cast<std::uint64_t>(qlc::ceil_div(g.groups, groups_at_a_time));
      groups_at_a_time = qlc::ceil_div(g.groups, static_cast<Index>(std::bit_ceil(parts)));
    }
    // Small planes: up to four share vectors.
    if (in_place && by_rows && g.out_height * g.out_width <= 1024) {
      groups_at_a_time = smaller(g.groups, qlc::round_up(groups_at_a_time, 4));
    }
  }

  Tap tap(Index slot) const noexcept {
    if (by_rows) {
      const Index x = slot / 4 % row_quads * 4 + slot % 4;
      return {0, slot / 4 / row_quads, x, x < g.kernel_w};
    }
    if (by_columns && !bytes()) {  // rows 0 and 1 of each column; row 2 of columns 0 and 1, of column 2
      return slot < 6 ? Tap{0, slot % 2, slot / 2, true} : Tap{0, 2, slot < 8 ? slot - 6 : 2, slot != 8};
    }
    if (by_columns) {
      const Index column_units = qlc::ceil_div(g.kernel_h, 3), unit = slot / 4;
      return {0, unit % column_units * 3 + slot % 4, unit / column_units, slot % 4 < taps_of_unit(unit)};
    }
    if (by_quads) {
      return {slot % 4, slot / 4 / g.kernel_w, slot / 4 % g.kernel_w, slot % 4 < g.in_channels};
    }
    const Index taps = g.taps();
    return {slot / taps, slot % taps / g.kernel_w, slot % g.kernel_w, slot < g.depth()};
  }

  void make_slot_runs() {
    const std::size_t slots = slot_weights.size();
    for (std::size_t first = 0; first < slots; first += 16) {
      const std::size_t last = first + 16 < slots ? first + 16 : slots;
      SlotRun run;
      run.base = filter_bytes;
      for (std::size_t slot = first; slot < last; ++slot) {
        if (slot_weights[slot] >= 0) run.base = smaller(run.base, slot_weights[slot]);
      }
      for (std::size_t i = 0; i < 16; ++i) {
        const Index from = first + i < last && slot_weights[first + i] >= 0 ? slot_weights[first + i] - run.base : -1;
        run.low[i] = static_cast<std::uint8_t>(from >= 0 && from < 16 ? from : 0x80);
        run.high[i] = static_cast<std::uint8_t>(from >= 16 ? from - 16 : 0x80);
        run.two = run.two || from >= 16;
        if (from >= 32) return slot_runs.clear();
      }
      slot_runs.push_back(run);
    }
  }

  void make_offsets(Chunk& chunk) const {
    const Index row = row_columns(band_columns) / deal * chunk.pitch;
    const Index step = by_rows || by_quads ? 4 : 1;
    for (Index slot = 0; slot < units * group(); slot += step) {
      const Tap at = tap(slot);
      if (!at.real) {
        chunk.offsets.push_back(chunk.offsets.back());
        continue;
      }
      const Index y = at.y * g.dilation_y;
      const Index x = at.x * g.dilation_x;
      const Index plane =
          (at.channel * static_cast<Index>(row_phases.size()) + row_phase_place(y % g.stride_y)) * deal + x % deal;
      chunk.offsets.push_back(
          static_cast<std::int32_t>(plane * chunk.plane_bytes + y / g.stride_y * row + x / deal * chunk.pitch));
    }
  }

  void place() {
    Index at = qlc::round_up(static_cast<Index>(sizeof(FoldedHeader)), 64);
    const Index slots = units * group() * weight_bytes() * weight_parts();
    if (!by_channels) {
      channels_at = at;
      channel_bytes = qlc::round_up(static_cast<Index>(sizeof(ChannelData)) + slots, 8);
      folded_bytes = at + channel_bytes * g.all_out_channels() + 32;  // weights are written 32 bytes at a time
      return;
    }
    for (Chunk& chunk : chunks) {
      const Index lanes = chunk.period * kernels.block;
      chunk.data_at = at;
      chunk.sum_at = 64;
      chunk.scale_at = chunk.sum_at + 4 * lanes;
      chunk.shift_at = chunk.scale_at + 4 * lanes;
      chunk.factor_at = chunk.shift_at + 4 * lanes;
      chunk.window_shift_at = chunk.factor_at + 8 * lanes;
      chunk.weights_at = chunk.window_shift_at + (shifts() ? 4 * lanes : 0);
      chunk.data_bytes = qlc::round_up(chunk.weights_at + slots * lanes, 64);
      at += chunk.data_bytes * lane_outputs;
    }
    folded_bytes = at;
  }
};

}  // namespace fast::qlc::direct
DMLREF_END
