// strategy.hpp: how a row is copied: one struct per strategy, fixed at compile time, and the kernels of a target.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/operators/slice/kernels/shuffle_pattern.hpp"
#include "dmlref/view/shape.hpp"

DMLREF_BEGIN
namespace fast {

/// One row of the input and of the output, in bytes from the bases that the kernel is given.
struct RowPlace {
  Index in = 0;
  Index out = 0;
};

/// How rows are stored. All but `cached` are by non-temporal stores.
enum class Stores : std::uint8_t {
  cached,
  non_temporal,  ///< row by row
  interleaved,   ///< four rows at a time
  joined,        ///< rows that each start where the one before it ends, as one stream
};

/// What a call of a kernel may do beyond its rows, and how it stores.
struct RowAccess {
  bool read_slack = false;   // `slack_bytes` before and after every row may be read
  bool write_slack = false;  // `slack_bytes` after every row may be written: a later row writes them again
  Stores stores = Stores::cached;
};
inline constexpr std::size_t slack_bytes = 16;

struct RowCopy;

/// Copies rows[0] … rows[count - 1]. `strategy` is of the type that the kernel is for. (`access` by value would be put
/// together in memory, and its load would wait for all stores before.)
using RowKernel = void (*)(const RowCopy& strategy, const std::byte* in, std::byte* out, const RowPlace* rows,
                           std::size_t count, const RowAccess& access) noexcept;

/// The bytes that a row reads, from its place.
struct Span {
  Index lowest = 0;
  Index highest = 0;  // one past it
};

struct Prefetch {
  std::size_t rows = 0;                 // the input: so many rows ahead
  bool whole_rows = false;              // cached stores: all of that row, its output too
  bool own_row = false;                 // the input of non-temporal stores: the row itself, not those that follow
  std::optional<Index> output_bytes{};  // the output of cached stores: so far ahead of them
};

/// What every strategy has; a copy of one run of bytes needs no more. Steps in bytes.
struct RowCopy {
  std::string_view name;
  RowKernel kernel;
  std::size_t out_bytes;  // from the row's first byte to the end of its last
  Prefetch prefetch{};
  std::optional<Span> reads{};  // of a kernel that uses RowAccess's slack; others touch nothing beyond their rows
};

/// One unit repeated: a broadcast input.
struct FillRows : RowCopy {
  std::size_t unit_bytes;
};

/// `count` units one after another, any steps.
struct StepRows : RowCopy {
  std::size_t unit_bytes;
  std::size_t count;
  Index in_step;
  Index out_step;
};

/// A transposed panel, `width` neighbouring rows at once: input and output disagree on the fast axis.
struct PanelRows : StepRows {
  std::size_t width;
  Index in_cross;
  Index out_cross;
};

/// `count` periods of a pattern: strides, reversal, pixels. Kernels for reversal and for every second unit take a
/// pattern of one vector.
struct PatternRows : RowCopy {
  PatternPeriod period;
  std::size_t count;
  ShufflePattern pattern;
};

/// Rows of a pattern that one permutation makes: 17 to 32 bytes out of `in_bytes`, up to 64.
struct PermutedRows : RowCopy {
  Index lowest;                          // byte that a row reads, from its place
  std::size_t in_bytes;                  // from there on
  std::array<std::uint8_t, 32> control;  // of each byte of output the byte of input, from `lowest` on
};

/// Kernels by whole vectors of 32 bytes, for rows of at least `min_bytes`. A target that has them copies joined rows of
/// at least `min_joined_bytes` by non-temporal stores.
struct LineKernels {
  static constexpr std::size_t min_bytes = 48, min_joined_bytes = 128;
  RowKernel reverse;
  RowKernel every_second;
};

/// The kernels of one target. What is optional another strategy does.
struct SliceKernels {
  RowKernel copy;
  RowKernel fill;
  RowKernel steps;
  RowKernel panels;
  std::optional<RowKernel> shuffle{};
  std::optional<RowKernel> permute{};
  std::optional<LineKernels> lines{};
};

}  // namespace fast
DMLREF_END
