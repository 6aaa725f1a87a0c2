// wide_vectors.hpp: lines of reversed or every second elements.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "dmlref/fast/slice/avx512/vectors.hpp"
#include "dmlref/view/shape.hpp"

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::avx512 {

/// The elements of v in the opposite order.
template <std::size_t Unit>
DMLREF_TARGET_AVX512VNNI inline __m512i reversed(__m512i v) noexcept {
  if constexpr (Unit == 1) {
    const __m512i back = _mm512_set4_epi32(0x00010203, 0x04050607, 0x08090A0B, 0x0C0D0E0F);  // in every 16 bytes
    v = _mm512_shuffle_epi8(v, back);
    return _mm512_shuffle_i64x2(v, v, 0x1B);
  } else if constexpr (Unit == 2) {
    const __m512i back = _mm512_set_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                          22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
    return _mm512_permutexvar_epi16(back, v);
  } else if constexpr (Unit == 4) {
    return _mm512_permutexvar_epi32(_mm512_set_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), v);
  } else {
    return _mm512_permutexvar_epi64(_mm512_set_epi64(0, 1, 2, 3, 4, 5, 6, 7), v);
  }
}

/// Elements 0, 2, 4, … of 128 bytes: of a and b where these are neighbours; Shifted: b starts one unit earlier.
template <std::size_t Unit, bool Shifted>
DMLREF_TARGET_AVX512VNNI inline __m512i evens(__m512i a, __m512i b) noexcept {
  constexpr int s = Shifted ? 1 : 0;
  if constexpr (Unit == 1) {
    const __m512i low = _mm512_set1_epi16(0xFF);
    b = Shifted ? _mm512_srli_epi16(b, 8) : _mm512_and_si512(b, low);
    return _mm512_permutexvar_epi64(_mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0),
                                    _mm512_packus_epi16(_mm512_and_si512(a, low), b));
  } else if constexpr (Unit == 2) {
    const __m512i even =
        _mm512_set_epi16(62 + s, 60 + s, 58 + s, 56 + s, 54 + s, 52 + s, 50 + s, 48 + s, 46 + s, 44 + s, 42 + s, 40 + s,
                         38 + s, 36 + s, 34 + s, 32 + s, 30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    return _mm512_permutex2var_epi16(a, even, b);
  } else if constexpr (Unit == 4) {
    const __m512i even =
        _mm512_set_epi32(30 + s, 28 + s, 26 + s, 24 + s, 22 + s, 20 + s, 18 + s, 16 + s, 14, 12, 10, 8, 6, 4, 2, 0);
    return _mm512_permutex2var_epi32(a, even, b);
  } else {
    return _mm512_permutex2var_epi64(a, _mm512_set_epi64(14 + s, 12 + s, 10 + s, 8 + s, 6, 4, 2, 0), b);
  }
}

/// 64 bytes of output. Step: 1, -1 or 2 units. Exact: nothing outside of their units is read; else one unit beyond.
template <std::size_t Unit, int Step, bool Exact>
DMLREF_TARGET_AVX512VNNI inline __m512i wide_vector(const std::byte* in) noexcept {
  constexpr auto unit = static_cast<Index>(Unit);
  if constexpr (Step == 1) {
    return load64(in);
  } else if constexpr (Step == -1) {
    return reversed<Unit>(load64(in + unit - 64));
  } else {
    return evens<Unit, Exact>(load64(in), load64(in + 64 - (Exact ? unit : 0)));
  }
}

}  // namespace fast::avx512
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"

#endif  // DMLREF_ARCH_X86_64
