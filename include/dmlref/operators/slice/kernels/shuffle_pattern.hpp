// shuffle_pattern.hpp: a short pattern of units as byte shuffles of 16-byte vectors, worked out once at compile time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "dmlref/config.hpp"
#include "dmlref/view/narrow.hpp"
#include "dmlref/view/shape.hpp"

DMLREF_BEGIN
namespace fast {

/// What a row repeats: `units` units of `unit_bytes` bytes, `in_step` apart in the input and packed in the output;
/// the next period starts `in_advance` further in the input and right after this one in the output. Steps in bytes.
struct PatternPeriod {
  std::size_t unit_bytes = 0;
  std::size_t units = 1;
  Index in_step = 0;
  Index in_advance = 0;
  constexpr std::size_t bytes() const noexcept { return unit_bytes * units; }

  /// Input byte, relative to the first unit, that output byte `at` of a row comes from.
  constexpr Index source(std::size_t at) const noexcept {
    const std::size_t inside = at % bytes();
    return static_cast<Index>(at / bytes()) * in_advance + static_cast<Index>(inside / unit_bytes) * in_step +
           static_cast<Index>(inside % unit_bytes);
  }
};

/// One byte shuffle: 16 bytes loaded at in + `load`; byte i of the result is byte control[i] of them, or 0 where
/// control[i] is 0x80.
struct alignas(16) ShuffleTerm {
  std::array<std::uint8_t, 16> control{};
  Index load = 0;
};

/// `periods` periods at a time: output vector p, stored at `pitch` * p, is the OR of its `terms` shuffles,
/// term[p * terms …]. Loads stay between the lowest and the highest byte that the periods need; only where these are
/// less than 16 apart they go `over_read` bytes further, on the side where the next periods are.
struct ShufflePattern {
  static constexpr std::size_t max_vectors = 4;
  static constexpr std::size_t max_terms = 4;

  std::size_t periods = 0;
  std::size_t vectors = 0;
  std::size_t terms = 0;
  std::size_t pitch = 16;      // less: each vector writes over what the one before it spilled
  std::size_t last_bytes = 0;  // of the last vector that count
  std::size_t out_advance = 0;
  Index in_advance = 0;
  std::size_t over_read = 0;
  std::size_t spill = 0;  // periods that must follow in the row to make up for `over_read` and a partial last vector
  std::array<ShuffleTerm, max_vectors * max_terms> term{};

