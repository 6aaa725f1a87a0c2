// avx512vnni.hpp: the tiled convolution with vpdpbusd on 16 lanes.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/avx512vnni/channel_tiles.hpp"
#include "dmlref/fast/quantized_linear_convolution/avx512vnni/output.hpp"
#include "dmlref/fast/quantized_linear_convolution/avx512vnni/pixel_tiles.hpp"
#include "dmlref/fast/quantized_linear_convolution/avx512vnni/staging.hpp"
#include "dmlref/fast/quantized_linear_convolution/avx512vnni/sums.hpp"
#include "dmlref/fast/quantized_linear_convolution/kernels.hpp"

#if DMLREF_ARCH_X86_64
#include <utility>

DMLREF_BEGIN
namespace fast::qlc::avx512vnni {

/// Which tiles of channels are requantized out of the registers: docs/decisions/0121.
enum class Ahead { if_shallow, always };

template <Ahead A, int V, std::size_t... R>
constexpr void set_channel_tiles(Tiles& tiles, std::index_sequence<R...>) noexcept {
  if constexpr (A == Ahead::always) {
    tiles.set(V, &channel_tile_ahead<V, static_cast<int>(R) + 1>...);
  } else {
    tiles.set(V, &channel_tile_ahead_if_shallow<V, static_cast<int>(R) + 1>...);
  }
}
template <int V, std::size_t... R>
constexpr void set_pixel_tiles(Tiles& tiles, std::index_sequence<R...>) noexcept {
  tiles.set(V, &pixel_strip<V, static_cast<int>(R) + 1>...);
}
template <std::size_t... R>
constexpr void set_paired_tiles(Tiles& tiles, std::index_sequence<R...>) noexcept {
  tiles.set(4, &paired_strip<static_cast<int>(R) + 1>...);
}

/// `interleaves`: few output channels read planes in place: docs/decisions/0133.
template <Ahead A, bool interleaves>
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
            &quantize,
            &transpose,
            &interleave_pairs_of,
            &pack_rows};
  k.pixel_strips = true;
  k.copies_ahead = true;
  k.sum_flipped_runs = &sum_flipped_runs;
  k.interleave_planes = &interleave_planes;
  k.float_sums = true;
  k.rounds_tiles = true;
  k.compares_exceptions = true;
  k.second_parts = true;
  set_channel_tiles<A, 1>(k.channel_tiles, std::make_index_sequence<14>());
  set_channel_tiles<A, 2>(k.channel_tiles, std::make_index_sequence<14>());
  set_channel_tiles<A, 4>(k.channel_tiles, std::make_index_sequence<6>());
  set_pixel_tiles<1>(k.pixel_tiles, std::make_index_sequence<6>());
  set_pixel_tiles<2>(k.pixel_tiles, std::make_index_sequence<6>());
  set_pixel_tiles<3>(k.pixel_tiles, std::make_index_sequence<6>());
  k.interleaves = interleaves;
  if constexpr (interleaves) {
    set_paired_tiles(k.pixel_tiles, std::make_index_sequence<6>());
  } else {
    set_pixel_tiles<4>(k.pixel_tiles, std::make_index_sequence<6>());
  }
  return k;
}
inline constexpr Kernels kernels = make_kernels<Ahead::if_shallow, true>();
inline constexpr Kernels full_width_kernels = make_kernels<Ahead::always, true>();
inline constexpr Kernels two_pipes_kernels = make_kernels<Ahead::if_shallow, false>();

}  // namespace fast::qlc::avx512vnni
DMLREF_END
#endif
