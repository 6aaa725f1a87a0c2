// select.hpp: which kernels an instruction set has.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/mean_variance_normalization/avx2.hpp"
#include "dmlref/fast/mean_variance_normalization/avx512.hpp"
#include "dmlref/fast/mean_variance_normalization/kernels.hpp"
#include "dmlref/fast/mean_variance_normalization/neon.hpp"
#include "dmlref/fast/mean_variance_normalization/scalar.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"

DMLREF_BEGIN
namespace fast::normalization {

inline const Kernels& kernels_of(Isa isa, const Tuning::Normalization& row) noexcept {
  switch (isa) {
#if DMLREF_ARCH_X86_64
    case Isa::amx_int8:
    case Isa::avx512vnni: return row.narrow_sums ? avx512::kernels<avx512::NarrowSums>() : avx512::kernels();
    case Isa::avxvnni:
    case Isa::avx2: return avx2::kernels();
#endif
#if DMLREF_ARCH_ARM64
    case Isa::neon_dotprod:
    case Isa::neon: return neon::kernels();
#endif
    default: break;
  }
  static_cast<void>(row);
  return scalar::kernels();
}

}  // namespace fast::normalization
DMLREF_END
