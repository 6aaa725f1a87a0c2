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

/// What blocks of channels with one place in the period need for rounding.
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void take_channels(const LaneArgs& t, std::ptrdiff_t at,
                                                                          Epilogue& e) noexcept {
  const bool floats = (t.floats >> at & 1) != 0;
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    const __m512 scale = _mm512_loadu_ps(t.scale + 64 * at + 16 * v);
    e.scale[v] = floats ? scale : fixed_scale(scale);
    if (floats) e.float_shift[v] = _mm512_loadu_ps(t.float_shift + 64 * at + 16 * v);
  }
}

[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i quantize_channels(const __m512i (&sums)[4],
                                                                                 const Epilogue& e, const LaneArgs& t,
                                                                                 std::ptrdiff_t at) noexcept {
  if ((t.floats >> at & 1) != 0) return quantize_floats<Factors::each>(sums, e);
  return quantize<Factors::each>(sums, e, t, t.factor + 64 * at);
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
    const __m512i bytes = quantize_channels(sums[p], e, t, at);
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
    take_channels(args, at, e);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      start[v] = _mm512_loadu_si512(args.sum + 64 * at + 16 * v);
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
      const __m512i bytes = quantize_channels(sums, e, args, at);
      _mm512_storeu_si512(args.out + 64 * b, in_order(bytes));
    }
  }
}

template <bool Wide>
DMLREF_TARGET_AVX512VNNI inline void channel_taps_of(const LaneArgs& args) noexcept {
  const LaneArgs t = args;
  Epilogue e = make_epilogue(t);
  for (std::ptrdiff_t at = 0; at < t.period; ++at) {
    take_channels(t, at, e);
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

[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void add_products(__m512i (&sums)[4], const __m512i (&quads)[4],
                                                                         __m512i weights) noexcept {
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) sums[v] = _mm512_dpbusd_epi32(sums[v], quads[v], weights);
}

/// What weights that do not fit eight bits need.
enum class WideWeights { none, shift, second_parts };

/// Pixels in lanes. Several output channels of one group share the quads.
template <int Outputs, WideWeights Wide>
DMLREF_TARGET_AVX512VNNI inline void pixel_taps_shared(const LaneArgs& t) noexcept {
  constexpr std::size_t outputs = Outputs;
  constexpr bool Shifted = Wide == WideWeights::shift;
  const std::ptrdiff_t second = 4 * t.units;
  std::uint32_t wide[outputs];
  std::memcpy(wide, t.wide_of_output, sizeof wide);
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
      // Pinned once, but for second parts each by itself, too: there that makes fewer copies.
      const auto add_to_output = [&](int m, std::ptrdiff_t from) __attribute__((always_inline))
      DMLREF_TARGET_AVX512VNNI {
        add_products(sums[m], quads, broadcast(w + m * t.weight_step + from));
        if constexpr (Wide == WideWeights::second_parts) {
#pragma GCC unroll 4
          for (int v = 0; v < 4; ++v) pin(sums[m][v]);
        }
      };
#pragma GCC unroll 4
      for (int m = 0; m < Outputs; ++m) add_to_output(m, 0);
      if constexpr (Shifted) add_products(windows, quads, _mm512_set1_epi8(1));
      if (Wide == WideWeights::second_parts && (t.wide >> (u % 32) & 1) != 0) {
#pragma GCC unroll 4
        for (int m = 0; m < Outputs; ++m) {
          if ((wide[m] >> (u % 32) & 1) != 0) add_to_output(m, second);
        }
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
      if (Shifted && t.shift[m] != 0) {
        const __m512i shift = _mm512_set1_epi32(t.shift[m]);
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) sums[m][v] = _mm512_dpwssd_epi32(sums[m][v], windows[v], shift);
      }
      const __m512i bytes = quantize_output(sums[m], make_epilogue_of_output(t, m), t, m);
      _mm512_storeu_si512(t.out + m * t.out_step + 64 * b, in_order(bytes));
    }
  }
}
template <int Outputs>
DMLREF_TARGET_AVX512VNNI inline void pixel_taps_of(const LaneArgs& t) noexcept {
  t.shift != nullptr ? pixel_taps_shared<Outputs, WideWeights::shift>(t)
  : t.wide != 0      ? pixel_taps_shared<Outputs, WideWeights::second_parts>(t)
                     : pixel_taps_shared<Outputs, WideWeights::none>(t);
}
DMLREF_TARGET_AVX512VNNI inline void pixel_taps(const LaneArgs& t) noexcept { pixel_taps_of<1>(t); }
DMLREF_TARGET_AVX512VNNI inline void pixel_taps_2(const LaneArgs& t) noexcept { pixel_taps_of<2>(t); }
DMLREF_TARGET_AVX512VNNI inline void pixel_taps_4(const LaneArgs& t) noexcept { pixel_taps_of<4>(t); }

/// How the windows of channel_quads are summed: not at all, from all their taps, or from columns that three pixels
/// share.
enum class Windows { none, taps, columns };

/// What the last two pixels' windows saw in their last kernel column.
struct LastColumns {
  __m512i before_last, last;
};

