// rules_test.cpp: every rule broken once, alone, at every level: the last that refuses and the first that accepts among
// them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <functional>
#include <limits>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dmlref/validate/read_directml.hpp"
#include "validate/request.hpp"

namespace {

using dmlref::FeatureLevel;
using dmlref::RuleId;
using dmlref::ViolationKind;
using request::Request;

constexpr std::uint32_t never = 0;
constexpr UINT huge = (std::numeric_limits<UINT>::max)();

struct Expected {
  RuleId rule;
  std::string field;
  std::string value;  // what the message says it is
};

struct Row {
  Request valid;
  std::function<void(Request&)> edit;
  std::vector<Expected> expected;
  std::uint32_t from = never;  // the first level that accepts the edited request
  std::uint32_t since = 0;     // the first level that accepts the valid one, where that is not the operator's first

  friend void PrintTo(const Row& row, std::ostream* out) { *out << row.expected[0].field; }
};

std::uint32_t introduced(std::uint32_t type) {
  if (type == 171) return 0x6300;
  return type == 33 || type == 34 || type == 60 || type == 73 ? 0x1000 : 0x2100;
}

const std::vector<Row>& rows() {
  using namespace request;
  using Id = RuleId;
  static const std::vector<Row> all = {
      // The request as a whole
      {slice(), [](Request& r) { r.type = 0; }, {{Id::operator_type, "Type", "is 0"}}},
      {slice(),
       [](Request& r) { r.type = 148; },
       {{Id::operator_type, "Type", "is DML_OPERATOR_DYNAMIC_QUANTIZE_LINEAR (148)"}}},
      {slice(), [](Request& r) { r.type = 0xFFFFFFFF; }, {{Id::operator_type, "Type", "is 4294967295"}}},
      {slice(), [](Request& r) { r.desc_is_null = true; }, {{Id::desc_required, "Desc", "is null"}}},

      // Tensors
      {slice(),
       [](Request& r) { r.tensors.erase("OutputTensor"); },
       {{Id::tensor_required, "OutputTensor", "is null"}}},
      {convolution(),
       [](Request& r) { r.tensors.erase("FilterScaleTensor"); },
       {{Id::tensor_required, "FilterScaleTensor", "is null"}}},
      {normalization1(),
       [](Request& r) { r.tensors.erase("InputTensor"); },
       {{Id::tensor_required, "InputTensor", "is null"}}},
      {slice(), [](Request& r) { r.tensors["InputTensor"].type = 0; }, {{Id::tensor_type, "InputTensor.Type", "is 0"}}},
      {convolution(),
       [](Request& r) { r.tensors["BiasTensor"].type = 77; },
       {{Id::tensor_type, "BiasTensor.Type", "is 77"}}},
      {normalization(),
       [](Request& r) { r.tensors["BiasTensor"].desc_is_null = true; },
       {{Id::tensor_desc_required, "BiasTensor.Desc", "is null"}}},
      {slice1(),
       [](Request& r) { r.tensors["InputTensor"].sizes_are_null = true; },
       {{Id::array_required, "InputTensor.Sizes", "is null"}}},
      {slice(), [](Request& r) { r.arrays.erase("Offsets"); }, {{Id::array_required, "Offsets", "is null"}}},
      {slice1(),
       [](Request& r) { r.arrays.erase("InputWindowStrides"); },
       {{Id::array_required, "InputWindowStrides", "is null"}}},
      {convolution(),
       [](Request& r) { r.arrays.erase("EndPadding"); },
       {{Id::array_required, "EndPadding", "is null"}}},
      {normalization1(), [](Request& r) { r.arrays.erase("Axes"); }, {{Id::array_required, "Axes", "is null"}}},
      {slice(),
       [](Request& r) { r.tensors["InputTensor"].dimension_count = 0; },
       {{Id::tensor_dimension_count, "InputTensor.DimensionCount", "is 0"}}},
      {convolution(),
       [](Request& r) { r.tensors["InputScaleTensor"].dimension_count = 9; },
       {{Id::tensor_dimension_count, "InputScaleTensor.DimensionCount", "is 9"}}},
      {normalization1(),
       [](Request& r) { r.tensors["OutputTensor"].dimension_count = huge; },
       {{Id::tensor_dimension_count, "OutputTensor.DimensionCount", "is 4294967295"}}},
      {convolution(),
       [](Request& r) {
         r.tensors["OutputScaleTensor"].sizes = {1, 1, 1, 1, 1};
       },
       {{Id::tensor_rank, "OutputScaleTensor.DimensionCount", "is 5"}}},
      {convolution(),
       [](Request& r) {
         r.tensors["OutputScaleTensor"].sizes = {1, 1};
       },
       {{Id::tensor_rank, "OutputScaleTensor.DimensionCount", "is 2"}},
       0x4000},
      {convolution(),
       [](Request& r) {
         r.tensors["FilterScaleTensor"].sizes = {1, 6, 1};
       },
       {{Id::tensor_rank, "FilterScaleTensor.DimensionCount", "is 3"}},
       0x4000},
      {convolution(),
       [](Request& r) { r.tensors["FilterScaleTensor"].sizes = {6}; },
       {{Id::tensor_rank, "FilterScaleTensor.DimensionCount", "is 1"}},
       0x5200},
      {convolution(),
       [](Request& r) { r.tensors["FilterZeroPointTensor"].sizes = {6}; },
       {{Id::tensor_rank, "FilterZeroPointTensor.DimensionCount", "is 1"}},
       0x4000},
      {slice(),
       [](Request& r) {
         r.tensors["InputTensor"].sizes = r.tensors["OutputTensor"].sizes = {4, 4, 4};
         r.arrays = {{"Offsets", {0, 0, 0}}, {"Sizes", {4, 4, 4}}, {"Strides", {1, 1, 1}}};
         r.count = 3;
       },
       {{Id::tensor_rank, "InputTensor.DimensionCount", "is 3"},
        {Id::tensor_rank, "OutputTensor.DimensionCount", "is 3"},
        {Id::slice_dimension_count, "DimensionCount", "is 3"}},
       0x3000},
      {slice1(),
       [](Request& r) {
         r.tensors["InputTensor"].sizes = r.tensors["OutputTensor"].sizes = {1, 1, 1, 1, 1, 4};
         r.arrays = {{"InputWindowOffsets", {0, 0, 0, 0, 0, 0}},
                     {"InputWindowSizes", {1, 1, 1, 1, 1, 4}},
                     {"InputWindowStrides", {1, 1, 1, 1, 1, 1}}};
         r.count = 6;
       },
       {{Id::tensor_rank, "InputTensor.DimensionCount", "is 6"},
        {Id::tensor_rank, "OutputTensor.DimensionCount", "is 6"},
        {Id::slice_dimension_count, "DimensionCount", "is 6"}},
       0x3000},
      {normalization(),
       [](Request& r) {
         for (auto& [name, tensor] : r.tensors) tensor.sizes = {3, 4, 5};
       },
       {{Id::tensor_rank, "InputTensor.DimensionCount", "is 3"},
        {Id::tensor_rank, "ScaleTensor.DimensionCount", "is 3"},
        {Id::tensor_rank, "BiasTensor.DimensionCount", "is 3"},
        {Id::tensor_rank, "OutputTensor.DimensionCount", "is 3"}}},
      {normalization1(),
       [](Request& r) {
         for (auto& [name, tensor] : r.tensors) tensor.sizes = {7};
         r.arrays["Axes"] = {0};
         r.count = 1;
       },
       {{Id::tensor_rank, "InputTensor.DimensionCount", "is 1"},
        {Id::tensor_rank, "ScaleTensor.DimensionCount", "is 1"},
        {Id::tensor_rank, "BiasTensor.DimensionCount", "is 1"},
        {Id::tensor_rank, "OutputTensor.DimensionCount", "is 1"}},
       0x3100},
      {slice(),
       [](Request& r) {
         r.tensors["OutputTensor"].sizes = {1, 1, 2, 2, 1};
       },
       {{Id::tensor_rank_match, "OutputTensor.DimensionCount", "is 5"}}},
      {normalization1(),
       [](Request& r) {
         r.tensors["ScaleTensor"].sizes = {3, 1, 1};
       },
       {{Id::tensor_rank_match, "ScaleTensor.DimensionCount", "is 3"}}},
      {convolution(),
       [](Request& r) {
         r.tensors["BiasTensor"].sizes = {1, 6, 1};
       },
       {{Id::tensor_rank_match, "BiasTensor.DimensionCount", "is 3"}}},
      {slice(),
       [](Request& r) { r.tensors["InputTensor"].data_type = r.tensors["OutputTensor"].data_type = 5; },
       {{Id::tensor_data_type, "InputTensor.DataType", "is UINT8"},
        {Id::tensor_data_type, "OutputTensor.DataType", "is UINT8"}},
       0x2100},
      {slice1(),
       [](Request& r) { r.tensors["InputTensor"].data_type = r.tensors["OutputTensor"].data_type = 9; },
       {{Id::tensor_data_type, "InputTensor.DataType", "is FLOAT64"},
        {Id::tensor_data_type, "OutputTensor.DataType", "is FLOAT64"}},
       0x4100},
      {slice(),
       [](Request& r) { r.tensors["OutputTensor"].data_type = 12; },
       {{Id::tensor_data_type, "OutputTensor.DataType", "is UINT4"}}},
      {slice(),
       [](Request& r) { r.tensors["InputTensor"].data_type = 0; },
       {{Id::tensor_data_type, "InputTensor.DataType", "is UNKNOWN"}}},
      {normalization(),
       [](Request& r) { r.tensors["InputTensor"].data_type = 9999; },
       {{Id::tensor_data_type, "InputTensor.DataType", "is 9999"}}},
      {convolution(),
       [](Request& r) { r.tensors["OutputScaleTensor"].data_type = 2; },
       {{Id::tensor_data_type, "OutputScaleTensor.DataType", "is FLOAT16"}}},
      {convolution(),
       [](Request& r) { r.tensors["BiasTensor"].data_type = 1; },
       {{Id::tensor_data_type, "BiasTensor.DataType", "is FLOAT32"}}},
      {slice(),
       [](Request& r) { r.tensors["OutputTensor"].data_type = 6; },
       {{Id::tensor_data_type_match, "OutputTensor.DataType", "is INT32"}}},
      {slice(),
       [](Request& r) { r.tensors["OutputTensor"].data_type = 9; },
       {{Id::tensor_data_type_match, "OutputTensor.DataType", "is FLOAT64"}}},
      {convolution(),
       [](Request& r) { r.tensors["FilterZeroPointTensor"].data_type = 5; },
       {{Id::tensor_data_type_match, "FilterZeroPointTensor.DataType", "is UINT8"}}},
      {convolution(),
       [](Request& r) { r.tensors["OutputZeroPointTensor"].data_type = 8; },
       {{Id::tensor_data_type_match, "OutputZeroPointTensor.DataType", "is INT8"}}},
      {normalization(),
       [](Request& r) { r.tensors["BiasTensor"].data_type = 2; },
       {{Id::tensor_data_type_match, "BiasTensor.DataType", "is FLOAT16"}}},
      {slice(),
       [](Request& r) { r.tensors["InputTensor"].flags = 2; },
       {{Id::tensor_flags, "InputTensor.Flags", "is 2"}}},
      {normalization(),
       [](Request& r) { r.tensors["OutputTensor"].flags = 1; },
       {{Id::tensor_owned_by_dml, "OutputTensor.Flags", "is 1"}}},
      {slice1(),
       [](Request& r) { r.tensors["InputTensor"].sizes[2] = 0; },
       {{Id::tensor_size_zero, "InputTensor.Sizes[2]", "is 0"}}},
      {convolution(),
       [](Request& r) { r.tensors["FilterTensor"].sizes[0] = 0; },
       {{Id::tensor_size_zero, "FilterTensor.Sizes[0]", "is 0"}}},
      {slice(),
       [](Request& r) {
         r.tensors["InputTensor"].sizes = {1, 1, 65536, 65536};
         r.tensors["InputTensor"].total_size = UINT64{1} << 34;
       },
       {{Id::tensor_element_limit, "InputTensor.Sizes", "4294967296 elements"}}},
      {slice(),
       [](Request& r) {
         r.tensors["InputTensor"].sizes = {huge, huge, huge, 4};
       },
       {{Id::tensor_element_limit, "InputTensor.Sizes", "more than 2^64 elements"}}},
      {slice(),
       [](Request& r) {
         r.tensors["InputTensor"].strides = {0, 0, huge, 1};
       },
       {{Id::tensor_element_limit, "InputTensor.Strides", "12884901889 elements"}}},
      {slice(),
       [](Request& r) { r.tensors["InputTensor"].total_size = (UINT64{1} << 34) - 3; },
       {{Id::tensor_element_limit, "InputTensor.TotalTensorSizeInBytes",
         "is 17179869181, expected at most 17179869180, which 4294967295 elements take"}}},
      {convolution(),
       [](Request& r) { r.tensors["OutputTensor"].total_size = (UINT64{1} << 32) + 1; },
       {{Id::tensor_element_limit, "OutputTensor.TotalTensorSizeInBytes",
         "is 4294967297, expected at most 4294967296"}}},
      {normalization(),
       [](Request& r) { r.tensors["ScaleTensor"].total_size = ~UINT64{0}; },
       {{Id::tensor_element_limit, "ScaleTensor.TotalTensorSizeInBytes", "is 18446744073709551615"}}},
      {slice(),
       [](Request& r) { r.tensors["InputTensor"].total_size = 63; },
       {{Id::tensor_total_size, "InputTensor.TotalTensorSizeInBytes", "is 63"}}},
      {convolution(),
       [](Request& r) { r.tensors["InputZeroPointTensor"].total_size = 1; },
       {{Id::tensor_total_size, "InputZeroPointTensor.TotalTensorSizeInBytes", "is 1, expected at least 4"}}},
      {normalization(),
       [](Request& r) {
         r.tensors["ScaleTensor"].strides = {0, 5, 0, 0};
         r.tensors["ScaleTensor"].total_size = 40;
       },
       {{Id::tensor_total_size, "ScaleTensor.TotalTensorSizeInBytes", "is 40, expected at least 44"}}},
      {slice(),
       [](Request& r) { r.tensors["InputTensor"].alignment = 48; },
       {{Id::tensor_alignment, "InputTensor.GuaranteedBaseOffsetAlignment", "is 48"}}},
      {slice(),
       [](Request& r) { r.tensors["OutputTensor"].alignment = 2; },
       {{Id::tensor_alignment, "OutputTensor.GuaranteedBaseOffsetAlignment", "is 2"}}},
      {slice(),
       [](Request& r) {
         r.tensors["OutputTensor"].strides = {4, 4, 0, 1};
       },
       {{Id::output_strides_overlap, "OutputTensor.Strides[2]", "is 0"}}},
      {convolution(),
       [](Request& r) {
         r.tensors["OutputTensor"].strides = {36, 6, 2, 2};
       },
       {{Id::output_strides_overlap, "OutputTensor.Strides[2]", "is 2"}}},

      // SLICE
      {slice(), [](Request& r) { r.count = 0; }, {{Id::slice_dimension_count, "DimensionCount", "is 0"}}},
      {slice(), [](Request& r) { r.count = 3; }, {{Id::slice_dimension_count, "DimensionCount", "is 3"}}},
      {slice1(), [](Request& r) { r.count = huge; }, {{Id::slice_dimension_count, "DimensionCount", "is 4294967295"}}},
      {slice(), [](Request& r) { r.arrays["Sizes"][1] = 0; }, {{Id::slice_size_zero, "Sizes[1]", "is 0"}}},
      {slice(), [](Request& r) { r.arrays["Sizes"][3] = 1; }, {{Id::slice_output_size, "Sizes[3]", "is 1"}}},
      {slice(), [](Request& r) { r.arrays["Offsets"][3] = 1; }, {{Id::slice_bounds, "Offsets[3]", "is 1"}}},
      {slice(), [](Request& r) { r.arrays["Offsets"][0] = huge; }, {{Id::slice_bounds, "Offsets[0]", "is 4294967295"}}},
      {slice(),
       [](Request& r) { r.arrays["Strides"][2] = huge; },  // 1 + 1 * (2^32 - 1) is 0 in 32 bits
       {{Id::slice_bounds, "Offsets[2]", "reads element 4294967296"}}},

      // SLICE1
      {slice1(),
       [](Request& r) { r.arrays["InputWindowSizes"][0] = 0; },
       {{Id::slice1_window_empty, "InputWindowSizes[0]", "is 0"}}},
      {slice1(),
       [](Request& r) { r.arrays["InputWindowOffsets"][3] = 2; },
       {{Id::slice1_window_bounds, "InputWindowOffsets[3]", "is 2"}}},
      {slice1(),
       [](Request& r) { r.arrays["InputWindowOffsets"][2] = huge - 3; },  // + 4 is 0 in 32 bits
       {{Id::slice1_window_bounds, "InputWindowOffsets[2]", "is 4294967292"}}},
      {slice1(),
       [](Request& r) { r.arrays["InputWindowStrides"][0] = 0; },
       {{Id::slice1_stride_zero, "InputWindowStrides[0]", "is 0"}}},
      {slice1(),
       [](Request& r) { r.arrays["InputWindowStrides"][2] = static_cast<UINT>(-4); },
       {{Id::slice1_output_size, "OutputTensor.Sizes[2]", "is 2"}}},
      {slice1(),
       [](Request& r) { r.arrays["InputWindowStrides"][3] = 0x80000000u; },  // INT_MIN
       {{Id::slice1_output_size, "OutputTensor.Sizes[3]", "-2147483648"}}},

      // QUANTIZED_LINEAR_CONVOLUTION
      {convolution(),
       [](Request& r) {
         r.count = 3;
         for (auto& [name, array] : r.arrays) array.push_back(1);
       },
       {{Id::convolution_dimension_count, "DimensionCount", "is 3"}}},
      {convolution(), [](Request& r) { r.count = 1; }, {{Id::convolution_dimension_count, "DimensionCount", "is 1"}}},
      {convolution(), [](Request& r) { r.count = 0; }, {{Id::convolution_dimension_count, "DimensionCount", "is 0"}}},
      {convolution(),
       [](Request& r) { r = convolution_1d(); },
       {{Id::tensor_rank, "InputTensor.DimensionCount", "is 3"},
        {Id::tensor_rank, "FilterTensor.DimensionCount", "is 3"},
        {Id::tensor_rank, "FilterScaleTensor.DimensionCount", "is 3"},
        {Id::tensor_rank, "BiasTensor.DimensionCount", "is 3"},
        {Id::tensor_rank, "OutputTensor.DimensionCount", "is 3"},
        {Id::convolution_dimension_count, "DimensionCount", "is 1"}},
       0x4000},
      {convolution_1d(),
       [](Request& r) { r.count = 2; },
       {{Id::convolution_dimension_count, "DimensionCount", "is 2"}},
       never,
       0x4000},
      {convolution(),
       [](Request& r) { r.arrays["Strides"][1] = 0; },
       {{Id::convolution_stride_zero, "Strides[1]", "is 0"}}},
      {convolution(),
       [](Request& r) { r.arrays["Dilations"][0] = 0; },
       {{Id::convolution_dilation_zero, "Dilations[0]", "is 0"}}},
      {convolution(),
       [](Request& r) { r.numbers["GroupCount"] = 0; },
       {{Id::convolution_group_count_zero, "GroupCount", "is 0"}}},
      {convolution(),
       [](Request& r) { r.numbers["GroupCount"] = 3; },
       {{Id::convolution_group_input_channels, "GroupCount", "is 3"}}},
      {convolution(),
       [](Request& r) {
         r.numbers["GroupCount"] = 4;
         r.tensors["FilterTensor"].sizes[1] = 1;
       },
       {{Id::convolution_group_output_channels, "GroupCount", "is 4"}}},
      {convolution(),
       [](Request& r) { r.tensors["FilterTensor"].sizes[1] = 4; },
       {{Id::convolution_filter_channels, "FilterTensor.Sizes[1]", "is 4"}}},
      {convolution(),
       [](Request& r) { r.tensors["OutputTensor"].sizes[0] = 1; },
       {{Id::convolution_batch, "OutputTensor.Sizes[0]", "is 1"}}},
      {convolution(),
       [](Request& r) { r.tensors["OutputTensor"].sizes[1] = 5; },
       {{Id::convolution_output_channels, "OutputTensor.Sizes[1]", "is 5"}}},
      {convolution(),
       [](Request& r) { r.arrays["Dilations"][0] = 5; },
       {{Id::convolution_kernel_fits, "FilterTensor.Sizes[2]", "covers 11"}}},
      {convolution(),
       [](Request& r) { r.arrays["Dilations"][1] = huge; },  // 1 + 1 * (2^32 - 1) is 0 in 32 bits
       {{Id::convolution_kernel_fits, "FilterTensor.Sizes[3]", "covers 4294967296"}}},
      {convolution(),
       [](Request& r) { r.tensors["OutputTensor"].sizes[3] = 3; },
       {{Id::convolution_output_size, "OutputTensor.Sizes[3]", "is 3"}}},
      {convolution(),
       [](Request& r) { r.arrays["StartPadding"][0] = huge; },  // 6 + (2^32 - 1) + 2 is 7 in 32 bits
       {{Id::convolution_output_size, "OutputTensor.Sizes[2]", "is 3, expected 2147483650"}}},
      {convolution(),
       [](Request& r) { r.tensors["BiasTensor"].sizes = {1, 1, 1, 1}; },
       {{Id::convolution_bias_size, "BiasTensor.Sizes[1]", "is 1"}}},
      {convolution(),
       [](Request& r) { r.tensors["BiasTensor"].sizes = {1, 6, 3, 1}; },
       {{Id::convolution_bias_size, "BiasTensor.Sizes[2]", "is 3"}}},
      {convolution(),
       [](Request& r) { r.tensors["InputScaleTensor"].sizes = {1, 4, 1, 1}; },
       {{Id::convolution_single_value, "InputScaleTensor.Sizes[1]", "is 4"}}},
      {convolution(),
       [](Request& r) { r.tensors["OutputZeroPointTensor"].sizes = {1, 1, 1, 2}; },
       {{Id::convolution_single_value, "OutputZeroPointTensor.Sizes[3]", "is 2"}}},
      {convolution(),
       [](Request& r) { r.tensors["FilterScaleTensor"].sizes = {6, 1, 1, 1}; },
       {{Id::convolution_filter_values, "FilterScaleTensor.Sizes[0]", "is 6"}}},
      {convolution(),
       [](Request& r) { r.tensors["FilterZeroPointTensor"].sizes = {1, 3, 1, 1}; },
       {{Id::convolution_filter_values, "FilterZeroPointTensor.Sizes[1]", "is 3"}}},

      // MEAN_VARIANCE_NORMALIZATION and MEAN_VARIANCE_NORMALIZATION1
      {normalization(),
       [](Request& r) { r.tensors["OutputTensor"].sizes[3] = 4; },
       {{Id::normalization_output_size, "OutputTensor.Sizes[3]", "is 4"}}},
      {normalization1(),
       [](Request& r) { r.tensors["OutputTensor"].sizes[0] = 1; },
       {{Id::normalization_output_size, "OutputTensor.Sizes[0]", "is 1"}}},
      {normalization(),
       [](Request& r) { r.tensors["ScaleTensor"].sizes[1] = 2; },
       {{Id::normalization_broadcast, "ScaleTensor.Sizes[1]", "is 2"}}},
      {normalization1(),
       [](Request& r) { r.tensors["BiasTensor"].sizes[2] = 2; },
       {{Id::normalization_broadcast, "BiasTensor.Sizes[2]", "is 2"}}},
      {normalization1(),
       [](Request& r) { r.tensors["ScaleTensor"].sizes[1] = 1; },
       {{Id::normalization_channel_broadcast, "ScaleTensor.Sizes[1]", "is 1"}},
       0x4000},
      {normalization(),
       [](Request& r) { r.tensors.erase("BiasTensor"); },
       {{Id::normalization_scale_with_bias, "BiasTensor", "is null"}},
       0x5200},
      {normalization1(),
       [](Request& r) { r.tensors.erase("ScaleTensor"); },
       {{Id::normalization_scale_with_bias, "ScaleTensor", "is null"}},
       0x5200},
      {normalization1(), [](Request& r) { r.count = 9; }, {{Id::normalization_axis_count, "AxisCount", "is 9"}}},
      {normalization1(),
       [](Request& r) { r.arrays["Axes"][1] = 4; },
       {{Id::normalization_axis_range, "Axes[1]", "is 4"}}},
      {normalization1(),
       [](Request& r) { r.arrays["Axes"][1] = 2; },
       {{Id::normalization_axis_repeated, "Axes[1]", "is 2"}}},

      // MEAN_VARIANCE_NORMALIZATION2
      {normalization2(),
       [](Request& r) { r.tensors.erase("OutputTensor"); },
       {{Id::tensor_required, "OutputTensor", "is null"}}},
      {normalization2(),
       [](Request& r) { r.tensors["BiasTensor"].data_type = 2; },
       {{Id::tensor_data_type_match, "BiasTensor.DataType", "is FLOAT16"}}},
      {normalization2(),
       [](Request& r) { r.tensors["ScaleTensor"].sizes = {3, 4, 5}; },
       {{Id::tensor_rank_match, "ScaleTensor.DimensionCount", "is 3"}}},
      {normalization2(),
       [](Request& r) { r.tensors["OutputTensor"].sizes[1] = 4; },
       {{Id::normalization_output_size, "OutputTensor.Sizes[1]", "is 4"}}},
      {normalization2(),
       [](Request& r) { r.tensors["ScaleTensor"].sizes[3] = 2; },
       {{Id::normalization_broadcast, "ScaleTensor.Sizes[3]", "is 2"}}},
      {normalization2(),
       [](Request& r) { r.tensors["BiasTensor"].sizes[1] = 2; },
       {{Id::normalization_broadcast, "BiasTensor.Sizes[1]", "is 2"}}},
      {normalization2(),
       [](Request& r) { r.count = huge; },
       {{Id::normalization_axis_count, "AxisCount", "is 4294967295"}}},
      {normalization2(), [](Request& r) { r.arrays.erase("Axes"); }, {{Id::array_required, "Axes", "is null"}}},
      {normalization2(),
       [](Request& r) { r.arrays["Axes"][0] = 9; },
       {{Id::normalization_axis_range, "Axes[0]", "is 9"}}},
      {normalization2(),
       [](Request& r) { r.arrays["Axes"][1] = 2; },
       {{Id::normalization_axis_repeated, "Axes[1]", "is 2"}}},
      {normalization2(),
       [](Request& r) { r = fused(r, 48); },
       {{Id::activation_type, "FusedActivation.Type", "is ACTIVATION_SOFTMAX"}}},
      {fused(normalization2(), 52),
       [](Request& r) { r.activation->desc_is_null = true; },
       {{Id::activation_desc_required, "FusedActivation.Desc", "is null"}}},
      {fused(normalization2(), 50),
       [](Request& r) { r.activation->has_input = true; },
       {{Id::activation_tensor_null, "FusedActivation.InputTensor", "is not null"}}},
      {fused(normalization2(), 49),
       [](Request& r) { r.activation->parameters[0] = 0.99f; },
       {{Id::activation_steepness, "FusedActivation.Steepness", "is 0.99"}},
       0x6400},
      // ELEMENT_WISE_QUANTIZE_LINEAR and ELEMENT_WISE_DEQUANTIZE_LINEAR
      {quantize_linear(),
       [](Request& r) { r.tensors["ScaleTensor"].sizes[2] = 1; },
       {{Id::element_wise_size, "ScaleTensor.Sizes[2]", "is 1"}}},
      {quantize_linear(),
       [](Request& r) { r.tensors["ZeroPointTensor"].sizes[1] = 3; },
       {{Id::element_wise_size, "ZeroPointTensor.Sizes[1]", "is 3"}}},
      {dequantize_linear(),
       [](Request& r) { r.tensors["OutputTensor"].sizes[3] = 5; },
       {{Id::element_wise_size, "OutputTensor.Sizes[3]", "is 5"}}},
      {quantize_linear(),
       [](Request& r) { r.tensors.erase("ZeroPointTensor"); },
       {{Id::element_wise_zero_point, "ZeroPointTensor", "is null"}},
       0x6200},
      {dequantize_linear(),
       [](Request& r) { r.tensors.erase("ZeroPointTensor"); },
       {{Id::element_wise_zero_point, "ZeroPointTensor", "is null"}},
       0x6200},
      {quantize_linear(),
       [](Request& r) { r.tensors["ZeroPointTensor"].data_type = 8; },
       {{Id::tensor_data_type_match, "ZeroPointTensor.DataType", "is INT8, expected UINT8 as OutputTensor.DataType"}}},
      {quantize_linear(),
       [](Request& r) { r.tensors["ScaleTensor"].data_type = 2; },
       {{Id::tensor_data_type_match, "ScaleTensor.DataType", "is FLOAT16, expected FLOAT32 as InputTensor.DataType"}}},
      {[] {
         Request r = quantize_linear();
         r.tensors["InputTensor"].data_type = 6;
         return r;
       }(),
       [](Request& r) { r.tensors["ScaleTensor"].data_type = 2; },
       {{Id::tensor_data_type_match, "ScaleTensor.DataType",
         "is FLOAT16, expected FLOAT32 where InputTensor.DataType is INT32"}},
       never,
       0x2100},
      {dequantize_linear(),
       [](Request& r) { r.tensors["ZeroPointTensor"].data_type = 6; },
       {{Id::tensor_data_type_match, "ZeroPointTensor.DataType", "is INT32, expected UINT8 as InputTensor.DataType"}}},
      {dequantize_linear(),
       [](Request& r) { r.tensors["OutputTensor"].data_type = 2; },
       {{Id::tensor_data_type_match, "OutputTensor.DataType", "is FLOAT16, expected FLOAT32 as ScaleTensor.DataType"}}},
      // CONVOLUTION_INTEGER
      {convolution_integer(),
       [](Request& r) { r = convolution_integer_1d(); },
       {{Id::tensor_rank, "InputTensor.DimensionCount", "is 3"},
        {Id::tensor_rank, "FilterTensor.DimensionCount", "is 3"},
        {Id::tensor_rank, "OutputTensor.DimensionCount", "is 3"},
        {Id::convolution_dimension_count, "DimensionCount", "is 1"}},
       0x4000},
      {convolution_integer(),
       [](Request& r) { r.tensors["InputZeroPointTensor"].sizes = r.tensors["FilterZeroPointTensor"].sizes = {1, 1}; },
       {{Id::tensor_rank, "InputZeroPointTensor.DimensionCount", "is 2"},
        {Id::tensor_rank, "FilterZeroPointTensor.DimensionCount", "is 2"}},
       0x4000},
      {convolution_integer(),
       [](Request& r) { r.tensors["FilterZeroPointTensor"].sizes = {6}; },
       {{Id::tensor_rank_match, "FilterZeroPointTensor.DimensionCount", "is 1, expected 4 as InputZeroPointTensor"}}},
      {convolution_integer(),
       [](Request& r) { r.tensors["OutputTensor"].data_type = 5; },
       {{Id::tensor_data_type, "OutputTensor.DataType", "is UINT8"}}},
      {convolution_integer(),
       [](Request& r) { r.tensors["FilterZeroPointTensor"].data_type = 5; },
       {{Id::tensor_data_type_match, "FilterZeroPointTensor.DataType", "is UINT8"}}},
      {convolution_integer(),
       [](Request& r) { r.tensors["OutputTensor"].sizes = {2, 6, 3}; },
       {{Id::tensor_rank_match, "OutputTensor.DimensionCount", "is 3"}}},
      {convolution_integer(),
       [](Request& r) { r.count = 1; },
       {{Id::convolution_dimension_count, "DimensionCount", "is 1"}}},
      {convolution_integer(),
       [](Request& r) { r.arrays["Strides"][0] = 0; },
       {{Id::convolution_stride_zero, "Strides[0]", "is 0"}}},
      {convolution_integer(),
       [](Request& r) { r.arrays["Dilations"][1] = 0; },
       {{Id::convolution_dilation_zero, "Dilations[1]", "is 0"}}},
      {convolution_integer(),
       [](Request& r) { r.tensors["InputZeroPointTensor"].sizes = {1, 4, 1, 1}; },
       {{Id::convolution_single_value, "InputZeroPointTensor.Sizes[1]", "is 4"}}},
      {convolution_integer(),
       [](Request& r) { r.tensors["FilterZeroPointTensor"].sizes = {6, 1, 1, 1}; },
       {{Id::convolution_filter_values, "FilterZeroPointTensor.Sizes[0]", "is 6"}}},
      {convolution_integer(),
       [](Request& r) { r.tensors["FilterZeroPointTensor"].sizes = {1, 3, 1, 1}; },
       {{Id::convolution_filter_values, "FilterZeroPointTensor.Sizes[1]", "is 3"}}},
      {convolution_integer(),
       [](Request& r) { r.numbers["GroupCount"] = 0; },
       {{Id::convolution_group_count_zero, "GroupCount", "is 0"}}},
      {convolution_integer(),
       [](Request& r) { r.numbers["GroupCount"] = 3; },
       {{Id::convolution_group_input_channels, "GroupCount", "is 3"}}},
      {convolution_integer(),
       [](Request& r) { r.numbers["GroupCount"] = 4; r.tensors["FilterTensor"].sizes[1] = 1; },
       {{Id::convolution_group_output_channels, "GroupCount", "is 4"}}},
      {convolution_integer(),
       [](Request& r) { r.tensors["FilterTensor"].sizes[1] = 4; },
       {{Id::convolution_filter_channels, "FilterTensor.Sizes[1]", "is 4"}}},
      {convolution_integer(),
       [](Request& r) { r.tensors["OutputTensor"].sizes[0] = 1; },
       {{Id::convolution_batch, "OutputTensor.Sizes[0]", "is 1"}}},
      {convolution_integer(),
       [](Request& r) { r.tensors["OutputTensor"].sizes[1] = 5; },
       {{Id::convolution_output_channels, "OutputTensor.Sizes[1]", "is 5"}}},
      {convolution_integer(),
       [](Request& r) { r.arrays["Dilations"][0] = 5; },
       {{Id::convolution_kernel_fits, "FilterTensor.Sizes[2]", "covers 11"}}},
      {convolution_integer(),
       [](Request& r) { r.tensors["OutputTensor"].sizes[3] = 3; },
       {{Id::convolution_output_size, "OutputTensor.Sizes[3]", "is 3"}}},

      // MATRIX_MULTIPLY_INTEGER
      {matrix_multiply(),
       [](Request& r) { r = matrix_multiply_2d(); },
       {{Id::tensor_rank, "ATensor.DimensionCount", "is 2"},
        {Id::tensor_rank, "AZeroPointTensor.DimensionCount", "is 1"},
        {Id::tensor_rank, "BTensor.DimensionCount", "is 2"},
        {Id::tensor_rank, "BZeroPointTensor.DimensionCount", "is 2"},
        {Id::tensor_rank, "OutputTensor.DimensionCount", "is 2"}},
       0x4000},
      {matrix_multiply(),
       [](Request& r) { r.tensors["BZeroPointTensor"].sizes = {6}; },
       {{Id::tensor_rank, "BZeroPointTensor.DimensionCount", "is 1"}},
       0x5200},
      {matrix_multiply(),
       [](Request& r) { r.tensors["AZeroPointTensor"].data_type = 8; },
       {{Id::tensor_data_type_match, "AZeroPointTensor.DataType", "is INT8"}}},
      {matrix_multiply(),
       [](Request& r) { r.tensors["OutputTensor"].data_type = 5; },
       {{Id::tensor_data_type, "OutputTensor.DataType", "is UINT8, expected INT32"}}},
      {matrix_multiply(),
       [](Request& r) { r.tensors["BTensor"].sizes = {3, 5, 6}; },
       {{Id::tensor_rank_match, "BTensor.DimensionCount", "is 3"}}},
      {matrix_multiply(),
       [](Request& r) { r.tensors["BTensor"].sizes[0] = 1; },
       {{Id::matrix_multiply_batch, "BTensor.Sizes[0]", "is 1, expected 2 as ATensor.Sizes[0]"}}},
      {matrix_multiply(),
       [](Request& r) { r.tensors["OutputTensor"].sizes[1] = 1; },
       {{Id::matrix_multiply_batch, "OutputTensor.Sizes[1]", "is 1, expected 3 as ATensor.Sizes[1]"}}},
      {matrix_multiply(),
       [](Request& r) { r.tensors["BTensor"].sizes[2] = 4; },
       {{Id::matrix_multiply_inner_size, "BTensor.Sizes[2]", "is 4, expected 5 as ATensor.Sizes[3]"}}},
      {matrix_multiply(),
       [](Request& r) { r.tensors["OutputTensor"].sizes[2] = 5; },
       {{Id::matrix_multiply_output_size, "OutputTensor.Sizes[2]", "is 5, expected 4 as ATensor.Sizes[2]"}}},
      {matrix_multiply(),
       [](Request& r) { r.tensors["OutputTensor"].sizes[3] = 5; },
       {{Id::matrix_multiply_output_size, "OutputTensor.Sizes[3]", "is 5, expected 6 as BTensor.Sizes[3]"}}},
      {matrix_multiply(),
       [](Request& r) { r.tensors["AZeroPointTensor"].sizes = {1, 1, 1, 5}; },
       {{Id::matrix_multiply_row_values, "AZeroPointTensor.Sizes[3]", "is 5, expected 1"}}},
      {matrix_multiply(),
       [](Request& r) { r.tensors["AZeroPointTensor"].sizes = {1, 3, 4, 1}; },
       {{Id::matrix_multiply_row_values, "AZeroPointTensor.Sizes[1]", "is 3, expected 1"}}},
      {matrix_multiply_2d(),
       [](Request& r) { r.tensors["AZeroPointTensor"].sizes = {5}; },
       {{Id::matrix_multiply_row_values, "AZeroPointTensor.Sizes[0]", "is 5, expected 1, or 4 as ATensor.Sizes[0]"}},
       never,
       0x4000},
      {matrix_multiply(),
       [](Request& r) { r.tensors["BZeroPointTensor"].sizes = {1, 1, 1, 4}; },
       {{Id::matrix_multiply_column_values, "BZeroPointTensor.Sizes[3]",
         "is 4, expected 1, or 6 as BTensor.Sizes[3]"}}},
      {matrix_multiply(),
       [](Request& r) { r.tensors["BZeroPointTensor"].sizes = {1, 1, 5, 1}; },
       {{Id::matrix_multiply_column_values, "BZeroPointTensor.Sizes[2]", "is 5, expected 1"}}},

      // QUANTIZED_LINEAR_MATRIX_MULTIPLY
      {quantized_matrix_multiply(),
       [](Request& r) { r.tensors.erase("OutputScaleTensor"); },
       {{Id::tensor_required, "OutputScaleTensor", "is null"}}},
      {quantized_matrix_multiply(),
       [](Request& r) { r = quantized_matrix_multiply_3d(); },
       {{Id::tensor_rank, "ATensor.DimensionCount", "is 3"},
        {Id::tensor_rank, "AScaleTensor.DimensionCount", "is 1"},
        {Id::tensor_rank, "AZeroPointTensor.DimensionCount", "is 1"},
        {Id::tensor_rank, "BTensor.DimensionCount", "is 3"},
        {Id::tensor_rank, "BScaleTensor.DimensionCount", "is 1"},
        {Id::tensor_rank, "BZeroPointTensor.DimensionCount", "is 1"},
        {Id::tensor_rank, "OutputScaleTensor.DimensionCount", "is 1"},
        {Id::tensor_rank, "OutputZeroPointTensor.DimensionCount", "is 1"},
        {Id::tensor_rank, "OutputTensor.DimensionCount", "is 3"}},
       0x4000},
      {quantized_matrix_multiply(),
       [](Request& r) { r.tensors["BScaleTensor"].sizes = {1, 1, 6}; },
       {{Id::tensor_rank_match, "BScaleTensor.DimensionCount", "is 3"}}},
      {quantized_matrix_multiply(),
       [](Request& r) { r.tensors["OutputZeroPointTensor"].data_type = 8; },
       {{Id::tensor_data_type_match, "OutputZeroPointTensor.DataType", "is INT8"}}},
      {quantized_matrix_multiply(),
       [](Request& r) { r.tensors["BScaleTensor"].data_type = 2; },
       {{Id::tensor_data_type, "BScaleTensor.DataType", "is FLOAT16"}}},
      {quantized_matrix_multiply(),
       [](Request& r) { r.tensors["BTensor"].sizes[1] = 1; },
       {{Id::matrix_multiply_batch, "BTensor.Sizes[1]", "is 1, expected 3 as ATensor.Sizes[1]"}}},
      {quantized_matrix_multiply(),
       [](Request& r) { r.tensors["BTensor"].sizes[2] = 6; },
       {{Id::matrix_multiply_inner_size, "BTensor.Sizes[2]", "is 6, expected 5 as ATensor.Sizes[3]"}}},
      {quantized_matrix_multiply(),
       [](Request& r) { r.tensors["OutputTensor"].sizes[3] = 4; },
       {{Id::matrix_multiply_output_size, "OutputTensor.Sizes[3]", "is 4, expected 6 as BTensor.Sizes[3]"}}},
      {quantized_matrix_multiply(),
       [](Request& r) { r.tensors["AScaleTensor"].sizes = {1, 1, 5, 1}; },
       {{Id::matrix_multiply_row_values, "AScaleTensor.Sizes[2]", "is 5, expected 1, or 4 as ATensor.Sizes[2]"}}},
      {quantized_matrix_multiply(),
       [](Request& r) { r.tensors["OutputScaleTensor"].sizes = {1, 1, 1, 6}; },
       {{Id::matrix_multiply_row_values, "OutputScaleTensor.Sizes[3]", "is 6, expected 1"}}},
      {quantized_matrix_multiply_3d(),
       [](Request& r) { r.tensors["AScaleTensor"].sizes = {4}; },
       {{Id::matrix_multiply_row_values, "AScaleTensor.Sizes[0]", "is 4, expected 1"}},
       never,
       0x4000},
      {quantized_matrix_multiply(),
       [](Request& r) { r.tensors["BScaleTensor"].sizes = {1, 1, 6, 1}; },
       {{Id::matrix_multiply_column_values, "BScaleTensor.Sizes[2]", "is 6, expected 1"}}},
      {quantized_matrix_multiply_3d(),
       [](Request& r) { r.tensors["BZeroPointTensor"].sizes = {4}; },
       {{Id::matrix_multiply_column_values, "BZeroPointTensor.Sizes[0]", "is 4, expected 1, or 6 as BTensor.Sizes[2]"}},
       never,
       0x4000},

      // Fused activations
      {normalization(),
       [](Request& r) { r = fused(r, 8); },
       {{Id::activation_type, "FusedActivation.Type", "is ELEMENT_WISE_CLIP"}}},
      {normalization1(),
       [](Request& r) { r = fused(r, 48); },
       {{Id::activation_type, "FusedActivation.Type", "is ACTIVATION_SOFTMAX"}}},
      {normalization1(),
       [](Request& r) { r = fused(r, 42); },
       {{Id::activation_type, "FusedActivation.Type", "is ACTIVATION_PARAMETERIZED_RELU"}}},
      {normalization1(),
       [](Request& r) { r = fused(r, 0xFFFFFFFF); },
       {{Id::activation_type, "FusedActivation.Type", "is 4294967295"}}},
      {normalization(),
       [](Request& r) { r = fused(r, 90); },
       {{Id::activation_level, "FusedActivation.Type", "is ACTIVATION_SHRINK"}},
       0x2000},
      {normalization1(),
       [](Request& r) { r = fused(r, 128); },
       {{Id::activation_level, "FusedActivation.Type", "is ACTIVATION_CELU"}},
       0x3000},
      {normalization(),
       [](Request& r) { r = fused(r, 157); },
       {{Id::activation_level, "FusedActivation.Type", "is ACTIVATION_GELU"}},
       0x5100},
      {fused(normalization(), 35),
       [](Request& r) { r.activation->desc_is_null = true; },
       {{Id::activation_desc_required, "FusedActivation.Desc", "is null"}}},
      {fused(normalization(), 38),
       [](Request& r) { r.activation->has_input = true; },
       {{Id::activation_tensor_null, "FusedActivation.InputTensor", "is not null"}}},
      {fused(normalization1(), 46),
       [](Request& r) { r.activation->has_output = true; },
       {{Id::activation_tensor_null, "FusedActivation.OutputTensor", "is not null"}}},
      {fused(normalization1(), 49),
       [](Request& r) { r.activation->parameters[0] = 0.5f; },
       {{Id::activation_steepness, "FusedActivation.Steepness", "is 0.5"}},
       0x6400},
  };
  return all;
}

class Rules : public testing::TestWithParam<Row> {};

TEST_P(Rules, AreReportedAloneWhereTheyAreBroken) {
  const Row& row = GetParam();
  Request broken = row.valid;
  row.edit(broken);
  const std::uint32_t first = row.since != 0 ? row.since : introduced(row.valid.type);
  for (const auto& [level, name] : dmlref::feature_levels) {
    SCOPED_TRACE(std::string(name) + ", " + std::string(to_string(row.expected[0].rule)));
    const bool has_operator = level >= dmlref::feature_level(first);
    if (row.since != 0 && !has_operator) continue;  // the valid request is not valid there for reasons of its own

    const dmlref::Report good = request::validate(row.valid, level);
    EXPECT_EQ(has_operator, good.ok()) << good.to_string();

    const dmlref::Report report = request::validate(broken, level);
    std::vector<Expected> expected;
    if (!has_operator && broken.type == row.valid.type) {
      expected.push_back({RuleId::operator_level, "Type", "expected an operator of feature level"});
    }
    // What the operator's first level accepts is not reported below it.
    const bool refused = row.from == never || (std::max)(static_cast<std::uint32_t>(level), first) < row.from;
    if (refused) expected.insert(expected.end(), row.expected.begin(), row.expected.end());
    ASSERT_EQ(expected.size(), report.violations().size()) << report.to_string();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const dmlref::Violation& violation = report.violations()[i];
      EXPECT_EQ(to_string(expected[i].rule), to_string(violation.rule)) << violation.message;
      EXPECT_EQ(expected[i].field, violation.field);
      EXPECT_EQ(0u, violation.message.find(violation.field + ' ')) << violation.message;
      EXPECT_NE(std::string::npos, violation.message.find(expected[i].value)) << violation.message;
      EXPECT_NE(std::string::npos, violation.message.find("expected ")) << violation.message;
      const std::uint32_t from = violation.rule == RuleId::operator_level ? introduced(row.valid.type) : row.from;
      if (from == never) {
        EXPECT_EQ(ViolationKind::invalid, violation.kind);
        EXPECT_FALSE(violation.available_from.has_value());
      } else {
        EXPECT_EQ(ViolationKind::unsupported_at_level, violation.kind);
        ASSERT_TRUE(violation.available_from.has_value());
        EXPECT_EQ(from, static_cast<std::uint32_t>(*violation.available_from)) << violation.message;
      }
    }
  }
}

