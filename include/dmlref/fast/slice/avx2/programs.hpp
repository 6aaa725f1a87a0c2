// programs.hpp: rows in steps of a program of byte shuffles, or in tiles.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/fast/slice/avx2/vectors.hpp"
#include "dmlref/fast/slice/job.hpp"
#include "dmlref/fast/slice/scalar.hpp"

DMLREF_BEGIN
namespace fast::avx2 {

/// The first `bytes` of v, 1 to 16.
DMLREF_TARGET_AVX2 inline void store_part(std::byte* out, __m128i v, std::size_t bytes) noexcept {
  if (bytes == 16) return store16(out, v);
  if ((bytes & 8) != 0) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out), v);
    v = _mm_unpackhi_epi64(v, v);
    out += 8;
  }
  std::uint64_t rest = static_cast<std::uint64_t>(_mm_cvtsi128_si64(v));
  for (std::size_t size = 4; size > 0; size /= 2) {
    if ((bytes & size) == 0) continue;
    std::memcpy(out, &rest, size);
    out += size;
    rest >>= 8 * size;
  }
}

/// A program in registers: the compiler may not keep what lies in memory there, as every store of bytes might change
/// it.
template <std::size_t Vectors, std::size_t Terms>
struct Program {
  __m128i control[Vectors * Terms];
  Index load[Vectors * Terms];
};

template <std::size_t Vectors, std::size_t Terms>
DMLREF_TARGET_AVX2 inline void load_program(Program<Vectors, Terms>& to, const ShuffleProgram& from) noexcept {
  DMLREF_UNROLL
  for (std::size_t t = 0; t < Vectors * Terms; ++t) {
    to.control[t] = _mm_load_si128(reinterpret_cast<const __m128i*>(from.term[t].control.data()));
    to.load[t] = from.term[t].load;
  }
}

template <std::size_t Vectors, std::size_t Terms>
DMLREF_TARGET_AVX2 inline __m128i program_vector(const Program<Vectors, Terms>& program, std::size_t p,
                                                 const std::byte* in) noexcept {
  const std::size_t t = p * Terms;
  __m128i v = _mm_shuffle_epi8(load16(in + program.load[t]), program.control[t]);
  if constexpr (Terms > 1)
    v = _mm_or_si128(v, _mm_shuffle_epi8(load16(in + program.load[t + 1]), program.control[t + 1]));
  if constexpr (Terms > 2)
    v = _mm_or_si128(v, _mm_shuffle_epi8(load16(in + program.load[t + 2]), program.control[t + 2]));
  if constexpr (Terms > 3)
    v = _mm_or_si128(v, _mm_shuffle_epi8(load16(in + program.load[t + 3]), program.control[t + 3]));
  return v;
}

/// One step, the last vector whole; all loads before the stores. Streamed: `out` is a multiple of 16.
template <bool Stream, std::size_t Vectors, std::size_t Terms>
DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE void program_step(const Program<Vectors, Terms>& program, const std::byte* in,
                                                          std::byte* out) noexcept {
  __m128i v[Vectors];
  DMLREF_UNROLL
  for (std::size_t p = 0; p < Vectors; ++p) v[p] = program_vector(program, p, in);
  DMLREF_UNROLL
  for (std::size_t p = 0; p < Vectors; ++p) {
    if constexpr (Stream) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(out + 16 * p), v[p]);
    } else {
      store16(out + 16 * p, v[p]);
    }
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
  scalar::step_tiles(job.tile, row.from, row.to, head);
  row.from += static_cast<Index>(head) * job.tile.in_advance;
  row.to += head * job.tile.bytes();
  row.left -= head;
  row.streamed = (row.left - last) / program.tiles / 4 * 4;
  return row;
}

