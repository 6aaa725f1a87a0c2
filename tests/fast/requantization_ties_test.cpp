// requantization_ties_test.cpp: rounding around ties in every way of convolving. Biases put the accumulators of each
// channel around a tie of its own; one input channel moves them through every value of a window of 256.
#include <gmpxx.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "dmlref/call/quantized_linear_convolution.hpp"
#include "dmlref/op/quantized_linear_convolution.hpp"
#include "dmlref/op/run.hpp"
#include "support/quantized_linear_convolution_run.hpp"
#include "support/seed.hpp"

namespace {

using namespace dmlref;
using Random = std::mt19937_64;

// ---- the oracle: exact integers of any size, floor(x + 1/2), one less where a tie would become odd ----

/// A finite float as integer * 2^exponent.
struct Exact {
  mpz_class integer;
  long exponent;
  explicit Exact(float value) {
    int e = 0;
    integer = std::ldexp(static_cast<double>(std::frexp(value, &e)), 24);
    exponent = e - 24;
  }
};

class Quotient {
 public:
  Quotient(float input, float filter, float output) {
    const Exact in(input), by(filter), out(output);
    numerator_ = in.integer * by.integer;
    denominator_ = out.integer;
    const long exponent = in.exponent + by.exponent - out.exponent;
    (exponent >= 0 ? numerator_ : denominator_) <<= static_cast<unsigned long>(std::abs(exponent));
    if (denominator_ < 0) {
      numerator_ = -numerator_;
      denominator_ = -denominator_;
    }
  }
  /// The quantized value of an accumulator.
  int quantized(std::int64_t accumulator, int zero_point, int lowest, int highest) {
    twice_ = numerator_ * static_cast<long>(accumulator) * 2 + denominator_;
    const mpz_class divisor = denominator_ * 2;
    mpz_fdiv_qr(floor_.get_mpz_t(), rest_.get_mpz_t(), twice_.get_mpz_t(), divisor.get_mpz_t());
    if (rest_ == 0 && mpz_odd_p(floor_.get_mpz_t())) floor_ -= 1;
    floor_ += zero_point;
    return floor_ < lowest ? lowest : floor_ > highest ? highest : static_cast<int>(floor_.get_si());
  }
  /// The accumulator nearest to the tie `tie` + 1/2, or to one nearer to 0 where that one is beyond 2^30.
  std::int64_t accumulator_at(int tie) const {
    const mpz_class most = mpz_class(1) << 30;
    for (;; tie /= 2) {
      const mpz_class twice = denominator_ * (2 * tie + 1), divisor = numerator_ * 2;
      mpz_class nearest;
      mpz_fdiv_q(nearest.get_mpz_t(), mpz_class(twice * 2 + divisor).get_mpz_t(), mpz_class(divisor * 2).get_mpz_t());
      if (abs(nearest) <= most) return nearest.get_si();
      if (tie == 0 || tie == -1) return nearest < 0 ? -most.get_si() : most.get_si();
    }
  }

 private:
  mpz_class numerator_, denominator_, twice_, floor_, rest_;
};

// ---- shapes, one or more for each way of convolving ----

constexpr std::uint32_t out_height = 16, out_width = 17;

struct Form {
  const char* name;
  bool channels_last;
  std::uint32_t groups, in_channels, out_channels;  // channels of one group
  std::uint32_t kernel = 1, stride = 1, padding = 0;

