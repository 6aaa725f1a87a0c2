#include "onnx/program.hpp"

#include <nlohmann/json.hpp>
#include <vector>

#include "model/desc_json.hpp"
#include "support/json_text.hpp"

namespace dmlref::tool::onnx {
namespace {

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

OrderedJson resource_json(const ProgramResource& resource) {
  OrderedJson json{{"initialValuesDataType", to_string(resource.type)}};
  if (resource.source.empty()) {
    json["initialValues"] = {{"valueCount", resource.count}, {"value", 0}};
  } else {
    json["initialValues"] = {{"sourcePath", resource.source}};
  }
  return json;
}

OrderedJson dispatchable_json(const ProgramDispatch& dispatch) {
  return std::visit([](const auto& desc) { return desc_json(desc); }, dispatch.desc);
}

OrderedJson command_json(const ProgramDispatch& dispatch) {
  OrderedJson bindings = OrderedJson::object();
  for (const auto& [tensor, resource] : dispatch.bindings) bindings[std::string(tensor)] = resource;
  return {{"type", "dispatch"}, {"dispatchable", dispatch.name}, {"bindings", std::move(bindings)}};
}

OrderedJson command_json(const ProgramOutput& output, const std::filesystem::path& folder) {
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
    text += OrderedJson(resource.name).dump() + ": ";
    text += json_text(resource_json(resource), 0);
  }
  resources.end();
  text += ",\n";
  Section dispatchables(text, "dispatchables", "{}");
  for (const ProgramDispatch& dispatch : program.dispatches) {
    dispatchables.next();
    text += OrderedJson(dispatch.name).dump() + ": ";
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
