// rule_id.hpp: every rule's identity: what must hold, for which field, and which document says so.
//
// The conditions as code stand in validate/tensor.hpp, operators/<family>/rules.hpp and run/; the limits that depend on
// the level in validate/support_table.hpp and desc/activation.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "dmlref/config.hpp"

DMLREF_BEGIN

// Every rule: RULE(name, field, condition, source, lifted_from), whose meaning RuleInfo has.
// clang-format off
#define DMLREF_RULES(RULE)                                                                                             \
  /* Binding */                                                                                                        \
  RULE(binding_count, "inputs, outputs, owned_inputs",                                                                 \
       "one buffer per tensor of the desc, absent ones empty", "IDMLBindingTable::BindInputs", 0)                      \
  RULE(binding_name, "T",                                                                                              \
       "a name that is bound is a tensor's of the operator; the output's memory is writable",                          \
       "IDMLBindingTable::BindInputs", 0)                                                                              \
  RULE(buffer_missing, "T", "a tensor that is present has a buffer", "IDMLBindingTable::BindInputs", 0)                \
  RULE(buffer_too_small, "T, persistent, temporary",                                                                   \
       "a buffer holds its TotalTensorSizeInBytes, or what binding_properties reports", "DML_BUFFER_TENSOR_DESC", 0)   \
  RULE(buffer_unexpected, "T", "an absent tensor has no buffer", "IDMLBindingTable::BindInputs", 0)                    \
  RULE(buffer_owned_by_dml, "T", "owned tensors at initialize, the rest at execute", "DML_TENSOR_FLAGS", 0)            \
  RULE(buffer_overlap, "T, persistent, temporary",                                                                     \
       "what is written overlaps nothing else",                                                                        \
       "IDMLBindingTable::BindInputs, IDMLBindingTable::BindOutputs", 0)                                               \
  RULE(buffer_misaligned, "persistent, temporary",                                                                     \
       "persistent and temporary memory start at a multiple of 256", "DirectML constants", 0)                          \
  RULE(binding_offset, "T",                                                                                            \
       "with strict_bindings, a buffer starts at a multiple of GuaranteedBaseOffsetAlignment, or of 16 where that is "  \
       "0", "DML_BUFFER_BINDING", 0)                                                                                   \
  RULE(binding_size, "T", "with strict_bindings, a buffer's size is a multiple of 4", "DML_BUFFER_BINDING", 0)         \
  RULE(persistent_uninitialized, "persistent",                                                                         \
       "execute is given memory that initialize of an equal operator has filled", "reading", 0)                        \
  RULE(out_of_memory, "persistent, temporary", "run can allocate the persistent and temporary memory", "reading", 0)   \
  RULE(not_compiled, "Desc", "only a compiled operator runs", "reading", 0)                                            \
  /* Instruction sets */                                                                                               \
  RULE(isa_unknown, "DMLREF_ISA", "an instruction set's name is known", "reading", 0)                                  \
  RULE(isa_unsupported, "CompileOptions.isa, RunOptions.isa, DMLREF_ISA",                                              \
       "the CPU runs the instruction set asked for", "reading", 0)                                                     \
  /* Calls on views */                                                                                                 \
  RULE(number_range, "T.Sizes[d], T.Strides[d], A[i], GroupCount",                                                     \
       "a number given to a call on views is one that a descriptor can hold: 0 to 2^32 - 1, of strides the "           \
       "magnitude", "DML_BUFFER_TENSOR_DESC, the operators' pages", 0)                                                 \
  RULE(stride_negative, "T.Strides[d]",                                                                                \
       "a view that is described has no negative stride; calls on views take them", "DML_BUFFER_TENSOR_DESC", 0)       \
  /* The request as a whole */                                                                                         \
  RULE(feature_level, "FeatureLevel",                                                                                  \
       "the level is one of the fifteen from 1_0 to 6_4", "DirectML feature level history", 0)                         \
  RULE(operator_type, "Type", "the operator is one of this library's", "DML_OPERATOR_DESC", 0)                    \
  RULE(operator_level, "Type", "the level has the operator", "DirectML feature level history", 0)                      \
  RULE(desc_required, "Desc", "the operator's desc is not null", "DML_OPERATOR_DESC", 0)                               \
  /* Any tensor, any array */                                                                                          \
  RULE(tensor_required, "T", "a tensor that is not optional is not null", "the operators' pages", 0)                   \
  RULE(tensor_type, "T.Type", "a tensor is a BUFFER tensor", "DML_TENSOR_TYPE", 0)                                     \
  RULE(tensor_desc_required, "T.Desc", "a tensor's desc is not null", "DML_TENSOR_DESC", 0)                            \
  RULE(array_required, "T.Sizes, A",                                                                                   \
       "an array of one or more entries is not null", "DML_BUFFER_TENSOR_DESC, the operators' pages", 0)               \
  RULE(array_length, "T.Strides, A",                                                                                   \
       "an array has one entry per dimension", "DML_BUFFER_TENSOR_DESC, the operators' pages", 0)                      \
  RULE(tensor_dimension_count, "T.DimensionCount", "a tensor has 1 to 8 dimensions", "DML_BUFFER_TENSOR_DESC", 0)      \
  RULE(tensor_rank, "T.DimensionCount",                                                                                \
       "the operator takes that number of dimensions at the level", "the operators' tensor support tables", 0)         \
  RULE(tensor_rank_match, "T.DimensionCount",                                                                          \
       "tensors that belong together have the same number of dimensions", "the operators' tensor constraints", 0)      \
  RULE(tensor_data_type, "T.DataType",                                                                                 \
       "the operator takes that data type at the level", "the operators' tensor support tables", 0)                    \
  RULE(tensor_data_type_match, "T.DataType",                                                                           \
       "tensors that belong together have the same data type", "the operators' tensor constraints", 0)                 \
  RULE(tensor_flags, "T.Flags", "no flag but OWNED_BY_DML is set", "DML_TENSOR_FLAGS", 0)                              \
  RULE(tensor_owned_by_dml, "T.Flags", "only an input is owned by DML", "DML_TENSOR_FLAGS", 0)                         \
  RULE(tensor_size_zero, "T.Sizes[d]", "no size is 0", "DML_BUFFER_TENSOR_DESC", 0)                                    \
  RULE(tensor_element_limit, "T.Sizes, T.Strides, T.TotalTensorSizeInBytes",                                           \
       "the sizes' product, what the layout spans and what the total size holds are at most 2^32 - 1 elements",        \
       "DML_BUFFER_TENSOR_DESC", 0)                                                                                    \
  RULE(tensor_total_size, "T.TotalTensorSizeInBytes",                                                                  \
       "it is at least what sizes, strides and data type imply, rounded up to a multiple of 4",                        \
       "DML_BUFFER_TENSOR_DESC, DMLCalcBufferTensorSize", 0)                                                           \
  RULE(tensor_alignment, "T.GuaranteedBaseOffsetAlignment",                                                            \
       "it is 0, or a power of two not below the element's size", "DML_BUFFER_TENSOR_DESC", 0)                         \
  RULE(output_strides_overlap, "OutputTensor.Strides[d]",                                                              \
       "no two elements of the output share an address", "reading", 0)                                                 \
  /* SLICE and SLICE1 */                                                                                               \
  RULE(slice_dimension_count, "DimensionCount",                                                                        \
       "it is the tensors' number of dimensions, 1 to 8, and 4 or 5 below 3_0",                                        \
       "DML_SLICE_OPERATOR_DESC, DML_SLICE1_OPERATOR_DESC", 0)                                                         \
  RULE(slice_size_zero, "Sizes[d]", "no size is 0", "DML_SLICE_OPERATOR_DESC", 0)                                      \
  RULE(slice_output_size, "Sizes[d]", "it is OutputTensor.Sizes[d]", "DML_SLICE_OPERATOR_DESC", 0)                     \
  RULE(slice_bounds, "Offsets[d]",                                                                                     \
       "Offsets[d] + (Sizes[d] - 1) * Strides[d] < InputTensor.Sizes[d]", "DML_SLICE_OPERATOR_DESC", 0)                \
  RULE(slice1_window_empty, "InputWindowSizes[d]", "no window size is 0", "DML_SLICE1_OPERATOR_DESC", 0)               \
  RULE(slice1_window_bounds, "InputWindowOffsets[d]",                                                                  \
       "InputWindowOffsets[d] + InputWindowSizes[d] <= InputTensor.Sizes[d]", "DML_SLICE1_OPERATOR_DESC", 0)           \
  RULE(slice1_stride_zero, "InputWindowStrides[d]", "no window stride is 0", "DML_SLICE1_OPERATOR_DESC", 0)            \
  RULE(slice1_output_size, "OutputTensor.Sizes[d]",                                                                    \
       "it is at most 1 + (InputWindowSizes[d] - 1) / |InputWindowStrides[d]|", "DML_SLICE1_OPERATOR_DESC", 0)         \
  /* QUANTIZED_LINEAR_CONVOLUTION */                                                                                   \
  RULE(convolution_dimension_count, "DimensionCount",                                                                  \
       "it is InputTensor's number of dimensions less 2: 2, or 1 from 4_0",                                            \
       "DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC; 1: reading", 0)                                                \
  RULE(convolution_stride_zero, "Strides[i]", "no stride is 0", "reading", 0)                                          \
  RULE(convolution_dilation_zero, "Dilations[i]", "no dilation is 0", "reading", 0)                                    \
  RULE(convolution_group_count_zero, "GroupCount", "it is at least 1", "reading", 0)                                   \
  RULE(convolution_group_input_channels, "GroupCount", "it divides InputTensor.Sizes[1]", "reading", 0)                \
  RULE(convolution_group_output_channels, "GroupCount", "it divides FilterTensor.Sizes[0]", "reading", 0)              \
  RULE(convolution_filter_channels, "FilterTensor.Sizes[1]",                                                           \
       "FilterTensor.Sizes[1] * GroupCount = InputTensor.Sizes[1]", "reading", 0)                                      \
  RULE(convolution_batch, "OutputTensor.Sizes[0]",                                                                     \
       "it is InputTensor.Sizes[0]", "DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC", 0)                              \
  RULE(convolution_output_channels, "OutputTensor.Sizes[1]",                                                           \
       "it is FilterTensor.Sizes[0]", "DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC", 0)                             \
  RULE(convolution_kernel_fits, "FilterTensor.Sizes[d]",                                                               \
       "the dilated kernel is not larger than the padded input", "DirectMLX", 0)                                       \
  RULE(convolution_output_size, "OutputTensor.Sizes[d]",                                                               \
       "it is 1 + (start + input + end - (1 + (kernel - 1) * dilation)) / stride, rounded down", "DirectMLX", 0)       \
  RULE(convolution_bias_size, "BiasTensor.Sizes[d]",                                                                   \
       "the sizes are {1, OutC, 1, 1}, or {1, OutC, 1}", "DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC", 0)          \
  RULE(convolution_single_value, "T.Sizes[d]",                                                                         \
       "scale and zero point of input and output have one element",                                                    \
       "DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC", 0)                                                            \
  RULE(convolution_filter_values, "FilterScaleTensor.Sizes[d], FilterZeroPointTensor.Sizes[d]",                        \
       "the filter's scale and zero point each have one element, or OutC in dimension 1 (in dimension 0 of rank 1)",   \
       "DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC; ranks 1 and 2: reading", 0)                                    \
  /* MEAN_VARIANCE_NORMALIZATION and MEAN_VARIANCE_NORMALIZATION1 */                                                   \
  RULE(normalization_output_size, "OutputTensor.Sizes[d]",                                                             \
       "it is InputTensor.Sizes[d]", "DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC; MVN1: reading", 0)                \
  RULE(normalization_broadcast, "ScaleTensor.Sizes[d], BiasTensor.Sizes[d]",                                           \
       "it is InputTensor.Sizes[d], or 1", "the normalizations' pages", 0)                                             \
  RULE(normalization_channel_broadcast, "ScaleTensor.Sizes[c], BiasTensor.Sizes[c]",                                   \
       "MVN1 below 4_0: the channel's size, dimension 1 (0 of rank 1), is the input's, not 1",                         \
       "DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC; ranks other than 4: reading", 0x4000)                          \
  RULE(normalization_scale_with_bias, "ScaleTensor, BiasTensor",                                                       \
       "below 5_2, both or neither are present", "DirectML feature level history, the normalizations' pages", 0x5200)  \
  RULE(normalization_axis_count, "AxisCount", "there are at most 8 axes", "reading", 0)                                \
  RULE(normalization_axis_range, "Axes[i]", "an axis is below InputTensor.DimensionCount", "reading", 0)               \
  RULE(normalization_axis_repeated, "Axes[i]", "no axis is named twice", "reading", 0)                                 \
  /* ELEMENT_WISE_QUANTIZE_LINEAR and ELEMENT_WISE_DEQUANTIZE_LINEAR */                                                \
  RULE(element_wise_size, "ScaleTensor.Sizes[d], ZeroPointTensor.Sizes[d], OutputTensor.Sizes[d]",                     \
       "it is InputTensor.Sizes[d]; stride 0 repeats an element",                                                      \
       "DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC, DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC", 0)          \
  RULE(element_wise_zero_point, "ZeroPointTensor", "below 6_2 it is not null",                                         \
       "DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC, DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC", 0x6200)     \
  /* MATRIX_MULTIPLY_INTEGER and QUANTIZED_LINEAR_MATRIX_MULTIPLY */                                                   \
  RULE(matrix_multiply_batch, "BTensor.Sizes[d], OutputTensor.Sizes[d]",                                               \
       "the sizes before the last two are ATensor's", "the matrix products' pages; no broadcast: reading", 0)          \
  RULE(matrix_multiply_inner_size, "BTensor.Sizes[d]",                                                                 \
       "the last but one, K, is ATensor's last", "the matrix products' pages", 0)                                      \
  RULE(matrix_multiply_output_size, "OutputTensor.Sizes[d]",                                                           \
       "the last but one, M, is ATensor's last but one; the last, N, is BTensor's last",                               \
       "the matrix products' pages", 0)                                                                                \
  RULE(matrix_multiply_row_values, "T.Sizes[d]",                                                                       \
       "a scale or zero point of A or of the output has one element, or M in its last dimension but one, in "          \
       "MATRIX_MULTIPLY_INTEGER also in its only one",                                                                 \
       "the matrix products' pages; other ranks than A's: reading", 0)                                                 \
  RULE(matrix_multiply_column_values, "BScaleTensor.Sizes[d], BZeroPointTensor.Sizes[d]",                              \
       "a scale or zero point of B has one element, or N in its last dimension",                                       \
       "the matrix products' pages; other ranks than B's: reading", 0)                                                 \
  /* Fused activations */                                                                                              \
  RULE(activation_type, "FusedActivation.Type",                                                                        \
       "it is one of the seventeen activations that a normalization fuses", "Using fused operators", 0)                \
  RULE(activation_level, "FusedActivation.Type", "the level has the activation", "DirectML feature level history", 0)  \
  RULE(activation_desc_required, "FusedActivation.Desc", "the activation's desc is not null", "DML_OPERATOR_DESC", 0)  \
  RULE(activation_tensor_null, "FusedActivation.InputTensor, FusedActivation.OutputTensor",                            \
       "a fused activation's tensors are null", "Using fused operators", 0)                                            \
  RULE(activation_steepness, "FusedActivation.Steepness",                                                              \
       "SOFTPLUS below 6_4: it is not below 1",                                                                        \
       "DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC, DirectML feature level history", 0x6400)
