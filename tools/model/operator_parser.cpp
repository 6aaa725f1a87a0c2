#include "model/operator_parser.hpp"

#include <fmt/format.h>

#include <cstring>

#include "dmlref/desc/operator_names.hpp"
#include "dmlref/desc/tensor_desc.hpp"

namespace dmlref::tool {
namespace {

std::string names_of(std::span<const OperatorFields> list) {
  std::string names;
  for (const OperatorFields& row : list) names.append(names.empty() ? "" : ", ").append(row.name);
  return names;
}

/// Whether a name, with or without its prefix, is an operator's of DirectML.
bool is_of_directml(std::string_view name) {
  constexpr std::string_view prefix = "DML_OPERATOR_";
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  if (name == "SCATTER") return true;
  std::string_view known;
  for (std::uint32_t type = 1; !(known = directml_operator_name(type)).empty(); ++type) {
    if (known == name) return true;
  }
  return false;
}

std::string_view expectation(FieldKind kind) {
  switch (kind) {
    case FieldKind::input_tensor:
    case FieldKind::optional_input_tensor:
    case FieldKind::output_tensor: return R"(a tensor like {"DataType": "FLOAT32", "Sizes": [1, 2]})";
    case FieldKind::array_count:
    case FieldKind::uint: return "an unsigned integer";
    case FieldKind::boolean: return "true or false";
    case FieldKind::real: return R"(a number, "nan", "inf" or "-inf")";
    case FieldKind::uint_array: return "an array of unsigned integers";
    case FieldKind::int_array: return "an array of integers";
    case FieldKind::activation: return R"(an activation like {"Type": "ACTIVATION_RELU"})";
  }
  return "a value";
}

/// One name or several in an array, each with or without its prefix.
std::uint32_t parse_flags(const Node& node) {
  const auto one = [](const Node& flag) -> std::uint32_t {
    std::string_view name = flag.text("a flag's name");
    constexpr std::string_view prefix = "DML_TENSOR_FLAG_";
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
    if (name == "NONE") return DML_TENSOR_FLAG_NONE;
    if (name == "OWNED_BY_DML") return DML_TENSOR_FLAG_OWNED_BY_DML;
    flag.refuse("NONE or OWNED_BY_DML");
  };
  if (!node.json().is_array()) return one(node);
  std::uint32_t flags = 0;
  for (std::size_t i = 0; i < node.json().size(); ++i) flags |= one(node[i]);
  return flags;
}

template <class T>
void put(void* to, std::size_t offset, T value) {
  std::memcpy(static_cast<char*>(to) + offset, &value, sizeof(value));
}

void expect_count(const Node& array, std::size_t elements, std::uint64_t count, std::string_view count_name) {
  if (elements == count) return;
  array.fail(fmt::format("has {} elements, expected {} as {} says", elements, count, count_name));
}

/// What a member says that counts elements. Where it is missing or no such number, its own fault says so.
std::optional<UINT> count_of(const Node& object, std::string_view count_name) {
  const std::optional<Node> count = object.find(count_name);
  return count ? to_number<UINT>(count->json()) : std::nullopt;
}

void expect_count_of(const Node& object, const Node& array, std::size_t elements, std::string_view count_name) {
  if (const std::optional<UINT> count = count_of(object, count_name)) expect_count(array, elements, *count, count_name);
}

std::vector<std::string_view> keys_of(const OperatorFields& row) {
  std::vector<std::string_view> keys;
  for (const FieldInfo& field : row.fields) keys.push_back(field.name);
  return keys;
}

/// {"Type": ..., "Desc": {members}}, or "Type" and the members side by side. Both keys may be in lower case.
struct Typed {
  const Node& whole;
  std::optional<Node> type;
  Node members;

  explicit Typed(const Node& node)
      : whole(node), type(node.find_either("Type", "type")), members(node.find_either("Desc", "desc").value_or(node)) {}