/// The rule, the field, and how many rows with both stand before: "tensor_rank_InputTensor_DimensionCount_2".
std::string name_of(const testing::TestParamInfo<Row>& info) {
  const auto text = [](const Row& row) {
    std::string name(to_string(row.expected[0].rule));
    name += '_';
    for (const char c : row.expected[0].field) {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
        name += c;
      } else if (name.back() != '_') {
        name += '_';
      }
    }
    return name;
  };
  const std::string name = text(info.param);
  const auto first = rows().begin();
  const auto before = std::count_if(first, first + static_cast<std::ptrdiff_t>(info.index),
                                    [&](const Row& row) { return text(row) == name; });
  return before == 0 ? name : name + '_' + std::to_string(before);
}

INSTANTIATE_TEST_SUITE_P(All, Rules, testing::ValuesIn(rows()), name_of);

// Native descriptors can break one rule that Microsoft's cannot, and none of those about pointers.
TEST(NativeRules, ArraysHaveOneEntryPerDimension) {
  const auto only = [](const dmlref::OperatorDesc& desc, const char* field) {
    const dmlref::Report report = dmlref::validate(desc, dmlref::latest_feature_level);
    ASSERT_EQ(1u, report.violations().size()) << report.to_string();
    EXPECT_EQ(RuleId::array_length, report.violations()[0].rule);
    EXPECT_EQ(field, report.violations()[0].field);
    EXPECT_EQ(ViolationKind::invalid, report.violations()[0].kind);
  };
  const auto f32 = dmlref::DataType::float32;
  const dmlref::SliceDesc slice{{f32, {4, 4}}, {f32, {2, 2}}, {0, 0}, {2, 2}, {1, 1}};
  EXPECT_TRUE(dmlref::validate(slice, dmlref::latest_feature_level).ok());
  auto desc = slice;
  desc.offsets = {0, 0, 0};
  only(desc, "Offsets");
  desc = slice;
  desc.strides = {};
  only(desc, "Strides");
  desc = slice;
  desc.output.strides = dmlref::Dimensions{1};
  only(desc, "OutputTensor.Strides");

  dmlref::Slice1Desc slice1{{f32, {4, 4}}, {f32, {2, 2}}, {0, 0}, {2, 2}, {1}};
  only(slice1, "InputWindowStrides");

  const auto u8 = dmlref::DataType::uint8;
  dmlref::QuantizedLinearConvolutionDesc convolution;
  convolution.input = {u8, {1, 1, 3, 3}};
  convolution.filter = {u8, {1, 1, 1, 1}};
  convolution.input_scale = convolution.filter_scale = convolution.output_scale = {f32, {1}};
  convolution.output = {u8, {1, 1, 3, 3}};
  convolution.strides = convolution.dilations = {1, 1};
  convolution.start_padding = convolution.end_padding = {0, 0};
  EXPECT_TRUE(dmlref::validate(convolution, dmlref::latest_feature_level).ok());
  convolution.end_padding = {0, 0, 0};
  only(convolution, "EndPadding");

  dmlref::MeanVarianceNormalization1Desc normalization;
  normalization.input = {f32, {2, 3}};
  normalization.output = {f32, {2, 3}};
  normalization.axes = {1};
  EXPECT_TRUE(dmlref::validate(normalization, dmlref::latest_feature_level).ok());
  normalization.input.strides = dmlref::Dimensions{};
  only(normalization, "InputTensor.Strides");
}

