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

/// The members or elements of a section, each begun by next().
class Section {
 public:
  Section(std::string& text, std::string_view name, std::string_view brackets) : text_(text), brackets_(brackets) {
    text_.append("  \"").append(name).append("\": ").append(1, brackets_[0]);
  }
  /// Begins a line of its own.
  void next() {
    text_ += empty_ ? "\n    " : ",\n    ";
    empty_ = false;
  }
  void end() {
    if (!empty_) text_ += "\n  ";
    text_ += brackets_[1];
  }

 private:
  std::string& text_;
  std::string_view brackets_;
  bool empty_ = true;
};

Json resource_json(const ProgramResource& resource) {
  Json json{{"initialValuesDataType", to_string(resource.type)}};
  if (resource.source.empty()) {
    json["initialValues"] = {{"valueCount", resource.count}, {"value", 0}};
  } else {
    json["initialValues"] = {{"sourcePath", resource.source}};
  }
  return json;
}

Json dispatchable_json(const ProgramDispatch& dispatch) {
  DescJson desc = std::visit([](const auto& d) { return desc_json(d); }, dispatch.desc);
  return {{"type", "DML_OPERATOR_" + std::string(desc.type)}, {"desc", std::move(desc.members)}};
}

Json command_json(const ProgramDispatch& dispatch) {
  Json bindings = Json::object();
  for (const auto& [tensor, resource] : dispatch.bindings) bindings[std::string(tensor)] = resource;
  return {{"type", "dispatch"}, {"dispatchable", dispatch.name}, {"bindings", std::move(bindings)}};
}

Json command_json(const ProgramOutput& output, const std::filesystem::path& folder) {
  return {{"type", "writeFile"},
          {"resource", output.resource},
          {"targetPath", (folder / output.target).generic_string()},
          {"dimensions", output.dimensions}};
}

}  // namespace

// A line for each resource, member of a desc, and command. A whole object of ordered_json would look at all its members
// for each one that is added.
std::string model_text(const Program& program, const std::filesystem::path& output_folder) {
  std::string text = "{\n";
  Section resources(text, "resources", "{}");
  for (const ProgramResource& resource : program.resources) {
    resources.next();
    text += Json(resource.name).dump() + ": ";
    text += json_text(resource_json(resource), 0);
  }
  resources.end();
  text += ",\n";
  Section dispatchables(text, "dispatchables", "{}");
  for (const ProgramDispatch& dispatch : program.dispatches) {
    dispatchables.next();
    text += Json(dispatch.name).dump() + ": ";
    text += json_text(dispatchable_json(dispatch), 2, "    ");
  }
  dispatchables.end();
  text += ",\n";
  Section commands(text, "commands", "[]");
  for (const ProgramDispatch& dispatch : program.dispatches) {
    commands.next();
    text += json_text(command_json(dispatch), 0);
  }
  for (const ProgramOutput& output : program.outputs) {
    commands.next();
    text += json_text(command_json(output, output_folder), 0);
  }
  commands.end();
  return text + "\n}\n";
}

}  // namespace dmlref::tool::onnx
