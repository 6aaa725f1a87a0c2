// channel_tiles.hpp: tiles with channels in lanes: 28 of the 32 registers are accumulators.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/avx512vnni/epilogue.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/avx512vnni/multiply_add.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/avx512vnni/staging.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/kernels.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <bit>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::avx512vnni {

/// Where a tile of a strip begins. Beside TileArgs: a copy of all that, right after it was written piece by piece,
/// waits for the pieces.
struct TilePlace {
  const std::uint8_t* activations;
  const std::int32_t* pixel_offset;
  const std::int32_t* pixel_sums;
  std::uint8_t* out;

  explicit TilePlace(const TileArgs& t) noexcept
      : activations(t.activations), pixel_offset(t.pixel_offset), pixel_sums(t.pixel_sums), out(t.out) {}
  DMLREF_ALWAYS_INLINE void advance(std::ptrdiff_t pixels, std::ptrdiff_t pixel_step,
                                    std::ptrdiff_t out_pitch) noexcept {
    activations += pixels * pixel_step;
    if (pixel_offset != nullptr) pixel_offset += pixels;
    pixel_sums += pixels;
    out += pixels * out_pitch;
  }
};

/// Channels in lanes. Per step V vectors of weights meet R broadcast pixels; with four vectors the pixels are broadcast
/// twice, which costs loads (there is room for them) and saves registers.
template <int V, int R>
struct ChannelTile {
  static constexpr std::size_t rows = R, vectors = V;
  static constexpr int pixels = 4 / V;  // in a unit
  static constexpr std::size_t units = (R + pixels - 1) / pixels;
  using Registers = __m512i[rows][vectors];

  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static void start(const TileArgs& t, const TilePlace& at,
                                                                  Registers& acc) noexcept {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) acc[r][v] = _mm512_loadu_si512(t.channel_offset + 16 * v);
    }
    if (t.channel_factor != nullptr) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        const __m512i factor = _mm512_loadu_si512(t.channel_factor + 16 * v);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
          acc[r][v] = _mm512_dpwssd_epi32(acc[r][v], _mm512_set1_epi32(at.pixel_sums[r]), factor);
        }
      }
    } else if (at.pixel_offset != nullptr) {
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const __m512i offset = _mm512_set1_epi32(at.pixel_offset[r]);
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) acc[r][v] = _mm512_add_epi32(acc[r][v], offset);
      }
    }
  }

  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static void step(const TileArgs& t, Registers& acc,
                                                                 const std::uint8_t* a,
                                                                 const std::uint8_t* w) noexcept {
    constexpr int held = V < 2 ? V : 2;
    constexpr std::size_t loaded = held;
    const std::ptrdiff_t step = t.pixel_step;
    const std::ptrdiff_t step3 = 3 * step;
#pragma GCC unroll 2
    for (int h = 0; h < V; h += held) {
      __m512i weights[loaded];
#pragma GCC unroll 2
      for (int v = 0; v < held; ++v) weights[v] = _mm512_loadu_si512(w + (h + v) * t.weight_block);
      const std::uint8_t* quad = a;  // pixels quad[0], quad[step], quad[2 * step], quad[step3]
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        if (r != 0 && r % 4 == 0) quad = hidden(quad + 4 * step);
        const std::uint8_t* pixel = quad + (r % 4 == 3 ? step3 : (r % 4) * step);
        const __m512i group = broadcast(pixel);
#pragma GCC unroll 2
        for (int v = 0; v < held; ++v) multiply_add(acc[r][h + v], group, weights[v]);
      }
    }
  }

  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static void keep(const Registers& acc, std::int32_t* to,
                                                                 std::ptrdiff_t pitch) noexcept {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) _mm512_storeu_si512(to + r * pitch + 16 * v, acc[r][v]);
    }
  }

  /// A unit's 64 bytes, whose first pixel is `first`.
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static void write_bytes(__m512i bytes, std::ptrdiff_t first,
                                                                        std::uint8_t* out,
                                                                        std::ptrdiff_t pitch) noexcept {
    out += first * pitch;
    if constexpr (V == 4) {
      _mm512_storeu_si512(out, bytes);
    } else if constexpr (V == 2) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_castsi512_si256(bytes));
      if (R % 2 == 1 && R - first < 2) return;
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + pitch), _mm512_extracti64x4_epi64(bytes, 1));
    } else {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm512_castsi512_si128(bytes));
      if (R % 4 == 1 && R - first < 2) return;
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + pitch), _mm512_extracti32x4_epi32(bytes, 1));
      if (R % 4 == 2 && R - first < 3) return;
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 2 * pitch), _mm512_extracti32x4_epi32(bytes, 2));
      if (R % 4 == 3 && R - first < 4) return;
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 3 * pitch), _mm512_extracti32x4_epi32(bytes, 3));
    }
  }

  /// All units out of the registers; which of them have near ties, unit 0 in bit 0. All is read before the first byte
  /// is written, which for all that compilers know may change anything.
  template <bool Rounds>
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static std::uint32_t write_units(const TileArgs& t,
                                                                                 const Epilogue& epilogue,
                                                                                 const Registers& acc,
                                                                                 std::uint8_t* out) noexcept {
    const Epilogue* own = &epilogue;  // of this kind of sums: nothing is to be kept for whichever kind follows
    __asm__("" : "+r"(own));
    const auto channels = own->channels<V, Rounds>(t.first_channel);
    const std::ptrdiff_t pitch = hidden(t.out_pitch);
    __m512i bytes[units];
    std::uint32_t suspects = 0;
#pragma GCC unroll 16
    for (std::size_t u = 0; u < units; ++u) {
      __m512i sums[4];
#pragma GCC unroll 4
      for (std::size_t i = 0; i < 4; ++i) {  // beyond the last pixel, its own once more
        const std::size_t row = (4 * u + i) / vectors;
        sums[i] = acc[row < rows ? row : rows - 1][i % vectors];
      }
      const auto result = own->of_pixels<V, Rounds, SumsBegin::as_floats>(sums, channels);
      bytes[u] = result.bytes;
      suspects |= std::uint32_t{result.near_tie} << u;
    }
#pragma GCC unroll 16
    for (std::size_t u = 0; u < units; ++u) write_bytes(bytes[u], pixels * static_cast<std::ptrdiff_t>(u), out, pitch);
    return suspects;
  }
};

