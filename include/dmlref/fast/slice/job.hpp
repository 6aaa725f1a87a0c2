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
  std::size_t out_bytes = 0;    // from the row's first byte to the end of its last
  bool stream = false;          // write around the caches
  bool in_turns = true;         // streamed rows of a page and more: four at a time
  bool joined = false;          // every row starts where the one before it ends
  bool in_columns = false;      // rows cut out of longer ones: a piece of many, then the next piece of each
  bool scattered = false;       // rows in an order that is none to the CPU's prefetchers, written exactly
  RowKernel staged = nullptr;   // collects rows that are then streamed; null: they are not collected
  std::size_t rows_ahead = 1;   // how far ahead the input is prefetched
  std::size_t lines_ahead = 0;  // rows by which those through the caches ask for every line of input; 0: rows_ahead
  Index out_ahead = 0;          // bytes of output by which rows through the caches ask ahead; 0: they do not
  Tile tile{};                  // for `shuffle`
  ShuffleProgram program{};
  Index program_ahead = 0;   // bytes of input, in its direction, by which a streamed program asks ahead; 0: it does not
  bool tiles_alone = false;  // one tile after another by `tile_alone`
  ShuffleTerm tile_alone{};
  TileGroup group{};      // rows of a few of them; without tiles: none
  std::size_t width = 1;  // for `strip`: rows in it, and the steps between them
  Index in_cross = 0;
  Index out_cross = 0;
};

/// The kernels of one instruction set, and what its table says beside them; wide rows are indexed by log2 of the unit
/// size. Null: the CPU has none, and another kernel does it.
struct SliceKernels {
  RowKernel copy = nullptr;
  RowKernel stream_joined = nullptr;        // copies of `stream` and `joined` rows; null: `copy` does it
  std::size_t joined_from = 0;              // bytes of a row from which it can
  std::uint64_t stream_eighths = 5;         // of the own part of the last-level cache: from here on around it
  std::uint64_t shared_stream_eighths = 0;  // the same for several tasks, where it is less; 0: it is not
  std::uint64_t shared_sixths = 0;          // of that part: SliceTuning::shared_bytes
  std::uint64_t shared_backwards_sixths = 0;
  std::size_t turns_from = 0;       // SliceTuning::turns_from
  std::size_t in_ahead = 0;         // SliceTuning::in_ahead
  std::size_t copies_ahead = 0;     // SliceTuning::copies_ahead
  std::size_t copies_ahead_to = 0;  // SliceTuning::copies_ahead_to
  Index out_ahead = 0;              // SliceTuning::out_ahead, on CPUs where stores wait for their lines
  bool scatters = false;            // SliceTuning::scattered_to
  bool columns = false;             // SliceTuning::columns_from
  RowKernel staged = nullptr;       // streams `joined` rows of less than 1 KiB that RowJob::staged collects
  RowKernel fill = nullptr;
  RowKernel shuffle = nullptr;         // null: `steps` does it
  RowKernel stream_shuffle = nullptr;  // `shuffle` of `stream` rows; null: `shuffle` does it
  Index program_ahead = 0;             // RowJob::program_ahead
  RowKernel tiles = nullptr;           // `shuffle` of tiles of 9 to 15 bytes that one vector of input holds
  double tile_cycles = 0;              // of one such tile, a load and a store
  RowKernel groups = nullptr;          // `shuffle` of up to four `TileGroup`s
  double masked_group_cycles = 0;      // of a group, in addition, that is loaded with a mask
  RowKernel steps = nullptr;
  RowKernel strip = nullptr;
  std::size_t wide_from = 0;  // bytes of output from which a wide row pays; 32 at least
  RowKernel reverse[4] = {};
  RowKernel every_second[4] = {};
  RowKernel every_second_back[4] = {};
  RowKernel reverse_narrow[4] = {};       // 33 to 127 bytes; null: `reverse` from wide_from on
  RowKernel every_second_narrow[4] = {};  // every second unit, wide_from to 63 bytes of output; null: `every_second`
  void (*fence)() noexcept = nullptr;     // after streamed rows
};

}  // namespace fast
DMLREF_END
