// avx2.hpp: 16 channels of sixteen bits, or 8 sums, to a register.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/int8/avx2.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/winograd/kernels.hpp"
#include "dmlref/simd/address.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

DMLREF_BEGIN
namespace fast::qlc::winograd::avx2 {

using qlc::avx2::load, qlc::avx2::store, qlc::avx2::multiply_add;

// B^T times one column or row, v = B^T d, by the number of values: with stride 1 tiles of 2 have four and tiles of 4
// six, with stride 2 five and nine.

DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE void transform_input(const __m256i (&d)[4], __m256i (&v)[4]) noexcept {
  v[0] = _mm256_sub_epi16(d[0], d[2]);
  v[1] = _mm256_add_epi16(d[1], d[2]);
  v[2] = _mm256_sub_epi16(d[2], d[1]);
  v[3] = _mm256_sub_epi16(d[1], d[3]);
}

DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE void transform_input(const __m256i (&d)[6], __m256i (&v)[6]) noexcept {
  const __m256i outer = _mm256_sub_epi16(d[4], _mm256_slli_epi16(d[2], 2));
  const __m256i inner = _mm256_sub_epi16(d[3], _mm256_slli_epi16(d[1], 2));
  const __m256i even = _mm256_sub_epi16(d[4], d[2]);
  const __m256i odd = _mm256_slli_epi16(_mm256_sub_epi16(d[3], d[1]), 1);
  v[0] = _mm256_add_epi16(_mm256_slli_epi16(_mm256_sub_epi16(d[0], d[2]), 2), even);
  v[1] = _mm256_add_epi16(outer, inner);
  v[2] = _mm256_sub_epi16(outer, inner);
  v[3] = _mm256_add_epi16(even, odd);
  v[4] = _mm256_sub_epi16(even, odd);
  v[5] = _mm256_sub_epi16(_mm256_sub_epi16(d[5], d[3]), _mm256_slli_epi16(odd, 1));
}

DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE void transform_input(const __m256i (&d)[5], __m256i (&v)[5]) noexcept {
  v[0] = _mm256_sub_epi16(d[0], d[2]);
  v[1] = d[1];
  v[2] = d[2];
  v[3] = _mm256_sub_epi16(d[4], d[2]);
  v[4] = d[3];
}

DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE void transform_input(const __m256i (&d)[9], __m256i (&v)[9]) noexcept {
  const __m256i even = _mm256_sub_epi16(d[6], d[2]);
  const __m256i inner = _mm256_sub_epi16(d[6], d[4]);
  v[0] = _mm256_add_epi16(even, _mm256_slli_epi16(_mm256_sub_epi16(d[0], d[4]), 1));
  v[1] = d[1];
  v[2] = _mm256_sub_epi16(inner, _mm256_slli_epi16(d[2], 1));
  v[3] = _mm256_sub_epi16(inner, _mm256_slli_epi16(_mm256_sub_epi16(d[4], d[2]), 1));
  v[4] = even;
  v[5] = _mm256_sub_epi16(_mm256_sub_epi16(d[8], d[4]), _mm256_slli_epi16(even, 1));
  v[6] = d[7];
  v[7] = d[3];
  v[8] = d[5];
}

template <const Transform& T>
DMLREF_TARGET_AVX2 inline void transform_inputs(const InputArgs& a) noexcept {
  constexpr std::size_t n = T.inputs();
  constexpr Positions positions = positions_of(T);
  for (std::ptrdiff_t tile = 0; tile < a.tiles; ++tile) {
    const std::int16_t* const from = a.staged + tile * T.outputs * T.stride * a.pixel_step;
    std::int16_t* to[n][n];
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) to[i][j] = a.at(positions.at[i][j], tile);
    }
    for (std::ptrdiff_t c = 0; c < a.channels; c += 16) {
      __m256i rows[n][n], d[n], v[n];  // rows: B^T d
#pragma GCC unroll 1
      for (std::size_t j = 0; j < n; ++j) {
        const std::int16_t* at = from + static_cast<std::ptrdiff_t>(j) * a.pixel_step + c;
        DMLREF_UNROLL
        for (std::size_t i = 0; i < n; ++i) {
          if (i > 0) at += a.row_step;
          d[i] = load(at);
        }
        transform_input(d, v);
        DMLREF_UNROLL
        for (std::size_t i = 0; i < n; ++i) rows[i][j] = v[i];
      }
#pragma GCC unroll 1
      for (std::size_t i = 0; i < n; ++i) {
        transform_input(rows[i], v);
        DMLREF_UNROLL
        for (std::size_t j = 0; j < n; ++j) store(to[i][j] + c, v[j]);
      }
    }
  }
}

