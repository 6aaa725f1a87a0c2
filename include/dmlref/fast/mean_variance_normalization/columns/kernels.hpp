// kernels.hpp: what an instruction set does for groups that lie side by side.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/fast/mean_variance_normalization/kernels.hpp"

DMLREF_BEGIN
namespace fast::normalization {

/// Rows of `width` neighbouring groups: element i of each lies at from + offset[i], in bytes.
struct Columns {
  const std::byte* from;
  const std::int64_t* offset;
  std::size_t rows;
  std::size_t width;      // at most column_width
  std::int64_t prefetch;  // how far ahead to ask for lines; 0: not at all
};
inline constexpr std::size_t column_width = 64;

/// One line per column.
struct ColumnLines32 {
  double shift[column_width];
  double slope[column_width];
  double offset[column_width];
};
struct ColumnLines16 {
  float shift[column_width];
  float slope[column_width];
  float offset[column_width];
  float doubt[column_width];
};
/// The column kernels of one instruction set. Results are the same bits in each.
struct ColumnKernels {
  /// Sums of `width` chunks side by side, of float32 or float16; pivot may be null.
  void (*column_sums32)(const Columns&, const double* pivot, double* sum, double* square);
  void (*column_sums16)(const Columns&, const double* pivot, double* sum, double* square);
  /// Rows of columns; `to` at to + to_offset[i] (Finish::values: packed, row by row). Returns as the row kernels; the
  /// doubtful elements of float16 are numbered row * width + column, so rows * width is at most 65536.
  float (*columns32[5])(const Columns&, const ColumnLines32&, std::byte* to, const std::int64_t* to_offset,
                        double alpha);
  std::size_t (*columns16[5])(const Columns&, const ColumnLines16&, std::byte* to, const std::int64_t* to_offset,
                              float alpha, std::uint16_t* doubtful);
};

}  // namespace fast::normalization
DMLREF_END
