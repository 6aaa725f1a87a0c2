// rules.hpp: the rules of ELEMENT_WISE_QUANTIZE_LINEAR and ELEMENT_WISE_DEQUANTIZE_LINEAR.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/operators/element_wise_quantize_linear/schema.hpp"
#include "dmlref/validate/tensor.hpp"

DMLREF_BEGIN
namespace rules {

/// T.Sizes[d] = InputTensor.Sizes[d]: no size of 1 is broadcast.
inline void check_same_sizes(Report& report, const TensorFacts& input, const TensorFacts& tensor) {
  if (tensor.sizes.size() != input.sizes.size()) return;
  for (std::size_t d = 0; d < tensor.sizes.size(); ++d) {
    const std::uint32_t size = tensor.sizes[d], expected = input.sizes[d];
    if (size == 0 || expected == 0 || size == expected) continue;
    report.add(RuleId::element_wise_size, size_field(tensor, d),
               {"is ", size, ", expected ", expected, " as ", size_field(input, d)});
  }
}

/// `zero_point` is null at a level that requires one.
inline void check_zero_point_present(Report& report, FeatureLevel level, const TensorFacts& zero_point) {
  constexpr FeatureLevel optional_from = feature_level(lifted_from(RuleId::element_wise_zero_point));
  if (level >= optional_from || zero_point.present) return;
  report.add(RuleId::element_wise_zero_point, zero_point.name, {"is null, expected a tensor"}, optional_from);
}

inline void check_facts(Report& report, FeatureLevel level, const Facts<ElementWiseQuantizeLinearDesc>& facts) {
  using Desc = ElementWiseQuantizeLinearDesc;
  const TensorFacts& input = fact<&Desc::input>(facts);
  const TensorFacts& scale = fact<&Desc::scale>(facts);
  const TensorFacts& zero_point = fact<&Desc::zero_point>(facts);
  const TensorFacts& output = fact<&Desc::output>(facts);
  check_tensor(report, level, Direction::input, input);
  check_tensor(report, level, Direction::input, scale,
               input.data_type == DataType::int32 ? SameType(&input, DataType::float32) : SameType(&input), &input);
  check_tensor(report, level, Direction::input, zero_point, &output, &input);
  check_tensor(report, level, Direction::output, output, nullptr, &input);
  check_zero_point_present(report, level, zero_point);
  for (const TensorFacts* tensor : {&scale, &zero_point, &output}) check_same_sizes(report, input, *tensor);
}

inline void check_facts(Report& report, FeatureLevel level, const Facts<ElementWiseDequantizeLinearDesc>& facts) {
  using Desc = ElementWiseDequantizeLinearDesc;
  const TensorFacts& input = fact<&Desc::input>(facts);
  const TensorFacts& scale = fact<&Desc::scale>(facts);
  const TensorFacts& zero_point = fact<&Desc::zero_point>(facts);
  const TensorFacts& output = fact<&Desc::output>(facts);
  check_tensor(report, level, Direction::input, input);
  check_tensor(report, level, Direction::input, scale, nullptr, &input);
  check_tensor(report, level, Direction::input, zero_point, &input, &input);
  check_tensor(report, level, Direction::output, output, &scale, &input);
  check_zero_point_present(report, level, zero_point);
  for (const TensorFacts* tensor : {&scale, &zero_point, &output}) check_same_sizes(report, input, *tensor);
}

}  // namespace rules
DMLREF_END
