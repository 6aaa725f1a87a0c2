// avx2_kernels.hpp: the table of the direct convolution's kernels for AVX2.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/avx2.hpp"

#if DMLREF_ARCH_X86_64
DMLREF_BEGIN
namespace fast::qlc::direct::avx2 {

[[gnu::always_inline]] DMLREF_TARGET_AVX2 inline __m256i multiply_add(__m256i sums, __m256i pairs,
                                                                      __m256i weights) noexcept {
  return _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, weights));
}

#define DMLREF_QLC_TARGET DMLREF_TARGET_AVX2
#include "dmlref/fast/quantized_linear_convolution/direct/columns256.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/planes256.hpp"
#undef DMLREF_QLC_TARGET

inline constexpr Kernels kernels{
    .block = 32,
    .group = 2,
    .pixel_planes = &pixel_planes,
    .planes_suit = &planes_suit,
    .pixel_taps = &pixel_taps_of<1>,
    .pixel_taps_2 = &pixel_taps_of<2>,
    .pixel_taps_4 = &pixel_taps_of<4>,
    .channel_taps = &channel_taps,
    .channel_quads = &channel_quads,
    .fold = &avx2::fold,
    .fold_numbers = &avx2::fold_numbers,
    .rounded_sums = true,
    .channel_columns = &channel_columns,
    .columns_suit = &columns_suit,
};

}  // namespace fast::qlc::direct::avx2
DMLREF_END
#endif
