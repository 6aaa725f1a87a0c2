// rules.hpp: the rules of CONVOLUTION_INTEGER: those of QUANTIZED_LINEAR_CONVOLUTION without scales and bias.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/operators/convolution_integer/desc.hpp"
#include "dmlref/operators/convolution_integer/schema.hpp"
#include "dmlref/operators/quantized_linear_convolution/rules.hpp"
#include "dmlref/validate/tensor.hpp"

DMLREF_BEGIN
namespace rules {

inline void check_facts(Report& report, FeatureLevel level, Facts<ConvolutionIntegerDesc> facts) {
  using Desc = ConvolutionIntegerDesc;
  const TensorFacts& input = fact<&Desc::input>(facts);
  const TensorFacts& input_zero_point = fact<&Desc::input_zero_point>(facts);
  const TensorFacts& filter = fact<&Desc::filter>(facts);
  const TensorFacts& filter_zero_point = fact<&Desc::filter_zero_point>(facts);
  check_tensor(report, level, Direction::input, input);
  check_tensor(report, level, Direction::input, input_zero_point, &input);
  check_tensor(report, level, Direction::input, filter, nullptr, &input);
  check_tensor(report, level, Direction::input, filter_zero_point, &filter, &input_zero_point);
  check_tensor(report, level, Direction::output, fact<&Desc::output>(facts), nullptr, &input);
  keep_comparable_sizes(facts);
  check_window(report, level, facts);
  check_single_value(report, input_zero_point);
  check_filter_values(report, filter_zero_point, filter);
  check_convolution_sizes(report, facts);
}

}  // namespace rules
DMLREF_END
