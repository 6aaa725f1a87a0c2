// select.hpp: which kernels an instruction set gets. Its tiles are in int8/select.hpp; on amx_int8 tiles of bytes
// (amx/) come first.
//
// Winograd is for those whose products are of sixteen bits anyway. Where four bytes are multiplied at a time (vpdpbusd,
// sdot), sixteen-bit operands would cost as much as they save.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/int8/select.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/select.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/winograd/kernels.hpp"
#if DMLREF_HAS_KERNELS && DMLREF_HAS_AVX2
#include "dmlref/operators/quantized_linear_convolution/kernels/winograd/avx2.hpp"
#endif
#include "dmlref/isa/cpu.hpp"

DMLREF_BEGIN
namespace fast::qlc {

struct TargetKernels {
  const Kernels& tiled;
  const qlc::direct::Kernels& direct;
  const qlc::winograd::Kernels* winograd = nullptr;  ///< null where there are none
};

DMLREF_SEPARABLE TargetKernels kernels_of(Isa isa) noexcept;

#if DMLREF_HAS_KERNELS

DMLREF_SEPARABLE TargetKernels kernels_of(Isa isa) noexcept {
#if DMLREF_HAS_AVX2
  if (isa == Isa::avx2) return {tile_kernels_of(isa), direct::kernels_of(isa), &winograd::avx2::kernels};
#endif
  return {tile_kernels_of(isa), direct::kernels_of(isa)};
}

#endif

}  // namespace fast::qlc
DMLREF_END
