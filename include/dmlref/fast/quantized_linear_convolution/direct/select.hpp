// select.hpp: which kernels of the direct convolution an instruction set gets: every choice on one screen.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/kernels.hpp"
#if DMLREF_HAS_KERNELS
#include "dmlref/fast/quantized_linear_convolution/direct/avx2_kernels.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/avx512vnni.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/avxvnni.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/neon.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/scalar.hpp"
#endif
#include "dmlref/isa/cpu.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

DMLREF_SEPARABLE const Kernels& kernels_of(Isa isa) noexcept;

#if DMLREF_HAS_KERNELS

DMLREF_SEPARABLE const Kernels& kernels_of(Isa isa) noexcept {
  switch (isa) {
#if DMLREF_ARCH_X86_64
    case Isa::amx_int8:
    case Isa::avx512vnni: return avx512vnni::kernels;
    case Isa::avxvnni: return avxvnni::kernels;
    case Isa::avx2: return avx2::kernels;
#elif DMLREF_ARCH_ARM64
    case Isa::neon_dotprod:
    case Isa::neon: return neon::kernels;
#endif
    default: return scalar::kernels;
  }
}

#endif

}  // namespace fast::qlc::direct
DMLREF_END
