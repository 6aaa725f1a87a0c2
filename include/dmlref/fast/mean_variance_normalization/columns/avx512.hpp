// avx512.hpp: the kernels of neighbouring groups with 512 bits.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "dmlref/fast/mean_variance_normalization/columns/kernels.hpp"
#include "dmlref/fast/simd/reals/avx512.hpp"

#include "dmlref/isa/avx512_begin.hpp"

#define DMLREF_VECTOR_TARGET DMLREF_TARGET_AVX512VNNI __attribute__((always_inline)) inline
#define DMLREF_VECTOR_KERNEL DMLREF_TARGET_AVX512VNNI inline

DMLREF_BEGIN
namespace fast::normalization::avx512::columns {

using simd::avx512::any;  // (of masks, which are integers)
using simd::avx512::bits;
using simd::avx512::Doubles;
using simd::avx512::doubles_from;
using simd::avx512::either;
using simd::avx512::First;
using simd::avx512::Floats;
using simd::avx512::floats_from;
using simd::avx512::Vectors;

/// What the registers hold at once, in vectors of columns, and what helps besides.
struct Sizes {
  static constexpr std::size_t summed_vectors = 4;
  static constexpr std::size_t result_vectors = 4;
  static constexpr bool streams = true;
  static constexpr bool prefetches = true;
  static constexpr bool large_blocks = true;
};

#include "dmlref/fast/mean_variance_normalization/columns/vectors.hpp"

}  // namespace fast::normalization::avx512::columns
DMLREF_END

#undef DMLREF_VECTOR_TARGET
#undef DMLREF_VECTOR_KERNEL

#include "dmlref/isa/avx512_end.hpp"

#endif  // DMLREF_ARCH_X86_64
