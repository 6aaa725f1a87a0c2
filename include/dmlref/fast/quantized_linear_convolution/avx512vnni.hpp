// avx512vnni.hpp: vpdpbusd on 16 lanes; 28 of the 32 registers are accumulators.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/kernels.hpp"
#include "dmlref/fast/quantized_linear_convolution/portable.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <bit>
#include <cstring>
#include <utility>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"  // inside avx512fintrin.h: g++ bug 105593
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wsign-conversion"  // without optimization intrinsics with immediates are macros
#endif

DMLREF_BEGIN
namespace fast::qlc::avx512vnni {

DMLREF_TARGET_AVX512VNNI inline __m512i broadcast(const std::uint8_t* group) noexcept {
  std::int32_t value;
  std::memcpy(&value, group, sizeof value);
  return _mm512_set1_epi32(value);
}

// Dword 4 * i + j takes the place of dword 4 * j + i.
DMLREF_TARGET_AVX512VNNI inline __m512i transposed_order() noexcept {
  return _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
}

/// Stages 2 and 3 of requantize.hpp for those of 64 sums of one channel whose fixed-point values v0 to v3 are near a
/// tie. By value: in an array the hot path would have to store them.
DMLREF_NOINLINE DMLREF_TARGET_AVX512VNNI inline __m512i settle_channel(__m512i bytes, __m512i sum0, __m512i sum1,
                                                                       __m512i sum2, __m512i sum3, __m512i v0,
                                                                       __m512i v1, __m512i v2, __m512i v3,
                                                                       const Requantizer& to, std::ptrdiff_t channel,
                                                                       bool paired) noexcept {
  const __m512i sums[4] = {sum0, sum1, sum2, sum3};
  const __m512i values[4] = {v0, v1, v2, v3};
  std::uint8_t out[64];
  _mm512_storeu_si512(out, bytes);
  for (int v = 0; v < 4; ++v) {
    std::int32_t kept[16];
    _mm512_storeu_si512(kept, sums[v]);
    const __m512i fraction = _mm512_and_si512(values[v], _mm512_set1_epi32(0xFFFF));
    unsigned near = _mm512_cmple_epu32_mask(fraction, _mm512_set1_epi32(fixed_band));
    for (; near != 0; near &= near - 1) {
      const int l = std::countr_zero(near);
      out[paired ? l / 4 * 16 + v / 2 * 8 + l % 4 * 2 + v % 2 : 16 * v + l] = to.exact(kept[l], channel);
    }
  }
  return _mm512_loadu_si512(out);
}

/// Requantizes 64 sums: stage 1 of requantize.hpp, in fixed point. Its constants are hidden from the optimizers: one
/// makes them anew for every 64, another knows a longer way to do the permutation.
class Epilogue {
 public:
  struct Result {
    __m512i bytes;
    bool near_tie;  // of some sum: settle
  };

  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE explicit Epilogue(const Requantizer& to) noexcept
      : shift_(_mm512_set1_ps(to.fixed_shift())),
        flip_(_mm512_set1_epi8(static_cast<char>(to.packed_flip()))),
        band_(_mm512_set1_epi16(static_cast<short>(fixed_band))),
        quads_(_mm512_broadcast_i32x4(_mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15))),
        order_(transposed_order()),
        to_(to) {
    __asm__("" : "+v"(band_), "+v"(flip_), "+Yk"(odd_words_), "+Yk"(even_words_));
    __asm__("" : "+v"(quads_), "+v"(order_));
  }

  /// Four vectors of sums of one channel. Bytes come in the order of the sums or, where these are Paired, in the order
  /// that interleave_pairs took their pixels from. Near ties are settled.
  template <bool Paired>
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i of_channel(__m512i sum0, __m512i sum1, __m512i sum2,
                                                                   __m512i sum3,
                                                                   std::ptrdiff_t channel) const noexcept {
    const __m512 scale = _mm512_set1_ps(to_.fixed_scale[channel]);
    const __m512i v0 = fixed(sum0, scale);
    const __m512i v1 = fixed(sum1, scale);
    const __m512i v2 = fixed(sum2, scale);
    const __m512i v3 = fixed(sum3, scale);
    const auto [bytes, near_tie] = finish<Paired>(v0, v1, v2, v3);
    if (__builtin_expect(!near_tie, 1)) return bytes;
    return settle_channel(bytes, sum0, sum1, sum2, sum3, v0, v1, v2, v3, to_, channel, Paired);
  }

  /// Sums of 16 * V channels, of 4 / V pixels one after the other.
  template <int V>
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE Result of_pixels(const std::int32_t* sums,
                                                                 std::ptrdiff_t first) const noexcept {
    const float* scale = to_.fixed_scale + first;
    return finish<false>(fixed(_mm512_loadu_si512(sums), _mm512_loadu_ps(scale)),
                         fixed(_mm512_loadu_si512(sums + 16), _mm512_loadu_ps(scale + 1 % V * 16)),
                         fixed(_mm512_loadu_si512(sums + 32), _mm512_loadu_ps(scale + 2 % V * 16)),
                         fixed(_mm512_loadu_si512(sums + 48), _mm512_loadu_ps(scale + 3 % V * 16)));
  }

  /// Stages 2 and 3 for the sums of `count` neighbouring channels that are near a tie.
  DMLREF_NOINLINE DMLREF_TARGET_AVX512VNNI void settle(const std::int32_t* sums, std::ptrdiff_t count,
                                                       std::ptrdiff_t first, std::uint8_t* out) const noexcept {
    for (std::ptrdiff_t i = 0; i < count; i += 16) {
      const __m512 scale = _mm512_loadu_ps(to_.fixed_scale + first + i);
      const __m512i fraction = _mm512_and_si512(fixed(_mm512_loadu_si512(sums + i), scale), _mm512_set1_epi32(0xFFFF));
      unsigned near = _mm512_cmple_epu32_mask(fraction, _mm512_set1_epi32(fixed_band));
      for (; near != 0; near &= near - 1) {
        const std::ptrdiff_t at = i + std::countr_zero(near);
        out[at] = to_.exact(sums[at], first + at);
      }
    }
  }

