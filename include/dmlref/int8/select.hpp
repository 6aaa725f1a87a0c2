// select.hpp: which tiles an instruction set gets.
//
// clang-format off
//   target        lanes  K-group  instruction          channel tiles (pixels x vectors)   pixel tiles (channels x vectors)
//   amx_int8      products: amx.hpp, 32x2 16x2; convolutions: tiles of bytes of their own, else as avx512vnni
//   avx512vnni    16     u8 x 4   vpdpbusd             14x2 14x1 2x4                      6x4
//   avxvnni        8     u8 x 4   vpdpbusd             6x2 6x1 4x3 2x4                    4x3
//   avx2           8     16 x 2   vpmaddwd, vpaddd     6x2 6x1 2x4                        4x3
//   neon_dotprod   4     s8 x 4   sdot                 12x2 12x1 6x4                      4x4
//   neon           4     s8 x 4   smull, sadalp        6x2 8x1                            4x2
//   scalar         8     u8 x 4   plain C++            4x1                                4x1
// clang-format on
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/isa/cpu.hpp"
#if DMLREF_HAS_KERNELS
#include "dmlref/int8/scalar.hpp"
#if DMLREF_HAS_AVX2
#include "dmlref/int8/avx2.hpp"
#endif
#if DMLREF_HAS_AVXVNNI
#include "dmlref/int8/avxvnni.hpp"
#endif
#if DMLREF_HAS_AVX512VNNI
#include "dmlref/int8/avx512vnni.hpp"
#endif
#if DMLREF_HAS_NEON
#include "dmlref/int8/neon.hpp"
#endif
#endif

#if DMLREF_HAS_KERNELS
DMLREF_BEGIN
namespace fast::qlc {

inline const Kernels& tile_kernels_of(Isa isa) noexcept {
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
#if DMLREF_HAS_NEON_DOTPROD
      return neon_dotprod::kernels;
#endif
    case Isa::neon:
#if DMLREF_HAS_NEON
      return neon::kernels;
#endif
    default: return scalar::kernels;
  }
}

}  // namespace fast::qlc
DMLREF_END
#endif
