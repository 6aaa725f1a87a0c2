#include "onnx/program.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "support/element.hpp"

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

void add_optional(Json& desc, const char* name, const std::optional<TensorDesc>& tensor) {
  if (tensor) desc[name] = tensor_json(*tensor);
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

struct DescJson {
  std::string_view type;
  Json members;
};

DescJson desc_json(const SliceDesc& desc) {
  return {"SLICE",
          {{"InputTensor", tensor_json(desc.input)},
           {"OutputTensor", tensor_json(desc.output)},
           {"DimensionCount", desc.offsets.size()},
           {"Offsets", desc.offsets},
           {"Sizes", desc.sizes},
           {"Strides", desc.strides}}};
}

DescJson desc_json(const Slice1Desc& desc) {
  return {"SLICE1",
          {{"InputTensor", tensor_json(desc.input)},
           {"OutputTensor", tensor_json(desc.output)},
           {"DimensionCount", desc.window_offsets.size()},
           {"InputWindowOffsets", desc.window_offsets},
           {"InputWindowSizes", desc.window_sizes},
           {"InputWindowStrides", desc.window_strides}}};
}

DescJson desc_json(const QuantizedLinearConvolutionDesc& desc) {
  Json json{{"InputTensor", tensor_json(desc.input)}, {"InputScaleTensor", tensor_json(desc.input_scale)}};
  add_optional(json, "InputZeroPointTensor", desc.input_zero_point);
  json["FilterTensor"] = tensor_json(desc.filter);
  json["FilterScaleTensor"] = tensor_json(desc.filter_scale);
  add_optional(json, "FilterZeroPointTensor", desc.filter_zero_point);
  add_optional(json, "BiasTensor", desc.bias);
  json["OutputScaleTensor"] = tensor_json(desc.output_scale);
  add_optional(json, "OutputZeroPointTensor", desc.output_zero_point);
  json["OutputTensor"] = tensor_json(desc.output);
  json["DimensionCount"] = desc.strides.size();
  json["Strides"] = desc.strides;
  json["Dilations"] = desc.dilations;
  json["StartPadding"] = desc.start_padding;
  json["EndPadding"] = desc.end_padding;
  json["GroupCount"] = desc.group_count;
  return {"QUANTIZED_LINEAR_CONVOLUTION", std::move(json)};
}

template <class Desc>
Json normalization_tensors(const Desc& desc) {
  Json json{{"InputTensor", tensor_json(desc.input)}};
  add_optional(json, "ScaleTensor", desc.scale);
  add_optional(json, "BiasTensor", desc.bias);
  json["OutputTensor"] = tensor_json(desc.output);
  return json;
}

template <class Desc>
void add_normalization_rest(Json& json, const Desc& desc) {
  json["NormalizeVariance"] = desc.normalize_variance;
  json["Epsilon"] = real_json(desc.epsilon);
  if (desc.fused_activation) json["FusedActivation"] = activation_json(*desc.fused_activation);
}

DescJson desc_json(const MeanVarianceNormalizationDesc& desc) {
  Json json = normalization_tensors(desc);
  json["CrossChannel"] = desc.cross_channel;
  add_normalization_rest(json, desc);
  return {"MEAN_VARIANCE_NORMALIZATION", std::move(json)};
}

DescJson desc_json(const MeanVarianceNormalization1Desc& desc) {
  Json json = normalization_tensors(desc);
  json["AxisCount"] = desc.axes.size();
  json["Axes"] = desc.axes;
  add_normalization_rest(json, desc);
  return {"MEAN_VARIANCE_NORMALIZATION1", std::move(json)};
}

/// Objects and arrays of the first `levels` levels on lines of their own, what is below them on one line.
void print(const Json& json, std::size_t levels, std::string indent, std::string& text) {
  if (levels == 0 || !json.is_structured() || json.empty()) {
    text += json.dump(-1, ' ', false, Json::error_handler_t::replace);
    return;
  }
  text += json.is_object() ? "{\n" : "[\n";
  indent += "  ";
  bool first = true;
  for (const auto& item : json.items()) {
    if (!first) text += ",\n";
    first = false;
    text += indent;
    if (json.is_object()) text += Json(item.key()).dump() + ": ";
    print(item.value(), levels - 1, indent, text);
  }
  indent.resize(indent.size() - 2);
  text += "\n" + indent + (json.is_object() ? "}" : "]");
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
  print(resources, 1, "  ", text);
  text += ",\n  \"dispatchables\": ";
  print(dispatchables, 3, "  ", text);
  text += ",\n  \"commands\": ";
  print(commands, 1, "  ", text);
  return text + "\n}\n";
}

}  // namespace dmlref::tool::onnx
