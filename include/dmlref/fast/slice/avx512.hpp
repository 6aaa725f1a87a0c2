// avx512.hpp: the slice kernels for AVX-512: rows end with masks, so that no byte beyond is touched.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "dmlref/fast/slice/avx2.hpp"
#include "dmlref/fast/slice/job.hpp"

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::avx512 {

DMLREF_TARGET_AVX512VNNI inline __m512i load64(const std::byte* p) noexcept { return _mm512_loadu_si512(p); }
DMLREF_TARGET_AVX512VNNI inline void store64(std::byte* p, __m512i v) noexcept { _mm512_storeu_si512(p, v); }
DMLREF_TARGET_AVX512VNNI inline void stream64(std::byte* p, __m512i v) noexcept {
  _mm512_stream_si512(reinterpret_cast<__m512i*>(p), v);
}

/// The bytes whose bits are set.
DMLREF_TARGET_AVX512VNNI inline void store_part(std::byte* p, std::uint64_t bytes, __m512i v) noexcept {
  _mm512_mask_storeu_epi8(p, static_cast<__mmask64>(bytes), v);
}

/// The lowest `count` of 64 bits, 0 to 64.
inline std::uint64_t lowest(std::size_t count) noexcept { return count >= 64 ? ~0ull : (1ull << count) - 1; }

// --- copies ---------------------------------------------------------------------------------------------------------

/// More than 128 bytes.
DMLREF_TARGET_AVX512VNNI inline void copy_run(const std::byte* in, std::byte* out, std::size_t bytes, bool stream,
                                              Index ahead) noexcept {
  const __m512i last = load64(in + bytes - 64);
  std::byte* const end = out + bytes - 64;
  if (stream) {
    const std::size_t head = (64 - avx2::misaligned(out, 64)) % 64;
    if (head > 0) {
      store_part(out, lowest(head), load64(in));
      in += head;
      out += head;
    }
    for (; out <= end; in += 64, out += 64) {
      avx2::prefetch(in + ahead);
      stream64(out, load64(in));
    }
  } else {
    // Where the next row begins: the CPU's own prefetcher takes over after a few lines, and more would be in its way.
    const Index begins = bytes < 512 ? 256 : 128;
    for (Index at = 0; at < begins; at += 64) avx2::prefetch(in + ahead + at);
    for (; out + 64 <= end; in += 128, out += 128) {
      const __m512i a = load64(in), b = load64(in + 64);
      store64(out, a);
      store64(out + 64, b);
    }
    if (out < end) store64(out, load64(in));
  }
  if (out < end + 64) store64(end, last);
}

DMLREF_TARGET_AVX512VNNI inline void copy_rows(const RowJob& job, const std::byte* in, std::byte* out,
                                               const RowPlace* rows, std::size_t count, Room room) noexcept {
  if (job.out_bytes <= 128) return avx2::copy_rows(job, in, out, rows, count, room);
  for (std::size_t r = 0; r < count; ++r) {
    copy_run(in + rows[r].in, out + rows[r].out, job.out_bytes, job.stream, avx2::next_row(job, rows, r, count));
  }
}

/// Rows of at least 64 bytes, each where the one before it ends: written as one stream of lines, whatever their length.
DMLREF_TARGET_AVX512VNNI inline void stream_joined_rows(const RowJob& job, const std::byte* in, std::byte* out,
                                                        const RowPlace* rows, std::size_t count, Room) noexcept {
  const std::byte* from = in + rows[0].in;
  std::byte* to = out + rows[0].out;
  std::size_t left = job.out_bytes;  // of the row
  const std::size_t head = (64 - avx2::misaligned(to, 64)) % 64;
  if (head > 0) {
    store_part(to, lowest(head), load64(from));
    from += head;
    to += head;
    left -= head;
  }
  for (std::size_t r = 0;; ++r) {
    const Index ahead = avx2::next_row(job, rows, r, count);
    for (; left >= 64; left -= 64, from += 64, to += 64) {
      avx2::prefetch(from + ahead);
      stream64(to, load64(from));
    }
    if (r + 1 == count) break;
    const std::byte* const next = in + rows[r + 1].in;
    const auto rest = static_cast<__mmask64>(lowest(left));
    const __m512i line = _mm512_mask_loadu_epi8(_mm512_maskz_loadu_epi8(rest, from), ~rest, next - left);
    stream64(to, line);
    to += 64;
    from = next + (64 - left);
    left = job.out_bytes - (64 - left);
  }
  const auto rest = static_cast<__mmask64>(lowest(left));
  store_part(to, rest, _mm512_maskz_loadu_epi8(rest, from));
}

// --- whole rows: reversal, every second element ---------------------------------------------------------------------

/// The elements of v in the opposite order.
template <std::size_t Unit>
DMLREF_TARGET_AVX512VNNI inline __m512i reversed(__m512i v) noexcept {
  if constexpr (Unit == 1) {
    const __m512i back = _mm512_set4_epi32(0x00010203, 0x04050607, 0x08090A0B, 0x0C0D0E0F);  // in every 16 bytes
    v = _mm512_shuffle_epi8(v, back);
    return _mm512_shuffle_i64x2(v, v, 0x1B);
  } else if constexpr (Unit == 2) {
    const __m512i back = _mm512_set_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                          22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
    return _mm512_permutexvar_epi16(back, v);
  } else if constexpr (Unit == 4) {
    return _mm512_permutexvar_epi32(_mm512_set_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), v);
  } else {
    return _mm512_permutexvar_epi64(_mm512_set_epi64(0, 1, 2, 3, 4, 5, 6, 7), v);
  }
}

