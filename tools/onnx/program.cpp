#include "onnx/program.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>
#include <vector>

#include "support/element.hpp"
#include "support/json_text.hpp"

namespace dmlref::tool::onnx {
namespace {

using Json = nlohmann::ordered_json;

/// JSON has no infinities and NaN: they are the words that models know (docs/command.md).
Json real_json(float value) { return std::isfinite(value) ? Json(value) : Json(real_text(value)); }

Json tensor_json(const TensorDesc& tensor) {
  Json json{{"DataType", to_string(tensor.data_type)}, {"Sizes", tensor.sizes}};
  if (tensor.strides) json["Strides"] = *tensor.strides;
  return json;
}

Json activation_json(const Activation& activation) {
  const ActivationInfo& info = *find_activation(activation.type);
  Json json{{"Type", "ACTIVATION_" + std::string(info.name)}};
  for (std::size_t p = 0; p < info.parameter_names.size(); ++p) {
    if (!info.parameter_names[p].empty())
      json[std::string(info.parameter_names[p])] = real_json(activation.parameters[p]);
  }
  return json;
}

// add(json, field, member): a field of a desc; what is absent is left out.

void add(Json& json, const FieldInfo& field, const TensorDesc& tensor) { json[field.name] = tensor_json(tensor); }
void add(Json& json, const FieldInfo& field, const std::optional<TensorDesc>& tensor) {
  if (tensor) add(json, field, *tensor);
}
void add(Json& json, const FieldInfo& field, const std::optional<Activation>& activation) {
  if (activation) json[field.name] = activation_json(*activation);
}
template <class T>
void add(Json& json, const FieldInfo& field, const std::vector<T>& array) {
  json.emplace(field.count, array.size());
  json[field.name] = array;
}
void add(Json& json, const FieldInfo& field, float number) { json[field.name] = real_json(number); }
template <class Number>
requires std::is_integral_v<Number>
void add(Json& json, const FieldInfo& field, const Number& number) { json[field.name] = number; }

struct DescJson {
  std::string_view type;
  Json members;
};

template <class Desc>
DescJson desc_json(const Desc& desc) {
  Json json;
  schema::for_each_member(desc, [&](const FieldInfo& field, const auto& member) { add(json, field, member); });
  return {Schema<Desc>::info.name, std::move(json)};
}

}  // namespace

std::string model_text(const Program& program, const std::filesystem::path& output_folder) {
  Json resources = Json::object();
  for (const ProgramResource& resource : program.resources) {
    Json& json = resources[resource.name];
    json["initialValuesDataType"] = to_string(resource.type);
    if (resource.source.empty()) {
      json["initialValues"] = {{"valueCount", resource.count}, {"value", 0}};
    } else {
      json["initialValues"] = {{"sourcePath", resource.source}};
    }
  }
  Json dispatchables = Json::object();
  Json commands = Json::array();
  for (const ProgramDispatch& dispatch : program.dispatches) {
    DescJson desc = std::visit([](const auto& d) { return desc_json(d); }, dispatch.desc);
    dispatchables[dispatch.name] = {{"type", "DML_OPERATOR_" + std::string(desc.type)},
                                    {"desc", std::move(desc.members)}};
    Json bindings = Json::object();
    for (const auto& [tensor, resource] : dispatch.bindings) bindings[std::string(tensor)] = resource;
    commands.push_back({{"type", "dispatch"}, {"dispatchable", dispatch.name}, {"bindings", std::move(bindings)}});
  }
  for (const ProgramOutput& output : program.outputs) {
    commands.push_back({{"type", "writeFile"},
                        {"resource", output.resource},
                        {"targetPath", (output_folder / output.target).generic_string()},
                        {"dimensions", output.dimensions}});
  }
  // A line for each resource, member of a desc, and command.
  std::string text = "{\n  \"resources\": ";
  text += json_text(resources, 1, "  ");
  text += ",\n  \"dispatchables\": ";
  text += json_text(dispatchables, 3, "  ");
  text += ",\n  \"commands\": ";
  text += json_text(commands, 1, "  ");
  return text + "\n}\n";
}

}  // namespace dmlref::tool::onnx