 private:
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE __m512i fixed(__m512i sums, __m512 scale) const noexcept {
    return _mm512_cvtps_epi32(_mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), scale, shift_));
  }

  template <bool Paired>
  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE Result finish(__m512i v0, __m512i v1, __m512i v2,
                                                              __m512i v3) const noexcept {
    // The upper halves are the results: those of v0 and v1 in turn, then v2 and v3. The lower ones tell how near a tie
    // is.
    const __m512i q01 = _mm512_mask_blend_epi16(odd_words_, _mm512_srli_epi32(v0, 16), v1);
    const __m512i q23 = _mm512_mask_blend_epi16(odd_words_, _mm512_srli_epi32(v2, 16), v3);
    const __m512i nearest = _mm512_min_epu16(_mm512_min_epu16(v0, v1), _mm512_min_epu16(v2, v3));
    __m512i bytes = _mm512_xor_si512(_mm512_packs_epi16(q01, q23), flip_);
    if constexpr (!Paired) {
      bytes = _mm512_permutexvar_epi32(order_, _mm512_shuffle_epi8(bytes, quads_));
    }
    return {bytes, _mm512_mask_cmple_epu16_mask(even_words_, nearest, band_) != 0};
  }

  __m512 shift_;
  __m512i flip_;
  __m512i band_;
  __m512i quads_;  // from alternating bytes to four of each vector
  __m512i order_;
  __mmask32 odd_words_ = 0xAAAAAAAA;
  __mmask32 even_words_ = 0x55555555;
  const Requantizer& to_;
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

  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static void start(const TileArgs& t, Registers& acc) noexcept {
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
          const __m512i sum = _mm512_set1_epi32(t.pixel_sums[r]);
          acc[r][v] = _mm512_add_epi32(acc[r][v], _mm512_mullo_epi32(sum, factor));
        }
      }
    } else if (t.pixel_offset != nullptr) {
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const __m512i offset = _mm512_set1_epi32(t.pixel_offset[r]);
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
        for (int v = 0; v < held; ++v) acc[r][h + v] = _mm512_dpbusd_epi32(acc[r][h + v], group, weights[v]);
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

  DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE static bool write(const TileArgs& t, const Epilogue& epilogue,
                                                                  const std::int32_t* sums, std::size_t unit,
                                                                  std::uint8_t* out) noexcept {
    const auto [bytes, near_tie] = epilogue.of_pixels<V>(sums, t.first_channel);
    const std::ptrdiff_t first = pixels * static_cast<std::ptrdiff_t>(unit);
    const std::ptrdiff_t pitch = t.out_pitch;
    out += first * pitch;
    if constexpr (V == 4) {
      _mm512_storeu_si512(out, bytes);
    } else if constexpr (V == 2) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_castsi512_si256(bytes));
      if (R % 2 == 1 && R - first < 2) return near_tie;
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + pitch), _mm512_extracti64x4_epi64(bytes, 1));
    } else {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm512_castsi512_si128(bytes));
      if (R % 4 == 1 && R - first < 2) return near_tie;
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + pitch), _mm512_extracti32x4_epi32(bytes, 1));
      if (R % 4 == 2 && R - first < 3) return near_tie;
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 2 * pitch), _mm512_extracti32x4_epi32(bytes, 2));
      if (R % 4 == 3 && R - first < 4) return near_tie;
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 3 * pitch), _mm512_extracti32x4_epi32(bytes, 3));
    }
    return near_tie;
  }

  static void settle(const TileArgs& t, const Epilogue& epilogue, const std::int32_t* kept, std::size_t unit,
                     std::uint8_t* out) noexcept {
    const std::ptrdiff_t first = pixels * static_cast<std::ptrdiff_t>(unit);
    for (std::ptrdiff_t r = first; r < first + pixels && r < R; ++r) {
      epilogue.settle(kept + 16 * V * r, 16 * V, t.first_channel, out + r * t.out_pitch);
    }
  }

  DMLREF_ALWAYS_INLINE static void advance(TileArgs& t) noexcept {
    t.activations += R * t.pixel_step;
    if (t.pixel_offset != nullptr) t.pixel_offset += R;
    t.pixel_sums += R;
    t.out += R * t.out_pitch;
  }
};

