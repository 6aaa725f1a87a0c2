// select.hpp: which activation kernels an instruction set has.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/mean_variance_normalization/activation/kernels.hpp"
#include "dmlref/fast/mean_variance_normalization/activation/scalar.hpp"
#include "dmlref/isa/cpu.hpp"
#if DMLREF_HAS_AVX2
#include "dmlref/fast/mean_variance_normalization/avx2.hpp"
#endif
#if DMLREF_HAS_AVX512VNNI
#include "dmlref/fast/mean_variance_normalization/avx512.hpp"
#endif
#if DMLREF_HAS_NEON
#include "dmlref/fast/mean_variance_normalization/neon.hpp"
#endif

DMLREF_BEGIN
namespace fast::normalization {

inline const ActivationKernels& activation_kernels_of(Isa isa) noexcept {
  switch (isa) {
    case Isa::amx_int8:
    case Isa::avx512vnni:
#if DMLREF_HAS_AVX512VNNI
      return avx512::activation_kernels();
#endif
    case Isa::avxvnni:
    case Isa::avx2:
#if DMLREF_HAS_AVX2
      return avx2::activation_kernels();
#endif
    case Isa::neon_dotprod:
    case Isa::neon:
#if DMLREF_HAS_NEON
      return neon::activation_kernels();
#endif
    default: return scalar::activation_kernels();
  }
}

}  // namespace fast::normalization
DMLREF_END