  /// About the 80ths of a cycle that a row of `count` periods takes: a load with its shuffle for each term, a store for
  /// each vector, and a branch that is guessed wrong where a short row takes more than one step. Where the last vector
  /// of 16 is not full the steps' stores overlap and run at half the pace.
  constexpr std::uint64_t cost(std::size_t count) const noexcept {
    if (pitch < 16) return std::uint64_t{120} * count;
    const std::size_t steps = (count + periods - 1) / periods;
    const std::size_t step = vectors * terms + (last_bytes < 16 && steps > 1 ? 3 : 1) * vectors;
    return std::uint64_t{48} * steps * step + (steps > 1 ? 640 : 0);
  }
};

/// The pattern for exactly `periods` periods; none where it would take too many loads.
constexpr std::optional<ShufflePattern> pattern_of(const PatternPeriod& period, std::size_t periods,
                                                   std::size_t pitch = 16) noexcept {
  ShufflePattern pattern;
  const std::size_t bytes = periods * period.bytes();
  const std::size_t vectors = (bytes + pitch - 1) / pitch;
  if (vectors > ShufflePattern::max_vectors) return std::nullopt;
  Index lowest = period.source(0);
  Index highest = lowest;
  for (std::size_t at = 0; at < bytes; ++at) {
    const Index source = period.source(at);
    if (source < lowest) lowest = source;
    if (source > highest) highest = source;
  }
  pattern.over_read = highest - lowest < 15 ? static_cast<std::size_t>(15 - (highest - lowest)) : 0;

  std::array<std::size_t, ShufflePattern::max_vectors> used{};
  for (std::size_t p = 0; p < vectors; ++p) {
    const std::size_t first = p * pitch;
    const std::size_t last = first + pitch < bytes ? first + pitch : bytes;
    std::array<bool, 16> done{};
    std::size_t terms = 0;
    while (true) {  // the lowest byte that is still missing opens a window of 16
      bool missing = false;
      Index from = 0;
      for (std::size_t at = first; at < last; ++at) {
        if (done[at - first]) continue;
        const Index source = period.source(at);
        if (!missing || source < from) from = source;
        missing = true;
      }
      if (!missing) break;
      if (terms == ShufflePattern::max_terms) return std::nullopt;
      Index window = from;  // moved down where it would pass the highest byte of all
      if (window + 15 > highest) window = highest - 15 > lowest || period.in_advance < 0 ? highest - 15 : lowest;
      ShuffleTerm& term = pattern.term[p * ShufflePattern::max_terms + terms];
      term.control.fill(0x80);
      term.load = window;
      for (std::size_t at = first; at < last; ++at) {
        const Index source = period.source(at);
        if (done[at - first] || source < window || source > window + 15) continue;
        term.control[at - first] = dmlref::detail::narrow<std::uint8_t>(source - window);  // up to 15
        done[at - first] = true;
      }
      ++terms;
    }
    used[p] = terms;
    if (terms > pattern.terms) pattern.terms = terms;
  }
  // The same number of terms for every vector: the missing ones give zeros.
  ShufflePattern packed = pattern;
  for (std::size_t p = 0; p < vectors; ++p) {
    for (std::size_t t = 0; t < pattern.terms; ++t) {
      ShuffleTerm term = pattern.term[p * ShufflePattern::max_terms + (t < used[p] ? t : 0)];
      if (t >= used[p]) term.control.fill(0x80);
      packed.term[p * pattern.terms + t] = term;
    }
  }
  packed.periods = periods;
  packed.vectors = vectors;
  packed.pitch = pitch;
  packed.last_bytes = bytes - (vectors - 1) * pitch;
  packed.out_advance = bytes;
  packed.in_advance = static_cast<Index>(periods) * period.in_advance;
  if (packed.over_read > 0) {
    const Index step = period.in_advance < 0 ? -period.in_advance : period.in_advance;
    packed.spill = step == 0 ? ~std::size_t{0} / 2 : packed.over_read / static_cast<std::size_t>(step) + 1;
  }
  if (packed.last_bytes < 16) {
    const std::size_t out = (16 - packed.last_bytes) / period.bytes() + 1;
    if (packed.spill < out) packed.spill = out;
  }
  return packed;
}

/// The cheapest pattern for a row of `count` periods; none where all would take too many loads.
constexpr std::optional<ShufflePattern> shuffle_pattern(const PatternPeriod& period, std::size_t count) noexcept {
  std::optional<ShufflePattern> best;
  const auto consider = [&](const std::optional<ShufflePattern>& pattern) {
    if (pattern && (!best || pattern->cost(count) < best->cost(count))) best = pattern;
  };
  for (std::size_t vectors = 1; vectors <= ShufflePattern::max_vectors; ++vectors) {
    std::size_t periods = vectors * 16 / period.bytes();
    if (periods > count) periods = count;
    if (periods == 0) continue;
    std::optional<ShufflePattern> pattern = pattern_of(period, periods);
    while (vectors == 1 && !pattern && periods > 1) pattern = pattern_of(period, --periods);
    consider(pattern);
  }
  // Periods that are nearly a vector, one to a vector: less work than to join them, although the stores overlap. Such
  // patterns have no non-temporal stores, so the longest rows do without.
  if (period.bytes() > 8 && period.bytes() < 16 && count * period.bytes() < 1024) {
    const std::optional<ShufflePattern> apart =
        pattern_of(period, count < ShufflePattern::max_vectors ? count : ShufflePattern::max_vectors, period.bytes());
    if (apart && apart->terms == 1) consider(apart);
  }
  return best;
}

}  // namespace fast
DMLREF_END
