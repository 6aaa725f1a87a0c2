// quantized_linear_convolution.hpp: the fast convolution: what is decided at compile, and the loops that run.
//
// Output pixels are cut into blocks, a block's input is staged (staging.hpp), then every block of output channels is
// multiplied tile by tile (kernels.hpp), requantized while the sums are in the L1 cache, and written. With the
// activations a' and the weights w' as the kernels read them (both perhaps shifted by 128, zero points with them):
//   sum (a - za)(w - zw) + bias = sum a' w'  +  (bias - za' sum w' + K za' zw')  -  zw' sum a'
// The second term is one number per channel, the third a product of one per channel and one per pixel, absent where the
// filter's zero points are 0. Padding holds za', so K counts every tap. Kernel rows that lie in it are left out of the
// first sum and of sum w'.
//
// Overflow: sums are taken modulo 2^32, which is exact where the final value fits: K * 255 * 255 + |bias| < 2^31, that
// is K <= 33025 with a small bias. Otherwise (`wide`) K is cut into pieces of at most 65536 elements, each of whose
// sums |sum a' w'| <= 65536 * 255 * 128 = 2139095040 < 2^31 is exact, and all else is done in 64 bits.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <thread>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/filter.hpp"
#include "dmlref/fast/quantized_linear_convolution/geometry.hpp"
#include "dmlref/fast/quantized_linear_convolution/kernels.hpp"
#include "dmlref/fast/quantized_linear_convolution/requantize.hpp"
#include "dmlref/fast/quantized_linear_convolution/select.hpp"
#include "dmlref/fast/quantized_linear_convolution/staging.hpp"
#include "dmlref/isa/cpu.hpp"

DMLREF_BEGIN
namespace fast {
namespace qlc {

/// The inputs in the order of the desc.
enum Input : std::size_t {
  input_tensor,
  input_scale_tensor,
  input_zero_point_tensor,
  filter_tensor,
  filter_scale_tensor,
  filter_zero_point_tensor,
  bias_tensor,
  output_scale_tensor,
  output_zero_point_tensor
};

/// Where the bytes are: inputs as `Input` counts them, null where absent or owned by DML and packed.
struct Buffers {
  const std::byte* const* inputs = nullptr;
  std::byte* output = nullptr;
  const std::byte* persistent = nullptr;
  std::byte* temporary = nullptr;
};

/// A tensor of one value, or of one per output channel.
struct ChannelTensor {
  bool present = false;
  bool is_signed = false;
  Index step = 0;  // elements from channel to channel

  ChannelTensor() = default;
  explicit ChannelTensor(const TensorDesc& tensor) : present(true), is_signed(tensor.data_type == DataType::int8) {
    const Layout layout = layout_of(tensor);
    for (std::size_t d = 0; d < layout.rank(); ++d) {
      if (layout.shape[d] > 1) step = layout.strides[d];
    }
  }
  explicit ChannelTensor(const std::optional<TensorDesc>& tensor)
      : ChannelTensor(tensor ? ChannelTensor(*tensor) : ChannelTensor()) {}
};

template <class T>
T load(const std::byte* data, Index index) noexcept {
  T value;
  std::memcpy(&value, data + index * static_cast<Index>(sizeof(T)), sizeof value);
  return value;
}

constexpr std::uint32_t wrap(std::int64_t value) noexcept {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(value));
}

/// An 8-bit zero point, `index` steps on; 0 where the tensor is absent.
inline std::int32_t zero_point_of(const ChannelTensor& tensor, const std::byte* data, Index index) noexcept {
  if (!tensor.present) return 0;
  return tensor.is_signed ? load<std::int8_t>(data, index * tensor.step)
                          : load<std::uint8_t>(data, index * tensor.step);
}

/// What stages 2 and 3 of a convolution need of its tensors. Scales per packed channel, their number and bounds are the
/// plan's.
inline Requantizer bind_requantizer(const Buffers& b, const Geometry& g, const ChannelTensor& filter_scale,
                                    const ChannelTensor& output_zero_point) noexcept {
  Requantizer to;
  to.input_scale = load<float>(b.inputs[input_scale_tensor], 0);
  to.output_scale = load<float>(b.inputs[output_scale_tensor], 0);
  to.filter_scale = b.inputs[filter_scale_tensor];
  to.filter_scale_step = filter_scale.step * 4;
  to.output_signed = g.output_signed;
  to.zero_point = zero_point_of(output_zero_point, b.inputs[output_zero_point_tensor], 0);
  to.out_channels = g.out_channels;
  return to;
}

template <std::size_t Bytes>
void copy_pixels_of(const std::uint8_t* from, Index pitch, std::uint8_t* to, Index step, Index pixels) noexcept {
  for (Index p = 0; p < pixels; ++p, from += pitch, to += step) std::memcpy(to, from, Bytes);
}

/// `bytes` channels of each pixel, side by side; the usual numbers without a call.
inline void copy_pixels(const std::uint8_t* from, Index pitch, std::uint8_t* to, Index step, Index pixels,
                        Index bytes) noexcept {
  switch (bytes) {
    case 8: return copy_pixels_of<8>(from, pitch, to, step, pixels);
    case 16: return copy_pixels_of<16>(from, pitch, to, step, pixels);
    case 24: return copy_pixels_of<24>(from, pitch, to, step, pixels);
    case 32: return copy_pixels_of<32>(from, pitch, to, step, pixels);
    case 64: return copy_pixels_of<64>(from, pitch, to, step, pixels);
    default:
      for (Index p = 0; p < pixels; ++p, from += pitch, to += step) {
        std::memcpy(to, from, static_cast<std::size_t>(bytes));
      }
  }
}

/// Rows [first, last) of the kernel.
struct KernelRows {
  Index first, last;
};

/// Memory of one task, cut into pieces of 64 bytes' alignment.
struct Slot {
  Index scratch = 0, staged = 0, sums = 0, bytes = 0, pixel_sums = 0, pixel_offset = 0, positions = 0, wide = 0,
        size = 0;
};

/// What one execute knows: where the data is and what was computed from zero points, scales and bias.
struct Run {
  const std::uint8_t* input = nullptr;
  std::uint8_t* output = nullptr;
  const std::uint8_t* filter = nullptr;  // packed
  const float* scale = nullptr;
  const std::int32_t* channel_offset = nullptr;
  const std::int32_t* minus_filter_zero_point = nullptr;  // shifted
  const std::int64_t* wide_offset = nullptr;
  Requantizer requantizer;
  std::uint8_t input_zero_point = 0;  // the byte that padding holds, unshifted
  std::uint8_t input_flip = 0;
  std::int32_t uniform_zero_point = 0;  // minus the shifted filter zero point where all channels share it
  bool pixel_terms = false;             // some filter zero point, shifted, is not 0
  bool uniform = true;
  bool wide = false;
  bool paired = false;  // blocks of 64 pixels are staged in the order of Kernels::interleave_pairs
};

}  // namespace qlc

