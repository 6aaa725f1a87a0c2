// slice.hpp: the rules of SLICE and SLICE1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/desc/slice.hpp"
#include "dmlref/validate/level.hpp"
#include "dmlref/validate/tensor.hpp"

DMLREF_BEGIN
namespace rules {

/// SLICE with unsigned strides, SLICE1 with signed ones.
template <class Stride>
struct SliceFactsOf {
  TensorFacts input;
  TensorFacts output;
  std::optional<std::uint32_t> dimension_count;  ///< a native desc has none: its arrays know their lengths
  ArrayFacts<std::uint32_t> offsets;
  ArrayFacts<std::uint32_t> sizes;
  ArrayFacts<Stride> strides;
};
using SliceFacts = SliceFactsOf<std::uint32_t>;
using Slice1Facts = SliceFactsOf<std::int32_t>;

/// 1 to 8, the tensors' own count, and a count that the level has: the first of these that is broken.
inline void check_slice_dimension_count(Report& report, OperatorType op, FeatureLevel level, const TensorFacts& input,
                                        const TensorFacts& output, std::uint32_t count) {
  const std::string is = text_of({"is ", count, ", expected "});
  if (!rank_is_readable(count)) {
    report.add(RuleId::slice_dimension_count, "DimensionCount", {is, "1 to 8"});
    return;
  }
  for (const TensorFacts* tensor : {&input, &output}) {
    if (!has_known_rank(op, *tensor)) continue;
    if (tensor->rank == count) break;
    report.add(RuleId::slice_dimension_count, "DimensionCount",
               {is, tensor->rank, " as ", member(tensor->name, "DimensionCount")});
    return;
  }
  const auto from = first_support(op, "InputTensor", level, [&](const SupportRow& row) { return row.has_rank(count); });
  const SupportRow* now = find_support(op, "InputTensor", level);
  if (!from || now == nullptr || *from == level) return;
  report.add(RuleId::slice_dimension_count, "DimensionCount", {is, rank_range(*now)}, *from);
}

template <class Stride>
void check_slice_shape(Report& report, OperatorType op, FeatureLevel level, SliceFactsOf<Stride>& facts) {
  check_tensor(report, op, level, Direction::input, facts.input);
  check_tensor(report, op, level, Direction::output, facts.output, &facts.input, &facts.input);
  if (facts.dimension_count) {
    check_slice_dimension_count(report, op, level, facts.input, facts.output, *facts.dimension_count);
  } else if (rank_is_readable(facts.input.rank)) {
    check_array_length(report, facts.offsets, facts.input.rank);
    check_array_length(report, facts.sizes, facts.input.rank);
    check_array_length(report, facts.strides, facts.input.rank);
  }
}

inline void check_window_not_empty(Report& report, RuleId rule, const ArrayFacts<std::uint32_t>& sizes) {
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) report.add(rule, element(sizes.name, d), {"is 0, expected at least 1"});
  }
}

/// Sizes[d] = OutputTensor.Sizes[d].
inline void check_slice_output(Report& report, const SliceFacts& facts) {
  if (facts.sizes.size() != facts.output.sizes.size()) return;
  for (std::size_t d = 0; d < facts.sizes.size(); ++d) {
    const std::uint32_t expected = facts.output.sizes[d];
    if (facts.sizes[d] == 0 || expected == 0 || facts.sizes[d] == expected) continue;
    report.add(RuleId::slice_output_size, element(facts.sizes.name, d),
               {"is ", facts.sizes[d], ", expected ", expected, " as ", size_field(facts.output, d)});
  }
}

/// Offsets[d] + (Sizes[d] - 1) * Strides[d] < InputTensor.Sizes[d], in 64 bits, where it always fits. Stride 0 repeats
/// one element.
inline void check_slice_bounds(Report& report, const SliceFacts& facts) {
  const std::size_t rank = facts.input.sizes.size();
  if (facts.offsets.size() != rank || facts.sizes.size() != rank || facts.strides.size() != rank) return;
  for (std::size_t d = 0; d < rank; ++d) {
    if (facts.sizes[d] == 0 || facts.input.sizes[d] == 0) continue;
    const std::uint64_t last = facts.offsets[d] + (std::uint64_t{facts.sizes[d]} - 1) * std::uint64_t{facts.strides[d]};
    if (last < facts.input.sizes[d]) continue;
    report.add(RuleId::slice_bounds, element(facts.offsets.name, d),
               {"is ", facts.offsets[d], " and with Sizes ", facts.sizes[d], " and Strides ", facts.strides[d],
                " reads element ", last, ", expected below ", size_field(facts.input, d), ", ", facts.input.sizes[d]});
  }
}

