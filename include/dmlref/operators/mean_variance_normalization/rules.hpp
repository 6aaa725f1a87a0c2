// rules.hpp: the rules of MEAN_VARIANCE_NORMALIZATION, MEAN_VARIANCE_NORMALIZATION1 and MEAN_VARIANCE_NORMALIZATION2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/operators/mean_variance_normalization/desc.hpp"
#include "dmlref/operators/mean_variance_normalization/schema.hpp"
#include "dmlref/validate/activation.hpp"
#include "dmlref/validate/tensor.hpp"

DMLREF_BEGIN
namespace rules {

/// OutputTensor.Sizes[d] = InputTensor.Sizes[d].
inline void check_normalization_output(Report& report, const TensorFacts& input, const TensorFacts& output) {
  if (input.sizes.size() != output.sizes.size()) return;
  for (std::size_t d = 0; d < input.sizes.size(); ++d) {
    if (input.sizes[d] == 0 || output.sizes[d] == 0 || input.sizes[d] == output.sizes[d]) continue;
    report.add(RuleId::normalization_output_size, size_field(output, d),
               {"is ", output.sizes[d], ", expected ", input.sizes[d], " as ", size_field(input, d)});
  }
}

/// The dimension of the channels: 1, or 0 where there is only one.
inline constexpr std::size_t channel_dimension(std::size_t rank) noexcept { return rank >= 2 ? 1 : 0; }

/// Whether the size of the channel may be replaced by 1.
enum class ChannelBroadcast { always, from_its_level };

/// Scale and bias have the input's size or 1.
inline void check_broadcast(Report& report, FeatureLevel level, const TensorFacts& input, const TensorFacts& parameter,
                            ChannelBroadcast channel) {
  constexpr FeatureLevel channel_from = feature_level(lifted_from(RuleId::normalization_channel_broadcast));
  const std::size_t rank = input.sizes.size();
  if (parameter.sizes.size() != rank) return;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::uint32_t size = parameter.sizes[d];
    if (input.sizes[d] == 0 || size == 0 || size == input.sizes[d]) continue;
    const std::string is = text_of({"is ", size, ", expected ", input.sizes[d], " as ", size_field(input, d)});
    if (size != 1) {
      report.add(RuleId::normalization_broadcast, size_field(parameter, d), {is, ", or 1"});
    } else if (channel == ChannelBroadcast::from_its_level && level < channel_from && d == channel_dimension(rank)) {
      report.add(RuleId::normalization_channel_broadcast, size_field(parameter, d), {is}, channel_from);
    }
  }
}

/// Below 5_2 scale and bias come together; the absent one is named.
inline void check_scale_with_bias(Report& report, FeatureLevel level, const TensorFacts& scale,
                                  const TensorFacts& bias) {
  constexpr FeatureLevel free_from = feature_level(lifted_from(RuleId::normalization_scale_with_bias));
  if (level >= free_from || scale.present == bias.present) return;
  const TensorFacts& absent = scale.present ? bias : scale;
  const TensorFacts& present = scale.present ? scale : bias;
  report.add(RuleId::normalization_scale_with_bias, absent.name,
             {"is null, expected a tensor since ", present.name, " is not null"}, free_from);
}

/// Of no axes each element is a group of its own; `axes` may then be null.
inline void check_axes(Report& report, const TensorFacts& input, const CountFacts& count,
                       const ArrayFacts<std::uint32_t>& axes) {
  const std::uint64_t axis_count = count.value ? *count.value : std::uint64_t{axes.size()};
  if (axis_count != 0 && !rank_is_readable(axis_count)) {
    report.add(RuleId::normalization_axis_count, count.name,
               {"is ", axis_count, ", expected 0 to 8, at most InputTensor.DimensionCount"});
    return;
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::string is = text_of({"is ", axes[i], ", expected "});
    if (input.readable && rank_is_readable(input.rank) && axes[i] >= input.rank) {
      report.add(RuleId::normalization_axis_range, element(axes.name, i),
                 {is, "below InputTensor.DimensionCount, ", input.rank});
      continue;
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (axes[j] != axes[i]) continue;
      report.add(RuleId::normalization_axis_repeated, element(axes.name, i),
                 {is, "an axis other than ", element(axes.name, j)});
      break;
    }
  }
}

template <class Desc>
void check_normalization(Report& report, FeatureLevel level, const Facts<Desc>& facts, ChannelBroadcast channel) {
  const TensorFacts& input = fact<&Desc::input>(facts);
  const TensorFacts& scale = fact<&Desc::scale>(facts);
  const TensorFacts& bias = fact<&Desc::bias>(facts);
  const TensorFacts& output = fact<&Desc::output>(facts);
  check_tensor(report, level, Direction::input, input);
  check_tensor(report, level, Direction::input, scale, &input, &input);
  check_tensor(report, level, Direction::input, bias, &input, &input);
  check_tensor(report, level, Direction::output, output, &input, &input);
  check_normalization_output(report, input, output);
  check_scale_with_bias(report, level, scale, bias);
  check_broadcast(report, level, input, scale, channel);
  check_broadcast(report, level, input, bias, channel);
  check_facts(report, level, fact<&Desc::fused_activation>(facts));
}

inline void check_facts(Report& report, FeatureLevel level, const Facts<MeanVarianceNormalizationDesc>& facts) {
  check_normalization(report, level, facts, ChannelBroadcast::always);
}

template <class Desc>
void check_normalization_over_axes(Report& report, FeatureLevel level, const Facts<Desc>& facts,
                                   ChannelBroadcast channel) {
  check_normalization(report, level, facts, channel);
  check_axes(report, fact<&Desc::input>(facts), count_fact<&Desc::axes>(facts), fact<&Desc::axes>(facts));
}

inline void check_facts(Report& report, FeatureLevel level, const Facts<MeanVarianceNormalization1Desc>& facts) {
  check_normalization_over_axes(report, level, facts, ChannelBroadcast::from_its_level);
}

inline void check_facts(Report& report, FeatureLevel level, const Facts<MeanVarianceNormalization2Desc>& facts) {
  check_normalization_over_axes(report, level, facts, ChannelBroadcast::always);
}

}  // namespace rules
DMLREF_END
