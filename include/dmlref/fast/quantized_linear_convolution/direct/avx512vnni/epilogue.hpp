// epilogue.hpp: 64 sums to 64 bytes.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/kernels.hpp"
#include "dmlref/fast/quantized_linear_convolution/float_sums.hpp"
#include "dmlref/fast/quantized_linear_convolution/requantize.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <cstring>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct::avx512vnni {

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

/// Which factor belongs to which sum of a block.
enum class Factors {
  one,   ///< one for all
  each,  ///< one per sum, in the accumulators' order
  parts  ///< one per 128-bit part of a vector
};

/// Eight factors from element `i` of a block on.
template <Factors F>
DMLREF_TARGET_AVX512VNNI inline __m512d factors_at(const double* factor, std::ptrdiff_t i) noexcept {
  if constexpr (F == Factors::one) return _mm512_set1_pd(*factor);
  if constexpr (F == Factors::each) return _mm512_loadu_pd(factor + i);
  const double* at = factor + i % 16 / 4;
  return _mm512_mask_mov_pd(_mm512_set1_pd(at[0]), 0xF0, _mm512_set1_pd(at[1]));
}

/// Rounds exactly, eight at a time, those of a block that fixed point leaves in doubt. `fixed` is as in `quantize`.
template <Factors F>
[[gnu::noinline]] DMLREF_TARGET_AVX512VNNI inline void round_doubtful(const std::int32_t* sums, std::int32_t* fixed,
                                                                      __m512i doubtful, const double* factor,
                                                                      const LaneArgs& t) noexcept {
  const __m512d scale = _mm512_set1_pd(t.output_scale);
  const __m256i zero_point = _mm256_set1_epi32(t.zero_point);
  for (std::ptrdiff_t i = 0; i < 64; i += 8) {
    auto* at = reinterpret_cast<__m256i*>(fixed + i);
    const __m256i low_halves = _mm256_slli_epi32(_mm256_loadu_si256(at), 16);
    const __m512i part = i % 16 == 0 ? doubtful : _mm512_shuffle_i64x2(doubtful, doubtful, 0x4E);
    const __m256i limit = _mm256_slli_epi32(_mm512_castsi512_si256(part), 16);
    if (_mm256_cmple_epu32_mask(low_halves, limit) == 0) continue;
    const __m256i s = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums + i));
    const __m256i exact = round_exactly8(s, factors_at<F>(factor, i), scale);
    _mm256_storeu_si256(at, _mm256_slli_epi32(_mm256_add_epi32(exact, zero_point), 16));
  }
}

/// Nothing, but g++ then keeps an accumulator in one register: it would copy and even store it in the loop for the sake
/// of what comes after.
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void pin(__m512i& sums) noexcept {
  __asm__("" : DMLREF_IN_ZMM(sums));
}

/// What rounding adds, and up to which residual it is in doubt.
struct Rounding {
  __m512 shift;      // in units of 2^-16: the zero point, one half, and the largest error
  __m512i doubtful;  // low halves up to this
};

/// What rounding in fixed point adds, so that no error makes a value less than it is.
inline constexpr std::int32_t fixed_error = 2;

/// In those units a value that does not saturate, up to 2^24 of them, is off by one for the scale's 24 bits, by as much
/// again where a sum may have more than 24 bits, and by 3/4 for the arithmetic (requantize.hpp).
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline Rounding make_rounding(__m512 band,
                                                                              std::int32_t zero_point) noexcept {
  constexpr int error = fixed_error, larger_error = fixed_error + 1;
  const float middle = 65536.0f * (static_cast<float>(zero_point) + 0.5f);
  const auto shift = [&](int e) DMLREF_TARGET_AVX512VNNI { return _mm512_set1_ps(middle + static_cast<float>(e)); };
  const auto limit = [&](int v) DMLREF_TARGET_AVX512VNNI { return _mm512_set1_epi32(v); };
  const __mmask16 small = _mm512_cmp_ps_mask(band, _mm512_set1_ps(float_band), _CMP_GE_OQ);
  const __mmask16 hopeless = _mm512_cmp_ps_mask(band, _mm512_setzero_ps(), _CMP_LT_OQ);
  const __m512i doubtful = _mm512_mask_mov_epi32(limit(2 * larger_error - 1), small, limit(2 * error - 1));
  return {_mm512_mask_mov_ps(shift(larger_error), small, shift(error)),
          _mm512_mask_mov_epi32(doubtful, hopeless, limit(0xFFFF))};
}

struct Epilogue {
  __m512 scale[4];  // times 2^16, but for floats
  Rounding rounding;
  __m512 float_shift[4];
  __m512i flip;
};

