// buffers.hpp: memory of a convolution: its tensors while it executes, those of one value per channel, and the layout
// of what it keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"
#include "dmlref/operators/quantized_linear_convolution/problem.hpp"
#include "dmlref/requantize/requantizer.hpp"

DMLREF_BEGIN
namespace fast::qlc {

/// Where the elements (0, …, 0) are: inputs as `Input` counts them, null where absent or owned by DML and packed.
struct Buffers {
  const std::byte* const* inputs = nullptr;
  std::byte* output = nullptr;
  const std::byte* persistent = nullptr;
  std::byte* temporary = nullptr;
};

/// Lays out memory: parts one after the other, each of which begins at a cache line.
class ScratchLayout {
 public:
  /// Where a part of so many bytes begins.
  Index take(Index bytes) noexcept {
    const Index here = end_;
    end_ += round_up(bytes, 64);
    return here;
  }
  /// Bytes of all parts, and of what lies behind them up to a multiple of 256.
  Index size() const noexcept { return round_up(end_, 256); }

 private:
  Index end_ = 0;
};

/// A tensor of one value, or of one per output channel.
struct ChannelTensor {
  bool present = false;
  bool is_signed = false;
  Index step = 0;  // elements from channel to channel

  ChannelTensor() = default;
  explicit ChannelTensor(const Operand& tensor) : present(tensor.present), is_signed(tensor.is_signed) {
    for (std::size_t d = 0; d < tensor.layout.rank(); ++d) {
      if (tensor.layout.shape[d] > 1) step = tensor.layout.strides[d];
    }
  }
};

/// The tensors of one value, or of one per output channel, that may be absent, and the filter's scale.
struct ChannelTensors {
  ChannelTensor input_zero_point, filter_scale, filter_zero_point, bias, output_zero_point;

  ChannelTensors() = default;
  explicit ChannelTensors(const Problem& problem)
      : input_zero_point(problem.inputs[input_zero_point_tensor]),
        filter_scale(problem.inputs[filter_scale_tensor]),
        filter_zero_point(problem.inputs[filter_zero_point_tensor]),
        bias(problem.inputs[bias_tensor]),
        output_zero_point(problem.inputs[output_zero_point_tensor]) {}
};

/// Whether DML owns all that is constant: whatever is there but the input.
inline bool constants_owned(const Problem& problem) noexcept {
  bool owned = true;
  for (std::size_t i = 0; i < input_count; ++i) {
    if (i != input_tensor && problem.inputs[i].present) owned = owned && problem.inputs[i].owned;
  }
  return owned;
}

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

/// What kernels round to.
inline PackedOutput packed_output(const std::byte* const* inputs, const Geometry& g,
                                  const ChannelTensors& tensors) noexcept {
  return {zero_point_of(tensors.output_zero_point, inputs[output_zero_point_tensor], 0), g.output_signed};
}

/// What a Requantizer takes from a convolution's tensors; not the scales per packed channel, their number and bounds
/// (channels.hpp).
inline Requantizer bind_requantizer(const std::byte* const* inputs, const Geometry& g,
                                    const ChannelTensors& tensors) noexcept {
  Requantizer to;
  to.input_scale = load<float>(inputs[input_scale_tensor], 0);
  to.output_scale = load<float>(inputs[output_scale_tensor], 0);
  to.filter_scale = inputs[filter_scale_tensor];
  to.filter_scale_step = tensors.filter_scale.step * 4;
  to.output_signed = g.output_signed;
  to.zero_point = zero_point_of(tensors.output_zero_point, inputs[output_zero_point_tensor], 0);
  to.out_channels = g.out_channels;
  return to;
}

}  // namespace fast::qlc
DMLREF_END
