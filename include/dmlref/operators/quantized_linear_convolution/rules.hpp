// rules.hpp: the rules of QUANTIZED_LINEAR_CONVOLUTION, and those that it shares with CONVOLUTION_INTEGER. Their descs
// call what they share by the same names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/desc.hpp"
#include "dmlref/operators/quantized_linear_convolution/schema.hpp"
#include "dmlref/validate/tensor.hpp"

DMLREF_BEGIN
namespace rules {

using ConvolutionFacts = Facts<QuantizedLinearConvolutionDesc>;

/// Leaves out the sizes of tensors whose number of dimensions is wrong already: nothing that is said of them makes
/// sense.
template <class Desc>
void keep_comparable_sizes(Facts<Desc>& facts) {
  for_each_tensor(facts, [](TensorFacts& tensor) {
    if (!has_known_rank(tensor)) tensor.sizes = {};
  });
  const TensorFacts& input = fact<&Desc::input>(facts);
  if (!has_known_rank(input)) return;
  const auto compare = [&](TensorFacts& tensor) {
    if (tensor.rank != input.rank) tensor.sizes = {};
  };
  compare(fact<&Desc::filter>(facts));
  if constexpr (requires { &Desc::bias; }) compare(fact<&Desc::bias>(facts));
  compare(fact<&Desc::output>(facts));
}

/// 1 or 2, the input's count less 2, and 1 only from the level whose input may have 3 dimensions.
inline void check_spatial_dimension_count(Report& report, FeatureLevel level, const TensorFacts& input,
                                          std::uint32_t count) {
  const std::string is = text_of({"is ", count, ", expected "});
  if (count != 1 && count != 2) {
    report.add(RuleId::convolution_dimension_count, "DimensionCount", {is, "2, or 1 from feature level 4_0"});
  } else if (has_known_rank(input) && input.rank != count + 2) {
    report.add(RuleId::convolution_dimension_count, "DimensionCount",
               {is, input.rank - 2, ", InputTensor.DimensionCount less 2"});
  } else if (count == 1 && level < support::level_4_0) {
    report.add(RuleId::convolution_dimension_count, "DimensionCount", {is, "2"}, support::level_4_0);
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
inline void check_groups(Report& report, std::uint32_t groups, const TensorFacts& input, const TensorFacts& filter) {
  const std::string is = text_of({"is ", groups, ", expected "});
  if (groups == 0) {
    report.add(RuleId::convolution_group_count_zero, "GroupCount", {is, "at least 1"});
    return;
  }
  if (input.size(1) % groups != 0) {
    report.add(RuleId::convolution_group_input_channels, "GroupCount", {is, "a divisor of ", named(input, 1)});
  } else if (input.size(1) != 0 && filter.size(1) != 0 && filter.size(1) != input.size(1) / groups) {
    report.add(RuleId::convolution_filter_channels, size_field(filter, 1),
               {"is ", filter.size(1), ", expected ", input.size(1) / groups, ": ", named(input, 1),
                ", over GroupCount, ", groups});
  }
  if (filter.size(0) % groups != 0) {
    report.add(RuleId::convolution_group_output_channels, "GroupCount", {is, "a divisor of ", named(filter, 0)});
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
template <class Desc>
void check_spatial_sizes(Report& report, const Facts<Desc>& facts) {
  const auto& input = fact<&Desc::input>(facts);
  const auto& filter = fact<&Desc::filter>(facts);
  const auto& output = fact<&Desc::output>(facts);
  const auto& strides = fact<&Desc::strides>(facts);
  const auto& dilations = fact<&Desc::dilations>(facts);
  const auto& start_padding = fact<&Desc::start_padding>(facts);
  const auto& end_padding = fact<&Desc::end_padding>(facts);
  const std::size_t rank = input.sizes.size();
  if (rank == 0 || filter.sizes.size() != rank) return;
  const std::size_t spatial = rank - 2;
  for (const auto* array : {&strides, &dilations, &start_padding, &end_padding}) {
    if (array->size() != spatial) return;
  }
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::size_t d = i + 2;
    if (input.size(d) == 0 || filter.size(d) == 0 || strides[i] == 0 || dilations[i] == 0) continue;
    // 32-bit numbers: neither the sum of three nor the product of two overflows 64 bits.
    const std::uint64_t padded = std::uint64_t{input.size(d)} + start_padding[i] + end_padding[i];
    const std::uint64_t kernel = 1 + (std::uint64_t{filter.size(d)} - 1) * dilations[i];
    if (kernel > padded) {
      report.add(RuleId::convolution_kernel_fits, size_field(filter, d),
                 {"is ", filter.size(d), " and with Dilations[", i, "] ", dilations[i], " covers ", kernel,
                  ", expected at most ", padded, ", the padded ", size_field(input, d)});
      continue;
    }
    const std::uint64_t expected = 1 + (padded - kernel) / strides[i];
    if (output.sizes.size() != rank || output.size(d) == 0 || output.size(d) == expected) continue;
    report.add(RuleId::convolution_output_size, size_field(output, d),
               {"is ", output.size(d), ", expected ", expected, ": a padded input of ", padded,
                ", a dilated kernel of ", kernel, " and Strides[", i, "] ", strides[i]});
  }
}

/// The numbers of dimensions of the window's arrays, and that it moves.
template <class Desc>
void check_window(Report& report, FeatureLevel level, Facts<Desc>& facts) {
  const TensorFacts& input = fact<&Desc::input>(facts);
  if (const auto count = count_fact<&Desc::strides>(facts).value) {
    check_spatial_dimension_count(report, level, input, *count);
  } else if (has_known_rank(input)) {
    for_each_array(facts, [&](auto& array) { check_array_length(report, array, input.rank - 2); });
  }
  check_at_least_one(report, RuleId::convolution_stride_zero, fact<&Desc::strides>(facts));
  check_at_least_one(report, RuleId::convolution_dilation_zero, fact<&Desc::dilations>(facts));
}

/// How input, filter and output fit each other.
template <class Desc>
void check_convolution_sizes(Report& report, const Facts<Desc>& facts) {
  const TensorFacts& input = fact<&Desc::input>(facts);
  const TensorFacts& filter = fact<&Desc::filter>(facts);
  const TensorFacts& output = fact<&Desc::output>(facts);
  check_groups(report, fact<&Desc::group_count>(facts), input, filter);
  check_equal_size(report, RuleId::convolution_batch, output, 0, input, 0);
  check_equal_size(report, RuleId::convolution_output_channels, output, 1, filter, 0);
  check_spatial_sizes(report, facts);
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

inline void check_convolution_tensors(Report& report, FeatureLevel level, const ConvolutionFacts& facts) {
  using Desc = QuantizedLinearConvolutionDesc;
  const TensorFacts* input = &fact<&Desc::input>(facts);
  const TensorFacts* filter = &fact<&Desc::filter>(facts);
  const TensorFacts* output = &fact<&Desc::output>(facts);
  const auto check_input = [&](const TensorFacts& tensor, const TensorFacts* type_of, const TensorFacts* rank_of) {
    check_tensor(report, level, Direction::input, tensor, type_of, rank_of);
  };
  check_input(*input, nullptr, nullptr);
  check_input(fact<&Desc::input_scale>(facts), nullptr, nullptr);
  check_input(fact<&Desc::input_zero_point>(facts), input, nullptr);
  check_input(*filter, nullptr, input);
  check_input(fact<&Desc::filter_scale>(facts), nullptr, nullptr);
  check_input(fact<&Desc::filter_zero_point>(facts), filter, nullptr);
  check_input(fact<&Desc::bias>(facts), nullptr, input);
  check_input(fact<&Desc::output_scale>(facts), nullptr, nullptr);
  check_input(fact<&Desc::output_zero_point>(facts), output, nullptr);
  check_tensor(report, level, Direction::output, *output, nullptr, input);
}

inline void check_facts(Report& report, FeatureLevel level, ConvolutionFacts facts) {
  using Desc = QuantizedLinearConvolutionDesc;
  check_convolution_tensors(report, level, facts);
  keep_comparable_sizes(facts);
  check_window(report, level, facts);
  const TensorFacts& filter = fact<&Desc::filter>(facts);
  check_bias_sizes(report, fact<&Desc::bias>(facts), filter);
  check_single_value(report, fact<&Desc::input_scale>(facts));
  check_single_value(report, fact<&Desc::input_zero_point>(facts));
  check_single_value(report, fact<&Desc::output_scale>(facts));
  check_single_value(report, fact<&Desc::output_zero_point>(facts));
  check_filter_values(report, fact<&Desc::filter_scale>(facts), filter);
  check_filter_values(report, fact<&Desc::filter_zero_point>(facts), filter);
  check_convolution_sizes(report, facts);
}

}  // namespace rules
DMLREF_END
