// avx2.hpp: vpmaddwd on 8 lanes of two sixteen-bit values, which is exact: the staged activations and the packed
// weights are widened (vpmaddubsw would saturate).
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/int8/avx2/output.hpp"
#include "dmlref/int8/avx2/staging.hpp"
#include "dmlref/int8/avx2/sums.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/int8/portable.hpp"
#include "dmlref/requantize/avx2.hpp"
#include "dmlref/simd/x86.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <bit>

DMLREF_BEGIN
namespace fast::qlc::avx2 {

using V = simd::avx2::Vector;
namespace rounding = requantize::avx2;
using Epilogue = rounding::TileEpilogue;
// Not _mm256_add_epi32: compilers reassociate the sums of two steps and keep the products of many rows at once, for
// which there are no registers. clang needs the order fixed, g++ schedules better where it is not.
DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE void multiply_add(__m256i& sums, __m256i activations,
                                                          __m256i weights) noexcept {
  const __m256i products = _mm256_madd_epi16(activations, weights);
#if defined(__clang__)
  __asm__ volatile("vpaddd {%1, %0, %0|%0, %0, %1}" : "+x"(sums) : "x"(products));
#else
  __asm__("vpaddd {%1, %0, %0|%0, %0, %1}" : "+x"(sums) : "x"(products));
#endif
}
inline constexpr int held_weights = 2, held_pixels = 2;
#define DMLREF_QLC_TARGET DMLREF_TARGET_AVX2
#include "dmlref/int8/tiles-inl.hpp"
#undef DMLREF_QLC_TARGET

/// All but the tiles, for every set of x86-64: of bytes (Group 4) or widened (Group 2).
template <int Group>
constexpr Kernels make_helpers() noexcept {
  Kernels k = portable::make_helpers();
  k.lanes = 8;
  k.group = Group;
  k.requantize = true;
  k.rounds_by_multiply_add = true;
  k.rows_alike = Epilogue::rows_alike;
  k.interleave = &interleave<Group>;
  k.windows = Group == 2 ? &windows2 : &windows4;
  k.convert = &convert<Group>;
  k.sum_runs = &sum_runs<Group>;
  k.add_outer = &add_outer;
  k.quantize = &requantize::avx2::clamped;
  k.transpose = &transpose;
  k.gather_pixels = &gather_pixels<Group>;
  return k;
}

constexpr Kernels make_kernels() noexcept {
  Kernels k = make_helpers<2>();
  set_tiles(k);
  return k;
}
inline constexpr Kernels kernels = make_kernels();

}  // namespace fast::qlc::avx2
DMLREF_END
#endif
