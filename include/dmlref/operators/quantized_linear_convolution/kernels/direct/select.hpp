// select.hpp: which kernels of the direct convolution an instruction set gets.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/kernels.hpp"
#if DMLREF_HAS_KERNELS
#if DMLREF_HAS_AVX2
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/avx2.hpp"
#endif
#if DMLREF_HAS_AVX512VNNI
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/avx512vnni.hpp"
#endif
#if DMLREF_HAS_NEON
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/neon.hpp"
#endif
#endif

#if DMLREF_HAS_KERNELS
DMLREF_BEGIN
namespace fast::qlc::direct {

inline const Kernels& kernels_of(Isa isa) noexcept {
  switch (isa) {
    case Isa::amx_int8:
    case Isa::avx512vnni:
#if DMLREF_HAS_AVX512VNNI
      return avx512vnni::kernels;
#endif
    case Isa::avxvnni:
#if DMLREF_HAS_AVXVNNI
      return avxvnni::kernels;
#endif
    case Isa::avx2:
#if DMLREF_HAS_AVX2
      return avx2::kernels;
#endif
    case Isa::neon_dotprod:
    case Isa::neon:
#if DMLREF_HAS_NEON
      return neon::kernels;
#endif
    default: return scalar::kernels;
  }
}

}  // namespace fast::qlc::direct
DMLREF_END
#endif