/// A strip of `args.count` tiles side by side. A tile's sums are kept in memory and requantized between the first steps
/// of the next tile: the dot products leave half of the execution units idle, and more than the few instructions that
/// the processor looks ahead. Nothing is called while sums are in registers: near ties wait until they have been kept.
template <int V, int R>
DMLREF_TARGET_AVX512VNNI inline void channel_tile(const TileArgs& args) noexcept {
  using Shape = ChannelTile<V, R>;
  TileArgs t = args;
  typename Shape::Registers acc;
  const std::uint8_t* w = t.weights;
  if (t.requantizer == nullptr) {
    Shape::start(t, acc);
    for (std::ptrdiff_t k = 0; k < t.steps; ++k, w += t.weight_step) {
      Shape::step(t, acc, t.activations + t.offsets[k], w);
    }
    Shape::keep(acc, t.sums, t.sums_pitch);
    return;
  }
  constexpr std::size_t units = Shape::units;
  alignas(64) std::int32_t buffers[2][64 * units];
  for (auto& buffer : buffers) {
    for (std::size_t v = Shape::kept_vectors; v < 4 * units; ++v) {
      _mm512_store_si512(buffer + 16 * v, _mm512_setzero_si512());
    }
  }
  std::int32_t* kept = buffers[0];  // the tile that is being requantized
  std::int32_t* spare = buffers[1];
  const Epilogue epilogue(*t.requantizer);
  std::uint8_t* out = t.out;
  std::uint32_t suspects = 0;  // units with near ties, the latest one in bit 0
  std::size_t unit = units;    // the next one to requantize
  for (std::ptrdiff_t tile = 0; tile < t.count; ++tile) {
    Shape::start(t, acc);
    const std::int32_t* offset = t.offsets;
    const std::int32_t* const end = offset + t.steps;
    w = t.weights;
    for (; unit < units && offset < end; ++offset, w += t.weight_step, ++unit) {
      Shape::step(t, acc, t.activations + *offset, w);
      suspects = 2 * suspects + Shape::write(t, epilogue, kept + 64 * unit, unit, out);
    }
    for (; offset < end; ++offset, w += t.weight_step) Shape::step(t, acc, t.activations + *offset, w);
    for (; unit < units; ++unit) suspects = 2 * suspects + Shape::write(t, epilogue, kept + 64 * unit, unit, out);
    Shape::keep(acc, spare, Shape::kept_pitch);
    for (; suspects != 0; suspects &= suspects - 1) {
      Shape::settle(t, epilogue, kept, units - 1 - static_cast<std::size_t>(std::countr_zero(suspects)), out);
    }
    std::int32_t* const finished = kept;
    kept = spare;
    spare = finished;
    unit = 0;
    out = t.out;
    Shape::advance(t);
  }
  for (; unit < units; ++unit) {
    if (Shape::write(t, epilogue, kept + 64 * unit, unit, out)) Shape::settle(t, epilogue, kept, unit, out);
  }
}

/// The end of a pixel tile: R rows of 16 * V bytes.
template <bool Paired, int V, int R>
DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE void write_rows(
    const TileArgs& t, const __m512i (&acc)[static_cast<std::size_t>(R)][static_cast<std::size_t>(V)]) noexcept {
  const Epilogue epilogue(*t.requantizer);
  const __mmask64 written = ~std::uint64_t{0} >> (64 - t.out_lanes);
  const std::ptrdiff_t first = t.first_channel, pitch = t.out_pitch;
  std::uint8_t* out = t.out;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r, out += pitch) {
    const __m512i bytes = epilogue.of_channel<Paired>(acc[r][0], acc[r][V > 1 ? 1 : 0], acc[r][V > 2 ? 2 : 0],
                                                      acc[r][V > 3 ? 3 : 0], first + r);
    if constexpr (Paired) {
      _mm512_storeu_si512(out, bytes);
    } else {
      _mm512_mask_storeu_epi8(out, written, bytes);
    }
  }
}

/// Pixels in lanes: V vectors of 16 pixels meet R broadcast channels. Requantized out of the registers: keeping them as
/// channel_tile does costs what it saves, as stores take read ports from the dot products.
template <int V, int R>
DMLREF_TARGET_AVX512VNNI inline void pixel_tile(const TileArgs& t) noexcept {
  constexpr std::size_t rows = R, vectors = V;
  __m512i acc[rows][vectors];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) acc[r][v] = _mm512_set1_epi32(t.channel_offset[r]);
  }
  if (t.channel_factor != nullptr) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      const __m512i sum = _mm512_loadu_si512(t.pixel_sums + 16 * v);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const __m512i factor = _mm512_set1_epi32(t.channel_factor[r]);
        acc[r][v] = _mm512_add_epi32(acc[r][v], _mm512_mullo_epi32(sum, factor));
      }
    }
  } else if (t.pixel_offset != nullptr) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      const __m512i offset = _mm512_loadu_si512(t.pixel_offset + 16 * v);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) acc[r][v] = _mm512_add_epi32(acc[r][v], offset);
    }
  }
  const std::uint8_t* w = t.weights;
  for (std::ptrdiff_t k = 0; k < t.steps; ++k, w += t.weight_step) {
    const std::uint8_t* a = t.activations + t.offsets[k];
    __m512i pixels[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) pixels[v] = _mm512_loadu_si512(a + 64 * v);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const __m512i group = broadcast(w + 4 * r);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) acc[r][v] = _mm512_dpbusd_epi32(acc[r][v], pixels[v], group);
    }
  }
  if (t.requantizer == nullptr) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) _mm512_storeu_si512(t.sums + r * t.sums_pitch + 16 * v, acc[r][v]);
    }
    return;
  }
  if constexpr (V == 4) {
    if (t.paired) return write_rows<true, V, R>(t, acc);
  }
  write_rows<false, V, R>(t, acc);
}

/// 64 pixels of four channels to 64 groups. The dwords of each row are put in transposed order first, so that the
/// unpacks, which stay within 128 bits, leave neighbours side by side.
DMLREF_TARGET_AVX512VNNI inline void interleave64(const std::uint8_t* const* rows, std::ptrdiff_t at, __m512i flip,
                                                  std::uint8_t* dst) noexcept {
  const __m512i order = transposed_order();
  const __m512i c0 = _mm512_permutexvar_epi32(order, _mm512_xor_si512(flip, _mm512_loadu_si512(rows[0] + at)));
  const __m512i c1 = _mm512_permutexvar_epi32(order, _mm512_xor_si512(flip, _mm512_loadu_si512(rows[1] + at)));
  const __m512i c2 = _mm512_permutexvar_epi32(order, _mm512_xor_si512(flip, _mm512_loadu_si512(rows[2] + at)));
  const __m512i c3 = _mm512_permutexvar_epi32(order, _mm512_xor_si512(flip, _mm512_loadu_si512(rows[3] + at)));
  const __m512i low01 = _mm512_unpacklo_epi8(c0, c1);
  const __m512i high01 = _mm512_unpackhi_epi8(c0, c1);
  const __m512i low23 = _mm512_unpacklo_epi8(c2, c3);
  const __m512i high23 = _mm512_unpackhi_epi8(c2, c3);
  _mm512_storeu_si512(dst, _mm512_unpacklo_epi16(low01, low23));
  _mm512_storeu_si512(dst + 64, _mm512_unpackhi_epi16(low01, low23));
  _mm512_storeu_si512(dst + 128, _mm512_unpacklo_epi16(high01, high23));
  _mm512_storeu_si512(dst + 192, _mm512_unpackhi_epi16(high01, high23));
}

