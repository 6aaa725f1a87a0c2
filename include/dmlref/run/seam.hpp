// seam.hpp: how a separate program calls its kernels: by functions whose names carry no code tag.
//
// Their arguments do: each side declares them with its own types, which have one layout under all flags.
#pragma once

#include <memory>

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/run/plan.hpp"

#if defined(DMLREF_SEPARATE)

DMLREF_BEGIN
namespace fast {
struct SliceProblem;
}
namespace fast::normalization {
struct Problem;
}
namespace fast::qlc {
struct Problem;
}

namespace detail {

extern "C" {
void DMLREF_SEAM(plan_slice)(const fast::SliceProblem& problem, Isa isa, const Tuning& tuning,
                             std::shared_ptr<const Plan>& plan);
void DMLREF_SEAM(plan_mean_variance_normalization)(const fast::normalization::Problem& problem, Isa isa,
                                                   const Tuning& tuning, std::shared_ptr<const Plan>& plan);
void DMLREF_SEAM(plan_quantized_linear_convolution)(const fast::qlc::Problem& problem, Isa isa, const Tuning& tuning,
                                                    std::shared_ptr<const Plan>& plan);
}

}  // namespace detail
DMLREF_END

#endif