/// Elements 0, 2, 4, … of 128 bytes: of a and b where these are neighbours; Shifted: b starts one unit earlier.
template <std::size_t Unit, bool Shifted>
DMLREF_TARGET_AVX512VNNI inline __m512i evens(__m512i a, __m512i b) noexcept {
  constexpr int s = Shifted ? 1 : 0;
  if constexpr (Unit == 1) {
    const __m512i low = _mm512_set1_epi16(0xFF);
    b = Shifted ? _mm512_srli_epi16(b, 8) : _mm512_and_si512(b, low);
    return _mm512_permutexvar_epi64(_mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0),
                                    _mm512_packus_epi16(_mm512_and_si512(a, low), b));
  } else if constexpr (Unit == 2) {
    const __m512i even =
        _mm512_set_epi16(62 + s, 60 + s, 58 + s, 56 + s, 54 + s, 52 + s, 50 + s, 48 + s, 46 + s, 44 + s, 42 + s, 40 + s,
                         38 + s, 36 + s, 34 + s, 32 + s, 30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    return _mm512_permutex2var_epi16(a, even, b);
  } else if constexpr (Unit == 4) {
    const __m512i even =
        _mm512_set_epi32(30 + s, 28 + s, 26 + s, 24 + s, 22 + s, 20 + s, 18 + s, 16 + s, 14, 12, 10, 8, 6, 4, 2, 0);
    return _mm512_permutex2var_epi32(a, even, b);
  } else {
    return _mm512_permutex2var_epi64(a, _mm512_set_epi64(14 + s, 12 + s, 10 + s, 8 + s, 6, 4, 2, 0), b);
  }
}

/// 64 bytes of output. Step: -1, 2 or -2 units. Exact: nothing outside of their units is read; else one unit beyond.
template <std::size_t Unit, int Step, bool Exact>
DMLREF_TARGET_AVX512VNNI inline __m512i wide_vector(const std::byte* in) noexcept {
  constexpr auto unit = static_cast<Index>(Unit);
  if constexpr (Step == -1) {
    return reversed<Unit>(load64(in + unit - 64));
  } else if constexpr (Step == 2) {
    return evens<Unit, Exact>(load64(in), load64(in + 64 - (Exact ? unit : 0)));
  } else {
    return reversed<Unit>(evens<Unit, true>(load64(in + 2 * unit - 128), load64(in + unit - 64)));
  }
}

