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

/// The function that plans a desc. One row an operator.
template <class Desc>
inline constexpr auto planner_of = nullptr;
template <>
inline constexpr auto planner_of<SliceDesc> = &DMLREF_SEAM(plan_slice);
template <>
inline constexpr auto planner_of<Slice1Desc> = &DMLREF_SEAM(plan_slice1);
template <>
inline constexpr auto planner_of<QuantizedLinearConvolutionDesc> = &DMLREF_SEAM(plan_quantized_linear_convolution);
template <>
inline constexpr auto planner_of<MeanVarianceNormalizationDesc> = &DMLREF_SEAM(plan_mean_variance_normalization);
template <>
inline constexpr auto planner_of<MeanVarianceNormalization1Desc> = &DMLREF_SEAM(plan_mean_variance_normalization1);

// The same text in all units, with kernels or without: the linker keeps one of them.
template <class Desc>
PlannedOperator plan(const Desc& desc, Isa isa, const Tuning& tuning) {
  PlannedOperator planned;
  planner_of<Desc>(desc, isa, tuning, planned);
  return planned;
}

}  // namespace detail
DMLREF_END

#endif
