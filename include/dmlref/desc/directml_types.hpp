// directml_types.hpp: Microsoft's names, enumerator values, field order and layout, for programs without <DirectML.h>.
//
// Where <DirectML.h> came first (it defines DML_TARGET_VERSION) nothing is declared and its types are taken. Only what
// our operators touch is here. Source: DirectML.h of the 1.15 generation as described in the public documentation, with
// a page per name: https://learn.microsoft.com/en-us/windows/win32/api/directml/
#pragma once

#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"

#if !defined(DML_TARGET_VERSION)

#if !defined(DMLREF_NO_WINDOWS_TYPES)

// Other headers have these names, too, and some for other types: X11's and Objective-C's BOOL is a byte, that of
// DirectX-Headers is unsigned. A type that is declared stays; a macro is away until the end of this header.
#pragma push_macro("UINT")
#pragma push_macro("INT")
#pragma push_macro("UINT64")
#pragma push_macro("FLOAT")
#pragma push_macro("BOOL")
#undef UINT
#undef INT
#undef UINT64
#undef FLOAT
#undef BOOL

namespace dmlref::windows {
/// Where NAME is a type at global scope, NAME(Wanted{}) converts to it. Else it calls the function of that name here.
struct Wanted {
  template <class T>
  operator T() const noexcept;  ///< never defined
};
unsigned int UINT(Wanted) noexcept;     ///< never defined, as are the others
int INT(Wanted) noexcept;               ///< 32 bits
std::uint64_t UINT64(Wanted) noexcept;  ///< 64 bits
float FLOAT(Wanted) noexcept;           ///< IEEE 754 binary32
int BOOL(Wanted) noexcept;              ///< true where it is not 0
}  // namespace dmlref::windows
/// The types that the names have at global scope, or Windows'.
namespace dmlref::declared {
template <class W = windows::Wanted>
using UintType = decltype(UINT(W{}));  ///< of UINT
template <class W = windows::Wanted>
using IntType = decltype(INT(W{}));  ///< of INT
template <class W = windows::Wanted>
using Uint64Type = decltype(UINT64(W{}));  ///< of UINT64
template <class W = windows::Wanted>
using FloatType = decltype(FLOAT(W{}));  ///< of FLOAT
template <class W = windows::Wanted>
using BoolType = decltype(BOOL(W{}));  ///< of BOOL
}  // namespace dmlref::declared

typedef dmlref::declared::UintType<> UINT;      ///< unsigned int
typedef dmlref::declared::IntType<> INT;        ///< int
typedef dmlref::declared::Uint64Type<> UINT64;  ///< std::uint64_t
typedef dmlref::declared::FloatType<> FLOAT;    ///< float: IEEE 754 binary32
typedef dmlref::declared::BoolType<> BOOL;      ///< int: true where it is not 0

#endif  // !defined(DMLREF_NO_WINDOWS_TYPES)

static_assert(sizeof(UINT) == 4 && sizeof(INT) == 4 && sizeof(UINT64) == 8 && sizeof(FLOAT) == 4,
              "dmlref requires UINT, INT and FLOAT of 32 bits and UINT64 of 64, as on Windows");

namespace dmlref::declared {
/// T where it has four bytes, else int.
template <std::size_t Bytes, class T>
struct Field {
  using Type = int;  ///< of another size than T
};
/// The same of four bytes.
template <class T>
struct Field<sizeof(int), T> {
  using Type = T;  ///< as it is declared
};
/// A BOOL of Microsoft's structs: four bytes, whatever other header has declared BOOL.
using BoolField = Field<sizeof(BOOL), BOOL>::Type;
}  // namespace dmlref::declared

/// The type of a tensor's elements. From level 4_1 the slices accept all but the 4-bit ones, which no operator here
/// does.
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
  DML_TENSOR_DATA_TYPE_UINT4 = 12,
  DML_TENSOR_DATA_TYPE_INT4 = 13,
};

/// What DML_TENSOR_DESC::Desc points to; only BUFFER is accepted.
enum DML_TENSOR_TYPE {
  DML_TENSOR_TYPE_INVALID = 0,
  DML_TENSOR_TYPE_BUFFER = 1,
};

