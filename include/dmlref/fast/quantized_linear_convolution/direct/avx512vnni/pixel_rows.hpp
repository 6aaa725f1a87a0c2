// pixel_rows.hpp: pixels in lanes, neighbouring taps made by byte shuffles.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/avx512vnni/lanes.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/kernels.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct::avx512vnni {

/// Quads of neighbouring taps of one kernel row: even and odd pixels apart, for that is how they are packed in the end.
DMLREF_TARGET_AVX512VNNI inline void pixel_rows(const LaneArgs& args) noexcept {
  const LaneArgs t = args;
  const __m512i pattern = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(t.pattern)));
  const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
  const Epilogue e = make_epilogue(t, 0);
  const __m512i start = _mm512_set1_epi32(*t.sum);
  const std::byte* const second = t.weights + 4 * t.units;
  const std::ptrdiff_t half = t.stride == 2 ? 64 : 8;
  for (std::ptrdiff_t b = 0; b < t.blocks; ++b) {
    __m512i sums[4] = {start, start, start, start};
    for (std::ptrdiff_t u = 0; u < t.units; ++u) {
      const std::uint8_t* x = t.staged + t.offsets[u] + 64 * t.stride * b;
      const __m512i quads[4] = {_mm512_shuffle_epi8(_mm512_loadu_si512(x), pattern),
                                _mm512_shuffle_epi8(_mm512_loadu_si512(x + t.stride), pattern),
                                _mm512_shuffle_epi8(_mm512_loadu_si512(x + half), pattern),
                                _mm512_shuffle_epi8(_mm512_loadu_si512(x + half + t.stride), pattern)};
      const __m512i w = V::broadcast(t.weights + 4 * u);
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) sums[v] = _mm512_dpbusd_epi32(sums[v], quads[v], w);
      if ((t.wide >> (u % 32) & 1) != 0) {
        const __m512i more = V::broadcast(second + 4 * u);
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) sums[v] = _mm512_dpbusd_epi32(sums[v], quads[v], more);
      }
    }
    __m512i bytes = quantize<Factors::one>(sums, e, t, t.factor);
    if (t.stride == 2) bytes = _mm512_permutexvar_epi64(order, bytes);
    _mm512_storeu_si512(t.out + 64 * b, bytes);
  }
}

}  // namespace fast::qlc::direct::avx512vnni
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
