// neon.hpp: vectors of float and of double with baseline NEON.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_ARM64

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "dmlref/desc/half.hpp"

#define DMLREF_VECTOR_TARGET DMLREF_ALWAYS_INLINE

DMLREF_BEGIN
namespace fast::simd::neon {

struct Doubles {
  using Real = double;
  static constexpr std::size_t lanes = 2;
  float64x2_t v;
  DMLREF_VECTOR_TARGET static Doubles of(double x) noexcept { return {vdupq_n_f64(x)}; }
  DMLREF_VECTOR_TARGET static Doubles load(const double* from) noexcept { return {vld1q_f64(from)}; }
  DMLREF_VECTOR_TARGET static Doubles from_floats(const std::byte* from) noexcept {
    return {vcvt_f64_f32(vreinterpret_f32_u8(vld1_u8(reinterpret_cast<const std::uint8_t*>(from))))};
  }
};
struct DoublesMask {
  uint64x2_t v;
};
struct Floats {
  using Real = float;
  static constexpr std::size_t lanes = 4;
  float32x4_t v;
  DMLREF_VECTOR_TARGET static Floats of(float x) noexcept { return {vdupq_n_f32(x)}; }
  DMLREF_VECTOR_TARGET static Floats load(const float* from) noexcept { return {vld1q_f32(from)}; }
};
struct FloatsMask {
  uint32x4_t v;
};

DMLREF_VECTOR_TARGET Doubles sum(Doubles a, Doubles b) noexcept { return {vaddq_f64(a.v, b.v)}; }
DMLREF_VECTOR_TARGET Doubles difference(Doubles a, Doubles b) noexcept { return {vsubq_f64(a.v, b.v)}; }
DMLREF_VECTOR_TARGET Doubles product(Doubles a, Doubles b) noexcept { return {vmulq_f64(a.v, b.v)}; }
DMLREF_VECTOR_TARGET Doubles quotient(Doubles a, Doubles b) noexcept { return {vdivq_f64(a.v, b.v)}; }
DMLREF_VECTOR_TARGET Doubles fma(Doubles a, Doubles b, Doubles c) noexcept { return {vfmaq_f64(c.v, a.v, b.v)}; }
DMLREF_VECTOR_TARGET Doubles less_product(Doubles c, Doubles a, Doubles b) noexcept {
  return {vfmsq_f64(c.v, a.v, b.v)};
}
DMLREF_VECTOR_TARGET Doubles magnitude(Doubles x) noexcept { return {vabsq_f64(x.v)}; }
DMLREF_VECTOR_TARGET Doubles negated(Doubles x) noexcept { return {vnegq_f64(x.v)}; }
DMLREF_VECTOR_TARGET Doubles with_sign(Doubles size, Doubles sign) noexcept {
  return {vbslq_f64(vreinterpretq_u64_f64(vdupq_n_f64(-0.0)), sign.v, size.v)};
}
DMLREF_VECTOR_TARGET Doubles not_above(Doubles x, Doubles limit) noexcept {
  return {vbslq_f64(vcltq_f64(limit.v, x.v), limit.v, x.v)};
}
DMLREF_VECTOR_TARGET Doubles not_below(Doubles x, Doubles limit) noexcept {
  return {vbslq_f64(vcltq_f64(x.v, limit.v), limit.v, x.v)};
}
DMLREF_VECTOR_TARGET Doubles power_of_2(Doubles shifted) noexcept {
  return {vreinterpretq_f64_u64(vshlq_n_u64(vreinterpretq_u64_f64(shifted.v), 52))};
}
DMLREF_VECTOR_TARGET DoublesMask less(Doubles a, Doubles b) noexcept { return {vcltq_f64(a.v, b.v)}; }
DMLREF_VECTOR_TARGET DoublesMask at_most(Doubles a, Doubles b) noexcept { return {vcleq_f64(a.v, b.v)}; }
DMLREF_VECTOR_TARGET DoublesMask not_at_most(Doubles a, Doubles b) noexcept {
  return {veorq_u64(vcleq_f64(a.v, b.v), vdupq_n_u64(~std::uint64_t{0}))};
}
DMLREF_VECTOR_TARGET DoublesMask or_(DoublesMask a, DoublesMask b) noexcept { return {vorrq_u64(a.v, b.v)}; }
DMLREF_VECTOR_TARGET bool any(DoublesMask mask) noexcept { return vmaxvq_u32(vreinterpretq_u32_u64(mask.v)) != 0; }
DMLREF_VECTOR_TARGET Doubles choose(DoublesMask mask, Doubles yes, Doubles no) noexcept {
  return {vbslq_f64(mask.v, yes.v, no.v)};
}
DMLREF_VECTOR_TARGET Floats sum(Floats a, Floats b) noexcept { return {vaddq_f32(a.v, b.v)}; }
DMLREF_VECTOR_TARGET Floats difference(Floats a, Floats b) noexcept { return {vsubq_f32(a.v, b.v)}; }
DMLREF_VECTOR_TARGET Floats product(Floats a, Floats b) noexcept { return {vmulq_f32(a.v, b.v)}; }
DMLREF_VECTOR_TARGET Floats quotient(Floats a, Floats b) noexcept { return {vdivq_f32(a.v, b.v)}; }
DMLREF_VECTOR_TARGET Floats fma(Floats a, Floats b, Floats c) noexcept { return {vfmaq_f32(c.v, a.v, b.v)}; }
DMLREF_VECTOR_TARGET Floats less_product(Floats c, Floats a, Floats b) noexcept { return {vfmsq_f32(c.v, a.v, b.v)}; }
DMLREF_VECTOR_TARGET Floats magnitude(Floats x) noexcept { return {vabsq_f32(x.v)}; }
DMLREF_VECTOR_TARGET Floats negated(Floats x) noexcept { return {vnegq_f32(x.v)}; }
DMLREF_VECTOR_TARGET Floats with_sign(Floats size, Floats sign) noexcept {
  return {vbslq_f32(vreinterpretq_u32_f32(vdupq_n_f32(-0.0f)), sign.v, size.v)};
}
DMLREF_VECTOR_TARGET Floats not_above(Floats x, Floats limit) noexcept {
  return {vbslq_f32(vcltq_f32(limit.v, x.v), limit.v, x.v)};
}
DMLREF_VECTOR_TARGET Floats not_below(Floats x, Floats limit) noexcept {
  return {vbslq_f32(vcltq_f32(x.v, limit.v), limit.v, x.v)};
}
DMLREF_VECTOR_TARGET Floats power_of_2(Floats shifted) noexcept {
  return {vreinterpretq_f32_u32(vshlq_n_u32(vreinterpretq_u32_f32(shifted.v), 23))};
}
DMLREF_VECTOR_TARGET FloatsMask less(Floats a, Floats b) noexcept { return {vcltq_f32(a.v, b.v)}; }
DMLREF_VECTOR_TARGET FloatsMask at_most(Floats a, Floats b) noexcept { return {vcleq_f32(a.v, b.v)}; }
DMLREF_VECTOR_TARGET FloatsMask not_at_most(Floats a, Floats b) noexcept {
  return {veorq_u32(vcleq_f32(a.v, b.v), vdupq_n_u32(~std::uint32_t{0}))};
}
DMLREF_VECTOR_TARGET FloatsMask not_at_least(Floats a, Floats b) noexcept { return {vmvnq_u32(vcgeq_f32(a.v, b.v))}; }
DMLREF_VECTOR_TARGET FloatsMask or_(FloatsMask a, FloatsMask b) noexcept { return {vorrq_u32(a.v, b.v)}; }
DMLREF_VECTOR_TARGET bool any(FloatsMask mask) noexcept { return vmaxvq_u32(mask.v) != 0; }
DMLREF_VECTOR_TARGET Floats choose(FloatsMask mask, Floats yes, Floats no) noexcept {
  return {vbslq_f32(mask.v, yes.v, no.v)};
}
DMLREF_VECTOR_TARGET void store_rounded(std::byte* to, Doubles x) noexcept {
  vst1_u8(reinterpret_cast<std::uint8_t*>(to), vreinterpret_u8_f32(vcvt_f32_f64(x.v)));
}
DMLREF_VECTOR_TARGET void store_rounded(std::byte* to, Floats x) noexcept {
  vst1_u8(reinterpret_cast<std::uint8_t*>(to), vreinterpret_u8_f16(vcvt_f16_f32(x.v)));
}

#include "dmlref/simd/reals/pairs-inl.hpp"

DMLREF_VECTOR_TARGET Floats lesser_magnitude(Floats a, Floats b) noexcept { return {vminnmq_f32(a.v, vabsq_f32(b.v))}; }
DMLREF_VECTOR_TARGET Doubles lesser_magnitude(Doubles a, Doubles b) noexcept {
  return {vminnmq_f64(a.v, vabsq_f64(b.v))};
}
DMLREF_VECTOR_TARGET unsigned bits(DoublesMask mask) noexcept {
  const std::uint64_t place[2] = {1, 2};
  return static_cast<unsigned>(vaddvq_u64(vandq_u64(mask.v, vld1q_u64(place))));
}
DMLREF_VECTOR_TARGET unsigned bits(FloatsMask mask) noexcept {
  const std::uint32_t place[4] = {1, 2, 4, 8};
  return vaddvq_u32(vandq_u32(mask.v, vld1q_u32(place)));
}
DMLREF_VECTOR_TARGET Floats rounded(Vectors<Doubles> x) noexcept {
  return {vcvt_high_f32_f64(vcvt_f32_f64(x.first.v), x.second.v)};
}
DMLREF_VECTOR_TARGET Vectors<Doubles> widened(Floats x) noexcept {
  return {{vcvt_f64_f32(vget_low_f32(x.v))}, {vcvt_high_f64_f32(x.v)}};
}

/// The sum of the lanes; the least lane.
DMLREF_VECTOR_TARGET double sum_of_lanes(Doubles x) noexcept { return vaddvq_f64(x.v); }
DMLREF_VECTOR_TARGET float min_lane(Floats x) noexcept { return vminnmvq_f32(x.v); }
/// Nothing, but compilers then do not know the number.
DMLREF_VECTOR_TARGET void pin(Doubles& x) noexcept { __asm__("" : "+w"(x.v)); }
DMLREF_VECTOR_TARGET void pin(Floats& x) noexcept { __asm__("" : "+w"(x.v)); }

/// Elements of T, float or half, from memory. (Addresses are arbitrary: everything is loaded and stored as bytes.)
template <class T>
DMLREF_VECTOR_TARGET Floats floats_from(const std::byte* from) noexcept {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(from);
  if constexpr (std::is_same_v<T, half>) {
    return {vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(bytes)))};
  } else {
    return {vreinterpretq_f32_u8(vld1q_u8(bytes))};
  }
}
template <class T>
DMLREF_VECTOR_TARGET Vectors<Doubles> doubles_from(const std::byte* from) noexcept {
  return widened(floats_from<T>(from));
}
DMLREF_VECTOR_TARGET void store(std::byte* to, Floats x) noexcept {
  vst1q_u8(reinterpret_cast<std::uint8_t*>(to), vreinterpretq_u8_f32(x.v));
}
DMLREF_VECTOR_TARGET void store(std::byte* to, Doubles x) noexcept {
  vst1q_u8(reinterpret_cast<std::uint8_t*>(to), vreinterpretq_u8_f64(x.v));
}
/// Integers from memory, as floats: those of 32 bits are rounded. And as doubles: of 32 bits.
template <class T>
DMLREF_VECTOR_TARGET Floats floats_of_integers(const std::byte* from) noexcept {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(from);
  if constexpr (sizeof(T) == 4) {
    const uint8x16_t integers = vld1q_u8(bytes);
    if constexpr (std::is_signed_v<T>) return {vcvtq_f32_s32(vreinterpretq_s32_u8(integers))};
    return {vcvtq_f32_u32(vreinterpretq_u32_u8(integers))};
  }
  uint8x8_t narrow;
  if constexpr (sizeof(T) == 1) {
    std::uint32_t four;
    std::memcpy(&four, from, sizeof four);
    narrow = vreinterpret_u8_u32(vdup_n_u32(four));
  } else {
    narrow = vld1_u8(bytes);
  }
  if constexpr (std::is_signed_v<T>) {
    const int16x4_t words =
        sizeof(T) == 1 ? vget_low_s16(vmovl_s8(vreinterpret_s8_u8(narrow))) : vreinterpret_s16_u8(narrow);
    return {vcvtq_f32_s32(vmovl_s16(words))};
  } else {
    const uint16x4_t words = sizeof(T) == 1 ? vget_low_u16(vmovl_u8(narrow)) : vreinterpret_u16_u8(narrow);
    return {vcvtq_f32_u32(vmovl_u16(words))};
  }
}
template <class T>
DMLREF_VECTOR_TARGET Vectors<Doubles> doubles_of_integers(const std::byte* from) noexcept {
  const uint8x16_t bytes = vld1q_u8(reinterpret_cast<const std::uint8_t*>(from));
  if constexpr (std::is_signed_v<T>) {
    const int32x4_t integers = vreinterpretq_s32_u8(bytes);
    return {{vcvtq_f64_s64(vmovl_s32(vget_low_s32(integers)))}, {vcvtq_f64_s64(vmovl_high_s32(integers))}};
  } else {
    const uint32x4_t integers = vreinterpretq_u32_u8(bytes);
    return {{vcvtq_f64_u64(vmovl_u32(vget_low_u32(integers)))}, {vcvtq_f64_u64(vmovl_high_u32(integers))}};
  }
}
/// x, which is `excess` more than what it was rounded from, rounded to odd instead: toward 0, and the last bit is set.
DMLREF_VECTOR_TARGET Floats rounded_to_odd(Floats x, Floats excess) noexcept {
  const uint32x4_t bits = vreinterpretq_u32_f32(x.v);
  const uint32x4_t inexact = vorrq_u32(vcltzq_f32(excess.v), vcgtzq_f32(excess.v));
  const uint32x4_t same = vcgezq_s32(vreinterpretq_s32_u32(veorq_u32(bits, vreinterpretq_u32_f32(excess.v))));
  const uint32x4_t toward_0 = vaddq_u32(bits, vandq_u32(inexact, same));
  return {vreinterpretq_f32_u32(vorrq_u32(toward_0, vshrq_n_u32(inexact, 31)))};
}
DMLREF_VECTOR_TARGET Doubles rounded_to_odd(Doubles x, Doubles excess) noexcept {
  const uint64x2_t bits = vreinterpretq_u64_f64(x.v);
  const uint64x2_t inexact = vorrq_u64(vcltzq_f64(excess.v), vcgtzq_f64(excess.v));
  const uint64x2_t same = vcgezq_s64(vreinterpretq_s64_u64(veorq_u64(bits, vreinterpretq_u64_f64(excess.v))));
  const uint64x2_t toward_0 = vaddq_u64(bits, vandq_u64(inexact, same));
  return {vreinterpretq_f64_u64(vorrq_u64(toward_0, vshrq_n_u64(inexact, 63)))};
}
/// Integers of 32 bits; or bytes.
struct Integers {
  uint8x16_t v;
  DMLREF_VECTOR_TARGET static Integers of_bytes(std::uint8_t x) noexcept { return {vdupq_n_u8(x)}; }
};
/// The nearest ones; of NaN, and below them, one whose lower 16 bits are 0; above them one that saturates, or such one.
DMLREF_VECTOR_TARGET Integers nearest_integers(Floats x) noexcept {
  return {vreinterpretq_u8_s32(vcvtnq_s32_f32(x.v))};
}
DMLREF_VECTOR_TARGET Integers min_words(Integers a, Integers b) noexcept {
  return {vreinterpretq_u8_u16(vminq_u16(vreinterpretq_u16_u8(a.v), vreinterpretq_u16_u8(b.v)))};
}
/// Whether the lower 16 bits of any are below 8.
DMLREF_VECTOR_TARGET bool any_lower_word_below_8(Integers x) noexcept {
  const uint16x8_t words = vreinterpretq_u16_u8(x.v);
  return vminvq_u16(vuzp1q_u16(words, words)) < 8;
}
/// The upper 16 bits of each, saturated to bytes without sign.
DMLREF_VECTOR_TARGET Integers upper_words_as_bytes(Integers a, Integers b, Integers c, Integers d) noexcept {
  const auto upper_words = [](Integers x) { return vshrn_n_s32(vreinterpretq_s32_u8(x.v), 16); };
  const uint8x8_t ab = vqmovun_s16(vcombine_s16(upper_words(a), upper_words(b)));
  const uint8x8_t cd = vqmovun_s16(vcombine_s16(upper_words(c), upper_words(d)));
  return {vcombine_u8(ab, cd)};
}
DMLREF_VECTOR_TARGET Integers xor_(Integers a, Integers b) noexcept { return {veorq_u8(a.v, b.v)}; }
DMLREF_VECTOR_TARGET void store(std::byte* to, Integers x) noexcept {
  vst1q_u8(reinterpret_cast<std::uint8_t*>(to), x.v);
}
DMLREF_VECTOR_TARGET void stream(std::byte* to, Integers x) noexcept { store(to, x); }
/// Floats that are integers of 8 bits, signed or not, to memory.
DMLREF_VECTOR_TARGET void store_bytes(std::byte* to, Floats x) noexcept {
  const uint8x16_t bytes = vreinterpretq_u8_s32(vcvtnq_s32_f32(x.v));
  const std::uint8_t lowest[8] = {0, 4, 8, 12, 0, 4, 8, 12};
  const std::uint32_t four = vget_lane_u32(vreinterpret_u32_u8(vqtbl1_u8(bytes, vld1_u8(lowest))), 0);
  std::memcpy(to, &four, sizeof four);
}
DMLREF_VECTOR_TARGET void stream(std::byte* to, Floats x) noexcept { store(to, x); }
DMLREF_VECTOR_TARGET void stream_rounded(std::byte* to, Floats x) noexcept { store_rounded(to, x); }
/// The first elements of a vector; the others are 0, or stay as they are.
struct First {
  std::size_t count;
  DMLREF_VECTOR_TARGET explicit First(std::size_t n) noexcept : count(n) {}
};
template <class T>
DMLREF_VECTOR_TARGET Floats floats_from(const std::byte* from, First first) noexcept {
  std::byte space[4 * sizeof(T)]{};
  std::memcpy(space, from, first.count * sizeof(T));
  return floats_from<T>(space);
}
DMLREF_VECTOR_TARGET void store(std::byte* to, Floats x, First first) noexcept {
  std::byte space[16];
  store(space, x);
  std::memcpy(to, space, first.count * sizeof(float));
}

}  // namespace fast::simd::neon
DMLREF_END

#undef DMLREF_VECTOR_TARGET

#endif  // DMLREF_ARCH_ARM64
