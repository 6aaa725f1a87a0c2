// avx2.hpp: the slice kernels for AVX2.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/fast/slice/job.hpp"
#include "dmlref/fast/slice/scalar.hpp"

DMLREF_BEGIN
namespace fast::avx2 {

DMLREF_TARGET_AVX2 inline __m128i load16(const std::byte* p) noexcept {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
DMLREF_TARGET_AVX2 inline void store16(std::byte* p, __m128i v) noexcept {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v);
}
DMLREF_TARGET_AVX2 inline __m256i load32(const std::byte* p) noexcept {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
DMLREF_TARGET_AVX2 inline void store32(std::byte* p, __m256i v) noexcept {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
}
DMLREF_TARGET_AVX2 inline void stream32(std::byte* p, __m256i v) noexcept {
  _mm256_stream_si256(reinterpret_cast<__m256i*>(p), v);
}
inline void prefetch(const std::byte* p) noexcept { __builtin_prefetch(p); }
inline std::size_t misaligned(const std::byte* p, std::size_t alignment) noexcept {
  return reinterpret_cast<std::uintptr_t>(p) % alignment;
}

/// From row r to a row about 1 KiB of output after it.
inline Index next_row(const RowJob& job, const RowPlace* rows, std::size_t r, std::size_t count) noexcept {
  const std::size_t next = r + job.rows_ahead;
  return next < count ? rows[next].in - rows[r].in : 0;
}

/// Input bytes of a row up to which its lines are asked for ahead; a longer one is left to the CPU's own prefetcher.
inline constexpr std::size_t asked_row_bytes = 256;

/// The lines of a short row that is needed soon; `step`: 64 or, for one that is read downwards, -64.
inline void prefetch_row(const std::byte* p, std::size_t bytes, Index step) noexcept {
  for (std::size_t at = 0; at < bytes; at += 64, p += step) prefetch(p);
}

/// Both ends of a long row that is two rows further: they may lie in pages of their own, whose addresses are so known
/// in time. `last`: from a row's place to its other end.
inline void prefetch_ends(const std::byte* in, const RowPlace* rows, std::size_t r, std::size_t count,
                          Index last) noexcept {
  const std::byte* const later = in + rows[r + 2 < count ? r + 2 : r].in;
  prefetch(later);
  prefetch(later + last);
}

// --- copies ---------------------------------------------------------------------------------------------------------

/// At least 128 bytes around the caches. What lies `ahead` bytes further is needed next.
DMLREF_TARGET_AVX2 inline void stream_run(const std::byte* in, std::byte* out, std::size_t bytes,
                                          Index ahead) noexcept {
  const __m256i last = load32(in + bytes - 32);
  std::byte* const end = out + bytes - 32;
  // Whole lines only: a line written half around the caches and half through them costs as much as many.
  const std::size_t head = (64 - misaligned(out, 64)) % 64;
  if (head > 0) {
    store32(out, load32(in));
    store32(out + 32, load32(in + 32));
    in += head;
    out += head;
  }
  for (; out + 32 <= end; in += 64, out += 64) {
    prefetch(in + ahead);
    const __m256i a = load32(in), b = load32(in + 32);
    stream32(out, a);
    stream32(out + 32, b);
  }
  if (out < end) store32(out, load32(in));
  if (out < end + 32) store32(end, last);
}

/// 128 bytes.
DMLREF_TARGET_AVX2 inline void copy_block(const std::byte* in, std::byte* out) noexcept {
  const __m256i a = load32(in), b = load32(in + 32), c = load32(in + 64), d = load32(in + 96);
  store32(out, a);
  store32(out + 32, b);
  store32(out + 64, c);
  store32(out + 96, d);
}

/// More than 160 bytes through the caches. The end is loaded first: it may lie in another page.
DMLREF_TARGET_AVX2 inline void copy_run(const std::byte* in, std::byte* out, std::size_t bytes) noexcept {
  const std::byte* const in_end = in + bytes - 128;
  std::byte* const end = out + bytes - 128;
  const __m256i a = load32(in_end), b = load32(in_end + 32), c = load32(in_end + 64), d = load32(in_end + 96);
  const std::size_t head = 32 - misaligned(out, 32);
  store32(out, load32(in));
  in += head;
  out += head;
  for (; out + 96 < end; in += 128, out += 128) copy_block(in, out);
  for (; out < end; in += 32, out += 32) store32(out, load32(in));
  store32(end, a);
  store32(end + 32, b);
  store32(end + 64, c);
  store32(end + 96, d);
}

/// A KiB of whole lines through the caches, in an order that no prefetcher goes on with.
DMLREF_TARGET_AVX2 inline void copy_lines(const std::byte* in, std::byte* out) noexcept {
  DMLREF_UNROLL
  for (std::size_t k = 0; k < 16; ++k) {
    const std::size_t line = k * 13 % 16 * 64;
    const __m256i a = load32(in + line), b = load32(in + line + 32);
    store32(out + line, a);
    store32(out + line + 32, b);
  }
}

/// Whether rows are cut out of longer ones, line by line. Only how fast they are copied depends on the answer.
inline bool lines_cut_out(const std::byte* in, const std::byte* out, const RowPlace* rows, std::size_t count,
                          std::size_t bytes) noexcept {
  if (count < 2) return false;
  const Index in_step = rows[1].in - rows[0].in, out_step = rows[1].out - rows[0].out, row = static_cast<Index>(bytes);
  return (in_step > row || in_step < -row) && (in_step | out_step) % 64 == 0 && misaligned(in + rows[0].in, 64) == 0 &&
         misaligned(out + rows[0].out, 64) == 0;
}

/// Rows of Vectors * 32 bytes or up to 31 fewer, without a branch. One function with the other lengths would keep
/// addresses of its loops on the stack (18 bytes a row: a fifth more time).
template <std::size_t Vectors>
DMLREF_NOINLINE DMLREF_TARGET_AVX2 inline void copy_short_rows(const RowJob& job, const std::byte* in, std::byte* out,
                                                               const RowPlace* rows, std::size_t count) noexcept {
  const std::size_t last = job.out_bytes - 32;
  const std::size_t ahead = 2 * job.rows_ahead;
  for (std::size_t r = 0; r < count; ++r) {
    const std::byte* from = in + rows[r].in;
    std::byte* to = out + rows[r].out;
    if constexpr (Vectors > 2) {
      const std::byte* const later = in + rows[r + ahead < count ? r + ahead : r].in;
      DMLREF_UNROLL
      for (std::size_t k = 0; k < Vectors; k += 2) prefetch(later + 32 * k);
    }
    __m256i v[Vectors];
    DMLREF_UNROLL
    for (std::size_t k = 0; k + 1 < Vectors; ++k) v[k] = load32(from + 32 * k);
    v[Vectors - 1] = load32(from + last);
    DMLREF_UNROLL
    for (std::size_t k = 0; k + 1 < Vectors; ++k) store32(to + 32 * k, v[k]);
    store32(to + last, v[Vectors - 1]);
  }
}

/// Rows of more than asked_row_bytes.
DMLREF_NOINLINE DMLREF_TARGET_AVX2 inline void copy_long_rows(const RowJob& job, const std::byte* in, std::byte* out,
                                                              const RowPlace* rows, std::size_t count) noexcept {
  const std::size_t bytes = job.out_bytes;
  if (job.stream) {
    for (std::size_t r = 0; r < count; ++r) {
      stream_run(in + rows[r].in, out + rows[r].out, bytes, next_row(job, rows, r, count));
    }
  } else if (bytes <= 4096 && bytes % 1024 == 0 && lines_cut_out(in, out, rows, count, bytes)) {
    for (std::size_t r = 0; r < count; ++r) {
      prefetch_ends(in, rows, r, count, static_cast<Index>(bytes - 1));
      const std::byte* from = in + rows[r].in;
      std::byte* to = out + rows[r].out;
      copy_lines(from + bytes - 1024, to + bytes - 1024);  // the end first, as in copy_run
      for (std::byte* const end = to + bytes - 1024; to < end; from += 1024, to += 1024) copy_lines(from, to);
    }
  } else {
    for (std::size_t r = 0; r < count; ++r) {
      prefetch_ends(in, rows, r, count, static_cast<Index>(bytes - 1));
      copy_run(in + rows[r].in, out + rows[r].out, bytes);
    }
  }
}

DMLREF_TARGET_AVX2 inline void copy_rows(const RowJob& job, const std::byte* in, std::byte* out, const RowPlace* rows,
                                         std::size_t count, Room room) noexcept {
  const std::size_t bytes = job.out_bytes;
  if (bytes > asked_row_bytes) {
    copy_long_rows(job, in, out, rows, count);
  } else if (bytes >= 32) {
    switch ((bytes + 31) / 32) {
      case 1: return copy_short_rows<1>(job, in, out, rows, count);
      case 2: return copy_short_rows<2>(job, in, out, rows, count);
      case 3: return copy_short_rows<3>(job, in, out, rows, count);
      case 4: return copy_short_rows<4>(job, in, out, rows, count);
      case 5: return copy_short_rows<5>(job, in, out, rows, count);
      case 6: return copy_short_rows<6>(job, in, out, rows, count);
      case 7: return copy_short_rows<7>(job, in, out, rows, count);
      default: return copy_short_rows<8>(job, in, out, rows, count);
    }
  } else if (bytes > 16 && room.read && room.write) {
    for (std::size_t r = 0; r < count; ++r) store32(out + rows[r].out, load32(in + rows[r].in));
  } else if (bytes >= 16) {
    for (std::size_t r = 0; r < count; ++r) {
      const std::byte* from = in + rows[r].in;
      std::byte* to = out + rows[r].out;
      const __m128i first = load16(from), last = load16(from + bytes - 16);
      store16(to, first);
      store16(to + bytes - 16, last);
    }
  } else if (room.read && room.write) {
    for (std::size_t r = 0; r < count; ++r) store16(out + rows[r].out, load16(in + rows[r].in));
  } else {
    for (std::size_t r = 0; r < count; ++r) scalar::copy_few(out + rows[r].out, in + rows[r].in, bytes);
  }
}

/// Rows of at least 128 bytes, each where the one before it ends: written as one stream of lines. A line that two rows
/// share is put together in memory a row's length before it is needed, so that no load waits for the stores.
DMLREF_TARGET_AVX2 inline void stream_joined_rows(const RowJob& job, const std::byte* in, std::byte* out,
                                                  const RowPlace* rows, std::size_t count, Room) noexcept {
  alignas(64) std::byte seams[4][192];
  const std::byte* from = in + rows[0].in;
  std::byte* to = out + rows[0].out;
  std::size_t left = job.out_bytes;  // of the row
  const std::size_t head = (64 - misaligned(to, 64)) % 64;
  std::memcpy(to, from, head);
  from += head;
  to += head;
  left -= head;
  for (std::size_t r = 0;; ++r) {
    const bool is_last = r + 1 == count;
    const std::byte* const next = in + rows[is_last ? r : r + 1].in;
    std::byte* const seam = seams[r % 4] + 64;
    std::byte* const row_end = seam + left % 64;
    store32(row_end - 64, load32(from + left - 64));
    store32(row_end - 32, load32(from + left - 32));
    store32(row_end, load32(next));
    store32(row_end + 32, load32(next + 32));
    const Index ahead = next_row(job, rows, r, count);
    for (; left >= 64; left -= 64, from += 64, to += 64) {
      prefetch(from + ahead);
      const __m256i a = load32(from), b = load32(from + 32);
      stream32(to, a);
      stream32(to + 32, b);
    }
    if (is_last) break;
    stream32(to, load32(seam));
    stream32(to + 32, load32(seam + 32));
    to += 64;
    from = next + (64 - left);
    left = job.out_bytes - (64 - left);
  }
  std::memcpy(to, from, left);
}

// --- programs of byte shuffles --------------------------------------------------------------------------------------

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

template <std::size_t Vectors, std::size_t Terms>
DMLREF_TARGET_AVX2 inline void shuffle_rows_of(const RowJob& job, const std::byte* in, std::byte* out,
                                               const RowPlace* rows, std::size_t count, Room room) noexcept {
  const ShuffleProgram& program = job.program;
  Program<Vectors, Terms> held;
  load_program(held, program);
  const bool may_read = room.read || program.over_read == 0;
  const bool may_write = room.write || program.last_bytes == 16;
  const std::size_t spill = may_read && may_write ? 0 : program.spill;
  if (job.count == program.tiles && spill == 0) {
    for (std::size_t r = 0; r < count; ++r) {
      program_step<false>(held, in + rows[r].in, out + rows[r].out);
    }
    return;
  }
  const std::size_t tiles = program.tiles, out_advance = program.out_advance, last_bytes = program.last_bytes;
  const Index in_advance = program.in_advance;
  const Index tile_in = job.tile.in_advance;
  const std::size_t tile_out = job.tile.bytes();
  for (std::size_t r = 0; r < count; ++r) {
    const std::byte* from = in + rows[r].in;
    std::byte* to = out + rows[r].out;
    std::size_t left = job.count;
    if (job.stream && last_bytes == 16) {
      const std::size_t head = tiles_to_line(to, tile_out);
      if (head < left && left - head > tiles + spill) {
        scalar::step_tiles(job.tile, from, to, head);
        from += static_cast<Index>(head) * tile_in;
        to += head * tile_out;
        left -= head;
        for (; left > tiles && left - tiles >= spill; left -= tiles) {
          program_step<true>(held, from, to);
          from += in_advance;
          to += out_advance;
        }
      }
    }
    for (; left > tiles && left - tiles >= spill; left -= tiles) {
      program_step<false>(held, from, to);
      from += in_advance;
      to += out_advance;
    }
    if (!may_read) {
      scalar::step_tiles(job.tile, from, to, left);
      continue;
    }
    while (left > 0) {
      if (left < tiles) {  // the row's last step does again some tiles that are done
        const std::size_t back = tiles - left;
        from -= static_cast<Index>(back) * tile_in;
        to -= back * tile_out;
        left = tiles;
      }
      if (may_write) {
        program_step<false>(held, from, to);
      } else {
        program_step_exactly(held, from, to, last_bytes);
      }
      from += in_advance;
      to += out_advance;
      left -= tiles;
    }
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

// --- whole rows: reversal, every second element ---------------------------------------------------------------------

/// The elements of v in the opposite order.
template <std::size_t Unit>
DMLREF_TARGET_AVX2 inline __m256i reversed(__m256i v) noexcept {
  if constexpr (Unit == 1) {
    const __m256i back = _mm256_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10,
                                          9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return _mm256_permute4x64_epi64(_mm256_shuffle_epi8(v, back), 0x4E);
  } else if constexpr (Unit == 2) {
    const __m256i back = _mm256_setr_epi8(14, 15, 12, 13, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1, 14, 15, 12, 13, 10, 11,
                                          8, 9, 6, 7, 4, 5, 2, 3, 0, 1);
    return _mm256_permute4x64_epi64(_mm256_shuffle_epi8(v, back), 0x4E);
  } else if constexpr (Unit == 4) {
    return _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0));
  } else {
    return _mm256_permute4x64_epi64(v, 0x1B);
  }
}

/// Elements 0, 2, 4, … of 64 bytes: of a and b where these are neighbours; Shifted: b starts one unit earlier.
template <std::size_t Unit, bool Shifted>
DMLREF_TARGET_AVX2 inline __m256i evens(__m256i a, __m256i b) noexcept {
  if constexpr (Unit == 1) {
    const __m256i low = _mm256_set1_epi16(0xFF);
    b = Shifted ? _mm256_srli_epi16(b, 8) : _mm256_and_si256(b, low);
    return _mm256_permute4x64_epi64(_mm256_packus_epi16(_mm256_and_si256(a, low), b), 0xD8);
  } else if constexpr (Unit == 2) {
    const __m256i low = _mm256_set1_epi32(0xFFFF);
    b = Shifted ? _mm256_srli_epi32(b, 16) : _mm256_and_si256(b, low);
    return _mm256_permute4x64_epi64(_mm256_packus_epi32(_mm256_and_si256(a, low), b), 0xD8);
  } else if constexpr (Unit == 4) {
    return _mm256_permute4x64_epi64(
        _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), Shifted ? 0xD8 : 0x88)),
        0xD8);
  } else {
    return _mm256_permute4x64_epi64(
        _mm256_castpd_si256(_mm256_shuffle_pd(_mm256_castsi256_pd(a), _mm256_castsi256_pd(b), Shifted ? 0xA : 0x0)),
        0xD8);
  }
}

