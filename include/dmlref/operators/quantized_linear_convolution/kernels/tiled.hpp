// tiled.hpp: convolution by tiles (tiled/): which problems they suit.
#pragma once

#include <memory>

#include "dmlref/config.hpp"
#include "dmlref/int8/kernels.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/groups.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled/block.hpp"
#include "dmlref/operators/quantized_linear_convolution/problem.hpp"
#include "dmlref/run/plan.hpp"

DMLREF_BEGIN
namespace fast::qlc::tiled {

/// By tiles, of a geometry whose offsets fit; null where its filter is too deep for them.
inline std::shared_ptr<const detail::Plan> make_plan(const Problem& problem, const Geometry& flat,
                                                     const Kernels& kernels, const Tuning::Convolution& tuning) {
  const Blocking blocking(flat, kernels, tuning);
  if (!blocking.usable()) return nullptr;
  return detail::plan_of_groups<Plan>(problem, constants_bytes(flat, kernels, blocking),
                                      [&](const Problem& some) { return Plan(some, kernels, blocking, tuning); });
}

}  // namespace fast::qlc::tiled
DMLREF_END
