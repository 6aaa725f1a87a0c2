// channel_tiles.hpp: tiles with channels in lanes: 28 of the 32 registers are accumulators.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/avx512vnni/epilogue.hpp"
#include "dmlref/fast/quantized_linear_convolution/avx512vnni/multiply_add.hpp"
#include "dmlref/fast/quantized_linear_convolution/avx512vnni/staging.hpp"
#include "dmlref/fast/quantized_linear_convolution/kernels.hpp"

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
  static constexpr std::size_t kept_vectors = rows * vectors;
  static constexpr std::size_t units = (R + pixels - 1) / pixels;
  static constexpr std::ptrdiff_t kept_pitch = 16 * V;
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

  /// Of tiles of these channels.
  DMLREF_TARGET_AVX512VNNI static SumsAre sums_are(const TileArgs& t) noexcept {
    if (t.requantizer->float_shift == nullptr) return SumsAre::integers;
    __m512i exceptions = _mm512_setzero_si512();
    for (int v = 0; v < V; ++v) {
      exceptions = _mm512_or_si512(exceptions, _mm512_loadu_si512(t.requantizer->exception + t.first_channel + 16 * v));
    }
    return _mm512_test_epi32_mask(exceptions, exceptions) != 0 ? SumsAre::mostly_rounded : SumsAre::rounded;
  }

  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static void keep(const Registers& acc, std::int32_t* to,
                                                                 std::ptrdiff_t pitch) noexcept {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) _mm512_storeu_si512(to + r * pitch + 16 * v, acc[r][v]);
    }
  }

  template <SumsAre S>
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static bool write(const TileArgs& t, const Epilogue& epilogue,
                                                                  const std::int32_t* kept, std::size_t unit,
                                                                  std::uint8_t* out) noexcept {
    const __m512i sums[4] = {_mm512_loadu_si512(kept), _mm512_loadu_si512(kept + 16), _mm512_loadu_si512(kept + 32),
                             _mm512_loadu_si512(kept + 48)};
    const auto [bytes, near_tie] = epilogue.of_pixels<V, S>(sums, epilogue.channels<V, S>(t.first_channel));
    write_bytes(bytes, pixels * static_cast<std::ptrdiff_t>(unit), out, t.out_pitch);
    return near_tie;
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
  template <SumsAre S>
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static std::uint32_t write_units(const TileArgs& t,
                                                                                 const Epilogue& epilogue,
                                                                                 const Registers& acc,
                                                                                 std::uint8_t* out) noexcept {
    const Epilogue* own = &epilogue;  // of this kind of sums: nothing is to be kept for whichever kind follows
    __asm__("" : "+r"(own));
    const auto channels = own->channels<V, S>(t.first_channel);
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
      const auto result = own->of_pixels<V, S>(sums, channels);
      bytes[u] = result.bytes;
      suspects |= std::uint32_t{result.near_tie} << u;
    }
#pragma GCC unroll 16
    for (std::size_t u = 0; u < units; ++u) write_bytes(bytes[u], pixels * static_cast<std::ptrdiff_t>(u), out, pitch);
    return suspects;
  }

  static void settle(const TileArgs& t, const Epilogue& epilogue, const std::int32_t* kept, std::size_t unit,
                     std::uint8_t* out) noexcept {
    const std::ptrdiff_t first = pixels * static_cast<std::ptrdiff_t>(unit);
    for (std::ptrdiff_t r = first; r < first + pixels && r < R; ++r) {
      epilogue.settle(kept + 16 * V * r, 16 * V, t.first_channel, out + r * t.out_pitch);
    }
  }
};

