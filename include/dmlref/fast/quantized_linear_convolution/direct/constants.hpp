// constants.hpp: what of a direct convolution depends on constants alone: weights less their zero points in the
// kernels' order, what sums start from, scales.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/plan.hpp"
#include "dmlref/reference/quantize.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

/// One output channel's part of the constants; `d` gets its weights less the zero point, negated where need be.
struct FoldedChannel {
  double factor = 0;
  float scale = 0, band = 0;
  std::int32_t sum = 0, shift = 0;
  double bound = 0;         // of any sum
  std::uint32_t wide = 0;   // 0: no weight needs a shift or two parts; else the units where one does, as LaneArgs::wide
  std::int32_t lowest = 0;  // of the weights
  int spare = 3;            // the tap of units of three that their spare slot repeats
};
inline constexpr Index most_slots = 1040;

/// What of a weight fits eight bits.
constexpr std::int32_t first_part(std::int32_t d) noexcept { return d > 127 ? 127 : d < -128 ? -128 : d; }

/// Second parts of weights to spare slots, as far as these go: of the units of three those of one place, which has
/// most. 3: of none.
inline int use_spare_slots(const Plan& plan, std::int32_t* d) noexcept {
  const auto move = [&](std::int32_t& from, std::int32_t& to) {
    to = from - first_part(from);
    from -= to;
  };
  Index counts[3]{};
  for (Index unit = 0; unit < plan.units; ++unit) {
    for (Index tap = 0; tap < plan.taps_of_unit(unit); ++tap) {
      std::int32_t* const at = d + 4 * unit + tap;
      if (plan.taps_of_unit(unit) == 2) {
        move(at[0], at[2]);
      } else if (*at != first_part(*at)) {
        ++counts[tap];
      }
    }
  }
  if (counts[0] + counts[1] + counts[2] == 0) return 3;
  const int spare = counts[0] > counts[1] ? (counts[0] > counts[2] ? 0 : 2) : (counts[1] > counts[2] ? 1 : 2);
  for (Index unit = 0; unit < plan.units; ++unit) {
    if (plan.taps_of_unit(unit) == 3) move(d[4 * unit + spare], d[4 * unit + 3]);
  }
  return spare;
}

/// Units with a weight that does not fit eight bits.
struct WideUnits {
  std::uint32_t mask = 0;  // as LaneArgs::wide
  Index count = 0;
};
inline WideUnits wide_units(const Plan& plan, const std::int32_t* d) noexcept {
  WideUnits wide;
  for (Index unit = 0; unit < plan.units; ++unit) {
    bool any = false;
    for (const std::int32_t* at = d + unit * plan.group(); at < d + (unit + 1) * plan.group(); ++at) {
      any = any || *at != first_part(*at);
    }
    if (!any) continue;
    wide.mask |= std::uint32_t{1} << (unit % 32);
    ++wide.count;
  }
  return wide;
}

inline std::int32_t wrap(std::int64_t sum) noexcept {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::uint64_t>(sum)));
}

/// Shifts the weights of a channel to where they all fit eight bits.
inline void shift_weights(const Plan& plan, FoldedChannel& f, std::int32_t* d) noexcept {
  f.shift = f.lowest < -128 ? f.lowest + 128 : 0;
  for (Index slot = 0; slot < plan.units * plan.group(); ++slot) d[slot] -= f.shift;
  f.sum = wrap(f.sum + std::int64_t{f.shift} * window_middle);
}

