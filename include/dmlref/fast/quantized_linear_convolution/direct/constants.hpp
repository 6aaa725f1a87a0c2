// constants.hpp: what of a direct convolution depends on constants alone: weights less their zero points in the
// kernels' order, what sums start from, how they are rounded.
//
// Where constants are bound, this is part of each execute, so it has to take a few nanoseconds for a channel. Sixteen
// output channels are folded at once; what is done for each of them is in folding.hpp.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/folding.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/plan.hpp"
#include "dmlref/reference/quantize.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

/// What of a weight fits eight bits.
constexpr std::int32_t first_part(std::int32_t d) noexcept { return d > 127 ? 127 : d < -128 ? -128 : d; }

/// Moves second parts of channel `c`'s weights to spare slots, as far as these go: of the units of three those of one
/// place, which has most.
inline void use_spare_slots(const Plan& plan, FoldedChannels& f, Index c) noexcept {
  const auto move = [&](Index from, Index to) {
    const std::int32_t d = f.d(c)[from];
    f.d(c)[from] = static_cast<std::int16_t>(first_part(d));
    f.d(c)[to] = static_cast<std::int16_t>(d - first_part(d));
  };
  Index counts[3]{};
  for (Index unit = 0; unit < plan.units; ++unit) {
    for (Index tap = 0; tap < plan.taps_of_unit(unit); ++tap) {
      const Index at = 4 * unit + tap;
      if (plan.taps_of_unit(unit) == 2) {
        move(at, at + 2);
      } else {
        counts[tap] += f.d(c)[at] != first_part(f.d(c)[at]);
      }
    }
  }
  if (counts[0] + counts[1] + counts[2] == 0) return;
  const int spare = counts[0] > counts[1] ? (counts[0] > counts[2] ? 0 : 2) : (counts[1] > counts[2] ? 1 : 2);
  for (Index unit = 0; unit < plan.units; ++unit) {
    if (plan.taps_of_unit(unit) == 3) move(4 * unit + spare, 4 * unit + 3);
  }
  f.spare[c] = spare;
}

/// Units with a weight of channel `c` that does not fit eight bits, as LaneArgs::wide.
inline std::uint32_t wide_units(const Plan& plan, const FoldedChannels& f, Index c) noexcept {
  std::uint32_t wide = 0;
  for (Index slot = 0; slot < plan.units * plan.group(); ++slot) {
    if (f.d(c)[slot] != first_part(f.d(c)[slot])) wide |= std::uint32_t{1} << (slot / plan.group() % 32);
  }
  return wide;
}

/// A factor of a scale that is 0, infinite or no number, which is rounded as it is.
[[gnu::noinline]] inline double odd_factor(const FoldedHeader& h, float filter_scale) noexcept {
  const reference::RequantizeScale exact(h.input_scale, filter_scale, h.given_output_scale);
  const std::int64_t one = exact.round_exactly(1);
  return one == 0 ? 0.0 : one > 0 ? 0x1p200 : -0x1p200;
}

/// One tensor's values for channels `first`, `first` + `step`, …; beyond `count`, the last one's.
template <class T>
void load_lanes(const qlc::ChannelTensor& tensor, const std::byte* data, Index first, Index step, Index count,
                T* to) noexcept {
  const Index by = step * tensor.step;
  const std::byte* from = data + first * tensor.step * static_cast<Index>(sizeof(T));
  if (count == fold_lanes && by == 1) {
    std::memcpy(to, from, sizeof(T) * static_cast<std::size_t>(fold_lanes));
    return;
  }
  for (Index lane = 0; lane < fold_lanes; ++lane) to[lane] = qlc::load<T>(from, smaller(lane, count - 1) * by);
}