/// 32 bytes of output. Step: -1, 2 or -2 units. Exact: nothing outside of their units is read; else one unit beyond.
template <std::size_t Unit, int Step, bool Exact>
DMLREF_TARGET_AVX2 inline __m256i wide_vector(const std::byte* in) noexcept {
  constexpr auto unit = static_cast<Index>(Unit);
  if constexpr (Step == -1) {
    return reversed<Unit>(load32(in + unit - 32));
  } else if constexpr (Step == 2) {
    return evens<Unit, Exact>(load32(in), load32(in + 32 - (Exact ? unit : 0)));
  } else {
    return reversed<Unit>(evens<Unit, true>(load32(in + 2 * unit - 64), load32(in + unit - 32)));
  }
}

/// Rows of at least 32 bytes. The last vector overlaps the ones before.
template <std::size_t Unit, int Step>
DMLREF_TARGET_AVX2 inline void wide_rows(const RowJob& job, const std::byte* in, std::byte* out, const RowPlace* rows,
                                         std::size_t count, Room) noexcept {
  constexpr auto unit = static_cast<Index>(Unit);
  const std::size_t bytes = job.out_bytes;
  for (std::size_t r = 0; r < count; ++r) {
    const std::byte* from = in + rows[r].in;
    std::byte* to = out + rows[r].out;
    std::byte* const last = to + bytes - 32;
    const std::byte* const last_from = from + static_cast<Index>(job.count - 32 / Unit) * Step * unit;
    const Index ahead = next_row(job, rows, r, count);
    if (job.stream && bytes >= 256 && misaligned(to, Unit) == 0) {
      const auto head = static_cast<Index>((64 - misaligned(to, 64)) % 64);  // whole lines only, as in stream_run
      if (head > 0) {
        store32(to, wide_vector<Unit, Step, false>(from));
        store32(to + 32, wide_vector<Unit, Step, false>(from + 32 * Step));
        from += head * Step;
        to += head;
      }
      for (; to + 32 < last; to += 64, from += 64 * Step) {
        prefetch(from + ahead);
        if (Step != -1) prefetch(from + ahead + 32 * Step);
        const __m256i a = wide_vector<Unit, Step, false>(from);
        const __m256i b = wide_vector<Unit, Step, false>(from + 32 * Step);
        stream32(to, a);
        stream32(to + 32, b);
      }
    } else if (const std::size_t in_bytes = bytes * (Step == -1 ? 1 : 2); in_bytes > asked_row_bytes) {
      prefetch_ends(in, rows, r, count, static_cast<Index>(job.count - 1) * Step * unit);
    } else {
      prefetch_row(from + ahead, in_bytes, Step < 0 ? -64 : 64);
    }
    for (; to + 32 < last; to += 64, from += 64 * Step) {
      const __m256i a = wide_vector<Unit, Step, false>(from);
      const __m256i b = wide_vector<Unit, Step, false>(from + 32 * Step);
      store32(to, a);
      store32(to + 32, b);
    }
    if (to < last) store32(to, wide_vector<Unit, Step, false>(from));
    store32(last, wide_vector<Unit, Step, true>(last_from));
  }
}

