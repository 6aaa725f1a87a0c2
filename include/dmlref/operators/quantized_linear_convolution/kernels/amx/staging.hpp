// staging.hpp: the input of a block as AMX's tiles read it (layout.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/int8/avx512vnni/staging.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/amx/constants.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/amx/plan.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/rows.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::amx {

/// What a kernel column makes of an input row: output pixel x takes group first + x * step where that exists.
struct RowOfGroups {
  Index first, step;
  Index begin, end;  // the pixels that have one; the others get `padding`
  Index columns;
};

/// One row, `count` times: from src on every src_step bytes to dst on every dst_step; 16 pixels panel_step bytes from
/// the 16 before.
DMLREF_TARGET_AVX512VNNI inline void deinterleave_rows(const RowOfGroups& row, const std::uint8_t* src, Index src_step,
                                                       std::uint8_t* dst, Index dst_step, Index panel_step, Index count,
                                                       std::uint8_t padding) noexcept {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i fill = _mm512_set1_epi8(static_cast<char>(padding));
  const auto bits = [](Index from, Index until) {  // of 16
    const auto below = [](Index n) { return n <= 0 ? 0u : n >= 16 ? 0xFFFFu : (1u << n) - 1u; };
    return static_cast<__mmask16>(below(until) & ~below(from));
  };
  for (Index x = 0; x < row.columns; x += 16) {
    const __mmask16 there = bits(row.begin - x, row.end - x), written = bits(0, row.columns - x);
    const Index first = 4 * (row.first + x * row.step);  // before src by less than 16 groups, where some are there
    std::uint8_t* const panel = dst + x / 16 * panel_step;
    if (there == 0) {
      for (Index r = 0; r < count; ++r) _mm512_mask_storeu_epi32(panel + r * dst_step, written, fill);
    } else if (row.step == 1) {
      for (Index r = 0; r < count; ++r) {
        const __m512i groups = _mm512_mask_loadu_epi32(fill, there, src + (first + r * src_step));
        _mm512_mask_storeu_epi32(panel + r * dst_step, written, groups);
      }
    } else if (row.step == 2) {
      // Low: the first of the 16 groups. High: what ends with the last one, so that nothing further is read.
      const __m512i order = _mm512_mask_add_epi32(even, 0xFF00, even, _mm512_set1_epi32(1));
      for (Index r = 0; r < count; ++r) {
        const std::uint8_t* const from = src + (first + r * src_step);
        const __m512i low = _mm512_maskz_loadu_epi32(bits(2 * (row.begin - x), 2 * (row.end - x) - 1), from);
        const __m512i high =
            _mm512_maskz_loadu_epi32(bits(2 * (row.begin - x) - 15, 2 * (row.end - x) - 16), from + 60);
        const __m512i both = _mm512_permutex2var_epi32(low, order, high);
        _mm512_mask_storeu_epi32(panel + r * dst_step, written, _mm512_mask_mov_epi32(fill, there, both));
      }
    } else {
      for (Index r = 0; r < count; ++r) {
        for (Index i = 0; i < 16 && x + i < row.columns; ++i) {
          const bool inside = x + i >= row.begin && x + i < row.end;
          std::uint32_t group = 0x01010101u * padding;
          if (inside) std::memcpy(&group, src + (first + r * src_step + 4 * i * row.step), sizeof group);
          std::memcpy(panel + r * dst_step + 4 * i, &group, sizeof group);
        }
      }
    }
  }
}

/// Four channels of `count` pixels to lines of 16 groups, `step` bytes apart, each value xor `flip`.
DMLREF_TARGET_AVX512VNNI inline void interleave_lines(const std::uint8_t* const* channels, Index count,
                                                      std::uint8_t flip, std::uint8_t* dst, Index step) noexcept {
  const __m512i flips = _mm512_set1_epi8(static_cast<char>(flip));
  for (Index at = 0; at < count; at += 64, dst += 4 * step) {
    const Index left = smaller(count - at, 64);
    const __mmask64 used = ~std::uint64_t{0} >> (64 - left);
    __m512i groups[4];
    avx512vnni::interleave64(_mm512_maskz_loadu_epi8(used, channels[0] + at),
                             _mm512_maskz_loadu_epi8(used, channels[1] + at),
                             _mm512_maskz_loadu_epi8(used, channels[2] + at),
                             _mm512_maskz_loadu_epi8(used, channels[3] + at), flips, groups);
    DMLREF_UNROLL
    for (Index v = 0; v < 4; ++v) {
      if (16 * v < left) _mm512_storeu_si512(dst + v * step, groups[v]);
    }
  }
}

