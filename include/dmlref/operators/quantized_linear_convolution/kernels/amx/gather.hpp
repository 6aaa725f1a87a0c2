// gather.hpp: how the values of K of one row of a tile are brought together from a channel's filter.
//
// A chunk takes 64 bytes of each channel, always from the same places: whatever the filter's strides are, from a few
// windows of at most 64 neighbouring bytes, each permuted into its share of the row. Most chunks are one pattern at
// different places.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/amx/layout.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"
#include "dmlref/view/narrow.hpp"

DMLREF_BEGIN
namespace fast::qlc::amx {

/// What a row takes from one window.
struct Window {
  Index at = 0;                                 // from the chunk's first byte
  std::uint64_t taken = 0;                      // one bit for each byte of the row
  std::array<std::uint8_t, tile_depth> from{};  // where in the window it is

  bool operator==(const Window&) const = default;
};

/// A chunk's row of each channel.
struct GatheredRow {
  Index chunk = 0;
  Index at = 0;               // its first byte in a channel's filter
  std::uint64_t there = 0;    // bytes that a window has: no byte outside the filter is read
  Index first = 0, last = 0;  // windows
};

/// All rows, in the order of their places in the filter, so that it passes through the L1 cache once.
struct Gather {
  std::vector<GatheredRow> rows;
  std::vector<Window> windows;

  Gather() = default;
  Gather(const Geometry& g, const StagedBlock& l) {
    for (const Chunk& chunk : l.chunks) add(g, l, chunk);
    std::stable_sort(rows.begin(), rows.end(), [](const GatheredRow& a, const GatheredRow& b) { return a.at < b.at; });
  }

 private:
  void add(const Geometry& g, const StagedBlock& l, const Chunk& chunk) {
    std::array<Index, tile_depth> places{};
    std::uint64_t left = 0;
    Index least = 0, end = 0;
    for (Index byte = 0; byte < tile_depth; ++byte) {
      Element e{};
      if (!locate(g, l, chunk, byte, e)) continue;
      const Index place = e.channel * g.filter.c + e.y * g.filter.y + e.x * g.filter.x;
      least = left == 0 ? place : smaller(least, place);
      end = left == 0 || place >= end ? place + 1 : end;
      places[static_cast<std::size_t>(byte)] = place;
      left |= std::uint64_t{1} << byte;
    }
    const Index reach = smaller(end - least, 64);
    GatheredRow row;
    row.chunk = static_cast<Index>(rows.size());
    row.at = least;
    row.there = ~std::uint64_t{0} >> (64 - reach);
    std::vector<Window> pattern;
    while (left != 0) {
      pattern.push_back(window(places, left, least, end - reach));
      left &= ~pattern.back().taken;
    }
    const auto known = std::search(windows.begin(), windows.end(), pattern.begin(), pattern.end());
    row.first = known - windows.begin();
    if (known == windows.end()) windows.insert(windows.end(), pattern.begin(), pattern.end());
    row.last = row.first + static_cast<Index>(pattern.size());
    rows.push_back(row);
  }

  // From the first of those that are `left`, or further ahead where it would end behind the last byte.
  static Window window(const std::array<Index, tile_depth>& places, std::uint64_t left, Index least, Index latest) {
    Index begin = latest;
    const auto each = [&](auto&& visit) {
      for (std::size_t byte = 0; byte < places.size(); ++byte) {
        if ((left >> byte & 1) != 0) visit(byte, places[byte]);
      }
    };
    each([&](std::size_t, Index place) { begin = smaller(begin, place); });
    Window w;
    w.at = begin - least;
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
