// targets.hpp: the kernels of each instruction set: one source, vectors-inl.hpp, in a namespace of each, with what
// suits it; and which of them an instruction set has.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/ill_conditioned/kernels.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/ill_conditioned/scalar.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/kernels.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/scalar.hpp"
#include "dmlref/operators/mean_variance_normalization/reference.hpp"
#if DMLREF_HAS_AVX2
#include "dmlref/simd/reals/avx2.hpp"
#endif
#if DMLREF_HAS_AVX512VNNI
#include "dmlref/simd/reals/avx512.hpp"
#endif
#if DMLREF_HAS_NEON
#include "dmlref/simd/reals/neon.hpp"
#endif

#if DMLREF_HAS_AVX2
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

#include "dmlref/operators/mean_variance_normalization/kernels/vectors-inl.hpp"

}  // namespace fast::normalization::avx2
DMLREF_END

#undef DMLREF_VECTOR_TARGET
#undef DMLREF_VECTOR_KERNEL
#endif  // DMLREF_HAS_AVX2

#if DMLREF_HAS_AVX512VNNI
#include "dmlref/isa/avx512_begin.hpp"

#define DMLREF_VECTOR_TARGET DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE
#define DMLREF_VECTOR_KERNEL DMLREF_TARGET_AVX512VNNI inline

DMLREF_BEGIN
namespace fast::normalization::avx512 {

using simd::avx512::any;  // (of masks, which are integers)
using simd::avx512::bits;
using simd::avx512::Doubles;
using simd::avx512::doubles_from;
using simd::avx512::First;
using simd::avx512::Floats;
using simd::avx512::floats_from;
using simd::avx512::or_;
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

#include "dmlref/operators/mean_variance_normalization/kernels/vectors-inl.hpp"

}  // namespace fast::normalization::avx512
DMLREF_END

#undef DMLREF_VECTOR_TARGET
#undef DMLREF_VECTOR_KERNEL

#include "dmlref/isa/avx512_end.hpp"
#endif  // DMLREF_HAS_AVX512VNNI

#if DMLREF_HAS_NEON
#define DMLREF_VECTOR_TARGET DMLREF_ALWAYS_INLINE
#define DMLREF_VECTOR_KERNEL inline

DMLREF_BEGIN
namespace fast::normalization::neon {

using simd::neon::Doubles;
using simd::neon::doubles_from;
using simd::neon::First;
using simd::neon::Floats;
using simd::neon::floats_from;
using simd::neon::Pair;
using simd::neon::Vectors;

/// What suits the instruction set.
struct Target {
  static constexpr std::size_t summed_vectors = 1;  // of columns, in registers at once: of sums,
  static constexpr std::size_t result_vectors = 1;  // and of results
  static constexpr bool streams = false;            // there are non-temporal stores,
  static constexpr bool streams_halves = false;     // which pay for float16
  static constexpr bool prefetches = false;
  static constexpr bool pipelined = false;     // rows form the sums of others on the way (Source)
  static constexpr bool subtracts = true;      // rather than multiply and add
  static constexpr bool unshifted = false;     // has kernels for groups without a shift
  static constexpr bool large_blocks = false;  // of columns
};

#include "dmlref/operators/mean_variance_normalization/kernels/vectors-inl.hpp"

}  // namespace fast::normalization::neon
DMLREF_END

#undef DMLREF_VECTOR_TARGET
#undef DMLREF_VECTOR_KERNEL
#endif  // DMLREF_HAS_NEON

DMLREF_BEGIN
namespace fast::normalization {

struct TargetKernels {
  const Kernels* rows;
  const ActivationKernels* activation;
  const ColumnKernels* columns;
  const IllConditionedKernels* ill_conditioned;
  bool has_fma;  ///< of the CPU: `with_fma` may run what is compiled for no target with it
};

inline TargetKernels kernels_of(Isa isa) noexcept {
  switch (isa) {
    case Isa::amx_int8:
    case Isa::avx512vnni:
#if DMLREF_HAS_AVX512VNNI
      return {&avx512::kernels(), &avx512::activation_kernels(), &avx512::column_kernels(),
              &avx512::ill_conditioned_kernels(), true};
#endif
    case Isa::avxvnni:
    case Isa::avx2:
#if DMLREF_HAS_AVX2
      return {&avx2::kernels(), &avx2::activation_kernels(), &avx2::column_kernels(), &avx2::ill_conditioned_kernels(),
              true};
#endif
    case Isa::neon_dotprod:
    case Isa::neon:
#if DMLREF_HAS_NEON
      return {&neon::kernels(), &neon::activation_kernels(), &neon::column_kernels(), &neon::ill_conditioned_kernels(),
              false};
#endif
    default: break;
  }
  return {&scalar::kernels(), &scalar::activation_kernels(), &scalar::column_kernels(),
          &scalar::ill_conditioned_kernels(), false};
}

}  // namespace fast::normalization
DMLREF_END
