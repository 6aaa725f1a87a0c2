#include "model/operator_fields.hpp"

#include <iterator>
#include <string>
#include <vector>

#include "dmlref/desc/activation.hpp"

namespace dmlref::tool {
namespace {

// Every activation struct is two tensors, then up to two floats: the library's table of activations names them. CLIP,
// which only other operators fuse, has a third pointer between.
struct Clip {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  const void* ScaleBias;
  FLOAT Min;
  FLOAT Max;
};
struct Softmax1 {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  UINT AxisCount;
  const UINT* Axes;
};
struct Activation2 {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  FLOAT First;
  FLOAT Second;
};
static_assert(sizeof(Activation2) == sizeof(DML_ACTIVATION_SHRINK_OPERATOR_DESC) &&
              offsetof(Activation2, Second) == offsetof(DML_ACTIVATION_SHRINK_OPERATOR_DESC, Threshold));

constexpr FieldInfo field(std::string_view name, FieldKind kind, std::size_t offset, std::string_view count = {},
                          std::size_t count_offset = 0) {
  return {name, kind, count, {}, offset, count_offset};
}
constexpr FieldInfo activation_tensors[] = {
    field("InputTensor", FieldKind::optional_input_tensor, offsetof(Activation2, InputTensor)),
    field("OutputTensor", FieldKind::optional_input_tensor, offsetof(Activation2, OutputTensor)),
};
constexpr FieldInfo clip_fields[] = {
    activation_tensors[0],
    activation_tensors[1],
    field("Min", FieldKind::real, offsetof(Clip, Min)),
    field("Max", FieldKind::real, offsetof(Clip, Max)),
};
constexpr FieldInfo softmax1_fields[] = {
    activation_tensors[0],
    activation_tensors[1],
    field("AxisCount", FieldKind::array_count, offsetof(Softmax1, AxisCount)),
    field("Axes", FieldKind::uint_array, offsetof(Softmax1, Axes), "AxisCount", offsetof(Softmax1, AxisCount)),
};

struct FusableList {
  std::vector<std::vector<FieldInfo>> fields;
  std::vector<std::string> names;
  std::vector<OperatorFields> rows;

  FusableList() {
    names.reserve(activation_table.size());
    fields.reserve(activation_table.size());
    for (const ActivationInfo& info : activation_table) {
      std::vector<FieldInfo>& row = fields.emplace_back(std::begin(activation_tensors), std::end(activation_tensors));
      constexpr std::size_t offsets[] = {offsetof(Activation2, First), offsetof(Activation2, Second)};
      for (std::size_t p = 0; p < info.parameter_names.size(); ++p) {
        if (!info.parameter_names[p].empty())
          row.push_back(field(info.parameter_names[p], FieldKind::real, offsets[p]));
      }
      names.push_back("ACTIVATION_" + std::string(info.name));
      add(names.back(), static_cast<DML_OPERATOR_TYPE>(info.type), sizeof(Activation2), row);
    }
    add("ACTIVATION_SOFTMAX", DML_OPERATOR_ACTIVATION_SOFTMAX, sizeof(Activation2), activation_tensors);
    add("ACTIVATION_SOFTMAX1", DML_OPERATOR_ACTIVATION_SOFTMAX1, sizeof(Softmax1), softmax1_fields);
    add("ELEMENT_WISE_CLIP", DML_OPERATOR_ELEMENT_WISE_CLIP, sizeof(Clip), clip_fields);
  }
  void add(std::string_view name, DML_OPERATOR_TYPE type, std::size_t size, std::span<const FieldInfo> of) {
    rows.push_back({name, type, size, of, FeatureLevel{}, true});
  }
};

}  // namespace

std::span<const OperatorFields> operators() {
  static const auto list = operator_fields<schema::Operators>();
  return list;
}

std::span<const OperatorFields> fusable_operators() {
  static const FusableList list;
  return list.rows;
}

const OperatorFields* find_operator_fields(std::span<const OperatorFields> list, std::string_view name) {
  constexpr std::string_view prefix = "DML_OPERATOR_";
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  for (const OperatorFields& row : list) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace dmlref::tool
