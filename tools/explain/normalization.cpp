#include <fmt/format.h>

#include <cmath>

#include "dmlref/operators/mean_variance_normalization/reference.hpp"
#include "explain/operators.hpp"
#include "explain/tensor_elements.hpp"
#include "support/element.hpp"

namespace dmlref::tool {
namespace {

/// Reads the group of `at`: all elements that differ from it along the axes alone, in row-major order.
class Group {
 public:
  Group(const TensorElements& input, const Coordinates& at, reference::AxisSet axes)
      : input_(input), base_(at), shape_(reference::shape_over(input.shape(), axes, true)) {
    for (std::size_t d = 0; d < base_.size(); ++d) {
      if (((axes >> d) & 1u) != 0) base_[d] = 0;
    }
  }

  std::uint64_t count() const noexcept { return static_cast<std::uint64_t>(element_count(shape_)); }
  Coordinates position(std::uint64_t index) const {
    Coordinates at = unravel(static_cast<Index>(index), shape_);
    for (std::size_t d = 0; d < at.size(); ++d) at[d] += base_[d];
    return at;
  }
  /// As the reference wants its elements.
  void operator()(std::uint64_t first, std::span<float> values) const {
    for (float& value : values) value = input_.real(position(first++));
  }

 private:
  const TensorElements& input_;
  Coordinates base_;
  Shape shape_;
};

std::string activation_text(const std::optional<Activation>& activation) {
  if (!activation) return {};
  const ActivationInfo* info = find_activation(activation->type);
  std::string parameters;
  for (std::size_t p = 0; p < info->parameter_names.size(); ++p) {
    if (info->parameter_names[p].empty()) continue;
    parameters += fmt::format("{}{} = {}", parameters.empty() ? "" : ", ", info->parameter_names[p],
                              real_text(activation->parameters[p]));
  }
  return fmt::format("{}({})", info->name, parameters);
}

/// The element as the operator computes it, in the operator's own order of additions.
template <class T>
T normalized_element(const Group& group, const reference::GroupCoefficients& coefficients, float x, float scale,
                     float bias, const reference::NormalizationParameters& parameters) {
  std::optional<reference::ExactStatistics> found;
  const auto exact = [&]() -> const reference::ExactStatistics& {
    if (!found) found = reference::ExactStatistics::of(group.count(), group, parameters.center);
    return *found;
  };
  const reference::ExactSource source(exact);
  return reference::normalize_element<T>(static_cast<T>(x), coefficients, scale, bias, parameters, source);
}

template <class Desc>
Explanation explain_normalization(const char* name, const Desc& desc, reference::AxisSet axes,
                                  std::span<const InputBuffer> inputs, const Coordinates& at, std::size_t most) {
  const auto parameters = reference::NormalizationParameters::of(desc);
  axes = reference::group_axes(axes, parameters);
  const TensorElements input(desc.input, inputs[0]);
  const std::optional<TensorElements> scale = optional_elements(desc.scale, inputs[1]);
  const std::optional<TensorElements> bias = optional_elements(desc.bias, inputs[2]);
  const Group group(input, at, axes);

  NormalizationExplanation how;
  for (std::uint32_t d = 0; d < at.size(); ++d) {
    if (((axes >> d) & 1u) != 0) how.axes.push_back(d);
  }
  how.element_count = group.count();
  for (std::uint64_t i = 0; i < how.element_count && i < most; ++i) {
    how.elements.push_back(input.value(group.position(i)));
  }
  how.use_mean = parameters.center == reference::Center::mean;
  how.normalize_variance = parameters.normalize_variance;
  how.epsilon = desc.epsilon;
  how.input = input.value(at);
  if (scale) how.scale = scale->value(scale->broadcast(at));
  if (bias) how.bias = bias->value(bias->broadcast(at));
  how.activation = activation_text(desc.fused_activation);

  const float x = input.real(at);
  const float s = scale ? scale->real(scale->broadcast(at)) : 1.0f;
  const float b = bias ? bias->real(bias->broadcast(at)) : 0.0f;
  const auto statistics = reference::ExactStatistics::of(group.count(), group, parameters.center);
  const Activation& activation = parameters.activation;
  const auto coefficients = reference::GroupCoefficients::of(
      reference::group_statistics(group.count(), group, parameters), group.count(), parameters);
  how.mean = statistics.mean.high;
  how.variance = statistics.variance.high;
  reference::DoubleDouble value = reference::add(reference::DoubleDouble{x, 0},
                                                 reference::DoubleDouble{-statistics.mean.high, -statistics.mean.low});
  if (parameters.normalize_variance) {
    const auto variance = reference::add(statistics.variance, static_cast<double>(desc.epsilon));
    value = reference::multiply(value, reference::inverse_sqrt(variance));
  }
  how.normalized = value.high;
  value = reference::add_bias(reference::multiply(value, static_cast<double>(s)), {b, 0},
                              reference::quotient_noise(parameters));
  how.before_activation = value.high;
  how.after_activation = reference::activate(activation, value.high);
  if (!std::isfinite(value.high)) {
    // Pairs of doubles hold no infinities: what the operator computes in doubles.
    const auto in_doubles = [&](double factor, double addend) {
      return reference::ElementCoefficients<double>::of(coefficients, factor, addend).value(x);
    };
    const auto line = reference::ScaleAndBias::of(reference::LinearPart::of(activation), s, b);
    how.mean = coefficients.mean.high;
    how.variance = coefficients.variance.high;
    how.normalized = in_doubles(1, 0);
    how.before_activation = in_doubles(s, b);
    how.after_activation = reference::activate_after_line<double>(activation.type, in_doubles(line.scale, line.bias),
                                                                  activation.parameters[0], activation.parameters[1]);
  }

  const DataType type = desc.output.data_type;
  ElementValue output;
  const auto finish = [&]<class T>(T result) {
    output = element_value(type, at, result);
    how.nearest = element_value(type, at, reference::round_result<T>(how.after_activation)).value;
  };
  if (type == DataType::float16) {
    finish(normalized_element<half>(group, coefficients, x, s, b, parameters));
  } else {
    finish(normalized_element<float>(group, coefficients, x, s, b, parameters));
  }
  return {name, std::string(to_string(type)), std::move(output), std::move(how)};
}

}  // namespace

Explanation explain(const MeanVarianceNormalizationDesc& desc, std::span<const InputBuffer> inputs,
                    const Coordinates& at, std::size_t most) {
  return explain_normalization("MEAN_VARIANCE_NORMALIZATION", desc, reference::cross_channel_axes(desc.cross_channel),
                               inputs, at, most);
}

Explanation explain(const MeanVarianceNormalization1Desc& desc, std::span<const InputBuffer> inputs,
                    const Coordinates& at, std::size_t most) {
  return explain_normalization("MEAN_VARIANCE_NORMALIZATION1", desc, reference::axis_set(desc.axes), inputs, at, most);
}

Explanation explain(const MeanVarianceNormalization2Desc& desc, std::span<const InputBuffer> inputs,
                    const Coordinates& at, std::size_t most) {
  return explain_normalization("MEAN_VARIANCE_NORMALIZATION2", desc, reference::axis_set(desc.axes), inputs, at, most);
}

}  // namespace dmlref::tool
