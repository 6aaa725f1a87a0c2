#include "model/operator_fields.hpp"

#include <array>
#include <iterator>
#include <string>
#include <vector>

#include "dmlref/desc/activation.hpp"

namespace dmlref::tool {
namespace {

using Slice = DML_SLICE_OPERATOR_DESC;
constexpr Field slice_fields[] = {
    {"InputTensor", FieldKind::input, offsetof(Slice, InputTensor)},
    {"OutputTensor", FieldKind::output, offsetof(Slice, OutputTensor)},
    {"DimensionCount", FieldKind::uint, offsetof(Slice, DimensionCount)},
    {"Offsets", FieldKind::uint_array, offsetof(Slice, Offsets), "DimensionCount"},
    {"Sizes", FieldKind::uint_array, offsetof(Slice, Sizes), "DimensionCount"},
    {"Strides", FieldKind::uint_array, offsetof(Slice, Strides), "DimensionCount"},
};

using Slice1 = DML_SLICE1_OPERATOR_DESC;
constexpr Field slice1_fields[] = {
    {"InputTensor", FieldKind::input, offsetof(Slice1, InputTensor)},
    {"OutputTensor", FieldKind::output, offsetof(Slice1, OutputTensor)},
    {"DimensionCount", FieldKind::uint, offsetof(Slice1, DimensionCount)},
    {"InputWindowOffsets", FieldKind::uint_array, offsetof(Slice1, InputWindowOffsets), "DimensionCount"},
    {"InputWindowSizes", FieldKind::uint_array, offsetof(Slice1, InputWindowSizes), "DimensionCount"},
    {"InputWindowStrides", FieldKind::int_array, offsetof(Slice1, InputWindowStrides), "DimensionCount"},
};

using Qlc = DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC;
constexpr Field qlc_fields[] = {
    {"InputTensor", FieldKind::input, offsetof(Qlc, InputTensor)},
    {"InputScaleTensor", FieldKind::input, offsetof(Qlc, InputScaleTensor)},
    {"InputZeroPointTensor", FieldKind::optional_input, offsetof(Qlc, InputZeroPointTensor)},
    {"FilterTensor", FieldKind::input, offsetof(Qlc, FilterTensor)},
    {"FilterScaleTensor", FieldKind::input, offsetof(Qlc, FilterScaleTensor)},
    {"FilterZeroPointTensor", FieldKind::optional_input, offsetof(Qlc, FilterZeroPointTensor)},
    {"BiasTensor", FieldKind::optional_input, offsetof(Qlc, BiasTensor)},
    {"OutputScaleTensor", FieldKind::input, offsetof(Qlc, OutputScaleTensor)},
    {"OutputZeroPointTensor", FieldKind::optional_input, offsetof(Qlc, OutputZeroPointTensor)},
    {"OutputTensor", FieldKind::output, offsetof(Qlc, OutputTensor)},
    {"DimensionCount", FieldKind::uint, offsetof(Qlc, DimensionCount)},
    {"Strides", FieldKind::uint_array, offsetof(Qlc, Strides), "DimensionCount"},
    {"Dilations", FieldKind::uint_array, offsetof(Qlc, Dilations), "DimensionCount"},
    {"StartPadding", FieldKind::uint_array, offsetof(Qlc, StartPadding), "DimensionCount"},
    {"EndPadding", FieldKind::uint_array, offsetof(Qlc, EndPadding), "DimensionCount"},
    {"GroupCount", FieldKind::uint, offsetof(Qlc, GroupCount)},
};

using Mvn = DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC;
constexpr Field mvn_fields[] = {
    {"InputTensor", FieldKind::input, offsetof(Mvn, InputTensor)},
    {"ScaleTensor", FieldKind::optional_input, offsetof(Mvn, ScaleTensor)},
    {"BiasTensor", FieldKind::optional_input, offsetof(Mvn, BiasTensor)},
    {"OutputTensor", FieldKind::output, offsetof(Mvn, OutputTensor)},
    {"CrossChannel", FieldKind::boolean, offsetof(Mvn, CrossChannel)},
    {"NormalizeVariance", FieldKind::boolean, offsetof(Mvn, NormalizeVariance)},
    {"Epsilon", FieldKind::real, offsetof(Mvn, Epsilon)},
    {"FusedActivation", FieldKind::optional_fusion, offsetof(Mvn, FusedActivation)},
};

using Mvn1 = DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC;
constexpr Field mvn1_fields[] = {
    {"InputTensor", FieldKind::input, offsetof(Mvn1, InputTensor)},
    {"ScaleTensor", FieldKind::optional_input, offsetof(Mvn1, ScaleTensor)},
    {"BiasTensor", FieldKind::optional_input, offsetof(Mvn1, BiasTensor)},
    {"OutputTensor", FieldKind::output, offsetof(Mvn1, OutputTensor)},
    {"AxisCount", FieldKind::uint, offsetof(Mvn1, AxisCount)},
    {"Axes", FieldKind::uint_array, offsetof(Mvn1, Axes), "AxisCount"},
    {"NormalizeVariance", FieldKind::boolean, offsetof(Mvn1, NormalizeVariance)},
    {"Epsilon", FieldKind::real, offsetof(Mvn1, Epsilon)},
    {"FusedActivation", FieldKind::optional_fusion, offsetof(Mvn1, FusedActivation)},
};

constexpr OperatorFields operator_list[] = {
    {"SLICE", DML_OPERATOR_SLICE, sizeof(Slice), slice_fields},
    {"SLICE1", DML_OPERATOR_SLICE1, sizeof(Slice1), slice1_fields},
    {"QUANTIZED_LINEAR_CONVOLUTION", DML_OPERATOR_QUANTIZED_LINEAR_CONVOLUTION, sizeof(Qlc), qlc_fields},
    {"MEAN_VARIANCE_NORMALIZATION", DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION, sizeof(Mvn), mvn_fields},
    {"MEAN_VARIANCE_NORMALIZATION1", DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION1, sizeof(Mvn1), mvn1_fields},
};

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

constexpr Field clip_fields[] = {
    {"InputTensor", FieldKind::unused_tensor, offsetof(Clip, InputTensor)},
    {"OutputTensor", FieldKind::unused_tensor, offsetof(Clip, OutputTensor)},
    {"Min", FieldKind::real, offsetof(Clip, Min)},
    {"Max", FieldKind::real, offsetof(Clip, Max)},
};
constexpr Field softmax1_fields[] = {
    {"InputTensor", FieldKind::unused_tensor, offsetof(Softmax1, InputTensor)},
    {"OutputTensor", FieldKind::unused_tensor, offsetof(Softmax1, OutputTensor)},
    {"AxisCount", FieldKind::uint, offsetof(Softmax1, AxisCount)},
    {"Axes", FieldKind::uint_array, offsetof(Softmax1, Axes), "AxisCount"},
};

struct FusableList {
  std::vector<std::vector<Field>> fields;
  std::vector<std::string> names;
  std::vector<OperatorFields> rows;

