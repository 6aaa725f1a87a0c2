// foreign_directml.h: stands in for a <DirectML.h> that came first: an old one (target 0x4000), which declares the same
// names but not the newer levels, types and activations, under its own Windows typedefs.
#pragma once

#include <cstdint>

#define DML_TARGET_VERSION 0x4000

using UINT = std::uint32_t;
using INT = std::int32_t;
using UINT64 = std::uint64_t;
using FLOAT = float;
using BOOL = int;

enum DML_TENSOR_DATA_TYPE {
  DML_TENSOR_DATA_TYPE_UNKNOWN,
  DML_TENSOR_DATA_TYPE_FLOAT32,
  DML_TENSOR_DATA_TYPE_INT64 = 11
};
enum DML_TENSOR_TYPE { DML_TENSOR_TYPE_INVALID, DML_TENSOR_TYPE_BUFFER };
enum DML_TENSOR_FLAGS { DML_TENSOR_FLAG_NONE, DML_TENSOR_FLAG_OWNED_BY_DML };

struct DML_BUFFER_TENSOR_DESC {
  DML_TENSOR_DATA_TYPE DataType;
  DML_TENSOR_FLAGS Flags;
  UINT DimensionCount;
  const UINT* Sizes;
  const UINT* Strides;
  UINT64 TotalTensorSizeInBytes;
  UINT GuaranteedBaseOffsetAlignment;
};
struct DML_TENSOR_DESC {
  DML_TENSOR_TYPE Type;
  const void* Desc;
};

enum DML_OPERATOR_TYPE {
  DML_OPERATOR_INVALID,
  DML_OPERATOR_ACTIVATION_SOFTPLUS = 49,
  DML_OPERATOR_SLICE = 60,
  DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION = 73,
  DML_OPERATOR_SLICE1 = 111,
  DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION1 = 115,
  DML_OPERATOR_QUANTIZED_LINEAR_CONVOLUTION = 120,
};
struct DML_OPERATOR_DESC {
  DML_OPERATOR_TYPE Type;
  const void* Desc;
};

enum DML_FEATURE_LEVEL {
  DML_FEATURE_LEVEL_1_0 = 0x1000,
  DML_FEATURE_LEVEL_2_0 = 0x2000,
  DML_FEATURE_LEVEL_2_1 = 0x2100,
  DML_FEATURE_LEVEL_4_0 = 0x4000
};

struct DML_SLICE_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  UINT DimensionCount;
  const UINT* Offsets;
  const UINT* Sizes;
  const UINT* Strides;
};
struct DML_SLICE1_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  UINT DimensionCount;
  const UINT* InputWindowOffsets;
  const UINT* InputWindowSizes;
  const INT* InputWindowStrides;
};
struct DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* InputScaleTensor;
  const DML_TENSOR_DESC* InputZeroPointTensor;
  const DML_TENSOR_DESC* FilterTensor;
  const DML_TENSOR_DESC* FilterScaleTensor;
  const DML_TENSOR_DESC* FilterZeroPointTensor;
  const DML_TENSOR_DESC* BiasTensor;
  const DML_TENSOR_DESC* OutputScaleTensor;
  const DML_TENSOR_DESC* OutputZeroPointTensor;
  const DML_TENSOR_DESC* OutputTensor;
  UINT DimensionCount;
  const UINT* Strides;
  const UINT* Dilations;
  const UINT* StartPadding;
  const UINT* EndPadding;
  UINT GroupCount;
};
struct DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* ScaleTensor;
  const DML_TENSOR_DESC* BiasTensor;
  const DML_TENSOR_DESC* OutputTensor;
  BOOL CrossChannel;
  BOOL NormalizeVariance;
  FLOAT Epsilon;
  const DML_OPERATOR_DESC* FusedActivation;
};
struct DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* ScaleTensor;
  const DML_TENSOR_DESC* BiasTensor;
  const DML_TENSOR_DESC* OutputTensor;
  UINT AxisCount;
  const UINT* Axes;
  BOOL NormalizeVariance;
  FLOAT Epsilon;
  const DML_OPERATOR_DESC* FusedActivation;
};
struct DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  FLOAT Steepness;
};
