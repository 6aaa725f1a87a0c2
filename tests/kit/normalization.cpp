// MEAN_VARIANCE_NORMALIZATION, MEAN_VARIANCE_NORMALIZATION1 and MEAN_VARIANCE_NORMALIZATION2 once more, in long double.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "dmlref/desc/activation.hpp"
#include "dmlref/desc/half.hpp"
#include "kernels.hpp"

namespace dmlref::test::kit {
namespace {

using Real = long double;

Real to_half(Real x) { return static_cast<float>(half(static_cast<double>(x))); }

struct Fused {
  std::string name;  // without ACTIVATION_; empty: none
  Real a = 0;
  Real b = 0;
};

Fused fused_of(const Json& desc, Fault fault) {
  Fused fused;
  if (!desc.contains("FusedActivation") || fault == Fault::mvn_activation_ignored) return fused;
  const Json& json = desc["FusedActivation"];
  fused.name = json["Type"].get<std::string>().substr(std::strlen("ACTIVATION_"));
  for (const ActivationInfo& info : activation_table) {
    if (info.name != fused.name) continue;
    std::array<Real, 2> values{};
    for (std::size_t p = 0; p < 2; ++p) {
      if (info.parameter_names[p].empty()) continue;
      values[p] = fault == Fault::mvn_activation_defaults ? info.defaults[p]
                                                          : json[std::string(info.parameter_names[p])].get<float>();
    }
    const bool both = !info.parameter_names[1].empty();
    if (both && fault == Fault::mvn_activation_parameters_swapped) std::swap(values[0], values[1]);
    fused.a = values[0];
    fused.b = values[1];
  }
  return fused;
}

Real softplus(Real x) { return std::max(x, Real{0}) + std::log1p(std::exp(-std::fabs(x))); }

Real activate(const Fused& f, Real x, Fault fault) {
  const Real a = f.a;
  const Real b = f.b;
  const auto number = static_cast<float>(x);
  if (f.name == "ELU") return x >= 0 ? x : a * std::expm1(x);
  if (f.name == "HARD_SIGMOID") return std::clamp(a * x + b, Real{0}, Real{1});
  if (f.name == "LEAKY_RELU") return x >= 0 ? x : a * x;
  if (f.name == "LINEAR") return a * x + b;
  if (f.name == "PARAMETRIC_SOFTPLUS") return a * softplus(b * x);
  if (f.name == "RELU") return std::max(x, Real{0});
  if (f.name == "SCALED_ELU") return b * (x > 0 ? x : a * std::expm1(x));
  if (f.name == "SCALED_TANH") return a * std::tanh(b * x);
  if (f.name == "SIGMOID") return 1 / (1 + std::exp(-x));
  if (f.name == "SOFTPLUS") {
    if (fault == Fault::mvn_softplus_overflows) return std::log(1.0f + std::exp(static_cast<float>(a) * number)) / a;
    return softplus(a * x) / a;
  }
  if (f.name == "SOFTSIGN") return x / (1 + std::fabs(x));
  if (f.name == "TANH") {
    const float power = std::exp(-2.0f * number);
    if (fault == Fault::mvn_tanh_overflows) return (1.0f - power) / (1.0f + power);
    return std::tanh(x);
  }
  if (f.name == "THRESHOLDED_RELU") return x > a ? x - (fault == Fault::mvn_thresholds_differ ? a : 0) : 0;
  if (f.name == "SHRINK") {
    const Real shift = fault == Fault::mvn_thresholds_differ ? 0 : a;
    return x > b ? x - shift : x < -b ? x + shift : 0;
  }
  if (f.name == "CELU") return x > 0 ? x : a * std::expm1(fault == Fault::mvn_celu_as_elu ? x : x / a);
  if (f.name == "GELU") {
    if (fault == Fault::mvn_gelu_by_tanh)
      return x / 2 * (1 + std::tanh(0.7978845608028654L * (x + 0.044715L * x * x * x)));
    return x / 2 * std::erfc(-x / std::sqrt(Real{2}));
  }
  return x;  // IDENTITY, none
}

struct Statistics {
  Real mean = 0;
  Real variance = 0;  // from the mean, or without it the mean square
};

template <class T>
T lane_sum(const std::vector<T>& values) {  // 256 lanes, then a tree: as a GPU sums
  std::array<T, 256> lanes{};
  for (std::size_t i = 0; i < values.size(); ++i) lanes[i % 256] += values[i];
  for (std::size_t width = 128; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}

Statistics statistics_in_float32(const std::vector<float>& values, bool use_mean, Fault fault) {
  const auto n = static_cast<float>(values.size());
  const float mean = use_mean ? lane_sum(values) / n : 0;
  std::vector<float> squares;
  for (const float x : values) {
    const float deviation = fault == Fault::mvn_one_pass_variance ? x : x - mean;
    squares.push_back(deviation * deviation);
  }
  const float second = lane_sum(squares) / n;
  if (fault != Fault::mvn_one_pass_variance) return {mean, second};
  return {mean, std::max(0.0f, second - mean * mean)};
}

Statistics statistics_of(const std::vector<float>& all, bool use_mean, Fault fault, bool is_half) {
  if (fault == Fault::mvn2_mean_kept) use_mean = true;
  std::vector<float> values = all;
  if (fault == Fault::mvn_first_thousand && values.size() > 1024) values.resize(1024);
  if (fault == Fault::float32_arithmetic || fault == Fault::mvn_one_pass_variance) {
    return statistics_in_float32(values, use_mean, fault);
  }
  const auto n = static_cast<Real>(values.size());
  Statistics result;
  for (const float x : values) {
    result.mean += use_mean || fault == Fault::mvn2_variance_about_mean ? x : 0;
    if (is_half && fault == Fault::mvn_float16_sum) result.mean = to_half(result.mean);
  }
  result.mean /= n;
  for (const float x : values) {
    const Real deviation = x - result.mean;
    result.variance += deviation * deviation;
    if (is_half && fault == Fault::mvn_float16_squares) result.variance = to_half(result.variance);
  }
  result.variance /= fault == Fault::mvn_sample_variance && n > 1 ? n - 1 : n;
  if (!use_mean) result.mean = 0;
  return result;
}

Real rate_of(Real variance, Real epsilon, bool normalize_variance, Fault fault) {
  if (fault == Fault::mvn_mean_only_divides) normalize_variance = true;
  if (!normalize_variance || fault == Fault::mvn_variance_ignored) return 1;
  if (fault == Fault::mvn_epsilon_ignored) epsilon = 0;
  if (fault == Fault::mvn_epsilon_outside_root) return 1 / (std::sqrt(variance) + epsilon);
  const Real rate = 1 / std::sqrt(variance + epsilon);
  if (fault == Fault::float32_arithmetic) {
    return 1.0f / std::sqrt(static_cast<float>(variance) + static_cast<float>(epsilon));
  }
  if (fault == Fault::mvn_reciprocal_root_of_12_bits) {
    int exponent = 0;
    const Real fraction = std::frexp(rate, &exponent);
    return std::ldexp(std::floor(fraction * 4096) / 4096, exponent);
  }
  return rate;
}

/// For each dimension whether the statistics span it.
std::vector<bool> axes_of(const Case& one, std::size_t rank, Fault fault) {
  std::vector<bool> reduced(rank, false);
  List axes;
  if (one.op == "MEAN_VARIANCE_NORMALIZATION") {
    const bool cross = one.desc["CrossChannel"].get<bool>() != (fault == Fault::mvn_cross_channel_swapped);
    axes = cross ? List{1, 2, 3} : List{2, 3};
    if (fault == Fault::mvn_batch_included) axes.push_back(0);
  } else {
    axes = one.desc["Axes"].get<List>();
  }
  if (fault == Fault::mvn_first_axis_only && !axes.empty()) axes.resize(1);
  for (const std::int64_t axis : axes) {
    const auto shift = static_cast<std::size_t>(fault == Fault::mvn_axes_off_by_one ? 1 : 0);
    reduced[(static_cast<std::size_t>(axis) + shift) % rank] = true;
  }
  if (fault == Fault::mvn_axes_to_the_end) {
    for (std::size_t d = 1; d < rank; ++d) reduced[d] = reduced[d] || reduced[d - 1];
  }
  return reduced;
}

/// Scale or bias of an element.
Real parameter_at(const Tensor& tensor, const List& at, std::int64_t number, Fault fault, Real absent) {
  if (!tensor.present()) return absent;
  List from(at.size(), 0);
  if (fault == Fault::mvn_scale_not_repeated) {
    std::int64_t rest = number % tensor.count();
    for (std::size_t d = at.size(); d-- > 0; rest /= tensor.sizes()[d]) from[d] = rest % tensor.sizes()[d];
  } else {
    for (std::size_t d = 0; d < at.size(); ++d) from[d] = tensor.sizes()[d] == 1 ? 0 : at[d];
  }
  return tensor.real(from);
}

}  // namespace

std::vector<std::byte> run_normalization(const Case& one, Fault fault) {
  std::vector<std::byte> bytes(one.output.bytes.size(), std::byte{0});
  Tensor input(one, "InputTensor");
  Tensor scale(one, "ScaleTensor");
  Tensor bias(one, "BiasTensor");
  Tensor output = Tensor::output(one, bytes);
  if (fault == Fault::mvn_input_strides_ignored) input.ignore_strides();
  if (fault == Fault::mvn_output_strides_ignored) output.ignore_strides();
  if (fault == Fault::mvn_scale_strides_ignored) {
    if (scale.present()) scale.ignore_strides();
    if (bias.present()) bias.ignore_strides();
  }
  const bool is_half = input.is_half();
  const std::vector<bool> reduced = axes_of(one, input.rank(), fault);
  const bool use_mean = !one.desc.contains("UseMean") || one.desc["UseMean"].get<bool>();
  const bool normalize_variance =
      one.desc[one.desc.contains("UseMean") ? "UseVariance" : "NormalizeVariance"].get<bool>();
  const Real epsilon = one.desc["Epsilon"].get<float>();
  const Fused fused = fused_of(one.desc, fault);

  const auto read = [&](const List& at) {
    const float x = input.real(at);
    const bool flush = is_half && fault == Fault::mvn_float16_subnormals_flushed && std::fabs(x) < 0x1p-14f;
    return flush ? 0.0f : x;
  };
  const auto group_of = [&](const List& at) {
    std::size_t group = 0;
    for (std::size_t d = 0; d < at.size(); ++d) {
      if (!reduced[d]) group = group * static_cast<std::size_t>(input.sizes()[d]) + static_cast<std::size_t>(at[d]);
    }
    return group;
  };

  std::vector<std::vector<float>> groups(static_cast<std::size_t>(input.count()));
  List at(input.rank(), 0);
  do {
    const Real s = parameter_at(scale, at, 0, fault, 1);
    const float x = read(at);
    groups[group_of(at)].push_back(fault == Fault::mvn_scale_first ? static_cast<float>(x * s) : x);
  } while (next(at, input.sizes()));
  std::vector<Statistics> statistics;
  for (const std::vector<float>& values : groups) statistics.push_back(statistics_of(values, use_mean, fault, is_half));

  std::int64_t number = 0;
  do {
    const Statistics& group = statistics[group_of(at)];
    Real s = parameter_at(scale, at, number, fault, 1);
    Real b = parameter_at(bias, at, number, fault, 0);
    ++number;
    if (fault == Fault::mvn_scale_ignored) s = 1;
    if (fault == Fault::mvn_bias_ignored) b = 0;
    const Real rate = rate_of(group.variance, epsilon, normalize_variance, fault);
    const Real mean = fault == Fault::mvn_mean_not_subtracted ? 0 : group.mean;
    const float x = read(at);
    Real y = 0;
    if (fault == Fault::float32_arithmetic) {
      const auto deviation = static_cast<float>(x - static_cast<float>(mean));
      const auto z = static_cast<float>(deviation * static_cast<float>(rate));
      const auto scaled = static_cast<float>(z * static_cast<float>(s));
      y = static_cast<float>(scaled + static_cast<float>(b));
    } else if (is_half && fault == Fault::mvn_float16_steps) {
      y = to_half(to_half(to_half(to_half(x - mean) * to_half(rate)) * s) + b);
    } else if (fault == Fault::mvn_scale_first) {
      y = (x * s - mean) * rate + b;
    } else if (fault == Fault::mvn_bias_first) {
      y = ((x - mean) * rate + b) * s;
    } else if (fault == Fault::mvn_activation_first) {
      y = activate(fused, (x - mean) * rate, fault) * s + b;
    } else {
      y = (x - mean) * rate * s + b;
    }
    if (fault == Fault::mvn_activation_after_rounding) y = is_half ? to_half(y) : static_cast<float>(y);
    if (fault != Fault::mvn_activation_first) y = activate(fused, y, fault);
    std::uint64_t bits = 0;
    if (is_half) {
      bits = half(static_cast<double>(y)).bits;
    } else {
      const auto rounded = static_cast<float>(y);
      std::memcpy(&bits, &rounded, sizeof rounded);
    }
    output.set_bits(at, bits);
  } while (next(at, input.sizes()));
  return bytes;
}

}  // namespace dmlref::test::kit
