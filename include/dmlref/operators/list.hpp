// list.hpp: all operators of this library. Whatever is said of all of them is a fold over this list.
#pragma once

#include <span>
#include <variant>

#include "dmlref/config.hpp"
#include "dmlref/operators/convolution_integer/schema.hpp"
#include "dmlref/operators/element_wise_quantize_linear/schema.hpp"
#include "dmlref/operators/matrix_multiply_integer/schema.hpp"
#include "dmlref/operators/mean_variance_normalization/schema.hpp"
#include "dmlref/operators/quantized_linear_convolution/schema.hpp"
#include "dmlref/operators/slice/schema.hpp"

DMLREF_BEGIN
namespace schema {

/// Native descs, in the order of the documents.
template <class... Descs>
struct OperatorList {
  using Variant = std::variant<Descs...>;
  static constexpr OperatorInfo infos[] = {Schema<Descs>::info...};
  /// Of each operator.
  static constexpr std::span<const FieldInfo> fields[] = {schema::fields<Descs>...};

  /// Calls `visit.template operator()<Desc>()` for the desc of `type`; whether there is one.
  template <class Visit>
  static constexpr bool visit(OperatorType type, Visit&& visit) {
    return ((Schema<Descs>::info.type == type && (visit.template operator()<Descs>(), true)) || ...);
  }
};

using Operators = OperatorList<SliceDesc, Slice1Desc, QuantizedLinearConvolutionDesc, MeanVarianceNormalizationDesc,
                               MeanVarianceNormalization1Desc, MeanVarianceNormalization2Desc,
                               ElementWiseQuantizeLinearDesc, ElementWiseDequantizeLinearDesc, ConvolutionIntegerDesc,
                               MatrixMultiplyIntegerDesc, QuantizedLinearMatrixMultiplyDesc>;

}  // namespace schema

/// All operators of this library.
inline constexpr std::span<const OperatorInfo> operator_table = schema::Operators::infos;

/// The row of `type`; null where it is none of ours.
constexpr const OperatorInfo* find_operator(OperatorType type) noexcept {
  for (const OperatorInfo& row : operator_table) {
    if (row.type == type) return &row;
  }
  return nullptr;
}

DMLREF_END
