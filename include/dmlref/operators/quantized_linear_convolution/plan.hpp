// plan.hpp: QUANTIZED_LINEAR_CONVOLUTION: from a problem to a plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/config/floating_point.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/amx.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/select.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/tiled.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/winograd/block.hpp"
#include "dmlref/operators/quantized_linear_convolution/reference.hpp"
#include "dmlref/operators/quantized_linear_convolution/unsigned_bytes.hpp"
#include "dmlref/run/plan.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN
namespace detail {

/// The reference behind the public API: right for every problem, and slow.
class ReferenceQuantizedLinearConvolutionPlan final : public PlanOf<ReferenceQuantizedLinearConvolutionPlan> {
 public:
  explicit ReferenceQuantizedLinearConvolutionPlan(const fast::qlc::Problem& problem) : problem_(problem) {}

  std::string_view strategy_name() const noexcept { return "reference"; }
  void execute(const Bindings& bindings, Executor& executor) const {
    using namespace fast::qlc;
    using Byte = std::uint8_t;
    const auto& in = problem_.inputs;
    const auto zero_point = [&](Input which, const Operand& of) {
      return unsigned_zero_point(bindings.inputs[which], in[which], of);
    };
    const reference::QuantizedLinearConvolutionTensors<Byte, Byte, Byte, UnsignedView> tensors{
        unsigned_bytes(bindings.inputs[input_tensor], in[input_tensor]),
        words<float>(bindings, input_scale_tensor),
        zero_point(input_zero_point_tensor, in[input_tensor]),
        unsigned_bytes(bindings.inputs[filter_tensor], in[filter_tensor]),
        words<float>(bindings, filter_scale_tensor),
        zero_point(filter_zero_point_tensor, in[filter_tensor]),
        in[bias_tensor].present ? std::optional(words<std::int32_t>(bindings, bias_tensor)) : std::nullopt,
        words<float>(bindings, output_scale_tensor),
        zero_point(output_zero_point_tensor, problem_.output),
        unsigned_bytes(bindings.outputs[0], problem_.output)};
    const Shape& out = problem_.output.layout.shape;
    auto plane = [&](std::size_t index) {
      const auto i = static_cast<Index>(index);
      reference::quantized_linear_convolution(tensors, problem_.geometry, i / out[1], i % out[1]);
    };
    parallel_for(executor, static_cast<std::size_t>(out[0] * out[1]), plane);
  }

 private:
  template <class T>
  UnsignedView<const T> words(const Bindings& bindings, fast::qlc::Input which) const noexcept {
    return bind<const T>(bindings.inputs[which], problem_.inputs[which].layout);
  }

  fast::qlc::Problem problem_;
};

inline std::shared_ptr<const Plan> reference_qlc_plan(const fast::qlc::Problem& problem) {
  return std::make_shared<ReferenceQuantizedLinearConvolutionPlan>(problem);
}

/// The fastest way that there is, by strides of either sign. What suits is asked of the geometry, then its plan is
/// made.
inline std::shared_ptr<const Plan> qlc_plan(const fast::qlc::Problem& problem, Isa isa, const Tuning& tuning) {
  return in_default_environment([&]() -> std::shared_ptr<const Plan> {
    using namespace fast::qlc;
    const Tuning::Convolution& row = tuning.convolution;
    const Geometry g = geometry_of(problem);
    if (!offsets_fit(g) || mostly_padding(g)) return reference_qlc_plan(problem);
    const TargetKernels kernels = kernels_of(isa);
    if (auto direct = direct::make_plan(problem, kernels.direct, row)) return direct;
    if (kernels.winograd != nullptr && problem.inputs[filter_tensor].owned) {
      const std::optional<winograd::Tiling> tiling = winograd::choose_tiling(g, *kernels.winograd, row);
      if (tiling && winograd::worthwhile(g, *tiling)) {
        return std::make_shared<winograd::Plan>(problem, *kernels.winograd, *tiling);
      }
    }
    const Geometry flat = flatten(g);
    if (auto amx = amx::make_plan(problem, flat, isa, row)) return amx;
    if (auto tiled = tiled::make_plan(problem, flat, kernels.tiled, row)) return tiled;
    return reference_qlc_plan(problem);
  });
}

#if defined(DMLREF_IMPLEMENTATION)
extern "C" {
void DMLREF_SEAM(plan_quantized_linear_convolution)(const fast::qlc::Problem& problem, Isa isa, const Tuning& tuning,
                                                    std::shared_ptr<const Plan>& plan) {
  plan = qlc_plan(problem, isa, tuning);
}
}
#endif

}  // namespace detail
DMLREF_END