/// General convolutions: any shape, type mix and layout. Immutable once made.
class TiledConvolution {
 public:
  using Run = qlc::Run;

  TiledConvolution(const QuantizedLinearConvolutionDesc& desc, const qlc::Kernels& kernels)
      : g_(qlc::flatten(qlc::geometry_of(desc))),
        kernels_(kernels),
        input_zero_point_(desc.input_zero_point),
        filter_scale_(desc.filter_scale),
        filter_zero_point_(desc.filter_zero_point),
        bias_(desc.bias),
        output_zero_point_(desc.output_zero_point),
        filter_owned_(desc.filter.owned_by_dml) {
    choose();
  }

  /// False for filters so deep that tables along K would be out of proportion; the reference takes them.
  bool usable() const noexcept { return block_.order.steps() <= Index{1} << 22 && block_.bytes < Index{1} << 31; }

  std::uint64_t temporary_bytes() const noexcept { return static_cast<std::uint64_t>(slots_at_ + slots_ * slot_.size); }
  /// The packed filter where DML owns it, else nothing.
  std::uint64_t persistent_bytes() const noexcept {
    return filter_owned_ ? static_cast<std::uint64_t>(round_up(filter_.bytes(), 256)) : 0;
  }
  void pack(const std::byte* filter, std::byte* to) const noexcept {
    qlc::pack_filter(g_, block_.order, kernels_, filter_, elements_.data(),
                     reinterpret_cast<const std::uint8_t*>(filter), reinterpret_cast<std::uint8_t*>(to));
  }

  /// What depends on data but not on pixels. Once per execute, before the units run.
  void prepare(const qlc::Buffers& b, Run& run) const noexcept {
    std::byte* memory = b.temporary;
    if (!filter_owned_) pack(b.inputs[qlc::filter_tensor], memory + filter_at_);
    const std::byte* packed = filter_owned_ ? b.persistent : memory + filter_at_;
    auto* scale = reinterpret_cast<float*>(memory + scale_at_);
    auto* offset = reinterpret_cast<std::uint32_t*>(memory + offset_at_);  // modulo 2^32
    auto* zero = reinterpret_cast<std::int32_t*>(memory + zero_point_at_);
    auto* wide_offset = reinterpret_cast<std::int64_t*>(memory + wide_offset_at_);

    // Activations: the kernels read unsigned or signed bytes; flipping the top bit shifts by 128.
    const std::int32_t za = qlc::zero_point_of(input_zero_point_, b.inputs[qlc::input_zero_point_tensor], 0);
    run.input_zero_point = static_cast<std::uint8_t>(za);
    run.input_flip = g_.input_signed == kernels_.signed_activations ? 0 : 0x80;
    const std::int64_t za_shifted = za + (run.input_flip == 0 ? 0 : kernels_.signed_activations ? -128 : 128);
    const std::int32_t filter_shift = g_.filter_signed ? 0 : -128;

    qlc::Requantizer& to = run.requantizer;
    to = qlc::bind_requantizer(b, g_, filter_scale_, output_zero_point_);
    to.scale = scale;
    to.packed_channels = filter_.channels();

    const std::int64_t depth = g_.depth();
    const double ratio = static_cast<double>(to.input_scale) / static_cast<double>(to.output_scale);
    const std::byte* zeros = b.inputs[qlc::filter_zero_point_tensor];
    const std::byte* biases = b.inputs[qlc::bias_tensor];
    const std::int32_t first_zero = -(qlc::zero_point_of(filter_zero_point_, zeros, 0) + filter_shift);
    std::uint32_t differs = 0;
    std::uint32_t largest_scale_bits = 0;  // of the magnitude: floats order as their bits do
    std::uint32_t largest_bias = 0;
    const auto reach_of = [](std::int32_t minus_zero_point) {  // of |w' - zw'|
      return minus_zero_point > 0 ? 127 + minus_zero_point : 128 - minus_zero_point;
    };
    std::int32_t filter_reach = reach_of(first_zero);
    for (Index group = 0; group < g_.groups; ++group) {
      const Index at = group * filter_.channels();
      const Index channel = group * g_.out_channels;
      for (Index c = 0; c < filter_.channels(); ++c) {
        const bool filling = c >= g_.out_channels;
        zero[at + c] = filling ? 0 : first_zero;
        scale[at + c] = filling ? 0 : static_cast<float>(ratio * static_cast<double>(to.filter_scale_of(channel)));
      }
      if (filter_zero_point_.step != 0) {
        for (Index c = 0; c < g_.out_channels; ++c) {
          zero[at + c] = -(qlc::zero_point_of(filter_zero_point_, zeros, channel + c) + filter_shift);
          differs |= static_cast<std::uint32_t>(zero[at + c] ^ first_zero);
          const std::int32_t reach = reach_of(zero[at + c]);
          filter_reach = reach > filter_reach ? reach : filter_reach;
        }
      }
      if (filter_scale_.step == 1) {
        const std::byte* scales = to.filter_scale + 4 * channel;
        for (Index c = 0; c < g_.out_channels; ++c) {
          scale[at + c] = static_cast<float>(ratio * static_cast<double>(qlc::load<float>(scales, c)));
        }
      } else if (filter_scale_.step != 0) {
        for (Index c = 0; c < g_.out_channels; ++c) {
          scale[at + c] = static_cast<float>(ratio * static_cast<double>(to.filter_scale_of(channel + c)));
        }
      }
      for (Index c = 0; c < g_.out_channels; ++c) {
        const std::uint32_t bits = std::bit_cast<std::uint32_t>(scale[at + c]) & 0x7FFFFFFFu;
        largest_scale_bits = bits > largest_scale_bits ? bits : largest_scale_bits;
      }
      for (Index c = 0; c < filter_.channels(); ++c) {
        offset[at + c] = qlc::wrap(-za_shifted) * qlc::wrap(depth) * qlc::wrap(zero[at + c]);
      }
      if (bias_.present) {
        const std::byte* bias = biases + 4 * channel * bias_.step;
        for (Index c = 0; c < g_.out_channels; ++c) {
          const auto value = qlc::load<std::uint32_t>(bias, c * bias_.step);
          const std::uint32_t magnitude = value > 0x80000000u ? 0u - value : value;
          largest_bias = magnitude > largest_bias ? magnitude : largest_bias;
          offset[at + c] += value;
        }
      }
    }
    for (Index at = g_.groups * filter_.channels(), end = at + 64; at < end; ++at) {
      scale[at] = 0;
      offset[at] = 0;
      zero[at] = 0;
    }
    add_weight_sums(packed, qlc::wrap(-za_shifted), offset);
    run.uniform = differs == 0;
    run.pixel_terms = !run.uniform || first_zero != 0;
    const double largest_scale = static_cast<double>(std::bit_cast<float>(largest_scale_bits));
    const double worst_sum = static_cast<double>(depth) * 65025.0 + static_cast<double>(largest_bias);
    run.uniform_zero_point = first_zero;
    run.wide = worst_sum >= 0x1p31 || largest_scale_bits >= 0x7F800000u;
    // Closer than the bound above, as the zero points are known: most layers of any depth are within it.
    const std::int32_t lowest = g_.input_signed ? -128 : 0;
    const std::int32_t input_reach = za - lowest > 127 ? za - lowest : 255 - (za - lowest);
    const double largest_sum =
        static_cast<double>(depth) * (input_reach * filter_reach) + static_cast<double>(largest_bias);
    to.bounded = largest_sum * largest_scale < 32000.0;
    auto* fixed_scale = reinterpret_cast<float*>(memory + fixed_scale_at_);
    for (Index at = 0, end = g_.groups * filter_.channels() + 64; at < end; ++at)
      fixed_scale[at] = 65536.0f * scale[at];
    to.fixed_scale = fixed_scale;
    run.paired = pairs_ && to.bounded && !run.wide;
    if (run.wide) {
      for (Index at = 0; at < g_.groups * filter_.channels(); ++at) {
        const Index channel = to.channel_of(at);
        const std::int64_t bias = bias_.present ? qlc::load<std::int32_t>(biases, channel * bias_.step) : 0;
        wide_offset[at] =
            bias - za_shifted * (qlc::load<std::int32_t>(packed + filter_.sums_at(), at) + depth * zero[at]);
        for (Index ky = 1; ky < g_.kernel_h; ++ky) {
          const std::byte* sums = packed + filter_.sums_at() + ky * filter_.row_sums_bytes();
          wide_offset[at] -= za_shifted * qlc::load<std::int32_t>(sums, at);
        }
      }
    }

    run.input = reinterpret_cast<const std::uint8_t*>(b.inputs[qlc::input_tensor]);
    run.output = reinterpret_cast<std::uint8_t*>(b.output);
    run.filter = reinterpret_cast<const std::uint8_t*>(packed);
    run.scale = scale;
    run.channel_offset = reinterpret_cast<const std::int32_t*>(offset);
    run.minus_filter_zero_point = zero;
    run.wide_offset = wide_offset;
  }

