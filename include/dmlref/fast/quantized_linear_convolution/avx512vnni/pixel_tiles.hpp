// pixel_tiles.hpp: tiles with pixels in lanes: 24 of the 32 registers are accumulators.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/avx512vnni/epilogue.hpp"
#include "dmlref/fast/quantized_linear_convolution/avx512vnni/multiply_add.hpp"
#include "dmlref/fast/quantized_linear_convolution/avx512vnni/staging.hpp"
#include "dmlref/fast/quantized_linear_convolution/kernels.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::avx512vnni {

/// The end of a pixel tile: R rows of 16 * V bytes.
template <bool Paired, SumsAre S, int V, int R>
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE void write_rows(
    const TileArgs& t, std::uint8_t* out,
    const __m512i (&acc)[static_cast<std::size_t>(R)][static_cast<std::size_t>(V)]) noexcept {
  const Epilogue epilogue(*t.requantizer);
  const __mmask64 written = ~std::uint64_t{0} >> (64 - t.out_lanes);
  const std::ptrdiff_t first = t.first_channel, pitch = t.out_pitch;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r, out += pitch) {
    if constexpr (S == SumsAre::floats) {
      const float* const scale = t.requantizer->rounded_scale;
      if (scale != nullptr && scale[first + r] != 0) {
        const float shift = t.requantizer->float_shift[first + r];
        _mm512_storeu_si512(out, epilogue.of_rounded<Paired, SumsAre::rounded>(acc[r][0], acc[r][1], acc[r][2],
                                                                               acc[r][3], scale[first + r], shift));
        continue;
      }
    }
    const __m512i bytes = epilogue.of_channel<Paired, S>(acc[r][0], acc[r][V > 1 ? 1 : 0], acc[r][V > 2 ? 2 : 0],
                                                         acc[r][V > 3 ? 3 : 0], first + r);
    if constexpr (Paired) {
      _mm512_storeu_si512(out, bytes);
    } else {
      _mm512_mask_storeu_epi8(out, written, bytes);
    }
  }
}

