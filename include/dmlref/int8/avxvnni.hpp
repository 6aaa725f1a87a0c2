// avxvnni.hpp: vpdpbusd on 8 lanes (VEX encoding); the helpers are those of AVX2.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/int8/avx2.hpp"

#if DMLREF_ARCH_X86_64
DMLREF_BEGIN
namespace fast::qlc::avxvnni {

using avx2::Epilogue;
namespace rounding = requantize::avx2;
// Pinned: as of AVX-512's products (avx512vnni/multiply_add.hpp), g++ else stores sums in each step.
struct V : avx2::V {
  DMLREF_TARGET_AVXVNNI DMLREF_ALWAYS_INLINE static Bits plus_word_products(Bits sums, Bits a, Bits b) noexcept {
    sums = _mm256_dpwssd_avx_epi32(sums, a, b);
    pin(sums);
    return sums;
  }
};
DMLREF_TARGET_AVXVNNI DMLREF_ALWAYS_INLINE void multiply_add(__m256i& sums, __m256i activations,
                                                             __m256i weights) noexcept {
  sums = _mm256_dpbusd_avx_epi32(sums, activations, weights);
  V::pin(sums);
}
inline constexpr int held_weights = 3, held_pixels = 3;
#define DMLREF_QLC_TARGET DMLREF_TARGET_AVXVNNI
#include "dmlref/int8/tiles-inl.hpp"
#undef DMLREF_QLC_TARGET

constexpr Kernels make_kernels() noexcept {
  Kernels k = avx2::make_helpers<4>();
  set_tiles(k);
  return k;
}
inline constexpr Kernels kernels = make_kernels();

}  // namespace fast::qlc::avxvnni
DMLREF_END
#endif
