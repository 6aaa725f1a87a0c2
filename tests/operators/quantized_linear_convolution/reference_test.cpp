// The reference convolution against exact rationals: every output is the exact real value rounded once.
#include "dmlref/operators/quantized_linear_convolution/reference.hpp"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <vector>

#include "dmlref/operators/quantized_linear_convolution/call.hpp"
#include "dmlref/operators/quantized_linear_convolution/plan.hpp"
#include "support/quantized_linear_convolution_case.hpp"
#include "support/seed.hpp"

namespace {

using namespace dmlref;
using namespace dmlref::test;

// ---- the vectors of the facts, in constant expressions ----

template <std::size_t Size>
constexpr std::array<std::uint8_t, Size * Size> facts_example(Index padding) {
  const std::uint8_t input[9] = {130, 128, 127, 129, 131, 128, 126, 128, 132};
  const std::int8_t filter[4] = {1, -2, 3, 4};
  const float input_scale = 0.5f, filter_scale = 0.25f, output_scale = 0.25f;
  const std::uint8_t input_zero_point = 128, output_zero_point = 10;
  const std::int32_t bias = 3;
  std::array<std::uint8_t, Size * Size> output{};
  const Shape one{1, 1, 1, 1};
  const reference::QuantizedLinearConvolutionTensors<std::uint8_t, std::int8_t, std::uint8_t> tensors{
      {input, Shape{1, 1, 3, 3}},
      {&input_scale, one},
      TensorView<const std::uint8_t>{&input_zero_point, one},
      {filter, Shape{1, 1, 2, 2}},
      {&filter_scale, one},
      std::nullopt,
      TensorView<const std::int32_t>{&bias, one},
      {&output_scale, one},
      TensorView<const std::uint8_t>{&output_zero_point, one},
      {output.data(), Shape{1, 1, Size, Size}}};
  reference::quantized_linear_convolution(tensors, {{1, 1}, {1, 1}, {padding, padding}, 1});
  return output;
}
static_assert(facts_example<2>(0) == std::array<std::uint8_t, 4>{20, 17, 6, 21});
static_assert(facts_example<4>(1) ==
              std::array<std::uint8_t, 16>{16, 14, 10, 10, 12, 20, 17, 11, 6, 6, 21, 18, 14, 10, 8, 14});

constexpr std::int64_t rounded(std::int64_t sum, float in, float filter, float out) {
  const reference::RequantizeScale scale(in, filter, out);
  return scale.round(sum) == scale.round_exactly(sum) ? scale.round(sum) : 999999;
}
static_assert(rounded(5, 1.0f, 1.0f, 2.0f) == 2 && rounded(7, 1.0f, 1.0f, 2.0f) == 4);
static_assert(rounded(-5, 1.0f, 1.0f, 2.0f) == -2 && rounded(5, -1.0f, 1.0f, 2.0f) == -2);
static_assert(rounded(5, -1.0f, -1.0f, 2.0f) == 2 && rounded(1, 1.0f, 0.5f, 1.0f) == 0);
// One part in 2^46 to either side of a tie.
static_assert(rounded(5, 1.0f + 0x1p-23f, 1.0f - 0x1p-23f, 2.0f) == 2);
static_assert(rounded(7, 1.0f + 0x1p-23f, 1.0f - 0x1p-23f, 2.0f) == 3);
static_assert(rounded(-7, 1.0f + 0x1p-23f, 1.0f - 0x1p-23f, 2.0f) == -3);
static_assert(reference::requantize<std::uint8_t>(5, reference::RequantizeScale(1, 1, 2), 1) == 3);  // 2 + 1, not 4
static_assert(reference::requantize<std::int8_t>(INT64_C(-562949953421311), reference::RequantizeScale(1, 1, 1), 127) ==
              -128);

// ---- scales that DirectML leaves undefined: a defined result, no trap ----

TEST(Requantize, UndefinedScales) {
  const float zero = 0.0f, infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr std::int64_t limit = reference::rounding_limit;
  EXPECT_EQ(rounded(7, zero, 1.0f, 1.0f), 0);
  EXPECT_EQ(rounded(7, 1.0f, -zero, 1.0f), 0);
  EXPECT_EQ(rounded(7, 1.0f, 1.0f, zero), limit);
  EXPECT_EQ(rounded(-7, 1.0f, 1.0f, zero), -limit);
  EXPECT_EQ(rounded(7, 1.0f, 1.0f, -zero), -limit);
  EXPECT_EQ(rounded(0, 1.0f, 1.0f, zero), 0);
  EXPECT_EQ(rounded(7, zero, 1.0f, zero), 0);
  EXPECT_EQ(rounded(7, infinity, 1.0f, 1.0f), limit);
  EXPECT_EQ(rounded(7, infinity, -1.0f, 1.0f), -limit);
  EXPECT_EQ(rounded(0, infinity, 1.0f, 1.0f), 0);
  EXPECT_EQ(rounded(7, infinity, zero, 1.0f), 0);
  EXPECT_EQ(rounded(7, 1.0f, infinity, zero), limit);
  EXPECT_EQ(rounded(7, 1.0f, 1.0f, infinity), 0);
  EXPECT_EQ(rounded(7, infinity, 1.0f, infinity), 0);
  for (const std::int64_t sum : {INT64_C(-3), INT64_C(0), INT64_C(3)}) {
    EXPECT_EQ(rounded(sum, nan, 1.0f, 1.0f), 0);
    EXPECT_EQ(rounded(sum, 1.0f, nan, 1.0f), 0);
    EXPECT_EQ(rounded(sum, 1.0f, 1.0f, nan), 0);
  }
  const float least = std::numeric_limits<float>::denorm_min(), most = (std::numeric_limits<float>::max)();
  EXPECT_EQ(rounded(3, least, least, least), 0);
  EXPECT_EQ(rounded(3, least, most, 1.0f), 0);
  EXPECT_EQ(rounded(3, least, 1.0f, 2 * least), 2);
  EXPECT_EQ(rounded(1, most, most, least), limit);
  EXPECT_EQ(rounded(INT64_C(1) << 48, least, most, most), 0);
  EXPECT_EQ(rounded(INT64_C(-1), most, most, most), -limit);
  EXPECT_EQ(rounded(5, most, 0.5f, most), 2);
}

// ---- rounding alone: n is right where 2|V - n| < 1, or = 1 and n is even; with V = N / D that is about integers ----

class RoundingOracle {
 public:
  /// Empty where `n` is the correctly rounded value, else what is wrong.
  bool right(std::int64_t n, std::int64_t sum, float in, float filter, float out) {
    value_ = mpq_class(in) * mpq_class(filter) / mpq_class(out) * mpq_class(mpz_class(static_cast<long>(sum)));
    if (n >= reference::rounding_limit) return value_ >= mpq_class(2 * reference::rounding_limit - 1, 2);
    if (n <= -reference::rounding_limit) return value_ <= mpq_class(1 - 2 * reference::rounding_limit, 2);
    const mpq_class twice = abs(value_ - mpq_class(static_cast<long>(n))) * 2;
    return twice < 1 || (twice == 1 && n % 2 == 0);
  }