/// What tensors have for channels `first`, `first` + `step`, …; beyond `count`, what the last one has. Returns whether
/// all scales are usual.
inline bool load_channels(const Plan& plan, const std::byte* const* inputs, const FoldedHeader& h, Index first,
                          Index step, Index count, FoldedChannels& f) noexcept {
  const qlc::ChannelTensors& tensors = plan.tensors;
  load_lanes(tensors.filter_scale, inputs[qlc::filter_scale_tensor], first, step, count, f.filter_scale);
  if (tensors.bias.present) {
    load_lanes(tensors.bias, inputs[qlc::bias_tensor], first, step, count, f.bias);
  } else {
    std::memset(f.bias, 0, sizeof f.bias);
  }
  // A byte xor 0x80 is its signed value plus 128; and so is an offset.
  std::uint8_t offset[fold_lanes];
  if (tensors.filter_zero_point.present) {
    load_lanes(tensors.filter_zero_point, inputs[qlc::filter_zero_point_tensor], first, step, count, offset);
  } else {
    std::memset(offset, 0, sizeof offset);
  }
  const std::uint8_t flip = plan.g.filter_signed ? 0x80 : 0;
  for (Index lane = 0; lane < fold_lanes; ++lane) f.offset[lane] = static_cast<std::int16_t>(offset[lane] ^ flip);
  const bool usual = is_usual(h.input_scale) && is_usual(h.given_output_scale);
  bool all = usual;
  for (Index lane = 0; lane < fold_lanes; ++lane) all = is_usual(f.filter_scale[lane]) && all;
  if (all) return true;
  const double input_scale = static_cast<double>(h.given_output_scale < 0 ? -h.input_scale : h.input_scale);
  for (Index lane = 0; lane < fold_lanes; ++lane) {
    const float scale = f.filter_scale[lane];
    f.factor[lane] = usual && is_usual(scale) ? input_scale * static_cast<double>(scale) : odd_factor(h, scale);
  }
  return false;
}

/// Where kernels multiply bytes a channel with any difference above 127 is negated: then 128 fits, and what does not is
/// below.
inline void negate(Index slots, FoldedChannels& f) noexcept {
  for (Index c = 0; c < fold_lanes; ++c) {
    if (f.highest[c] <= 127) continue;
    f.factor[c] = -f.factor[c];
    f.scale[c] = f.scale[c] == 0 ? 0 : -f.scale[c];
    f.sum[c] = static_cast<std::int32_t>(0u - static_cast<std::uint32_t>(f.sum[c]));
    f.lowest[c] = -f.highest[c];
    for (Index slot = 0; slot < slots; ++slot) f.d(c)[slot] = static_cast<std::int16_t>(-f.d(c)[slot]);
  }
}

/// What byte weights that do not fit need: a shift of all, spare slots, or second parts.
inline void fold_wide_weights(const Plan& plan, FoldedChannels& f) noexcept {
  for (Index c = 0; c < fold_lanes; ++c) {
    if (f.lowest[c] >= -128) continue;
    if (plan.shifts()) {
      f.window_shift[c] = f.lowest[c] + 128;
      f.wide[c] = 1;
      f.sum[c] = static_cast<std::int32_t>(static_cast<std::uint32_t>(f.sum[c]) +
                                           static_cast<std::uint32_t>(f.window_shift[c] * window_middle));
      for (Index slot = 0; slot < plan.units * plan.group(); ++slot) {
        f.d(c)[slot] = static_cast<std::int16_t>(f.d(c)[slot] - f.window_shift[c]);
      }
      continue;
    }
    if (plan.in_threes) use_spare_slots(plan, f, c);
    f.wide[c] = wide_units(plan, f, c);
  }
}

/// Output channels `first`, `first` + `step`, ….
inline void fold_channels(const Plan& plan, const std::byte* const* inputs, Index first, Index step, Index count,
                          FoldedHeader& h, FoldedChannels& f) noexcept {
  FoldArgs t;
  t.usual = load_channels(plan, inputs, h, first, step, count, f);
  t.input_scale = static_cast<double>(h.given_output_scale < 0 ? -h.input_scale : h.input_scale);
  t.filter = reinterpret_cast<const std::uint8_t*>(inputs[qlc::filter_tensor]) + first * plan.g.filter.n;
  t.step = step * plan.g.filter.n;
  t.readable = plan.filter_bytes - first * plan.g.filter.n;
  t.count = count;
  t.slot_weights = plan.slot_weights.data();
  t.slots = plan.units * plan.group();
  t.runs = plan.slot_runs.empty() ? nullptr : plan.slot_runs.data();
  t.flip = plan.g.filter_signed ? 0x80 : 0;
  t.fill = h.fill;
  t.most = static_cast<double>(plan.g.depth()) * 65025.0;
  t.output_scale = h.output_scale;
  t.middle = 65536.0f * (static_cast<float>(h.zero_point) + 0.5f);
  f.pitch = qlc::round_up(t.slots, 16);
  plan.kernels.fold_numbers(t, f);
  plan.kernels.fold(t, f);
  h.fits = h.fits && f.fits;
  for (Index c = 0; c < fold_lanes; ++c) {
    f.wide[c] = 0;
    f.window_shift[c] = 0;
    f.spare[c] = 2;
  }
  if (!plan.bytes() || f.bytes) return;
  negate(t.slots, f);
  fold_wide_weights(plan, f);
}

