// plans.hpp: from a valid descriptor of any operator to its plan: where every kernel enters a program.
#pragma once

#include <variant>

#include "dmlref/config.hpp"
#include "dmlref/desc/operator_desc.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/op/plan.hpp"

#if DMLREF_HAS_KERNELS
#include "dmlref/op/mean_variance_normalization.hpp"
#include "dmlref/op/quantized_linear_convolution.hpp"
#include "dmlref/op/slice.hpp"
#else
DMLREF_BEGIN
namespace detail {
PlannedOperator plan(const SliceDesc& desc, Isa isa, const Tuning& tuning);
PlannedOperator plan(const Slice1Desc& desc, Isa isa, const Tuning& tuning);
PlannedOperator plan(const QuantizedLinearConvolutionDesc& desc, Isa isa, const Tuning& tuning);
PlannedOperator plan(const MeanVarianceNormalizationDesc& desc, Isa isa, const Tuning& tuning);
PlannedOperator plan(const MeanVarianceNormalization1Desc& desc, Isa isa, const Tuning& tuning);
}  // namespace detail
DMLREF_END
#endif

DMLREF_BEGIN
namespace detail {

inline PlannedOperator plan(const OperatorDesc& desc, Isa isa, const Tuning& tuning) {
  return std::visit([&](const auto& d) { return plan(d, isa, tuning); }, desc);
}

}  // namespace detail
DMLREF_END
