// transform.hpp: Winograd's minimal filtering of 3x3 kernels in integers, without rounding anywhere.
//
//   scale^2 Y = A^T [ (G w G^T) o (B^T x B) ] A            o: element by element, summed over the channels
//
// makes outputs x outputs values Y with (outputs + 2)^2 multiplications instead of 9 outputs^2: 2.25 times fewer for
// tiles of 2, 4 times fewer for tiles of 4. The usual G has fractions; here its rows are multiplied by `scale`, which
// the result then carries twice. (Tiles of 4: the last row only by scale / 4, and A^T has the 4.)
//
// Ranges, with x less its zero point, |x| <= 255, and |w| <= 128 (unsigned filters less 128):
//   tiles of 2: rows of B^T add up to at most 2, of G to 3    |V| <=  4 * 255 =  1020    |U| <=   9 * 128 =  1152
//   tiles of 4: rows of B^T add up to at most 10, of G to 12  |V| <= 100 * 255 = 25500    |U| <= 144 * 128 = 18432
// V and U fit 16 bits, a pair's products 32 bits. All that follows is done modulo 2^32, which sums, shifts and A^T
// survive. What is left of scale^2 Y modulo 2^32 determines Y: its odd factor (9 for tiles of 4) has an inverse modulo
// 2^32, and the power of two is shifted out, which is exact if 2^shift |Y| < 2^31. With |Y| <= 9 * channels * 255 *
// 128, that is for 1827 channels (tiles of 2) and 114 (tiles of 4); more channels are taken in as many splits as it
// needs.
//
// With a stride of 2, outputs see even inputs through two taps and odd ones through the third. In one dimension
//   y0 = (x0 - x2) w0 + x1 w1  +  x2 (w0 + w2)
//   y1 =                          x2 (w0 + w2)  +  (x4 - x2) w2 + x3 w1
// has 5 products instead of 6. Two of them only ever occur as a sum: they are one component of M, twice as deep. In two
// dimensions there are 25 products instead of 36 in 9 components of depths (2, 1, 2) x (2, 1, 2), without any factor.
// Four outputs have 5 products of even inputs, as tiles of 4 would of two taps, and 4 of odd ones, of which the first
// and the last join products of the first and the last output alone: 81 instead of 144 in 49 components, with a factor
// of 36.
//   tiles of 2: rows of B^T add up to at most 2, of G to 2    |V| <=  4 * 255 =  1020    |U| <=  4 * 128 =   512
//   tiles of 4: rows of B^T add up to at most 6, of G to 6    |V| <= 36 * 255 =  9180    |U| <= 36 * 128 =  4608
// They are not cut into splits.
#pragma once

#include <cstdint>

#include "dmlref/config.hpp"

DMLREF_BEGIN
namespace fast::qlc::winograd {

/// Where a row and a column of B^T x B and of G w G^T lie in V and U: positions of one component are neighbours.
struct Position {
  int first;  // position of the component
  int depth;  // positions of the component
  int index;  // among those
};

struct Transform {
  int outputs;
  int stride;
  int components;             // in one dimension
  int depth[7];               // of each component: how many rows of B^T and of G belong to it, one after the other
  std::int16_t input[9][9];   // B^T
  std::int16_t filter[9][3];  // G
  std::int16_t output[4][7];  // A^T
  int shift;                  // scale^2 = 2^shift * odd
  std::uint32_t inverse;      // of odd, modulo 2^32

