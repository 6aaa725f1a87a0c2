// pixel_tiles.hpp: tiles with pixels in lanes: 24 of the 32 registers are accumulators.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/avx512vnni/epilogue.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/avx512vnni/multiply_add.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/avx512vnni/staging.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/kernels.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::avx512vnni {

/// The end of a pixel tile: R rows of 16 * V bytes.
template <bool Paired, int V, int R>
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE void write_rows(
    const TileArgs& t, std::uint8_t* out,
    const __m512i (&acc)[static_cast<std::size_t>(R)][static_cast<std::size_t>(V)]) noexcept {
  const Epilogue epilogue(*t.requantizer);
  const __mmask64 written = ~std::uint64_t{0} >> (64 - t.out_lanes);
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r, out += t.out_pitch) {
    const std::ptrdiff_t channel = t.first_channel + r;
    const __m512i sum0 = acc[r][0], sum1 = acc[r][V > 1 ? 1 : 0];
    const __m512i sum2 = acc[r][V > 2 ? 2 : 0], sum3 = acc[r][V > 3 ? 3 : 0];
    const __m512i bytes = t.requantizer->rounds(channel)
                              ? epilogue.of_rounded<Paired, SumsBegin::as_floats>(sum0, sum1, sum2, sum3, channel)
                              : epilogue.of_channel<Paired>(sum0, sum1, sum2, sum3, channel);
    if constexpr (Paired) {
      _mm512_storeu_si512(out, bytes);
    } else {
      _mm512_mask_storeu_epi8(out, written, bytes);
    }
  }
}

/// Pixels in lanes: V vectors of 16 pixels meet R broadcast channels.
template <int V, int R>
struct PixelTile {
  static constexpr std::size_t rows = R, vectors = V;
  using Registers = __m512i[rows][vectors];

  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static void start(const TileArgs& t, Registers& acc) noexcept {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) acc[r][v] = _mm512_set1_epi32(t.channel_offset[r]);
    }
  }

  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static void add_terms(const TileArgs& t, std::ptrdiff_t first,
                                                                      Registers& acc) noexcept {
    if (t.channel_factor != nullptr) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        const __m512i sums = _mm512_loadu_si512(t.pixel_sums + first + 16 * v);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
          acc[r][v] = _mm512_dpwssd_epi32(acc[r][v], sums, _mm512_set1_epi32(t.channel_factor[r]));
        }
      }
    } else if (t.pixel_offset != nullptr) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        const __m512i offset = _mm512_loadu_si512(t.pixel_offset + first + 16 * v);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) acc[r][v] = _mm512_add_epi32(acc[r][v], offset);
      }
    }
  }

  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static void run(const TileArgs& t, std::ptrdiff_t first) noexcept {
    Registers acc;
    start(t, acc);
    add_terms(t, first, acc);
    const std::uint8_t* const activations = t.activations + 4 * first;
    const std::uint8_t* w = t.weights;
    for (std::ptrdiff_t k = 0; k < t.steps; ++k, w += t.weight_step) {
      const std::uint8_t* a = activations + t.offsets[k];
      __m512i pixels[vectors];
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) pixels[v] = _mm512_loadu_si512(a + 64 * v);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const __m512i group = broadcast(w + 4 * r);
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) multiply_add(acc[r][v], pixels[v], group);
      }
    }
    if (t.requantizer == nullptr) {
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) _mm512_storeu_si512(t.sums + first + r * t.sums_pitch + 16 * v, acc[r][v]);
      }
      return;
    }
    if constexpr (V == 4) {
      if (t.paired) return write_rows<true, V, R>(t, t.out + first, acc);
    }
    write_rows<false, V, R>(t, t.out + first, acc);
  }
};

/// A strip of `count` such tiles side by side.
template <int V, int R>
DMLREF_TARGET_AVX512VNNI inline void pixel_strip(const TileArgs& t) noexcept {
  for (std::ptrdiff_t tile = 0; tile < t.count; ++tile) PixelTile<V, R>::run(t, 16 * V * tile);
}

}  // namespace fast::qlc::avx512vnni
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