/// A block's input while it is staged.
class Stager {
 public:
  Stager(const Plan& plan, const Run& run, const std::uint8_t* input, const BlockPlace& place, std::uint8_t* scratch,
         std::uint8_t* staged) noexcept
      : g_(plan.g), run_(run), input_(input), place_(place), scratch_(scratch), staged_(staged) {}

  void stage(const JoinedPlanes& l) const noexcept { stage_planes(l, false); }
  void stage(const PanelPlanes& l) const noexcept {
    if (l.group == PanelPlanes::KGroup::channels) return stage_planes(l, true);
    each_row(l, [&](const std::uint8_t* row, Index width, std::uint8_t* to) { stage_windows(l, row, width, to); });
  }
  void stage(const PixelRows& l) const noexcept {
    each_row(l, [&](const std::uint8_t* row, Index width, std::uint8_t* to) { stage_pixels(l, row, width, to); });
  }

 private:
  Index first_column() const noexcept { return place_.x * g_.stride_x - g_.pad_x; }
  static Index between(Index value, Index low, Index high) noexcept {
    return value < low ? low : value > high ? high : value;
  }

  /// stage_row(row, width, to): an input row that some output row reads; of width 0 where it is padding.
  template <class StageRow>
  void each_row(const StagedRows& l, StageRow stage_row) const noexcept {
    const Index first_row = place_.y * g_.stride_y - g_.pad_y;
    const Index rows = l.in_rows(g_, place_.rows);
    for (Index r = 0; r < rows; ++r) {
      if (l.row_skip == 1 && !row_is_read(g_, r)) continue;
      const Index y = first_row + r * l.row_skip;
      const bool outside = y < 0 || y >= g_.height;
      stage_row(input_ + (outside ? 0 : y) * g_.in.y, outside ? 0 : g_.width, staged_ + l.row_at(r));
    }
  }

  // Four channels at a time become groups, of all rows at once where these follow each other; then each kernel column
  // takes its own, row by row.
  void stage_planes(const PlaneLines& l, bool panels) const noexcept {
    const Index groups = PlaneLines::channel_groups(g_);
    const Index rows = l.in_rows(g_, place_.rows);
    const auto zero = static_cast<std::uint8_t>(run_.input_zero_point ^ run_.input_flip);
    const Index reach = l.in_columns(g_, place_.columns);
    const Index left = between(first_column(), 0, g_.width), right = between(first_column() + reach, left, g_.width);
    const Index width = right - left;
    // Staged rows [begin, end) are in the input.
    const Index first_row = place_.y * g_.stride_y - g_.pad_y;
    const Index begin = between(ceil_div(-first_row, l.row_skip), 0, rows);
    const Index end = between(ceil_div(g_.height - first_row, l.row_skip), begin, rows);
    const bool joined = g_.in.y == width && l.row_skip == 1;
    const bool any = begin < end && width > 0;
    const std::uint8_t* const from = any ? input_ + ((first_row + begin * l.row_skip) * g_.in.y + left) : input_;
    const Index row_step = l.row_skip * g_.in.y;
    const bool straight = g_.kernel_w == 1 && g_.stride_x == 1 && width == place_.columns && panels;
    for (Index group = 0; group < groups; ++group) {
      std::uint8_t* const scratch = scratch_ + Plan::scratch_margin;
      const std::uint8_t* channels[4];
      for (Index e = 0; e < 4; ++e) {
        channels[e] = from + (4 * group + e < g_.in_channels ? 4 * group + e : 4 * group) * g_.in.c;
      }
      if (straight && begin == 0 && end == rows) {  // each row is read once
        for (Index r = 0; r < rows; ++r) {
          const std::uint8_t* const at[4] = {channels[0] + r * row_step, channels[1] + r * row_step,
                                             channels[2] + r * row_step, channels[3] + r * row_step};
          interleave_lines(at, width, run_.input_flip, staged_ + r * l.row_step + group * l.tile_step, l.panel_step);
        }
        continue;
      }
      const Index lines = !any ? 0 : joined ? 1 : end - begin;
      const Index line = joined ? (end - begin) * width : width;
      for (Index r = 0; r < lines; ++r) {
        const std::uint8_t* const at[4] = {channels[0] + r * row_step, channels[1] + r * row_step,
                                           channels[2] + r * row_step, channels[3] + r * row_step};
        avx512vnni::interleave(at, line, run_.input_flip, scratch + 4 * r * line);
      }
      for (Index kx = 0; kx < g_.kernel_w; ++kx) {
        RowOfGroups row{first_column() + kx * g_.dilation_x - left, g_.stride_x, 0, 0, place_.columns};
        row.begin = between(ceil_div(-row.first, row.step), 0, row.columns);
        row.end = between(ceil_div(width - row.first, row.step), row.begin, row.columns);
        std::uint8_t* const to = staged_ + (kx * groups + group) * l.tile_step;
        const RowOfGroups none{0, 1, 0, 0, place_.columns};
        for (Index phase = 0; phase < l.phases; ++phase) {
          // Rows phase, phase + phases, …: before the input, in it, after it.
          const auto phase_row = [&](Index r) { return ceil_div(r - phase, l.phases); };
          const Index in = between(phase_row(begin), 0, l.phase_rows), out = between(phase_row(end), in, l.phase_rows);
          const Index all = between(phase_row(rows), out, l.phase_rows);
          std::uint8_t* const at = to + phase * l.phase_step;
          deinterleave_rows(none, scratch, 0, at, l.row_step, l.panel_step, in, zero);
          if (in < out) {
            deinterleave_rows(row, scratch + 4 * (phase + in * l.phases - begin) * width, 4 * l.phases * width,
                              at + in * l.row_step, l.row_step, l.panel_step, out - in, zero);
          }
          deinterleave_rows(none, scratch, 0, at + out * l.row_step, l.row_step, l.panel_step, all - out, zero);
        }
      }
    }
  }

