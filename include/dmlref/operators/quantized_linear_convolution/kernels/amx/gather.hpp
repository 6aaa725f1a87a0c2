// gather.hpp: how the values of K of one row of a tile are brought together from a channel's filter.
//
// A K-block takes 64 bytes of each channel, always from the same places: whatever the filter's strides are, from a few
// windows of at most 64 neighbouring bytes, each permuted into its share of the row. Most K-blocks are one pattern at
// different places.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <variant>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/amx/layout.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"
#include "dmlref/view/narrow.hpp"

DMLREF_BEGIN
namespace fast::qlc::amx {

/// What a row takes from one window.
struct Window {
  Index at = 0;                                 // from the row's first byte
  std::uint64_t taken = 0;                      // one bit for each byte of the row
  std::array<std::uint8_t, tile_depth> from{};  // where in the window it is

  bool operator==(const Window&) const = default;
};

/// A K-block's row of each channel.
struct GatheredRow {
  Index block = 0;
  Index at = 0;               // its first byte in a channel's filter
  std::uint64_t there = 0;    // bytes that a window has: no byte outside the filter is read
  Index first = 0, last = 0;  // windows
};

/// All rows, in the order of their places in the filter, so that it passes through the L1 cache once.
struct Gather {
  std::vector<GatheredRow> rows;
  std::vector<Window> windows;

  Gather() = default;
  Gather(const Geometry& g, const Layout& layout, const std::vector<KBlock>& blocks) {
    for (const KBlock& block : blocks) std::visit([&](const auto& l) { add(places_of(g, l, block)); }, layout);
    std::stable_sort(rows.begin(), rows.end(), [](const GatheredRow& a, const GatheredRow& b) { return a.at < b.at; });
  }

 private:
  /// Of each byte of a row: where in a channel's filter it is; `there`: one bit for each that is not padding.
  struct Places {
    std::array<Index, tile_depth> at{};
    std::uint64_t there = 0;
  };
  template <class L>
  static Places places_of(const Geometry& g, const L& layout, const KBlock& block) noexcept {
    Places places;
    for (Index byte = 0; byte < tile_depth; ++byte) {
      const std::optional<Element> e = locate(g, layout, block, byte);
      if (!e) continue;
      places.at[static_cast<std::size_t>(byte)] = e->channel * g.filter.c + e->y * g.filter.y + e->x * g.filter.x;
      places.there |= std::uint64_t{1} << byte;
    }
    return places;
  }

  void add(const Places& places) {
    Index lowest = (std::numeric_limits<Index>::max)(), end = 0;
    for (std::size_t byte = 0; byte < places.at.size(); ++byte) {
      if ((places.there >> byte & 1) == 0) continue;
      lowest = smaller(lowest, places.at[byte]);
      end = larger(end, places.at[byte] + 1);
    }
    const Index reach = smaller(end - lowest, 64);
    GatheredRow row;
    row.block = static_cast<Index>(rows.size());
    row.at = lowest;
    row.there = ~std::uint64_t{0} >> (64 - reach);
    std::vector<Window> pattern;
    for (std::uint64_t left = places.there; left != 0;) {
      pattern.push_back(window(places.at, left, lowest, end - reach));
      left &= ~pattern.back().taken;
    }
    const auto known = std::search(windows.begin(), windows.end(), pattern.begin(), pattern.end());
    row.first = known - windows.begin();
    if (known == windows.end()) windows.insert(windows.end(), pattern.begin(), pattern.end());
    row.last = row.first + static_cast<Index>(pattern.size());
    rows.push_back(row);
  }

  // From the first of those that are `left`, or further ahead where it would end behind the last byte.
  static Window window(const std::array<Index, tile_depth>& places, std::uint64_t left, Index lowest, Index latest) {
    Index begin = latest;
    const auto each = [&](auto&& visit) {
      for (std::size_t byte = 0; byte < places.size(); ++byte) {
        if ((left >> byte & 1) != 0) visit(byte, places[byte]);
      }
    };
    each([&](std::size_t, Index place) { begin = smaller(begin, place); });
    Window w;
    w.at = begin - lowest;
    each([&](std::size_t byte, Index place) {
      if (place - begin >= 64) return;
      w.taken |= std::uint64_t{1} << byte;
      w.from[byte] = dmlref::detail::narrow<std::uint8_t>(place - begin);  // below 64
    });
    return w;
  }
};

}  // namespace fast::qlc::amx
DMLREF_END
