// avx512vnni.hpp: the direct convolution's kernels with vpdpbusd on 16 lanes; a block is 64 lanes.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/kernels.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <cstring>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"  // inside avx512fintrin.h: g++ bug 105593
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wsign-conversion"  // masks in intrinsics that are macros at -O0
#endif

DMLREF_BEGIN
namespace fast::qlc::direct::avx512vnni {

/// Rounding by adding 1.5 * 2^23: the integer is in the low bits.
inline constexpr float magic = 12582912.0f;

/// round_exactly on eight lanes.
DMLREF_TARGET_AVX512VNNI inline __m256i round_exactly8(__m256i sums, __m512d factor, __m512d output_scale) noexcept {
  const __m512d half = _mm512_set1_pd(0.5);
  const __m512d s = _mm512_cvtepi32_pd(sums);
  __m512d p = _mm512_mul_pd(s, _mm512_div_pd(factor, output_scale));
  p = _mm512_max_pd(_mm512_min_pd(p, _mm512_set1_pd(5000.0)), _mm512_set1_pd(-5000.0));
  const __m512d lower = _mm512_roundscale_pd(p, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
  const __m512d tie = _mm512_add_pd(lower, half);
  const __m512d upper = _mm512_add_pd(tie, half);
  const __m512d side = _mm512_fmsub_pd(s, factor, _mm512_mul_pd(tie, output_scale));
  const __m512d zero = _mm512_setzero_pd();
  __m512d rounded = _mm512_roundscale_pd(tie, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  rounded = _mm512_mask_mov_pd(rounded, _mm512_cmp_pd_mask(side, zero, _CMP_LT_OQ), lower);
  rounded = _mm512_mask_mov_pd(rounded, _mm512_cmp_pd_mask(side, zero, _CMP_GT_OQ), upper);
  return _mm512_cvtpd_epi32(rounded);
}

/// The rounded values of a block, in place of its sums. `factor`: one, or one per lane in the accumulators' order.
[[gnu::noinline]] DMLREF_TARGET_AVX512VNNI inline void round_block_exactly(std::int32_t* sums, const double* factor,
                                                                           std::ptrdiff_t factor_step,
                                                                           double output_scale) noexcept {
  const __m512d scale = _mm512_set1_pd(output_scale);
  for (std::ptrdiff_t i = 0; i < 64; i += 8) {
    const __m512d f = factor_step == 0 ? _mm512_set1_pd(*factor) : _mm512_loadu_pd(factor + i);
    auto* at = reinterpret_cast<__m256i*>(sums + i);
    _mm256_storeu_si256(at, round_exactly8(_mm256_loadu_si256(at), f, scale));
  }
}

/// Nothing, but g++ then keeps an accumulator in one register: it would copy and even store it in the loop for the sake
/// of what comes after.
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void pin(__m512i& sums) noexcept { __asm__("" : "+v"(sums)); }

struct Epilogue {
  __m512 scale[4];
  __m512 magics;  // with the zero point
  __m512i flip;
  __m512 band;
};

DMLREF_TARGET_AVX512VNNI inline Epilogue make_epilogue(const LaneArgs& t) noexcept {
  Epilogue e;
  e.scale[0] = _mm512_set1_ps(t.scale != nullptr ? *t.scale : 0.0f);
  e.magics = _mm512_set1_ps(magic + static_cast<float>(t.zero_point));
  e.flip = _mm512_set1_epi8(static_cast<char>(t.flip));
  e.band = _mm512_set1_ps(t.band);
  return e;
}

/// 64 sums to 64 bytes; within 128 bits they come in the order 0 of sums[0], 0 of sums[1], 1 of sums[0], …, 0 of
/// sums[2], 0 of sums[3], …. Float decides where the residual stays away from one half; a block with a lane that does
/// not is done again in doubles that decide all.
template <bool Channels>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i quantize(const __m512i (&sums)[4], const Epilogue& e,
                                                                        const LaneArgs& t,
                                                                        const double* factor) noexcept {
  __m512 residual[4];
  __m512i q[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    const __m512 scale = e.scale[Channels ? v : 0];
    const __m512 sum = _mm512_cvtepi32_ps(sums[v]);
    const __m512 rounded = _mm512_fmadd_ps(sum, scale, e.magics);
    residual[v] = _mm512_fmsub_ps(sum, scale, _mm512_sub_ps(rounded, e.magics));
    q[v] = _mm512_castps_si512(rounded);
  }
  constexpr int larger_magnitude = 0b1011;
  const __m512 worst = _mm512_range_ps(_mm512_range_ps(residual[0], residual[1], larger_magnitude),
                                       _mm512_range_ps(residual[2], residual[3], larger_magnitude), larger_magnitude);
  if (__builtin_expect(_mm512_cmp_ps_mask(worst, e.band, _CMP_NLE_UQ) != 0, 0)) {
    alignas(64) std::int32_t lanes[64];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) _mm512_store_si512(lanes + 16 * v, sums[v]);
    round_block_exactly(lanes, factor, Channels ? 1 : 0, t.output_scale);
    const __m512i zero_point = _mm512_set1_epi32(t.zero_point);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) q[v] = _mm512_add_epi32(_mm512_load_si512(lanes + 16 * v), zero_point);
  }
  // The low 16 bits hold the value.
  constexpr __mmask32 odd = 0xAAAAAAAA;
  const __m512i first = _mm512_mask_mov_epi16(q[0], odd, _mm512_slli_epi32(q[1], 16));
  const __m512i second = _mm512_mask_mov_epi16(q[2], odd, _mm512_slli_epi32(q[3], 16));
  return _mm512_xor_si512(_mm512_packs_epi16(first, second), e.flip);
}

[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i broadcast(const std::byte* group) noexcept {
  std::int32_t value;
  std::memcpy(&value, group, sizeof value);
  return _mm512_set1_epi32(value);
}

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
    __m512i bytes = quantize<false>(sums, e, t, t.factor);
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
  e.scale[0] = _mm512_set1_ps(channel.scale);
  e.band = _mm512_set1_ps(channel.band);
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
    const __m512i bytes = quantize<false>(sums, e, t, &channel.factor);
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

/// One tap four times.
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void make_lone_quads(const std::uint8_t* x,
                                                                            __m512i (&quads)[4]) noexcept {
  const __m512i taps = _mm512_loadu_si512(x);
  const __m512i low = _mm512_unpacklo_epi8(taps, taps);
  const __m512i high = _mm512_unpackhi_epi8(taps, taps);
  quads[0] = _mm512_unpacklo_epi16(low, low);
  quads[1] = _mm512_unpackhi_epi16(low, low);
  quads[2] = _mm512_unpacklo_epi16(high, high);
  quads[3] = _mm512_unpackhi_epi16(high, high);
}

/// Channels in lanes. Pixels a period apart share the weights.
template <int Pixels, bool Wide>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void channel_taps_at(const LaneArgs& t, std::ptrdiff_t at,
                                                                            std::ptrdiff_t b,
                                                                            const Epilogue& e) noexcept {
  constexpr std::size_t pixels = Pixels;
  __m512i sums[pixels][4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    const __m512i start = _mm512_loadu_si512(t.sum + 64 * at + 16 * v);
#pragma GCC unroll 2
    for (int p = 0; p < Pixels; ++p) sums[p][v] = start;
  }
  const std::ptrdiff_t second = 256 * t.units;
  const std::byte* w = t.weights + at * second * 2;
  const std::uint8_t* x = t.staged + 64 * b;
  const std::ptrdiff_t next = 64 * t.period;
  __m512i quads[4];
  const std::ptrdiff_t whole = t.lone ? t.units - 1 : t.units;
  for (std::ptrdiff_t u = 0; u < whole; ++u, w += 256) {
#pragma GCC unroll 2
    for (int p = 0; p < Pixels; ++p) {
      make_quads(x + p * next, t.offsets + 4 * u, quads);
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) {
        sums[p][v] = _mm512_dpbusd_epi32(sums[p][v], quads[v], _mm512_loadu_si512(w + 64 * v));
        if constexpr (Wide) {
          sums[p][v] = _mm512_dpbusd_epi32(sums[p][v], quads[v], _mm512_loadu_si512(w + second + 64 * v));
        }
        pin(sums[p][v]);
      }
    }
  }
  if (t.lone) {
#pragma GCC unroll 2
    for (int p = 0; p < Pixels; ++p) {
      make_lone_quads(x + p * next + t.offsets[4 * whole], quads);
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) {
        sums[p][v] = _mm512_dpbusd_epi32(sums[p][v], quads[v], _mm512_loadu_si512(w + 64 * v));
        pin(sums[p][v]);
      }
    }
  }
#pragma GCC unroll 2
  for (int p = 0; p < Pixels; ++p) {
    const __m512i bytes = quantize<true>(sums[p], e, t, t.factor + 64 * at);
    _mm512_storeu_si512(t.out + 64 * (b + p * t.period), in_order(bytes));
  }
}

