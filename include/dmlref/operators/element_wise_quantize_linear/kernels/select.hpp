// select.hpp: the kernels of each instruction set, and which of them an operator runs.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "dmlref/config.hpp"
#include "dmlref/desc/half.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/operators/element_wise_quantize_linear/kernels/kernels.hpp"

#if DMLREF_HAS_AVX2
#include "dmlref/simd/reals/avx2.hpp"

#define DMLREF_VECTOR_TARGET DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE
#define DMLREF_VECTOR_KERNEL DMLREF_TARGET_AVX2 inline
DMLREF_BEGIN
namespace fast::quantize_linear::avx2 {
using simd::avx2::Doubles;
using simd::avx2::Floats;
using simd::avx2::floats_from;
using simd::avx2::floats_of_integers;
using simd::avx2::Vectors;
#include "dmlref/operators/element_wise_quantize_linear/kernels/blocks-inl.hpp"
}  // namespace fast::quantize_linear::avx2
DMLREF_END
#undef DMLREF_VECTOR_TARGET
#undef DMLREF_VECTOR_KERNEL
#endif

#if DMLREF_HAS_AVX512VNNI
#include "dmlref/simd/reals/avx512.hpp"

#include "dmlref/isa/avx512_begin.hpp"
#define DMLREF_VECTOR_TARGET DMLREF_TARGET_AVX512VNNI DMLREF_ALWAYS_INLINE
#define DMLREF_VECTOR_KERNEL DMLREF_TARGET_AVX512VNNI inline
DMLREF_BEGIN
namespace fast::quantize_linear::avx512 {
using simd::avx512::any;  // (of masks, which are integers)
using simd::avx512::Doubles;
using simd::avx512::Floats;
using simd::avx512::floats_from;
using simd::avx512::floats_of_integers;
using simd::avx512::Vectors;
#include "dmlref/operators/element_wise_quantize_linear/kernels/blocks-inl.hpp"
}  // namespace fast::quantize_linear::avx512
DMLREF_END
#undef DMLREF_VECTOR_TARGET
#undef DMLREF_VECTOR_KERNEL
#include "dmlref/isa/avx512_end.hpp"
#endif

#if DMLREF_HAS_NEON
#include "dmlref/simd/reals/neon.hpp"

#define DMLREF_VECTOR_TARGET DMLREF_ALWAYS_INLINE
#define DMLREF_VECTOR_KERNEL inline
DMLREF_BEGIN
namespace fast::quantize_linear::neon {
using simd::neon::Doubles;
using simd::neon::Floats;
using simd::neon::floats_from;
using simd::neon::floats_of_integers;
using simd::neon::Vectors;
#include "dmlref/operators/element_wise_quantize_linear/kernels/blocks-inl.hpp"
}  // namespace fast::quantize_linear::neon
DMLREF_END
#undef DMLREF_VECTOR_TARGET
#undef DMLREF_VECTOR_KERNEL
#endif

DMLREF_BEGIN
namespace fast::quantize_linear {

inline const Kernels& kernels_of(Isa isa) noexcept {
  switch (isa) {
    case Isa::amx_int8:
    case Isa::avx512vnni:
#if DMLREF_HAS_AVX512VNNI
      return avx512::kernels();
#endif
    case Isa::avxvnni:
    case Isa::avx2:
#if DMLREF_HAS_AVX2
      return avx2::kernels();
#endif
    case Isa::neon_dotprod:
    case Isa::neon:
#if DMLREF_HAS_NEON
      return neon::kernels();
#endif
    default: return scalar::kernels();
  }
}

}  // namespace fast::quantize_linear
DMLREF_END
