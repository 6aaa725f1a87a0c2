// avx512vnni.hpp: the tiled convolution with vpdpbusd on 16 lanes.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/requantize/avx512.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/avx512vnni/channel_tiles.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/avx512vnni/output.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/avx512vnni/pixel_tiles.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/avx512vnni/staging.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/avx512vnni/sums.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/kernels.hpp"

#if DMLREF_ARCH_X86_64
DMLREF_BEGIN
namespace fast::qlc::avx512vnni {

template <int V, int... R>
constexpr void set_channel_tiles(Tiles& tiles) noexcept {
  tiles.set(V, Tile{R, &channel_strip<V, R>}...);
}
template <int V, int... R>
constexpr void set_pixel_tiles(Tiles& tiles) noexcept {
  tiles.set(V, Tile{R, &pixel_strip<V, R>}...);
}

constexpr Kernels make_kernels() noexcept {
  Kernels k{16,
            4,
            false,
            true,
            {},
            {},
            &interleave,
            &deal,
            &windows,
            &convert,
            &sum_runs,
            &sum_windows,
            &halve_sums,
            &add_outer,
            &requantize::avx512::clamped,
            &transpose,
            &interleave_pairs_of,
            &pack_rows};
  k.rounds_sums = true;
  // Feature maps are 7, 14, 28, 56, … wide.
  set_channel_tiles<1, 1, 2, 4, 7, 14>(k.channel_tiles);
  set_channel_tiles<2, 1, 2, 4, 7, 14>(k.channel_tiles);
  set_channel_tiles<4, 1, 2, 4>(k.channel_tiles);
  set_pixel_tiles<1, 1, 2, 4, 6>(k.pixel_tiles);
  set_pixel_tiles<2, 1, 2, 4, 6>(k.pixel_tiles);
  set_pixel_tiles<4, 1, 2, 4, 6>(k.pixel_tiles);
  return k;
}
inline constexpr Kernels kernels = make_kernels();

}  // namespace fast::qlc::avx512vnni
DMLREF_END
#endif
