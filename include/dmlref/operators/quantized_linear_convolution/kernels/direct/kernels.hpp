// kernels.hpp: the contract between the direct convolution's strategies and the kernels of an instruction set.
//
// Lanes are pixels of one channel, or channels of neighbouring pixels. A block of lanes is summed in four accumulators.
// Zips, packs and byte shuffles stay within 128 bits, and so the order of lanes is:
//
//   bytes of a block               element of accumulator g       back in order by
//   16 l + 4 g + j                 j of 128-bit part l            LaneEpilogue::bytes
//   4 d + g   (channel_quads)      d                              LaneEpilogue::bytes_of_quads
//
// A K-group is what meets in one 32-bit sum: 4 bytes, or 1 where `group` is 1. layout.hpp has the order of the taps in
// K-groups, for each kind of kernel. Arguments are read-only once they are made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/weights.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"
#include "dmlref/requantize/multiply_add_rounding.hpp"
#include "dmlref/requantize/requantizer.hpp"
#include "dmlref/requantize/scalar.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

using requantize::ExactFactors, requantize::Factors, requantize::LaneRounding;

/// What the sums of a channel start from and how they are rounded: times the scale, plus the shift.
///
/// Integers are rounded in fixed point with 16 bits behind the point (requantizer.hpp): the scale is times 2^16; the
/// shift has the zero point, one half, and the largest error, so that the high half is the result unless the low half
/// is `tie_tolerance` or less: then the value may have passed a tie. Sums that are floats (multiply_add_rounding.hpp)
/// have no near ties, and the results are in the low halves.
struct SumConstants {
  std::int32_t sum = 0;
  float scale = 0, shift = 0;
  std::uint32_t tie_tolerance = 0;
};

/// One output channel of kernels with pixels in lanes; its weights follow.
struct ChannelData {
  double factor = 0, offset = 0;  ///< as requantize::ExactFactors
  SumConstants integers, floats;  ///< floats: sum is 0 where there are none
  std::uint32_t high_parts = 0;   ///< as in LaneWeights
  std::uint32_t unused = 0;
};

struct LaneWeights {
  const std::byte* data = nullptr;
  /// Bytes from output to output (pixels in lanes), or from block to block of a period (channels in lanes).
  std::ptrdiff_t step = 0;
  /// Byte weights of 9 bits: where bit k % 32 is set, K-group k has high parts, which are to be added; where not, these
  /// are 0. Of channel_quads: whether there is a window_shift.
  std::uint32_t high_parts = 0;
  /// channel_columns: bytes whose padding lane replicates a column's first tap, its second; the others' the third.
  std::uint64_t replicated[2]{};
  /// channel_quads: byte weights of 9 bits, less a shift. What is to be added, for each sum, is the shift times the sum
  /// of the window's bytes less `window_middle`. One per lane; 16 bits.
  const std::int32_t* window_shift = nullptr;
};

/// Halfway through what windows sum to, at most 256 bytes, so that what is left has 16 bits with a sign.
inline constexpr std::int32_t window_middle = 32640;

/// Lanes that are staged: lane i reads tap k at offsets[k] + i, and runs over the ends of rows.
struct LaneArgs {
  const std::uint8_t* staged = nullptr;
  const std::int32_t* offsets = nullptr;  ///< bytes; one per tap, of channel_quads one per K-group
  std::ptrdiff_t groups = 0;              ///< K-groups
  std::ptrdiff_t blocks = 0;
  std::ptrdiff_t period = 1;  ///< channels in lanes: blocks after which weights and rounding repeat
  LaneWeights weights;
  LaneRounding rounding;
  std::uint8_t* out = nullptr;
  std::ptrdiff_t out_step = 0;  ///< elements from output to output (pixels in lanes)
};

/// Rows of the input that are read where they are.
struct InputRows {
  const std::uint8_t* src = nullptr;
  std::ptrdiff_t row_step = 0, rows = 0, width = 0;
  std::ptrdiff_t pad_y = 0, pad_x = 0;  ///< before the first row, the first column; pad_y < 0: a band of output rows
  std::uint8_t fill = 0, flip = 0;      ///< a pixel is xor flip; padding is `fill`, flipped
};
struct OutputRows {
  std::uint8_t* dst = nullptr;
  std::ptrdiff_t row_step = 0, rows = 0, width = 0;  ///< row_step: in elements
};

/// Planes that are read where they are, and the output planes, `outputs` for each.
struct PlaneArgs {
  InputRows in;
  std::ptrdiff_t in_plane_step = 0;
  const std::uint8_t* tensor = nullptr;  ///< all that may be read
  std::ptrdiff_t tensor_bytes = 0;
  std::ptrdiff_t kernel = 3, stride = 1;  ///< of columns
  const std::byte* channel = nullptr;     ///< ChannelData of the first output plane
  std::ptrdiff_t channel_step = 0;
  requantize::ExactRounding rounding;  ///< no factors
  OutputRows out;
  std::ptrdiff_t out_plane_step = 0;       ///< elements
  std::ptrdiff_t planes = 0, outputs = 1;  ///< planes: of the output
  Tuning::Convolution::PlaneCosts costs{};
};

/// Plane `i` of the output.
inline std::uint8_t* output_at(const PlaneArgs& p, std::ptrdiff_t i) noexcept {
  return p.out.dst + (p.rounding.stores_sums ? 4 : 1) * i * p.out_plane_step;
}

/// Pixels of a block of channels, or `pixels` neighbouring ones of fewer, that are read where they are.
struct ColumnArgs {
  InputRows in;
  std::ptrdiff_t in_step = 0;  ///< from column to column
  std::ptrdiff_t kernel = 3, stride_y = 1, stride_x = 1;
  std::ptrdiff_t pixels = 1;
  LaneWeights weights;
  LaneRounding rounding;
  OutputRows out;
  std::ptrdiff_t out_step = 0;  ///< elements
};

