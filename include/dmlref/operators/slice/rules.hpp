// rules.hpp: the rules of SLICE and SLICE1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/operators/slice/desc.hpp"
#include "dmlref/operators/slice/schema.hpp"
#include "dmlref/validate/tensor.hpp"

DMLREF_BEGIN
namespace rules {

/// 1 to 8, the tensors' own count, and a count that the level has: the first of these that is broken.
inline void check_slice_dimension_count(Report& report, FeatureLevel level, const TensorFacts& input,
                                        const TensorFacts& output, std::uint32_t count) {
  const std::string is = text_of({"is ", count, ", expected "});
  if (!rank_is_readable(count)) {
    report.add(RuleId::slice_dimension_count, "DimensionCount", {is, "1 to 8"});
    return;
  }
  for (const TensorFacts* tensor : {&input, &output}) {
    if (!has_known_rank(*tensor)) continue;
    if (tensor->rank == count) break;
    report.add(RuleId::slice_dimension_count, "DimensionCount",
               {is, tensor->rank, " as ", member(tensor->name, "DimensionCount")});
    return;
  }
  const auto from = first_support(input.support, level, [&](const TensorSupport& row) { return row.has_rank(count); });
  const TensorSupport* now = find_support(input.support, level);
  if (!from || now == nullptr || *from == level) return;
  report.add(RuleId::slice_dimension_count, "DimensionCount", {is, rank_range(*now)}, *from);
}

/// Both tensors, and one entry of each array per dimension.
template <auto AnyArray, class Desc>
void check_slice_shape(Report& report, FeatureLevel level, Facts<Desc>& facts) {
  const TensorFacts& input = fact<&Desc::input>(facts);
  const TensorFacts& output = fact<&Desc::output>(facts);
  check_tensor(report, level, Direction::input, input);
  check_tensor(report, level, Direction::output, output, &input, &input);
  if (const auto count = count_fact<AnyArray>(facts).value) {
    check_slice_dimension_count(report, level, input, output, *count);
  } else if (rank_is_readable(input.rank)) {
    for_each_array(facts, [&](auto& array) { check_array_length(report, array, input.rank); });
  }
}

inline void check_window_not_empty(Report& report, RuleId rule, const ArrayFacts<std::uint32_t>& sizes) {
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) report.add(rule, element(sizes.name, d), {"is 0, expected at least 1"});
  }
}

/// Sizes[d] = OutputTensor.Sizes[d].
inline void check_slice_output(Report& report, const ArrayFacts<std::uint32_t>& sizes, const TensorFacts& output) {
  if (sizes.size() != output.sizes.size()) return;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const std::uint32_t expected = output.sizes[d];
    if (sizes[d] == 0 || expected == 0 || sizes[d] == expected) continue;
    report.add(RuleId::slice_output_size, element(sizes.name, d),
               {"is ", sizes[d], ", expected ", expected, " as ", size_field(output, d)});
  }
}

/// Offsets[d] + (Sizes[d] - 1) * Strides[d] < InputTensor.Sizes[d], in 64 bits, where it always fits. Stride 0 repeats
/// one element.
inline void check_slice_bounds(Report& report, const Facts<SliceDesc>& facts) {
  const TensorFacts& input = fact<&SliceDesc::input>(facts);
  const auto& offsets = fact<&SliceDesc::offsets>(facts);
  const auto& sizes = fact<&SliceDesc::sizes>(facts);
  const auto& strides = fact<&SliceDesc::strides>(facts);
  const std::size_t rank = input.sizes.size();
  if (offsets.size() != rank || sizes.size() != rank || strides.size() != rank) return;
  for (std::size_t d = 0; d < rank; ++d) {
    if (sizes[d] == 0 || input.sizes[d] == 0) continue;
    const std::uint64_t last = offsets[d] + (std::uint64_t{sizes[d]} - 1) * std::uint64_t{strides[d]};
    if (last < input.sizes[d]) continue;
    report.add(RuleId::slice_bounds, element(offsets.name, d),
               {"is ", offsets[d], " and with Sizes ", sizes[d], " and Strides ", strides[d], " reads element ", last,
                ", expected below ", size_field(input, d), ", ", input.sizes[d]});
  }
}

