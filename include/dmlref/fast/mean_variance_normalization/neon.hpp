// neon.hpp: the normalization kernels for baseline NEON. What is left of a row after the last whole vector goes to the
// plain kernels, which define the results.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_ARM64

#include <arm_neon.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "dmlref/fast/mean_variance_normalization/kernels.hpp"
#include "dmlref/fast/mean_variance_normalization/scalar.hpp"

DMLREF_BEGIN
namespace fast::normalization::neon {

// Addresses are arbitrary: everything is loaded and stored as bytes.
inline uint8x16_t load_bytes(const void* at) noexcept { return vld1q_u8(static_cast<const std::uint8_t*>(at)); }
inline void store_bytes(void* at, uint8x16_t v) noexcept { vst1q_u8(static_cast<std::uint8_t*>(at), v); }
inline float32x4_t load_floats(const void* at) noexcept { return vreinterpretq_f32_u8(load_bytes(at)); }
inline float64x2_t load_doubles(const void* at) noexcept { return vreinterpretq_f64_u8(load_bytes(at)); }
inline void store_floats(void* at, float32x4_t v) noexcept { store_bytes(at, vreinterpretq_u8_f32(v)); }
inline void store_doubles(void* at, float64x2_t v) noexcept { store_bytes(at, vreinterpretq_u8_f64(v)); }

/// Four neighbouring elements as floats.
template <class T>
inline float32x4_t load4(const std::byte* at) noexcept {
  if constexpr (std::is_same_v<T, half>) {
    return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(reinterpret_cast<const std::uint8_t*>(at))));
  } else {
    return load_floats(at);
  }
}
inline void store_halves(std::byte* at, float32x4_t v) noexcept {
  vst1_u8(reinterpret_cast<std::uint8_t*>(at), vreinterpret_u8_f16(vcvt_f16_f32(v)));
}

inline void widen(const std::byte* halves, float* floats, std::size_t count) noexcept {
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) store_floats(floats + i, load4<half>(halves + i * sizeof(half)));
  scalar::widen(halves + i * sizeof(half), floats + i, count - i);
}

/// Two lanes to a vector; what is left of the last block of 16 is added one by one.
template <bool shifted>
inline void add_to(scalar::Lanes& lanes, const std::byte* floats, std::size_t count, double pivot,
                   double* wide) noexcept {
  constexpr std::size_t vectors = normalization_lanes / 2;
  const float64x2_t p = vdupq_n_f64(pivot);
  float64x2_t s[vectors], q[vectors];
  DMLREF_UNROLL
  for (std::size_t v = 0; v < vectors; ++v) {
    s[v] = load_doubles(&lanes.sum[2 * v]);
    q[v] = load_doubles(&lanes.square[2 * v]);
  }
  std::size_t i = 0;
  for (; i + normalization_lanes <= count; i += normalization_lanes) {
    DMLREF_UNROLL
    for (std::size_t v = 0; v < vectors; v += 2) {
      const float32x4_t four = load_floats(floats + (i + 2 * v) * sizeof(float));
      float64x2_t low = vcvt_f64_f32(vget_low_f32(four));
      float64x2_t high = vcvt_high_f64_f32(four);
      if (wide != nullptr) {
        store_doubles(wide + i + 2 * v, low);
        store_doubles(wide + i + 2 * v + 2, high);
      }
      if constexpr (shifted) {
        low = vsubq_f64(low, p);
        high = vsubq_f64(high, p);
      }
      s[v] = vaddq_f64(s[v], low);
      s[v + 1] = vaddq_f64(s[v + 1], high);
      q[v] = vfmaq_f64(q[v], low, low);
      q[v + 1] = vfmaq_f64(q[v + 1], high, high);
    }
  }
  DMLREF_UNROLL
  for (std::size_t v = 0; v < vectors; ++v) {
    store_doubles(&lanes.sum[2 * v], s[v]);
    store_doubles(&lanes.square[2 * v], q[v]);
  }
  scalar::add_to<shifted>(lanes, floats + i * sizeof(float), count - i, pivot, wide != nullptr ? wide + i : nullptr);
}
inline SumAndSquare sums(const std::byte* floats, std::size_t count, double* wide, const std::byte*) noexcept {
  scalar::Lanes lanes;
  neon::add_to<false>(lanes, floats, count, 0.0, wide);
  return scalar::total(lanes);
}
inline SumAndSquare shifted_sums(const std::byte* floats, std::size_t count, double pivot) noexcept {
  scalar::Lanes lanes;
  neon::add_to<true>(lanes, floats, count, pivot, nullptr);
  return scalar::total(lanes);
}
inline SumAndSquare piece_sums(const std::byte* from, const Piece* pieces, std::size_t count, std::int64_t) noexcept {
  scalar::Lanes lanes;
  for (std::size_t p = 0; p < count; ++p) {
    neon::add_to<false>(lanes, from + pieces[p].from, pieces[p].count, 0.0, nullptr);
  }
  return scalar::total(lanes);
}

// ---- Rows of float32: values are doubles, rounded once
// ----------------------------------------------------------------