/// Nine taps, whose weights stay in registers over all the blocks that share them.
template <bool Wide>
DMLREF_TARGET_AVX512VNNI inline void channel_nine_taps(const LaneArgs& t) noexcept {
  Epilogue e = make_epilogue(t);
  const LaneArgs args = t;  // stores to bytes might change what t refers to
  const std::int32_t* const offsets = args.offsets;
  std::int32_t offset[9];
  std::memcpy(offset, offsets, sizeof offset);
  for (std::ptrdiff_t at = 0; at < args.period; ++at) {
    const std::byte* const weights = args.weights + at * 2 * 3 * 256;
    __m512i start[4], first[4], second[4], third[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      start[v] = _mm512_loadu_si512(args.sum + 64 * at + 16 * v);
      e.scale[v] = _mm512_loadu_ps(args.scale + 64 * at + 16 * v);
      first[v] = _mm512_loadu_si512(weights + 64 * v);
      second[v] = _mm512_loadu_si512(weights + 256 + 64 * v);
      third[v] = _mm512_loadu_si512(weights + 512 + 64 * v);
    }
    for (std::ptrdiff_t b = at; b < args.blocks; b += args.period) {
      const std::uint8_t* const x = args.staged + 64 * b;
      __m512i quads[4], sums[4];
      make_quads(x, offset, quads);
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) {
        sums[v] = _mm512_dpbusd_epi32(start[v], quads[v], first[v]);
        if constexpr (Wide) {
          sums[v] = _mm512_dpbusd_epi32(sums[v], quads[v], _mm512_loadu_si512(weights + 768 + 64 * v));
        }
      }
      make_quads(x, offset + 4, quads);
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) {
        sums[v] = _mm512_dpbusd_epi32(sums[v], quads[v], second[v]);
        if constexpr (Wide) {
          sums[v] = _mm512_dpbusd_epi32(sums[v], quads[v], _mm512_loadu_si512(weights + 1024 + 64 * v));
        }
      }
      make_lone_quads(x + offset[8], quads);
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) sums[v] = _mm512_dpbusd_epi32(sums[v], quads[v], third[v]);
      const __m512i bytes = quantize<true>(sums, e, args, args.factor + 64 * at);
      _mm512_storeu_si512(args.out + 64 * b, in_order(bytes));
    }
  }
}

