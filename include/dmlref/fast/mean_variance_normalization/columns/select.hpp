// select.hpp: which column kernels an instruction set has.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/mean_variance_normalization/columns/kernels.hpp"
#include "dmlref/fast/mean_variance_normalization/columns/scalar.hpp"
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

inline const ColumnKernels& column_kernels_of(Isa isa) noexcept {
  switch (isa) {
    case Isa::amx_int8:
    case Isa::avx512vnni:
#if DMLREF_HAS_AVX512VNNI
      return avx512::column_kernels();
#endif
    case Isa::avxvnni:
    case Isa::avx2:
#if DMLREF_HAS_AVX2
      return avx2::column_kernels();
#endif
    case Isa::neon_dotprod:
    case Isa::neon:
#if DMLREF_HAS_NEON
      return neon::column_kernels();
#endif
    default: return scalar::column_kernels();
  }
}

}  // namespace fast::normalization
DMLREF_END
