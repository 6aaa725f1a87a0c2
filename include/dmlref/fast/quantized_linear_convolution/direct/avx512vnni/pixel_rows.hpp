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
  const Epilogue e = make_epilogue_of_output(t, 0);
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
    __m512i bytes = quantize_output(sums, e, t, 0);
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

}  // namespace fast::qlc::direct::avx512vnni
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
