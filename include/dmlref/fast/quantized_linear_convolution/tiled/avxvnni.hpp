// avxvnni.hpp: vpdpbusd on 8 lanes (VEX encoding); the helpers are those of AVX2.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/avx2.hpp"

#if DMLREF_ARCH_X86_64
DMLREF_BEGIN
namespace fast::qlc::avxvnni {

DMLREF_TARGET_AVXVNNI inline __m256i dot(__m256i sums, __m256i activations, __m256i weights) noexcept {
  return _mm256_dpbusd_avx_epi32(sums, activations, weights);
}

inline constexpr int held_vectors = 3;
#define DMLREF_QLC_TARGET DMLREF_TARGET_AVXVNNI
#include "dmlref/fast/quantized_linear_convolution/tiled/tiles256.hpp"
#undef DMLREF_QLC_TARGET

/// All but the tiles, which a test replaces by others of the same text.
constexpr Kernels make_helpers() noexcept {
  Kernels k{8,
            4,
            false,
            true,
            {},
            {},
            &avx2::interleave<4>,
            &avx2::deal,
            &avx2::windows4,
            &avx2::convert<4>,
            &avx2::sum_runs<4>,
            &portable::sum_windows,
            &portable::halve_sums,
            &avx2::add_outer,
            &requantize::avx2::clamped,
            &avx2::transpose};
  k.gather_pixels = &avx2::gather_pixels<4>;
  return k;
}
constexpr Kernels make_kernels() noexcept {
  Kernels k = make_helpers();
  set_tiles(k);
  return k;
}
inline constexpr Kernels kernels = make_kernels();

}  // namespace fast::qlc::avxvnni
DMLREF_END
#endif