  static constexpr Index most_tasks = 64;

  /// How many tasks may run at once; each has memory of its own.
  Index tasks(std::size_t concurrency) const noexcept {
    return concurrency < static_cast<std::size_t>(slots_) ? static_cast<Index>(concurrency) : slots_;
  }
  /// The pieces of the work for so many tasks: blocks of pixels and, where those are few, ranges of output channels, at
  /// the price of staging a block several times.
  Index units(Index tasks) const noexcept { return blocks() * splits(tasks); }

  /// Unit `unit` of `units(tasks)` in the memory of task `task`. `staged` is the task's own, -1 before its first unit:
  /// the block that its memory holds.
  void run(const Run& run, const qlc::Buffers& buffers, Index tasks, Index task, Index unit,
           Index& staged) const noexcept {
    const Index parts = splits(tasks);
    const Index part = unit % parts;
    std::byte* slot = buffers.temporary + slots_at_ + task * slot_.size;
    run_block(run, reinterpret_cast<std::uint8_t*>(slot), unit / parts, filter_.blocks * part / parts,
              filter_.blocks * (part + 1) / parts, staged == unit / parts);
    staged = unit / parts;
  }

 private:
  static Index round_up(Index a, Index b) noexcept { return qlc::round_up(a, b); }
  static Index ceil_div(Index a, Index b) noexcept { return qlc::ceil_div(a, b); }

  Index blocks() const noexcept { return g_.batch * g_.groups * block_rows_ * block_columns_; }
  Index splits(Index tasks) const noexcept {
    Index parts = 1;
    while (tasks > 1 && blocks() * parts < 4 * tasks && filter_.blocks / (2 * parts) >= 2) parts *= 2;
    return parts;
  }

  // What padding would add is the same on every side: a kernel row that lies in it is left out of the sums and of the
  // offset. One offset per channel for each set of rows that remains.
  void add_weight_sums(const std::byte* packed, std::uint32_t minus_zero_point, std::uint32_t* offset) const noexcept {
    const Index channels = offset_pitch();
    for (Index r = static_cast<Index>(row_ranges_.size()) - 1; r >= 0; --r) {  // the first one is what all start from
      const qlc::KernelRows& rows = row_ranges_[static_cast<std::size_t>(r)];
      std::uint32_t* const to = offset + r * channels;
      if (r > 0) std::memcpy(to, offset, static_cast<std::size_t>(4 * channels));
      for (Index ky = rows.first; ky < rows.last; ++ky) {
        const std::byte* sums = packed + filter_.sums_at() + ky * filter_.row_sums_bytes();
        for (Index at = 0; at < g_.groups * filter_.channels(); ++at) {
          to[at] += minus_zero_point * qlc::load<std::uint32_t>(sums, at);
        }
      }
    }
  }
  Index offset_pitch() const noexcept { return filter_.groups * filter_.channels() + 64; }

  // ---- compile -------------------------------------------------------------------------------------------------

