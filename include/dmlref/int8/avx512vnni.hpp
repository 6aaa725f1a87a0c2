// avx512vnni.hpp: the tiled convolution with vpdpbusd on 16 lanes; helpers that are not faster so are those of AVX2.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/int8/avx2.hpp"
#include "dmlref/int8/avx512vnni/multiply_add.hpp"
#include "dmlref/int8/avx512vnni/staging.hpp"
#include "dmlref/int8/avx512vnni/sums.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/requantize/avx512.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::avx512vnni {

using V = simd::avx512::Vector;
namespace rounding = requantize::avx512;
using Epilogue = rounding::TileEpilogue;
inline constexpr int held_weights = 2, held_pixels = 4;
#define DMLREF_QLC_TARGET DMLREF_TARGET_AVX512VNNI
#include "dmlref/int8/tiles-inl.hpp"
#undef DMLREF_QLC_TARGET

constexpr Kernels make_kernels() noexcept {
  Kernels k = avx2::make_helpers<4>();
  k.lanes = 16;
  k.searches_channels = true;
  k.rows_alike = Epilogue::rows_alike;
  k.interleave = &interleave;
  k.pack_rows = &pack_rows;
  k.pack_panels = &pack_panels;
  k.gather_pixels = nullptr;  // a K-group is four channels there, which tiles read as fast from planes
  k.sum_runs = &sum_runs;
  k.sum_windows = &sum_windows;
  k.quantize = &requantize::avx512::clamped;
  set_tiles(k);
  return k;
}
inline constexpr Kernels kernels = make_kernels();

}  // namespace fast::qlc::avx512vnni
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
