// scalar.hpp: the slice kernels in plain C++; every instruction set falls back on these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/fast/slice/job.hpp"

DMLREF_BEGIN
namespace fast::scalar {

template <std::size_t Bytes>
inline void move(std::byte* out, const std::byte* in) noexcept {
  std::byte unit[Bytes];
  std::memcpy(unit, in, Bytes);
  std::memcpy(out, unit, Bytes);
}

inline void prefetch(const std::byte* p) noexcept { __builtin_prefetch(p); }
inline std::size_t misaligned(const std::byte* p, std::size_t alignment) noexcept {
  return reinterpret_cast<std::uintptr_t>(p) % alignment;
}

/// `bytes` < 16, exactly.
inline void copy_few(std::byte* out, const std::byte* in, std::size_t bytes) noexcept {
  if (bytes >= 8) {
    std::uint64_t first, last;
    std::memcpy(&first, in, 8);
    std::memcpy(&last, in + bytes - 8, 8);
    std::memcpy(out, &first, 8);
    std::memcpy(out + bytes - 8, &last, 8);
  } else if (bytes >= 4) {
    std::uint32_t first, last;
    std::memcpy(&first, in, 4);
    std::memcpy(&last, in + bytes - 4, 4);
    std::memcpy(out, &first, 4);
    std::memcpy(out + bytes - 4, &last, 4);
  } else if (bytes >= 2) {
    move<2>(out, in);
    out[bytes - 1] = in[bytes - 1];
  } else if (bytes == 1) {
    out[0] = in[0];
  }
}

template <std::size_t Bytes>
inline void step_units(const std::byte* in, std::byte* out, std::size_t count, Index in_step, Index out_step) noexcept {
  for (; count >= 4; count -= 4) {
    std::byte unit[4][Bytes];
    DMLREF_UNROLL
    for (Index k = 0; k < 4; ++k) std::memcpy(unit[k], in + k * in_step, Bytes);
    DMLREF_UNROLL
    for (Index k = 0; k < 4; ++k) std::memcpy(out + k * out_step, unit[k], Bytes);
    in += 4 * in_step;
    out += 4 * out_step;
  }
  for (; count > 0; --count) {
    move<Bytes>(out, in);
    in += in_step;
    out += out_step;
  }
}

inline void step_row(std::size_t unit_bytes, const std::byte* in, std::byte* out, std::size_t count, Index in_step,
                     Index out_step) noexcept {
  switch (unit_bytes) {
    case 1: return step_units<1>(in, out, count, in_step, out_step);
    case 2: return step_units<2>(in, out, count, in_step, out_step);
    case 4: return step_units<4>(in, out, count, in_step, out_step);
    case 8: return step_units<8>(in, out, count, in_step, out_step);
    default:
      for (; count > 0; --count) {
        std::memcpy(out, in, unit_bytes);
        in += in_step;
        out += out_step;
      }
  }
}

/// `count` tiles, one after another.
inline void step_tiles(const Tile& tile, const std::byte* in, std::byte* out, std::size_t count) noexcept {
  if (tile.units == 1) {
    return step_row(tile.unit_bytes, in, out, count, tile.in_advance, static_cast<Index>(tile.unit_bytes));
  }
  for (; count > 0; --count) {
    step_row(tile.unit_bytes, in, out, tile.units, tile.in_step, static_cast<Index>(tile.unit_bytes));
    in += tile.in_advance;
    out += tile.bytes();
  }
}

/// Tiles from `out` up to the next cache line, where a whole number of tiles ends; else a number that cannot be.
inline std::size_t tiles_to_line(const std::byte* out, std::size_t tile_bytes) noexcept {
  for (std::size_t k = 0; k < 64; ++k) {
    if (misaligned(out + k * tile_bytes, 64) == 0) return k;
  }
  return ~std::size_t{0};
}

/// What is left of a row.
struct ProgramRow {
  const std::byte* from;
  std::byte* to;
  std::size_t left;          // tiles
  std::size_t streamed = 0;  // steps of them
};

/// From the first whole line of a row on. Streamed are fours of steps, which are whole lines, as one that is written
/// half around and half through the caches costs as much as many. `last`: tiles that are left to the row's end at
/// least.
DMLREF_NOINLINE inline ProgramRow begin_stream(const RowJob& job, std::size_t last, ProgramRow row) noexcept {
  const ShuffleProgram& program = job.program;
  if (program.last_bytes != 16) return row;
  const std::size_t head = tiles_to_line(row.to, job.tile.bytes());
  if (head >= row.left || row.left - head < program.tiles + last) return row;
  step_tiles(job.tile, row.from, row.to, head);
  row.from += static_cast<Index>(head) * job.tile.in_advance;
  row.to += head * job.tile.bytes();
  row.left -= head;
  row.streamed = (row.left - last) / program.tiles / 4 * 4;
  return row;
}

inline void shuffle_rows(const RowJob& job, const std::byte* in, std::byte* out, const RowPlace* rows,
                         std::size_t count, Room) noexcept {
  for (std::size_t r = 0; r < count; ++r) step_tiles(job.tile, in + rows[r].in, out + rows[r].out, job.count);
}

inline void copy_rows(const RowJob& job, const std::byte* in, std::byte* out, const RowPlace* rows, std::size_t count,
                      Room) noexcept {
  if (job.out_bytes < 16) {
    for (std::size_t r = 0; r < count; ++r) copy_few(out + rows[r].out, in + rows[r].in, job.out_bytes);
    return;
  }
  for (std::size_t r = 0; r < count; ++r) std::memcpy(out + rows[r].out, in + rows[r].in, job.out_bytes);
}

/// The unit is written once and then doubled.
inline void fill_rows(const RowJob& job, const std::byte* in, std::byte* out, const RowPlace* rows, std::size_t count,
                      Room) noexcept {
  for (std::size_t r = 0; r < count; ++r) {
    std::byte* to = out + rows[r].out;
    std::memcpy(to, in + rows[r].in, job.unit_bytes);
    std::size_t done = job.unit_bytes;
    while (done < job.out_bytes) {
      std::size_t more = done < 4096 ? done : 4096 / job.unit_bytes * job.unit_bytes;
      if (more > job.out_bytes - done) more = job.out_bytes - done;
      std::memcpy(to + done, to, more);
      done += more;
    }
  }
}

inline void step_rows(const RowJob& job, const std::byte* in, std::byte* out, const RowPlace* rows, std::size_t count,
                      Room) noexcept {
  for (std::size_t r = 0; r < count; ++r) {
    step_row(job.unit_bytes, in + rows[r].in, out + rows[r].out, job.count, job.in_step, job.out_step);
  }
}

/// Blocks of `width` rows by a few units, so that the lines of both sides stay in the first-level cache.
inline void strip_rows(const RowJob& job, const std::byte* in, std::byte* out, const RowPlace* rows, std::size_t count,
                       Room) noexcept {
  constexpr std::size_t block = 64;
  for (std::size_t r = 0; r < count; ++r) {
    for (std::size_t at = 0; at < job.count; at += block) {
      const std::size_t units = job.count - at < block ? job.count - at : block;
      const std::byte* from = in + rows[r].in + static_cast<Index>(at) * job.in_step;
      std::byte* to = out + rows[r].out + static_cast<Index>(at) * job.out_step;
      for (std::size_t w = 0; w < job.width; ++w) {
        step_row(job.unit_bytes, from, to, units, job.in_step, job.out_step);
        from += job.in_cross;
        to += job.out_cross;
      }
    }
  }
}

inline void fence() noexcept {}

}  // namespace fast::scalar
DMLREF_END
