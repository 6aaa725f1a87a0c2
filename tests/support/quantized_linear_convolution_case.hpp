// quantized_linear_convolution_case.hpp: random QLC descriptors with data, for the tests of every path.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "dmlref/operators/quantized_linear_convolution/desc.hpp"
#include "dmlref/run/plan.hpp"

namespace dmlref::test {

using Random = std::mt19937_64;

inline std::uint32_t pick(Random& random, std::uint32_t low, std::uint32_t high) {
  return std::uniform_int_distribution<std::uint32_t>(low, high)(random);
}
inline bool chance(Random& random, std::uint32_t percent) { return pick(random, 1, 100) <= percent; }

/// What the elements are like.
enum class QlcData { random, ties, extremes, all_highest, all_lowest, huge_bias };

/// How tensors lie in memory.
enum class QlcLayout { packed, channels_last, any };

struct QlcShape {
  std::uint32_t batch = 1, groups = 1, in_channels = 1, out_channels = 1;  // channels of one group
  std::array<std::uint32_t, 2> in{1, 1}, kernel{1, 1}, stride{1, 1}, dilation{1, 1}, start{0, 0}, end{0, 0};
  bool flat = false;  // 3-D tensors: the second spatial dimension alone

  std::uint32_t out(std::size_t d) const {
    return (in[d] + start[d] + end[d] - ((kernel[d] - 1) * dilation[d] + 1)) / stride[d] + 1;
  }
  bool fits() const {
    for (std::size_t d = 0; d < 2; ++d) {
      if (in[d] + start[d] + end[d] < (kernel[d] - 1) * dilation[d] + 1) return false;
    }
    return true;
  }
};

/// A descriptor, its inputs, and an output filled with a pattern.
struct QlcCase {
  QuantizedLinearConvolutionDesc desc;
  std::array<std::vector<std::byte>, 9> inputs;
  std::vector<std::byte> output;

