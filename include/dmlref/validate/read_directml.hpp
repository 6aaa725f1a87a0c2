// read_directml.hpp: Microsoft's structs as facts and as our values; what cannot be read is a violation, never a crash.
//
// Nothing is trusted: a struct is read only behind a pointer that is not null and a type that says what it is, an array
// only with a length of 1 to 8. Enumerations are copied as numbers, since a value outside of them may stand there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/desc/directml_types.hpp"
#include "dmlref/validate/level.hpp"
#include "dmlref/validate/validate.hpp"

DMLREF_BEGIN
namespace rules {

/// The number in an enumeration of Microsoft's, whatever it is.
template <class Enum>
std::uint32_t number(const Enum& value) noexcept {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  return bits;
}

enum class Presence { required, optional };

/// An array of `count` entries; empty, with a violation, where it is null. Where `count` cannot be trusted another rule
/// says so and the array is not read.
template <class T>
std::span<const T> read_array(Report& report, std::string field, const T* values, std::uint64_t count) {
  if (count == 0) return {};
  if (values == nullptr) {
    report.add(RuleId::array_required, field, {"is null, expected ", count, " entries"});
    return {};
  }
  if (!rank_is_readable(count)) return {};
  return {values, static_cast<std::size_t>(count)};
}

inline TensorFacts read_tensor(Report& report, std::string_view name, const DML_TENSOR_DESC* tensor,
                               Presence presence) {
  TensorFacts facts;
  facts.name = name;
  facts.present = tensor != nullptr;
  if (tensor == nullptr) {
    if (presence == Presence::required) {
      report.add(RuleId::tensor_required, name, {"is null, expected a tensor"});
    }
    return facts;
  }
  constexpr std::uint32_t buffer = 1;  // DML_TENSOR_TYPE_BUFFER
  const std::uint32_t type = number(tensor->Type);
  if (type != buffer) {
    report.add(RuleId::tensor_type, member(name, "Type"), {"is ", type, ", expected 1 (BUFFER)"});
  }
  if (tensor->Desc == nullptr) {
    report.add(RuleId::tensor_desc_required, member(name, "Desc"), {"is null, expected a DML_BUFFER_TENSOR_DESC"});
  }
  if (type != buffer || tensor->Desc == nullptr) return facts;

  const auto& desc = *static_cast<const DML_BUFFER_TENSOR_DESC*>(tensor->Desc);
  facts.readable = true;
  facts.data_type = static_cast<DataType>(number(desc.DataType));
  facts.flags = number(desc.Flags);
  facts.rank = desc.DimensionCount;
  facts.sizes = read_array(report, member(name, "Sizes"), desc.Sizes, desc.DimensionCount);
  if (desc.Strides != nullptr && rank_is_readable(desc.DimensionCount)) {
    facts.strides = {desc.Strides, desc.DimensionCount};
  }
  facts.layout_readable = !facts.sizes.empty();
  facts.total_size_in_bytes = desc.TotalTensorSizeInBytes;
  facts.guaranteed_base_offset_alignment = desc.GuaranteedBaseOffsetAlignment;
  return facts;
}

/// The layout that all fusable activations share: two tensors, then up to two floats. (Own, since an older
/// <DirectML.h> does not declare the newest of them.)
struct ActivationLayout {
  const void* input;
  const void* output;
  float parameters[2];
};

inline std::optional<ActivationFacts> read_activation(Report& report, const DML_OPERATOR_DESC* desc) {
  if (desc == nullptr) return std::nullopt;
  ActivationFacts facts;
  facts.type = static_cast<ActivationType>(number(desc->Type));
  const ActivationInfo* info = find_activation(facts.type);
  if (info == nullptr) return facts;
  if (desc->Desc == nullptr) {
    report.add(RuleId::activation_desc_required, "FusedActivation.Desc",
               {"is null, expected the desc of ", activation_text(facts.type)});
    return facts;
  }
  std::size_t length = offsetof(ActivationLayout, parameters);
  for (const std::string_view name : info->parameter_names) length += name.empty() ? 0 : sizeof(float);
  ActivationLayout layout{};
  std::memcpy(&layout, desc->Desc, length);
  facts.readable = true;
  facts.input_present = layout.input != nullptr;
  facts.output_present = layout.output != nullptr;
  facts.parameters = {layout.parameters[0], layout.parameters[1]};
  return facts;
}

inline SliceFacts read(Report& report, const DML_SLICE_OPERATOR_DESC& desc) {
  const std::uint32_t rank = desc.DimensionCount;
  SliceFacts facts;
  facts.input = read_tensor(report, "InputTensor", desc.InputTensor, Presence::required);
  facts.output = read_tensor(report, "OutputTensor", desc.OutputTensor, Presence::required);
  facts.dimension_count = rank;
  facts.offsets = {"Offsets", read_array(report, "Offsets", desc.Offsets, rank)};
  facts.sizes = {"Sizes", read_array(report, "Sizes", desc.Sizes, rank)};
  facts.strides = {"Strides", read_array(report, "Strides", desc.Strides, rank)};
  return facts;
}

inline Slice1Facts read(Report& report, const DML_SLICE1_OPERATOR_DESC& desc) {
  const std::uint32_t rank = desc.DimensionCount;
  Slice1Facts facts;
  facts.input = read_tensor(report, "InputTensor", desc.InputTensor, Presence::required);
  facts.output = read_tensor(report, "OutputTensor", desc.OutputTensor, Presence::required);
  facts.dimension_count = rank;
  facts.offsets = {"InputWindowOffsets", read_array(report, "InputWindowOffsets", desc.InputWindowOffsets, rank)};
  facts.sizes = {"InputWindowSizes", read_array(report, "InputWindowSizes", desc.InputWindowSizes, rank)};
  facts.strides = {"InputWindowStrides", read_array(report, "InputWindowStrides", desc.InputWindowStrides, rank)};
  return facts;
}

inline QuantizedLinearConvolutionFacts read(Report& report,
                                            const DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC& desc) {
  const auto required = Presence::required;
  const auto optional = Presence::optional;
  const std::uint32_t count = desc.DimensionCount;
  QuantizedLinearConvolutionFacts facts;
  facts.input = read_tensor(report, "InputTensor", desc.InputTensor, required);
  facts.input_scale = read_tensor(report, "InputScaleTensor", desc.InputScaleTensor, required);
  facts.input_zero_point = read_tensor(report, "InputZeroPointTensor", desc.InputZeroPointTensor, optional);
  facts.filter = read_tensor(report, "FilterTensor", desc.FilterTensor, required);
  facts.filter_scale = read_tensor(report, "FilterScaleTensor", desc.FilterScaleTensor, required);
  facts.filter_zero_point = read_tensor(report, "FilterZeroPointTensor", desc.FilterZeroPointTensor, optional);
  facts.bias = read_tensor(report, "BiasTensor", desc.BiasTensor, optional);
  facts.output_scale = read_tensor(report, "OutputScaleTensor", desc.OutputScaleTensor, required);
  facts.output_zero_point = read_tensor(report, "OutputZeroPointTensor", desc.OutputZeroPointTensor, optional);
  facts.output = read_tensor(report, "OutputTensor", desc.OutputTensor, required);
  facts.dimension_count = count;
  facts.strides = {"Strides", read_array(report, "Strides", desc.Strides, count)};
  facts.dilations = {"Dilations", read_array(report, "Dilations", desc.Dilations, count)};
  facts.start_padding = {"StartPadding", read_array(report, "StartPadding", desc.StartPadding, count)};
  facts.end_padding = {"EndPadding", read_array(report, "EndPadding", desc.EndPadding, count)};
  facts.group_count = desc.GroupCount;
  return facts;
}

template <class Desc>
MeanVarianceNormalizationFacts read_directml_normalization(Report& report, const Desc& desc) {
  MeanVarianceNormalizationFacts facts;
  facts.input = read_tensor(report, "InputTensor", desc.InputTensor, Presence::required);
  facts.scale = read_tensor(report, "ScaleTensor", desc.ScaleTensor, Presence::optional);
  facts.bias = read_tensor(report, "BiasTensor", desc.BiasTensor, Presence::optional);
  facts.output = read_tensor(report, "OutputTensor", desc.OutputTensor, Presence::required);
  facts.activation = read_activation(report, desc.FusedActivation);
  return facts;
}

inline MeanVarianceNormalizationFacts read(Report& report, const DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC& desc) {
  return read_directml_normalization(report, desc);
}

inline MeanVarianceNormalization1Facts read(Report& report,
                                            const DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC& desc) {
  return {read_directml_normalization(report, desc),
          desc.AxisCount,
          {"Axes", read_array(report, "Axes", desc.Axes, desc.AxisCount)}};
}

/// Calls `visit` with the desc's struct where Type and Desc say which it is; false where they do not.
template <class Visit>
bool visit_directml(const DML_OPERATOR_DESC& desc, Visit visit) {
  if (desc.Desc == nullptr) return false;
  switch (static_cast<OperatorType>(number(desc.Type))) {
    case OperatorType::slice: visit(*static_cast<const DML_SLICE_OPERATOR_DESC*>(desc.Desc)); return true;
    case OperatorType::slice1: visit(*static_cast<const DML_SLICE1_OPERATOR_DESC*>(desc.Desc)); return true;
    case OperatorType::quantized_linear_convolution:
      visit(*static_cast<const DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC*>(desc.Desc));
      return true;
    case OperatorType::mean_variance_normalization:
      visit(*static_cast<const DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC*>(desc.Desc));
      return true;
    case OperatorType::mean_variance_normalization1:
      visit(*static_cast<const DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC*>(desc.Desc));
      return true;
  }
  return false;
}

inline TensorDesc value_of(const TensorFacts& facts) {
  TensorDesc tensor;
  tensor.data_type = facts.data_type;
  tensor.sizes.assign(facts.sizes.begin(), facts.sizes.end());
  if (!facts.strides.empty()) tensor.strides.emplace(facts.strides.begin(), facts.strides.end());
  tensor.total_size_in_bytes = facts.total_size_in_bytes.value_or(0);
  tensor.guaranteed_base_offset_alignment = facts.guaranteed_base_offset_alignment;
  tensor.owned_by_dml = (facts.flags & flag_owned_by_dml) != 0;
  return tensor;
}
inline std::optional<TensorDesc> optional_value_of(const TensorFacts& facts) {
  return facts.present ? std::optional<TensorDesc>(value_of(facts)) : std::nullopt;
}
template <class T>
std::vector<T> value_of(const ArrayFacts<T>& array) {
  return {array.values.begin(), array.values.end()};
}
inline std::optional<Activation> value_of(const std::optional<ActivationFacts>& facts) {
  return facts ? std::optional<Activation>(Activation{facts->type, facts->parameters}) : std::nullopt;
}

inline OperatorDesc value_of(const DML_SLICE_OPERATOR_DESC&, const SliceFacts& facts) {
  return SliceDesc{value_of(facts.input), value_of(facts.output), value_of(facts.offsets), value_of(facts.sizes),
                   value_of(facts.strides)};
}

inline OperatorDesc value_of(const DML_SLICE1_OPERATOR_DESC&, const Slice1Facts& facts) {
  return Slice1Desc{value_of(facts.input), value_of(facts.output), value_of(facts.offsets), value_of(facts.sizes),
                    value_of(facts.strides)};
}

inline OperatorDesc value_of(const DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC&,
                             const QuantizedLinearConvolutionFacts& facts) {
  QuantizedLinearConvolutionDesc desc;
  desc.input = value_of(facts.input);
  desc.input_scale = value_of(facts.input_scale);
  desc.input_zero_point = optional_value_of(facts.input_zero_point);
  desc.filter = value_of(facts.filter);
  desc.filter_scale = value_of(facts.filter_scale);
  desc.filter_zero_point = optional_value_of(facts.filter_zero_point);
  desc.bias = optional_value_of(facts.bias);
  desc.output_scale = value_of(facts.output_scale);
  desc.output_zero_point = optional_value_of(facts.output_zero_point);
  desc.output = value_of(facts.output);
  desc.strides = value_of(facts.strides);
  desc.dilations = value_of(facts.dilations);
  desc.start_padding = value_of(facts.start_padding);
  desc.end_padding = value_of(facts.end_padding);
  desc.group_count = facts.group_count;
  return desc;
}

/// What both normalizations have in common. A BOOL is true where it is not 0.
template <class Value, class Desc>
Value normalization_value_of(const Desc& desc, const MeanVarianceNormalizationFacts& facts) {
  Value value;
  value.input = value_of(facts.input);
  value.scale = optional_value_of(facts.scale);
  value.bias = optional_value_of(facts.bias);
  value.output = value_of(facts.output);
  value.normalize_variance = desc.NormalizeVariance != 0;
  value.epsilon = desc.Epsilon;
  value.fused_activation = value_of(facts.activation);
  return value;
}

inline OperatorDesc value_of(const DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC& desc,
                             const MeanVarianceNormalizationFacts& facts) {
  auto value = normalization_value_of<MeanVarianceNormalizationDesc>(desc, facts);
  value.cross_channel = desc.CrossChannel != 0;
  return value;
}

inline OperatorDesc value_of(const DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC& desc,
                             const MeanVarianceNormalization1Facts& facts) {
  auto value = normalization_value_of<MeanVarianceNormalization1Desc>(desc, facts);
  value.axes = value_of(facts.axes);
  return value;
}

}  // namespace rules

