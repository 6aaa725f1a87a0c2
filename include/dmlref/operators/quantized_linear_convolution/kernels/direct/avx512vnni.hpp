// avx512vnni.hpp: the direct convolution's kernels with vpdpbusd on 16 lanes; a block is 64 lanes.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/avx2.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/kernels.hpp"
#include "dmlref/requantize/avx512.hpp"
#include "dmlref/simd/x86.hpp"
#include "dmlref/view/expect.hpp"
#include "dmlref/view/narrow.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct::avx512vnni {

using V = simd::avx512::Vector;
using Epilogue = requantize::avx512::LaneEpilogue;
inline constexpr std::ptrdiff_t block = Epilogue::block;
inline constexpr const Kernels* narrower = &avx2::kernels;

DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVX512VNNI __m512i dot(__m512i sums, __m512i activations, __m512i weights) noexcept {
  return _mm512_dpbusd_epi32(sums, activations, weights);
}

DMLREF_ALWAYS_INLINE DMLREF_TARGET_AVX512VNNI __m512i multiply_add(__m512i sums, __m512i pairs,
                                                                   __m512i weights) noexcept {
  return _mm512_dpwssd_epi32(sums, pairs, weights);
}

#define DMLREF_QLC_TARGET DMLREF_TARGET_AVX512VNNI
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/x86-inl.hpp"

#include "dmlref/operators/quantized_linear_convolution/kernels/direct/columns512-inl.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/planes512-inl.hpp"
#undef DMLREF_QLC_TARGET

}  // namespace fast::qlc::direct::avx512vnni
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