template <Finish finish>
constexpr std::size_t stored_bytes32 = finish == Finish::values ? sizeof(double) : sizeof(float);
template <Finish finish>
constexpr std::size_t stored_bytes16 = finish == Finish::values ? sizeof(float) : sizeof(half);

inline float32x4_t rounded(float64x2_t low, float64x2_t high) noexcept {
  return vcvt_high_f32_f64(vcvt_f32_f64(low), high);
}
inline float64x2_t leaky(float64x2_t value, float64x2_t alpha) noexcept {
  return vbslq_f64(vcltzq_f64(value), vmulq_f64(value, alpha), value);
}

/// The activations that a comparison decides; NaN stays NaN and -0 stays -0, as in the reference.
template <Finish finish>
inline float32x4_t clamped(float32x4_t value) noexcept {
  const float32x4_t zero = vdupq_n_f32(0.0f), one = vdupq_n_f32(1.0f);
  if constexpr (finish == Finish::unit) value = vbslq_f32(vcgtq_f32(value, one), one, value);
  if constexpr (finish == Finish::relu || finish == Finish::unit) {
    value = vbslq_f32(vcltq_f32(value, zero), zero, value);
  }
  return value;
}

/// Four values rounded, finished and stored as element i and on; `least` collects the smallest magnitude.
template <Finish finish>
inline void store32(std::byte* to, std::size_t i, float64x2_t low, float64x2_t high, float64x2_t alpha,
                    float32x4_t& least) noexcept {
  const float32x4_t value = rounded(low, high);
  least = vminnmq_f32(least, vabsq_f32(value));
  std::byte* const at = to + i * stored_bytes32<finish>;
  if constexpr (finish == Finish::values) {
    store_doubles(at, low);
    store_doubles(at + 16, high);
  } else if constexpr (finish == Finish::leaky_relu) {
    store_floats(at, rounded(leaky(low, alpha), leaky(high, alpha)));
  } else {
    store_floats(at, clamped<finish>(value));
  }
  static_cast<void>(alpha);
}

inline float smaller(float a, float b) noexcept { return b < a ? b : a; }

template <Finish finish>
inline float row32(const Row32& row) noexcept {
  const float64x2_t shift = vdupq_n_f64(row.line.shift), slope = vdupq_n_f64(row.line.slope);
  const float64x2_t offset = vdupq_n_f64(row.line.offset), alpha = vdupq_n_f64(row.alpha);
  float32x4_t least[2] = {vdupq_n_f32(std::numeric_limits<float>::infinity()),
                          vdupq_n_f32(std::numeric_limits<float>::infinity())};
  std::size_t i = 0;
  for (; i + 8 <= row.count; i += 8) {
    DMLREF_UNROLL
    for (std::size_t k = 0; k < 2; ++k) {
      const float32x4_t x = load_floats(row.from + (i + 4 * k) * sizeof(float));
      const float64x2_t low = vsubq_f64(vcvt_f64_f32(vget_low_f32(x)), shift);
      const float64x2_t high = vsubq_f64(vcvt_high_f64_f32(x), shift);
      store32<finish>(row.to, i + 4 * k, vfmaq_f64(offset, low, slope), vfmaq_f64(offset, high, slope), alpha,
                      least[k]);
    }
  }
  Row32 rest = row;
  rest.from += i * sizeof(float);
  rest.to += i * stored_bytes32<finish>;
  rest.count -= i;
  return smaller(scalar::row32<finish>(rest), vminnmvq_f32(vminnmq_f32(least[0], least[1])));
}

template <Finish finish>
inline float pieces32(const Pieces32& chunk) noexcept {
  return scalar::pieces32_by(row32<finish>, chunk);
}

template <Finish finish>
inline float each_row32(const EachRow32& row) noexcept {
  const GroupCoefficients& group = *row.group;
  const float64x2_t shift = vdupq_n_f64(group.shift), rate = vdupq_n_f64(group.rate);
  const float64x2_t mean_rest = vdupq_n_f64(group.rest), alpha = vdupq_n_f64(row.alpha);
  float32x4_t least = vdupq_n_f32(std::numeric_limits<float>::infinity());
  std::size_t i = 0;
  for (; i + 4 <= row.count; i += 4) {
    const float32x4_t four = load_floats(row.from + i * sizeof(float));
    float64x2_t value[2] = {vcvt_f64_f32(vget_low_f32(four)), vcvt_high_f64_f32(four)};
    DMLREF_UNROLL
    for (std::size_t k = 0; k < 2; ++k) {
      const float64x2_t slope = vmulq_f64(rate, load_doubles(row.scale + i + 2 * k));
      const float64x2_t offset = vfmsq_f64(load_doubles(row.bias + i + 2 * k), mean_rest, slope);
      value[k] = vfmaq_f64(offset, vsubq_f64(value[k], shift), slope);
    }
    store32<finish>(row.to, i, value[0], value[1], alpha, least);
  }
  EachRow32 rest = row;
  rest.from += i * sizeof(float);
  rest.to += i * stored_bytes32<finish>;
  rest.count -= i;
  rest.scale += i;
  rest.bias += i;
  return smaller(scalar::each_row32<finish>(rest), vminnmvq_f32(least));
}

