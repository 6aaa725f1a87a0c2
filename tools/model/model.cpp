#include "model/model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <limits>

namespace dmlref::tool {
namespace {

/// The names of a map or a list, for messages; a long list is cut.
template <class Range, class Name>
std::string listed(const Range& range, Name name) {
  std::string text;
  std::size_t shown = 0;
  for (const auto& item : range) {
    if (++shown > 12) return text + ", ...";
    text.append(text.empty() ? "" : ", ").append(name(item));
  }
  return text.empty() ? "none, as there are none" : text;
}

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

/// What may be named. A resource or a dispatchable with faults of its own has a name all the same, so that one fault is
/// told once.
struct Names {
  const Json& resources;
  const Json& dispatchables;
  const Model& model;
};

std::string names_of(const Json& section) {
  return listed(section.items(), [](const auto& item) { return item.key(); });
}

const std::string& resource_name(const Names& names, const Node& node) {
  const std::string& name = node.text("the name of a resource");
  if (!names.resources.contains(name)) node.refuse("one of the resources " + names_of(names.resources));
  return name;
}

Binding parse_binding(const Names& names, const Node& given) {
  // A bind point of several resources is an array; no tensor here takes more than one.
  if (given.json().is_array() && given.json().size() != 1) given.refuse("one resource");
  const Node node = given.json().is_array() ? given[0] : given;
  Binding binding{node.path(), {}};
  if (node.json().is_string()) {
    binding.resource = resource_name(names, node);
    return binding;
  }
  if (!node.json().is_object()) node.refuse(R"(a resource's name, or {"name": ..., "elementOffset": ...})");
  Faults faults;
  // The last four are for shaders and ONNX models.
  const bool keys_known = faults.holds([&] {
    node.expect_object({"name", "elementCount", "elementSizeInBytes", "elementStride", "elementOffset", "format",
                        "counter", "counterOffsetBytes", "shape"});
  });
  if (!node.may_be_misspelt("name", keys_known)) {
    faults.collect([&] { binding.resource = resource_name(names, node.at("name", "the name of a resource")); });
  }
  const auto optional = [&](std::string_view key) {
    std::uint64_t number = 0;
    if (const auto member = node.find(key)) faults.collect([&] { number = member->number<std::uint64_t>(); });
    return number;
  };
  binding.element_count = optional("elementCount");
  const std::uint64_t size = optional("elementSizeInBytes"), stride = optional("elementStride");
  binding.element_size = (std::max)(size, stride);
  binding.element_offset = optional("elementOffset");
  faults.raise();
  return binding;
}

/// Bindings of the tensors for which `wanted` holds: each present one once, no other.
template <class Wanted>
Bindings parse_bindings(const Names& names, const Node& owner, const ParsedOperator& op, Wanted wanted,
                        std::string_view not_here) {
  Bindings bindings;
  Faults faults;
  const std::optional<Node> node = owner.find("bindings");
  if (node) {
    if (!node->json().is_object()) node->refuse("an object of tensors and resources");
    for (const auto& [name, value] : node->json().items()) {
      if (value.is_null()) continue;
      const Node given(node->file(), value, member_path(node->path(), name));
      faults.collect([&, &key = name] {
        const auto tensor = std::find_if(op.tensors().begin(), op.tensors().end(),
                                         [&](const TensorRole& role) { return role.name == key; });
        if (tensor == op.tensors().end()) {
          given.fail(fmt::format("names no tensor of {}, expected one of {}", op.name(),
                                 listed(op.tensors(), [](const TensorRole& role) { return role.name; })));
        }
        if (!tensor->present) given.fail("is bound, but the tensor is absent from the desc");
        if (!wanted(*tensor)) given.fail(std::string(not_here));
        bindings.emplace(key, parse_binding(names, given));
      });
    }
  }
  for (const TensorRole& role : op.tensors()) {
    if (!role.present || !wanted(role) || (node && node->find(role.name))) continue;
    faults.collect([&] {
      const std::string path = member_path(member_path(owner.path(), "bindings"), role.name);
      throw Failure(owner.file() + ": " + path,
                    fmt::format("is missing, expected a resource for {} of {}", role.name, op.name()));
    });
  }
  faults.raise();
  return bindings;
}

/// Empty where the dispatchable has faults, which are told already.
std::optional<DispatchCommand> parse_dispatch(const Names& names, const Node& node) {
  Faults faults;
  const bool keys_known = faults.holds([&] {
    node.expect_object({"type", "dispatchable", "bindings", "threadGroupCount"});
  });
  std::optional<DispatchCommand> command;
  faults.collect([&] {
    if (node.may_be_misspelt("dispatchable", keys_known)) return;
    const Node name = node.at("dispatchable", "the name of a dispatchable");
    if (!names.dispatchables.contains(name.text())) {
      name.refuse("one of the dispatchables " + names_of(names.dispatchables));
    }
    const auto found = names.model.dispatchables.find(name.text());
    if (found == names.model.dispatchables.end() || node.may_be_misspelt("bindings", keys_known)) return;
    command = {name.text(), parse_bindings(
                                names, node, found->second.op,
                                [](const TensorRole& role) { return role.output || !role.owned_by_dml; },
                                "is flagged OWNED_BY_DML, expected its binding in the dispatchable's \"bindings\"")};
  });
  faults.raise();
  return command;
}

/// The resource of a command.
void parse_resource(const Names& names, const Node& node, bool keys_known, Faults& faults, std::string& resource) {
  if (node.may_be_misspelt("resource", keys_known)) return;
  faults.collect([&] { resource = resource_name(names, node.at("resource", "the name of a resource")); });
}

PrintCommand parse_print(const Names& names, const Node& node) {
  Faults faults;
  PrintCommand command;
  const bool keys_known = faults.holds([&] { node.expect_object({"type", "resource", "verbose"}); });
  parse_resource(names, node, keys_known, faults, command.resource);
  if (const auto verbose = node.find("verbose")) faults.collect([&] { command.verbose = verbose->boolean(); });
  faults.raise();
  return command;
}

WriteFileCommand parse_write_file(const Names& names, const Node& node) {
  Faults faults;
  WriteFileCommand command;
  const bool keys_known = faults.holds([&] { node.expect_object({"type", "resource", "targetPath", "dimensions"}); });
  parse_resource(names, node, keys_known, faults, command.resource);
  if (!node.may_be_misspelt("targetPath", keys_known)) {
    faults.collect([&] {
      const Node target = node.at("targetPath", "the path of a file");
      command.target = target.text();
      if (command.target.empty()) target.refuse("the path of a file");
    });
  }
  if (const auto dimensions = node.find("dimensions")) {
    faults.collect([&] {
      for (const std::uint32_t extent : dimensions->numbers<std::uint32_t>("an array of unsigned integers")) {
        if (extent == 0) dimensions->fail("has an extent of 0, expected at least 1");
        command.dimensions.push_back(extent);
      }
      if (command.dimensions.size() > 32) dimensions->refuse("at most 32 extents");
    });
  }
  faults.raise();
  return command;
}

void add_command(const Names& names, const Node& node, std::vector<Command>& commands) {
  if (!node.json().is_object()) node.refuse("a command like {\"type\": \"print\", ...}");
  const Node type = node.at("type", "dispatch, print or writeFile");
  if (same_word(type.text(), "dispatch")) {
    if (auto dispatch = parse_dispatch(names, node)) commands.push_back({node.path(), *std::move(dispatch)});
  } else if (same_word(type.text(), "print")) {
    commands.push_back({node.path(), parse_print(names, node)});
  } else if (same_word(type.text(), "writeFile")) {
    commands.push_back({node.path(), parse_write_file(names, node)});
  } else {
    type.refuse("dispatch, print or writeFile");
  }
}

Dispatchable parse_dispatchable(const Names& names, const std::string& name, const Node& node) {
  if (!node.json().is_object()) node.refuse(R"(an operator like {"type": "DML_OPERATOR_SLICE", "desc": {...}})");
  std::optional<ParsedOperator> op;
  Bindings owned;
  Faults faults;
  faults.collect([&] {
    op.emplace(node, std::initializer_list<std::string_view>{"bindings", "dmlCompileType", "executionFlags"});
  });
  // Two settings of a GPU's driver, without meaning here; a wrong value is a mistake all the same.
  faults.collect([&] {
    const auto compile = node.find("dmlCompileType");
    if (compile && compile->text() != "DmlCompileOp" && compile->text() != "DmlCompileGraph") {
      compile->refuse("DmlCompileOp or DmlCompileGraph");
    }
  });
  if (op) {
    faults.collect([&] {
      owned = parse_bindings(
          names, node, *op, [](const TensorRole& role) { return role.owned_by_dml && !role.output; },
          "is not flagged OWNED_BY_DML, expected its binding in the dispatch command");
    });
  }
  faults.raise();
  return {name, node.path(), *std::move(op), std::move(owned)};
}

Node section(const Node& root, std::string_view key, bool array) {
  const Node node = root.at(key, array ? "an array" : "an object");
  if (array ? !node.json().is_array() : !node.json().is_object()) node.refuse(array ? "an array" : "an object");
  return node;
}

}  // namespace

Model parse_model(const std::filesystem::path& path) { return parse_model(Document(path), path.parent_path()); }

Model parse_model(const Document& document, const std::filesystem::path& folder) {
  const Node root = document.root();
  if (!root.json().is_object()) root.refuse("an object");
  Faults faults;
  const bool keys_known = faults.holds([&] {
    root.expect_object({"$schema", "resources", "dispatchables", "commands"});
  });
  bool is_whole = true;
  for (const std::string_view name : {"resources", "dispatchables", "commands"}) {
    is_whole = !root.may_be_misspelt(name, keys_known) &&
               faults.holds([&] { section(root, name, name == "commands"); }) && is_whole;
  }
  if (!is_whole) faults.raise();  // whatever names a part that is not there would be a fault, too
  const Node resources = section(root, "resources", false);
  const Node dispatchables = section(root, "dispatchables", false);
  const Node commands = section(root, "commands", true);

  Model model;
  model.file = document.file();
  try {
    model.memory = Reservation(document.memory(), "what its values mean");
  } catch (const FileError& error) {
    throw Failure(model.file, error.what());
  }
  const Names names{resources.json(), dispatchables.json(), model};
  for (const auto& [name, value] : resources.json().items()) {
    faults.collect([&, &key = name, &desc = value] {
      const Node node(document.file(), desc, member_path(resources.path(), key));
      model.resources.emplace(key, ResourceDesc(node, folder));
    });
  }
  for (const auto& [name, value] : dispatchables.json().items()) {
    faults.collect([&, &key = name, &desc = value] {
      const Node node(document.file(), desc, member_path(dispatchables.path(), key));
      model.dispatchables.emplace(key, parse_dispatchable(names, key, node));
    });
  }
  for (std::size_t i = 0; i < commands.json().size(); ++i) {
    faults.collect([&] { add_command(names, commands[i], model.commands); });
  }
  faults.raise();
  return model;
}

}  // namespace dmlref::tool