  constexpr int inputs() const noexcept { return (outputs - 1) * stride + 3; }
  constexpr int positions() const noexcept { return inputs() * inputs(); }
  constexpr int planes() const noexcept { return components * components; }
  /// The row of B^T and of G with which a component begins.
  constexpr int first(int component) const noexcept {
    int row = 0;
    for (int c = 0; c < component; ++c) row += depth[c];
    return row;
  }
  constexpr int component_of(int row) const noexcept {
    int c = 0;
    while (row >= first(c + 1)) ++c;
    return c;
  }
  constexpr Position position(int i, int j) const noexcept {
    const int y = component_of(i), x = component_of(j);
    return {first(y) * inputs() + depth[y] * first(x), depth[y] * depth[x], (i - first(y)) * depth[x] + j - first(x)};
  }
  /// Positions that make one of the planes of M.
  constexpr int positions_of(int plane) const noexcept { return depth[plane / components] * depth[plane % components]; }
  /// The most channels whose sum is certain to survive.
  constexpr std::int64_t max_channels() const noexcept {
    return ((std::int64_t{1} << (31 - shift)) - 1) / (9 * 255 * 128);
  }
  /// Y from scale^2 Y modulo 2^32.
  constexpr std::int32_t unscale(std::uint32_t scaled) const noexcept {
    return static_cast<std::int32_t>(scaled * inverse) >> shift;
  }
};

inline constexpr Transform tiles_of_2{2,
                                      1,
                                      4,
                                      {1, 1, 1, 1},
                                      {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
                                      {{2, 0, 0}, {1, 1, 1}, {1, -1, 1}, {0, 0, 2}},
                                      {{1, 1, 1, 0}, {0, 1, -1, -1}},
                                      2,
                                      1};

inline constexpr Transform tiles_of_4{
    4,
    1,
    6,
    {1, 1, 1, 1, 1, 1},
    {{4, 0, -5, 0, 1, 0},
     {0, -4, -4, 1, 1, 0},
     {0, 4, -4, -1, 1, 0},
     {0, -2, -1, 2, 1, 0},
     {0, 2, -1, -2, 1, 0},
     {0, 4, 0, -5, 0, 1}},
    {{6, 0, 0}, {-4, -4, -4}, {-4, 4, -4}, {1, 2, 4}, {1, -2, 4}, {0, 0, 6}},
    {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 4}},
    6,
    0x38E38E39u};

inline constexpr Transform strided_tiles_of_2{
    2,
    2,
    3,
    {2, 1, 2},
    {{1, 0, -1, 0, 0}, {0, 1, 0, 0, 0}, {0, 0, 1, 0, 0}, {0, 0, -1, 0, 1}, {0, 0, 0, 1, 0}},
    {{1, 0, 0}, {0, 1, 0}, {1, 0, 1}, {0, 0, 1}, {0, 1, 0}},
    {{1, 1, 0}, {0, 1, 1}},
    0,
    1};

inline constexpr Transform strided_tiles_of_4{
    4,
    2,
    7,
    {2, 1, 1, 1, 2, 1, 1},
    {{2, 0, -1, 0, -2, 0, 1, 0, 0},
     {0, 1, 0, 0, 0, 0, 0, 0, 0},
     {0, 0, -2, 0, -1, 0, 1, 0, 0},
     {0, 0, 2, 0, -3, 0, 1, 0, 0},
     {0, 0, -1, 0, 0, 0, 1, 0, 0},
     {0, 0, 2, 0, -1, 0, -2, 0, 1},
     {0, 0, 0, 0, 0, 0, 0, 1, 0},
     {0, 0, 0, 1, 0, 0, 0, 0, 0},
     {0, 0, 0, 0, 0, 1, 0, 0, 0}},
    {{3, 0, 0}, {0, 6, 0}, {-3, 0, -3}, {-1, 0, 1}, {1, 0, 2}, {0, 0, 6}, {0, 6, 0}, {0, 6, 0}, {0, 6, 0}},
    {{1, 1, 1, 1, 0, 0, 0}, {0, 1, -1, 2, 0, 1, 0}, {0, 1, 1, 4, 0, 0, 1}, {0, 1, -1, 8, 1, 0, 0}},
    2,
    0x38E38E39u};

/// All positions of a transform, for loops that need them as constants.
struct Positions {
  Position at[9][9];
};
constexpr Positions positions_of(const Transform& t) noexcept {
  Positions all{};
  for (int i = 0; i < t.inputs(); ++i) {
    for (int j = 0; j < t.inputs(); ++j) all.at[i][j] = t.position(i, j);
  }
  return all;
}

static_assert(tiles_of_2.max_channels() == 1827 && tiles_of_4.max_channels() == 114);
static_assert(strided_tiles_of_2.max_channels() == 7310 && strided_tiles_of_4.max_channels() == 1827);
static_assert(tiles_of_4.inverse * 9u == 1u && strided_tiles_of_4.inverse * 9u == 1u);

}  // namespace fast::qlc::winograd
DMLREF_END