/// A set of bits. OWNED_BY_DML: an input that is given to `initialize` instead of `execute`.
enum DML_TENSOR_FLAGS {
  DML_TENSOR_FLAG_NONE = 0x0,
  DML_TENSOR_FLAG_OWNED_BY_DML = 0x1,
};

/// A tensor of any type: DML_BUFFER_TENSOR_DESC behind a pointer.
struct DML_TENSOR_DESC {
  DML_TENSOR_TYPE Type;  ///< BUFFER
  const void* Desc;      ///< a DML_BUFFER_TENSOR_DESC
};

/// A tensor's layout in a buffer. The product of Sizes, the elements that the layout spans, and those that
/// TotalTensorSizeInBytes holds are at most 2^32 - 1.
struct DML_BUFFER_TENSOR_DESC {
  DML_TENSOR_DATA_TYPE DataType;       ///< of every element
  DML_TENSOR_FLAGS Flags;              ///< NONE or OWNED_BY_DML
  UINT DimensionCount;                 ///< 1 to 8, as the operator accepts
  const UINT* Sizes;                   ///< elements per dimension, each at least 1
  const UINT* Strides;                 ///< optional, in elements; null: packed, row-major. 0 repeats, in inputs only
  UINT64 TotalTensorSizeInBytes;       ///< at least what type, Sizes and Strides imply, rounded up to a multiple of 4
  UINT GuaranteedBaseOffsetAlignment;  ///< bytes, a power of two, at least an element; 0: no promise. A hint
};

/// The operators of this library, the fusable activations, and those that a fused activation may be confused with.
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
  DML_OPERATOR_ACTIVATION_CELU = 128,
  DML_OPERATOR_ACTIVATION_GELU = 157,
  DML_OPERATOR_ACTIVATION_SOFTMAX1 = 158,
  DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION2 = 171,
};

/// An operator of any type.
struct DML_OPERATOR_DESC {
  DML_OPERATOR_TYPE Type;  ///< which struct Desc points to
  const void* Desc;        ///< the struct of that operator
};

/// What a device offers: each level contains the ones below it.
enum DML_FEATURE_LEVEL {
  DML_FEATURE_LEVEL_1_0 = 0x1000,
  DML_FEATURE_LEVEL_2_0 = 0x2000,
  DML_FEATURE_LEVEL_2_1 = 0x2100,
  DML_FEATURE_LEVEL_3_0 = 0x3000,
  DML_FEATURE_LEVEL_3_1 = 0x3100,
  DML_FEATURE_LEVEL_4_0 = 0x4000,
  DML_FEATURE_LEVEL_4_1 = 0x4100,
  DML_FEATURE_LEVEL_5_0 = 0x5000,
  DML_FEATURE_LEVEL_5_1 = 0x5100,
  DML_FEATURE_LEVEL_5_2 = 0x5200,
  DML_FEATURE_LEVEL_6_0 = 0x6000,
  DML_FEATURE_LEVEL_6_1 = 0x6100,
  DML_FEATURE_LEVEL_6_2 = 0x6200,
  DML_FEATURE_LEVEL_6_3 = 0x6300,
  DML_FEATURE_LEVEL_6_4 = 0x6400,
};

/// SLICE: OutputTensor[c] = InputTensor[Offsets + Strides * c], in every dimension.
struct DML_SLICE_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;   ///< 1 to 8 dimensions, 4 or 5 below level 3_0
  const DML_TENSOR_DESC* OutputTensor;  ///< type and rank of the input, sizes as Sizes
  UINT DimensionCount;                  ///< the tensors', and the length of each array
  const UINT* Offsets;                  ///< first element, per dimension
  const UINT* Sizes;                    ///< elements of the output, per dimension
  const UINT* Strides;                  ///< step, per dimension; 0 repeats one element
};

/// SLICE1: OutputTensor[c] = InputTensor[start + InputWindowStrides * c]; `start` is the window's first element for a
/// positive stride, its last for a negative one.
struct DML_SLICE1_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;   ///< 1 to 8 dimensions, 4 or 5 below level 3_0
  const DML_TENSOR_DESC* OutputTensor;  ///< type and rank of the input; at most what the window offers
  UINT DimensionCount;                  ///< the tensors', and the length of each array
  const UINT* InputWindowOffsets;       ///< first element of the window, per dimension
  const UINT* InputWindowSizes;         ///< elements of the window, per dimension, each at least 1
  const INT* InputWindowStrides;        ///< step, per dimension, of either sign, not 0
};