  std::uint32_t in(std::uint32_t out) const { return (out - 1) * stride + kernel - 2 * padding; }
};
void PrintTo(const Form& form, std::ostream* to) { *to << form.name; }

constexpr Form forms[] = {
    {"PointwiseNhwc", true, 1, 32, 64},
    {"PointwiseNchw", false, 1, 32, 64},
    {"PointwiseOfFewOutputsNhwc", true, 1, 20, 6},
    {"PointwiseOfFewOutputsNchw", false, 1, 20, 6},
    {"PointwiseStrided", true, 1, 24, 40, 1, 2},
    {"ShallowNhwc", true, 1, 8, 48},
    {"ShallowNchw", false, 1, 3, 33},
    {"DeepNhwc", true, 1, 600, 24},
    {"DeepNchw", false, 1, 600, 24},
    {"ThreeByThreeNhwc", true, 1, 32, 48, 3, 1, 1},
    {"ThreeByThreeNchw", false, 1, 32, 48, 3, 1, 1},
    {"ThreeByThreeStrided", false, 1, 32, 32, 3, 2},
    {"FirstLayer", false, 1, 3, 32, 7, 2},
    {"FiveByFive", true, 1, 16, 16, 5},
    {"DepthwiseNhwc", true, 40, 1, 1, 3, 1, 1},
    {"DepthwiseNchw", false, 40, 1, 1, 3, 1, 1},
    {"DepthwiseStridedNhwc", true, 40, 1, 1, 3, 2},
    {"DepthwiseStridedNchw", false, 40, 1, 1, 3, 2},
    {"DepthwiseFiveByFiveNhwc", true, 24, 1, 1, 5},
    {"DepthwiseFiveByFiveNchw", false, 24, 1, 1, 5},
    {"TwoOutputsOfEach", true, 20, 1, 2, 3},
    {"GroupsOfFourNhwc", true, 10, 4, 4, 3, 1, 1},
    {"GroupsOfFourNchw", false, 10, 4, 4, 3, 1, 1},
    {"GroupsOfSixteen", true, 3, 16, 16, 3, 1, 1},
};

// ---- scales ----

/// Quotients: ties at every second, every fourth ... accumulator; none but near ties; larger than 1.
std::vector<float> quotients() {
  std::vector<float> all{0.5f, 1.5f, 2.5f, 10.5f, 300.5f, 4095.5f, 0x1p20f, 1.0f, 1.0f / 3.0f, 0.1f};
  for (int n = 1; n <= 30; ++n) {
    for (const float near : {1.0f, 1.0f + 0x1p-23f, 1.0f - 0x1p-24f, 1.0f / 3.0f, 0.7f}) {
      all.push_back(std::ldexp(near, -n));
    }
  }
  return all;
}

/// input * filter_factor / output is 1 or near it.
struct Scales {
  const char* name;
  float input, filter_factor, output;
  bool signs = false;  // every other filter scale negative
};
constexpr Scales all_scales[] = {
    {"plain", 1.0f, 1.0f, 1.0f},
    {"a hair above", 1.0f + 0x1p-23f, 1.0f, 1.0f},
    {"a hair below", 1.0f - 0x1p-23f, 1.0f, 1.0f},
    {"thirds", 1.0f / 3.0f, 3.0f, 1.0f},
    {"divided", 0.02f, 7.0f, 0.13f},
    {"subnormal products", 0x1p-100f, 0x1p-40f, 0x1p-140f},
    {"huge products", 0x1p100f, 0x1p26f, 0x1p126f},
    {"subnormal input scale", 0x1.8p-140f, 1.0f, 0x1.8p-140f},
    {"negative", -1.0f, 1.0f, 1.0f, true},
    {"negative output scale", 1.0f, 1.0f, -3.0f, true},
};

// ---- cases ----

std::int64_t value_of(DataType type, std::byte byte) {
  return type == DataType::uint8 ? static_cast<int>(byte) : static_cast<std::int8_t>(byte);
}
int lowest_of(DataType type) { return type == DataType::uint8 ? 0 : -128; }

/// The convolution without bias, of a form and types, and its sums for the oracle.
struct Convolution {
  const Form& form;
  DataType in_type, filter_type, out_type;
  std::uint32_t in_all = form.groups * form.in_channels, out_all = form.groups * form.out_channels;
  std::uint32_t height = form.in(out_height), width = form.in(out_width);
  std::vector<std::byte> input, filter;
  int input_zero_point = 0, filter_zero_point = 0;
  std::vector<std::int64_t> sums;    // [channel][pixel]
  std::vector<std::int64_t> middle;  // of each channel's window