/// Blocks of 64 pixels of all channels to groups, in the order that saves permutations here and where bytes are packed
/// again: in each 16 pixels 0 2 4 6 | 1 3 5 7 | 8 10 12 14 | 9 11 13 15. On the way the dot-product units, idle here,
/// sum the channels: sums[i] = factor * the sum of position i.
template <bool Sums>
DMLREF_TARGET_AVX512VNNI inline void interleave_pairs(const PairsArgs& t) noexcept {
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(t.flip));
  const __mmask64 odd_bytes = 0xAAAAAAAAAAAAAAAA;
  for (std::ptrdiff_t at = 0; at < t.pixels; at += 64) {
    __m512i sum0 = _mm512_setzero_si512(), sum1 = sum0, sum2 = sum0, sum3 = sum0;
    __m512i ones = _mm512_set1_epi8(1);
    const std::uint8_t* src = t.src + at;
    std::uint8_t* dst = t.dst + 4 * at;
    for (std::ptrdiff_t c = 0; c < t.channels; c += 4, src += 4 * t.channel_step, dst += t.plane_step) {
      const std::ptrdiff_t left = t.channels - c;  // what fills an incomplete group meets weights of 0
      if (left < 4) ones = _mm512_set1_epi32(0x010101 >> (8 * (3 - left)));
      const std::uint8_t* src1 = left > 1 ? src + t.channel_step : src;
      const std::uint8_t* src2 = left > 2 ? src + 2 * t.channel_step : src;
      const std::uint8_t* src3 = left > 3 ? src + 3 * t.channel_step : src;
      const __m512i c0 = _mm512_xor_si512(flip, _mm512_loadu_si512(src));
      const __m512i c1 = _mm512_xor_si512(flip, _mm512_loadu_si512(src1));
      const __m512i c2 = _mm512_xor_si512(flip, _mm512_loadu_si512(src2));
      const __m512i c3 = _mm512_xor_si512(flip, _mm512_loadu_si512(src3));
      const __m512i even01 = _mm512_mask_blend_epi8(odd_bytes, c0, _mm512_slli_epi16(c1, 8));
      const __m512i even23 = _mm512_mask_blend_epi8(odd_bytes, c2, _mm512_slli_epi16(c3, 8));
      const __m512i odd01 = _mm512_mask_blend_epi8(odd_bytes, _mm512_srli_epi16(c0, 8), c1);
      const __m512i odd23 = _mm512_mask_blend_epi8(odd_bytes, _mm512_srli_epi16(c2, 8), c3);
      const __m512i v0 = _mm512_unpacklo_epi16(even01, even23);
      const __m512i v1 = _mm512_unpacklo_epi16(odd01, odd23);
      const __m512i v2 = _mm512_unpackhi_epi16(even01, even23);
      const __m512i v3 = _mm512_unpackhi_epi16(odd01, odd23);
      _mm512_storeu_si512(dst, v0);
      _mm512_storeu_si512(dst + 64, v1);
      _mm512_storeu_si512(dst + 128, v2);
      _mm512_storeu_si512(dst + 192, v3);
      if constexpr (Sums) {
        sum0 = _mm512_dpbusd_epi32(sum0, v0, ones);
        sum1 = _mm512_dpbusd_epi32(sum1, v1, ones);
        sum2 = _mm512_dpbusd_epi32(sum2, v2, ones);
        sum3 = _mm512_dpbusd_epi32(sum3, v3, ones);
      }
    }
    if constexpr (Sums) {
      const __m512i factor = _mm512_set1_epi32(t.factor);
      _mm512_storeu_si512(t.sums + at, _mm512_mullo_epi32(sum0, factor));
      _mm512_storeu_si512(t.sums + at + 16, _mm512_mullo_epi32(sum1, factor));
      _mm512_storeu_si512(t.sums + at + 32, _mm512_mullo_epi32(sum2, factor));
      _mm512_storeu_si512(t.sums + at + 48, _mm512_mullo_epi32(sum3, factor));
    }
  }
}

inline void interleave_pairs_of(const PairsArgs& t) noexcept {
  return t.sums != nullptr ? interleave_pairs<true>(t) : interleave_pairs<false>(t);
}

/// 16 pixels.
DMLREF_TARGET_AVX512VNNI inline void interleave16(const std::uint8_t* const* rows, std::ptrdiff_t at, __m128i flip,
                                                  std::uint8_t* dst) noexcept {
  __m128i c[4];
#pragma GCC unroll 4
  for (int e = 0; e < 4; ++e) {
    c[e] = _mm_xor_si128(flip, _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[e] + at)));
  }
  const __m128i low01 = _mm_unpacklo_epi8(c[0], c[1]);
  const __m128i high01 = _mm_unpackhi_epi8(c[0], c[1]);
  const __m128i low23 = _mm_unpacklo_epi8(c[2], c[3]);
  const __m128i high23 = _mm_unpackhi_epi8(c[2], c[3]);
  auto* out = reinterpret_cast<__m128i*>(dst + 4 * at);
  _mm_storeu_si128(out, _mm_unpacklo_epi16(low01, low23));
  _mm_storeu_si128(out + 1, _mm_unpackhi_epi16(low01, low23));
  _mm_storeu_si128(out + 2, _mm_unpacklo_epi16(high01, high23));
  _mm_storeu_si128(out + 3, _mm_unpackhi_epi16(high01, high23));
}

