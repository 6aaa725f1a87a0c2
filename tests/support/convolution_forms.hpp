// convolution_forms.hpp: convolutions of 16 by 17 outputs for each way of convolving, their sums in plain integers, and
// one whose accumulators step: in every output channel they go through 256 values, and a bias puts these wherever a
// test wants them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "dmlref/operators/quantized_linear_convolution/desc.hpp"
#include "dmlref/operators/quantized_linear_convolution/plan.hpp"
#include "dmlref/run/run.hpp"
#include "support/quantized_linear_convolution_run.hpp"

namespace dmlref_test {

constexpr std::uint32_t out_height = 16, out_width = 17, out_pixels = out_height * out_width;

struct Form {
  const char* name;
  bool channels_last;
  std::uint32_t groups, in_channels, out_channels;  // channels of one group
  std::uint32_t kernel = 1, stride = 1, padding = 0;

  std::uint32_t in(std::uint32_t out) const { return (out - 1) * stride + kernel - 2 * padding; }
};
inline void PrintTo(const Form& form, std::ostream* to) { *to << form.name; }

inline std::int64_t value_of(dmlref::DataType type, std::byte byte) {
  return type == dmlref::DataType::uint8 ? static_cast<int>(byte) : static_cast<std::int8_t>(byte);
}
inline int lowest_of(dmlref::DataType type) { return type == dmlref::DataType::uint8 ? 0 : -128; }

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> result((values.size() * sizeof(T) + 3) / 4 * 4);
  std::memcpy(result.data(), values.data(), values.size() * sizeof(T));
  return result;
}
inline std::vector<std::byte> bytes_of(int value) { return {static_cast<std::byte>(value), {}, {}, {}}; }

/// Input and filter of a form; `types`: bit 0, 1, 2 for an input of INT8, a filter of UINT8, an output of INT8.
struct FormData {
  const Form& form;
  dmlref::DataType in_type, filter_type, out_type;
  std::uint32_t in_all = form.groups * form.in_channels, out_all = form.groups * form.out_channels;
  std::uint32_t height = form.in(out_height), width = form.in(out_width);
  std::uint32_t taps = form.kernel * form.kernel;
  std::vector<std::byte> input, filter;
  int input_zero_point = 0, filter_zero_point = 0;

  FormData(const Form& f, unsigned types)
      : form(f),
        in_type((types & 1) != 0 ? dmlref::DataType::int8 : dmlref::DataType::uint8),
        filter_type((types & 2) != 0 ? dmlref::DataType::uint8 : dmlref::DataType::int8),
        out_type((types & 4) != 0 ? dmlref::DataType::int8 : dmlref::DataType::uint8),
        input(std::size_t{in_all} * height * width),
        filter(std::size_t{out_all} * form.in_channels * taps) {}

  std::size_t at_input(std::uint32_t channel, std::uint32_t y, std::uint32_t x) const {
    return form.channels_last ? (std::size_t{y} * width + x) * in_all + channel
                              : (std::size_t{channel} * height + y) * width + x;
  }
  std::size_t at_output(std::uint32_t channel, std::uint32_t pixel) const {
    return form.channels_last ? std::size_t{pixel} * out_all + channel : std::size_t{channel} * out_pixels + pixel;
  }
  std::size_t at_filter(std::uint32_t channel, std::uint32_t in, std::uint32_t tap) const {
    return (std::size_t{channel} * form.in_channels + in) * taps + tap;
  }
  std::uint32_t first_input_of(std::uint32_t channel) const { return channel / form.out_channels * form.in_channels; }

  std::int64_t sum(std::uint32_t channel, std::uint32_t out_y, std::uint32_t out_x) const {
    std::int64_t result = 0;
    for (std::uint32_t tap = 0; tap < taps; ++tap) {
      const std::uint32_t y = out_y * form.stride + tap / form.kernel - form.padding;
      const std::uint32_t x = out_x * form.stride + tap % form.kernel - form.padding;
      if (y >= height || x >= width) continue;  // padding, below 0 as well
      for (std::uint32_t in = 0; in < form.in_channels; ++in) {
        result += (value_of(in_type, input[at_input(first_input_of(channel) + in, y, x)]) - input_zero_point) *
                  (value_of(filter_type, filter[at_filter(channel, in, tap)]) - filter_zero_point);
      }
    }
    return result;
  }

  dmlref::QuantizedLinearConvolutionDesc desc(bool per_channel, bool owned) const {
    using namespace dmlref;
    QuantizedLinearConvolutionDesc d;
    const auto tensor = [&](DataType type, std::uint32_t channels, std::uint32_t h, std::uint32_t w) {
      const Dimensions sizes{1, channels, h, w};
      if (!form.channels_last) return TensorDesc(type, sizes);
      return TensorDesc(type, sizes, Dimensions{channels * h * w, 1, w * channels, channels});
    };
    const Dimensions one{1, 1, 1, 1}, channels{1, out_all, 1, 1};
    d.input = tensor(in_type, in_all, height, width);
    d.input_scale = d.output_scale = TensorDesc(DataType::float32, one);
    d.input_zero_point = TensorDesc(in_type, one);
    d.filter = TensorDesc(filter_type, {out_all, form.in_channels, form.kernel, form.kernel});
    d.filter_scale = TensorDesc(DataType::float32, per_channel ? channels : one);
    if (filter_zero_point != 0) d.filter_zero_point = TensorDesc(filter_type, one);
    d.bias = TensorDesc(DataType::int32, channels);
    d.output_zero_point = TensorDesc(out_type, one);
    d.output = tensor(out_type, out_all, out_height, out_width);
    d.strides = {form.stride, form.stride};
    d.dilations = {1, 1};
    d.start_padding = d.end_padding = {form.padding, form.padding};
    d.group_count = form.groups;
    if (owned) test::own_constants(d);
    return d;
  }
};