/// QUANTIZED_LINEAR_CONVOLUTION of input {N, InC, H, W}, or {N, InC, W} from level 4_0: both operands dequantized,
/// cross-correlated, the bias added, and the sum quantized.
struct DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;            ///< {N, InC, H, W}, INT8 or UINT8
  const DML_TENSOR_DESC* InputScaleTensor;       ///< one FLOAT32
  const DML_TENSOR_DESC* InputZeroPointTensor;   ///< optional; one, of the input's type; absent: 0
  const DML_TENSOR_DESC* FilterTensor;           ///< {OutC, InC / GroupCount, FH, FW}, INT8 or UINT8
  const DML_TENSOR_DESC* FilterScaleTensor;      ///< one FLOAT32, or OutC
  const DML_TENSOR_DESC* FilterZeroPointTensor;  ///< optional; one or OutC, of the filter's type; absent: 0
  const DML_TENSOR_DESC* BiasTensor;             ///< optional; {1, OutC, 1, 1}, INT32, in units of both scales' product
  const DML_TENSOR_DESC* OutputScaleTensor;      ///< one FLOAT32
  const DML_TENSOR_DESC* OutputZeroPointTensor;  ///< optional; one, of the output's type; absent: 0
  const DML_TENSOR_DESC* OutputTensor;           ///< {N, OutC, OH, OW}, INT8 or UINT8
  UINT DimensionCount;                           ///< spatial dimensions, and the length of each array: 2, or 1
  const UINT* Strides;                           ///< steps of the window over the padded input, each at least 1
  const UINT* Dilations;                         ///< distances between the filter's taps, each at least 1
  const UINT* StartPadding;                      ///< elements of the zero point's value before the input
  const UINT* EndPadding;                        ///< the same after it
  UINT GroupCount;                               ///< at least 1; divides InC and OutC
};

/// MEAN_VARIANCE_NORMALIZATION: act(Scale * (x - mean) / sqrt(variance + Epsilon) + Bias), of four dimensions.
struct DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;             ///< FLOAT32 or FLOAT16
  const DML_TENSOR_DESC* ScaleTensor;             ///< optional; the input's sizes, or 1, per dimension
  const DML_TENSOR_DESC* BiasTensor;              ///< optional; the same. Below level 5_2 both are present or neither
  const DML_TENSOR_DESC* OutputTensor;            ///< type and sizes of the input
  dmlref::declared::BoolField CrossChannel;       ///< mean and variance of {C, H, W}; else of {H, W}
  dmlref::declared::BoolField NormalizeVariance;  ///< false: only the mean is subtracted
  FLOAT Epsilon;                                  ///< added to the variance
  const DML_OPERATOR_DESC* FusedActivation;       ///< optional; one of those below, with null tensors
};

/// MEAN_VARIANCE_NORMALIZATION1: the same with the mean and variance of chosen dimensions.
struct DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;             ///< FLOAT32 or FLOAT16
  const DML_TENSOR_DESC* ScaleTensor;             ///< optional; the input's sizes, or 1, per dimension
  const DML_TENSOR_DESC* BiasTensor;              ///< optional; the same. Below level 5_2 both are present or neither
  const DML_TENSOR_DESC* OutputTensor;            ///< type and sizes of the input
  UINT AxisCount;                                 ///< 0 to 8; 0: each element by itself
  const UINT* Axes;                               ///< dimensions of one mean and variance, none twice; null where none
  dmlref::declared::BoolField NormalizeVariance;  ///< false: only the mean is subtracted
  FLOAT Epsilon;                                  ///< added to the variance
  const DML_OPERATOR_DESC* FusedActivation;       ///< optional; one of those below, with null tensors
};