/// R tiles by 16 outputs of one component. Prefetches half a panel of weights meanwhile.
template <int R>
DMLREF_TARGET_AVX2 inline void multiply_tiles(const std::int16_t* v, std::ptrdiff_t tile_step, const std::int16_t* u,
                                              std::ptrdiff_t steps, Address prefetched, std::int32_t* m) noexcept {
  constexpr std::size_t rows = R;
  __m256i sums[rows][2];
  DMLREF_UNROLL
  for (int r = 0; r < R; ++r) sums[r][0] = sums[r][1] = _mm256_setzero_si256();
  const auto* activations = reinterpret_cast<const std::uint8_t*>(v);
  const std::ptrdiff_t step = 2 * tile_step;
  const auto* weights = reinterpret_cast<const std::uint8_t*>(u);
  const std::uint8_t* const end = weights + 64 * steps;
  for (; weights != end; weights += 256, activations += 16, prefetched += 128) {
    prefetch_line(prefetched);
    prefetch_line(prefetched + 64);
    DMLREF_UNROLL
    for (int k = 0; k < 4; ++k) {
      const __m256i low = load(weights + 64 * k);
      const __m256i high = load(weights + 64 * k + 32);
      const std::uint8_t* row = activations + 4 * k;
      DMLREF_UNROLL
      for (int r = 0; r < R; ++r) {
        if (r == 3) row = hidden(row + 3 * step);
        const __m256i pair = qlc::avx2::V::broadcast(row + r % 3 * step);
        multiply_add(sums[r][0], pair, low);
        multiply_add(sums[r][1], pair, high);
      }
    }
  }
  DMLREF_UNROLL
  for (int r = 0; r < R; ++r) {
    store(m + r * block, sums[r][0]);
    store(m + r * block + 8, sums[r][1]);
  }
}

/// The first two groups of tiles prefetch the two halves of the next component's panel of weights.
DMLREF_TARGET_AVX2 inline void multiply(const MultiplyArgs& a) noexcept {
  constexpr std::ptrdiff_t max_tiles = 6;
  constexpr decltype(&multiply_tiles<1>) of_tiles[max_tiles] = {&multiply_tiles<1>, &multiply_tiles<2>,
                                                                &multiply_tiles<3>, &multiply_tiles<4>,
                                                                &multiply_tiles<5>, &multiply_tiles<6>};
  const std::ptrdiff_t groups = (a.tiles + max_tiles - 1) / max_tiles;
  const std::ptrdiff_t smallest = a.tiles / groups;
  const std::ptrdiff_t larger = a.tiles % groups;  // groups of one tile more
  const std::int16_t* u = a.u;
  const std::int16_t* plane_v = a.v;
  for (int plane = 0; plane < a.transform->planes(); ++plane) {
    const int depth = a.transform->positions_of(plane);
    const std::ptrdiff_t steps = depth * a.steps, panel = steps * 2 * block;
    const std::int16_t* v = plane_v;
    std::int32_t* m = a.m + plane * a.m_position_step;
    for (std::ptrdiff_t group = 0; group < groups; ++group) {
      const std::ptrdiff_t tiles = smallest + (group < larger ? 1 : 0);
      // (Half a panel is `panel` bytes.)
      const Address prefetched = address_of(u, (2 + group % 2) * panel);
      of_tiles[tiles - 1](v, depth * a.tile_step, u, steps, prefetched, m);
      v += tiles * depth * a.tile_step;
      m += tiles * block;
    }
    u += panel;
    plane_v += depth * a.position_step;
  }
}

