// neon.hpp: the slice kernels for baseline NEON.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_ARM64

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "dmlref/operators/slice/kernels/scalar.hpp"
#include "dmlref/operators/slice/kernels/strategy.hpp"

DMLREF_BEGIN
namespace fast::neon {

inline uint8x16_t load16(const std::byte* p) noexcept { return vld1q_u8(reinterpret_cast<const std::uint8_t*>(p)); }
inline void store16(std::byte* p, uint8x16_t v) noexcept { vst1q_u8(reinterpret_cast<std::uint8_t*>(p), v); }

using Bytes16 = uint8x16_t;
using Vector = uint8x16_t;
inline constexpr std::size_t vector_bytes = 16;
inline constexpr bool streams = false;

inline uint8x16_t load(const std::byte* p) noexcept { return load16(p); }
inline void store(std::byte* p, uint8x16_t v) noexcept { store16(p, v); }
inline void stream16(std::byte* p, uint8x16_t v) noexcept { store16(p, v); }
inline uint8x16_t load_control(const ShuffleTerm& term) noexcept { return vld1q_u8(term.control.data()); }
/// A control of 0x80 is out of the table's range, which gives 0.
inline uint8x16_t shuffle16(uint8x16_t v, uint8x16_t control) noexcept { return vqtbl1q_u8(v, control); }
inline uint8x16_t or16(uint8x16_t a, uint8x16_t b) noexcept { return vorrq_u8(a, b); }

template <std::size_t Unit>
inline uint8x16_t unpack_low(uint8x16_t a, uint8x16_t b) noexcept {
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
inline uint8x16_t unpack_high(uint8x16_t a, uint8x16_t b) noexcept {
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

inline void copy_long_rows(const RowCopy& strategy, const std::byte* in, std::byte* out, const RowPlace* rows,
                           std::size_t count, const RowAccess& access) noexcept {
  scalar::copy_rows(strategy, in, out, rows, count, access);
}

#define DMLREF_SLICE_TARGET
#include "dmlref/operators/slice/kernels/vector_rows-inl.hpp"
#undef DMLREF_SLICE_TARGET

}  // namespace fast::neon
DMLREF_END

#endif  // DMLREF_ARCH_ARM64
