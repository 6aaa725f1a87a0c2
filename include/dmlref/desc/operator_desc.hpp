// operator_desc.hpp: any of our operators.
#pragma once

#include <type_traits>
#include <variant>

#include "dmlref/config.hpp"
#include "dmlref/desc/mean_variance_normalization.hpp"
#include "dmlref/desc/quantized_linear_convolution.hpp"
#include "dmlref/desc/slice.hpp"

DMLREF_BEGIN

/// A descriptor of any operator, as a value: what a DML_OPERATOR_DESC is read into.
using OperatorDesc = std::variant<SliceDesc, Slice1Desc, QuantizedLinearConvolutionDesc, MeanVarianceNormalizationDesc,
                                  MeanVarianceNormalization1Desc>;

namespace detail {
template <class Desc, class Variant>
struct IsAlternative;
template <class Desc, class... Alternatives>
struct IsAlternative<Desc, std::variant<Alternatives...>>
    : std::bool_constant<(std::is_same_v<Desc, Alternatives> || ...)> {};
}  // namespace detail

/// The desc of one operator, as OperatorDesc holds it. A program that compiles operators by such descs only holds the
/// kernels of just those operators.
template <class Desc>
concept OneOperatorDesc = detail::IsAlternative<Desc, OperatorDesc>::value;

DMLREF_END
