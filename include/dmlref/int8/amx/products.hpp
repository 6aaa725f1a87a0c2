// products.hpp: AMX's tile registers, and the products of bytes in them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include "dmlref/isa/avx512_begin.hpp"
#endif

DMLREF_BEGIN
namespace fast::qlc::amx {

inline constexpr std::int64_t tile_side = 16;   // rows of a tile, and 32-bit columns
inline constexpr std::int64_t tile_depth = 64;  // values of K in a tile
inline constexpr std::int64_t tile_bytes = 1024;

#if DMLREF_ARCH_X86_64

/// Gives this thread's eight tile registers 16 rows of 64 bytes.
DMLREF_TARGET_AMX_INT8 inline void begin_tiles() noexcept {
  alignas(64) std::uint8_t config[64] = {1};  // palette
  for (int i = 0; i < 8; ++i) {
    config[16 + 2 * i] = tile_depth;
    config[48 + i] = tile_side;
  }
  __asm__ volatile("" : : "r"(&config[0]) : "memory");  // g++'s intrinsic names but eight bytes of it
  _tile_loadconfig(config);
}
DMLREF_TARGET_AMX_INT8 inline void end_tiles() noexcept { _tile_release(); }

/// While it lives, this thread has them.
class TileRegisters {
 public:
  TileRegisters() noexcept { begin_tiles(); }
  ~TileRegisters() { end_tiles(); }
  TileRegisters(const TileRegisters&) = delete;
  TileRegisters& operator=(const TileRegisters&) = delete;
};

/// What the rows of a product are, and what its columns: signed weights and unsigned lines of planes, or pixels,
/// unsigned or signed, and weights.
enum class Product { planes, pixels, signed_pixels };

/// Tile `Sums` of sums += tile 4 + Sums / 2, rows, times tile 6 + Sums % 2, columns. g++'s intrinsics take literals.
template <Product P, int Sums>
DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void add_product() noexcept {
  if constexpr (P == Product::planes) {
    if constexpr (Sums == 0) _tile_dpbsud(0, 4, 6);
    if constexpr (Sums == 1) _tile_dpbsud(1, 4, 7);
    if constexpr (Sums == 2) _tile_dpbsud(2, 5, 6);
    if constexpr (Sums == 3) _tile_dpbsud(3, 5, 7);
  } else if constexpr (P == Product::pixels) {
    if constexpr (Sums == 0) _tile_dpbusd(0, 4, 6);
    if constexpr (Sums == 1) _tile_dpbusd(1, 4, 7);
    if constexpr (Sums == 2) _tile_dpbusd(2, 5, 6);
    if constexpr (Sums == 3) _tile_dpbusd(3, 5, 7);
  } else {
    if constexpr (Sums == 0) _tile_dpbssd(0, 4, 6);
    if constexpr (Sums == 1) _tile_dpbssd(1, 4, 7);
    if constexpr (Sums == 2) _tile_dpbssd(2, 5, 6);
    if constexpr (Sums == 3) _tile_dpbssd(3, 5, 7);
  }
}

/// Where the operands of a K-block are: rows and columns of one or two tiles.
struct Operands {
  const std::uint8_t *rows[2], *columns[2];
  std::ptrdiff_t row_step, column_step;
};

/// sums += rows * columns. Two interleave points. Rows that are streamed leave the columns in the L1 cache.
template <Product P, int Rows, int Columns, bool StreamsRows = false, class Point>
DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void multiply_k_block(const Operands& o, Point& point) noexcept {
  if constexpr (StreamsRows) {
    _tile_stream_loadd(4, o.rows[0], o.row_step);
  } else {
    _tile_loadd(4, o.rows[0], o.row_step);
  }
  _tile_loadd(6, o.columns[0], o.column_step);
  add_product<P, 0>();
  if constexpr (Columns > 1) {
    _tile_loadd(7, o.columns[1], o.column_step);
    add_product<P, 1>();
  }
  point();
  if constexpr (Rows > 1) {
    if constexpr (StreamsRows) {
      _tile_stream_loadd(5, o.rows[1], o.row_step);
    } else {
      _tile_loadd(5, o.rows[1], o.row_step);
    }
    add_product<P, 2>();
    if constexpr (Columns > 1) add_product<P, 3>();
  }
  point();
}

#endif

}  // namespace fast::qlc::amx
DMLREF_END

#if DMLREF_ARCH_X86_64
#include "dmlref/isa/avx512_end.hpp"
#endif
