// tiles.hpp: AMX-TILE and AMX-INT8, as Intel's manual says. What a real CPU would refuse is a trap.
#pragma once
#pragma GCC system_header

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "names.hpp"

namespace emulated {

struct Tile {
  std::size_t rows = 0, row_bytes = 0;
  std::uint8_t bytes[16][64] = {};
};

struct Tiles {
  bool configured = false;
  Tile tile[8];

  Tile& at(int number) {
    if (!configured || number < 0 || number > 7 || tile[number].rows == 0) __builtin_trap();
    return tile[number];
  }
};
inline thread_local Tiles tiles;

// Products of bytes, four to a sum that wraps around.
template <class A, class B>
inline void multiply_tiles(int to, int first, int second) {
  Tile& c = tiles.at(to);
  const Tile& a = tiles.at(first);
  const Tile& b = tiles.at(second);
  if (to == first || to == second || first == second) __builtin_trap();
  if (a.row_bytes % 4 != 0 || b.row_bytes % 4 != 0 || c.row_bytes % 4 != 0) __builtin_trap();
  if (c.rows != a.rows || c.row_bytes != b.row_bytes || a.row_bytes / 4 != b.rows) __builtin_trap();
  for (std::size_t m = 0; m < c.rows; ++m) {
    std::uint32_t sums[16] = {};
    std::memcpy(sums, c.bytes[m], c.row_bytes);
    for (std::size_t k = 0; k < b.rows; ++k) {
      for (std::size_t n = 0; n < c.row_bytes / 4; ++n) {
        for (std::size_t i = 0; i < 4; ++i) {
          const int product = static_cast<A>(a.bytes[m][4 * k + i]) * static_cast<B>(b.bytes[k][4 * n + i]);
          sums[n] += static_cast<std::uint32_t>(product);
        }
      }
    }
    std::memset(c.bytes[m], 0, 64);
    std::memcpy(c.bytes[m], sums, c.row_bytes);
  }
  for (std::size_t m = c.rows; m < 16; ++m) std::memset(c.bytes[m], 0, 64);
}

}  // namespace emulated

inline void _tile_release() { emulated::tiles = {}; }
inline void _tile_loadconfig(const void* memory) {
  const auto* const config = static_cast<const std::uint8_t*>(memory);
  _tile_release();
  if (config[0] == 0) return;
  if (config[0] != 1) __builtin_trap();
  for (std::size_t i = 1; i < 64; ++i) {
    const bool used = i == 1 || (i >= 16 && i < 32) || (i >= 48 && i < 56);
    if (!used && config[i] != 0) __builtin_trap();
  }
  for (std::size_t i = 0; i < 8; ++i) {
    std::uint16_t row_bytes;
    std::memcpy(&row_bytes, config + 16 + 2 * i, 2);
    const std::size_t rows = config[48 + i];
    if (row_bytes > 64 || rows > 16 || (row_bytes == 0) != (rows == 0)) __builtin_trap();
    emulated::tiles.tile[i].rows = rows;
    emulated::tiles.tile[i].row_bytes = row_bytes;
  }
  emulated::tiles.configured = true;
}
inline void _tile_zero(int to) { std::memset(emulated::tiles.at(to).bytes, 0, sizeof(emulated::Tile::bytes)); }
inline void _tile_loadd(int to, const void* from, std::ptrdiff_t stride) {
  emulated::Tile& tile = emulated::tiles.at(to);
  std::memset(tile.bytes, 0, sizeof(tile.bytes));
  for (std::size_t m = 0; m < tile.rows; ++m) {
    std::memcpy(tile.bytes[m], static_cast<const char*>(from) + static_cast<std::ptrdiff_t>(m) * stride,
                tile.row_bytes);
  }
}
inline void _tile_stream_loadd(int to, const void* from, std::ptrdiff_t stride) { _tile_loadd(to, from, stride); }
inline void _tile_stored(int from, void* to, std::ptrdiff_t stride) {
  const emulated::Tile& tile = emulated::tiles.at(from);
  for (std::size_t m = 0; m < tile.rows; ++m) {
    std::memcpy(static_cast<char*>(to) + static_cast<std::ptrdiff_t>(m) * stride, tile.bytes[m], tile.row_bytes);
  }
}
inline void _tile_dpbssd(int to, int a, int b) { emulated::multiply_tiles<std::int8_t, std::int8_t>(to, a, b); }
inline void _tile_dpbsud(int to, int a, int b) { emulated::multiply_tiles<std::int8_t, std::uint8_t>(to, a, b); }
inline void _tile_dpbusd(int to, int a, int b) { emulated::multiply_tiles<std::uint8_t, std::int8_t>(to, a, b); }
inline void _tile_dpbuud(int to, int a, int b) { emulated::multiply_tiles<std::uint8_t, std::uint8_t>(to, a, b); }
