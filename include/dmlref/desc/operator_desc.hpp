// operator_desc.hpp: any of our operators.
#pragma once

#include <variant>

#include "dmlref/config.hpp"
#include "dmlref/desc/mean_variance_normalization.hpp"
#include "dmlref/desc/quantized_linear_convolution.hpp"
#include "dmlref/desc/slice.hpp"

DMLREF_BEGIN

using OperatorDesc = std::variant<SliceDesc, Slice1Desc, QuantizedLinearConvolutionDesc, MeanVarianceNormalizationDesc,
                                  MeanVarianceNormalization1Desc>;

DMLREF_END