  void choose() {
    using qlc::Staging;
    qlc::DepthOrder order{Staging::planes, kernels_.group, g_.in_channels, g_.kernel_h, g_.kernel_w, false};
    bool direct = false;
    if (g_.in.c == 1 && g_.in_channels > 1) {
      order.staging = Staging::pixels;
      order.joined = g_.dilation_x == 1 || g_.kernel_w == 1;
      const bool padded =
          (g_.out_height - 1) * g_.stride_y + (g_.kernel_h - 1) * g_.dilation_y - g_.pad_y >= g_.height ||
          (g_.out_width - 1) * g_.stride_x + (g_.kernel_w - 1) * g_.dilation_x - g_.pad_x >= g_.width || g_.pad_y > 0 ||
          g_.pad_x > 0;
      const Index reach = (g_.kernel_h - 1) * g_.dilation_y * g_.in.y + (g_.kernel_w - 1) * g_.dilation_x * g_.in.x;
      if (order.joined && g_.in.x != g_.in_channels && g_.kernel_w > 1) order.joined = false;
      direct = kernels_.group == 4 && g_.in_channels % 4 == 0 && !padded &&
               g_.input_signed == kernels_.signed_activations && reach < (std::numeric_limits<std::int32_t>::max)();
    } else if (g_.in_channels < 4 && g_.kernel_w > 1 && g_.dilation_x == 1 && order.group % g_.stride_x == 0) {
      qlc::DepthOrder windows = order;
      windows.staging = Staging::windows;
      if (windows.steps() < order.steps()) order = windows;
    }
    choose_orientation(order, gathered(order));
    if (gathered(order) && !pixels_in_lanes_) order.staging = Staging::pixels;
    if (order.staging == Staging::pixels && !direct) {
      // Staged pixels touch each other, unless that is a distance that caches dislike.
      order.joined = false;
      if (!order.apart()) order.joined = g_.dilation_x == 1 || g_.kernel_w == 1;
    }
    pairs_ = kernels_.interleave_pairs != nullptr && pixels_in_lanes_ && order.staging == Staging::planes &&
             g_.pointwise() && g_.in.x == 1;
    choose_block(order, direct);
    if (!usable()) return;
    offsets_ = qlc::step_offsets(g_, block_);
    elements_ = qlc::element_offsets(g_, order);
    for (Index plane = 0; plane < order.channel_groups() && order.staging == qlc::Staging::planes; ++plane) {
      plane_offsets_.push_back(static_cast<std::int32_t>(plane * block_.plane_step));
    }
    row_steps_ = order.row_steps();
    filter_ = {kernels_.lanes, order.steps(), ceil_div(g_.out_channels, kernels_.lanes), g_.groups, g_.kernel_h};
    choose_row_ranges();
    place_memory();
  }

  // Planes may be staged as pixels: many, or few where windows or pairs of planes hold more filling.
  bool gathered(const qlc::DepthOrder& order) const noexcept {
    if (kernels_.gather_pixels == nullptr || order.staging == qlc::Staging::pixels || g_.in.x != 1) return false;
    if (g_.in_channels >= 16) return true;
    return g_.in_channels < 4 && g_.dilation_x == 1 && pixel_steps() < order.steps();
  }
  Index pixel_steps() const noexcept {
    return qlc::DepthOrder{qlc::Staging::pixels, kernels_.group, g_.in_channels, g_.kernel_h, g_.kernel_w, true}
        .steps();
  }

  // Channels in lanes waste lanes where their number is not a multiple, pixels where the row's length is not; the
  // orientation that does not match the output's layout transposes bytes in the end. Where AVX2 has channels in lanes,
  // planes are transposed when they are staged, too, but then read in order, an eighth faster; so are windows.
  void choose_orientation(const qlc::DepthOrder& order, bool gathers) {
    pixels_in_lanes_ = false;
    if (order.staging == qlc::Staging::pixels) return;
    const Index steps = gathers && g_.in_channels < 4 ? pixel_steps() : order.steps();
    const Index epilogue = 12, transposition = gathers && g_.in_channels >= 16 ? 9 : 3;
    const Index slower = gathers || (order.staging == qlc::Staging::windows && order.group == 2) ? 9 : 8;
    const Index lanes = kernels_.lanes;
    const bool planar = g_.out.x == 1;
    const Index pixels = g_.out_height * round_up(g_.out_width, lanes) * g_.out_channels;
    const Index channels = g_.out_height * g_.out_width * round_up(g_.out_channels, lanes);
    pixels_in_lanes_ = pixels * (order.steps() + epilogue + (planar ? 0 : transposition)) * slower <=
                       channels * (steps + epilogue + (planar ? transposition : 0)) * 8;
  }

  void choose_block(const qlc::DepthOrder& order, bool direct) {
    constexpr Index staged_target = 192 * 1024;
    constexpr Index most_pixels = 256;
    const Index wide_row = pixels_in_lanes_ ? 192 : 224;
    Index columns = g_.out_width <= most_pixels ? g_.out_width : wide_row;
    while (columns > 16 && qlc::make_staged_block(g_, order, 1, columns, direct).bytes > staged_target) {
      const Index half = round_up((columns + 1) / 2, pixels_in_lanes_ ? 64 : 14);
      if (half >= columns) break;
      columns = half;
    }
    if (columns > g_.out_width) columns = g_.out_width;
    Index rows = 1;
    while (rows < g_.out_height && (rows + 1) * columns <= most_pixels &&
           qlc::make_staged_block(g_, order, rows + 1, columns, direct).bytes <= staged_target) {
      ++rows;
    }
    rows = ceil_div(g_.out_height, ceil_div(g_.out_height, rows));
    block_ = qlc::make_staged_block(g_, order, rows, columns, direct);
    block_rows_ = ceil_div(g_.out_height, rows);
    block_columns_ = ceil_div(g_.out_width, columns);
  }

  // Which kernel rows each output row needs.
  void choose_row_ranges() {
    constexpr std::size_t most = 16;  // kinds of output rows
    row_ranges_.assign(1, {0, g_.kernel_h});
    range_of_row_.assign(static_cast<std::size_t>(g_.out_height), 0);
    for (Index y = 0; y < g_.out_height; ++y) {
      const Index top = y * g_.stride_y - g_.pad_y;
      qlc::KernelRows rows{0, g_.kernel_h};
      while (rows.first < rows.last && top + rows.first * g_.dilation_y < 0) ++rows.first;
      while (rows.first < rows.last && top + (rows.last - 1) * g_.dilation_y >= g_.height) --rows.last;
      std::size_t range = 0;
      while (range < row_ranges_.size() &&
             (row_ranges_[range].first != rows.first || row_ranges_[range].last != rows.last)) {
        ++range;
      }
      if (range == row_ranges_.size()) {
        if (range == most) continue;  // all rows, then: padding is in the staged block
        row_ranges_.push_back(rows);
      }
      range_of_row_[static_cast<std::size_t>(y)] = static_cast<std::uint8_t>(range);
    }
  }

