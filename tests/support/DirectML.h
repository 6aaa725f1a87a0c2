// DirectML.h: a stand-in that a program includes first: it defines DML_TARGET_VERSION and the types, as Microsoft's
// does.
#pragma once

#include <cstdint>

#if !defined(DML_TARGET_VERSION)
#define DML_TARGET_VERSION 0x6400
#endif

typedef unsigned int UINT;
typedef int INT;
typedef unsigned long long UINT64;  // as on Windows: another type than std::uint64_t here, of the same size
typedef float FLOAT;
typedef int BOOL;

enum DML_TENSOR_DATA_TYPE {
  DML_TENSOR_DATA_TYPE_UNKNOWN = 0,
  DML_TENSOR_DATA_TYPE_FLOAT32 = 1,
  DML_TENSOR_DATA_TYPE_FLOAT16 = 2,
  DML_TENSOR_DATA_TYPE_UINT32 = 3,
  DML_TENSOR_DATA_TYPE_UINT16 = 4,
  DML_TENSOR_DATA_TYPE_UINT8 = 5,
  DML_TENSOR_DATA_TYPE_INT32 = 6,
  DML_TENSOR_DATA_TYPE_INT16 = 7,
  DML_TENSOR_DATA_TYPE_INT8 = 8,
  DML_TENSOR_DATA_TYPE_FLOAT64 = 9,
  DML_TENSOR_DATA_TYPE_UINT64 = 10,
  DML_TENSOR_DATA_TYPE_INT64 = 11,
#if DML_TARGET_VERSION >= 0x6300
  DML_TENSOR_DATA_TYPE_UINT4 = 12,
#endif
#if DML_TARGET_VERSION >= 0x6300
  DML_TENSOR_DATA_TYPE_INT4 = 13,
#endif
};

enum DML_TENSOR_TYPE {
  DML_TENSOR_TYPE_INVALID = 0,
  DML_TENSOR_TYPE_BUFFER = 1,
};

enum DML_TENSOR_FLAGS {
  DML_TENSOR_FLAG_NONE = 0x0,
  DML_TENSOR_FLAG_OWNED_BY_DML = 0x1,
};

struct DML_TENSOR_DESC {
  DML_TENSOR_TYPE Type;
  const void* Desc;
};

struct DML_BUFFER_TENSOR_DESC {
  DML_TENSOR_DATA_TYPE DataType;
  DML_TENSOR_FLAGS Flags;
  UINT DimensionCount;
  const UINT* Sizes;
  const UINT* Strides;  // optional: null means packed, row-major
  UINT64 TotalTensorSizeInBytes;
  UINT GuaranteedBaseOffsetAlignment;
};

// The operators of this library, the fusable activations, and those that a fused activation may be confused with.
enum DML_OPERATOR_TYPE {
  DML_OPERATOR_INVALID = 0,
  DML_OPERATOR_ELEMENT_WISE_CLIP = 8,
  DML_OPERATOR_ELEMENT_WISE_QUANTIZE_LINEAR = 33,
  DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR = 34,
  DML_OPERATOR_ACTIVATION_ELU = 35,
  DML_OPERATOR_ACTIVATION_HARD_SIGMOID = 37,
  DML_OPERATOR_ACTIVATION_IDENTITY = 38,
  DML_OPERATOR_ACTIVATION_LEAKY_RELU = 39,
  DML_OPERATOR_ACTIVATION_LINEAR = 40,
  DML_OPERATOR_ACTIVATION_PARAMETRIC_SOFTPLUS = 43,
  DML_OPERATOR_ACTIVATION_RELU = 44,
  DML_OPERATOR_ACTIVATION_SCALED_ELU = 45,
  DML_OPERATOR_ACTIVATION_SCALED_TANH = 46,
  DML_OPERATOR_ACTIVATION_SIGMOID = 47,
  DML_OPERATOR_ACTIVATION_SOFTMAX = 48,
  DML_OPERATOR_ACTIVATION_SOFTPLUS = 49,
  DML_OPERATOR_ACTIVATION_SOFTSIGN = 50,
  DML_OPERATOR_ACTIVATION_TANH = 51,
  DML_OPERATOR_ACTIVATION_THRESHOLDED_RELU = 52,
  DML_OPERATOR_SLICE = 60,
  DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION = 73,
  DML_OPERATOR_ACTIVATION_SHRINK = 90,
  DML_OPERATOR_SLICE1 = 111,
  DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION1 = 115,
  DML_OPERATOR_MATRIX_MULTIPLY_INTEGER = 117,
  DML_OPERATOR_QUANTIZED_LINEAR_MATRIX_MULTIPLY = 118,
  DML_OPERATOR_CONVOLUTION_INTEGER = 119,
  DML_OPERATOR_QUANTIZED_LINEAR_CONVOLUTION = 120,
#if DML_TARGET_VERSION >= 0x3000
  DML_OPERATOR_ACTIVATION_CELU = 128,
#endif
#if DML_TARGET_VERSION >= 0x5100
  DML_OPERATOR_ACTIVATION_GELU = 157,
#endif
#if DML_TARGET_VERSION >= 0x5100
  DML_OPERATOR_ACTIVATION_SOFTMAX1 = 158,
#endif
#if DML_TARGET_VERSION >= 0x6300
  DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION2 = 171,
#endif
};

