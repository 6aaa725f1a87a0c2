// transposition.hpp: rows whose neighbours in the input lie across the output.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "dmlref/fast/slice/avx2/transposition.hpp"
#include "dmlref/fast/slice/avx512/vectors.hpp"
#include "dmlref/fast/slice/job.hpp"

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::avx512 {

template <std::size_t Unit>
DMLREF_TARGET_AVX512VNNI inline __m512i unpack_low(__m512i a, __m512i b) noexcept {
  if constexpr (Unit == 1) return _mm512_unpacklo_epi8(a, b);
  if constexpr (Unit == 2) return _mm512_unpacklo_epi16(a, b);
  if constexpr (Unit == 4) return _mm512_unpacklo_epi32(a, b);
  return _mm512_unpacklo_epi64(a, b);
}
template <std::size_t Unit>
DMLREF_TARGET_AVX512VNNI inline __m512i unpack_high(__m512i a, __m512i b) noexcept {
  if constexpr (Unit == 1) return _mm512_unpackhi_epi8(a, b);
  if constexpr (Unit == 2) return _mm512_unpackhi_epi16(a, b);
  if constexpr (Unit == 4) return _mm512_unpackhi_epi32(a, b);
  return _mm512_unpackhi_epi64(a, b);
}

/// A square of 64 / Unit by 64 / Unit units: every line of both sides is touched once, so that it does not matter where
/// in the caches they fall. Squares of 16 bytes are transposed in the lanes as in avx2.hpp, then the lanes.
template <std::size_t Unit>
DMLREF_TARGET_AVX512VNNI inline void transpose_square(const std::byte* in, std::byte* out, Index in_step,
                                                      Index out_cross) noexcept {
  constexpr std::size_t rows = 16 / Unit;
  __m512i lanes[4][rows];
  DMLREF_UNROLL
  for (std::size_t k = 0; k < 4; ++k) {
    __m512i a[rows], b[rows];
    DMLREF_UNROLL
    for (std::size_t i = 0; i < rows; ++i) a[i] = load64(in + static_cast<Index>(k * rows + i) * in_step);
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
    for (std::size_t i = 0; i < rows; ++i) lanes[k][i] = a[i];
  }
  const Index group = static_cast<Index>(rows) * out_cross;
  DMLREF_UNROLL
  for (std::size_t i = 0; i < rows; ++i) {
    const __m512i low01 = _mm512_shuffle_i32x4(lanes[0][i], lanes[1][i], 0x44);
    const __m512i high01 = _mm512_shuffle_i32x4(lanes[0][i], lanes[1][i], 0xEE);
    const __m512i low23 = _mm512_shuffle_i32x4(lanes[2][i], lanes[3][i], 0x44);
    const __m512i high23 = _mm512_shuffle_i32x4(lanes[2][i], lanes[3][i], 0xEE);
    std::byte* const to = out + static_cast<Index>(i) * out_cross;
    store64(to, _mm512_shuffle_i32x4(low01, low23, 0x88));
    store64(to + group, _mm512_shuffle_i32x4(low01, low23, 0xDD));
    store64(to + 2 * group, _mm512_shuffle_i32x4(high01, high23, 0x88));
    store64(to + 3 * group, _mm512_shuffle_i32x4(high01, high23, 0xDD));
  }
}

/// As in avx2.hpp, in squares of lines.
template <std::size_t Unit>
DMLREF_TARGET_AVX512VNNI inline void strip_rows_of(const RowJob& job, const std::byte* in, std::byte* out,
                                                   const RowPlace* rows, std::size_t count) noexcept {
  constexpr std::size_t square = 64 / Unit;
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

DMLREF_TARGET_AVX512VNNI inline void strip_rows(const RowJob& job, const std::byte* in, std::byte* out,
                                                const RowPlace* rows, std::size_t count, Room room) noexcept {
  const std::size_t square = 64 / job.unit_bytes;
  if (job.in_cross == static_cast<Index>(job.unit_bytes) && job.count >= square && job.width >= square) {
    switch (job.unit_bytes) {
      case 1: return strip_rows_of<1>(job, in, out, rows, count);
      case 2: return strip_rows_of<2>(job, in, out, rows, count);
      case 4: return strip_rows_of<4>(job, in, out, rows, count);
      case 8: return strip_rows_of<8>(job, in, out, rows, count);
      default: break;
    }
  }
  avx2::strip_rows(job, in, out, rows, count, room);
}

}  // namespace fast::avx512
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"

#endif  // DMLREF_ARCH_X86_64