 private:
  mpq_class value_;
};

float random_scale(Random& random) {
  switch (pick(random, 0, 9)) {
    case 0: return std::ldexp(1.0f, static_cast<int>(pick(random, 0, 270)) - 146);
    case 1: {  // any bits at all, if finite
      const float f = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
      return std::isfinite(f) && f != 0 ? f : 1.0f;
    }
    case 2: return std::ldexp(static_cast<float>(pick(random, 1, 0xFFFF)), -149);  // subnormal
    default:
      return std::ldexp(static_cast<float>(pick(random, 0x800000, 0xFFFFFF)),
                        -23 - static_cast<int>(pick(random, 0, 12)));
  }
}

TEST(Requantize, RandomScalesAndSums) {
  Random random(dmlref_test::test_seed());
  RoundingOracle oracle;
  for (int i = 0; i < dmlref_test::rounds(3000000); ++i) {
    const float in = random_scale(random), filter = random_scale(random);
    float out = random_scale(random);
    auto sum = static_cast<std::int64_t>(random() >> pick(random, 15, 62));
    if (chance(random, 50)) {  // an output scale that brings the value into range
      const double wanted = static_cast<double>(in) * filter * static_cast<double>(sum) / pick(random, 1, 600);
      if (wanted > 1e-44 && wanted < 3e38) out = static_cast<float>(wanted);
    }
    if (chance(random, 50)) sum = -sum;
    const reference::RequantizeScale scale(in, filter, out);
    const std::int64_t n = scale.round(sum);
    ASSERT_TRUE(oracle.right(n, sum, in, filter, out))
        << n << " from " << sum << " * " << in << " * " << filter << " / " << out;
    ASSERT_EQ(scale.round_exactly(sum), n) << sum << " * " << in << " * " << filter << " / " << out;
  }
}

TEST(Requantize, NearTies) {
  Random random(dmlref_test::test_seed());
  RoundingOracle oracle;
  int nearest = 0, ties = 0;
  for (int i = 0; i < dmlref_test::rounds(3000000); ++i) {
    float in = 0, filter = 0, out = 0;
    std::int64_t sum = 0;
    if (chance(random, 60)) {
      // (1 + a 2^-23)(1 - a 2^-23) = 1 - a^2 2^-46: odd sums over a doubled scale lie a hair from a tie.
      const auto a = static_cast<float>(pick(random, 0, 40));
      const int shift = static_cast<int>(pick(random, 1, 20));
      const auto odd = static_cast<float>(2 * pick(random, 0, 1 << 10) + 1);
      const int power = static_cast<int>(pick(random, 0, 20)) - 10;
      in = std::ldexp(1.0f + a * 0x1p-23f, power);
      filter = std::ldexp(1.0f - a * 0x1p-23f, -power);
      out = std::ldexp(odd, shift);
      sum = static_cast<std::int64_t>(2 * pick(random, 0, 2000) + 1) * static_cast<std::int64_t>(odd) *
            (INT64_C(1) << (shift - 1));
      sum += static_cast<std::int64_t>(pick(random, 0, 2)) - 1;
      if (chance(random, 30)) std::swap(in, filter);
    } else {
      // A tiny ratio, a sum chosen so that the value falls next to some n + 1/2, as near as integers allow.
      in = std::ldexp(static_cast<float>(pick(random, 0x800000, 0xFFFFFF)), -23 - 20);
      filter = std::ldexp(static_cast<float>(pick(random, 0x800000, 0xFFFFFF)), -23 - 20);
      out = std::ldexp(static_cast<float>(pick(random, 0x800000, 0xFFFFFF)), -23);
      const double half = pick(random, 0, 120) + 0.5;
      sum = std::llround(half * out / (static_cast<double>(in) * filter)) +
            static_cast<std::int64_t>(pick(random, 0, 4)) - 2;
    }
    if (chance(random, 50)) sum = -sum;
    if (chance(random, 20)) out = -out;
    const reference::RequantizeScale scale(in, filter, out);
    const std::int64_t n = scale.round(sum);
    ASSERT_TRUE(oracle.right(n, sum, in, filter, out))
        << n << " from " << sum << " * " << in << " * " << filter << " / " << out;
    ASSERT_EQ(scale.round_exactly(sum), n);
    const double value = std::fabs(static_cast<double>(sum) * scale.ratio());
    const double distance = std::fabs(value - std::floor(value) - 0.5);
    nearest += distance < reference::RequantizeScale::near_tie ? 1 : 0;
    ties += distance == 0 ? 1 : 0;
  }
  std::printf("%d in the band around a tie, %d of them on it in double\n", nearest, ties);
  EXPECT_GT(nearest, dmlref_test::rounds(100000));
}

TEST(Requantize, DoubleDecidesAllButTheBand) {
  Random random(dmlref_test::test_seed());
  for (int i = 0; i < dmlref_test::rounds(10000000); ++i) {
    const auto scale_of = [&] {
      return std::bit_cast<float>(static_cast<std::uint32_t>(0x3C000000u + (random() & 0x01FFFFFFu)));
    };
    const reference::RequantizeScale scale(scale_of(), scale_of(), scale_of());
    const auto sum = static_cast<std::int64_t>(random() >> 46) - (INT64_C(1) << 17);
    ASSERT_EQ(scale.round(sum), scale.round_exactly(sum)) << sum << " * " << scale.ratio();
  }
}

// ---- the convolution: an oracle that materialises the padded input and quantizes an exact rational ----

std::int64_t load_byte(const std::byte* at, DataType type) {
  const auto value = static_cast<std::uint8_t>(*at);
  return type == DataType::uint8 ? std::int64_t{value} : std::int64_t{static_cast<std::int8_t>(value)};
}

Dimensions strides_of(const TensorDesc& tensor) {
  if (tensor.strides) return *tensor.strides;
  Dimensions strides(tensor.rank(), 1);
  for (std::size_t d = tensor.rank() - 1; d > 0; --d) strides[d - 1] = strides[d] * tensor.sizes[d];
  return strides;
}

// Byte offset of channel c in a tensor with one element or one per channel.
std::size_t channel_offset(const TensorDesc& tensor, std::size_t c) {
  const Dimensions strides = strides_of(tensor);
  for (std::size_t d = 0; d < tensor.rank(); ++d) {
    if (tensor.sizes[d] > 1) return c * strides[d] * size_of(tensor.data_type);
  }
  return 0;
}

template <class T>
T value_at(const std::vector<std::byte>& bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, &bytes[offset], sizeof value);
  return value;
}

