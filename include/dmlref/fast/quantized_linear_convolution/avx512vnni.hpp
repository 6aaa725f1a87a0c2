// avx512vnni.hpp: vpdpbusd on 16 lanes; 28 of the 32 registers are accumulators.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/kernels.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

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

/// Requantizes 64 sums that lie in registers: stage 1 of requantize.hpp.
class Epilogue {
 public:
  DMLREF_TARGET_AVX512VNNI explicit Epilogue(const Requantizer& to) noexcept
      : shift_(_mm512_set1_epi32(rounding_magic_bits - to.packed_zero_point())),
        flip_(_mm512_set1_epi8(static_cast<char>(to.packed_flip()))) {}

  /// Vectors 0 to 3, one after the other, as 64 bytes.
  DMLREF_TARGET_AVX512VNNI __m512i bytes(const __m512i (&sums)[4], const __m512 (&scale)[4], const Requantizer& to,
                                         std::ptrdiff_t first, std::ptrdiff_t period) const noexcept {
    const __m512 magic = _mm512_set1_ps(rounding_magic);
    __m512 residual[4];
    __m512i q[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      const __m512 sum = _mm512_cvtepi32_ps(sums[v]);
      const __m512 rounded = _mm512_fmadd_ps(sum, scale[v], magic);
      residual[v] = _mm512_fmsub_ps(sum, scale[v], _mm512_sub_ps(rounded, magic));
      q[v] = _mm512_sub_epi32(_mm512_castps_si512(rounded), shift_);
    }
    constexpr int larger_magnitude = 0b1011;
    const __m512 worst = _mm512_range_ps(_mm512_range_ps(residual[0], residual[1], larger_magnitude),
                                         _mm512_range_ps(residual[2], residual[3], larger_magnitude), larger_magnitude);
    const __m512i packed = _mm512_packs_epi16(_mm512_packs_epi32(q[0], q[1]), _mm512_packs_epi32(q[2], q[3]));
    const __m512i result = _mm512_xor_si512(_mm512_permutexvar_epi32(transposed_order(), packed), flip_);
    const __mmask16 near_tie = _mm512_cmp_ps_mask(worst, _mm512_set1_ps(float_band), _CMP_NLE_UQ);
    if (__builtin_expect(near_tie == 0, 1)) return result;
    std::int32_t kept[64];
    std::uint64_t lanes = 0;
    for (int v = 0; v < 4; ++v) {
      _mm512_storeu_si512(kept + 16 * v, sums[v]);
      const __mmask16 near = _mm512_cmp_ps_mask(_mm512_abs_ps(residual[v]), _mm512_set1_ps(float_band), _CMP_NLE_UQ);
      lanes |= std::uint64_t{near} << (16 * v);
    }
    std::uint8_t out[64];
    _mm512_storeu_si512(out, result);
    to.refine(lanes, kept, first, period, out);
    return _mm512_loadu_si512(out);
  }

 private:
  __m512i shift_;
  __m512i flip_;
};

/// Channels in lanes. Per step V vectors of weights meet R broadcast pixels; with four vectors the pixels are broadcast
/// twice, which costs loads (there is room for them) and saves registers.
template <int V, int R>
DMLREF_TARGET_AVX512VNNI inline void channel_tile(const TileArgs& t) noexcept {
  constexpr int held = V < 2 ? V : 2;
  constexpr std::size_t loaded = held;
  constexpr std::size_t rows = R, vectors = V;
  __m512i acc[rows][vectors];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      acc[r][v] = _mm512_add_epi32(_mm512_loadu_si512(t.channel_offset + 16 * v), _mm512_set1_epi32(t.pixel_offset[r]));
    }
  }
  if (t.channel_factor != nullptr) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const __m512i sum = _mm512_set1_epi32(t.pixel_sums[r]);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        const __m512i factor = _mm512_loadu_si512(t.channel_factor + 16 * v);
        acc[r][v] = _mm512_add_epi32(acc[r][v], _mm512_mullo_epi32(sum, factor));
      }
    }
  }
  const std::ptrdiff_t step = t.pixel_step;
  const std::ptrdiff_t step3 = 3 * step;
  const std::uint8_t* w = t.weights;
  for (std::ptrdiff_t k = 0; k < t.steps; ++k, w += t.weight_step) {
    const std::uint8_t* a = t.activations + t.offsets[k];
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
  if (t.requantizer == nullptr) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) _mm512_storeu_si512(t.sums + r * t.sums_pitch + 16 * v, acc[r][v]);
    }
    return;
  }
  // Four vectors at a time: 4 / V pixels.
  const Requantizer& to = *t.requantizer;
  const Epilogue epilogue(to);
  __m512 scale[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) scale[v] = _mm512_loadu_ps(to.scale + t.first_channel + 16 * (v % V));