template <bool Wide>
DMLREF_TARGET_AVX512VNNI inline void channel_taps_of(const LaneArgs& args) noexcept {
  const LaneArgs t = args;
  Epilogue e = make_epilogue(t);
  for (std::ptrdiff_t at = 0; at < t.period; ++at) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) e.scale[v] = _mm512_loadu_ps(t.scale + 64 * at + 16 * v);
    std::ptrdiff_t b = at;
    for (; b + t.period < t.blocks; b += 2 * t.period) channel_taps_at<2, Wide>(t, at, b, e);
    if (b < t.blocks) channel_taps_at<1, Wide>(t, at, b, e);
  }
}
DMLREF_TARGET_AVX512VNNI inline void channel_taps(const LaneArgs& t) noexcept {
  if (t.lone && t.units == 3) {
    t.wide != 0 ? channel_nine_taps<true>(t) : channel_nine_taps<false>(t);
  } else {
    t.wide != 0 ? channel_taps_of<true>(t) : channel_taps_of<false>(t);
  }
}

/// Pixels in lanes. Several output channels of one group share the quads.
template <int Outputs, bool Shifted>
DMLREF_TARGET_AVX512VNNI inline void pixel_taps_shared(const LaneArgs& t) noexcept {
  constexpr std::size_t outputs = Outputs;
  Epilogue e = make_epilogue(t);
  for (std::ptrdiff_t b = 0; b < t.blocks; ++b) {
    __m512i sums[outputs][4];
    __m512i windows[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) windows[v] = _mm512_set1_epi32(-window_middle);
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
        const __m512i weights = broadcast(w + m * t.weight_step);
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) sums[m][v] = _mm512_dpbusd_epi32(sums[m][v], quads[v], weights);
      }
      if constexpr (Shifted) {
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) windows[v] = _mm512_dpbusd_epi32(windows[v], quads[v], _mm512_set1_epi8(1));
      }
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) {
#pragma GCC unroll 4
        for (int m = 0; m < Outputs; ++m) pin(sums[m][v]);
        if constexpr (Shifted) pin(windows[v]);
      }
    }