/// The end of a row where nothing beyond it may be written, or even read.
DMLREF_NOINLINE DMLREF_TARGET_AVX2 inline void end_row_exactly(const RowJob& job, ProgramRow row,
                                                               bool may_read) noexcept {
  const ShuffleProgram& program = job.program;
  if (!may_read) return scalar::step_tiles(job.tile, row.from, row.to, row.left);
  while (row.left > 0) {
    if (row.left < program.tiles) {  // does again some tiles that are done
      const std::size_t back = program.tiles - row.left;
      row.from -= static_cast<Index>(back) * job.tile.in_advance;
      row.to -= back * job.tile.bytes();
      row.left = program.tiles;
    }
    for (std::size_t p = 0; p < program.vectors; ++p) {
      __m128i v = _mm_setzero_si128();
      for (std::size_t t = p * program.terms; t < (p + 1) * program.terms; ++t) {
        const __m128i control = _mm_load_si128(reinterpret_cast<const __m128i*>(program.term[t].control.data()));
        v = _mm_or_si128(v, _mm_shuffle_epi8(load16(row.from + program.term[t].load), control));
      }
      store_part(row.to + 16 * p, v, p + 1 < program.vectors ? 16 : program.last_bytes);
    }
    row.from += program.in_advance;
    row.to += program.out_advance;
    row.left -= program.tiles;
  }
}

template <std::size_t Vectors, std::size_t Terms>
DMLREF_TARGET_AVX2 inline void shuffle_rows_of(const RowJob& job, const std::byte* in, std::byte* out,
                                               const RowPlace* rows, std::size_t count, Room room) noexcept {
  Program<Vectors, Terms> held;
  load_program(held, job.program);
  const std::size_t tiles = job.program.tiles, out_advance = job.program.out_advance, row_tiles = job.count;
  const Index in_advance = job.program.in_advance;
  const bool may_read = room.read || job.program.over_read == 0;
  const bool exact = !may_read || !(room.write || job.program.last_bytes == 16);
  if (row_tiles == tiles && !exact) {  // (the loops below take short rows twice the time)
    const Index output_prefetch = job.output_prefetch;
    for (std::size_t r = 0; r < count; ++r) {
      if (output_prefetch != 0) prefetch(out + rows[r].out + output_prefetch);
      program_step<false>(held, in + rows[r].in, out + rows[r].out);
    }
    return;
  }
  const Index ahead = job.program_prefetch, step = job.tile.in_advance;
  const Index row_bytes = static_cast<Index>(row_tiles) * step;
  const std::size_t ahead_tiles = step == 0 ? 0 : static_cast<std::size_t>(ahead / step);
  const std::size_t last = exact && job.program.spill > 1 ? job.program.spill : 1;  // tiles that must follow a step
  for (std::size_t r = 0; r < count; ++r) {
    ProgramRow row{in + rows[r].in, out + rows[r].out, row_tiles};
    if (job.stream) {
      row = begin_stream(job, last, row);
      const Index next_row = r + 1 < count ? rows[r + 1].in - rows[r].in - row_bytes : 0;  // from the end of this one
      for (; row.streamed > 0; --row.streamed, row.left -= tiles) {
        if (ahead != 0) prefetch(row.from + (row.left > ahead_tiles ? ahead : ahead + next_row));
        program_step<true>(held, row.from, row.to);
        row.from += in_advance;
        row.to += out_advance;
      }
    }
    for (; row.left >= tiles + last; row.left -= tiles) {
      program_step<false>(held, row.from, row.to);
      row.from += in_advance;
      row.to += out_advance;
    }
    if (exact) {
      end_row_exactly(job, row, may_read);
      continue;
    }
    // The row's last step does again some tiles that are done, if it must.
    const std::size_t back = tiles - row.left;
    program_step<false>(held, row.from - static_cast<Index>(back) * step, row.to - back * job.tile.bytes());
  }
}

