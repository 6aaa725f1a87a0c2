// tiles.hpp: products of tiles.
#pragma once

#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/int8/amx/products.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/amx/plan.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::amx {

/// Channels x Pixels tiles of sums, each one or two.
struct MultiplyArgs {
  const std::uint8_t* weights = nullptr;  ///< of the first 16 channels
  Index weight_block = 0;                 ///< bytes to the next 16
  const std::uint8_t* pixels[2] = {};
  const std::int32_t* offsets = nullptr;  ///< of each K-block
  Index k_blocks = 0;
  Index tile_step = 0;  ///< bytes between the rows of a tile of activations
  bool signed_pixels = false;
  const std::int32_t* start = nullptr;  ///< as Run::start, at the first channel
  std::uint8_t* sums = nullptr;         ///< int32, at any address
  Index sums_pitch = 0;                 ///< bytes
};

/// Where the sums of the pass before are requantized: after the loads of sums, twice in each K-block, after the stores.
/// More points cost more instructions than they hide. The last of an odd number of tiles has none.
template <class Epilogue, bool Used>
struct InterleavePoints {
  Epilogue& epilogue;
  DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void operator()() const noexcept {
    if constexpr (Used) epilogue.interleave_point();
  }
};
constexpr Index interleave_points(Index k_blocks) noexcept { return 2 + 2 * k_blocks; }

/// Multiplies, and requantizes sums of the pass before meanwhile.
template <bool Planar, int Channels, int Pixels, class Epilogue>
DMLREF_NOINLINE DMLREF_TARGET_AMX_INT8 void multiply(const MultiplyArgs& t, Epilogue& epilogue) noexcept {
  constexpr int rows = Planar ? Channels : Pixels, columns = Planar ? Pixels : Channels;
  constexpr Index next = Planar ? tile_side * tile_side : tile_side, distance = Planar ? 64 : 0;
  typename Epilogue::Working pending(epilogue);
  InterleavePoints<Epilogue, Pixels == 2> point{pending};
  __asm__ volatile("" ::: "memory");  // g++'s tile loads do not say that they read memory
  _tile_loadd(0, t.start, distance);
  if constexpr (columns > 1) _tile_loadd(1, t.start + (Planar ? 0 : next), distance);
  if constexpr (rows > 1) _tile_loadd(2, t.start + (Planar ? next : 0), distance);
  if constexpr (rows > 1 && columns > 1) _tile_loadd(3, t.start + next, distance);
  point();
  const std::uint8_t* w = t.weights;
  for (Index block = 0; block < t.k_blocks; ++block, w += tile_bytes) {
    const std::uint8_t *const w1 = w + t.weight_block, *const p0 = t.pixels[0] + t.offsets[block],
                              *const p1 = t.pixels[1] + t.offsets[block];
    if constexpr (Planar) {
      multiply_k_block<Product::planes, rows, columns>({{w, w1}, {p0, p1}, 64, t.tile_step}, point);
    } else if (__builtin_expect(t.signed_pixels, 0)) {  // (a branch for each product costs up to 5 % of some layers)
      multiply_k_block<Product::signed_pixels, rows, columns>({{p0, p1}, {w, w1}, t.tile_step, 64}, point);
    } else {
      multiply_k_block<Product::pixels, rows, columns>({{p0, p1}, {w, w1}, t.tile_step, 64}, point);
    }
  }
  constexpr Index beside = 4 * tile_side;  // bytes
  std::uint8_t* const second_rows = t.sums + tile_side * t.sums_pitch;
  _tile_stored(0, t.sums, t.sums_pitch);
  if constexpr (columns > 1) _tile_stored(1, t.sums + beside, t.sums_pitch);
  if constexpr (rows > 1) _tile_stored(2, second_rows, t.sums_pitch);
  if constexpr (rows > 1 && columns > 1) _tile_stored(3, second_rows + beside, t.sums_pitch);
  point();
  if constexpr (Pixels == 2) epilogue.resume(pending);  // of itself, perhaps
}

/// The same for one or two tiles of channels and of pixels.
template <bool Planar, class Epilogue>
void multiply_of(bool two_of_channels, bool two_of_pixels, const MultiplyArgs& t, Epilogue& epilogue) noexcept {
  if (two_of_channels) {
    two_of_pixels ? multiply<Planar, 2, 2>(t, epilogue) : multiply<Planar, 2, 1>(t, epilogue);
  } else {
    two_of_pixels ? multiply<Planar, 1, 2>(t, epilogue) : multiply<Planar, 1, 1>(t, epilogue);
  }
}

}  // namespace fast::qlc::amx
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
