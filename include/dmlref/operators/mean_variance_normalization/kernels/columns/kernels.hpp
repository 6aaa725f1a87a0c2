// kernels.hpp: what an instruction set does for groups that lie side by side.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/kernels.hpp"

DMLREF_BEGIN
namespace fast::normalization {

/// Rows of `width` neighbouring groups: element i of each lies at from + offset[i], in bytes.
struct Columns {
  const std::byte* from;
  const std::int64_t* offset;
  std::size_t rows;
  std::size_t width;      // at most column_width
  std::int64_t prefetch;  // how far away the bytes lie that are read next; 0: no prefetch
  bool stream = false;    // non-temporal stores: rows of the output are whole cache lines
};
inline constexpr std::size_t column_width = 64;

/// The lanes of a chunk's sums, in strips of 16 columns.
inline constexpr std::size_t strip_width = 16;
struct StripLanes {
  double sum[normalization_lanes][strip_width];
  double square[normalization_lanes][strip_width];
};
struct alignas(64) ColumnLanes {
  StripLanes strip[column_width / strip_width];
};
/// Rows that are summed between two visits of the lanes: what is read of them and the lanes fit L1d.
constexpr std::size_t summed_rows(std::size_t width) noexcept {
  return width > 32 ? 64 : width > 16 ? 128 : width > 8 ? 256 : 512;
}
inline constexpr std::size_t most_summed_rows = 512;
inline constexpr std::size_t most_summed_elements = 4096;  ///< of columns that are padded to a multiple of 8

/// One line per column. A column whose least |value| is not above `low` is ill-conditioned; float16: a value below its
/// column's error bound.
struct ColumnLines32 {
  double shift[column_width];
  double slope[column_width];
  double offset[column_width];
  float low[column_width];
};
struct ColumnLines16 {
  float shift[column_width];
  float slope[column_width];
  float offset[column_width];
  float error_bound[column_width];
};

/// The column kernels of one instruction set. Results are the same bits in each.
struct ColumnKernels {
  /// Adds rows of float32 or float16, the first of which is number 0 modulo 16 of the chunk, less a pivot for each
  /// column (which may be null and has column_width entries). At most summed_rows(width).
  void (*add32)(const Columns&, const double* pivot, ColumnLanes&);
  void (*add16)(const Columns&, const double* pivot, ColumnLanes&);
  /// Adds the lanes of `width` columns in the order of reference::sum_lanes.
  void (*join)(const ColumnLanes&, std::size_t width, double* sum, double* square);
  /// Rows of columns; `to` at to + to_offset[i] (Finish::values: packed, row by row). float32 gives the least |value|
  /// of each column; float16 lists its ill-conditioned elements, numbered row * width + column, and says how many.
  void (*columns32[3])(const Columns&, const ColumnLines32&, std::byte* to, const std::int64_t* to_offset, float upper,
                       float* least);
  std::size_t (*columns16[3])(const Columns&, const ColumnLines16&, std::byte* to, const std::int64_t* to_offset,
                              float upper, std::uint16_t* ill_conditioned);
  /// float32: results are formed in blocks of 16 KiB instead of 4, whose lines are prefetched half a block ahead.
  bool large_blocks = false;
};

}  // namespace fast::normalization
DMLREF_END