/// InputWindowOffsets[d] + InputWindowSizes[d] <= InputTensor.Sizes[d], in 64 bits.
inline void check_window_bounds(Report& report, const TensorFacts& input, const ArrayFacts<std::uint32_t>& offsets,
                                const ArrayFacts<std::uint32_t>& sizes) {
  const std::size_t rank = input.sizes.size();
  if (offsets.size() != rank || sizes.size() != rank) return;
  for (std::size_t d = 0; d < rank; ++d) {
    if (sizes[d] == 0 || input.sizes[d] == 0) continue;
    const std::uint64_t end = std::uint64_t{offsets[d]} + sizes[d];
    if (end <= input.sizes[d]) continue;
    report.add(RuleId::slice1_window_bounds, element(offsets.name, d),
               {"is ", offsets[d], " and with InputWindowSizes ", sizes[d], " ends at ", end, ", expected at most ",
                size_field(input, d), ", ", input.sizes[d]});
  }
}

inline void check_window_strides(Report& report, const ArrayFacts<std::int32_t>& strides) {
  for (std::size_t d = 0; d < strides.size(); ++d) {
    if (strides[d] != 0) continue;
    report.add(RuleId::slice1_stride_zero, element(strides.name, d),
               {"is 0, expected a positive or a negative stride: SLICE1 repeats no element"});
  }
}

/// OutputTensor.Sizes[d] <= 1 + (InputWindowSizes[d] - 1) / |InputWindowStrides[d]|; the magnitude in 64 bits, where
/// that of INT_MIN exists.
inline void check_window_output(Report& report, const TensorFacts& output, const ArrayFacts<std::uint32_t>& sizes,
                                const ArrayFacts<std::int32_t>& strides) {
  const std::size_t rank = output.sizes.size();
  if (sizes.size() != rank || strides.size() != rank) return;
  for (std::size_t d = 0; d < rank; ++d) {
    if (sizes[d] == 0 || strides[d] == 0) continue;
    const std::int64_t stride = strides[d];
    const std::int64_t most = 1 + (std::int64_t{sizes[d]} - 1) / (stride < 0 ? -stride : stride);
    if (output.sizes[d] <= most) continue;
    report.add(RuleId::slice1_output_size, size_field(output, d),
               {"is ", output.sizes[d], ", expected at most ", most, ", which ", element(sizes.name, d), " ", sizes[d],
                " and ", element(strides.name, d), " ", stride, " allow"});
  }
}

inline void check_facts(Report& report, FeatureLevel level, Facts<SliceDesc> facts) {
  check_slice_shape<&SliceDesc::sizes>(report, level, facts);
  const auto& sizes = fact<&SliceDesc::sizes>(facts);
  check_window_not_empty(report, RuleId::slice_size_zero, sizes);
  check_slice_output(report, sizes, fact<&SliceDesc::output>(facts));
  check_slice_bounds(report, facts);
}

inline void check_facts(Report& report, FeatureLevel level, Facts<Slice1Desc> facts) {
  check_slice_shape<&Slice1Desc::window_sizes>(report, level, facts);
  const auto& sizes = fact<&Slice1Desc::window_sizes>(facts);
  const auto& strides = fact<&Slice1Desc::window_strides>(facts);
  check_window_not_empty(report, RuleId::slice1_window_empty, sizes);
  check_window_bounds(report, fact<&Slice1Desc::input>(facts), fact<&Slice1Desc::window_offsets>(facts), sizes);
  check_window_strides(report, strides);
  check_window_output(report, fact<&Slice1Desc::output>(facts), sizes, strides);
}

}  // namespace rules
DMLREF_END
