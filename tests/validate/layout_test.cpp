// layout_test.cpp: the structs of desc/directml_types.hpp have Microsoft's field order, offsets and sizes on a 64-bit
// system, and its enumerators Microsoft's values. Written from the documentation, in numbers.
#include <cstddef>
#include <type_traits>

#include "dmlref/desc/directml_types.hpp"

#include <gtest/gtest.h>

static_assert(sizeof(void*) == 8, "the offsets below are those of 64-bit systems");
static_assert(sizeof(UINT) == 4 && std::is_unsigned_v<UINT>);
static_assert(sizeof(INT) == 4 && std::is_signed_v<INT>);
static_assert(sizeof(UINT64) == 8 && std::is_unsigned_v<UINT64>);
static_assert(sizeof(FLOAT) == 4 && std::is_floating_point_v<FLOAT>);
static_assert(sizeof(BOOL) == 4 && std::is_signed_v<BOOL>);
static_assert(sizeof(DML_TENSOR_DATA_TYPE) == 4 && sizeof(DML_TENSOR_TYPE) == 4 && sizeof(DML_TENSOR_FLAGS) == 4);
static_assert(sizeof(DML_OPERATOR_TYPE) == 4 && sizeof(DML_FEATURE_LEVEL) == 4);

static_assert(DML_TENSOR_DATA_TYPE_UNKNOWN == 0);
static_assert(DML_TENSOR_DATA_TYPE_FLOAT32 == 1);
static_assert(DML_TENSOR_DATA_TYPE_FLOAT16 == 2);
static_assert(DML_TENSOR_DATA_TYPE_UINT32 == 3);
static_assert(DML_TENSOR_DATA_TYPE_UINT16 == 4);
static_assert(DML_TENSOR_DATA_TYPE_UINT8 == 5);
static_assert(DML_TENSOR_DATA_TYPE_INT32 == 6);
static_assert(DML_TENSOR_DATA_TYPE_INT16 == 7);
static_assert(DML_TENSOR_DATA_TYPE_INT8 == 8);
static_assert(DML_TENSOR_DATA_TYPE_FLOAT64 == 9);
static_assert(DML_TENSOR_DATA_TYPE_UINT64 == 10);
static_assert(DML_TENSOR_DATA_TYPE_INT64 == 11);
static_assert(DML_TENSOR_DATA_TYPE_UINT4 == 12);
static_assert(DML_TENSOR_DATA_TYPE_INT4 == 13);

static_assert(DML_TENSOR_TYPE_INVALID == 0);
static_assert(DML_TENSOR_TYPE_BUFFER == 1);
static_assert(DML_TENSOR_FLAG_NONE == 0);
static_assert(DML_TENSOR_FLAG_OWNED_BY_DML == 1);

static_assert(DML_OPERATOR_INVALID == 0);
static_assert(DML_OPERATOR_ELEMENT_WISE_CLIP == 8);
static_assert(DML_OPERATOR_ACTIVATION_ELU == 35);
static_assert(DML_OPERATOR_ACTIVATION_HARD_SIGMOID == 37);
static_assert(DML_OPERATOR_ACTIVATION_IDENTITY == 38);
static_assert(DML_OPERATOR_ACTIVATION_LEAKY_RELU == 39);
static_assert(DML_OPERATOR_ACTIVATION_LINEAR == 40);
static_assert(DML_OPERATOR_ACTIVATION_PARAMETRIC_SOFTPLUS == 43);
static_assert(DML_OPERATOR_ACTIVATION_RELU == 44);
static_assert(DML_OPERATOR_ACTIVATION_SCALED_ELU == 45);
static_assert(DML_OPERATOR_ACTIVATION_SCALED_TANH == 46);
static_assert(DML_OPERATOR_ACTIVATION_SIGMOID == 47);
static_assert(DML_OPERATOR_ACTIVATION_SOFTMAX == 48);
static_assert(DML_OPERATOR_ACTIVATION_SOFTPLUS == 49);
static_assert(DML_OPERATOR_ACTIVATION_SOFTSIGN == 50);
static_assert(DML_OPERATOR_ACTIVATION_TANH == 51);
static_assert(DML_OPERATOR_ACTIVATION_THRESHOLDED_RELU == 52);
static_assert(DML_OPERATOR_SLICE == 60);
static_assert(DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION == 73);
static_assert(DML_OPERATOR_ACTIVATION_SHRINK == 90);
static_assert(DML_OPERATOR_SLICE1 == 111);
static_assert(DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION1 == 115);
static_assert(DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION2 == 171);
static_assert(DML_OPERATOR_QUANTIZED_LINEAR_CONVOLUTION == 120);
static_assert(DML_OPERATOR_ACTIVATION_CELU == 128);
static_assert(DML_OPERATOR_ACTIVATION_GELU == 157);
static_assert(DML_OPERATOR_ACTIVATION_SOFTMAX1 == 158);

