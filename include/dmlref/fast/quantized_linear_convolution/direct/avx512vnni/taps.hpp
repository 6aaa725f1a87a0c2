// taps.hpp: taps that lie anywhere: pixels in lanes, or channels, or channels in fours.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/avx512vnni/epilogue.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/kernels.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <cstring>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct::avx512vnni {

/// Quads of four taps that may lie anywhere: 64 lanes of each, interleaved.
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void make_quads(const std::uint8_t* x,
                                                                       const std::int32_t* offset,
                                                                       __m512i (&quads)[4]) noexcept {
  const __m512i x0 = _mm512_loadu_si512(x + offset[0]);
  const __m512i x1 = _mm512_loadu_si512(x + offset[1]);
  const __m512i x2 = _mm512_loadu_si512(x + offset[2]);
  const __m512i x3 = _mm512_loadu_si512(x + offset[3]);
  const __m512i low01 = _mm512_unpacklo_epi8(x0, x1);
  const __m512i high01 = _mm512_unpackhi_epi8(x0, x1);
  const __m512i low23 = _mm512_unpacklo_epi8(x2, x3);
  const __m512i high23 = _mm512_unpackhi_epi8(x2, x3);
  quads[0] = _mm512_unpacklo_epi16(low01, low23);
  quads[1] = _mm512_unpackhi_epi16(low01, low23);
  quads[2] = _mm512_unpacklo_epi16(high01, high23);
  quads[3] = _mm512_unpackhi_epi16(high01, high23);
}

/// Takes what `quantize` gave for quads made by `make_quads` to the order of lanes.
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i in_order(__m512i bytes) noexcept {
  return _mm512_shuffle_epi8(
      bytes, _mm512_broadcast_i32x4(_mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15)));
}

/// Channels in lanes.
DMLREF_TARGET_AVX512VNNI inline void channel_taps(const LaneArgs& args) noexcept {
  const LaneArgs t = args;
  Epilogue e = make_epilogue(t);
  const std::ptrdiff_t second = 256 * t.units;
  for (std::ptrdiff_t at = 0; at < t.period; ++at) {
    take_block(t, at, e);
    for (std::ptrdiff_t b = at; b < t.blocks; b += t.period) {
      __m512i sums[4];
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) sums[v] = _mm512_loadu_si512(t.sum + 64 * at + 16 * v);
      const std::byte* w = t.weights + at * second * 2;
      for (std::ptrdiff_t u = 0; u < t.units; ++u, w += 256) {
        __m512i quads[4];
        make_quads(t.staged + 64 * b, t.offsets + 4 * u, quads);
        const bool wide = (t.wide >> (u % 32) & 1) != 0;
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) {
          sums[v] = _mm512_dpbusd_epi32(sums[v], quads[v], _mm512_loadu_si512(w + 64 * v));
          if (wide) sums[v] = _mm512_dpbusd_epi32(sums[v], quads[v], _mm512_loadu_si512(w + second + 64 * v));
          pin(sums[v]);
        }
      }
      const __m512i bytes = quantize<Factors::each>(sums, e, t, t.factor + 64 * at);
      _mm512_storeu_si512(t.out + 64 * b, in_order(bytes));
    }
  }
}

[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void add_products(__m512i (&sums)[4], const __m512i (&quads)[4],
                                                                         __m512i weights) noexcept {
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) sums[v] = _mm512_dpbusd_epi32(sums[v], quads[v], weights);
}

/// Pixels in lanes. Several output channels of one group share the quads.
template <int Outputs>
DMLREF_TARGET_AVX512VNNI inline void pixel_taps_of(const LaneArgs& args) noexcept {
  const LaneArgs t = args;
  constexpr std::size_t outputs = Outputs;
  const std::ptrdiff_t second = 4 * t.units;
  std::uint32_t wide[outputs];
  std::memcpy(wide, t.wide_of_output, sizeof wide);
  for (std::ptrdiff_t b = 0; b < t.blocks; ++b) {
    __m512i sums[outputs][4];
#pragma GCC unroll 4
    for (int m = 0; m < Outputs; ++m) {
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) sums[m][v] = _mm512_set1_epi32(t.sum[m]);
    }
    const std::uint8_t* x = t.staged + 64 * b;
    const std::byte* w = t.weights;
    for (std::ptrdiff_t u = 0; u < t.units; ++u, w += 4) {
      __m512i quads[4];
      make_quads(x, t.offsets + 4 * u, quads);
#pragma GCC unroll 4
      for (int m = 0; m < Outputs; ++m) {
        add_products(sums[m], quads, broadcast(w + m * t.weight_step));
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) pin(sums[m][v]);
      }
      if ((t.wide >> (u % 32) & 1) == 0) continue;
#pragma GCC unroll 4
      for (int m = 0; m < Outputs; ++m) {
        if ((wide[m] >> (u % 32) & 1) == 0) continue;
        add_products(sums[m], quads, broadcast(w + m * t.weight_step + second));
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) pin(sums[m][v]);
      }
    }
