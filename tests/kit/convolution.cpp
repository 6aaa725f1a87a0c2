// QUANTIZED_LINEAR_CONVOLUTION once more, with exact rationals, and CONVOLUTION_INTEGER.
#include <gmpxx.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels.hpp"

namespace dmlref::test::kit {
namespace {

/// The integer next to a rational by the rule that the fault names; else half to even.
mpz_class rounded(const mpq_class& value, Fault fault) {
  const mpq_class doubled = value * 2 + 1;  // floor(value + 1/2) = floor(doubled / 2)
  mpz_class up;
  mpz_fdiv_q(up.get_mpz_t(), doubled.get_num_mpz_t(), mpz_class(doubled.get_den() * 2).get_mpz_t());
  const bool tie = mpq_class(up) - value == mpq_class(1, 2);
  if (fault == Fault::qlc_truncated) return mpz_class(value.get_num() / value.get_den());
  if (!tie || fault == Fault::qlc_half_up) return up;
  if (fault == Fault::qlc_half_away_from_zero) return value < 0 ? mpz_class(up - 1) : up;
  return mpz_even_p(up.get_mpz_t()) != 0 ? up : mpz_class(up - 1);
}

struct Scales {
  float in;
  float filter;
  float out;
};

/// A multiplier of 31 bits and a rounding shift, as gemmlowp and TFLite have it.
double by_fixed_point(std::int64_t sum, const Scales& scales) {
  int exponent = 0;
  const double fraction = std::frexp(static_cast<double>(scales.in) * scales.filter / scales.out, &exponent);
  const auto multiplier = static_cast<std::int64_t>(std::llround(std::ldexp(fraction, 31)));
  const auto high = static_cast<std::int64_t>(std::llround(std::ldexp(static_cast<double>(sum * multiplier), -31)));
  return std::ldexp(static_cast<double>(high), exponent);
}

mpq_class quotient(std::int64_t sum, std::int64_t bias, const Scales& scales, Fault fault) {
  const auto exact = [](double value) { return mpq_class(value); };
  const auto whole = static_cast<double>(sum);  // below 2^53
  switch (fault) {
    case Fault::qlc_float32_sum:
      return exact(static_cast<float>(whole)) * exact(scales.in) * exact(scales.filter) / exact(scales.out);
    case Fault::qlc_float32_scale: {
      const float product = scales.in * scales.filter;
      const float scale = product / scales.out;
      return exact(static_cast<float>(whole) * scale);
    }
    case Fault::qlc_double_scale: {
      const double scale = static_cast<double>(scales.in) * scales.filter / scales.out;
      return exact(whole * scale);
    }
    case Fault::qlc_fixed_point_scale: return exact(by_fixed_point(sum, scales));
    case Fault::qlc_output_scale_multiplied: return exact(whole) * scales.in * scales.filter * scales.out;
    case Fault::qlc_bias_after_scale:
      return exact(static_cast<double>(sum - bias)) * exact(scales.in) * exact(scales.filter) / exact(scales.out) +
             exact(static_cast<double>(bias));
    default: return exact(whole) * exact(scales.in) * exact(scales.filter) / exact(scales.out);
  }
}

/// The sum of products as the accumulator of that fault holds it.
class Accumulator {
 public:
  explicit Accumulator(Fault fault) : fault_(fault) {}

  void add(std::int64_t product) {
    sum_ += product;
    if (fault_ == Fault::qlc_int32_saturates) sum_ = std::clamp<std::int64_t>(sum_, -2147483648, 2147483647);
    if (fault_ == Fault::qlc_int16_wraps) sum_ = static_cast<std::int16_t>(sum_);
  }
  /// As vpmaddubsw: raw unsigned input times signed weight; two by two, each sum clamped to 16 bits.
  void add_pairwise(std::int64_t raw, std::int64_t weight) {
    pair_ += raw * weight;
    if (++pairs_ % 2 == 0) flush();
  }
  std::int64_t sum() {
    flush();
    return fault_ == Fault::qlc_int32_wraps ? static_cast<std::int32_t>(sum_) : sum_;
  }

