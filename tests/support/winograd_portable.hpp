// winograd_portable.hpp: the kernels after Winograd in plain C++: the matrices as they stand.
#pragma once

#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/int8/portable.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/winograd/kernels.hpp"

DMLREF_BEGIN
namespace fast::qlc::winograd::portable {

template <const Transform& T>
void input(const InputArgs& a) noexcept {
  constexpr int n = T.inputs();
  constexpr Positions positions = positions_of(T);
  for (std::ptrdiff_t tile = 0; tile < a.tiles; ++tile) {
    const std::int16_t* d = a.staged + tile * T.outputs * T.stride * a.pixel_step;
    for (std::ptrdiff_t c = 0; c < a.channels; ++c) {
      std::int32_t rows[9][9] = {};  // B^T d
      for (int i = 0; i < n; ++i) {
        for (int k = 0; k < n; ++k) {
          for (int j = 0; j < n; ++j) rows[i][j] += T.input[i][k] * d[k * a.row_step + j * a.pixel_step + c];
        }
      }
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
          std::int32_t sum = 0;
          for (int k = 0; k < n; ++k) sum += rows[i][k] * T.input[j][k];
          a.at(positions.at[i][j], tile)[c] = static_cast<std::int16_t>(sum);
        }
      }
    }
  }
}

inline void multiply(const MultiplyArgs& a) noexcept {
  const std::int16_t* u = a.u;
  const std::int16_t* plane_v = a.v;
  for (int plane = 0; plane < a.transform->planes(); ++plane) {
    const int depth = a.transform->positions_of(plane);
    const std::ptrdiff_t steps = depth * a.steps;
    for (std::ptrdiff_t tile = 0; tile < a.tiles; ++tile) {
      const std::int16_t* v = plane_v + tile * depth * a.tile_step;
      std::uint32_t sums[block] = {};
      for (std::ptrdiff_t step = 0; step < steps; ++step) {
        const std::int32_t v0 = v[2 * step], v1 = v[2 * step + 1];
        const std::int16_t* pairs = u + step * 2 * block;
        for (std::ptrdiff_t c = 0; c < block; ++c) {
          sums[c] += static_cast<std::uint32_t>(v0 * pairs[2 * c] + v1 * pairs[2 * c + 1]);
        }
      }
      std::int32_t* m = a.m + plane * a.m_position_step + tile * block;
      for (std::ptrdiff_t c = 0; c < block; ++c) m[c] = static_cast<std::int32_t>(sums[c]);
    }
    u += steps * 2 * block;
    plane_v += depth * a.position_step;
  }
}

template <const Transform& T>
void output(const OutputArgs& a) noexcept {
  constexpr int n = T.components;
  for (std::ptrdiff_t tile = 0; tile < a.tiles; ++tile) {
    for (std::ptrdiff_t c = 0; c < block; ++c) {
      const std::int32_t* m = a.m + tile * block + c;
      std::uint32_t rows[4][7] = {};  // A^T M
      for (int i = 0; i < T.outputs; ++i) {
        for (int k = 0; k < n; ++k) {
          const auto factor = static_cast<std::uint32_t>(T.output[i][k]);
          for (int j = 0; j < n; ++j) {
            rows[i][j] += factor * static_cast<std::uint32_t>(m[(k * n + j) * a.position_step]);
          }
        }
      }
      for (int i = 0; i < T.outputs; ++i) {
        for (int j = 0; j < T.outputs; ++j) {
          std::uint32_t sum = 0;
          for (int k = 0; k < n; ++k) sum += rows[i][k] * static_cast<std::uint32_t>(T.output[j][k]);
          std::int32_t& to = a.sums[i * a.row_step + (tile * T.outputs + j) * block + c];
          const std::int32_t from = a.begin == SumsBeginWith::offsets ? a.offsets[c] : to;
          to = static_cast<std::int32_t>(static_cast<std::uint32_t>(from) + static_cast<std::uint32_t>(T.unscale(sum)));
        }
      }
    }
  }
}

inline void gather_pixels(const PixelsArgs& t) noexcept {
  for (std::ptrdiff_t x = 0; x < t.columns; ++x) {
    for (std::ptrdiff_t c = 0; c < t.channels; ++c) {
      qlc::portable::put<2>(t.dst + x * t.pixel_step, c,
                            static_cast<std::uint8_t>(t.src[c * t.channel_step + x] ^ t.flip));
    }
  }
}

/// What of `kernels` concerns the order of activations, for groups of two.
constexpr qlc::Kernels of_pairs(qlc::Kernels kernels) noexcept {
  kernels.convert = &qlc::portable::convert<2>;
  kernels.gather_pixels = &gather_pixels;
  kernels.sum_runs = &qlc::portable::sum_runs<std::uint16_t>;
  return kernels;
}

constexpr Kernels make_kernels(const qlc::Kernels& shared) noexcept {
  return {&shared,
          {{&tiles_of_2, &input<tiles_of_2>, &output<tiles_of_2>},
           {&tiles_of_4, &input<tiles_of_4>, &output<tiles_of_4>},
           {&strided_tiles_of_2, &input<strided_tiles_of_2>, &output<strided_tiles_of_2>},
           {&strided_tiles_of_4, &input<strided_tiles_of_4>, &output<strided_tiles_of_4>}},
          &multiply};
}

}  // namespace fast::qlc::winograd::portable
DMLREF_END
