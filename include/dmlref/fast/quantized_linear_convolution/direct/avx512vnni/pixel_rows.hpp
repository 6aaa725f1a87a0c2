// pixel_rows.hpp: pixels in lanes, neighbouring taps made by byte shuffles.
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

/// How a row kernel makes its quads: what byte shuffles within 128 bits reach from how many loads.
enum class Reach { two_loads, four_loads, stride2 };

/// Pixels in lanes, quads of neighbouring taps of one kernel row made by byte shuffles: even and odd pixels apart, for
/// that is how they are packed in the end. Quads: how many, 0: t.units.
template <Reach R, int Quads, bool Wide>
DMLREF_TARGET_AVX512VNNI inline void pixel_rows_of(const LaneArgs& t) noexcept {
  constexpr std::ptrdiff_t step = R == Reach::stride2 ? 2 : 1;
  const __m512i even = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(t.pattern)));
  const __m512i odd = _mm512_add_epi8(even, _mm512_set1_epi8(1));
  const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
  const Epilogue e = make_epilogue(t);
  const __m512i start = _mm512_set1_epi32(*t.sum);
  const std::ptrdiff_t units = Quads > 0 ? Quads : t.units;
  const std::byte* second = t.weights + 4 * units;
  for (std::ptrdiff_t b = 0; b < t.blocks; ++b) {
    __m512i sums[4] = {start, start, start, start};
#pragma GCC unroll 4
    for (std::ptrdiff_t u = 0; u < units; ++u) {
      const std::uint8_t* x = t.staged + t.offsets[u] + 64 * step * b;
      __m512i quads[4];
      if constexpr (R == Reach::two_loads) {
        const __m512i low = _mm512_loadu_si512(x);
        const __m512i high = _mm512_loadu_si512(x + 8);
        quads[0] = _mm512_shuffle_epi8(low, even);
        quads[1] = _mm512_shuffle_epi8(low, odd);
        quads[2] = _mm512_shuffle_epi8(high, even);
        quads[3] = _mm512_shuffle_epi8(high, odd);
      } else {
        constexpr std::ptrdiff_t half = R == Reach::stride2 ? 64 : 8;
        quads[0] = _mm512_shuffle_epi8(_mm512_loadu_si512(x), even);
        quads[1] = _mm512_shuffle_epi8(_mm512_loadu_si512(x + step), even);
        quads[2] = _mm512_shuffle_epi8(_mm512_loadu_si512(x + half), even);
        quads[3] = _mm512_shuffle_epi8(_mm512_loadu_si512(x + half + step), even);
      }
      const __m512i w = broadcast(t.weights + 4 * u);
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) sums[v] = _mm512_dpbusd_epi32(sums[v], quads[v], w);
      if (Wide && (t.wide >> (u % 32) & 1) != 0) {
        const __m512i more = broadcast(second + 4 * u);
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) sums[v] = _mm512_dpbusd_epi32(sums[v], quads[v], more);
      }
    }
    __m512i bytes = quantize<Factors::one>(sums, e, t, t.factor);
    if constexpr (R == Reach::stride2) bytes = _mm512_permutexvar_epi64(order, bytes);
    _mm512_storeu_si512(t.out + 64 * b, bytes);
  }
}

template <Reach R>
DMLREF_TARGET_AVX512VNNI inline void pixel_rows_of(const LaneArgs& t) noexcept {
  if (t.units == 3) {
    t.wide != 0 ? pixel_rows_of<R, 3, true>(t) : pixel_rows_of<R, 3, false>(t);
  } else {
    t.wide != 0 ? pixel_rows_of<R, 0, true>(t) : pixel_rows_of<R, 0, false>(t);
  }
}
DMLREF_TARGET_AVX512VNNI inline void pixel_rows(const LaneArgs& t) noexcept {
  t.tap_step <= 2 ? pixel_rows_of<Reach::two_loads>(t) : pixel_rows_of<Reach::four_loads>(t);
}
DMLREF_TARGET_AVX512VNNI inline void pixel_rows_stride2(const LaneArgs& t) noexcept {
  pixel_rows_of<Reach::stride2>(t);
}

/// Four vectors of 16 bytes in one.
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i join(__m128i a, __m128i b, __m128i c,
                                                                    __m128i d) noexcept {
  const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
  const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(c), d, 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/// What the planes of one call share.
struct PlaneConstants {
  __m512i patterns[4];
  __m512i flips, unflipped;  // unflipped: padding, before the flip
  __m128i unflipped_row;
  __mmask16 inside, kept;  // of a row's 16 bytes: the input's; the output's
  __mmask64 inside4;
};

/// Four rows of a plane from row `first` on, each with its padding in 16 bytes.
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i plane_rows(const PlaneArgs& p, const PlaneConstants& k,
                                                                          const std::uint8_t* plane,
                                                                          std::ptrdiff_t first) noexcept {
  if (first >= p.rows) return _mm512_xor_si512(k.unflipped, k.flips);
  const std::uint8_t* src = plane + first * p.row_step - p.pad_x;
  const auto row = [&](std::ptrdiff_t r) DMLREF_TARGET_AVX512VNNI {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + r * p.row_step));
  };
  // The tensor may begin with the first row and end with the last one.
  const auto edge_row = [&](std::ptrdiff_t r) DMLREF_TARGET_AVX512VNNI {
    if (first + r < 0 || first + r >= p.rows) return k.unflipped_row;
    if (first + r > 0 && first + r + 1 < p.rows) return row(r);
    return _mm_mask_loadu_epi8(k.unflipped_row, k.inside, src + r * p.row_step);
  };
  const bool inner = first > 0 && first + 4 < p.rows;
  const __m512i rows =
      inner ? join(row(0), row(1), row(2), row(3)) : join(edge_row(0), edge_row(1), edge_row(2), edge_row(3));
  return _mm512_xor_si512(_mm512_mask_mov_epi8(k.unflipped, k.inside4, rows), k.flips);
}

