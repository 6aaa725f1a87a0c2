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
  bool signed_pixels;         ///< not planar: activations are signed
  const std::int32_t* start;  ///< as Run::start, at the first channel
  std::int32_t* sums;
  Index sums_pitch;  ///< bytes
};

/// Where `multiply` lets other work have a turn: the tile unit is busy for 16 cycles a product, the others meanwhile
/// are not.
enum class Turn {
  edge,    // after a tile of sums was loaded or stored
  inside,  // between the two halves of a chunk
  chunk    // after a chunk
};

template <bool Planar, int Rows, int Lanes, class Work>
DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void multiply(const MultiplyArgs& t, Work& work) noexcept {
  __asm__ volatile("" ::: "memory");  // g++'s tile loads do not say that they read memory
  constexpr Index next = Planar ? tile_side * tile_side : tile_side;
  constexpr Index distance = Planar ? 64 : 0;
  const std::int32_t* const start_of_rows = t.start + (Planar ? next : 0);
  const std::int32_t* const start_of_lanes = t.start + (Planar ? 0 : next);
  _tile_loadd(0, t.start, distance);
  work.template turn<Turn::edge>();
  if constexpr (Lanes > 1) _tile_loadd(1, start_of_lanes, distance);
  work.template turn<Turn::edge>();
  if constexpr (Rows > 1) _tile_loadd(2, start_of_rows, distance);
  work.template turn<Turn::edge>();
  if constexpr (Rows > 1 && Lanes > 1) _tile_loadd(3, t.start + next, distance);
  work.template turn<Turn::edge>();
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
      work.template turn<Turn::inside>();
      if constexpr (Rows > 1) {
        _tile_loadd(5, w + t.weight_block, 64);
        _tile_dpbsud(2, 5, 6);
        if constexpr (Lanes > 1) _tile_dpbsud(3, 5, 7);
      }
    } else if (__builtin_expect(t.signed_pixels, 0)) {
      // (A branch for each product instead costs up to 5 % of some layers.)
      _tile_loadd(6, w, 64);
      _tile_loadd(4, t.pixels[0] + at, t.tile_step);
      _tile_dpbssd(0, 4, 6);
      if constexpr (Lanes > 1) {
        _tile_loadd(7, w + t.weight_block, 64);
        _tile_dpbssd(1, 4, 7);
      }
      work.template turn<Turn::inside>();
      if constexpr (Rows > 1) {
        _tile_loadd(5, t.pixels[1] + at, t.tile_step);
        _tile_dpbssd(2, 5, 6);
        if constexpr (Lanes > 1) _tile_dpbssd(3, 5, 7);
      }
    } else {
      _tile_loadd(6, w, 64);
      _tile_loadd(4, t.pixels[0] + at, t.tile_step);
      _tile_dpbusd(0, 4, 6);
      if constexpr (Lanes > 1) {
        _tile_loadd(7, w + t.weight_block, 64);
        _tile_dpbusd(1, 4, 7);
      }
      work.template turn<Turn::inside>();
      if constexpr (Rows > 1) {
        _tile_loadd(5, t.pixels[1] + at, t.tile_step);
        _tile_dpbusd(2, 5, 6);
        if constexpr (Lanes > 1) _tile_dpbusd(3, 5, 7);
      }
    }
    work.template turn<Turn::chunk>();
  }
  std::int32_t* const rows = t.sums + tile_side * (t.sums_pitch / 4);
  _tile_stored(0, t.sums, t.sums_pitch);
  work.template turn<Turn::edge>();
  if constexpr (Lanes > 1) _tile_stored(1, t.sums + tile_side, t.sums_pitch);
  work.template turn<Turn::edge>();
  if constexpr (Rows > 1) _tile_stored(2, rows, t.sums_pitch);
  work.template turn<Turn::edge>();
  if constexpr (Rows > 1 && Lanes > 1) _tile_stored(3, rows + tile_side, t.sums_pitch);
  work.template turn<Turn::edge>();
}

/// Work of a `Finish`: a share of it after each chunk.
template <class Finish>
class Shares {
 public:
  Shares(Finish& finish, Index share) noexcept : finish_(finish), share_(share) {}
  template <Turn T>
  DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void turn() noexcept {
    if constexpr (T == Turn::chunk) finish_.advance(share_);
  }

 private:
  Finish& finish_;
  Index share_;
};

inline constexpr Index brisk_turns_of_edges = 8, brisk_turns_of_chunk = 2;

/// The work of a Finish::Brisk, step by step: `rate` steps in `turns` turns. `due` is what of that is left from before.
template <class Brisk>
class Steps {
 public:
  DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE Steps(Brisk& brisk, Index rate, Index turns, Index due) noexcept
      : brisk_(brisk), rate_(rate), turns_(turns), due_(due) {}
  template <Turn T>
  DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void turn() noexcept {
    for (due_ += rate_; due_ >= turns_; due_ -= turns_) brisk_.step();
  }
  Index due() const noexcept { return due_; }

 private:
  Brisk& brisk_;
  Index rate_, turns_, due_;
};

/// Two tiles, or one, of rows and of lanes, while `finish` does a share of its work after each chunk.
template <bool Planar, class Finish>
DMLREF_NOINLINE DMLREF_TARGET_AMX_INT8 void multiply_of(bool two_rows, bool two_lanes, const MultiplyArgs& t,
                                                        Finish& finish, Index share) noexcept {
  Shares<Finish> work(finish, share);
  if (two_rows) {
    two_lanes ? multiply<Planar, 2, 2>(t, work) : multiply<Planar, 2, 1>(t, work);
  } else {
    two_lanes ? multiply<Planar, 1, 2>(t, work) : multiply<Planar, 1, 1>(t, work);
  }
}

template <class Finish>
using BriskMultiply = Index(const MultiplyArgs& t, Finish& finish, Index rate, Index turns, Index due) noexcept;

/// Two tiles of lanes, of one or two of rows, while `finish` does `rate` of its steps in as many as `turns` turns.
template <bool Planar, int Rows, class Brisk, class Finish>
DMLREF_NOINLINE DMLREF_TARGET_AMX_INT8 Index multiply_briskly(const MultiplyArgs& t, Finish& finish, Index rate,
                                                              Index turns, Index due) noexcept {
  Brisk brisk(finish);
  Steps<Brisk> steps(brisk, rate, turns, due);
  multiply<Planar, Rows, 2>(t, steps);
  brisk.resume(finish);
  return steps.due();
}

/// What Finish::briskly chooses from.
template <bool Planar, int Rows>
struct Briskly {
  template <class Brisk, class Finish>
  static constexpr BriskMultiply<Finish>* of = &multiply_briskly<Planar, Rows, Brisk, Finish>;
};

/// All that is left of it.
template <class Finish>
DMLREF_NOINLINE DMLREF_TARGET_AMX_INT8 void finish_all(Finish& finish) noexcept {
  finish.advance(finish.left());
}

}  // namespace fast::qlc::amx
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
