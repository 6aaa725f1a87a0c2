// direct.hpp: the direct convolution: depthwise layers and small groups, where a tile of channels would be mostly
// empty. A strategy per file of direct/; two read the input where it is, two stage bands of it as lines of lanes.
//
// With the bytes a' that are multiplied (shifted by 128 where the input is signed), and d = w - zw in [-255, 255]:
//   sum = Σ a' d + (bias - za' Σ d)
// d goes into the weights, so any filter zero point costs nothing where d fits the kernel's weights. A channel with any
// d above 127 is negated first: then 128 fits. Where d still does not fit eight bits: see NinthBit.
//
// Overflow: sums are taken modulo 2^32, exact where K * 255 * 255 + |bias| < 2^31. A larger bias, seen when the
// constants are folded, is added in doubles, where a sum is near a tie.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/columns_in_place.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/plan.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/planes_in_place.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/staged_channels.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/staged_planes.hpp"

DMLREF_BEGIN
namespace fast {

class DirectConvolution {
  using Strategy = std::variant<qlc::direct::PlanesInPlace, qlc::direct::ColumnsInPlace, qlc::direct::StagedPlanes,
                                qlc::direct::StagedChannels>;
  template <class Visitor>
  auto visit(const Visitor& visitor) const noexcept {
    return std::visit(visitor, *strategy_);
  }

 public:
  DirectConvolution(const qlc::Problem& problem, const qlc::direct::Kernels& kernels)
      : constants_owned_(qlc::constants_owned(problem)), strategy_(choose({problem, kernels})) {}

  /// Whether this path is made for the shape: few input channels per group, and rows that fit a task's memory.
  bool usable() const noexcept { return strategy_.has_value(); }
  std::string_view strategy_name() const noexcept {
    return visit([](const auto& strategy) { return std::string_view(strategy.name); });
  }
  /// The constants are folded once, at initialize; otherwise at each execute.
  bool folds_at_initialize() const noexcept { return constants_owned_; }
  std::uint64_t folded_bytes() const noexcept {
    return static_cast<std::uint64_t>(
        visit([](const auto& strategy) { return qlc::round_up(strategy.lanes.folded_bytes, 256); }));
  }

  /// What depends on constants alone: weights less their zero points in the kernels' order, what sums start from,
  /// scales.
  void fold(const std::byte* const* inputs, std::byte* to) const noexcept {
    const auto search = constants_owned_ ? qlc::direct::Search::yes : qlc::direct::Search::no;
    visit([&](const auto& strategy) { qlc::direct::fold(strategy.layer, strategy.lanes, inputs, search, to); });
  }

  Index units() const noexcept {
    return visit([](const auto& strategy) { return strategy.layer.g.batch * strategy.parts() * strategy.bands(); });
  }
  void run(const std::byte* folded, const std::byte* input, std::byte* output, Index unit) const noexcept {
    visit([&](const auto& strategy) {
      strategy.run(folded, reinterpret_cast<const std::uint8_t*>(input), reinterpret_cast<std::uint8_t*>(output), unit);
    });
  }

 private:
  static std::optional<Strategy> choose(const qlc::direct::Layer& layer) {
    using namespace qlc::direct;
    const qlc::Geometry& g = layer.g;
    const bool suits = g.groups > 1 && g.filter.forward() && g.in_channels <= 4 && g.out_channels <= 8 &&
                       g.depth() <= 256 && (g.in_channels == 1 || g.out_channels <= 4);
    if (!suits) return std::nullopt;
    if (ColumnsInPlace::suits(layer)) return ColumnsInPlace(layer);
    if (PlanesInPlace::suits(layer)) return PlanesInPlace(layer);
    if (layer.kernels->narrower != nullptr) {
      Layer narrower = layer;
      narrower.kernels = layer.kernels->narrower;
      if (PlanesInPlace::suits(narrower)) return PlanesInPlace(narrower);
    }
    if (StagedChannels::suits(layer)) return StagedChannels::make(layer);
    return StagedPlanes::make(layer);
  }

  bool constants_owned_ = false;
  std::optional<Strategy> strategy_;
};

}  // namespace fast
DMLREF_END