/// MEAN_VARIANCE_NORMALIZATION2: the same, with either statistic or without; from level 6_3.
struct DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;        ///< FLOAT32 or FLOAT16
  const DML_TENSOR_DESC* ScaleTensor;        ///< optional; the input's sizes, or 1, per dimension
  const DML_TENSOR_DESC* BiasTensor;         ///< optional; the same
  const DML_TENSOR_DESC* OutputTensor;       ///< type and sizes of the input
  UINT AxisCount;                            ///< 0 to 8; 0: each element by itself
  const UINT* Axes;                          ///< dimensions of the statistics, none twice; null where none
  dmlref::declared::BoolField UseMean;       ///< false: nothing is subtracted, and the variance is about 0
  dmlref::declared::BoolField UseVariance;   ///< false: no division, and no Epsilon
  FLOAT Epsilon;                             ///< added to the variance
  const DML_OPERATOR_DESC* FusedActivation;  ///< optional; one of those below, with null tensors
};

/// ELEMENT_WISE_QUANTIZE_LINEAR: clamp(round(InputTensor / ScaleTensor) + ZeroPointTensor), halves rounded to even. All
/// tensors have the same sizes; stride 0 repeats a scale or zero point.
struct DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;      ///< FLOAT32, INT32 from level 2_1, FLOAT16 from 6_0
  const DML_TENSOR_DESC* ScaleTensor;      ///< type of the input, FLOAT32 where that is INT32
  const DML_TENSOR_DESC* ZeroPointTensor;  ///< type of the output; optional from level 6_2, 0 where it is null
  const DML_TENSOR_DESC* OutputTensor;     ///< UINT8, INT8 from level 2_1
};

/// ELEMENT_WISE_DEQUANTIZE_LINEAR: (InputTensor - ZeroPointTensor) * ScaleTensor. All tensors have the same sizes;
/// stride 0 repeats a scale or zero point.
struct DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;      ///< UINT8; integers of 8, 16 and 32 bits from level 2_1
  const DML_TENSOR_DESC* ScaleTensor;      ///< FLOAT32, FLOAT16 from level 6_0
  const DML_TENSOR_DESC* ZeroPointTensor;  ///< type of the input; optional from level 6_2, 0 where it is null
  const DML_TENSOR_DESC* OutputTensor;     ///< type of the scale
};

/// CONVOLUTION_INTEGER of input {N, InC, H, W}, or {N, InC, W} from level 4_0: both operands less their zero points,
/// cross-correlated.
struct DML_CONVOLUTION_INTEGER_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;            ///< {N, InC, H, W}, INT8 or UINT8
  const DML_TENSOR_DESC* InputZeroPointTensor;   ///< optional; one, of the input's type; absent: 0
  const DML_TENSOR_DESC* FilterTensor;           ///< {OutC, InC / GroupCount, FH, FW}, INT8 or UINT8
  const DML_TENSOR_DESC* FilterZeroPointTensor;  ///< optional; one or OutC, of the filter's type; absent: 0
  const DML_TENSOR_DESC* OutputTensor;           ///< {N, OutC, OH, OW}, INT32: sums modulo 2^32
  UINT DimensionCount;                           ///< spatial dimensions, and the length of each array: 2, or 1
  const UINT* Strides;                           ///< steps of the window over the padded input, each at least 1
  const UINT* Dilations;                         ///< distances between the filter's taps, each at least 1
  const UINT* StartPadding;                      ///< elements of the zero point's value before the input
  const UINT* EndPadding;                        ///< the same after it
  UINT GroupCount;                               ///< at least 1; divides InC and OutC
};

/// MATRIX_MULTIPLY_INTEGER: A {M, K} by B {K, N}, each less its zero point, in every batch and channel.
struct DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC {
  const DML_TENSOR_DESC* ATensor;           ///< {[batch, [channel,]] M, K}, INT8 or UINT8; 4 dimensions below level 4_0
  const DML_TENSOR_DESC* AZeroPointTensor;  ///< optional; one, or one per row, of A's type; absent: 0
  const DML_TENSOR_DESC* BTensor;           ///< {[batch, [channel,]] K, N}, INT8 or UINT8
  const DML_TENSOR_DESC* BZeroPointTensor;  ///< optional; one, or one per column, of B's type; absent: 0
  const DML_TENSOR_DESC* OutputTensor;      ///< {[batch, [channel,]] M, N}, INT32: sums modulo 2^32
};