/// Pixels in lanes: V vectors of 16 pixels meet R broadcast channels. Requantized out of the registers: keeping them as
/// ChannelTile does costs what it saves, as stores take read ports from the dot products.
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

  /// A pixel's term, for 16 pixels.
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static void add_sums(const TileArgs& t, int v, __m512i sums,
                                                                     Registers& acc) noexcept {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
      acc[r][v] = _mm512_dpwssd_epi32(acc[r][v], sums, _mm512_set1_epi32(t.channel_factor[r]));
  }
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static void add_offset(int v, __m512i offset, Registers& acc) noexcept {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) acc[r][v] = _mm512_add_epi32(acc[r][v], offset);
  }
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static void add_terms(const TileArgs& t, std::ptrdiff_t first,
                                                                      Registers& acc) noexcept {
    if (t.channel_factor != nullptr) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) add_sums(t, v, _mm512_loadu_si512(t.pixel_sums + first + 16 * v), acc);
    } else if (t.pixel_offset != nullptr) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) add_offset(v, _mm512_loadu_si512(t.pixel_offset + first + 16 * v), acc);
    }
  }

  /// Second parts of weights, beside pixels in groups. As the same list meets all tiles of a strip, its branches are
  /// foreseen.
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static void add_second_parts(const TileArgs& t,
                                                                             const std::uint8_t* activations,
                                                                             Registers& acc) noexcept {
    std::ptrdiff_t i = t.second_begin[0];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      for (const std::ptrdiff_t end = t.second_begin[r + 1]; i < end; ++i) {
        const SecondPart second = t.second_parts[i];
        const std::uint8_t* const a = activations + t.offsets[second.channel / 4];
        const __m512i group = _mm512_set1_epi32(second_group(second, second.channel % 4));
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) multiply_add(acc[r][v], _mm512_loadu_si512(a + 64 * v), group);
      }
    }
  }

  /// The same beside planes: neighbouring pixels, twice, are groups, of which one byte counts.
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static void add_second_parts_of_planes(const TileArgs& t,
                                                                                       const std::uint8_t* planes,
                                                                                       __m512i flip,
                                                                                       Registers& acc) noexcept {
    static_assert(V == 4);
    std::ptrdiff_t i = t.second_begin[0];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      for (const std::ptrdiff_t end = t.second_begin[r + 1]; i < end; ++i) {
        const SecondPart second = t.second_parts[i];
        const __m512i plane = _mm512_xor_si512(flip, _mm512_loadu_si512(planes + second.channel * t.channel_step));
        const __m512i low = _mm512_unpacklo_epi16(plane, plane), high = _mm512_unpackhi_epi16(plane, plane);
        const __m512i even = _mm512_set1_epi32(second_group(second, 0));
        const __m512i odd = _mm512_set1_epi32(second_group(second, 1));
        multiply_add(acc[r][0], low, even);
        multiply_add(acc[r][1], low, odd);
        multiply_add(acc[r][2], high, even);
        multiply_add(acc[r][3], high, odd);
      }
    }
  }
  /// A group of weights, all of them 0 but for one.
  static std::int32_t second_group(const SecondPart& second, std::int32_t element) noexcept {
    return static_cast<std::int32_t>((static_cast<std::uint32_t>(second.part) & 0xFF) << (8 * element));
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
    if (t.second_begin != nullptr) add_second_parts(t, activations, acc);
    if (t.requantizer == nullptr) {
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) _mm512_storeu_si512(t.sums + first + r * t.sums_pitch + 16 * v, acc[r][v]);
      }
      return;
    }
    if constexpr (V == 4) {
      if (t.paired) return write_paired(t, first, acc);
    }
    write_rows<false, SumsAre::integers, V, R>(t, t.out + first, acc);
  }

  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static void write_paired(const TileArgs& t, std::ptrdiff_t first,
                                                                         const Registers& acc) noexcept {
    t.requantizer->float_shift != nullptr ? write_rows<true, SumsAre::floats, V, R>(t, t.out + first, acc)
                                          : write_rows<true, SumsAre::integers, V, R>(t, t.out + first, acc);
  }

  /// Out of planes, interleaved between the products, which leave half of the pipes to that.
  template <bool NewSums>
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static void run_planes(const TileArgs& t,
                                                                       std::ptrdiff_t first) noexcept {
    static_assert(V == 4);
    Registers acc;
    start(t, acc);
    if constexpr (!NewSums) add_terms(t, first, acc);
    __m512i sums[vectors] = {};
    const __m512i flip = _mm512_set1_epi8(static_cast<char>(t.flip));
    const std::uint8_t* plane = t.planes + first;
    const std::uint8_t* w = t.weights;
    // What fills an incomplete group meets weights of 0.
    const std::ptrdiff_t four = 4 * t.channel_step, whole = t.channels / 4, left = t.channels % 4;
    std::ptrdiff_t one = t.channel_step, two = 2 * one, three = 3 * one;
    std::uint32_t ones = 0x01010101;
    for (std::ptrdiff_t k = 0; k < t.steps; ++k, w += t.weight_step, plane += four) {
      if (__builtin_expect(k == whole, 0)) {
        one = left > 1 ? one : 0;
        two = left > 2 ? two : 0;
        three = 0;
        ones >>= 8 * (4 - left);
      }
      const __m512i c0 = _mm512_xor_si512(flip, _mm512_loadu_si512(plane));
      const __m512i c1 = _mm512_xor_si512(flip, _mm512_loadu_si512(plane + one));
      const __m512i c2 = _mm512_xor_si512(flip, _mm512_loadu_si512(plane + two));
      const __m512i c3 = _mm512_xor_si512(flip, _mm512_loadu_si512(plane + three));
      __m512i pixels[vectors];
      interleave_by_parity(c0, c1, c2, c3, pixels);
      if constexpr (NewSums) {
        const __m512i group = _mm512_set1_epi32(static_cast<std::int32_t>(ones));
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) multiply_add(sums[v], pixels[v], group);
      }
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const __m512i group = broadcast(w + 4 * r);
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) multiply_add(acc[r][v], pixels[v], group);
      }
    }
    if constexpr (NewSums) {
      const __m512i factor = _mm512_set1_epi32(t.sum_factor);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        const __m512i sum = _mm512_mullo_epi32(sums[v], factor);
        _mm512_storeu_si512(t.new_sums + first + 16 * v, sum);
        t.channel_factor != nullptr ? add_sums(t, v, sum, acc) : add_offset(v, sum, acc);
      }
    }
    if (t.second_begin != nullptr) add_second_parts_of_planes(t, t.planes + first, flip, acc);
    write_paired(t, first, acc);
  }
};

/// A strip of `count` such tiles side by side.
template <int V, int R>
DMLREF_TARGET_AVX512VNNI inline void pixel_strip(const TileArgs& t) noexcept {
  for (std::ptrdiff_t tile = 0; tile < t.count; ++tile) PixelTile<V, R>::run(t, 16 * V * tile);
}

/// Of planes, too, where there are any.
template <int R>
DMLREF_TARGET_AVX512VNNI inline void paired_strip(const TileArgs& t) noexcept {
  if (t.planes == nullptr) return pixel_strip<4, R>(t);
  const std::ptrdiff_t end = 64 * t.count;
  if (t.new_sums != nullptr) {
    for (std::ptrdiff_t at = 0; at < end; at += 64) PixelTile<4, R>::template run_planes<true>(t, at);
  } else {
    for (std::ptrdiff_t at = 0; at < end; at += 64) PixelTile<4, R>::template run_planes<false>(t, at);
  }
}

}  // namespace fast::qlc::avx512vnni
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
