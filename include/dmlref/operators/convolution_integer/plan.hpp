// plan.hpp: CONVOLUTION_INTEGER: from a problem to a plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/config/floating_point.hpp"
#include "dmlref/int8/select.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/convolution_integer/problem.hpp"
#include "dmlref/operators/convolution_integer/reference.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/amx.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/select.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/geometry.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled.hpp"
#include "dmlref/operators/quantized_linear_convolution/unsigned_bytes.hpp"
#include "dmlref/run/plan.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN
namespace detail {

/// CONVOLUTION_INTEGER by the reference: a task for each plane of the output.
class ConvolutionIntegerPlan final : public PlanOf<ConvolutionIntegerPlan> {
 public:
  static constexpr bool computes = false;

  explicit ConvolutionIntegerPlan(const fast::convolution_integer::Problem& problem) : problem_(problem) {}

  std::string_view strategy_name() const noexcept { return "reference"; }
  void execute(const Bindings& bindings, Executor& executor) const {
    using namespace fast::convolution_integer;
    using Byte = std::uint8_t;
    const auto& in = problem_.inputs;
    const auto zero_point = [&](Input which, Input of) {
      return unsigned_zero_point(bindings.inputs[which], in[which], in[of]);
    };
    const ConvolutionIntegerTensors<Byte, Byte, UnsignedView> tensors{
        unsigned_bytes(bindings.inputs[input_tensor], in[input_tensor]),
        zero_point(input_zero_point_tensor, input_tensor),
        unsigned_bytes(bindings.inputs[filter_tensor], in[filter_tensor]),
        zero_point(filter_zero_point_tensor, filter_tensor),
        bind<std::int32_t>(bindings.outputs[0], problem_.output.layout)};
    const Shape& out = problem_.output.layout.shape;
    parallel_for(executor, static_cast<std::size_t>(out[0] * out[1]), [&](std::size_t index) {
      const auto i = static_cast<Index>(index);
      reference::convolution_integer(tensors, problem_.geometry, i / out[1], i % out[1]);
    });
  }

  fast::convolution_integer::Problem problem_;
};

/// CONVOLUTION_INTEGER by a plan of QUANTIZED_LINEAR_CONVOLUTION that stores sums.
class StoredSumsConvolutionIntegerPlan final : public PlanOf<StoredSumsConvolutionIntegerPlan> {
 public:
  const bool uses_tiles;  ///< of AMX

  explicit StoredSumsConvolutionIntegerPlan(std::shared_ptr<const Plan> plan) noexcept
      : uses_tiles(plan->uses_tiles()), plan_(std::move(plan)) {}

  BindingProperties properties() const noexcept { return plan_->properties(); }
  bool keeps_owned(std::size_t index) const noexcept {
    return plan_->keeps_owned(fast::convolution_integer::quantized_inputs[index]);
  }
  std::string_view strategy_name() const noexcept { return plan_->strategy_name(); }
  void initialize(const Bindings& owned, std::byte* persistent) const noexcept {
    plan_->initialize(quantized(owned), persistent);
  }
  void execute(const Bindings& bindings, Executor& executor) const { plan_->execute(quantized(bindings), executor); }

  static constexpr bool computes = false;  // the other plan sees to its environment

 private:
  static Bindings quantized(const Bindings& bindings) noexcept {
    using namespace fast::convolution_integer;
    Bindings to = bindings;
    to.inputs.fill(nullptr);
    for (std::size_t i = 0; i < input_count; ++i) to.inputs[quantized_inputs[i]] = bindings.inputs[i];
    return to;
  }

  std::shared_ptr<const Plan> plan_;
};

/// The fastest way that stores sums; where offsets do not fit it, or a filter is too deep, or hardly any of its windows
/// is in the input, the reference.
inline std::shared_ptr<const Plan> convolution_integer_plan(const fast::convolution_integer::Problem& problem, Isa isa,
                                                            const Tuning& tuning) {
  return in_default_environment([&]() -> std::shared_ptr<const Plan> {
    using namespace fast::qlc;
    const fast::qlc::Problem quantized = quantized_problem(problem);
    const Geometry g = geometry_of(quantized), flat = flatten(g);
    if (!offsets_fit(g) || mostly_padding(g)) return std::make_shared<ConvolutionIntegerPlan>(problem);
    std::shared_ptr<const Plan> plan = direct::make_plan(quantized, direct::kernels_of(isa), tuning.convolution);
    if (plan == nullptr) plan = amx::make_plan(quantized, flat, isa, tuning.convolution);
    if (plan == nullptr) plan = tiled::make_plan(quantized, flat, tile_kernels_of(isa), tuning.convolution);
    if (plan != nullptr) return std::make_shared<StoredSumsConvolutionIntegerPlan>(std::move(plan));
    return std::make_shared<ConvolutionIntegerPlan>(problem);
  });
}

#if defined(DMLREF_IMPLEMENTATION)
extern "C" {
void DMLREF_SEAM(plan_convolution_integer)(const fast::convolution_integer::Problem& problem, Isa isa,
                                           const Tuning& tuning, std::shared_ptr<const Plan>& plan) {
  plan = convolution_integer_plan(problem, isa, tuning);
}
}
#endif

}  // namespace detail
DMLREF_END
