// kernels.hpp: the contract between the direct convolution's loops and the kernels of an instruction set.
//
// The staged input is padded and laid out so that output lane i reads tap k at offsets[k] + step * i: a row of lanes
// runs over the ends of rows, and what it computes there is thrown away. Lanes are pixels of one channel, or channels
// of neighbouring pixels. A block of lanes is summed in four accumulators; within a block lane 16 l + 4 g + j is
// element j of 128-bit part l of accumulator g, which is where byte shuffles and packs within 128 bits want it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/direct/folding.hpp"
#include "dmlref/fast/quantized_linear_convolution/geometry.hpp"
#include "dmlref/fast/quantized_linear_convolution/requantize/round_exactly.hpp"
#include "dmlref/fast/quantized_linear_convolution/requantize/rounded_sums.hpp"
#include "dmlref/fast/quantized_linear_convolution/requantize/scalar.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

/// What the sums of a channel start from and how they are rounded: times the scale, plus the shift.
///
/// Integers are rounded in fixed point with 16 bits behind the point (requantizer.hpp): the scale is times 2^16; the
/// shift has the zero point, one half, and the largest error, so that the high half is the result unless the low half
/// is `near_tie` or less: then the value may have passed a tie. Of sums that are floats (rounded_sums.hpp) none is in
/// doubt, and the results are in the low halves.
struct SumConstants {
  std::int32_t sum = 0;
  float scale = 0, shift = 0;
  std::uint32_t near_tie = 0;
};

/// One output channel of the pixel kernels; its weights follow.
struct ChannelData {
  double factor = 0;
  SumConstants integers, floats;  ///< floats: sum is 0 where there are none
  std::uint32_t wide = 0;         ///< as in LaneArgs
  std::uint32_t unused = 0;
};

/// Planes that are read where they are, and the output planes, `outputs` for each.
struct PlaneArgs {
  const std::uint8_t* src = nullptr;
  std::ptrdiff_t row_step = 0, plane_step = 0;  ///< of src
  std::ptrdiff_t rows = 0, width = 0;           ///< of the input
  std::ptrdiff_t pad_y = 0, pad_x = 0;  ///< before the first row, the first column; pad_y < 0: a band of output rows
  std::uint8_t fill = 0, flip = 0;      ///< as in StageArgs (rows.hpp)
  std::uint8_t* dst = nullptr;
  std::ptrdiff_t dst_row_step = 0, dst_plane_step = 0;
  std::ptrdiff_t out_rows = 0, out_width = 0;
  std::ptrdiff_t planes = 0, outputs = 1;  ///< planes: of the output
  std::ptrdiff_t kernel = 3, stride = 1;   ///< in both directions
  std::ptrdiff_t kernel_reach = 2;         ///< columns from the first tap to the last
  const std::uint8_t* tensor = nullptr;    ///< all that may be read
  std::ptrdiff_t tensor_bytes = 0;
};

/// Pixels of 64 channels, or pairs of 32, that are read where they are, and the output's.
struct ColumnArgs {
  const std::uint8_t* src = nullptr;
  std::ptrdiff_t row_step = 0, column_step = 0;  ///< of src
  std::ptrdiff_t rows = 0, width = 0;            ///< of the input
  std::ptrdiff_t pad_y = 0, pad_x = 0;           ///< as in PlaneArgs
  std::uint8_t fill = 0, flip = 0;               ///< as in StageArgs
  std::uint8_t* dst = nullptr;
  std::ptrdiff_t dst_row_step = 0, dst_column_step = 0;
  std::ptrdiff_t out_rows = 0, out_width = 0;
  std::ptrdiff_t kernel = 3;  ///< in both directions
  std::ptrdiff_t stride_y = 1, stride_x = 1;
  std::ptrdiff_t pixels = 1;  ///< of a vector
};

/// The input rows that output row `y` sees, as `rows.row`, pixel 0 of each, and `rows.step`,
/// bytes from pixel to pixel; where there is none all pixels are `filling`.
template <std::ptrdiff_t Kernel, class Rows>
[[gnu::always_inline]] constexpr void take_rows(const ColumnArgs& p, std::ptrdiff_t y, const std::uint8_t* filling,
                                                Rows& rows) noexcept {
  for (std::ptrdiff_t ky = 0; ky < Kernel; ++ky) {
    const std::ptrdiff_t in = y * p.stride_y + ky - p.pad_y;
    const bool there = in >= 0 && in < p.rows;
    rows.row[ky] = there ? p.src + in * p.row_step : filling;
    rows.step[ky] = there ? p.column_step : 0;
  }
}

