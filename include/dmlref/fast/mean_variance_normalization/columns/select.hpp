// select.hpp: which column kernels an instruction set has.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/mean_variance_normalization/avx2.hpp"
#include "dmlref/fast/mean_variance_normalization/avx512.hpp"
#include "dmlref/fast/mean_variance_normalization/columns/kernels.hpp"
#include "dmlref/fast/mean_variance_normalization/columns/scalar.hpp"
#include "dmlref/fast/mean_variance_normalization/neon.hpp"
#include "dmlref/isa/cpu.hpp"

DMLREF_BEGIN
namespace fast::normalization {

inline const ColumnKernels& column_kernels_of(Isa isa) noexcept {
  switch (isa) {
#if DMLREF_ARCH_X86_64
    case Isa::amx_int8:
    case Isa::avx512vnni: return avx512::column_kernels();
    case Isa::avxvnni:
    case Isa::avx2: return avx2::column_kernels();
#endif
#if DMLREF_ARCH_ARM64
    case Isa::neon_dotprod:
    case Isa::neon: return neon::column_kernels();
#endif
    default: return scalar::column_kernels();
  }
}

}  // namespace fast::normalization
DMLREF_END