/// InputWindowOffsets[d] + InputWindowSizes[d] <= InputTensor.Sizes[d], in 64 bits.
inline void check_window_bounds(Report& report, const Slice1Facts& facts) {
  const std::size_t rank = facts.input.sizes.size();
  if (facts.offsets.size() != rank || facts.sizes.size() != rank) return;
  for (std::size_t d = 0; d < rank; ++d) {
    if (facts.sizes[d] == 0 || facts.input.sizes[d] == 0) continue;
    const std::uint64_t end = std::uint64_t{facts.offsets[d]} + facts.sizes[d];
    if (end <= facts.input.sizes[d]) continue;
    report.add(RuleId::slice1_window_bounds, element(facts.offsets.name, d),
               {"is ", facts.offsets[d], " and with InputWindowSizes ", facts.sizes[d], " ends at ", end,
                ", expected at most ", size_field(facts.input, d), ", ", facts.input.sizes[d]});
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
inline void check_window_output(Report& report, const Slice1Facts& facts) {
  const std::size_t rank = facts.output.sizes.size();
  if (facts.sizes.size() != rank || facts.strides.size() != rank) return;
  for (std::size_t d = 0; d < rank; ++d) {
    if (facts.sizes[d] == 0 || facts.strides[d] == 0) continue;
    const std::int64_t stride = facts.strides[d];
    const std::int64_t most = 1 + (std::int64_t{facts.sizes[d]} - 1) / (stride < 0 ? -stride : stride);
    if (facts.output.sizes[d] <= most) continue;
    report.add(RuleId::slice1_output_size, size_field(facts.output, d),
               {"is ", facts.output.sizes[d], ", expected at most ", most, ", which ", element(facts.sizes.name, d),
                " ", facts.sizes[d], " and ", element(facts.strides.name, d), " ", stride, " allow"});
  }
}

inline void check_facts(Report& report, FeatureLevel level, SliceFacts facts) {
  check_slice_shape(report, slice, level, facts);
  check_window_not_empty(report, RuleId::slice_size_zero, facts.sizes);
  check_slice_output(report, facts);
  check_slice_bounds(report, facts);
}

inline void check_facts(Report& report, FeatureLevel level, Slice1Facts facts) {
  check_slice_shape(report, slice1, level, facts);
  check_window_not_empty(report, RuleId::slice1_window_empty, facts.sizes);
  check_window_bounds(report, facts);
  check_window_strides(report, facts.strides);
  check_window_output(report, facts);
}

inline SliceFacts read(Report& report, const SliceDesc& desc) {
  check_strides_length(report, "InputTensor", desc.input);
  check_strides_length(report, "OutputTensor", desc.output);
  return {facts_of("InputTensor", desc.input),
          facts_of("OutputTensor", desc.output),
          std::nullopt,
          {"Offsets", desc.offsets},
          {"Sizes", desc.sizes},
          {"Strides", desc.strides}};
}

inline Slice1Facts read(Report& report, const Slice1Desc& desc) {
  check_strides_length(report, "InputTensor", desc.input);
  check_strides_length(report, "OutputTensor", desc.output);
  return {facts_of("InputTensor", desc.input),
          facts_of("OutputTensor", desc.output),
          std::nullopt,
          {"InputWindowOffsets", desc.window_offsets},
          {"InputWindowSizes", desc.window_sizes},
          {"InputWindowStrides", desc.window_strides}};
}

}  // namespace rules

/// All rules that `desc` breaks at `level`; a value that is no level breaks one too. Touches no tensor memory.
inline Report validate(const SliceDesc& desc, FeatureLevel level) {
  Report report;
  level = rules::check_level(report, rules::slice, level);
  auto facts = rules::read(report, desc);
  rules::check_facts(report, level, std::move(facts));
  return report;
}

/// All rules that `desc` breaks at `level`; a value that is no level breaks one too. Touches no tensor memory.
inline Report validate(const Slice1Desc& desc, FeatureLevel level) {
  Report report;
  level = rules::check_level(report, rules::slice1, level);
  auto facts = rules::read(report, desc);
  rules::check_facts(report, level, std::move(facts));
  return report;
}

DMLREF_END