// --- transposition --------------------------------------------------------------------------------------------------

template <std::size_t Unit>
DMLREF_TARGET_AVX2 inline __m128i unpack_low(__m128i a, __m128i b) noexcept {
  if constexpr (Unit == 1) return _mm_unpacklo_epi8(a, b);
  if constexpr (Unit == 2) return _mm_unpacklo_epi16(a, b);
  if constexpr (Unit == 4) return _mm_unpacklo_epi32(a, b);
  return _mm_unpacklo_epi64(a, b);
}
template <std::size_t Unit>
DMLREF_TARGET_AVX2 inline __m128i unpack_high(__m128i a, __m128i b) noexcept {
  if constexpr (Unit == 1) return _mm_unpackhi_epi8(a, b);
  if constexpr (Unit == 2) return _mm_unpackhi_epi16(a, b);
  if constexpr (Unit == 4) return _mm_unpackhi_epi32(a, b);
  return _mm_unpackhi_epi64(a, b);
}

/// A square of 16 / Unit by 16 / Unit units. Riffling the upper half of the rows with the lower half, log2 of their
/// number times, transposes.
template <std::size_t Unit>
DMLREF_TARGET_AVX2 inline void transpose_square(const std::byte* in, std::byte* out, Index in_step,
                                                Index out_cross) noexcept {
  constexpr std::size_t rows = 16 / Unit;
  __m128i a[rows], b[rows];
  DMLREF_UNROLL
  for (std::size_t i = 0; i < rows; ++i) a[i] = load16(in + static_cast<Index>(i) * in_step);
  DMLREF_UNROLL
  for (std::size_t stage = 1; stage < rows; stage *= 2) {
    DMLREF_UNROLL
    for (std::size_t i = 0; i < rows / 2; ++i) {
      b[2 * i] = unpack_low<Unit>(a[i], a[i + rows / 2]);
      b[2 * i + 1] = unpack_high<Unit>(a[i], a[i + rows / 2]);
    }
    DMLREF_UNROLL
    for (std::size_t i = 0; i < rows; ++i) a[i] = b[i];
  }
  DMLREF_UNROLL
  for (std::size_t i = 0; i < rows; ++i) store16(out + static_cast<Index>(i) * out_cross, a[i]);
}

