// avx512vnni.hpp: the direct convolution's kernels with vpdpbusd on 16 lanes; a block is 64 lanes.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/avx2.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/avx512vnni/channel_columns.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/avx512vnni/lanes.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/avx512vnni/planes.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/kernels.hpp"

#if DMLREF_ARCH_X86_64
DMLREF_BEGIN
namespace fast::qlc::direct::avx512vnni {

inline constexpr const Kernels* narrower = &avx2::kernels;
inline constexpr bool pairs_in_place = false;

#define DMLREF_QLC_TARGET DMLREF_TARGET_AVX512VNNI
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/table.hpp"
#undef DMLREF_QLC_TARGET

}  // namespace fast::qlc::direct::avx512vnni
DMLREF_END
#endif
