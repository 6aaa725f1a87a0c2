// avx2.hpp: 16 channels of sixteen bits, or 8 sums, to a register.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/avx2.hpp"
#include "dmlref/fast/quantized_linear_convolution/winograd/portable.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <cstring>

DMLREF_BEGIN
namespace fast::qlc::winograd::avx2 {

DMLREF_TARGET_AVX2 inline __m256i load(const void* from) noexcept {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
DMLREF_TARGET_AVX2 inline void store(void* to, __m256i value) noexcept {
  _mm256_storeu_si256(static_cast<__m256i*>(to), value);
}

/// The rows of B^T times one column of values, in place.
DMLREF_TARGET_AVX2 inline void input_column(__m256i& d0, __m256i& d1, __m256i& d2, __m256i& d3) noexcept {
  const __m256i v0 = _mm256_sub_epi16(d0, d2);
  const __m256i v1 = _mm256_add_epi16(d1, d2);
  const __m256i v2 = _mm256_sub_epi16(d2, d1);
  const __m256i v3 = _mm256_sub_epi16(d1, d3);
  d0 = v0;
  d1 = v1;
  d2 = v2;
  d3 = v3;
}

DMLREF_TARGET_AVX2 inline void input_column(__m256i (&d)[6]) noexcept {
  const __m256i outer = _mm256_sub_epi16(d[4], _mm256_slli_epi16(d[2], 2));
  const __m256i inner = _mm256_sub_epi16(d[3], _mm256_slli_epi16(d[1], 2));
  const __m256i even = _mm256_sub_epi16(d[4], d[2]);
  const __m256i odd = _mm256_slli_epi16(_mm256_sub_epi16(d[3], d[1]), 1);
  const __m256i v0 = _mm256_add_epi16(_mm256_slli_epi16(_mm256_sub_epi16(d[0], d[2]), 2), even);
  const __m256i v5 = _mm256_sub_epi16(_mm256_sub_epi16(d[5], d[3]), _mm256_slli_epi16(odd, 1));
  d[0] = v0;
  d[1] = _mm256_add_epi16(outer, inner);
  d[2] = _mm256_sub_epi16(outer, inner);
  d[3] = _mm256_add_epi16(even, odd);
  d[4] = _mm256_sub_epi16(even, odd);
  d[5] = v5;
}

DMLREF_TARGET_AVX2 inline void input_of_2(const InputArgs& a) noexcept {
  for (std::ptrdiff_t tile = 0; tile < a.tiles; ++tile) {
    const std::int16_t* from = a.staged + tile * 2 * a.pixel_step;
    std::int16_t* to = a.v + (a.first_tile + tile) * a.tile_step;
    for (std::ptrdiff_t c = 0; c < a.channels; c += 16) {
      __m256i d[4][4];
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) d[i][j] = load(from + i * a.row_step + j * a.pixel_step + c);
        input_column(d[0][j], d[1][j], d[2][j], d[3][j]);
      }
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        input_column(d[i][0], d[i][1], d[i][2], d[i][3]);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) store(to + (4 * i + j) * a.position_step + c, d[i][j]);
      }
    }
  }
}

DMLREF_TARGET_AVX2 inline void input_of_4(const InputArgs& a) noexcept {
  for (std::ptrdiff_t tile = 0; tile < a.tiles; ++tile) {
    const std::int16_t* from = a.staged + tile * 4 * a.pixel_step;
    std::int16_t* to = a.v + (a.first_tile + tile) * a.tile_step;
    for (std::ptrdiff_t c = 0; c < a.channels; c += 16) {
      __m256i rows[6][6];  // B^T d
#pragma GCC unroll 1
      for (int j = 0; j < 6; ++j) {
        __m256i d[6];
#pragma GCC unroll 6
        for (int i = 0; i < 6; ++i) d[i] = load(from + i * a.row_step + j * a.pixel_step + c);
        input_column(d);
#pragma GCC unroll 6
        for (int i = 0; i < 6; ++i) rows[i][j] = d[i];
      }
#pragma GCC unroll 1
      for (int i = 0; i < 6; ++i) {
        __m256i d[6];
#pragma GCC unroll 6
        for (int j = 0; j < 6; ++j) d[j] = rows[i][j];
        input_column(d);
#pragma GCC unroll 6
        for (int j = 0; j < 6; ++j) store(to + (6 * i + j) * a.position_step + c, d[j]);
      }
    }
  }
}

