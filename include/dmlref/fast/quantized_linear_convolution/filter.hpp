// filter.hpp: the filter as the tiles read it.
//
//   group | block of `lanes` output channels | step along K | channel in block | element     as signed bytes (or
//   widened) group | block | channel in block                                                         sum of the
//   channel, int32 step | element                                                                            1, or 0
//   for filling
#pragma once

#include <cstdint>
#include <cstring>

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

/// Unsigned filters are shifted by -128, and so are their zero points.
inline void pack_filter(const Geometry& g, const DepthOrder& order, const PackedFilter& packed,
                        const std::uint8_t* filter, std::uint8_t* to) noexcept {
  const Index element = 4 / order.group;
  const std::uint8_t flip = g.filter_signed ? 0 : 0x80;
  const auto put = [element](std::uint8_t* at, Index i, std::int32_t value) {
    if (element == 1) {
      at[i] = static_cast<std::uint8_t>(value);
    } else {
      const auto wide = static_cast<std::int16_t>(value);
      std::memcpy(at + 2 * i, &wide, sizeof wide);
    }
  };
  std::memset(to, 0, static_cast<std::size_t>(packed.bytes()));
  for (Index step = 0; step < packed.steps; ++step) {
    for (Index e = 0; e < order.group; ++e) {
      DepthOrder::Element at;
      if (!order.locate(step, e, at)) continue;
      put(to + packed.ones_at() + step * 4, e, 1);
      const std::uint8_t* from = filter + at.channel * g.filter.c + at.y * g.filter.y + at.x * g.filter.x;
      for (Index group = 0; group < g.groups; ++group) {
        for (Index block = 0; block < packed.blocks; ++block) {
          std::uint8_t* lane = to + (group * packed.blocks + block) * packed.block_bytes() + step * packed.lanes * 4;
          std::uint8_t* sums = to + packed.sums_at() + (group * packed.blocks + block) * packed.lanes * 4;
          const Index rest = g.out_channels - block * packed.lanes;
          const Index count = rest < packed.lanes ? rest : packed.lanes;
          const std::uint8_t* channel = from + (group * g.out_channels + block * packed.lanes) * g.filter.n;
          for (Index l = 0; l < count; ++l) {
            const auto value = static_cast<std::int8_t>(channel[l * g.filter.n] ^ flip);
            put(lane + 4 * l, e, value);
            std::int32_t sum;
            std::memcpy(&sum, sums + 4 * l, sizeof sum);
            sum += value;
            std::memcpy(sums + 4 * l, &sum, sizeof sum);
          }
        }
      }
    }
  }
}

}  // namespace fast::qlc
DMLREF_END