inline FoldedChannel fold_one(const Plan& plan, const std::byte* const* inputs, Index channel, FoldedHeader& h,
                              std::int32_t* d) noexcept {
  const auto* filter = reinterpret_cast<const std::uint8_t*>(inputs[qlc::filter_tensor]) + channel * plan.g.filter.n;
  const std::int32_t zero_point =
      qlc::zero_point_of(plan.tensors.filter_zero_point, inputs[qlc::filter_zero_point_tensor], channel);
  const std::int64_t bias = plan.tensors.bias.present
                                ? qlc::load<std::int32_t>(inputs[qlc::bias_tensor], channel * plan.tensors.bias.step)
                                : 0;
  std::int32_t total = 0, highest = 0, lowest = 0;
  const std::uint8_t flip = plan.g.filter_signed ? 0x80 : 0;
  const std::int32_t offset = zero_point + flip;  // a byte xor 0x80 is its signed value plus 128
  const Index slots = plan.units * plan.group();
  for (Index slot = 0; slot < slots; ++slot) {
    const Index from = plan.slot_weights[static_cast<std::size_t>(slot)];
    const std::int32_t weight = from < 0 ? 0 : static_cast<std::uint8_t>(filter[from] ^ flip) - offset;
    d[slot] = weight;
    total += weight;
    highest = weight > highest ? weight : highest;
    lowest = weight < lowest ? weight : lowest;
  }
  FoldedChannel f;
  const float filter_scale =
      qlc::load<float>(inputs[qlc::filter_scale_tensor], channel * plan.tensors.filter_scale.step);
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
  if (plan.bytes() && highest > 127) {
    for (Index slot = 0; slot < slots; ++slot) d[slot] = -d[slot];
    f.factor = -f.factor;
    sum = -sum;
    lowest = -highest;
  }
  f.lowest = lowest;
  f.wide = lowest < -128 ? ~std::uint32_t{0} : 0;
  if (!plan.shifts) {
    if (plan.lone) {  // both parts of the last tap's weight, as there is room
      std::int32_t* last = d + plan.g.depth() - 1;
      last[1] = *last - first_part(*last);
      *last -= last[1];
    }
    if (f.wide != 0 && plan.in_threes) f.spare = use_spare_slots(plan, d);
    if (f.wide != 0 && !plan.lone) f.wide = wide_units(plan, d).mask;
  }
  f.sum = wrap(sum);
  // Beyond 2^40 every sum but 0 saturates, below 2^-40 every sum rounds to 0: float need not follow.
  const double ratio = f.factor / h.output_scale;
  const double size = ratio < 0 ? -ratio : ratio;
  f.scale = size < 0x1p-40 ? 0.0f : static_cast<float>(size > 0x1p40 ? (ratio < 0 ? -0x1p40 : 0x1p40) : ratio);
  const double bound = static_cast<double>(plan.g.depth()) * 65025.0 + static_cast<double>(bias < 0 ? -bias : bias);
  // What a float product may be off by where the output does not saturate, |value| < 512: the scale's own error, the
  // sum's where it has more than 24 bits, and the residual's rounding. The kernels take 16 bits of the value.
  const double scale_error = ratio != 0 ? (static_cast<double>(f.scale) - ratio) / ratio : 0.0;
  const double error =
      512 * ((scale_error < 0 ? -scale_error : scale_error) + (bound < 0x1p24 ? 0.0 : 0x1p-24) + 0x1p-50) + 0x1p-23;
  f.bound = bound;
  f.band = bound * size < 32000.0 ? static_cast<float>(0.5 - error) : -1.0f;
  if (bound >= 0x1p31) h.fits = false;
  return f;
}

/// Weights `d` for place `place` of a block. `value(slot)`: those of the slots.
template <class Value>
void store_weights(const Plan& plan, std::byte* weights, Index place, Index second_at, Value value) noexcept {
  const auto slots = static_cast<Index>(plan.slot_places.size());
  const Index first_at = place * plan.group();
  if (!plan.bytes()) {
    for (Index slot = 0; slot < slots; ++slot) {
      const auto d = static_cast<std::int16_t>(value(slot));
      std::memcpy(weights + 2 * (first_at + plan.slot_places[static_cast<std::size_t>(slot)]), &d, sizeof d);
    }
    return;
  }
  for (Index slot = 0; slot < slots; ++slot) {
    const std::int32_t d = value(slot);
    const std::int32_t first = first_part(d);
    std::byte* at = weights + first_at + plan.slot_places[static_cast<std::size_t>(slot)];
    at[0] = static_cast<std::byte>(first & 0xFF);
    if (plan.weight_parts() == 2) at[second_at] = static_cast<std::byte>((d - first) & 0xFF);
  }
}