TEST(NativeRules, RankIsTheNumberOfSizes) {
  const auto f32 = dmlref::DataType::float32;
  for (const std::size_t rank : {std::size_t{0}, std::size_t{9}, std::size_t{1000}}) {
    dmlref::MeanVarianceNormalization1Desc desc;
    desc.input = {f32, dmlref::Dimensions(rank, 1)};
    desc.output = {f32, {2}};
    desc.axes = {0};
    const dmlref::Report report = dmlref::validate(desc, dmlref::latest_feature_level);
    ASSERT_EQ(1u, report.violations().size()) << report.to_string();
    EXPECT_EQ(RuleId::tensor_dimension_count, report.violations()[0].rule);
    EXPECT_EQ("InputTensor.DimensionCount", report.violations()[0].field);
  }
}

TEST(FeatureLevelRule, OnlyTheFifteenLevels) {
  for (const std::uint32_t value : {0u, 0x0FFFu, 0x1001u, 0x2200u, 0x6300u + 1u, 0x6500u, 0x7FFFu}) {
    const dmlref::Report report = request::validate(request::slice(), static_cast<FeatureLevel>(value));
    ASSERT_EQ(1u, report.violations().size()) << report.to_string();
    EXPECT_EQ(RuleId::feature_level, report.violations()[0].rule);
    EXPECT_EQ("FeatureLevel", report.violations()[0].field);
    EXPECT_EQ(ViolationKind::invalid, report.violations()[0].kind);
    EXPECT_NE(std::string::npos, report.violations()[0].message.find("is " + std::to_string(value)));
  }
}

