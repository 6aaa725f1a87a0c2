// constants.hpp: what of a direct convolution depends on constants alone: weights less their zero points in the
// kernels' order, what sums start from, how they are rounded.
//
// Where constants are bound, this is part of each execute. So sixteen output channels are folded at once, with vectors
// of the compiler's that every target has.
#pragma once

#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/plan.hpp"
#include "dmlref/reference/quantize.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

inline constexpr Index most_slots = 1040;
inline constexpr Index fold_lanes = 16;

/// Some output channels' part of the constants.
struct FoldedChannels {
  using Bytes = std::uint8_t __attribute__((vector_size(16)));
  using Words = std::int16_t __attribute__((vector_size(32)));

  Index first = 0, step = 1, count = 0;  // of the output channels
  std::uint8_t given[most_slots][fold_lanes];
  Words d[most_slots];  // of each slot: weights less the zero points, negated where that is said below
  Words offset, highest, lowest;
  std::int32_t bias[fold_lanes], total[fold_lanes], sum[fold_lanes];
  float filter_scale[fold_lanes], scale[fold_lanes], shift[fold_lanes];
  std::uint32_t near_tie[fold_lanes];
  double factor[fold_lanes], bound[fold_lanes];  // bound: of any sum
  /// byte weights: 0 where no weight needs a shift or two parts; else the units where one does, as LaneArgs::wide
  std::uint32_t wide[fold_lanes];
  std::int32_t window_shift[fold_lanes];
  int spare[fold_lanes];  // the tap of units of three that their spare slot repeats

  Index channel(Index c) const noexcept { return first + c * step; }
};

/// What of a weight fits eight bits.
constexpr std::int32_t first_part(std::int32_t d) noexcept { return d > 127 ? 127 : d < -128 ? -128 : d; }

