// avx2.hpp: the direct convolution's kernels on 8 lanes, with AVX2 and with AVX-VNNI; a block is 32 lanes. AVX2 has no
// product of bytes that does not saturate, so weights are words, and a quad's bytes 0 and 2 meet its first two, bytes 1
// and 3 the others.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/kernels.hpp"
#include "dmlref/requantize/avx2.hpp"
#include "dmlref/simd/x86.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <cstring>

DMLREF_BEGIN
namespace fast::qlc::direct::vectors256 {

using V = simd::avx2::Vector;
using Epilogue = requantize::avx2::LaneEpilogue;
inline constexpr std::ptrdiff_t block = Epilogue::block;
inline constexpr const Kernels* narrower = nullptr;

/// The first `count` bytes, at most `Max`: two stores that overlap, rather than masks, which are slow to store on
/// Zen 4. Not through memory: a load of 8 bytes out of 16 that were just stored waits for them on Granite Rapids.
template <int Max = 16>
DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVX2 void store_first(std::uint8_t* to, __m128i bytes,
                                                         std::ptrdiff_t count) noexcept {
  if (Max == 8 && count >= 8) return _mm_storel_epi64(reinterpret_cast<__m128i*>(to), bytes);
  if (count >= 16) return _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
  if (count >= 8) {
    const __m128i last = _mm_add_epi8(_mm_setr_epi8(-8, -7, -6, -5, -4, -3, -2, -1, 0, 0, 0, 0, 0, 0, 0, 0),
                                      _mm_set1_epi8(static_cast<char>(count)));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), bytes);
    return _mm_storel_epi64(reinterpret_cast<__m128i*>(to + count - 8), _mm_shuffle_epi8(bytes, last));
  }
  auto left = static_cast<std::uint64_t>(_mm_cvtsi128_si64(bytes));
  if (count >= 4) {
    std::memcpy(to, &left, 4);
    left >>= 8 * (count - 4);
    std::memcpy(to + count - 4, &left, 4);
    return;
  }
  for (std::ptrdiff_t i = 0; i < count; ++i, left >>= 8) to[i] = static_cast<std::uint8_t>(left);
}

}  // namespace fast::qlc::direct::vectors256

namespace fast::qlc::direct::avx2 {

using namespace vectors256;

inline constexpr std::ptrdiff_t weight_bytes = 2;

struct Quads {
  __m256i even, odd;
};
using Weights = Quads;

DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVX2 __m256i multiply_add(__m256i sums, __m256i pairs, __m256i weights) noexcept {
  return _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, weights));
}
template <bool Words>
DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVX2 __m256i add_taps(__m256i sums, __m256i pairs, __m256i weights) noexcept {
  return multiply_add(sums, pairs, weights);
}
DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVX2 __m256i dot(__m256i sums, Quads quads, Weights weights) noexcept {
  return multiply_add(multiply_add(sums, quads.even, weights.even), quads.odd, weights.odd);
}
DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVX2 Quads quads_of(__m256i bytes) noexcept {
  return {_mm256_and_si256(bytes, _mm256_set1_epi16(0xFF)), _mm256_srli_epi16(bytes, 8)};
}
template <std::size_t First, std::size_t Count>
DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVX2 void interleave(__m256i a, __m256i b, __m256i c, __m256i d,
                                                        Quads (&quads)[Count]) noexcept {
  const __m256i zero = _mm256_setzero_si256();
  if constexpr (First == 0) {
    const __m256i ac = _mm256_unpacklo_epi8(a, c), bd = _mm256_unpacklo_epi8(b, d);
    quads[0] = {_mm256_unpacklo_epi8(ac, zero), _mm256_unpacklo_epi8(bd, zero)};
    quads[1] = {_mm256_unpackhi_epi8(ac, zero), _mm256_unpackhi_epi8(bd, zero)};
  }
  if constexpr (First + Count == 4) {
    const __m256i ac = _mm256_unpackhi_epi8(a, c), bd = _mm256_unpackhi_epi8(b, d);
    quads[Count - 2] = {_mm256_unpacklo_epi8(ac, zero), _mm256_unpacklo_epi8(bd, zero)};
    quads[Count - 1] = {_mm256_unpackhi_epi8(ac, zero), _mm256_unpackhi_epi8(bd, zero)};
  }
}

DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVX2 Weights load_weights(const std::byte* at) noexcept {
  return {V::load(at), V::load(at + 4 * block)};
}
DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVX2 Weights broadcast_weights(const std::byte* at) noexcept {
  return {V::broadcast(at), V::broadcast(at + 4)};
}

#define DMLREF_QLC_TARGET DMLREF_TARGET_AVX2
#define DMLREF_QLC_WORDS
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/x86-inl.hpp"

#include "dmlref/operators/quantized_linear_convolution/kernels/direct/columns256-inl.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/planes256-inl.hpp"
#undef DMLREF_QLC_WORDS
#undef DMLREF_QLC_TARGET

}  // namespace fast::qlc::direct::avx2

#if DMLREF_HAS_AVXVNNI
/// The same with vpdpbusd (VEX encoding): weights are bytes.
namespace fast::qlc::direct::avxvnni {

using namespace vectors256;

DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVXVNNI __m256i dot(__m256i sums, __m256i activations, __m256i weights) noexcept {
  return _mm256_dpbusd_avx_epi32(sums, activations, weights);
}

DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVXVNNI __m256i multiply_add(__m256i sums, __m256i pairs, __m256i weights) noexcept {
  return _mm256_dpwssd_avx_epi32(sums, pairs, weights);
}
template <bool Words>
DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVXVNNI __m256i add_taps(__m256i sums, __m256i taps, __m256i weights) noexcept {
  return Words ? multiply_add(sums, taps, weights) : dot(sums, taps, weights);
}

#define DMLREF_QLC_TARGET DMLREF_TARGET_AVXVNNI
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/x86-inl.hpp"

#include "dmlref/operators/quantized_linear_convolution/kernels/direct/columns256-inl.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/planes256-inl.hpp"
#undef DMLREF_QLC_TARGET

}  // namespace fast::qlc::direct::avxvnni
#endif
DMLREF_END
#endif
