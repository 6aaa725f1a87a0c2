// quantized_linear_convolution.hpp: QUANTIZED_LINEAR_CONVOLUTION: from a valid descriptor to a plan.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/desc/quantized_linear_convolution.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/op/plan.hpp"

DMLREF_BEGIN
namespace detail {
inline PlannedOperator plan(const QuantizedLinearConvolutionDesc&, Isa) { return {}; }
}  // namespace detail
DMLREF_END
