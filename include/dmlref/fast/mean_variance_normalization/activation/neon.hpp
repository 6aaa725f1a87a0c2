// neon.hpp: activations of rows of values with baseline NEON.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_ARM64

#include <arm_neon.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/fast/mean_variance_normalization/activation/kernels.hpp"
#include "dmlref/fast/mean_variance_normalization/activation/scalar.hpp"
#include "dmlref/fast/simd/reals/neon.hpp"
#include "dmlref/reference/mean_variance_normalization.hpp"

#define DMLREF_VECTOR_TARGET __attribute__((always_inline)) inline
#define DMLREF_VECTOR_KERNEL inline

DMLREF_BEGIN
namespace fast::normalization::neon {

using simd::neon::Doubles;
using simd::neon::Floats;
using simd::neon::Pair;
using simd::neon::Vectors;

#include "dmlref/fast/mean_variance_normalization/activation/vectors.hpp"

}  // namespace fast::normalization::neon
DMLREF_END

#undef DMLREF_VECTOR_TARGET
#undef DMLREF_VECTOR_KERNEL

#endif  // DMLREF_ARCH_ARM64