#pragma GCC unroll 4
    for (int m = 0; m < Outputs; ++m) {
      if constexpr (Shifted) {
        const __m512i shift = _mm512_set1_epi32(t.shift[m]);
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) sums[m][v] = _mm512_dpwssd_epi32(sums[m][v], windows[v], shift);
      }
      e.scale[0] = _mm512_set1_ps(t.scale[m]);
      const __m512i bytes = quantize<false>(sums[m], e, t, t.factor + m);
      _mm512_storeu_si512(t.out + m * t.out_step + 64 * b, in_order(bytes));
    }
  }
}
DMLREF_TARGET_AVX512VNNI inline void pixel_taps(const LaneArgs& t) noexcept {
  t.shift != nullptr ? pixel_taps_shared<1, true>(t) : pixel_taps_shared<1, false>(t);
}
DMLREF_TARGET_AVX512VNNI inline void pixel_taps_2(const LaneArgs& t) noexcept {
  t.shift != nullptr ? pixel_taps_shared<2, true>(t) : pixel_taps_shared<2, false>(t);
}
DMLREF_TARGET_AVX512VNNI inline void pixel_taps_4(const LaneArgs& t) noexcept {
  t.shift != nullptr ? pixel_taps_shared<4, true>(t) : pixel_taps_shared<4, false>(t);
}

/// Quads of channels as they lie in memory, against the weights of four outputs each; up to four pixels share them.
template <int Pixels, bool Shifted>
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
    if constexpr (Shifted) {
#pragma GCC unroll 4
      for (int p = 0; p < Pixels; ++p) windows[p] = _mm512_dpbusd_epi32(windows[p], quads[p], _mm512_set1_epi8(1));
    }
#pragma GCC unroll 4
    for (int p = 0; p < Pixels; ++p) {
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) pin(sums[p][v]);
      if constexpr (Shifted) pin(windows[p]);
    }
  }
#pragma GCC unroll 4
  for (int p = 0; p < Pixels; ++p) {
    if constexpr (Shifted) {
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) {
        const __m512i shift = _mm512_loadu_si512(t.shift + 64 * at + 16 * v);
        sums[p][v] = _mm512_dpwssd_epi32(sums[p][v], windows[p], shift);
      }
    }
    const __m512i bytes = quantize<true>(sums[p], e, t, t.factor + 64 * at);
    _mm512_storeu_si512(t.out + 64 * (b + p * t.period),
                        _mm512_shuffle_epi8(bytes, _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5,
                                                                                        12, 13, 6, 7, 14, 15))));
  }
}

template <bool Shifted>
DMLREF_TARGET_AVX512VNNI inline void channel_quads_of(const LaneArgs& args) noexcept {
  const LaneArgs t = args;
  Epilogue e = make_epilogue(t);
  for (std::ptrdiff_t at = 0; at < t.period; ++at) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) e.scale[v] = _mm512_loadu_ps(t.scale + 64 * at + 16 * v);
    std::ptrdiff_t b = at;
    for (; b + 3 * t.period < t.blocks; b += 4 * t.period) channel_quads_at<4, Shifted>(t, at, b, e);
    for (; b < t.blocks; b += t.period) channel_quads_at<1, Shifted>(t, at, b, e);
  }
}
DMLREF_TARGET_AVX512VNNI inline void channel_quads(const LaneArgs& t) noexcept {
  t.shift != nullptr ? channel_quads_of<true>(t) : channel_quads_of<false>(t);
}