/// One run of lanes.
struct LaneArgs : requantize::ExactRounding {  // factor: as `sum`
  const std::uint8_t* staged = nullptr;
  const std::int32_t* offsets = nullptr;  ///< bytes; one per tap, or per quad of a kernel row (row kernels)
  std::ptrdiff_t units = 0;               ///< groups of taps: see Kernels::group
  const std::byte* weights = nullptr;     ///< pixels: one channel's taps. channels: per block, unit and lane
  /// Byte weights of 9 bits, in two parts: where bit u % 32 is set, unit u has a second part to be added; where not,
  /// that part is 0.
  std::uint32_t wide = 0;
  const std::uint32_t* wide_of_output = nullptr;  ///< pixel_taps: the same of each output
  /// channel_columns: bytes whose spare slot repeats a quad's first row, its second; the others' repeats the third.
  std::uint64_t spare[2]{};
  /// channel_quads: byte weights of 9 bits, less a shift (null: none). What is to be added, for each sum, is the shift
  /// times the sum of the window's bytes less `window_middle`. One per lane, as `sum`; 16 bits.
  const std::int32_t* window_shift = nullptr;
  std::ptrdiff_t stride = 1;              ///< row kernels
  const std::uint8_t* pattern = nullptr;  ///< row kernels: 16 bytes, 4 j + k is 2 j * stride + k * dilation
  const std::int32_t* sum = nullptr;      ///< SumConstants: one, or one per lane of a period
  const float* scale = nullptr;           ///< as `sum`
  const float* shift = nullptr;           ///< as `sum`
  std::uint32_t near_tie = 0;             ///< of all channels
  /// A bit for each output (pixel kernels), or for each block of a period (channels; channel_columns has one), whose
  /// sums are floats.
  std::uint32_t floats = 0;
  std::ptrdiff_t blocks = 0;
  std::ptrdiff_t period = 1;  ///< channels: blocks after which weights, sums and scales repeat
  std::uint8_t* out = nullptr;
  /// Pixels, several outputs at once: bytes from one output's weights and lanes to the next one's. Sums, scales and
  /// factors are then one per output.
  std::ptrdiff_t weight_step = 0, out_step = 0;
};

/// Halfway through what windows sum to, at most 256 bytes, so that what is left has 16 bits with a sign.
inline constexpr std::int32_t window_middle = 32640;

/// Everything an instruction set brings; what its table leaves out it does not have.
struct Kernels {
  std::ptrdiff_t block = 0;  ///< lanes of a block; a multiple of 16
  std::ptrdiff_t group = 0;  ///< taps that meet in one 32-bit sum: 4 with weights of 8 bits, 2 or 1 with 16 bits
  /// Row kernel: units of four taps of one kernel row, for a horizontal stride of 1 or 2. Null where there is none.
  void (*pixel_rows)(const LaneArgs&) noexcept = nullptr;
  /// Planes that are read where they are. What it takes of LaneArgs: the pattern, what is the same for all channels,
  /// and the first channel's ChannelData as weights. `planes_suit`: whether it is for this convolution. Null where
  /// there is none.
  void (*pixel_planes)(const LaneArgs&, const PlaneArgs&) noexcept = nullptr;
  bool (*planes_suit)(const Geometry&) noexcept = nullptr;
  std::ptrdiff_t reach = 0;  ///< row kernels: the largest dilation, with a stride of 1; with 2 it is 1
  void (*pixel_taps)(const LaneArgs&) noexcept = nullptr;
  /// pixel_taps of two and of four output channels of the same input. Null where there is none.
  void (*pixel_taps_2)(const LaneArgs&) noexcept = nullptr;
  void (*pixel_taps_4)(const LaneArgs&) noexcept = nullptr;
  void (*channel_taps)(const LaneArgs&) noexcept = nullptr;
  /// Groups of 2 or 4 channels to as many, channels in lanes: a unit is a tap, its quad is 4 neighbouring channels, and
  /// output channel 4 d + m of a block is lane d of accumulator m; a unit has four weights whatever `group` is. Null
  /// where there is none.
  void (*channel_quads)(const LaneArgs&) noexcept = nullptr;
  void (*fold)(const FoldArgs&, FoldedChannels&) noexcept = &fold_any;
  void (*fold_numbers)(const FoldArgs&, FoldedChannels&) noexcept = &direct::fold_numbers;
  bool rounded_sums = false;  ///< whether kernels take sums as in rounded_sums.hpp
  /// Depthwise kernels of three rows and columns, or five, channels in lanes. A unit is three taps of a kernel column
  /// and a spare slot; with five rows another one has the other two, twice. Weights of 16 bits: see columns256.hpp.
  /// What it takes of LaneArgs: what is the same for all channels, and the constants of a block. `columns_suit`:
  /// whether it is for this convolution. Null where there is none.
  void (*channel_columns)(const LaneArgs&, const ColumnArgs&) noexcept = nullptr;
  bool (*columns_suit)(const Geometry&) noexcept = nullptr;
  /// Whether taps meet in twos in pixel_planes and channel_columns, with weights of 16 bits, whatever `group` is.
  bool pairs_in_place = false;
};

using requantize::Factors;

/// Where lane `lane` of a block lies in the order of the accumulators.
constexpr std::ptrdiff_t place_of_lane(std::ptrdiff_t lane, std::ptrdiff_t block) noexcept {
  return (lane % 16 / 4 * (block / 16) + lane / 16) * 4 + lane % 4;
}

}  // namespace fast::qlc::direct
DMLREF_END
