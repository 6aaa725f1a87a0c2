// plan.hpp: CONVOLUTION_INTEGER: from a problem to a plan, which runs the reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/operators/convolution_integer/problem.hpp"
#include "dmlref/operators/convolution_integer/reference.hpp"
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
    const bool input = problem_.inputs[input_tensor].is_signed, filter = problem_.inputs[filter_tensor].is_signed;
    if (input && filter) return run<std::int8_t, std::int8_t>(bindings, executor);
    if (input) return run<std::int8_t, std::uint8_t>(bindings, executor);
    if (filter) return run<std::uint8_t, std::int8_t>(bindings, executor);
    run<std::uint8_t, std::uint8_t>(bindings, executor);
  }

 private:
  template <class T>
  std::optional<ByteTensorView<const T>> zero_point(const Bindings& bindings,
                                                    fast::convolution_integer::Input which) const noexcept {
    const auto& tensor = problem_.inputs[which];
    return tensor.present ? std::optional(bind<const T>(bindings.inputs[which], tensor.layout)) : std::nullopt;
  }
  template <class In, class Filter>
  void run(const Bindings& bindings, Executor& executor) const {
    using namespace fast::convolution_integer;
    const ConvolutionIntegerTensors<In, Filter, ByteTensorView> tensors{
        bind<const In>(bindings.inputs[input_tensor], problem_.inputs[input_tensor].layout),
        zero_point<In>(bindings, input_zero_point_tensor),
        bind<const Filter>(bindings.inputs[filter_tensor], problem_.inputs[filter_tensor].layout),
        zero_point<Filter>(bindings, filter_zero_point_tensor),
        bind<std::int32_t>(bindings.outputs[0], problem_.output.layout)};
    const Shape& out = problem_.output.layout.shape;
    parallel_for(executor, static_cast<std::size_t>(out[0] * out[1]), [&](std::size_t index) {
      const auto i = static_cast<Index>(index);
      reference::convolution_integer(tensors, problem_.geometry, i / out[1], i % out[1]);
    });
  }

  fast::convolution_integer::Problem problem_;
};

inline std::shared_ptr<const Plan> convolution_integer_plan(const fast::convolution_integer::Problem& problem) {
  return std::make_shared<ConvolutionIntegerPlan>(problem);
}

#if defined(DMLREF_IMPLEMENTATION)
extern "C" {
void DMLREF_SEAM(plan_convolution_integer)(const fast::convolution_integer::Problem& problem,
                                           std::shared_ptr<const Plan>& plan) {
  plan = convolution_integer_plan(problem);
}
}
#endif

}  // namespace detail
DMLREF_END
