// avx2.hpp: the kernels of normalization with AVX2, FMA and F16C: the texts that all instruction sets share.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "dmlref/operators/mean_variance_normalization/kernels/activation/kernels.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/activation/scalar.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/columns/kernels.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/ill_conditioned/kernels.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/ill_conditioned/scalar.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/kernels.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/scalar.hpp"
#include "dmlref/operators/mean_variance_normalization/reference.hpp"
#include "dmlref/simd/reals/avx2.hpp"

#define DMLREF_VECTOR_TARGET DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE
#define DMLREF_VECTOR_KERNEL DMLREF_TARGET_AVX2 inline

DMLREF_BEGIN
namespace fast::normalization::avx2 {

using simd::avx2::Doubles;
using simd::avx2::doubles_from;
using simd::avx2::First;
using simd::avx2::Floats;
using simd::avx2::floats_from;
using simd::avx2::Pair;
using simd::avx2::Vectors;

/// What suits the instruction set.
struct Target {
  static constexpr std::size_t summed_vectors = 2;  // of columns, in registers at once: of sums,
  static constexpr std::size_t result_vectors = 2;  // and of results
  static constexpr bool streams = true;             // there are non-temporal stores,
  static constexpr bool streams_halves = false;     // which pay for float16
  static constexpr bool prefetches = true;
  static constexpr bool pipelined = false;     // rows form the sums of others on the way (Source)
  static constexpr bool subtracts = true;      // rather than multiply and add
  static constexpr bool unshifted = true;      // has kernels for groups without a shift
  static constexpr bool large_blocks = false;  // of columns
};

#include "dmlref/operators/mean_variance_normalization/kernels/finish.hpp"

#include "dmlref/operators/mean_variance_normalization/kernels/activation/vectors.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/columns/vectors.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/ill_conditioned/vectors.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/rows/vectors.hpp"

}  // namespace fast::normalization::avx2
DMLREF_END

#undef DMLREF_VECTOR_TARGET
#undef DMLREF_VECTOR_KERNEL

#endif  // DMLREF_ARCH_X86_64
