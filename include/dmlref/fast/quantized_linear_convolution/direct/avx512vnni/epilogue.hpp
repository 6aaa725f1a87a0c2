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

/// Rounding by adding 1.5 * 2^23: the integer is in the low bits.
inline constexpr float magic = 12582912.0f;

/// round_exactly on eight lanes.
DMLREF_TARGET_AVX512VNNI inline __m256i round_exactly8(__m256i sums, __m512d factor, __m512d output_scale) noexcept {
  const __m512d half = _mm512_set1_pd(0.5);
  const __m512d s = _mm512_cvtepi32_pd(sums);
  __m512d p = _mm512_mul_pd(s, _mm512_div_pd(factor, output_scale));
  p = _mm512_max_pd(_mm512_min_pd(p, _mm512_set1_pd(5000.0)), _mm512_set1_pd(-5000.0));
  const __m512d lower = _mm512_roundscale_pd(p, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
  const __m512d tie = _mm512_add_pd(lower, half);
  const __m512d upper = _mm512_add_pd(tie, half);
  const __m512d side = _mm512_fmsub_pd(s, factor, _mm512_mul_pd(tie, output_scale));
  const __m512d zero = _mm512_setzero_pd();
  __m512d rounded = _mm512_roundscale_pd(tie, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  rounded = _mm512_mask_mov_pd(rounded, _mm512_cmp_pd_mask(side, zero, _CMP_LT_OQ), lower);
  rounded = _mm512_mask_mov_pd(rounded, _mm512_cmp_pd_mask(side, zero, _CMP_GT_OQ), upper);
  return _mm512_cvtpd_epi32(rounded);
}

/// The rounded values of a block, in place of its sums. `factor`: one, or one per lane in the accumulators' order.
[[gnu::noinline]] DMLREF_TARGET_AVX512VNNI inline void round_block_exactly(std::int32_t* sums, const double* factor,
                                                                           std::ptrdiff_t factor_step,
                                                                           double output_scale) noexcept {
  const __m512d scale = _mm512_set1_pd(output_scale);
  for (std::ptrdiff_t i = 0; i < 64; i += 8) {
    const __m512d f = factor_step == 0 ? _mm512_set1_pd(*factor) : _mm512_loadu_pd(factor + i);
    auto* at = reinterpret_cast<__m256i*>(sums + i);
    _mm256_storeu_si256(at, round_exactly8(_mm256_loadu_si256(at), f, scale));
  }
}

/// Nothing, but g++ then keeps an accumulator in one register: it would copy and even store it in the loop for the sake
/// of what comes after.
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void pin(__m512i& sums) noexcept { __asm__("" : "+v"(sums)); }

struct Epilogue {
  __m512 scale[4];
  __m512 magics;  // with the zero point
  __m512i flip;
  __m512 band;
};

DMLREF_TARGET_AVX512VNNI inline Epilogue make_epilogue(const LaneArgs& t) noexcept {
  Epilogue e;
  e.scale[0] = _mm512_set1_ps(t.scale != nullptr ? *t.scale : 0.0f);
  e.magics = _mm512_set1_ps(magic + static_cast<float>(t.zero_point));
  e.flip = _mm512_set1_epi8(static_cast<char>(t.flip));
  e.band = _mm512_set1_ps(t.band);
  return e;
}

/// 64 sums to 64 bytes; within 128 bits they come in the order 0 of sums[0], 0 of sums[1], 1 of sums[0], …, 0 of
/// sums[2], 0 of sums[3], …. Float decides where the residual stays away from one half; a block with a lane that does
/// not is done again in doubles that decide all.
template <bool Channels>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i quantize(const __m512i (&sums)[4], const Epilogue& e,
                                                                        const LaneArgs& t,
                                                                        const double* factor) noexcept {
  __m512 residual[4];
  __m512i q[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    const __m512 scale = e.scale[Channels ? v : 0];
    const __m512 sum = _mm512_cvtepi32_ps(sums[v]);
    const __m512 rounded = _mm512_fmadd_ps(sum, scale, e.magics);
    residual[v] = _mm512_fmsub_ps(sum, scale, _mm512_sub_ps(rounded, e.magics));
    q[v] = _mm512_castps_si512(rounded);
  }
  constexpr int larger_magnitude = 0b1011;
  const __m512 worst = _mm512_range_ps(_mm512_range_ps(residual[0], residual[1], larger_magnitude),
                                       _mm512_range_ps(residual[2], residual[3], larger_magnitude), larger_magnitude);
  if (__builtin_expect(_mm512_cmp_ps_mask(worst, e.band, _CMP_NLE_UQ) != 0, 0)) {
    alignas(64) std::int32_t lanes[64];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) _mm512_store_si512(lanes + 16 * v, sums[v]);
    round_block_exactly(lanes, factor, Channels ? 1 : 0, t.output_scale);
    const __m512i zero_point = _mm512_set1_epi32(t.zero_point);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) q[v] = _mm512_add_epi32(_mm512_load_si512(lanes + 16 * v), zero_point);
  }
  // The low 16 bits hold the value.
  constexpr __mmask32 odd = 0xAAAAAAAA;
  const __m512i first = _mm512_mask_mov_epi16(q[0], odd, _mm512_slli_epi32(q[1], 16));
  const __m512i second = _mm512_mask_mov_epi16(q[2], odd, _mm512_slli_epi32(q[3], 16));
  return _mm512_xor_si512(_mm512_packs_epi16(first, second), e.flip);
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