static_assert(DML_FEATURE_LEVEL_1_0 == 0x1000);
static_assert(DML_FEATURE_LEVEL_2_0 == 0x2000);
static_assert(DML_FEATURE_LEVEL_2_1 == 0x2100);
static_assert(DML_FEATURE_LEVEL_3_0 == 0x3000);
static_assert(DML_FEATURE_LEVEL_3_1 == 0x3100);
static_assert(DML_FEATURE_LEVEL_4_0 == 0x4000);
static_assert(DML_FEATURE_LEVEL_4_1 == 0x4100);
static_assert(DML_FEATURE_LEVEL_5_0 == 0x5000);
static_assert(DML_FEATURE_LEVEL_5_1 == 0x5100);
static_assert(DML_FEATURE_LEVEL_5_2 == 0x5200);
static_assert(DML_FEATURE_LEVEL_6_0 == 0x6000);
static_assert(DML_FEATURE_LEVEL_6_1 == 0x6100);
static_assert(DML_FEATURE_LEVEL_6_2 == 0x6200);
static_assert(DML_FEATURE_LEVEL_6_3 == 0x6300);
static_assert(DML_FEATURE_LEVEL_6_4 == 0x6400);

namespace {

// `Member` of type `Type` stands at `offset`.
template <class Struct, class Type>
constexpr bool is_at(Type Struct::*, std::size_t expected, std::size_t actual) {
  return std::is_standard_layout_v<Struct> && std::is_trivial_v<Struct> && expected == actual;
}
template <class Type, class Actual>
constexpr bool same_type = std::is_same_v<Type, Actual>;

}  // namespace

// A field's type and offset.
#define FIELD(Struct, Field, Type, Offset)                               \
  static_assert(is_at(&Struct::Field, Offset, offsetof(Struct, Field))); \
  static_assert(same_type<Type, decltype(Struct::Field)>)

using Tensor = const DML_TENSOR_DESC*;
using Uints = const UINT*;
using Fused = const DML_OPERATOR_DESC*;

FIELD(DML_TENSOR_DESC, Type, DML_TENSOR_TYPE, 0);
FIELD(DML_TENSOR_DESC, Desc, const void*, 8);
static_assert(sizeof(DML_TENSOR_DESC) == 16);

FIELD(DML_OPERATOR_DESC, Type, DML_OPERATOR_TYPE, 0);
FIELD(DML_OPERATOR_DESC, Desc, const void*, 8);
static_assert(sizeof(DML_OPERATOR_DESC) == 16);

FIELD(DML_BUFFER_TENSOR_DESC, DataType, DML_TENSOR_DATA_TYPE, 0);
FIELD(DML_BUFFER_TENSOR_DESC, Flags, DML_TENSOR_FLAGS, 4);
FIELD(DML_BUFFER_TENSOR_DESC, DimensionCount, UINT, 8);
FIELD(DML_BUFFER_TENSOR_DESC, Sizes, Uints, 16);
FIELD(DML_BUFFER_TENSOR_DESC, Strides, Uints, 24);
FIELD(DML_BUFFER_TENSOR_DESC, TotalTensorSizeInBytes, UINT64, 32);
FIELD(DML_BUFFER_TENSOR_DESC, GuaranteedBaseOffsetAlignment, UINT, 40);
static_assert(sizeof(DML_BUFFER_TENSOR_DESC) == 48);

FIELD(DML_SLICE_OPERATOR_DESC, InputTensor, Tensor, 0);
FIELD(DML_SLICE_OPERATOR_DESC, OutputTensor, Tensor, 8);
FIELD(DML_SLICE_OPERATOR_DESC, DimensionCount, UINT, 16);
FIELD(DML_SLICE_OPERATOR_DESC, Offsets, Uints, 24);
FIELD(DML_SLICE_OPERATOR_DESC, Sizes, Uints, 32);
FIELD(DML_SLICE_OPERATOR_DESC, Strides, Uints, 40);
static_assert(sizeof(DML_SLICE_OPERATOR_DESC) == 48);

FIELD(DML_SLICE1_OPERATOR_DESC, InputTensor, Tensor, 0);
FIELD(DML_SLICE1_OPERATOR_DESC, OutputTensor, Tensor, 8);
FIELD(DML_SLICE1_OPERATOR_DESC, DimensionCount, UINT, 16);
FIELD(DML_SLICE1_OPERATOR_DESC, InputWindowOffsets, Uints, 24);
FIELD(DML_SLICE1_OPERATOR_DESC, InputWindowSizes, Uints, 32);
FIELD(DML_SLICE1_OPERATOR_DESC, InputWindowStrides, const INT*, 40);
static_assert(sizeof(DML_SLICE1_OPERATOR_DESC) == 48);

FIELD(DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC, InputTensor, Tensor, 0);
FIELD(DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC, InputScaleTensor, Tensor, 8);
FIELD(DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC, InputZeroPointTensor, Tensor, 16);
FIELD(DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC, FilterTensor, Tensor, 24);
FIELD(DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC, FilterScaleTensor, Tensor, 32);
FIELD(DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC, FilterZeroPointTensor, Tensor, 40);
FIELD(DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC, BiasTensor, Tensor, 48);
FIELD(DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC, OutputScaleTensor, Tensor, 56);
FIELD(DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC, OutputZeroPointTensor, Tensor, 64);
FIELD(DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC, OutputTensor, Tensor, 72);
FIELD(DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC, DimensionCount, UINT, 80);
FIELD(DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC, Strides, Uints, 88);
FIELD(DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC, Dilations, Uints, 96);
FIELD(DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC, StartPadding, Uints, 104);
FIELD(DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC, EndPadding, Uints, 112);
FIELD(DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC, GroupCount, UINT, 120);
static_assert(sizeof(DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC) == 128);