// A rule about binding, instruction sets or calls on views is not a descriptor's: tests/run and tests/operators break
// those.
bool is_descriptor_rule(RuleId id) { return id >= RuleId::feature_level; }

TEST(RuleTable, EveryRuleIsBrokenByARowHere) {
  std::set<RuleId> broken = {RuleId::feature_level, RuleId::operator_level, RuleId::array_length};  // the tests above
  for (const Row& row : rows()) {
    for (const Expected& expected : row.expected) broken.insert(expected.rule);
  }
  for (const dmlref::RuleInfo& rule : dmlref::rule_table) {
    EXPECT_EQ(is_descriptor_rule(rule.id), broken.contains(rule.id)) << rule.name;
  }
}

TEST(RuleTable, HasOneCompleteRowPerRule) {
  std::set<RuleId> ids;
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < dmlref::rule_table.size(); ++i) {
    const dmlref::RuleInfo& rule = dmlref::rule_table[i];
    EXPECT_EQ(i, static_cast<std::size_t>(rule.id)) << rule.name << " does not stand in the order of RuleId";
    EXPECT_TRUE(ids.insert(rule.id).second) << rule.name;
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_EQ(rule.name, to_string(rule.id));
    EXPECT_FALSE(rule.field.empty() || rule.condition.empty() || rule.source.empty()) << rule.name;
  }
}