  std::size_t at_input(std::uint32_t channel, std::uint32_t y, std::uint32_t x) const {
    return form.channels_last ? (std::size_t{y} * width + x) * in_all + channel
                              : (std::size_t{channel} * height + y) * width + x;
  }
  std::size_t at_output(std::uint32_t channel, std::uint32_t pixel) const {
    return form.channels_last ? std::size_t{pixel} * out_all + channel
                              : std::size_t{channel} * out_height * out_width + pixel;
  }
  std::size_t at_filter(std::uint32_t channel, std::uint32_t in, std::uint32_t tap) const {
    return (std::size_t{channel} * form.in_channels + in) * form.kernel * form.kernel + tap;
  }
  /// The last channel of each group moves, the others stand still. Neighbouring pixels differ much.
  int step(std::uint32_t channel, std::uint32_t y, std::uint32_t x) const {
    const std::uint32_t place = out_width * (y / form.stride) + x / form.stride;
    return lowest_of(in_type) + static_cast<int>((place * 37 + channel * 11) % 256);
  }

  Convolution(const Form& f, unsigned types, Random& random)
      : form(f),
        in_type((types & 1) != 0 ? DataType::int8 : DataType::uint8),
        filter_type((types & 2) != 0 ? DataType::uint8 : DataType::int8),
        out_type((types & 4) != 0 ? DataType::int8 : DataType::uint8) {
    const auto any = [&](DataType type) { return lowest_of(type) + static_cast<int>(random() % 256); };
    const std::uint32_t taps = form.kernel * form.kernel;
    input_zero_point = any(in_type);
    filter_zero_point = (types & 2) != 0 ? any(filter_type) : 0;
    input.resize(std::size_t{in_all} * height * width);
    for (std::uint32_t channel = 0; channel < in_all; ++channel) {
      const bool moves = channel % form.in_channels == form.in_channels - 1;
      const int still = any(in_type);
      for (std::uint32_t y = 0; y < height; ++y) {
        for (std::uint32_t x = 0; x < width; ++x) {
          input[at_input(channel, y, x)] = static_cast<std::byte>(moves ? step(channel, y, x) : still);
        }
      }
    }
    filter.assign(std::size_t{out_all} * form.in_channels * taps, static_cast<std::byte>(filter_zero_point));
    std::vector<int> weight(out_all, 1);
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
    sums.resize(std::size_t{out_all} * out_height * out_width);
    for (std::uint32_t channel = 0; channel < out_all; ++channel) {
      for (std::uint32_t y = 0; y < out_height; ++y) {
        for (std::uint32_t x = 0; x < out_width; ++x) {
          sums[(std::size_t{channel} * out_height + y) * out_width + x] = sum(channel, y, x);
        }
      }
      // The sum of a pixel within, had it the middle of all values.
      const std::uint32_t y = 8, x = 8, last = channel / form.out_channels * form.in_channels + form.in_channels - 1;
      const std::uint32_t in_y = y * form.stride + tap_of[channel] / form.kernel - form.padding;
      const std::uint32_t in_x = x * form.stride + tap_of[channel] % form.kernel - form.padding;
      const int moved = step(last, in_y, in_x) - (lowest_of(in_type) + 128);
      middle.push_back(sums[(std::size_t{channel} * out_height + y) * out_width + x] - weight[channel] * moved);
    }
  }

  std::int64_t sum(std::uint32_t channel, std::uint32_t out_y, std::uint32_t out_x) const {
    std::int64_t result = 0;
    const std::uint32_t first = channel / form.out_channels * form.in_channels;
    for (std::uint32_t tap = 0; tap < form.kernel * form.kernel; ++tap) {
      const std::uint32_t y = out_y * form.stride + tap / form.kernel - form.padding;
      const std::uint32_t x = out_x * form.stride + tap % form.kernel - form.padding;
      if (y >= height || x >= width) continue;  // padding, below 0 as well
      for (std::uint32_t in = 0; in < form.in_channels; ++in) {
        result += (value_of(in_type, input[at_input(first + in, y, x)]) - input_zero_point) *
                  (value_of(filter_type, filter[at_filter(channel, in, tap)]) - filter_zero_point);
      }
    }
    return result;
  }

