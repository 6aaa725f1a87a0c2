// programs.hpp: rows in steps of a program of byte shuffles, or in tiles.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>

#include "dmlref/fast/slice/avx2/vectors.hpp"
#include "dmlref/fast/slice/job.hpp"
#include "dmlref/fast/slice/scalar.hpp"

DMLREF_BEGIN
namespace fast::avx2 {

using Bytes16 = __m128i;
inline constexpr bool streams = true;

DMLREF_TARGET_AVX2 inline void stream16(std::byte* p, __m128i v) noexcept {
  _mm_stream_si128(reinterpret_cast<__m128i*>(p), v);
}
DMLREF_TARGET_AVX2 inline __m128i load_control(const ShuffleTerm& term) noexcept {
  return _mm_load_si128(reinterpret_cast<const __m128i*>(term.control.data()));
}
DMLREF_TARGET_AVX2 inline __m128i shuffle16(__m128i v, __m128i control) noexcept {
  return _mm_shuffle_epi8(v, control);
}
DMLREF_TARGET_AVX2 inline __m128i or16(__m128i a, __m128i b) noexcept { return _mm_or_si128(a, b); }

#define DMLREF_SLICE_TARGET DMLREF_TARGET_AVX2
#include "dmlref/fast/slice/shuffles.hpp"
#undef DMLREF_SLICE_TARGET

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
  const __m128i control = load_control(job.tile_alone);
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
