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
#include "dmlref/requantize/requantizer.hpp"

DMLREF_BEGIN
namespace fast::qlc {

// The term sum * factor of one per pixel and one per channel, as two products of sixteen bits, which are one operation
// where a product of 32 bits and an addition are two or three:
//   sum = low + 255 * high,   sum * factor = low * factor + high * (255 * factor)
// Not 256, so that 255 * factor fits for a factor of 128.
constexpr std::int32_t deepest_split16_sum = 32512 * 256 / 255;  ///< in activations of up to 255: low below 2^15
constexpr std::int32_t deepest_unsplit_sum = 32767 / 255;        ///< whose sum is its own lower half

constexpr std::int32_t split16(std::int32_t sum) noexcept {
  const std::int32_t high = sum >> 8;
  return (sum & 255) + high + high * 65536;
}
/// Of a factor from -128 to 128.
constexpr std::int32_t split16_factor(std::int32_t factor) noexcept {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(255 * factor) << 16 |
                                   (static_cast<std::uint32_t>(factor) & 0xFFFFu));
}

/// Both streams of a tile.
struct TileOperands {
  const std::uint8_t* activations;  ///< K-group of pixel p at step k: activations + offsets[k] + p * pixel_step
  const std::int32_t* offsets;      ///< bytes
  std::ptrdiff_t steps;             ///< K-groups
  std::ptrdiff_t pixel_step;        ///< bytes; 4 where pixels lie in lanes
  const std::uint8_t* weights;      ///< K-group of channel c at step k: weights + k * weight_step + c * 4
  std::ptrdiff_t weight_step;       ///< bytes
  std::ptrdiff_t weight_block;      ///< channels in lanes: bytes from one vector's weights to the next one's
};

/// What a tile adds for filter zero points: nothing, or a product of one factor per channel and one sum per pixel.
enum class ZeroPointTerm { none, product };

/// What accumulators begin with.
struct TileOffsets {
  const std::int32_t* channel;  ///< one per channel of the tile
  ZeroPointTerm term;
  const std::int32_t* channel_factor;  ///< of a product: one per channel, of split16_factor
  const std::int32_t* pixel_sums;      ///< one per pixel, of split16 where they exceed 15 bits
};

/// Where accumulators go: rows x (vectors * lanes).
struct TileSums {
  std::int32_t* at;
  std::ptrdiff_t pitch;  ///< elements from row to row
};

/// How accumulators become rows x (vectors * lanes) bytes, and where these go.
struct TileBytes {
  const Requantizer& requantizer;  ///< whose channels stay in registers
  std::ptrdiff_t first_channel;    ///< packed index of the tile's first channel
  std::uint8_t* at;
  std::ptrdiff_t pitch;
  std::ptrdiff_t used_lanes;  ///< pixels in lanes: how many of a row's bytes to write
};

enum class TileOutput { sums, bytes };

/// The same tiles of other lines of pixels, to bytes, and how far these lie apart.
struct TileLines {
  std::ptrdiff_t count = 1;
  std::ptrdiff_t activations = 0, pixel_sums = 0, bytes = 0;
};

/// `count` tiles along the line of pixels: accumulator = offset + sum over k of activation * weight, modulo 2^32.
/// Targets that do not `requantize` heed operands, offsets.channel and sums, of one tile.
struct TileArgs {
  TileOperands operands;
  TileOffsets offsets;
  TileOutput output;
  TileSums sums;
  TileBytes bytes;
  std::ptrdiff_t count;
  TileLines lines{};
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
  std::int32_t* sums;            ///< 16
  std::ptrdiff_t dst_step = 64;  ///< bytes from group to group
};

/// What pack_panels reads and writes.
struct PanelsArgs {
  const std::uint8_t* src;
  std::ptrdiff_t pitch;  ///< from row to row, four of which are a K-group
  std::ptrdiff_t steps;  ///< K-groups
  std::uint8_t flip;
  std::uint8_t* dst[2];
  std::int32_t* sums[2];
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
  /// Of ascending rows.
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
  /// Tiles of one size side by side.
  struct Equal {
    const Tile& tile;
    std::ptrdiff_t count;
  };
  /// The next ones of `left` rows. Where no tile fits the last rows, two share them and what a largest tile would take,
  /// as tiles of few rows wait for their weights. A tile may have more rows than are left: it then begins with some of
  /// the `done` rows before them.
  constexpr Equal share(std::ptrdiff_t vectors, std::ptrdiff_t left, std::ptrdiff_t done) const noexcept {
    const auto v = static_cast<std::size_t>(vectors - 1);
    const Tile& largest = table_[v][count_[v] - 1];
    const std::ptrdiff_t whole = left / largest.rows, rest = left - whole * largest.rows;
    if (whole > 0 && (rest == 0 || fit(vectors, rest).rows == rest)) return {largest, whole};
    if (whole > 1) return {largest, whole - 1};
    std::size_t i = 0;
    while (table_[v][i].rows * (whole + 1) < left) ++i;
    return {table_[v][i].rows <= left + done ? table_[v][i] : fit(vectors, left), 1};
  }

 private:
  std::array<std::array<Tile, 6>, max_tile_vectors> table_{};
  std::array<std::size_t, max_tile_vectors> count_{};
};

