// avx512vnni.hpp: the direct convolution's kernels with vpdpbusd on 16 lanes; a block is 64 lanes.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/avx2.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/avx512vnni/channel_columns.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/avx512vnni/lanes.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/avx512vnni/planes.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/kernels.hpp"

#if DMLREF_ARCH_X86_64
DMLREF_BEGIN
namespace fast::qlc::direct::avx512vnni {

inline constexpr Kernels kernels{
    .block = block,
    .group = 4,
    .weight_bytes = 1,
    .pixel_taps = &pixel_taps<1>,
    .pixel_taps_2 = &pixel_taps<2>,
    .pixel_taps_4 = &pixel_taps<4>,
    .channel_taps = &channel_taps,
    .channel_quads = &channel_quads,
    .pixel_planes = &pixel_planes,
    .planes_suit = &planes_suit,
    .channel_columns = &channel_columns,
    .columns_suit = &columns_suit,
    .narrower = &avx2::kernels,
    .fold = &direct::avx2::fold,
    .pack = &direct::avx2::pack,
    .rounded_sums = true,
};

}  // namespace fast::qlc::direct::avx512vnni
DMLREF_END
#endif