DMLREF_TARGET_AVX512VNNI inline __mmask64 first_bytes(std::ptrdiff_t count) noexcept {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void fill_to(std::uint8_t* at, std::uint8_t* end,
                                                                    __m512i fills) noexcept {
  for (; at + 64 <= end; at += 64) _mm512_storeu_si512(at, fills);
  _mm512_storeu_si512(end - 64, fills);
}

// Rows begin anywhere, so vectors of 32 bytes, and 16 for short rows: fewer of them straddle cache lines.

DMLREF_TARGET_AVX512VNNI inline void stage_short_rows(const StageArgs& t, const std::uint8_t* src,
                                                      std::uint8_t* dst) noexcept {
  const auto kept = static_cast<__mmask16>((1u << t.width) - 1);
  const __m128i fills = _mm_set1_epi8(static_cast<char>(t.fill ^ t.flip));
  const __m128i flips = _mm_set1_epi8(static_cast<char>(t.flip));
  for (std::ptrdiff_t r = t.rows; r > 0; --r, src += t.row_step, dst += t.pitch) {
    const __m128i v = _mm_mask_loadu_epi8(fills, kept, src);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), _mm_xor_si128(v, flips));
  }
}

DMLREF_TARGET_AVX512VNNI inline void stage_long_rows(const StageArgs& t, const std::uint8_t* src,
                                                     std::uint8_t* dst) noexcept {
  const __m256i fills = _mm256_set1_epi8(static_cast<char>(t.fill));
  const __m256i flips = _mm256_set1_epi8(static_cast<char>(t.flip));
  const __m256i unflipped = _mm256_xor_si256(fills, flips);
  const std::ptrdiff_t whole = t.width / 32 * 32;
  const auto rest = static_cast<__mmask32>((std::uint64_t{1} << (t.width - whole)) - 1);
  for (std::ptrdiff_t r = t.rows; r > 0; --r, src += t.row_step, dst += t.pitch) {
    std::ptrdiff_t i = 0;
    for (; i < whole; i += 32) {
      const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + i));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + i), _mm256_xor_si256(v, flips));
    }
    if (i == t.pitch) continue;
    const __m256i v = _mm256_mask_loadu_epi8(unflipped, rest, src + i);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + i), _mm256_xor_si256(v, flips));
    for (i += 32; i < t.pitch; i += 32) _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + i), fills);
  }
}

DMLREF_TARGET_AVX512VNNI inline void stage(const StageArgs& t) noexcept {
  const __m512i fills = _mm512_set1_epi8(static_cast<char>(t.fill));
  for (std::ptrdiff_t p = 0; p < t.planes; ++p) {
    std::uint8_t* dst = t.dst + p * t.dst_plane_step;
    const std::uint8_t* src = t.src + p * t.plane_step;
    std::uint8_t* const end = dst + t.plane_bytes;
    for (std::ptrdiff_t i = 0; i < t.before; i += 64) _mm512_storeu_si512(dst + i, fills);
    dst += t.before;
    t.pitch <= 16 && t.width < 16 ? stage_short_rows(t, src, dst) : stage_long_rows(t, src, dst);
    fill_to(dst + t.rows * t.pitch, end, fills);
  }
}

/// Even bytes of 128 at src, of which `count` exist.
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i even_bytes(const std::uint8_t* src,
                                                                          std::ptrdiff_t count) noexcept {
  const __m512i low_byte = _mm512_set1_epi16(0xFF);
  const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
  const __m512i a = _mm512_maskz_loadu_epi8(first_bytes(count), src);
  const __m512i b = count > 64 ? _mm512_maskz_loadu_epi8(first_bytes(count - 64), src + 64) : _mm512_setzero_si512();
  const __m512i even = _mm512_packus_epi16(_mm512_and_si512(a, low_byte), _mm512_and_si512(b, low_byte));
  return _mm512_permutexvar_epi64(order, even);
}