  void place_memory() {
    const Index lanes = kernels_.lanes;
    const Index channels = filter_.groups * filter_.channels() + 64;
    Index at = 0;
    const auto take = [&at](Index bytes) {
      const Index here = at;
      at += round_up(bytes, 64);
      return here;
    };
    filter_at_ = take(filter_owned_ ? 0 : filter_.bytes());
    scale_at_ = take(channels * 4);
    fixed_scale_at_ = take(channels * 4);
    offset_at_ = take(channels * 4 * static_cast<Index>(row_ranges_.size()));
    zero_point_at_ = take(channels * 4);
    wide_offset_at_ = take(channels * 8);
    slots_at_ = round_up(at, 256);

    at = 0;
    pixel_pitch_ = round_up(block_.columns, 4 * lanes);
    const Index pixels = block_.rows * block_.columns;
    slot_.scratch = take(block_.row_bytes);
    slot_.staged = take(block_.bytes);
    slot_.sums = take(4 * (pixels_in_lanes_ ? 8 * pixel_pitch_ : 16 * 4 * lanes) + 256);
    slot_.bytes = take((pixels + 64) * 4 * lanes + 16 * pixel_pitch_);
    slot_.pixel_sums = take(4 * block_.rows * pixel_pitch_ + 256);
    slot_.pixel_offset = take(4 * block_.rows * pixel_pitch_ + 256);
    slot_.positions = take(block_.order.staging == qlc::Staging::planes ? block_.plane_step + 256
                           : g_.kernel_h > 1                            ? 4 * block_.in_rows * pixel_pitch_ + 256
                                                                        : 0);
    slot_.wide = take(8 * 16 * lanes);
    slot_.size = round_up(at, 256);
    const Index processors = static_cast<Index>(std::thread::hardware_concurrency());
    slots_ = processors < 1 ? 1 : processors > most_tasks ? most_tasks : processors;
  }

  // ---- execute: one block ----------------------------------------------------------------------------------------

  struct Work {
    const qlc::Run& run;
    std::uint8_t* slot;
    qlc::BlockPlace place;
    Index image, group;
    const std::uint8_t* activations;  // the block's first pixel
    std::int32_t* sums;
    std::uint8_t* bytes;
    std::int32_t* pixel_sums;
    std::int32_t* pixel_offset;
  };

  void run_block(const qlc::Run& run, std::uint8_t* slot, Index index, Index first_block, Index last_block,
                 bool staged) const noexcept {
    const Index bx = index % block_columns_;
    index /= block_columns_;
    const Index by = index % block_rows_;
    index /= block_rows_;
    const Index group = index % g_.groups;
    const Index image = index / g_.groups;
    const auto smaller = [](Index a, Index b) { return a < b ? a : b; };
    const Index y = by * block_.rows;
    const Index x = bx * block_.columns;
    Work work{run,
              slot,
              {y, x, smaller(block_.rows, g_.out_height - y), smaller(block_.columns, g_.out_width - x)},
              image,
              group,
              nullptr,
              reinterpret_cast<std::int32_t*>(slot + slot_.sums),
              slot + slot_.bytes,
              reinterpret_cast<std::int32_t*>(slot + slot_.pixel_sums),
              reinterpret_cast<std::int32_t*>(slot + slot_.pixel_offset)};
    const std::uint8_t* input = run.input + image * g_.in.n + group * g_.in_channels * g_.in.c;
    if (block_.direct) {
      work.activations = input + y * g_.stride_y * g_.in.y + x * g_.stride_x * g_.in.x;
    } else {
      work.activations = slot + slot_.staged;
    }
    if (!staged && run.paired) {
      stage_paired(work, input);
    } else if (!staged && !block_.direct) {
      qlc::stage(g_, block_, kernels_, input, work.place, run.input_zero_point, run.input_flip, slot + slot_.scratch,
                 slot + slot_.staged);
    }
    if (!staged) sum_pixels(work);
    if (run.wide) {
      run_wide(work, first_block, last_block);
    } else if (pixels_in_lanes_) {
      run_pixel_tiles(work, first_block, last_block);
    } else {
      run_channel_tiles(work, first_block, last_block);
    }
  }

  // What all blocks of channels share.
  qlc::TileArgs tile_args(const Work& work) const noexcept {
    qlc::TileArgs t{};
    t.offsets = offsets_.data();
    t.count = 1;
    t.steps = filter_.steps;
    t.run = block_.order.run_of_steps(g_.stride_x);
    t.pixel_step = block_.pixel_step;
    t.plane_step = g_.taps() == 1 ? block_.plane_step : 0;
    t.weight_step = 4 * filter_.lanes;
    t.weight_block = filter_.block_bytes();
    if (kernels_.fuses && work.run.requantizer.bounded && !work.run.wide) t.requantizer = &work.run.requantizer;
    return t;
  }

  // The same at channel `c` of a block.
  qlc::TileArgs tile_args(const Work& work, const qlc::TileArgs& shared, Index block, Index c) const noexcept {
    qlc::TileArgs t = shared;
    t.weights = work.run.filter + (work.group * filter_.blocks + block) * filter_.block_bytes() + 4 * c;
    t.first_channel = (work.group * filter_.blocks + block) * filter_.lanes + c;
    t.channel_offset = work.run.channel_offset + t.first_channel;
    if (kernels_.fuses && work.run.pixel_terms && !work.run.uniform) {
      t.channel_factor = work.run.minus_filter_zero_point + t.first_channel;
    }
    return t;
  }

  // The steps that output row `y` of the block needs. `weights` and `channel_offset` are those of all steps.
  void choose_rows(const Work& work, Index y, const std::uint8_t* weights, const std::int32_t* channel_offset,
                   qlc::TileArgs& t) const noexcept {
    const std::size_t range = range_of_row_[static_cast<std::size_t>(work.place.y + y)];
    const qlc::KernelRows& rows = row_ranges_[range];
    const Index first = rows.first * row_steps_;
    t.steps = (rows.last - rows.first) * row_steps_;
    t.offsets = offsets_.data() + first;
    t.weights = weights + first * t.weight_step;
    t.channel_offset = channel_offset + static_cast<Index>(range) * offset_pitch();
  }

  // Tiles that do not fuse want an offset per pixel even where all are 0.
  static bool needs_offset(const Work& work, const qlc::TileArgs& t) noexcept {
    return t.requantizer == nullptr || (work.run.pixel_terms && work.run.uniform);
  }

