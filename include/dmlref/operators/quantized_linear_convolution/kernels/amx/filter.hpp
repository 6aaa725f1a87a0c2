// filter.hpp: the filter as AMX's tiles read it.
//
//   group | block of 16 output channels | K-block of 64 values | tile      weights as signed bytes
//   group | block of 16 output channels | channel of the block                sums of weights, int32
//
// Rows of a tile are channels where pixels are columns, else groups of four values of K.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/int8/avx512vnni/staging.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/amx/gather.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/amx/plan.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::amx {

/// A block's channels; those that are missing are padding, as bytes of K are.
struct FilterBlock {
  const std::uint8_t* channels;
  Index pitch;  // from channel to channel
  Index count;  // of channels
  std::uint8_t flip;
  std::uint8_t* tiles;
  std::int32_t* sums;
};

/// A K-block's rows of the first N channels. Whole: there are so many, and their windows have 64 bytes; masks on loads
/// take half as long again.
template <bool Whole, Index N>
DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void gather_windows(const Gather& gather, const GatheredRow& row,
                                                                const FilterBlock& block, __m512i (&rows)[N]) noexcept {
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(block.flip));
  DMLREF_UNROLL
  for (Index r = 0; r < N; ++r) rows[r] = flip;  // padding, that will be 0
  for (Index i = row.first; i < row.last; ++i) {
    const Window& window = gather.windows[static_cast<std::size_t>(i)];
    const __m512i from = _mm512_loadu_si512(window.from.data());
    const std::uint8_t* at = block.channels + row.at + window.at;
    DMLREF_UNROLL
    for (Index r = 0; r < N; ++r, at = hidden(at + block.pitch)) {
      if (!Whole && r >= block.count) break;
      const __m512i bytes = Whole ? _mm512_loadu_si512(at) : _mm512_maskz_loadu_epi8(row.there, at);
      rows[r] = _mm512_mask_permutexvar_epi8(rows[r], window.taken, from, bytes);
    }
  }
  DMLREF_UNROLL
  for (Index r = 0; r < N; ++r) rows[r] = _mm512_xor_si512(rows[r], flip);
}

template <Index N>
DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void gather_rows(const Gather& gather, const GatheredRow& row,
                                                             const FilterBlock& block, __m512i (&rows)[N]) noexcept {
  if (block.count >= N && row.there == ~std::uint64_t{0}) {
    gather_windows<true>(gather, row, block, rows);
  } else {
    gather_windows<false>(gather, row, block, rows);
  }
}

/// Rows are channels: eight of them at a time, so that there are registers for their sums.
DMLREF_NOINLINE DMLREF_TARGET_AMX_INT8 inline void pack_rows_of_channels(const Gather& gather,
                                                                         FilterBlock block) noexcept {
  constexpr Index half = tile_side / 2;
  const __m512i ones = _mm512_set1_epi8(1);
  for (Index first = 0; first < tile_side; first += half) {
    __m512i sums[half];
    DMLREF_UNROLL
    for (__m512i& sum : sums) sum = _mm512_setzero_si512();
    for (const GatheredRow& row : gather.rows) {
      __m512i rows[half];
      gather_rows(gather, row, block, rows);
      std::uint8_t* const tile = block.tiles + row.block * tile_bytes;
      DMLREF_UNROLL
      for (Index r = 0; r < half; ++r) {
        _mm512_storeu_si512(tile + r * tile_depth, rows[r]);
        sums[r] = _mm512_dpbusd_epi32(sums[r], ones, rows[r]);
      }
    }
    DMLREF_UNROLL
    for (Index r = 0; r < half; ++r) block.sums[r] = _mm512_reduce_add_epi32(sums[r]);
    block.channels += half * block.pitch;
    block.count -= half;
    block.tiles += half * tile_depth;
    block.sums += half;
  }
}

/// Rows are groups of four values.
DMLREF_NOINLINE DMLREF_TARGET_AMX_INT8 inline void pack_rows_of_groups(const Gather& gather,
                                                                       const FilterBlock& block) noexcept {
  const __m512i ones = _mm512_set1_epi8(1);
  __m512i sums = _mm512_setzero_si512();
  for (const GatheredRow& row : gather.rows) {
    __m512i rows[tile_side];
    gather_rows(gather, row, block, rows);
    avx512vnni::transpose_groups(rows);
    std::uint8_t* const tile = block.tiles + row.block * tile_bytes;
    DMLREF_UNROLL
    for (Index r = 0; r < tile_side; ++r) {
      _mm512_storeu_si512(tile + r * tile_depth, rows[r]);
      sums = _mm512_dpbusd_epi32(sums, ones, rows[r]);
    }
  }
  _mm512_storeu_si512(block.sums, sums);
}

/// Blocks [first, last) of all groups'. Unsigned filters are shifted by -128, and so are their zero points.
inline void pack_filter(const Plan& p, const std::byte* filter, std::byte* to, Index first, Index last) noexcept {
  const auto* from = reinterpret_cast<const std::uint8_t*>(filter);
  auto* const sums = reinterpret_cast<std::int32_t*>(to + p.filter_sums_at());
  const Index blocks = p.filter_blocks();
  for (Index block = first; block < last; ++block) {
    const Index channel = block % blocks * tile_side;
    const FilterBlock here{from + (block / blocks * p.g.out_channels + channel) * p.g.filter.n,
                           p.g.filter.n,
                           smaller(tile_side, p.g.out_channels - channel),
                           static_cast<std::uint8_t>(p.g.filter_signed ? 0 : 0x80),
                           reinterpret_cast<std::uint8_t*>(to) + block * p.filter_block_bytes(),
                           sums + block * tile_side};
    p.planar() ? pack_rows_of_channels(p.gather, here) : pack_rows_of_groups(p.gather, here);
  }
}

}  // namespace fast::qlc::amx
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
