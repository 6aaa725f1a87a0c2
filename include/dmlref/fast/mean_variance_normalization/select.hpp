// select.hpp: which kernels an instruction set has.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/mean_variance_normalization/avx2.hpp"
#include "dmlref/fast/mean_variance_normalization/avx512.hpp"
#include "dmlref/fast/mean_variance_normalization/avx512/full_width_table.hpp"
#include "dmlref/fast/mean_variance_normalization/avx512/half_width_table.hpp"
#include "dmlref/fast/mean_variance_normalization/avx512/two_pipes.hpp"
#include "dmlref/fast/mean_variance_normalization/kernels.hpp"
#include "dmlref/fast/mean_variance_normalization/neon.hpp"
#include "dmlref/fast/mean_variance_normalization/scalar.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"

DMLREF_BEGIN
namespace fast::normalization {

inline const Kernels& kernels_of(Isa isa, const Tuning&) noexcept {
  switch (isa) {
#if DMLREF_ARCH_X86_64
    case Isa::amx_int8:
    case Isa::avx512vnni:
      if (two_pipes_of_512()) return avx512::two_pipes::kernels();
      if (full_width_512()) return avx512::full_width::kernels();
      return amd_family() == 25 ? avx512::half_width::kernels() : avx512::kernels();  // Zen 4
    case Isa::avxvnni:
    case Isa::avx2: return avx2::kernels();
#endif
#if DMLREF_ARCH_ARM64
    case Isa::neon_dotprod:
    case Isa::neon: return neon::kernels();
#endif
    default: return scalar::kernels();
  }
}

}  // namespace fast::normalization
DMLREF_END
