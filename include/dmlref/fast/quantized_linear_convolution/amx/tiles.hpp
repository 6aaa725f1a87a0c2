// tiles.hpp: products of tiles.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/amx/plan.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::amx {

/// While it lives, this thread's eight tile registers have 16 rows of 64 bytes.
class TileRegisters {
 public:
  DMLREF_TARGET_AMX_INT8 TileRegisters() noexcept {
    alignas(64) std::uint8_t config[64] = {1};  // palette
    for (int i = 0; i < 8; ++i) {
      config[16 + 2 * i] = tile_depth;
      config[48 + i] = tile_side;
    }
    __asm__ volatile("" : : "r"(&config[0]) : "memory");  // g++'s intrinsic names but eight bytes of it
    _tile_loadconfig(config);
  }
  DMLREF_TARGET_AMX_INT8 ~TileRegisters() { _tile_release(); }
  TileRegisters(const TileRegisters&) = delete;
  TileRegisters& operator=(const TileRegisters&) = delete;
};

/// Rows x Lanes tiles of sums, each one or two.
struct MultiplyArgs {
  const std::uint8_t* weights;  ///< of the first 16 channels
  Index weight_block;           ///< bytes to the next 16
  const std::uint8_t* pixels[2];
  const std::int32_t* offsets;  ///< of each chunk of K
  Index chunks;
  Index tile_step;            ///< bytes between the rows of a tile of activations
  const std::int32_t* start;  ///< as Run::start, at the first channel
  std::int32_t* sums;
  Index sums_pitch;  ///< bytes
};

/// Multiplies, and after each chunk has `work` do `share` of its own: the tile unit is busy for 16 cycles a product,
/// the others meanwhile are not.
template <bool Planar, int Rows, int Lanes, class Work>
DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void multiply(const MultiplyArgs& t, Work& work, Index share) noexcept {
  __asm__ volatile("" ::: "memory");  // g++'s tile loads do not say that they read memory
  const Index sums_row = t.sums_pitch / 4;
  if constexpr (Planar) {
    constexpr Index next = tile_side * tile_side;
    _tile_loadd(0, t.start, 64);
    if constexpr (Lanes > 1) _tile_loadd(1, t.start, 64);
    if constexpr (Rows > 1) _tile_loadd(2, t.start + next, 64);
    if constexpr (Rows > 1 && Lanes > 1) _tile_loadd(3, t.start + next, 64);
  } else {
    _tile_loadd(0, t.start, 0);
    if constexpr (Lanes > 1) _tile_loadd(1, t.start + tile_side, 0);
    if constexpr (Rows > 1) _tile_loadd(2, t.start, 0);
    if constexpr (Rows > 1 && Lanes > 1) _tile_loadd(3, t.start + tile_side, 0);
  }
  const std::uint8_t* w = t.weights;
  for (Index chunk = 0; chunk < t.chunks; ++chunk, w += tile_bytes) {
    const Index at = t.offsets[chunk];
    if constexpr (Planar) {
      _tile_loadd(4, w, 64);
      _tile_loadd(6, t.pixels[0] + at, t.tile_step);
      _tile_dpbsud(0, 4, 6);
      if constexpr (Lanes > 1) {
        _tile_loadd(7, t.pixels[1] + at, t.tile_step);
        _tile_dpbsud(1, 4, 7);
      }
      if constexpr (Rows > 1) {
        _tile_loadd(5, w + t.weight_block, 64);
        _tile_dpbsud(2, 5, 6);
        if constexpr (Lanes > 1) _tile_dpbsud(3, 5, 7);
      }
    } else {
      _tile_loadd(6, w, 64);
      _tile_loadd(4, t.pixels[0] + at, t.tile_step);
      _tile_dpbusd(0, 4, 6);
      if constexpr (Lanes > 1) {
        _tile_loadd(7, w + t.weight_block, 64);
        _tile_dpbusd(1, 4, 7);
      }
      if constexpr (Rows > 1) {
        _tile_loadd(5, t.pixels[1] + at, t.tile_step);
        _tile_dpbusd(2, 5, 6);
        if constexpr (Lanes > 1) _tile_dpbusd(3, 5, 7);
      }
    }
    work.advance(share);
  }
  _tile_stored(0, t.sums, t.sums_pitch);
  if constexpr (Lanes > 1) _tile_stored(1, t.sums + tile_side, t.sums_pitch);
  if constexpr (Rows > 1) _tile_stored(2, t.sums + tile_side * sums_row, t.sums_pitch);
  if constexpr (Rows > 1 && Lanes > 1) _tile_stored(3, t.sums + tile_side * sums_row + tile_side, t.sums_pitch);
}

/// Two tiles, or one, of rows and of lanes.
template <bool Planar, class Work>
DMLREF_NOINLINE DMLREF_TARGET_AMX_INT8 void multiply_of(bool two_rows, bool two_lanes, const MultiplyArgs& t,
                                                        Work& work, Index share) noexcept {
  if (two_rows) {
    two_lanes ? multiply<Planar, 2, 2>(t, work, share) : multiply<Planar, 2, 1>(t, work, share);
  } else {
    two_lanes ? multiply<Planar, 1, 2>(t, work, share) : multiply<Planar, 1, 1>(t, work, share);
  }
}

/// All that is left of it.
template <class Work>
DMLREF_NOINLINE DMLREF_TARGET_AMX_INT8 void finish_all(Work& work) noexcept {
  work.advance(work.left());
}

}  // namespace fast::qlc::amx
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
