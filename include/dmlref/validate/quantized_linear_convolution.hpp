// quantized_linear_convolution.hpp: the rules of QUANTIZED_LINEAR_CONVOLUTION.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/desc/quantized_linear_convolution.hpp"
#include "dmlref/validate/level.hpp"
#include "dmlref/validate/tensor.hpp"

DMLREF_BEGIN
namespace rules {

struct QuantizedLinearConvolutionFacts {
  TensorFacts input;
  TensorFacts input_scale;
  TensorFacts input_zero_point;
  TensorFacts filter;
  TensorFacts filter_scale;
  TensorFacts filter_zero_point;
  TensorFacts bias;
  TensorFacts output_scale;
  TensorFacts output_zero_point;
  TensorFacts output;
  std::optional<std::uint32_t> dimension_count;  ///< a native desc has none: its arrays know their lengths
  ArrayFacts<std::uint32_t> strides;
  ArrayFacts<std::uint32_t> dilations;
  ArrayFacts<std::uint32_t> start_padding;
  ArrayFacts<std::uint32_t> end_padding;
  std::uint32_t group_count = 1;
};

inline void check_convolution_tensors(Report& report, FeatureLevel level, const QuantizedLinearConvolutionFacts& f) {
  const auto in = Direction::input;
  check_tensor(report, qlc, level, in, f.input);
  check_tensor(report, qlc, level, in, f.input_scale);
  check_tensor(report, qlc, level, in, f.input_zero_point, &f.input);
  check_tensor(report, qlc, level, in, f.filter, nullptr, &f.input);
  check_tensor(report, qlc, level, in, f.filter_scale);
  check_tensor(report, qlc, level, in, f.filter_zero_point, &f.filter);
  check_tensor(report, qlc, level, in, f.bias, nullptr, &f.input);
  check_tensor(report, qlc, level, in, f.output_scale);
  check_tensor(report, qlc, level, in, f.output_zero_point, &f.output);
  check_tensor(report, qlc, level, Direction::output, f.output, nullptr, &f.input);
}

/// Leaves out the sizes of a tensor whose number of dimensions is wrong already: nothing that is said of them makes
/// sense.
inline void keep_sizes(TensorFacts& tensor, bool rank_is_right) {
  if (!rank_is_right) tensor.sizes = {};
}
inline void keep_comparable_sizes(QuantizedLinearConvolutionFacts& f) {
  for (auto* tensor : {&f.input, &f.input_scale, &f.input_zero_point, &f.filter, &f.filter_scale, &f.filter_zero_point,
                       &f.bias, &f.output_scale, &f.output_zero_point, &f.output}) {
    keep_sizes(*tensor, has_known_rank(qlc, *tensor));
  }
  if (!has_known_rank(qlc, f.input)) return;
  for (auto* tensor : {&f.filter, &f.bias, &f.output}) keep_sizes(*tensor, tensor->rank == f.input.rank);
}

/// 1 or 2, the input's count less 2, and 1 only from the level whose input may have 3 dimensions.
inline void check_spatial_dimension_count(Report& report, FeatureLevel level, const TensorFacts& input,
                                          std::uint32_t count) {
  const std::string is = text_of({"is ", count, ", expected "});
  if (count != 1 && count != 2) {
    report.add(RuleId::convolution_dimension_count, "DimensionCount", {is, "2, or 1 from feature level 4_0"});
  } else if (has_known_rank(qlc, input) && input.rank != count + 2) {
    report.add(RuleId::convolution_dimension_count, "DimensionCount",
               {is, input.rank - 2, ", InputTensor.DimensionCount less 2"});
  } else if (count == 1 && level < level_4_0) {
    report.add(RuleId::convolution_dimension_count, "DimensionCount", {is, "2"}, level_4_0);
  }
}

inline void check_at_least_one(Report& report, RuleId rule, const ArrayFacts<std::uint32_t>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0) report.add(rule, element(values.name, i), {"is 0, expected at least 1"});
  }
}

inline std::string named(const TensorFacts& tensor, std::size_t d) {
  return text_of({size_field(tensor, d), ", ", tensor.size(d)});
}