// Rows of B^T d one after the other: 25 values would not fit the registers, and those are cheap to make.
DMLREF_TARGET_AVX2 inline void input_strided_of_2(const InputArgs& a) noexcept {
  constexpr Positions positions = positions_of(strided_tiles_of_2);
  for (std::ptrdiff_t tile = 0; tile < a.tiles; ++tile) {
    const std::int16_t* from = a.staged + tile * 4 * a.pixel_step;
    for (std::ptrdiff_t c = 0; c < a.channels; c += 16) {
#pragma GCC unroll 5
      for (int i = 0; i < 5; ++i) {
        constexpr int taken[5] = {0, 1, 2, 4, 3};
        __m256i row[5];
#pragma GCC unroll 5
        for (int j = 0; j < 5; ++j) {
          const std::int16_t* pixel = from + j * a.pixel_step + c;
          row[j] = load(pixel + taken[i] * a.row_step);
          if (taken[i] % 4 == 0) row[j] = _mm256_sub_epi16(row[j], load(pixel + 2 * a.row_step));
        }
        const __m256i v[5] = {_mm256_sub_epi16(row[0], row[2]), row[1], row[2], _mm256_sub_epi16(row[4], row[2]),
                              row[3]};
#pragma GCC unroll 5
        for (int j = 0; j < 5; ++j) store(a.at(positions.at[i][j], tile) + c, v[j]);
      }
    }
  }
}

/// What 4 strided outputs multiply of the even values d[0], d[2], d[4], d[6], d[8]: d[k] of a column or a row.
DMLREF_TARGET_AVX2 inline void even_column(const __m256i (&d)[9], __m256i (&v)[5]) noexcept {
  const __m256i even = _mm256_sub_epi16(d[6], d[2]);
  const __m256i inner = _mm256_sub_epi16(d[6], d[4]);
  v[0] = _mm256_add_epi16(even, _mm256_slli_epi16(_mm256_sub_epi16(d[0], d[4]), 1));
  v[1] = _mm256_sub_epi16(inner, _mm256_slli_epi16(d[2], 1));
  v[2] = _mm256_sub_epi16(inner, _mm256_slli_epi16(_mm256_sub_epi16(d[4], d[2]), 1));
  v[3] = even;
  v[4] = _mm256_sub_epi16(_mm256_sub_epi16(d[8], d[4]), _mm256_slli_epi16(even, 1));
}

/// One row of B^T d times B, to where it lies in V.
DMLREF_TARGET_AVX2 inline void put_strided_row(const std::int16_t* from, std::ptrdiff_t step, std::int16_t* const* to,
                                               std::ptrdiff_t c) noexcept {
  __m256i d[9], v[5];
#pragma GCC unroll 9
  for (int j = 0; j < 9; ++j) d[j] = load(from + j * step);
  even_column(d, v);
  store(to[0] + c, v[0]);
  store(to[1] + c, d[1]);
  store(to[2] + c, v[1]);
  store(to[3] + c, v[2]);
  store(to[4] + c, v[3]);
  store(to[5] + c, v[4]);
  store(to[6] + c, d[7]);
  store(to[7] + c, d[3]);
  store(to[8] + c, d[5]);
}

DMLREF_TARGET_AVX2 inline void input_strided_of_4(const InputArgs& a) noexcept {
  constexpr Positions positions = positions_of(strided_tiles_of_4);
  constexpr int even_rows[5] = {0, 2, 3, 4, 5};
  constexpr int odd_rows[4] = {1, 7, 8, 6};
  for (std::ptrdiff_t tile = 0; tile < a.tiles; ++tile) {
    const std::int16_t* from = a.staged + tile * 8 * a.pixel_step;
    std::int16_t* to[9][9];
    for (int i = 0; i < 9; ++i) {
      for (int j = 0; j < 9; ++j) to[i][j] = a.at(positions.at[i][j], tile);
    }
    for (std::ptrdiff_t c = 0; c < a.channels; c += 16) {
      alignas(32) std::int16_t rows[5][9][16];  // of B^T d, those of even inputs
#pragma GCC unroll 1
      for (int j = 0; j < 9; ++j) {
        __m256i d[9], v[5];
#pragma GCC unroll 5
        for (int i = 0; i < 9; i += 2) d[i] = load(from + i * a.row_step + j * a.pixel_step + c);
        even_column(d, v);
#pragma GCC unroll 5
        for (int i = 0; i < 5; ++i) store(rows[i][j], v[i]);
      }
#pragma GCC unroll 1
      for (int i = 0; i < 5; ++i) put_strided_row(rows[i][0], 16, to[even_rows[i]], c);
#pragma GCC unroll 1
      for (int i = 0; i < 4; ++i) {
        put_strided_row(from + (2 * i + 1) * a.row_step + c, a.pixel_step, to[odd_rows[i]], c);
      }
    }
  }
}