struct DML_OPERATOR_DESC {
  DML_OPERATOR_TYPE Type;
  const void* Desc;
};

enum DML_FEATURE_LEVEL {
  DML_FEATURE_LEVEL_1_0 = 0x1000,
  DML_FEATURE_LEVEL_2_0 = 0x2000,
#if DML_TARGET_VERSION >= 0x2100
  DML_FEATURE_LEVEL_2_1 = 0x2100,
#endif
#if DML_TARGET_VERSION >= 0x3000
  DML_FEATURE_LEVEL_3_0 = 0x3000,
#endif
#if DML_TARGET_VERSION >= 0x3100
  DML_FEATURE_LEVEL_3_1 = 0x3100,
#endif
#if DML_TARGET_VERSION >= 0x4000
  DML_FEATURE_LEVEL_4_0 = 0x4000,
#endif
#if DML_TARGET_VERSION >= 0x4100
  DML_FEATURE_LEVEL_4_1 = 0x4100,
#endif
#if DML_TARGET_VERSION >= 0x5000
  DML_FEATURE_LEVEL_5_0 = 0x5000,
#endif
#if DML_TARGET_VERSION >= 0x5100
  DML_FEATURE_LEVEL_5_1 = 0x5100,
#endif
#if DML_TARGET_VERSION >= 0x5200
  DML_FEATURE_LEVEL_5_2 = 0x5200,
#endif
#if DML_TARGET_VERSION >= 0x6000
  DML_FEATURE_LEVEL_6_0 = 0x6000,
#endif
#if DML_TARGET_VERSION >= 0x6100
  DML_FEATURE_LEVEL_6_1 = 0x6100,
#endif
#if DML_TARGET_VERSION >= 0x6200
  DML_FEATURE_LEVEL_6_2 = 0x6200,
#endif
#if DML_TARGET_VERSION >= 0x6300
  DML_FEATURE_LEVEL_6_3 = 0x6300,
#endif
#if DML_TARGET_VERSION >= 0x6400
  DML_FEATURE_LEVEL_6_4 = 0x6400,
#endif
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
  const DML_TENSOR_DESC* InputZeroPointTensor;  // optional
  const DML_TENSOR_DESC* FilterTensor;
  const DML_TENSOR_DESC* FilterScaleTensor;
  const DML_TENSOR_DESC* FilterZeroPointTensor;  // optional
  const DML_TENSOR_DESC* BiasTensor;             // optional
  const DML_TENSOR_DESC* OutputScaleTensor;
  const DML_TENSOR_DESC* OutputZeroPointTensor;  // optional
  const DML_TENSOR_DESC* OutputTensor;
  UINT DimensionCount;
  const UINT* Strides;
  const UINT* Dilations;
  const UINT* StartPadding;
  const UINT* EndPadding;
  UINT GroupCount;
};

struct DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* ScaleTensor;
  const DML_TENSOR_DESC* ZeroPointTensor;
  const DML_TENSOR_DESC* OutputTensor;
};

