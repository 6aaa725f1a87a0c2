// strategy.hpp: how a row is copied: one struct per strategy, fixed at compile time, and the kernels of a target.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
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

enum class Stores : std::uint8_t {
  cached,        ///< row by row
  non_temporal,  ///< by non-temporal stores
};

/// What a call of a kernel may do beyond its rows, and how it stores.
struct RowAccess {
  bool read = false;   // `room_bytes` bytes before and after every row may be read
  bool write = false;  // `room_bytes` bytes after every row may be written: a later row writes them again
  Stores stores = Stores::cached;
};
inline constexpr std::size_t room_bytes = 16;

struct RowStrategy;

/// Copies rows[0] … rows[count - 1]. `strategy` is of the type that the kernel is for.
using RowKernel = void (*)(const RowStrategy& strategy, const std::byte* in, std::byte* out, const RowPlace* rows,
                           std::size_t count, RowAccess access) noexcept;

/// What every strategy has; a copy of one run of bytes needs no more. Steps in bytes.
struct RowStrategy {
  std::string_view name;
  RowKernel kernel = nullptr;
  std::size_t out_bytes = 0;  // from the row's first byte to the end of its last
  bool exact = false;         // touches nothing beyond its rows, whatever RowAccess permits
  // The lowest and one past the highest byte that a row reads, from its place; of no matter to exact rows.
  Index lowest = 0;
  Index highest = 0;
  bool joined = false;           // every row starts where the one before it ends
  bool interleave = false;       // rows of a page and more by non-temporal stores: four at a time
  std::size_t rows_ahead = 1;    // how far ahead the input is prefetched
  bool prefetch_within = false;  // prefetches the row itself before non-temporal stores
  Index output_prefetch = 0;     // bytes of output that cached stores prefetch ahead; 0: none
};

/// One unit repeated: a broadcast input.
struct FillRows : RowStrategy {
  std::size_t unit_bytes = 1;
};

/// `count` units one after another, any steps.
struct StepRows : RowStrategy {
  std::size_t unit_bytes = 1;
  std::size_t count = 0;
  Index in_step = 0;
  Index out_step = 0;
};

/// `width` neighbouring rows at once: input and output disagree on the fast axis.
struct StripRows : StepRows {
  std::size_t width = 1;
  Index in_cross = 0;
  Index out_cross = 0;
};

/// `count` periods of a pattern: strides, reversal, pixels. Kernels for reversal and for every second unit take a
/// pattern of one vector.
struct PatternRows : RowStrategy {
  PatternPeriod period{};
  std::size_t count = 0;
  ShufflePattern pattern{};
};

/// Rows of a pattern that one permutation makes: 17 to 32 bytes out of `in_bytes`, up to 64.
struct PermutedRows : PatternRows {
  std::array<std::uint8_t, 32> control{};  // of each byte of output the byte of input, from `lowest` on
  std::size_t in_bytes = 0;
};

/// The kernels of one target. Null: there is none, and another strategy does it.
struct SliceKernels {
  RowKernel copy = nullptr;
  std::size_t joined_from = 0;  // bytes of joined rows from which `copy` has non-temporal stores; 0: none
  RowKernel fill = nullptr;
  RowKernel pattern = nullptr;
  RowKernel reverse = nullptr;       // patterns of rows of at least `wide_from` bytes
  RowKernel every_second = nullptr;  // the same
  static constexpr std::size_t wide_from = 48;
  RowKernel permute = nullptr;
  RowKernel steps = nullptr;
  RowKernel strip = nullptr;
};

}  // namespace fast
DMLREF_END