 private:
  void flush() { sum_ += std::clamp<std::int64_t>(std::exchange(pair_, 0), -32768, 32767); }

  Fault fault_;
  std::int64_t sum_ = 0;
  std::int64_t pair_ = 0;
  int pairs_ = 0;
};

List two(const Json& json, std::int64_t missing) {
  List list = json.get<List>();
  if (list.size() == 1) list.insert(list.begin(), missing);
  return list;
}

/// Where the element of `channel` stands in a tensor with one element, or one for each channel.
List position(const Tensor& tensor, std::int64_t channel) {
  List at(tensor.rank(), 0);
  const std::size_t d = at.size() == 1 ? 0 : 1;
  if (tensor.sizes()[d] > 1) at[d] = channel % tensor.sizes()[d];
  return at;
}

}  // namespace

std::vector<std::byte> run_convolution(const Case& one, Fault fault) {
  std::vector<std::byte> bytes(one.output.bytes.size(), std::byte{0});
  Tensor input(one, "InputTensor");
  Tensor filter(one, "FilterTensor");
  Tensor bias(one, "BiasTensor");
  Tensor output = Tensor::output(one, bytes);
  const Tensor in_scale(one, "InputScaleTensor");
  const Tensor in_zero(one, "InputZeroPointTensor");
  const Tensor filter_scale(one, "FilterScaleTensor");
  const Tensor filter_zero(one, "FilterZeroPointTensor");
  const Tensor out_scale(one, "OutputScaleTensor");
  const Tensor out_zero(one, "OutputZeroPointTensor");
  if (fault == Fault::qlc_input_strides_ignored) input.ignore_strides();
  if (fault == Fault::qlc_filter_strides_ignored) filter.ignore_strides();
  if (fault == Fault::qlc_output_strides_ignored) output.ignore_strides();
  if (fault == Fault::qlc_bias_stride_ignored && bias.present()) bias.ignore_strides();
  input.insert_height();
  filter.insert_height();
  output.insert_height();

  List strides = two(one.desc["Strides"], 1);
  List dilations = two(one.desc["Dilations"], 1);
  List padding = two(one.desc[fault == Fault::qlc_end_padding_first ? "EndPadding" : "StartPadding"], 0);
  if (fault == Fault::qlc_strides_swapped) std::swap(strides[0], strides[1]);
  if (fault == Fault::qlc_dilations_swapped) std::swap(dilations[0], dilations[1]);
  if (fault == Fault::qlc_dilation_ignored) dilations = {1, 1};
  if (fault == Fault::qlc_paddings_swapped) std::swap(padding[0], padding[1]);
  const auto groups = one.desc["GroupCount"].get<std::int64_t>();
  const std::int64_t outputs_per_group = output.sizes()[1] / groups;
  const std::int64_t channels = filter.sizes()[1];
  const std::int64_t taken = fault == Fault::qlc_channels_in_fours && channels > 4 ? channels / 4 * 4 : channels;
  const std::int64_t height = filter.sizes()[2];
  const std::int64_t width = filter.sizes()[3];
  const bool signed_in = input.type() == DataType::int8;
  const bool signed_out = (output.type() == DataType::int8) != (fault == Fault::qlc_wrong_range);
  const std::int64_t low = signed_out ? -128 : 0;
  const std::int64_t high = signed_out ? 127 : 255;

  const auto value = [](const Tensor& tensor, std::int64_t channel) {
    return tensor.present() ? tensor.integer(position(tensor, channel)) : 0;
  };
  const std::int64_t x_zero = fault == Fault::qlc_input_zero_point_ignored ? 0 : value(in_zero, 0);
  const std::int64_t y_zero = fault == Fault::qlc_output_zero_point_ignored ? 0 : value(out_zero, 0);

  List at(4, 0);
  do {
    const std::int64_t channel = at[1];
    const std::int64_t group = fault == Fault::qlc_groups_interleaved ? channel % groups
                               : fault == Fault::qlc_first_group_only ? 0
                                                                      : channel / outputs_per_group;
    const std::int64_t within = channel % outputs_per_group;
    const std::int64_t parameter = fault == Fault::qlc_scale_by_input_channel ? within : channel;
    std::int64_t w_zero = value(filter_zero, fault == Fault::qlc_first_filter_zero_point ? 0 : parameter);
    if (fault == Fault::qlc_filter_zero_point_ignored) w_zero = 0;
    const std::int64_t added =
        fault == Fault::qlc_bias_ignored ? 0 : value(bias, fault == Fault::qlc_bias_within_group ? within : channel);

    Accumulator accumulator(fault);
    std::int64_t compensation = 0;  // of what add_pairwise leaves out
    for (std::int64_t c = 0; c < taken; ++c) {
      for (std::int64_t fy = 0; fy < height; ++fy) {
        for (std::int64_t fx = 0; fx < width; ++fx) {
          const std::int64_t y = at[2] * strides[0] + fy * dilations[0] - padding[0];
          const std::int64_t x = at[3] * strides[1] + fx * dilations[1] - padding[1];
          const bool inside = y >= 0 && y < input.sizes()[2] && x >= 0 && x < input.sizes()[3];
          if (!inside && fault != Fault::qlc_raw_zero_padding) continue;
          List from{fault == Fault::qlc_first_batch_only ? 0 : at[0], group * channels + c, y, x};
          List tap{channel, c, fy, fx};
          if (fault == Fault::qlc_kernel_flipped) tap = {channel, c, height - 1 - fy, width - 1 - fx};
          if (fault == Fault::qlc_kernel_transposed && height == width) tap = {channel, c, fx, fy};
          const std::int64_t w =
              fault == Fault::qlc_filter_sign ? filter.integer_of_other_sign(tap) : filter.integer(tap);
          std::int64_t v = 0;
          if (inside) v = fault == Fault::qlc_input_sign ? input.integer_of_other_sign(from) : input.integer(from);
          if (fault == Fault::qlc_pairs_saturate) {
            const std::int64_t raw = signed_in ? v + 128 : v;
            const std::int64_t weight = filter.type() == DataType::int8 ? w : w - 128;
            accumulator.add_pairwise(raw, weight);
            compensation += (v - x_zero) * (w - w_zero) - raw * weight;
          } else {
            accumulator.add((v - x_zero) * (w - w_zero));
          }
        }
      }
    }
    accumulator.add(added);
    const std::int64_t sum = accumulator.sum() + compensation;
    if (one.op == "CONVOLUTION_INTEGER") {
      const std::int64_t stored =
          fault == Fault::ci_saturates ? std::clamp<std::int64_t>(sum, -2147483648, 2147483647) : sum;
      output.set_bits(at, static_cast<std::uint64_t>(stored) & 0xFFFFFFFF);
      continue;
    }
    const Scales scales{
        in_scale.real(position(in_scale, 0)),
        filter_scale.real(position(filter_scale, fault == Fault::qlc_first_filter_scale ? 0 : parameter)),
        out_scale.real(position(out_scale, 0))};
    const mpq_class exact = quotient(sum, added, scales, fault);
    mpz_class result;
    if (fault == Fault::qlc_rounded_after_zero_point) {
      result = rounded(exact + mpq_class(static_cast<double>(y_zero)), fault);
    } else {
      mpz_class before = rounded(exact, fault);
      if (fault == Fault::qlc_clamped_before_zero_point) before = std::clamp<mpz_class>(before, low, high);
      result = before + y_zero;
    }
    const bool wraps = fault == Fault::qlc_wraps || fault == Fault::qlc_clamped_before_zero_point;
    if (!wraps) result = std::clamp<mpz_class>(result, low, high);
    mpz_class byte;
    mpz_fdiv_r_ui(byte.get_mpz_t(), result.get_mpz_t(), 256);
    output.set_bits(at, byte.get_ui());
  } while (next(at, output.sizes()));
  return bytes;
}

}  // namespace dmlref::test::kit