inline void store_channel(const Plan& plan, const FoldedHeader& h, const FoldedChannel& f, const std::int32_t* d,
                          std::byte* at) noexcept {
  ChannelData data;
  data.factor = f.factor;
  data.scale = f.scale;
  data.band = f.band;
  data.sum = f.sum;
  data.shift = f.shift;
  data.wide = f.wide;
  data.spare = static_cast<std::uint32_t>((3 - f.spare) * plan.g.dilation_x);
  // Worth the time where it is not part of each call.
  if (plan.constants_owned && plan.kernels.rounded_sums) {
    data.rounded = rounded_sums(f.factor, h.output_scale, h.zero_point, f.sum, f.bound);
  }
  std::memcpy(at, &data, sizeof data);
  const Index slots = plan.units * plan.group();
  store_weights(plan, at + sizeof data, 0, slots, [&](Index slot) { return d[slot]; });
}

/// Outputs that share their windows. What multiplies less is taken for weights that do not fit eight bits: second parts
/// of their units, or the window's sum, which is a product of each unit, times a shift of each output.
inline void fold_outputs(const Plan& plan, const std::byte* const* inputs, Index first, Index outputs, FoldedHeader& h,
                         std::byte* to) noexcept {
  std::int32_t d[4][most_slots];
  FoldedChannel f[4];
  Index seconds = 0, shifts = plan.units;
  for (Index m = 0; m < outputs; ++m) {
    f[m] = fold_one(plan, inputs, first + m, h, d[m]);
    if (!plan.shifts || f[m].wide == 0) continue;
    const WideUnits wide = wide_units(plan, d[m]);
    f[m].wide = wide.mask;
    seconds += wide.count;
    ++shifts;
  }
  // Two more, as second parts are behind branches.
  const bool cuts = !plan.shifts || (plan.shifts_or_cuts() && seconds + 2 <= shifts);
  for (Index m = 0; m < outputs; ++m) {
    if (!cuts) {
      shift_weights(plan, f[m], d[m]);
      f[m].wide = 0;
    }
    store_channel(plan, h, f[m], d[m], to + plan.channels_at + (first + m) * plan.channel_bytes);
  }
}

/// Where lane `lane` of a block lies in the order of the accumulators.
inline Index place_of(const Plan& plan, Index lane) noexcept {
  const Index block = plan.kernels.block;
  return plan.by_quads ? lane % 4 * (block / 4) + lane / 4 : place_of_lane(lane, block);
}

/// Brings the kernel row that most channels' spare slots repeat to the third slot of quads, where it costs nothing, and
/// that of fewest to the first; and says which channels' repeat the first or the second. `spare`: each channel's row.
inline void order_rows(const Plan& plan, const Chunk& chunk, const int* spare, std::byte* weights,
                       FoldedChunk& head) noexcept {
  Index channels[4]{};
  for (Index c = 0; c < chunk.count; ++c) ++channels[spare[c]];
  std::uint8_t* const order = head.row_order;
  const auto sort = [&](int a, int b) {
    if (channels[order[a]] > channels[order[b]]) std::swap(order[a], order[b]);
  };
  sort(0, 1);
  sort(1, 2);
  sort(0, 1);
  const Index block = plan.kernels.block;
  for (Index unit = 0; unit < plan.weight_parts() * plan.units; ++unit) {
    if (plan.taps_of_unit(unit % plan.units) != 3) continue;
    for (Index lane = 0; lane < block; ++lane) {
      std::byte* const quad = weights + 4 * (unit * block + lane);
      const std::byte rows[3] = {quad[0], quad[1], quad[2]};
      for (int slot = 0; slot < 3; ++slot) quad[slot] = rows[order[slot]];
    }
  }
  for (Index lane = 0; lane < block; ++lane) {
    for (int slot = 0; slot < 2; ++slot) {
      if (order[slot] == spare[lane % chunk.pitch]) head.spare[slot] |= std::uint64_t{1} << lane;
    }
  }
}