TEST(Report, ListsEveryViolation) {
  Request r = request::slice1();
  r.tensors["InputTensor"].data_type = r.tensors["OutputTensor"].data_type = 9;
  r.arrays["InputWindowStrides"][2] = 0;
  const dmlref::Report report = request::validate(r, FeatureLevel::level_2_1);
  EXPECT_FALSE(report.ok());
  EXPECT_FALSE(report);
  ASSERT_EQ(3u, report.violations().size());
  const std::string text = report.to_string();
  EXPECT_EQ(2, std::count(text.begin(), text.end(), '\n'));
  EXPECT_NE(std::string::npos, text.find("InputTensor.DataType is FLOAT64, expected one of"));
  EXPECT_NE(std::string::npos, text.find("[tensor_data_type] (accepted from feature level 4_1)"));
  EXPECT_EQ("ok", request::validate(request::slice1(), dmlref::latest_feature_level).to_string());
}

// What the rules leave alone.
TEST(Accepted, StrideZeroOfSlice) {
  Request r = request::slice();
  r.arrays["Strides"][3] = 0;
  EXPECT_TRUE(request::validate(r, FeatureLevel::level_1_0).ok());
}

TEST(Accepted, SmallerOutputThanTheWindowAllows) {
  Request r = request::slice1();
  r.tensors["OutputTensor"].sizes = {1, 1, 1, 1};
  EXPECT_TRUE(request::validate(r, FeatureLevel::level_2_1).ok());
}

