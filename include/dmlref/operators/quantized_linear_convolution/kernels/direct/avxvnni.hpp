// avxvnni.hpp: the direct convolution's kernels with vpdpbusd on 8 lanes (VEX encoding); the rest is AVX2's.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/epilogue256.hpp"

#if DMLREF_ARCH_X86_64
DMLREF_BEGIN
namespace fast::qlc::direct::avxvnni {

DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVXVNNI __m256i dot(__m256i sums, __m256i activations, __m256i weights) noexcept {
  return _mm256_dpbusd_avx_epi32(sums, activations, weights);
}

DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVXVNNI __m256i multiply_add(__m256i sums, __m256i pairs, __m256i weights) noexcept {
  return _mm256_dpwssd_avx_epi32(sums, pairs, weights);
}

#define DMLREF_QLC_TARGET DMLREF_TARGET_AVXVNNI
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/vnni256.hpp"
#undef DMLREF_QLC_TARGET

}  // namespace fast::qlc::direct::avxvnni
DMLREF_END
#endif
