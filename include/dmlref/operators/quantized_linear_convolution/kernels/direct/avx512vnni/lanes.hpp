// lanes.hpp: what of the direct convolution 512 bits share with 256: rounding, and taps that may lie anywhere.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/kernels.hpp"
#include "dmlref/requantize/avx512.hpp"
#include "dmlref/simd/x86.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <cstring>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct::avx512vnni {

using V = simd::avx512::Vector;
namespace rounding = requantize::avx512;

DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVX512VNNI __m512i dot(__m512i sums, __m512i activations, __m512i weights) noexcept {
  return _mm512_dpbusd_epi32(sums, activations, weights);
}

DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVX512VNNI __m512i multiply_add(__m512i sums, __m512i pairs,
                                                                   __m512i weights) noexcept {
  return _mm512_dpwssd_epi32(sums, pairs, weights);
}

#define DMLREF_QLC_TARGET DMLREF_TARGET_AVX512VNNI
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/epilogue.hpp"

#include "dmlref/operators/quantized_linear_convolution/kernels/direct/bytes.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/lanes.hpp"
#undef DMLREF_QLC_TARGET

}  // namespace fast::qlc::direct::avx512vnni
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