std::int64_t zero_point_of(const std::optional<TensorDesc>& tensor, const std::vector<std::byte>& bytes,
                           std::size_t c) {
  return tensor ? load_byte(&bytes[channel_offset(*tensor, c)], tensor->data_type) : 0;
}

// Every output as the document has it; returns the number of outputs compared. `inside` counts those not clamped.
std::size_t check_against_rationals(const QlcCase& test, const std::vector<std::byte>& output, const std::string& what,
                                    std::size_t& inside) {
  const QuantizedLinearConvolutionDesc& desc = test.desc;
  const bool flat = desc.input.rank() == 3;
  const auto dims = [flat](const Dimensions& sizes) {
    return std::array<std::size_t, 4>{sizes[0], sizes[1], flat ? 1 : sizes[2], flat ? sizes[2] : sizes[3]};
  };
  const auto steps = [&](const TensorDesc& tensor) {
    const Dimensions s = strides_of(tensor);
    return std::array<std::size_t, 4>{s[0], s[1], flat ? 0 : s[2], flat ? s[2] : s[3]};
  };
  const auto pair = [flat](const Dimensions& list, std::size_t missing) {
    return std::array<std::size_t, 2>{flat ? missing : list[0], list.back()};
  };
  const auto in = dims(desc.input.sizes), filter = dims(desc.filter.sizes), out = dims(desc.output.sizes);
  const auto in_step = steps(desc.input), filter_step = steps(desc.filter), out_step = steps(desc.output);
  const auto stride = pair(desc.strides, 1), dilation = pair(desc.dilations, 1);
  const auto start = pair(desc.start_padding, 0), end = pair(desc.end_padding, 0);

  const std::int64_t input_zero_point = zero_point_of(desc.input_zero_point, test.inputs[2], 0);
  const std::int64_t output_zero_point = zero_point_of(desc.output_zero_point, test.inputs[8], 0);
  const std::int64_t lowest = desc.output.data_type == DataType::uint8 ? 0 : -128;
  const mpq_class input_scale(value_at<float>(test.inputs[1], 0));
  const mpq_class output_scale(value_at<float>(test.inputs[7], 0));

  const std::size_t height = in[2] + start[0] + end[0], width = in[3] + start[1] + end[1];
  std::vector<std::int64_t> padded(in[1] * height * width);
  std::size_t compared = 0;
  for (std::size_t n = 0; n < in[0]; ++n) {
    std::fill(padded.begin(), padded.end(), input_zero_point);
    for (std::size_t c = 0; c < in[1]; ++c) {
      for (std::size_t y = 0; y < in[2]; ++y) {
        for (std::size_t x = 0; x < in[3]; ++x) {
          padded[(c * height + y + start[0]) * width + x + start[1]] = load_byte(
              &test.inputs[0][n * in_step[0] + c * in_step[1] + y * in_step[2] + x * in_step[3]], desc.input.data_type);
        }
      }
    }
    for (std::size_t oc = 0; oc < out[1]; ++oc) {
      const std::size_t group = oc / (out[1] / desc.group_count);
      const std::int64_t filter_zero_point = zero_point_of(desc.filter_zero_point, test.inputs[5], oc);
      const mpq_class filter_scale(value_at<float>(test.inputs[4], channel_offset(desc.filter_scale, oc)));
      const std::int64_t bias = desc.bias ? value_at<std::int32_t>(test.inputs[6], channel_offset(*desc.bias, oc)) : 0;
      const mpq_class factor = input_scale * filter_scale / output_scale;
      for (std::size_t oy = 0; oy < out[2]; ++oy) {
        for (std::size_t ox = 0; ox < out[3]; ++ox) {
          std::int64_t sum = bias;
          for (std::size_t c = 0; c < filter[1]; ++c) {
            const std::int64_t* plane = &padded[(group * filter[1] + c) * height * width];
            for (std::size_t fy = 0; fy < filter[2]; ++fy) {
              for (std::size_t fx = 0; fx < filter[3]; ++fx) {
                const std::int64_t w = load_byte(&test.inputs[3][oc * filter_step[0] + c * filter_step[1] +
                                                                 fy * filter_step[2] + fx * filter_step[3]],
                                                 desc.filter.data_type);
                const std::int64_t x =
                    plane[(oy * stride[0] + fy * dilation[0]) * width + ox * stride[1] + fx * dilation[1]];
                sum += (x - input_zero_point) * (w - filter_zero_point);
              }
            }
          }
          // floor(v + 1/2), one less where v + 1/2 is an odd integer: half to even.
          const mpq_class shifted = factor * mpq_class(mpz_class(static_cast<long>(sum))) + mpq_class(1, 2);
          mpz_class quotient;
          mpz_fdiv_q(quotient.get_mpz_t(), shifted.get_num_mpz_t(), shifted.get_den_mpz_t());
          if (shifted.get_den() == 1 && mpz_odd_p(quotient.get_mpz_t()) != 0) quotient -= 1;
          quotient += static_cast<long>(output_zero_point);
          const std::int64_t expected = quotient < lowest         ? lowest
                                        : quotient > lowest + 255 ? lowest + 255
                                                                  : static_cast<std::int64_t>(quotient.get_si());
          const std::int64_t got = load_byte(
              &output[n * out_step[0] + oc * out_step[1] + oy * out_step[2] + ox * out_step[3]], desc.output.data_type);
          ++compared;
          inside += expected > lowest && expected < lowest + 255 ? 1 : 0;
          if (got != expected) {
            ADD_FAILURE() << what << "\nat " << n << ", " << oc << ", " << oy << ", " << ox << ": " << got
                          << ", expected " << expected << " from sum " << sum << ", v "
                          << mpq_class(shifted - mpq_class(1, 2)).get_d();
            return compared;
          }
        }
      }
    }
  }
  return compared;
}

