#include "operators/quantized_linear_convolution/cases.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <thread>

namespace bench {
namespace {

// A positive binary32 number as mantissa * 2^exponent, exactly.
struct Exact {
  std::uint64_t mantissa;
  int exponent;
};
Exact exact(float value) {
  int exponent = 0;
  const float fraction = std::frexp(value, &exponent);
  return {static_cast<std::uint64_t>(std::ldexp(fraction, 24)), exponent - 24};
}

// round_half_even(accumulator * sx * sw / sy), with all three scales taken exactly.
class Requantize {
 public:
  Requantize(float sx, float sw, float sy) {
    const Exact x = exact(sx), w = exact(sw), y = exact(sy);
    numerator_ = x.mantissa * w.mantissa;
    denominator_ = y.mantissa;
    shift_ = x.exponent + w.exponent - y.exponent;
    estimate_ = static_cast<double>(sx) * static_cast<double>(sw) / static_cast<double>(sy);
  }
  std::int64_t operator()(std::int64_t accumulator) const {
    const double rough = static_cast<double>(accumulator) * estimate_;
    if (rough > 4096) return 4096;
    if (rough < -4096) return -4096;
    if (std::fabs(rough) < 0.25) return 0;
    __extension__ using Wide = unsigned __int128;
    const bool negative = accumulator < 0;
    Wide top = static_cast<Wide>(negative ? -accumulator : accumulator) * numerator_;
    Wide bottom = denominator_;
    if (shift_ >= 0) {
      top <<= shift_;
    } else if (-shift_ <= 100) {
      bottom <<= -shift_;
    } else {
      return 0;
    }
    const Wide whole = top / bottom;
    const Wide rest = top % bottom;
    auto result = static_cast<std::int64_t>(whole);
    const Wide other = bottom - rest;
    if (rest > other || (rest == other && (result & 1) != 0)) ++result;
    return negative ? -result : result;
  }

