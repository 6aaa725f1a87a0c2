// select.hpp: which kernels of the direct convolution an instruction set gets: every choice on one screen.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/kernels.hpp"
#if DMLREF_HAS_KERNELS
#include "dmlref/fast/quantized_linear_convolution/direct/scalar.hpp"
#if DMLREF_HAS_AVX2
#include "dmlref/fast/quantized_linear_convolution/direct/avx2.hpp"
#endif
#if DMLREF_HAS_AVXVNNI
#include "dmlref/fast/quantized_linear_convolution/direct/avxvnni.hpp"
#endif
#if DMLREF_HAS_AVX512VNNI
#include "dmlref/fast/quantized_linear_convolution/direct/avx512vnni.hpp"
#endif
#if DMLREF_HAS_NEON
#include "dmlref/fast/quantized_linear_convolution/direct/neon.hpp"
#endif
#endif
#include "dmlref/isa/cpu.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

DMLREF_SEPARABLE const Kernels& kernels_of(Isa isa) noexcept;

#if DMLREF_HAS_KERNELS

DMLREF_SEPARABLE const Kernels& kernels_of(Isa isa) noexcept {
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

#endif

}  // namespace fast::qlc::direct
DMLREF_END