/// sums + activations * weights. Hidden from the optimizer, which would else add up several steps' products before it
/// adds them to the sums, and run out of registers.
DMLREF_TARGET_AVX2 inline void add_product(__m256i& sums, __m256i activations, __m256i weights) noexcept {
  sums = qlc::avx2::dot(sums, activations, weights);
#if defined(__GNUC__)
  __asm__("" : "+x"(sums));
#endif
}

/// R tiles by 16 outputs at one position. Brings half a panel of weights, from `ahead` on, into the L1 cache meanwhile.
template <int R, bool Add>
DMLREF_TARGET_AVX2 inline void multiply_tiles(const std::int16_t* v, std::ptrdiff_t tile_step, const std::int16_t* u,
                                              std::ptrdiff_t steps, const std::uint8_t* ahead,
                                              std::int32_t* m) noexcept {
  constexpr std::size_t rows = R;
  __m256i sums[rows][2];
  if constexpr (Add) {
#pragma GCC unroll 6
    for (int r = 0; r < R; ++r) {
      sums[r][0] = load(m + r * block);
      sums[r][1] = load(m + r * block + 8);
    }
  } else {
#pragma GCC unroll 6
    for (int r = 0; r < R; ++r) sums[r][0] = sums[r][1] = _mm256_setzero_si256();
  }
  const auto* activations = reinterpret_cast<const std::uint8_t*>(v);
  const std::ptrdiff_t step = 2 * tile_step;
  const auto* weights = reinterpret_cast<const std::uint8_t*>(u);
  const std::uint8_t* const end = weights + 64 * steps;
  for (; weights != end; weights += 256, activations += 16, ahead += 128) {
    _mm_prefetch(reinterpret_cast<const char*>(ahead), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(ahead + 64), _MM_HINT_T0);
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      const __m256i low = load(weights + 64 * k);
      const __m256i high = load(weights + 64 * k + 32);
      const std::uint8_t* row = activations + 4 * k;
#pragma GCC unroll 6
      for (int r = 0; r < R; ++r) {
        if (r == 3) row = hidden(row + 3 * step);
        const __m256i pair = qlc::avx2::broadcast(row + r % 3 * step);
        add_product(sums[r][0], pair, low);
        add_product(sums[r][1], pair, high);
      }
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < R; ++r) {
    store(m + r * block, sums[r][0]);
    store(m + r * block + 8, sums[r][1]);
  }
}

/// R tiles, that start from 0 or from what M holds.
template <int R>
DMLREF_TARGET_AVX2 inline void multiply_group(const std::int16_t* v, std::ptrdiff_t tile_step, const std::int16_t* u,
                                              std::ptrdiff_t steps, const std::uint8_t* ahead, bool add,
                                              std::int32_t* m) noexcept {
  add ? multiply_tiles<R, true>(v, tile_step, u, steps, ahead, m)
      : multiply_tiles<R, false>(v, tile_step, u, steps, ahead, m);
}