/// Whether to look for sums that are floats: microseconds for each channel, so not at each execute.
enum class Search { no, yes };

/// A channel's weights, slot by slot, as kernels multiply them: first parts, then second ones, where there are such.
inline void pack_weights(const Plan& plan, const std::int16_t* d, bool wide, std::byte* to) noexcept {
  const Index slots = plan.units * plan.group();
  if (!plan.bytes()) {
    if (slots <= 16) {
      std::memcpy(to, d, 32);  // some instructions, not a call
    } else {
      std::memcpy(to, d, static_cast<std::size_t>(2 * slots));
    }
    return;
  }
  if (!wide) {
    using Words = std::int16_t __attribute__((vector_size(16)));
    using Bytes = std::int8_t __attribute__((vector_size(8)));
    for (Index slot = 0; slot < slots; slot += 8) {
      Words words;
      std::memcpy(&words, d + slot, sizeof words);
      const Bytes bytes = __builtin_convertvector(words, Bytes);
      std::memcpy(to + slot, &bytes, slots - slot >= 8 ? 8 : 4);  // slots are quads
    }
    if (plan.weight_parts() != 1) std::memset(to + slots, 0, static_cast<std::size_t>(slots));
    return;
  }
  for (Index slot = 0; slot < slots; ++slot) to[slot] = static_cast<std::byte>(first_part(d[slot]) & 0xFF);
  if (plan.weight_parts() == 1) return;
  std::byte* const second = to + slots;
  for (Index slot = 0; slot < slots; ++slot) {
    second[slot] = static_cast<std::byte>((d[slot] - first_part(d[slot])) & 0xFF);
  }
}

/// Channels of the pixel kernels.
inline void fold_pixels(const Plan& plan, const std::byte* const* inputs, Index first, FoldedHeader& h, Search search,
                        std::byte* to) noexcept {
  FoldedChannels f;
  const Index count = smaller(fold_lanes, plan.g.all_out_channels() - first);
  fold_channels(plan, inputs, first, 1, count, h, f);
  for (Index c = 0; c < count; ++c) {
    std::byte* const at = to + plan.channels_at + (first + c) * plan.channel_bytes;
    // One by one, as a copy of the whole would wait for its parts.
    const auto put = [&](std::size_t where, auto value) { std::memcpy(at + where, &value, sizeof value); };
    const auto put_sum = [&](std::size_t where, std::int32_t sum, float scale, float shift, std::uint32_t near_tie) {
      put(where + offsetof(SumConstants, sum), sum);
      put(where + offsetof(SumConstants, scale), scale);
      put(where + offsetof(SumConstants, shift), shift);
      put(where + offsetof(SumConstants, near_tie), near_tie);
    };
    RoundedSums floats;
    if (search == Search::yes && plan.kernels.rounded_sums) {
      floats = rounded_sums(f.factor[c], h.output_scale, h.zero_point, f.sum[c], f.bound[c]);
    }
    put(offsetof(ChannelData, factor), f.factor[c]);
    put_sum(offsetof(ChannelData, integers), f.sum[c], f.scale[c], f.shift[c], f.near_tie[c]);
    put_sum(offsetof(ChannelData, floats), floats.sum, floats.scale, floats.shift, 0);
    put(offsetof(ChannelData, wide), f.wide[c]);
    pack_weights(plan, f.d(c), f.wide[c] != 0, at + sizeof(ChannelData));
  }
}

/// Makes floats of the sums of those blocks of a chunk all of whose channels have such; returns a bit for each.
inline std::uint32_t use_floats(const Plan& plan, const Chunk& chunk, const RoundedSums* rounded,
                                std::byte* data) noexcept {
  const Index block = plan.kernels.block;
  std::uint32_t floats = 0;
  for (Index b = 0; b < chunk.period; ++b) {
    bool all = true;
    for (Index lane = b * block; lane < (b + 1) * block; ++lane) {
      const Index c = lane % chunk.pitch;
      all = all && (c >= chunk.count || rounded[c].sum != 0);
    }
    if (!all) continue;
    floats |= std::uint32_t{1} << b;
    for (Index lane = b * block; lane < (b + 1) * block; ++lane) {
      const RoundedSums& r = rounded[lane % chunk.pitch];
      const Index at = 4 * (b * block + plan.places[static_cast<std::size_t>(lane % block)]);
      std::memcpy(data + chunk.sum_at + at, &r.sum, 4);
      std::memcpy(data + chunk.scale_at + at, &r.scale, 4);
      std::memcpy(data + chunk.shift_at + at, &r.shift, 4);
    }
  }
  return floats;
}

