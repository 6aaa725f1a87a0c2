// read_directml.hpp: Microsoft's structs as facts and as our values; what cannot be read is a violation, never a crash.
//
// Nothing is trusted: a struct is read only behind a pointer that is not null and a type that says what it is, an array
// only with a length of 1 to 8. Enumerations are copied as numbers, since a value outside of them may stand there.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/desc/directml_types.hpp"
#include "dmlref/desc/operator_names.hpp"
#include "dmlref/operators/list.hpp"
#include "dmlref/schema/facts.hpp"
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

/// The bytes of a field of a struct.
template <class T>
T field_value(const void* desc, std::size_t offset) noexcept {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(desc) + offset, sizeof(value));
  return value;
}

// read_field(report, field, desc, fact): `field` of the struct at `desc`.

inline void read_field(Report& report, const FieldInfo& field, const void* desc, TensorFacts& facts) {
  const auto* tensor = field_value<const DML_TENSOR_DESC*>(desc, field.offset);
  facts.present = tensor != nullptr;
  if (tensor == nullptr) {
    if (field.kind != FieldKind::optional_input_tensor) {
      report.add(RuleId::tensor_required, field.name, {"is null, expected a tensor"});
    }
    return;
  }
  constexpr std::uint32_t buffer = 1;  // DML_TENSOR_TYPE_BUFFER
  const std::uint32_t type = number(tensor->Type);
  if (type != buffer) {
    report.add(RuleId::tensor_type, member(field.name, "Type"), {"is ", type, ", expected 1 (BUFFER)"});
  }
  if (tensor->Desc == nullptr) {
    report.add(RuleId::tensor_desc_required, member(field.name, "Desc"),
               {"is null, expected a DML_BUFFER_TENSOR_DESC"});
  }
  if (type != buffer || tensor->Desc == nullptr) return;

  const auto& read = *static_cast<const DML_BUFFER_TENSOR_DESC*>(tensor->Desc);
  facts.readable = true;
  facts.data_type = static_cast<DataType>(number(read.DataType));
  facts.flags = number(read.Flags);
  facts.rank = read.DimensionCount;
  facts.sizes = read_array(report, member(field.name, "Sizes"), read.Sizes, read.DimensionCount);
  if (read.Strides != nullptr && rank_is_readable(read.DimensionCount)) {
    facts.strides = {read.Strides, read.DimensionCount};
  }
  facts.layout_readable = !facts.sizes.empty();
  facts.total_size_in_bytes = read.TotalTensorSizeInBytes;
  facts.guaranteed_base_offset_alignment = read.GuaranteedBaseOffsetAlignment;
}

/// The layout that all fusable activations share: two tensors, then up to two floats. (Own, since an older
/// <DirectML.h> does not declare the newest of them.)
struct ActivationLayout {
  const void* input;
  const void* output;
  float parameters[2];
};

inline void read_field(Report& report, const FieldInfo& field, const void* of, std::optional<ActivationFacts>& read) {
  const auto* desc = field_value<const DML_OPERATOR_DESC*>(of, field.offset);
  if (desc == nullptr) return;
  ActivationFacts& facts = read.emplace();
  facts.type = static_cast<ActivationType>(number(desc->Type));
  const ActivationInfo* info = find_activation(facts.type);
  if (info == nullptr) return;
  if (desc->Desc == nullptr) {
    report.add(RuleId::activation_desc_required, member(field.name, "Desc"),
               {"is null, expected the desc of ACTIVATION_", info->name});
    return;
  }
  std::size_t length = offsetof(ActivationLayout, parameters);
  for (const std::string_view name : info->parameter_names) length += name.empty() ? 0 : sizeof(float);
  ActivationLayout layout{};
  std::memcpy(&layout, desc->Desc, length);
  facts.readable = true;
  facts.input_present = layout.input != nullptr;
  facts.output_present = layout.output != nullptr;
  facts.parameters = {layout.parameters[0], layout.parameters[1]};
}

inline void read_field(Report&, const FieldInfo& field, const void* desc, CountFacts& facts) {
  facts.value = field_value<std::uint32_t>(desc, field.offset);
}
template <class T>
void read_field(Report& report, const FieldInfo& field, const void* desc, ArrayFacts<T>& facts) {
  facts.values = read_array(report, std::string(field.name), field_value<const T*>(desc, field.offset),
                            field_value<std::uint32_t>(desc, field.count_offset));
}
inline void read_field(Report&, const FieldInfo& field, const void* desc, bool& fact) {
  fact = field_value<std::uint32_t>(desc, field.offset) != 0;  // a BOOL
}
template <class Number>
requires std::is_arithmetic_v<Number>
void read_field(Report&, const FieldInfo& field, const void* desc, Number& fact) {
  fact = field_value<Number>(desc, field.offset);
}