  QuantizedLinearConvolutionDesc desc(bool per_channel, bool owned) const {
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

template <class T>
std::vector<std::byte> bytes(const std::vector<T>& values) {
  std::vector<std::byte> result((values.size() * sizeof(T) + 3) / 4 * 4);
  std::memcpy(result.data(), values.data(), values.size() * sizeof(T));
  return result;
}
std::vector<std::byte> bytes(int value) { return {static_cast<std::byte>(value), {}, {}, {}}; }

struct Rounding {
  const Scales& scales;
  std::vector<float> filter_scale;  // of each channel
  bool per_channel, owned;
  int zero_point;
};

void expect_exact(const Convolution& c, const Rounding& r, Random& random) {
  const int lowest = lowest_of(c.out_type), highest = lowest + 255;
  std::vector<Quotient> quotient;
  std::vector<std::int32_t> bias;
  for (std::uint32_t channel = 0; channel < c.out_all; ++channel) {
    quotient.emplace_back(r.scales.input, r.filter_scale[channel], r.scales.output);
    const int tie = lowest - r.zero_point - 1 + static_cast<int>(random() % 257);
    bias.push_back(static_cast<std::int32_t>(quotient.back().accumulator_at(tie) - c.middle[channel]));
  }
  const QuantizedLinearConvolutionDesc desc = c.desc(r.per_channel, r.owned);
  std::vector<float> filter_scale = r.filter_scale;
  if (!r.per_channel) filter_scale.resize(1);
  const std::vector<std::byte> data[] = {
      bytes(c.input),
      bytes(std::vector{r.scales.input}),
      bytes(c.input_zero_point),
      bytes(c.filter),
      bytes(filter_scale),
      c.filter_zero_point != 0 ? bytes(c.filter_zero_point) : std::vector<std::byte>{},
      bytes(bias),
      bytes(std::vector{r.scales.output}),
      bytes(r.zero_point)};
  std::vector<InputBuffer> inputs;
  for (const std::vector<std::byte>& d : data) inputs.emplace_back(d);
  std::vector<std::byte> output(desc.output.total_size_in_bytes);
  const OutputBuffer out[] = {output};
  const Report report = run(desc, latest_feature_level, inputs, out);
  ASSERT_TRUE(report.ok()) << report.to_string();

  constexpr std::uint32_t pixels = out_height * out_width;
  for (std::uint32_t channel = 0; channel < c.out_all; ++channel) {
    // Within the window each value occurs once or twice.
    constexpr int unknown = 1000;
    const std::int64_t first = c.middle[channel] + bias[channel] - 256;
    std::vector<int> known(512, unknown);
    for (std::uint32_t pixel = 0; pixel < pixels; ++pixel) {
      const std::int64_t accumulator = c.sums[channel * pixels + pixel] + bias[channel];
      const std::int64_t place = accumulator - first;
      int here = unknown;
      int& expected = place >= 0 && place < 512 ? known[static_cast<std::size_t>(place)] : here;
      if (expected == unknown) expected = quotient[channel].quantized(accumulator, r.zero_point, lowest, highest);
      const auto got = value_of(c.out_type, output[c.at_output(channel, pixel)]);
      ASSERT_EQ(got, expected) << r.scales.name << ", " << (r.per_channel ? "per channel" : "per tensor")
                               << (r.owned ? ", owned" : "") << ", channel " << channel << ", pixel " << pixel
                               << ", accumulator " << accumulator << ", filter scale " << r.filter_scale[channel]
                               << ", zero point " << r.zero_point;
    }
  }
}

class RequantizationTies : public testing::TestWithParam<Form> {};

TEST_P(RequantizationTies, AreExact) {
  Random random(dmlref_test::test_seed(20211));
  const std::vector<float> all = quotients();
  std::size_t next = random() % all.size();
  unsigned number = 0;
  for (const unsigned types : {0u, 7u, 2u, 5u}) {
    const Convolution c(GetParam(), types, random);
    for (const Scales& scales : all_scales) {
      for (const bool per_channel : {true, false}) {
        Rounding r{scales, {}, per_channel, number % 2 != 0, 0};
        const int zero_points[] = {0, 255, 128, 7};
        r.zero_point = lowest_of(c.out_type) + zero_points[number / 2 % 4];
        ++number;
        for (std::uint32_t channel = 0; channel < c.out_all; ++channel) {
          const float scale = scales.filter_factor * all[next % all.size()];
          r.filter_scale.push_back(scales.signs && next % 2 != 0 ? -scale : scale);
          if (per_channel) ++next;
        }
        next += 7;
        ASSERT_NO_FATAL_FAILURE(expect_exact(c, r, random));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, RequantizationTies, testing::ValuesIn(forms),
                         [](const auto& form) { return std::string(form.param.name); });

}  // namespace
