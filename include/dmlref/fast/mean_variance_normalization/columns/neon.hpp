// neon.hpp: the kernels of neighbouring groups with baseline NEON.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_ARM64

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "dmlref/fast/mean_variance_normalization/columns/kernels.hpp"
#include "dmlref/fast/simd/reals/neon.hpp"

#define DMLREF_VECTOR_TARGET __attribute__((always_inline)) inline
#define DMLREF_VECTOR_KERNEL inline

DMLREF_BEGIN
namespace fast::normalization::neon::columns {

using simd::neon::Doubles;
using simd::neon::doubles_from;
using simd::neon::First;
using simd::neon::Floats;
using simd::neon::floats_from;
using simd::neon::Vectors;

/// What the registers hold at once, in vectors of columns, and what helps besides.
struct Sizes {
  static constexpr std::size_t summed_vectors = 1;
  static constexpr std::size_t result_vectors = 1;
  static constexpr bool streams = false;
  static constexpr bool prefetches = false;
  static constexpr bool large_blocks = false;
};

#include "dmlref/fast/mean_variance_normalization/columns/vectors.hpp"

}  // namespace fast::normalization::neon::columns
DMLREF_END

#undef DMLREF_VECTOR_TARGET
#undef DMLREF_VECTOR_KERNEL

#endif  // DMLREF_ARCH_ARM64