/// A strip of `args.count` tiles side by side. A tile's sums are kept in memory and requantized between the first steps
/// of the next tile: the dot products leave half of the execution units idle, and more than the few instructions that
/// the processor looks ahead. Nothing is called while sums are in registers: near ties wait until they have been kept.
/// A function for each kind of sums: with two kinds in one, g++ keeps sums in memory in every step.
template <int V, int R, SumsAre S>
DMLREF_NOINLINE DMLREF_TARGET_AVX512VNNI inline void kept_strip(const TileArgs& t) noexcept {
  using Shape = ChannelTile<V, R>;
  TilePlace at(t);
  typename Shape::Registers acc;
  constexpr std::size_t units = Shape::units;
  alignas(64) std::int32_t buffers[2][64 * units];
  for (auto& buffer : buffers) {
    for (std::size_t v = Shape::kept_vectors; v < 4 * units; ++v) {  // no pixel's: sums of 0
      _mm512_store_si512(buffer + 16 * v, _mm512_setzero_si512());
    }
  }
  std::int32_t* kept = buffers[0];  // the tile that is being requantized
  std::int32_t* spare = buffers[1];
  const Epilogue epilogue(*t.requantizer);
  std::uint8_t* out = at.out;
  std::uint32_t suspects = 0;  // units with near ties, the latest one in bit 0
  std::size_t unit = units;    // the next one to requantize
  std::ptrdiff_t copied = t.unstaged == nullptr ? 0 : copy_pixels(t, 0, 2 * R, t.count * R);
  for (std::ptrdiff_t tile = 0; tile < t.count; ++tile) {
    Shape::start(t, at, acc);
    const std::int32_t* offset = t.offsets;
    const std::int32_t* const end = offset + t.steps;
    const std::uint8_t* w = t.weights;
    for (; unit < units && offset < end; ++offset, w += t.weight_step, ++unit) {
      Shape::step(t, acc, at.activations + *offset, w);
      suspects = 2 * suspects + Shape::template write<S>(t, epilogue, kept + 64 * unit, unit, out);
    }
    for (; offset < end; ++offset, w += t.weight_step) Shape::step(t, acc, at.activations + *offset, w);
    for (; unit < units; ++unit) {
      suspects = 2 * suspects + Shape::template write<S>(t, epilogue, kept + 64 * unit, unit, out);
    }
    Shape::keep(acc, spare, Shape::kept_pitch);
    for (; suspects != 0; suspects &= suspects - 1) {
      Shape::settle(t, epilogue, kept, units - 1 - static_cast<std::size_t>(std::countr_zero(suspects)), out);
    }
    std::int32_t* const finished = kept;
    kept = spare;
    spare = finished;
    unit = 0;
    out = at.out;
    at.advance(R, t.pixel_step, t.out_pitch);
    if (__builtin_expect(copied != 0, 0)) copied = copy_pixels(t, copied, (tile + 3) * R, t.count * R);
  }
  for (; unit < units; ++unit) {
    if (Shape::template write<S>(t, epilogue, kept + 64 * unit, unit, out)) Shape::settle(t, epilogue, kept, unit, out);
  }
}

/// Such a strip, whose sums have no exceptions, or a tile that is not requantized.
template <int V, int R>
DMLREF_TARGET_AVX512VNNI inline void channel_tile(const TileArgs& t) noexcept {
  using Shape = ChannelTile<V, R>;
  if (t.requantizer != nullptr) {
    return t.requantizer->float_shift == nullptr ? kept_strip<V, R, SumsAre::integers>(t)
                                                 : kept_strip<V, R, SumsAre::rounded>(t);
  }
  const TilePlace at(t);
  typename Shape::Registers acc;
  Shape::start(t, at, acc);
  const std::uint8_t* w = t.weights;
  for (std::ptrdiff_t k = 0; k < t.steps; ++k, w += t.weight_step) {
    Shape::step(t, acc, at.activations + t.offsets[k], w);
  }
  Shape::keep(acc, t.sums, t.sums_pitch);
}

/// The sums of a tile of few pixels: K in four parts side by side, as one alone waits for its products.
template <int V, int R>
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE void sum_in_parts(const TileArgs& t) noexcept {
  using Shape = ChannelTile<V, R>;
  constexpr std::size_t parts = 4;
  typename Shape::Registers acc[parts] = {};
  Shape::start(t, TilePlace(t), acc[0]);
  const std::ptrdiff_t each = t.steps / 4;
  const auto step = [&](typename Shape::Registers& sums, std::ptrdiff_t k) DMLREF_TARGET_AVX512VNNI {
    Shape::step(t, sums, t.activations + t.offsets[k], t.weights + k * t.weight_step);
  };
  for (std::ptrdiff_t k = 0; k < each; ++k) {
#pragma GCC unroll 4
    for (std::size_t p = 0; p < parts; ++p) step(acc[p], k + static_cast<std::ptrdiff_t>(p) * each);
  }
  for (std::ptrdiff_t k = 4 * each; k < t.steps; ++k) step(acc[0], k);
#pragma GCC unroll 4
  for (std::size_t r = 0; r < Shape::rows; ++r) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < Shape::vectors; ++v) {
      const __m512i low = _mm512_add_epi32(acc[0][r][v], acc[1][r][v]);
      acc[0][r][v] = _mm512_add_epi32(low, _mm512_add_epi32(acc[2][r][v], acc[3][r][v]));
    }
  }
  Shape::keep(acc[0], t.sums, t.sums_pitch);
}

