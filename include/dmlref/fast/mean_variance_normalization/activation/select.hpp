// select.hpp: which activation kernels an instruction set has.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/mean_variance_normalization/activation/kernels.hpp"
#include "dmlref/fast/mean_variance_normalization/activation/scalar.hpp"
#include "dmlref/fast/mean_variance_normalization/avx2.hpp"
#include "dmlref/fast/mean_variance_normalization/avx512.hpp"
#include "dmlref/fast/mean_variance_normalization/neon.hpp"
#include "dmlref/isa/cpu.hpp"

DMLREF_BEGIN
namespace fast::normalization {

inline const ActivationKernels& activation_kernels_of(Isa isa) noexcept {
  switch (isa) {
#if DMLREF_ARCH_X86_64
    case Isa::amx_int8:
    case Isa::avx512vnni: return avx512::activation_kernels();
    case Isa::avxvnni:
    case Isa::avx2: return avx2::activation_kernels();
#endif
#if DMLREF_ARCH_ARM64
    case Isa::neon_dotprod:
    case Isa::neon: return neon::activation_kernels();
#endif
    default: return scalar::activation_kernels();
  }
}

}  // namespace fast::normalization
DMLREF_END
