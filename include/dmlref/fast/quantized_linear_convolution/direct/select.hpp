// select.hpp: which kernels of the direct convolution an instruction set gets: every choice on one screen.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/avx512vnni.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/scalar.hpp"
#include "dmlref/isa/cpu.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

inline const Kernels& kernels_of(Isa isa) noexcept {
  switch (isa) {
#if DMLREF_ARCH_X86_64
    case Isa::avx512vnni: return avx512vnni::kernels;
#endif
    default: return scalar::kernels;
  }
}

}  // namespace fast::qlc::direct
DMLREF_END