std::vector<std::byte> run_reference(const QlcCase& test) {
  std::vector<std::byte> output = test.output;
  detail::reference_qlc_plan(detail::qlc_problem(test.desc))->execute(test.bindings(output.data()), sequential());
  return output;
}

QlcShape random_shape(Random& random) {
  QlcShape s;
  do {
    s.batch = pick(random, 1, 2);
    s.groups = chance(random, 40) ? pick(random, 2, 6) : 1;
    s.in_channels = pick(random, 1, chance(random, 30) ? 20 : 5);
    s.out_channels = pick(random, 1, 6);
    s.flat = chance(random, 15);
    for (std::size_t d = 0; d < 2; ++d) {
      const bool unit = s.flat && d == 0;
      s.in[d] = unit ? 1 : pick(random, 1, 24);
      s.kernel[d] = unit ? 1 : pick(random, 1, 5);
      s.stride[d] = unit ? 1 : pick(random, 1, 3);
      s.dilation[d] = unit ? 1 : pick(random, 1, 3);
      s.start[d] = unit ? 0 : pick(random, 0, chance(random, 10) ? 20 : 3);
      s.end[d] = unit ? 0 : pick(random, 0, chance(random, 10) ? 20 : 3);
    }
  } while (!s.fits());
  return s;
}

