// avx2.hpp: the direct convolution's kernels with vpmaddwd on 8 lanes; a block is 32 lanes. Weights less their zero
// points have 16 bits, so every filter zero point fits.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/kernels.hpp"
#include "dmlref/fast/quantized_linear_convolution/requantize/avx2.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <cstring>

DMLREF_BEGIN
namespace fast::qlc::direct::avx2 {

[[gnu::always_inline]] DMLREF_TARGET_AVX2 inline __m256i load(const void* from) noexcept {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
[[gnu::always_inline]] DMLREF_TARGET_AVX2 inline void store(void* to, __m256i v) noexcept {
  _mm256_storeu_si256(static_cast<__m256i*>(to), v);
}
[[gnu::always_inline]] DMLREF_TARGET_AVX2 inline __m256i broadcast(const std::byte* group) noexcept {
  std::int32_t value;
  std::memcpy(&value, group, sizeof value);
  return _mm256_set1_epi32(value);
}

struct Epilogue {
  __m256 scale[4], shift[4];  // of each vector of sums
  __m256i near_tie;           // 32-bit lanes
  __m256i flip;
  bool floats = false;  // what the sums are
};

/// Of channels in lanes, for which each block loads scales and shifts.
[[gnu::always_inline]] DMLREF_TARGET_AVX2 inline Epilogue make_epilogue(const LaneArgs& t) noexcept {
  Epilogue e;
  e.near_tie = _mm256_set1_epi32(static_cast<int>(t.near_tie));
  e.flip = _mm256_set1_epi8(static_cast<char>(t.flip));
  return e;
}

/// Of output `m`, its pixels in lanes.
[[gnu::always_inline]] DMLREF_TARGET_AVX2 inline Epilogue make_epilogue(const LaneArgs& t, std::size_t m) noexcept {
  Epilogue e = make_epilogue(t);
  e.floats = (t.floats >> m & 1) != 0;
  e.scale[0] = _mm256_set1_ps(t.scale[m]);
  e.shift[0] = _mm256_set1_ps(t.shift[m]);
  return e;
}

/// Scales and shifts of block `at` of channels.
[[gnu::always_inline]] DMLREF_TARGET_AVX2 inline void take_block(const LaneArgs& t, std::ptrdiff_t at,
                                                                 Epilogue& e) noexcept {
  e.floats = (t.floats >> at & 1) != 0;
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    e.scale[v] = _mm256_loadu_ps(t.scale + 32 * at + 8 * v);
    e.shift[v] = _mm256_loadu_ps(t.shift + 32 * at + 8 * v);
  }
}

/// 32 sums to 32 bytes; within 128 bits they come in the order 0 of sums[0], 0 of sums[1], 1 of sums[0], …, 0 of
/// sums[2], 0 of sums[3], ….
template <Factors F>
[[gnu::always_inline]] DMLREF_TARGET_AVX2 inline __m256i quantize(const __m256i (&sums)[4], const Epilogue& e,
                                                                  const LaneArgs& t, const double* factor) noexcept {
  using namespace requantize::avx2;
  constexpr bool each = F == Factors::each;
  __m256i q[4];
  if (e.floats) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) q[v] = by_multiply_add(sums[v], e.scale[each ? v : 0], e.shift[each ? v : 0]);
    return _mm256_xor_si256(_mm256_packs_epi16(join_low_halves(q[0], q[1]), join_low_halves(q[2], q[3])), e.flip);
  }
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) q[v] = in_fixed_point(sums[v], e.scale[each ? v : 0], e.shift[each ? v : 0]);
  __m256i bytes = _mm256_packs_epi16(join_high_halves(q[0], q[1]), join_high_halves(q[2], q[3]));
  const __m256i least = _mm256_min_epu16(_mm256_min_epu16(q[0], q[1]), _mm256_min_epu16(q[2], q[3]));
  if (__builtin_expect(near_tie(least, e.near_tie), 0)) bytes = settle<F>(sums, q, e.near_tie, factor, t);
  return _mm256_xor_si256(bytes, e.flip);
}

