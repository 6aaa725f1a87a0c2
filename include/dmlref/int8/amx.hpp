// amx.hpp: matrix products by AMX: 16 or 32 rows of A by 32 columns, 64 values of K at a time. Panels are those of
// AVX-512 VNNI: 16 K-groups of 16 columns are a tile, 128 bytes apart.
#pragma once

#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/int8/amx/products.hpp"
#include "dmlref/int8/avx512vnni.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/requantize/avx512.hpp"
#include "dmlref/simd/address.hpp"
#include "dmlref/view/narrow.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::amx {

struct NoPoints {
  void operator()() const noexcept {}
};

/// sums = start + the products of 16 or 32 rows and 32 columns. Two interleave points for each 64 values of K.
template <int Rows, Product P, class Point>
DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void multiply(const TileArgs& t, const std::uint8_t* activations,
                                                          std::int32_t* sums, std::int64_t pitch,
                                                          Point& point) noexcept {
  constexpr int tiles = Rows / tile_side;
  const TileOperands& o = t.operands;
  const std::int32_t* const start = t.offsets.channel;
  __asm__ volatile("" ::: "memory");  // g++'s tile loads do not say that they read memory
  _tile_loadd(0, start, 0);
  _tile_loadd(1, start + tile_side, 0);
  if constexpr (tiles > 1) _tile_loadd(2, start, 0);
  if constexpr (tiles > 1) _tile_loadd(3, start + tile_side, 0);
  const std::uint8_t* w = o.weights;
  for (std::int64_t k = 0; k < o.steps; k += tile_side, w += tile_side * o.weight_step) {
    const std::uint8_t* const a = activations + o.offsets[k];
    multiply_k_block<P, tiles, 2, true>(
        {{a, a + (Rows - tile_side) * o.pixel_step}, {w, w + o.weight_block}, o.pixel_step, o.weight_step}, point);
  }
  if (o.steps <= 2 * tile_side) {  // too few products to hide that stores wait, one by one, for lines of the output
    for (int row = 0; row < Rows; ++row) {
      prefetch_line<1>(address_of(sums + row * pitch));
      prefetch_line<1>(address_of(sums + row * pitch + tile_side));
    }
  }
  _tile_stored(0, sums, 4 * pitch);
  _tile_stored(1, sums + tile_side, 4 * pitch);
  if constexpr (tiles > 1) _tile_stored(2, sums + tile_side * pitch, 4 * pitch);
  if constexpr (tiles > 1) _tile_stored(3, sums + tile_side * (pitch + 1), 4 * pitch);
  __asm__ volatile("" ::: "memory");  // nor their stores that they write it
}

/// A tile's sums, rows of 32, to bytes: two rows at each interleave point of the next tile's products.
template <int Rows>
class RoundingPoint {
 public:
  DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE explicit RoundingPoint(const TileBytes& to) noexcept
      : to_(to), epilogue_(to.requantizer), channels_(epilogue_.channels<2, false>(to.first_channel)) {}

  DMLREF_ALWAYS_INLINE void take(const std::int32_t* sums, std::uint8_t* out) noexcept {
    sums_ = sums;
    out_ = out;
    rows_ = Rows;
  }
  DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void operator()() noexcept {
    if (rows_ == 0) return;
    __m512i two_rows[4];
    DMLREF_UNROLL
    for (int v = 0; v < 4; ++v) two_rows[v] = _mm512_loadu_si512(sums_ + 16 * v);
    auto result = epilogue_.of_pixels<2, false, SumsBegin::as_integers>(two_rows, channels_);
    if (__builtin_expect(result.has_near_tie, 0)) {
      std::uint8_t bytes[64];
      requantize::avx512::store_in_doubles<requantize::avx512::FixedPointOf::floats>(sums_, to_.requantizer,
                                                                                     to_.first_channel, 32, 64, bytes);
      result.bytes = _mm512_loadu_si512(bytes);
    }
    TileEpilogue::store_half<0>(out_, result.bytes);
    TileEpilogue::store_half<1>(out_ + to_.pitch, result.bytes);
    sums_ += 64;
    out_ += 2 * to_.pitch;
    rows_ -= 2;
  }
  DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void finish() noexcept {
    while (rows_ != 0) (*this)();
  }

 private:
  using TileEpilogue = requantize::avx512::TileEpilogue;

  const TileBytes& to_;
  TileEpilogue epilogue_;
  TileEpilogue::Channels<2> channels_;
  const std::int32_t* sums_ = nullptr;
  std::uint8_t* out_ = nullptr;
  int rows_ = 0;  // left
};

/// Tiles of kernels.hpp, with no zero-point term. K-groups lie side by side in each K-block. The sums of a tile are
/// rounded between the next one's products.
template <int Rows, Product P>
DMLREF_TARGET_AMX_INT8 inline void run_tiles(const TileArgs& t) noexcept {
  const std::int64_t step = Rows * t.operands.pixel_step;
  if (t.output == TileOutput::sums) {
    const NoPoints none;
    for (std::int64_t i = 0; i < t.count; ++i) {
      multiply<Rows, P>(t, t.operands.activations + i * step, t.sums.at + i * Rows * t.sums.pitch, t.sums.pitch, none);
    }
    return;
  }
  alignas(64) std::int32_t sums[2][Rows * 2 * tile_side];
  RoundingPoint<Rows> round(t.bytes);
  for (std::int64_t i = 0; i < t.count; ++i) {
    multiply<Rows, P>(t, t.operands.activations + i * step, sums[i % 2], 2 * tile_side, round);
    round.finish();
    round.take(sums[i % 2], t.bytes.at + i * Rows * t.bytes.pitch);
  }
  round.finish();
}

/// Of signed bytes.
inline void sum_signed_runs(const std::uint8_t* src, std::ptrdiff_t count, std::ptrdiff_t step, std::ptrdiff_t runs,
                            std::int32_t* sums) noexcept {
  avx512vnni::sum_flipped_runs(src, count, step, runs, sums);
  const auto more = dmlref::detail::narrow<std::int32_t>(128 * count);
  for (std::ptrdiff_t r = 0; r < runs; ++r) sums[r] -= more;
}

template <Product P>
constexpr Kernels make_kernels() noexcept {
  Kernels k = avx512vnni::kernels;
  k.steps = tile_side;
  k.begin_tiles = &begin_tiles;
  k.end_tiles = &end_tiles;
  k.signed_activations = P == Product::signed_pixels;
  if (k.signed_activations) k.sum_runs = &sum_signed_runs;
  k.channel_tiles = {};
  k.channel_tiles.set(2, Tile{tile_side, &run_tiles<16, P>}, Tile{2 * tile_side, &run_tiles<32, P>});
  k.pixel_tiles = {};
  return k;
}
/// For UINT8 A, or INT8: none is staged for its sign.
inline constexpr Kernels kernels = make_kernels<Product::pixels>();
inline constexpr Kernels signed_kernels = make_kernels<Product::signed_pixels>();

}  // namespace fast::qlc::amx
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
