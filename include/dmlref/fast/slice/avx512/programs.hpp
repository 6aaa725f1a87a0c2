// programs.hpp: rows in steps of a program of byte shuffles, streamed in whole lines.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "dmlref/fast/slice/avx2/programs.hpp"
#include "dmlref/fast/slice/avx512/vectors.hpp"
#include "dmlref/fast/slice/job.hpp"

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::avx512 {

/// Four steps: as many lines as one of them has vectors.
template <std::size_t Vectors, std::size_t Terms>
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE void stream_steps(const avx2::Program<Vectors, Terms>& program,
                                                                Index in_advance, const std::byte* in,
                                                                std::byte* out) noexcept {
  __m128i v[4 * Vectors];
  DMLREF_UNROLL
  for (std::size_t step = 0; step < 4; ++step, in += in_advance) {
    DMLREF_UNROLL
    for (std::size_t k = 0; k < Vectors; ++k) v[step * Vectors + k] = avx2::program_vector(program, k, in);
  }
  DMLREF_UNROLL
  for (std::size_t k = 0; k < 4 * Vectors; k += 4, out += 64) {
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(v[k]), v[k + 1], 1);
    const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(v[k + 2]), v[k + 3], 1);
    stream64(out, _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
  }
}

template <std::size_t Vectors, std::size_t Terms>
DMLREF_TARGET_AVX512VNNI inline void stream_shuffle_rows_of(const RowJob& job, const std::byte* in, std::byte* out,
                                                            const RowPlace* rows, std::size_t count,
                                                            Room room) noexcept {
  avx2::Program<Vectors, Terms> held;
  avx2::load_program(held, job.program);
  const avx2::Steps steps = avx2::steps_of(job, room);
  const std::size_t four = 4 * steps.tiles;
  for (std::size_t r = 0; r < count; ++r) {
    avx2::ProgramRow row{in + rows[r].in, out + rows[r].out, job.count};
    if (avx2::begin_stream(job, steps, row)) {
      const avx2::StreamAhead ahead = avx2::stream_ahead(job, rows, r, count);
      for (; row.left > four && row.left - four >= steps.spill; row.left -= four) {
        // (Asked for here: g++ 12 drops hints two inlined functions deep.)
        const std::byte* later = row.from + ahead(row.left);
        DMLREF_UNROLL
        for (int step = 0; step < 4; ++step, later += steps.in_advance) avx2::prefetch(later);
        stream_steps(held, steps.in_advance, row.from, row.to);
        row.from += 4 * steps.in_advance;
        row.to += 64 * Vectors;
      }
    }
    avx2::end_row(job, held, steps, row);
  }
}

template <std::size_t Vectors>
DMLREF_TARGET_AVX512VNNI inline void stream_shuffle_rows_with(const RowJob& job, const std::byte* in, std::byte* out,
                                                              const RowPlace* rows, std::size_t count,
                                                              Room room) noexcept {
  switch (job.program.terms) {
    case 1: return stream_shuffle_rows_of<Vectors, 1>(job, in, out, rows, count, room);
    case 2: return stream_shuffle_rows_of<Vectors, 2>(job, in, out, rows, count, room);
    case 3: return stream_shuffle_rows_of<Vectors, 3>(job, in, out, rows, count, room);
    default: return stream_shuffle_rows_of<Vectors, 4>(job, in, out, rows, count, room);
  }
}

DMLREF_TARGET_AVX512VNNI inline void stream_shuffle_rows(const RowJob& job, const std::byte* in, std::byte* out,
                                                         const RowPlace* rows, std::size_t count, Room room) noexcept {
  switch (job.program.vectors) {
    case 1: return stream_shuffle_rows_with<1>(job, in, out, rows, count, room);
    case 2: return stream_shuffle_rows_with<2>(job, in, out, rows, count, room);
    case 3: return stream_shuffle_rows_with<3>(job, in, out, rows, count, room);
    default: return stream_shuffle_rows_with<4>(job, in, out, rows, count, room);
  }
}

/// As in avx2.hpp; the last of `Tiles` tiles is written exactly.
template <std::size_t Tiles>
DMLREF_TARGET_AVX512VNNI inline void scattered_tile_rows_of(const RowJob& job, const std::byte* in, std::byte* out,
                                                            const RowPlace* rows, std::size_t count) noexcept {
  const __m128i control = _mm_load_si128(reinterpret_cast<const __m128i*>(job.tile_alone.control.data()));
  const Index in_step = job.tile.in_advance;
  const auto out_step = static_cast<Index>(job.tile.bytes());
  const auto part = static_cast<__mmask16>(lowest(job.tile.bytes()));
  in += job.tile_alone.load;
  for (std::size_t r = 0; r < count; ++r) {
    const std::byte* const from = in + rows[r].in;
    std::byte* const to = out + rows[r].out;
    __m128i v[Tiles];
    DMLREF_UNROLL
    for (std::size_t k = 0; k < Tiles; ++k) {
      v[k] = _mm_shuffle_epi8(avx2::load16(from + static_cast<Index>(k) * in_step), control);
    }
    DMLREF_UNROLL
    for (std::size_t k = 0; k + 1 < Tiles; ++k) avx2::store16(to + static_cast<Index>(k) * out_step, v[k]);
    _mm_mask_storeu_epi8(to + static_cast<Index>(Tiles - 1) * out_step, part, v[Tiles - 1]);
  }
}

DMLREF_TARGET_AVX512VNNI inline void tile_rows(const RowJob& job, const std::byte* in, std::byte* out,
                                               const RowPlace* rows, std::size_t count, Room room) noexcept {
  if (job.scattered && room.read) {
    switch (job.count) {
      case 2: return scattered_tile_rows_of<2>(job, in, out, rows, count);
      case 3: return scattered_tile_rows_of<3>(job, in, out, rows, count);
      case 4: return scattered_tile_rows_of<4>(job, in, out, rows, count);
      case 5: return scattered_tile_rows_of<5>(job, in, out, rows, count);
      case 6: return scattered_tile_rows_of<6>(job, in, out, rows, count);
      case 7: return scattered_tile_rows_of<7>(job, in, out, rows, count);
      case 8: return scattered_tile_rows_of<8>(job, in, out, rows, count);
      default: break;
    }
  }
  avx2::tile_rows(job, in, out, rows, count, room);
}

}  // namespace fast::avx512
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"

#endif  // DMLREF_ARCH_X86_64