  const Node& type_or_fail(std::string_view expected) const {
    if (!type) whole.at("type", expected);
    return *type;
  }
  /// Fails at a key that is neither one of the members nor one of the `settings` beside "Type".
  void expect_keys(std::span<const std::string_view> member_keys, std::span<const std::string_view> settings) const {
    std::vector<std::string_view> keys{"type", "desc", "Type", "Desc"};
    keys.insert(keys.end(), settings.begin(), settings.end());
    if (members.path() == whole.path()) {
      keys.insert(keys.end(), member_keys.begin(), member_keys.end());
    } else {
      members.expect_object(member_keys);
    }
    whole.expect_object(keys);
  }
};

/// "Type" of a tensor, which is BUFFER where it is not given.
void parse_tensor_type(const Typed& typed, DML_TENSOR_DESC& tensor) {
  tensor.Type = DML_TENSOR_TYPE_BUFFER;
  if (!typed.type) return;
  std::string_view name = typed.type->text();
  constexpr std::string_view prefix = "DML_TENSOR_TYPE_";
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  if (name == "INVALID") {
    tensor.Type = DML_TENSOR_TYPE_INVALID;
  } else if (name != "BUFFER") {
    typed.type->refuse("BUFFER");
  }
}

}  // namespace

ParsedOperator::ParsedOperator(const Node& dispatchable, std::initializer_list<std::string_view> settings,
                               std::span<const OperatorFields> known) {
  const Typed typed(dispatchable);
  const Node type = typed.type_or_fail("an operator's type like \"DML_OPERATOR_SLICE\"");
  fields_ = find_operator_fields(known, type.text());
  if (fields_ == nullptr) {
    const std::string expected = "one of the operators " + names_of(known);
    if (!is_of_directml(type.text())) type.refuse(expected);
    type.fail(fmt::format("is \"{}\", which DirectML has and dmlref has not, expected {}", type.text(), expected));
  }
  Faults faults;
  // After the type, which decides what keys a dispatchable has.
  const bool keys_known = faults.holds([&] { typed.expect_keys(keys_of(*fields_), settings); });
  desc_path_ = typed.members.path();
  desc_.Type = fields_->type;
  faults.collect([&] { desc_.Desc = parse_struct(typed.members, *fields_, keys_known); });
  faults.raise();
}

const void* ParsedOperator::parse_struct(const Node& object, const OperatorFields& row, bool keys_known) {
  auto& storage = structs_.emplace_back((row.size + 7) / 8);
  void* const to = storage.data();
  Faults faults;
  for (const FieldInfo& field : row.fields) {
    if (row.fused && is_tensor(field.kind)) continue;
    faults.collect([&] { parse_field(object, field, to, keys_known); });
  }
  faults.raise();
  return to;
}

void ParsedOperator::parse_field(const Node& object, const FieldInfo& field, void* to, bool keys_known) {
  const std::optional<Node> given = object.find(field.name);
  const bool tensor = is_tensor(field.kind);
  if (!given) {
    const bool optional = field.kind == FieldKind::optional_input_tensor || field.kind == FieldKind::activation ||
                          (!field.count.empty() && count_of(object, field.count) == UINT{0});
    if (!optional && keys_known) object.at(field.name, expectation(field.kind));
    if (tensor) tensors_.push_back({field.name, false, false, false});
    return;  // the storage is zeroed: null
  }
  switch (field.kind) {
    case FieldKind::input_tensor:
    case FieldKind::optional_input_tensor:
    case FieldKind::output_tensor: {
      const DML_TENSOR_DESC* parsed = parse_tensor(*given);
      put(to, field.offset, parsed);
      const auto* buffer = static_cast<const DML_BUFFER_TENSOR_DESC*>(parsed->Desc);
      tensors_.push_back({field.name, field.kind == FieldKind::output_tensor, true,
                          (static_cast<unsigned>(buffer->Flags) & DML_TENSOR_FLAG_OWNED_BY_DML) != 0});
      break;
    }
    case FieldKind::array_count:
    case FieldKind::uint: put(to, field.offset, given->number<UINT>()); break;
    case FieldKind::boolean: {
      const bool number = given->json().is_number_integer();
      put(to, field.offset, static_cast<BOOL>(number ? given->number<INT>() : given->boolean() ? 1 : 0));
      break;
    }
    case FieldKind::real: put(to, field.offset, given->number<FLOAT>()); break;
    case FieldKind::uint_array: {
      const auto& values = uint_arrays_.emplace_back(given->numbers<UINT>(expectation(field.kind)));
      expect_count_of(object, *given, values.size(), field.count);
      put(to, field.offset, values.data());
      break;
    }
    case FieldKind::int_array: {
      const auto& values = int_arrays_.emplace_back(given->numbers<INT>(expectation(field.kind)));
      expect_count_of(object, *given, values.size(), field.count);
      put(to, field.offset, values.data());
      break;
    }
    case FieldKind::activation: put(to, field.offset, parse_fusion(*given)); break;
  }
}

const DML_TENSOR_DESC* ParsedOperator::parse_tensor(const Node& node) {
  if (!node.json().is_object()) node.refuse(expectation(FieldKind::input_tensor));
  TensorStorage& storage = tensor_storage_.emplace_back();
  const Typed typed(node);
  const Node& members = typed.members;
  static constexpr std::string_view keys[] = {"DataType",
                                              "Flags",
                                              "DimensionCount",
                                              "Sizes",
                                              "Strides",
                                              "TotalTensorSizeInBytes",
                                              "GuaranteedBaseOffsetAlignment"};
  Faults faults;
  const bool keys_known = faults.holds([&] { typed.expect_keys(keys, {}); });
  faults.collect([&] { parse_tensor_type(typed, storage.tensor); });
  faults.collect([&] { parse_buffer(members, storage, keys_known); });
  faults.raise();
  storage.tensor.Desc = &storage.buffer;
  return &storage.tensor;
}
void ParsedOperator::parse_buffer(const Node& members, TensorStorage& storage, bool keys_known) {
  DML_BUFFER_TENSOR_DESC& buffer = storage.buffer;
  DataType type = DataType::unknown;
  Faults faults;
  faults.collect([&] {
    if (members.may_be_misspelt("DataType", keys_known)) return;
    const Node node = members.at("DataType", "a data type like \"FLOAT32\"");
    const std::optional<DataType> known = data_type_from_name(node.text());
    if (!known) node.refuse("one of " + data_type_names());
    type = *known;
    buffer.DataType = static_cast<DML_TENSOR_DATA_TYPE>(type);
  });
  faults.collect([&] {
    if (const auto flags = members.find("Flags")) buffer.Flags = static_cast<DML_TENSOR_FLAGS>(parse_flags(*flags));
  });
  faults.collect([&] {
    if (members.may_be_misspelt("Sizes", keys_known)) return;
    const Node sizes = members.at("Sizes", "an array of unsigned integers");
    storage.sizes = sizes.numbers<UINT>("an array of unsigned integers");
    buffer.DimensionCount = static_cast<UINT>(storage.sizes.size());
    if (const auto count = members.find("DimensionCount")) {
      expect_count(sizes, storage.sizes.size(), count->number<UINT>(), "DimensionCount");
    }
    buffer.Sizes = storage.sizes.data();
    const std::optional<Node> strides = members.find("Strides");
    if (strides && !(strides->json().is_array() && strides->json().empty())) {  // empty: null
      storage.strides = strides->numbers<UINT>("an array of unsigned integers");
      expect_count(*strides, storage.strides.size(), storage.sizes.size(), "the number of Sizes");
      buffer.Strides = storage.strides.data();
    }
  });
  faults.collect([&] {
    if (const auto total = members.find("TotalTensorSizeInBytes")) {
      buffer.TotalTensorSizeInBytes = total->number<UINT64>();
    }
  });
  faults.collect([&] {
    if (const auto alignment = members.find("GuaranteedBaseOffsetAlignment")) {
      buffer.GuaranteedBaseOffsetAlignment = alignment->number<UINT>();
    }
  });
  faults.raise();
  if (buffer.TotalTensorSizeInBytes == 0) {
    // 0 where there is no such size (an extent of 0, more than 64 bits): the validator says why.
    buffer.TotalTensorSizeInBytes = buffer_tensor_size(type, storage.sizes, storage.strides).value_or(0);
  }
}

const DML_OPERATOR_DESC* ParsedOperator::parse_fusion(const Node& node) {
  if (!node.json().is_object()) node.refuse(expectation(FieldKind::activation));
  const Typed typed(node);
  const Node type = typed.type_or_fail("an activation's type like \"ACTIVATION_RELU\"");
  const OperatorFields* row = find_operator_fields(fusable_operators(), type.text());
  if (row == nullptr) type.refuse("one of the activations " + names_of(fusable_operators()));
  DML_OPERATOR_DESC& fusion = fusions_.emplace_back();
  fusion.Type = row->type;
  Faults faults;
  const bool keys_known = faults.holds([&] { typed.expect_keys(keys_of(*row), {}); });
  faults.collect([&] { fusion.Desc = parse_struct(typed.members, *row, keys_known); });
  faults.raise();
  return &fusion;
}

}  // namespace dmlref::tool