[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512 fixed_scale(__m512 scale) noexcept {
  return _mm512_mul_ps(scale, _mm512_set1_ps(65536.0f));
}

DMLREF_TARGET_AVX512VNNI inline Epilogue make_epilogue(const LaneArgs& t) noexcept {
  Epilogue e;
  e.scale[0] = fixed_scale(_mm512_set1_ps(t.scale != nullptr ? *t.scale : 0.0f));
  e.rounding = make_rounding(_mm512_set1_ps(t.band), t.zero_point);
  e.flip = _mm512_set1_epi8(static_cast<char>(t.flip));
  return e;
}

/// Fixed point with 16 bits behind the point: the high halves are the results, unless a low half is so small that it
/// may have passed a tie.
template <Factors F>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void round_at_once(const __m512i (&sums)[4], const Epilogue& e,
                                                                          __m512i (&fixed)[4],
                                                                          bool& in_doubt) noexcept {
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    const __m512 scale = e.scale[F == Factors::each ? v : 0];
    fixed[v] = _mm512_cvtps_epi32(_mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[v]), scale, e.rounding.shift));
  }
  const __m512i least = _mm512_min_epu16(_mm512_min_epu16(fixed[0], fixed[1]), _mm512_min_epu16(fixed[2], fixed[3]));
  constexpr std::uint32_t low_halves = 0x55555555;
  in_doubt = (_cvtmask32_u32(_mm512_cmple_epu16_mask(least, e.rounding.doubtful)) & low_halves) != 0;
}

/// The high halves as bytes; within 128 bits they come in the order 0 of fixed[0], 0 of fixed[1], 1 of fixed[0], …, 0
/// of fixed[2], 0 of fixed[3], ….
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i pack(const __m512i (&fixed)[4],
                                                                    const Epilogue& e) noexcept {
  constexpr __mmask32 odd = 0xAAAAAAAA;
  const __m512i first = _mm512_mask_mov_epi16(_mm512_srli_epi32(fixed[0], 16), odd, fixed[1]);
  const __m512i second = _mm512_mask_mov_epi16(_mm512_srli_epi32(fixed[2], 16), odd, fixed[3]);
  return _mm512_xor_si512(_mm512_packs_epi16(first, second), e.flip);
}

/// The same of results in low halves.
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i pack_low(const __m512i (&results)[4],
                                                                        const Epilogue& e) noexcept {
  constexpr __mmask32 odd = 0xAAAAAAAA;
  const __m512i first = _mm512_mask_mov_epi16(results[0], odd, _mm512_slli_epi32(results[1], 16));
  const __m512i second = _mm512_mask_mov_epi16(results[2], odd, _mm512_slli_epi32(results[3], 16));
  return _mm512_xor_si512(_mm512_packs_epi16(first, second), e.flip);
}

/// 64 sums that are floats (rounded_sums.hpp) to 64 bytes, in `pack`'s order.
template <Factors F>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i quantize_floats(const __m512i (&sums)[4],
                                                                               const Epilogue& e) noexcept {
  __m512i results[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    constexpr bool each = F == Factors::each;
    const __m512 sum = _mm512_castsi512_ps(sums[v]);
    results[v] = _mm512_castps_si512(_mm512_fmadd_ps(sum, e.scale[each ? v : 0], e.float_shift[each ? v : 0]));
  }
  return pack_low(results, e);
}

/// 64 sums to 64 bytes, in `pack`'s order; where some are in doubt, `quantize` must look at them again.
template <Factors F, SumsAre S = SumsAre::integers>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i quantize_at_once(const __m512i (&sums)[4],
                                                                                const Epilogue& e,
                                                                                bool& in_doubt) noexcept {
  if constexpr (S == SumsAre::floats) return quantize_floats<F>(sums, e);
  __m512i fixed[4];
  round_at_once<F>(sums, e, fixed, in_doubt);
  return pack(fixed, e);
}

/// 64 sums to 64 bytes, in `pack`'s order. Doubles decide what is in doubt.
template <Factors F>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i quantize(const __m512i (&sums)[4], const Epilogue& e,
                                                                        const LaneArgs& t,
                                                                        const double* factor) noexcept {
  __m512i fixed[4];
  bool in_doubt = false;
  round_at_once<F>(sums, e, fixed, in_doubt);
  if (__builtin_expect(in_doubt, 0)) {
    alignas(64) std::int32_t lanes[64], results[64];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      _mm512_store_si512(lanes + 16 * v, sums[v]);
      _mm512_store_si512(results + 16 * v, fixed[v]);
    }
    round_doubtful<F>(lanes, results, e.rounding.doubtful, factor, t);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) fixed[v] = _mm512_load_si512(results + 16 * v);
  }
  return pack(fixed, e);
}

/// The epilogue of output `m` of pixel kernels.
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline Epilogue make_epilogue_of_output(const LaneArgs& t,
                                                                                        std::ptrdiff_t m) noexcept {
  Epilogue e = make_epilogue(t);
  e.scale[0] = _mm512_set1_ps(t.scale[m]);
  if ((t.floats >> m & 1) != 0) {
    e.float_shift[0] = _mm512_set1_ps(t.float_shift[m]);
  } else {
    e.scale[0] = fixed_scale(e.scale[0]);
  }
  return e;
}

[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i quantize_output(const __m512i (&sums)[4],
                                                                               const Epilogue& e, const LaneArgs& t,
                                                                               std::ptrdiff_t m) noexcept {
  if ((t.floats >> m & 1) != 0) return quantize_floats<Factors::one>(sums, e);
  return quantize<Factors::one>(sums, e, t, t.factor + m);
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