/// GroupCount divides the channels of input and output; the filter sees one group of input channels.
inline void check_groups(Report& report, const QuantizedLinearConvolutionFacts& f) {
  const std::uint32_t groups = f.group_count;
  const std::string is = text_of({"is ", groups, ", expected "});
  if (groups == 0) {
    report.add(RuleId::convolution_group_count_zero, "GroupCount", {is, "at least 1"});
    return;
  }
  if (f.input.size(1) % groups != 0) {
    report.add(RuleId::convolution_group_input_channels, "GroupCount", {is, "a divisor of ", named(f.input, 1)});
  } else if (f.input.size(1) != 0 && f.filter.size(1) != 0 && f.filter.size(1) != f.input.size(1) / groups) {
    report.add(RuleId::convolution_filter_channels, size_field(f.filter, 1),
               {"is ", f.filter.size(1), ", expected ", f.input.size(1) / groups, ": ", named(f.input, 1),
                ", over GroupCount, ", groups});
  }
  if (f.filter.size(0) % groups != 0) {
    report.add(RuleId::convolution_group_output_channels, "GroupCount", {is, "a divisor of ", named(f.filter, 0)});
  }
}

inline void check_equal_size(Report& report, RuleId rule, const TensorFacts& tensor, std::size_t d,
                             const TensorFacts& other, std::size_t other_d) {
  const std::uint32_t size = tensor.size(d);
  const std::uint32_t expected = other.size(other_d);
  if (size == 0 || expected == 0 || size == expected) return;
  report.add(rule, size_field(tensor, d), {"is ", size, ", expected ", expected, " as ", size_field(other, other_d)});
}

/// Per spatial dimension: the dilated kernel fits into the padded input, and the output counts its positions.
inline void check_spatial_sizes(Report& report, const QuantizedLinearConvolutionFacts& f) {
  const std::size_t rank = f.input.sizes.size();
  if (rank == 0 || f.filter.sizes.size() != rank) return;
  const std::size_t spatial = rank - 2;
  for (const auto* array : {&f.strides, &f.dilations, &f.start_padding, &f.end_padding}) {
    if (array->size() != spatial) return;
  }
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::size_t d = i + 2;
    if (f.input.size(d) == 0 || f.filter.size(d) == 0 || f.strides[i] == 0 || f.dilations[i] == 0) continue;
    // 32-bit numbers: neither the sum of three nor the product of two overflows 64 bits.
    const std::uint64_t padded = std::uint64_t{f.input.size(d)} + f.start_padding[i] + f.end_padding[i];
    const std::uint64_t kernel = 1 + (std::uint64_t{f.filter.size(d)} - 1) * f.dilations[i];
    if (kernel > padded) {
      report.add(RuleId::convolution_kernel_fits, size_field(f.filter, d),
                 {"is ", f.filter.size(d), " and with Dilations[", i, "] ", f.dilations[i], " covers ", kernel,
                  ", expected at most ", padded, ", the padded ", size_field(f.input, d)});
      continue;
    }
    const std::uint64_t expected = 1 + (padded - kernel) / f.strides[i];
    if (f.output.sizes.size() != rank || f.output.size(d) == 0 || f.output.size(d) == expected) continue;
    report.add(RuleId::convolution_output_size, size_field(f.output, d),
               {"is ", f.output.size(d), ", expected ", expected, ": a padded input of ", padded,
                ", a dilated kernel of ", kernel, " and Strides[", i, "] ", f.strides[i]});
  }
}

/// {1, OutC, 1, 1} or {1, OutC, 1}.
inline void check_bias_sizes(Report& report, const TensorFacts& bias, const TensorFacts& filter) {
  for (std::size_t d = 0; d < bias.sizes.size(); ++d) {
    if (d == 1) {
      check_equal_size(report, RuleId::convolution_bias_size, bias, 1, filter, 0);
    } else if (bias.size(d) > 1) {
      report.add(RuleId::convolution_bias_size, size_field(bias, d), {"is ", bias.size(d), ", expected 1"});
    }
  }
}

inline void check_single_value(Report& report, const TensorFacts& tensor) {
  for (std::size_t d = 0; d < tensor.sizes.size(); ++d) {
    if (tensor.size(d) <= 1) continue;
    report.add(RuleId::convolution_single_value, size_field(tensor, d),
               {"is ", tensor.size(d), ", expected 1: one value for the whole tensor"});
  }
}