inline void fold_chunk(const Plan& plan, const std::byte* const* inputs, const Chunk& chunk, Index m, FoldedHeader& h,
                       std::byte* to) noexcept {
  std::int32_t d[most_slots];
  std::byte* data = to + chunk.data_at + m * chunk.data_bytes;
  FoldedChunk head;
  head.band = 0.5f;
  const Index block = plan.kernels.block;
  const Index slots = plan.units * plan.group();
  const Index part = slots * block;  // elements of a block's weights, one part
  const Index block_bytes = part * plan.weight_bytes() * plan.weight_parts();
  const Index lanes = chunk.period * block;
  RoundedSums rounded[most_chunk_channels];
  int spare[most_chunk_channels];
  const bool rounds =
      plan.constants_owned && (plan.by_columns ? plan.kernels.rounded_sums : plan.kernels.rounded_channels);
  // Blocks all of whose channels so far have sums that are floats.
  std::uint32_t floats = rounds ? ~std::uint32_t{0} >> (32 - chunk.period) : 0;
  for (Index c = 0; c < chunk.pitch; ++c) {
    FoldedChannel f;
    for (Index slot = 0; slot < slots; ++slot) d[slot] = 0;
    if (c < chunk.count) {
      f = fold_one(plan, inputs, (chunk.first + c) * plan.lane_outputs + m, h, d);
      if (plan.shifts) shift_weights(plan, f, d);
      head.wide |= f.wide;
      if (f.band < head.band) head.band = f.band;
    }
    std::uint32_t blocks = 0;  // that channel c is part of
    for (Index lane = c; lane < lanes; lane += chunk.pitch) blocks |= std::uint32_t{1} << (lane / block);
    if (c < chunk.count && (floats & blocks) != 0) {
      rounded[c] = rounded_sums(f.factor, h.output_scale, h.zero_point, f.sum, f.bound);
      if (rounded[c].sum == 0) floats &= ~blocks;
    }
    spare[c] = f.spare;
    // Where in its quad of channels the group of output channel c begins.
    const Index shift = plan.by_quads ? (chunk.first + c) / plan.lane_channels * plan.lane_channels % 4 : 0;
    for (Index lane = c; lane < lanes; lane += chunk.pitch) {
      const Index place = place_of(plan, lane % block);
      const Index at = lane / block * block + place;
      std::memcpy(data + chunk.sum_at + 4 * at, &f.sum, 4);
      if (plan.shifts) {
        const std::int32_t low_half = f.shift & 0xFFFF;
        std::memcpy(data + chunk.shift_at + 4 * at, &low_half, 4);
      }
      std::memcpy(data + chunk.scale_at + 4 * at, &f.scale, 4);
      std::memcpy(data + chunk.factor_at + 8 * at, &f.factor, 8);
      std::byte* weights = data + chunk.weights_at + lane / block * block_bytes;
      if (!plan.by_quads) {
        store_weights(plan, weights, place, part, [&](Index slot) { return d[slot]; });
      } else {
        store_weights(plan, weights, place, part, [&](Index slot) {
          const Index from = slot % 4 - shift;
          return from >= 0 && from < plan.lane_channels ? d[slot - shift] : -f.shift;
        });
      }
    }
  }
  if (plan.by_columns && plan.in_threes) order_rows(plan, chunk, spare, data + chunk.weights_at, head);
  head.floats = floats;
  for (Index first = 0; first < lanes; first += block) {
    if ((floats >> (first / block) & 1) == 0) continue;
    for (Index lane = first; lane < first + block; ++lane) {
      const RoundedSums& r = rounded[lane % chunk.pitch];
      const Index at = 4 * (first + place_of(plan, lane - first));
      std::memcpy(data + chunk.sum_at + at, &r.sum, 4);
      std::memcpy(data + chunk.scale_at + at, &r.scale, 4);
      std::memcpy(data + chunk.float_shift_at + at, &r.shift, 4);
    }
  }
  std::memcpy(data, &head, sizeof head);
}

/// Folds the constants into plan.folded_bytes bytes.
inline void fold(const Plan& plan, const std::byte* const* inputs, std::byte* to) noexcept {
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
      for (Index m = 0; m < plan.lane_outputs; ++m) fold_chunk(plan, inputs, chunk, m, h, to);
    }
  } else {
    for (Index c = 0, outputs; c < plan.g.all_out_channels(); c += outputs) {
      outputs = plan.outputs_at_once(plan.g.out_channels - c % plan.g.out_channels);
      fold_outputs(plan, inputs, c, outputs, h, to);
    }
  }
  std::memcpy(to, &h, sizeof h);
}

}  // namespace fast::qlc::direct
DMLREF_END