/// Strips of neighbours in the input: squares, the last ones of a strip and of a row overlap the ones before.
template <std::size_t Unit>
DMLREF_TARGET_AVX2 inline void strip_rows_of(const RowJob& job, const std::byte* in, std::byte* out,
                                             const RowPlace* rows, std::size_t count) noexcept {
  constexpr std::size_t square = 16 / Unit;
  constexpr std::size_t block = (Unit == 1 ? 128 : 256) / Unit;
  for (std::size_t r = 0; r < count; ++r) {
    const std::byte* from = in + rows[r].in;
    std::byte* to = out + rows[r].out;
    for (std::size_t begin = 0; begin < job.count; begin += block) {
      const std::size_t end = begin + block < job.count ? begin + block : job.count;
      for (std::size_t w = 0; w < job.width; w += square) {
        const auto column = static_cast<Index>(w + square <= job.width ? w : job.width - square);
        for (std::size_t i = begin; i < end; i += square) {
          const auto row = static_cast<Index>(i + square <= job.count ? i : job.count - square);
          transpose_square<Unit>(from + row * job.in_step + column * static_cast<Index>(Unit),
                                 to + column * job.out_cross + row * static_cast<Index>(Unit), job.in_step,
                                 job.out_cross);
        }
      }
    }
  }
}

DMLREF_TARGET_AVX2 inline void strip_rows(const RowJob& job, const std::byte* in, std::byte* out, const RowPlace* rows,
                                          std::size_t count, Room room) noexcept {
  const std::size_t square = 16 / job.unit_bytes;
  if (job.in_cross == static_cast<Index>(job.unit_bytes) && job.count >= square && job.width >= square) {
    switch (job.unit_bytes) {
      case 1: return strip_rows_of<1>(job, in, out, rows, count);
      case 2: return strip_rows_of<2>(job, in, out, rows, count);
      case 4: return strip_rows_of<4>(job, in, out, rows, count);
      case 8: return strip_rows_of<8>(job, in, out, rows, count);
      default: break;
    }
  }
  scalar::strip_rows(job, in, out, rows, count, room);
}

inline void fence() noexcept { _mm_sfence(); }

}  // namespace fast::avx2
DMLREF_END

#endif  // DMLREF_ARCH_X86_64