/// One value, or one per output channel: in dimension 1, or 0 of rank 1.
inline void check_filter_values(Report& report, const TensorFacts& tensor, const TensorFacts& filter) {
  const std::size_t channel = tensor.sizes.size() >= 2 ? 1 : 0;
  for (std::size_t d = 0; d < tensor.sizes.size(); ++d) {
    const std::uint32_t size = tensor.size(d);
    if (size <= 1 || (d == channel && (filter.size(0) == 0 || size == filter.size(0)))) continue;
    report.add(RuleId::convolution_filter_values, size_field(tensor, d),
               {"is ", size, ", expected 1",
                d == channel ? text_of({", or ", filter.size(0), " as ", size_field(filter, 0)}) : ""});
  }
}

inline void check_facts(Report& report, FeatureLevel level, QuantizedLinearConvolutionFacts f) {
  check_convolution_tensors(report, level, f);
  keep_comparable_sizes(f);
  if (f.dimension_count) {
    check_spatial_dimension_count(report, level, f.input, *f.dimension_count);
  } else if (has_known_rank(qlc, f.input)) {
    for (auto* array : {&f.strides, &f.dilations, &f.start_padding, &f.end_padding}) {
      check_array_length(report, *array, f.input.rank - 2);
    }
  }
  check_at_least_one(report, RuleId::convolution_stride_zero, f.strides);
  check_at_least_one(report, RuleId::convolution_dilation_zero, f.dilations);
  check_bias_sizes(report, f.bias, f.filter);
  check_single_value(report, f.input_scale);
  check_single_value(report, f.input_zero_point);
  check_single_value(report, f.output_scale);
  check_single_value(report, f.output_zero_point);
  check_filter_values(report, f.filter_scale, f.filter);
  check_filter_values(report, f.filter_zero_point, f.filter);
  check_groups(report, f);
  check_equal_size(report, RuleId::convolution_batch, f.output, 0, f.input, 0);
  check_equal_size(report, RuleId::convolution_output_channels, f.output, 1, f.filter, 0);
  check_spatial_sizes(report, f);
}

inline QuantizedLinearConvolutionFacts read(Report& report, const QuantizedLinearConvolutionDesc& desc) {
  check_strides_length(report, "InputTensor", desc.input);
  check_strides_length(report, "InputScaleTensor", desc.input_scale);
  check_strides_length(report, "InputZeroPointTensor", desc.input_zero_point);
  check_strides_length(report, "FilterTensor", desc.filter);
  check_strides_length(report, "FilterScaleTensor", desc.filter_scale);
  check_strides_length(report, "FilterZeroPointTensor", desc.filter_zero_point);
  check_strides_length(report, "BiasTensor", desc.bias);
  check_strides_length(report, "OutputScaleTensor", desc.output_scale);
  check_strides_length(report, "OutputZeroPointTensor", desc.output_zero_point);
  check_strides_length(report, "OutputTensor", desc.output);
  return {facts_of("InputTensor", desc.input),
          facts_of("InputScaleTensor", desc.input_scale),
          facts_of("InputZeroPointTensor", desc.input_zero_point),
          facts_of("FilterTensor", desc.filter),
          facts_of("FilterScaleTensor", desc.filter_scale),
          facts_of("FilterZeroPointTensor", desc.filter_zero_point),
          facts_of("BiasTensor", desc.bias),
          facts_of("OutputScaleTensor", desc.output_scale),
          facts_of("OutputZeroPointTensor", desc.output_zero_point),
          facts_of("OutputTensor", desc.output),
          std::nullopt,
          {"Strides", desc.strides},
          {"Dilations", desc.dilations},
          {"StartPadding", desc.start_padding},
          {"EndPadding", desc.end_padding},
          desc.group_count};
}

}  // namespace rules

/// All rules that `desc` breaks at `level`; a value that is no level breaks one too. Touches no tensor memory.
inline Report validate(const QuantizedLinearConvolutionDesc& desc, FeatureLevel level) {
  Report report;
  level = rules::check_level(report, rules::qlc, level);
  auto facts = rules::read(report, desc);
  rules::check_facts(report, level, std::move(facts));
  return report;
}

DMLREF_END
