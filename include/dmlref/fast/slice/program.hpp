// program.hpp: a short pattern of units as byte shuffles of 16-byte vectors, worked out once at compile time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/view/shape.hpp"

DMLREF_BEGIN
namespace fast {

/// What a row repeats: `units` units of `unit_bytes` bytes, `in_step` apart in the input and packed in the output;
/// the next tile starts `in_advance` further in the input and right after this one in the output. Steps in bytes.
struct Tile {
  std::size_t unit_bytes = 0;
  std::size_t units = 1;
  Index in_step = 0;
  Index in_advance = 0;
  constexpr std::size_t bytes() const noexcept { return unit_bytes * units; }
};

/// One byte shuffle: 16 bytes loaded at in + `load`; byte i of the result is byte control[i] of them, or 0 where
/// control[i] is 0x80.
struct alignas(16) ShuffleTerm {
  std::array<std::uint8_t, 16> control{};
  Index load = 0;
};

/// `tiles` tiles at a time: output vector p is the OR of its `terms` shuffles, term[p * terms …]; all vectors are full
/// but the last, of which `last_bytes` count. Loads stay between the lowest and the highest byte that the tiles need;
/// only where these are less than 16 apart they go `over_read` bytes further, on the side where the next tiles are.
struct ShuffleProgram {
  static constexpr std::size_t max_vectors = 4;
  static constexpr std::size_t max_terms = 4;

  std::size_t tiles = 0;  // 0: there is no program
  std::size_t vectors = 0;
  std::size_t terms = 0;
  std::size_t last_bytes = 0;
  std::size_t out_advance = 0;
  Index in_advance = 0;
  std::size_t over_read = 0;
  std::size_t spill = 0;  // tiles that must follow in the row to make up for `over_read` and a partial last vector
  std::array<ShuffleTerm, max_vectors * max_terms> term{};

  /// About the cycles of a row of `count` tiles: a load with its shuffle for each term, a store for each vector, and a
  /// branch that is guessed wrong where a short row takes more than one step. Where the last vector is not full the
  /// steps' stores overlap and run at half the pace.
  constexpr double cost(std::size_t count) const noexcept {
    const std::size_t steps = (count + tiles - 1) / tiles;
    const std::size_t step = vectors * terms + (last_bytes < 16 && steps > 1 ? 3 : 1) * vectors;
    return 0.6 * static_cast<double>(steps * step) + (steps > 1 ? 8.0 : 0.0);
  }
};

namespace detail {

/// Input byte, relative to the first tile's first unit, that output byte `at` of a run of tiles comes from.
constexpr Index source_byte(const Tile& tile, std::size_t at) noexcept {
  const std::size_t which = at / tile.bytes();
  const std::size_t inside = at % tile.bytes();
  return static_cast<Index>(which) * tile.in_advance + static_cast<Index>(inside / tile.unit_bytes) * tile.in_step +
         static_cast<Index>(inside % tile.unit_bytes);
}

/// The program for exactly `tiles` tiles; tiles == 0 in the result where it would take too many loads.
constexpr ShuffleProgram program_of(const Tile& tile, std::size_t tiles) noexcept {
  ShuffleProgram program;
  const std::size_t bytes = tiles * tile.bytes();
  const std::size_t vectors = (bytes + 15) / 16;
  if (vectors > ShuffleProgram::max_vectors) return {};
  Index lowest = source_byte(tile, 0);
  Index highest = lowest;
  for (std::size_t at = 0; at < bytes; ++at) {
    const Index source = source_byte(tile, at);
    if (source < lowest) lowest = source;
    if (source > highest) highest = source;
  }
  program.over_read = highest - lowest < 15 ? static_cast<std::size_t>(15 - (highest - lowest)) : 0;

  std::array<std::size_t, ShuffleProgram::max_vectors> used{};
  for (std::size_t p = 0; p < vectors; ++p) {
    const std::size_t first = p * 16;
    const std::size_t last = first + 16 < bytes ? first + 16 : bytes;
    std::array<bool, 16> done{};
    std::size_t terms = 0;
    while (true) {  // the lowest byte that is still missing opens a window of 16
      bool missing = false;
      Index from = 0;
      for (std::size_t at = first; at < last; ++at) {
        if (done[at - first]) continue;
        const Index source = source_byte(tile, at);
        if (!missing || source < from) from = source;
        missing = true;
      }
      if (!missing) break;
      if (terms == ShuffleProgram::max_terms) return {};
      Index window = from;  // moved down where it would pass the highest byte of all
      if (window + 15 > highest) window = highest - 15 > lowest || tile.in_advance < 0 ? highest - 15 : lowest;
      ShuffleTerm& term = program.term[p * ShuffleProgram::max_terms + terms];
      term.control.fill(0x80);
      term.load = window;
      for (std::size_t at = first; at < last; ++at) {
        const Index source = source_byte(tile, at);
        if (done[at - first] || source < window || source > window + 15) continue;
        term.control[at - first] = static_cast<std::uint8_t>(source - window);
        done[at - first] = true;
      }
      ++terms;
    }
    used[p] = terms;
    if (terms > program.terms) program.terms = terms;
  }
  // The same number of terms for every vector: the missing ones give zeros.
  ShuffleProgram packed = program;
  for (std::size_t p = 0; p < vectors; ++p) {
    for (std::size_t t = 0; t < program.terms; ++t) {
      ShuffleTerm term = program.term[p * ShuffleProgram::max_terms + (t < used[p] ? t : 0)];
      if (t >= used[p]) term.control.fill(0x80);
      packed.term[p * program.terms + t] = term;
    }
  }
  packed.tiles = tiles;
  packed.vectors = vectors;
  packed.last_bytes = bytes - (vectors - 1) * 16;
  packed.out_advance = bytes;
  packed.in_advance = static_cast<Index>(tiles) * tile.in_advance;
  if (packed.over_read > 0) {
    const Index step = tile.in_advance < 0 ? -tile.in_advance : tile.in_advance;
    packed.spill = step == 0 ? ~std::size_t{0} / 2 : packed.over_read / static_cast<std::size_t>(step) + 1;
  }
  if (packed.last_bytes < 16) {
    const std::size_t out = (16 - packed.last_bytes) / tile.bytes() + 1;
    if (packed.spill < out) packed.spill = out;
  }
  return packed;
}

}  // namespace detail

/// The cheapest program for a row of `count` tiles; tiles == 0 where there is none.
constexpr ShuffleProgram shuffle_program(const Tile& tile, std::size_t count) noexcept {
  ShuffleProgram best;
  for (std::size_t vectors = 1; vectors <= ShuffleProgram::max_vectors; ++vectors) {
    std::size_t tiles = vectors * 16 / tile.bytes();
    if (tiles > count) tiles = count;
    ShuffleProgram program = tiles == 0 ? ShuffleProgram{} : detail::program_of(tile, tiles);
    while (vectors == 1 && program.tiles == 0 && tiles > 1) program = detail::program_of(tile, --tiles);
    if (program.tiles == 0) continue;
    if (best.tiles == 0 || program.cost(count) < best.cost(count)) best = program;
  }
  return best;
}

}  // namespace fast
DMLREF_END