 private:
  std::uint64_t numerator_ = 0, denominator_ = 1;
  int shift_ = 0;
  double estimate_ = 0;
};

std::int32_t value_of(std::uint8_t byte, bool is_signed) {
  return is_signed ? static_cast<std::int8_t>(byte) : static_cast<std::int32_t>(byte);
}

std::int32_t dot(const std::int16_t* a, const std::int16_t* b, std::size_t count) {
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += std::int32_t{a[i]} * std::int32_t{b[i]};
  return sum;
}

void fill_operands(ConvolutionProblem& p, LayerData data, Random& random) {
  const auto byte = [&](bool is_signed) -> std::uint8_t {
    switch (data) {
      case LayerData::random:
      case LayerData::bias_overflow: return static_cast<std::uint8_t>(random.next());
      case LayerData::ties: {
        const auto small = static_cast<int>(random.next() % 9) - 4;
        return static_cast<std::uint8_t>(is_signed ? small : 128 + small);
      }
      case LayerData::extremes: {
        const std::uint8_t low = is_signed ? 0x80 : 0x00, high = is_signed ? 0x7F : 0xFF;
        return (random.next() & 1) != 0 ? low : high;
      }
      case LayerData::all_minimum: return is_signed ? 0x80 : 0x00;
    }
    return 0;
  };
  for (std::uint8_t& v : p.input_nchw) v = byte(p.type.input_signed);
  for (std::uint8_t& v : p.filter) v = byte(p.type.filter_signed);
}

}  // namespace

// Operands without their zero points, the input padded with zeros and NHWC.
std::vector<std::int32_t> sums_of(const ConvolutionProblem& p) {
  const Layer& l = p.layer;
  const std::size_t channels = p.channels(), group_in = channels / l.groups, group_out = l.output_channels / l.groups;
  const std::size_t padded_h = p.height() + 2 * l.pad_h, padded_w = p.width() + 2 * l.pad_w;
  const std::size_t taps = std::size_t{l.kernel_h} * l.kernel_w;

  std::vector<std::int16_t> input(p.batch() * padded_h * padded_w * channels, 0);
  for (std::size_t n = 0; n < p.batch(); ++n) {
    for (std::size_t y = 0; y < p.height(); ++y) {
      for (std::size_t x = 0; x < p.width(); ++x) {
        for (std::size_t c = 0; c < channels; ++c) {
          const std::int32_t v =
              value_of(p.input_nhwc[((n * p.height() + y) * p.width() + x) * channels + c], p.type.input_signed);
          input[((n * padded_h + y + l.pad_h) * padded_w + x + l.pad_w) * channels + c] =
              static_cast<std::int16_t>(v - p.input_zero_point);
        }
      }
    }
  }
  std::vector<std::int16_t> filter(p.filter.size());  // {OutC, KH, KW, InC / groups}
  for (std::size_t o = 0; o < l.output_channels; ++o) {
    const std::int32_t zero = p.filter_zero_point[p.filter_zero_point.size() == 1 ? 0 : o];
    for (std::size_t c = 0; c < group_in; ++c) {
      for (std::size_t k = 0; k < taps; ++k) {
        const std::int32_t v = value_of(p.filter[(o * group_in + c) * taps + k], p.type.filter_signed);
        filter[(o * taps + k) * group_in + c] = static_cast<std::int16_t>(v - zero);
      }
    }
  }

  std::vector<std::int32_t> sums(p.batch() * l.output_channels * std::size_t{p.output_h} * p.output_w);
  const bool whole_rows = l.groups == 1 && l.dilation == 1;  // a kernel row is one contiguous run
  const auto channel_range = [&](std::size_t first, std::size_t last) {
    for (std::size_t n = 0; n < p.batch(); ++n) {
      for (std::size_t o = first; o < last; ++o) {
        const std::size_t first_in = o / group_out * group_in;
        for (std::size_t oy = 0; oy < p.output_h; ++oy) {
          for (std::size_t ox = 0; ox < p.output_w; ++ox) {
            std::int32_t sum = 0;
            for (std::size_t ky = 0; ky < l.kernel_h; ++ky) {
              const std::size_t y = oy * l.stride + ky * l.dilation;
              const std::int16_t* row =
                  input.data() + ((n * padded_h + y) * padded_w + ox * l.stride) * channels + first_in;
              const std::int16_t* weights = filter.data() + (o * taps + ky * l.kernel_w) * group_in;
              if (whole_rows) {
                sum += dot(row, weights, l.kernel_w * group_in);
              } else {
                for (std::size_t kx = 0; kx < l.kernel_w; ++kx) {
                  sum += dot(row + kx * l.dilation * channels, weights + kx * group_in, group_in);
                }
              }
            }
            sums[((n * l.output_channels + o) * p.output_h + oy) * p.output_w + ox] = sum;
          }
        }
      }
    }
  };
  std::thread other(channel_range, l.output_channels / 2, l.output_channels);
  channel_range(0, l.output_channels / 2);
  other.join();
  return sums;
}

double ConvolutionProblem::macs() const {
  return static_cast<double>(output_count()) * (channels() / layer.groups) * layer.kernel_h * layer.kernel_w;
}

Outcome ConvolutionProblem::compare(std::span<const std::uint8_t> bytes, bool nhwc) const {
  const std::vector<std::uint8_t>& right = nhwc ? expected_nhwc : expected_nchw;
  Outcome outcome;
  outcome.outputs = right.size();
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (bytes[i] == right[i]) continue;
    ++outcome.wrong;
    const std::int32_t distance =
        std::abs(value_of(bytes[i], type.input_signed) - value_of(right[i], type.input_signed));
    outcome.worst = std::max(outcome.worst, static_cast<double>(distance));
  }
  return outcome;
}

