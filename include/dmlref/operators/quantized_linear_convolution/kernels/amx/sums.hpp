// sums.hpp: sums over the windows of a staged block, for filter zero points.
#pragma once

#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/int8/avx512vnni/sums.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/amx/plan.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/rows.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::amx {

/// sums[x] = the sum of `count` lines at position x, each group by its own ones.
DMLREF_TARGET_AVX512VNNI inline void sum_lines(const std::uint8_t* lines, Index count, Index step, Index panel_step,
                                               Index positions, Index period, std::uint32_t last_ones,
                                               std::int32_t* sums) noexcept {
  const __m512i ones = _mm512_set1_epi8(1), last = _mm512_set1_epi32(static_cast<int>(last_ones));
  for (Index x = 0; x < positions; x += 16) {
    const std::uint8_t* at = lines + x / 16 * panel_step;
    __m512i sum = _mm512_setzero_si512();
    for (Index line = 0; line < count; line += period) {
      for (Index i = 1; i < period; ++i, at += step) sum = _mm512_dpbusd_epi32(sum, _mm512_loadu_si512(at), ones);
      sum = _mm512_dpbusd_epi32(sum, _mm512_loadu_si512(at), last);
      at += step;
    }
    _mm512_storeu_si512(sums + x, sum);
  }
}

/// sums[i] += more[i], up to a multiple of 16.
DMLREF_TARGET_AVX512VNNI inline void add_sums(const std::int32_t* more, Index count, std::int32_t* sums) noexcept {
  for (Index i = 0; i < count; i += 16) {
    _mm512_storeu_si512(sums + i, _mm512_add_epi32(_mm512_loadu_si512(sums + i), _mm512_loadu_si512(more + i)));
  }
}

/// The sums of staged lines. What fills the last group of a period, in channels or columns, does not count.
struct LineSums {
  const PlaneLines& l;
  Index period;
  std::uint32_t last_ones;

  LineSums(const PlaneLines& planes, Index groups, Index elements) noexcept
      : l(planes), period(groups), last_ones(0x01010101u >> (elements % 4 == 0 ? 0 : 8 * (4 - elements % 4))) {}
  void operator()(const std::uint8_t* lines, Index positions, std::int32_t* sums) const noexcept {
    sum_lines(lines, l.lines, l.tile_step, l.panel_step, positions, period, last_ones, sums);
  }
};

/// Sums over the windows of a staged block, at each position of its tiles. `positions` is scratch.
inline void sum_activations(const Plan& p, const JoinedPlanes& l, const BlockPlace& place, const std::uint8_t* staged,
                            std::int32_t* positions, std::int32_t* sums) noexcept {
  const Geometry& g = p.g;
  const LineSums sum(l, PlaneLines::channel_groups(g), g.in_channels);
  const Index count = l.tiles(place.rows, place.columns) * tile_side;
  if (g.kernel_h == 1) return sum(staged, count, sums);
  sum(staged, l.summed_positions(g), positions);
  avx512vnni::sum_windows(positions, 1, 0, 1, count, sums);
  for (Index ky = 1; ky < g.kernel_h; ++ky) add_sums(positions + l.row_at(ky * g.dilation_y) / 4, count, sums);
}

inline void sum_activations(const Plan& p, const PanelPlanes& l, const BlockPlace& place, const std::uint8_t* staged,
                            std::int32_t* positions, std::int32_t* sums) noexcept {
  const Geometry& g = p.g;
  const bool columns = l.group == PanelPlanes::KGroup::columns;
  const LineSums sum(l, columns ? PlaneLines::column_groups(g) : PlaneLines::channel_groups(g),
                     columns ? g.kernel_w : g.in_channels);
  const Index width = round_up(place.columns, tile_side), rows = l.in_rows(g, place.rows);
  std::int32_t* const of_rows = g.kernel_h == 1 ? sums : positions;
  for (Index r = 0; r < rows; ++r) {
    if (l.row_skip != 1 || row_is_read(g, r)) sum(staged + l.row_at(r), width, of_rows + r * width);
  }
  if (g.kernel_h == 1) return;
  for (Index y = 0; y < place.rows; ++y) {
    avx512vnni::sum_windows(positions + y * l.step_y * width, g.kernel_h, g.dilation_y * width, 1, width,
                            sums + y * width);
  }
}

/// Pixels may lie in the input itself: of each input row the sums over a window's columns, then those over its rows.
inline void sum_activations(const Plan& p, const PixelRows& l, const BlockPlace& place, const std::uint8_t* staged,
                            std::int32_t* positions, std::int32_t* sums) noexcept {
  const Geometry& g = p.g;
  const Index rows = l.in_rows(g, place.rows), need = l.in_columns(g, place.columns);
  const Index pitch = g.kernel_h == 1 ? l.width : l.sums_pitch();
  std::int32_t* const of_rows = g.kernel_h == 1 ? sums : positions;
  std::int32_t* const row = positions + l.sums_pitch() * l.in_rows(g, l.rows);
  for (Index r = 0; r < rows; ++r) {
    if (l.row_skip == 1 && !row_is_read(g, r)) continue;
    const bool one = g.kernel_w == 1 && l.step_x == 1;
    const auto sum_runs = p.signed_pixels() ? avx512vnni::sum_flipped_runs : avx512vnni::sum_runs;
    sum_runs(staged + l.row_at(r), g.in_channels, l.column_step, need, one ? of_rows + r * pitch : row);
    if (!one) {
      avx512vnni::sum_windows(row, g.kernel_w, g.dilation_x, l.step_x, place.columns, of_rows + r * pitch);
    }
  }
  if (g.kernel_h == 1) return;
  for (Index y = 0; y < place.rows; ++y) {
    avx512vnni::sum_windows(positions + y * l.step_y * pitch, g.kernel_h, g.dilation_y * pitch, 1, place.columns,
                            sums + y * l.width);
  }
}

}  // namespace fast::qlc::amx
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
