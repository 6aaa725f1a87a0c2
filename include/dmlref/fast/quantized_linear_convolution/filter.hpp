// filter.hpp: the filter as the tiles read it.
//
//   group | block of `lanes` output channels | step along K | channel in block | element     as signed bytes (or
//   widened) group | block | channel in block                                                         sum of the
//   channel, int32 step | element                                                                            1, or 0
//   for filling
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/staging.hpp"

DMLREF_BEGIN
namespace fast::qlc {

struct PackedFilter {
  Index lanes, steps, blocks, groups;
  Index block_bytes() const noexcept { return steps * lanes * 4; }
  Index channels() const noexcept { return blocks * lanes; }  // of one group, filling included
  Index sums_at() const noexcept { return groups * blocks * block_bytes(); }
  Index ones_at() const noexcept { return sums_at() + round_up(groups * channels() * 4, 64); }
  Index bytes() const noexcept { return ones_at() + round_up(steps * 4, 64); }
};

/// Where the elements of every step lie in a channel's filter; -1 for filling. All steps, `group` elements each.
inline std::vector<Index> element_offsets(const Geometry& g, const DepthOrder& order) {
  std::vector<Index> offsets;
  offsets.reserve(static_cast<std::size_t>(order.steps() * order.group));
  for (Index step = 0; step < order.steps(); ++step) {
    for (Index e = 0; e < order.group; ++e) {
      DepthOrder::Element at;
      const bool there = order.locate(step, e, at);
      offsets.push_back(there ? at.channel * g.filter.c + at.y * g.filter.y + at.x * g.filter.x : Index{-1});
    }
  }
  return offsets;
}

/// Steps [first, last) of one output channel: Group elements each, weight_step bytes apart. Returns their sum. Most
/// groups are complete and their elements `stride` apart, which saves looking each of them up.
template <int Group, bool Signed>
std::int32_t pack_channel(const std::uint8_t* channel, const Index* offsets, Index stride, Index first, Index last,
                          Index weight_step, std::uint8_t* to) noexcept {
  const auto value = [](std::uint8_t byte) {
    return Signed ? static_cast<std::int32_t>(static_cast<std::int8_t>(byte)) : static_cast<std::int32_t>(byte) - 128;
  };
  constexpr std::uint32_t mask = Group == 4 ? 0xFFu : 0xFFFFu;
  std::int32_t sum = 0;
  for (Index step = first; step < last; ++step) {
    const Index* at = offsets + step * Group;
    const bool regular = at[Group - 1] == at[0] + (Group - 1) * stride && at[0] >= 0;
    std::uint32_t packed = 0;
    for (int e = 0; e < Group; ++e) {
      if (!regular && at[e] < 0) continue;
      const std::int32_t element = value(channel[regular ? at[0] + e * stride : at[e]]);
      sum += element;
      packed |= (static_cast<std::uint32_t>(element) & mask) << (32 / Group * e);
    }
    std::memcpy(to + step * weight_step, &packed, sizeof packed);  // element 0 first: our machines are little-endian
  }
  return sum;
}

/// Whether a set's pack_rows can do it: bytes, taps side by side, channels that fill their groups where groups of taps
/// are apart.
inline bool packs_rows(const Geometry& g, const DepthOrder& order, const Kernels& kernels) noexcept {
  if (kernels.pack_rows == nullptr || order.group != 4 || order.staging == Staging::windows) return false;
  if (g.taps() == 1) return g.filter.c == 1 || g.in_channels == 1;
  const bool side_by_side = (g.kernel_w == 1 || g.filter.x == 1) && (g.kernel_h == 1 || g.filter.y == g.kernel_w);
  return side_by_side && g.taps() <= 128 && (order.staging == Staging::planes || g.in_channels % 4 == 0);
}

/// One block of output channels by pack_rows. Taps are interleaved first, four input channels to a group; so many
/// groups at a time that they stay in the L1 cache.
inline void pack_block(const Geometry& g, const DepthOrder& order, const Kernels& kernels, const std::uint8_t* from,
                       Index channels, std::uint8_t* to, std::int32_t* sums) noexcept {
  constexpr Index pitch = 512;
  const std::uint8_t flip = g.filter_signed ? 0 : 0x80;
  const Index taps = g.taps();
  if (taps == 1) {
    kernels.pack_rows({from, g.filter.n, channels, g.in_channels, flip, to, sums});
    return;
  }
  std::uint8_t rows[16 * pitch];
  std::uint8_t one_group[pitch];
  std::uint8_t filling[pitch / 4];
  std::memset(filling, flip, sizeof filling);  // flipped, it is 0
  const Index groups = order.channel_groups();
  const Index most = pitch / 4 / taps;
  const bool planes = order.staging == Staging::planes;
  for (Index first = 0; first < groups; first += most) {
    const Index count = groups - first < most ? groups - first : most;
    for (Index l = 0; l < channels; ++l) {
      for (Index i = 0; i < count; ++i) {
        const std::uint8_t* four[4];
        for (Index e = 0; e < 4; ++e) {
          const Index c = 4 * (first + i) + e;
          four[e] = c < g.in_channels ? from + l * g.filter.n + c * g.filter.c : filling;
        }
        if (planes) {
          kernels.interleave(four, taps, flip, rows + l * pitch + 4 * taps * i);
          continue;
        }
        kernels.interleave(four, taps, flip, one_group);
        for (Index tap = 0; tap < taps; ++tap) {
          std::memcpy(rows + l * pitch + 4 * (tap * count + i), one_group + 4 * tap, 4);
        }
      }
    }
    if (planes) {
      kernels.pack_rows({rows, pitch, channels, 4 * taps * count, 0, to + 64 * taps * first, sums});
      continue;
    }
    for (Index tap = 0; tap < taps; ++tap) {
      kernels.pack_rows(
          {rows + 4 * tap * count, pitch, channels, 4 * count, 0, to + 64 * (tap * groups + first), sums});
    }
  }
}

/// Unsigned filters are shifted by -128, and so are their zero points. `offsets` are those of element_offsets.
inline void pack_filter(const Geometry& g, const DepthOrder& order, const Kernels& kernels, const PackedFilter& packed,
                        const Index* offsets, const std::uint8_t* filter, std::uint8_t* to) noexcept {
  const Index group_size = order.group;
  const bool by_rows = packs_rows(g, order, kernels);
  const auto pack = group_size == 4 ? (g.filter_signed ? &pack_channel<4, true> : &pack_channel<4, false>)
                                    : (g.filter_signed ? &pack_channel<2, true> : &pack_channel<2, false>);
  const Index weight_step = 4 * packed.lanes;
  constexpr Index chunk = 64;  // steps: the lines that a block's channels share stay in the L1 cache
  for (Index block = 0; block < packed.groups * packed.blocks; ++block, to += packed.block_bytes()) {
    const Index first_channel = block % packed.blocks * packed.lanes;
    const Index channels =
        g.out_channels - first_channel < packed.lanes ? g.out_channels - first_channel : packed.lanes;
    const std::uint8_t* from = filter + (block / packed.blocks * g.out_channels + first_channel) * g.filter.n;
    std::uint8_t* sums = to + (packed.sums_at() - block * packed.block_bytes()) + block * weight_step;
    std::memset(sums, 0, static_cast<std::size_t>(weight_step));
    if (by_rows) {
      pack_block(g, order, kernels, from, channels, to, reinterpret_cast<std::int32_t*>(sums));
      continue;
    }
    if (channels < packed.lanes) std::memset(to, 0, static_cast<std::size_t>(packed.block_bytes()));
    for (Index step = 0; step < packed.steps; step += chunk) {
      const Index last = packed.steps - step < chunk ? packed.steps : step + chunk;
      for (Index l = 0; l < channels; ++l) {
        const std::uint8_t* channel = from + l * g.filter.n;
        std::int32_t sum;
        std::memcpy(&sum, sums + 4 * l, sizeof sum);
        sum += pack(channel, offsets, g.filter.c, step, last, weight_step, to + 4 * l);
        std::memcpy(sums + 4 * l, &sum, sizeof sum);
      }
    }
  }
  to += packed.ones_at() - packed.sums_at();
  for (Index i = 0; i < packed.steps * group_size; ++i) {
    const auto one = static_cast<std::uint16_t>(offsets[i] < 0 ? 0 : 1);
    if (group_size == 4) {
      to[i] = static_cast<std::uint8_t>(one);
    } else {
      std::memcpy(to + 2 * i, &one, sizeof one);
    }
  }
}

}  // namespace fast::qlc
DMLREF_END