#pragma GCC unroll 16
  for (int r = 0; r < R; r += 4 / V) {
    __m512i sums[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) sums[v] = acc[r + v / V < R ? r + v / V : r][v % V];
    const __m512i bytes = epilogue.bytes(sums, scale, to, t.first_channel, 16 * V);
    std::uint8_t* out = t.out + r * t.out_pitch;
    if constexpr (V == 4) {
      _mm512_storeu_si512(out, bytes);
    } else if constexpr (V == 2) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_castsi512_si256(bytes));
      if (r + 1 < R) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + t.out_pitch), _mm512_extracti64x4_epi64(bytes, 1));
      }
    } else {
      auto* at = reinterpret_cast<__m128i*>(out);
      _mm_storeu_si128(at, _mm512_castsi512_si128(bytes));
      at = reinterpret_cast<__m128i*>(out + t.out_pitch);
      if (r + 1 < R) _mm_storeu_si128(at, _mm512_extracti32x4_epi32(bytes, 1));
      at = reinterpret_cast<__m128i*>(out + 2 * t.out_pitch);
      if (r + 2 < R) _mm_storeu_si128(at, _mm512_extracti32x4_epi32(bytes, 2));
      at = reinterpret_cast<__m128i*>(out + 3 * t.out_pitch);
      if (r + 3 < R) _mm_storeu_si128(at, _mm512_extracti32x4_epi32(bytes, 3));
    }
  }
}

/// Pixels in lanes: V vectors of 16 pixels meet R broadcast channels.
template <int V, int R>
DMLREF_TARGET_AVX512VNNI inline void pixel_tile(const TileArgs& t) noexcept {
  constexpr std::size_t rows = R, vectors = V;
  __m512i acc[rows][vectors];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      acc[r][v] = _mm512_add_epi32(_mm512_loadu_si512(t.pixel_offset + 16 * v), _mm512_set1_epi32(t.channel_offset[r]));
    }
  }
  if (t.channel_factor != nullptr) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const __m512i factor = _mm512_set1_epi32(t.channel_factor[r]);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        const __m512i sum = _mm512_loadu_si512(t.pixel_sums + 16 * v);
        acc[r][v] = _mm512_add_epi32(acc[r][v], _mm512_mullo_epi32(sum, factor));
      }
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
  const Requantizer& to = *t.requantizer;
  const Epilogue epilogue(to);
  const __mmask64 written = ~std::uint64_t{0} >> (64 - t.out_lanes);
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    __m512i sums[4];
    __m512 scale[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      sums[v] = acc[r][v < V ? v : 0];
      scale[v] = _mm512_set1_ps(to.scale[t.first_channel + r]);
    }
    const __m512i bytes = epilogue.bytes(sums, scale, to, t.first_channel + r, 1);
    _mm512_mask_storeu_epi8(t.out + r * t.out_pitch, written, bytes);
  }
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