/// A row in each 128 bits: all its taps are within reach of the byte shuffles. `more`: what lies behind the output,
/// with no gap, is written later.
template <bool Wide>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void pixel_plane(const LaneArgs& t, const PlaneArgs& p,
                                                                        const PlaneConstants& k, Epilogue& e,
                                                                        const std::uint8_t* src, const std::byte* at,
                                                                        std::uint8_t* dst, bool more) noexcept {
  ChannelData channel;
  std::memcpy(&channel, at, sizeof channel);
  e.scale[0] = fixed_scale(_mm512_set1_ps(channel.scale));
  e.rounding = make_rounding(_mm512_set1_ps(channel.band), t.zero_point);
  const __m512i start = _mm512_set1_epi32(channel.sum);
  const std::byte* w = at + sizeof channel;
  const __m512i weights[3] = {broadcast(w), broadcast(w + 4), broadcast(w + 8)};
  const bool packed = p.dst_row_step == p.out_width;
  __m512i next = plane_rows(p, k, src, -p.pad_y);
  for (std::ptrdiff_t y = 0; y < p.out_rows; y += 4) {
    const __m512i here = next;
    next = plane_rows(p, k, src, y + 4 - p.pad_y);
    const __m512i taps[3] = {here, _mm512_alignr_epi64(next, here, 2), _mm512_alignr_epi64(next, here, 4)};
    __m512i sums[4] = {start, start, start, start};
#pragma GCC unroll 3
    for (int u = 0; u < 3; ++u) {
      __m512i quads[4];
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) {
        quads[v] = _mm512_shuffle_epi8(taps[u], k.patterns[v]);
        sums[v] = _mm512_dpbusd_epi32(sums[v], quads[v], weights[u]);
      }
      if (Wide && (channel.wide >> u & 1) != 0) {
        const __m512i second = broadcast(w + 12 + 4 * u);
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) sums[v] = _mm512_dpbusd_epi32(sums[v], quads[v], second);
      }
    }
    const __m512i bytes = quantize<Factors::one>(sums, e, t, &channel.factor);
    if (packed && y + 4 < p.out_rows) {
      // What a row's vector writes behind it, the next one overwrites.
      _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), _mm512_castsi512_si128(bytes));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + p.out_width), _mm512_extracti32x4_epi32(bytes, 1));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + 2 * p.out_width), _mm512_extracti32x4_epi32(bytes, 2));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + 3 * p.out_width), _mm512_extracti32x4_epi32(bytes, 3));
      dst += 4 * p.out_width;
      continue;
    }
    alignas(64) std::uint8_t lines[64];
    _mm512_store_si512(lines, bytes);
    for (std::ptrdiff_t r = 0; r < 4 && y + r < p.out_rows; ++r, dst += p.dst_row_step) {
      const __m128i line = _mm_load_si128(reinterpret_cast<const __m128i*>(lines + 16 * r));
      if (packed && (more || y + r + 1 < p.out_rows)) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), line);
      } else {
        _mm_mask_storeu_epi8(dst, k.kept, line);
      }
    }
  }
}

DMLREF_TARGET_AVX512VNNI inline void pixel_planes(const LaneArgs& lanes, const PlaneArgs& planes) noexcept {
  const LaneArgs t = lanes;
  const PlaneArgs p = planes;
  PlaneConstants k;
  k.patterns[0] = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(t.pattern)));
  k.patterns[1] = _mm512_add_epi8(k.patterns[0], _mm512_set1_epi8(1));
  k.patterns[2] = _mm512_add_epi8(k.patterns[0], _mm512_set1_epi8(8));
  k.patterns[3] = _mm512_add_epi8(k.patterns[0], _mm512_set1_epi8(9));
  k.flips = _mm512_set1_epi8(static_cast<char>(p.flip));
  k.unflipped = _mm512_set1_epi8(static_cast<char>(p.fill ^ p.flip));
  k.unflipped_row = _mm512_castsi512_si128(k.unflipped);
  k.inside = static_cast<__mmask16>(((1u << p.width) - 1) << p.pad_x);
  k.inside4 = static_cast<__mmask64>(0x0001000100010001u * std::uint64_t{k.inside});
  k.kept = static_cast<__mmask16>((1u << p.out_width) - 1);
  Epilogue e = make_epilogue(t);
  const bool packed = p.dst_plane_step == p.out_rows * p.out_width;
  const std::byte* channel = t.weights;
  const std::uint8_t* src = p.src;
  std::uint8_t* dst = p.dst;
  std::ptrdiff_t output = 0;
  for (std::ptrdiff_t i = 0; i < p.planes; ++i, channel += t.weight_step, dst += p.dst_plane_step) {
    if (output == p.outputs) {
      output = 0;
      src += p.plane_step;
    }
    ++output;
    const bool more = packed && i + 1 < p.planes;
    ChannelData data;
    std::memcpy(&data, channel, sizeof data);
    data.wide != 0 ? pixel_plane<true>(t, p, k, e, src, channel, dst, more)
                   : pixel_plane<false>(t, p, k, e, src, channel, dst, more);
  }
}

}  // namespace fast::qlc::direct::avx512vnni
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