/// 8 pixels.
DMLREF_TARGET_AVX512VNNI inline void interleave8(const std::uint8_t* const* rows, std::ptrdiff_t at, __m128i flip,
                                                 std::uint8_t* dst) noexcept {
  __m128i c[4];
#pragma GCC unroll 4
  for (int e = 0; e < 4; ++e) {
    c[e] = _mm_xor_si128(flip, _mm_loadl_epi64(reinterpret_cast<const __m128i*>(rows[e] + at)));
  }
  const __m128i c01 = _mm_unpacklo_epi8(c[0], c[1]);
  const __m128i c23 = _mm_unpacklo_epi8(c[2], c[3]);
  auto* out = reinterpret_cast<__m128i*>(dst + 4 * at);
  _mm_storeu_si128(out, _mm_unpacklo_epi16(c01, c23));
  _mm_storeu_si128(out + 1, _mm_unpackhi_epi16(c01, c23));
}

/// 4 pixels.
DMLREF_TARGET_AVX512VNNI inline void interleave4(const std::uint8_t* const* rows, std::ptrdiff_t at, __m128i flip,
                                                 std::uint8_t* dst) noexcept {
  __m128i c[4];
#pragma GCC unroll 4
  for (int e = 0; e < 4; ++e) {
    std::int32_t four;
    std::memcpy(&four, rows[e] + at, sizeof four);
    c[e] = _mm_xor_si128(flip, _mm_cvtsi32_si128(four));
  }
  const __m128i c01 = _mm_unpacklo_epi8(c[0], c[1]);
  const __m128i c23 = _mm_unpacklo_epi8(c[2], c[3]);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + 4 * at), _mm_unpacklo_epi16(c01, c23));
}

// Shorter steps towards the end; the last one of a size overlaps the one before rather than leave a remainder.
DMLREF_TARGET_AVX512VNNI inline void interleave(const std::uint8_t* const* rows, std::ptrdiff_t count,
                                                std::uint8_t flip, std::uint8_t* dst) noexcept {
  const __m512i flips = _mm512_set1_epi8(static_cast<char>(flip));
  const __m128i flips16 = _mm512_castsi512_si128(flips);
  std::ptrdiff_t i = 0;
  for (; i + 64 <= count; i += 64) interleave64(rows, i, flips, dst + 4 * i);
  if (i == count) return;
  if (count >= 16) {
    for (; i + 16 <= count; i += 16) interleave16(rows, i, flips16, dst);
    if (i < count) interleave16(rows, count - 16, flips16, dst);
  } else if (count >= 8) {
    interleave8(rows, 0, flips16, dst);
    interleave8(rows, count - 8, flips16, dst);
  } else if (count >= 4) {
    interleave4(rows, 0, flips16, dst);
    interleave4(rows, count - 4, flips16, dst);
  } else {
    for (; i < count; ++i) {
      for (int e = 0; e < 4; ++e) dst[4 * i + e] = static_cast<std::uint8_t>(rows[e][i] ^ flip);
    }
  }
}

/// Transposes 16 x 16 groups at a time: four rounds of unpacks and shuffles, each of which doubles what lies together.
DMLREF_TARGET_AVX512VNNI inline void pack_rows(const RowsArgs& t) noexcept {
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(t.flip));
  const __m512i ones = _mm512_set1_epi8(1);
  __m512i sum = _mm512_loadu_si512(t.sums);
  for (std::ptrdiff_t at = 0; at < t.bytes; at += 64) {
    const std::ptrdiff_t left = t.bytes - at;
    const __mmask64 used = left >= 64 ? ~std::uint64_t{0} : ~std::uint64_t{0} >> (64 - left);
    __m512i a[16];
    __m512i b[16];
#pragma GCC unroll 16
    for (int r = 0; r < 16; ++r) {
      a[r] = _mm512_setzero_si512();
      if (r < t.channels) {
        const __m512i row = _mm512_maskz_loadu_epi8(used, t.src + r * t.pitch + at);
        a[r] = _mm512_xor_si512(row, _mm512_maskz_mov_epi8(used, flip));
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < 16; r += 2) {
      b[r] = _mm512_unpacklo_epi32(a[r], a[r + 1]);
      b[r + 1] = _mm512_unpackhi_epi32(a[r], a[r + 1]);
    }
#pragma GCC unroll 4
    for (int r = 0; r < 16; r += 4) {
      a[r] = _mm512_unpacklo_epi64(b[r], b[r + 2]);
      a[r + 1] = _mm512_unpackhi_epi64(b[r], b[r + 2]);
      a[r + 2] = _mm512_unpacklo_epi64(b[r + 1], b[r + 3]);
      a[r + 3] = _mm512_unpackhi_epi64(b[r + 1], b[r + 3]);
    }
    // a[4 * i + j]: rows 4 i to 4 i + 3 of groups j, j + 4, j + 8, j + 12, one group to 128 bits.
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const __m512i low01 = _mm512_shuffle_i32x4(a[j], a[4 + j], 0x44);
      const __m512i high01 = _mm512_shuffle_i32x4(a[j], a[4 + j], 0xEE);
      const __m512i low23 = _mm512_shuffle_i32x4(a[8 + j], a[12 + j], 0x44);
      const __m512i high23 = _mm512_shuffle_i32x4(a[8 + j], a[12 + j], 0xEE);
      b[j] = _mm512_shuffle_i32x4(low01, low23, 0x88);
      b[4 + j] = _mm512_shuffle_i32x4(low01, low23, 0xDD);
      b[8 + j] = _mm512_shuffle_i32x4(high01, high23, 0x88);
      b[12 + j] = _mm512_shuffle_i32x4(high01, high23, 0xDD);
    }
    std::uint8_t* const dst = t.dst + 16 * at;
#pragma GCC unroll 16
    for (int k = 0; k < 16; ++k) {
      if (4 * k >= left) break;
      sum = _mm512_dpbusd_epi32(sum, ones, b[k]);
      _mm512_storeu_si512(dst + 64 * k, b[k]);
    }
  }
  _mm512_storeu_si512(t.sums, sum);
}