/// Moves second parts of channel `c`'s weights to spare slots, as far as these go: of the units of three those of one
/// place, which has most.
inline void use_spare_slots(const Plan& plan, FoldedChannels& f, Index c) noexcept {
  const auto move = [&](Index from, Index to) {
    const std::int32_t d = f.d[from][c];
    f.d[from][c] = static_cast<std::int16_t>(first_part(d));
    f.d[to][c] = static_cast<std::int16_t>(d - first_part(d));
  };
  Index counts[3]{};
  for (Index unit = 0; unit < plan.units; ++unit) {
    for (Index tap = 0; tap < plan.taps_of_unit(unit); ++tap) {
      const Index at = 4 * unit + tap;
      if (plan.taps_of_unit(unit) == 2) {
        move(at, at + 2);
      } else {
        counts[tap] += f.d[at][c] != first_part(f.d[at][c]);
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
    if (f.d[slot][c] != first_part(f.d[slot][c])) wide |= std::uint32_t{1} << (slot / plan.group() % 32);
  }
  return wide;
}

/// A factor of a scale that is 0, infinite or no number, which is rounded as it is.
[[gnu::noinline]] inline double odd_factor(const FoldedHeader& h, float filter_scale) noexcept {
  const reference::RequantizeScale exact(h.input_scale, filter_scale, h.given_output_scale);
  const std::int64_t one = exact.round_exactly(1);
  return one == 0 ? 0.0 : one > 0 ? 0x1p200 : -0x1p200;
}

/// What tensors have for the channels; beyond `count`, what the last one has.
inline void load_channels(const Plan& plan, const std::byte* const* inputs, FoldedChannels& f) noexcept {
  const qlc::ChannelTensors& tensors = plan.tensors;
  const std::byte* const filter_scale = inputs[qlc::filter_scale_tensor];
  const auto* filter = reinterpret_cast<const std::uint8_t*>(inputs[qlc::filter_tensor]) + f.first * plan.g.filter.n;
  for (Index lane = 0; lane < fold_lanes; ++lane) {
    const Index channel = f.channel(smaller(lane, f.count - 1));
    f.filter_scale[lane] = qlc::load<float>(filter_scale, channel * tensors.filter_scale.step);
    f.bias[lane] =
        tensors.bias.present ? qlc::load<std::int32_t>(inputs[qlc::bias_tensor], channel * tensors.bias.step) : 0;
    const std::int32_t zero_point =
        qlc::zero_point_of(tensors.filter_zero_point, inputs[qlc::filter_zero_point_tensor], channel);
    // A byte xor 0x80 is its signed value plus 128.
    f.offset[lane] = static_cast<std::int16_t>(zero_point + (plan.g.filter_signed ? 128 : 0));
  }
  const Index step = f.step * plan.g.filter.n;
  for (Index slot = 0; slot < plan.units * plan.group(); ++slot) {
    const Index from = plan.slot_weights[static_cast<std::size_t>(slot)];
    if (from < 0) continue;
    const std::uint8_t* at = filter + from;
    for (Index c = 0; c < f.count; ++c, at += step) f.given[slot][c] = *at;
    for (Index c = f.count; c < fold_lanes; ++c) f.given[slot][c] = 0;
  }
}

/// Weights less their zero points. A channel with any such above 127 is negated where kernels multiply bytes: then 128
/// fits, and what does not is below.
inline void fold_weights(const Plan& plan, FoldedChannels& f) noexcept {
  using Words = FoldedChannels::Words;
  const std::uint8_t flip = plan.g.filter_signed ? 0x80 : 0;
  const Index slots = plan.units * plan.group();
  Words total{}, highest{}, lowest{};
  for (std::int32_t& t : f.total) t = 0;
  const auto flush = [&] {
    for (Index c = 0; c < fold_lanes; ++c) f.total[c] += total[c];
    total = Words{};
  };
  for (Index slot = 0; slot < slots; ++slot) {
    Words d{};
    if (plan.slot_weights[static_cast<std::size_t>(slot)] >= 0) {
      FoldedChannels::Bytes bytes;
      std::memcpy(&bytes, f.given[slot], sizeof bytes);
      d = __builtin_convertvector(bytes ^ flip, Words) - f.offset;
    }
    f.d[slot] = d;
    total += d;
    highest = d > highest ? d : highest;
    lowest = d < lowest ? d : lowest;
    if (slot % 64 == 63) flush();
  }
  flush();
  f.highest = highest;
  f.lowest = lowest;
}

inline void negate(Index slots, FoldedChannels& f) noexcept {
  using Words = FoldedChannels::Words;
  const Words negated = f.highest > 127;
  bool any = false;
  for (Index c = 0; c < fold_lanes; ++c) {
    if (negated[c] == 0) continue;
    any = true;
    f.factor[c] = -f.factor[c];
    f.sum[c] = static_cast<std::int32_t>(0u - static_cast<std::uint32_t>(f.sum[c]));
  }
  if (!any) return;
  for (Index slot = 0; slot < slots; ++slot) f.d[slot] = (f.d[slot] ^ negated) - negated;
  f.lowest = negated ? -f.highest : f.lowest;
}

/// What sums start from, modulo 2^32, and factors.
inline void fold_sums(const Plan& plan, const FoldedHeader& h, FoldedChannels& f) noexcept {
  const double sign = h.given_output_scale < 0 ? -1 : 1;
  const bool usual = is_usual(h.input_scale) && is_usual(h.given_output_scale);
  for (Index c = 0; c < fold_lanes; ++c) {
    f.factor[c] = usual && is_usual(f.filter_scale[c])
                      ? sign * (static_cast<double>(h.input_scale) * static_cast<double>(f.filter_scale[c]))
                      : odd_factor(h, f.filter_scale[c]);
    f.sum[c] = static_cast<std::int32_t>(static_cast<std::uint32_t>(f.bias[c]) -
                                         h.fill * static_cast<std::uint32_t>(f.total[c]));
    const auto bias = static_cast<double>(f.bias[c]);
    f.bound[c] = static_cast<double>(plan.g.depth()) * 65025.0 + (bias < 0 ? -bias : bias);
  }
}

/// How integers are rounded (SumConstants). In units of 2^-16 a value that does not saturate, up to 2^24 of them, is
/// off by one for the scale's 24 bits, by as much again where a sum may have more than 24 bits, and by 3/4 for the
/// arithmetic.
inline void fold_rounding(FoldedHeader& h, FoldedChannels& f) noexcept {
  const float middle = 65536.0f * (static_cast<float>(h.zero_point) + 0.5f);
  bool fits = true;
  for (Index c = 0; c < fold_lanes; ++c) {
    const double ratio = f.factor[c] / h.output_scale;
    const double size = ratio < 0 ? -ratio : ratio;
    // Beyond 2^40 every sum but 0 saturates, below 2^-40 every sum rounds to 0: float need not follow.
    const double clamped = ratio > 0x1p40 ? 0x1p40 : ratio < -0x1p40 ? -0x1p40 : ratio;
    f.scale[c] = size < 0x1p-40 ? 0.0f : 65536.0f * static_cast<float>(clamped);
    const bool exact = f.bound[c] < 0x1p24;
    f.shift[c] = middle + (exact ? 2.0f : 3.0f);
    f.near_tie[c] = !(f.bound[c] * size < 32000.0) ? 0xFFFFu : exact ? 3u : 5u;
    fits = fits && f.bound[c] < 0x1p31;
  }
  if (!fits) h.fits = false;
}

/// What byte weights that do not fit need: a shift of all, spare slots, or second parts.
inline void fold_wide_weights(const Plan& plan, FoldedChannels& f) noexcept {
  for (Index c = 0; c < fold_lanes; ++c) {
    f.wide[c] = 0;
    f.window_shift[c] = 0;
    f.spare[c] = 2;
    if (!plan.bytes() || f.lowest[c] >= -128) continue;
    if (plan.shifts()) {
      f.window_shift[c] = f.lowest[c] + 128;
      f.wide[c] = 1;
      f.sum[c] = static_cast<std::int32_t>(static_cast<std::uint32_t>(f.sum[c]) +
                                           static_cast<std::uint32_t>(f.window_shift[c] * window_middle));
      for (Index slot = 0; slot < plan.units * plan.group(); ++slot) {
        f.d[slot][c] = static_cast<std::int16_t>(f.d[slot][c] - f.window_shift[c]);
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
  f.first = first;
  f.step = step;
  f.count = count;
  load_channels(plan, inputs, f);
  fold_weights(plan, f);
  fold_sums(plan, h, f);
  if (plan.bytes()) negate(plan.units * plan.group(), f);
  fold_rounding(h, f);
  fold_wide_weights(plan, f);
}

/// Whether to look for sums that are floats: microseconds for each channel, so not at each execute.
enum class Search { no, yes };

/// `value(slot)` of each slot's weight to the first of a lane's weights, as far as kernels have two parts the second
/// one `second_at` bytes further on.
template <class Value>
void store_weights(const Plan& plan, std::byte* weights, Index second_at, Value value) noexcept {
  const Index* const places = plan.slot_places.data();
  const auto slots = static_cast<Index>(plan.slot_places.size());
  if (!plan.bytes()) {
    for (Index slot = 0; slot < slots; ++slot) {
      const auto d = static_cast<std::int16_t>(value(slot));
      std::memcpy(weights + 2 * places[slot], &d, sizeof d);
    }
    return;
  }
  const bool two_parts = plan.weight_parts() == 2;
  for (Index slot = 0; slot < slots; ++slot) {
    const std::int32_t d = value(slot);
    const std::int32_t first = first_part(d);
    weights[places[slot]] = static_cast<std::byte>(first & 0xFF);
    if (two_parts) weights[places[slot] + second_at] = static_cast<std::byte>((d - first) & 0xFF);
  }
}

/// Channels of the pixel kernels.
inline void fold_pixels(const Plan& plan, const std::byte* const* inputs, Index first, FoldedHeader& h, Search search,
                        std::byte* to) noexcept {
  FoldedChannels f;
  fold_channels(plan, inputs, first, 1, smaller(fold_lanes, plan.g.all_out_channels() - first), h, f);
  for (Index c = 0; c < f.count; ++c) {
    ChannelData data;
    data.factor = f.factor[c];
    data.integers = {f.sum[c], f.scale[c], f.shift[c], f.near_tie[c]};
    data.wide = f.wide[c];
    if (search == Search::yes && plan.kernels.rounded_sums) {
      const RoundedSums r = rounded_sums(f.factor[c], h.output_scale, h.zero_point, f.sum[c], f.bound[c]);
      data.floats = {r.sum, r.scale, r.shift, 0};
    }
    std::byte* const at = to + plan.channels_at + (first + c) * plan.channel_bytes;
    std::memcpy(at, &data, sizeof data);
    store_weights(plan, at + sizeof data, plan.units * plan.group(), [&](Index slot) { return f.d[slot][c]; });
  }
}

/// Where lane `lane` of a block lies in the order of the accumulators.
inline Index place_of(const Plan& plan, Index lane) noexcept {
  const Index block = plan.kernels.block;
  return plan.by_quads ? lane % 4 * (block / 4) + lane / 4 : place_of_lane(lane, block);
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
      const Index at = 4 * (b * block + place_of(plan, lane % block));
      std::memcpy(data + chunk.sum_at + at, &r.sum, 4);
      std::memcpy(data + chunk.scale_at + at, &r.scale, 4);
      std::memcpy(data + chunk.shift_at + at, &r.shift, 4);
    }
  }
  return floats;
}

/// The constants of channel `c` of `f`, the chunk's channel `in_chunk`, to all lanes that hold it.
inline void store_lanes(const Plan& plan, const Chunk& chunk, const FoldedChannels& f, Index c, Index in_chunk,
                        std::byte* data) noexcept {
  const Index block = plan.kernels.block;
  const Index part = plan.units * plan.group() * block;  // elements of a block's weights, one part
  const Index block_bytes = part * plan.weight_bytes() * plan.weight_parts();
  // Where in its quad of channels the group of an output channel begins.
  const Index quad = plan.by_quads ? (chunk.first + in_chunk) / plan.lane_channels * plan.lane_channels % 4 : 0;
  const std::int32_t low_half = f.window_shift[c] & 0xFFFF;
  for (Index lane = in_chunk; lane < chunk.period * block; lane += chunk.pitch) {
    const Index place = place_of(plan, lane % block);
    const Index at = lane / block * block + place;
    std::memcpy(data + chunk.sum_at + 4 * at, &f.sum[c], 4);
    std::memcpy(data + chunk.scale_at + 4 * at, &f.scale[c], 4);
    std::memcpy(data + chunk.shift_at + 4 * at, &f.shift[c], 4);
    std::memcpy(data + chunk.factor_at + 8 * at, &f.factor[c], 8);
    if (plan.shifts()) std::memcpy(data + chunk.window_shift_at + 4 * at, &low_half, 4);
    std::byte* weights =
        data + chunk.weights_at + lane / block * block_bytes + place * plan.group() * plan.weight_bytes();
    if (!plan.by_quads) {
      store_weights(plan, weights, part, [&](Index slot) { return f.d[slot][c]; });
      continue;
    }
    store_weights(plan, weights, part, [&](Index slot) -> std::int32_t {
      const Index from = slot % 4 - quad;
      return from >= 0 && from < plan.lane_channels ? f.d[slot - quad][c] : -f.window_shift[c];
    });
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
      store_lanes(plan, chunk, f, c, in_chunk, data);
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
