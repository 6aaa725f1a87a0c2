// groups.hpp: short rows of any pattern, up to 64 bytes by one permutation (VBMI).
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "dmlref/fast/slice/avx2/vectors.hpp"
#include "dmlref/fast/slice/avx512/vectors.hpp"
#include "dmlref/fast/slice/job.hpp"

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::avx512 {

/// The first 16 * Quarters bytes of v.
template <std::size_t Quarters>
DMLREF_TARGET_AVX512VBMI inline void store_quarters(std::byte* out, __m512i v) noexcept {
  if constexpr (Quarters == 1) {
    avx2::store16(out, _mm512_castsi512_si128(v));
  } else if constexpr (Quarters == 4) {
    store64(out, v);
  } else {
    avx2::store32(out, _mm512_castsi512_si256(v));
    if constexpr (Quarters == 3) avx2::store16(out + 32, _mm512_extracti32x4_epi32(v, 2));
  }
}

/// How a group is loaded: its bytes alone, or a vector, of which 16 bytes may lie beyond it.
enum class GroupLoad { exact, half_line, line };

/// The group that begins at p, in the order of its output.
template <GroupLoad Load>
DMLREF_TARGET_AVX512VBMI inline __m512i permuted(const std::byte* p, __mmask64 read, __m512i control) noexcept {
  if constexpr (Load == GroupLoad::half_line) {
    const __m256i v = _mm256_permutexvar_epi8(_mm512_castsi512_si256(control), avx2::load32(p));
    return _mm512_castsi256_si512(v);
  } else if constexpr (Load == GroupLoad::line) {
    return _mm512_permutexvar_epi8(control, load64(p));
  } else {
    return _mm512_permutexvar_epi8(control, _mm512_maskz_loadu_epi8(read, p));
  }
}

/// `Groups` of them in every row, the last as near its end as it must be. A whole store writes up to
/// 15 bytes beyond it. OutAsked: the output is asked for ahead.
template <std::size_t Groups, std::size_t Quarters, GroupLoad Load, bool Exact, bool OutAsked>
DMLREF_TARGET_AVX512VBMI inline void group_rows_of(const RowJob& job, const std::byte* in, std::byte* out,
                                                   const RowPlace* rows, std::size_t count) noexcept {
  const TileGroup& group = job.group;
  const __m512i control = _mm512_loadu_si512(group.control.data());
  const auto read = static_cast<__mmask64>(lowest(group.span));
  const std::uint64_t written = lowest(group.out_bytes);
  const auto tiles = static_cast<Index>(group.tiles), last = static_cast<Index>(job.count) - tiles;
  const Index in_step = tiles * job.tile.in_advance, last_in = last * job.tile.in_advance;
  const auto tile_bytes = static_cast<Index>(job.tile.bytes());
  const Index out_step = tiles * tile_bytes, last_out = last * tile_bytes;
  in += group.load;
  for (std::size_t r = 0; r < count; ++r) {
    const std::byte* const from = in + rows[r].in;
    std::byte* const to = out + rows[r].out;
    if constexpr (OutAsked) avx2::prefetch(to + job.out_ahead);
    __m512i v[Groups];
    DMLREF_UNROLL
    for (std::size_t k = 0; k < Groups; ++k) {
      const Index at = k + 1 == Groups ? last_in : static_cast<Index>(k) * in_step;
      v[k] = permuted<Load>(from + at, read, control);
    }
    DMLREF_UNROLL
    for (std::size_t k = 0; k < Groups; ++k) {
      std::byte* const at = to + (k + 1 == Groups ? last_out : static_cast<Index>(k) * out_step);
      if constexpr (Exact) {
        store_part(at, written, v[k]);
      } else {
        store_quarters<Quarters>(at, v[k]);
      }
    }
  }
}

template <std::size_t Groups, std::size_t Quarters, bool OutAsked>
DMLREF_TARGET_AVX512VBMI inline void group_rows_by(const RowJob& job, const std::byte* in, std::byte* out,
                                                   const RowPlace* rows, std::size_t count, Room room) noexcept {
  constexpr auto exact = GroupLoad::exact, half_line = GroupLoad::half_line, line = GroupLoad::line;
  const std::size_t span = job.group.span;
  if (!room.write) return group_rows_of<Groups, 1, exact, true, false>(job, in, out, rows, count);
  if (room.read && span > 48) return group_rows_of<Groups, Quarters, line, false, OutAsked>(job, in, out, rows, count);
  if constexpr (Quarters <= 2) {
    if (room.read && span > 16 && span <= 32) {
      return group_rows_of<Groups, Quarters, half_line, false, OutAsked>(job, in, out, rows, count);
    }
  }
  group_rows_of<Groups, Quarters, exact, false, OutAsked>(job, in, out, rows, count);
}

template <std::size_t Groups, bool OutAsked>
DMLREF_TARGET_AVX512VBMI inline void group_rows_of_any_length(const RowJob& job, const std::byte* in, std::byte* out,
                                                              const RowPlace* rows, std::size_t count,
                                                              Room room) noexcept {
  switch ((job.group.out_bytes + 15) / 16) {
    case 1: return group_rows_by<Groups, 1, OutAsked>(job, in, out, rows, count, room);
    case 2: return group_rows_by<Groups, 2, OutAsked>(job, in, out, rows, count, room);
    case 3: return group_rows_by<Groups, 3, OutAsked>(job, in, out, rows, count, room);
    default: return group_rows_by<Groups, 4, OutAsked>(job, in, out, rows, count, room);
  }
}

template <bool OutAsked>
DMLREF_TARGET_AVX512VBMI inline void group_rows_of_any_count(const RowJob& job, const std::byte* in, std::byte* out,
                                                             const RowPlace* rows, std::size_t count,
                                                             Room room) noexcept {
  switch ((job.count + job.group.tiles - 1) / job.group.tiles) {
    case 1: return group_rows_of_any_length<1, OutAsked>(job, in, out, rows, count, room);
    case 2: return group_rows_of_any_length<2, OutAsked>(job, in, out, rows, count, room);
    case 3: return group_rows_of_any_length<3, OutAsked>(job, in, out, rows, count, room);
    default: return group_rows_of_any_length<4, OutAsked>(job, in, out, rows, count, room);
  }
}

/// Rows of up to four groups of tiles.
DMLREF_TARGET_AVX512VBMI inline void group_rows(const RowJob& job, const std::byte* in, std::byte* out,
                                                const RowPlace* rows, std::size_t count, Room room) noexcept {
  if (job.out_ahead != 0) return group_rows_of_any_count<true>(job, in, out, rows, count, room);
  group_rows_of_any_count<false>(job, in, out, rows, count, room);
}

}  // namespace fast::avx512
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"

#endif  // DMLREF_ARCH_X86_64
