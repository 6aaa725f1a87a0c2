// targets.hpp: the kernels of each instruction set: one source, vectors-inl.hpp, in a namespace of each, with what
// suits it; and which of them an instruction set has (kernels_of).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/ill_conditioned/kernels.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/ill_conditioned/scalar.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/kernels.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/scalar.hpp"
#include "dmlref/operators/mean_variance_normalization/reference.hpp"

DMLREF_BEGIN
namespace fast::normalization {

/// What suits an instruction set.
struct TargetTraits {
  std::size_t summed_vectors = 1;  ///< of columns, in registers at once: of sums,
  std::size_t result_vectors = 1;  ///< and of results
  bool streams = false;            ///< there are non-temporal stores,
  bool streams_halves = false;     ///< which pay for float16
  bool prefetches = false;
  bool pipelined = false;         ///< rows form the sums of others on the way (Source)
  bool adds = false;              ///< and subtracts, rather than multiply and add
  bool widens_in_memory = false;  ///< sums of float16: from memory conversions to double are cheaper
  bool unshifted = false;         ///< has kernels for groups without a shift
  bool large_blocks = false;      ///< of columns
  bool has_fma = false;           ///< of the CPU: `with_fma` may run what is compiled for no target with it
};
namespace avx2 {
inline constexpr TargetTraits target{.summed_vectors = 2,
                                     .result_vectors = 2,
                                     .streams = true,
                                     .prefetches = true,
                                     .adds = true,
                                     .widens_in_memory = true,
                                     .unshifted = true,
                                     .has_fma = true};
}
namespace avx512 {
inline constexpr TargetTraits target{.summed_vectors = 4,
                                     .result_vectors = 4,
                                     .streams = true,
                                     .streams_halves = true,
                                     .prefetches = true,
                                     .pipelined = true,
                                     .unshifted = true,
                                     .large_blocks = true,
                                     .has_fma = true};
}
namespace neon {
inline constexpr TargetTraits target{.adds = true};
}

struct TargetKernels {
  const Kernels* rows;
  const ActivationKernels* activation;
  const ColumnKernels* columns;
  const IllConditionedKernels* ill_conditioned;
  bool has_fma;  ///< as in TargetTraits
};

namespace scalar {
inline TargetKernels target_kernels() noexcept {
  return {&kernels(), &activation_kernels(), &column_kernels(), &ill_conditioned_kernels(), false};
}
}  // namespace scalar

}  // namespace fast::normalization
DMLREF_END

#define DMLREF_VECTOR_SOURCE "dmlref/operators/mean_variance_normalization/kernels/vectors-inl.hpp"
#define DMLREF_VECTOR_NAMESPACE fast::normalization
#include "dmlref/simd/reals/foreach_target-inl.hpp"