/// The units in `suspects`, whose sums are gone: computed once more.
DMLREF_NOINLINE DMLREF_TARGET_AVX512VNNI inline void settle_anew(const TileArgs& t, const TilePlace& at, int vectors,
                                                                 int rows, std::uint32_t suspects) noexcept {
  const Epilogue epilogue(*t.requantizer);
  for (; suspects != 0; suspects &= suspects - 1) {
    __m512i acc[4];
    const std::uint8_t *pixel[4], *weights[4];
    std::ptrdiff_t row[4], channel[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const int vector = 4 * std::countr_zero(suspects) + i;
      const int r = vector / vectors < rows ? vector / vectors : rows - 1;
      row[i] = r;
      channel[i] = 16 * (vector % vectors);
      pixel[i] = at.activations + r * t.pixel_step;
      weights[i] = t.weights + vector % vectors * t.weight_block;
      acc[i] = _mm512_loadu_si512(t.channel_offset + channel[i]);
      if (t.channel_factor != nullptr) {
        const __m512i factor = _mm512_loadu_si512(t.channel_factor + channel[i]);
        acc[i] = _mm512_dpwssd_epi32(acc[i], _mm512_set1_epi32(at.pixel_sums[r]), factor);
      } else if (at.pixel_offset != nullptr) {
        acc[i] = _mm512_add_epi32(acc[i], _mm512_set1_epi32(at.pixel_offset[r]));
      }
    }
    for (std::ptrdiff_t k = 0; k < t.steps; ++k) {
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        multiply_add(acc[i], broadcast(pixel[i] + t.offsets[k]), _mm512_loadu_si512(weights[i] + k * t.weight_step));
      }
    }
    for (int i = 0; i < 4; ++i) {
      std::int32_t sums[16];
      _mm512_storeu_si512(sums, acc[i]);
      epilogue.settle(sums, 16, t.first_channel + channel[i], at.out + row[i] * t.out_pitch + channel[i]);
    }
  }
}

/// A strip of `args.count` tiles side by side, requantized out of the registers: processors see the next tile's
/// products behind that. Nothing is kept of a tile: sums near a tie are computed again. Or one tile that is not
/// requantized.
template <int V, int R>
DMLREF_TARGET_AVX512VNNI inline void channel_strip(const TileArgs& t) noexcept {
  using Shape = ChannelTile<V, R>;
  static constexpr Requantizer none{};
  TilePlace at(t);
  const Epilogue constants(t.requantizer != nullptr ? *t.requantizer : none);
  const Epilogue* epilogue = &constants;
  __asm__("" : "+r"(epilogue) : : "memory");  // read from memory each time: there is no register to spare
  const bool rounds = t.requantizer != nullptr && t.requantizer->rounds(t.first_channel);
  for (std::ptrdiff_t tile = 0; tile < t.count; ++tile) {
    typename Shape::Registers acc;
    Shape::start(t, at, acc);
    const std::uint8_t* w = t.weights;
    for (std::ptrdiff_t k = 0; k < t.steps; ++k, w += t.weight_step) {
      Shape::step(t, acc, at.activations + t.offsets[k], w);
    }
    if (t.requantizer == nullptr) return Shape::keep(acc, t.sums, t.sums_pitch);
    const std::uint32_t suspects = rounds ? Shape::template write_units<true>(t, *epilogue, acc, at.out)
                                          : Shape::template write_units<false>(t, *epilogue, acc, at.out);
    if (__builtin_expect(suspects != 0, 0)) settle_anew(t, at, V, R, suspects);
    at.advance(R, t.pixel_step, t.out_pitch);
  }
}

}  // namespace fast::qlc::avx512vnni
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