// A^T times one column or row, y = A^T m, by the number of components: with stride 1 tiles of 2 have four and tiles of
// 4 six, with stride 2 three and seven.

DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE void transform_output(const __m256i (&m)[4], __m256i (&y)[2]) noexcept {
  y[0] = _mm256_add_epi32(_mm256_add_epi32(m[1], m[2]), m[0]);
  y[1] = _mm256_sub_epi32(_mm256_sub_epi32(m[1], m[2]), m[3]);
}

DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE void transform_output(const __m256i (&m)[6], __m256i (&y)[4]) noexcept {
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

DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE void transform_output(const __m256i (&m)[3], __m256i (&y)[2]) noexcept {
  y[0] = _mm256_add_epi32(m[0], m[1]);
  y[1] = _mm256_add_epi32(m[1], m[2]);
}

DMLREF_TARGET_AVX2 DMLREF_ALWAYS_INLINE void transform_output(const __m256i (&m)[7], __m256i (&y)[4]) noexcept {
  const __m256i sum = _mm256_add_epi32(m[1], m[2]);
  const __m256i difference = _mm256_sub_epi32(m[1], m[2]);
  y[0] = _mm256_add_epi32(_mm256_add_epi32(m[0], m[3]), sum);
  y[1] = _mm256_add_epi32(_mm256_add_epi32(difference, m[5]), _mm256_slli_epi32(m[3], 1));
  y[2] = _mm256_add_epi32(_mm256_add_epi32(sum, m[6]), _mm256_slli_epi32(m[3], 2));
  y[3] = _mm256_add_epi32(_mm256_add_epi32(difference, m[4]), _mm256_slli_epi32(m[3], 3));
}

template <const Transform& T>
DMLREF_TARGET_AVX2 inline void transform_outputs(const OutputArgs& a) noexcept {
  constexpr std::size_t n = T.components, outputs = T.outputs;
  for (std::ptrdiff_t tile = 0; tile < a.tiles; ++tile) {
    for (std::ptrdiff_t half = 0; half < block; half += 8) {
      __m256i rows[outputs][n], m[n], y[outputs];  // rows: A^T M
      const std::int32_t* from = a.m + tile * block + half;
#pragma GCC unroll 1
      for (std::size_t j = 0; j < n; ++j, from += a.position_step) {
        DMLREF_UNROLL
        for (std::size_t i = 0; i < n; ++i) m[i] = load(from + static_cast<std::ptrdiff_t>(n * i) * a.position_step);
        transform_output(m, y);
        DMLREF_UNROLL
        for (std::size_t i = 0; i < outputs; ++i) rows[i][j] = y[i];
      }
      std::int32_t* to = a.sums + tile * T.outputs * block + half;
#pragma GCC unroll 1
      for (std::size_t i = 0; i < outputs; ++i, to += a.row_step) {
        transform_output(rows[i], y);
        DMLREF_UNROLL
        for (int j = 0; j < T.outputs; ++j) {
          std::int32_t* const sum = to + j * block;
          if constexpr (T.inverse != 1) {
            y[j] = _mm256_mullo_epi32(y[j], _mm256_set1_epi32(static_cast<std::int32_t>(T.inverse)));
          }
          const __m256i start = load(a.begin == SumsBeginWith::offsets ? a.offsets + half : sum);
          store(sum, _mm256_add_epi32(_mm256_srai_epi32(y[j], T.shift), start));
        }
      }
    }
  }
}

inline constexpr Kernels kernels{
    &qlc::avx2::kernels,
    {{&tiles_of_2, &transform_inputs<tiles_of_2>, &transform_outputs<tiles_of_2>},
     {&tiles_of_4, &transform_inputs<tiles_of_4>, &transform_outputs<tiles_of_4>},
     {&strided_tiles_of_2, &transform_inputs<strided_tiles_of_2>, &transform_outputs<strided_tiles_of_2>},
     {&strided_tiles_of_4, &transform_inputs<strided_tiles_of_4>, &transform_outputs<strided_tiles_of_4>}},
    &multiply};

}  // namespace fast::qlc::winograd::avx2
DMLREF_END
#endif
