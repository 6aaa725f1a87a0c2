// mean_variance_normalization.hpp: MVN and MVN1: from a valid descriptor to a plan.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/desc/mean_variance_normalization.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/op/plan.hpp"

DMLREF_BEGIN
namespace detail {
inline PlannedOperator plan(const MeanVarianceNormalizationDesc&, Isa) { return {}; }
inline PlannedOperator plan(const MeanVarianceNormalization1Desc&, Isa) { return {}; }
}  // namespace detail
DMLREF_END
