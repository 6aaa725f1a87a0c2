#include "model/schema_json.hpp"

#include <nlohmann/json.hpp>

#include "dmlref/desc/activation.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/validate/rule_id.hpp"
#include "support/json_text.hpp"

namespace dmlref::tool {
namespace {

std::string_view name_of(FieldKind kind) {
  switch (kind) {
    case FieldKind::input_tensor:
    case FieldKind::optional_input_tensor: return "input";
    case FieldKind::output_tensor: return "output";
    case FieldKind::array_count: return "count";
    case FieldKind::uint: return "uint";
    case FieldKind::boolean: return "bool";
    case FieldKind::real: return "float";
    case FieldKind::uint_array: return "uints";
    case FieldKind::int_array: return "ints";
    case FieldKind::activation: return "activation";
  }
  return "";
}

OrderedJson types_json(const DataTypes& types) {
  OrderedJson json = OrderedJson::array();
  for (std::uint32_t value = 0; value < 32; ++value) {
    const auto type = static_cast<DataType>(value);
    if (types.contains(type)) json.push_back(to_string(type));
  }
  return json;
}

OrderedJson field_json(const FieldInfo& field) {
  OrderedJson json{{"name", field.name}, {"kind", name_of(field.kind)}};
  if (field.kind == FieldKind::optional_input_tensor || field.kind == FieldKind::activation) json["optional"] = true;
  if (!field.count.empty()) json["count"] = field.count;
  for (const TensorSupport& row : field.support) {
    json["support"].push_back(
        {{"since", to_string(row.since)}, {"ranks", {row.min_rank, row.max_rank}}, {"types", types_json(row.types)}});
  }
  return json;
}

OrderedJson operators_json(std::span<const OperatorFields> known) {
  OrderedJson operators = OrderedJson::array();
  for (const OperatorFields& row : known) {
    OrderedJson fields = OrderedJson::array();
    for (const FieldInfo& field : row.fields) fields.push_back(field_json(field));
    operators.push_back({{"name", row.name},
                         {"type", static_cast<std::uint32_t>(row.type)},
                         {"introduced", to_string(row.introduced)},
                         {"fields", std::move(fields)}});
  }
  return operators;
}

OrderedJson activations_json() {
  OrderedJson activations = OrderedJson::array();
  for (const ActivationInfo& info : activation_table) {
    OrderedJson parameters = OrderedJson::array();
    for (std::size_t p = 0; p < info.parameter_names.size(); ++p) {
      if (info.parameter_names[p].empty()) continue;
      parameters.push_back({{"name", info.parameter_names[p]}, {"default", info.defaults[p]}});
    }
    activations.push_back({{"name", info.name},
                           {"type", static_cast<std::uint32_t>(info.type)},
                           {"introduced", to_string(feature_level(info.introduced))},
                           {"parameters", std::move(parameters)}});
  }
  return activations;
}

OrderedJson rules_json() {
  OrderedJson rules = OrderedJson::array();
  for (const RuleInfo& rule : rule_table) {
    OrderedJson json{
        {"name", rule.name}, {"field", rule.field}, {"condition", rule.condition}, {"source", rule.source}};
    if (rule.lifted_from != 0) json["lifted_from"] = to_string(feature_level(rule.lifted_from));
    rules.push_back(std::move(json));
  }
  return rules;
}

}  // namespace

std::string schema_json(std::span<const OperatorFields> known) {
  OrderedJson json{{"operators", operators_json(known)}, {"activations", activations_json()}, {"rules", rules_json()}};
  for (const auto& [level, name] : feature_levels) {
    json["feature_levels"].push_back({{"name", name}, {"value", static_cast<std::uint32_t>(level)}});
  }
  for (std::uint32_t value = 1; value < 32; ++value) {
    const auto type = static_cast<DataType>(value);
    if (size_of(type) == 0) continue;
    json["data_types"].push_back({{"name", to_string(type)}, {"value", value}, {"bytes", size_of(type)}});
  }
  for (const IsaName& row : isa_table) json["instruction_sets"].push_back(row.name);
  return json_text(json, 4);
}

}  // namespace dmlref::tool
