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
DMLREF_TARGET_AVX2 inline void program_step(const Program<Vectors, Terms>& program, const std::byte* in,
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

/// One step, of the last vector only the first `last_bytes`.
template <std::size_t Vectors, std::size_t Terms>
DMLREF_TARGET_AVX2 inline void program_step_exactly(const Program<Vectors, Terms>& program, const std::byte* in,
                                                    std::byte* out, std::size_t last_bytes) noexcept {
  DMLREF_UNROLL
  for (std::size_t p = 0; p + 1 < Vectors; ++p) store16(out + 16 * p, program_vector(program, p, in));
  store_part(out + 16 * (Vectors - 1), program_vector(program, Vectors - 1, in), last_bytes);
}

/// The rest of what a job says about steps, and what they may do in the rows of a call; in registers, too.
struct Steps {
  std::size_t tiles, last_bytes, out_advance, tile_out;
  Index in_advance, tile_in;
  bool may_read, may_write;
  std::size_t spill;  // tiles that must follow a step
};

inline Steps steps_of(const RowJob& job, Room room) noexcept {
  const ShuffleProgram& program = job.program;
  const bool may_read = room.read || program.over_read == 0, may_write = room.write || program.last_bytes == 16;
  return {program.tiles,    program.last_bytes, program.out_advance,
          job.tile.bytes(), program.in_advance, job.tile.in_advance,
          may_read,         may_write,          may_read && may_write ? 0 : program.spill};
}

/// What is left of a row.
struct ProgramRow {
  const std::byte* from;
  std::byte* to;
  std::size_t left;  // tiles
};

/// Up to the first line of a row from which on it can be streamed; false where it cannot.
inline bool begin_stream(const RowJob& job, const Steps& steps, ProgramRow& row) noexcept {
  if (steps.last_bytes != 16) return false;
  const std::size_t head = tiles_to_line(row.to, steps.tile_out);
  if (head >= row.left || row.left - head <= steps.tiles + steps.spill) return false;
  scalar::step_tiles(job.tile, row.from, row.to, head);
  row.from += static_cast<Index>(head) * steps.tile_in;
  row.to += head * steps.tile_out;
  row.left -= head;
  return true;
}

/// How far ahead of a streamed row its input is asked for: at the row's end, where the next one begins.
struct StreamAhead {
  Index bytes, bytes_at_end;
  std::size_t end;  // tiles

  Index operator()(std::size_t left) const noexcept { return left > end ? bytes : bytes_at_end; }
};

inline StreamAhead stream_ahead(const RowJob& job, const RowPlace* rows, std::size_t r, std::size_t count) noexcept {
  const Index step = job.tile.in_advance, ahead = job.program_ahead;
  const Index jump = r + 1 < count ? rows[r + 1].in - rows[r].in - static_cast<Index>(job.count) * step : 0;
  return {ahead, ahead + jump, step == 0 ? 0 : static_cast<std::size_t>(ahead / step)};
}

/// The rest of a row, through the caches.
template <std::size_t Vectors, std::size_t Terms>
DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE void end_row(const RowJob& job, const Program<Vectors, Terms>& held,
                                                     const Steps& steps, ProgramRow row) noexcept {
  auto [from, to, left] = row;
  for (; left > steps.tiles && left - steps.tiles >= steps.spill; left -= steps.tiles) {
    program_step<false>(held, from, to);
    from += steps.in_advance;
    to += steps.out_advance;
  }
  if (!steps.may_read) return scalar::step_tiles(job.tile, from, to, left);
  while (left > 0) {
    if (left < steps.tiles) {  // the row's last step does again some tiles that are done
      const std::size_t back = steps.tiles - left;
      from -= static_cast<Index>(back) * steps.tile_in;
      to -= back * steps.tile_out;
      left = steps.tiles;
    }
    if (steps.may_write) {
      program_step<false>(held, from, to);
    } else {
      program_step_exactly(held, from, to, steps.last_bytes);
    }
    from += steps.in_advance;
    to += steps.out_advance;
    left -= steps.tiles;
  }
}

template <std::size_t Vectors, std::size_t Terms>
DMLREF_TARGET_AVX2 inline void shuffle_rows_of(const RowJob& job, const std::byte* in, std::byte* out,
                                               const RowPlace* rows, std::size_t count, Room room) noexcept {
  Program<Vectors, Terms> held;
  load_program(held, job.program);
  const Steps steps = steps_of(job, room);
  if (job.count == steps.tiles && steps.spill == 0) {
    if (const Index out_ahead = job.out_ahead; out_ahead != 0) {
      for (std::size_t r = 0; r < count; ++r) {
        std::byte* const to = out + rows[r].out;
        prefetch(to + out_ahead);
        program_step<false>(held, in + rows[r].in, to);
      }
      return;
    }
    for (std::size_t r = 0; r < count; ++r) program_step<false>(held, in + rows[r].in, out + rows[r].out);
    return;
  }
  const std::size_t four = 4 * steps.tiles;
  for (std::size_t r = 0; r < count; ++r) {
    ProgramRow row{in + rows[r].in, out + rows[r].out, job.count};
    if (job.stream && begin_stream(job, steps, row)) {
      const StreamAhead ahead = stream_ahead(job, rows, r, count);
      // Whole lines, in four steps: one that is written half around and half through the caches costs as much as many.
      for (; row.left > four && row.left - four >= steps.spill; row.left -= four) {
        const Index soon = ahead(row.left);
        DMLREF_UNROLL
        for (int step = 0; step < 4; ++step) {
          if (ahead.bytes != 0) prefetch(row.from + soon);
          program_step<true>(held, row.from, row.to);
          row.from += steps.in_advance;
          row.to += steps.out_advance;
        }
      }
    }
    end_row(job, held, steps, row);
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
    case 5: return tile_rows_of<5>(job, in, out, rows, count);
    case 6: return tile_rows_of<6>(job, in, out, rows, count);
    case 7: return tile_rows_of<7>(job, in, out, rows, count);
    case 8: return tile_rows_of<8>(job, in, out, rows, count);
    default: return tile_rows_of<0>(job, in, out, rows, count);
  }
}

}  // namespace fast::avx2
DMLREF_END

#endif  // DMLREF_ARCH_X86_64