  // The channel of ones for `count` neighbouring pixels.
  void sum_line(const Work& work, const std::int32_t* offsets, Index steps, Index weight_step,
                const std::uint8_t* activations, Index count, std::int32_t* sums) const noexcept {
    static constexpr std::int32_t zero[64] = {};
    qlc::TileArgs t{};
    t.offsets = offsets;
    t.count = 1;
    t.steps = steps;
    t.pixel_step = 4;
    t.weights = work.run.filter + filter_.ones_at();
    t.weight_step = weight_step;
    t.channel_offset = zero;
    t.pixel_offset = kernels_.pixel_strips ? nullptr : zero;
    for (Index x = 0; x < count;) {
      const Index vectors = pixel_vectors(count - x);
      const Index width = vectors * kernels_.lanes;
      if (kernels_.pixel_strips && count - x >= width) t.count = (count - x) / width;
      t.activations = activations + 4 * x;
      t.sums = sums + x;
      qlc::tile_of(kernels_.pixel_tiles, vectors, 1)(t);
      x += t.count * width;
      t.count = 1;
    }
  }

  // The step at which a tap's first plane lies.
  Index step_of(Index tap) const noexcept { return tap / g_.kernel_w * row_steps_ + tap % g_.kernel_w; }

  // The most vectors that a tile has, or as many as are left.
  Index pixel_vectors(Index pixels) const noexcept {
    Index vectors = 1;
    while (vectors < 4 && vectors * kernels_.lanes < pixels &&
           kernels_.max_rows(kernels_.pixel_tiles, vectors + 1) > 0) {
      ++vectors;
    }
    return vectors;
  }

  // Channels side by side. A kernel row's sums serve every output row that reads the input row: each is computed once.
  void sum_pixel_runs(const Work& work) const noexcept {
    const Index columns = work.place.columns;
    const Index run = block_.order.joined ? g_.kernel_w * g_.in_channels : g_.in_channels;
    const Index runs = block_.order.joined ? 1 : g_.kernel_w;  // in a kernel row
    const auto sum_row = [&](Index in_row, std::int32_t* sums) {
      std::memset(sums, 0, static_cast<std::size_t>(4 * columns));
      for (Index x = 0; x < runs; ++x) {
        kernels_.sum_runs(
            work.activations + in_row * block_.row_step + offsets_[static_cast<std::size_t>(x * block_.order.run())],
            run, block_.pixel_step, columns, sums);
      }
    };
    if (g_.kernel_h == 1) {
      for (Index y = 0; y < work.place.rows; ++y) sum_row(y * g_.stride_y, work.pixel_sums + y * pixel_pitch_);
      return;
    }
    auto* row_sums = reinterpret_cast<std::int32_t*>(work.slot + slot_.positions);
    const Index in_rows = (work.place.rows - 1) * g_.stride_y + (g_.kernel_h - 1) * g_.dilation_y + 1;
    for (Index r = 0; r < in_rows; ++r) {
      if (qlc::row_is_read(g_, r)) sum_row(r, row_sums + r * pixel_pitch_);
    }
    for (Index y = 0; y < work.place.rows; ++y) {
      std::int32_t* sums = work.pixel_sums + y * pixel_pitch_;
      for (Index ky = 0; ky < g_.kernel_h; ++ky) {
        const std::int32_t* from = row_sums + (y * g_.stride_y + ky * g_.dilation_y) * pixel_pitch_;
        for (Index x = 0; x < columns; ++x) sums[x] = ky == 0 ? from[x] : sums[x] + from[x];
      }
    }
  }

  // Staging has summed the blocks of 64 pixels; the rest of each line is left.
  void sum_paired(const Work& work) const noexcept {
    if (!work.run.pixel_terms) return;
    const Index whole = work.place.columns / 64 * 64;
    const Index rest = work.place.columns - whole;
    for (Index y = 0; y < work.place.rows && rest > 0; ++y) {
      const Index at = y * pixel_pitch_ + whole;
      sum_line(work, offsets_.data(), filter_.steps, 4, work.activations + y * block_.out_row_step + 4 * whole, rest,
               work.pixel_sums + at);
      if (!work.run.uniform) continue;
      std::memset(work.pixel_offset + at, 0, static_cast<std::size_t>(4 * round_up(rest, kernels_.lanes)));
      kernels_.add_outer(work.pixel_offset + at, 0, 1, round_up(rest, kernels_.lanes), &work.run.uniform_zero_point,
                         work.pixel_sums + at);
    }
  }

  // A block of a 1x1 convolution, and the sums over its channels.
  void stage_paired(const Work& work, const std::uint8_t* input) const noexcept {
    const Index whole = work.place.columns / 64 * 64;
    std::int32_t* sums = work.run.uniform ? work.pixel_offset : work.pixel_sums;
    for (Index y = 0; y < work.place.rows; ++y) {
      const std::uint8_t* from = input + (work.place.y + y) * g_.in.y + work.place.x;
      std::uint8_t* to = work.slot + slot_.staged + y * block_.row_step;
      kernels_.interleave_pairs({from, g_.in.c, g_.in_channels, whole, work.run.input_flip, to, block_.plane_step,
                                 work.run.pixel_terms ? sums + y * pixel_pitch_ : nullptr,
                                 work.run.uniform ? work.run.uniform_zero_point : 1});
      if (whole == work.place.columns) continue;
      from += whole;
      to += 4 * whole;
      for (Index c = 0; c < g_.in_channels; c += 4, to += block_.plane_step) {
        const std::uint8_t* rows[4];
        for (Index e = 0; e < 4; ++e) rows[e] = from + (c + e < g_.in_channels ? c + e : c) * g_.in.c;
        kernels_.interleave(rows, work.place.columns - whole, work.run.input_flip, to);
      }
    }
  }

  // Sum of a' over the kernel's window for each pixel, where a filter zero point wants it.
  void sum_pixels(const Work& work) const noexcept {
    if (work.run.paired) return sum_paired(work);
    const Index used = work.place.rows * pixel_pitch_;
    std::memset(work.pixel_offset, 0, static_cast<std::size_t>(4 * used));
    if (!work.run.pixel_terms) return;
    if (block_.order.staging == qlc::Staging::pixels) {
      sum_pixel_runs(work);
    } else {
      // Kernels of several taps: first every position's sum over the channels, then the window's over positions.
      const Index taps = block_.order.staging == qlc::Staging::planes ? g_.taps() : 1;
      if (taps == 1) {
        for (Index y = 0; y < work.place.rows; ++y) {
          sum_line(work, offsets_.data(), filter_.steps, 4, work.activations + y * block_.out_row_step,
                   work.place.columns, work.pixel_sums + y * pixel_pitch_);
        }
      } else {
        auto* positions = reinterpret_cast<std::int32_t*>(work.slot + slot_.positions);
        sum_line(work, plane_offsets_.data(), block_.order.channel_groups(), 4 * g_.kernel_w, work.activations,
                 block_.plane_step / 4, positions);
        for (Index y = 0; y < work.place.rows; ++y) {
          std::int32_t* sums = work.pixel_sums + y * pixel_pitch_;
          for (Index tap = 0; tap < taps; ++tap) {
            const std::int32_t* from =
                positions + (y * block_.out_row_step + offsets_[static_cast<std::size_t>(step_of(tap))]) / 4;
            for (Index x = 0; x < work.place.columns; ++x) sums[x] = tap == 0 ? from[x] : sums[x] + from[x];
          }
        }
      }
    }
    if (!work.run.uniform) return;
    for (Index y = 0; y < work.place.rows; ++y) {
      kernels_.add_outer(work.pixel_offset + y * pixel_pitch_, 0, 1, round_up(work.place.columns, kernels_.lanes),
                         &work.run.uniform_zero_point, work.pixel_sums + y * pixel_pitch_);
    }
  }

