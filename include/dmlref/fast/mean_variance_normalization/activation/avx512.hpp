// avx512.hpp: activations of rows of values with 512 bits.
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
#include "dmlref/fast/simd/reals/avx512.hpp"
#include "dmlref/reference/mean_variance_normalization.hpp"

#include "dmlref/isa/avx512_begin.hpp"

#define DMLREF_VECTOR_TARGET DMLREF_TARGET_AVX512VNNI __attribute__((always_inline)) inline
#define DMLREF_VECTOR_KERNEL DMLREF_TARGET_AVX512VNNI inline

DMLREF_BEGIN
namespace fast::normalization::avx512 {

using simd::avx512::any;  // (of masks, which are integers)
using simd::avx512::Doubles;
using simd::avx512::either;
using simd::avx512::Floats;
using simd::avx512::Pair;
using simd::avx512::Vectors;

#include "dmlref/fast/mean_variance_normalization/activation/vectors.hpp"

}  // namespace fast::normalization::avx512
DMLREF_END

#undef DMLREF_VECTOR_TARGET
#undef DMLREF_VECTOR_KERNEL

#include "dmlref/isa/avx512_end.hpp"

#endif  // DMLREF_ARCH_X86_64