// The first two groups of tiles fetch the two halves of the next panel of weights. Components of more steps than
// `most_steps` are taken in parts, so that two panels stay in the L1 cache.
DMLREF_TARGET_AVX2 inline void multiply(const MultiplyArgs& a) noexcept {
  constexpr std::ptrdiff_t most = 6;
  constexpr std::ptrdiff_t most_steps = 256;
  const Transform& t = *a.transform;
  const std::ptrdiff_t groups = (a.tiles + most - 1) / most;
  const std::ptrdiff_t smaller = a.tiles / groups;
  const std::ptrdiff_t wider = a.tiles % groups;  // groups of one tile more
  const std::ptrdiff_t part = a.steps > most_steps ? a.steps : most_steps / a.steps * a.steps;
  const std::int16_t* u = a.u;
  const std::int16_t* plane_v = a.v;
  std::int32_t* plane_m = a.m;
  for (int plane = 0, y = 0, x = 0; plane < t.planes(); ++plane) {
    const int depth = t.depth[y] * t.depth[x];
    const std::ptrdiff_t tile_step = depth * a.tile_step;
    for (std::ptrdiff_t first = 0, steps = 0; first < depth * a.steps; first += steps) {
      steps = depth * a.steps - first < part ? depth * a.steps - first : part;
      const std::ptrdiff_t panel = steps * 2 * block;
      const std::int16_t* v = plane_v + 2 * first;
      std::int32_t* m = plane_m;
      const bool add = first != 0;
      for (std::ptrdiff_t group = 0; group < groups; ++group) {
        const std::ptrdiff_t tiles = smaller + (group < wider ? 1 : 0);
        const auto* ahead = reinterpret_cast<const std::uint8_t*>(u + panel) + group % 2 * panel;
        switch (tiles) {
          case 1: multiply_group<1>(v, tile_step, u, steps, ahead, add, m); break;
          case 2: multiply_group<2>(v, tile_step, u, steps, ahead, add, m); break;
          case 3: multiply_group<3>(v, tile_step, u, steps, ahead, add, m); break;
          case 4: multiply_group<4>(v, tile_step, u, steps, ahead, add, m); break;
          case 5: multiply_group<5>(v, tile_step, u, steps, ahead, add, m); break;
          default: multiply_group<6>(v, tile_step, u, steps, ahead, add, m); break;
        }
        v += tiles * tile_step;
        m += tiles * block;
      }
      u += panel;
    }
    plane_v += depth * a.position_step;
    plane_m += a.m_position_step;
    if (++x == t.components) {
      x = 0;
      ++y;
    }
  }
}

/// Where a tile's sums begin, and what they become.
template <int Shift, std::uint32_t Inverse, bool Add>
DMLREF_TARGET_AVX2 inline void put_sums(std::int32_t* to, __m256i scaled, __m256i offset) noexcept {
  if constexpr (Inverse != 1)
    scaled = _mm256_mullo_epi32(scaled, _mm256_set1_epi32(static_cast<std::int32_t>(Inverse)));
  store(to, _mm256_add_epi32(_mm256_srai_epi32(scaled, Shift), Add ? load(to) : offset));
}

template <bool Add>
DMLREF_TARGET_AVX2 inline void output_of_2_as(const OutputArgs& a) noexcept {
  constexpr int shift = tiles_of_2.shift;
  __m256i offset[2] = {};
  if (!Add) {
    offset[0] = load(a.offset);
    offset[1] = load(a.offset + 8);
  }
  for (std::ptrdiff_t tile = 0; tile < a.tiles; ++tile) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const std::int32_t* m = a.m + tile * block + 8 * half;
      __m256i rows[2][4];  // A^T M
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        const __m256i m1 = load(m + (4 + j) * a.position_step);
        const __m256i m2 = load(m + (8 + j) * a.position_step);
        rows[0][j] = _mm256_add_epi32(_mm256_add_epi32(m1, m2), load(m + j * a.position_step));
        rows[1][j] = _mm256_sub_epi32(_mm256_sub_epi32(m1, m2), load(m + (12 + j) * a.position_step));
      }
      std::int32_t* to = a.sums + tile * 2 * block + 8 * half;
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i, to += a.row_step) {
        const __m256i sum = _mm256_add_epi32(rows[i][1], rows[i][2]);
        const __m256i difference = _mm256_sub_epi32(rows[i][1], rows[i][2]);
        put_sums<shift, 1, Add>(to, _mm256_add_epi32(sum, rows[i][0]), offset[half]);
        put_sums<shift, 1, Add>(to + block, _mm256_sub_epi32(difference, rows[i][3]), offset[half]);
      }
    }
  }
}

/// The rows of A^T for tiles of 4 times one column.
DMLREF_TARGET_AVX2 inline void output_column(const __m256i (&m)[6], __m256i (&y)[4]) noexcept {
  const __m256i sum1 = _mm256_add_epi32(m[1], m[2]);
  const __m256i difference1 = _mm256_sub_epi32(m[1], m[2]);
  const __m256i sum2 = _mm256_add_epi32(m[3], m[4]);
  const __m256i difference2 = _mm256_sub_epi32(m[3], m[4]);
  y[0] = _mm256_add_epi32(_mm256_add_epi32(m[0], sum1), sum2);
  y[1] = _mm256_add_epi32(difference1, _mm256_slli_epi32(difference2, 1));
  y[2] = _mm256_add_epi32(sum1, _mm256_slli_epi32(sum2, 2));
  const __m256i last = _mm256_slli_epi32(_mm256_add_epi32(_mm256_slli_epi32(difference2, 1), m[5]), 2);
  y[3] = _mm256_add_epi32(difference1, last);
}

