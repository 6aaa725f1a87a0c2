// select.hpp: which kernels an instruction set has: every choice on one screen.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/activation/scalar.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/columns/scalar.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/ill_conditioned/scalar.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/scalar.hpp"
#if DMLREF_HAS_AVX2
#include "dmlref/operators/mean_variance_normalization/kernels/avx2.hpp"
#endif
#if DMLREF_HAS_AVX512VNNI
#include "dmlref/operators/mean_variance_normalization/kernels/avx512.hpp"
#endif
#if DMLREF_HAS_NEON
#include "dmlref/operators/mean_variance_normalization/kernels/neon.hpp"
#endif

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