  void stage_windows(const PanelPlanes& l, const std::uint8_t* row, Index width, std::uint8_t* to) const noexcept {
    const Index groups = PlaneLines::column_groups(g_);
    const Index pixels = round_up(place_.columns, tile_side);
    const Index count = (pixels - 1) * g_.stride_x + 4 * groups;
    for (Index c = 0; c < g_.in_channels; ++c) {
      gather_row(row + c * g_.in.c, width, g_.in.x, first_column(), 1, count, run_.input_zero_point, scratch_);
      for (Index group = 0; group < groups; ++group, to += l.tile_step) {
        for (Index x = 0; x < pixels; x += tile_side) {
          avx2::windows4(scratch_ + 4 * group + x * g_.stride_x, tile_side, g_.stride_x, run_.input_flip,
                         to + x / tile_side * l.panel_step);
        }
      }
    }
  }

  void stage_pixels(const PixelRows& l, const std::uint8_t* row, Index width, std::uint8_t* to) const noexcept {
    const Index skip = l.column_skip;
    const Index need = l.in_columns(g_, place_.columns);
    const Index begin = width == 0 ? need : between(ceil_div(-first_column(), skip), 0, need);
    const Index end = width == 0 ? need : between(ceil_div(width - first_column(), skip), begin, need);
    const auto zero = static_cast<std::uint8_t>(run_.input_zero_point ^ run_.input_flip);
    const auto fill = [&](Index from, Index until) {
      if (until > from)
        std::memset(to + from * l.column_step, zero, static_cast<std::size_t>((until - from) * l.column_step));
    };
    fill(0, begin);
    fill(end, need);
    if (begin == end) return;
    const std::uint8_t* const from = row + (first_column() + begin * skip) * g_.in.x;
    std::uint8_t* const at = to + begin * l.column_step;
    if (skip * g_.in.x == l.column_step && l.column_step == g_.in_channels) {
      return avx2::convert<4>(from, (end - begin) * g_.in_channels, run_.input_flip, at);
    }
    for (Index x = 0; x < end - begin; ++x) {
      avx2::convert<4>(from + x * skip * g_.in.x, g_.in_channels, run_.input_flip, at + x * l.column_step);
    }
  }

  const Geometry& g_;
  const Run& run_;
  const std::uint8_t* input_;
  const BlockPlace& place_;
  std::uint8_t* scratch_;
  std::uint8_t* staged_;
};

}  // namespace fast::qlc::amx
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
