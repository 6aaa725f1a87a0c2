// direct.hpp: the direct convolution: depthwise layers and small groups, where a tile of channels would be mostly
// empty. A strategy per file of direct/; two read the input where it is, two stage bands of it as lines of lanes.
//
// With the bytes a' that are multiplied (shifted by 128 where the input is signed), and d = w - zw in [-255, 255]:
//   sum = Σ a' d + (bias - za' Σ d)
// d goes into the weights, so any filter zero point costs nothing where d fits the kernel's weights. A channel with any
// d above 127 is negated first: then 128 fits. Where d still does not fit eight bits: see WeightFormat.
//
// Overflow: sums are taken modulo 2^32, exact where K * 255 * 255 + |bias| < 2^31. A larger bias, seen when the
// constants are precomputed, is added in doubles, where a sum is near a tie.
#pragma once

#include <memory>

#include "dmlref/config.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/in_place.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/layout.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/staged_channels.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/staged_planes.hpp"

DMLREF_BEGIN
namespace fast::qlc::direct {

/// Few channels in each of several groups.
inline bool suits(const Geometry& g) noexcept {
  return g.groups > 1 && g.filter.forward() && g.in_channels <= 4 && g.out_channels <= 8 && g.depth() <= 256 &&
         (g.in_channels == 1 || g.out_channels <= 4);
}

/// The plan of the first strategy that suits; null where none does.
inline std::shared_ptr<const detail::Plan> make_plan(const Problem& problem, const Kernels& kernels,
                                                     const Tuning::Convolution& tuning) {
  const Layer layer(problem, kernels, tuning);
  if (!suits(layer.g)) return nullptr;
  if (ColumnsInPlace::suits(layer)) return std::make_shared<ColumnsInPlace>(problem, layer);
  if (PlanesInPlace::suits(layer)) return std::make_shared<PlanesInPlace>(problem, layer);
  if (kernels.narrower != nullptr) {
    const Layer narrower(problem, *kernels.narrower, tuning);
    if (PlanesInPlace::suits(narrower)) return std::make_shared<PlanesInPlace>(problem, narrower);
  }
  if (StagedChannels::suits(layer)) return StagedChannels::make(problem, layer);
  return StagedPlanes::make(problem, layer);
}

}  // namespace fast::qlc::direct
DMLREF_END