/// The units in `suspects`, whose sums are gone: computed once more.
template <int V, int R>
DMLREF_NOINLINE DMLREF_TARGET_AVX512VNNI inline void settle_anew(const TileArgs& t, const TilePlace& at,
                                                                 std::uint32_t suspects) noexcept {
  using Shape = ChannelTile<V, R>;
  constexpr int rest = R % Shape::pixels == 0 ? Shape::pixels : R % Shape::pixels;  // of the last unit
  alignas(64) std::int32_t sums[64 * Shape::units];
  const Epilogue epilogue(*t.requantizer);
  for (; suspects != 0; suspects &= suspects - 1) {
    const auto unit = static_cast<std::size_t>(std::countr_zero(suspects));
    TilePlace place = at;
    place.advance(Shape::pixels * static_cast<std::ptrdiff_t>(unit), t.pixel_step, t.out_pitch);
    TileArgs again = t;
    again.requantizer = nullptr;
    again.activations = place.activations;
    again.pixel_offset = place.pixel_offset;
    again.pixel_sums = place.pixel_sums;
    again.sums = sums + 64 * unit;
    again.sums_pitch = Shape::kept_pitch;
    unit + 1 == Shape::units ? sum_in_parts<V, rest>(again) : sum_in_parts<V, Shape::pixels>(again);
    Shape::settle(t, epilogue, sums, unit, at.out);
  }
}

/// The same strip, requantized out of the registers: for processors that see the next tile's products behind that
/// (docs/decisions/0121). Nothing is kept of a tile: sums near a tie are computed again.
template <int V, int R>
DMLREF_TARGET_AVX512VNNI inline void channel_tile_ahead(const TileArgs& t) noexcept {
  using Shape = ChannelTile<V, R>;
  if (t.requantizer == nullptr || t.steps == 0) return channel_tile<V, R>(t);
  TilePlace at(t);
  const Epilogue constants(*t.requantizer);
  const Epilogue* epilogue = &constants;
  __asm__("" : "+r"(epilogue) : : "memory");  // read from memory each time: there is no register to spare
  const SumsAre are = Shape::sums_are(t);
  std::ptrdiff_t copied = t.unstaged == nullptr ? 0 : copy_pixels(t, 0, 2 * R, t.count * R);
  for (std::ptrdiff_t tile = 0; tile < t.count; ++tile) {
    typename Shape::Registers acc;
    Shape::start(t, at, acc);
    const std::uint8_t* w = t.weights;
    std::ptrdiff_t k = 0;
    do {
      Shape::step(t, acc, at.activations + t.offsets[k], w);
      w += t.weight_step;
    } while (++k < t.steps);
    const std::uint32_t suspects =
        are == SumsAre::integers  ? Shape::template write_units<SumsAre::integers>(t, *epilogue, acc, at.out)
        : are == SumsAre::rounded ? Shape::template write_units<SumsAre::rounded>(t, *epilogue, acc, at.out)
                                  : Shape::template write_units<SumsAre::mostly_rounded>(t, *epilogue, acc, at.out);
    if (__builtin_expect(suspects != 0, 0)) settle_anew<V, R>(t, at, suspects);
    at.advance(R, t.pixel_step, t.out_pitch);
    if (__builtin_expect(copied != 0, 0)) copied = copy_pixels(t, copied, (tile + 3) * R, t.count * R);
  }
}

/// Either, by depth; floats may have exceptions.
template <int V, int R>
inline void channel_tile_ahead_if_shallow(const TileArgs& t) noexcept {
  constexpr std::ptrdiff_t most_steps = 64;
  const bool ahead = t.steps <= most_steps || (t.requantizer != nullptr && t.requantizer->float_shift != nullptr);
  ahead ? channel_tile_ahead<V, R>(t) : channel_tile<V, R>(t);
}

}  // namespace fast::qlc::avx512vnni
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