TEST(Accepted, IntMinStrideOfAWindowOfOneElement) {
  Request r = request::slice1();
  r.arrays["InputWindowStrides"][0] = 0x80000000u;
  EXPECT_TRUE(request::validate(r, FeatureLevel::level_2_1).ok());
}

TEST(Accepted, LargerTotalSizeOfAnySort) {
  Request r = request::slice();
  for (const UINT64 size : {UINT64{65}, (UINT64{1} << 34) - 4}) {  // no multiple of 4; all that 2^32 - 1 elements take
    r.tensors["InputTensor"].total_size = size;
    EXPECT_TRUE(request::validate(r, FeatureLevel::level_1_0).ok());
  }
  r = request::convolution();
  r.tensors["InputTensor"].total_size = UINT64{1} << 32;  // 2^32 - 1 bytes, rounded up to a multiple of 4
  EXPECT_TRUE(request::validate(r, FeatureLevel::level_2_1).ok());
}

TEST(Accepted, SixtyFourBitDataAsPairsOfUint32) {
  Request r = request::slice();
  r.tensors["InputTensor"] = {3, {1, 1, 4, 4}, {{32, 32, 8, 2}}, std::nullopt, 128};
  r.tensors["OutputTensor"] = {3, {1, 1, 2, 2}, {{8, 8, 4, 2}}, std::nullopt, 32};
  EXPECT_TRUE(request::validate(r, FeatureLevel::level_1_0).ok());
}