// ---- Rows of float16: values are floats; doubtful ones are listed
// -----------------------------------------------------

template <Finish finish>
inline void store16(std::byte* to, std::size_t i, float32x4_t value, float32x4_t alpha) noexcept {
  std::byte* const at = to + i * stored_bytes16<finish>;
  if constexpr (finish == Finish::values) {
    store_floats(at, value);
  } else if constexpr (finish == Finish::leaky_relu) {
    store_halves(at, vbslq_f32(vcltzq_f32(value), vmulq_f32(value, alpha), value));
  } else {
    store_halves(at, clamped<finish>(value));
  }
  static_cast<void>(alpha);
}

/// Appends the numbers, from `first` on, of the values whose magnitude is not at least `doubt`.
inline std::size_t list_doubtful(float32x4_t value, float32x4_t doubt, std::size_t first, std::uint16_t* list,
                                 std::size_t count) noexcept {
  const uint32x4_t safe = vcgeq_f32(vabsq_f32(value), doubt);
  if (vminvq_u32(safe) != 0) return count;
  std::uint32_t lane[4];
  vst1q_u32(lane, safe);
  for (std::size_t k = 0; k < 4; ++k) {
    if (lane[k] == 0) list[count++] = static_cast<std::uint16_t>(first + k);
  }
  return count;
}

template <Finish finish>
inline std::size_t row16(const Row16& row) noexcept {
  const float32x4_t shift = vdupq_n_f32(row.line.shift), slope = vdupq_n_f32(row.line.slope);
  const float32x4_t offset = vdupq_n_f32(row.line.offset), doubt = vdupq_n_f32(row.line.doubt);
  const float32x4_t alpha = vdupq_n_f32(row.alpha);
  std::size_t doubtful = 0;
  std::size_t i = 0;
  for (; i + 4 <= row.count; i += 4) {
    const float32x4_t value = vfmaq_f32(offset, vsubq_f32(load_floats(row.from + i), shift), slope);
    store16<finish>(row.to, i, value, alpha);
    doubtful = list_doubtful(value, doubt, i, row.doubtful, doubtful);
  }
  Row16 rest = row;
  rest.from += i;
  rest.to += i * stored_bytes16<finish>;
  rest.count -= i;
  rest.doubtful += doubtful;
  return doubtful + scalar::renumber(rest.doubtful, scalar::row16<finish>(rest), i);
}

template <Finish finish>
inline std::size_t pieces16(const Pieces16& chunk) noexcept {
  return scalar::pieces16_by(widen, row16<finish>, chunk);
}

template <Finish finish>
inline std::size_t each_row16(const EachRow16& row) noexcept {
  const float32x4_t shift = vdupq_n_f32(row.shift), rate = vdupq_n_f32(row.rate), mean_rest = vdupq_n_f32(row.rest);
  const float32x4_t slope_doubt = vdupq_n_f32(row.slope_doubt), alpha = vdupq_n_f32(row.alpha);
  std::size_t doubtful = 0;
  std::size_t i = 0;
  for (; i + 4 <= row.count; i += 4) {
    const float32x4_t bias = load_floats(row.bias + i);
    const float32x4_t slope = vmulq_f32(rate, load_floats(row.scale + i));
    const float32x4_t offset = vfmsq_f32(bias, mean_rest, slope);
    const float32x4_t doubt =
        vfmaq_f32(vmulq_f32(vabsq_f32(bias), vdupq_n_f32(0x1p-9f)), vabsq_f32(slope), slope_doubt);
    const float32x4_t value = vfmaq_f32(offset, vsubq_f32(load_floats(row.from + i), shift), slope);
    store16<finish>(row.to, i, value, alpha);
    doubtful = list_doubtful(value, doubt, i, row.doubtful, doubtful);
  }
  EachRow16 rest = row;
  rest.from += i;
  rest.to += i * stored_bytes16<finish>;
  rest.count -= i;
  rest.scale += i;
  rest.bias += i;
  rest.doubtful += doubtful;
  return doubtful + scalar::renumber(rest.doubtful, scalar::each_row16<finish>(rest), i);
}

inline const Kernels& kernels() noexcept {
  using enum Finish;
  static constexpr Kernels table{
      widen,
      sums,
      shifted_sums,
      piece_sums,
      {row32<identity>, row32<relu>, row32<leaky_relu>, row32<unit>, row32<values>},
      {each_row32<identity>, each_row32<relu>, each_row32<leaky_relu>, each_row32<unit>, each_row32<values>},
      {pieces32<identity>, pieces32<relu>, pieces32<leaky_relu>, pieces32<unit>},
      {row16<identity>, row16<relu>, row16<leaky_relu>, row16<unit>, row16<values>},
      {pieces16<identity>, pieces16<relu>, pieces16<leaky_relu>, pieces16<unit>},
      {each_row16<identity>, each_row16<relu>, each_row16<leaky_relu>, each_row16<unit>, each_row16<values>}};
  return table;
}

}  // namespace fast::normalization::neon
DMLREF_END

#endif  // DMLREF_ARCH_ARM64