// clang-format on

/// A rule's identity: stable within a minor version. `rule_table` says what each demands.
enum class RuleId : std::uint16_t {
#define DMLREF_RULE_ID(name, field, condition, source, lifted_from) name,
  DMLREF_RULES(DMLREF_RULE_ID)
#undef DMLREF_RULE_ID
};

/// A row of `rule_table`.
struct RuleInfo {
  RuleId id;                      ///< which rule
  std::string_view name;          ///< what a Report prints in brackets
  std::string_view field;         ///< where it is reported; T is any tensor's name, A any array's
  std::string_view condition;     ///< what must hold
  std::string_view source;        ///< the document that says so; "reading": our own, see docs/decisions
  std::uint32_t lifted_from = 0;  ///< value of the first DML_FEATURE_LEVEL without the rule; 0: all levels have it
};

/// All rules, in the order of RuleId.
inline constexpr auto rule_table = std::to_array<RuleInfo>({
#define DMLREF_RULE_INFO(name, field, condition, source, lifted_from) \
  {RuleId::name, #name, field, condition, source, lifted_from},
    DMLREF_RULES(DMLREF_RULE_INFO)
#undef DMLREF_RULE_INFO
});
#undef DMLREF_RULES

/// The rule's name, e.g. "buffer_too_small".
constexpr std::string_view to_string(RuleId id) noexcept {
  for (const RuleInfo& row : rule_table) {
    if (row.id == id) return row.name;
  }
  return "unknown";
}

/// See RuleInfo::lifted_from.
constexpr std::uint32_t lifted_from(RuleId id) noexcept {
  for (const RuleInfo& row : rule_table) {
    if (row.id == id) return row.lifted_from;
  }
  return 0;
}

DMLREF_END