/// What follows the sums: one filter scale, or one of each channel.
struct FormRounding {
  float input_scale = 1, output_scale = 1;
  std::vector<float> filter_scale{1.0f};
  int zero_point = 0;
  std::vector<std::int32_t> bias;  // of each channel
  bool owned = false;
};

/// The output's bytes; a failed run's report as `failure`.
inline std::vector<std::byte> run_form(const FormData& data, const FormRounding& r, std::string& failure) {
  const dmlref::QuantizedLinearConvolutionDesc desc = data.desc(r.filter_scale.size() > 1, r.owned);
  const std::vector<std::byte> all[] = {
      bytes_of(data.input),
      bytes_of(std::vector{r.input_scale}),
      bytes_of(data.input_zero_point),
      bytes_of(data.filter),
      bytes_of(r.filter_scale),
      data.filter_zero_point != 0 ? bytes_of(data.filter_zero_point) : std::vector<std::byte>{},
      bytes_of(r.bias),
      bytes_of(std::vector{r.output_scale}),
      bytes_of(r.zero_point)};
  std::vector<dmlref::InputBuffer> inputs;
  for (const std::vector<std::byte>& d : all) inputs.emplace_back(d);
  std::vector<std::byte> output(desc.output.total_size_in_bytes);
  const dmlref::OutputBuffer out[] = {output};
  const dmlref::Report report = dmlref::run(desc, dmlref::latest_feature_level, inputs, out);
  failure = report.ok() ? "" : report.to_string();
  return output;
}

/// The last input channel of each group moves through all bytes, times +1 or -1; the others stand still.
struct SteppingConvolution : FormData {
  std::vector<std::int64_t> sums;    // [channel][pixel]
  std::vector<std::int64_t> middle;  // of each channel's window
  std::vector<int> weight;           // of each channel: +1 or -1

  /// Neighbouring pixels differ much.
  int step(std::uint32_t channel, std::uint32_t y, std::uint32_t x) const {
    const std::uint32_t place = out_width * (y / form.stride) + x / form.stride;
    return lowest_of(in_type) + static_cast<int>((place * 37 + channel * 11) % 256);
  }

  SteppingConvolution(const Form& f, unsigned types, std::mt19937_64& random) : FormData(f, types), weight(out_all, 1) {
    const auto any = [&](dmlref::DataType type) { return lowest_of(type) + static_cast<int>(random() % 256); };
    input_zero_point = any(in_type);
    filter_zero_point = (types & 2) != 0 ? any(filter_type) : 0;
    for (std::uint32_t channel = 0; channel < in_all; ++channel) {
      const bool moves = channel % form.in_channels == form.in_channels - 1;
      const int still = any(in_type);
      for (std::uint32_t y = 0; y < height; ++y) {
        for (std::uint32_t x = 0; x < width; ++x) {
          input[at_input(channel, y, x)] = static_cast<std::byte>(moves ? step(channel, y, x) : still);
        }
      }
    }
    std::fill(filter.begin(), filter.end(), static_cast<std::byte>(filter_zero_point));
    std::vector<std::uint32_t> tap_of(out_all);
    for (std::uint32_t channel = 0; channel < out_all; ++channel) {
      for (std::uint32_t in = 0; in + 1 < form.in_channels; ++in) {
        for (std::uint32_t tap = 0; tap < taps; ++tap) {
          filter[at_filter(channel, in, tap)] = static_cast<std::byte>(any(filter_type));
        }
      }
      const int lowest = lowest_of(filter_type);
      weight[channel] = filter_zero_point == lowest                             ? 1
                        : filter_zero_point == lowest + 255 || channel % 2 != 0 ? -1
                                                                                : 1;
      tap_of[channel] = (channel * 5 + 4) % taps;
      filter[at_filter(channel, form.in_channels - 1, tap_of[channel])] =
          static_cast<std::byte>(filter_zero_point + weight[channel]);
    }
    sums.resize(std::size_t{out_all} * out_pixels);
    for (std::uint32_t channel = 0; channel < out_all; ++channel) {
      for (std::uint32_t pixel = 0; pixel < out_pixels; ++pixel) {
        sums[std::size_t{channel} * out_pixels + pixel] = sum(channel, pixel / out_width, pixel % out_width);
      }
      // The sum of a pixel within, had it the middle of all values.
      const std::uint32_t y = 8, x = 8, last = first_input_of(channel) + form.in_channels - 1;
      const std::uint32_t in_y = y * form.stride + tap_of[channel] / form.kernel - form.padding;
      const std::uint32_t in_x = x * form.stride + tap_of[channel] % form.kernel - form.padding;
      const int moved = step(last, in_y, in_x) - (lowest_of(in_type) + 128);
      middle.push_back(sums[std::size_t{channel} * out_pixels + y * out_width + x] - weight[channel] * moved);
    }
  }
};

}  // namespace dmlref_test