  FusableList() {
    names.reserve(activation_table.size());
    fields.reserve(activation_table.size() + 1);
    const Field tensors[] = {{"InputTensor", FieldKind::unused_tensor, offsetof(Activation2, InputTensor)},
                             {"OutputTensor", FieldKind::unused_tensor, offsetof(Activation2, OutputTensor)}};
    for (const ActivationInfo& info : activation_table) {
      std::vector<Field>& row = fields.emplace_back(std::begin(tensors), std::end(tensors));
      constexpr std::size_t offsets[] = {offsetof(Activation2, First), offsetof(Activation2, Second)};
      for (std::size_t p = 0; p < info.parameter_names.size(); ++p) {
        if (!info.parameter_names[p].empty()) row.push_back({info.parameter_names[p], FieldKind::real, offsets[p]});
      }
      names.push_back("ACTIVATION_" + std::string(info.name));
      rows.push_back({names.back(), static_cast<DML_OPERATOR_TYPE>(info.type), sizeof(Activation2), row});
    }
    const auto& softmax = fields.emplace_back(std::begin(tensors), std::end(tensors));
    rows.push_back({"ACTIVATION_SOFTMAX", DML_OPERATOR_ACTIVATION_SOFTMAX, sizeof(Activation2), softmax});
    rows.push_back({"ACTIVATION_SOFTMAX1", DML_OPERATOR_ACTIVATION_SOFTMAX1, sizeof(Softmax1), softmax1_fields});
    rows.push_back({"ELEMENT_WISE_CLIP", DML_OPERATOR_ELEMENT_WISE_CLIP, sizeof(Clip), clip_fields});
  }
};

}  // namespace

std::span<const OperatorFields> operators() { return operator_list; }

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