DMLREF_TARGET_AVX512VNNI inline void deal(const std::uint8_t* src, std::ptrdiff_t step, std::ptrdiff_t count,
                                          std::uint8_t* dst) noexcept {
  if (step != 2) {
    for (std::ptrdiff_t i = 0; i < count; ++i) std::memcpy(dst + 4 * i, src + 4 * step * i, 4);
    return;
  }
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  for (std::ptrdiff_t i = 0; i < count; i += 16) {
    const __m512i low = _mm512_loadu_si512(src + 8 * i);
    const __m512i high = _mm512_loadu_si512(src + 8 * i + 64);
    const std::ptrdiff_t rest = count - i;
    const auto mask = static_cast<__mmask16>(rest >= 16 ? 0xFFFFu : (1u << rest) - 1u);
    _mm512_mask_storeu_epi32(dst + 4 * i, mask, _mm512_permutex2var_epi32(low, even, high));
  }
}

// Four windows lie within 16 bytes where the step is at most 4, which is all that staging asks for.
DMLREF_TARGET_AVX512VNNI inline void windows(const std::uint8_t* src, std::ptrdiff_t count, std::ptrdiff_t step,
                                             std::uint8_t flip, std::uint8_t* dst) noexcept {
  if (count < 16 || step > 4) return portable::windows<4>(src, count, step, flip, dst);
  const __m512i flips = _mm512_set1_epi8(static_cast<char>(flip));
  const __m128i first = _mm_setr_epi8(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
  const __m128i window = _mm_setr_epi8(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
  const __m128i order = _mm_add_epi8(first, _mm_mullo_epi16(window, _mm_set1_epi16(static_cast<short>(step))));
  const __m512i orders = _mm512_broadcast_i32x4(order);
  for (std::ptrdiff_t i = 0; i < count; i += 16) {
    const std::ptrdiff_t at = i + 16 <= count ? i : count - 16;  // the last ones overlap
    const std::uint8_t* from = src + at * step;
    const auto four = [&](std::ptrdiff_t f) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 4 * f * step));
    };
    __m512i bytes = _mm512_castsi128_si512(four(0));
    bytes = _mm512_inserti32x4(bytes, four(1), 1);
    bytes = _mm512_inserti32x4(bytes, four(2), 2);
    bytes = _mm512_inserti32x4(bytes, four(3), 3);
    _mm512_storeu_si512(dst + 4 * at, _mm512_xor_si512(flips, _mm512_shuffle_epi8(bytes, orders)));
  }
}

DMLREF_TARGET_AVX512VNNI inline void convert(const std::uint8_t* src, std::ptrdiff_t count, std::uint8_t flip,
                                             std::uint8_t* dst) noexcept {
  const __m512i flips = _mm512_set1_epi8(static_cast<char>(flip));
  std::ptrdiff_t i = 0;
  for (; i + 64 <= count; i += 64) _mm512_storeu_si512(dst + i, _mm512_xor_si512(_mm512_loadu_si512(src + i), flips));
  for (; i < count; ++i) dst[i] = static_cast<std::uint8_t>(src[i] ^ flip);
}

/// Adds neighbours of a and of b and puts the sums side by side, lane by lane; four such rounds sum 16 vectors.
DMLREF_TARGET_AVX512VNNI inline __m512i add_pairs(__m512i a, __m512i b) noexcept {
  const __m512 x = _mm512_castsi512_ps(a);
  const __m512 y = _mm512_castsi512_ps(b);
  return _mm512_add_epi32(_mm512_castps_si512(_mm512_shuffle_ps(x, y, 0x88)),
                          _mm512_castps_si512(_mm512_shuffle_ps(x, y, 0xDD)));
}

DMLREF_TARGET_AVX512VNNI inline __m512i sum_run(const std::uint8_t* src, std::ptrdiff_t count) noexcept {
  const __m512i ones = _mm512_set1_epi8(1);
  __m512i total = _mm512_setzero_si512();
  for (; count >= 64; count -= 64, src += 64) total = _mm512_dpbusd_epi32(total, _mm512_loadu_si512(src), ones);
  if (count == 0) return total;
  return _mm512_dpbusd_epi32(total, _mm512_maskz_loadu_epi8(~std::uint64_t{0} >> (64 - count), src), ones);
}