  // The number of vectors that keeps most accumulators busy, the smaller one where that is the same.
  Index channel_vectors(Index blocks, Index columns) const noexcept {
    Index best = 1;
    Index best_tiles = ceil_div(columns, kernels_.max_rows(kernels_.channel_tiles, 1));
    for (const Index vectors : {Index{2}, Index{4}}) {
      const Index rows = kernels_.max_rows(kernels_.channel_tiles, vectors);
      if (vectors > blocks || rows == 0) continue;
      const Index tiles = ceil_div(columns, rows);
      if (vectors * best_tiles > best * tiles) {
        best = vectors;
        best_tiles = tiles;
      }
    }
    return best;
  }

  void run_channel_tiles(const Work& work, Index first_block, Index last_block) const noexcept {
    const Index lanes = kernels_.lanes;
    const qlc::TileArgs shared = tile_args(work);
    for (Index block = first_block; block < last_block;) {
      const Index vectors = channel_vectors(last_block - block, work.place.columns);
      const Index width = vectors * lanes;
      const Index most = kernels_.max_rows(kernels_.channel_tiles, vectors);
      const Index tiles = ceil_div(work.place.columns, most);
      qlc::TileArgs t = tile_args(work, shared, block, 0);
      const Index first = t.first_channel;
      t.sums = work.sums;
      t.sums_pitch = width;
      const bool offset_used = needs_offset(work, t);
      const bool straight = t.requantizer != nullptr && g_.out.c == 1 && block * lanes + width <= g_.out_channels;
      t.out_pitch = straight ? g_.out.x : width;
      std::uint8_t* bytes = work.bytes;
      const std::uint8_t* const weights = t.weights;
      const std::int32_t* const channel_offset = t.channel_offset;
      for (Index y = 0; y < work.place.rows; ++y) {
        choose_rows(work, y, weights, channel_offset, t);
        // Some tiles of one row more, then the others.
        const Index wider = work.place.columns % tiles;
        for (Index tile = 0; tile < tiles; tile += t.count) {
          const Index rows = work.place.columns / tiles + (tile < wider ? 1 : 0);
          const Index x = tile * (work.place.columns / tiles) + (tile < wider ? tile : wider);
          t.count = t.requantizer == nullptr ? 1 : tile < wider ? wider - tile : tiles - tile;
          t.activations = work.activations + y * block_.out_row_step + x * block_.pixel_step;
          if (offset_used) t.pixel_offset = work.pixel_offset + y * pixel_pitch_ + x;
          t.pixel_sums = work.pixel_sums + y * pixel_pitch_ + x;
          t.out = straight ? output_at(work, block * lanes, y) + x * g_.out.x : bytes;
          qlc::tile_of(kernels_.channel_tiles, vectors, rows)(t);
          if (t.requantizer == nullptr) {
            if (work.run.pixel_terms && !work.run.uniform && !kernels_.fuses) {
              kernels_.add_outer(work.sums, width, rows, width, t.pixel_sums, work.run.minus_filter_zero_point + first);
            }
            kernels_.quantize(work.sums, ceil_div(rows * width, 64), work.run.requantizer, first, width, bytes);
          }
          bytes += t.count * rows * width;
        }
      }
      if (!straight) write(work, work.bytes, width, block * lanes, width);
      block += vectors;
    }
  }

  void run_pixel_tiles(const Work& work, Index first_block, Index last_block) const noexcept {
    const Index lanes = kernels_.lanes;
    const Index most_vectors = pixel_vectors(4 * lanes);
    const Index most = most_vectors * lanes;
    const Index most_rows = kernels_.max_rows(kernels_.pixel_tiles, most_vectors);
    const qlc::TileArgs shared = tile_args(work);
    for (Index block = first_block; block < last_block; ++block) {
      const Index here = g_.out_channels - block * lanes < lanes ? g_.out_channels - block * lanes : lanes;
      const Index parts = ceil_div(here, most_rows);
      for (Index part = 0; part < parts; ++part) {
        const Index c = here * part / parts;
        const Index rows = here * (part + 1) / parts - c;
        qlc::TileArgs t = tile_args(work, shared, block, c);
        const Index first = t.first_channel;
        t.sums_pitch = pixel_pitch_;
        const bool fused = t.requantizer != nullptr;
        const bool offset_used = needs_offset(work, t);
        const bool straight = fused && g_.out.x == 1;
        t.out_pitch = straight ? g_.out.c : pixel_pitch_;
        const std::uint8_t* const weights = t.weights;
        const std::int32_t* const channel_offset = t.channel_offset;
        for (Index y = 0; y < work.place.rows; ++y) {
          choose_rows(work, y, weights, channel_offset, t);
          std::uint8_t* out = straight ? output_at(work, block * lanes + c, y) : work.bytes;
          for (Index x = 0; x < work.place.columns;) {
            const Index left = work.place.columns - x;
            const Index vectors = left >= most ? most_vectors : ceil_div(left, lanes);
            t.paired = work.run.paired && left >= 64;
            t.activations = work.activations + y * block_.out_row_step + x * block_.pixel_step;
            if (offset_used) t.pixel_offset = work.pixel_offset + y * pixel_pitch_ + x;
            t.pixel_sums = work.pixel_sums + y * pixel_pitch_ + x;
            t.sums = work.sums + x;
            t.out = out + x;
            t.out_lanes = left < vectors * lanes ? left : vectors * lanes;
            if (kernels_.pixel_strips && fused && left >= most) {
              t.count = left / most;
              t.out_lanes = most;
            }
            qlc::tile_of(kernels_.pixel_tiles, vectors, rows)(t);
            x += t.count * vectors * lanes;
            t.count = 1;
          }
          if (!fused) {
            if (work.run.pixel_terms && !work.run.uniform && !kernels_.fuses) {
              kernels_.add_outer(work.sums, pixel_pitch_, rows, round_up(work.place.columns, lanes),
                                 work.run.minus_filter_zero_point + first, work.pixel_sums + y * pixel_pitch_);
            }
            write_lines(work, y, block * lanes + c, first, rows);
          } else if (!straight) {
            std::uint8_t* to = output_at(work, block * lanes + c, y);
            for (Index x = 0; x < work.place.columns; ++x) {
              for (Index r = 0; r < rows; ++r) to[x * g_.out.x + r * g_.out.c] = work.bytes[r * pixel_pitch_ + x];
            }
          }
        }
      }
    }
  }