TEST(Accepted, AnyStrideOfADimensionOfOneElement) {
  Request r = request::normalization();
  for (const UINT stride : {0u, 1u, 0xFFFFFFFFu}) {
    r.tensors["OutputTensor"] = {1, {2, 3, 1, 5}, {{15, 5, stride, 1}}};
    r.tensors["InputTensor"].sizes = {2, 3, 1, 5};
    r.tensors["BiasTensor"].sizes = {2, 3, 1, 5};
    EXPECT_TRUE(request::validate(r, FeatureLevel::level_1_0).ok());
  }
}

TEST(Accepted, BroadcastInputs) {
  Request r = request::normalization();
  r.tensors["ScaleTensor"] = {1, {2, 3, 4, 5}, {{0, 1, 0, 0}}};
  r.tensors["InputTensor"].strides = {{0, 0, 0, 0}};
  EXPECT_TRUE(request::validate(r, FeatureLevel::level_1_0).ok());
}

TEST(Accepted, OneChannelInMvnAtEveryLevel) {
  Request r = request::normalization();
  r.tensors["ScaleTensor"].sizes = r.tensors["BiasTensor"].sizes = {1, 1, 1, 1};
  EXPECT_TRUE(request::validate(r, FeatureLevel::level_1_0).ok());
}

