// avx2.hpp: activations of rows of values with AVX2, FMA and F16C; masks are vectors.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <immintrin.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/fast/mean_variance_normalization/activation/kernels.hpp"
#include "dmlref/fast/mean_variance_normalization/activation/scalar.hpp"
#include "dmlref/fast/simd/reals/avx2.hpp"
#include "dmlref/reference/mean_variance_normalization.hpp"

#define DMLREF_VECTOR_TARGET DMLREF_TARGET_AVX2 __attribute__((always_inline)) inline
#define DMLREF_VECTOR_KERNEL DMLREF_TARGET_AVX2 inline

DMLREF_BEGIN
namespace fast::normalization::avx2 {

using simd::avx2::Doubles;
using simd::avx2::Floats;
using simd::avx2::Pair;
using simd::avx2::Vectors;

#include "dmlref/fast/mean_variance_normalization/activation/vectors.hpp"

}  // namespace fast::normalization::avx2
DMLREF_END

#undef DMLREF_VECTOR_TARGET
#undef DMLREF_VECTOR_KERNEL

#endif  // DMLREF_ARCH_X86_64