/// The same for strided tiles of 4.
DMLREF_TARGET_AVX2 inline void output_column(const __m256i (&m)[7], __m256i (&y)[4]) noexcept {
  const __m256i sum = _mm256_add_epi32(m[1], m[2]);
  const __m256i difference = _mm256_sub_epi32(m[1], m[2]);
  y[0] = _mm256_add_epi32(_mm256_add_epi32(m[0], m[3]), sum);
  y[1] = _mm256_add_epi32(_mm256_add_epi32(difference, m[5]), _mm256_slli_epi32(m[3], 1));
  y[2] = _mm256_add_epi32(_mm256_add_epi32(sum, m[6]), _mm256_slli_epi32(m[3], 2));
  y[3] = _mm256_add_epi32(_mm256_add_epi32(difference, m[4]), _mm256_slli_epi32(m[3], 3));
}

/// Tiles of 4 with either stride.
template <const Transform& T, bool Add>
DMLREF_TARGET_AVX2 inline void output_of_4_as(const OutputArgs& a) noexcept {
  constexpr int n = T.components;
  constexpr std::size_t components = n;
  for (std::ptrdiff_t tile = 0; tile < a.tiles; ++tile) {
    for (int half = 0; half < 2; ++half) {
      const std::int32_t* from = a.m + tile * block + 8 * half;
      const __m256i offset = Add ? _mm256_setzero_si256() : load(a.offset + 8 * half);
      __m256i rows[4][components];  // A^T M
#pragma GCC unroll 1
      for (int j = 0; j < n; ++j) {
        __m256i m[components], y[4];
#pragma GCC unroll 7
        for (int i = 0; i < n; ++i) m[i] = load(from + (n * i + j) * a.position_step);
        output_column(m, y);
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) rows[i][j] = y[i];
      }
      std::int32_t* to = a.sums + tile * 4 * block + 8 * half;
#pragma GCC unroll 1
      for (int i = 0; i < 4; ++i, to += a.row_step) {
        __m256i m[components], y[4];
#pragma GCC unroll 7
        for (int j = 0; j < n; ++j) m[j] = rows[i][j];
        output_column(m, y);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) put_sums<T.shift, T.inverse, Add>(to + j * block, y[j], offset);
      }
    }
  }
}

template <bool Add>
DMLREF_TARGET_AVX2 inline void output_strided_of_2_as(const OutputArgs& a) noexcept {
  for (std::ptrdiff_t tile = 0; tile < a.tiles; ++tile) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const std::int32_t* m = a.m + tile * block + 8 * half;
      const __m256i offset = Add ? _mm256_setzero_si256() : load(a.offset + 8 * half);
      __m256i rows[2][3];  // A^T M
#pragma GCC unroll 3
      for (int j = 0; j < 3; ++j) {
        const __m256i shared = load(m + (3 + j) * a.position_step);
        rows[0][j] = _mm256_add_epi32(shared, load(m + j * a.position_step));
        rows[1][j] = _mm256_add_epi32(shared, load(m + (6 + j) * a.position_step));
      }
      std::int32_t* to = a.sums + tile * 2 * block + 8 * half;
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i, to += a.row_step) {
        put_sums<0, 1, Add>(to, _mm256_add_epi32(rows[i][0], rows[i][1]), offset);
        put_sums<0, 1, Add>(to + block, _mm256_add_epi32(rows[i][1], rows[i][2]), offset);
      }
    }
  }
}

DMLREF_TARGET_AVX2 inline void output_of_2(const OutputArgs& a) noexcept {
  a.offset == nullptr ? output_of_2_as<true>(a) : output_of_2_as<false>(a);
}
DMLREF_TARGET_AVX2 inline void output_of_4(const OutputArgs& a) noexcept {
  a.offset == nullptr ? output_of_4_as<tiles_of_4, true>(a) : output_of_4_as<tiles_of_4, false>(a);
}

DMLREF_TARGET_AVX2 inline void output_strided_of_2(const OutputArgs& a) noexcept {
  a.offset == nullptr ? output_strided_of_2_as<true>(a) : output_strided_of_2_as<false>(a);
}

DMLREF_TARGET_AVX2 inline void output_strided_of_4(const OutputArgs& a) noexcept {
  a.offset == nullptr ? output_of_4_as<strided_tiles_of_4, true>(a) : output_of_4_as<strided_tiles_of_4, false>(a);
}

