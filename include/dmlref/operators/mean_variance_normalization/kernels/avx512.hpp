// avx512.hpp: the kernels of normalization with 512 bits: the texts that all instruction sets share.
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
#include "dmlref/simd/reals/avx512.hpp"

#include "dmlref/isa/avx512_begin.hpp"

#define DMLREF_VECTOR_TARGET DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE
#define DMLREF_VECTOR_KERNEL DMLREF_TARGET_AVX512VNNI inline

DMLREF_BEGIN
namespace fast::normalization::avx512 {

using simd::avx512::any;  // (of masks, which are integers)
using simd::avx512::bits;
using simd::avx512::Doubles;
using simd::avx512::doubles_from;
using simd::avx512::either;
using simd::avx512::First;
using simd::avx512::Floats;
using simd::avx512::floats_from;
using simd::avx512::Pair;
using simd::avx512::Vectors;

/// What suits the instruction set.
struct Target {
  static constexpr std::size_t summed_vectors = 4;  // of columns, in registers at once: of sums,
  static constexpr std::size_t result_vectors = 4;  // and of results
  static constexpr bool streams = true;             // there are non-temporal stores,
  static constexpr bool streams_halves = true;      // which pay for float16
  static constexpr bool prefetches = true;
  static constexpr bool pipelined = true;     // rows form the sums of others on the way (Source)
  static constexpr bool subtracts = false;    // rather than multiply and add
  static constexpr bool unshifted = true;     // has kernels for groups without a shift
  static constexpr bool large_blocks = true;  // of columns
};

#include "dmlref/operators/mean_variance_normalization/kernels/finish.hpp"

#include "dmlref/operators/mean_variance_normalization/kernels/activation/vectors.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/columns/vectors.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/ill_conditioned/vectors.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/rows/vectors.hpp"

}  // namespace fast::normalization::avx512
DMLREF_END

#undef DMLREF_VECTOR_TARGET
#undef DMLREF_VECTOR_KERNEL

#include "dmlref/isa/avx512_end.hpp"

#endif  // DMLREF_ARCH_X86_64