TEST(ReferenceQuantizedLinearConvolution, EqualsExactRationals) {
  Random random(dmlref_test::test_seed());
  constexpr QlcData all[] = {QlcData::random,      QlcData::random,     QlcData::ties,     QlcData::extremes,
                             QlcData::all_highest, QlcData::all_lowest, QlcData::huge_bias};
  constexpr QlcLayout layouts[] = {QlcLayout::packed, QlcLayout::channels_last, QlcLayout::any};
  std::size_t compared = 0, inside = 0;
  for (std::size_t i = 0; compared < 1200000; ++i) {
    const QlcShape shape = random_shape(random);
    const QlcCase test = make_qlc_case(random, shape, all[i % 7], layouts[i % 3]);
    compared += check_against_rationals(test, run_reference(test), describe(shape), inside);
    if (HasFailure()) return;
  }
  std::printf("%zu outputs, %zu of them not clamped\n", compared, inside);
  EXPECT_GT(inside, compared / 3);
}

TEST(ReferenceQuantizedLinearConvolution, MoreThan66000Taps) {
  Random random(dmlref_test::test_seed());
  std::size_t inside = 0;
  for (const QlcData data : {QlcData::random, QlcData::ties, QlcData::extremes, QlcData::all_highest,
                             QlcData::all_lowest, QlcData::huge_bias}) {
    for (int repeat = 0; repeat < 8; ++repeat) {
      QlcShape shape;
      shape.in_channels = 7400 + pick(random, 0, 3);
      shape.out_channels = 2;
      shape.in = {3, 4};
      shape.kernel = {3, 3};
      const QlcCase test =
          make_qlc_case(random, shape, data, repeat % 2 == 0 ? QlcLayout::packed : QlcLayout::channels_last);
      check_against_rationals(test, run_reference(test), describe(shape), inside);
      if (HasFailure()) return;
    }
  }
}

