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
// 128, that is for 1827 channels (tiles of 2) and 114 (tiles of 4); more channels are taken in as many chunks as it
// needs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"

DMLREF_BEGIN
namespace fast::qlc::winograd {

struct Transform {
  int outputs;
  std::int16_t input[6][6];   // B^T
  std::int16_t filter[6][3];  // G
  std::int16_t output[4][6];  // A^T
  int shift;                  // scale^2 = 2^shift * odd
  std::uint32_t inverse;      // of odd, modulo 2^32

  constexpr int inputs() const noexcept { return outputs + 2; }
  constexpr int positions() const noexcept { return inputs() * inputs(); }
  /// The most channels whose sum is certain to survive.
  constexpr std::ptrdiff_t most_channels() const noexcept {
    return ((std::ptrdiff_t{1} << (31 - shift)) - 1) / (9 * 255 * 128);
  }
  /// Y from scale^2 Y modulo 2^32.
  constexpr std::int32_t unscale(std::uint32_t scaled) const noexcept {
    return static_cast<std::int32_t>(scaled * inverse) >> shift;
  }
};

inline constexpr Transform tiles_of_2{2,
                                      {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
                                      {{2, 0, 0}, {1, 1, 1}, {1, -1, 1}, {0, 0, 2}},
                                      {{1, 1, 1, 0}, {0, 1, -1, -1}},
                                      2,
                                      1};

inline constexpr Transform tiles_of_4{
    4,
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

static_assert(tiles_of_2.most_channels() == 1827 && tiles_of_4.most_channels() == 114);
static_assert(tiles_of_4.inverse * 9u == 1u);

}  // namespace fast::qlc::winograd
DMLREF_END
