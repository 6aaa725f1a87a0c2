// epilogue.hpp: 64 sums to 64 bytes.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/kernels.hpp"
#include "dmlref/fast/quantized_linear_convolution/requantize/avx512.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <cstring>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct::avx512vnni {

/// Nothing, but g++ then keeps an accumulator in one register: it would copy and even store it in the loop for the sake
/// of what comes after.
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void pin(__m512i& sums) noexcept {
  __asm__("" : DMLREF_IN_ZMM(sums));
}

struct Epilogue {
  __m512 scale[4], shift[4];  // of each vector of sums; of one channel only the first is used
  __m512i near_tie;           // 32-bit lanes
  __m512i flip;
  bool floats = false;  // what the sums are
};

DMLREF_TARGET_AVX512VNNI inline Epilogue make_epilogue(const LaneArgs& t) noexcept {
  Epilogue e;
  e.near_tie = _mm512_set1_epi32(static_cast<int>(t.near_tie));
  e.flip = _mm512_set1_epi8(static_cast<char>(t.flip));
  return e;
}

/// Of output `m`, its pixels in lanes.
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline Epilogue make_epilogue(const LaneArgs& t,
                                                                              std::ptrdiff_t m) noexcept {
  Epilogue e = make_epilogue(t);
  e.floats = (t.floats >> m & 1) != 0;
  e.scale[0] = _mm512_set1_ps(t.scale[m]);
  e.shift[0] = _mm512_set1_ps(t.shift[m]);
  return e;
}

/// Scales and shifts of block `at` of channels.
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void take_block(const LaneArgs& t, std::ptrdiff_t at,
                                                                       Epilogue& e) noexcept {
  e.floats = (t.floats >> at & 1) != 0;
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    e.scale[v] = _mm512_loadu_ps(t.scale + 64 * at + 16 * v);
    e.shift[v] = _mm512_loadu_ps(t.shift + 64 * at + 16 * v);
  }
}

/// Four vectors of integer sums in fixed point.
template <Factors F>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void fix(const __m512i (&sums)[4], const Epilogue& e,
                                                                __m512i (&fixed)[4]) noexcept {
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    constexpr bool each = F == Factors::each;
    fixed[v] = requantize::avx512::in_fixed_point(sums[v], e.scale[each ? v : 0], e.shift[each ? v : 0]);
  }
}

[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline bool near_tie(const __m512i (&fixed)[4],
                                                                     const Epilogue& e) noexcept {
  return requantize::avx512::near_tie(fixed[0], fixed[1], fixed[2], fixed[3], e.near_tie);
}

/// As requantize::avx512::pack_high orders them.
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i pack_high(const __m512i (&fixed)[4],
                                                                         const Epilogue& e) noexcept {
  constexpr requantize::avx512::BlendedHalves halves;
  return requantize::avx512::pack_high(fixed[0], fixed[1], fixed[2], fixed[3], e.flip, halves);
}

template <Factors F>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i quantize_floats(const __m512i (&sums)[4],
                                                                               const Epilogue& e) noexcept {
  __m512i q[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    constexpr bool each = F == Factors::each;
    q[v] = requantize::avx512::by_multiply_add<SumsBegin::as_floats>(sums[v], e.scale[each ? v : 0],
                                                                     e.shift[each ? v : 0]);
  }
  constexpr requantize::avx512::BlendedHalves halves;
  return requantize::avx512::pack_low(q[0], q[1], q[2], q[3], e.flip, halves);
}

/// 64 sums to 64 bytes, in `pack_high`'s order; where some may have passed a tie, `quantize` must look at them again.
template <Factors F>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i quantize_at_once(const __m512i (&sums)[4],
                                                                                const Epilogue& e,
                                                                                bool& near_tie) noexcept {
  if (e.floats) return quantize_floats<F>(sums, e);
  __m512i fixed[4];
  fix<F>(sums, e, fixed);
  near_tie = avx512vnni::near_tie(fixed, e);
  return pack_high(fixed, e);
}

/// 64 sums to 64 bytes, in `pack_high`'s order.
template <Factors F>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i quantize(const __m512i (&sums)[4], const Epilogue& e,
                                                                        const LaneArgs& t,
                                                                        const double* factor) noexcept {
  if (e.floats) return quantize_floats<F>(sums, e);
  __m512i fixed[4];
  fix<F>(sums, e, fixed);
  if (__builtin_expect(near_tie(fixed, e), 0)) requantize::avx512::settle<F>(sums, fixed, e.near_tie, factor, t);
  return pack_high(fixed, e);
}

[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i broadcast(const std::byte* group) noexcept {
  std::int32_t value;
  std::memcpy(&value, group, sizeof value);
  return _mm512_set1_epi32(value);
}

}  // namespace fast::qlc::direct::avx512vnni
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
