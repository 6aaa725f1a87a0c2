// avx2.hpp: the direct convolution's kernels with vpmaddwd on 8 lanes; a block is 32 lanes. Weights less their zero
// points have 16 bits, so every filter zero point fits.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/kernels.hpp"
#include "dmlref/fast/quantized_linear_convolution/requantize/avx2.hpp"
#include "dmlref/fast/simd/x86.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <cstring>

DMLREF_BEGIN
namespace fast::qlc::direct::avx2 {

using V = simd::avx2::Vector;
namespace rounding = requantize::avx2;

#define DMLREF_QLC_TARGET DMLREF_TARGET_AVX2
#include "dmlref/fast/quantized_linear_convolution/direct/epilogue.hpp"
#undef DMLREF_QLC_TARGET

inline constexpr std::ptrdiff_t blocks_at_once = 16;

/// Channels in lanes. Pairs of any two taps, interleaved and widened. Sums go through memory before they are rounded:
/// so fewer instructions wait for others.
DMLREF_TARGET_AVX2 inline void channel_taps(const LaneArgs& args) noexcept {
  const LaneArgs t = args;
  Epilogue e = make_epilogue(t);
  const __m256i zero = _mm256_setzero_si256();
  const auto next = [&t](std::ptrdiff_t at) { return at + 1 == t.period ? 0 : at + 1; };
  __m256i sums[blocks_at_once][4];
  std::ptrdiff_t at = 0;
  for (std::ptrdiff_t first = 0; first < t.blocks; first += blocks_at_once) {
    const std::ptrdiff_t count = first + blocks_at_once < t.blocks ? blocks_at_once : t.blocks - first;
    const std::ptrdiff_t first_at = at;
    for (std::ptrdiff_t b = 0; b < count; ++b, at = next(at)) {
      __m256i sum[4];
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) sum[v] = V::load(t.sum + 32 * at + 8 * v);
      const std::byte* w = t.weights + at * 128 * t.units;
      const std::uint8_t* x = t.staged + 32 * (first + b);
      for (std::ptrdiff_t u = 0; u < t.units; ++u, w += 128) {
        const __m256i x0 = V::load(x + t.offsets[2 * u]);
        const __m256i x1 = V::load(x + t.offsets[2 * u + 1]);
        const __m256i low = _mm256_unpacklo_epi8(x0, x1);
        const __m256i high = _mm256_unpackhi_epi8(x0, x1);
        const __m256i pairs[4] = {_mm256_unpacklo_epi8(low, zero), _mm256_unpackhi_epi8(low, zero),
                                  _mm256_unpacklo_epi8(high, zero), _mm256_unpackhi_epi8(high, zero)};
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) {
          sum[v] = _mm256_add_epi32(sum[v], _mm256_madd_epi16(pairs[v], V::load(w + 32 * v)));
        }
      }
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) sums[b][v] = sum[v];
    }
    at = first_at;
    for (std::ptrdiff_t b = 0; b < count; ++b, at = next(at)) {
      take_block(t, at, e);
      V::store(t.out + 32 * (first + b), in_order(quantize<Factors::each>(sums[b], e, t, t.factor + 32 * at)));
    }
  }
}

/// Sums of half a block for `Outputs` output channels of the same input: that many and one vector's pairs fit the
/// registers, and what surrounds this loop needs none of them.
template <std::size_t Outputs, bool High>
[[gnu::noinline]] DMLREF_TARGET_AVX2 inline void sum_half(const LaneArgs& t, const std::uint8_t* x,
                                                          __m256i (&sums)[Outputs][4]) noexcept {
  const __m256i zero = _mm256_setzero_si256();
  const std::int32_t* offset = t.offsets;
  const std::byte* weights[Outputs];
  __m256i first[Outputs], second[Outputs];
#pragma GCC unroll 4
  for (std::size_t m = 0; m < Outputs; ++m) {
    weights[m] = t.weights + static_cast<std::ptrdiff_t>(m) * t.weight_step;
    first[m] = second[m] = _mm256_set1_epi32(t.sum[m]);
  }
  for (std::ptrdiff_t u = 0; u < t.units; ++u) {
    const __m256i x0 = V::load(x + offset[2 * u]);
    const __m256i x1 = V::load(x + offset[2 * u + 1]);
    const __m256i both = High ? _mm256_unpackhi_epi8(x0, x1) : _mm256_unpacklo_epi8(x0, x1);
    const __m256i low = _mm256_unpacklo_epi8(both, zero), high = _mm256_unpackhi_epi8(both, zero);
#pragma GCC unroll 4
    for (std::size_t m = 0; m < Outputs; ++m) {
      const __m256i w = V::broadcast(weights[m] + 4 * u);
      first[m] = _mm256_add_epi32(first[m], _mm256_madd_epi16(low, w));
      second[m] = _mm256_add_epi32(second[m], _mm256_madd_epi16(high, w));
    }
  }
#pragma GCC unroll 4
  for (std::size_t m = 0; m < Outputs; ++m) {
    sums[m][High ? 2 : 0] = first[m];
    sums[m][High ? 3 : 1] = second[m];
  }
}

