// select.hpp: which kernels an instruction set gets. Its tiles are in int8/select.hpp; on amx_int8 tiles of bytes
// (amx/) come first.
//
// Winograd is for those whose products are of sixteen bits anyway. Where four bytes are multiplied at a time (vpdpbusd,
// sdot), sixteen-bit operands would cost as much as they save.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/int8/select.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/kernels.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/winograd/kernels.hpp"
#if DMLREF_HAS_KERNELS
#if DMLREF_HAS_AVX2
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/avx2.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/winograd/avx2.hpp"
#endif
#if DMLREF_HAS_AVX512VNNI
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/avx512vnni.hpp"
#endif
#if DMLREF_HAS_NEON
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/neon.hpp"
#endif
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
  const Kernels& tiled = tile_kernels_of(isa);
  switch (isa) {
    case Isa::amx_int8:
    case Isa::avx512vnni:
#if DMLREF_HAS_AVX512VNNI
      return {tiled, direct::avx512vnni::kernels};
#endif
    case Isa::avxvnni:
#if DMLREF_HAS_AVXVNNI
      return {tiled, direct::avxvnni::kernels};
#endif
    case Isa::avx2:
#if DMLREF_HAS_AVX2
      return {tiled, direct::avx2::kernels, isa == Isa::avx2 ? &winograd::avx2::kernels : nullptr};
#endif
    case Isa::neon_dotprod:
    case Isa::neon:
#if DMLREF_HAS_NEON
      return {tiled, direct::neon::kernels};
#endif
    default: return {tiled, direct::scalar::kernels};
  }
}

#endif

}  // namespace fast::qlc
DMLREF_END
