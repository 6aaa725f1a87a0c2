// neon.hpp: the slice kernels for baseline NEON.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_ARM64

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/fast/slice/job.hpp"
#include "dmlref/fast/slice/scalar.hpp"

DMLREF_BEGIN
namespace fast::neon {

inline uint8x16_t load16(const std::byte* p) noexcept { return vld1q_u8(reinterpret_cast<const std::uint8_t*>(p)); }
inline void store16(std::byte* p, uint8x16_t v) noexcept { vst1q_u8(reinterpret_cast<std::uint8_t*>(p), v); }

inline void copy_rows(const RowJob& job, const std::byte* in, std::byte* out, const RowPlace* rows, std::size_t count,
                      Room room) noexcept {
  const std::size_t bytes = job.out_bytes;
  if (bytes < 16 && room.read && room.write) {
    for (std::size_t r = 0; r < count; ++r) store16(out + rows[r].out, load16(in + rows[r].in));
  } else if (bytes >= 16 && bytes <= 32) {
    for (std::size_t r = 0; r < count; ++r) {
      const uint8x16_t first = load16(in + rows[r].in), last = load16(in + rows[r].in + bytes - 16);
      store16(out + rows[r].out, first);
      store16(out + rows[r].out + bytes - 16, last);
    }
  } else {
    scalar::copy_rows(job, in, out, rows, count, room);
  }
}

// --- programs of byte shuffles: the same steps as in avx2.hpp, where each is explained ------------------------------

template <std::size_t Vectors, std::size_t Terms>
struct Program {
  uint8x16_t control[Vectors * Terms];
  Index load[Vectors * Terms];
};

/// Vector p of one step. A control of 0x80 is out of the table's range, which gives 0.
template <std::size_t Vectors, std::size_t Terms>
inline uint8x16_t program_vector(const Program<Vectors, Terms>& program, std::size_t p, const std::byte* in) noexcept {
  const std::size_t t = p * Terms;
  uint8x16_t v = vqtbl1q_u8(load16(in + program.load[t]), program.control[t]);
  DMLREF_UNROLL
  for (std::size_t k = 1; k < Terms; ++k) {
    v = vorrq_u8(v, vqtbl1q_u8(load16(in + program.load[t + k]), program.control[t + k]));
  }
  return v;
}

template <std::size_t Vectors, std::size_t Terms>
inline void program_step(const Program<Vectors, Terms>& program, const std::byte* in, std::byte* out,
                         std::size_t last_bytes) noexcept {
  uint8x16_t v[Vectors];
  DMLREF_UNROLL
  for (std::size_t p = 0; p < Vectors; ++p) v[p] = program_vector(program, p, in);
  DMLREF_UNROLL
  for (std::size_t p = 0; p + 1 < Vectors; ++p) store16(out + 16 * p, v[p]);
  if (last_bytes == 16) {
    store16(out + 16 * (Vectors - 1), v[Vectors - 1]);
  } else {
    std::byte last[16];
    store16(last, v[Vectors - 1]);
    scalar::copy_few(out + 16 * (Vectors - 1), last, last_bytes);
  }
}

template <std::size_t Vectors, std::size_t Terms>
inline void shuffle_rows_of(const RowJob& job, const std::byte* in, std::byte* out, const RowPlace* rows,
                            std::size_t count, Room room) noexcept {
  const ShuffleProgram& program = job.program;
  Program<Vectors, Terms> held;
  DMLREF_UNROLL
  for (std::size_t t = 0; t < Vectors * Terms; ++t) {
    held.control[t] = vld1q_u8(program.term[t].control.data());
    held.load[t] = program.term[t].load;
  }
  const bool may_read = room.read || program.over_read == 0;
  const bool may_write = room.write || program.last_bytes == 16;
  const std::size_t spill = may_read && may_write ? 0 : program.spill;
  const std::size_t tiles = program.tiles, last_bytes = may_write ? 16 : program.last_bytes;
  for (std::size_t r = 0; r < count; ++r) {
    const std::byte* from = in + rows[r].in;
    std::byte* to = out + rows[r].out;
    std::size_t left = job.count;
    for (; left > tiles && left - tiles >= spill; left -= tiles) {
      program_step(held, from, to, 16);
      from += program.in_advance;
      to += program.out_advance;
    }
    if (!may_read) {
      scalar::step_tiles(job.tile, from, to, left);
      continue;
    }
    while (left > 0) {
      if (left < tiles) {
        const std::size_t back = tiles - left;
        from -= static_cast<Index>(back) * job.tile.in_advance;
        to -= back * job.tile.bytes();
        left = tiles;
      }
      program_step(held, from, to, last_bytes);
      from += program.in_advance;
      to += program.out_advance;
      left -= tiles;
    }
  }
}

template <std::size_t Vectors>
inline void shuffle_rows_with(const RowJob& job, const std::byte* in, std::byte* out, const RowPlace* rows,
                              std::size_t count, Room room) noexcept {
  switch (job.program.terms) {
    case 1: return shuffle_rows_of<Vectors, 1>(job, in, out, rows, count, room);
    case 2: return shuffle_rows_of<Vectors, 2>(job, in, out, rows, count, room);
    case 3: return shuffle_rows_of<Vectors, 3>(job, in, out, rows, count, room);
    default: return shuffle_rows_of<Vectors, 4>(job, in, out, rows, count, room);
  }
}

inline void shuffle_rows(const RowJob& job, const std::byte* in, std::byte* out, const RowPlace* rows,
                         std::size_t count, Room room) noexcept {
  switch (job.program.vectors) {
    case 1: return shuffle_rows_with<1>(job, in, out, rows, count, room);
    case 2: return shuffle_rows_with<2>(job, in, out, rows, count, room);
    case 3: return shuffle_rows_with<3>(job, in, out, rows, count, room);
    default: return shuffle_rows_with<4>(job, in, out, rows, count, room);
  }
}

// --- transposition --------------------------------------------------------------------------------------------------

template <std::size_t Unit>
inline uint8x16_t zip_low(uint8x16_t a, uint8x16_t b) noexcept {
  if constexpr (Unit == 1) {
    return vzip1q_u8(a, b);
  } else if constexpr (Unit == 2) {
    return vreinterpretq_u8_u16(vzip1q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b)));
  } else if constexpr (Unit == 4) {
    return vreinterpretq_u8_u32(vzip1q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
  } else {
    return vreinterpretq_u8_u64(vzip1q_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b)));
  }
}
template <std::size_t Unit>
inline uint8x16_t zip_high(uint8x16_t a, uint8x16_t b) noexcept {
  if constexpr (Unit == 1) {
    return vzip2q_u8(a, b);
  } else if constexpr (Unit == 2) {
    return vreinterpretq_u8_u16(vzip2q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b)));
  } else if constexpr (Unit == 4) {
    return vreinterpretq_u8_u32(vzip2q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
  } else {
    return vreinterpretq_u8_u64(vzip2q_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b)));
  }
}

