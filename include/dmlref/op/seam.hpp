// seam.hpp: how a separate program calls its kernels: by functions whose names carry no code tag.
//
// Their arguments do: each side declares them with its own types, which have one layout under all flags.
#pragma once

#include "dmlref/config.hpp"

#if defined(DMLREF_SEPARATE)

#include "dmlref/desc/mean_variance_normalization.hpp"
#include "dmlref/desc/quantized_linear_convolution.hpp"
#include "dmlref/desc/slice.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/op/plan.hpp"

DMLREF_BEGIN
namespace detail {

extern "C" {
void DMLREF_SEAM(plan_slice)(const SliceDesc& desc, Isa isa, const Tuning& tuning, PlannedOperator& planned);
void DMLREF_SEAM(plan_slice1)(const Slice1Desc& desc, Isa isa, const Tuning& tuning, PlannedOperator& planned);
void DMLREF_SEAM(plan_quantized_linear_convolution)(const QuantizedLinearConvolutionDesc& desc, Isa isa,
                                                    const Tuning& tuning, PlannedOperator& planned);
void DMLREF_SEAM(plan_mean_variance_normalization)(const MeanVarianceNormalizationDesc& desc, Isa isa,
                                                   const Tuning& tuning, PlannedOperator& planned);
void DMLREF_SEAM(plan_mean_variance_normalization1)(const MeanVarianceNormalization1Desc& desc, Isa isa,
                                                    const Tuning& tuning, PlannedOperator& planned);
}

// The same text in all units, with kernels or without: these are inline, and the linker keeps one of them.
inline PlannedOperator plan(const SliceDesc& desc, Isa isa, const Tuning& tuning) {
  PlannedOperator planned;
  DMLREF_SEAM(plan_slice)(desc, isa, tuning, planned);
  return planned;
}
inline PlannedOperator plan(const Slice1Desc& desc, Isa isa, const Tuning& tuning) {
  PlannedOperator planned;
  DMLREF_SEAM(plan_slice1)(desc, isa, tuning, planned);
  return planned;
}
inline PlannedOperator plan(const QuantizedLinearConvolutionDesc& desc, Isa isa, const Tuning& tuning) {
  PlannedOperator planned;
  DMLREF_SEAM(plan_quantized_linear_convolution)(desc, isa, tuning, planned);
  return planned;
}
inline PlannedOperator plan(const MeanVarianceNormalizationDesc& desc, Isa isa, const Tuning& tuning) {
  PlannedOperator planned;
  DMLREF_SEAM(plan_mean_variance_normalization)(desc, isa, tuning, planned);
  return planned;
}
inline PlannedOperator plan(const MeanVarianceNormalization1Desc& desc, Isa isa, const Tuning& tuning) {
  PlannedOperator planned;
  DMLREF_SEAM(plan_mean_variance_normalization1)(desc, isa, tuning, planned);
  return planned;
}

}  // namespace detail
DMLREF_END

#endif