template <std::size_t Vectors>
DMLREF_TARGET_AVX2 inline void shuffle_rows_with(const RowJob& job, const std::byte* in, std::byte* out,
                                                 const RowPlace* rows, std::size_t count, Room room) noexcept {
  switch (job.program.terms) {
    case 1: return shuffle_rows_of<Vectors, 1>(job, in, out, rows, count, room);
    case 2: return shuffle_rows_of<Vectors, 2>(job, in, out, rows, count, room);
    case 3: return shuffle_rows_of<Vectors, 3>(job, in, out, rows, count, room);
    default: return shuffle_rows_of<Vectors, 4>(job, in, out, rows, count, room);
  }
}

DMLREF_TARGET_AVX2 inline void shuffle_rows(const RowJob& job, const std::byte* in, std::byte* out,
                                            const RowPlace* rows, std::size_t count, Room room) noexcept {
  switch (job.program.vectors) {
    case 1: return shuffle_rows_with<1>(job, in, out, rows, count, room);
    case 2: return shuffle_rows_with<2>(job, in, out, rows, count, room);
    case 3: return shuffle_rows_with<3>(job, in, out, rows, count, room);
    default: return shuffle_rows_with<4>(job, in, out, rows, count, room);
  }
}

/// `Tiles` tiles of less than a vector, one load and one store each.
template <std::size_t Tiles>
DMLREF_TARGET_AVX2 inline void move_tiles(const std::byte* in, std::byte* out, Index in_step, Index out_step,
                                          __m128i control) noexcept {
  __m128i v[Tiles];
  DMLREF_UNROLL
  for (std::size_t k = 0; k < Tiles; ++k) {
    v[k] = _mm_shuffle_epi8(load16(in + static_cast<Index>(k) * in_step), control);
  }
  DMLREF_UNROLL
  for (std::size_t k = 0; k < Tiles; ++k) store16(out + static_cast<Index>(k) * out_step, v[k]);
}

/// Rows of so many tiles; 0: of any number.
template <std::size_t Tiles>
DMLREF_TARGET_AVX2 inline void tile_rows_of(const RowJob& job, const std::byte* in, std::byte* out,
                                            const RowPlace* rows, std::size_t count) noexcept {
  const __m128i control = _mm_load_si128(reinterpret_cast<const __m128i*>(job.tile_alone.control.data()));
  const Index in_step = job.tile.in_advance;
  const auto out_step = static_cast<Index>(job.tile.bytes());
  const std::size_t tiles = job.count;
  in += job.tile_alone.load;
  for (std::size_t r = 0; r < count; ++r) {
    const std::byte* from = in + rows[r].in;
    std::byte* to = out + rows[r].out;
    if constexpr (Tiles > 0) {
      move_tiles<Tiles>(from, to, in_step, out_step, control);
    } else {
      std::size_t left = tiles;
      for (; left >= 4; left -= 4, from += 4 * in_step, to += 4 * out_step) {
        move_tiles<4>(from, to, in_step, out_step, control);
      }
      for (; left > 0; --left, from += in_step, to += out_step) move_tiles<1>(from, to, in_step, out_step, control);
    }
  }
}

/// Tiles of 9 to 15 bytes out of one vector each: less work than to join them to full vectors, although the stores
/// overlap. Branches would cost a short row as much as its bytes.
DMLREF_TARGET_AVX2 inline void tile_rows(const RowJob& job, const std::byte* in, std::byte* out, const RowPlace* rows,
                                         std::size_t count, Room room) noexcept {
  if (!room.read || !room.write) return shuffle_rows(job, in, out, rows, count, room);
  switch (job.count) {
    case 2: return tile_rows_of<2>(job, in, out, rows, count);
    case 3: return tile_rows_of<3>(job, in, out, rows, count);
    case 4: return tile_rows_of<4>(job, in, out, rows, count);
    default: return tile_rows_of<0>(job, in, out, rows, count);
  }
}

}  // namespace fast::avx2
DMLREF_END

#endif  // DMLREF_ARCH_X86_64