/// Rows of at least 32 bytes. The last vector overlaps the ones before, unless these were streamed.
template <std::size_t Unit, int Step>
DMLREF_TARGET_AVX512VNNI inline void wide_rows(const RowJob& job, const std::byte* in, std::byte* out,
                                               const RowPlace* rows, std::size_t count, Room room) noexcept {
  constexpr auto unit = static_cast<Index>(Unit);
  const std::size_t bytes = job.out_bytes;
  if (bytes < 64) return avx2::wide_rows<Unit, Step>(job, in, out, rows, count, room);
  for (std::size_t r = 0; r < count; ++r) {
    const std::byte* from = in + rows[r].in;
    std::byte* to = out + rows[r].out;
    std::byte* const last = to + bytes - 64;
    const std::byte* const last_from = from + static_cast<Index>(job.count - 64 / Unit) * Step * unit;
    const Index ahead = avx2::next_row(job, rows, r, count);
    if (job.stream && bytes >= 256 && avx2::misaligned(to, Unit) == 0) {
      const std::size_t head = (64 - avx2::misaligned(to, 64)) % 64;
      if (head > 0) {
        store_part(to, lowest(head), wide_vector<Unit, Step, false>(from));
        from += static_cast<Index>(head) * Step;
        to += head;
      }
      for (; to < last; to += 64, from += 64 * Step) {
        avx2::prefetch(from + ahead);
        if (Step != -1) avx2::prefetch(from + ahead + 32 * Step);
        stream64(to, wide_vector<Unit, Step, false>(from));
      }
      const auto done = static_cast<std::size_t>(to - last);
      store_part(last, ~lowest(done), wide_vector<Unit, Step, true>(last_from));
      continue;
    }
    for (; to < last; to += 64, from += 64 * Step) {
      avx2::prefetch(from + ahead);
      if (Step != -1) avx2::prefetch(from + ahead + 32 * Step);
      store64(to, wide_vector<Unit, Step, false>(from));
    }
    store64(last, wide_vector<Unit, Step, true>(last_from));
  }
}

// --- transposition --------------------------------------------------------------------------------------------------

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

template <bool Stream>
DMLREF_TARGET_AVX512VNNI inline void put64(std::byte* p, __m512i v) noexcept {
  if constexpr (Stream) {
    stream64(p, v);
  } else {
    store64(p, v);
  }
}

/// A square of 64 / Unit by 64 / Unit units: every line of both sides is touched once, so that it does not matter where
/// in the caches they fall. Squares of 16 bytes are transposed in the lanes as in avx2.hpp, then the lanes.
template <std::size_t Unit, bool Stream>
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
    put64<Stream>(to, _mm512_shuffle_i32x4(low01, low23, 0x88));
    put64<Stream>(to + group, _mm512_shuffle_i32x4(low01, low23, 0xDD));
    put64<Stream>(to + 2 * group, _mm512_shuffle_i32x4(high01, high23, 0x88));
    put64<Stream>(to + 3 * group, _mm512_shuffle_i32x4(high01, high23, 0xDD));
  }
}

/// As in avx2.hpp, in squares of lines; streamed where all of them are whole lines of the output.
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
          const std::byte* const at = from + row * job.in_step + column * static_cast<Index>(Unit);
          std::byte* const put = to + column * job.out_cross + row * static_cast<Index>(Unit);
          if (job.stream && job.out_cross % 64 == 0 && avx2::misaligned(put, 64) == 0) {
            transpose_square<Unit, true>(at, put, job.in_step, job.out_cross);
          } else {
            transpose_square<Unit, false>(at, put, job.in_step, job.out_cross);
          }
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