/// Of quads of channels, what the lanes of a channel multiply: its own weights, where its group is in the quad.
inline void spread_over_quads(const Plan& plan, const FoldedChannels& f, Index c, Index channel,
                              std::int16_t* to) noexcept {
  const Index quad = channel / plan.lane_channels * plan.lane_channels % 4;
  for (Index slot = 0; slot < plan.units * 4; ++slot) {
    const Index from = slot % 4 - quad;
    const bool own = from >= 0 && from < plan.lane_channels;
    to[slot] = own ? f.d(c)[slot - quad] : static_cast<std::int16_t>(-f.window_shift[c]);
  }
}

/// The constants of channel `c` of `f`, the chunk's channel `in_chunk`, to all lanes that hold it.
inline void store_lanes(const Plan& plan, const Chunk& chunk, const FoldedChannels& f, Index c, Index in_chunk,
                        std::byte* data) noexcept {
  const Index block = plan.kernels.block;
  const int block_bits = std::countr_zero(static_cast<std::size_t>(block));
  const Index unit_bytes = plan.group() * plan.weight_bytes();  // of a lane
  const Index part_bytes = plan.units * unit_bytes * block;     // of a block's weights
  const std::int32_t low_half = f.window_shift[c] & 0xFFFF;
  alignas(16) std::byte row[4 * most_slots];
  std::int16_t spread[most_slots];
  const std::int16_t* d = f.d(c);
  if (plan.by_quads) {
    spread_over_quads(plan, f, c, chunk.first + in_chunk, spread);
    d = spread;
  }
  pack_weights(plan, d, f.wide[c] != 0, row);
  for (Index lane = in_chunk; lane < chunk.period * block; lane += chunk.pitch) {
    const Index first = lane >> block_bits << block_bits;  // of the block
    const Index place = plan.places[static_cast<std::size_t>(lane - first)];
    const Index at = first + place;
    std::memcpy(data + chunk.sum_at + 4 * at, &f.sum[c], 4);
    std::memcpy(data + chunk.scale_at + 4 * at, &f.scale[c], 4);
    std::memcpy(data + chunk.shift_at + 4 * at, &f.shift[c], 4);
    std::memcpy(data + chunk.factor_at + 8 * at, &f.factor[c], 8);
    if (plan.shifts()) std::memcpy(data + chunk.window_shift_at + 4 * at, &low_half, 4);
    std::byte* to =
        data + chunk.weights_at + (lane >> block_bits) * part_bytes * plan.weight_parts() + place * unit_bytes;
    const Index units = plan.units * plan.weight_parts();
    if (unit_bytes == 4) {
      for (Index unit = 0; unit < units; ++unit, to += 4 * block) std::memcpy(to, row + 4 * unit, 4);
      continue;
    }
    for (Index unit = 0; unit < units; ++unit, to += unit_bytes * block) {
      std::memcpy(to, row + unit_bytes * unit, static_cast<std::size_t>(unit_bytes));
    }
  }
}

/// The same of channels `c` to `c` + 3, which are neighbours in each block: quads of lanes, of four bytes for a unit.
inline void store_four_lanes(const Plan& plan, const Chunk& chunk, const FoldedChannels& f, Index c, Index in_chunk,
                             std::byte* data) noexcept {
  const Index block = plan.kernels.block;
  const int block_bits = std::countr_zero(static_cast<std::size_t>(block));
  const Index units = plan.units * plan.weight_parts();
  alignas(16) std::byte rows[4][4 * most_slots];
  for (Index i = 0; i < 4; ++i) pack_weights(plan, f.d(c + i), f.wide[c + i] != 0, rows[i]);
  for (Index lane = in_chunk; lane < chunk.period * block; lane += chunk.pitch) {
    const Index first = lane >> block_bits << block_bits;
    const Index place = plan.places[static_cast<std::size_t>(lane - first)];
    const Index at = first + place;
    std::memcpy(data + chunk.sum_at + 4 * at, f.sum + c, 16);
    std::memcpy(data + chunk.scale_at + 4 * at, f.scale + c, 16);
    std::memcpy(data + chunk.shift_at + 4 * at, f.shift + c, 16);
    std::memcpy(data + chunk.factor_at + 8 * at, f.factor + c, 32);
    std::byte* to = data + chunk.weights_at + 4 * (first * units + place);
    for (Index unit = 0; unit < units; ++unit, to += 4 * block) {
      for (Index i = 0; i < 4; ++i) std::memcpy(to + 4 * i, rows[i] + 4 * unit, 4);
    }
  }
}

