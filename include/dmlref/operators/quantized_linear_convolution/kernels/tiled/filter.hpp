// filter.hpp: the filter as the tiles read it.
//
//   group | block of `lanes` output channels | step along K | channel in block | element
//                                                                  weights as signed bytes, or widened
//   kernel row | group | block | channel in block                  sum of the channel's row, int32
//   step | element                                                 1, or 0 for padding
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/staging.hpp"

DMLREF_BEGIN
namespace fast::qlc {

struct PackedFilter {
  Index lanes, steps, blocks, groups, kernel_rows;
  Index block_bytes() const noexcept { return steps * lanes * 4; }
  Index channels() const noexcept { return blocks * lanes; }  // of one group, padding included
  Index sums_at() const noexcept { return groups * blocks * block_bytes(); }
  Index row_sums_bytes() const noexcept { return groups * channels() * 4; }  // of one kernel row
  Index ones_at() const noexcept { return sums_at() + round_up(kernel_rows * row_sums_bytes(), 64); }
  Index bytes() const noexcept { return ones_at() + round_up(steps * 4, 64); }
};

/// Steps [first, last) of one output channel: Group elements each, weight_step bytes apart. Returns their sum. Most
/// groups are complete and their elements `stride` apart, which saves looking each of them up.
template <int Group, bool Signed>
std::int32_t pack_channel(const std::uint8_t* channel, const Index* offsets, Index stride, Index first, Index last,
                          Index weight_step, std::uint8_t* to) noexcept {
  const auto value = [](std::uint8_t byte) {
    return Signed ? static_cast<std::int32_t>(static_cast<std::int8_t>(byte)) : static_cast<std::int32_t>(byte) - 128;
  };
  constexpr std::uint32_t mask = Group == 4 ? 0xFFu : 0xFFFFu;
  constexpr bool lowest_first = std::endian::native == std::endian::little;  // element 0 lies first in memory
  std::int32_t sum = 0;
  for (Index step = first; step < last; ++step) {
    const Index* at = offsets + step * Group;
    const bool regular = at[Group - 1] == at[0] + (Group - 1) * stride && at[0] != no_element;
    std::uint32_t packed = 0;
    for (int e = 0; e < Group; ++e) {
      if (!regular && at[e] == no_element) continue;
      const std::int32_t element = value(channel[regular ? at[0] + e * stride : at[e]]);
      sum += element;
      packed |= (static_cast<std::uint32_t>(element) & mask) << (32 / Group * (lowest_first ? e : Group - 1 - e));
    }
    std::memcpy(to + step * weight_step, &packed, sizeof packed);
  }
  return sum;
}

/// Whether a set's pack_rows can do it: bytes, taps side by side, channels that fill their groups where groups of taps
/// are apart.
inline bool packs_rows(const Geometry& g, const DepthOrder& order, const Kernels& kernels) noexcept {
  if (kernels.pack_rows == nullptr || order.group != 4) return false;
  if (order.staging == Staging::windows || order.folded > 1) return false;
  if (g.taps() == 1) return g.filter_of_rows();
  const bool side_by_side = (g.kernel_w == 1 || g.filter.x == 1) && (g.kernel_h == 1 || g.filter.y == g.kernel_w);
  return side_by_side && g.taps() <= 128 && (order.staging == Staging::planes || g.in_channels % 4 == 0);
}

/// One block of output channels by pack_rows. Taps are interleaved first, four input channels to a group; so many
/// groups at a time that they stay in the L1 cache.
inline void pack_block(const Geometry& g, const DepthOrder& order, const Kernels& kernels, const std::uint8_t* from,
                       Index channels, std::uint8_t* to, std::uint8_t* sums, Index row_sums_bytes) noexcept {
  const auto sums_of = [&](Index ky) { return reinterpret_cast<std::int32_t*>(sums + ky * row_sums_bytes); };
  constexpr Index pitch = 512;
  const std::uint8_t flip = g.filter_signed ? 0 : 0x80;
  const Index taps = g.taps();
  if (taps == 1) {
    kernels.pack_rows({from, g.filter.n, channels, g.in_channels, flip, to, sums_of(0)});
    return;
  }
  std::uint8_t rows[16 * pitch];
  std::uint8_t one_row[pitch];
  std::uint8_t filling[pitch / 4];
  std::memset(filling, flip, sizeof filling);  // flipped, it is 0
  const Index groups = order.channel_groups();
  const Index max_groups = pitch / 4 / taps;
  const bool planes = order.staging == Staging::planes;
  for (Index first = 0; first < groups; first += max_groups) {
    const Index count = groups - first < max_groups ? groups - first : max_groups;
    for (Index l = 0; l < channels; ++l) {
      for (Index i = 0; i < count; ++i) {
        const std::uint8_t* four[4];
        for (Index e = 0; e < 4; ++e) {
          const Index c = 4 * (first + i) + e;
          four[e] = c < g.in_channels ? from + l * g.filter.n + c * g.filter.c : filling;
        }
        kernels.interleave(four, taps, flip, one_row + 4 * taps * i);
      }
      // By kernel row (planes) or by tap. Not before: what has just been stored a few bytes at a time is slow to read
      // in vectors.
      std::uint8_t* const row = rows + l * pitch;
      for (Index i = 0; i < count; ++i) {
        const std::uint8_t* group = one_row + 4 * taps * i;
        if (!planes) {
          for (Index tap = 0; tap < taps; ++tap) std::memcpy(row + 4 * (tap * count + i), group + 4 * tap, 4);
        } else if (g.kernel_w == 3) {
          for (Index ky = 0; ky < g.kernel_h; ++ky) std::memcpy(row + 12 * (ky * count + i), group + 12 * ky, 12);
        } else {
          const Index bytes = 4 * g.kernel_w;
          for (Index ky = 0; ky < g.kernel_h; ++ky) {
            std::memcpy(row + bytes * (ky * count + i), group + bytes * ky, static_cast<std::size_t>(bytes));
          }
        }
      }
    }
    // A kernel row of the groups at hand is one segment (planes), or one for each tap.
    const Index segments = planes ? g.kernel_h : taps;
    const Index steps = taps / segments;  // of one group in a segment
    for (Index segment = 0; segment < segments; ++segment) {
      kernels.pack_rows({rows + 4 * segment * steps * count, pitch, channels, 4 * steps * count, 0,
                         to + 64 * steps * (segment * groups + first),
                         sums_of(planes ? segment : segment / g.kernel_w)});
    }
  }
}

/// Blocks [first, last) of all groups'. Unsigned filters are shifted by -128, and so are their zero points. `offsets`
/// are DepthTables::elements.
inline void pack_filter(const Geometry& g, const DepthOrder& order, const Kernels& kernels, const PackedFilter& packed,
                        const Index* offsets, const std::uint8_t* filter, std::uint8_t* to, Index first,
                        Index last) noexcept {
  const Index group_size = order.group;
  const bool by_rows = packs_rows(g, order, kernels);
  const auto pack = group_size == 4 ? (g.filter_signed ? &pack_channel<4, true> : &pack_channel<4, false>)
                                    : (g.filter_signed ? &pack_channel<2, true> : &pack_channel<2, false>);
  const Index weight_step = 4 * packed.lanes;
  constexpr Index run = 64;  // steps: the lines that a block's channels share stay in the L1 cache
  std::uint8_t* const ones = to + packed.ones_at();
  to += first * packed.block_bytes();
  for (Index block = first; block < last; ++block, to += packed.block_bytes()) {
    const Index first_channel = block % packed.blocks * packed.lanes;
    const Index channels =
        g.out_channels - first_channel < packed.lanes ? g.out_channels - first_channel : packed.lanes;
    const std::uint8_t* from = filter + (block / packed.blocks * g.out_channels + first_channel) * g.filter.n;
    std::uint8_t* sums = to + (packed.sums_at() - block * packed.block_bytes()) + block * weight_step;
    for (Index ky = 0; ky < g.kernel_h; ++ky) {
      std::memset(sums + ky * packed.row_sums_bytes(), 0, static_cast<std::size_t>(weight_step));
    }
    if (by_rows) {
      pack_block(g, order, kernels, from, channels, to, sums, packed.row_sums_bytes());
      continue;
    }
    if (channels < packed.lanes) std::memset(to, 0, static_cast<std::size_t>(packed.block_bytes()));
    for (Index step = 0, end = 0; step < packed.steps; step = end) {
      const Index ky = step / order.row_steps();
      const Index row_end = (ky + 1) * order.row_steps();
      end = row_end - step < run ? row_end : step + run;
      std::uint8_t* row_sums = sums + ky * packed.row_sums_bytes();
      for (Index l = 0; l < channels; ++l) {
        const std::uint8_t* channel = from + l * g.filter.n;
        std::int32_t sum;
        std::memcpy(&sum, row_sums + 4 * l, sizeof sum);
        sum += pack(channel, offsets, g.filter.c, step, end, weight_step, to + 4 * l);
        std::memcpy(row_sums + 4 * l, &sum, sizeof sum);
      }
    }
  }
  if (first > 0) return;  // the rest belongs to no block
  for (Index i = 0; i < packed.steps * group_size; ++i) {
    const auto one = static_cast<std::uint16_t>(offsets[i] == no_element ? 0 : 1);
    if (group_size == 4) {
      ones[i] = static_cast<std::uint8_t>(one);
    } else {
      std::memcpy(ones + 2 * i, &one, sizeof one);
    }
  }
}

}  // namespace fast::qlc
DMLREF_END
