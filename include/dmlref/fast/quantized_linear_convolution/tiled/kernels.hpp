// kernels.hpp: the contract between the convolution's loops and the kernels of an instruction set.
//
// Both operands of the inner product are streams of 4-byte groups: `group` neighbouring values of K (4 bytes, or 2
// sixteen-bit values). A tile holds rows x vectors accumulators; per step one operand is loaded as vectors (a group per
// lane), the other broadcast, one group per row. Which operand is which is the tile's orientation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/requantize/requantizer.hpp"

DMLREF_BEGIN
namespace fast::qlc {

// The term sum * factor of one per pixel and one per channel, as two products of sixteen bits, which are one operation
// where a product of 32 bits and an addition are two or three:
//   sum = low + 255 * high,   sum * factor = low * factor + high * (255 * factor)
// Not 256, so that 255 * factor fits for a factor of 128.
constexpr std::int32_t deepest_halved_sum = 32512 * 256 / 255;  ///< in activations of up to 255: low below 2^15
constexpr std::int32_t deepest_short_sum = 32767 / 255;         ///< whose sum is its own lower half

constexpr std::int32_t halves_of_sum(std::int32_t sum) noexcept {
  const std::int32_t high = sum >> 8;
  return (sum & 255) + high + high * 65536;
}
/// Of a factor from -128 to 128.
constexpr std::int32_t halves_of_factor(std::int32_t factor) noexcept {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(255 * factor) << 16 |
                                   (static_cast<std::uint32_t>(factor) & 0xFFFFu));
}

/// A tile, or `count` tiles side by side: sums[..][..] = channel_offset[channel] + pixel_offset[pixel] + sum over k of
/// activation * weight, modulo 2^32.
struct TileArgs {
  const std::uint8_t* activations;     ///< group of pixel p at step k: activations + offsets[k] + p * pixel_step
  const std::int32_t* offsets;         ///< bytes
  std::ptrdiff_t steps;                ///< number of groups along K
  std::ptrdiff_t run;                  ///< how many steps' groups lie side by side, a divisor of steps; 0: not known
  std::ptrdiff_t pixel_step;           ///< bytes; 4 where pixels lie in lanes
  std::ptrdiff_t plane_step;           ///< pixels in lanes: offsets[k] is k times this; 0: not known
  const std::uint8_t* weights;         ///< group of channel c at step k: weights + k * weight_step + c * 4
  std::ptrdiff_t weight_step;          ///< bytes
  std::ptrdiff_t weight_block;         ///< channels in lanes: bytes from one vector's weights to the next one's
  const std::int32_t* channel_offset;  ///< one per channel of the tile
  const std::int32_t* pixel_offset;    ///< one per pixel of the tile
  const std::int32_t* channel_factor;  ///< one per channel, of halves_of_factor, or null: no such term
  const std::int32_t* pixel_sums;      ///< one per pixel, of halves_of_sum where they exceed 15 bits
  bool paired;                         ///< pixels in lanes: in the order of interleave_pairs
  std::int32_t* sums;                  ///< rows x (vectors * lanes)
  std::ptrdiff_t sums_pitch;           ///< elements from row to row
  const Requantizer* requantizer;      ///< `bounded`, or null
  std::ptrdiff_t first_channel;        ///< packed index of the tile's first channel
  std::uint8_t* out;                   ///< rows x (vectors * lanes) bytes
  std::ptrdiff_t out_pitch;
  std::ptrdiff_t out_lanes;  ///< pixels in lanes: how many of a row's bytes to write
  std::ptrdiff_t count;      ///< tiles along the line of pixels; 1 where the set does not fuse
};

/// What interleave_pairs reads and writes.
struct PairsArgs {
  const std::uint8_t* src;
  std::ptrdiff_t channel_step, channels;
  std::ptrdiff_t pixels;  ///< a multiple of 64
  std::uint8_t flip;
  std::uint8_t* dst;
  std::ptrdiff_t plane_step;  ///< bytes from four channels' groups to the next four's
  std::int32_t* sums;         ///< one per pixel, or null: not wanted
  std::int32_t factor;
};

/// What gather_pixels reads and writes.
struct PixelsArgs {
  const std::uint8_t* src;
  std::ptrdiff_t channel_step, channels;
  std::ptrdiff_t columns;
  std::uint8_t flip;
  std::uint8_t* dst;
  std::ptrdiff_t pixel_step;  ///< bytes
};

/// What pack_rows reads and writes.
struct RowsArgs {
  const std::uint8_t* src;
  std::ptrdiff_t pitch;
  std::ptrdiff_t channels;  ///< rows, at most 16; rows that are missing count as 0
  std::ptrdiff_t bytes;     ///< in a row; what its last group lacks is 0
  std::uint8_t flip;
  std::uint8_t* dst;
  std::int32_t* sums;  ///< 16
};

inline constexpr std::size_t max_tile_vectors = 4;

/// A tile of so many rows.
struct Tile {
  std::ptrdiff_t rows = 0;
  void (*run)(const TileArgs&) noexcept = nullptr;
};

/// The tiles of one orientation, by vectors and rows.
class Tiles {
 public:
  /// Of ascending rows, the first of them 1.
  template <class... Rows>
  constexpr void set(std::ptrdiff_t vectors, Rows... tiles) noexcept {
    const auto v = static_cast<std::size_t>(vectors - 1);
    table_[v] = {tiles...};
    count_[v] = sizeof...(tiles);
  }
  /// 0: no tile has so many vectors.
  constexpr std::ptrdiff_t max_rows(std::ptrdiff_t vectors) const noexcept {
    const auto v = static_cast<std::size_t>(vectors - 1);
    return count_[v] == 0 ? 0 : table_[v][count_[v] - 1].rows;
  }
  /// The tile of most rows that has no more than so many.
  constexpr const Tile& fit(std::ptrdiff_t vectors, std::ptrdiff_t rows) const noexcept {
    const auto v = static_cast<std::size_t>(vectors - 1);
    std::size_t i = count_[v] - 1;
    while (i > 0 && table_[v][i].rows > rows) --i;
    return table_[v][i];
  }