ConvolutionProblem make_problem(const Layer& layer, const LayerType& type, LayerData data) {
  ConvolutionProblem p;
  p.layer = layer;
  p.type = type;
  const auto extent = [&](std::uint32_t in, std::uint32_t kernel, std::uint32_t pad) {
    return (in + 2 * pad - (1 + (kernel - 1) * layer.dilation)) / layer.stride + 1;
  };
  p.output_h = extent(p.height(), layer.kernel_h, layer.pad_h);
  p.output_w = extent(p.width(), layer.kernel_w, layer.pad_w);
  const std::size_t channels = p.channels(), plane = std::size_t{p.height()} * p.width();
  const std::size_t group_in = channels / layer.groups;
  const std::size_t depth = group_in * layer.kernel_h * layer.kernel_w;

  Random random(20261121);
  p.input_nchw.resize(p.batch() * channels * plane);
  p.filter.resize(layer.output_channels * depth);
  fill_operands(p, data, random);
  p.input_nhwc.resize(p.input_nchw.size());
  for (std::size_t n = 0; n < p.batch(); ++n) {
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t i = 0; i < plane; ++i) {
        p.input_nhwc[(n * plane + i) * channels + c] = p.input_nchw[(n * channels + c) * plane + i];
      }
    }
  }

  const std::size_t scales = type.scale_per_channel ? layer.output_channels : 1;
  const std::size_t zeros = type.filter_zero_point == "channel" ? layer.output_channels : 1;
  p.input_zero_point = type.input_signed ? -5 : 123;
  p.output_zero_point = type.input_signed ? 3 : 131;
  p.filter_scale.resize(scales);
  std::size_t channel = 0;
  for (float& s : p.filter_scale) {
    s = static_cast<float>(0.002 + 0.002 * random.uniform());
    if (!layer.scales_over_decades || scales == 1) continue;
    s *= static_cast<float>(std::pow(10.0, -3 * random.uniform()) * (channel++ % 24 == 11 ? 30 : 1));
  }
  p.filter_zero_point.assign(std::max(zeros, scales), 0);
  if (type.filter_zero_point != "zero") {
    const std::int32_t common = type.filter_signed ? 5 : 125;
    for (std::int32_t& z : p.filter_zero_point) {
      z = zeros == 1 ? common : common + static_cast<std::int32_t>(random.next() % 7) - 3;
    }
  }
  // Uniform bytes have a standard deviation of 74: the outputs get one of 45 around the zero point.
  const double sigma = 74.0 * 74.0 * std::sqrt(static_cast<double>(depth));
  p.input_scale = 0.0173f;
  p.output_scale = static_cast<float>(0.0173 * 0.003 * sigma / 45.0);
  p.bias.resize(layer.output_channels);
  for (std::int32_t& b : p.bias) b = static_cast<std::int32_t>((random.uniform() - 0.5) * sigma);
  if (data == LayerData::ties) {
    p.input_scale = 0.5f;
    p.output_scale = 1.0f;
    for (float& s : p.filter_scale) s = 1.0f;
    p.input_zero_point = type.input_signed ? 0 : 128;
    for (std::int32_t& b : p.bias) b = static_cast<std::int32_t>(random.next() % 65) - 32;
  } else if (data == LayerData::bias_overflow) {
    p.output_scale = static_cast<float>(0.0173 * 0.003 * 0x1p31 / 60.0);
    for (std::int32_t& b : p.bias) b = (random.next() & 1) != 0 ? 0x7FFFFFFF - 648 : -0x7FFFFFFF + 648;
  }

  const std::vector<std::int32_t> sums = sums_of(p);
  const std::int32_t low = type.input_signed ? -128 : 0, high = type.input_signed ? 127 : 255;
  const std::size_t pixels = std::size_t{p.output_h} * p.output_w;
  p.expected_nchw.resize(sums.size());
  p.expected_nhwc.resize(sums.size());
  for (std::size_t n = 0; n < p.batch(); ++n) {
    for (std::size_t o = 0; o < layer.output_channels; ++o) {
      const Requantize requantize(p.input_scale, p.filter_scale[scales == 1 ? 0 : o], p.output_scale);
      for (std::size_t i = 0; i < pixels; ++i) {
        const std::size_t at = (n * layer.output_channels + o) * pixels + i;
        const std::int64_t q = requantize(std::int64_t{sums[at]} + p.bias[o]) + p.output_zero_point;
        const auto byte = static_cast<std::uint8_t>(std::clamp<std::int64_t>(q, low, high));
        p.expected_nchw[at] = byte;
        p.expected_nhwc[(n * pixels + i) * layer.output_channels + o] = byte;
      }
    }
  }
  return p;
}

}  // namespace bench
