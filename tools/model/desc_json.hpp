// desc_json.hpp: native descs as a model has them, by their schemas.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dmlref/desc/activation.hpp"
#include "dmlref/schema/schema.hpp"
#include "support/element.hpp"

namespace dmlref::tool {

using OrderedJson = nlohmann::ordered_json;

namespace desc_json_detail {

/// JSON has no infinities and NaN: they are the words that models know (docs/command.md).
inline OrderedJson real_json(float value) {
  return std::isfinite(value) ? OrderedJson(value) : OrderedJson(real_text(value));
}

inline OrderedJson tensor_json(const TensorDesc& tensor) {
  OrderedJson json{{"DataType", to_string(tensor.data_type)}, {"Sizes", tensor.sizes}};
  if (tensor.strides) json["Strides"] = *tensor.strides;
  return json;
}

inline OrderedJson activation_json(const Activation& activation) {
  const ActivationInfo& info = *find_activation(activation.type);
  OrderedJson json{{"Type", "ACTIVATION_" + std::string(info.name)}};
  for (std::size_t p = 0; p < info.parameter_names.size(); ++p) {
    if (!info.parameter_names[p].empty())
      json[std::string(info.parameter_names[p])] = real_json(activation.parameters[p]);
  }
  return json;
}

// add(json, field, member): a field of a desc; what is absent is left out.

inline void add(OrderedJson& json, const FieldInfo& field, const TensorDesc& tensor) {
  json[field.name] = tensor_json(tensor);
}
inline void add(OrderedJson& json, const FieldInfo& field, const std::optional<TensorDesc>& tensor) {
  if (tensor) add(json, field, *tensor);
}
inline void add(OrderedJson& json, const FieldInfo& field, const std::optional<Activation>& activation) {
  if (activation) json[field.name] = activation_json(*activation);
}
template <class T>
void add(OrderedJson& json, const FieldInfo& field, const std::vector<T>& array) {
  json.emplace(field.count, array.size());
  json[field.name] = array;
}
inline void add(OrderedJson& json, const FieldInfo& field, float number) { json[field.name] = real_json(number); }
template <class Number>
requires std::is_integral_v<Number>
void add(OrderedJson& json, const FieldInfo& field, const Number& number) { json[field.name] = number; }

}  // namespace desc_json_detail

/// {"type": …, "desc": {…}}: what ParsedOperator reads.
template <class Desc>
OrderedJson desc_json(const Desc& desc) {
  OrderedJson members;
  schema::for_each_member(
      desc, [&](const FieldInfo& field, const auto& member) { desc_json_detail::add(members, field, member); });
  return {{"type", "DML_OPERATOR_" + std::string(Schema<Desc>::info.name)}, {"desc", std::move(members)}};
}

}  // namespace dmlref::tool