/// The input rows that output row `y` sees, as `rows.row`, pixel 0 of each, and `rows.step`, bytes from pixel to pixel;
/// where there is none all pixels are `padding`.
template <std::ptrdiff_t Kernel, class Rows>
[[gnu::always_inline]] constexpr void take_rows(const ColumnArgs& p, std::ptrdiff_t y, const std::uint8_t* padding,
                                                Rows& rows) noexcept {
  for (std::ptrdiff_t ky = 0; ky < Kernel; ++ky) {
    const std::ptrdiff_t in = y * p.stride_y + ky - p.in.pad_y;
    const bool there = in >= 0 && in < p.in.rows;
    rows.row[ky] = there ? p.in.src + in * p.in.row_step : padding;
    rows.step[ky] = there ? p.in_step : 0;
  }
}

/// Everything an instruction set brings; what its table leaves out it does not have.
struct Kernels {
  std::ptrdiff_t block = 0;         ///< lanes of a block; a multiple of 16
  std::ptrdiff_t group = 0;         ///< taps of a K-group: 4 or 1
  std::ptrdiff_t weight_bytes = 2;  ///< 1: what a weight less its zero point has beyond eight bits is multiplied apart
  void (*pixel_taps)(const LaneArgs&) noexcept = nullptr;
  /// pixel_taps of two and of four output channels of the same input.
  void (*pixel_taps_2)(const LaneArgs&) noexcept = nullptr;
  void (*pixel_taps_4)(const LaneArgs&) noexcept = nullptr;
  void (*channel_taps)(const LaneArgs&) noexcept = nullptr;
  /// Groups of 2 or 4 channels to as many, channels in lanes: a K-group is one tap of 4 neighbouring channels.
  void (*channel_quads)(const LaneArgs&) noexcept = nullptr;
  /// Planes in place, for a convolution that planes_suit.
  void (*pixel_planes)(const PlaneArgs&) noexcept = nullptr;
  bool (*planes_suit)(const Geometry&) noexcept = nullptr;
  /// Columns in place, for a convolution that columns_suit. With bytes a K-group is three taps of a kernel column and a
  /// padding lane; with five rows another one has the other two, twice. With pairs of words: see columns256-inl.hpp.
  void (*channel_columns)(const ColumnArgs&) noexcept = nullptr;
  bool (*columns_suit)(const Geometry&) noexcept = nullptr;
  const Kernels* narrower = nullptr;  ///< another set for planes in place that do not suit this one
  bool pairs_in_place = false;        ///< columns in place, and planes_in_words, meet weights of 16 bits in pairs
  decltype(&precompute_any) precompute = &precompute_any;
  decltype(&pack_any) pack = &pack_any;
  bool multiply_add_rounding = false;  ///< whether kernels take sums as in multiply_add_rounding.hpp
};

/// Whether planes in place of 256 bits meet weights of 16 bits in pairs: where weights are bytes, a stride of 2 has
/// more loads for five columns in quads than it saves products.
constexpr bool planes_in_words(std::ptrdiff_t weight_bytes, std::ptrdiff_t kernel, std::ptrdiff_t stride) noexcept {
  return weight_bytes == 2 || (kernel == 5 && stride == 2);
}

/// Where byte `lane` of a block lies in the order of the accumulators; and of channel_quads.
constexpr std::ptrdiff_t place_of_lane(std::ptrdiff_t lane, std::ptrdiff_t block) noexcept {
  return (lane % 16 / 4 * (block / 16) + lane / 16) * 4 + lane % 4;
}
constexpr std::ptrdiff_t place_of_quad_lane(std::ptrdiff_t lane, std::ptrdiff_t block) noexcept {
  return lane % 4 * (block / 4) + lane / 4;
}

}  // namespace fast::qlc::direct
/// The kernels in plain C++: the definition of what the others compute.
namespace fast::qlc::direct::scalar {

template <bool Channels>
inline void taps(const LaneArgs& t) noexcept {
  for (std::ptrdiff_t b = 0; b < t.blocks; ++b) {
    const std::ptrdiff_t at = Channels ? b % t.period : 0;
    std::uint32_t sums[16];
    for (std::ptrdiff_t i = 0; i < 16; ++i)
      sums[i] = static_cast<std::uint32_t>(t.rounding.sum[Channels ? at * 16 + i : 0]);
    const std::byte* weights = t.weights.data + at * t.weights.step;
    for (std::ptrdiff_t k = 0; k < t.groups; ++k) {
      const std::uint8_t* x = t.staged + t.offsets[k] + b * 16;
      std::int16_t w[16];
      if constexpr (Channels) {
        std::memcpy(w, weights + k * 32, sizeof w);
      } else {
        std::memcpy(w, weights + k * 2, sizeof w[0]);
      }
      for (std::ptrdiff_t i = 0; i < 16; ++i) sums[i] += static_cast<std::uint32_t>(x[i] * w[Channels ? i : 0]);
    }
    std::int32_t wrapped[16];
    std::memcpy(wrapped, sums, sizeof wrapped);
    if (t.rounding.stores_sums) {
      std::memcpy(t.out + 4 * b * 16, wrapped, sizeof wrapped);
    } else {
      requantize::scalar::exact(wrapped, t.rounding, Channels ? at * 16 : 0, Channels ? 1 : 0, t.out + b * 16);
    }
  }
}

inline constexpr Kernels kernels{
    .block = 16,
    .group = 1,
    .pixel_taps = &taps<false>,
    .channel_taps = &taps<true>,
};

}  // namespace fast::qlc::direct::scalar
DMLREF_END
