// epilogue256.hpp: rounding on 8 lanes, for every kernel with 256-bit registers.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/kernels.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/rows.hpp"
#include "dmlref/requantize/avx2.hpp"
#include "dmlref/simd/x86.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <cstring>

DMLREF_BEGIN
namespace fast::qlc::direct::vectors256 {

using V = simd::avx2::Vector;
namespace rounding = requantize::avx2;

#define DMLREF_QLC_TARGET DMLREF_TARGET_AVX2
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/epilogue.hpp"
#undef DMLREF_QLC_TARGET

}  // namespace fast::qlc::direct::vectors256
DMLREF_END
#endif
