#include "kit/write.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <system_error>
#include <utility>

#include "io/file.hpp"
#include "io/npy.hpp"
#include "kit/build.hpp"
#include "support/failure.hpp"

namespace dmlref::tool::kit {
namespace {

namespace fs = std::filesystem;

/// The shape of a buffer's file: the tensor's where it is packed, else the buffer is a list.
List file_shape(const Json& tensor, std::uint64_t count) {
  if (!tensor.contains("Strides") && !tensor.contains("TotalTensorSizeInBytes")) return tensor["Sizes"].get<List>();
  return {static_cast<std::int64_t>(count)};
}

std::vector<std::byte> npy(DataType type, const List& shape, std::span<const std::byte> bytes) {
  const std::vector<std::uint64_t> extents(shape.begin(), shape.end());
  return write_npy(type, extents, bytes);
}

std::span<const std::byte> bytes_of_text(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

bool is_owned(const Json& desc, const std::string& tensor) {
  const auto found = desc.find(tensor);
  return found != desc.end() && found->value("Flags", "") == "OWNED_BY_DML";
}

void append(std::string& text, const Json& json, const std::string& indent) {
  const bool list =
      json.is_array() && std::none_of(json.begin(), json.end(), [](const Json& e) { return e.is_object(); });
  if (json.is_object() && json.size() <= 4 && indent.size() >= 4 &&
      std::none_of(json.begin(), json.end(), [](const Json& e) { return e.is_object() && e.size() > 2; })) {
    text += "{ ";
    const char* separator = "";
    for (const auto& [key, value] : json.items()) {
      text += fmt::format("{}\"{}\": ", std::exchange(separator, ", "), key);
      append(text, value, indent + "  ");
    }
    text += " }";
  } else if (json.is_structured() && !list) {
    const std::string inner = indent + "  ";
    text += json.is_object() ? "{" : "[";
    const char* separator = "\n";
    for (const auto& [key, value] : json.items()) {
      text += std::exchange(separator, ",\n") + inner;
      if (json.is_object()) text += fmt::format("\"{}\": ", key);
      append(text, value, inner);
    }
    text += "\n" + indent + (json.is_object() ? "}" : "]");
  } else {
    text += json.dump();
  }
}

void write_case(const Case& one, const std::function<void(const std::string&, std::span<const std::byte>)>& write) {
  for (const Input& input : one.inputs) {
    if (input.sequence) continue;
    const List shape = file_shape(one.desc[input.tensor], input.bytes.size() / size_of(input.type));
    const bool refused = !one.accepted_from.has_value();  // sizes are whatever they were changed to
    const List list{static_cast<std::int64_t>(input.bytes.size() / size_of(input.type))};
    write(input.tensor + ".npy", npy(input.type, refused ? list : shape, input.bytes));
  }
  write("model.json", bytes_of_text(text_of(model_of(one))));
  write("case.json", bytes_of_text(text_of(description_of(one))));
  if (!one.accepted_from) return;
  const List shape = file_shape(one.desc["OutputTensor"], spanned(one.output.sizes, one.output.strides));
  write(std::string("expected/") + output_file, npy(one.output.type, shape, one.output.bytes));
}

}  // namespace

std::string text_of(const Json& json) {
  std::string text;
  append(text, json, "");
  return text + "\n";
}

Json model_of(const Case& one) {
  Json resources;
  Json bindings;
  Json owned;
  for (const Input& input : one.inputs) {
    Json& resource = resources[input.tensor];
    if (input.sequence) {
      resource = {{"initialValuesDataType", to_string(input.type)},
                  {"initialValues",
                   {{"valueCount", input.sequence->count},
                    {"valueStart", input.sequence->start},
                    {"valueDelta", input.sequence->delta}}}};
    } else {
      resource["initialValues"]["sourcePath"] = input.tensor + ".npy";
    }
    (is_owned(one.desc, input.tensor) ? owned : bindings)[input.tensor] = input.tensor;
  }
  bindings["OutputTensor"] = "OutputTensor";
  // A refused descriptor may ask for any size: its buffers are never used.
  const std::uint64_t count = one.accepted_from ? spanned(one.output.sizes, one.output.strides) : 64;
  const std::string_view type = one.accepted_from ? to_string(one.output.type) : "FLOAT32";
  resources["OutputTensor"] = {{"initialValuesDataType", type},
                               {"initialValues", {{"valueCount", count}, {"value", static_cast<int>(output_filler)}}}};

  Json dispatchable{{"type", "DML_OPERATOR_" + one.op}, {"desc", one.desc}};
  if (!owned.empty()) dispatchable["bindings"] = owned;
  Json write{{"type", "writeFile"}, {"resource", "OutputTensor"}, {"targetPath", output_file}};
  write["dimensions"] = one.accepted_from ? file_shape(one.desc["OutputTensor"], count) : List{64};
  Json model;
  model["$schema"] = "../schema.json";
  model["resources"] = resources;
  model["dispatchables"]["operator"] = dispatchable;
  model["commands"] =
      Json::array({{{"type", "dispatch"}, {"dispatchable", "operator"}, {"bindings", bindings}}, write});
  return model;
}

Json description_of(const Case& one) {
  Json json{{"name", one.name}, {"operator", one.op}, {"expect", one.accepted_from ? "output" : "refused"}};
  if (one.accepted_from) json["feature_level"] = to_string(*one.accepted_from);
  json["fault_kind"] = one.kind;
  json["property"] = one.property;
  json["source"] = one.source;
  json["source_kind"] = name_of(one.source_kind());
  if (!one.rules.empty()) json["rules"] = one.rules;
  json["file"] = output_file;
  if (one.accepted_from) {
    json["data_type"] = to_string(one.output.type);
    json["sizes"] = one.output.sizes;
    if (!one.output.strides.empty()) json["strides"] = one.output.strides;
    json["tolerance"] = {{"bits", one.tolerance.bits},
                         {"absolute", one.tolerance.absolute},
                         {"ulp", one.tolerance.ulp},
                         {"source", one.tolerance.source}};
  }
  return json;
}

void write_kit(const fs::path& folder, const std::vector<Case>& cases) {
  std::error_code error;
  const bool existed = fs::exists(folder, error);
  if (existed && (!fs::is_directory(folder, error) || !fs::is_empty(folder, error))) {
    throw Failure(folder.string(), fs::is_directory(folder, error)
                                       ? "is a folder that holds something, expected a new or an empty one"
                                       : "is a file, expected a new or an empty folder");
  }
  std::vector<fs::path> written;  // directly in the folder
  try {
    const auto write = [&](const fs::path& path, std::span<const std::byte> bytes) {
      try {
        write_file(folder / path, bytes);
      } catch (const FileError& failed) {
        throw Failure((folder / path).string(), failed.what());
      }
    };
    for (const KitFile& file : kit_files()) {
      written.push_back(folder / file.name);
      write(file.name, bytes_of_text(file.text));
    }
    for (const Case& one : cases) {
      written.push_back(folder / one.name);
      write_case(one, [&](const std::string& name, std::span<const std::byte> bytes) {
        write(fs::path(one.name) / name, bytes);
      });
    }
  } catch (...) {
    for (const fs::path& path : written) fs::remove_all(path, error);
    if (!existed) fs::remove(folder, error);
    throw;
  }
}

}  // namespace dmlref::tool::kit