 private:
  std::array<std::array<Tile, 6>, max_tile_vectors> table_{};
  std::array<std::size_t, max_tile_vectors> count_{};
};

/// Everything an instruction set brings.
struct Kernels {
  std::ptrdiff_t lanes;  ///< 32-bit lanes of a vector; filters are packed in blocks of as many channels
  std::ptrdiff_t group;  ///< 4: unsigned or signed bytes; 2: sixteen-bit values
  bool signed_activations;
  bool fuses;           ///< whether the tiles requantize, know channel_factor and heed `count`; else add_outer and
                        ///< quantize follow each
  Tiles channel_tiles;  ///< channels in lanes, a row is a pixel
  Tiles pixel_tiles;    ///< pixels in lanes, a row is a channel

  /// dst[i] = the group of `group` bytes rows[0][i], rows[1][i], …, each xor `flip`, widened where group is 2.
  void (*interleave)(const std::uint8_t* const* rows, std::ptrdiff_t count, std::uint8_t flip,
                     std::uint8_t* dst) noexcept;
  /// dst[i] = src[i * step], groups of 4 bytes. May read 128 bytes past the last one.
  void (*deal)(const std::uint8_t* src, std::ptrdiff_t step, std::ptrdiff_t count, std::uint8_t* dst) noexcept;
  /// dst[i] = the group src[i * step], src[i * step + 1], …, each xor `flip`, widened where group is 2. May
  /// read 16 bytes past the last one.
  void (*windows)(const std::uint8_t* src, std::ptrdiff_t count, std::ptrdiff_t step, std::uint8_t flip,
                  std::uint8_t* dst) noexcept;
  /// dst[i] = src[i] xor flip, as bytes or widened.
  void (*convert)(const std::uint8_t* src, std::ptrdiff_t count, std::uint8_t flip, std::uint8_t* dst) noexcept;
  /// sums[p] = the sum of the `count` staged values at src + p * pixel_step.
  void (*sum_runs)(const std::uint8_t* src, std::ptrdiff_t count, std::ptrdiff_t pixel_step, std::ptrdiff_t pixels,
                   std::int32_t* sums) noexcept;
  /// sums[i] = the sum of from[i * stride + t * tap_step] over t < taps. May read 128 bytes past the last one, and
  /// write up to a multiple of 16 sums.
  void (*sum_windows)(const std::int32_t* from, std::ptrdiff_t taps, std::ptrdiff_t tap_step, std::ptrdiff_t stride,
                      std::ptrdiff_t count, std::int32_t* sums) noexcept;
  /// sums[i] = halves_of_sum(sums[i]). May write up to a multiple of 16 sums.
  void (*halve_sums)(std::int32_t* sums, std::ptrdiff_t count) noexcept;
  /// sums[r][l] += per_row[r] * per_lane[l], modulo 2^32.
  void (*add_outer)(std::int32_t* sums, std::ptrdiff_t pitch, std::ptrdiff_t rows, std::ptrdiff_t lanes,
                    const std::int32_t* per_row, const std::int32_t* per_lane) noexcept;
  /// Requantizes 64 * blocks sums; sum i belongs to channel first + i % period. period: 1, or 64 is a multiple of it.
  void (*quantize)(const std::int32_t* sums, std::ptrdiff_t blocks, const Requantizer& to, std::ptrdiff_t first,
                   std::ptrdiff_t period, std::uint8_t* out) noexcept;
  /// dst[c * dst_pitch + p] = src[p * src_pitch + c] for p < pixels, c < channels. Reads whole lines of src.
  void (*transpose)(const std::uint8_t* src, std::ptrdiff_t src_pitch, std::ptrdiff_t pixels, std::ptrdiff_t channels,
                    std::uint8_t* dst, std::ptrdiff_t dst_pitch) noexcept;
  /// Blocks of 64 pixels of all channels to groups, in an order of its own, which the pixel tiles undo (`paired`), with
  /// sums[p] = factor * the sum over p's channels. Null where the set has no such order.
  void (*interleave_pairs)(const PairsArgs&) noexcept = nullptr;
  /// Filters: dst[k][c] = group k of row c, xor `flip`, as signed bytes, for 16 channels; sums[c] += its elements. Null
  /// where the set has nothing better than element by element.
  void (*pack_rows)(const RowsArgs&) noexcept = nullptr;
  /// dst[x * pixel_step + c * element] = src[c * channel_step + x] xor flip, as a byte or widened; of 16 channels or
  /// more. Null where the set stages planes as planes or windows only.
  void (*gather_pixels)(const PixelsArgs&) noexcept = nullptr;
  /// Whether the tiles heed Requantizer::rounded_scale.
  bool rounds_sums = false;
};

/// The same pointer, from where the optimizer cannot see: keeps it from holding the sum of every pixel's offset in a
/// register of its own, of which there are too few.
inline const std::uint8_t* hidden(const std::uint8_t* pointer) noexcept {
#if defined(__GNUC__)
  __asm__("" : "+r"(pointer));
#endif
  return pointer;
}

inline std::ptrdiff_t hidden(std::ptrdiff_t distance) noexcept {
#if defined(__GNUC__)
  __asm__("" : "+r"(distance));
#endif
  return distance;
}

}  // namespace fast::qlc
DMLREF_END