inline void fold_chunk(const Plan& plan, const std::byte* const* inputs, const Chunk& chunk, Index m, FoldedHeader& h,
                       Search search, std::byte* to) noexcept {
  std::byte* const data = to + chunk.data_at + m * chunk.data_bytes;
  FoldedChunk head;
  FoldedChannels f;
  RoundedSums rounded[most_chunk_channels];
  const bool rounds = search == Search::yes && plan.kernels.rounded_sums;
  if (chunk.pitch != chunk.count) std::memset(data, 0, static_cast<std::size_t>(chunk.data_bytes));  // of filling
  const bool fours = !plan.by_quads && plan.group() * plan.weight_bytes() == 4 && chunk.pitch % 4 == 0;
  for (Index first = 0; first < chunk.count; first += fold_lanes) {
    const Index count = smaller(fold_lanes, chunk.count - first);
    fold_channels(plan, inputs, (chunk.first + first) * plan.lane_outputs + m, plan.lane_outputs, count, h, f);
    for (Index c = 0; c < count; ++c) {
      const Index in_chunk = first + c;
      head.wide |= f.wide[c];
      head.near_tie = f.near_tie[c] > head.near_tie ? f.near_tie[c] : head.near_tie;
      if (rounds) {
        rounded[in_chunk] = rounded_sums(f.factor[c], h.output_scale, h.zero_point, f.sum[c], f.bound[c]);
      }
      if (plan.by_columns && f.spare[c] != 2) {
        for (Index lane = in_chunk; lane < plan.kernels.block; lane += chunk.pitch) {
          head.spare[f.spare[c]] |= std::uint64_t{1} << lane;
        }
      }
      if (!fours || c / 4 * 4 + 4 > count) {
        store_lanes(plan, chunk, f, c, in_chunk, data);
      } else if (c % 4 == 0) {
        store_four_lanes(plan, chunk, f, c, in_chunk, data);
      }
    }
  }
  if (rounds) head.floats = use_floats(plan, chunk, rounded, data);
  std::memcpy(data, &head, sizeof head);
}

/// Folds the constants into plan.folded_bytes bytes.
inline void fold(const Plan& plan, const std::byte* const* inputs, Search search, std::byte* to) noexcept {
  FoldedHeader h;
  const std::int32_t zero_point =
      qlc::zero_point_of(plan.tensors.input_zero_point, inputs[qlc::input_zero_point_tensor], 0);
  h.input_flip = plan.g.input_signed ? 0x80 : 0;
  h.fill = static_cast<std::uint8_t>(static_cast<std::uint8_t>(zero_point) ^ h.input_flip);
  const std::int32_t out = qlc::zero_point_of(plan.tensors.output_zero_point, inputs[qlc::output_zero_point_tensor], 0);
  h.zero_point = plan.g.output_signed ? out : out - 128;
  h.output_flip = plan.g.output_signed ? 0 : 0x80;
  h.input_scale = qlc::load<float>(inputs[qlc::input_scale_tensor], 0);
  h.given_output_scale = qlc::load<float>(inputs[qlc::output_scale_tensor], 0);
  const double output_scale = static_cast<double>(h.given_output_scale);
  const bool defined = output_scale != 0 && output_scale - output_scale == 0;
  h.output_scale = !defined ? 1.0 : output_scale < 0 ? -output_scale : output_scale;
  if (plan.by_channels) {
    for (const Chunk& chunk : plan.chunks) {
      for (Index m = 0; m < plan.lane_outputs; ++m) fold_chunk(plan, inputs, chunk, m, h, search, to);
    }
  } else {
    for (Index c = 0; c < plan.g.all_out_channels(); c += fold_lanes) fold_pixels(plan, inputs, c, h, search, to);
  }
  std::memcpy(to, &h, sizeof h);
}

}  // namespace fast::qlc::direct
DMLREF_END