  // Requantizes lines of pixels, one per channel.
  void write_lines(const Work& work, Index y, Index channel, Index first, Index channels) const noexcept {
    const Index columns = work.place.columns;
    std::uint8_t* out = output_at(work, channel, y);
    for (Index c = 0; c < channels; ++c, out += g_.out.c) {
      const std::int32_t* sums = work.sums + c * pixel_pitch_;
      const Index whole = g_.out.x == 1 ? columns / 64 : 0;
      if (whole > 0) kernels_.quantize(sums, whole, work.run.requantizer, first + c, 1, out);
      const Index rest = columns - 64 * whole;
      if (rest == 0) continue;
      kernels_.quantize(sums + 64 * whole, ceil_div(rest, 64), work.run.requantizer, first + c, 1, work.bytes);
      if (g_.out.x == 1) {
        std::memcpy(out + 64 * whole, work.bytes, static_cast<std::size_t>(rest));
      } else {
        for (Index x = 0; x < rest; ++x) out[x * g_.out.x] = work.bytes[x];
      }
    }
  }

  // Writes bytes[pixel][channel] of the whole block.
  void write(const Work& work, const std::uint8_t* bytes, Index pitch, Index channel, Index channels) const noexcept {
    const Index count = g_.out_channels - channel < channels ? g_.out_channels - channel : channels;
    const Index columns = work.place.columns;
    std::uint8_t* out = output_at(work, channel, 0);
    if (g_.out.x == 1 && g_.out.c != 1) {
      const bool joined = g_.out.y == columns;
      const Index lines = joined ? 1 : work.place.rows;
      const Index line = joined ? work.place.rows * columns : columns;
      for (Index y = 0; y < lines; ++y) {
        kernels_.transpose(bytes + y * line * pitch, pitch, line, count, out + y * g_.out.y, g_.out.c);
      }
      return;
    }
    for (Index y = 0; y < work.place.rows; ++y, bytes += columns * pitch, out += g_.out.y) {
      if (g_.out.c == 1) {
        qlc::copy_pixels(bytes, pitch, out, g_.out.x, columns, count);
        continue;
      }
      for (Index x = 0; x < columns; ++x) {
        for (Index c = 0; c < count; ++c) out[x * g_.out.x + c * g_.out.c] = bytes[x * pitch + c];
      }
    }
  }

  std::uint8_t* output_at(const Work& work, Index channel, Index y) const noexcept {
    return work.run.output + work.image * g_.out.n + (work.group * g_.out_channels + channel) * g_.out.c +
           (work.place.y + y) * g_.out.y + work.place.x * g_.out.x;
  }

  // K in pieces whose 32-bit sums cannot overflow; everything else in 64 bits, pixel by pixel.
  void run_wide(const Work& work, Index first_block, Index last_block) const noexcept {
    const Index lanes = kernels_.lanes;
    const Index piece = 65536 / kernels_.group;
    auto* wide = reinterpret_cast<std::int64_t*>(work.slot + slot_.wide);
    const qlc::TileArgs shared = tile_args(work);
    for (Index block = first_block; block < last_block; ++block) {
      const Index count = g_.out_channels - block * lanes < lanes ? g_.out_channels - block * lanes : lanes;
      qlc::TileArgs t = tile_args(work, shared, block, 0);
      const Index first = t.first_channel;
      const std::uint8_t* weights = t.weights;
      const std::int32_t zero[64] = {};
      t.run = 0;  // pieces end anywhere
      t.channel_factor = nullptr;
      t.channel_offset = zero;
      t.pixel_offset = zero;
      t.sums = work.sums;
      t.sums_pitch = lanes;
      for (Index y = 0; y < work.place.rows; ++y) {
        for (Index x = 0; x < work.place.columns; ++x) {
          t.activations = work.activations + y * block_.out_row_step + x * block_.pixel_step;
          for (Index l = 0; l < lanes; ++l) wide[l] = work.run.wide_offset[first + l];
          for (Index step = 0; step < filter_.steps; step += piece) {
            t.steps = filter_.steps - step < piece ? filter_.steps - step : piece;
            t.offsets = offsets_.data() + step;
            t.weights = weights + step * t.weight_step;
            qlc::tile_of(kernels_.channel_tiles, 1, 1)(t);
            for (Index l = 0; l < lanes; ++l) wide[l] += work.sums[l];
          }
          for (Index l = 0; l < count; ++l) {
            if (work.run.pixel_terms) {
              wide[l] +=
                  std::int64_t{work.run.minus_filter_zero_point[first + l]} * work.pixel_sums[y * pixel_pitch_ + x];
            }
            output_at(work, block * lanes + l, y)[x * g_.out.x] = work.run.requantizer.exact(wide[l], first + l);
          }
        }
      }
    }
  }

  qlc::Geometry g_;
  const qlc::Kernels& kernels_;
  qlc::ChannelTensor input_zero_point_, filter_scale_, filter_zero_point_, bias_, output_zero_point_;
  bool filter_owned_;
  bool pixels_in_lanes_ = false;
  bool pairs_ = false;
  qlc::StagedBlock block_;
  Index block_rows_ = 0, block_columns_ = 0;
  std::vector<std::int32_t> offsets_;
  std::vector<std::int32_t> plane_offsets_;
  std::vector<Index> elements_;
  std::vector<qlc::KernelRows> row_ranges_;  // the first one: all rows
  std::vector<std::uint8_t> range_of_row_;   // of the output
  qlc::PackedFilter filter_{};
  Index row_steps_ = 0;
  Index pixel_pitch_ = 0;
  Index filter_at_ = 0, scale_at_ = 0, fixed_scale_at_ = 0, offset_at_ = 0, zero_point_at_ = 0, wide_offset_at_ = 0,
        slots_at_ = 0;
  Index slots_ = 1;
  qlc::Slot slot_;
};

}  // namespace fast
DMLREF_END