namespace detail {
/// The descriptor as a value. Only for one that validate() accepts at some level; else empty.
inline std::optional<OperatorDesc> read_directml(const DML_OPERATOR_DESC& desc) {
  std::optional<OperatorDesc> value;
  rules::visit_directml(desc, [&](const auto& d) {
    Report report;
    const auto facts = rules::read(report, d);
    rules::check_facts(report, latest_feature_level, facts);
    if (report) value = rules::value_of(d, facts);
  });
  return value;
}
}  // namespace detail

/// All rules that `desc` breaks at `level`: null pointers, unknown types and levels included, never a crash. Pointers
/// that are not null must be valid. Touches no tensor memory.
inline Report validate(const DML_OPERATOR_DESC& desc, DML_FEATURE_LEVEL level) {
  Report report;
  level = rules::check_feature_level(report, level);
  const std::uint32_t type = rules::number(desc.Type);
  const OperatorInfo* info = find_operator(static_cast<OperatorType>(type));
  if (info == nullptr) {
    std::string known;
    for (const OperatorInfo& row : operator_table) known += (known.empty() ? "" : ", ") + std::string(row.name);
    report.add(RuleId::operator_type, "Type", {"is ", type, ", expected one of ", known});
  } else {
    level = rules::check_operator_level(report, info->type, level);
  }
  if (desc.Desc == nullptr) {
    report.add(RuleId::desc_required, "Desc", {"is null, expected the operator's desc"});
  }
  rules::visit_directml(desc, [&](const auto& d) {
    auto facts = rules::read(report, d);
    rules::check_facts(report, level, std::move(facts));
  });
  return report;
}

DMLREF_END