/// Everything an instruction set brings.
struct Kernels {
  std::ptrdiff_t lanes = 0;  ///< 32-bit lanes of a vector; filters are packed in blocks of as many channels
  std::ptrdiff_t group = 4;  ///< 4: unsigned or signed bytes; 2: sixteen-bit values
  std::ptrdiff_t steps = 1;  ///< tiles take a multiple of so many K-groups
  bool signed_activations = false;
  bool requantize = false;  ///< whether tiles do it, and add zero-point terms; else add_outer and quantize follow
  bool rounds_by_multiply_add = false;  ///< whether tiles heed Requantizer::rounded_scale
  /// … with channels in lanes also for scales whose sums next to ties are to be looked at, as with pixels in lanes.
  bool searches_channels = false;
  /// Pixels in lanes: so many neighbouring channels, a divisor of `lanes`, are rounded alike.
  std::ptrdiff_t rows_alike = 1;
  Tiles channel_tiles{};  ///< channels in lanes, a row is a pixel
  Tiles pixel_tiles{};    ///< pixels in lanes, a row is a channel

  /// dst[i] = the group of `group` bytes rows[0][i], rows[1][i], …, each xor `flip`, widened where group is 2.
  void (*interleave)(const std::uint8_t* const* rows, std::ptrdiff_t count, std::uint8_t flip,
                     std::uint8_t* dst) noexcept = nullptr;
  /// dst[i] = the group src[i * step], src[i * step + 1], …, each xor `flip`, widened where group is 2. May
  /// read 16 bytes past the last one.
  void (*windows)(const std::uint8_t* src, std::ptrdiff_t count, std::ptrdiff_t step, std::uint8_t flip,
                  std::uint8_t* dst) noexcept = nullptr;
  /// dst[i] = src[i] xor flip, as bytes or widened.
  void (*convert)(const std::uint8_t* src, std::ptrdiff_t count, std::uint8_t flip,
                  std::uint8_t* dst) noexcept = nullptr;
  /// sums[p] = the sum of the `count` staged values at src + p * pixel_step, modulo 2^32.
  void (*sum_runs)(const std::uint8_t* src, std::ptrdiff_t count, std::ptrdiff_t pixel_step, std::ptrdiff_t pixels,
                   std::int32_t* sums) noexcept = nullptr;
  /// sums[i] = the sum of from[i * stride + t * tap_step] over t < taps, modulo 2^32. May read 128 bytes past the last
  /// one, and write up to a multiple of 16 sums.
  void (*sum_windows)(const std::int32_t* from, std::ptrdiff_t taps, std::ptrdiff_t tap_step, std::ptrdiff_t stride,
                      std::ptrdiff_t count, std::int32_t* sums) noexcept = nullptr;
  /// sums[r][l] += per_row[r] * per_lane[l], modulo 2^32.
  void (*add_outer)(std::int32_t* sums, std::ptrdiff_t pitch, std::ptrdiff_t rows, std::ptrdiff_t lanes,
                    const std::int32_t* per_row, const std::int32_t* per_lane) noexcept = nullptr;
  /// Requantizes 64 * blocks sums; sum i belongs to channel first + i % period. period: 1, or 64 is a multiple of it.
  void (*quantize)(const std::int32_t* sums, std::ptrdiff_t blocks, const Requantizer& to, std::ptrdiff_t first,
                   std::ptrdiff_t period, std::uint8_t* out) noexcept = nullptr;
  /// dst[c * dst_pitch + p] = src[p * src_pitch + c] for p < pixels, c < channels. Reads whole lines of src.
  void (*transpose)(const std::uint8_t* src, std::ptrdiff_t src_pitch, std::ptrdiff_t pixels, std::ptrdiff_t channels,
                    std::uint8_t* dst, std::ptrdiff_t dst_pitch) noexcept = nullptr;

  // What not every set has: null.

  /// Around the calls of tiles, by the thread that makes them.
  void (*begin_tiles)() noexcept = nullptr;
  void (*end_tiles)() noexcept = nullptr;

  /// Filters, and matrices whose columns are contiguous: dst[k][c] = group k of row c, xor `flip`, as signed bytes, for
  /// 16 channels; sums[c] += its elements. Else they are packed element by element.
  void (*pack_rows)(const RowsArgs&) noexcept = nullptr;
  /// Matrices: rows of 64 columns to two panels, dst[p][k][c] = group k of column 32 p + c, xor `flip`, as signed
  /// bytes; sums[p][c] += its elements. Prefetches the next 64 columns. Else they are packed group by group.
  void (*pack_panels)(const PanelsArgs&) noexcept = nullptr;
  /// dst[x * pixel_step + c * element] = src[c * channel_step + x] xor flip, as a byte or widened; of 16 channels or
  /// more. Else planes are staged as planes or windows only.
  void (*gather_pixels)(const PixelsArgs&) noexcept = nullptr;
};

/// The same pointer, from where the optimizer cannot see: keeps it from holding the sum of every pixel's offset in a
/// register of its own, of which there are too few.
inline const std::uint8_t* hidden(const std::uint8_t* pointer) noexcept {
#if defined(__GNUC__)
  __asm__("" : "+r"(pointer));
#endif
  return pointer;
}

/// The same pointer. Three vectors, twelve sums and a group leave clang no register for what it would load before the
/// last step's products are done.
DMLREF_ALWAYS_INLINE const std::uint8_t* in_order(const std::uint8_t* pointer) noexcept {
#if defined(__clang__)
  __asm__ volatile("" : "+r"(pointer));
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