/// Pixels in lanes, `Outputs` output channels of the same input.
template <std::size_t Outputs>
DMLREF_TARGET_AVX2 inline void pixel_taps_of(const LaneArgs& args) noexcept {
  const LaneArgs t = args;
  Epilogue e[Outputs];
  for (std::size_t m = 0; m < Outputs; ++m) e[m] = make_epilogue(t, static_cast<std::ptrdiff_t>(m));
  for (std::ptrdiff_t b = 0; b < t.blocks; ++b) {
    __m256i sums[Outputs][4];
    sum_half<Outputs, false>(t, t.staged + 32 * b, sums);
    sum_half<Outputs, true>(t, t.staged + 32 * b, sums);
    for (std::size_t m = 0; m < Outputs; ++m) {
      const __m256i bytes = quantize<Factors::one>(sums[m], e[m], t, t.factor + m);
      V::store(t.out + static_cast<std::ptrdiff_t>(m) * t.out_step + 32 * b, in_order(bytes));
    }
  }
}

/// Quads of channels as they lie in memory, widened, against the weights of four outputs each. A quad's two pairs meet
/// at the end.
DMLREF_TARGET_AVX2 inline void channel_quads(const LaneArgs& args) noexcept {
  const LaneArgs t = args;
  Epilogue e = make_epilogue(t);
  const __m256i zero = _mm256_setzero_si256();
  __m256i sums[blocks_at_once][4];
  const std::ptrdiff_t step = blocks_at_once * t.period;
  for (std::ptrdiff_t at = 0; at < t.period; ++at) {
    take_block(t, at, e);
    for (std::ptrdiff_t first = at; first < t.blocks; first += step) {
      const std::ptrdiff_t end = first + step < t.blocks ? first + step : t.blocks;
      __m256i(*sum)[4] = sums;
      for (std::ptrdiff_t b = first; b < end; b += t.period, ++sum) {
        __m256i low[4] = {zero, zero, zero, zero};
        __m256i high[4] = {zero, zero, zero, zero};
        const std::byte* w = t.weights + at * 256 * t.units;
        const std::uint8_t* x = t.staged + 32 * b;
        for (std::ptrdiff_t u = 0; u < t.units; ++u, w += 256) {
          const auto* from = reinterpret_cast<const __m128i*>(x + t.offsets[u]);
          const __m256i x0 = _mm256_cvtepu8_epi16(_mm_loadu_si128(from));
          const __m256i x1 = _mm256_cvtepu8_epi16(_mm_loadu_si128(from + 1));
#pragma GCC unroll 4
          for (int v = 0; v < 4; ++v) {
            low[v] = _mm256_add_epi32(low[v], _mm256_madd_epi16(x0, V::load(w + 64 * v)));
            high[v] = _mm256_add_epi32(high[v], _mm256_madd_epi16(x1, V::load(w + 64 * v + 32)));
            __asm__("" : "+x"(low[v]), "+x"(high[v]));  // one output after the other, or registers run out
          }
        }
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) {
          const __m256i pairs = _mm256_permute4x64_epi64(_mm256_hadd_epi32(low[v], high[v]), 0xD8);
          (*sum)[v] = _mm256_add_epi32(V::load(t.sum + 32 * at + 8 * v), pairs);
        }
      }
      sum = sums;
      for (std::ptrdiff_t b = first; b < end; b += t.period, ++sum) {
        V::store(t.out + 32 * b, quads_in_order(quantize<Factors::each>(*sum, e, t, t.factor + 32 * at)));
      }
    }
  }
}

}  // namespace fast::qlc::direct::avx2
DMLREF_END
#endif