inline void windows(const std::uint8_t* src, std::ptrdiff_t count, std::ptrdiff_t step, std::uint8_t flip,
                    std::uint8_t* dst) noexcept {
  const std::uint32_t flips = flip * 0x01010101u;
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    std::uint32_t group;
    std::memcpy(&group, src + i * step, sizeof group);
    group ^= flips;
    std::memcpy(dst + 4 * i, &group, sizeof group);
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

DMLREF_TARGET_AVX512VNNI inline void sum_runs(const std::uint8_t* src, std::ptrdiff_t count, std::ptrdiff_t pixel_step,
                                              std::ptrdiff_t pixels, std::int32_t* sums) noexcept {
  std::ptrdiff_t p = 0;
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

template <bool Bounded>
DMLREF_TARGET_AVX512VNNI inline void quantize_blocks(const std::int32_t* sums, std::ptrdiff_t blocks,
                                                     const Requantizer& to, std::ptrdiff_t first, std::ptrdiff_t period,
                                                     std::uint8_t* out) noexcept {
  __m512 scale[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    scale[v] = period == 1 ? _mm512_set1_ps(to.scale[first]) : _mm512_loadu_ps(to.scale + first + 16 * v % period);
  }
  const __m512 magic = _mm512_set1_ps(rounding_magic);
  const __m512 band = _mm512_set1_ps(Bounded ? float_band : clamped_band);
  const __m512 high = _mm512_set1_ps(float_clamp);
  const __m512 low = _mm512_set1_ps(-float_clamp);
  const __m512i shift = _mm512_set1_epi32(rounding_magic_bits - to.packed_zero_point());
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(to.packed_flip()));
  const __m512i order = transposed_order();
  for (std::ptrdiff_t b = 0; b < blocks; ++b, sums += 64, out += 64) {
    __m512 residual[4];
    __m512i q[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      const __m512 sum = _mm512_cvtepi32_ps(_mm512_loadu_si512(sums + 16 * v));
      __m512 rounded;
      if constexpr (Bounded) {
        rounded = _mm512_fmadd_ps(sum, scale[v], magic);
        residual[v] = _mm512_fmsub_ps(sum, scale[v], _mm512_sub_ps(rounded, magic));
      } else {
        const __m512 product = _mm512_max_ps(_mm512_min_ps(_mm512_mul_ps(sum, scale[v]), high), low);
        rounded = _mm512_add_ps(product, magic);
        residual[v] = _mm512_sub_ps(product, _mm512_sub_ps(rounded, magic));
      }
      q[v] = _mm512_sub_epi32(_mm512_castps_si512(rounded), shift);
    }
    constexpr int larger_magnitude = 0b1011;
    const __m512 worst = _mm512_range_ps(_mm512_range_ps(residual[0], residual[1], larger_magnitude),
                                         _mm512_range_ps(residual[2], residual[3], larger_magnitude), larger_magnitude);
    const __m512i bytes = _mm512_packs_epi16(_mm512_packs_epi32(q[0], q[1]), _mm512_packs_epi32(q[2], q[3]));
    _mm512_storeu_si512(out, _mm512_xor_si512(_mm512_permutexvar_epi32(order, bytes), flip));
    if (__builtin_expect(_mm512_cmp_ps_mask(worst, band, _CMP_NLE_UQ) != 0, 0)) {
      std::uint64_t lanes = 0;
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) {
        lanes |= std::uint64_t{_mm512_cmp_ps_mask(_mm512_abs_ps(residual[v]), band, _CMP_NLE_UQ)} << (16 * v);
      }
      to.refine(lanes, sums, first, period, out);
    }
  }
}

DMLREF_TARGET_AVX512VNNI inline void quantize(const std::int32_t* sums, std::ptrdiff_t blocks, const Requantizer& to,
                                              std::ptrdiff_t first, std::ptrdiff_t period, std::uint8_t* out) noexcept {
  if (to.bounded) {
    quantize_blocks<true>(sums, blocks, to, first, period, out);
  } else {
    quantize_blocks<false>(sums, blocks, to, first, period, out);
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
  Kernels k{16,    4,        false,    true,      {},         {},        &interleave,
            &deal, &windows, &convert, &sum_runs, &add_outer, &quantize, &transpose};
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
