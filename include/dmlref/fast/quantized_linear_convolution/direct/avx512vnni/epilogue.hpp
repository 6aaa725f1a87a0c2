// epilogue.hpp: 64 sums to 64 bytes.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/kernels.hpp"

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

/// The high halves as bytes; within 128 bits they come in the order 0 of fixed[0], 0 of fixed[1], 1 of fixed[0], …, 0
/// of fixed[2], 0 of fixed[3], ….
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i pack_high(const __m512i (&fixed)[4],
                                                                         const Epilogue& e) noexcept {
  constexpr __mmask32 odd = 0xAAAAAAAA;
  const __m512i first = _mm512_mask_mov_epi16(_mm512_srli_epi32(fixed[0], 16), odd, fixed[1]);
  const __m512i second = _mm512_mask_mov_epi16(_mm512_srli_epi32(fixed[2], 16), odd, fixed[3]);
  return _mm512_xor_si512(_mm512_packs_epi16(first, second), e.flip);
}

/// The same of low halves.
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i pack_low(const __m512i (&results)[4],
                                                                        const Epilogue& e) noexcept {
  constexpr __mmask32 odd = 0xAAAAAAAA;
  const __m512i first = _mm512_mask_mov_epi16(results[0], odd, _mm512_slli_epi32(results[1], 16));
  const __m512i second = _mm512_mask_mov_epi16(results[2], odd, _mm512_slli_epi32(results[3], 16));
  return _mm512_xor_si512(_mm512_packs_epi16(first, second), e.flip);
}

/// Integer sums in fixed point; whether some may have passed a tie.
template <Factors F>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline bool fix(const __m512i (&sums)[4], const Epilogue& e,
                                                                __m512i (&fixed)[4]) noexcept {
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    constexpr bool each = F == Factors::each;
    const __m512 sum = _mm512_cvtepi32_ps(sums[v]);
    fixed[v] = _mm512_cvtps_epi32(_mm512_fmadd_ps(sum, e.scale[each ? v : 0], e.shift[each ? v : 0]));
  }
  const __m512i least = _mm512_min_epu16(_mm512_min_epu16(fixed[0], fixed[1]), _mm512_min_epu16(fixed[2], fixed[3]));
  constexpr std::uint32_t low_halves = 0x55555555;
  return (_cvtmask32_u32(_mm512_cmple_epu16_mask(least, e.near_tie)) & low_halves) != 0;
}

template <Factors F>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i quantize_floats(const __m512i (&sums)[4],
                                                                               const Epilogue& e) noexcept {
  __m512i results[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    constexpr bool each = F == Factors::each;
    const __m512 sum = _mm512_castsi512_ps(sums[v]);
    results[v] = _mm512_castps_si512(_mm512_fmadd_ps(sum, e.scale[each ? v : 0], e.shift[each ? v : 0]));
  }
  return pack_low(results, e);
}

/// 64 sums to 64 bytes, in `pack_high`'s order; where some may have passed a tie, `quantize` must look at them again.
template <Factors F>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i quantize_at_once(const __m512i (&sums)[4],
                                                                                const Epilogue& e,
                                                                                bool& near_tie) noexcept {
  if (e.floats) return quantize_floats<F>(sums, e);
  __m512i fixed[4];
  near_tie = fix<F>(sums, e, fixed);
  return pack_high(fixed, e);
}

/// 64 sums to 64 bytes, in `pack_high`'s order.
template <Factors F>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i quantize(const __m512i (&sums)[4], const Epilogue& e,
                                                                        const LaneArgs& t,
                                                                        const double* factor) noexcept {
  if (e.floats) return quantize_floats<F>(sums, e);
  __m512i fixed[4];
  if (__builtin_expect(fix<F>(sums, e, fixed), 0)) {
    alignas(64) std::int32_t lanes[64], results[64];
    alignas(64) std::uint16_t limits[32];
    _mm512_store_si512(limits, e.near_tie);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      _mm512_store_si512(lanes + 16 * v, sums[v]);
      _mm512_store_si512(results + 16 * v, fixed[v]);
    }
    round_near_ties(lanes, results, 64, limits, 16, F, factor, t);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) fixed[v] = _mm512_load_si512(results + 16 * v);
  }
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