template <class Desc, std::size_t... At>
void read_fields(Report& report, const void* desc, Facts<Desc>& facts, std::index_sequence<At...>) {
  (read_field(report, schema::fields<Desc>[At], desc, facts.template at<At>()), ...);
}
/// The fields of Microsoft's struct for `Desc`; what cannot be read is reported.
template <class Desc>
Facts<Desc> read_struct(Report& report, const void* desc) {
  Facts<Desc> facts;
  read_fields(report, desc, facts, schema::Places<Desc>());
  return facts;
}

/// Whether Type says which operator `desc` is, and Desc is not null.
inline bool is_readable(const DML_OPERATOR_DESC& desc) noexcept {
  return desc.Desc != nullptr && find_operator(static_cast<OperatorType>(number(desc.Type))) != nullptr;
}

/// Reads and checks the struct of an operator; where no rule is broken and `value` is not null, it gets the native
/// desc.
inline void check_struct(Report& report, const DML_OPERATOR_DESC& desc, FeatureLevel level, OperatorDesc* value) {
  if (!is_readable(desc)) return;
  schema::Operators::visit(static_cast<OperatorType>(number(desc.Type)), [&]<class Desc>() {
    const Facts<Desc> facts = read_struct<Desc>(report, desc.Desc);
    apply_rules(report, level, facts);
    if (value != nullptr && report.ok()) *value = value_of(facts);
  });
}

}  // namespace rules

namespace detail {
/// The descriptor as a value. Only for one that validate() accepts at some level; else empty.
inline std::optional<OperatorDesc> read_directml(const DML_OPERATOR_DESC& desc) {
  if (!rules::is_readable(desc)) return std::nullopt;
  Report report;
  std::optional<OperatorDesc> value(std::in_place);
  rules::check_struct(report, desc, latest_feature_level, &*value);
  if (!report) value.reset();
  return value;
}
}  // namespace detail

/// All rules that `desc` breaks at `level`: null pointers, unknown types and levels included, never a crash. Pointers
/// that are not null must be valid. Touches no tensor memory.
[[nodiscard]] inline Report validate(const DML_OPERATOR_DESC& desc, FeatureLevel level) {
  Report report;
  level = rules::check_feature_level(report, level);
  const std::uint32_t type = rules::number(desc.Type);
  const OperatorInfo* info = find_operator(static_cast<OperatorType>(type));
  if (info == nullptr) {
    std::string is = text_of({type});
    if (const std::string_view name = directml_operator_name(type); !name.empty()) {
      is = text_of({"DML_OPERATOR_", name, " (", type, "), which DirectML has and dmlref has not"});
    }
    std::string known;
    for (const OperatorInfo& row : operator_table) known += (known.empty() ? "" : ", ") + std::string(row.name);
    report.add(RuleId::operator_type, "Type", {"is ", is, ", expected one of ", known});
  } else {
    level = rules::check_operator_level(report, *info, level);
  }
  if (desc.Desc == nullptr) {
    report.add(RuleId::desc_required, "Desc", {"is null, expected the operator's desc"});
  }
  rules::check_struct(report, desc, level, nullptr);
  return report;
}

// Microsoft's levels: every function that takes a FeatureLevel takes one of them, too. (Read as numbers, since a value
// outside of the enumeration may stand there.)

/// The same level in this library's enumeration.
inline FeatureLevel feature_level(const DML_FEATURE_LEVEL& level) noexcept {
  return feature_level(rules::number(level));
}
/// "6_4" for DML_FEATURE_LEVEL_6_4; "unknown" for a value that is no level.
inline std::string_view to_string(const DML_FEATURE_LEVEL& level) noexcept { return to_string(feature_level(level)); }
/// Whether both are the same level.
inline bool operator==(FeatureLevel a, const DML_FEATURE_LEVEL& b) noexcept { return a == feature_level(b); }
/// Which level is older.
inline std::strong_ordering operator<=>(FeatureLevel a, const DML_FEATURE_LEVEL& b) noexcept {
  return a <=> feature_level(b);
}

/// The same at a level of Microsoft's.
[[nodiscard]] inline Report validate(const DML_OPERATOR_DESC& desc, const DML_FEATURE_LEVEL& level) {
  return validate(desc, feature_level(level));
}
/// A native desc at a level of Microsoft's.
template <NativeDesc Desc>
[[nodiscard]] Report validate(const Desc& desc, const DML_FEATURE_LEVEL& level) {
  return validate(desc, feature_level(level));
}

DMLREF_END