DMLREF_TARGET_AVX2 inline void stage_pixels(const std::uint8_t* src, std::ptrdiff_t count, std::uint8_t flip,
                                            std::int32_t zero, std::int16_t* dst) noexcept {
  const __m128i flips = _mm_set1_epi8(static_cast<char>(flip));
  const __m256i zeros = _mm256_set1_epi16(static_cast<std::int16_t>(zero));
  std::ptrdiff_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m128i bytes = _mm_xor_si128(qlc::avx2::load16(src + i), flips);
    store(dst + i, _mm256_sub_epi16(_mm256_cvtepu8_epi16(bytes), zeros));
  }
  portable::stage_pixels(src + i, count - i, flip, zero, dst + i);
}

/// 8 pixels of 16 channels.
DMLREF_TARGET_AVX2 inline void stage_planes8(const std::uint8_t* const* rows, std::ptrdiff_t at, __m128i flips,
                                             __m256i zeros, std::int16_t* dst, std::ptrdiff_t pitch) noexcept {
  __m128i a[8], b[8];
#pragma GCC unroll 8
  for (int c = 0; c < 8; ++c) {  // channel c beside channel c + 8
    a[c] = _mm_unpacklo_epi8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(rows[c] + at)),
                             _mm_loadl_epi64(reinterpret_cast<const __m128i*>(rows[c + 8] + at)));
  }
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    b[2 * c] = _mm_unpacklo_epi8(a[c], a[c + 4]);
    b[2 * c + 1] = _mm_unpackhi_epi8(a[c], a[c + 4]);
  }
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    a[2 * c] = _mm_unpacklo_epi8(b[c], b[c + 4]);
    a[2 * c + 1] = _mm_unpackhi_epi8(b[c], b[c + 4]);
  }
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    b[2 * c] = _mm_unpacklo_epi8(a[c], a[c + 4]);
    b[2 * c + 1] = _mm_unpackhi_epi8(a[c], a[c + 4]);
  }
#pragma GCC unroll 8
  for (int p = 0; p < 8; ++p) {
    store(dst + (at + p) * pitch, _mm256_sub_epi16(_mm256_cvtepu8_epi16(_mm_xor_si128(b[p], flips)), zeros));
  }
}

// The last 8 pixels overlap the ones before rather than leave a remainder.
DMLREF_TARGET_AVX2 inline void stage_planes(const std::uint8_t* const* rows, std::ptrdiff_t count, std::uint8_t flip,
                                            std::int32_t zero, std::int16_t* dst, std::ptrdiff_t pitch) noexcept {
  if (count < 8) return portable::stage_planes(rows, count, flip, zero, dst, pitch);
  const __m128i flips = _mm_set1_epi8(static_cast<char>(flip));
  const __m256i zeros = _mm256_set1_epi16(static_cast<std::int16_t>(zero));
  std::ptrdiff_t i = 0;
  for (; i + 8 <= count; i += 8) stage_planes8(rows, i, flips, zeros, dst, pitch);
  if (i < count) stage_planes8(rows, count - 8, flips, zeros, dst, pitch);
}

DMLREF_TARGET_AVX2 inline void sum_channels(const std::int16_t* src, std::ptrdiff_t channels, std::ptrdiff_t pixels,
                                            std::int32_t* sums) noexcept {
  const __m256i ones = _mm256_set1_epi16(1);
  for (std::ptrdiff_t p = 0; p < pixels; ++p, src += channels) {
    __m256i sum = _mm256_setzero_si256();
    for (std::ptrdiff_t c = 0; c < channels; c += 16) sum = qlc::avx2::dot(sum, load(src + c), ones);
    sums[p] = qlc::avx2::sum_lanes(sum);
  }
}

inline constexpr Kernels kernels{&qlc::avx2::kernels,
                                 {{&tiles_of_2, &input_of_2, &output_of_2, 1200, 1100},
                                  {&tiles_of_4, &input_of_4, &output_of_4, 4000, 4800},
                                  {&strided_tiles_of_2, &input_strided_of_2, &output_strided_of_2, 3500, 1500},
                                  {&strided_tiles_of_4, &input_strided_of_4, &output_strided_of_4, 15000, 9000}},
                                 &multiply,
                                 &stage_planes,
                                 &stage_pixels,
                                 &sum_channels};

}  // namespace fast::qlc::winograd::avx2
DMLREF_END
#endif