DMLREF_TARGET_AVX512VNNI inline void stage_even(const StageArgs& t) noexcept {
  const __m512i fills = _mm512_set1_epi8(static_cast<char>(t.fill));
  const __m512i flips = _mm512_set1_epi8(static_cast<char>(t.flip));
  for (std::ptrdiff_t p = 0; p < t.planes; ++p) {
    std::uint8_t* dst = t.dst + p * t.dst_plane_step;
    const std::uint8_t* src = t.src + p * t.plane_step;
    std::uint8_t* const end = dst + t.plane_bytes;
    for (std::ptrdiff_t i = 0; i < t.before; i += 64) _mm512_storeu_si512(dst + i, fills);
    dst += t.before;
    for (std::ptrdiff_t r = 0; r < t.rows; ++r, src += t.row_step, dst += t.pitch) {
      for (std::ptrdiff_t i = 0; i < t.pitch; i += 64) {
        __m512i v = fills;
        if (i < t.width) {
          const __m512i even = even_bytes(src + 2 * i, 2 * (t.width - i) - 1);
          v = _mm512_mask_mov_epi8(fills, first_bytes(t.width - i), _mm512_xor_si512(even, flips));
        }
        _mm512_storeu_si512(dst + i, v);
      }
    }
    fill_to(dst, end, fills);
  }
}

/// Whole vectors where what lies behind the row is written later, masks (which are slow to store) where it is not.
DMLREF_TARGET_AVX512VNNI inline void unstage(const UnstageArgs& t) noexcept {
  const bool is_short = t.width < 16;
  const std::ptrdiff_t whole = is_short ? 0 : t.width / 32 * 32;
  const std::ptrdiff_t vector = is_short ? 16 : 32;
  const auto rest = static_cast<__mmask32>((std::uint64_t{1} << (t.width - whole)) - 1);
  for (std::ptrdiff_t p = 0; p < t.planes; ++p) {
    const std::uint8_t* src = t.src + p * t.plane_step;
    std::uint8_t* dst = t.dst + p * t.dst_plane_step;
    std::ptrdiff_t r = t.rows;
    // Rows that have another row's bytes, or the next plane's, for a vector behind them.
    std::ptrdiff_t masked = t.ahead(p, 0) == t.width ? r : 0;
    while (masked < r && t.ahead(p, r - 1 - masked) - whole < vector) ++masked;
    if (rest == 0) masked = 0;
    if (is_short) {
      for (; r > masked; --r, src += t.row_step, dst += t.dst_row_step) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), _mm_loadu_si128(reinterpret_cast<const __m128i*>(src)));
      }
    } else {
      const std::ptrdiff_t bytes = rest == 0 ? whole : whole + 32;
      for (; r > masked; --r, src += t.row_step, dst += t.dst_row_step) {
        for (std::ptrdiff_t i = 0; i < bytes; i += 32) {
          const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + i));
          _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + i), v);
        }
      }
    }
    for (; r > 0; --r, src += t.row_step, dst += t.dst_row_step) {
      for (std::ptrdiff_t i = 0; i < whole; i += 32) {
        const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + i));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + i), v);
      }
      const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + whole));
      _mm256_mask_storeu_epi8(dst + whole, rest, v);
    }
  }
}

inline bool planes_suit(const Geometry& g) noexcept {
  return g.in_channels == 1 && g.kernel_w > 1 && g.kernel_w <= 4 && g.kernel_h == 3 && g.stride_x == 1 &&
         g.stride_y == 1 && g.dilation_x <= 3 && g.dilation_y == 1 && g.out_width > 8 &&
         g.out_width + (g.kernel_w - 1) * g.dilation_x <= 16 && g.height > 1 && g.in.x == 1 && g.in.y >= g.width &&
         g.in.y >= g.pad_x && g.in.y + g.width + g.pad_x >= 16 && g.out.x == 1 && g.out.y >= g.out_width;
}

inline constexpr Kernels kernels{64,     4,           &pixel_rows,   &pixel_rows_stride2, &pixel_planes, &planes_suit,
                                 3,      &pixel_taps, &pixel_taps_2, &pixel_taps_4,       &channel_taps, &channel_quads,
                                 &stage, &stage_even, &unstage};

}  // namespace fast::qlc::direct::avx512vnni
DMLREF_END

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#endif