/// 16 pixels of at most 32 bytes: two to a vector; `Touching`: all 32, one pixel after the other.
template <bool Touching>
DMLREF_TARGET_AVX512VNNI inline __m512i sum_short_runs(const std::uint8_t* src, std::ptrdiff_t count,
                                                       std::ptrdiff_t pixel_step) noexcept {
  const __m512i ones = _mm512_set1_epi8(1);
  const auto used = static_cast<__mmask32>(0xFFFFFFFFu >> (32 - count));
  __m512i half[2];
#pragma GCC unroll 2
  for (int h = 0; h < 2; ++h) {
    __m512i pair[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i, src += 2 * pixel_step) {
      __m512i two;
      if constexpr (Touching) {
        two = _mm512_loadu_si512(src);
      } else {
        two = _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_maskz_loadu_epi8(used, src)),
                                 _mm256_maskz_loadu_epi8(used, src + pixel_step), 1);
      }
      pair[i] = _mm512_dpbusd_epi32(_mm512_setzero_si512(), two, ones);
    }
    half[h] = add_pairs(add_pairs(pair[0], pair[1]), add_pairs(pair[2], pair[3]));
  }
  const __m512i total =
      _mm512_add_epi32(_mm512_shuffle_i32x4(half[0], half[1], 0x88), _mm512_shuffle_i32x4(half[0], half[1], 0xDD));
  const __m512i order = _mm512_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
  return _mm512_permutexvar_epi32(order, total);
}

DMLREF_TARGET_AVX512VNNI inline void sum_runs(const std::uint8_t* src, std::ptrdiff_t count, std::ptrdiff_t pixel_step,
                                              std::ptrdiff_t pixels, std::int32_t* sums) noexcept {
  std::ptrdiff_t p = 0;
  if (count <= 32) {
    for (; p + 16 <= pixels; p += 16, src += 16 * pixel_step) {
      const __m512i total = count == 32 && pixel_step == 32 ? sum_short_runs<true>(src, count, pixel_step)
                                                            : sum_short_runs<false>(src, count, pixel_step);
      _mm512_storeu_si512(sums + p, _mm512_add_epi32(_mm512_loadu_si512(sums + p), total));
    }
  }
  for (; p + 16 <= pixels; p += 16) {
    __m512i quarter[4];  // four pixels each: lane g holds partial sums of pixels 0 to 3
    for (int q = 0; q < 4; ++q, src += 4 * pixel_step) {
      quarter[q] = add_pairs(add_pairs(sum_run(src, count), sum_run(src + pixel_step, count)),
                             add_pairs(sum_run(src + 2 * pixel_step, count), sum_run(src + 3 * pixel_step, count)));
    }
    // Add the four 128-bit lanes of each: a 4 x 4 transposition of lanes.
    const __m512i low01 = _mm512_shuffle_i32x4(quarter[0], quarter[1], 0x44);
    const __m512i high01 = _mm512_shuffle_i32x4(quarter[0], quarter[1], 0xEE);
    const __m512i low23 = _mm512_shuffle_i32x4(quarter[2], quarter[3], 0x44);
    const __m512i high23 = _mm512_shuffle_i32x4(quarter[2], quarter[3], 0xEE);
    const __m512i sum01 = _mm512_add_epi32(low01, high01);
    const __m512i sum23 = _mm512_add_epi32(low23, high23);
    const __m512i total =
        _mm512_add_epi32(_mm512_shuffle_i32x4(sum01, sum23, 0x88), _mm512_shuffle_i32x4(sum01, sum23, 0xDD));
    _mm512_storeu_si512(sums + p, _mm512_add_epi32(_mm512_loadu_si512(sums + p), total));
  }
  for (; p < pixels; ++p, src += pixel_step) sums[p] += _mm512_reduce_add_epi32(sum_run(src, count));
}

DMLREF_TARGET_AVX512VNNI inline void add_outer(std::int32_t* sums, std::ptrdiff_t pitch, std::ptrdiff_t rows,
                                               std::ptrdiff_t lanes, const std::int32_t* per_row,
                                               const std::int32_t* per_lane) noexcept {
  for (std::ptrdiff_t r = 0; r < rows; ++r) {
    const __m512i row = _mm512_set1_epi32(per_row[r]);
    for (std::ptrdiff_t l = 0; l < lanes; l += 16) {
      std::int32_t* at = sums + r * pitch + l;
      const __m512i product = _mm512_mullo_epi32(row, _mm512_loadu_si512(per_lane + l));
      _mm512_storeu_si512(at, _mm512_add_epi32(_mm512_loadu_si512(at), product));
    }
  }
}

/// Stage 1 with the product clamped: for scales too large for the tiles' fixed point.
DMLREF_TARGET_AVX512VNNI inline void quantize(const std::int32_t* sums, std::ptrdiff_t blocks, const Requantizer& to,
                                              std::ptrdiff_t first, std::ptrdiff_t period, std::uint8_t* out) noexcept {
  __m512 scale[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    scale[v] = period == 1 ? _mm512_set1_ps(to.scale[first]) : _mm512_loadu_ps(to.scale + first + 16 * v % period);
  }
  const __m512 magic = _mm512_set1_ps(rounding_magic);
  const __m512 band = _mm512_set1_ps(clamped_band);
  const __m512 high = _mm512_set1_ps(float_clamp);
  const __m512 low = _mm512_set1_ps(-float_clamp);
  const __m512i shift = _mm512_set1_epi32(rounding_magic_bits - to.packed_zero_point());
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(to.packed_flip()));
  const __m512i order = transposed_order();
  for (std::ptrdiff_t b = 0; b < blocks; ++b, sums += 64, out += 64) {
    __m512i q[4];
    std::uint64_t lanes = 0;
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      const __m512 sum = _mm512_cvtepi32_ps(_mm512_loadu_si512(sums + 16 * v));
      const __m512 product = _mm512_max_ps(_mm512_min_ps(_mm512_mul_ps(sum, scale[v]), high), low);
      const __m512 rounded = _mm512_add_ps(product, magic);
      const __m512 residual = _mm512_abs_ps(_mm512_sub_ps(product, _mm512_sub_ps(rounded, magic)));
      lanes |= std::uint64_t{_mm512_cmp_ps_mask(residual, band, _CMP_NLE_UQ)} << (16 * v);
      q[v] = _mm512_sub_epi32(_mm512_castps_si512(rounded), shift);
    }
    const __m512i bytes = _mm512_packs_epi16(_mm512_packs_epi32(q[0], q[1]), _mm512_packs_epi32(q[2], q[3]));
    _mm512_storeu_si512(out, _mm512_xor_si512(_mm512_permutexvar_epi32(order, bytes), flip));
    if (__builtin_expect(lanes != 0, 0)) to.refine(lanes, sums, first, period, out);
  }
}