  detail::Bindings bindings(std::byte* out) const {
    detail::Bindings b;
    for (std::size_t i = 0; i < inputs.size(); ++i) b.inputs[i] = inputs[i].empty() ? nullptr : inputs[i].data();
    b.outputs[0] = out;
    return b;
  }
};

/// Strides of `sizes`: packed, channels last, or in a random order of dimensions with random gaps.
inline std::optional<Dimensions> random_strides(Random& random, const Dimensions& sizes, QlcLayout layout) {
  if (layout == QlcLayout::packed) return std::nullopt;
  std::vector<std::size_t> order(sizes.size());  // from the innermost out
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  std::uint32_t gap = 0;
  if (layout == QlcLayout::channels_last) {
    std::rotate(order.begin(), order.end() - 2, order.end() - 1);
  } else {
    if (chance(random, 60)) std::shuffle(order.begin(), order.end(), random);
    gap = chance(random, 60) ? 3 : 0;
  }
  Dimensions strides(sizes.size());
  std::uint32_t step = gap > 0 ? pick(random, 1, 2) : 1;
  for (const std::size_t d : order) {
    strides[d] = step;
    step = step * sizes[d] + (gap > 0 ? pick(random, 0, gap) : 0);
  }
  return strides;
}

template <class T>
std::vector<std::byte> bytes_of(const TensorDesc& tensor, T value) {
  std::vector<std::byte> bytes(tensor.total_size_in_bytes);
  for (std::size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) std::memcpy(&bytes[i], &value, sizeof(T));
  return bytes;
}
template <class T, class Make>
std::vector<std::byte> bytes_from(const TensorDesc& tensor, Make make) {
  std::vector<std::byte> bytes(tensor.total_size_in_bytes);
  for (std::size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
    const T value = static_cast<T>(make());
    std::memcpy(&bytes[i], &value, sizeof(T));
  }
  return bytes;
}

/// Descriptor and data for `shape`; everything that `shape` leaves open is random.
inline QlcCase make_qlc_case(Random& random, const QlcShape& shape, QlcData data, QlcLayout layout) {
  QlcCase c;
  QuantizedLinearConvolutionDesc& desc = c.desc;
  const auto byte_type = [&] { return chance(random, 50) ? DataType::uint8 : DataType::int8; };
  const DataType in_type = byte_type(), filter_type = byte_type(), out_type = byte_type();
  const auto sizes = [&](std::uint32_t n, std::uint32_t channels, std::uint32_t y, std::uint32_t x) {
    return shape.flat ? Dimensions{n, channels, x} : Dimensions{n, channels, y, x};
  };
  const std::uint32_t all_out = shape.groups * shape.out_channels;
  const auto tensor = [&](DataType type, const Dimensions& extents) {
    return TensorDesc(type, extents, random_strides(random, extents, layout));
  };
  const auto scalar = [&](DataType type) { return TensorDesc(type, Dimensions(pick(random, 1, 4), 1)); };
  const auto per_channel = [&](DataType type) {
    if (chance(random, 30)) return scalar(type);
    const std::uint32_t rank = pick(random, 1, 4);
    Dimensions extents(rank, 1);
    extents[rank == 1 ? 0 : 1] = all_out;
    return TensorDesc(type, extents, random_strides(random, extents, QlcLayout::any));
  };
  desc.input = tensor(in_type, sizes(shape.batch, shape.groups * shape.in_channels, shape.in[0], shape.in[1]));
  desc.filter = tensor(filter_type, sizes(all_out, shape.in_channels, shape.kernel[0], shape.kernel[1]));
  desc.output = tensor(out_type, sizes(shape.batch, all_out, shape.out(0), shape.out(1)));
  desc.input_scale = scalar(DataType::float32);
  desc.output_scale = scalar(DataType::float32);
  desc.filter_scale = per_channel(DataType::float32);
  if (chance(random, 70)) desc.input_zero_point = scalar(in_type);
  if (chance(random, 70)) desc.filter_zero_point = per_channel(filter_type);
  if (chance(random, 70)) desc.output_zero_point = scalar(out_type);
  if (chance(random, 80) || data == QlcData::huge_bias) {
    const Dimensions extents = shape.flat ? Dimensions{1, all_out, 1} : Dimensions{1, all_out, 1, 1};
    desc.bias = TensorDesc(DataType::int32, extents, random_strides(random, extents, QlcLayout::any));
  }
  const std::size_t first = shape.flat ? 1 : 0;
  desc.strides.assign(shape.stride.begin() + first, shape.stride.end());
  desc.dilations.assign(shape.dilation.begin() + first, shape.dilation.end());
  desc.start_padding.assign(shape.start.begin() + first, shape.start.end());
  desc.end_padding.assign(shape.end.begin() + first, shape.end.end());
  desc.group_count = shape.groups;

  // The output's deviation shall be some tens of steps, so that most values are neither 0 nor clamped.
  const double taps = static_cast<double>(shape.in_channels) * shape.kernel[0] * shape.kernel[1];
  const double spread = std::max(1.0, 4000.0 * std::max(1.0, taps / 16));
  const auto real = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
  const auto any_byte = [&] { return random() & 0xFF; };
  const auto one_of = [&](std::int64_t a, std::int64_t b) { return chance(random, 50) ? a : b; };
  const auto element = [&](DataType type) {
    const std::int64_t lowest = type == DataType::uint8 ? 0 : -128;
    return [&, lowest]() -> std::int64_t {
      switch (data) {
        case QlcData::extremes: return one_of(lowest, lowest + 255);
        case QlcData::all_highest: return lowest + 255;
        case QlcData::all_lowest: return lowest;
        default: return static_cast<std::int64_t>(any_byte());
      }
    };
  };
  const bool powers = data == QlcData::ties;
  const bool extreme = data == QlcData::extremes || data == QlcData::all_highest || data == QlcData::all_lowest;
  c.inputs[0] = bytes_from<std::uint8_t>(desc.input, element(in_type));
  c.inputs[1] = bytes_of(desc.input_scale, powers ? 0.5f : static_cast<float>(real(0.01, 0.05)));
  c.inputs[3] = bytes_from<std::uint8_t>(desc.filter, element(filter_type));
  c.inputs[4] = bytes_from<float>(desc.filter_scale, [&] {
    const float sign = chance(random, 10) ? -1.0f : 1.0f;
    return sign * (powers ? 0.25f : static_cast<float>(real(0.001, 0.01)));
  });
  const double step = 0.03 * 0.005 * spread / real(1.0, 30.0);
  const int exponent = static_cast<int>(pick(random, 0, 5)) - 1;
  float output_scale = static_cast<float>(extreme ? step * 16 : step);
  if (powers) output_scale = 0.125f * static_cast<float>(1 << (exponent + 1 > 4 ? 12 : 2 * (exponent + 1)));
  if (data == QlcData::huge_bias) output_scale = static_cast<float>(0.03 * 0.005 * 2147483648.0 / real(50, 300));
  c.inputs[7] = bytes_of(desc.output_scale, output_scale);
  const auto zero_point = [&](DataType type) {
    const std::int64_t lowest = type == DataType::uint8 ? 0 : -128;
    return [&, lowest]() -> std::int64_t {
      return extreme ? one_of(lowest, lowest + 255) : static_cast<std::int64_t>(any_byte());
    };
  };
  if (desc.input_zero_point) c.inputs[2] = bytes_from<std::uint8_t>(*desc.input_zero_point, zero_point(in_type));
  if (desc.filter_zero_point) c.inputs[5] = bytes_from<std::uint8_t>(*desc.filter_zero_point, zero_point(filter_type));
  if (desc.output_zero_point) c.inputs[8] = bytes_from<std::uint8_t>(*desc.output_zero_point, any_byte);
  if (desc.bias) {
    c.inputs[6] = bytes_from<std::int32_t>(*desc.bias, [&]() -> std::int64_t {
      const auto near = static_cast<std::int64_t>(random() % 100000);
      if (data == QlcData::huge_bias) return one_of(INT32_MAX - near, INT32_MIN + near);
      return static_cast<std::int64_t>(real(-2.0, 2.0) * spread);
    });
  }
  c.output.resize(desc.output.total_size_in_bytes);
  for (std::size_t i = 0; i < c.output.size(); ++i) c.output[i] = static_cast<std::byte>(37 * i + 11);
  return c;
}

inline std::string describe(const QlcShape& s) {
  const auto pair = [](const std::array<std::uint32_t, 2>& p) {
    return std::to_string(p[0]) + "x" + std::to_string(p[1]);
  };
  return "batch " + std::to_string(s.batch) + ", groups " + std::to_string(s.groups) + " of " +
         std::to_string(s.in_channels) + " to " + std::to_string(s.out_channels) + " channels, input " + pair(s.in) +
         ", kernel " + pair(s.kernel) + ", stride " + pair(s.stride) + ", dilation " + pair(s.dilation) + ", padding " +
         pair(s.start) + " and " + pair(s.end) + (s.flat ? ", 3-D" : "");
}

}  // namespace dmlref::test
