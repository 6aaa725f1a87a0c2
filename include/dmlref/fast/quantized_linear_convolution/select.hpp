// select.hpp: which kernels an instruction set gets: every choice on one screen.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/avx512vnni.hpp"
#include "dmlref/isa/cpu.hpp"

DMLREF_BEGIN
namespace fast::qlc {

inline const Kernels* kernels_of(Isa isa) noexcept {
  switch (isa) {
#if DMLREF_ARCH_X86_64
    case Isa::avx512vnni: return &avx512vnni::kernels;
#endif
    default: return nullptr;
  }
}

}  // namespace fast::qlc
DMLREF_END