/// Takes what `quantize` gave for sums in the order of lanes to the order of lanes.
[[gnu::always_inline]] DMLREF_TARGET_AVX2 inline __m256i in_order(__m256i bytes) noexcept {
  return _mm256_shuffle_epi8(bytes, _mm256_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15, 0, 2, 4, 6,
                                                     1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15));
}

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
      for (int v = 0; v < 4; ++v) sum[v] = load(t.sum + 32 * at + 8 * v);
      const std::byte* w = t.weights + at * 128 * t.units;
      const std::uint8_t* x = t.staged + 32 * (first + b);
      for (std::ptrdiff_t u = 0; u < t.units; ++u, w += 128) {
        const __m256i x0 = load(x + t.offsets[2 * u]);
        const __m256i x1 = load(x + t.offsets[2 * u + 1]);
        const __m256i low = _mm256_unpacklo_epi8(x0, x1);
        const __m256i high = _mm256_unpackhi_epi8(x0, x1);
        const __m256i pairs[4] = {_mm256_unpacklo_epi8(low, zero), _mm256_unpackhi_epi8(low, zero),
                                  _mm256_unpacklo_epi8(high, zero), _mm256_unpackhi_epi8(high, zero)};
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) {
          sum[v] = _mm256_add_epi32(sum[v], _mm256_madd_epi16(pairs[v], load(w + 32 * v)));
        }
      }
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) sums[b][v] = sum[v];
    }
    at = first_at;
    for (std::ptrdiff_t b = 0; b < count; ++b, at = next(at)) {
      take_block(t, at, e);
      store(t.out + 32 * (first + b), in_order(quantize<Factors::each>(sums[b], e, t, t.factor + 32 * at)));
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
    const __m256i x0 = load(x + offset[2 * u]);
    const __m256i x1 = load(x + offset[2 * u + 1]);
    const __m256i both = High ? _mm256_unpackhi_epi8(x0, x1) : _mm256_unpacklo_epi8(x0, x1);
    const __m256i low = _mm256_unpacklo_epi8(both, zero), high = _mm256_unpackhi_epi8(both, zero);
#pragma GCC unroll 4
    for (std::size_t m = 0; m < Outputs; ++m) {
      const __m256i w = broadcast(weights[m] + 4 * u);
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
  for (std::size_t m = 0; m < Outputs; ++m) e[m] = make_epilogue(t, m);
  for (std::ptrdiff_t b = 0; b < t.blocks; ++b) {
    __m256i sums[Outputs][4];
    sum_half<Outputs, false>(t, t.staged + 32 * b, sums);
    sum_half<Outputs, true>(t, t.staged + 32 * b, sums);
    for (std::size_t m = 0; m < Outputs; ++m) {
      const __m256i bytes = quantize<Factors::one>(sums[m], e[m], t, t.factor + m);
      store(t.out + static_cast<std::ptrdiff_t>(m) * t.out_step + 32 * b, in_order(bytes));
    }
  }
}

/// Bytes of a quad in the order `quantize` gives them for channel_quads' sums to the order of channels.
[[gnu::always_inline]] DMLREF_TARGET_AVX2 inline __m256i quads_in_order(__m256i bytes) noexcept {
  return _mm256_shuffle_epi8(bytes, _mm256_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15, 0, 1, 8, 9,
                                                     2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
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
            low[v] = _mm256_add_epi32(low[v], _mm256_madd_epi16(x0, load(w + 64 * v)));
            high[v] = _mm256_add_epi32(high[v], _mm256_madd_epi16(x1, load(w + 64 * v + 32)));
            __asm__("" : "+x"(low[v]), "+x"(high[v]));  // one output after the other, or registers run out
          }
        }
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) {
          const __m256i pairs = _mm256_permute4x64_epi64(_mm256_hadd_epi32(low[v], high[v]), 0xD8);
          (*sum)[v] = _mm256_add_epi32(load(t.sum + 32 * at + 8 * v), pairs);
        }
      }
      sum = sums;
      for (std::ptrdiff_t b = first; b < end; b += t.period, ++sum) {
        store(t.out + 32 * b, quads_in_order(quantize<Factors::each>(*sum, e, t, t.factor + 32 * at)));
      }
    }
  }
}

}  // namespace fast::qlc::direct::avx2
DMLREF_END
#endif