FIELD(DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC, InputTensor, Tensor, 0);
FIELD(DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC, ScaleTensor, Tensor, 8);
FIELD(DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC, BiasTensor, Tensor, 16);
FIELD(DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC, OutputTensor, Tensor, 24);
FIELD(DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC, CrossChannel, BOOL, 32);
FIELD(DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC, NormalizeVariance, BOOL, 36);
FIELD(DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC, Epsilon, FLOAT, 40);
FIELD(DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC, FusedActivation, Fused, 48);
static_assert(sizeof(DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC) == 56);

FIELD(DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC, InputTensor, Tensor, 0);
FIELD(DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC, ScaleTensor, Tensor, 8);
FIELD(DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC, BiasTensor, Tensor, 16);
FIELD(DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC, OutputTensor, Tensor, 24);
FIELD(DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC, AxisCount, UINT, 32);
FIELD(DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC, Axes, Uints, 40);
FIELD(DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC, NormalizeVariance, BOOL, 48);
FIELD(DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC, Epsilon, FLOAT, 52);
FIELD(DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC, FusedActivation, Fused, 56);
static_assert(sizeof(DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC) == 64);

FIELD(DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC, InputTensor, Tensor, 0);
FIELD(DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC, ScaleTensor, Tensor, 8);
FIELD(DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC, BiasTensor, Tensor, 16);
FIELD(DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC, OutputTensor, Tensor, 24);
FIELD(DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC, AxisCount, UINT, 32);
FIELD(DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC, Axes, Uints, 40);
FIELD(DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC, UseMean, BOOL, 48);
FIELD(DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC, UseVariance, BOOL, 52);
FIELD(DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC, Epsilon, FLOAT, 56);
FIELD(DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC, FusedActivation, Fused, 64);
static_assert(sizeof(DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC) == 72);

// Every activation: two tensors, then none, one or two floats.
#define ACTIVATION0(Struct)               \
  FIELD(Struct, InputTensor, Tensor, 0);  \
  FIELD(Struct, OutputTensor, Tensor, 8); \
  static_assert(sizeof(Struct) == 16)
#define ACTIVATION1(Struct, First)        \
  FIELD(Struct, InputTensor, Tensor, 0);  \
  FIELD(Struct, OutputTensor, Tensor, 8); \
  FIELD(Struct, First, FLOAT, 16);        \
  static_assert(sizeof(Struct) == 24)
#define ACTIVATION2(Struct, First, Second) \
  FIELD(Struct, InputTensor, Tensor, 0);   \
  FIELD(Struct, OutputTensor, Tensor, 8);  \
  FIELD(Struct, First, FLOAT, 16);         \
  FIELD(Struct, Second, FLOAT, 20);        \
  static_assert(sizeof(Struct) == 24)

ACTIVATION1(DML_ACTIVATION_ELU_OPERATOR_DESC, Alpha);
ACTIVATION2(DML_ACTIVATION_HARD_SIGMOID_OPERATOR_DESC, Alpha, Beta);
ACTIVATION0(DML_ACTIVATION_IDENTITY_OPERATOR_DESC);
ACTIVATION1(DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC, Alpha);
ACTIVATION2(DML_ACTIVATION_LINEAR_OPERATOR_DESC, Alpha, Beta);
ACTIVATION2(DML_ACTIVATION_PARAMETRIC_SOFTPLUS_OPERATOR_DESC, Alpha, Beta);
ACTIVATION0(DML_ACTIVATION_RELU_OPERATOR_DESC);
ACTIVATION2(DML_ACTIVATION_SCALED_ELU_OPERATOR_DESC, Alpha, Gamma);
ACTIVATION2(DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC, Alpha, Beta);
ACTIVATION0(DML_ACTIVATION_SIGMOID_OPERATOR_DESC);
ACTIVATION1(DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC, Steepness);
ACTIVATION0(DML_ACTIVATION_SOFTSIGN_OPERATOR_DESC);
ACTIVATION0(DML_ACTIVATION_TANH_OPERATOR_DESC);
ACTIVATION1(DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC, Alpha);
ACTIVATION2(DML_ACTIVATION_SHRINK_OPERATOR_DESC, Bias, Threshold);
ACTIVATION1(DML_ACTIVATION_CELU_OPERATOR_DESC, Alpha);
ACTIVATION0(DML_ACTIVATION_GELU_OPERATOR_DESC);

// What needs no run time has been asserted above; this says that it was.
TEST(Layout, WasAssertedAtCompileTime) {
  DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC desc{};
  const auto* start = reinterpret_cast<const unsigned char*>(&desc);
  EXPECT_EQ(start + 56, reinterpret_cast<const unsigned char*>(&desc.FusedActivation));
}
