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

/// The groups of every row, the last as near its end as it must be. A store of quarters writes up to 15 bytes beyond
/// it; of none: exactly.
template <GroupLoad Load, std::size_t Quarters>
DMLREF_TARGET_AVX512VBMI inline void group_rows_of(const RowJob& job, const std::byte* in, std::byte* out,
                                                   const RowPlace* rows, std::size_t count) noexcept {
  const TileGroup& group = job.group;
  const __m512i control = _mm512_loadu_si512(group.control.data());
  const auto read = static_cast<__mmask64>(lowest(group.span));
  const std::uint64_t written = lowest(group.out_bytes);
  const auto tiles = static_cast<Index>(group.tiles), last = static_cast<Index>(job.count) - tiles;
  const Index tile_bytes = static_cast<Index>(job.tile.bytes()), tile_in = job.tile.in_advance;
  const Index output_prefetch = job.output_prefetch;
  const auto move = [&](const std::byte* from, std::byte* to) DMLREF_TARGET_AVX512VBMI {
    const __m512i v = permuted<Load>(from, read, control);
    if constexpr (Quarters == 0) {
      store_part(to, written, v);
    } else {
      store_quarters<Quarters>(to, v);
    }
  };
  in += group.load;
  for (std::size_t r = 0; r < count; ++r) {
    const std::byte* const from = in + rows[r].in;
    std::byte* const to = out + rows[r].out;
    if (output_prefetch != 0) avx2::prefetch(to + output_prefetch);
    for (Index tile = 0; tile < last; tile += tiles) move(from + tile * tile_in, to + tile * tile_bytes);
    move(from + last * tile_in, to + last * tile_bytes);
  }
}

template <std::size_t Quarters>
DMLREF_TARGET_AVX512VBMI inline void group_rows_by(const RowJob& job, const std::byte* in, std::byte* out,
                                                   const RowPlace* rows, std::size_t count, Room room) noexcept {
  const std::size_t span = job.group.span;
  if (room.read && span > 48) return group_rows_of<GroupLoad::line, Quarters>(job, in, out, rows, count);
  if constexpr (Quarters <= 2) {
    if (room.read && span > 16 && span <= 32) {
      return group_rows_of<GroupLoad::half_line, Quarters>(job, in, out, rows, count);
    }
  }
  group_rows_of<GroupLoad::exact, Quarters>(job, in, out, rows, count);
}

/// Rows of up to four groups of tiles.
DMLREF_TARGET_AVX512VBMI inline void group_rows(const RowJob& job, const std::byte* in, std::byte* out,
                                                const RowPlace* rows, std::size_t count, Room room) noexcept {
  if (!room.write) return group_rows_of<GroupLoad::exact, 0>(job, in, out, rows, count);
  switch ((job.group.out_bytes + 15) / 16) {
    case 1: return group_rows_by<1>(job, in, out, rows, count, room);
    case 2: return group_rows_by<2>(job, in, out, rows, count, room);
    case 3: return group_rows_by<3>(job, in, out, rows, count, room);
    default: return group_rows_by<4>(job, in, out, rows, count, room);
  }
}

}  // namespace fast::avx512
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"

#endif  // DMLREF_ARCH_X86_64