#pragma GCC unroll 4
    for (int m = 0; m < Outputs; ++m) {
      const __m512i bytes = quantize<Factors::one>(sums[m], make_epilogue(t, m), t, t.factor + m);
      _mm512_storeu_si512(t.out + m * t.out_step + 64 * b, in_order(bytes));
    }
  }
}
/// Quads of channels as they lie in memory, against the weights of four outputs each; up to four pixels share them.
template <int Pixels>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void channel_quads_at(const LaneArgs& t, std::ptrdiff_t at,
                                                                             std::ptrdiff_t b,
                                                                             const Epilogue& e) noexcept {
  constexpr std::size_t pixels = Pixels;
  __m512i sums[pixels][4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    const __m512i start = _mm512_loadu_si512(t.sum + 64 * at + 16 * v);
#pragma GCC unroll 4
    for (int p = 0; p < Pixels; ++p) sums[p][v] = start;
  }
  __m512i windows[pixels];
#pragma GCC unroll 4
  for (int p = 0; p < Pixels; ++p) windows[p] = _mm512_set1_epi32(-window_middle);
  const bool shifted = t.window_shift != nullptr;
  const std::byte* w = t.weights + at * 256 * t.units;
  const std::uint8_t* x = t.staged + 64 * b;
  const std::ptrdiff_t next = 64 * t.period;
  for (std::ptrdiff_t u = 0; u < t.units; ++u, w += 256) {
    const std::uint8_t* from = x + t.offsets[u];
    __m512i quads[pixels];
#pragma GCC unroll 4
    for (int p = 0; p < Pixels; ++p, from += next) quads[p] = _mm512_loadu_si512(from);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      const __m512i weights = _mm512_loadu_si512(w + 64 * v);
#pragma GCC unroll 4
      for (int p = 0; p < Pixels; ++p) sums[p][v] = _mm512_dpbusd_epi32(sums[p][v], quads[p], weights);
    }
    if (shifted) {
#pragma GCC unroll 4
      for (int p = 0; p < Pixels; ++p) windows[p] = _mm512_dpbusd_epi32(windows[p], quads[p], _mm512_set1_epi8(1));
    }
#pragma GCC unroll 4
    for (int p = 0; p < Pixels; ++p) {
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) pin(sums[p][v]);
      pin(windows[p]);
    }
  }
#pragma GCC unroll 4
  for (int p = 0; p < Pixels; ++p) {
    if (shifted) {
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) {
        const __m512i shift = _mm512_loadu_si512(t.window_shift + 64 * at + 16 * v);
        sums[p][v] = _mm512_dpwssd_epi32(sums[p][v], windows[p], shift);
      }
    }
    const __m512i bytes = quantize<Factors::each>(sums[p], e, t, t.factor + 64 * at);
    _mm512_storeu_si512(t.out + 64 * (b + p * t.period),
                        _mm512_shuffle_epi8(bytes, _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5,
                                                                                        12, 13, 6, 7, 14, 15))));
  }
}

DMLREF_TARGET_AVX512VNNI inline void channel_quads(const LaneArgs& args) noexcept {
  const LaneArgs t = args;
  Epilogue e = make_epilogue(t);
  for (std::ptrdiff_t at = 0; at < t.period; ++at) {
    take_block(t, at, e);
    std::ptrdiff_t b = at;
    for (; b + 3 * t.period < t.blocks; b += 4 * t.period) channel_quads_at<4>(t, at, b, e);
    for (; b < t.blocks; b += t.period) channel_quads_at<1>(t, at, b, e);
  }
}

}  // namespace fast::qlc::direct::avx512vnni
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
