// amx.hpp: convolution with AMX's tiles of bytes (amx/): which problems they suit.
#pragma once

#include <memory>

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"
#include "dmlref/operators/quantized_linear_convolution/problem.hpp"
#include "dmlref/run/plan.hpp"
#if DMLREF_HAS_AMX_INT8
#include "dmlref/operators/quantized_linear_convolution/kernels/amx/block.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/groups.hpp"
#endif

DMLREF_BEGIN
namespace fast::qlc::amx {

/// By AMX's tiles, of a geometry whose offsets fit; null where they do not suit, or dot products are faster.
inline std::shared_ptr<const detail::Plan> make_plan(const Problem& problem, const Geometry& flat, Isa isa,
                                                     const Tuning::Convolution& tuning) {
#if DMLREF_HAS_AMX_INT8
  if (isa == Isa::amx_int8 && worthwhile(flat, problem)) {
    if (const Blocking blocking(flat, tuning); blocking.usable) {
      return detail::plan_of_groups<Plan>(problem, constants_bytes(flat, blocking),
                                          [&](const Problem& some) { return Plan(some, blocking); });
    }
  }
#else
  static_cast<void>(problem), static_cast<void>(flat), static_cast<void>(isa), static_cast<void>(tuning);
#endif
  return nullptr;
}

}  // namespace fast::qlc::amx
DMLREF_END
