// convolution_integer_case.hpp: random integer convolutions with data, and their sums written a second way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "dmlref/operators/convolution_integer/desc.hpp"
#include "support/operator_case.hpp"
#include "support/quantized_linear_convolution_case.hpp"

namespace dmlref::test {

using IntegerConvolutionCase = OperatorCase<ConvolutionIntegerDesc>;

inline QlcShape random_integer_shape(Random& random) {
  QlcShape s;
  do {
    s.batch = pick(random, 1, 2);
    s.groups = chance(random, 40) ? pick(random, 2, 5) : 1;
    s.in_channels = pick(random, 1, chance(random, 30) ? 20 : 5);
    s.out_channels = pick(random, 1, 5);
    s.flat = chance(random, 20);
    for (std::size_t d = 0; d < 2; ++d) {
      const bool unit = s.flat && d == 0;
      s.in[d] = unit ? 1 : pick(random, 1, 14);
      s.kernel[d] = unit ? 1 : pick(random, 1, 4);
      s.stride[d] = unit ? 1 : pick(random, 1, 3);
      s.dilation[d] = unit ? 1 : pick(random, 1, 3);
      s.start[d] = unit ? 0 : pick(random, 0, chance(random, 10) ? 20 : 3);
      s.end[d] = unit ? 0 : pick(random, 0, chance(random, 10) ? 20 : 3);
    }
  } while (!s.fits());
  return s;
}

/// The tensors of a quantized convolution that an integer one has.
inline IntegerConvolutionCase make_integer_case(Random& random, const QlcShape& shape, QlcData data, QlcLayout layout) {
  QlcCase from = make_qlc_case(random, shape, data, layout);
  QuantizedLinearConvolutionDesc& d = from.desc;
  if (d.input_zero_point && d.filter_zero_point) {  // of one number of dimensions
    d.input_zero_point = TensorDesc(d.input.data_type, Dimensions(d.filter_zero_point->rank(), 1));
  }
  IntegerConvolutionCase c;
  c.desc = {d.input,
            d.input_zero_point,
            d.filter,
            d.filter_zero_point,
            TensorDesc(DataType::int32, d.output.sizes, d.output.strides),
            d.strides,
            d.dilations,
            d.start_padding,
            d.end_padding,
            d.group_count};
  c.inputs = {from.inputs[0], from.inputs[2], from.inputs[3], from.inputs[5]};
  c.output.resize(c.desc.output.total_size_in_bytes);
  for (std::size_t i = 0; i < c.output.size(); ++i) c.output[i] = static_cast<std::byte>(37 * i + 11);
  return c;
}

/// What CONVOLUTION_INTEGER must make of the case's output. Each input element is added to all outputs whose window has
/// it; the reference looks for the elements of each window.
inline std::vector<std::byte> expected_output(const IntegerConvolutionCase& c) {
  const ConvolutionIntegerDesc& d = c.desc;
  const bool flat = d.input.rank() == 3;
  using Four = std::array<std::size_t, 4>;
  const auto four = [&](const Dimensions& list, std::size_t missing) {
    return flat ? Four{list[0], list[1], missing, list[2]} : Four{list[0], list[1], list[2], list[3]};
  };
  const auto steps = [&](const TensorDesc& tensor) {
    if (tensor.strides) return four(*tensor.strides, 0);
    const Four sizes = four(tensor.sizes, 1);
    return Four{sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1};
  };
  const auto two = [&](const Dimensions& list, std::size_t missing) {
    return std::array<std::size_t, 2>{flat ? missing : list[0], list.back()};
  };
  const auto byte_of = [](const TensorDesc& tensor, const std::vector<std::byte>& bytes, std::size_t at) {
    const auto value = static_cast<std::uint8_t>(bytes[at]);
    return tensor.data_type == DataType::int8 ? static_cast<std::int8_t>(value) : static_cast<std::int64_t>(value);
  };
  const auto zero_point = [&](const std::optional<TensorDesc>& tensor, const std::vector<std::byte>& bytes,
                              std::size_t channel) -> std::int64_t {
    if (!tensor) return 0;
    const std::size_t place = tensor->rank() == 1 ? 0 : 1;
    const std::size_t step = tensor->strides ? (*tensor->strides)[place] : 1;
    return byte_of(*tensor, bytes, tensor->sizes[place] > 1 ? channel * step : 0);
  };
  const Four in = four(d.input.sizes, 1), filter = four(d.filter.sizes, 1), out = four(d.output.sizes, 1);
  const Four in_step = steps(d.input), filter_step = steps(d.filter), out_step = steps(d.output);
  const auto stride = two(d.strides, 1), dilation = two(d.dilations, 1), start = two(d.start_padding, 0);
  /// The output along dimension `i` whose window's tap `tap` is element `x`; at least `out` where there is none.
  const auto reached = [&](std::size_t i, std::size_t x, std::size_t tap) {
    const std::size_t padded = x + start[i];
    if (padded < tap * dilation[i] || (padded - tap * dilation[i]) % stride[i] != 0) return out[2 + i];
    return (padded - tap * dilation[i]) / stride[i];
  };

  std::vector<std::int64_t> sums(out[0] * out[1] * out[2] * out[3]);
  const std::size_t per_group = out[1] / d.group_count;
  for (std::size_t n = 0; n < in[0]; ++n) {
    for (std::size_t ic = 0; ic < in[1]; ++ic) {
      const std::size_t first = ic / filter[1] * per_group;
      for (std::size_t oc = first; oc < first + per_group; ++oc) {
        const std::int64_t filter_zero_point = zero_point(d.filter_zero_point, c.inputs[3], oc);
        for (std::size_t fy = 0; fy < filter[2]; ++fy) {
          for (std::size_t fx = 0; fx < filter[3]; ++fx) {
            const std::int64_t weight = byte_of(d.filter, c.inputs[2],
                                                oc * filter_step[0] + ic % filter[1] * filter_step[1] +
                                                    fy * filter_step[2] + fx * filter_step[3]) -
                                        filter_zero_point;
            for (std::size_t y = 0; y < in[2]; ++y) {
              const std::size_t oy = reached(0, y, fy);
              for (std::size_t x = 0; x < in[3] && oy < out[2]; ++x) {
                const std::size_t ox = reached(1, x, fx);
                if (ox >= out[3]) continue;
                const std::int64_t value =
                    byte_of(d.input, c.inputs[0], n * in_step[0] + ic * in_step[1] + y * in_step[2] + x * in_step[3]) -
                    zero_point(d.input_zero_point, c.inputs[1], 0);
                sums[((n * out[1] + oc) * out[2] + oy) * out[3] + ox] += value * weight;
              }
            }
          }
        }
      }
    }
  }
  std::vector<std::byte> output = c.output;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    constexpr std::int64_t all = std::int64_t{1} << 32;
    std::int64_t sum = ((sums[i] % all) + all) % all;  // the residue in -2^31 … 2^31 - 1
    if (sum >= all / 2) sum -= all;
    const auto value = static_cast<std::int32_t>(sum);
    const std::size_t x = i % out[3], y = i / out[3] % out[2], channel = i / out[3] / out[2] % out[1];
    const std::size_t n = i / out[3] / out[2] / out[1];
    const std::size_t place = n * out_step[0] + channel * out_step[1] + y * out_step[2] + x * out_step[3];
    std::memcpy(output.data() + place * sizeof(value), &value, sizeof(value));
  }
  return output;
}

}  // namespace dmlref::test