/// QUANTIZED_LINEAR_MATRIX_MULTIPLY: A {M, K} and B {K, N} dequantized, multiplied, and the sums quantized.
struct DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC {
  const DML_TENSOR_DESC* ATensor;                ///< {[batch, [channel,]] M, K}, INT8 or UINT8
  const DML_TENSOR_DESC* AScaleTensor;           ///< one FLOAT32, or one per row
  const DML_TENSOR_DESC* AZeroPointTensor;       ///< optional; one, or one per row, of A's type; absent: 0
  const DML_TENSOR_DESC* BTensor;                ///< {[batch, [channel,]] K, N}, INT8 or UINT8
  const DML_TENSOR_DESC* BScaleTensor;           ///< one FLOAT32, or one per column
  const DML_TENSOR_DESC* BZeroPointTensor;       ///< optional; one, or one per column, of B's type; absent: 0
  const DML_TENSOR_DESC* OutputScaleTensor;      ///< an input: one FLOAT32, or one per row
  const DML_TENSOR_DESC* OutputZeroPointTensor;  ///< an input, optional; one, or one per row, of the output's type
  const DML_TENSOR_DESC* OutputTensor;           ///< {[batch, [channel,]] M, N}, INT8 or UINT8
};

// The fusable activations. When fused, InputTensor and OutputTensor are null.
/// x < 0: Alpha * (e^x - 1); else x.
struct DML_ACTIVATION_ELU_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  FLOAT Alpha;
};
/// max(0, min(1, Alpha * x + Beta)).
struct DML_ACTIVATION_HARD_SIGMOID_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  FLOAT Alpha;
  FLOAT Beta;
};
/// x.
struct DML_ACTIVATION_IDENTITY_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
};
/// x < 0: Alpha * x; else x.
struct DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  FLOAT Alpha;
};
/// Alpha * x + Beta.
struct DML_ACTIVATION_LINEAR_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  FLOAT Alpha;
  FLOAT Beta;
};
/// Alpha * ln(1 + e^(Beta * x)).
struct DML_ACTIVATION_PARAMETRIC_SOFTPLUS_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  FLOAT Alpha;
  FLOAT Beta;
};
/// max(0, x).
struct DML_ACTIVATION_RELU_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
};
/// x > 0: Gamma * x; else Gamma * (Alpha * e^x - Alpha).
struct DML_ACTIVATION_SCALED_ELU_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  FLOAT Alpha;
  FLOAT Gamma;
};
/// Alpha * tanh(Beta * x).
struct DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  FLOAT Alpha;
  FLOAT Beta;
};
/// 1 / (1 + e^-x).
struct DML_ACTIVATION_SIGMOID_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
};
/// ln(1 + e^(Steepness * x)) / Steepness; Steepness is at least 1 below level 6_4.
struct DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  FLOAT Steepness;
};
/// x / (1 + |x|).
struct DML_ACTIVATION_SOFTSIGN_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
};
/// tanh(x).
struct DML_ACTIVATION_TANH_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
};
/// x > Alpha: x; else 0.
struct DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  FLOAT Alpha;
};
/// x > Threshold: x - Bias; x < -Threshold: x + Bias; else 0. From level 2_0.
struct DML_ACTIVATION_SHRINK_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  FLOAT Bias;
  FLOAT Threshold;
};
/// max(0, x) + min(0, Alpha * (e^(x / Alpha) - 1)). From level 3_0.
struct DML_ACTIVATION_CELU_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  FLOAT Alpha;
};
/// 0.5 * x * (1 + erf(x / sqrt(2))). From level 5_1.
struct DML_ACTIVATION_GELU_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
};

#if !defined(DMLREF_NO_WINDOWS_TYPES)
#pragma pop_macro("UINT")
#pragma pop_macro("INT")
#pragma pop_macro("UINT64")
#pragma pop_macro("FLOAT")
#pragma pop_macro("BOOL")
#endif

#elif DML_TARGET_VERSION < 0x4000

// Older ones lack SLICE1, MVN1 and QLC, or an enumeration whose range holds DML_FEATURE_LEVEL_6_4.
#error "dmlref needs DML_TARGET_VERSION 0x4000 or newer"

#endif  // !defined(DML_TARGET_VERSION)