TEST(Accepted, OwnedInputsWithAlignment) {
  Request r = request::convolution();
  for (const char* name : {"FilterTensor", "FilterScaleTensor", "BiasTensor"}) {
    r.tensors[name].flags = 1;
    r.tensors[name].alignment = 64;
  }
  EXPECT_TRUE(request::validate(r, FeatureLevel::level_2_1).ok());
}

TEST(Accepted, AnyParameterButSteepness) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& info : dmlref::activation_table) {
    const Request r = request::fused(request::normalization(), static_cast<std::uint32_t>(info.type), nan, nan);
    EXPECT_TRUE(request::validate(r, dmlref::latest_feature_level).ok()) << info.name;
  }
}

TEST(Accepted, OneSpatialDimensionFrom4_0) {
  EXPECT_TRUE(request::validate(request::convolution_1d(), FeatureLevel::level_4_0).ok());
  EXPECT_TRUE(request::validate(request::convolution_integer_1d(), FeatureLevel::level_4_0).ok());
}

TEST(Accepted, MatrixProductsOfFewerDimensionsFrom4_0) {
  EXPECT_TRUE(request::validate(request::matrix_multiply_2d(), FeatureLevel::level_4_0).ok());
  EXPECT_TRUE(request::validate(request::quantized_matrix_multiply_3d(), FeatureLevel::level_4_0).ok());
}

TEST(Accepted, ParametersOfMatrixProductsInAnyRank) {
  for (Request r : {request::matrix_multiply_2d(), request::quantized_matrix_multiply_3d()}) {
    for (std::size_t rank = 1; rank <= 4; ++rank) {
      for (auto& [name, tensor] : r.tensors) {
        const bool of_b = name[0] == 'B';
        if (name.find("Scale") == std::string::npos && name.find("ZeroPoint") == std::string::npos) continue;
        tensor.sizes.assign(rank, 1);
        if (of_b) tensor.sizes[rank - 1] = 6;
        if (!of_b && rank > 1) tensor.sizes[rank - 2] = 4;
      }
      const dmlref::Report report = request::validate(r, dmlref::latest_feature_level);
      EXPECT_TRUE(report.ok()) << rank << ' ' << report.to_string();
    }
  }
}

TEST(Accepted, ZeroPointOfTheFilterInAnyRankWhereTheInputHasNone) {
  Request r = request::convolution_integer();
  r.tensors.erase("InputZeroPointTensor");
  for (const std::vector<UINT>& sizes : {std::vector<UINT>{6}, {1, 6}, {1, 6, 1}, {1, 6, 1, 1}, {1}}) {
    r.tensors["FilterZeroPointTensor"].sizes = sizes;
    EXPECT_TRUE(request::validate(r, dmlref::latest_feature_level).ok());
  }
}

TEST(Accepted, NoAxesFromTheOperatorsFirstLevelOn) {
  Request r = request::normalization1();
  r.count = 0;
  for (const bool null : {false, true}) {
    if (null) r.arrays.erase("Axes");
    for (const dmlref::FeatureLevelName& row : dmlref::feature_levels) {
      EXPECT_EQ(request::validate(r, row.level).ok(), row.level >= static_cast<FeatureLevel>(0x2100)) << row.name;
    }
  }
}

// Numbers from the documents, the first and the last of each level among them.
TEST(OperatorTypes, NamesStandAtTheirNumbers) {
  const std::pair<std::uint32_t, std::string_view> known[] = {
      {1, "ELEMENT_WISE_IDENTITY"},
      {33, "ELEMENT_WISE_QUANTIZE_LINEAR"},
      {34, "ELEMENT_WISE_DEQUANTIZE_LINEAR"},
      {54, "GEMM"},
      {60, "SLICE"},
      {64, "PADDING"},
      {73, "MEAN_VARIANCE_NORMALIZATION"},
      {78, "GRU"},
      {79, "ELEMENT_WISE_SIGN"},
      {96, "RESAMPLE"},
      {97, "ELEMENT_WISE_BIT_SHIFT_LEFT"},
      {111, "SLICE1"},
      {115, "MEAN_VARIANCE_NORMALIZATION1"},
      {117, "MATRIX_MULTIPLY_INTEGER"},
      {118, "QUANTIZED_LINEAR_MATRIX_MULTIPLY"},
      {119, "CONVOLUTION_INTEGER"},
      {120, "QUANTIZED_LINEAR_CONVOLUTION"},
      {135, "SLICE_GRAD"},
      {147, "ELEMENT_WISE_QUANTIZED_LINEAR_ADD"},
      {148, "DYNAMIC_QUANTIZE_LINEAR"},
      {155, "PADDING1"},
      {158, "ACTIVATION_SOFTMAX1"},
      {167, "ACTIVATION_SWISH"},
      {169, "QUANTIZED_LINEAR_AVERAGE_POOLING"},
      {170, "MATRIX_MULTIPLY_INTEGER_TO_FLOAT"},
      {171, "MEAN_VARIANCE_NORMALIZATION2"},
      {173, "QUANTIZE"},
      {174, "DEQUANTIZE"},
      {177, "UNFOLD"},
  };
  for (const auto& [type, name] : known) EXPECT_EQ(dmlref::directml_operator_name(type), name) << type;
  for (const dmlref::ActivationInfo& info : dmlref::activation_table) {
    EXPECT_EQ(dmlref::directml_operator_name(static_cast<std::uint32_t>(info.type)),
              "ACTIVATION_" + std::string(info.name));
  }
  for (const dmlref::OperatorInfo& row : dmlref::operator_table) {
    EXPECT_EQ(dmlref::directml_operator_name(static_cast<std::uint32_t>(row.type)), row.name);
  }
}

TEST(OperatorTypes, OneThatOnlyDirectmlHasIsNamed) {
  std::set<std::string_view> names;
  for (std::uint32_t type = 0; type <= 300; ++type) {
    const std::string_view name = dmlref::directml_operator_name(type);
    EXPECT_EQ(name.empty(), type == 0 || type > 177) << type;
    EXPECT_TRUE(name.empty() || names.insert(name).second) << name << " twice";
    if (dmlref::find_operator(static_cast<dmlref::OperatorType>(type)) != nullptr) continue;
    // (The other members are never read, so they may be another operator's.)
    const DML_TENSOR_DESC other{};
    DML_OPERATOR_DESC desc{};
    request::put(desc.Type, type);
    desc.Desc = &other;
    const dmlref::Report report = dmlref::validate(desc, dmlref::latest_feature_level);
    ASSERT_EQ(report.violations().size(), 1u) << type;
    const dmlref::Violation& violation = report.violations()[0];
    EXPECT_EQ(violation.rule, RuleId::operator_type);
    EXPECT_EQ(violation.field, "Type");
    EXPECT_EQ(violation.kind, ViolationKind::invalid);
    const std::string number = std::to_string(type);
    const std::string is =
        name.empty() ? number
                     : "DML_OPERATOR_" + std::string(name) + " (" + number + "), which DirectML has and dmlref has not";
    EXPECT_EQ(violation.message.find("Type is " + is + ", expected one of SLICE, "), 0u) << violation.message;
  }
  EXPECT_EQ(names.size(), 177u);
}

}  // namespace