/// Columns of quads of channels: their sums, less what three of them together have less in a window.
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline __m512i sum_of_column(const LaneArgs& t, const std::uint8_t* x,
                                                                             std::ptrdiff_t column) noexcept {
  __m512i sum = _mm512_set1_epi32(-window_middle / 3);
  for (std::ptrdiff_t u = column; u < t.units; u += 3) {
    sum = _mm512_dpbusd_epi32(sum, _mm512_loadu_si512(x + t.offsets[u]), _mm512_set1_epi8(1));
  }
  return sum;
}

/// Quads of channels as they lie in memory, against the weights of four outputs each; up to four pixels share them.
template <int Pixels, Windows W>
[[gnu::always_inline]] DMLREF_TARGET_AVX512VNNI inline void channel_quads_at(const LaneArgs& t, std::ptrdiff_t at,
                                                                             std::ptrdiff_t b, const Epilogue& e,
                                                                             LastColumns& columns) noexcept {
  constexpr std::size_t pixels = Pixels;
  __m512i sums[pixels][4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    const __m512i start = _mm512_loadu_si512(t.sum + 64 * at + 16 * v);
#pragma GCC unroll 4
    for (int p = 0; p < Pixels; ++p) sums[p][v] = start;
  }
  __m512i windows[pixels];  // or their last columns
#pragma GCC unroll 4
  for (int p = 0; p < Pixels; ++p) {
    windows[p] = _mm512_set1_epi32(W == Windows::columns ? -window_middle / 3 : -window_middle);
  }
  const std::byte* w = t.weights + at * 256 * t.units;
  const std::uint8_t* x = t.staged + 64 * b;
  const std::ptrdiff_t next = 64 * t.period;
  const auto add_unit = [&](std::ptrdiff_t u, bool to_windows) __attribute__((always_inline)) DMLREF_TARGET_AVX512VNNI {
    const std::uint8_t* from = x + t.offsets[u];
    __m512i quads[pixels];
#pragma GCC unroll 4
    for (int p = 0; p < Pixels; ++p, from += next) quads[p] = _mm512_loadu_si512(from);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      const __m512i weights = _mm512_loadu_si512(w + 256 * u + 64 * v);
#pragma GCC unroll 4
      for (int p = 0; p < Pixels; ++p) sums[p][v] = _mm512_dpbusd_epi32(sums[p][v], quads[p], weights);
    }
    if (to_windows) {
#pragma GCC unroll 4
      for (int p = 0; p < Pixels; ++p) windows[p] = _mm512_dpbusd_epi32(windows[p], quads[p], _mm512_set1_epi8(1));
    }
#pragma GCC unroll 4
    for (int p = 0; p < Pixels; ++p) {
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) pin(sums[p][v]);
      if constexpr (W != Windows::none) pin(windows[p]);
    }
  };
  if constexpr (W == Windows::columns) {
    for (std::ptrdiff_t u = 0; u < t.units; u += 3) {
      add_unit(u, false);
      add_unit(u + 1, false);
      add_unit(u + 2, true);
    }
#pragma GCC unroll 4
    for (int p = 0; p < Pixels; ++p) {
      const __m512i pair = _mm512_add_epi32(columns.last, windows[p]);
      const __m512i window = _mm512_add_epi32(columns.before_last, pair);
      columns.before_last = columns.last;
      columns.last = windows[p];
      windows[p] = window;
    }
  } else {
    for (std::ptrdiff_t u = 0; u < t.units; ++u) add_unit(u, W == Windows::taps);
  }
#pragma GCC unroll 4
  for (int p = 0; p < Pixels; ++p) {
    if constexpr (W != Windows::none) {
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) {
        const __m512i shift = _mm512_loadu_si512(t.shift + 64 * at + 16 * v);
        sums[p][v] = _mm512_dpwssd_epi32(sums[p][v], windows[p], shift);
      }
    }
    const __m512i bytes = quantize_channels(sums[p], e, t, at);
    _mm512_storeu_si512(t.out + 64 * (b + p * t.period),
                        _mm512_shuffle_epi8(bytes, _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5,
                                                                                        12, 13, 6, 7, 14, 15))));
  }
}

template <Windows W>
DMLREF_TARGET_AVX512VNNI inline void channel_quads_of(const LaneArgs& args) noexcept {
  const LaneArgs t = args;
  Epilogue e = make_epilogue(t);
  for (std::ptrdiff_t at = 0; at < t.period; ++at) {
    take_channels(t, at, e);
    LastColumns columns{};
    if constexpr (W == Windows::columns) {
      const std::uint8_t* const x = t.staged + 64 * at;
      columns = {sum_of_column(t, x, 0), sum_of_column(t, x, 1)};
    }
    std::ptrdiff_t b = at;
    for (; b + 3 * t.period < t.blocks; b += 4 * t.period) channel_quads_at<4, W>(t, at, b, e, columns);
    for (; b < t.blocks; b += t.period) channel_quads_at<1, W>(t, at, b, e, columns);
  }
}
DMLREF_TARGET_AVX512VNNI inline void channel_quads(const LaneArgs& t) noexcept {
  t.shift == nullptr ? channel_quads_of<Windows::none>(t)
  : t.slides         ? channel_quads_of<Windows::columns>(t)
                     : channel_quads_of<Windows::taps>(t);
}

}  // namespace fast::qlc::direct::avx512vnni
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
