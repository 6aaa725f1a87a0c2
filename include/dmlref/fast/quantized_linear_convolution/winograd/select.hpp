// select.hpp: which instruction sets convolve after Winograd: those whose products are of sixteen bits anyway. Where
// four bytes are multiplied at a time (vpdpbusd, sdot), sixteen-bit operands would cost as much as they save.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/winograd/kernels.hpp"
#if DMLREF_HAS_KERNELS
#if DMLREF_HAS_AVX2
#include "dmlref/fast/quantized_linear_convolution/winograd/avx2.hpp"
#endif
#endif
#include "dmlref/isa/cpu.hpp"

DMLREF_BEGIN
namespace fast::qlc::winograd {

/// Null where there are none.
DMLREF_SEPARABLE const Kernels* kernels_of(Isa isa) noexcept;

#if DMLREF_HAS_KERNELS

DMLREF_SEPARABLE const Kernels* kernels_of(Isa isa) noexcept {
#if DMLREF_HAS_AVX2
  if (isa == Isa::avx2) return &avx2::kernels;
#endif
  static_cast<void>(isa);
  return nullptr;
}

#endif

}  // namespace fast::qlc::winograd
DMLREF_END
