// avx2.hpp: the kernels of neighbouring groups with AVX2, FMA and F16C.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "dmlref/fast/mean_variance_normalization/columns/kernels.hpp"
#include "dmlref/fast/simd/reals/avx2.hpp"

#define DMLREF_VECTOR_TARGET DMLREF_TARGET_AVX2 __attribute__((always_inline)) inline
#define DMLREF_VECTOR_KERNEL DMLREF_TARGET_AVX2 inline

DMLREF_BEGIN
namespace fast::normalization::avx2::columns {

using simd::avx2::Doubles;
using simd::avx2::doubles_from;
using simd::avx2::First;
using simd::avx2::Floats;
using simd::avx2::floats_from;
using simd::avx2::Vectors;

/// What the registers hold at once, in vectors of columns, and what helps besides.
struct Sizes {
  static constexpr std::size_t summed_vectors = 2;
  static constexpr std::size_t result_vectors = 2;
  static constexpr bool streams = true;
  static constexpr bool prefetches = true;
  static constexpr bool large_blocks = false;
};

#include "dmlref/fast/mean_variance_normalization/columns/vectors.hpp"

}  // namespace fast::normalization::avx2::columns
DMLREF_END

#undef DMLREF_VECTOR_TARGET
#undef DMLREF_VECTOR_KERNEL

#endif  // DMLREF_ARCH_X86_64