template <std::size_t Unit>
inline void transpose_square(const std::byte* in, std::byte* out, Index in_step, Index out_cross) noexcept {
  constexpr std::size_t rows = 16 / Unit;
  uint8x16_t a[rows], b[rows];
  DMLREF_UNROLL
  for (std::size_t i = 0; i < rows; ++i) a[i] = load16(in + static_cast<Index>(i) * in_step);
  DMLREF_UNROLL
  for (std::size_t stage = 1; stage < rows; stage *= 2) {
    DMLREF_UNROLL
    for (std::size_t i = 0; i < rows / 2; ++i) {
      b[2 * i] = zip_low<Unit>(a[i], a[i + rows / 2]);
      b[2 * i + 1] = zip_high<Unit>(a[i], a[i + rows / 2]);
    }
    DMLREF_UNROLL
    for (std::size_t i = 0; i < rows; ++i) a[i] = b[i];
  }
  DMLREF_UNROLL
  for (std::size_t i = 0; i < rows; ++i) store16(out + static_cast<Index>(i) * out_cross, a[i]);
}

template <std::size_t Unit>
inline void strip_rows_of(const RowJob& job, const std::byte* in, std::byte* out, const RowPlace* rows,
                          std::size_t count) noexcept {
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

inline void strip_rows(const RowJob& job, const std::byte* in, std::byte* out, const RowPlace* rows, std::size_t count,
                       Room room) noexcept {
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

}  // namespace fast::neon
DMLREF_END

#endif  // DMLREF_ARCH_ARM64