struct DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* ScaleTensor;
  const DML_TENSOR_DESC* ZeroPointTensor;
  const DML_TENSOR_DESC* OutputTensor;
};

struct DML_CONVOLUTION_INTEGER_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* InputZeroPointTensor;
  const DML_TENSOR_DESC* FilterTensor;
  const DML_TENSOR_DESC* FilterZeroPointTensor;
  const DML_TENSOR_DESC* OutputTensor;
  UINT DimensionCount;
  const UINT* Strides;
  const UINT* Dilations;
  const UINT* StartPadding;
  const UINT* EndPadding;
  UINT GroupCount;
};

struct DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC {
  const DML_TENSOR_DESC* ATensor;
  const DML_TENSOR_DESC* AZeroPointTensor;
  const DML_TENSOR_DESC* BTensor;
  const DML_TENSOR_DESC* BZeroPointTensor;
  const DML_TENSOR_DESC* OutputTensor;
};

struct DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC {
  const DML_TENSOR_DESC* ATensor;
  const DML_TENSOR_DESC* AScaleTensor;
  const DML_TENSOR_DESC* AZeroPointTensor;
  const DML_TENSOR_DESC* BTensor;
  const DML_TENSOR_DESC* BScaleTensor;
  const DML_TENSOR_DESC* BZeroPointTensor;
  const DML_TENSOR_DESC* OutputScaleTensor;
  const DML_TENSOR_DESC* OutputZeroPointTensor;
  const DML_TENSOR_DESC* OutputTensor;
};

struct DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* ScaleTensor;  // optional
  const DML_TENSOR_DESC* BiasTensor;   // optional
  const DML_TENSOR_DESC* OutputTensor;
  BOOL CrossChannel;
  BOOL NormalizeVariance;
  FLOAT Epsilon;
  const DML_OPERATOR_DESC* FusedActivation;  // optional
};

struct DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* ScaleTensor;  // optional
  const DML_TENSOR_DESC* BiasTensor;   // optional
  const DML_TENSOR_DESC* OutputTensor;
  UINT AxisCount;
  const UINT* Axes;
  BOOL NormalizeVariance;
  FLOAT Epsilon;
  const DML_OPERATOR_DESC* FusedActivation;  // optional
};

#if DML_TARGET_VERSION >= 0x6300
struct DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* ScaleTensor;  // optional
  const DML_TENSOR_DESC* BiasTensor;   // optional
  const DML_TENSOR_DESC* OutputTensor;
  UINT AxisCount;
  const UINT* Axes;
  BOOL UseMean;
  BOOL UseVariance;
  FLOAT Epsilon;
  const DML_OPERATOR_DESC* FusedActivation;  // optional
};
#endif

// The fusable activations. When fused, InputTensor and OutputTensor are null.
struct DML_ACTIVATION_ELU_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  FLOAT Alpha;
};
struct DML_ACTIVATION_HARD_SIGMOID_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  FLOAT Alpha;
  FLOAT Beta;
};
struct DML_ACTIVATION_IDENTITY_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
};
struct DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  FLOAT Alpha;
};
struct DML_ACTIVATION_LINEAR_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  FLOAT Alpha;
  FLOAT Beta;
};
struct DML_ACTIVATION_PARAMETRIC_SOFTPLUS_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  FLOAT Alpha;
  FLOAT Beta;
};
struct DML_ACTIVATION_RELU_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
};
struct DML_ACTIVATION_SCALED_ELU_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  FLOAT Alpha;
  FLOAT Gamma;
};
struct DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  FLOAT Alpha;
  FLOAT Beta;
};
struct DML_ACTIVATION_SIGMOID_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
};
struct DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  FLOAT Steepness;
};
struct DML_ACTIVATION_SOFTSIGN_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
};
struct DML_ACTIVATION_TANH_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
};
struct DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  FLOAT Alpha;
};
struct DML_ACTIVATION_SHRINK_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  FLOAT Bias;
  FLOAT Threshold;
};
#if DML_TARGET_VERSION >= 0x3000
struct DML_ACTIVATION_CELU_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  FLOAT Alpha;
};
#endif
#if DML_TARGET_VERSION >= 0x5100
struct DML_ACTIVATION_GELU_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
};
#endif
