// job.hpp: what a slice kernel is told: the form of one row, fixed at compile time, and where the rows lie.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/fast/slice/program.hpp"
#include "dmlref/view/shape.hpp"

DMLREF_BEGIN
namespace fast {

/// How a row is copied.
enum class RowKind {
  copy,     ///< one run of bytes
  fill,     ///< one unit repeated: a broadcast input
  shuffle,  ///< a pattern of a few units, repeated: strides, reversal, pixels
  steps,    ///< units one after another, any steps
  strip,    ///< `width` neighbouring rows at once: input and output disagree on the fast axis
};

/// One row of the input and of the output, in bytes from the bases that the kernel is given.
struct RowPlace {
  Index in = 0;
  Index out = 0;
};

/// As many tiles as one permutation of 64 bytes makes out of one vector.
struct TileGroup {
  std::size_t tiles = 0;
  std::size_t out_bytes = 0;
  std::size_t span = 0;                    // bytes of input
  Index load = 0;                          // the first of them, from the first tile
  std::array<std::uint8_t, 64> control{};  // of each byte of output the byte of input
  constexpr bool masked() const noexcept { return span <= 16 || (span > 32 && span <= 48); }  // loaded exactly
};

struct RowJob;

/// What a kernel may do beyond its rows.
struct Room {
  bool read = false;   // `room_bytes` bytes before and after every row may be read
  bool write = false;  // `room_bytes` bytes after every row may be written: a later row writes them again
};
inline constexpr std::size_t room_bytes = 16;

/// Copies rows[0] … rows[count - 1].
using RowKernel = void (*)(const RowJob& job, const std::byte* in, std::byte* out, const RowPlace* rows,
                           std::size_t count, Room room) noexcept;

/// The form of one row. Steps in bytes.
struct RowJob {
  RowKind kind = RowKind::steps;
  std::size_t unit_bytes = 1;
  std::size_t count = 0;  // tiles for `shuffle`, else units
  Index in_step = 0;
  Index out_step = 0;
  std::size_t out_bytes = 0;   // from the row's first byte to the end of its last
  bool stream = false;         // by non-temporal stores
  bool interleave = false;     // streamed rows of a page and more: four at a time
  bool joined = false;         // every row starts where the one before it ends
  bool in_columns = false;     // rows cut out of longer ones: a piece of many, then the next piece of each
  bool irregular = false;      // rows in an order that no prefetcher follows, written exactly
  std::size_t rows_ahead = 1;  // how far ahead the input is prefetched
  Index output_prefetch = 0;   // bytes of output that rows that are not streamed prefetch ahead; 0: none
  Tile tile{};                 // for `shuffle`
  ShuffleProgram program{};
  Index program_prefetch = 0;  // bytes of input, in its direction, that a streamed program prefetches ahead; 0: none
  bool tiles_alone = false;    // one tile after another by `tile_alone`
  ShuffleTerm tile_alone{};
  TileGroup group{};      // rows of a few of them; without tiles: none
  std::size_t width = 1;  // for `strip`: rows in it, and the steps between them
  Index in_cross = 0;
  Index out_cross = 0;
};

/// The kernels of one instruction set, and what its table says beside them; wide rows are indexed by log2 of the unit
/// size. Null: there is none, and another kernel does it.
struct SliceKernels {
  RowKernel copy = nullptr;
  RowKernel stream_joined = nullptr;  // copies of `stream` and `joined` rows; null: `copy` does it
  std::size_t joined_from = 0;        // bytes of a row from which it can
  RowKernel fill = nullptr;
  RowKernel shuffle = nullptr;  // null: `steps` does it
  Index program_prefetch = 0;   // RowJob::program_prefetch
  RowKernel tiles = nullptr;    // `shuffle` of tiles of 9 to 15 bytes that one vector of input holds
  double tile_cycles = 0;       // of one such tile, a load and a store
  RowKernel groups = nullptr;   // `shuffle` of up to four `TileGroup`s
  RowKernel steps = nullptr;
  RowKernel strip = nullptr;
  std::size_t wide_from = 0;  // bytes of output from which a wide row pays; 32 at least
  RowKernel reverse[4] = {};
  RowKernel every_second[4] = {};
  void (*fence)() noexcept = nullptr;  // after streamed rows
};

}  // namespace fast
DMLREF_END