/// 64 pixels of 16 channels: each 128-bit lane transposes 16 x 16 bytes.
DMLREF_TARGET_AVX512VNNI inline void transpose64(const std::uint8_t* src, std::ptrdiff_t src_pitch,
                                                 __m512i (&out)[16]) noexcept {
  __m512i a[16];
  __m512i b[16];
#pragma GCC unroll 16
  for (int j = 0; j < 16; ++j) {
    const std::uint8_t* pixel = src + j * src_pitch;
    const auto* at = reinterpret_cast<const __m128i*>(pixel);
    __m512i four = _mm512_castsi128_si512(_mm_loadu_si128(at));
    at = reinterpret_cast<const __m128i*>(pixel + 16 * src_pitch);
    four = _mm512_inserti32x4(four, _mm_loadu_si128(at), 1);
    at = reinterpret_cast<const __m128i*>(pixel + 32 * src_pitch);
    four = _mm512_inserti32x4(four, _mm_loadu_si128(at), 2);
    at = reinterpret_cast<const __m128i*>(pixel + 48 * src_pitch);
    a[j] = _mm512_inserti32x4(four, _mm_loadu_si128(at), 3);
  }
  // Perfect shuffles: four rounds of merging row j with row j + 8 transpose 16 rows of 16 bytes.
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) {
    b[2 * j] = _mm512_unpacklo_epi8(a[j], a[j + 8]);
    b[2 * j + 1] = _mm512_unpackhi_epi8(a[j], a[j + 8]);
  }
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) {
    a[2 * j] = _mm512_unpacklo_epi8(b[j], b[j + 8]);
    a[2 * j + 1] = _mm512_unpackhi_epi8(b[j], b[j + 8]);
  }
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) {
    b[2 * j] = _mm512_unpacklo_epi8(a[j], a[j + 8]);
    b[2 * j + 1] = _mm512_unpackhi_epi8(a[j], a[j + 8]);
  }
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) {
    out[2 * j] = _mm512_unpacklo_epi8(b[j], b[j + 8]);
    out[2 * j + 1] = _mm512_unpackhi_epi8(b[j], b[j + 8]);
  }
}

DMLREF_TARGET_AVX512VNNI inline void transpose(const std::uint8_t* src, std::ptrdiff_t src_pitch, std::ptrdiff_t pixels,
                                               std::ptrdiff_t channels, std::uint8_t* dst,
                                               std::ptrdiff_t dst_pitch) noexcept {
  for (std::ptrdiff_t c = 0; c < channels; c += 16) {
    const std::ptrdiff_t here = channels - c < 16 ? channels - c : 16;
    for (std::ptrdiff_t p = 0; p < pixels; p += 64) {
      __m512i columns[16];
      transpose64(src + p * src_pitch + c, src_pitch, columns);
      std::uint8_t* to = dst + c * dst_pitch + p;
      if (pixels - p >= 64 && here == 16) {
#pragma GCC unroll 16
        for (int j = 0; j < 16; ++j) _mm512_storeu_si512(to + j * dst_pitch, columns[j]);
      } else {
        const std::ptrdiff_t rest = pixels - p < 64 ? pixels - p : 64;
        const __mmask64 mask = ~std::uint64_t{0} >> (64 - rest);
        alignas(64) __m512i kept[16];
        for (int j = 0; j < 16; ++j) kept[j] = columns[j];
        for (std::ptrdiff_t j = 0; j < here; ++j) _mm512_mask_storeu_epi8(to + j * dst_pitch, mask, kept[j]);
      }
    }
  }
}

template <int V, std::size_t... R>
constexpr void set_channel_tiles(Kernels::Tiles& tiles, std::index_sequence<R...>) noexcept {
  ((tiles[V - 1][R] = &channel_tile<V, static_cast<int>(R) + 1>), ...);
}
template <int V, std::size_t... R>
constexpr void set_pixel_tiles(Kernels::Tiles& tiles, std::index_sequence<R...>) noexcept {
  ((tiles[V - 1][R] = &pixel_tile<V, static_cast<int>(R) + 1>), ...);
}

constexpr Kernels make_kernels() noexcept {
  Kernels k{16,       4,        false,     true,       {},        {},         &interleave,          &deal,
            &windows, &convert, &sum_runs, &add_outer, &quantize, &transpose, &interleave_pairs_of, &pack_rows};
  set_channel_tiles<1>(k.channel_tiles, std::make_index_sequence<14>());
  set_channel_tiles<2>(k.channel_tiles, std::make_index_sequence<14>());
  set_channel_tiles<4>(k.channel_tiles, std::make_index_sequence<6>());
  set_pixel_tiles<1>(k.pixel_tiles, std::make_index_sequence<6>());
  set_pixel_tiles<2>(k.pixel_tiles, std::make_index_sequence<6>());
  set_pixel_tiles<3>(k.pixel_tiles, std::make_index_sequence<6>());
  set_pixel_tiles<4>(k.pixel_tiles, std::make_index_sequence<6>());
  return k;
}
inline constexpr Kernels kernels = make_kernels();

}  // namespace fast::qlc::avx512vnni
DMLREF_END

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#endif