// Output bytes between the elements stay as they were, and a broadcast input is read through stride 0.
TEST(ReferenceQuantizedLinearConvolution, BroadcastInputAndGapsInTheOutput) {
  QlcCase test;
  test.desc.input = TensorDesc(DataType::uint8, {1, 2, 3, 3}, Dimensions{0, 0, 0, 1});
  test.desc.input_scale = test.desc.filter_scale = test.desc.output_scale = TensorDesc(DataType::float32, {1});
  test.desc.filter = TensorDesc(DataType::int8, {1, 2, 1, 1});
  test.desc.output = TensorDesc(DataType::int8, {1, 1, 3, 3}, Dimensions{64, 64, 8, 2});
  test.desc.strides = test.desc.dilations = {1, 1};
  test.desc.start_padding = test.desc.end_padding = {0, 0};
  test.inputs[0] = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{0}};
  test.inputs[1] = test.inputs[4] = test.inputs[7] = bytes_of(test.desc.input_scale, 1.0f);
  test.inputs[3] = {std::byte{2}, std::byte{0xFF}, std::byte{0}, std::byte{0}};
  test.output.assign(test.desc.output.total_size_in_bytes, std::byte{0xEE});
  const std::vector<std::byte> output = run_reference(test);
  for (std::size_t i = 0; i < output.size(); ++i) {
    const bool element = i % 8 < 6 && i % 2 == 0 && i < 24;
    EXPECT_EQ(output[i], element ? std::byte{static_cast<unsigned char>(i % 8 / 2 + 1)} : std::byte{0xEE}) << i;
  }
}

}  // namespace
