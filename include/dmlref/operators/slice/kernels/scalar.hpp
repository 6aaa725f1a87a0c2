// scalar.hpp: the slice kernels in plain C++; every instruction set falls back on these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/operators/slice/kernels/strategy.hpp"
#include "dmlref/simd/address.hpp"

DMLREF_BEGIN
namespace fast::scalar {

template <std::size_t Bytes>
inline void move(std::byte* out, const std::byte* in) noexcept {
  std::byte unit[Bytes];
  std::memcpy(unit, in, Bytes);
  std::memcpy(out, unit, Bytes);
}

/// The line of byte `offset` from `p` on.
DMLREF_ALWAYS_INLINE void prefetch(const std::byte* p, Index offset = 0) noexcept {
  prefetch_line(address_of(p, offset));
}
inline std::size_t misaligned(const std::byte* p, std::size_t alignment) noexcept {
  return reinterpret_cast<std::uintptr_t>(p) % alignment;
}

/// `bytes` < 16, exactly.
inline void copy_few(std::byte* out, const std::byte* in, std::size_t bytes) noexcept {
  if (bytes >= 8) {
    std::uint64_t first, last;
    std::memcpy(&first, in, 8);
    std::memcpy(&last, in + bytes - 8, 8);
    std::memcpy(out, &first, 8);
    std::memcpy(out + bytes - 8, &last, 8);
  } else if (bytes >= 4) {
    std::uint32_t first, last;
    std::memcpy(&first, in, 4);
    std::memcpy(&last, in + bytes - 4, 4);
    std::memcpy(out, &first, 4);
    std::memcpy(out + bytes - 4, &last, 4);
  } else if (bytes >= 2) {
    move<2>(out, in);
    out[bytes - 1] = in[bytes - 1];
  } else if (bytes == 1) {
    out[0] = in[0];
  }
}

/// Offsets, not pointers, go beyond the last unit: a step may be longer than all addresses that follow.
template <std::size_t Bytes>
inline void step_units(const std::byte* in, std::byte* out, std::size_t count, Index in_step, Index out_step) noexcept {
  Index from = 0, to = 0;
  for (; count >= 4; count -= 4) {
    std::byte unit[4][Bytes];
    DMLREF_UNROLL
    for (Index k = 0; k < 4; ++k) std::memcpy(unit[k], in + (from + k * in_step), Bytes);
    DMLREF_UNROLL
    for (Index k = 0; k < 4; ++k) std::memcpy(out + (to + k * out_step), unit[k], Bytes);
    from += 4 * in_step;
    to += 4 * out_step;
  }
  for (; count > 0; --count) {
    move<Bytes>(out + to, in + from);
    from += in_step;
    to += out_step;
  }
}

inline void step_row(std::size_t unit_bytes, const std::byte* in, std::byte* out, std::size_t count, Index in_step,
                     Index out_step) noexcept {
  switch (unit_bytes) {
    case 1: return step_units<1>(in, out, count, in_step, out_step);
    case 2: return step_units<2>(in, out, count, in_step, out_step);
    case 4: return step_units<4>(in, out, count, in_step, out_step);
    case 8: return step_units<8>(in, out, count, in_step, out_step);
    default:
      for (Index i = 0; i < static_cast<Index>(count); ++i) {
        std::memcpy(out + i * out_step, in + i * in_step, unit_bytes);
      }
  }
}

/// `count` periods, one after another.
inline void step_periods(const PatternPeriod& period, const std::byte* in, std::byte* out, std::size_t count) noexcept {
  if (period.units == 1) {
    return step_row(period.unit_bytes, in, out, count, period.in_advance, static_cast<Index>(period.unit_bytes));
  }
  for (std::size_t p = 0; p < count; ++p) {
    step_row(period.unit_bytes, in + static_cast<Index>(p) * period.in_advance, out + p * period.bytes(), period.units,
             period.in_step, static_cast<Index>(period.unit_bytes));
  }
}

inline void copy_rows(const RowCopy& row, const std::byte* in, std::byte* out, const RowPlace* rows, std::size_t count,
                      const RowAccess&) noexcept {
  if (row.out_bytes < 16) {
    for (std::size_t r = 0; r < count; ++r) copy_few(out + rows[r].out, in + rows[r].in, row.out_bytes);
    return;
  }
  for (std::size_t r = 0; r < count; ++r) std::memcpy(out + rows[r].out, in + rows[r].in, row.out_bytes);
}

/// The unit is written once and then doubled.
inline void fill_rows(const RowCopy& strategy, const std::byte* in, std::byte* out, const RowPlace* rows,
                      std::size_t count, const RowAccess&) noexcept {
  const std::size_t unit_bytes = static_cast<const FillRows&>(strategy).unit_bytes;
  for (std::size_t r = 0; r < count; ++r) {
    std::byte* to = out + rows[r].out;
    std::memcpy(to, in + rows[r].in, unit_bytes);
    std::size_t done = unit_bytes;
    while (done < strategy.out_bytes) {
      std::size_t more = done < 4096 ? done : 4096 / unit_bytes * unit_bytes;
      if (more > strategy.out_bytes - done) more = strategy.out_bytes - done;
      std::memcpy(to + done, to, more);
      done += more;
    }
  }
}

inline void step_rows(const RowCopy& strategy, const std::byte* in, std::byte* out, const RowPlace* rows,
                      std::size_t count, const RowAccess&) noexcept {
  const auto& steps = static_cast<const StepRows&>(strategy);
  for (std::size_t r = 0; r < count; ++r) {
    step_row(steps.unit_bytes, in + rows[r].in, out + rows[r].out, steps.count, steps.in_step, steps.out_step);
  }
}

/// Blocks of `width` rows by a few units, so that the lines of both sides stay in L1d.
inline void transpose_panels(const RowCopy& strategy, const std::byte* in, std::byte* out, const RowPlace* rows,
                             std::size_t count, const RowAccess&) noexcept {
  constexpr std::size_t block = 64;
  const auto& panel = static_cast<const PanelRows&>(strategy);
  for (std::size_t r = 0; r < count; ++r) {
    for (std::size_t at = 0; at < panel.count; at += block) {
      const std::size_t units = panel.count - at < block ? panel.count - at : block;
      const std::byte* from = in + rows[r].in + static_cast<Index>(at) * panel.in_step;
      std::byte* to = out + rows[r].out + static_cast<Index>(at) * panel.out_step;
      for (Index w = 0; w < static_cast<Index>(panel.width); ++w) {
        step_row(panel.unit_bytes, from + w * panel.in_cross, to + w * panel.out_cross, units, panel.in_step,
                 panel.out_step);
      }
    }
  }
}

}  // namespace fast::scalar
DMLREF_END
